"""Decodes requests of more than 16 KB in chunks, and only as many at once as memory allows.

Called only by ``broker``. An element of one byte takes hundreds of bytes as an object and in its answer. While a
request is decoded its maximum size is counted, and afterwards its actual size until it is answered, in addition to the
buffers of requests still being received (``request_memory``).

Invariants
- A request that would exceed the limit waits in a queue, as bytes only; if no other is under way, the first one is
  decoded in any case, so the queue advances.
- A request that was received completely is carried out, even if its connection ends; a read-only one is then dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial

from oncelog.broker.core.limits.request_memory import RequestMemory
from oncelog.broker.core.registry import ONLY_LOOKS, SERVED
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.parking import Park, ParkReason
from oncelog.broker.core.requests.session import Channel
from oncelog.broker.core.requests.tasks import Tasks
from oncelog.broker.core.requests.work import Work
from oncelog.errors import InvariantError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import request_type
from oncelog.protocol.wire import ELEMENTS_IN_A_CHUNK, Message
from oncelog.runtime.deferred import Deferred

READ_AT_ONCE_BYTES = 16 * 1024
"""Requests larger than this are decoded in chunks, except a batch for one partition, which is not decoded."""
MAY_WAIT_LONG = frozenset({ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})
"""These wait for other members, which may never arrive: meanwhile their memory is not counted, as a group's is not."""
ELEMENT_BYTES = 500
"""Estimated size of an element, as an object and in the answer."""


class _Phase(Enum):
    WAITS = auto()
    IS_READ = auto()
    WAS_READ = auto()
    CARRIED_OUT = auto()
    DROPPED = auto()


@dataclass(slots=True, eq=False, repr=False)
class _LongRequest:
    """One request."""

    context: RequestContext
    frame: memoryview
    body: int
    message: Deferred[Message] = field(default_factory=Deferred)
    phase: _Phase = _Phase.WAITS
    held_bytes: int = 0
    has_peer: bool = True

    @property
    def only_looks(self) -> bool:
        return self.context.api_key in ONLY_LOOKS


class LongRequests:
    """All long requests of a broker, from the frame to the answer."""

    def __init__(self, tasks: Tasks, memory: RequestMemory) -> None:
        self._tasks = tasks
        self._memory = memory
        self._line: deque[_LongRequest] = deque()
        self._at_work = 0
        self._is_reading = False
        self._of_connection: dict[int, dict[_LongRequest, None]] = {}

    def __len__(self) -> int:
        """The number of requests not yet answered."""
        return sum(map(len, self._of_connection.values()))

    def read(self, context: RequestContext, frame: memoryview, body: int) -> Deferred[Message] | Park[Message]:
        """The request, known now or later; until then the next ones of its connection wait: batches must not overtake
        each other. Fails with ``MalformedMessage`` if it cannot be read.

        Its memory is counted until :meth:`answered`, or if its connection ends before, until it is carried out.
        """
        context.is_long = True
        long = _LongRequest(context, frame, body)
        self._of_connection.setdefault(context.channel.connection_id, {})[long] = None
        self._count(long, len(frame))
        self._line.append(long)
        self._read_next()
        return long.message if long.message.done else Park(context, ParkReason.MEMORY, long.message)

    def carried_out(self, context: RequestContext) -> bool:
        """The request has been carried out; returns whether its connection still waits for the answer."""
        of_connection = self._of_connection.get(context.channel.connection_id, {})
        for long in [long for long in of_connection if long.context is context]:
            long.phase = _Phase.CARRIED_OUT
            if not long.has_peer:
                self._forget(long)
                self._read_next()
                return False
        return True

    def answered(self, context: RequestContext) -> None:
        """Release the request's memory: it needs none any more, or waits for something that may never happen."""
        of_connection = self._of_connection.get(context.channel.connection_id)
        if of_connection:
            for long in [long for long in of_connection if long.context is context]:
                self._forget(long)
            self._read_next()

    def disconnected(self, channel: Channel) -> None:
        """The connection ended: requests with an effect are still carried out."""
        if channel.connection_id not in self._of_connection:
            return
        for long in list(self._of_connection[channel.connection_id]):
            long.has_peer = False
            if long.phase is _Phase.CARRIED_OUT or long.only_looks:
                if long.phase is _Phase.WAITS:
                    self._line.remove(long)
                self._forget(long)
                long.phase = _Phase.DROPPED
        self._read_next()

    def _read_next(self) -> None:
        """Decode the requests for which there is memory, in the order of their arrival."""
        if (
            self._is_reading
        ):  # reentrant call: a request was decoded, or even answered, at once; the outer call continues
            return
        self._is_reading = True
        try:
            while self._line:
                first = self._line[0]
                at_most = min(len(first.frame), SERVED[first.context.api_key].most_elements) * ELEMENT_BYTES
                if self._at_work and self._memory.taken_bytes + at_most > self._memory.limit_bytes:
                    return
                self._count(self._line[0], at_most)
                self._begin(self._line.popleft())
        finally:
            self._is_reading = False

    def _begin(self, long: _LongRequest) -> None:
        self._at_work += 1
        long.phase = _Phase.IS_READ
        channel = long.context.channel if long.only_looks else None
        self._tasks.begin(self._take_apart(long), channel, owner=long.context).then(
            lambda message: self._read(long, partial(long.message.resolve, message)),
            lambda error: self._read(long, partial(self._unreadable, long, error)),
        )

    def _unreadable(self, long: _LongRequest, error: Exception) -> None:
        self._forget(long)
        long.message.fail(error)

    def _take_apart(self, long: _LongRequest) -> Work[Message]:
        context = long.context
        most = SERVED[context.api_key].most_elements
        kind = request_type(context.api_key)
        reading = kind.decode_prefix_in_chunks(long.frame, context.api_version, long.body, most)
        size_bytes, elements = len(long.frame), ELEMENTS_IN_A_CHUNK
        long.frame = memoryview(b"")
        while long.phase is _Phase.IS_READ:
            try:
                elements += next(reading)
            except StopIteration as end:
                self._count(long, size_bytes + elements * ELEMENT_BYTES - long.held_bytes)
                message: Message = end.value[0]
                return message
            yield
        raise InvariantError("a request was dropped and is still read")

    def _read(self, long: _LongRequest, then: Callable[[], None]) -> None:
        if long.phase is _Phase.DROPPED:
            return
        long.phase = _Phase.WAS_READ
        then()
        self._read_next()

    def _count(self, long: _LongRequest, size_bytes: int) -> None:
        long.held_bytes += size_bytes
        self._memory.estimate(size_bytes)

    def _forget(self, long: _LongRequest) -> None:
        connection_id = long.context.channel.connection_id
        of_connection = self._of_connection.get(connection_id, {})
        if long in of_connection:
            del of_connection[long]
            self._at_work -= long.phase is not _Phase.WAITS
        if not of_connection:
            self._of_connection.pop(connection_id, None)
        self._count(long, -long.held_bytes)
