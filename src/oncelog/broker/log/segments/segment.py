"""One segment of a partition: a ``.log`` file, its three indexes, and the positions of its newest batches.

Called by ``broker.log.partition_log``, ``broker.log.recovery``, ``broker.log.retention`` and ``broker.log.compaction``.
The indexes are in memory and are loaded at first use; :meth:`Segment.write_indexes` writes new entries to their files
(when the segment is rolled or closed, or on request). Positions are bytes in the ``.log`` file, always starts of
batches. This module is long, because appends, searches and truncations all use the same few positions in memory.
Source: Kafka's ``LogSegment``.
"""

from __future__ import annotations

import logging
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from oncelog.broker.log.file_names import (
    DELETED_SUFFIX,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
)
from oncelog.broker.log.segments.offset_index import ENTRY_SIZE_BYTES as OFFSET_ENTRY_SIZE_BYTES
from oncelog.broker.log.segments.offset_index import OffsetIndex
from oncelog.broker.log.segments.time_index import ENTRY_SIZE_BYTES as TIME_ENTRY_SIZE_BYTES
from oncelog.broker.log.segments.time_index import TimeIndex
from oncelog.broker.log.segments.transaction_index import AbortedTxn, TransactionIndex
from oncelog.errors import CorruptLogError, OutOfDescriptors, StorageError
from oncelog.records.batch import HEADER_SIZE_BYTES, BatchHeader, CorruptBatch, read_header
from oncelog.records.native import BatchScanner
from oncelog.runtime.ports import Buffer, Disk, File
from oncelog.settings.config import TopicConfig
from oncelog.types import NO_TIMESTAMP, new_tuple

logger = logging.getLogger(__name__)

MAX_RELATIVE_OFFSET = 2**31 - 1
_TAIL_MAX = 4096
_TAIL_KEPT = 2048
_HEADER_READ_BYTES = 16_384
_READ_THROUGH_BYTES = 1 << 20
_UNREADABLE_KEPT = 100
_REBUILT_INTERVAL_BYTES = 4096
"""The index interval for rebuilt indexes, in bytes: Kafka's default of ``index.interval.bytes``."""
MAX_OFFSET = 2**63 - 1
"""An offset above all offsets; as the start of the cached tail it means that no position is cached."""


class Located(NamedTuple):
    """A batch found by an offset. ``header`` is None if the position was cached and no header was read."""

    position: int
    header: BatchHeader | None


