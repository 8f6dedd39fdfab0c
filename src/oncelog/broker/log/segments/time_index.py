"""The sparse time index of one segment: the offset from which on records may have a given timestamp.

Called by ``segment``. An entry is the largest timestamp so far and the last offset of the batch that contains it;
timestamps increase strictly. The index is in memory, and is written like
:mod:`oncelog.broker.log.segments.offset_index`. File format (``TimeIndex`` of Kafka): entries of int64 timestamp in ms,
int32 offset relative to the base offset.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from oncelog.broker.log.big_endian import pack_columns, unpack_columns
from oncelog.errors import CorruptLogError
from oncelog.types import NO_TIMESTAMP

ENTRY_SIZE_BYTES = 12
_COLUMNS = "qi"

LARGEST_RELATIVE_OFFSET = 2**31 - 1


class TimeIndex:
    """The entries of one segment's time index; ``base_offset`` is the segment's."""

    __slots__ = ("_offsets", "_timestamps", "base_offset")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self._timestamps = array("q")
        self._offsets = array("i")

    def __len__(self) -> int:
        return len(self._timestamps)

    @property
    def last_timestamp(self) -> int:
        """The largest timestamp in ms; -1 without entries."""
        return self._timestamps[-1] if self._timestamps else NO_TIMESTAMP

    @property
    def last_offset(self) -> int:
        """The offset of the last entry; the base offset without entries."""
        return self.base_offset + (self._offsets[-1] if self._offsets else 0)

    def append_if_later(self, timestamp: int, offset: int) -> None:
        """Add an entry if ``timestamp`` is larger than that of the last entry.

        An offset too far from the base offset (from a damaged batch) is not added: searches then scan more batches.
        """
        if timestamp > self.last_timestamp and offset - self.base_offset <= LARGEST_RELATIVE_OFFSET:
            self._timestamps.append(timestamp)
            self._offsets.append(offset - self.base_offset)

    def extend(self, timestamps: bytes, offsets: bytes) -> None:
        """Add later entries given as columns of native int64 and int32, offsets relative to the base offset."""
        self._timestamps.frombytes(timestamps)
        self._offsets.frombytes(offsets)

    def offset_for(self, timestamp: int) -> int:
        """The offset from which to search: every record before it has a smaller timestamp than ``timestamp``."""
        entry = bisect_right(self._timestamps, timestamp)
        return self.base_offset + (self._offsets[entry - 1] if entry else 0)

    def truncate_to(self, offset: int) -> None:
        """Remove the entries at or above ``offset``."""
        entry = bisect_left(self._offsets, offset - self.base_offset)
        del self._timestamps[entry:], self._offsets[entry:]

    def entries(self) -> list[tuple[int, int]]:
        """The entries as pairs of timestamp and offset."""
        return [(t, self.base_offset + offset) for t, offset in zip(self._timestamps, self._offsets, strict=True)]

    def encode(self, start: int = 0) -> bytes:
        """Encode the entries from number ``start`` on, as in the file."""
        return pack_columns(_COLUMNS, self._timestamps[start:], self._offsets[start:])

    @classmethod
    def decode(cls, base_offset: int, data: bytes, path: str = "") -> TimeIndex:
        """The index in ``data``; trailing zeros left by a crash are dropped.

        :raises CorruptLogError: the entries do not increase.
        """
        if len(data) % ENTRY_SIZE_BYTES:
            raise CorruptLogError(f"the time index {path} ends inside an entry")
        index = cls(base_offset)
        timestamps, offsets = unpack_columns(_COLUMNS, data)
        while timestamps and not timestamps[-1] and not offsets[-1]:
            timestamps.pop()
            offsets.pop()
        if not all(map(int.__lt__, timestamps, timestamps[1:])) or not all(map(int.__le__, offsets, offsets[1:])):
            raise CorruptLogError(f"the timestamps or offsets of the time index {path} do not rise")
        index._timestamps, index._offsets = timestamps, offsets
        return index
