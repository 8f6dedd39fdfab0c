"""What the requests that are on their way may take of the memory (``queued.max.request.bytes``).

Shared by all connections of a server. Counted are buffers of requests that are being received, as they grow, and
requests that wait for those before them. At the limit, who needs more waits, in the order of asking; who has begun a
request of which nothing has come for long is cut off, the first one first. Small requests are not held up: they come
through one buffer that all connections share.
"""

from __future__ import annotations

from typing import Protocol

DEFAULT_LIMIT_BYTES = 256 * 1024 * 1024
"""In force for ``queued.max.request.bytes=-1``; at least two of the largest requests find room in any case."""
STALLED_S = 5.0
"""A request that has not grown for so long makes room for those that wait."""


SPARE_BUFFERS = 4
SPARE_BYTES = 2 * 1024 * 1024
"""So many buffers of at most this size are kept for the next large requests."""
STEP_BYTES = 64 * 1024
"""Kept buffers are made in steps of this size, so that requests of nearly the same size share them."""


class Waiting(Protocol):
    """A connection that needs more memory to go on."""

    def memory_granted(self) -> None: ...


class RequestMemory:
    """Counts bytes; allocates nothing."""

    def __init__(self, queued_max_request_bytes: int, socket_request_max_bytes: int) -> None:
        """:param queued_max_request_bytes: 0 and below say nothing, as in Apache Kafka."""
        self.limit_bytes = queued_max_request_bytes
        if queued_max_request_bytes <= 0:
            self.limit_bytes = max(DEFAULT_LIMIT_BYTES, 2 * socket_request_max_bytes)
        self.held_bytes = 0
        self._waiting: dict[Waiting, int] = {}

    @property
    def is_short(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiting)

    @property
    def missing_bytes(self) -> int:
        """What has to be released until all who wait can go on."""
        return self.held_bytes + sum(self._waiting.values()) - self.limit_bytes

    def wanted_bytes(self, connection: Waiting) -> int:
        return self._waiting.get(connection, 0)

    def reserve(self, connection: Waiting, size_bytes: int) -> bool:
        """True: it is counted. False: ``connection.memory_granted`` comes later, when it is."""
        if not self._waiting and self.held_bytes + size_bytes <= self.limit_bytes:
            self.held_bytes += size_bytes
            return True
        self._waiting[connection] = size_bytes
        return False

    def count(self, size_bytes: int) -> bool:
        """Count what is there already, a part of a request or one that waits; False beyond all patience.

        A quarter more than the limit is for such small pieces, so that whoever waits for memory shuts nobody out.
        """
        self.held_bytes += size_bytes
        return self.held_bytes <= self.limit_bytes + self.limit_bytes // 4

    def release(self, size_bytes: int) -> None:
        self.held_bytes -= size_bytes
        while self._waiting:
            connection, wanted = next(iter(self._waiting.items()))
            if self.held_bytes + wanted > self.limit_bytes:
                return
            del self._waiting[connection]
            self.held_bytes += wanted
            connection.memory_granted()

    def forget(self, connection: Waiting) -> None:
        """The connection ended; what it holds is to be released besides."""
        self._waiting.pop(connection, None)


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
