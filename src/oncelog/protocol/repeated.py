"""Recognizes requests that differ from an earlier request of their connection only in the correlation id and in one gap
of their body.

Called by ``repeated_commits`` of the broker, which compares such requests instead of parsing them again.
"""

from __future__ import annotations

from struct import Struct

from oncelog.protocol.struct_fields import Buffer

_INT32 = Struct(">i")
CORRELATION_AT, PREFIX_AT = 8, 12
"""The positions in a request after the size, API key and version, and after the correlation id."""


class RequestPattern:
    """The bytes of a request, except its correlation id and a gap of ``gap_bytes`` somewhere in its body."""

    __slots__ = ("_after", "_prefix", "_start", "_suffix", "_suffix_at", "gap_at")

    def __init__(self, start: bytes, prefix: bytes, gap_bytes: int, suffix: bytes) -> None:
        self._prefix, self._suffix = prefix, suffix
        self.gap_at = PREFIX_AT + len(prefix)
        """The position of the gap, counted from the beginning of the request's size field."""
        self._suffix_at = self.gap_at + gap_bytes
        self._after = self._suffix_at + len(suffix)
        self._start = _INT32.pack(self._after - 4) + start
        """The first bytes of the request: size, API key and version."""

    @classmethod
    def of(cls, frame: Buffer, body: int, marked: bytes, mark: bytes) -> RequestPattern | None:
        """The pattern of ``frame``, which begins after its size field, and whose body is at ``body``.

        :param marked: the body encoded again with ``mark`` in the gap. If it differs from the sent body outside of the
            gap, the request contains something unknown, and the result is None.
        """
        at = marked.find(mark)
        prefix, suffix = bytes(frame[8 : body + at]), bytes(frame[body + at + len(mark) :])
        if at < 0 or marked[:at] != prefix[body - 8 :] or marked[at + len(mark) :] != suffix:
            return None
        return cls(bytes(frame[:4]), prefix, len(mark), suffix)

    def end(self, buffer: bytearray, start: int, end: int) -> int:
        """The position after the request at ``start`` if it is complete in ``buffer[start:end]`` and matches the
        pattern; otherwise ``start``."""
        after = start + self._after
        if (
            after > end
            or not buffer.startswith(self._start, start)
            or not buffer.startswith(self._prefix, start + PREFIX_AT)
            or not buffer.startswith(self._suffix, start + self._suffix_at)
        ):
            return start
        return after
