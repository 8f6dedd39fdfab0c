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
    """Implements ``ports.Disk`` in memory.

    A broker with thousands of topics has ten thousands of files, so each folder knows its own entries. Another thread
    removes the folders of deleted topics while the event loop adds files; it iterates over copies only.
    """

    def __init__(self) -> None:
        self._files: dict[str, bytearray] = {}
        self._folders: dict[str, set[str]] = {"": set()}
        """The names of the files and folders in each folder."""

    def open(self, path: str, *, create: bool = False) -> MemoryFile:
        data = self._files.get(path)
        if data is None:
            if not create:
                raise StorageError(f"cannot open {path}: no such file")
            self._enter(path, f"cannot open {path}")
            data = self._files[path] = bytearray()
        return MemoryFile(path, data)

    @staticmethod
    def _parent(path: str) -> str:
        return path.rpartition("/")[0]

    def _enter(self, path: str, failure: str) -> None:
        """Add a file or folder to the entries of its folder."""
        folder, _, name = path.rpartition("/")
        entries = self._folders.get(folder)
        if entries is None:
            raise StorageError(f"{failure}: no such folder")
        entries.add(name)

    def _leave(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        self._folders.get(folder, set()).discard(name)

    def exists(self, path: str) -> bool:
        return path in self._files or path in self._folders

    def list(self, path: str) -> Sequence[str]:
        return sorted(self._folders.get(path, set()).copy())

    def make_folder(self, path: str) -> None:
        if path not in self._folders:
            self.make_folder(self._parent(path))
            self._folders[path] = set()
            self._enter(path, f"cannot make {path}")

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
        self._enter(path, f"cannot write {path}")
        self._files[path] = bytearray(data)

    def rename(self, old: str, new: str) -> None:
        failure = f"cannot rename {old} to {new}"
        if not self.exists(old):
            raise StorageError(f"{failure}: no such file")
        self._enter(new, failure)
        self._move(old, new)
        if old != new:
            self._leave(old)

    def _move(self, old: str, new: str) -> None:
        if old in self._files:
            self._files[new] = self._files.pop(old)
            return
        entries = self._folders[new] = self._folders.pop(old)
        for name in entries.copy():
            self._move(f"{old}/{name}", f"{new}/{name}")

    def remove(self, path: str) -> None:
        if self.exists(path):
            self._leave(path)
            self._drop(path)

    def _drop(self, path: str) -> None:
        self._files.pop(path, None)
        for name in self._folders.pop(path, set()).copy():
            self._drop(f"{path}/{name}")

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
