"""Compaction: keeps only the newest record of each key; removes aborted transactions, later also markers and
tombstones.

Called by the broker's log manager in three steps, so that files may be read and written in another thread:

    job = compaction.plan(log, first_dirty_offset, now_ms)    # on the thread that owns the log; None: nothing to do
    job.run()                                                 # in any thread: reads closed segments, writes new files
    first_dirty_offset = job.finish(log, now_ms)              # on the owner's thread again

Only batches below the last stable offset and outside the active segment are touched, so every transaction in them is
decided. Offsets never change, and a batch or marker is kept as long as a producer's next append is checked against it.
Source: KIP-534, Kafka's ``LogCleaner``, ``Cleaner``, ``CleanedTransactionMetadata``.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from oncelog.broker.log.file_names import CLEANED_SUFFIX, LOG_SUFFIX, SEGMENT_SUFFIXES
from oncelog.broker.log.partition_log import PartitionLog
from oncelog.broker.log.segments.batch_reader import read_batches
from oncelog.broker.log.segments.segment import MAX_OFFSET, MAX_RELATIVE_OFFSET, Segment
from oncelog.broker.log.segments.transaction_index import AbortedTxn
from oncelog.errors import CorruptLogError
from oncelog.records.batch import (
    BatchHeader,
    CorruptBatch,
    Record,
    decode_records,
    encode_batch,
    encode_empty_batch,
    read_header,
)
from oncelog.records.control import parse_control
from oncelog.runtime.ports import Buffer, Disk, File
from oncelog.settings.config import TopicConfig

DEFAULT_MAX_KEY_BYTES = 128 << 20
_KEY_OVERHEAD_BYTES = 120


class LatestOfProducer(NamedTuple):
    """What must be kept for a producer: its newest batch or, if the producer has no batch, the marker of its epoch."""

    last_offset: int
    producer_epoch: int


class _Part(NamedTuple):
    """A closed segment as it was when the compaction was planned; ``file`` is opened only for this compaction."""

    segment: Segment
    file: File
    size_bytes: int


def plan(
    log: PartitionLog,
    first_dirty_offset: int,
    now_ms: int,
    *,
    max_key_bytes: int = DEFAULT_MAX_KEY_BYTES,
    force: bool = False,
) -> Compaction | None:
    """A compaction of ``log``, or None if it is not due.

    :param first_dirty_offset: the cleaner's checkpoint: below this offset each key occurs once.
    :param max_key_bytes: the memory for keys in bytes; keys that do not fit wait for the next compaction.
    :param force: compact even if ``min.cleanable.dirty.ratio`` is not reached.
    """
    config = log.config
    if not config.compacted:
        return None
    # the log was truncated since the last compaction: its offsets now belong to other records
    if first_dirty_offset > log.log_end_offset:
        first_dirty_offset = 0
    dirty_from = max(first_dirty_offset, log.log_start_offset)
    segments = _cleanable(log, now_ms)
    end = segments[-1][1] if segments else dirty_from
    if end <= dirty_from:
        return None
    dirty = [segment for segment, segment_end in segments if segment_end > dirty_from]
    dirty_bytes, total_bytes = sum(s.size_bytes for s in dirty), sum(s.size_bytes for s, _ in segments)
    gains = dirty_bytes > config.min_cleanable_dirty_ratio * total_bytes
    if not force and not gains and not _overdue(dirty, config, now_ms):
        return None
    return Compaction(log, [segment for segment, _ in segments], dirty_from, end, now_ms, max_key_bytes)


def _overdue(dirty: Sequence[Segment], config: TopicConfig, now_ms: int) -> bool:
    """Whether a record has waited longer than ``max.compaction.lag.ms``; the first batch of each segment decides."""
    before_ms = now_ms - config.max_compaction_lag_ms
    return before_ms > 0 and any(0 < segment.earliest_ms() < before_ms for segment in dirty)


def _cleanable(log: PartitionLog, now_ms: int) -> list[tuple[Segment, int]]:
    """Closed segments, with the offsets at which they end, that may be compacted: their transactions are decided, and
    they have reached ``min.compaction.lag.ms``."""
    closed = log.closed_segments
    ends = [*(segment.base_offset for segment in closed[1:]), log.active_base_offset]
    found = []
    for segment, end in zip(closed, ends[: len(closed)], strict=True):
        young = now_ms - segment.latest_ms() < log.config.min_compaction_lag_ms
        if end > log.last_stable_offset or (log.config.min_compaction_lag_ms > 0 and young):
            break
        found.append((segment, end))
    return found


class Compaction:
    """One compaction of one log; created by :func:`plan`.

    ``bytes_before`` and ``bytes_after`` are the total sizes of the rewritten segments.
    """

    def __init__(
        self,
        log: PartitionLog,
        segments: Sequence[Segment],
        dirty_from: int,
        end: int,
        now_ms: int,
        max_key_bytes: int,
    ) -> None:
        self.bytes_before = self.bytes_after = 0
        self._disk: Disk = log.disk
        self._folder = log.folder
        self._config: TopicConfig = log.config
        self._dirty_from = dirty_from
        self._end = end
        self._now_ms = now_ms
        self._max_key_bytes = max_key_bytes
        self._aborted = log.aborted_entries(segments[0].base_offset, end)
        self._last_of_producer = {
            entry.producer_id: LatestOfProducer(entry.last_offset, entry.producer_epoch)
            for entry in log.active_producers()
        }
        # The compaction thread opens the files itself, and uses no file handle of the log.
        self._parts = [_Part(s, self._disk.open(s.path(LOG_SUFFIX)), s.size_bytes) for s in segments]
        # The last batch of a segment is kept, so that the segment never appears to end before the next one begins.
        self._segment_ends = {end, *(segment.base_offset for segment in segments)}
        self._results: list[tuple[list[Segment], Segment]] = []
        self._files: list[File] = []

    def run(self) -> None:
        """Read the segments and write the compacted ones.

        :raises CorruptLogError: a closed segment contains bytes that are no batch; then nothing is replaced.
        :raises StorageError: the disk failed.
        """
        try:
            newest, latest_offset = self._newest_offsets()
            self._end = min(self._end, latest_offset + 1)
            transactions = CleanedTransactionMetadata(self._aborted)
            for group in self._groups():
                self._rewrite(group, newest, latest_offset, transactions)
            for file in self._files:
                file.sync()
        except CorruptBatch as error:
            raise CorruptLogError(f"{self._folder} cannot be compacted: {error}") from error

    def finish(self, log: PartitionLog, now_ms: int) -> int:
        """Replace the old segments with the new ones; returns the new first dirty offset.

        If a segment was dropped meanwhile (retention, truncation), the log stays as it was. :raises StorageError: the
        log is offline; new segments that have replaced others, or are doing so, must not be discarded.
        """
        present = {id(segment) for segment in log.closed_segments}
        if not all(id(segment) in present for old, _ in self._results for segment in old):
            self.discard()
            return self._dirty_from
        while self._results:
            old, new = self._results.pop(0)
            log.trimmer.replace_segments(old, new, now_ms)
        return self._end

    def discard(self) -> None:
        """Remove the files that :meth:`run` wrote."""
        for _, new in self._results:
            new.close()
            for kind in SEGMENT_SUFFIXES:
                self._disk.remove(new.path(kind))
        self._results.clear()

    # --- reading

    def _batches(self, part: _Part) -> Iterator[tuple[BatchHeader, memoryview]]:
        for _, header, batch in read_batches(part.file, 0, part.size_bytes, check_crc=True):
            yield header, batch

    def _newest_offsets(self) -> tuple[dict[bytes, int], int]:
        """The newest committed offset of each key in the dirty part of the log, and the last offset examined."""
        newest: dict[bytes, int] = {}
        used_bytes, latest_offset = 0, self._dirty_from - 1
        transactions = CleanedTransactionMetadata([a for a in self._aborted if a.last_offset >= self._dirty_from])
        bases = [part.segment.base_offset for part in self._parts]
        for part in self._parts[max(bisect_right(bases, self._dirty_from) - 1, 0) :]:
            for header, batch in self._batches(part):
                if header.is_control:
                    transactions.ends_empty(header, batch)
                elif not transactions.is_aborted(header) and header.last_offset >= self._dirty_from:
                    if used_bytes > self._max_key_bytes:
                        return newest, latest_offset
                    for record in decode_records(batch, check_crc=False):
                        if record.key is not None:
                            if record.key not in newest:
                                used_bytes += len(record.key) + _KEY_OVERHEAD_BYTES
                            newest[record.key] = record.offset
                latest_offset = max(latest_offset, header.last_offset)
        return newest, max(latest_offset, self._end - 1)

    def _groups(self) -> Iterator[list[_Part]]:
        """Groups of adjacent segments whose remaining records fit into one segment, up to the offset below which the
        keys are known."""
        group: list[_Part] = []
        size_bytes = 0
        for part, following in zip(self._parts, [*self._parts[1:], None], strict=True):
            part_end = self._end if following is None else following.segment.base_offset
            if part.segment.base_offset >= self._end:
                break
            if group and (
                size_bytes + part.size_bytes > self._config.segment_bytes
                or part_end - group[0].segment.base_offset > MAX_RELATIVE_OFFSET
            ):
                yield group
                group, size_bytes = [], 0
            group.append(part)
            size_bytes += part.size_bytes
        if group:
            yield group

    # --- writing

    def _rewrite(
        self,
        group: Sequence[_Part],
        newest: dict[bytes, int],
        latest_offset: int,
        transactions: CleanedTransactionMetadata,
    ) -> None:
        new = Segment.create(
            self._disk, self._folder, group[0].segment.base_offset, self._now_ms, suffix=CLEANED_SUFFIX
        )
        self._results.append(([part.segment for part in group], new))
        for part in group:
            self.bytes_before += part.size_bytes
            for header, batch in self._batches(part):
                kept = self._kept(header, batch, newest, transactions)
                if header.base_offset > latest_offset:
                    kept = batch  # the keys of later batches have not been read yet, so these batches stay whole
                if kept is not None:
                    self._append(new, kept)
        for aborted in transactions.take_needed():
            new.add_aborted(aborted)
        new.last_append_ms = max(part.segment.last_append_ms for part in group)
        new.start_tail(MAX_OFFSET)
        self._files += [new.file, *new.write_indexes(final=True)]
        self.bytes_after += new.size_bytes

    def _append(self, new: Segment, batch: Buffer) -> None:
        header = read_header(batch)
        new.append(
            [batch],
            header.size_bytes,
            header.last_offset,
            header.max_timestamp,
            self._now_ms,
            self._config.index_interval_bytes,
        )

    def _kept(
        self, header: BatchHeader, batch: memoryview, newest: dict[bytes, int], transactions: CleanedTransactionMetadata
    ) -> Buffer | None:
        """What remains of a batch: the batch itself, one with fewer or no records, or None."""
        horizon = header.delete_horizon_ms
        past_horizon = horizon is not None and horizon <= self._now_ms
        if header.is_control:
            useless = transactions.ends_empty(header, batch)
            if not useless or (not past_horizon and horizon is not None):
                return batch
            if horizon is None and header.records_count:
                records = decode_records(batch, check_crc=False)
                return self._rebuilt(header, records, self._now_ms + self._config.delete_retention_ms)
            return self._empty(header)
        if transactions.is_aborted(header):
            return self._empty(header)
        records = decode_records(batch, check_crc=False)
        kept = [record for record in records if self._stays(record, newest, past_horizon)]
        if not kept:
            return self._empty(header)
        if horizon is None and any(record.value is None for record in kept):
            return self._rebuilt(header, kept, self._now_ms + self._config.delete_retention_ms)
        return batch if len(kept) == len(records) else self._rebuilt(header, kept, horizon)

    @staticmethod
    def _stays(record: Record, newest: dict[bytes, int], past_horizon: bool) -> bool:
        if record.key is None or record.offset < newest.get(record.key, -1):
            return False
        return record.value is not None or not past_horizon

    @staticmethod
    def _rebuilt(header: BatchHeader, records: Sequence[Record], horizon: int | None) -> bytes:
        return encode_batch(
            records,
            base_offset=header.base_offset,
            last_offset=header.last_offset,
            compression=header.compression,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            transactional=header.is_transactional,
            control=header.is_control,
            partition_leader_epoch=header.partition_leader_epoch,
            timestamp_type=header.timestamp_type,
            delete_horizon_ms=horizon,
        )

    def _empty(self, header: BatchHeader) -> bytes | None:
        """A batch without records if its offsets or sequences are still needed, else None."""
        last = self._last_of_producer.get(header.producer_id)
        if last is not None and header.has_producer_id:
            newest = header.last_offset == last.last_offset
            only_marker = last.last_offset < 0 and header.is_control and header.producer_epoch == last.producer_epoch
            if newest or only_marker:
                return encode_empty_batch(header)
        return encode_empty_batch(header) if header.next_offset in self._segment_ends else None


class CleanedTransactionMetadata:
    """Determines which transactional batches were aborted, and which markers end an empty transaction; batches are
    passed in offset order."""

    def __init__(self, aborted: Sequence[AbortedTxn]) -> None:
        self._pending = [(entry.first_offset, entry) for entry in aborted]
        heapq.heapify(self._pending)
        self._ongoing: dict[int, AbortedTxn] = {}
        self._seen: set[int] = set()
        self._committed: set[int] = set()
        self._needed: list[AbortedTxn] = []

    def take_needed(self) -> list[AbortedTxn]:
        """The aborted transactions that have ended since the last call and still had records.

        A reader may have read these records but not yet the marker: marker and index entry stay until the next
        compaction.
        """
        needed, self._needed = self._needed, []
        return needed

    def _advance(self, offset: int) -> None:
        while self._pending and self._pending[0][0] <= offset:
            entry = heapq.heappop(self._pending)[1]
            self._ongoing[entry.producer_id] = entry

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether a data batch belongs to an aborted transaction."""
        self._advance(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._ongoing:
            self._seen.add(header.producer_id)
            return True
        self._committed.add(header.producer_id)
        return False

    def ends_empty(self, header: BatchHeader, batch: memoryview) -> bool:
        """Whether a control batch ends a transaction that has no records left."""
        self._advance(header.last_offset)
        marker = parse_control(batch, 0, header)
        if marker is None:
            return header.records_count == 0
        producer_id = header.producer_id
        if marker.commit:
            had_records = producer_id in self._committed
            self._committed.discard(producer_id)
            return not had_records
        entry = self._ongoing.pop(producer_id, None)
        had_records = producer_id in self._seen
        self._seen.discard(producer_id)
        if entry is not None and had_records:
            self._needed.append(entry)
            return False
        return True
