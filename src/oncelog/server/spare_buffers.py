"""Keeps the buffers of large requests for the next ones. Called only by ``connection``."""

from __future__ import annotations

SPARE_BUFFERS = 4
SPARE_BYTES = 2 * 1024 * 1024
"""Buffers of up to this size are kept for the next large requests."""
STEP_BYTES = 64 * 1024
"""Buffer sizes are multiples of this, so that requests of nearly the same size can share them."""


class SpareBuffers:
    """Buffers that large requests no longer need: new memory costs more than reading into it."""

    def __init__(self) -> None:
        self._spare: list[bytearray] = []

    def take(self, size_bytes: int) -> bytearray:
        """A buffer of at least this size, but not of a very different one; it contains leftover data."""
        spare = self._spare
        for position, buffer in enumerate(spare):
            if size_bytes <= len(buffer) <= 2 * size_bytes:
                return spare.pop(position)
        if STEP_BYTES < size_bytes <= SPARE_BYTES:
            size_bytes += -size_bytes % STEP_BYTES
        return bytearray(size_bytes)

    def give(self, buffer: bytearray) -> None:
        """Keep a buffer if it is large enough to be worth it, in place of the one given longest ago."""
        if STEP_BYTES < len(buffer) <= SPARE_BYTES:
            self._spare.append(buffer)
            del self._spare[:-SPARE_BUFFERS]
