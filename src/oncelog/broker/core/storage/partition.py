"""A partition that this broker leads: its log, its high watermark, and the requests that wait for the high watermark.

Called by the API handlers and the coordinators' host. Invariants: the high watermark never falls; with the flush policy
``commit``, or while ``flush.messages`` records wait for a sync, it never passes the offset up to which the log is on
stable storage; a waiting request is answered exactly once.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from oncelog.broker.log.results import AppendResult
from oncelog.errors import NONE, CorruptLogError, Error, StorageError
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.ports import Buffer
from oncelog.types import NO_PRODUCER, READ_COMMITTED, IsolationLevel, ProducerIdAndEpoch, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.cluster.cluster import Replicas
    from oncelog.broker.log.partition_log import PartitionLog
    from oncelog.broker.log.producers.verification_state import VerificationGuard
    from oncelog.broker.log.results import FlushTicket
    from oncelog.records.batch import BatchHeader
    from oncelog.records.validation import Checked

logger = logging.getLogger(__name__)

FORESEEN_FAILURES = (
    Error.MESSAGE_TOO_LARGE,
    Error.RECORD_LIST_TOO_LARGE,
    Error.CORRUPT_MESSAGE,
    Error.KAFKA_STORAGE_ERROR,
)
METERS = 7
REFUSALS_KEPT = 100
_COMMITTED = Deferred.of(NONE)


class Partition:
    """A partition as its leader sees it (Kafka's ``Partition``)."""

    __slots__ = (
        "_on_advance",
        "_on_dirty",
        "_refusals",
        "_sync_before_commit",
        "_waiter_count",
        "_waiters",
        "bytes_out",
        "failed_reads",
        "leader_epoch",
        "log",
        "reads",
        "replicas",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        log: PartitionLog,
        leader_epoch: int,
        *,
        sync_before_commit: bool,
        on_dirty: Callable[[Partition], None],
        on_advance: Callable[[TopicPartition], None],
    ) -> None:
        """:param sync_before_commit: the high watermark waits for ``flushed`` (flush policy ``commit``).

        :param on_dirty: called after each append, so that a sync can be arranged.
        :param on_advance: called when readers may see more, or when the partition failed.
        """
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log = log
        self.leader_epoch = leader_epoch
        self.reads = self.failed_reads = self.bytes_out = 0
        """The number of reads by consumers, of reads that failed on the disk, and of bytes sent to consumers; these
        counters only increase."""
        self._sync_before_commit = sync_before_commit
        self._on_dirty = on_dirty
        self._on_advance = on_advance
        self._waiters: list[tuple[int, int, Deferred[Error]]] = []
        self._waiter_count = 0
        self._refusals: set[str] = set()
        """The errors of failed reads that have already been logged."""
        self.replicas: Replicas | None = None
        """With several nodes, the partition's replicas: the high watermark waits for those in sync. None with a single
        node."""
        log.leader_epoch_cache.assign(leader_epoch, log.log_end_offset)
        log.maybe_advance_high_watermark(self._written_or_synced)

    def __str__(self) -> str:
        return str(self.topic_partition)

    @property
    def lacks_replicas(self) -> bool:
        """Whether fewer replicas are in sync than ``min.insync.replicas``, so that ``acks=all`` is refused."""
        return self.replicas is not None and self.replicas.is_short(self.log.config.min_insync_replicas)

    def led_by(self, node_id: int | None) -> bool:
        """Whether the node leads the partition; without several nodes always true."""
        return self.replicas is None or self.replicas.leader == node_id

    def lead(self, leader_epoch: int) -> None:
        """Called when another node leads, with a new epoch: answer the requests that wait for the old leader with an
        error."""
        self.leader_epoch = leader_epoch
        self.log.leader_epoch_cache.assign(leader_epoch, self.log.log_end_offset)
        self.log.writer.forget_verifications()
        self.leader_left()

    def leader_left(self) -> None:
        """Called when the leading node no longer leads: answer the requests that wait."""
        self.close_waiters(Error.NOT_LEADER_OR_FOLLOWER)
        self._on_advance(self.topic_partition)

    def in_sync_changed(self) -> None:
        """Called when the set of in-sync replicas, which the high watermark waits for, has changed."""
        self._advance(self._written_or_synced)

    @property
    def _written_or_synced(self) -> int:
        """The offset up to which this disk allows committing: the synced offset or the log end offset."""
        log = self.log
        if self._sync_before_commit or (log.syncs_early and log.needs_sync):
            return log.flushed_offset
        return log.log_end_offset

    @property
    def failed(self) -> bool:
        """Whether this partition's disk has failed; requests get KAFKA_STORAGE_ERROR until a restart recovers it."""
        return self.log.failed is not None

    def meters(self) -> tuple[int, int, int, int, int, int, int]:
        """Counts since the log was opened, for metrics: records and bytes in, bytes out, batches, failed batches,
        reads, failed reads.

        As in Apache Kafka, a batch that is too large or corrupt, or that the disk refuses, is not counted as failed.
        """
        activity = self.log.activity
        refused = sum(activity.refusals.values()) if activity.refusals else 0
        failed = refused - sum(activity.refusals.get(error, 0) for error in FORESEEN_FAILURES) if refused else 0
        return (
            self.log.log_end_offset - activity.since_offset,
            activity.bytes_in,
            self.bytes_out,
            activity.appends + activity.duplicates + refused,
            failed,
            self.reads,
            self.failed_reads,
        )

    def append_client(
        self, batch: Buffer, now_ms: int, guard: VerificationGuard | None = None, checked: Checked | None = None
    ) -> AppendResult:
        """Append a batch from a producer, checked in Kafka's order (``UnifiedLog.appendAsLeader``).

        :param checked: as in :meth:`LogWriter.append_client`.
        """
        return self._appended(
            self.log.writer.append_client(
                batch,
                leader_epoch=self.leader_epoch,
                now_ms=now_ms,
                guard=guard,
                checked=checked,
            )
        )

    def append_run(
        self, run: Sequence[bytearray | memoryview], headers: Sequence[BatchHeader], now_ms: int
    ) -> list[int]:
        """Append as many of the batches as possible, from the first on; returns their base offsets
        (:meth:`LogWriter.append_run`)."""
        log = self.log
        offsets = log.writer.append_run(run, headers, self.leader_epoch, now_ms)
        if offsets:
            self._on_dirty(self)
            if not self._sync_before_commit:
                self._advance(self._written_or_synced if log.syncs_early else log.log_end_offset)
        elif self.failed:
            self._stopped()
        return offsets

    def append_coordinator(
        self,
        pairs: Sequence[tuple[bytes, bytes | None]],
        now_ms: int,
        producer: ProducerIdAndEpoch = NO_PRODUCER,
        guard: VerificationGuard | None = None,
    ) -> AppendResult:
        """Append keys and values of a coordinator of this broker; offsets committed in a transaction need a
        ``guard``."""
        return self._appended(
            self.log.writer.append_coordinator(
                pairs, leader_epoch=self.leader_epoch, now_ms=now_ms, producer=producer, guard=guard
            )
        )

    def append_marker(
        self,
        producer: ProducerIdAndEpoch,
        *,
        commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
        now_ms: int,
    ) -> AppendResult:
        """Append the marker that ends a producer's transaction in this partition (WriteTxnMarkers)."""
        return self._appended(
            self.log.writer.append_marker(
                producer,
                commit=commit,
                coordinator_epoch=coordinator_epoch,
                transaction_version=transaction_version,
                leader_epoch=self.leader_epoch,
                now_ms=now_ms,
            )
        )

    def _appended(self, result: AppendResult) -> AppendResult:
        if result.error is NONE and not result.duplicate:
            self._on_dirty(self)
            if not self._sync_before_commit:
                log = self.log
                self._advance(self._written_or_synced if log.syncs_early else log.log_end_offset)
        elif self.failed:
            self._stopped()
        return result

    def flushed(self, ticket: FlushTicket) -> None:
        """Called when everything that the ticket covers is on stable storage."""
        self.log.files.flushed(ticket)
        self._advance(self._written_or_synced)

    def flush_failed(self, reason: str) -> None:
        """Called when a sync failed: no further records are acknowledged for this partition until a restart has read
        the disk again."""
        self.log.fail(reason)
        self._stopped()

    def when_committed(self, offset: int) -> Deferred[Error]:
        """Resolves to NONE once the high watermark has reached ``offset``; to KAFKA_STORAGE_ERROR if the disk fails
        before that."""
        if offset <= self.log.high_watermark:
            return _COMMITTED
        if self.failed:
            return Deferred.of(Error.KAFKA_STORAGE_ERROR)
        waiter: Deferred[Error] = Deferred()
        self._waiter_count += 1
        heapq.heappush(self._waiters, (offset, self._waiter_count, waiter))
        return waiter

    def close_waiters(self, error: Error) -> None:
        """Answer all requests that wait with ``error``, because the partition is deleted, the leader changed or the
        broker stops."""
        waiters, self._waiters = self._waiters, []
        for _, _, waiter in sorted(waiters, key=lambda entry: entry[:2]):
            waiter.resolve(error)

    def readable_to(self, isolation: IsolationLevel) -> int:
        """The first offset that a consumer with this isolation level may not see."""
        if isolation is READ_COMMITTED:
            return self.log.last_stable_offset
        return self.log.high_watermark

    def unreadable(self, error: StorageError | CorruptLogError) -> Error:
        """The error for a reader if the disk fails, or the log is damaged, at the position that it reads; reads of
        other positions are not affected. Each error is logged once."""
        self.failed_reads += 1
        reason = str(error)
        if reason not in self._refusals:  # logged once per reason, because readers repeat their requests
            if len(self._refusals) >= REFUSALS_KEPT:
                self._refusals.clear()
            self._refusals.add(reason)
            logger.warning("%s cannot be read: %s", self, reason)
        return Error.CORRUPT_MESSAGE if isinstance(error, CorruptLogError) else Error.KAFKA_STORAGE_ERROR

    def check_leader_epoch(self, current_leader_epoch: int) -> Error:
        """NONE if the requester knows the current leader epoch, or gives -1 for no check; else the error (KIP-320)."""
        if current_leader_epoch in (-1, self.leader_epoch):
            return NONE
        if current_leader_epoch < self.leader_epoch:
            return Error.FENCED_LEADER_EPOCH
        return Error.UNKNOWN_LEADER_EPOCH

    def _advance(self, offset: int) -> None:
        if self.replicas is not None:
            offset = self.replicas.committed(offset)
        if not self.log.maybe_advance_high_watermark(offset):
            return
        if self._waiters:
            waiters = self._waiters
            outcome = Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND if self.lacks_replicas else NONE
            while waiters and waiters[0][0] <= offset:
                heapq.heappop(waiters)[2].resolve(outcome)
        self._on_advance(self.topic_partition)

    def _stopped(self) -> None:
        """Answer all waiting writers and readers, because the disk has failed."""
        self.close_waiters(Error.KAFKA_STORAGE_ERROR)
        self._on_advance(self.topic_partition)