class Segment:
    """A segment whose batches have offsets from ``base_offset`` on.

    ``first_timestamp``: the largest timestamp of the first batch, from which ``segment.ms`` counts; None if it was not
    read yet. ``last_append_ms``: the wall clock at the newest append, or at the opening if there was no append since,
    for records without timestamps.
    """

    __slots__ = (
        "_bytes_since_index_entry",
        "_disk",
        "_file",
        "_fit_config",
        "_fit_size_bytes",
        "_fit_timestamp",
        "_folder",
        "_offset_index",
        "_tail_low",
        "_tail_next",
        "_tail_positions",
        "_time_index",
        "_transaction_index",
        "_unreadable",
        "_written",
        "base_offset",
        "created_ms",
        "first_timestamp",
        "last_append_ms",
        "max_timestamp",
        "offset_of_max_timestamp",
        "size_bytes",
        "suffix",
    )

    def __init__(
        self, disk: Disk, folder: str, base_offset: int, now_ms: int, *, size_bytes: int = 0, suffix: str = ""
    ) -> None:
        self._disk = disk
        self._folder = folder
        self.base_offset = base_offset
        self.suffix = suffix
        self.size_bytes = size_bytes
        self.created_ms = self.last_append_ms = now_ms
        self.first_timestamp: int | None = None
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        self._file: File | None = None
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._transaction_index: TransactionIndex | None = None
        # The numbers of entries of the offset, time and transaction index that are in their files; None: the file must
        # be replaced.
        self._written: list[int | None] = [0, 0, 0]
        self._bytes_since_index_entry = 0
        # The settings, size and timestamp of the last check: no batch up to this size and timestamp needs a new
        # segment.
        self._fit_config: TopicConfig | None = None
        self._fit_size_bytes = 0
        self._fit_timestamp = 0
        # The position of each of the newest batches, and the offset after the batch. The list includes every batch from
        # _tail_low on.
        self._tail_positions = array("q")
        self._tail_next = array("q")
        self._tail_low = base_offset
        self._unreadable: dict[int, str] = {}
        """Positions of the batches that the disk failed to read, each with the error."""

    @classmethod
    def create(cls, disk: Disk, folder: str, base_offset: int, now_ms: int, suffix: str = "") -> Segment:
        """Create an empty segment; files of that name from earlier runs are replaced."""
        segment = cls(disk, folder, base_offset, now_ms, suffix=suffix)
        for kind in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX):
            disk.remove(segment.path(kind))
        segment._file = disk.open(segment.path(LOG_SUFFIX), create=True)
        if segment._file.size():
            segment._file.truncate(0)
        segment.start_indexes()
        segment.start_tail(base_offset)
        return segment

    @classmethod
    def existing(cls, disk: Disk, folder: str, base_offset: int, now_ms: int) -> Segment:
        """A segment that exists on disk, of which only the size is read now."""
        segment = cls(disk, folder, base_offset, now_ms)
        segment.size_bytes = disk.size(segment.path(LOG_SUFFIX))
        segment._tail_low = MAX_OFFSET
        return segment

    def __repr__(self) -> str:
        return f"Segment({self._folder}, base_offset={self.base_offset}, size_bytes={self.size_bytes})"

    def path(self, kind: str) -> str:
        return f"{self._folder}/{file_name(self.base_offset, kind)}{self.suffix}"

    @property
    def file(self) -> File:
        if self._file is None:
            self._file = self._disk.open(self.path(LOG_SUFFIX))
        return self._file

    # --- indexes

    def start_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        """Begin with empty indexes; their files, if they exist, are replaced at the next write."""
        self._offset_index = OffsetIndex(self.base_offset)
        self._time_index = TimeIndex(self.base_offset)
        self._transaction_index = TransactionIndex()
        self._written = [None, None, None]
        self._bytes_since_index_entry = 0
        self.max_timestamp, self.offset_of_max_timestamp = NO_TIMESTAMP, self.base_offset
        return self._offset_index, self._time_index

    @property
    def offset_index(self) -> OffsetIndex:
        return self._load_indexes()[0] if self._offset_index is None else self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        return self._load_indexes()[1] if self._time_index is None else self._time_index

    @property
    def transaction_index(self) -> TransactionIndex:
        """The index of aborted transactions, read at first use. :raises CorruptLogError: its file is damaged (recovery
        rebuilds it at the next start)."""
        if self._transaction_index is None:
            path = self.path(TRANSACTION_INDEX_SUFFIX)
            data = self._disk.read(path) if self._disk.exists(path) else b""
            self._transaction_index = TransactionIndex.decode(self.base_offset, data, path)
            self._written[2] = len(self._transaction_index)
        return self._transaction_index

    def _load_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        """Read the offset index and the time index; rebuild them from the batches' headers if they are damaged."""
        offset_path, time_path = self.path(OFFSET_INDEX_SUFFIX), self.path(TIME_INDEX_SUFFIX)
        try:
            offset_data = self._disk.read(offset_path) if self._disk.exists(offset_path) else b""
            time_data = self._disk.read(time_path) if self._disk.exists(time_path) else b""
            offsets = OffsetIndex.decode(self.base_offset, offset_data, self.size_bytes, offset_path)
            times = TimeIndex.decode(self.base_offset, time_data, time_path)
            if self.size_bytes and not times and self._first_has_timestamp():
                raise CorruptLogError(f"the time index {time_path} is empty but the segment is not")
        except CorruptLogError as error:
            logger.warning("%s; it is rebuilt", error)
            return self._index_headers()
        self._offset_index, self._time_index = offsets, times
        self._written[0] = len(offsets) if len(offsets) * OFFSET_ENTRY_SIZE_BYTES == len(offset_data) else None
        self._written[1] = len(times) if len(times) * TIME_ENTRY_SIZE_BYTES == len(time_data) else None
        self.max_timestamp, self.offset_of_max_timestamp = times.last_timestamp, times.last_offset
        return offsets, times

    def _first_has_timestamp(self) -> bool:
        return any(header.max_timestamp >= 0 for _, header in self.scan(0, 1))

    def _index_headers(self) -> tuple[OffsetIndex, TimeIndex]:
        transactions, written = self._transaction_index, self._written[2]
        indexes = self.start_indexes()
        self._transaction_index, self._written[2] = transactions, written
        for position, header in self.scan(0):
            self.index_batch(position, header, _REBUILT_INTERVAL_BYTES)
        return indexes

    def index_batch(self, position: int, header: BatchHeader, interval_bytes: int) -> None:
        """Add the batch at ``position``, the next one in the file, to the indexes."""
        last_offset = header.base_offset + header.last_offset_delta
        self._index(position, last_offset, header.max_timestamp, last_offset, header.size_bytes, interval_bytes)

    def take_scanned(self, scanner: BatchScanner) -> None:
        """Add the results of ``scanner`` for the whole file to the indexes, which must be empty."""
        offsets, positions, timestamps, time_offsets = scanner.index_columns()
        self.offset_index.extend(offsets, positions)
        self.time_index.extend(timestamps, time_offsets)
        self.max_timestamp = scanner.max_timestamp
        self.offset_of_max_timestamp = scanner.offset_of_max_timestamp
        self._bytes_since_index_entry = scanner.bytes_since_index_entry

    def _index(
        self,
        position: int,
        last_offset: int,
        max_timestamp: int,
        offset_of_max_timestamp: int,
        size_bytes: int,
        interval_bytes: int,
    ) -> None:
        if max_timestamp > self.max_timestamp:
            self.max_timestamp, self.offset_of_max_timestamp = max_timestamp, offset_of_max_timestamp
        if self._bytes_since_index_entry > interval_bytes:
            (self._offset_index or self.offset_index).append(last_offset, position)
            (self._time_index or self.time_index).append_if_later(self.max_timestamp, self.offset_of_max_timestamp)
            self._bytes_since_index_entry = 0
        self._bytes_since_index_entry += size_bytes

    def load_max_timestamp(self) -> int:
        """The largest timestamp in the segment in ms, -1 if no record has one."""
        if self._time_index is None:
            self._load_indexes()
        return self.max_timestamp

    def earliest_ms(self) -> int:
        """The largest timestamp of the first batch in ms, -1 if it has none."""
        return self.read_first_timestamp() if self.first_timestamp is None else self.first_timestamp

    def latest_ms(self) -> int:
        """The largest timestamp in ms; for a segment without timestamps, the wall clock at its last append."""
        latest = self.load_max_timestamp()
        return latest if latest >= 0 else self.last_append_ms

    def write_indexes(self, *, final: bool = False) -> list[File]:
        """Write new entries to the index files; returns the files that changed.

        :param final: the segment is complete: add an entry for its largest timestamp.
        """
        if final:
            self.release_reserved_space()
        if final and self.load_max_timestamp() >= 0:
            self.time_index.append_if_later(self.max_timestamp, self.offset_of_max_timestamp)
        changed = []
        for which, kind, index in (
            (0, OFFSET_INDEX_SUFFIX, self._offset_index),
            (1, TIME_INDEX_SUFFIX, self._time_index),
            (2, TRANSACTION_INDEX_SUFFIX, self._transaction_index),
        ):
            if index is None or self._written[which] == len(index):
                continue
            path, written = self.path(kind), self._written[which]
            if which == 2 and not index:
                self._disk.remove(path)
            else:
                file = self._disk.open(path, create=True)
                if written is None and file.size():
                    file.truncate(0)
                if len(index) > (written or 0):
                    file.append([index.encode(written or 0)])
                changed.append(file)
            self._written[which] = len(index)
        return changed

    def release_reserved_space(self) -> None:
        """Release the disk space reserved for appends, because none are expected in the near future."""
        if self._file is not None:
            self._file.complete()

    def add_aborted(self, aborted: AbortedTxn) -> None:
        self.transaction_index.append(aborted)

    # --- appending

    def fits_without_roll(self, size_bytes: int, max_timestamp: int, last_offset: int, config: TopicConfig) -> bool:
        """A quick check, True for most batches: if it is True, :meth:`should_roll` would certainly return False."""
        return (
            config is self._fit_config
            and self.size_bytes + size_bytes <= self._fit_size_bytes
            and max_timestamp <= self._fit_timestamp
            and last_offset - self.base_offset <= MAX_RELATIVE_OFFSET
        )

    def should_roll(
        self, size_bytes: int, max_timestamp: int, last_offset: int, now_ms: int, config: TopicConfig, jitter_ms: int
    ) -> bool:
        """Whether a batch of ``size_bytes`` has to go into a new segment."""
        if self.size_bytes > config.segment_bytes - size_bytes:
            return True
        if last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            return True
        if len(self.offset_index) >= config.segment_index_bytes // OFFSET_ENTRY_SIZE_BYTES:
            return True
        if len(self.time_index) >= config.segment_index_bytes // TIME_ENTRY_SIZE_BYTES - 1:
            return True
        if not self.size_bytes:
            return False
        first = self.earliest_ms()
        waited_ms = max_timestamp - first if first >= 0 else now_ms - self.created_ms
        if waited_ms > config.longest_segment_ms - jitter_ms:
            return True
        if first >= 0:
            self._update_fit_limits(config, first + config.longest_segment_ms - jitter_ms)
        return False

    def _update_fit_limits(self, config: TopicConfig, timestamp: int) -> None:
        """Store the file size up to which no index can be full: each batch takes at least a header's size and adds at
        most one entry."""
        used = max(len(self.offset_index), len(self.time_index))
        entries = config.segment_index_bytes // TIME_ENTRY_SIZE_BYTES - 1 - used
        self._fit_config, self._fit_timestamp = config, timestamp
        self._fit_size_bytes = min(config.segment_bytes, self.size_bytes + entries * HEADER_SIZE_BYTES)

    def takes_run(
        self,
        size_bytes: int,
        max_timestamp: int,
        last_offset: int,
        count: int,
        now_ms: int,
        config: TopicConfig,
        jitter_ms: Callable[[], int],
    ) -> bool:
        """Whether the segment can take ``count`` batches that :meth:`fits_without_roll` did not admit. May return False
        for batches that would fit.

        :param size_bytes: the total size of the batches.
        """
        if not self.size_bytes:
            return False
        entries = config.segment_index_bytes // TIME_ENTRY_SIZE_BYTES - 1
        return (
            len(self.offset_index) + count <= entries
            and len(self.time_index) + count <= entries
            and not self.should_roll(size_bytes, max_timestamp, last_offset, now_ms, config, jitter_ms())
        )

    def read_first_timestamp(self) -> int:
        """Read the largest timestamp of the first batch in ms; -1 in an empty segment."""
        for _, header in self.scan(0, 1):
            self.first_timestamp = header.max_timestamp
            return header.max_timestamp
        return NO_TIMESTAMP

    def append(
        self,
        buffers: Sequence[Buffer],
        size_bytes: int,
        last_offset: int,
        max_timestamp: int,
        now_ms: int,
        index_interval_bytes: int,
    ) -> None:
        """Append one batch to the file. If that fails, file and segment are unchanged."""
        (self._file or self.file).append(buffers)
        position = self.size_bytes
        if not position:
            self.first_timestamp = max_timestamp
        self.size_bytes = position + size_bytes
        self.last_append_ms = now_ms
        self._tail_positions.append(position)
        self._tail_next.append(last_offset + 1)
        if len(self._tail_next) > _TAIL_MAX:
            self._shorten_tail()
        if max_timestamp > self.max_timestamp or self._bytes_since_index_entry > index_interval_bytes:
            self._index(position, last_offset, max_timestamp, last_offset, size_bytes, index_interval_bytes)
        else:
            self._bytes_since_index_entry += size_bytes

    def append_run(
        self,
        run: Sequence[Buffer],
        headers: Sequence[BatchHeader],
        next_offsets: list[int],
        now_ms: int,
        interval_bytes: int,
    ) -> None:
        """Append several batches with one write, with the same result as :meth:`append` for each. If that fails, file
        and segment are unchanged.

        :param next_offsets: the offset after each batch.
        """
        position, since_entry, newest = self.size_bytes, self._bytes_since_index_entry, self.max_timestamp
        (self._file or self.file).append(run)
        self.last_append_ms = now_ms
        for batch, header, offset in zip(run, headers, next_offsets):  # noqa: B905 # as many of all three
            self._tail_positions.append(position)
            size_bytes = len(batch)
            if header.max_timestamp > newest or since_entry > interval_bytes:
                self._bytes_since_index_entry = since_entry
                self._index(position, offset - 1, header.max_timestamp, offset - 1, size_bytes, interval_bytes)
                since_entry, newest = self._bytes_since_index_entry, self.max_timestamp
            else:
                since_entry += size_bytes
            position += size_bytes
        self._bytes_since_index_entry, self.size_bytes = since_entry, position
        self._tail_next.fromlist(next_offsets)
        if len(self._tail_next) > _TAIL_MAX:
            self._shorten_tail()

    def _shorten_tail(self) -> None:
        self._tail_low = self._tail_next[-_TAIL_KEPT - 1]
        del self._tail_positions[:-_TAIL_KEPT], self._tail_next[:-_TAIL_KEPT]

    def start_tail(self, next_offset: int) -> None:
        """Begin without cached positions; the next batch begins at ``next_offset`` or later."""
        del self._tail_positions[:], self._tail_next[:]
        self._tail_low = next_offset

    # --- finding

    def scan(self, position: int, limit: int = MAX_RELATIVE_OFFSET) -> Iterator[tuple[int, BatchHeader]]:
        """Positions and headers of at most ``limit`` batches from ``position`` on; ends at bytes that are no batch."""
        try:
            yield from self.scan_all(position, limit)
        except CorruptLogError as error:
            logger.warning("%s", error)

    def scan_all(self, position: int, limit: int = MAX_RELATIVE_OFFSET) -> Iterator[tuple[int, BatchHeader]]:
        """Like :meth:`scan`, but damage raises an error, so that a search does not continue in the next segment.

        :raises CorruptLogError: the next bytes are no complete batch.
        """
        chunk, start, read_bytes = b"", position, _HEADER_READ_BYTES if limit > 1 else HEADER_SIZE_BYTES
        while limit and position < self.size_bytes:
            if position + HEADER_SIZE_BYTES > start + len(chunk):
                size = min(read_bytes, self.size_bytes - position)
                if self._unreadable and size > HEADER_SIZE_BYTES:
                    size = self._without_unreadable(position, size)
                try:
                    chunk, start = self.file.read_at(position, size), position
                except StorageError:
                    if read_bytes == HEADER_SIZE_BYTES:
                        raise
                    # read only the header: the disk may fail only on the data of the batch, which follows
                    read_bytes = HEADER_SIZE_BYTES
                    continue
            try:
                header = read_header(chunk, position - start)
            except CorruptBatch as error:
                path = self.path(LOG_SUFFIX)
                raise CorruptLogError(f"{path} holds no whole batch at position {position}: {error}") from error
            if position + header.size_bytes > self.size_bytes:
                raise CorruptLogError(f"{self.path(LOG_SUFFIX)} ends within its batch at position {position}")
            yield position, header
            position += header.size_bytes
            limit -= 1

    def _without_unreadable(self, position: int, size: int) -> int:
        """The number of bytes, of ``size``, that can be read: up to the header of the next batch known to be
        unreadable."""
        ends = [at - position + HEADER_SIZE_BYTES for at in self._unreadable if at >= position]
        return min([size, *ends])

    def locate(self, offset: int) -> Located | None:
        """The first batch that ends at or after ``offset``; None if all end before.

        :raises CorruptLogError: damaged bytes come before the batch, so that it cannot be found.
        """
        if offset >= self._tail_low:
            entry = bisect_right(self._tail_next, offset)
            if entry == len(self._tail_next):
                return None
            return new_tuple(Located, (self._tail_positions[entry], None))
        for position, header in self.scan_all(self.offset_index.position_for(offset)):
            if header.last_offset >= offset:
                return Located(position, header)
        return None

    def position_of(self, offset: int) -> int:
        """The position of the first batch that ends at or after ``offset``; the end of the file if there is none."""
        located = self.locate(offset)
        return self.size_bytes if located is None else located.position

    def end_of_read(self, start: int, upper: int) -> int:
        """The latest end of a read that starts with the batch at ``start``: before the batch that contains ``upper``,
        or before damaged or unreadable bytes between them.

        :raises CorruptLogError, StorageError: the batch at ``start`` itself is damaged or unreadable.
        """
        if upper >= self._tail_low:
            return self.position_of(upper)
        position = max(start, self.offset_index.position_for(upper))
        try:
            for at, header in self.scan_all(position):
                position = at
                if header.last_offset >= upper:
                    return at
                position += header.size_bytes
        except (CorruptLogError, StorageError):
            if position <= start:
                raise
        return position

    def readable_end(self, start: int) -> int:
        """The position of the next batch after ``start`` known to be unreadable, or the end of the file.

        :raises StorageError: the batch at ``start`` itself is unreadable.
        """
        if not self._unreadable:
            return self.size_bytes
        if start in self._unreadable:
            raise StorageError(self._unreadable[start])
        return min((at for at in self._unreadable if at > start), default=self.size_bytes)

    def find_unreadable(self, position: int, end: int) -> None:
        """Called when the disk failed to read a part of ``[position, end)``: find the unreadable batch, so that the
        batches around it can be read.

        The unreadable one is not read again before :meth:`forgive`, because a failing disk may take seconds to report
        an error.
        """
        at = self.offset_index.boundary_at_or_before(position)
        try:
            for found, header in self.scan_all(at):
                at = found
                if at >= end:
                    return
                if at + header.size_bytes > position:
                    self._read_through(at, at + header.size_bytes)
                at += header.size_bytes
        except (OutOfDescriptors, CorruptLogError):
            return  # neither error is the disk's; the next reader at that position reports a damaged batch
        except StorageError as error:
            if len(self._unreadable) >= _UNREADABLE_KEPT:
                self.forgive()
            self._unreadable[at] = str(error)

    def _read_through(self, position: int, end: int) -> None:
        while position < end:
            size = min(_READ_THROUGH_BYTES, end - position)
            if len(self.file.read_at(position, size)) < size:
                raise StorageError(f"cannot read {self.file.path}: it ends before position {end}")
            position += size

    def forgive(self) -> None:
        """Let batches be read again that the disk failed to read before."""
        self._unreadable.clear()

    def end_of_limited_read(self, start: int, end: int, limit: int, header: BatchHeader | None) -> tuple[int, int]:
        """The end of a read of whole batches in ``[start, end)`` with at most ``limit`` bytes, and the end of its first
        batch. ``header`` is the header of the batch at ``start``, if known."""
        tail = self._tail_positions
        if tail and start >= tail[0]:
            first = bisect_right(tail, start)
            first_end = tail[first] if first < len(tail) else self.size_bytes
            if start + limit >= end:
                return end, first_end
            last = bisect_right(tail, start + limit)
            return max(first_end, tail[last - 1]), first_end
        if header is None:
            header = read_header(self.file.read_at(start, HEADER_SIZE_BYTES))
        first_end = start + header.size_bytes
        if start + limit >= end:
            return end, first_end
        position = max(first_end, self.offset_index.boundary_at_or_before(start + limit))
        with suppress(CorruptLogError, StorageError):  # the next reader at that position reports the error
            for at, header in self.scan_all(position):
                if at + header.size_bytes > start + limit:
                    break
                position = at + header.size_bytes
        return position, first_end

    def upper_bound_offset(self, position: int) -> int | None:
        """An upper bound on the offsets of batches before ``position``; None if only the end of the segment is
        known."""
        tail = self._tail_positions
        if tail and position > tail[0]:
            return self._tail_next[bisect_right(tail, position - 1) - 1]
        return self.offset_index.offset_at_or_after(position)

    def next_offset(self) -> int:
        """The offset after the last batch; the base offset if there is no batch. Reads the headers of batches after the
        last index entry."""
        if self._tail_next:
            return self._tail_next[-1]
        offset = self.base_offset
        for _, header in self.scan(self.offset_index.last_position):
            offset = header.next_offset
        return offset

    # --- truncating, ending

    def truncate_to(self, offset: int) -> None:
        """Remove the batch that contains ``offset`` and all batches after it."""
        position = self.position_of(offset)
        self.forgive()  # unreadable positions no longer count: the bytes from this point on will be replaced
        self._fit_config = None
        self.load_max_timestamp()
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        self._written = [None, None, None]
        if position < self.size_bytes:
            self.file.truncate(position)
        self.size_bytes = position
        self._bytes_since_index_entry = 0
        if not position:
            self.first_timestamp = None
        self.start_tail(MAX_OFFSET)
        self.max_timestamp = self.time_index.last_timestamp
        self.offset_of_max_timestamp = self.time_index.last_offset
        next_offset = self.base_offset
        for _, header in self.scan(self.offset_index.last_position):
            next_offset = header.next_offset
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.offset_of_max_timestamp = header.max_timestamp, header.last_offset
        self.start_tail(next_offset)

    def rename(self, suffix: str) -> None:
        """Give all files of the segment a different temporary suffix, or none."""
        for kind in SEGMENT_SUFFIXES:
            old, new = self.path(kind), f"{self._folder}/{file_name(self.base_offset, kind)}{suffix}"
            # An earlier attempt may have renamed the log file, and failed at a later one.
            if self._disk.exists(old) or (kind == LOG_SUFFIX and not self._disk.exists(new)):
                self._disk.rename(old, new)
        self.suffix = suffix

    def mark_deleted(self) -> list[str]:
        """Rename the files so that they can be removed later; returns their new paths. Reads in progress continue."""
        self.rename(DELETED_SUFFIX)
        return [self.path(kind) for kind in SEGMENT_SUFFIXES]

    def close(self) -> None:
        """Close the file; index entries that were not written are lost."""
        if self._file is not None:
            self._file.close()
            self._file = None
