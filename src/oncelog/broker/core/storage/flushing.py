"""Decides which partitions to sync, and when (property oncelog.flush.policy).

Called by the broker, and by the server, which runs the syncs. Group commit: all records appended since the last sync
are synced together, up to a limit of partitions.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.core.storage.flush_job import FlushJob
from oncelog.errors import RefusedForNow, StorageError
from oncelog.runtime.timers import Timer
from oncelog.settings.kafka_properties import MAX_LONG
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.storage.log_manager import LogManager
    from oncelog.broker.core.storage.metadata_sync import MetadataSync
    from oncelog.broker.core.storage.partition import Partition
    from oncelog.broker.log.results import FlushTicket
    from oncelog.runtime.timers import Timers
    from oncelog.settings.config import BrokerConfig

logger = logging.getLogger(__name__)

MAX_AT_ONCE = 100
"""The maximum number of partitions in one sync: the first sync of each partition takes 0.1 ms of the event loop's
time."""
EARLY_BYTES = 16 * 1024 * 1024
"""A partition with this many bytes to sync does not wait for the policy's interval: while a file system allocates space
for a sync, appends to the file wait, and the more bytes are synced at once, the longer they wait."""
AGAIN_MS = 100
"""The delay in ms after a sync that failed because no file descriptor was free, or no space for a checkpoint."""
CLOSED_SEGMENT_FLUSH_INTERVAL_MS = 60_000
"""The interval in ms at which flush policy ``none`` looks for logs that have closed a segment: it syncs only these."""


class FlushPorts(Protocol):
    """The interface that syncs of partitions need from the broker."""

    config: BrokerConfig
    timers: Timers
    logs: LogManager
    metadata_sync: MetadataSync

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...


class Flushing:
    """The partitions that wait for a sync.

    :ivar before_commit: records are committed only once they are synced (policy ``commit``).
    """

    def __init__(self, ports: FlushPorts) -> None:
        self._ports = ports
        self.before_commit = ports.config.oncelog_flush_policy == "commit"
        self._at_intervals = ports.config.oncelog_flush_policy == "interval"
        self._dirty: dict[Partition, None] = {}
        self._early: dict[Partition, None] = {}
        """Partitions to be synced early: they have many bytes to sync, or the topic's settings require it."""
        self._timed: dict[Partition, Timer] = {}
        """Partitions that are checked again when ``flush.ms`` is over."""
        self._held_up: dict[Partition, None] = {}
        """Partitions whose last sync could not be made for the moment."""
        self._due = 0
        """The number of partitions, those waiting longest first, that are due for a sync although no answer waits for
        it."""

    def start(self, now_ms: int) -> None:
        """Unless each commit is preceded by a sync, start periodic syncs, so that a restart has less to check."""
        if self.before_commit:
            return
        ports = self._ports
        interval = self._at_intervals

        def pause_ms() -> int:
            return ports.config.log_flush_interval_ms if interval else CLOSED_SEGMENT_FLUSH_INTERVAL_MS

        def waiting() -> int:
            is_due = interval or any(partition.log.files.has_unflushed_segments for partition in self._dirty)
            return len(self._dirty) if is_due else 0

        def due(at_ms: int) -> None:
            self._due = waiting()

        def idle(at_ms: int) -> bool:
            return self._due == waiting()

        ports.timers.repeat(now_ms + pause_ms(), pause_ms, due, idle)

    def appended(self, partition: Partition) -> None:
        """Called when records were appended to a partition."""
        metadata = self._ports.metadata_sync
        if not metadata.is_settled and metadata.delays_sync_of(partition):
            return
        self._dirty[partition] = None
        log = partition.log
        if self._at_intervals and log.activity.bytes_in - log.files.flush_begun_bytes >= EARLY_BYTES:
            self._early[partition] = None
        if log.syncs_early and not self.before_commit:
            self._by_its_topic(partition)

    def settings_changed(self, partition: Partition) -> None:
        """Apply the topic's current settings to a partition that waits for a sync."""
        if partition in self._dirty and partition.log.syncs_early and not self.before_commit:
            self._by_its_topic(partition)

    def _by_its_topic(self, partition: Partition) -> None:
        """Apply ``flush.messages`` (sync now) and ``flush.ms`` (sync that long after the first record that waits for
        it)."""
        log, ports = partition.log, self._ports
        if log.needs_sync:
            self._early[partition] = None
        wait_ms = log.config.flush_ms
        max_ms = ports.config.log_flush_interval_ms if self._at_intervals else MAX_LONG
        if wait_ms >= max_ms:
            return
        at_ms, timer = log.written_ms + wait_ms, self._timed.get(partition)
        if timer is not None:
            if timer.at_ms <= at_ms:
                return
            timer.cancel()

        def over(_: int) -> None:
            del self._timed[partition]
            if partition in self._dirty:
                self._early[partition] = None

        self._timed[partition] = ports.timers.schedule(at_ms, over)

    def commits_at_once(self, topic: str) -> bool:
        """Whether answers to appends to this topic never wait for a sync."""
        partition = self._ports.partition(TopicPartition(topic, 0))
        return not self.before_commit and (partition is None or not partition.log.syncs_early)

    def forget(self, partition: Partition) -> None:
        """Called when a partition is deleted: it is not synced any more."""
        self._ports.metadata_sync.forget(partition)
        self._dirty.pop(partition, None)
        self._early.pop(partition, None)
        self._held_up.pop(partition, None)
        timer = self._timed.pop(partition, None)
        if timer is not None:
            timer.cancel()

    @property
    def wanted(self) -> bool:
        """Whether a sync is needed now, because answers wait for it or because it is due."""
        return bool(self._early) or ((self.before_commit or self._due > 0) and bool(self._dirty))

    def take(self, now_ms: int) -> FlushJob | None:
        """The partitions to sync together, with what was appended since their last sync (group commit); None if there
        are none.

        Of many partitions only those that have waited longest are returned; the others follow with the next call.
        Partitions that must be synced early are returned by themselves.
        """
        waiting = self._early if self._early and not self._due else self._dirty
        tickets: list[tuple[Partition, FlushTicket]] = []
        while waiting and not tickets:
            tickets = self._tickets_of(list(islice(waiting, MAX_AT_ONCE)), now_ms)
        return FlushJob(self._ports.logs.disk, tuple(tickets)) if tickets else None

    def _tickets_of(self, dirty: Sequence[Partition], now_ms: int) -> list[tuple[Partition, FlushTicket]]:
        self._due = max(self._due - len(dirty), 0)
        tickets, later, reason = [], [], ""
        for partition in dirty:
            del self._dirty[partition]
            self._early.pop(partition, None)
            if partition.log.failed is not None:
                # a sync outside this class failed, and did not notify the waiters
                partition.flush_failed(partition.log.failed)
                continue
            try:
                ticket = partition.log.files.begin_flush()
            except RefusedForNow as error:
                later.append(partition)
                reason = str(error)
                continue
            except StorageError as error:
                partition.flush_failed(str(error))
                continue
            if ticket is not None:
                tickets.append((partition, ticket))
        self._again_later(later, reason, now_ms)
        return tickets

    def done(self, job: FlushJob, failures: Mapping[TopicPartition, StorageError], now_ms: int) -> None:
        """Called when a job was synced: commit the records that it covers; a partition whose disk failed goes offline
        with an error."""
        later, reason = [], ""
        for partition, ticket in job.tickets:
            failure = failures.get(partition.topic_partition)
            if failure is None:
                self._held_up.pop(partition, None)
                partition.flushed(ticket)
            elif isinstance(failure, RefusedForNow):
                partition.log.files.not_flushed(ticket)
                later.append(partition)
                reason = str(failure)
            else:
                partition.flush_failed(str(failure))
        self._again_later(later, reason, now_ms)

    def _again_later(self, partitions: Sequence[Partition], reason: str, now_ms: int) -> None:
        """Sync partitions again later that could not be synced because no file descriptor or no space was free: no data
        are lost, and answers keep waiting."""
        if not partitions:
            return
        if any(partition not in self._held_up for partition in partitions):  # logged only if a partition begins to wait
            logger.warning("%d partitions wait for their sync: %s", len(partitions), reason)
        self._held_up.update(dict.fromkeys(partitions))

        def again(_: int) -> None:
            for partition in partitions:
                if self._ports.partition(partition.topic_partition) is partition:
                    self._dirty[partition] = None
            self._due = len(self._dirty)

        self._ports.timers.schedule(now_ms + AGAIN_MS, again)
