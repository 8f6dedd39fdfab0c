"""What the requests that are on their way may take of the memory (``queued.max.request.bytes``).

Shared by all connections of a server. Counted are buffers of requests that are being received, as they grow, requests
that wait for those before them, and, as far as it is estimated, what long requests become (``long_requests``). At the
limit, who needs more waits, in the order of asking; who has begun a request of which nothing has come for long is cut
off, the first one first. Small requests are not held up: they come through one buffer that all connections share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

DEFAULT_LIMIT_BYTES = 256 * 1024 * 1024
"""In force for ``queued.max.request.bytes=-1``; at least two of the largest requests find room in any case."""
STALLED_S = 5.0
"""A request that has not grown for so long makes room for those that wait."""


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
        self.estimated_bytes = 0
        """What requests that came whole take, about; no reason to refuse what is there already."""
        self.wanted_by_answers = 0
        """What those take in addition that wait until there is room for their answers (``answer_memory``)."""
        self._waiting: dict[Waiting, int] = {}
        self.released: Callable[[], None] = lambda: None
        """Called when there is more memory than before, after those that wait here."""

    @property
    def is_short(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiting)

    @property
    def is_full_of_requests(self) -> bool:
        """Whether the first one that waits would wait for ever, unless a request that is being received ends."""
        return self.held_bytes + next(iter(self._waiting.values()), 0) > self.limit_bytes

    @property
    def missing_bytes(self) -> int:
        """What has to be released until all who wait can go on."""
        return self.taken_bytes + sum(self._waiting.values()) + self.wanted_by_answers - self.limit_bytes

    @property
    def taken_bytes(self) -> int:
        return self.held_bytes + self.estimated_bytes

    def wanted_bytes(self, connection: Waiting) -> int:
        return self._waiting.get(connection, 0)

    def reserve(self, connection: Waiting, size_bytes: int) -> bool:
        """True: it is counted. False: ``connection.memory_granted`` comes later, when it is."""
        if not self._waiting and self.taken_bytes + size_bytes <= self.limit_bytes:
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

    def estimate(self, more_bytes: int) -> None:
        """Requests that came whole take so much more, below zero: so much less."""
        self.estimated_bytes += more_bytes
        if more_bytes < 0:
            self._grant()

    def release(self, size_bytes: int) -> None:
        self.held_bytes -= size_bytes
        self._grant()

    def _grant(self) -> None:
        while self._waiting:
            connection, wanted = next(iter(self._waiting.items()))
            if self.taken_bytes + wanted > self.limit_bytes:
                break
            del self._waiting[connection]
            self.held_bytes += wanted
            connection.memory_granted()
        self.released()

    def forget(self, connection: Waiting) -> None:
        """The connection ended; what it holds is to be released besides."""
        self._waiting.pop(connection, None)
