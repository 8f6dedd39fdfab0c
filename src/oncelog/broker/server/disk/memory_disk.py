"""Files in memory: ``ports.Disk`` for a broker that stores nothing, and for tests.

Called by the broker's cores through the port. It behaves like :class:`oncelog.broker.server.disk.os_disk.OsDisk`,
except that ``sync`` does nothing, and that the bytes of a removed file stay readable through an open handle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oncelog.errors import StorageError
from oncelog.runtime.ports import Buffer


class MemoryFile:
    """A handle on a file's bytes; all handles on one file share the bytes."""

    __slots__ = ("_data", "path")

    def __init__(self, path: str, data: bytearray) -> None:
        self.path = path
        self._data = data

    def send_to(self, target: int, position: int, size: int) -> int:
        return -1

    def size(self) -> int:
        return len(self._data)

    def read_at(self, position: int, size: int) -> bytes:
        return bytes(memoryview(self._data)[position : position + size])

    def append(self, buffers: Sequence[Buffer]) -> None:
        data = self._data
        for buffer in buffers:
            data += buffer

    def write_at(self, position: int, data: Buffer) -> None:
        missing = position - len(self._data)
        if missing > 0:
            self._data += bytes(missing)
        self._data[position : position + len(data)] = data

    def truncate(self, size: int) -> None:
        if size <= len(self._data):
            del self._data[size:]
        else:
            self._data += bytes(size - len(self._data))

    def sync(self) -> None:
        """Do nothing: files in memory have no stable storage."""

    def complete(self) -> None:
        """Do nothing: no space was reserved."""

    def close(self) -> None:
        """Do nothing: there is no descriptor to close."""


class MemoryDisk:
    """Implements ``ports.Disk`` in memory."""

    def __init__(self) -> None:
        self._files: dict[str, bytearray] = {}
        self._folders: set[str] = {""}

    def open(self, path: str, *, create: bool = False) -> MemoryFile:
        data = self._files.get(path)
        if data is None:
            if not create:
                raise StorageError(f"cannot open {path}: no such file")
            if self._parent(path) not in self._folders:
                raise StorageError(f"cannot open {path}: no such folder")
            data = self._files[path] = bytearray()
        return MemoryFile(path, data)

    @staticmethod
    def _parent(path: str) -> str:
        return path.rpartition("/")[0]

    def exists(self, path: str) -> bool:
        return path in self._files or path in self._folders

    def list(self, path: str) -> Sequence[str]:
        prefix = f"{path}/" if path else ""
        names = {
            name[len(prefix) :].partition("/")[0]
            for group in (tuple(self._files), tuple(self._folders))
            for name in group
            if name.startswith(prefix) and name != path
        }
        return sorted(names - {""})

    def make_folder(self, path: str) -> None:
        while path not in self._folders:
            self._folders.add(path)
            path = self._parent(path)

    def size(self, path: str) -> int:
        return len(self._content(path))

    def read(self, path: str) -> bytes:
        return bytes(self._content(path))

    def _content(self, path: str) -> bytearray:
        try:
            return self._files[path]
        except KeyError:
            raise StorageError(f"cannot read {path}: no such file") from None

    def write_atomic(self, path: str, data: bytes, *, sync: bool = True) -> None:
        if self._parent(path) not in self._folders:
            raise StorageError(f"cannot write {path}: no such folder")
        self._files[path] = bytearray(data)

    def rename(self, old: str, new: str) -> None:
        if old in self._files:
            self._files[new] = self._files.pop(old)
        elif old in self._folders:
            for name in self._below(old):
                self._files[new + name[len(old) :]] = self._files.pop(name)
            for name in [f for f in tuple(self._folders) if f == old or f.startswith(f"{old}/")]:
                self._folders.discard(name)
                self._folders.add(new + name[len(old) :])
        else:
            raise StorageError(f"cannot rename {old} to {new}: no such file")

    def remove(self, path: str) -> None:
        if self._files.pop(path, None) is not None or path not in self._folders:
            return
        for name in self._below(path):
            self._files.pop(name, None)
        # Iterates over a copy: this thread removes folders of deleted topics while the event loop adds new ones.
        for name in tuple(self._folders):
            if name and (name == path or name.startswith(f"{path}/")):
                self._folders.discard(name)

    def _below(self, folder: str) -> Sequence[str]:
        return [name for name in tuple(self._files) if name.startswith(f"{folder}/")]

    def sync_folder(self, path: str) -> None:
        """Do nothing: files in memory have no stable storage."""

    def space(self) -> tuple[int, int] | None:
        return None

    def all_of(self, work: Sequence[Callable[[], None]]) -> Sequence[StorageError | None]:
        return [outcome(one) for one in work]


def outcome(work: Callable[[], None]) -> StorageError | None:
    """Call ``work``; returns the error if the disk failed, else None."""
    try:
        work()
    except StorageError as error:
        return error
    return None
