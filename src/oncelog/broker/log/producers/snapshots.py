"""The ``.snapshot`` files of one partition, each with the producer state as of the offset in its name.

Opened by ``broker.log.recovery``, and part of ``broker.log.state``. Source: Kafka's ``ProducerStateManager``.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from oncelog.broker.log.file_names import DELETED_SUFFIX, SNAPSHOT_SUFFIX, file_name, parse_file_name
from oncelog.broker.log.producers.producer_entry import ProducerStateEntry
from oncelog.broker.log.producers.producer_snapshot import decode_snapshot, encode_snapshot
from oncelog.broker.log.producers.producer_state import ProducerStateManager
from oncelog.errors import CorruptLogError
from oncelog.runtime.ports import Disk, File

logger = logging.getLogger(__name__)


class SnapshotFiles:
    """The existing snapshots of a partition; ``offsets`` are in ascending order."""

    def __init__(self, disk: Disk, folder: str, offsets: Collection[int] = ()) -> None:
        self._disk = disk
        self._folder = folder
        self.offsets = sorted(offsets)

    @classmethod
    def listed(cls, disk: Disk, folder: str, names: Collection[str]) -> SnapshotFiles:
        """The snapshots among the file names ``names``."""
        parsed = filter(None, map(parse_file_name, names))
        return cls(disk, folder, [offset for offset, kind, extra in parsed if kind == SNAPSHOT_SUFFIX and not extra])

    def path(self, offset: int) -> str:
        return f"{self._folder}/{file_name(offset, SNAPSHOT_SUFFIX)}"

    @property
    def latest(self) -> int | None:
        return self.offsets[-1] if self.offsets else None

    def take(self, state: ProducerStateManager) -> File | None:
        """Write a snapshot of the state as of its end offset; returns the file, or None if this snapshot exists
        already.

        As in Apache Kafka, the file is not renamed into place: its checksum shows whether it was written completely.
        """
        offset = state.map_end_offset
        if offset <= (self.offsets[-1] if self.offsets else 0):
            return None
        file = self._disk.open(self.path(offset), create=True)
        if file.size():
            file.truncate(0)
        file.append([encode_snapshot(state.entries.values())])
        self.offsets.append(offset)
        return file

    def load_newest(self, low: int, high: int) -> tuple[int, list[ProducerStateEntry]] | None:
        """The newest intact snapshot with an offset from ``low`` to ``high``; damaged ones found before it are
        removed."""
        for offset in reversed([offset for offset in self.offsets if low <= offset <= high]):
            path = self.path(offset)
            try:
                return offset, decode_snapshot(self._disk.read(path), path)
            except CorruptLogError as error:
                logger.warning("%s; an older snapshot is used", error)
                self.remove(offset)
        return None

    def remove(self, offset: int) -> None:
        if offset in self.offsets:
            self.offsets.remove(offset)
            self._disk.remove(self.path(offset))

    def mark_deleted(self, low: int, high: int) -> list[str]:
        """Rename the snapshots from ``low`` to ``high`` for removal; returns their new paths."""
        paths = []
        for offset in [offset for offset in self.offsets if low <= offset <= high]:
            self.offsets.remove(offset)
            path = self.path(offset)
            self._disk.rename(path, path + DELETED_SUFFIX)
            paths.append(path + DELETED_SUFFIX)
        return paths

    def keep_between(self, low: int, high: int) -> None:
        """Remove snapshots below ``low`` or above ``high``."""
        for offset in [offset for offset in self.offsets if not low <= offset <= high]:
            self.remove(offset)

    def remove_strays(self, base_offsets: Collection[int]) -> None:
        """Remove snapshots except those at the start of a segment, and the newest one, which a clean shutdown leaves at
        the log's end."""
        newest_base = max(base_offsets, default=0)
        for offset in [offset for offset in self.offsets if offset not in base_offsets]:
            if offset != self.latest or offset < newest_base:
                self.remove(offset)
