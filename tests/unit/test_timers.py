"""Timers fire in order, once, and not after they were cancelled."""

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
    timers.schedule(10, lambda now_ms: (timers.schedule(now_ms, fired.append), None)[1])
    timers.fire(12)
    assert fired == [12]


def test_what_is_due_may_take_several_turns() -> None:
    timers = Timers()
    fired: list[int] = []
    for number in range(5):
        timers.schedule(number, lambda _, number=number: fired.append(number))  # type: ignore[misc]
    timers.fire(3, lambda: len(fired) % 2 == 0)
    assert fired == [0, 1]
    timers.fire(3, lambda: len(fired) % 2 == 0)
    assert fired == [0, 1, 2, 3]
    assert timers.next_ms() == 4


def test_cancelled_timers_do_not_pile_up() -> None:
    timers = Timers()
    for _ in range(10_000):
        timers.schedule(1_000_000, lambda _: None).cancel()
    assert len(timers._heap) < 2048


def test_what_repeats_outlives_its_failures_and_holds_up_nothing_else() -> None:
    timers = Timers()
    fired: list[tuple[str, int]] = []

    def fail(now_ms: int) -> None:
        fired.append(("fails", now_ms))
        raise RuntimeError("no rule foresees this")

    timers.repeat(10, lambda: 10, fail)
    timers.schedule(10, lambda now_ms: fired.append(("other", now_ms)))
    timers.fire(10)
    timers.fire(20)
    assert fired == [("fails", 10), ("other", 10), ("fails", 20)]


def test_a_shorter_interval_is_in_force_at_once_and_an_interval_of_0_ends() -> None:
    timers = Timers()
    interval_ms = 1000
    fired: list[int] = []
    timers.repeat(1000, lambda: interval_ms, fired.append)
    interval_ms = 50
    timers.intervals_changed()
    timers.fire(100)
    timers.fire(150)
    assert fired == [150]
    interval_ms = 0
    timers.fire(200)
    timers.fire(201)
    assert fired == [150, 200, 201]


def test_deadlines_move_with_the_wall_clock() -> None:
    timers = Timers()
    fired: list[int] = []
    timers.schedule(1000, fired.append)
    later = timers.schedule(2000, fired.append)
    timers.shift(-3_600_000)
    assert timers.next_ms() == 1000 - 3_600_000
    assert later.at_ms == 2000 - 3_600_000
    timers.fire(1000 - 3_600_000)
    assert fired == [1000 - 3_600_000]


def test_who_finds_out_in_its_turn_that_the_clock_was_set_back_makes_nothing_else_due() -> None:
    """Timers that are due within the step would fire an hour early: the turn uses the time from before."""
    timers = Timers()
    fired: list[int] = []
    timers.schedule(1000, lambda _: timers.shift(-3_600_000))
    timers.schedule(1000, fired.append)
    timers.schedule(2000, fired.append)
    timers.fire(1000)
    assert fired == []
    timers.fire(1000 - 3_600_000)
    assert fired == [1000 - 3_600_000]
    assert timers.next_ms() == 2000 - 3_600_000


def test_a_time_is_moved_with_the_clock_for_who_goes_on_later() -> None:
    timers = Timers()
    since = timers.since(1000)
    assert since() == 1000
    timers.shift(3_600_000)
    timers.shift(-10)
    assert since() == 3_600_990
    assert timers.since(1000)() == 1000
