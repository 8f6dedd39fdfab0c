"""Files below one data folder on the operating system's disk: ``ports.Disk`` for a broker that keeps its data.

Called by the broker's cores through the port. One thread (the event loop's) appends, renames and removes; ``File.sync``
may run on any thread, and so may all operations on files that only one other thread uses (compaction). Descriptors are
opened when first needed and at most ``max_descriptors`` stay open: the oldest one without unsynced data is closed
first, and if all have unsynced data, the oldest is synced and closed. Removing or replacing a file also closes it, so
that its disk space is free at once, or when the last call that uses the descriptor ends; the file cannot be read any
more, as in Apache Kafka. Every failure is a ``StorageError`` that names the file and the cause: ``OutOfDescriptors`` if
only a descriptor is missing, ``NoSpace`` if the disk is full.
"""

from __future__ import annotations

import errno
import os
import threading
import weakref
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import NoReturn

from oncelog.broker.log.file_names import TEMPORARY_SUFFIX
from oncelog.broker.server.disk.memory_disk import outcome
from oncelog.broker.server.disk.reserving import RESERVED_FROM_BYTES, give_back, reserve
from oncelog.errors import NoSpace, OutOfDescriptors, StorageError
from oncelog.runtime.ports import Buffer

try:
    import fcntl
except ImportError:  # Windows has no fcntl; other functions used below are also missing there
    fcntl = None  # type: ignore[assignment]

DEFAULT_MAX_DESCRIPTORS = 512
_IOV_MAX = 1024
_SYNC_THREADS = 16
"""The number of syncs that may wait for the disk at once; a file system commits such syncs together."""
_NEEDED = ("pread", "pwrite", "pwritev", "ftruncate", "O_CLOEXEC", "O_DIRECTORY")
_NO_FULL_SYNC = (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY)
"""Errors from file systems that do not support F_FULLFSYNC, mostly network file systems."""
_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors that say that the disk, the user's quota or the process's file size limit is exhausted."""


def lacking() -> list[str]:
    """The functions that a broker with a data folder needs but this operating system lacks; on Windows, nearly all."""
    return [f"os.{name}" for name in _NEEDED if not hasattr(os, name)]


def sync_call() -> str:
    """The name of the system call that brings a file's bytes to stable storage on this operating system."""
    if hasattr(fcntl, "F_FULLFSYNC"):
        return "F_FULLFSYNC"
    return "fdatasync" if hasattr(os, "fdatasync") else "fsync"


def force(descriptor: int) -> None:
    """Bring a file's bytes to stable storage before returning. On macOS only F_FULLFSYNC empties the drive's cache."""
    if hasattr(fcntl, "F_FULLFSYNC"):
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError as error:
            if error.errno not in _NO_FULL_SYNC:
                raise
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def sync_names(folder: str) -> None:
    """Bring the names in a folder to stable storage before returning. :raises OSError: this is not possible."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refuse(what: str, path: str, error: OSError, *, writes: bool = False) -> NoReturn:
    """Raise the ``StorageError`` for a failed operation. :param writes: the operation needs disk space, and has changed
    nothing if there is none."""
    kind = OutOfDescriptors if error.errno in _NO_DESCRIPTORS else StorageError
    if writes and error.errno in _NO_SPACE:
        kind = NoSpace
    raise kind(f"cannot {what} {path}: {error.strerror or error}") from error


class _Descriptor:
    """A descriptor that is closed when nothing refers to it any more, and so never during a call that uses it."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


