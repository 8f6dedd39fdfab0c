"""A disk in memory that fails when told to, and that loses what was not synced when it crashes.

Called by tests of the log and by simulations. What survives a crash is the worst that a file system may do: bytes
that were not synced may be lost in part, a part of the last write may be there, or zeros where data should be; names
(creations, renames, removals) and truncations survive. Which of it happens is drawn from the
``random.Random`` that is passed in.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from oncelog.errors import StorageError
from oncelog.ports import Buffer
from oncelog.server.memory_disk import MemoryDisk, MemoryFile


class FaultyFile(MemoryFile):
    """A handle that asks its disk before each change."""

    __slots__ = ("_disk",)

    def __init__(self, path: str, data: bytearray, disk: FaultyDisk) -> None:
        super().__init__(path, data)
        self._disk = disk

    def append(self, buffers: Sequence[Buffer]) -> None:
        disk = self._disk
        if disk.torn_appends:
            disk.torn_appends -= 1
            whole = b"".join(buffers)
            self._data.extend(whole[: len(whole) // 2])
            raise StorageError(f"cannot append to {self.path}: injected; what was written could not be cut off again")
        if disk.free_bytes is not None:
            size = sum(map(len, buffers))
            if size > disk.free_bytes:
                raise StorageError(f"cannot append to {self.path}: No space left on device")
            disk.free_bytes -= size
        super().append(buffers)

    def truncate(self, size: int) -> None:
        super().truncate(size)
        self._disk.note_synced(self._data, self._disk.synced_content(self._data)[:size])

    def sync(self) -> None:
        if self._disk.failing_syncs:
            self._disk.failing_syncs -= 1
            raise StorageError(f"cannot sync {self.path}: Input/output error")
        self._disk.note_synced(self._data, bytes(self._data))


class FaultyDisk(MemoryDisk):
    """``MemoryDisk`` with faults.

    ``free_bytes``: what is left of the disk, None for no bound. ``failing_syncs`` and ``torn_appends``: how many of the
    next ones fail.
    """

    def __init__(self) -> None:
        super().__init__()
        self.free_bytes: int | None = None
        self.failing_syncs = 0
        self.torn_appends = 0
        # The bytes of a file with what of them is on stable storage, by identity; kept, so that none is used again.
        self._synced: dict[int, tuple[bytearray, bytes]] = {}

    def note_synced(self, content: bytearray, synced: bytes) -> None:
        self._synced[id(content)] = (content, synced)

    def synced_content(self, content: bytearray) -> bytes:
        """What of a file's bytes is on stable storage."""
        return self._synced[id(content)][1] if id(content) in self._synced else b""

    def open(self, path: str, *, create: bool = False) -> FaultyFile:
        file = super().open(path, create=create)
        return FaultyFile(path, file._data, self)

    def write_atomic(self, path: str, data: bytes, *, sync: bool = True) -> None:
        super().write_atomic(path, data, sync=sync)
        if sync:
            self.note_synced(self._files[path], bytes(data))

    def crash(self, rng: random.Random) -> FaultyDisk:
        """The disk after a power loss, as the next start finds it."""
        after = FaultyDisk()
        after._folders = set(self._folders)
        for path, content in sorted(self._files.items()):
            survived = self._survivor(self.synced_content(content), bytes(content), rng)
            after._files[path] = bytearray(survived)
            after.note_synced(after._files[path], survived)
        return after

    @staticmethod
    def _survivor(synced: bytes, written: bytes, rng: random.Random) -> bytes:
        if written[: len(synced)] != synced:  # truncated or replaced without a sync
            return rng.choice([synced, written])
        tail = written[len(synced) :]
        kept = rng.randint(0, len(tail))
        zeros = rng.choice([0, 0, len(tail) - kept])
        return synced + tail[:kept] + bytes(zeros)
