"""Deadlines fire in order, once, and not after being called off."""

from oncelog.timers import Timers


def test_timers_fire_in_order_of_deadline_then_of_scheduling() -> None:
    timers = Timers()
    fired: list[str] = []
    timers.schedule(20, lambda _: fired.append("late"))
    timers.schedule(10, lambda _: fired.append("first"))
    timers.schedule(10, lambda _: fired.append("second"))
    timers.fire(15)
    assert fired == ["first", "second"]
    assert timers.next_ms() == 20


def test_cancelled_timer_does_not_fire_and_is_not_waited_for() -> None:
    timers = Timers()
    fired: list[int] = []
    timer = timers.schedule(10, fired.append)
    timer.cancel()
    assert timers.next_ms() is None
    timers.fire(100)
    assert fired == []


def test_timer_scheduled_by_a_timer_for_now_fires_in_the_same_turn() -> None:
    timers = Timers()
    fired: list[int] = []
    timers.schedule(10, lambda now_ms: timers.schedule(now_ms, fired.append) and None)
    timers.fire(12)
    assert fired == [12]


def test_cancelled_timers_do_not_pile_up() -> None:
    timers = Timers()
    for _ in range(10_000):
        timers.schedule(1_000_000, lambda _: None).cancel()
    assert len(timers._heap) < 2048
