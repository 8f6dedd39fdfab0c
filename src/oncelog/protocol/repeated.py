"""Requests that differ from an earlier one of their connection in one gap and in the correlation id alone.

Called by ``broker.repeated_fetches`` and ``broker.repeated_commits``, which compare such requests instead of parsing
them again.
"""

from __future__ import annotations

from struct import Struct

_INT32 = Struct(">i")
CORRELATION_AT, PREFIX_AT = 8, 12
"""Behind the size, API key and version."""


class RequestPattern:
    """The bytes of a request but for its correlation id and ``gap_bytes`` somewhere in its body."""

    __slots__ = ("_prefix", "_size_bytes", "_start", "_suffix", "_suffix_at", "gap_at")

    def __init__(self, start: bytes, prefix: bytes, gap_bytes: int, suffix: bytes) -> None:
        self._start, self._prefix, self._suffix = start, prefix, suffix
        self.gap_at = PREFIX_AT + len(prefix)
        """Behind the beginning of the request's size."""
        self._suffix_at = self.gap_at + gap_bytes
        self._size_bytes = self._suffix_at + len(suffix) - 4

    @classmethod
    def of(cls, frame: memoryview, body: int, marked: bytes, mark: bytes) -> RequestPattern | None:
        """Of ``frame``, which begins behind its size, and whose body is at ``body``.

        :param marked: the body encoded again with ``mark`` in the gap; None if that is not what was sent, so that it
            holds something that is not understood here.
        """
        at = marked.find(mark)
        prefix, suffix = bytes(frame[8 : body + at]), bytes(frame[body + at + len(mark) :])
        if at < 0 or marked[:at] != prefix[body - 8 :] or marked[at + len(mark) :] != suffix:
            return None
        return cls(bytes(frame[:4]), prefix, len(mark), suffix)

    def end(self, buffer: bytearray, start: int, end: int) -> int:
        """Where the request that begins at ``start`` ends, if it is whole in ``buffer[start:end]`` and such a one; else
        ``start``."""
        after = start + 4 + self._size_bytes
        if (
            after > end
            or _INT32.unpack_from(buffer, start)[0] != self._size_bytes
            or not buffer.startswith(self._start, start + 4)
            or not buffer.startswith(self._prefix, start + PREFIX_AT)
            or not buffer.startswith(self._suffix, start + self._suffix_at)
        ):
            return start
        return after
