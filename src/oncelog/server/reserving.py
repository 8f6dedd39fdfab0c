"""Room on the disk that is set aside behind the end of a log that grows. Called by ``disk`` alone.

Where a file system has to find room when it writes out what was appended (ext4's delayed allocation), it holds up the
next appends to the file for milliseconds; not where the room is known before. A file keeps its size, what is set aside
cannot be read, and what a killed broker leaves is given back by the next one, or taken into use.
"""

from __future__ import annotations

import os
from collections.abc import Callable

RESERVED_FROM_BYTES = 4 * 1024 * 1024
"""Shorter logs are left alone: most never grow to that, and there may be thousands."""
_LEAST_RESERVED_BYTES, _MOST_RESERVED_BYTES = 4 * 1024 * 1024, 16 * 1024 * 1024
"""In large steps: setting aside waits for a sync of the file itself."""
_PART_RESERVED = 4
"""Of a file's size one part is set aside, between the least and the most."""
_LEFT_FREE_BYTES = 2 * 1024 * 1024 * 1024
_PART_LEFT_FREE = 10
"""Where the file system has less left, in bytes or as a part of all, nothing is set aside."""
_KEEP_SIZE = 1
"""FALLOC_FL_KEEP_SIZE of ``linux/falloc.h``; Python's ``os.posix_fallocate`` would make the file longer."""


def _find_fallocate() -> Callable[[int, int, int, int], int] | None:
    """Linux' own; None elsewhere, and where Python cannot call it (built without libffi, or as one static file)."""
    if not hasattr(os, "posix_fallocate"):
        return None
    try:
        import ctypes

        libc = ctypes.CDLL(None)
    except (ImportError, OSError):
        return None
    found = getattr(libc, "fallocate64", None) or getattr(libc, "fallocate", None)
    if found is not None:
        found.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return found


_fallocate = _find_fallocate()


def reserve(descriptor: int, position: int, end: int) -> int:
    """Set room aside for what is appended at ``position``, up to ``end`` and some way beyond; answers how far.

    It is no promise: where the disk has no room to spare, or knows no such call, an append finds its room as ever.
    """
    if end <= RESERVED_FROM_BYTES:
        return RESERVED_FROM_BYTES
    reserved = end + min(max(end // _PART_RESERVED, _LEAST_RESERVED_BYTES), _MOST_RESERVED_BYTES)
    if _fallocate is not None and _has_room(descriptor):
        _fallocate(descriptor, _KEEP_SIZE, position, reserved - position)
    return reserved


def _has_room(descriptor: int) -> bool:
    try:
        free = os.fstatvfs(descriptor)
    except OSError:
        return False
    return free.f_bavail * free.f_frsize >= max(_LEFT_FREE_BYTES, free.f_blocks * free.f_frsize // _PART_LEFT_FREE)


def give_back(descriptor: int) -> None:
    """What was set aside is free again. :raises OSError: as ``os.ftruncate``."""
    os.ftruncate(descriptor, os.fstat(descriptor).st_size)
