"""Memory of answers that may be much longer than their requests, from when they are computed until they have been sent.

Called by ``broker``, and by the handlers of APIs that list state: one request may ask for the same state many times.
Answers count in addition to the requests themselves (``request_memory``): an answer that would exceed the limit waits
until memory is released. The first waiting answer continues in any case, so that all of them finish.
"""

from __future__ import annotations

from typing import Final

from oncelog.broker.core.limits.request_memory import RequestMemory
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.session import Channel
from oncelog.broker.core.requests.work import Work
from oncelog.errors import OncelogError
from oncelog.runtime.deferred import Deferred

ENTRY_BYTES: Final = 400
"""Estimated size in bytes of an entry of an answer: its objects, its names, and its encoded form."""

MIN_BYTES: Final = 64 * 1024 * 1024
"""The least value in bytes of the limit on one answer, even if the limit on requests is lower, so that the broker's
state can always be listed."""


class AnswerTooLong(OncelogError):
    """The answer exceeds its limit; the connection is closed."""


class AnswerMemory:
    """Counts the memory of the answers of all connections, at most one answer of each connection at a time."""

    def __init__(self, memory: RequestMemory) -> None:
        self._memory = memory
        self._stopping = False
        self.held: dict[int, int] = {}
        """Bytes of the current answer, by connection; other classes only read this."""
        self._waiting: dict[int, tuple[int, Deferred[None]]] = {}
        memory.released = self._wake

    def grow(self, context: RequestContext, entries: int, size_bytes: int = 0) -> Work[None]:
        """Count more entries of the answer, with the bytes of their variable parts; waits until there is memory for
        them.

        :raises AnswerTooLong: the answer alone exceeds both the limit on all requests and ``MIN_BYTES``.
        """
        connection_id, more = context.channel.connection_id, entries * ENTRY_BYTES + size_bytes
        most = max(self._memory.limit_bytes, MIN_BYTES)
        if self.held.setdefault(connection_id, 0) + more > most:
            raise AnswerTooLong(
                f"the answer would take more than {most} bytes (queued.max.request.bytes, and 64 MB in any case): "
                "request less at once"
            )
        while not self._may_take(connection_id, more, self._memory.taken_bytes):
            admitted = Deferred[None]()
            self._waiting[connection_id] = more, admitted
            self._memory.wanted_by_answers += more
            yield admitted
            # the connection is counted again if it ended while the work continued
            self.held.setdefault(connection_id, 0)
        self.held[connection_id] += more
        self._memory.estimate(more)

    def _may_take(self, connection_id: int, more: int, taken: int) -> bool:
        return taken + more <= self._memory.limit_bytes or next(iter(self.held)) == connection_id or self._stopping

    def _wake(self) -> None:
        """Let waiting answers continue, in order, as far as memory allows; called when memory was released or another
        answer is now the first."""
        taken = self._memory.taken_bytes
        for connection_id, (more, admitted) in list(self._waiting.items()):
            if self._may_take(connection_id, more, taken):
                taken += more
                self._stop_waiting(connection_id)
                admitted.resolve(None)

    def _stop_waiting(self, connection_id: int) -> Deferred[None] | None:
        more, admitted = self._waiting.pop(connection_id, (0, None))
        self._memory.wanted_by_answers -= more
        return admitted

    def stop(self) -> None:
        """Let all waiting answers continue, because the broker stops, and syncs that some answers wait for come
        last."""
        self._stopping = True
        self._wake()

    def end(self, channel: Channel) -> None:
        """Release a connection's answer, which has been sent or is no longer wanted.

        A request with an effect is carried out even after its connection has ended: its answer counts until it is
        complete, when this is called again.
        """
        if not self.held and not self._waiting:
            return
        held = self.held.pop(channel.connection_id, 0)
        admitted = self._stop_waiting(channel.connection_id)
        if held:
            self._memory.estimate(-held)
        elif self._waiting:
            self._wake()
        if admitted is not None:
            admitted.resolve(None)  # the waiting work then checks the memory again, unless it was cancelled
