"""A disk that is full, slow or failing on request, and that records how many bytes of each file were synced.

``oncelog.Broker(faults=True)`` puts it between the broker and its disk. A simulated power failure loses the bytes at
the end of each file written since its last sync; created, renamed and removed files stay as they are.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence

from oncelog.broker.faults.rules import DISK_ACTIONS, Action, Fault, Faults
from oncelog.broker.faults.targets import RequestTarget
from oncelog.errors import NoSpace, StorageError
from oncelog.runtime.ports import Buffer, Disk, File

_NOTHING = RequestTarget((), (), ())


class FileWithFaults:
    """A file whose writes and syncs are subject to the disk's faults; implements ``ports.File``."""

    __slots__ = ("_disk", "_file")

    def __init__(self, disk: DiskWithFaults, file: File) -> None:
        self._disk = disk
        self._file = file

    @property
    def path(self) -> str:
        return self._file.path

    def send_to(self, target: int, position: int, size: int) -> int:
        return self._file.send_to(target, position, size)

    def size(self) -> int:
        return self._file.size()

    def read_at(self, position: int, size: int) -> bytes:
        return self._file.read_at(position, size)

    def append(self, buffers: Sequence[Buffer]) -> None:
        self._disk.strike("append to", self.path)
        self._file.append(buffers)

    def write_at(self, position: int, data: Buffer) -> None:
        self._disk.strike("write", self.path)
        self._file.write_at(position, data)

    def truncate(self, size: int) -> None:
        self._file.truncate(size)
        self._disk.synced(self.path, min(size, self._disk.safe_bytes(self.path)))

    def sync(self) -> None:
        size = self._file.size()
        self._disk.strike("sync", self.path)
        self._file.sync()
        self._disk.synced(self.path, size)

    def complete(self) -> None:
        self._file.complete()

    def close(self) -> None:
        self._file.close()


class DiskWithFaults:
    """A disk with faults, on top of another disk; implements ``ports.Disk``."""

    def __init__(self, disk: Disk, faults: Faults) -> None:
        self._disk = disk
        self._faults = faults
        self._safe: dict[str, int] = {}

    # --- faults

    def strike(self, what: str, path: str) -> None:
        """Apply the disk's faults in force; called before a write or a sync, on the thread that does it."""
        candidates = self._faults.of(DISK_ACTIONS)
        if not candidates:
            return
        wanted = [fault for fault in candidates if _concerns(fault, what)]
        for fault in self._faults.strike(wanted, _NOTHING):
            if fault.action is Action.SLOW_DISK:
                time.sleep(fault.delay_ms / 1000)
            else:
                is_full = fault.action is Action.FULL_DISK
                kind, code = (NoSpace, errno.ENOSPC) if is_full else (StorageError, errno.EIO)
                raise kind(f"cannot {what} {path}: {os.strerror(code)}")

    def safe_bytes(self, path: str) -> int:
        """The number of bytes of a file that a power failure would leave."""
        return self._safe.get(path, 0)

    def synced(self, path: str, size: int) -> None:
        self._safe[path] = size

    def lose_unsynced(self) -> list[str]:
        """Discard the bytes that a power failure would lose; returns the files that lost some."""
        cut = []
        for path, safe in sorted(self._safe.items()):
            if self._disk.exists(path) and self._disk.size(path) > safe:
                file = self._disk.open(path)
                file.truncate(safe)
                file.close()
                cut.append(path)
        return cut

    # --- Disk

    def open(self, path: str, *, create: bool = False) -> FileWithFaults:
        known = path in self._safe
        there = known or self._disk.exists(path)
        if create and not there:
            self.strike("create", path)
        file = FileWithFaults(self, self._disk.open(path, create=create))
        if not known:
            self._safe[path] = self._disk.size(path) if there else 0
        return file

    def exists(self, path: str) -> bool:
        return self._disk.exists(path)

    def list(self, path: str) -> Sequence[str]:
        return self._disk.list(path)

    def make_folder(self, path: str) -> None:
        self._disk.make_folder(path)

    def size(self, path: str) -> int:
        return self._disk.size(path)

    def read(self, path: str) -> bytes:
        return self._disk.read(path)

    def write_atomic(self, path: str, data: bytes, *, sync: bool = True) -> None:
        self.strike("write", path)
        self._disk.write_atomic(path, data, sync=sync)
        self._safe[path] = len(data)

    def rename(self, old: str, new: str) -> None:
        self._disk.rename(old, new)
        for path in [path for path in list(self._safe) if path == old or path.startswith(f"{old}/")]:
            self._safe[new + path[len(old) :]] = self._safe.pop(path)

    def remove(self, path: str) -> None:
        self._disk.remove(path)
        for known in [known for known in list(self._safe) if known == path or known.startswith(f"{path}/")]:
            del self._safe[known]

    def sync_folder(self, path: str) -> None:
        self.strike("sync the folder", path)
        self._disk.sync_folder(path)

    def space(self) -> tuple[int, int] | None:
        return self._disk.space()

    def all_of(self, work: Sequence[Callable[[], None]]) -> Sequence[StorageError | None]:
        return self._disk.all_of(work)


def _concerns(fault: Fault, what: str) -> bool:
    return what.startswith("sync") is (fault.action is not Action.FULL_DISK)
