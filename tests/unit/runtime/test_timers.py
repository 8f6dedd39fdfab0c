"""Timers fire in order, once, and not after they were cancelled."""

import pytest

from oncelog.runtime.timers import Timers


def test_timers_fire_in_order_of_deadline_then_of_scheduling() -> None:
    timers = Timers()
    fired: list[str] = []
    timers.schedule(20, lambda _: fired.append("late"))
    timers.schedule(10, lambda _: fired.append("first"))
    timers.schedule(10, lambda _: fired.append("second"))
    timers.fire(15)
    assert fired == ["first", "second"]
    assert timers.next_ms() == 20


def test_a_cancelled_timer_does_not_fire_and_is_not_waited_for() -> None:
    timers = Timers()
    fired: list[int] = []
    timer = timers.schedule(10, fired.append)
    timer.cancel()
    assert timers.next_ms() is None
    timers.fire(100)
    assert fired == []


def test_a_timer_scheduled_by_a_timer_for_now_fires_in_the_same_iteration() -> None:
    timers = Timers()
    fired: list[int] = []
    timers.schedule(10, lambda now_ms: (timers.schedule(now_ms, fired.append), None)[1])
    timers.fire(12)
    assert fired == [12]


def test_due_timers_may_take_several_iterations() -> None:
    timers = Timers()
    fired: list[int] = []
    for number in range(5):
        timers.schedule(number, lambda _, number=number: fired.append(number))  # type: ignore[misc]
    timers.fire(3, lambda: len(fired) % 2 == 0)
    assert fired == [0, 1]
    timers.fire(3, lambda: len(fired) % 2 == 0)
    assert fired == [0, 1, 2, 3]
    assert timers.next_ms() == 4


def test_cancelled_timers_do_not_accumulate() -> None:
    timers = Timers()
    for _ in range(10_000):
        timers.schedule(1_000_000, lambda _: None).cancel()
    assert len(timers._heap) < 2048


def test_a_repeating_timer_continues_after_a_failure_and_delays_no_other_timer() -> None:
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


def test_a_shorter_interval_applies_at_once_and_an_interval_of_0_ends_the_repetition() -> None:
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


def test_deadlines_of_timers_move_when_the_wall_clock_is_set() -> None:
    timers = Timers()
    fired: list[int] = []
    timers.schedule(1000, fired.append)
    later = timers.schedule(2000, fired.append)
    timers.shift(-3_600_000)
    assert timers.next_ms() == 1000 - 3_600_000
    assert later.at_ms == 2000 - 3_600_000
    timers.fire(1000 - 3_600_000)
    assert fired == [1000 - 3_600_000]


def test_a_timer_that_notices_a_clock_set_back_makes_no_other_timer_due() -> None:
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


def test_the_time_of_resumed_work_moves_when_the_clock_is_set() -> None:
    timers = Timers()
    since = timers.since(1000)
    assert since() == 1000
    timers.shift(3_600_000)
    timers.shift(-10)
    assert since() == 3_600_990
    assert timers.since(1000)() == 1000


@pytest.mark.parametrize("events", [[], [35], [7, 300], [299, 300, 301], [5, 64, 65, 900, 990]])
@pytest.mark.parametrize("interval_ms", [1, 10, 64, 2000])
@pytest.mark.parametrize("first_ms", [1, 15, 500])
def test_skipping_idle_repetitions_of_a_timer_changes_no_effect_and_no_time(
    events: list[int], interval_ms: int, first_ms: int
) -> None:
    """An event makes something that is to be done 40 ms later by repeated work."""

    def course(*, skips: bool) -> tuple[list[int], int, int | None]:
        timers, made, done, rounds = Timers(), list[int](), list[int](), 0

        def work(now_ms: int) -> None:
            nonlocal rounds
            rounds += 1
            for at_ms in [at_ms for at_ms in made if at_ms + 40 <= now_ms]:
                made.remove(at_ms)
                done.append(now_ms)

        timers.repeat(first_ms, lambda: interval_ms, work, lambda now_ms: all(at + 40 > now_ms for at in made))
        for at_ms in events:
            timers.schedule(at_ms, made.append)
        now_ms, until_ms = 0, 1000
        while True:
            if skips:
                timers.skip_idle(now_ms, until_ms)
            next_ms = timers.next_ms()
            if next_ms is None or next_ms > until_ms:
                return done, rounds, next_ms
            now_ms = next_ms
            timers.fire(now_ms)

    done, rounds, next_ms = course(skips=True)
    assert (done, next_ms) == (course(skips=False)[0], course(skips=False)[2])
    assert rounds <= len(events)


def test_cancelled_repeating_work_is_not_run_again() -> None:
    timers, done = Timers(), list[int]()
    repeated = timers.repeat(10, lambda: 10, done.append)
    timers.fire(10)
    repeated.cancel()
    timers.intervals_changed()
    timers.skip_idle(10, 100)
    timers.fire(100)
    assert done == [10]
