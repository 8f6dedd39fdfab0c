"""The deadlines of the cores, in a queue that tells the I/O layer when to wake up, and calls back with the current
time.

Used by broker, coordinators and client core. Callbacks run in the order of their deadlines, and for equal deadlines in
the order of scheduling, so a simulation with a virtual clock is repeatable. An exception in one callback is logged and
does not keep others from running. Deadlines are wall-clock times, but durations stay as intended: when that clock is
set, the I/O layer calls :meth:`Timers.shift`.
"""

from __future__ import annotations

import heapq
import logging
from bisect import bisect_left
from collections.abc import Callable

logger = logging.getLogger(__name__)

TimerCallback = Callable[[int], None]


class Timer:
    """A deadline that can be cancelled."""

    __slots__ = ("at_ms", "callback")

    def __init__(self, at_ms: int, callback: TimerCallback) -> None:
        self.at_ms = at_ms
        self.callback: TimerCallback | None = callback

    def cancel(self) -> None:
        """Cancel the timer; does nothing if it has already fired."""
        self.callback = None

    @property
    def pending(self) -> bool:
        return self.callback is not None


class Timers:
    """A heap of timers; cancelled ones are removed when they are due or form the majority."""

    __slots__ = ("_heap", "_moved_ms", "_repeated", "_sequence", "_shifts")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._repeated: list[RepeatedTimer] = []
        self._sequence = 0
        self._shifts = self._moved_ms = 0

    def schedule(self, at_ms: int, callback: TimerCallback) -> Timer:
        """Call ``callback(now_ms)`` once the time is ``at_ms``."""
        timer = Timer(at_ms, callback)
        self._sequence = sequence = self._sequence + 1
        heapq.heappush(self._heap, (at_ms, sequence, timer))
        if sequence % 1024 == 0:
            self._drop_cancelled()
        return timer

    def next_ms(self) -> int | None:
        """The time at which the next timer is due; None if there is none."""
        heap = self._heap
        while heap:
            at_ms, _, timer = heap[0]
            if timer.callback is not None:
                return at_ms
            heapq.heappop(heap)
        return None

    def fire(self, now_ms: int, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Run what is due; a timer scheduled meanwhile for now or earlier runs too.

        If the clock is set meanwhile, ``now_ms`` is out of date, and the remaining timers wait for the next call.

        :param is_enough: called after each timer: whether the others should wait for the next call.
        """
        shifts = self._shifts
        while (heap := self._heap) and heap[0][0] <= now_ms:
            timer = heapq.heappop(heap)[2]
            callback, timer.callback = timer.callback, None
            if callback is None:
                continue
            try:
                callback(now_ms)
            except Exception:
                logger.exception("a timer's callback failed; other timers continue")
            if self._shifts != shifts or is_enough():
                return

    def repeat(
        self,
        first_ms: int,
        interval_ms: Callable[[], int],
        work: TimerCallback,
        idle: Callable[[int], bool] = lambda at_ms: False,
    ) -> RepeatedTimer:
        """Call ``work`` at ``first_ms``, then repeatedly after the current ``interval_ms()``.

        :param idle: returns whether ``work`` would do nothing at a given time if nothing else happened until then. Once
            it returns False, it must return False for all later times. Called only if time is skipped.
        """
        repeated = RepeatedTimer(self, first_ms, interval_ms, work, idle)
        self._repeated.append(repeated)
        return repeated

    def skip_idle(self, now_ms: int, until_ms: int) -> None:
        """Skip repeated work that would do nothing: its next time is the first one after ``now_ms`` at which it has
        something to do, or the first one after ``until_ms``.

        Code that lets time pass calls this before each timer, because a timer's callback may create work for others.
        """
        for repeated in self._repeated:
            repeated.skip_idle(now_ms, until_ms)

    def forget(self, repeated: RepeatedTimer) -> None:
        self._repeated.remove(repeated)

    def intervals_changed(self) -> None:
        """Make repeated work read its interval again soon, because settings have changed; otherwise it would do so only
        at its next run."""
        self.schedule(0, self._rearrange)

    def _rearrange(self, now_ms: int) -> None:
        for repeated in self._repeated:
            repeated.interval_changed(now_ms)

    def shift(self, delta_ms: int) -> None:
        """Move all deadlines by ``delta_ms``, because the wall clock was set forward (negative: back), so that all
        remaining durations stay the same."""
        self._shifts += 1
        self._moved_ms += delta_ms
        for _, _, timer in self._heap:
            timer.at_ms += delta_ms
        self._heap = [(at_ms + delta_ms, sequence, timer) for at_ms, sequence, timer in self._heap]

    def since(self, now_ms: int) -> Callable[[], int]:
        """A function that returns ``now_ms``, moved by every change of the clock since this call."""
        moved_ms = self._moved_ms
        return lambda: now_ms + self._moved_ms - moved_ms

    def _drop_cancelled(self) -> None:
        self._heap = [entry for entry in self._heap if entry[2].pending]
        heapq.heapify(self._heap)


class RepeatedTimer:
    """Work that is repeated, even after an exception: the next run is scheduled before the work begins."""

    __slots__ = ("_idle", "_interval_ms", "_skipped_ms", "_timer", "_timers", "_work")

    def __init__(
        self,
        timers: Timers,
        first_ms: int,
        interval_ms: Callable[[], int],
        work: TimerCallback,
        idle: Callable[[int], bool],
    ) -> None:
        self._timers = timers
        self._interval_ms = interval_ms
        self._work = work
        self._idle = idle
        self._skipped_ms = 0
        """How much later the next run is than the interval says, because idle runs were skipped."""
        self._timer = timers.schedule(first_ms, self._run)

    def _run(self, now_ms: int) -> None:
        self._timer = self._timers.schedule(now_ms + max(1, self._interval_ms()), self._run)
        self._skipped_ms = 0
        self._work(now_ms)

    def cancel(self) -> None:
        """Stop repeating the work."""
        self._timer.cancel()
        self._timers.forget(self)

    def skip_idle(self, now_ms: int, until_ms: int) -> None:
        """See :meth:`Timers.skip_idle`."""
        interval_ms, usual_ms = max(1, self._interval_ms()), self._timer.at_ms - self._skipped_ms
        first_ms = usual_ms + max(0, -((usual_ms - now_ms - 1) // interval_ms)) * interval_ms
        times = range(first_ms, until_ms + 1, interval_ms)
        if times and self._idle(times[-1]):
            skipped = len(times)
        else:
            skipped = bisect_left(times, True, key=lambda at_ms: not self._idle(at_ms))
        at_ms = first_ms + skipped * interval_ms
        if at_ms != self._timer.at_ms:
            self._timer.cancel()
            self._timer = self._timers.schedule(at_ms, self._run)
        self._skipped_ms = at_ms - usual_ms

    def interval_changed(self, now_ms: int) -> None:
        """Move the next run forward if the new interval is shorter."""
        at_ms = now_ms + max(1, self._interval_ms())
        if self._timer.pending and at_ms < self._timer.at_ms:
            self._timer.cancel()
            self._timer = self._timers.schedule(at_ms, self._run)
            self._skipped_ms = 0