class OsFile:
    """A file of an :class:`OsDisk`, created by ``OsDisk.open``.

    Each call refers to the descriptor that it uses: a thread that closes the file meanwhile only drops its own
    reference.
    """

    __slots__ = ("__weakref__", "_descriptor", "_disk", "_lost", "_removed", "_reserved", "_size", "_unsynced", "path")

    def __init__(self, disk: OsDisk, path: str) -> None:
        self.path = path
        self._disk = disk
        self._descriptor: _Descriptor | None = None
        self._size = -1
        self._reserved = 0
        """The position at which reserved space ends; 0 if it is unknown, because an earlier process may have reserved
        some."""
        self._unsynced = False
        self._lost: StorageError | None = None
        """The error if data could not be synced before the descriptor was closed; raised by the next sync."""
        self._removed = False
        with disk._lock:
            disk._track(self)

    def _hold(self) -> _Descriptor:
        """The file's descriptor, opened if necessary."""
        held = self._descriptor
        return held if held is not None else self._disk._open_descriptor(self)

    def send_to(self, target: int, position: int, size: int) -> int:
        if not hasattr(os, "sendfile"):
            return -1
        held = self._hold()
        return os.sendfile(target, held.number, position, size)

    def size(self) -> int:
        if self._size < 0:
            held = self._hold()
            try:
                self._size = os.fstat(held.number).st_size
            except OSError as error:
                _refuse("read the size of", self.path, error)
        return self._size

    def read_at(self, position: int, size: int) -> bytes:
        held = self._descriptor or self._hold()
        try:
            data = os.pread(held.number, size, position)
            if len(data) == size or not data:
                return data
            parts, got = [data], len(data)
            while got < size:
                data = os.pread(held.number, size - got, position + got)
                if not data:
                    break
                parts.append(data)
                got += len(data)
        except OSError as error:
            _refuse("read", self.path, error)
        return b"".join(parts)

    def append(self, buffers: Sequence[Buffer]) -> None:
        start = self._size if self._size >= 0 else self.size()
        alone = buffers[0] if len(buffers) == 1 else None
        end = start + (len(alone) if alone is not None else sum(map(len, buffers)))
        held = self._descriptor or self._hold()
        self._unsynced = True
        try:
            if end > self._reserved:
                self._reserved = reserve(held.number, start, end)
            if alone is not None:
                written = os.pwrite(held.number, alone, start)
            else:
                written = os.pwritev(held.number, buffers, start) if len(buffers) <= _IOV_MAX else 0
            if start + written != end:
                _write_all(held, b"".join(buffers), written, start)
        except OSError as error:
            self._cut_off(held, start, error)
        self._unsynced = True  # set again after the write: a sync may have begun before these bytes were written
        self._size = end

    def _cut_off(self, held: _Descriptor, end: int, cause: OSError) -> NoReturn:
        """Undo a write that failed after some bytes, and raise ``StorageError`` with its cause."""
        self._reserved = RESERVED_FROM_BYTES
        try:
            os.ftruncate(held.number, end)
        except OSError as error:
            self._size = -1
            raise StorageError(
                f"cannot append to {self.path}: {cause.strerror or cause}; what was written could not be cut off "
                f"again ({error.strerror or error}): restart the broker to recover the file"
            ) from cause
        _refuse("append to", self.path, cause, writes=True)

    def write_at(self, position: int, data: Buffer) -> None:
        held = self._hold()
        self._unsynced = True
        try:
            _write_all(held, data, 0, position)
        except OSError as error:
            self._size = -1
            _refuse("write", self.path, error)
        self._size = max(self.size(), position + len(data))

    def truncate(self, size: int) -> None:
        held = self._hold()
        self._unsynced = True
        self._reserved = RESERVED_FROM_BYTES
        try:
            os.ftruncate(held.number, size)
        except OSError as error:
            self._size = -1
            _refuse("truncate", self.path, error)
        self._size = size

    def sync(self) -> None:
        if self._lost is not None:
            raise self._lost
        if self._removed:
            return
        try:
            held = self._hold()
        except StorageError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return  # the file was removed: nothing is left to sync
            raise
        self._unsynced = False
        try:
            force(held.number)
        except OSError as error:
            self._unsynced = True
            _refuse("sync", self.path, error)

    def complete(self) -> None:
        if self._reserved == RESERVED_FROM_BYTES or (self._descriptor is None and not self._reserved):
            return  # no disk space is reserved, or the file was never used
        self._reserved = RESERVED_FROM_BYTES
        with suppress(OSError, StorageError):  # a failure only wastes disk space until the next process releases it
            if self.size() > RESERVED_FROM_BYTES:
                give_back(self._hold().number)

    def close(self) -> None:
        self.complete()
        self._disk._let_go(self)


