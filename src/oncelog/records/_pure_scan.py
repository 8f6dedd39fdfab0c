"""The scanner of log files in Python, which is used if the compiled ``BatchScanner`` of ``_native.pyx`` does not exist.

Both scanners report the same results and the same messages for any bytes; a property test compares them. Called through
:mod:`oncelog.records.native`, by the log's recovery.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from oncelog.records.crc import Buffer, crc32c
from oncelog.records.record_errors import CorruptBatch
from oncelog.types import NO_TIMESTAMP

BATCHES_KEPT = 5
"""The number of batches of each producer that the log caches; a scan must report as many at the end of a run."""

_HEADER = Struct(">qiibIhiqqqhii")
_MIN_BATCH_LENGTH = _HEADER.size - 12
_CRC_COVERS_FROM = 21
_TRANSACTIONAL_BIT = 0x10
_CONTROL_BIT = 0x20

HeaderFields = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
MarkerFields = tuple[bool, int]
ReadMarker = Callable[[bytes], Any]

CRC_DIFFERS = "the CRC differs from that of the bytes"


def not_version_2(offset: int, magic: int) -> str:
    return f"the batch at offset {offset} has format {magic}, only 2 is supported"


def bad_length(offset: int, length: int) -> str:
    return f"the batch at offset {offset} claims a length of {length} bytes"


def out_of_order(offset: int, next_offset: int) -> str:
    return f"offset {offset} does not follow {next_offset - 1}"


class Scanned(NamedTuple):
    """What :meth:`BatchScanner.scan` found in one block of a log file.

    ``size_bytes``: how much of the block it consumed, in whole batches. ``producers``: headers (the fields of
    ``BatchHeader``) that producer state needs, in the order in which to apply them; a marker's with
    (committed, coordinator epoch). ``leader_epochs``: each new epoch with its first offset.
    """

    size_bytes: int
    producers: list[tuple[HeaderFields, MarkerFields | None]]
    leader_epochs: list[tuple[int, int]]


class _Run:
    """Consecutive batches of one producer that differ only in sequences, offsets and timestamps."""

    __slots__ = ("begun", "epoch", "last", "transactional")

    def __init__(self) -> None:
        self.begun = False
        self.epoch = 0
        self.transactional = 0
        self.last: deque[HeaderFields] = deque(maxlen=BATCHES_KEPT)


class BatchScanner:
    """Checks the batches of one segment in order, and collects what derives from them.

    It checks every batch's format, length, CRC and offsets, and every control batch with ``read_marker``, which returns
    an ``EndTxnMarker``, or None for a control batch of another kind, or raises ``CorruptBatch``. ``refusal`` says why
    a scan ended before the first bad batch, None if more bytes are needed.

    Of a run (a producer's batches of one epoch between two markers, all or none of them transactional) only the first
    batch and the last :data:`BATCHES_KEPT` in the block are reported: the effects of those in between are overwritten
    by these. If a new epoch ends the run, only the first is reported, because the old epoch's batches are forgotten.
    Everything else that depends on order, such as which transaction began first, is reported in order.

    An index entry is due before a batch that starts more than ``index_interval_bytes`` after the last entry.
    """

    def __init__(
        self, base_offset: int, last_allowed: int, index_interval_bytes: int, leader_epoch: int, read_marker: ReadMarker
    ) -> None:
        self._base_offset = base_offset
        self._last_allowed = last_allowed
        self._index_interval_bytes = index_interval_bytes
        self._leader_epoch = leader_epoch
        self._read_marker = read_marker
        self._indexed_timestamp = NO_TIMESTAMP
        self._columns = array("i"), array("i"), array("q"), array("i")
        self.next_offset = base_offset
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        self.bytes_since_index_entry = 0
        self.refusal: str | None = None

    def index_columns(self) -> tuple[bytes, bytes, bytes, bytes]:
        """The columns of both indexes in native byte order: offsets and positions of the offset index, timestamps and
        offsets of the time index.

        Offsets are relative to the segment's base offset.
        """
        offsets, positions, timestamps, time_offsets = self._columns
        return offsets.tobytes(), positions.tobytes(), timestamps.tobytes(), time_offsets.tobytes()

    def scan(self, piece: Buffer, position: int) -> Scanned:
        """Consume the complete batches in ``piece``, a block at ``position`` of the segment's file."""
        view = memoryview(piece)
        at, end = 0, len(view)
        found = Scanned(0, [], [])
        runs: dict[int, _Run] = {}
        self.refusal = None
        while end - at >= _HEADER.size:
            header: HeaderFields = _HEADER.unpack_from(view, at)
            size_bytes = header[1] + 12
            try:
                if not self._check(header, view[at : at + size_bytes] if size_bytes <= end - at else None):
                    break
                if header[9] >= 0:
                    self._note_producer(runs, header, view[at : at + size_bytes], found)
            except CorruptBatch as refusal:
                self.refusal = str(refusal)
                break
            self._take_in(header, position + at, size_bytes)
            if header[2] > self._leader_epoch:
                self._leader_epoch = header[2]
                found.leader_epochs.append((header[2], header[0]))
            at += size_bytes
        for run in runs.values():
            found.producers.extend((batch, None) for batch in run.last)
        return found._replace(size_bytes=at)

    def _check(self, header: HeaderFields, batch: memoryview | None) -> bool:
        """Check a batch. If the block ends before the batch does, ``batch`` is None: only format and length are
        checked, and False is returned.

        :raises CorruptBatch: the batch is not valid.
        """
        offset, length, delta = header[0], header[1], header[6]
        if header[3] != 2:
            raise CorruptBatch(not_version_2(offset, header[3]))
        if length < _MIN_BATCH_LENGTH:
            raise CorruptBatch(bad_length(offset, length))
        if batch is None:
            return False
        if crc32c(batch[_CRC_COVERS_FROM:]) != header[4]:
            raise CorruptBatch(CRC_DIFFERS)
        if not self.next_offset <= offset <= offset + delta <= self._last_allowed:
            raise CorruptBatch(out_of_order(offset, self.next_offset))
        return True

    def _note_producer(self, runs: dict[int, _Run], header: HeaderFields, batch: memoryview, found: Scanned) -> None:
        attributes, producer_id, epoch = header[5], header[9], header[10]
        marker = None
        if attributes & _CONTROL_BIT:
            marker = self._read_marker(bytes(batch))
            if marker is None:
                return
        run = runs.get(producer_id)
        if run is None:
            run = runs[producer_id] = _Run()
        if marker is not None:
            self._end(run, epoch, found)
            found.producers.append((header, (marker.commit, marker.coordinator_epoch)))
            return
        transactional = attributes & _TRANSACTIONAL_BIT
        if run.begun and run.epoch == epoch and run.transactional == transactional:
            run.last.append(header)
            return
        self._end(run, epoch, found)
        run.begun, run.epoch, run.transactional = True, epoch, transactional
        found.producers.append((header, None))

    @staticmethod
    def _end(run: _Run, epoch: int, found: Scanned) -> None:
        if run.epoch == epoch:
            found.producers.extend((batch, None) for batch in run.last)
        run.last.clear()
        run.begun = False

    def _take_in(self, header: HeaderFields, position: int, size_bytes: int) -> None:
        last_offset, max_timestamp = header[0] + header[6], header[8]
        if max_timestamp > self.max_timestamp:
            self.max_timestamp, self.offset_of_max_timestamp = max_timestamp, last_offset
        if self.bytes_since_index_entry > self._index_interval_bytes:
            offsets, positions, timestamps, time_offsets = self._columns
            positions.append(position)
            offsets.append(last_offset - self._base_offset)
            if self.max_timestamp > self._indexed_timestamp:
                self._indexed_timestamp = self.max_timestamp
                timestamps.append(self.max_timestamp)
                time_offsets.append(self.offset_of_max_timestamp - self._base_offset)
            self.bytes_since_index_entry = 0
        self.bytes_since_index_entry += size_bytes
        self.next_offset = last_offset + 1
