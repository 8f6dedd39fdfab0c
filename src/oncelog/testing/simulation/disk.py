"""A disk in memory that fails on request, and that loses unsynced data in a crash.

Called by tests of the log and by simulations. A crash leaves the worst that a file system may leave: unsynced bytes may
be lost in part, the last write may be torn, and there may be zeros instead of data. Of the changes to names in a folder
(creations, renames, removals) since the folder's last sync, only the first ones may have happened; a sync of a file
keeps its bytes, not its name. The ``random.Random`` passed in decides which of these happens.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from oncelog.broker.server.disk.memory_disk import MemoryDisk, MemoryFile
from oncelog.errors import NoSpace, StorageError
from oncelog.runtime.ports import Buffer


class FaultyFile(MemoryFile):
    """An open file whose changes fail if the disk has a fault."""

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
            raise StorageError(f"cannot append to {self.path}: injected; the part already written could not be cut off")
        if disk.free_bytes is not None:
            size = sum(map(len, buffers))
            if size > disk.free_bytes:
                raise NoSpace(f"cannot append to {self.path}: No space left on device")
            disk.free_bytes -= size
        super().append(buffers)

    def truncate(self, size: int) -> None:
        super().truncate(size)
        self._disk.note_synced(self._data, self._disk.synced_content(self._data)[:size])

    def sync(self) -> None:
        if self._disk.failing_syncs:
            self._disk.failing_syncs -= 1
            raise StorageError(f"cannot sync {self.path}: Input/output error")
        if self._disk.on_sync is not None:
            self._disk.on_sync()
        self._disk.note_synced(self._data, bytes(self._data))


class _Folder:
    """The entries of a folder as on stable storage, and the changes to them since the last sync, in order."""

    def __init__(self) -> None:
        self.entries: dict[str, _Folder | bytearray] = {}
        self.pending: list[Callable[[dict[str, _Folder | bytearray]], object]] = []

    def sync(self, count: int | None = None) -> None:
        for change in self.pending[:count]:
            change(self.entries)
        self.pending.clear()


class FaultyDisk(MemoryDisk):
    """``MemoryDisk`` with faults.

    ``free_bytes``: the space left on the disk; None for no limit. ``failing_syncs`` and ``torn_appends``: how many of
    the next syncs and appends fail. ``on_sync`` is called when a sync begins.
    """

    def __init__(self) -> None:
        super().__init__()
        self.free_bytes: int | None = None
        self.failing_syncs = 0
        self.torn_appends = 0
        self.on_sync: Callable[[], None] | None = None
        # By ``id`` of a file's content: the content, and the part of it on stable storage. The content is kept, so that
        # no ``id`` is reused.
        self._synced: dict[int, tuple[bytearray, bytes]] = {}
        self._named: dict[str, _Folder] = {"": _Folder()}

    def note_synced(self, content: bytearray, synced: bytes) -> None:
        self._synced[id(content)] = (content, synced)

    def synced_content(self, content: bytearray) -> bytes:
        """The part of a file's content that is on stable storage."""
        return self._synced[id(content)][1] if id(content) in self._synced else b""

    # --- names

    def _put(self, path: str, what: _Folder | bytearray) -> None:
        parent, _, name = path.rpartition("/")
        self._named[parent].pending.append(lambda entries: entries.update({name: what}))

    def open(self, path: str, *, create: bool = False) -> FaultyFile:
        known = path in self._files
        file = super().open(path, create=create)
        if not known:
            self._put(path, file._data)
        return FaultyFile(path, file._data, self)

    def write_atomic(self, path: str, data: bytes, *, sync: bool = True) -> None:
        super().write_atomic(path, data, sync=sync)
        self._put(path, self._files[path])
        if sync:
            self.note_synced(self._files[path], bytes(data))
            self.sync_folder(self._parent(path))

    def make_folder(self, path: str) -> None:
        if path not in self._folders:
            self.make_folder(self._parent(path))
            self._named[path] = _Folder()
            self._put(path, self._named[path])
        super().make_folder(path)

    def rename(self, old: str, new: str) -> None:
        super().rename(old, new)
        parent, _, old_name = old.rpartition("/")
        new_parent, _, new_name = new.rpartition("/")
        if parent != new_parent:
            raise StorageError(f"cannot rename {old} to {new}: crashes during moves between folders are not modelled")

        def move(entries: dict[str, _Folder | bytearray]) -> None:
            entries[new_name] = entries.pop(old_name)

        self._named[parent].pending.append(move)
        for path in [path for path in self._named if path == old or path.startswith(f"{old}/")]:
            self._named[new + path[len(old) :]] = self._named.pop(path)

    def remove(self, path: str) -> None:
        known = self.exists(path)
        super().remove(path)
        if known:
            parent, _, name = path.rpartition("/")
            self._named[parent].pending.append(lambda entries: entries.pop(name))
            for below in [p for p in self._named if p and (p == path or p.startswith(f"{path}/"))]:
                del self._named[below]

    def sync_folder(self, path: str) -> None:
        if self.failing_syncs:
            self.failing_syncs -= 1
            raise StorageError(f"cannot sync the folder {path}: Input/output error")
        self._named[path].sync()

    # --- crashes

    def crash(self, rng: random.Random) -> FaultyDisk:
        """The disk as it is after a power loss, for the next start. The old disk must not be used again."""
        after = FaultyDisk()
        after.free_bytes, after.on_sync = self.free_bytes, self.on_sync
        self._take_over(after, "", self._named[""], rng)
        return after

    def _take_over(self, after: FaultyDisk, path: str, folder: _Folder, rng: random.Random) -> None:
        count = len(folder.pending)
        folder.sync(rng.choice([0, rng.randint(0, count), count]))
        for name, entry in sorted(folder.entries.items()):
            below = f"{path}/{name}" if path else name
            if isinstance(entry, _Folder):
                after.make_folder(below)
                self._take_over(after, below, entry, rng)
            else:
                survived = self._survivor(self.synced_content(entry), bytes(entry), rng)
                file = after.open(below, create=True)
                file._data.extend(survived)
                after.note_synced(file._data, survived)
        after.sync_folder(path)

    @staticmethod
    def _survivor(synced: bytes, written: bytes, rng: random.Random) -> bytes:
        if written[: len(synced)] != synced:  # the file was truncated or replaced without a sync
            return rng.choice([synced, written])
        tail = written[len(synced) :]
        kept = rng.randint(0, len(tail))
        zeros = rng.choice([0, 0, len(tail) - kept])
        return synced + tail[:kept] + bytes(zeros)
