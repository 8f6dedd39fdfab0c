"""Appends to one partition's log. The writer is ``PartitionLog.writer``; nothing else appends.

Invariants: the offsets of appended records increase without gaps; the state in memory changes only after the bytes are
written. After a failed write every append is refused with KAFKA_STORAGE_ERROR until the folder is opened again. Source:
Kafka's ``UnifiedLog.append`` (KIP-98, KIP-360, KIP-890).
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Sequence
from struct import Struct

from oncelog.broker.log.files import LogFiles
from oncelog.broker.log.producers.producer_entry import BatchMetadata
from oncelog.broker.log.producers.producer_rules import Refusal
from oncelog.broker.log.producers.verification_state import VerificationGuard
from oncelog.broker.log.results import AppendResult
from oncelog.broker.log.segments.transaction_index import AbortedTxn
from oncelog.broker.log.state import LogPart, LogState
from oncelog.errors import NONE, Error, NoSpace, RefusedForNow, StorageError
from oncelog.records.batch import (
    LOG_OVERHEAD_BYTES,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    encode_pairs,
    read_header,
)
from oncelog.records.control import encode_end_txn_marker
from oncelog.records.native import assign_offsets
from oncelog.records.validation import Checked, InvalidBatch, ValidatedBatch
from oncelog.runtime.ports import Buffer
from oncelog.types import NO_PARTITION_LEADER_EPOCH, NO_PRODUCER, ProducerIdAndEpoch, new_tuple

logger = logging.getLogger(__name__)

_HEAD = Struct(">qii")
_HEAD_SIZE_BYTES = _HEAD.size
MIN_PAIR_BYTES = 12
"""The minimum size in bytes of a coordinator's record in its batch."""


