"""The source of an endpoint about one broker: its metrics, whether it is alive, and whether it is ready.

Created before the broker, so that a long start can be observed. A scrape of a serving broker runs on the broker's loop,
for a millisecond at a time between other callbacks; before the broker serves, the loop is not used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from oncelog.broker.core.broker import Broker
from oncelog.broker.core.requests.request_metrics import RequestMetrics
from oncelog.broker.metrics.broker_series import broker_series, rate_counts
from oncelog.broker.metrics.catalog import FAMILIES
from oncelog.broker.metrics.endpoint import HealthVerdict, Unanswerable
from oncelog.broker.metrics.exposition import Exposition, ExpositionFormat
from oncelog.broker.metrics.process import add_disk, add_process
from oncelog.broker.metrics.shell import LoopWatch, Shell
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time

T = TypeVar("T")

TASKS_S = 0.001
"""The time in seconds that a scrape works before other callbacks of the event loop run."""
HANGS_S = 5.0
"""An event loop that does not respond for this many seconds is considered hung."""
MAX_NAMED = 20


class BrokerSource:
    """Reports on one broker, from before its start until after its end.

    :param data: the data folder, None for a broker in memory.
    """

    def __init__(self, data: str | os.PathLike[str] | None) -> None:
        self.requests = RequestMetrics(real_time.perf_counter_ns)
        self._data = Path(data) if data is not None else None
        self._begun = real_time.perf_counter()
        self._start_s = 0.0
        self._scrape_s = 0.0
        self._broker: Broker | None = None
        self._shell: Shell | None = None
        self._watch: LoopWatch | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self._scraping = asyncio.Lock()

    # --- called by the broker's shell

    def opens(self, broker: Broker) -> None:
        """Called when the broker is about to recover the logs in its folder."""
        self._broker = broker

    def serves(self, shell: Shell, loop: asyncio.AbstractEventLoop) -> None:
        """Called on the event loop when clients can connect."""
        self._start_s = real_time.perf_counter() - self._begun
        self._watch = LoopWatch(loop, shell.broker, lambda: rate_counts(shell))
        self._watch.start()
        self._shell, self._loop = shell, loop

    def stops(self) -> None:
        """Called on the event loop when the broker stops."""
        self._stopping = True
        if self._watch is not None:
            self._watch.stop()

    # --- Source

    async def metrics(self, form: ExpositionFormat) -> Exposition:
        page = Exposition(FAMILIES, form)
        ready = await self.ready()
        page.add("oncelog_ready", int(ready.well))
        recovery = self._broker.recovery if self._broker is not None else None
        page.add("oncelog_recovery_partitions", recovery.partitions if recovery is not None else 0)
        page.add("oncelog_recovery_partitions_opened", recovery.opened_at_start if recovery is not None else 0)
        add_process(page)
        add_disk(page, self._data)
        if self._shell is None or self._watch is None or self._stopping:
            page.add("kafka_server_kafkaserver_brokerstate", 2 if recovery is not None else 1)
            return page
        work = broker_series(page, self._shell, self._watch, self._start_s, real_time.time_ms())
        async with self._scraping:  # one scrape at a time: several at once would block the loop for many milliseconds
            self._scrape_s = await self._on_loop(lambda done: self._work_on(work, done), 30.0)
        page.add("oncelog_scrape_seconds", round(self._scrape_s, 6))
        return page

    async def live(self) -> HealthVerdict:
        if self._shell is None or self._stopping:
            return HealthVerdict(True, "stopping" if self._stopping else "starting")
        try:
            await self._ask(lambda: None)
        except Unanswerable as error:
            return HealthVerdict(False, "hangs", {"reason": str(error)})
        return HealthVerdict(True, "alive")

    async def ready(self) -> HealthVerdict:
        if self._stopping:
            return HealthVerdict(False, "stopping")
        if self._shell is None:
            recovery = self._broker.recovery if self._broker is not None else None
            opened = {"partitions": recovery.partitions, "opened": recovery.opened} if recovery is not None else {}
            return HealthVerdict(False, "starting", opened)
        broker = self._shell.broker
        try:
            stopped = await self._ask(lambda: _stopped(broker))
        except Unanswerable as error:
            return HealthVerdict(False, "hangs", {"reason": str(error)})
        if stopped:
            named = {str(name): reason for name, reason in stopped[:MAX_NAMED]}
            todo = "repair the disk, then restart the broker"
            return HealthVerdict(
                False, "offline because of a failed disk", {"count": len(stopped), "partitions": named, "todo": todo}
            )
        return HealthVerdict(True, "ready")

    # --- on the broker's loop

    async def _ask(self, question: Callable[[], T]) -> T:
        """The result of ``question``, a quick function, which is called on the broker's event loop."""

        def answer(done: Future[T]) -> None:
            if not done.set_running_or_notify_cancel():
                return  # the requester no longer waits
            try:
                done.set_result(question())
            except Exception as error:  # noqa: BLE001 - passed to the caller
                done.set_exception(error)

        return await self._on_loop(answer, HANGS_S)

    async def _on_loop(self, begin: Callable[[Future[T]], None], limit_s: float) -> T:
        """Call ``begin`` with a future on the broker's event loop; returns the future's result."""
        done: Future[T] = Future()
        loop = self._loop
        if loop is None or loop.is_closed():
            raise Unanswerable("the broker has stopped")
        loop.call_soon_threadsafe(begin, done)
        try:
            async with asyncio.timeout(limit_s):
                return await asyncio.wrap_future(done)
        except TimeoutError:
            raise Unanswerable(f"the broker's event loop has not answered within {limit_s:.0f} s") from None

    def _work_on(self, work: Iterator[None], done: Future[float], spent_s: float = 0.0) -> None:
        begin = real_time.perf_counter()
        end = begin + TASKS_S
        try:
            while (now := real_time.perf_counter()) < end:
                next(work)
        except StopIteration:
            if done.set_running_or_notify_cancel():
                done.set_result(spent_s + real_time.perf_counter() - begin)
        except Exception as error:  # noqa: BLE001 - passed to the scraper
            if done.set_running_or_notify_cancel():
                done.set_exception(error)
        else:
            if self._loop is not None and not done.cancelled():
                self._loop.call_soon(self._work_on, work, done, spent_s + now - begin)


def _stopped(broker: Broker) -> list[tuple[object, str]]:
    """The partitions that are offline because of a disk failure, each with the error."""
    found = ((partition.topic_partition, partition.log.failed) for partition in broker.partitions().values())
    return [(name, reason) for name, reason in found if reason is not None]
