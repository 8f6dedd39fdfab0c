"""What answers take that may be much longer than their requests, from when they are worked out until they have left.

Called by the handlers of APIs that list what the broker holds, of which a request may name the same thing again and
again, and by ``broker``. Counted beside the requests themselves (``request_memory``): who would take too much goes on
when there is room. Of those that wait the first one goes on in any case, so that all end.
"""

from __future__ import annotations

from typing import Final

from oncelog.broker.context import Channel, RequestContext
from oncelog.broker.request_memory import RequestMemory
from oncelog.broker.slices import Work
from oncelog.errors import OncelogError

ENTRY_BYTES: Final = 400
"""What an entry of an answer takes as an object, with its names, and once it is encoded, about."""


class AnswerTooLong(OncelogError):
    """It ends its connection."""


class AnswerMemory:
    """Of all connections: each has one such answer at a time."""

    def __init__(self, memory: RequestMemory, *, all_at_once: bool = False) -> None:
        """:param all_at_once: answers are made in one turn each, so that none may wait for another one."""
        self._memory = memory
        self._all_at_once = all_at_once
        self._held: dict[int, int] = {}

    def grow(self, context: RequestContext, entries: int, size_bytes: int = 0) -> Work[None]:
        """The answer has so many entries more, with so many bytes of their own; pauses until there is memory for it.

        :raises AnswerTooLong: one answer may take as much as all requests together.
        """
        connection_id, more = context.channel.connection_id, entries * ENTRY_BYTES + size_bytes
        held = self._held.setdefault(connection_id, 0)
        limit = self._memory.limit_bytes
        if held + more > limit:
            raise AnswerTooLong(
                f"the answer would take more than queued.max.request.bytes allows ({limit} bytes): ask for less at once"
            )
        while (
            self._memory.taken_bytes + more > limit
            and next(iter(self._held)) != connection_id
            and not self._all_at_once
        ):
            yield
        self._held[connection_id] = held + more
        self._memory.estimate(more)

    def stop(self) -> None:
        """The broker stops: nobody waits any more, for some would wait for others' syncs, which come last."""
        self._all_at_once = True

    def end(self, channel: Channel) -> None:
        """The answer has left for its connection, or nobody wants it."""
        held = self._held.pop(channel.connection_id, 0)
        if held:
            self._memory.estimate(-held)
