"""A disk that is full, for this process: see :func:`full_disk`."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator


@contextlib.contextmanager
def full_disk(size_bytes: int) -> Iterator[None]:
    """No file of this process grows beyond this size: the operating system refuses it in the middle of a write."""
    soft, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, most))
