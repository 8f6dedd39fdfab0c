"""The aborted transactions of one segment, whose records a read_committed consumer must not see.

Called by ``segment``. An entry belongs to the segment that contains the abort marker; the markers' offsets increase.
The index is in memory, and is written like :mod:`oncelog.broker.log.segments.offset_index`; the file exists only if
there are entries. File format (``AbortedTxn`` of Kafka): int16 version 0, int64 producer id, first offset, last offset
(the marker's), last stable offset.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from struct import Struct
from typing import NamedTuple

from oncelog.errors import CorruptLogError

VERSION = 0
_ENTRY = Struct(">hqqqq")
ENTRY_SIZE_BYTES = _ENTRY.size


class AbortedTxn(NamedTuple):
    """An aborted transaction.

    ``last_stable_offset`` is the last stable offset right after this transaction had ended: a search for transactions
    below an offset may stop at the first entry whose last stable offset is not below that offset.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


_FIRST_OFFSET = attrgetter("first_offset")
_LAST_OFFSET = attrgetter("last_offset")
_LAST_STABLE_OFFSET = attrgetter("last_stable_offset")
_IN_A_BLOCK = 16
_BITS = (4, 8, 12, 16)
"""The sizes of summarized blocks of entries, as powers of two: 16 entries, and each time 16 times as many."""


class TransactionIndex:
    """The entries of one segment, in the order of their markers.

    For every 16, 256, 4,096 and 65,536 entries the index has the lowest first offset and the highest last stable
    offset, so that a search can skip blocks that contain no results and do not end the search: while one transaction
    stays open and thousands of later ones are aborted, all of these have the open one's first offset as their last
    stable offset, and none of them ends a search.
    """

    __slots__ = ("_lowest", "_stable", "entries")

    def __init__(self) -> None:
        self.entries: list[AbortedTxn] = []
        self._lowest: tuple[list[int], ...] = tuple([] for _ in _BITS)
        self._stable: tuple[list[int], ...] = tuple([] for _ in _BITS)

    def __len__(self) -> int:
        return len(self.entries)

    def append(self, aborted: AbortedTxn) -> None:
        self.entries.append(aborted)

    def collect(self, offset: int, upper_bound_offset: int, into: list[AbortedTxn]) -> bool:
        """Add the transactions with records in ``[offset, upper_bound_offset)`` to ``into``; returns True if later
        segments have no more."""
        entries = self.entries
        if len(entries) - _IN_A_BLOCK * len(self._lowest[0]) >= _IN_A_BLOCK:
            self._sum_up()
        index = bisect_left(entries, offset, key=_LAST_OFFSET)
        while True:
            if not index & _IN_A_BLOCK - 1:
                index = self._pass_over(index, upper_bound_offset)
            if index >= len(entries):
                return False
            aborted = entries[index]
            if aborted.first_offset < upper_bound_offset:
                into.append(aborted)
            if aborted.last_stable_offset >= upper_bound_offset:
                return True
            index += 1

    def _sum_up(self) -> None:
        """Summarize the blocks that were filled since the last call."""
        lowest, stable = self._lowest[0], self._stable[0]
        for begin in range(_IN_A_BLOCK * len(lowest), len(self.entries) - _IN_A_BLOCK + 1, _IN_A_BLOCK):
            block = self.entries[begin : begin + _IN_A_BLOCK]
            lowest.append(min(map(_FIRST_OFFSET, block)))
            stable.append(max(map(_LAST_STABLE_OFFSET, block)))
        for level in range(1, len(_BITS)):
            for above, below, of in ((self._lowest, lowest, min), (self._stable, stable, max)):
                found = above[level]
                for begin in range(_IN_A_BLOCK * len(found), len(below) - _IN_A_BLOCK + 1, _IN_A_BLOCK):
                    found.append(of(below[begin : begin + _IN_A_BLOCK]))
            lowest, stable = self._lowest[level], self._stable[level]

    def _pass_over(self, index: int, upper_bound_offset: int) -> int:
        """Skip blocks, from ``index`` on, that a search does not need; returns the index at which to continue. A block
        must begin at ``index``."""
        while True:
            for bits, lowest, stable in zip(
                reversed(_BITS), reversed(self._lowest), reversed(self._stable), strict=True
            ):
                block = index >> bits
                if (
                    index == block << bits
                    and block < len(lowest)
                    and lowest[block] >= upper_bound_offset > stable[block]
                ):
                    index += 1 << bits
                    break
            else:
                return index

    def truncate_to(self, offset: int) -> None:
        """Remove the transactions whose marker is at or above ``offset``."""
        while self.entries and self.entries[-1].last_offset >= offset:
            self.entries.pop()
        for bits, lowest, stable in zip(_BITS, self._lowest, self._stable, strict=True):
            del lowest[len(self.entries) >> bits :]
            del stable[len(self.entries) >> bits :]

    def encode(self, start: int = 0) -> bytes:
        """Encode the entries from number ``start`` on, as in the file."""
        return encode_entries(self.entries[start:])

    @classmethod
    def decode(cls, base_offset: int, data: bytes, path: str = "") -> TransactionIndex:
        """The index in ``data``.

        :raises CorruptLogError: an entry is incomplete or unknown, the markers' offsets do not increase, or a marker is
            below the base offset.
        """
        if len(data) % ENTRY_SIZE_BYTES:
            raise CorruptLogError(f"the transaction index {path} ends inside an entry")
        index = cls()
        previous = base_offset - 1
        for version, *fields in _ENTRY.iter_unpack(data):
            aborted = AbortedTxn(*fields)
            if version != VERSION:
                raise CorruptLogError(f"the transaction index {path} has an entry of version {version}")
            if aborted.last_offset <= previous or aborted.first_offset >= aborted.last_offset:
                raise CorruptLogError(
                    f"the transaction index {path} has a marker at {aborted.last_offset} out of order"
                )
            previous = aborted.last_offset
            index.entries.append(aborted)
        return index


def encode_entries(entries: Sequence[AbortedTxn]) -> bytes:
    return b"".join(_ENTRY.pack(VERSION, *entry) for entry in entries)
