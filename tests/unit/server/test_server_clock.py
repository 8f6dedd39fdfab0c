"""Timeouts last as long as they were meant to, whatever becomes of the wall clock."""

from __future__ import annotations

from oncelog.server.server import WallClock

HOUR_NS = 3_600_000_000_000


def test_a_clock_that_is_set_is_noticed_once_and_one_that_drifts_is_not() -> None:
    wall, monotonic = 1_700_000_000 * 10**9, 5 * 10**9
    clock = WallClock(lambda: wall, lambda: monotonic)
    for seconds in range(1, 100):
        wall += 10**9 + 10_000 * seconds
        monotonic += 10**9
        assert clock.step_ms() == 0
    wall -= HOUR_NS
    assert abs(clock.step_ms() + 3_600_000) <= 100
    assert clock.step_ms() == 0
    wall += HOUR_NS
    assert abs(clock.step_ms() - 3_600_000) <= 100
