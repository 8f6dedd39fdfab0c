"""Requests of more than 16 KB: one after the other, and only as many at once as memory allows.

Called only by ``broker``. An array element of one byte takes hundreds of bytes as an object and in the answer. Before a
long request is decoded, the memory that it may take at most is counted; afterwards what it does take, until it is
answered. Buffers of requests still being received count separately (``request_memory``).

Invariants
- A request that would exceed the limit waits in a queue, as bytes only; if no other is under way, the first one is
  decoded in any case, so the queue advances.
- A request that was received completely is carried out, even if its connection ends; a read-only request is then
  dropped.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from oncelog.broker.core.limits.request_memory import RequestMemory
from oncelog.broker.core.registry import READ_ONLY, SERVED
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.session import Channel
from oncelog.protocol.api_keys import ApiKey
from oncelog.runtime.deferred import Deferred

LONG_BYTES: Final = 16 * 1024
"""Requests larger than this are counted, except a batch for one partition, which is not decoded."""
MAY_WAIT_LONG: Final = frozenset({ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})
"""APIs whose requests wait for other members, which may never arrive: while they wait, their memory is not counted,
like that of groups."""
NEVER_QUEUED: Final = frozenset({ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT})
"""APIs of commits, which are never queued: a queued commit could overwrite a later, shorter commit of its group, whose
consumer has reconnected."""
ELEMENT_BYTES: Final = 500
"""Estimated size in bytes of an array element, as an object and in the answer."""


@dataclass(slots=True, eq=False, repr=False)
class _LongRequest:
    """One long request.

    :ivar max_bytes: the most memory that it may take once decoded.
    """

    context: RequestContext
    max_bytes: int
    admitted: Deferred[None] = field(default_factory=Deferred)
    held_bytes: int = 0
    has_peer: bool = True


class LongRequests:
    """Admits the long requests of a broker, and counts their memory from the frame to the answer."""

    def __init__(self, memory: RequestMemory) -> None:
        self._memory = memory
        self._queue: deque[_LongRequest] = deque()
        self._admitted = 0
        self.in_progress: dict[int, dict[RequestContext, _LongRequest]] = {}
        """The long requests in progress, by connection; other classes only read this."""

    def __len__(self) -> int:
        """The number of requests not yet answered."""
        return sum(map(len, self.in_progress.values()))

    def arrived(self, context: RequestContext, size_bytes: int) -> Deferred[None]:
        """Count a request of ``size_bytes`` until :meth:`answered`. Resolves when there is memory to decode it."""
        elements = min(size_bytes, SERVED[context.api_key].max_elements)
        long = _LongRequest(context, elements * ELEMENT_BYTES)
        self.in_progress.setdefault(context.channel.connection_id, {})[context] = long
        self._count(long, size_bytes)
        if context.api_key in NEVER_QUEUED:
            self._admit(long)
        else:
            self._queue.append(long)
            self._admit_next()
        return long.admitted

    def decoded(self, context: RequestContext, elements: int) -> None:
        """Count a request, now that it is decoded, with its actual number of elements, which is at most the number
        counted before."""
        long = self.in_progress[context.channel.connection_id][context]
        self._count(long, elements * ELEMENT_BYTES - long.max_bytes)
        self._admit_next()

    def is_wanted(self, context: RequestContext) -> bool:
        """Whether the connection of a request that was carried out still waits for the answer."""
        if not self.in_progress:
            return True
        long = self.in_progress.get(context.channel.connection_id, {}).get(context)
        return long is None or long.has_peer

    def answered(self, context: RequestContext) -> None:
        """Release a request's memory, if it is counted, because the request needs none any more, or waits for an event
        that may never happen."""
        if not self.in_progress:
            return
        long = self.in_progress.get(context.channel.connection_id, {}).get(context)
        if long is not None:
            self._forget(long)
            self._admit_next()

    def disconnected(self, channel: Channel) -> None:
        """Drop the read-only requests of a connection that ended; its other requests are still carried out."""
        if channel.connection_id not in self.in_progress:
            return
        for long in list(self.in_progress[channel.connection_id].values()):
            long.has_peer = False
            if long.context.api_key in READ_ONLY:
                self._forget(long)
        self._admit_next()

    def _admit_next(self) -> None:
        """Admit the requests for which there is memory, in the order of their arrival."""
        while self._queue:
            taken_bytes = self._memory.taken_bytes + self._queue[0].max_bytes
            if self._admitted and taken_bytes > self._memory.limit_bytes:
                break
            self._admit(self._queue.popleft())

    def _admit(self, long: _LongRequest) -> None:
        self._admitted += 1
        self._count(long, long.max_bytes)
        long.admitted.resolve(None)

    def _count(self, long: _LongRequest, size_bytes: int) -> None:
        long.held_bytes += size_bytes
        self._memory.estimate(size_bytes)

    def _forget(self, long: _LongRequest) -> None:
        connection_id = long.context.channel.connection_id
        del self.in_progress[connection_id][long.context]
        if not self.in_progress[connection_id]:
            del self.in_progress[connection_id]
        if long.admitted.done:
            self._admitted -= 1
        else:
            self._queue.remove(long)
        self._count(long, -long.held_bytes)
