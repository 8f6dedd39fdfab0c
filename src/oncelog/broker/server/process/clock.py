"""The broker's time: the wall clock's, compared with the monotonic clock, so that a step is noticed.

The server reads it wherever it calls the core. Deadlines are wall-clock times; after the clock has been set,
``was_set`` is called to move them before the new time is used anywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from oncelog.runtime import real_time

MIN_STEP_NS = 100_000_000
"""A step of the clock smaller than this makes no difference to timeouts."""
MAX_APART_NS = 10_000_000
"""Both clocks must be read within this time, else they are read again: a delay in between is not a step."""


class WallClock:
    """:ivar was_set: called with the ms by which the wall clock was set forward (negative: back)."""

    def __init__(self) -> None:
        self.was_set: list[Callable[[int], None]] = []
        self._ahead_ns = self._now_ahead_ns()[0]

    def now_ms(self) -> int:
        wall_ns = real_time.time_ns()
        if -MIN_STEP_NS < wall_ns - real_time.monotonic_ns() - self._ahead_ns < MIN_STEP_NS:
            return wall_ns // 1_000_000
        ahead_ns, wall_ns = self._now_ahead_ns()
        step_ns = ahead_ns - self._ahead_ns
        if abs(step_ns) >= MIN_STEP_NS:
            self._ahead_ns = ahead_ns
            for callback in self.was_set:
                callback(step_ns // 1_000_000)
        return wall_ns // 1_000_000

    @staticmethod
    def _now_ahead_ns() -> tuple[int, int]:
        """How far the wall clock is ahead of the monotonic one, and its time."""
        while True:
            before_ns, wall_ns, after_ns = real_time.monotonic_ns(), real_time.time_ns(), real_time.monotonic_ns()
            if after_ns - before_ns < MAX_APART_NS:
                return wall_ns - before_ns, wall_ns
