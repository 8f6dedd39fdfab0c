"""One partition's log: opens, reads and searches it, and provides the objects that change it.

Called by ``broker.core.storage.partition`` and the broker's log manager; nothing else writes into a partition's folder.
Changes are made by other objects: ``writer`` appends, ``trimmer`` removes, ``files`` determines what to sync. Source:
Kafka's ``UnifiedLog`` and ``LocalLog`` (KIP-98, KIP-101, KIP-107, KIP-360, KIP-890).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oncelog.broker.log import recovery
from oncelog.broker.log.file_names import deleted_folder
from oncelog.broker.log.files import LogFiles
from oncelog.broker.log.producers.producer_entry import ProducerStateEntry
from oncelog.broker.log.producers.producer_state import ProducerStateManager
from oncelog.broker.log.results import LogRead, SegmentInfo, TimestampOffset
from oncelog.broker.log.segments.segment import Segment
from oncelog.broker.log.segments.transaction_index import AbortedTxn
from oncelog.broker.log.state import LogState
from oncelog.broker.log.trimmer import LogTrimmer
from oncelog.broker.log.writer import LogWriter
from oncelog.errors import Error
from oncelog.records.batch import BatchHeader
from oncelog.runtime.ports import Disk
from oncelog.settings.config import TopicConfig
from oncelog.types import TopicPartition, new_tuple


class PartitionLog(LogState):
    """The log of one partition, created with :meth:`open`. Timestamps and clocks are in ms."""

    def __init__(
        self,
        disk: Disk,
        folder: str,
        topic_partition: TopicPartition,
        config: TopicConfig,
        producers: ProducerStateManager,
        loaded: recovery.LoadedLog,
        now_ms: int,
    ) -> None:
        super().__init__(disk, folder, topic_partition, config, producers, loaded, now_ms)
        self.files = LogFiles(self, loaded.unsynced)
        self.writer = LogWriter(self, self.files)
        self.trimmer = LogTrimmer(self, self.files)

    @classmethod
    def open(
        cls,
        disk: Disk,
        folder: str,
        topic_partition: TopicPartition,
        config: TopicConfig,
        *,
        now_ms: int,
        clean_shutdown: bool,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        producer_id_expiration_ms: int = 86_400_000,
        verify_transactions: bool = True,
    ) -> PartitionLog:
        """Create the partition's folder or load an existing one; after a crash, recover it.

        :param folder: path below the disk's root.
        :param clean_shutdown: whether the data folder was closed cleanly, so that nothing need be scanned.
        :param recovery_point: from the checkpoint: everything below this offset was on stable storage.
        :param log_start_offset: from the checkpoint: the first offset, because the log may begin inside a segment.
        :param verify_transactions: ``transaction.partition.verification.enable``.

        The high watermark is set to the start of the log; the caller advances it.
        """
        producers = ProducerStateManager(
            topic_partition, producer_id_expiration_ms, verify_transactions=verify_transactions
        )
        loaded = recovery.load(
            disk,
            folder,
            config,
            producers,
            now_ms=now_ms,
            clean_shutdown=clean_shutdown,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
        )
        return cls(disk, folder, topic_partition, config, producers, loaded, now_ms)

    def __repr__(self) -> str:
        return (
            f"PartitionLog({self.topic_partition}, start={self.log_start_offset}, "
            f"high_watermark={self.high_watermark}, end={self.log_end_offset})"
        )

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of the earliest transaction that has no marker yet."""
        return self.producers.first_undecided_offset

    @property
    def size_bytes(self) -> int:
        return self.segment_list.size_bytes

    @property
    def segments(self) -> Sequence[SegmentInfo]:
        """The segments, oldest first; the last one is active."""
        return [SegmentInfo(s.base_offset, s.size_bytes, s.load_max_timestamp()) for s in self.segment_list]

    def maybe_advance_high_watermark(self, offset: int) -> bool:
        """Advance the high watermark to ``offset``, but never back, and not past the log end offset; returns whether it
        moved."""
        if offset > self.log_end_offset:
            offset = self.log_end_offset
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        if self.producers.unreplicated:
            self.producers.replicated_to(offset)
        return True

    @property
    def producer_count(self) -> int:
        """The number of producers in the producer state."""
        return len(self.producers.entries)

    @property
    def segment_count(self) -> int:
        return len(self.segment_list)

    def active_producers(self) -> list[ProducerStateEntry]:
        """The state of every known producer, by producer id; callers must not change these entries."""
        return [self.producers.entries[producer_id] for producer_id in sorted(self.producers.entries)]

    def read(self, offset: int, max_bytes: int, upper_bound_offset: int, at_least_one_batch: bool) -> LogRead | Error:
        """Read whole batches of one segment from ``offset`` on, at most ``max_bytes``, below ``upper_bound_offset``.

        :param upper_bound_offset: the high watermark, last stable offset or log end offset, which is where a batch
            starts.
        :param at_least_one_batch: return the first batch even if it is larger than ``max_bytes``.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            return Error.OFFSET_OUT_OF_RANGE
        upper = upper_bound_offset if upper_bound_offset < self.log_end_offset else self.log_end_offset
        if offset >= upper:
            return new_tuple(LogRead, ((), 0, offset, offset))
        return self.segment_list.read(offset, max_bytes, upper, self.log_end_offset, at_least_one_batch)

    def find_unreadable(self, base_offset: int, position: int, size_bytes: int) -> None:
        """Mark bytes of a segment that the disk failed to read: until the next :meth:`LogTrimmer.apply_retention`,
        reads end before the batch with these bytes, and reads that begin with this batch are refused."""
        self.segment_list.find_unreadable(base_offset, position, size_bytes)

    def aborted_transactions(self, offset: int, upper_bound_offset: int) -> list[tuple[int, int]]:
        """Producer id and first offset of the aborted transactions with records in ``[offset, upper_bound_offset)``, in
        the order of their markers, as in Kafka's responses.

        The list may contain too many transactions, but never too few.
        """
        return [(entry.producer_id, entry.first_offset) for entry in self.aborted_entries(offset, upper_bound_offset)]

    def aborted_entries(self, offset: int, upper_bound_offset: int) -> list[AbortedTxn]:
        """The aborted transactions with records in the range, as entries of the transaction indexes."""
        return self.segment_list.aborted_transactions(offset, upper_bound_offset)

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record whose timestamp is at least ``timestamp``; None if there is none.

        The caller discards results at or past the high watermark or the last stable offset.
        """
        return self.segment_list.offset_for_timestamp(timestamp, self.log_start_offset)

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The first record that has the log's largest timestamp (ListOffsets -3); None if no record has a timestamp.

        As in Kafka, it may be below the log start offset: a record that DeleteRecords deleted counts until its segment
        is removed.
        """
        return self.segment_list.offset_of_max_timestamp()

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The greatest known epoch that is at most ``epoch``, and the offset at which it ended; (-1, -1) if ``epoch``
        is greater than all known ones."""
        return self.leader_epoch_cache.end_offset_for(epoch, self.log_end_offset)

    def batches(self, start: int) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Header and bytes of every batch that ends at or after ``start``, to the end of the log.

        :raises CorruptLogError: the log contains bytes that are no batch.
        """
        return self.segment_list.batches(start)

    @property
    def closed_segments(self) -> Sequence[Segment]:
        """All segments except the active one."""
        return self.segment_list.closed

    @property
    def active_base_offset(self) -> int:
        """Base offset of the active segment."""
        return self.segment_list.active.base_offset

    def has_expired_producers(self, now_ms: int) -> bool:
        """Whether :meth:`LogWriter.expire_producers` would remove any producer."""
        return self.producers.has_expired(now_ms)

    def close(self, synced: set[str] | None = None, *, clean: bool = True) -> None:
        """Close the files; may be called on any thread, if no other thread uses this log.

        :param synced: folders that need no further sync; logs that are closed together share this set.
        :param clean: write and sync everything first, so that the next opening has little to read.
        :raises StorageError: the disk failed; the log must then be opened as after a crash.
        """
        try:
            if clean and self.failed is None:
                ticket = self.files.begin_close()
                if ticket is not None:
                    ticket.sync(self.disk, set() if synced is None else synced)
                    self.files.flushed(ticket)
                self.files.closed()
        finally:
            for segment in self.segment_list:
                segment.close()

    def delete(self, token: str) -> str:
        """Close the log and rename its folder; returns the new path, which the caller removes later.

        :param token: distinguishes this folder from earlier ones of the same partition.
        """
        self.close(clean=False)
        parent, _, _ = self.folder.rpartition("/")
        name = deleted_folder(self.topic_partition, token)
        new = f"{parent}/{name}" if parent else name
        self.disk.rename(self.folder, new)
        self.folder = new
        self.failed = f"{self.topic_partition} was deleted"
        return new
