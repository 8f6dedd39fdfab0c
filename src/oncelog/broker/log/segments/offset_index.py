"""The sparse offset index of one segment: the file positions of some of its batches.

Called by ``segment``. An entry is the last offset of an appended batch and the position where that batch starts; both
increase strictly. The index is in memory, and is written when the segment is rolled or closed; a segment whose index
was not written is scanned at the next start, as after a crash. File format (``OffsetIndex`` of Kafka): entries of two
int32, offset relative to the base offset, position.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from oncelog.broker.log.big_endian import pack_columns, unpack_columns
from oncelog.errors import CorruptLogError

ENTRY_SIZE_BYTES = 8
_COLUMNS = "ii"


class OffsetIndex:
    """The entries of one segment's offset index; ``base_offset`` is the segment's."""

    __slots__ = ("_offsets", "_positions", "base_offset")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self._offsets = array("i")
        self._positions = array("i")

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def last_offset(self) -> int:
        """The offset of the last entry; the base offset without entries."""
        return self.base_offset + (self._offsets[-1] if self._offsets else 0)

    @property
    def last_position(self) -> int:
        """The position of the last entry; 0 without entries."""
        return self._positions[-1] if self._positions else 0

    def append(self, last_offset: int, position: int) -> None:
        self._offsets.append(last_offset - self.base_offset)
        self._positions.append(position)

    def extend(self, offsets: bytes, positions: bytes) -> None:
        """Add entries given as columns of native int32, offsets relative to the base offset."""
        self._offsets.frombytes(offsets)
        self._positions.frombytes(positions)

    def position_for(self, offset: int) -> int:
        """A position from which a scan finds ``offset``: that of the last entry whose offset is at most ``offset``, or
        0."""
        entry = bisect_right(self._offsets, offset - self.base_offset)
        return self._positions[entry - 1] if entry else 0

    def boundary_at_or_before(self, position: int) -> int:
        """The start of a batch, as late as known, that is not after ``position``; 0 if none is known."""
        entry = bisect_right(self._positions, position)
        return self._positions[entry - 1] if entry else 0

    def offset_at_or_after(self, position: int) -> int | None:
        """An upper bound for the offsets stored before ``position``; None if ``position`` is beyond the last entry."""
        entry = bisect_left(self._positions, position)
        return self.base_offset + self._offsets[entry] if entry < len(self._positions) else None

    def truncate_to(self, offset: int) -> None:
        """Remove the entries at or above ``offset``."""
        entry = bisect_left(self._offsets, offset - self.base_offset)
        del self._offsets[entry:], self._positions[entry:]

    def entries(self) -> list[tuple[int, int]]:
        """The entries as pairs of offset and position."""
        return [(self.base_offset + offset, p) for offset, p in zip(self._offsets, self._positions, strict=True)]

    def encode(self, start: int = 0) -> bytes:
        """Encode the entries from number ``start`` on, as in the file."""
        return pack_columns(_COLUMNS, self._offsets[start:], self._positions[start:])

    @classmethod
    def decode(cls, base_offset: int, data: bytes, log_size_bytes: int, path: str = "") -> OffsetIndex:
        """The index in ``data``; trailing zeros left by a crash are dropped.

        :raises CorruptLogError: the entries do not increase, or a position is beyond the end of the log file.
        """
        if len(data) % ENTRY_SIZE_BYTES:
            raise CorruptLogError(f"the offset index {path} ends inside an entry")
        index = cls(base_offset)
        offsets, positions = unpack_columns(_COLUMNS, data)
        while positions and not positions[-1]:
            offsets.pop()
            positions.pop()
        if positions and (positions[-1] >= log_size_bytes or not _rises(offsets) or not _rises(positions)):
            raise CorruptLogError(f"the offset index {path} does not fit its log of {log_size_bytes} bytes")
        index._offsets, index._positions = offsets, positions
        return index


def _rises(values: array[int]) -> bool:
    return values[0] >= 0 and all(map(int.__lt__, values, values[1:]))
