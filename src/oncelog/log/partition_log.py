"""One partition's log: appends, reads, searches, truncates and recovers.

Called by ``broker.Partition`` and the broker's log manager; nothing else writes into a partition's folder.
Invariants: offsets appended here rise without gaps; nothing in memory changes before its bytes are
written; ``log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset``; everything below
``flushed_offset`` is on stable storage. After a failed write or sync ``failed`` says why, and every append is refused
with KAFKA_STORAGE_ERROR until the folder is opened again. Appending, truncating and flushing change the same few
offsets together, so they share one long file; rules, searches, recovery and files have their own modules.
Source: Kafka's ``UnifiedLog`` and ``LocalLog`` (KIP-98, KIP-101, KIP-107, KIP-360, KIP-890).
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from struct import Struct

from oncelog.config import TopicConfig
from oncelog.errors import NONE, Error, NoSpace, RefusedForNow, StorageError
from oncelog.kafka_properties import MAX_LONG
from oncelog.log import recovery, retention
from oncelog.log.activity import Activity
from oncelog.log.checkpoints import LEADER_EPOCH_CHECKPOINT, encode_leader_epochs
from oncelog.log.file_names import SWAP_SUFFIX, deleted_folder
from oncelog.log.leader_epoch_cache import LeaderEpochCache
from oncelog.log.long_append import LongAppend
from oncelog.log.producer_entry import BatchMetadata, ProducerStateEntry
from oncelog.log.producer_rules import Refusal
from oncelog.log.producer_state import ProducerStateManager
from oncelog.log.results import AppendResult, FileSlice, FlushTicket, LogRead, SegmentInfo, TimestampOffset
from oncelog.log.segment import Segment
from oncelog.log.segment_list import SegmentList
from oncelog.log.transaction_index import AbortedTxn
from oncelog.log.verification import VerificationGuard
from oncelog.ports import Buffer, Disk, File
from oncelog.records.batch import (
    LOG_OVERHEAD_BYTES,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    encode_pairs,
    read_header,
)
from oncelog.records.compression import Compression
from oncelog.records.control import encode_end_txn_marker
from oncelog.records.validation import Checked, InvalidBatch, ValidatedBatch, validate_append
from oncelog.types import NO_PARTITION_LEADER_EPOCH, NO_PRODUCER, ProducerIdAndEpoch, TopicPartition, new_tuple

__all__ = [
    "AppendResult",
    "FileSlice",
    "FlushTicket",
    "LogRead",
    "PartitionLog",
    "SegmentInfo",
    "TimestampOffset",
]

logger = logging.getLogger(__name__)

_HEAD = Struct(">qii")
_HEAD_SIZE_BYTES = _HEAD.size
RESTING_MS = 60_000
"""A log without an append for this long keeps no disk space reserved."""
LEAST_PAIR_BYTES = 12
"""The least size of a coordinator's record in its batch."""


