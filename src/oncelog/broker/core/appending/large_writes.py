"""Writes large batches on a worker thread, so that the event loop is not blocked.

Called by ``pipeline``. The kernel copies a batch into its page cache without the interpreter's lock, and a megabyte may
take milliseconds if pages must be allocated or much is waiting to be written back: meanwhile the loop would serve no
other request. Handing over costs about 100 us on both cores, so smaller batches are written on the loop.

Invariants
- Batches of a connection do not overtake each other: the request is parked until its batch is in the log.
- Every other change of the partition's log waits for the batch (``broker.log.long_append``); reads do not.
- One batch of a partition is handed over at a time. Further large ones queue for the partition, in the order of
  arrival; the loop does not wait for them, and smaller ones are written before those in the queue.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from oncelog.broker.core.requests.parking import Park, ParkReason
from oncelog.errors import InvariantError
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.appending.batch import PendingBatch
    from oncelog.broker.core.limits.request_memory import RequestMemory
    from oncelog.broker.core.storage.partition import Partition
    from oncelog.broker.log.long_append import LongAppend
    from oncelog.runtime.ports import Background

LARGE_WRITE_BYTES = 256 * 1024
"""The minimum size of a batch that is handed over."""


class _Queue:
    """The large batches of one partition: the one being written, and the queue behind it."""

    __slots__ = ("is_writing", "waiting")

    def __init__(self) -> None:
        self.is_writing = False
        self.waiting: deque[tuple[int, Deferred[None]]] = deque()
        """The size of each queued batch in bytes, and the deferred that resolves when it may be written."""


class LargeWrites:
    """The large writes of one broker that are under way."""

    def __init__(self, memory: RequestMemory) -> None:
        self._memory = memory
        self._worker: Background | None = None
        self._make_lock: Callable[[], AbstractContextManager[object]] = nullcontext
        self.least_bytes = sys.maxsize
        """The size in bytes from which batches are handed over."""
        self._queues: dict[Partition, _Queue] = {}

    def begin(
        self,
        worker: Background,
        make_lock: Callable[[], AbstractContextManager[object]] = nullcontext,
        least_bytes: int = LARGE_WRITE_BYTES,
    ) -> None:
        """Start handing over; until this is called every batch is written on the loop.

        :param make_lock: a lock for a batch that ``worker`` writes on another thread.
        """
        self._worker, self._make_lock, self.least_bytes = worker, make_lock, least_bytes

    def end(self) -> None:
        """Stop handing over."""
        self._worker, self.least_bytes = None, sys.maxsize

    def must_queue(self, batch: PendingBatch) -> bool:
        """Whether a batch has to wait behind a large one of its partition."""
        return batch.size_bytes >= self.least_bytes and batch.partition in self._queues

    def queue(self, batch: PendingBatch) -> Park[None]:
        """Resolves when the batch is first in its partition's queue."""
        admitted: Deferred[None] = Deferred()
        self._memory.estimate(batch.size_bytes)
        self._queues[batch.partition].waiting.append((batch.size_bytes, admitted))
        return Park(batch.context, ParkReason.LARGE_WRITES, admitted)

    def write(self, batch: PendingBatch, append: LongAppend) -> Park[None]:
        """Resolves when the bytes are in the file, or the write has failed."""
        worker = self._worker
        if worker is None:
            raise InvariantError("a batch has to be written by a worker thread, and there is none")
        written: Deferred[None] = Deferred()
        partition, size_bytes = batch.partition, batch.size_bytes
        append.alone = self._make_lock()
        park = Park(batch.context, ParkReason.WRITE, written)
        self._memory.estimate(size_bytes)
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = _Queue()
        if queue.is_writing:  # the loop has waited for it
            raise InvariantError(f"two large batches of {partition.topic_partition} are written at once")
        queue.is_writing = True

        def done(error: Exception | None) -> None:
            self._memory.estimate(-size_bytes)
            if error is None:
                written.resolve(None)
            else:
                written.fail(error)
            self._next(partition, queue)

        worker.run(append.write, done)
        return park

    def _next(self, partition: Partition, queue: _Queue) -> None:
        """Admit queued batches in order until one of them is being written; one that is not was refused."""
        queue.is_writing = False
        while queue.waiting and not queue.is_writing:
            size_bytes, admitted = queue.waiting.popleft()
            self._memory.estimate(-size_bytes)
            admitted.resolve(None)
        if not queue.is_writing:
            del self._queues[partition]
