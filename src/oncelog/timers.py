"""Deadlines of the cores: a queue that the shell asks when to wake it and fires with the time that it is.

Used by broker, coordinators and client core. Callbacks run in the order of their deadlines, equal ones in the
order of scheduling, so a simulation with a virtual clock is repeatable.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

TimerCallback = Callable[[int], None]


class Timer:
    """A deadline that may be called off."""

    __slots__ = ("at_ms", "callback")

    def __init__(self, at_ms: int, callback: TimerCallback) -> None:
        self.at_ms = at_ms
        self.callback: TimerCallback | None = callback

    def cancel(self) -> None:
        """Nothing happens when it has fired already."""
        self.callback = None

    @property
    def pending(self) -> bool:
        return self.callback is not None


class Timers:
    """A heap of timers; cancelled ones leave it when their time comes or when they are the majority."""

    __slots__ = ("_heap", "_sequence")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._sequence = 0

    def schedule(self, at_ms: int, callback: TimerCallback) -> Timer:
        """Call ``callback(now_ms)`` once ``at_ms`` has come."""
        timer = Timer(at_ms, callback)
        self._sequence += 1
        heapq.heappush(self._heap, (at_ms, self._sequence, timer))
        if self._sequence % 1024 == 0:
            self._drop_cancelled()
        return timer

    def next_ms(self) -> int | None:
        """When the next timer is due, or None."""
        while self._heap and not self._heap[0][2].pending:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def fire(self, now_ms: int) -> None:
        """Run what is due; a timer scheduled meanwhile for now or earlier runs too."""
        while (at_ms := self.next_ms()) is not None and at_ms <= now_ms:
            timer = heapq.heappop(self._heap)[2]
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback(now_ms)

    def _drop_cancelled(self) -> None:
        self._heap = [entry for entry in self._heap if entry[2].pending]
        heapq.heapify(self._heap)
