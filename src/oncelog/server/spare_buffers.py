"""Memory that large requests were received into, kept for the next ones. Called by ``connection`` alone."""

from __future__ import annotations

SPARE_BUFFERS = 4
SPARE_BYTES = 2 * 1024 * 1024
"""So many buffers of at most this size are kept for the next large requests."""
STEP_BYTES = 64 * 1024
"""Kept buffers are made in steps of this size, so that requests of nearly the same size share them."""


class SpareBuffers:
    """Buffers that large requests no longer need: new memory costs more than what is read into it."""

    def __init__(self) -> None:
        self._spare: list[bytearray] = []

    def take(self, size_bytes: int) -> bytearray:
        """One of at least this size, and not of a very different one; what is in it is left over from others."""
        spare = self._spare
        for position, buffer in enumerate(spare):
            if size_bytes <= len(buffer) <= 2 * size_bytes:
                return spare.pop(position)
        if STEP_BYTES < size_bytes <= SPARE_BYTES:
            size_bytes += -size_bytes % STEP_BYTES
        return bytearray(size_bytes)

    def give(self, buffer: bytearray) -> None:
        """Keep it if it is large enough to be worth it; the one that was given longest ago goes for it."""
        if STEP_BYTES < len(buffer) <= SPARE_BYTES:
            self._spare.append(buffer)
            del self._spare[:-SPARE_BUFFERS]
