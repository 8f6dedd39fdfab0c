"""Divides the process's file descriptors: existing partitions have priority over new connections.

Used by ``broker.server.opening``. The soft limit is first raised to the hard one. Windows has no such limit; there the
broker works only in memory.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

RESERVED = 96
"""The number of descriptors reserved for the metadata store, the event loop, logs, checkpoints and second descriptors
of slow peers."""
MAX_FOR_FILES = 8192
FEW = 4096
"""If the limit is lower than this, a warning is logged."""


class DescriptorLimits(NamedTuple):
    """The number of descriptors for partitions' files, and the maximum number of connections."""

    files: int
    connections: int


def share_out(limit: int) -> DescriptorLimits:
    """Divide the descriptors that are not reserved: half for the files of partitions, half for connections."""
    free = max(limit - RESERVED, 32)
    files = min(free // 2, MAX_FOR_FILES)
    return DescriptorLimits(files, free - files)


def claim() -> DescriptorLimits | None:
    """Raise the limit of descriptors as far as the system allows, and divide it; returns None if there is no limit."""
    if not hasattr(resource, "getrlimit"):
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError) as error:  # on macOS the kernel's own limit is lower than the hard limit
            logger.info("the limit of open files stays at %d: %s", soft, error)
    if soft == resource.RLIM_INFINITY:
        return None
    shares = share_out(soft)
    if soft < FEW:
        logger.warning(
            "this process may open %d files: %d connections are served at most; raise the limit (ulimit -n) for more",
            soft,
            shares.connections,
        )
    return shares
