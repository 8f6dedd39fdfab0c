"""The parts of a connection's state: the request being received, the budget, and the order of answers.

Called only by ``connection`` and ``sending``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oncelog.broker.core.requests.session import Part
    from oncelog.broker.server.connections.spare_buffers import SpareBuffers

FIRST_FRAME_BYTES = 16 * 1024
"""The size in bytes of the first buffer for a request that does not fit into the shared buffer; a full buffer is
replaced by one twice as large."""
PARTS_OF_A_REQUEST = 64
"""The number of parts by which the progress of a request is measured: if no further part arrives for a while, the
request is considered stalled."""
PRODUCE = 0


class IncomingFrame:
    """A request being received that does not fit into the buffer that all connections share.

    :ivar size_bytes: size of the whole request.
    :ivar capacity: the number of bytes for which memory was granted; ``wanted``: the number for which it was requested.
    :ivar begun: when the request began to arrive.
    """

    __slots__ = ("_buffer", "_mark", "_spare", "begun", "capacity", "filled", "size_bytes", "wanted")

    def __init__(self, size_bytes: int, filled: int, now: float, spare: SpareBuffers) -> None:
        self.size_bytes = size_bytes
        self.filled = self.capacity = self.wanted = filled
        self.begun = now
        self._spare = spare
        self._buffer = bytearray()
        self._mark = 0
        self.note_progress()

    def begin(self, begun: memoryview) -> None:
        """Take over the bytes that have already arrived, once memory for more is counted."""
        if len(begun) < FIRST_FRAME_BYTES:  # only few bytes are expected: the buffer is allocated when more arrive
            self._buffer = bytearray(begun)
        else:
            self._buffer = self._spare.take(self.capacity)
            self._buffer[: len(begun)] = begun

    def room(self) -> memoryview:
        """The part of the buffer into which the next bytes are received."""
        if len(self._buffer) < self.capacity:
            begun, self._buffer = self._buffer, self._spare.take(self.capacity)
            self._buffer[: self.filled] = memoryview(begun)[: self.filled]
        return memoryview(self._buffer)[self.filled : self.capacity]

    def received(self, nbytes: int) -> bool:
        """Count bytes received into :meth:`room`; returns True if they are progress, which single bytes are not."""
        self.filled += nbytes
        if self.filled < self._mark:
            return False
        self.note_progress()
        return True

    def note_progress(self) -> None:
        self._mark = self.filled + max(1, self.size_bytes // PARTS_OF_A_REQUEST)

    @property
    def is_complete(self) -> bool:
        return self.filled == self.size_bytes

    @property
    def is_full(self) -> bool:
        return self.filled == self.capacity

    def take(self) -> bytearray:
        """The buffer, which contains the complete request."""
        return self._buffer


class Budget:
    """The part of its budget that a connection has used in an iteration, and whether the connection waits for the next
    iteration.

    :ivar used: in bytes: those received, plus a cost for each request and for large answers.
    """

    __slots__ = ("is_over", "used")

    def __init__(self) -> None:
        self.used = 0
        self.is_over = False


class AnswerOrder:
    """The requests that have been started but not answered: each has a slot, and answers are sent in the order of
    slots.

    :ivar next_slot: the slot of the next request; ``next_reply``: the slot of the next answer. :ivar replies: answers
        that are ready before earlier ones. :ivar only_produce: whether all requests in progress are Produce requests,
        behind which another one may start.
    """

    __slots__ = ("next_reply", "next_slot", "only_produce", "replies")

    def __init__(self) -> None:
        self.next_slot = self.next_reply = 0
        self.replies: dict[int, Sequence[Part]] = {}
        self.only_produce = True


def is_produce(buffer: bytearray, position: int) -> bool:
    """Whether the request whose size field is at ``position`` is a Produce request."""
    return len(buffer) >= position + 6 and buffer[position + 4] == 0 and buffer[position + 5] == PRODUCE
