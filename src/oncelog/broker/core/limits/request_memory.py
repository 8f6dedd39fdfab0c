"""Limits the memory of requests from their arrival to their answer (``queued.max.request.bytes``).

Shared by all connections of a server. It counts buffers of requests being received, as they grow, requests that wait
for earlier ones, and an estimate of what long requests become (``long_requests``). At the limit, connections that need
more wait in the order of asking; connections whose incomplete request has not grown for a while are closed, the oldest
first. Small requests do not wait: they are received into one buffer shared by all connections.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

DEFAULT_LIMIT_BYTES = 256 * 1024 * 1024
"""The limit in bytes if ``queued.max.request.bytes=-1``; at least two of the largest requests fit in any case."""
STALLED_S = 5.0
"""If an incomplete request has not grown for this many seconds, its connection is closed to release memory for waiting
connections."""


class WaitingForMemory(Protocol):
    """A connection that needs more memory to continue."""

    def memory_granted(self) -> None: ...


class RequestMemory:
    """Counts the bytes that requests use, and makes connections wait at the limit; allocates nothing."""

    def __init__(self, queued_max_request_bytes: int, socket_request_max_bytes: int) -> None:
        """:param queued_max_request_bytes: the limit in bytes; 0 and below mean the default, as in Apache Kafka."""
        self.limit_bytes = queued_max_request_bytes
        if queued_max_request_bytes <= 0:
            self.limit_bytes = max(DEFAULT_LIMIT_BYTES, 2 * socket_request_max_bytes)
        self.held_bytes = 0
        self.estimated_bytes = 0
        """The estimated size in bytes of completely received requests; it never leads to the refusal of one of them."""
        self.wanted_by_answers = 0
        """The number of bytes that waiting answers (``answer_memory``) need in addition."""
        self.waiting: dict[WaitingForMemory, int] = {}
        """Connections that wait for memory, in order, each with the number of bytes that it needs; other classes only
        read this."""
        self.released: Callable[[], None] = lambda: None
        """Called when memory has been released and the connections that wait here have had their turn."""

    @property
    def is_full_of_requests(self) -> bool:
        """Whether the first waiting connection can continue only if a connection with an incomplete request is
        closed.
        """
        return self.held_bytes + next(iter(self.waiting.values()), 0) > self.limit_bytes

    @property
    def missing_bytes(self) -> int:
        """The number of bytes to release so that all waiting connections can continue."""
        return self.taken_bytes + sum(self.waiting.values()) + self.wanted_by_answers - self.limit_bytes

    @property
    def taken_bytes(self) -> int:
        return self.held_bytes + self.estimated_bytes

    def wanted_bytes(self, connection: WaitingForMemory) -> int:
        return self.waiting.get(connection, 0)

    def reserve(self, connection: WaitingForMemory, size_bytes: int) -> bool:
        """Count memory for a request; returns False if there is too little, in which case ``connection.memory_granted``
        is called later."""
        if not self.waiting and self.taken_bytes + size_bytes <= self.limit_bytes:
            self.held_bytes += size_bytes
            return True
        self.waiting[connection] = size_bytes
        return False

    def count(self, size_bytes: int, counted: int = 0) -> bool:
        """Count memory that an incomplete or a waiting request already uses; returns False if this exceeds the limit by
        more than a quarter. ``counted`` of the bytes are counted for now twice, and do not exceed it.

        The quarter is for such small amounts, so that connections waiting for memory do not block all others.
        """
        self.held_bytes += size_bytes
        return self.held_bytes - counted <= self.limit_bytes + self.limit_bytes // 4

    def estimate(self, more_bytes: int) -> None:
        """Add to the estimated size of completely received requests; a negative amount is subtracted."""
        self.estimated_bytes += more_bytes
        if more_bytes < 0:
            self._grant()

    def release(self, size_bytes: int) -> None:
        self.held_bytes -= size_bytes
        self._grant()

    def _grant(self) -> None:
        while self.waiting:
            connection, wanted = next(iter(self.waiting.items()))
            if self.taken_bytes + wanted > self.limit_bytes:
                break
            del self.waiting[connection]
            self.held_bytes += wanted
            connection.memory_granted()
        self.released()

    def forget(self, connection: WaitingForMemory) -> None:
        """Called when a connection ended: it no longer waits. The memory that it has reserved must be released
        separately."""
        self.waiting.pop(connection, None)
