"""Partitions that are synced together; their files may be synced on any thread."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from oncelog.errors import StorageError
from oncelog.runtime.ports import Disk
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.storage.partition import Partition
    from oncelog.broker.log.results import FlushTicket

logger = logging.getLogger(__name__)

SMALL_FLUSH_BYTES = 32 * 1024
SMALL_FLUSH_PARTITIONS = 4


class FlushJob(NamedTuple):
    """Partitions, each with the files to sync; created by ``Flushing.take``, completed by ``Flushing.done``."""

    disk: Disk
    tickets: tuple[tuple[Partition, FlushTicket], ...]

    @property
    def is_small(self) -> bool:
        """Whether so little was appended to so few existing files that syncing takes less time than waking a thread."""
        tickets = self.tickets
        return (
            len(tickets) <= SMALL_FLUSH_PARTITIONS
            and not any(ticket.folders or len(ticket.files) > 1 for _, ticket in tickets)
            and sum(ticket.size_bytes for _, ticket in tickets) <= SMALL_FLUSH_BYTES
        )

    def shared_out(self, count: int) -> list[FlushJob]:
        """This job divided into jobs for threads: at most ``count``, at least one."""
        return [FlushJob(self.disk, self.tickets[first::count]) for first in range(min(count, len(self.tickets)))]

    def sync(self) -> dict[TopicPartition, StorageError]:
        """Sync every file, on any thread; returns the partitions for which that failed, with the exception.

        The exceptions have no traceback: its frames would refer back to them, so that only the garbage collector could
        free them, with every file of this job.
        """
        failed: dict[TopicPartition, StorageError] = {}
        synced: set[str] = set()
        for partition, ticket in self.tickets:
            try:
                ticket.sync(self.disk, synced)
            except StorageError as error:
                failed[partition.topic_partition] = _without_frames(error)
            except Exception as error:
                logger.exception("unexpected failure of the sync of %s", partition.topic_partition)
                reason = f"unexpected {type(error).__name__} during its sync: {error}"
                failed[partition.topic_partition] = StorageError(reason)
        return failed

    def sync_all_at_once(self) -> dict[TopicPartition, StorageError]:
        """Like :meth:`sync`, for a caller that waits for the result: on several threads if that is faster."""
        synced: set[str] = set()
        failures = self.disk.all_of([partial(ticket.sync, self.disk, synced) for _, ticket in self.tickets])
        return {
            partition.topic_partition: failure
            for (partition, _), failure in zip(self.tickets, failures, strict=True)
            if failure is not None
        }


def _without_frames(error: StorageError) -> StorageError:
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error
