"""Decides when syncs of the log begin and on which threads; ``broker.core.storage`` decides what to sync. Called by
``server``.

Only one round of syncs runs at a time; records appended meanwhile wait for the next round, which covers all of them
(group commit). If commits wait for a round, its files are divided among several threads: a file system combines syncs
that wait together into one commit of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.core.storage.flush_job import FlushJob
from oncelog.broker.server.process.workers import Worker
from oncelog.errors import StorageError
from oncelog.runtime import real_time
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.broker import Broker
    from oncelog.broker.metrics.shell import ShellCounts
    from oncelog.runtime import real_asyncio as asyncio

QUICK_SYNC_S = 0.001
"""While small syncs take less than this many seconds on average, they run on the loop's thread: a switch to another
thread and back costs more, and producers wait for the sync in any case."""
SYNCS_AT_ONCE = 10
"""The number of threads in a round under the flush policy ``commit``. With transactions, which write to many of the
coordinators' partitions, 4 threads gave 2.2 times and 10 gave 3.6 times the rate of one; for four partitions 4 threads
are enough."""


class SyncingHost(Protocol):
    """The interface that syncing needs from its server."""

    broker: Broker
    loop: asyncio.AbstractEventLoop
    counts: ShellCounts
    is_stopping: bool

    def now_ms(self) -> int: ...

    def end_iteration_soon(self) -> None: ...


class _Round:
    """One round of syncs: a job divided among several threads."""

    def __init__(self, job: FlushJob, parts: int) -> None:
        self.job = job
        self.failures: dict[TopicPartition, StorageError] = {}
        self.begun = real_time.perf_counter()
        self._missing = parts
        self._lock = Lock()

    def is_over(self, failures: dict[TopicPartition, StorageError]) -> bool:
        """Record a finished part of the round; returns whether it was the last part."""
        with self._lock:
            self.failures.update(failures)
            self._missing -= 1
            return not self._missing


class Syncing:
    """Makes the syncs of one server; each of its ``workers`` does a part of a round."""

    def __init__(self, server: SyncingHost, workers: Sequence[Worker]) -> None:
        self._server = server
        self._workers = workers
        self._scheduled = False
        self._under_way = False
        self._small_sync_s = QUICK_SYNC_S

    @property
    def under_way(self) -> bool:
        """Whether a round is in progress whose end will be reported."""
        return self._under_way and all(worker.alive for worker in self._workers)

    def iteration_ends(self) -> None:
        """Start a round soon if answers wait for a sync, or one is due."""
        if not self._under_way and not self._scheduled:
            # Begins after this iteration of the loop, so that data that other connections have sent shares the sync.
            self._scheduled = True
            self._server.loop.call_soon(self._begin)

    def stop(self) -> None:
        for worker in self._workers:
            worker.stop()

    def _begin(self) -> None:
        self._scheduled = False
        server = self._server
        if self._under_way or server.is_stopping:
            return
        job = server.broker.flushing.take(server.now_ms())
        if job is None:
            return
        if self._small_sync_s < QUICK_SYNC_S and job.is_small:
            begin = real_time.perf_counter()
            self._done(job, job.sync(), real_time.perf_counter() - begin)
            return
        self._under_way = True
        parts = job.shared_out(len(self._workers))
        begun = _Round(job, len(parts))
        for worker, part in zip(self._workers, parts, strict=False):
            worker.submit(partial(self._sync, begun, part))

    def _sync(self, begun: _Round, part: FlushJob) -> None:
        """Sync one part of a round's files; runs on a worker's thread."""
        if begun.is_over(part.sync()):
            seconds = real_time.perf_counter() - begun.begun
            self._server.loop.call_soon_threadsafe(self._done, begun.job, begun.failures, seconds)

    def _done(self, job: FlushJob, failures: dict[TopicPartition, StorageError], seconds: float) -> None:
        self._under_way = False
        server = self._server
        server.counts.flushes.record(int(seconds * 1e9))
        server.counts.flush_failures += len(failures)
        if job.is_small:
            self._small_sync_s += (min(seconds, 4 * QUICK_SYNC_S) - self._small_sync_s) / 8
        now_ms = server.now_ms()
        server.broker.now_ms = now_ms
        server.broker.flushing.done(job, failures, now_ms)
        server.end_iteration_soon()
