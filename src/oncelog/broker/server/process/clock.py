"""The broker's time: that of the wall clock, which is compared with the monotonic clock to notice when it was set.

The server reads this time whenever it calls the core. Deadlines are wall-clock times; after the wall clock was set,
``was_set`` is called to move them before the new time is used. Until the setting is noticed, at most 10 ms later, the
time continues as before.
"""

from __future__ import annotations

from collections.abc import Callable

from oncelog.runtime import real_time

MIN_STEP_NS = 100_000_000
"""A step of the wall clock smaller than this, in ns, makes no difference to timeouts: it moves no deadlines."""
COMPARED_EVERY_NS = 10_000_000
"""The time in ns between two comparisons of the clocks. In between, only the monotonic clock is read, because reading
three clocks takes a tenth of a short request."""
MAX_APART_NS = 10_000_000
"""Both clocks must be read within this time in ns, else they are read again, so that a delay in between is not taken
for a step."""


class WallClock:
    """Reads the wall clock and notices when it was set.

    :ivar was_set: called with the ms by which the wall clock was set forward (negative: back).
    """

    def __init__(self) -> None:
        self.was_set: list[Callable[[int], None]] = []
        self._ahead_ns, monotonic_ns = self._now_ahead_ns()
        self._compare_at_ns = monotonic_ns + COMPARED_EVERY_NS

    def now_ms(self) -> int:
        monotonic_ns = real_time.monotonic_ns()
        if monotonic_ns < self._compare_at_ns:
            return (monotonic_ns + self._ahead_ns) // 1_000_000
        before_ns = self._ahead_ns
        self._ahead_ns, monotonic_ns = self._now_ahead_ns()
        self._compare_at_ns = monotonic_ns + COMPARED_EVERY_NS
        step_ns = self._ahead_ns - before_ns
        if abs(step_ns) >= MIN_STEP_NS:
            for callback in self.was_set:
                callback(step_ns // 1_000_000)
        return (monotonic_ns + self._ahead_ns) // 1_000_000

    @staticmethod
    def _now_ahead_ns() -> tuple[int, int]:
        """How many ns the wall clock is ahead of the monotonic clock, and the monotonic clock's time in ns."""
        while True:
            before_ns, wall_ns, after_ns = real_time.monotonic_ns(), real_time.time_ns(), real_time.monotonic_ns()
            if after_ns - before_ns < MAX_APART_NS:
                return wall_ns - before_ns, before_ns