class LogWriter(LogPart):
    """Appends batches and markers, and updates the producer states."""

    def __init__(self, log: LogState, files: LogFiles) -> None:
        super().__init__(log)
        self._files = files
        self._found_full_at = -1
        """The log end offset at the time of the last log message about a full disk."""

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

        :param guard: from :meth:`begin_verification`, once the coordinator has verified the transaction (KIP-890).
        :param checked: the result of :meth:`LogState.validation`, or of a check that takes its place.
        """
        log = self._log()
        admitted = self._admit(log, batch, now_ms, guard, checked)
        if isinstance(admitted, AppendResult):
            return admitted
        append_time_ms = _append_time_ms(admitted)
        return self._append_data(log, admitted.records, admitted.header, leader_epoch, now_ms, append_time_ms)

    def _admit(
        self, log: LogState, batch: Buffer, now_ms: int, guard: VerificationGuard | None, checked: Checked | None
    ) -> ValidatedBatch | AppendResult:
        """The validated batch, or the result with which it is refused or recognized as a duplicate."""
        if log.failed is not None:
            return self._storage_error(log.failed)
        if checked is None:
            checked = log.validation(batch, now_ms)()
        if isinstance(checked, InvalidBatch):
            errors = tuple(checked.record_errors)
            return self._refused(checked.error_code, checked.message, errors)
        header = checked.header
        if header.size_bytes > log.config.segment_bytes:
            return self._larger_than_a_segment(header.size_bytes)
        if header.producer_id >= 0:
            outcome = log.producers.check_client(header, guard, log.log_end_offset)
            if outcome is not None:
                if isinstance(outcome, Refusal):
                    return self._refused(outcome.error, outcome.message)
                return self._duplicate(outcome)
        return checked

    def append_run(
        self, run: Sequence[bytearray | memoryview], headers: Sequence[BatchHeader], leader_epoch: int, now_ms: int
    ) -> list[int]:
        """Append batches from one producer's connection with one write; returns the base offsets of the appended ones.

        Each batch must be writable, and ``validate_append`` must leave it unchanged under this topic's settings. The
        run ends before the first batch that needs a check of its producer or a new segment; pass this batch to
        :meth:`append_client`.
        """
        log = self._owner()
        if log is None or log.failed is not None:
            return []
        count = log.producers.admit_at_once(headers)
        if not count:
            return []
        if count < len(run):
            run, headers = run[:count], headers[:count]
        base_offset, config, active = log.log_end_offset, log.config, log.segment_list.active
        next_offsets, size_bytes, latest = assign_offsets(run, base_offset, leader_epoch)
        end = next_offsets[-1]
        written = False
        try:
            if active.fits_without_roll(size_bytes, latest, end - 1, config) or active.takes_run(
                size_bytes, latest, end - 1, count, now_ms, config, self._jitter_ms
            ):
                if count == 1:
                    active.append(run, size_bytes, end - 1, latest, now_ms, config.index_interval_bytes)
                else:
                    active.append_run(run, headers, next_offsets, now_ms, config.index_interval_bytes)
                written = True
        except StorageError as error:
            self._append_failed(error)
        if not written:
            for batch, header in zip(run, headers, strict=True):
                # Restore the batch as the producer sent it: the caller has already overwritten its offset and leader
                # epoch.
                _HEAD.pack_into(batch, 0, 0, header.batch_length, NO_PARTITION_LEADER_EPOCH)
            return []
        self._wrote(log, count, size_bytes, end, leader_epoch, now_ms)
        offsets = [base_offset, *next_offsets[:-1]] if count > 1 else [base_offset]
        log.producers.apply_run(headers, offsets, end)
        return offsets

    def append_coordinator(
        self,
        pairs: Sequence[tuple[bytes, bytes | None]],
        *,
        leader_epoch: int,
        now_ms: int,
        producer: ProducerIdAndEpoch = NO_PRODUCER,
        guard: VerificationGuard | None = None,
    ) -> AppendResult:
        """Append keys and values of a coordinator of this broker as one batch. With a producer the batch belongs to its
        transaction, and only the producer's epoch and verification are checked."""
        log = self._log()
        if log.failed is not None:
            return self._storage_error(log.failed)
        if len(pairs) * MIN_PAIR_BYTES > log.config.max_message_bytes:
            return self._refused(
                Error.MESSAGE_TOO_LARGE,
                f"{len(pairs)} records are more than max.message.bytes of {log.topic_partition} allows",
            )
        transactional = producer is not NO_PRODUCER and producer != NO_PRODUCER
        offset = log.log_end_offset
        producer_id, producer_epoch = producer
        attributes = TRANSACTIONAL_BIT if transactional else 0
        batch = encode_pairs(pairs, now_ms, attributes, producer_id, producer_epoch, offset, leader_epoch)
        size_bytes, config = len(batch), log.config
        if size_bytes > config.max_message_bytes:
            return self._refused(
                Error.MESSAGE_TOO_LARGE,
                f"the batch has {size_bytes} bytes, max.message.bytes of {log.topic_partition} allows "
                f"{config.max_message_bytes}",
            )
        if size_bytes > config.segment_bytes:
            return self._larger_than_a_segment(size_bytes)
        if transactional:
            header = read_header(batch)
            refusal = log.producers.check_coordinator(header, guard, offset)
            if refusal is not None:
                return self._refused(refusal.error, refusal.message)
            return self._append_data(log, batch, header, leader_epoch, now_ms, -1)
        last_offset = offset + len(pairs) - 1
        try:
            self._write(log, [batch], size_bytes, last_offset, now_ms, leader_epoch, now_ms)
        except StorageError as error:
            return self._append_failed(error)
        log.producers.skip_to(last_offset + 1)
        return _appended(offset, last_offset, -1, log.log_start_offset)

    def _append_data(
        self, log: LogState, batch: Buffer, header: BatchHeader, leader_epoch: int, now_ms: int, append_time_ms: int
    ) -> AppendResult:
        size_bytes = header.batch_length + LOG_OVERHEAD_BYTES
        base_offset = log.log_end_offset
        buffers = _with_base_offset_and_epoch(batch, header, base_offset, leader_epoch)
        last_offset = base_offset + header.last_offset_delta
        try:
            self._write(log, buffers, size_bytes, last_offset, header.max_timestamp, leader_epoch, now_ms)
        except StorageError as error:
            return self._append_failed(error)
        log.producers.apply_data(header, base_offset)
        return _appended(base_offset, last_offset, append_time_ms, log.log_start_offset)

    def append_marker(
        self,
        producer: ProducerIdAndEpoch,
        *,
        commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
        leader_epoch: int,
        now_ms: int,
    ) -> AppendResult:
        """Append the marker that ends a producer's transaction; the marker is written even if no transaction is open
        here, as in Kafka."""
        log = self._log()
        if log.failed is not None:
            return self._storage_error(log.failed)
        producer_id, producer_epoch = producer
        refusal = log.producers.check_marker(producer_id, producer_epoch, coordinator_epoch, transaction_version)
        if refusal is not None:
            return self._refused(refusal.error, refusal.message)
        offset = log.log_end_offset
        batch = encode_end_txn_marker(
            producer_id, producer_epoch, coordinator_epoch, commit, now_ms, offset, leader_epoch
        )
        try:
            self._write(log, [batch], len(batch), offset, now_ms, leader_epoch, now_ms)
        except StorageError as error:
            return self._append_failed(error)
        if commit:
            log.activity.commits += 1
        else:
            log.activity.aborts += 1
        done = log.producers.apply_marker(producer_id, producer_epoch, coordinator_epoch, commit, offset, now_ms)
        if done is not None and done.aborted:
            entry = AbortedTxn(done.producer_id, done.first_offset, done.last_offset, done.last_stable_offset)
            log.segment_list.active.add_aborted(entry)
        return _appended(offset, offset, -1, log.log_start_offset)

    def _write(
        self,
        log: LogState,
        buffers: list[Buffer],
        size_bytes: int,
        last_offset: int,
        max_timestamp: int,
        leader_epoch: int,
        now_ms: int,
    ) -> None:
        """Append one batch, to a new segment if necessary. :raises StorageError: nothing changed."""
        config, segment = log.config, log.segment_list.active
        if not segment.fits_without_roll(size_bytes, max_timestamp, last_offset, config) and segment.should_roll(
            size_bytes, max_timestamp, last_offset, now_ms, config, self._jitter_ms()
        ):
            segment = self._files.roll(log.log_end_offset, now_ms)
        segment.append(buffers, size_bytes, last_offset, max_timestamp, now_ms, config.index_interval_bytes)
        self._wrote(log, 1, size_bytes, last_offset + 1, leader_epoch, now_ms)

    @staticmethod
    def _wrote(log: LogState, batches: int, size_bytes: int, end_offset: int, leader_epoch: int, now_ms: int) -> None:
        """Update the log's state and counters for batches that are now in the segment."""
        activity = log.activity
        log.written_ms = now_ms
        activity.appends += batches
        activity.bytes_in += size_bytes
        if leader_epoch > log.leader_epoch_cache.latest_epoch:
            log.leader_epoch_cache.assign(leader_epoch, log.log_end_offset)
        log.log_end_offset = end_offset

    def _jitter_ms(self) -> int:
        """A part of ``segment.jitter.ms`` that depends on the segment, but is the same in every run."""
        log = self._log()
        limit = min(log.config.segment_jitter_ms, log.config.segment_ms)
        if not limit:
            return 0
        return zlib.crc32(f"{log.topic_partition} {log.segment_list.active.base_offset}".encode()) % limit

    def _refused(self, error: Error, message: str, record_errors: tuple[tuple[int, str], ...] = ()) -> AppendResult:
        log = self._log()
        log.activity.refusals[error] = log.activity.refusals.get(error, 0) + 1
        return AppendResult(error, log_start_offset=log.log_start_offset, message=message, record_errors=record_errors)

    def _larger_than_a_segment(self, size_bytes: int) -> AppendResult:
        return self._refused(
            Error.RECORD_LIST_TOO_LARGE,
            f"the batch has {size_bytes} bytes, segment.bytes of {self._log().topic_partition} allows "
            f"{self._log().config.segment_bytes}",
        )

    def _duplicate(self, batch: BatchMetadata) -> AppendResult:
        self._log().activity.duplicates += 1
        # Kafka returns the timestamp cached for the batch, whatever the topic's timestamp type.
        return AppendResult(
            NONE, batch.first_offset, batch.last_offset, batch.timestamp, self._log().log_start_offset, duplicate=True
        )

    def _storage_error(self, reason: str) -> AppendResult:
        return self._refused(Error.KAFKA_STORAGE_ERROR, reason)

    def _append_failed(self, error: StorageError) -> AppendResult:
        """Called when the disk failed: as in Apache Kafka, the partition is offline until a restart recovers it.

        Unlike in Kafka, it stays online if only disk space or a file descriptor is missing: nothing was written, and
        the next append tries again.
        """
        log = self._log()
        if not isinstance(error, RefusedForNow):
            log.fail(str(error))
        elif isinstance(error, NoSpace) and self._found_full_at != log.log_end_offset:
            # logged once until the log grows, because a log line needs disk space, too
            self._found_full_at = log.log_end_offset
            logger.error("%s refuses records until the disk has free space: %s", log.topic_partition, error)
        return self._storage_error(str(error))

    def begin_verification(
        self, producer_id: int, epoch: int, first_sequence: int, supports_epoch_bump: bool
    ) -> VerificationGuard | Error | None:
        """The guard that the first append of a transaction must have, once the coordinator has verified the transaction
        (KIP-890).

        None if there is nothing to verify, an error if the append is refused without asking the coordinator.
        """
        return self._log().producers.begin_verification(
            producer_id, epoch, first_sequence, supports_epoch_bump, self._log().written_ms
        )

    def expire_producers(self, now_ms: int) -> None:
        """Remove the state of producers idle for ``producer.id.expiration.ms``."""
        log = self._log()
        log.written_ms = max(log.written_ms, now_ms)
        log.producers.expire(now_ms)

    def forget_producers(self, producer_id: int | None = None) -> list[int]:
        """Remove the state of one producer, or of all without an open transaction, as if it had expired; returns their
        ids."""
        return self._log().producers.forget(producer_id)

    def forget_verifications(self) -> None:
        """Called when another leader has taken over: appends being verified for the old one must be verified again."""
        self._log().producers.forget_verifications()


def _with_base_offset_and_epoch(
    batch: Buffer, header: BatchHeader, base_offset: int, leader_epoch: int
) -> list[Buffer]:
    """The batch as it is written: with its base offset and leader epoch."""
    if isinstance(batch, bytearray):  # a bytearray belongs to the log alone, so it may be changed in place
        _HEAD.pack_into(batch, 0, base_offset, header.batch_length, leader_epoch)
        return [batch]
    head = _HEAD.pack(base_offset, header.batch_length, leader_epoch)
    return [head, memoryview(batch)[_HEAD_SIZE_BYTES : header.batch_length + LOG_OVERHEAD_BYTES]]


def _append_time_ms(batch: ValidatedBatch) -> int:
    return batch.header.max_timestamp if batch.header.attributes & TIMESTAMP_TYPE_BIT else -1  # as validated


def _appended(base_offset: int, last_offset: int, log_append_time_ms: int, log_start_offset: int) -> AppendResult:
    fields = NONE, base_offset, last_offset, log_append_time_ms, log_start_offset, False, "", ()
    return new_tuple(AppendResult, fields)