def _write_all(held: _Descriptor, data: Buffer, written: int, position: int) -> None:
    """Write ``data`` at ``position``; the first ``written`` bytes of it are already there."""
    view = memoryview(data)
    while written < len(view):
        written += os.pwrite(held.number, view[written:], position + written)


def _take_oldest(files: weakref.WeakValueDictionary[int, OsFile]) -> OsFile | None:
    while (key := next(iter(files), None)) is not None:
        file = files.pop(key, None)
        if file is not None:  # another thread may have dropped the file since its key was read
            return file
    return None


class OsDisk:
    """Implements ``ports.Disk`` in the folder ``root``, which must exist.

    :param read_only: open files for reading, so that a folder without write permission can be inspected.
    :param shared: paths of files to be opened only for reading, because another folder has the same files.
    """

    def __init__(
        self,
        root: str,
        max_descriptors: int = DEFAULT_MAX_DESCRIPTORS,
        *,
        read_only: bool = False,
        shared: Collection[str] = (),
    ) -> None:
        missing = lacking()
        if missing:
            raise StorageError(
                f"cannot keep data in {root}: this system's Python has no {', '.join(missing)}; leave the data folder "
                "out to keep everything in memory, or run the broker on Linux or macOS (on Windows: in WSL or Docker)"
            )
        self.root = os.path.abspath(root)
        self.max_descriptors = max_descriptors
        self._access = os.O_RDONLY if read_only else os.O_RDWR
        self._shared = frozenset(shared)
        self._lock = threading.RLock()
        self._opened: weakref.WeakValueDictionary[int, OsFile] = weakref.WeakValueDictionary()
        self._kept: weakref.WeakValueDictionary[int, OsFile] = weakref.WeakValueDictionary()
        """Files whose descriptors should have been closed but had unsynced data."""
        self._files: dict[str, weakref.WeakSet[OsFile]] = {}
        """The open files by folder."""
        self._temporary = count()

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    def _open_descriptor(self, file: OsFile) -> _Descriptor:
        with self._lock:
            if file._descriptor is not None:
                return file._descriptor
            if file._removed:
                raise StorageError(f"cannot open {file.path}: it was removed by retention or a deletion")
            return self._opens(file, 0)

    def _opens(self, file: OsFile, create: int) -> _Descriptor:
        """Open a file's descriptor, after closing other descriptors if necessary.

        :param create: 0 or ``O_CREAT``.
        """
        access = os.O_RDONLY if file.path in self._shared else self._access
        while len(self._opened) + len(self._kept) >= self.max_descriptors and self._let_go_of_oldest():
            pass
        while True:
            try:
                held = _Descriptor(os.open(self._full(file.path), access | create | os.O_CLOEXEC, 0o644))
            except OSError as error:
                if error.errno not in _NO_DESCRIPTORS or not self._let_go_of_oldest():
                    _refuse("open", file.path, error, writes=bool(create))
            else:
                with self._lock:
                    file._descriptor = held
                    self._opened[id(file)] = file
                return held

    def _track(self, file: OsFile) -> None:
        folder = file.path.rpartition("/")[0]
        files = self._files.get(folder)
        if files is None:
            files = self._files[folder] = weakref.WeakSet()
        files.add(file)

    def _let_go_of_oldest(self) -> bool:
        """Close the descriptor that was opened first, preferably that of a file without unsynced data; returns False if
        none is open."""
        with self._lock:
            while (file := _take_oldest(self._opened)) is not None:
                if not file._unsynced:
                    file._descriptor = None
                    return True
                self._kept[id(file)] = file
            file = _take_oldest(self._kept)
            if file is None:
                return False
            try:
                file.sync()  # synced before closing: the system reports a failed write only while the file is open
            except StorageError as error:
                file._lost = error
            file._descriptor = None
            return True

    def _let_go(self, file: OsFile) -> None:
        with self._lock:
            self._opened.pop(id(file), None)
            self._kept.pop(id(file), None)
            file._descriptor = None
            file._size = -1

    def _let_go_of(self, path: str, *, removed: bool) -> None:
        """Close the files at or below a path that were removed or replaced."""
        with self._lock:
            below = self._files.pop(path, None) or self._files.get(path.rpartition("/")[0])
            for file in list(below or ()):
                if file.path == path or file.path.startswith(f"{path}/"):
                    file._removed = removed
                    self._let_go(file)

    def open(self, path: str, *, create: bool = False) -> OsFile:
        """The file at ``path``; without ``create`` it is opened only when it is first used."""
        file = OsFile(self, path)
        if create:  # no lock is needed: no other thread has this file, and creating it can take long
            self._opens(file, os.O_CREAT)
        return file

    def exists(self, path: str) -> bool:
        return os.path.exists(self._full(path))

    def list(self, path: str) -> Sequence[str]:
        try:
            return sorted(os.listdir(self._full(path)))
        except FileNotFoundError:
            return ()
        except OSError as error:
            _refuse("list", path or self.root, error)

    def make_folder(self, path: str) -> None:
        try:
            os.makedirs(self._full(path), exist_ok=True)
        except OSError as error:
            _refuse("make the folder", path, error, writes=True)

    def size(self, path: str) -> int:
        try:
            return os.stat(self._full(path)).st_size
        except OSError as error:
            _refuse("read the size of", path, error)

    def read(self, path: str) -> bytes:
        try:
            with open(self._full(path), "rb") as file:
                return file.read()
        except OSError as error:
            _refuse("read", path, error)

    def write_atomic(self, path: str, data: bytes, *, sync: bool = True) -> None:
        full = self._full(path)
        temporary = f"{full}.{next(self._temporary)}{TEMPORARY_SUFFIX}"
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                if sync:
                    file.flush()
                    force(file.fileno())
            os.replace(temporary, full)
            self._let_go_of(path, removed=False)
            if sync:
                sync_names(os.path.dirname(full))
        except OSError as error:
            # the temporary file is removed: on a full disk each attempt would otherwise leave less space
            with suppress(OSError):
                os.unlink(temporary)
            _refuse("write", path, error, writes=True)

    def rename(self, old: str, new: str) -> None:
        with self._lock:  # under the lock, a file opened at the same time is found by its old or its new name
            try:
                os.replace(self._full(old), self._full(new))
            except OSError as error:
                _refuse(f"rename {old} to", new, error)
            self._let_go_of(new, removed=True)
            if old in self._files:
                moved = list(self._files.pop(old))
            else:
                moved = [file for file in self._files.get(old.rpartition("/")[0], ()) if file.path == old]
            for file in moved:
                file.path = new + file.path[len(old) :]
                self._track(file)

    def remove(self, path: str) -> None:
        full = self._full(path)
        try:
            if os.path.isdir(full) and not os.path.islink(full):
                import shutil  # imported here, because the import takes 2 ms

                shutil.rmtree(full)
            else:
                os.unlink(full)
        except FileNotFoundError:
            return
        except OSError as error:
            _refuse("remove", path, error)
        finally:
            self._let_go_of(path, removed=True)

    def sync_folder(self, path: str) -> None:
        try:
            sync_names(self._full(path))
        except FileNotFoundError:
            return  # the folder was renamed for its removal: nothing is left to sync
        except OSError as error:
            _refuse("sync the folder", path or self.root, error)

    def space(self) -> tuple[int, int] | None:
        try:
            found = os.statvfs(self.root)
        except OSError:
            return None
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize

    def all_of(self, work: Sequence[Callable[[], None]]) -> Sequence[StorageError | None]:
        count = min(_SYNC_THREADS, len(work))
        found: list[StorageError | None] = [None] * len(work)

        def share(first: int) -> None:
            found[first::count] = [outcome(one) for one in work[first::count]]

        with ThreadPoolExecutor(count or 1, thread_name_prefix="oncelog-sync") as threads:
            list(threads.map(share, range(count)))
        return found


class ForeignFile:
    """A file that other code in this process writes (the metadata store's write-ahead log), kept open only to sync
    it."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._number = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        except OSError as error:
            _refuse("open", path, error)

    def sync(self) -> None:
        """Bring the file's contents to stable storage before returning; may be called on any thread."""
        try:
            force(self._number)
        except OSError as error:
            _refuse("sync", self._path, error)

    def close(self) -> None:
        os.close(self._number)
