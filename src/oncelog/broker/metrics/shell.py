"""The server's counters for metrics, and the values that a collector reads from the server.

The counts are plain numbers that the server increments; :class:`LoopWatch` runs only if metrics are enabled.
"""

from __future__ import annotations

import gc
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Protocol

from oncelog.broker.core.broker import Broker
from oncelog.broker.core.requests.durations import Durations
from oncelog.broker.core.requests.session import Session
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time

TICK_S = 0.1
TICKS_A_SECOND = 10
WINDOW_S = 60
"""The period in seconds over which rates are computed."""


class ShellCounts:
    """Counters of one server, which only increase."""

    def __init__(self) -> None:
        self.opened: dict[str, int] = {}
        """The number of connections accepted, by listener; every open listener has an entry."""
        self.closed: Counter[str] = Counter()
        self.flushes = Durations()
        self.flush_failures = 0


class ConnectedClient(Protocol):
    """The interface of a connection that the collector reads."""

    session: Session

    @property
    def is_waiting(self) -> bool:
        """Whether the connection's next request has arrived but has not been started."""
        ...


class Shell(Protocol):
    """The interface of the server around a broker that the collector reads."""

    broker: Broker
    counts: ShellCounts

    def connected(self) -> Iterable[ConnectedClient]: ...


class Rates:
    """Computes how fast counters increase, over the last minute or since the first sample."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, Mapping[Hashable, float]]] = deque(maxlen=WINDOW_S + 1)

    def look(self, now_s: float, counts: Mapping[Hashable, float]) -> None:
        """Record the counters; called once a second."""
        self._looks.append((now_s, counts))

    def per_second(self, key: Hashable) -> float:
        """The counter's increase per second; 0 if it was sampled only once, or never increased."""
        if len(self._looks) < 2:
            return 0.0
        (begin, before), (end, after) = self._looks[0], self._looks[-1]
        return (after.get(key, 0.0) - before.get(key, 0.0)) / (end - begin) if end > begin else 0.0


class LoopWatch:
    """Samples the event loop ten times a second: how late its callbacks are, how long it is idle, and how fast counters
    increase."""

    def __init__(self, loop: asyncio.AbstractEventLoop, broker: Broker, counts: Callable[[], Mapping[Hashable, float]]):
        self.delays = Durations()
        self.collections = Durations()
        """Durations of Python's garbage collections."""
        self.rates = Rates()
        self._loop = loop
        self._broker = broker
        self._counts = counts
        self._ticks = 0
        self._due = 0.0
        self._collecting_ns = 0
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        gc.callbacks.append(self._collects)
        self._arrange()

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            gc.callbacks.remove(self._collects)
            self._handle = None

    @property
    def idle(self) -> float:
        """The fraction of the last minute, from 0 to 1, in which the event loop's thread was idle."""
        return min(1.0, max(0.0, 1.0 - self.rates.per_second("cpu")))

    def _arrange(self) -> None:
        self._due = self._loop.time() + TICK_S
        self._handle = self._loop.call_at(self._due, self._tick)

    def _tick(self) -> None:
        now = self._loop.time()
        self.delays.record(int(max(0.0, now - self._due) * 1e9))
        if self._ticks % TICKS_A_SECOND == 0:
            self.rates.look(now, {"cpu": time.thread_time(), **self._counts()})
        self._ticks += 1
        if self._ticks % (TICKS_A_SECOND * WINDOW_S) == 0:
            self.delays.rotate()
            self.collections.rotate()
            if self._broker.request_metrics is not None:
                self._broker.request_metrics.rotate()
        self._arrange()

    def _collects(self, phase: str, _: Mapping[str, int]) -> None:
        if phase == "start":
            self._collecting_ns = real_time.perf_counter_ns()
        else:
            self.collections.record(real_time.perf_counter_ns() - self._collecting_ns)
