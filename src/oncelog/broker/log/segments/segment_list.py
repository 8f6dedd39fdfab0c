"""The segments of one partition in offset order, and searches across them.

Part of ``broker.log.state``: the log's reader, writer, trimmer, recovery and compaction all use it. The last segment is
the active one, the only one that is appended to; it always exists. Source: Kafka's ``LogSegments`` and ``LocalLog``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from oncelog.broker.log.results import FileSlice, LogRead, TimestampOffset
from oncelog.broker.log.segments.batch_reader import read_batches
from oncelog.broker.log.segments.segment import MAX_OFFSET, Segment
from oncelog.broker.log.segments.transaction_index import AbortedTxn
from oncelog.errors import CorruptLogError
from oncelog.records.batch import BatchHeader, CorruptBatch, seek_record
from oncelog.types import NO_TIMESTAMP, new_tuple


class SegmentList:
    """The segments of one partition by offset. Callers pass offsets between the start and the end of the log."""

    __slots__ = ("_bases", "_last_asked", "_last_read", "_segments", "active")

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = list(segments)
        self._index()

    def _index(self) -> None:
        self._bases = [segment.base_offset for segment in self._segments]
        self.active = self._segments[-1]
        self._forget_read()

    def _forget_read(self) -> None:
        self._last_asked: tuple[int, int, int, int, bool] | None = None
        self._last_read = LogRead((), 0, 0, 0)

    def __len__(self) -> int:
        return len(self._segments)

    @property
    def closed(self) -> Sequence[Segment]:
        """All segments except the active one."""
        return self._segments[:-1]

    def oldest(self, count: int) -> Sequence[Segment]:
        return self._segments[:count]

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    @property
    def first_offset(self) -> int:
        """Base offset of the oldest segment."""
        return self._bases[0]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)

    def with_ends(self) -> list[tuple[Segment, int]]:
        """The segments, each with the base offset of the next one; the last one with ``MAX_OFFSET``."""
        return list(zip(self._segments, [*self._bases[1:], MAX_OFFSET], strict=True))

    def number_of(self, offset: int) -> int:
        """The index in the list of the segment that contains, or would contain, ``offset``."""
        number = bisect_right(self._bases, offset) - 1
        return number if number > 0 else 0

    def from_offset(self, offset: int) -> Sequence[Segment]:
        """The segment that contains ``offset``, and all segments after it."""
        return self._segments[self.number_of(offset) :]

    # --- changing

    def append(self, segment: Segment) -> None:
        self._segments.append(segment)
        self._bases.append(segment.base_offset)
        self.active = segment
        self._forget_read()

    def replace(self, old: Sequence[Segment], new: Sequence[Segment]) -> None:
        """Replace the neighbouring segments ``old`` with ``new``; at least one segment must remain."""
        number = self._segments.index(old[0]) if old else len(self._segments)
        self._segments[number : number + len(old)] = new
        self._index()

    def truncate_active_to(self, offset: int) -> None:
        """Remove from the last segment the batch that contains ``offset``, and all batches after it."""
        self.active.truncate_to(offset)
        self._forget_read()

    # --- finding

    def find_unreadable(self, base_offset: int, position: int, size_bytes: int) -> None:
        """Called when the disk failed to read some bytes of a segment (:meth:`Segment.find_unreadable`)."""
        segment = self._segments[self.number_of(base_offset)]
        if segment.base_offset == base_offset:
            segment.find_unreadable(position, position + size_bytes)
            self._forget_read()

    def forgive(self) -> None:
        """Let batches be read again that the disk failed to read before."""
        for segment in self._segments:
            segment.forgive()
        self._forget_read()

    def read(self, offset: int, max_bytes: int, upper: int, log_end_offset: int, at_least_one_batch: bool) -> LogRead:
        """Read as ``PartitionLog.read`` does; ``offset`` is below ``upper``, which is the start of a batch or the log
        end offset.

        A read with the same arguments as the last one, as of many consumers at the end of the log, returns the same
        object.
        """
        asked = (offset, max_bytes, upper, log_end_offset, at_least_one_batch)
        if asked != self._last_asked:
            self._last_read = self._read(offset, max_bytes, upper, log_end_offset, at_least_one_batch)
            self._last_asked = asked
        return self._last_read

    def _read(self, offset: int, max_bytes: int, upper: int, log_end_offset: int, at_least_one_batch: bool) -> LogRead:
        number = self.number_of(offset)
        located = self._segments[number].locate(offset)
        while located is None:
            number += 1
            if number == len(self._segments):
                return LogRead((), 0, offset, offset)
            located = self._segments[number].locate(offset)
        segment, start = self._segments[number], located.position
        segment_end = log_end_offset if number + 1 == len(self._bases) else self._bases[number + 1]
        limit = segment.readable_end(start)
        if upper < segment_end:
            limit = min(limit, segment.end_of_read(start, upper))
        if limit <= start:
            return LogRead((), 0, offset, offset)
        end, first_end = segment.end_of_limited_read(start, limit, max_bytes, located.header)
        if first_end - start > max_bytes:
            if not at_least_one_batch:
                return LogRead((), 0, offset, offset)
            end = first_end
        bound = min(upper, segment_end) if end == limit else segment.upper_bound_offset(end)
        part = new_tuple(FileSlice, (segment.file, start, end - start))
        return new_tuple(LogRead, ((part,), end - start, offset, segment_end if bound is None else bound))

    def aborted_transactions(self, offset: int, upper_bound_offset: int) -> list[AbortedTxn]:
        """The aborted transactions with records in the range (``PartitionLog.aborted_transactions``)."""
        found: list[AbortedTxn] = []
        for number in range(self.number_of(offset), len(self._segments)):
            index = self._segments[number].transaction_index
            if index.entries and index.collect(offset, upper_bound_offset, found):
                break
        return found

    def offset_for_timestamp(self, timestamp: int, start_offset: int) -> TimestampOffset | None:
        """The first record from ``start_offset`` on whose timestamp is at least ``timestamp``; None if there is
        none."""
        for segment in self._segments:
            if segment.latest_ms() >= timestamp:
                from_offset = max(segment.time_index.offset_for(timestamp), start_offset)
                position = segment.offset_index.position_for(from_offset)
                return _search(segment, position, start_offset, timestamp)
        return None

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The first record in the segments that has their largest timestamp; None if no record has a timestamp."""
        segment = max(self._segments, key=Segment.load_max_timestamp)
        largest = segment.load_max_timestamp()
        if largest == NO_TIMESTAMP:
            return None
        position = segment.offset_index.position_for(segment.offset_of_max_timestamp)
        return _search(segment, position, segment.base_offset, largest)

    def batches(self, start: int) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Header and bytes of every batch that ends at or after ``start``.

        :raises CorruptLogError: a segment contains bytes that are no batch.
        """
        for segment in self.from_offset(start):
            position = segment.position_of(start)
            try:
                for _, header, batch in read_batches(segment.file, position, segment.size_bytes):
                    yield header, batch
            except CorruptBatch as error:
                advice = "stop the broker and restore the partition's folder from a copy (dump-log shows what is whole)"
                raise CorruptLogError(f"{error}; {advice}") from error


def _search(segment: Segment, position: int, start_offset: int, timestamp: int) -> TimestampOffset | None:
    """The first record, from ``position`` and ``start_offset`` on, whose timestamp is at least ``timestamp``."""
    for at, header in segment.scan_all(position):
        if header.max_timestamp < timestamp:
            continue
        try:
            found = seek_record(segment.file.read_at(at, header.size_bytes), 0, header, timestamp, start_offset)
        except CorruptBatch as error:
            raise CorruptLogError(f"{segment}, offset {header.base_offset}: {error}") from error
        if found is not None:
            return TimestampOffset(found[1], found[0], header.partition_leader_epoch)
    return None
