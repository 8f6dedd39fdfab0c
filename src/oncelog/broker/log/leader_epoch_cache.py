"""Which leader epoch began at which offset of a partition.

Part of ``state``: the writer begins epochs, ``partition_log`` answers where they end, the trimmer and recovery cut
them. Epochs and start offsets both increase from entry to entry. This module does no I/O: the log writes what
:meth:`LeaderEpochCache.unsaved` returns. Source: KIP-101, KIP-279, Kafka's ``LeaderEpochFileCache``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class EpochEntry(NamedTuple):
    """A leader epoch and the first offset that was appended in it."""

    epoch: int
    start_offset: int


class LeaderEpochCache:
    """The leader epochs of one partition, oldest first."""

    __slots__ = ("_entries", "_saved", "dirty", "latest_epoch")

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        """:param entries: the contents of the file."""
        self._entries: list[EpochEntry] = list(entries)
        self._saved = tuple(self._entries)
        self.dirty = False
        """Whether the file of leader epochs may lack some of the entries."""
        self._set_latest()

    def _set_latest(self) -> None:
        self.latest_epoch = self._entries[-1].epoch if self._entries else UNDEFINED_EPOCH
        """Set the latest epoch, -1 without entries; it is stored because every append reads it."""

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        return tuple(self._entries)

    def unsaved(self, log_end_offset: int) -> tuple[EpochEntry, ...] | None:
        """The entries to write to the file, None if it has them already; after writing call :meth:`saved`. An epoch
        without a batch below ``log_end_offset`` is not written: it ends with the process."""
        if not self.dirty:
            return None
        entries = tuple(entry for entry in self._entries if entry.start_offset < log_end_offset)
        return entries if entries != self._saved else None

    def saved(self, entries: tuple[EpochEntry, ...]) -> None:
        """Called when the file has been written with these entries."""
        self._saved = entries
        self.dirty = len(entries) < len(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """Begin ``epoch`` at ``start_offset``; entries with a later epoch or start offset are dropped."""
        entries = self._entries
        if entries and entries[-1].epoch == epoch and start_offset >= entries[-1].start_offset:
            return
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        self.latest_epoch = epoch
        self.dirty = True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The greatest known epoch that is at most ``epoch``, and the offset at which it ended.

        For an epoch greater than all known ones (-1, -1); for an epoch less than all known ones that epoch and the
        first known start offset.
        """
        if epoch == UNDEFINED_EPOCH:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self.latest_epoch:
            return epoch, log_end_offset
        found = epoch
        for entry in self._entries:
            if entry.epoch > epoch:
                return found, entry.start_offset
            found = entry.epoch
        return UNDEFINED_EPOCH, UNDEFINED_OFFSET

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch in which ``offset`` was (or will be) appended, -1 if unknown."""
        found = UNDEFINED_EPOCH
        for entry in self._entries:
            if entry.start_offset > offset:
                break
            found = entry.epoch
        return found

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the epochs that began at or after ``end_offset``."""
        while self._entries and self._entries[-1].start_offset >= end_offset:
            self._entries.pop()
            self.dirty = True
        self._set_latest()

    def truncate_from_start(self, start_offset: int) -> None:
        """Remove the epochs that ended before ``start_offset``; the epoch that contains this offset then begins
        there."""
        entries = self._entries
        covered = sum(1 for entry in entries if entry.start_offset <= start_offset)
        if (covered and entries[covered - 1].start_offset < start_offset) or covered > 1:
            entries[:covered] = [EpochEntry(entries[covered - 1].epoch, start_offset)]
            self.dirty = True

    def clear(self) -> None:
        self.dirty = self.dirty or bool(self._entries)
        self._entries.clear()
        self._set_latest()
