"""The time that a broker goes by: the wall clock's, looked at beside the monotonic one, so that a step is noticed.

The server asks for it wherever it calls the core. Deadlines are written in wall-clock time; a clock that was set is
told to ``was_set``, which moves them, before the new time is used anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable

LEAST_STEP_NS = 100_000_000
"""A clock that is set by less makes no difference to a timeout."""
MOST_APART_NS = 10_000_000
"""Both clocks are read within this time, else once more: whoever is held up between them has seen no step."""


class WallClock:
    """:ivar was_set: called with the milliseconds by which the wall clock was set on (below zero: back)."""

    def __init__(self) -> None:
        self.was_set: list[Callable[[int], None]] = []
        self._ahead_ns = self._now_ahead_ns()[0]

    def now_ms(self) -> int:
        wall_ns = time.time_ns()
        if -LEAST_STEP_NS < wall_ns - time.monotonic_ns() - self._ahead_ns < LEAST_STEP_NS:
            return wall_ns // 1_000_000
        ahead_ns, wall_ns = self._now_ahead_ns()
        step_ns = ahead_ns - self._ahead_ns
        if abs(step_ns) >= LEAST_STEP_NS:
            self._ahead_ns = ahead_ns
            for tell in self.was_set:
                tell(step_ns // 1_000_000)
        return wall_ns // 1_000_000

    @staticmethod
    def _now_ahead_ns() -> tuple[int, int]:
        """How far the wall clock is ahead of the monotonic one, and what it shows."""
        while True:
            before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
            if after_ns - before_ns < MOST_APART_NS:
                return wall_ns - before_ns, wall_ns