class PartitionLog:
    """The log of one partition; make it with :meth:`open`. Timestamps and clocks are in ms."""

    def __init__(
        self,
        disk: Disk,
        folder: str,
        topic_partition: TopicPartition,
        config: TopicConfig,
        state: ProducerStateManager,
        loaded: recovery.LoadedLog,
        now_ms: int,
    ) -> None:
        self.disk = disk
        self.folder = folder
        self.topic_partition = topic_partition
        self._state = state
        self._segments = SegmentList(loaded.segments)
        self._snapshots = loaded.snapshots
        self.leader_epoch_cache: LeaderEpochCache = loaded.epochs
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.high_watermark = loaded.log_start_offset
        self.flushed_offset = loaded.recovery_point
        self.failed: str | None = None
        self._found_full_at = -1
        """The log's end when the disk was last said to be full."""
        self._now_ms = now_ms
        self._closed = False
        self._under_way: LongAppend | None = None
        self._closed_since_flush: list[int] = []
        """Base offsets of closed segments whose index files have not been synced yet."""
        self._unsynced_files: dict[str, File] = {file.path: file for file in loaded.unsynced}
        self._folder_unsynced = True
        self._name_unsynced = True
        self.activity = Activity(loaded.log_end_offset)
        self.flush_begun_bytes = 0
        """How much of ``activity.bytes_in`` the last flush included."""
        self._removals: list[tuple[int, list[str]]] = []
        self.update_config(config)

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
        :param clean_shutdown: the data folder was closed cleanly: nothing is scanned.
        :param recovery_point: checkpoint: everything below it was on stable storage.
        :param log_start_offset: checkpoint: the first offset, because the log may begin inside a segment.
        :param verify_transactions: ``transaction.partition.verification.enable``.

        The high watermark is set to the start of the log; the owner advances it.
        """
        state = ProducerStateManager(
            topic_partition, producer_id_expiration_ms, verify_transactions=verify_transactions
        )
        loaded = recovery.load(
            disk,
            folder,
            config,
            state,
            now_ms=now_ms,
            clean_shutdown=clean_shutdown,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
        )
        return cls(disk, folder, topic_partition, config, state, loaded, now_ms)

    def __repr__(self) -> str:
        return (
            f"PartitionLog({self.topic_partition}, start={self.log_start_offset}, "
            f"high_watermark={self.high_watermark}, end={self.log_end_offset})"
        )

    def update_config(self, config: TopicConfig) -> None:
        """Apply new topic settings to everything appended from now on."""
        self.config = config
        codec = config.compression_type
        level = {
            "gzip": config.compression_gzip_level,
            "lz4": config.compression_lz4_level,
            "zstd": config.compression_zstd_level,
        }.get(codec)
        self._timestamp_type = TimestampType.from_name(config.message_timestamp_type)
        self._compression = None if codec == "producer" else Compression.from_name(codec)
        self._compression_level = level
        self.syncs_early = config.flush_messages < MAX_LONG or config.flush_ms < MAX_LONG
        """Whether the topic's settings require syncs besides those of the flush policy."""

    def update_producer_settings(self, producer_id_expiration_ms: int, *, verify_transactions: bool) -> None:
        """Apply new broker settings for producers from now on."""
        self._state.expiration_ms = producer_id_expiration_ms
        self._state.verify_transactions = verify_transactions

    @property
    def needs_sync(self) -> bool:
        """Whether ``flush.messages`` records await a sync: the latest records are committed only after it."""
        return self.log_end_offset - self.flushed_offset >= self.config.flush_messages

    @property
    def written_ms(self) -> int:
        """When something was last appended, or when the log was opened."""
        return self._now_ms

    @property
    def takes_batches_unchanged(self) -> bool:
        """Whether the topic's settings leave a valid batch unchanged: the producer chooses codec and timestamps."""
        return self._compression is None and self._timestamp_type is TimestampType.CREATE_TIME

    @property
    def recovery_point(self) -> int:
        """The offset for the checkpoint of this name: segments that end below it are not examined after a crash.

        It does not pass the last segment, whose indexes are in memory and will not be synced when it is closed.
        """
        if self._closed:
            return self.flushed_offset
        return min([self.flushed_offset, self._segments.active.base_offset, *self._closed_since_flush])

    @property
    def last_stable_offset(self) -> int:
        """Where read_committed readers stop: before the first transaction that is open or not yet replicated."""
        unstable = self._state.first_unstable_offset
        if unstable is None:
            return self.high_watermark
        return min(max(unstable, self.log_start_offset), self.high_watermark)

    @property
    def first_undecided_offset(self) -> int | None:
        """First offset of the earliest transaction without a marker."""
        return self._state.first_undecided_offset

    @property
    def size_bytes(self) -> int:
        return self._segments.size_bytes

    @property
    def segments(self) -> Sequence[SegmentInfo]:
        """Oldest first; the last one is active."""
        return [SegmentInfo(s.base_offset, s.size_bytes, s.load_max_timestamp()) for s in self._segments]

    # --- append

    def append_client(
        self,
        batch: Buffer,
        *,
        leader_epoch: int,
        now_ms: int,
        guard: VerificationGuard | None = None,
        checked: Checked | None = None,
    ) -> AppendResult:
        """Append one batch from a producer, after Kafka's checks in Kafka's order.

        :param guard: from :meth:`begin_verification`, once the coordinator has verified (KIP-890).
        :param checked: the result of :meth:`validation`, if it has been called before.
        """
        admitted = self._admit(batch, now_ms, guard, checked)
        if isinstance(admitted, AppendResult):
            return admitted
        return self._append_data(admitted.records, admitted.header, leader_epoch, now_ms, _append_time_ms(admitted))

    def begin_append(
        self,
        batch: Buffer,
        *,
        leader_epoch: int,
        now_ms: int,
        guard: VerificationGuard | None = None,
        checked: Checked | None = None,
    ) -> LongAppend | AppendResult:
        """The same for a batch that another thread is to write: it is in the log after the next :meth:`settle`.

        Returns the result at once if nothing is to be written. The caller keeps ``batch`` as it is until then.
        """
        admitted = self._admit(batch, now_ms, guard, checked)
        if isinstance(admitted, AppendResult):
            return admitted
        header = admitted.header
        size_bytes, last_offset = header.size_bytes, self.log_end_offset + header.last_offset_delta
        try:
            segment = self._segment_for(size_bytes, header.max_timestamp, last_offset, now_ms)
        except StorageError as error:
            return self._append_failed(error)
        buffers = self._stamped(admitted.records, header, leader_epoch)
        self._under_way = LongAppend(segment, buffers, header, leader_epoch, now_ms, _append_time_ms(admitted))
        return self._under_way

    def settle(self) -> None:
        """Take in what another thread was to write, as soon as it is in the file; nothing may be changed before."""
        append = self._under_way
        if append is None:
            return
        append.write()
        self._under_way = None
        if append.refused is not None:
            append.result = self._append_failed(append.refused)
            return
        if self.failed is not None:  # meanwhile: nothing is accepted any more
            append.result = self._storage_error(self.failed)
            return
        header, base_offset, now_ms = append.header, self.log_end_offset, append.now_ms
        size_bytes, last_offset = header.size_bytes, base_offset + header.last_offset_delta
        interval_bytes = self.config.index_interval_bytes
        append.segment.take_in(size_bytes, last_offset, header.max_timestamp, now_ms, interval_bytes)
        self._wrote(size_bytes, base_offset, last_offset, append.leader_epoch, now_ms)
        self._state.apply_data(header, base_offset)
        append.result = _appended(base_offset, last_offset, append.append_time_ms, self.log_start_offset)

    def _admit(
        self, batch: Buffer, now_ms: int, guard: VerificationGuard | None, checked: Checked | None
    ) -> ValidatedBatch | AppendResult:
        """The valid batch, or why it is not appended."""
        self.settle()
        if self.failed is not None:
            return self._storage_error(self.failed)
        if checked is None:
            checked = self.validation(batch, now_ms)()
        if isinstance(checked, InvalidBatch):
            errors = tuple(checked.record_errors)
            return self._refused(checked.error_code, checked.message, errors)
        header = checked.header
        if header.size_bytes > self.config.segment_bytes:
            return self._larger_than_a_segment(header.size_bytes)
        if header.producer_id >= 0:
            outcome = self._state.check_client(header, guard, self.log_end_offset)
            if outcome is not None:
                if isinstance(outcome, Refusal):
                    return self._refused(outcome.error, outcome.message)
                return self._duplicate(outcome)
        return checked

    def validation(self, batch: Buffer, now_ms: int, max_unpacked_bytes: int | None = None) -> Callable[[], Checked]:
        """A function that validates a producer's batch with the current settings; may be called on any thread.

        :param max_unpacked_bytes: as in :func:`~oncelog.records.validation.validate_append`.
        """
        config = self.config
        return partial(
            validate_append,
            batch,
            now_ms=now_ms,
            max_message_bytes=config.max_message_bytes,
            compacted=config.compacted,
            timestamp_type=self._timestamp_type,
            before_max_ms=config.message_timestamp_before_max_ms,
            after_max_ms=config.message_timestamp_after_max_ms,
            compression_type=self._compression,
            compression_level=self._compression_level,
            max_unpacked_bytes=max_unpacked_bytes,
        )

    def keeps_codec(self, codec: int) -> bool:
        """Whether the topic stores batches of this codec without recompressing them."""
        return self._compression is None or self._compression == codec

    def append_run(
        self, run: Sequence[bytearray | memoryview], headers: Sequence[BatchHeader], *, leader_epoch: int, now_ms: int
    ) -> list[int]:
        """Append batches from one producer's connection with one write; returns the base offsets of those appended.

        Each must be writable, and one that ``validate_append`` leaves unchanged under this topic's settings. The run
        ends before the first batch that needs more: information about its producer, or a new segment. That one is for
        :meth:`append_client`, which decides about it from scratch.
        """
        if self._under_way is not None:
            self.settle()
        if self.failed is not None:
            return []
        count = self._admitted_at_once(headers)
        active = self._segments.active
        if not count or not active.has_room_for(
            headers[:count], self.log_end_offset, now_ms, self.config, self._jitter_ms()
        ):
            return []
        run, headers = run[:count], headers[:count]
        offset, offsets = self.log_end_offset, []
        for batch, header in zip(run, headers, strict=True):
            _HEAD.pack_into(batch, 0, offset, header.batch_length, leader_epoch)
            offsets.append(offset)
            offset += header.last_offset_delta + 1
        try:
            active.append_run(run, headers, self.log_end_offset, now_ms, self.config.index_interval_bytes)
        except StorageError as error:
            for batch, header in zip(run, headers, strict=True):
                _HEAD.pack_into(batch, 0, 0, header.batch_length, NO_PARTITION_LEADER_EPOCH)  # as the producer made it
            self._append_failed(error)
            return []
        self._now_ms = now_ms
        activity = self.activity
        activity.appends += count
        activity.bytes_in += sum(map(len, run))
        if leader_epoch > self.leader_epoch_cache.latest_epoch:
            self.leader_epoch_cache.assign(leader_epoch, self.log_end_offset)
        self.log_end_offset = offset
        for header, base_offset in zip(headers, offsets, strict=True):
            self._state.apply_data(header, base_offset)
        return offsets

    def _admitted_at_once(self, headers: Sequence[BatchHeader]) -> int:
        """How many batches, from the first on, can be admitted without further checks of their producers."""
        last: dict[int, BatchHeader] = {}
        for count, header in enumerate(headers):
            producer_id = header.producer_id
            if producer_id >= 0:
                if not self._state.admits_at_once(header, last.get(producer_id)):
                    return count
                last[producer_id] = header
        return len(headers)

    def append_checked(
        self, batch: bytearray, header: BatchHeader, *, leader_epoch: int, now_ms: int, guard: VerificationGuard | None
    ) -> AppendResult:
        """As :meth:`append_client`, for a batch in its own memory that ``validate_append`` leaves unchanged."""
        if self._under_way is not None:
            self.settle()
        if self.failed is not None:
            return self._storage_error(self.failed)
        size_bytes = header.batch_length + LOG_OVERHEAD_BYTES
        if size_bytes > self.config.segment_bytes:
            return self._larger_than_a_segment(size_bytes)
        outcome = self._state.check_client(header, guard, self.log_end_offset)
        if outcome is None:
            return self._append_data(batch, header, leader_epoch, now_ms, -1)
        if isinstance(outcome, Refusal):
            return self._refused(outcome.error, outcome.message)
        return self._duplicate(outcome)

    def append_coordinator(
        self,
        pairs: Sequence[tuple[bytes, bytes | None]],
        *,
        leader_epoch: int,
        now_ms: int,
        producer: ProducerIdAndEpoch = NO_PRODUCER,
        guard: VerificationGuard | None = None,
    ) -> AppendResult:
        """Append keys and values of a coordinator of this broker as one batch, as part of a transaction if a producer
        is given, of which only epoch and verification are checked."""
        if self._under_way is not None:
            self.settle()
        if self.failed is not None:
            return self._storage_error(self.failed)
        if len(pairs) * LEAST_PAIR_BYTES > self.config.max_message_bytes:
            return self._refused(
                Error.MESSAGE_TOO_LARGE,
                f"{len(pairs)} records are more than max.message.bytes of {self.topic_partition} allows",
            )
        transactional = producer is not NO_PRODUCER and producer != NO_PRODUCER
        offset = self.log_end_offset
        producer_id, producer_epoch = producer
        attributes = TRANSACTIONAL_BIT if transactional else 0
        batch = encode_pairs(pairs, now_ms, attributes, producer_id, producer_epoch, offset, leader_epoch)
        size_bytes, config = len(batch), self.config
        if size_bytes > config.max_message_bytes:
            return self._refused(
                Error.MESSAGE_TOO_LARGE,
                f"the batch has {size_bytes} bytes, max.message.bytes of {self.topic_partition} allows "
                f"{config.max_message_bytes}",
            )
        if size_bytes > config.segment_bytes:
            return self._larger_than_a_segment(size_bytes)
        if transactional:
            header = read_header(batch)
            refusal = self._state.check_coordinator(header, guard, offset)
            if refusal is not None:
                return self._refused(refusal.error, refusal.message)
            return self._append_data(batch, header, leader_epoch, now_ms, -1)
        last_offset = offset + len(pairs) - 1
        try:
            self._write([batch], size_bytes, offset, last_offset, now_ms, leader_epoch, now_ms)
        except StorageError as error:
            return self._append_failed(error)
        self._state.skip_to(last_offset + 1)
        return _appended(offset, last_offset, -1, self.log_start_offset)

    def _append_data(
        self, batch: Buffer, header: BatchHeader, leader_epoch: int, now_ms: int, append_time_ms: int
    ) -> AppendResult:
        size_bytes = header.batch_length + LOG_OVERHEAD_BYTES
        base_offset = self.log_end_offset
        buffers = self._stamped(batch, header, leader_epoch)
        last_offset = base_offset + header.last_offset_delta
        try:
            self._write(buffers, size_bytes, base_offset, last_offset, header.max_timestamp, leader_epoch, now_ms)
        except StorageError as error:
            return self._append_failed(error)
        self._state.apply_data(header, base_offset)
        return _appended(base_offset, last_offset, append_time_ms, self.log_start_offset)

    def _stamped(self, batch: Buffer, header: BatchHeader, leader_epoch: int) -> list[Buffer]:
        """A batch as it is written at the log's end."""
        if isinstance(batch, bytearray):  # owned by nothing else
            _HEAD.pack_into(batch, 0, self.log_end_offset, header.batch_length, leader_epoch)
            return [batch]
        head = _HEAD.pack(self.log_end_offset, header.batch_length, leader_epoch)
        return [head, memoryview(batch)[_HEAD_SIZE_BYTES : header.batch_length + LOG_OVERHEAD_BYTES]]

    def append_marker(
        self,
        stamp: ProducerIdAndEpoch,
        *,
        commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
        leader_epoch: int,
        now_ms: int,
    ) -> AppendResult:
        """Append the marker that ends a producer's transaction; written even if none is open here, as in Kafka."""
        if self._under_way is not None:
            self.settle()
        if self.failed is not None:
            return self._storage_error(self.failed)
        producer_id, producer_epoch = stamp
        refusal = self._state.check_marker(producer_id, producer_epoch, coordinator_epoch, transaction_version)
        if refusal is not None:
            return self._refused(refusal.error, refusal.message)
        offset = self.log_end_offset
        batch = encode_end_txn_marker(
            producer_id, producer_epoch, coordinator_epoch, commit, now_ms, offset, leader_epoch
        )
        try:
            self._write([batch], len(batch), offset, offset, now_ms, leader_epoch, now_ms)
        except StorageError as error:
            return self._append_failed(error)
        if commit:
            self.activity.commits += 1
        else:
            self.activity.aborts += 1
        done = self._state.apply_marker(producer_id, producer_epoch, coordinator_epoch, commit, offset, now_ms)
        if done is not None and done.aborted:
            entry = AbortedTxn(done.producer_id, done.first_offset, done.last_offset, done.last_stable_offset)
            self._segments.active.add_aborted(entry)
        return _appended(offset, offset, -1, self.log_start_offset)

    def _write(
        self,
        buffers: list[Buffer],
        size_bytes: int,
        base_offset: int,
        last_offset: int,
        max_timestamp: int,
        leader_epoch: int,
        now_ms: int,
    ) -> None:
        """Append one batch, to a new segment if one is due. :raises StorageError: nothing changed."""
        segment = self._segment_for(size_bytes, max_timestamp, last_offset, now_ms)
        segment.append(buffers, size_bytes, last_offset, max_timestamp, now_ms, self.config.index_interval_bytes)
        self._wrote(size_bytes, base_offset, last_offset, leader_epoch, now_ms)

    def _segment_for(self, size_bytes: int, max_timestamp: int, last_offset: int, now_ms: int) -> Segment:
        """The last segment, a new one if it is due. :raises StorageError: nothing changed."""
        config, active = self.config, self._segments.active
        if active.surely_has_room(size_bytes, max_timestamp, last_offset, config) or not active.should_roll(
            size_bytes, max_timestamp, last_offset, now_ms, config, self._jitter_ms()
        ):
            return active
        return self._roll(self.log_end_offset, now_ms)

    def _wrote(self, size_bytes: int, base_offset: int, last_offset: int, leader_epoch: int, now_ms: int) -> None:
        """Count a batch as part of the log that is now in its segment."""
        activity = self.activity
        self._now_ms = now_ms
        activity.appends += 1
        activity.bytes_in += size_bytes
        self.log_end_offset = last_offset + 1
        if leader_epoch > self.leader_epoch_cache.latest_epoch:
            self.leader_epoch_cache.assign(leader_epoch, base_offset)

    def _jitter_ms(self) -> int:
        """A part of ``segment.jitter.ms`` that differs between segments but not between runs."""
        limit = min(self.config.segment_jitter_ms, self.config.segment_ms)
        if not limit:
            return 0
        return zlib.crc32(f"{self.topic_partition} {self._segments.active.base_offset}".encode()) % limit

    def _refused(self, error: Error, message: str, record_errors: tuple[tuple[int, str], ...] = ()) -> AppendResult:
        self.activity.refusals[error] = self.activity.refusals.get(error, 0) + 1
        return AppendResult(error, log_start_offset=self.log_start_offset, message=message, record_errors=record_errors)

    def _larger_than_a_segment(self, size_bytes: int) -> AppendResult:
        return self._refused(
            Error.RECORD_LIST_TOO_LARGE,
            f"the batch has {size_bytes} bytes, segment.bytes of {self.topic_partition} allows "
            f"{self.config.segment_bytes}",
        )

    def _duplicate(self, batch: BatchMetadata) -> AppendResult:
        self.activity.duplicates += 1
        # Kafka returns the timestamp it remembers of the batch, whichever timestamp type the topic has.
        return AppendResult(
            NONE, batch.first_offset, batch.last_offset, batch.timestamp, self.log_start_offset, duplicate=True
        )

    def _storage_error(self, reason: str) -> AppendResult:
        return self._refused(Error.KAFKA_STORAGE_ERROR, reason)

    def _append_failed(self, error: StorageError) -> AppendResult:
        """The disk fails: as in Apache Kafka, the partition is offline until a restart recovers it.

        Unlike there, not if room or a descriptor is lacking: nothing was written, and the next append is tried.
        """
        if not isinstance(error, RefusedForNow):
            self.fail(str(error))
        elif isinstance(error, NoSpace) and self._found_full_at != self.log_end_offset:
            self._found_full_at = self.log_end_offset  # one line until something is appended: it needs room too
            logger.error("%s takes no records until there is room: %s", self.topic_partition, error)
        return self._storage_error(str(error))

    def fail(self, reason: str) -> None:
        """The disk failed a write or a sync: from now on every append is refused with KAFKA_STORAGE_ERROR."""
        if self.failed is None:
            self.failed = reason
            logger.error("%s is offline until a restart: %s", self.topic_partition, reason)

    # --- transactions

    def begin_verification(
        self, producer_id: int, epoch: int, first_sequence: int, supports_epoch_bump: bool
    ) -> VerificationGuard | Error | None:
        """The guard that the first append of a transaction must carry once its coordinator has verified it (KIP-890).

        None if there is nothing to verify, an error if the append is refused without asking the coordinator.
        """
        self.settle()
        return self._state.begin_verification(producer_id, epoch, first_sequence, supports_epoch_bump, self._now_ms)

    def maybe_advance_high_watermark(self, offset: int) -> bool:
        """Advance the high watermark to ``offset``, never back, never past the end; returns whether it moved."""
        if offset > self.log_end_offset:
            offset = self.log_end_offset
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        if self._state.unreplicated:
            self._state.replicated_to(offset)
        return True

    def expire_producers(self, now_ms: int) -> None:
        """Forget producers idle for ``producer.id.expiration.ms``."""
        self.settle()
        self._now_ms = max(self._now_ms, now_ms)
        self._state.expire(now_ms)

    def forget_producers(self, producer_id: int | None = None) -> list[int]:
        """Forget one producer, or all without an open transaction, as if they had expired; returns their ids."""
        self.settle()
        return self._state.forget(producer_id)

    def forget_verifications(self) -> None:
        """Another leader takes over: appends being verified with the old one must be verified again."""
        self.settle()
        self._state.forget_verifications()

    @property
    def producer_count(self) -> int:
        """The number of known producers."""
        return len(self._state.entries)

    @property
    def segment_count(self) -> int:
        return len(self._segments)

    def active_producers(self) -> list[ProducerStateEntry]:
        """Every known producer, by id; the entries are live and must not be changed."""
        return [self._state.entries[producer_id] for producer_id in sorted(self._state.entries)]

    # --- reading

    def read(
        self, offset: int, max_bytes: int, upper_bound_offset: int, *, at_least_one_batch: bool
    ) -> LogRead | Error:
        """Read whole batches of one segment from ``offset`` on, at most ``max_bytes``, below ``upper_bound_offset``.

        :param upper_bound_offset: high watermark, last stable offset or log end: the start of a batch.
        :param at_least_one_batch: return the first batch even if it is larger than ``max_bytes``.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            return Error.OFFSET_OUT_OF_RANGE
        upper = min(upper_bound_offset, self.log_end_offset)
        if offset >= upper:
            return LogRead((), 0, offset, offset)
        return self._segments.read(offset, max_bytes, upper, self.log_end_offset, at_least_one_batch=at_least_one_batch)

    def find_unreadable(self, base_offset: int, position: int, size_bytes: int) -> None:
        """The disk failed to read some of these bytes of the segment: until the next :meth:`apply_retention`, reads end
        before the batch that contains them, and reads that begin with that batch are refused."""
        self._segments.find_unreadable(base_offset, position, size_bytes)

    def aborted_transactions(self, offset: int, upper_bound_offset: int) -> list[tuple[int, int]]:
        """Producer id and first offset of the aborted transactions that touch ``[offset, upper_bound_offset)``.

        In the order of their markers, as in Kafka's responses; too many are harmless, too few are not.
        """
        return [(entry.producer_id, entry.first_offset) for entry in self.aborted_entries(offset, upper_bound_offset)]

    def aborted_entries(self, offset: int, upper_bound_offset: int) -> list[AbortedTxn]:
        """The aborted transactions that touch the range, as entries of the transaction indexes."""
        return self._segments.aborted_transactions(offset, upper_bound_offset)

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record at or after ``timestamp``; None if there is none.

        The caller discards results at or past the high watermark or the last stable offset.
        """
        return self._segments.offset_for_timestamp(timestamp, self.log_start_offset)

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The first record that has the log's largest timestamp (ListOffsets -3); None if no record has a timestamp."""
        return self._segments.offset_of_max_timestamp(self.log_start_offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The greatest known epoch not above ``epoch`` and where it ended; (-1, -1) if nothing is known."""
        return self.leader_epoch_cache.end_offset_for(epoch, self.log_end_offset)

    def batches(self, start: int) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Header and bytes of every batch that ends at or after ``start``, to the end of the log.

        :raises CorruptLogError: bytes that are not a batch.
        """
        return self._segments.batches(start)

    # --- flushing

    @property
    def has_unflushed_segments(self) -> bool:
        """Whether a closed segment is not yet on stable storage."""
        return self.recovery_point < self._segments.active.base_offset

    def begin_flush(self) -> FlushTicket | None:
        """What to sync to make everything appended so far safe; None if it already is.

        Call the ticket's ``sync`` in any thread, then :meth:`flushed`; call :meth:`fail` instead if the disk failed, or
        :meth:`not_flushed` if it was not tried.
        """
        end = self.log_end_offset
        if self.flushed_offset >= end and not self._unsynced_files:
            return None
        self._write_leader_epochs()
        files = list(self._unsynced_files.values())
        self._unsynced_files.clear()
        files += [segment.file for segment in self._segments.from_offset(self.flushed_offset) if segment.size_bytes]
        folders: tuple[str, ...] = (self.folder,) if self._folder_unsynced else ()
        if self._name_unsynced:
            folders += (self.folder.rpartition("/")[0],)
        self._folder_unsynced = self._name_unsynced = False
        size_bytes, self.flush_begun_bytes = self.activity.bytes_in - self.flush_begun_bytes, self.activity.bytes_in
        return FlushTicket(tuple(files), folders, end, size_bytes, tuple(self._closed_since_flush))

    def flushed(self, ticket: FlushTicket) -> None:
        """Everything in ``ticket`` is on stable storage."""
        self.flushed_offset = max(self.flushed_offset, min(ticket.end_offset, self.log_end_offset))
        self._closed_since_flush = [base for base in self._closed_since_flush if base not in ticket.closed]

    def not_flushed(self, ticket: FlushTicket) -> None:
        """The files in ``ticket`` could not be synced for lack of a descriptor: the next flush syncs them."""
        self._unsynced_files = {file.path: file for file in ticket.files} | self._unsynced_files
        self._folder_unsynced = self._name_unsynced = True
        self.flush_begun_bytes -= ticket.size_bytes

    def sync_later(self, path: str) -> None:
        """Have the next flush sync a file of the folder that was written."""
        self._unsynced_files[path] = self.disk.open(path)
        self._folder_unsynced = True

    def _write_leader_epochs(self) -> None:
        cache = self.leader_epoch_cache
        if cache.dirty:
            path = f"{self.folder}/{LEADER_EPOCH_CHECKPOINT}"
            self.disk.write_atomic(path, encode_leader_epochs(cache.entries), sync=False)
            cache.dirty = False
            self.sync_later(path)

    def write_indexes(self) -> None:
        """Update the index files, for tools that read them while the log is open."""
        for segment in self._segments:
            for file in segment.write_indexes():
                self._unsynced_files[file.path] = file

    # --- segments

    def _roll(self, base_offset: int, now_ms: int) -> Segment:
        """Begin a new segment. All steps before it can be repeated: a failure in between leaves the old one active."""
        active = self._segments.active
        if active.base_offset == base_offset:
            return active
        for file in active.write_indexes(final=True):
            self._unsynced_files[file.path] = file
        self._closed_since_flush.append(active.base_offset)
        self._state.skip_to(base_offset)
        self._take_snapshot()
        self._write_leader_epochs()
        segment = Segment.create(self.disk, self.folder, base_offset, now_ms)
        self._segments.append(segment)
        self._folder_unsynced = True
        return segment

    def _take_snapshot(self) -> None:
        path = self._snapshots.take(self._state)
        if path is not None:
            self.sync_later(path)

    def apply_retention(self, now_ms: int) -> int:
        """Drop the oldest segments that the topic's settings no longer retain; returns how many.

        Also removes files dropped at least ``file.delete.delay.ms`` ago, and lets reads try again what the disk failed
        to read.

        :raises StorageError: a part could not be done, and will be tried again the next time.
        """
        self.settle()
        self._segments.forgive()
        refused = self.remove_deleted_files(now_ms)
        if now_ms - self._segments.active.last_append_ms >= RESTING_MS:
            self._segments.active.give_room_back()
        count = retention.segments_to_drop(list(self._segments), self.config, self, now_ms)
        if count == len(self._segments):
            self._roll(self.log_end_offset, now_ms)
        if count:
            self._drop_segments(self._segments.oldest(count), now_ms)
            self._set_log_start(max(self.log_start_offset, self._segments.first_offset))
        if refused is not None:
            raise refused
        return count

    def remove_deleted_files(self, now_ms: int) -> StorageError | None:
        """Remove files that are due; returns why one is still there, which the next call tries again."""
        refused: StorageError | None = None
        due = [entry for entry in self._removals if entry[0] <= now_ms]
        self._removals = [entry for entry in self._removals if entry[0] > now_ms]
        for at_ms, paths in due:
            left = []
            for path in paths:
                try:
                    self.disk.remove(path)
                except StorageError as error:
                    refused = refused or error
                    left.append(path)
            if left:
                self._removals.append((at_ms, left))
        return refused

    def _drop_segments(self, segments: Sequence[Segment], now_ms: int, *, instead: Sequence[Segment] = ()) -> None:
        """Replace ``segments`` by ``instead``; the old files and snapshots are removed later."""
        paths = []
        for segment in segments:
            paths += segment.mark_deleted()
            paths += self._snapshots.mark_deleted(segment.base_offset, segment.base_offset)
        for segment in instead:
            segment.rename("")
        self._segments.replace(segments, instead)
        self._folder_unsynced = True
        self._removals.append((now_ms + self.config.file_delete_delay_ms, paths))

    def replace_segments(self, old: Sequence[Segment], new: Segment, now_ms: int) -> None:
        """Put a compacted segment, whose files have the suffix ``.cleaned``, in place of the neighbours ``old``.

        After a crash before the first rename the old ones remain; after a crash later the next start completes the
        replacement. Snapshots below the end of ``old`` are removed first: they may contain an open transaction whose
        marker was compacted away. A start that needs producer state below that end replays the compacted batches, in
        which no such transaction appears.

        :raises StorageError: as after a crash; once a file has been renamed, the log is offline until that start.
        """
        self.settle()
        end = old[-1].next_offset()
        try:
            self._removals.append((now_ms, self._snapshots.mark_deleted(0, end - 1)))
            new.rename(SWAP_SUFFIX)
            self._drop_segments(old, now_ms, instead=[new])
        except StorageError as error:
            self.fail(str(error))
            raise

    @property
    def closed_segments(self) -> Sequence[Segment]:
        """All segments except the active one."""
        return self._segments.closed

    @property
    def active_base_offset(self) -> int:
        """Base offset of the active segment."""
        return self._segments.active.base_offset

    # --- cutting

    def delete_records_before(self, offset: int) -> Error:
        """Advance the start of the log to ``offset`` (-1: the high watermark), as DeleteRecords does.

        Whole segments below it are removed by the next :meth:`apply_retention`. Producer state stays (KIP-360).
        """
        if offset == -1:
            offset = self.high_watermark
        self.settle()
        if not 0 <= offset <= self.high_watermark:
            return Error.OFFSET_OUT_OF_RANGE
        self._set_log_start(offset)
        return NONE

    def _set_log_start(self, offset: int) -> None:
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        self.high_watermark = max(self.high_watermark, offset)
        self.flushed_offset = max(self.flushed_offset, offset)
        self.leader_epoch_cache.truncate_from_start(offset)
        self._state.replicated_to(offset)

    def truncate_to(self, offset: int) -> None:
        """Drop everything from the batch that holds ``offset`` on (a follower that had more than its leader)."""
        self.settle()
        if offset >= self.log_end_offset:
            self.leader_epoch_cache.truncate_from_end(self.log_end_offset)
            return
        if offset < self._segments.first_offset:
            self.truncate_fully_and_start_at(offset)
            return
        beyond = self._segments.from_offset(offset)[1:]
        if beyond:
            self._drop_segments(beyond, self._now_ms)
        self._segments.truncate_active_to(offset)
        self.log_end_offset = self._segments.active.next_offset()
        self._after_truncation()

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything; the log continues at ``offset``."""
        self.settle()
        old = list(self._segments)
        paths = [path for segment in old for path in segment.mark_deleted()]
        self._removals.append((self._now_ms + self.config.file_delete_delay_ms, paths))
        self._snapshots.keep_between(1, 0)
        self._segments.replace(old, [Segment.create(self.disk, self.folder, offset, self._now_ms)])
        self.log_start_offset = self.log_end_offset = self.high_watermark = offset
        self.leader_epoch_cache.clear()
        self._after_truncation()

    def _after_truncation(self) -> None:
        end = self.log_end_offset
        self.log_start_offset = min(self.log_start_offset, end)
        self.flushed_offset = min(self.flushed_offset, end)
        self.high_watermark = min(self.high_watermark, end)
        self.leader_epoch_cache.truncate_from_end(end)
        self._snapshots.keep_between(0, end)
        unreplicated = self._state.unreplicated_before(end)
        recovery.reload_state(
            list(self._segments),
            self._snapshots,
            self._state,
            self.disk,
            self.folder,
            self.config,
            self.log_start_offset,
            end,
            self._now_ms,
        )
        self._state.restore_unreplicated(unreplicated)
        self._state.replicated_to(self.high_watermark)
        self._folder_unsynced = True

    # --- end

    def begin_close(self) -> FlushTicket | None:
        """Write everything that :meth:`close` has to sync, so that the syncs of many logs can be combined before it."""
        self.settle()
        for segment in self._segments:
            for file in segment.write_indexes(final=True):
                self._unsynced_files[file.path] = file
        self._take_snapshot()
        self._write_leader_epochs()
        return self.begin_flush()

    def close(self, clean: bool = True) -> None:
        """Close the files. ``clean``: write and sync everything first, so that the next opening reads little.

        :raises StorageError: the disk failed; the log must then be opened as after a crash.
        """
        self.settle()
        if clean and self.failed is None:
            ticket = self.begin_close()
            if ticket is not None:
                ticket.sync(self.disk)
                self.flushed(ticket)
            self._closed = True
        for segment in self._segments:
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


def _append_time_ms(batch: ValidatedBatch) -> int:
    return batch.header.max_timestamp if batch.header.attributes & TIMESTAMP_TYPE_BIT else -1  # as validated


def _appended(base_offset: int, last_offset: int, log_append_time_ms: int, log_start_offset: int) -> AppendResult:
    fields = NONE, base_offset, last_offset, log_append_time_ms, log_start_offset, False, "", ()
    return new_tuple(AppendResult, fields)
