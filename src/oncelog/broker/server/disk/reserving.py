"""Reserves disk space after the end of a growing log file. Called only by ``os_disk``.

If a file system has to allocate space when it writes out appended data (ext4's delayed allocation), it delays the next
appends to the file by milliseconds. Space that was reserved before avoids that. The file's size does not change,
reserved space cannot be read, and the next broker releases or uses the space that a killed one has reserved.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache

RESERVED_FROM_BYTES = 4 * 1024 * 1024
"""The size in bytes from which on space is reserved for a log: most logs never reach it, and there may be thousands."""
_MIN_RESERVED_BYTES, _MAX_RESERVED_BYTES = 4 * 1024 * 1024, 16 * 1024 * 1024
"""The least and the most space in bytes that is reserved at once; these are large, because reserving waits for a sync
of the file itself."""
_PART_RESERVED = 4
"""The fraction of a file's size that is reserved (one part in 4), between minimum and maximum."""
_LEFT_FREE_BYTES = 2 * 1024 * 1024 * 1024
_PART_LEFT_FREE = 10
"""If less space is free than this, in bytes or as a fraction of the file system (one part in 10), nothing is
reserved."""
_KEEP_SIZE = 1
"""FALLOC_FL_KEEP_SIZE from ``linux/falloc.h``; Python's ``os.posix_fallocate`` would make the file longer."""


@cache
def _fallocate() -> Callable[[int, int, int, int], int] | None:
    """Linux's ``fallocate``, looked up for the first long log; None on other systems, and in a Python without libffi.

    :raises OSError: the function cannot be looked up, because no descriptor is free or Python was linked statically.
    """
    if not hasattr(os, "posix_fallocate"):
        return None
    try:
        import ctypes
    except ImportError:
        return None
    libc = ctypes.CDLL(None)
    found = getattr(libc, "fallocate64", None) or getattr(libc, "fallocate", None)
    if found is not None:
        found.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return found


def reserve(descriptor: int, position: int, end: int) -> int:
    """Reserve space for appends at ``position``, up to ``end`` and beyond; returns the position up to which space is
    reserved.

    This is not a guarantee: if the disk has no space to spare, or does not support the call, appends allocate as usual.
    """
    if end <= RESERVED_FROM_BYTES:
        return RESERVED_FROM_BYTES
    reserved = end + min(max(end // _PART_RESERVED, _MIN_RESERVED_BYTES), _MAX_RESERVED_BYTES)
    if _has_room(descriptor):
        with suppress(OSError):
            fallocate = _fallocate()
            if fallocate is not None:
                fallocate(descriptor, _KEEP_SIZE, position, reserved - position)
    return reserved


def _has_room(descriptor: int) -> bool:
    try:
        free = os.fstatvfs(descriptor)
    except OSError:
        return False
    return free.f_bavail * free.f_frsize >= max(_LEFT_FREE_BYTES, free.f_blocks * free.f_frsize // _PART_LEFT_FREE)


def give_back(descriptor: int) -> None:
    """Release the space reserved after the end of a file.

    :raises OSError: as ``os.ftruncate``.
    """
    os.ftruncate(descriptor, os.fstat(descriptor).st_size)
