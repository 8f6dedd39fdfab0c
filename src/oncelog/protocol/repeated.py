"""Requests that differ from an earlier one of their connection only in one gap and in the correlation id.

Called by ``repeated_commits`` of the broker, which compares such requests instead of parsing them again.
"""

from __future__ import annotations

from struct import Struct

from oncelog.protocol.wire import Buffer

_INT32 = Struct(">i")
CORRELATION_AT, PREFIX_AT = 8, 12
"""Positions after the size, API key and version; and after the correlation id."""


class RequestPattern:
    """The bytes of a request except its correlation id and ``gap_bytes`` somewhere in its body."""

    __slots__ = ("_prefix", "_size_bytes", "_start", "_suffix", "_suffix_at", "gap_at")

    def __init__(self, start: bytes, prefix: bytes, gap_bytes: int, suffix: bytes) -> None:
        self._start, self._prefix, self._suffix = start, prefix, suffix
        self.gap_at = PREFIX_AT + len(prefix)
        """Position of the gap, from the beginning of the request's size field."""
        self._suffix_at = self.gap_at + gap_bytes
        self._size_bytes = self._suffix_at + len(suffix) - 4

    @classmethod
    def of(cls, frame: Buffer, body: int, marked: bytes, mark: bytes) -> RequestPattern | None:
        """The pattern of ``frame``, which begins after its size field, and whose body is at ``body``.

        :param marked: the body encoded again with ``mark`` in the gap. If it differs from the body that was sent, the
            request contains something unknown, and the result is None.
        """
        at = marked.find(mark)
        prefix, suffix = bytes(frame[8 : body + at]), bytes(frame[body + at + len(mark) :])
        if at < 0 or marked[:at] != prefix[body - 8 :] or marked[at + len(mark) :] != suffix:
            return None
        return cls(bytes(frame[:4]), prefix, len(mark), suffix)

    def end(self, buffer: bytearray, start: int, end: int) -> int:
        """The end of the request at ``start``, if it is complete in ``buffer[start:end]`` and matches; else
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
