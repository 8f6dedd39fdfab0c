"""The interfaces through which the cores use the outside world: disk, files, time, randomness.

The I/O layers (``server``, ``client.aio``) implement them; everything from ``broker`` and ``client.core`` down accesses
the world only through them, so a test can replace all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from oncelog.errors import StorageError

Buffer = bytes | bytearray | memoryview


class File(Protocol):
    """An open file. Positions and sizes are in bytes. Failures raise ``oncelog.errors.StorageError``."""

    @property
    def path(self) -> str: ...

    def send_to(self, target: int, position: int, size: int) -> int:
        """Send up to ``size`` bytes from ``position`` to the socket ``target``, uncopied; returns how many were taken.

        -1 if the bytes are in memory: then they must be read and sent.

        :raises OSError: as ``os.sendfile``.
        """
        ...

    def size(self) -> int: ...

    def read_at(self, position: int, size: int) -> bytes:
        """At most ``size`` bytes from ``position``; fewer only at the end of the file."""
        ...

    def append(self, buffers: Sequence[Buffer]) -> None:
        """Append all of ``buffers`` to the file, or nothing: a short write is truncated again."""
        ...

    def write_at(self, position: int, data: Buffer) -> None: ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Return when the content is on stable storage (fdatasync). Safe to call from another thread."""
        ...

    def complete(self) -> None:
        """Release the space that the disk has reserved for appends, because nothing more is appended for now."""
        ...

    def close(self) -> None: ...


class Disk(Protocol):
    """The files below one data folder; paths are relative to it, with ``/``."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open a file for reading and writing."""
        ...

    def exists(self, path: str) -> bool: ...

    def list(self, path: str) -> Sequence[str]:
        """Names in a folder, sorted; an absent folder is empty."""
        ...

    def make_folder(self, path: str) -> None:
        """Create a folder with its parents; does nothing if it exists."""
        ...

    def size(self, path: str) -> int: ...

    def read(self, path: str) -> bytes: ...

    def write_atomic(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Replace the whole file: temporary name, fsync, rename, fsync of the folder."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Rename a file or folder; an existing file is replaced."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with everything in it; does nothing if it does not exist."""
        ...

    def sync_folder(self, path: str) -> None: ...

    def space(self) -> tuple[int, int] | None:
        """Size of the folder's volume in bytes, and the free space available to this process; None if unknown."""
        ...

    def all_of(self, work: Sequence[Callable[[], None]]) -> Sequence[StorageError | None]:
        """Do all ``work``, concurrently if that makes syncs faster. Returns the failure of each item, or None, in the
        order of ``work``."""
        ...


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since the epoch (UTC), for record timestamps and expiry."""
        ...


class Random(Protocol):
    def token(self, size: int) -> bytes:
        """``size`` unpredictable bytes, for ids (member ids, topic ids, cluster ids)."""
        ...


class Background(Protocol):
    """Runs work that would block the core's thread: compaction, removal of files."""

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        """Do ``work`` on a worker thread, then call ``done`` on the core's thread with the exception that ended it, if
        any."""
        ...
