"""Aborted transactions of one segment: what a read_committed reader must leave out.

Called by ``log.segment``. An entry belongs to the segment that holds the abort marker; markers rise. Held in memory and
written as :mod:`oncelog.log.offset_index` is; the file exists only where there are entries.
File format (``AbortedTxn`` of Kafka): int16 version 0, int64 producer id, first offset, last offset (the marker's),
last stable offset.
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
    """A transaction that was aborted.

    ``last_stable_offset`` is where a read_committed reader could read to once this one was over: a search for
    transactions below an offset may stop at the first entry whose last stable offset has reached it.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


_LAST_OFFSET = attrgetter("last_offset")


class TransactionIndex:
    """Entries of one segment, in the order of their markers."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[AbortedTxn] = []

    def __len__(self) -> int:
        return len(self.entries)

    def append(self, aborted: AbortedTxn) -> None:
        self.entries.append(aborted)

    def collect(self, offset: int, upper_bound_offset: int, into: list[AbortedTxn]) -> bool:
        """Add the transactions that touch ``[offset, upper_bound_offset)``; True where no later segment has more."""
        entries = self.entries
        for index in range(bisect_left(entries, offset, key=_LAST_OFFSET), len(entries)):
            aborted = entries[index]
            if aborted.first_offset < upper_bound_offset:
                into.append(aborted)
            if aborted.last_stable_offset >= upper_bound_offset:
                return True
        return False

    def truncate_to(self, offset: int) -> None:
        """Forget transactions whose marker is at or above ``offset``."""
        while self.entries and self.entries[-1].last_offset >= offset:
            self.entries.pop()

    def encode(self, start: int = 0) -> bytes:
        """The file's bytes from entry ``start`` on."""
        return encode_entries(self.entries[start:])

    @classmethod
    def decode(cls, base_offset: int, data: bytes, path: str = "") -> TransactionIndex:
        """The index in ``data``.

        :raises CorruptLogError: a cut-off or unknown entry, markers that do not rise or lie below the segment.
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
