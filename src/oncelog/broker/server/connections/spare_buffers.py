"""Keeps the buffers of large requests for later requests. Called only by ``connection``."""

from __future__ import annotations

SPARE_BUFFERS = 4
LENT_BUFFERS = 8
SPARE_BYTES = 2 * 1024 * 1024
"""Buffers of up to this many bytes are kept for later large requests."""
STEP_BYTES = 64 * 1024
"""Buffer sizes are multiples of this number of bytes, so that requests of nearly the same size can use the same
buffers."""


class SpareBuffers:
    """Buffers that large requests no longer need, kept because allocating new memory costs more than reading into
    it."""

    def __init__(self) -> None:
        self._spare: list[bytearray] = []
        self._lent: list[bytearray] = []
        """Buffers to which requests in progress still refer, the latest last."""

    def take(self, size_bytes: int) -> bytearray:
        """A buffer of at least this size, but not much larger, whose old contents must be overwritten."""
        spare, lent = self._spare, self._lent
        # the latest buffer is more likely to be in the processor's cache
        for position in range(len(spare) - 1, -1, -1):
            if size_bytes <= len(spare[position]) <= 2 * size_bytes:
                return spare.pop(position)
        for position in range(len(lent) - 1, -1, -1):
            if size_bytes <= len(lent[position]) <= 2 * size_bytes and _is_free(lent[position]):
                return lent.pop(position)
        if STEP_BYTES < size_bytes <= SPARE_BYTES:
            size_bytes += -size_bytes % STEP_BYTES
        return bytearray(size_bytes)

    def give(self, buffer: bytearray) -> None:
        """Keep a buffer if it is large, but not too large; the oldest one is dropped if there are too many."""
        if STEP_BYTES < len(buffer) <= SPARE_BYTES:
            self._spare.append(buffer)
            del self._spare[:-SPARE_BUFFERS]

    def lend(self, buffer: bytearray) -> None:
        """Keep a buffer to which requests in progress refer: it is reused when none of them refers to it any more."""
        if STEP_BYTES < len(buffer) <= SPARE_BYTES:
            self._lent.append(buffer)
            del self._lent[:-LENT_BUFFERS]


def _is_free(buffer: bytearray) -> bool:
    """Whether no view of the buffer remains: only then can its size be changed."""
    try:
        last = buffer.pop()
    except BufferError:
        return False
    buffer.append(last)  # restores the byte without an allocation: a bytearray keeps its memory after pop()
    return True
