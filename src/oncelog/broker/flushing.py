"""Which partitions have something to sync, and when it is to be synced (``oncelog.flush.policy``).

Called by the broker and, for the syncs themselves, by the server's shell: group commit takes everything that was
appended since the last sync in one go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from oncelog.broker.log_manager import FlushJob
from oncelog.broker.partition import Partition
from oncelog.errors import StorageError
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

CLOSED_SEGMENT_FLUSH_INTERVAL_MS = 60_000
"""Flush policy ``none`` syncs a log only once it has closed a segment; looked at this often."""


class Flushing:
    """What waits for a sync.

    :ivar before_commit: nothing is committed before it is synced (policy ``commit``).
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.before_commit = broker.config.oncelog_flush_policy == "commit"
        self._dirty: dict[Partition, None] = {}
        self._due = False

    def start(self, now_ms: int) -> None:
        """Without a sync before each commit: from time to time, so that a restart has less to check."""
        if self.before_commit:
            return
        broker = self._broker
        interval = broker.config.oncelog_flush_policy == "interval"

        def pause_ms() -> int:
            return broker.config.log_flush_interval_ms if interval else CLOSED_SEGMENT_FLUSH_INTERVAL_MS

        def due(at_ms: int) -> None:
            self._due = interval or any(partition.log.has_unflushed_segments for partition in self._dirty)

        broker.timers.repeat(now_ms + pause_ms(), pause_ms, due)

    def appended(self, partition: Partition) -> None:
        """Something was appended to a partition."""
        self._dirty[partition] = None

    def forget(self, partition: Partition) -> None:
        """A partition is deleted: nothing of it is synced."""
        self._dirty.pop(partition, None)

    @property
    def wanted(self) -> bool:
        """Whether answers wait for a sync, or one is due."""
        return (self.before_commit or self._due) and bool(self._dirty)

    def take(self) -> FlushJob | None:
        """Everything appended since the last call, to be synced in one go (group commit); None if there is nothing."""
        dirty, self._dirty = self._dirty, {}
        self._due = False
        tickets = []
        for partition in dirty:
            try:
                ticket = None if partition.failed else partition.log.begin_flush()
            except StorageError as error:
                partition.flush_failed(str(error))
                continue
            if ticket is not None:
                tickets.append((partition, ticket))
        return FlushJob(self._broker.logs.disk, tuple(tickets)) if tickets else None

    def done(self, job: FlushJob, failures: Mapping[TopicPartition, str]) -> None:
        """A job was synced: commit what it covers; a partition whose disk failed stops and says so."""
        for partition, ticket in job.tickets:
            reason = failures.get(partition.topic_partition)
            if reason is None:
                partition.flushed(ticket)
            else:
                partition.flush_failed(reason)
