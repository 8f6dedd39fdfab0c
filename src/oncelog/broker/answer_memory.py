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
from oncelog.deferred import Deferred
from oncelog.errors import OncelogError

ENTRY_BYTES: Final = 400
"""What an entry of an answer takes as an object, with its names, and once it is encoded, about."""

LEAST_BYTES: Final = 64 * 1024 * 1024
"""What one answer may take however little all requests may: a list of what the broker holds is always answered."""


class AnswerTooLong(OncelogError):
    """It ends its connection."""


class AnswerMemory:
    """Of all connections: each has one such answer at a time."""

    def __init__(self, memory: RequestMemory, *, all_at_once: bool = False) -> None:
        """:param all_at_once: answers are made in one turn each, so that none may wait for another one."""
        self._memory = memory
        self._all_at_once = all_at_once
        self._held: dict[int, int] = {}
        self._waiting: dict[int, tuple[int, Deferred[None]]] = {}
        memory.released = self._go_on

    def grow(self, context: RequestContext, entries: int, size_bytes: int = 0) -> Work[None]:
        """The answer has so many entries more, with so many bytes of their own; pauses until there is memory for it.

        :raises AnswerTooLong: one answer may take as much as all requests together, and ``LEAST_BYTES`` in any case.
        """
        connection_id, more = context.channel.connection_id, entries * ENTRY_BYTES + size_bytes
        most = max(self._memory.limit_bytes, LEAST_BYTES)
        if self._held.setdefault(connection_id, 0) + more > most:
            raise AnswerTooLong(
                f"the answer would take more than {most} bytes (queued.max.request.bytes, and 64 MB in any case): "
                "ask for less at once"
            )
        while not self._may_take(connection_id, more, self._memory.taken_bytes):
            turn = Deferred[None]()
            self._waiting[connection_id] = more, turn
            self._memory.wanted_by_answers += more
            yield turn
            self._held.setdefault(connection_id, 0)  # the connection may have ended meanwhile, and the work goes on
        self._held[connection_id] += more
        self._memory.estimate(more)

    def _may_take(self, connection_id: int, more: int, taken: int) -> bool:
        return taken + more <= self._memory.limit_bytes or next(iter(self._held)) == connection_id or self._all_at_once

    def _go_on(self) -> None:
        """Memory came back, or it is another one's turn to go on in any case: have those look again that may."""
        taken = self._memory.taken_bytes
        for connection_id, (more, turn) in list(self._waiting.items()):
            if self._may_take(connection_id, more, taken):
                taken += more
                self._waits_no_more(connection_id)
                turn.resolve(None)

    def _waits_no_more(self, connection_id: int) -> Deferred[None] | None:
        more, turn = self._waiting.pop(connection_id, (0, None))
        self._memory.wanted_by_answers -= more
        return turn

    def stop(self) -> None:
        """The broker stops: nobody waits any more, for some would wait for others' syncs, which come last."""
        self._all_at_once = True
        self._go_on()

    def end(self, channel: Channel) -> None:
        """The answer has left for its connection, or nobody wants it.

        Work that changes something goes on though its connection ends: what it makes from then on is counted until
        there is an answer, upon which this is called again.
        """
        held = self._held.pop(channel.connection_id, 0)
        turn = self._waits_no_more(channel.connection_id)
        if held:
            self._memory.estimate(-held)
        elif self._waiting:
            self._go_on()
        if turn is not None:
            turn.resolve(None)  # to look again, where the work was not dropped
