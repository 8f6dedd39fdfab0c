"""One client connection: frames in, answers out in request order.

Reading goes through the event loop's transport into a buffer that all connections share, or into that of a large
request, so that a batch reaches the log without being copied; ``sending`` writes the answers.

Invariants
- Answers are sent in the order of their requests.
- As in Apache Kafka, a connection has one request under way at a time; the exception is a Produce request after a
  Produce request, so that one sync commits all of a pipelining producer's batches.
- While a peer does not read its answers, its requests wait too: memory for a slow peer is bounded.
- A connection that has used up its budget of an iteration pauses until the next one.
- Memory for a request is allocated as it arrives, not by its announced size, and all requests share ``RequestMemory``.
- A connection that sends nothing and has nothing to be sent holds no buffer.
- A peer that reads none of its answers for ``connections.max.idle.ms`` counts as idle, like one that sends nothing; so
  does one that has not logged in by then, or that sends a request byte by byte.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from struct import Struct
from typing import TYPE_CHECKING, Protocol, cast

from oncelog.broker.server.connections.sending import OUT_AT_ONCE_BYTES, SEND_AT_ONCE, Sending, SendingHost
from oncelog.broker.server.listener_settings import host_text
from oncelog.runtime import forks, real_time

if TYPE_CHECKING:
    from oncelog.broker.core.requests.session import Session
    from oncelog.broker.server.connections.spare_buffers import SpareBuffers

logger = logging.getLogger(__name__)

READ_BUFFER_BYTES = 256 * 1024
"""Size of the buffer that all connections share; its contents are taken out before the next one reads."""
READ_IF_SHORT_BYTES = 4 * 1024
"""The part of the shared buffer that is filled while connections wait for memory: an incomplete request in it is kept,
and counted."""
FIRST_FRAME_BYTES = 16 * 1024
"""Initial buffer for a request that does not fit; when it fills up it grows to twice its size."""
PARTS_OF_A_REQUEST = 64
"""A request of which less than one part has arrived for a while is considered stalled."""
ITERATION_BUDGET = 256 * 1024
"""The budget of one connection in an iteration: bytes sent to it, and a cost for each request."""
REQUEST_COST = 4 * 1024
NS_OF_A_BYTE = 2
"""What a request takes on the general path costs as well: half a millisecond is a whole budget, because a pipeline of
such requests would delay all other connections."""
_SIZE = Struct(">i")
PRODUCE = 0


class ConnectionHost(SendingHost, Protocol):
    """What a connection needs from its server."""

    max_request_bytes: int
    read_buffer: bytearray
    read_view: memoryview
    spare_buffers: SpareBuffers
    is_stopping: bool
    iteration_ms: int

    def now_ms(self) -> int: ...

    def admit(self, connection: Connection) -> str | None:
        """Count a new connection; returns the reason if it is refused."""

    def forget(self, connection: Connection) -> None: ...


class Connection(Sending, asyncio.BufferedProtocol):
    """The server's side of one socket; implements ``broker.core.requests.session.Channel``."""

    __slots__ = (
        "_frame",
        "_frame_capacity",
        "_frame_filled",
        "_frame_mark",
        "_frame_size",
        "_frame_wanted",
        "_held_bytes",
        "_largest",
        "_lent",
        "_next_slot",
        "_only_produce",
        "_rest",
        "_throttle_timer",
        "_throttled_until",
        "_waiting_end",
        "_yielded",
        "begun",
        "connection_id",
        "request_begun",
        "session",
    )

    _server: ConnectionHost

    def __init__(self, server: ConnectionHost, connection_id: int, session: Session) -> None:
        super().__init__(server)
        self.connection_id = connection_id
        self.session = session
        self._rest = b""
        self._frame: bytearray | None = None
        self._frame_size = 0
        self._frame_filled = 0
        self._frame_capacity = 0
        self._frame_wanted = 0
        self._frame_mark = 0
        self.begun = self.last_active
        self.request_begun = 0.0
        self._largest = 0
        self._held_bytes = 0
        self._lent = False
        self._waiting_end = 0
        self._yielded = False
        self._next_slot = 0
        self._only_produce = True
        self._throttled_until = 0.0
        self._throttle_timer: asyncio.TimerHandle | None = None

    # --- life

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transport is not a subclass
        peer = transport.get_extra_info("peername")
        self.client_host = host_text(str(peer[0])) if peer else "unknown"
        original = transport.get_extra_info("socket")
        # the socket belongs to the transport, and is detached at the end
        self._socket = socket.socket(fileno=original.fileno())
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        refusal = self._server.admit(self)
        if refusal is not None:
            self.close(refusal)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        self._out.clear()
        self._keep(0)
        self._waiting = None
        self._replies.clear()
        self._frame = None
        self._disarm_writer()
        self._end_throttle_timer()
        if self._socket is not None:
            forks.end(self._socket.fileno())
            self._socket.detach()
            self._socket = None
        self._server.memory.forget(self)
        self._release(self._held_bytes)
        self._server.forget(self)

    def close(self, reason: str) -> None:
        """Close the connection once earlier answers have been sent."""
        if self._closing:
            return
        logger.info("connection of %s closed: %s", self.client_host, reason)
        self._closing = True
        self._waiting = None
        if self._transport is not None:
            self._transport.pause_reading()
        self._server.writable[self] = None

    def cut_off(self, reason: str) -> None:
        """Close the connection at once, without sending what is left: its peer does not read it."""
        logger.info("connection of %s cut off: %s", self.client_host, reason)
        self._closing = True
        self._abort()

    @property
    def held_bytes(self) -> int:
        """Memory taken by its requests: the one being received and the waiting ones."""
        return self._held_bytes

    @property
    def is_waiting(self) -> bool:
        """Whether its next request has arrived and waits to be started."""
        return self._waiting is not None

    @property
    def is_known(self) -> bool:
        """Whether the peer has done everything that the listener requires before the first request."""
        return self.session.authenticator is None or self.session.authenticator.was_authenticated

    @property
    def active_at(self) -> float:
        """Since when it is idle: bytes count only if they eventually lead to a login or a request."""
        if not self.is_known:
            return self.begun
        return self.progressed if self.is_receiving else self.last_active

    @property
    def is_receiving(self) -> bool:
        """Whether a part of a request has arrived and more of it is to come."""
        return self._frame is not None

    # --- reading

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._frame is not None:
            if len(self._frame) < self._frame_capacity:
                begun, self._frame = self._frame, self._server.spare_buffers.take(self._frame_capacity)
                self._frame[: self._frame_filled] = memoryview(begun)[: self._frame_filled]
            return memoryview(self._frame)[self._frame_filled : self._frame_capacity]
        rest, server = self._rest, self._server
        view = server.read_view if not server.memory.waiting else server.read_view[:READ_IF_SHORT_BYTES]
        if not rest:
            return view
        server.read_buffer[: len(rest)] = rest
        return view[len(rest) :]

    def buffer_updated(self, nbytes: int) -> None:
        if self._closing:
            return
        now = self._server.loop.time()
        if now != self.last_active:  # another iteration
            self.last_active = now
            self._iteration_used = 0
        self._received(nbytes)
        self._server.end_iteration_soon()

    def _received(self, nbytes: int) -> None:
        """This many plain bytes are new in the buffer that ``get_buffer`` returned."""
        self._iteration_used += nbytes
        if self._frame is None:
            self._take(self._server.read_buffer, 0, len(self._rest) + nbytes)
        else:
            self._frame_filled += nbytes
            if self._frame_filled == self._frame_size:
                frame, self._frame = self._frame, None
                self._largest = max(self._largest, self._frame_size)
                self._take_own(frame, self._frame_size)
                self._release(self._frame_capacity)
            else:
                if self._frame_filled >= self._frame_mark:
                    self._note_progress()
                if self._frame_filled == self._frame_capacity:
                    self._want_capacity(min(self._frame_size, 2 * self._frame_capacity))
        if self._iteration_used >= ITERATION_BUDGET:
            self._yield()

    def _take_own(self, buffer: bytearray, end: int) -> None:
        """The same for a buffer of the connection's own, which is given to others when it is no longer needed."""
        self._lent = False
        self._take(buffer, 0, end)
        if not self._lent:
            self._server.spare_buffers.give(buffer)
        elif self._waiting is not buffer:
            self._server.spare_buffers.lend(buffer)

    def _take(self, buffer: bytearray, position: int, end: int) -> None:
        """Start the requests in ``buffer[position:end]`` that may start now, and keep the rest."""
        self._rest = b""
        position = self._start_all(buffer, position, end)
        left = end - position
        if self._closing or not left:
            return
        if left < 4:
            self._rest = bytes(buffer[position:end])
            return
        size = 4 + int.from_bytes(buffer[position : position + 4], "big", signed=True)
        if left < size:
            self._begin_frame(memoryview(buffer)[position:end], size)
            return
        if position or buffer is self._server.read_buffer:
            self._waiting, self._waiting_end = buffer[position:end], left
        else:
            self._waiting, self._waiting_end, self._lent = buffer, end, True
        self._hold(left)
        if self._transport is not None:
            self._transport.pause_reading()

    def _begin_frame(self, begun: memoryview, size: int) -> None:
        """Begin a request of ``size`` bytes with ``begun``; a connection that sent one this large before is trusted."""
        self.request_begun = self.last_active
        self._frame_size, self._frame_filled, self._frame_capacity = size, len(begun), len(begun)
        self._note_progress()
        self._hold(len(begun))
        if not self._closing:
            self._want_capacity(min(size, max(FIRST_FRAME_BYTES, 2 * len(begun), self._largest)))
        if len(begun) < FIRST_FRAME_BYTES:  # the rest of its memory is reserved when more arrives
            self._frame = bytearray(begun)
        else:
            self._frame = self._server.spare_buffers.take(self._frame_capacity)
            self._frame[: len(begun)] = begun

    def _note_progress(self) -> None:
        """The request makes progress, unless the next part takes too long: single bytes are not progress."""
        self.progressed = self._server.loop.time()
        self._frame_mark = self._frame_filled + max(1, self._frame_size // PARTS_OF_A_REQUEST)

    # --- memory

    def _want_capacity(self, capacity: int) -> None:
        """Let the frame grow to ``capacity``, now or when there is memory for it; until then reading stops."""
        more = capacity - self._frame_capacity
        self._frame_wanted = capacity
        if self._server.memory.reserve(self, more):
            self._held_bytes += more
            self._frame_capacity = capacity
        elif self._transport is not None:
            self._transport.pause_reading()

    def memory_granted(self) -> None:
        self._held_bytes += self._frame_wanted - self._frame_capacity
        self._frame_capacity = self._frame_wanted
        self._note_progress()
        if self._may_read():
            self._read_on()

    def _hold(self, size_bytes: int) -> None:
        self._held_bytes += size_bytes
        if not self._server.memory.count(size_bytes):
            limit = self._server.memory.limit_bytes
            self.close(f"requests take more memory than queued.max.request.bytes allows ({limit} bytes)")

    def _release(self, size_bytes: int) -> None:
        self._held_bytes -= size_bytes
        self._server.memory.release(size_bytes)

    def eof_received(self) -> bool:
        return False

    # --- requests

    def _start_all(self, buffer: bytearray, position: int, end: int) -> int:
        """Start requests in order; returns the start of the first one that is incomplete or has to wait."""
        server = self._server
        broker, largest, now_ms = server.broker, server.max_request_bytes, server.iteration_ms or server.now_ms()
        authenticator = self.session.authenticator
        while end - position >= 4 and not self._closing:
            (size,) = _SIZE.unpack_from(buffer, position)
            if not 0 <= size <= largest:
                self.close(f"a request of {size} bytes; socket.request.max.bytes allows {largest}")
                break
            if authenticator is not None and not authenticator.is_authenticated and size > authenticator.largest_frame:
                self.close(
                    f"{size} bytes before the login is done; sasl.server.max.receive.size allows "
                    f"{authenticator.largest_frame}"
                )
                break
            after = position + 4 + size
            if after > end or self._iteration_used >= ITERATION_BUDGET or not self._may_start(buffer, position):
                break
            slot = self._next_slot
            self._next_slot = slot + 1
            run_end = broker.receive_run(self, slot, buffer, position, end, now_ms)
            if run_end > position:
                self._iteration_used += REQUEST_COST * ((run_end - position) // (after - position))  # about that many
                position = run_end
                continue
            self._only_produce = self._only_produce and _is_produce(buffer, position)
            if not position and after == end and buffer is not server.read_buffer:
                frame = memoryview(buffer)[4:after]  # the request owns its buffer
                self._lent = True
            else:
                frame = memoryview(bytes(memoryview(buffer)[position + 4 : after]))
            position, begun_ns = after, real_time.perf_counter_ns()
            broker.receive(self, slot, frame, now_ms)
            self._iteration_used += REQUEST_COST + (real_time.perf_counter_ns() - begun_ns) // NS_OF_A_BYTE
        return position

    def _may_start(self, buffer: bytearray, position: int) -> bool:
        """Whether a request may start although earlier ones have not been answered."""
        if (
            self._throttled_until
            or self._writer is not None
            or self._out_bytes >= OUT_AT_ONCE_BYTES
            or len(self._out) >= SEND_AT_ONCE
        ):
            return False
        if self._next_reply == self._next_slot:
            self._only_produce = True
            return True
        return self._only_produce and _is_produce(buffer, position)

    def _yield(self) -> None:
        """Pause reading and starting requests here until the next iteration, unless all that arrived has been started:
        then a slow request costs no pause."""
        if self._waiting is None and self._frame is None:
            return
        self._iteration_used = 0
        if not self._yielded and not self._closing and self._transport is not None:
            self._yielded = True
            self._transport.pause_reading()
            self._server.loop.call_soon(self._continue)

    def _continue(self) -> None:
        self._yielded = False
        self._iteration_used = 0
        self.resume()
        self._server.end_iteration_soon()

    def resume(self) -> None:
        """Start the waiting requests that may start now; called at the end of an iteration."""
        waiting = self._waiting
        if waiting is not None and not self._yielded and not self._closing and self._may_start(waiting, 0):
            self._waiting = None
            self._release(self._waiting_end)
            self._take_own(waiting, self._waiting_end)
            if self._iteration_used >= ITERATION_BUDGET:
                self._yield()
        if self._may_read():
            self._read_on()

    def _read_on(self) -> None:
        """Resume reading from the socket."""
        if self._transport is not None:
            self._transport.resume_reading()

    def pause_requests(self) -> None:
        self._only_produce = False

    def resume_requests(self, slot: int) -> None:
        if slot == self._next_slot - 1:
            self._only_produce = True
        self._server.writable[self] = None  # resumes the waiting requests

    def throttle(self, wait_ms: int) -> None:
        """Start no request for a while; what arrives meanwhile, after the first, stays with the peer."""
        if self._socket is None:
            return  # the connection has ended: a timer would keep it in memory
        until = self._server.loop.time() + wait_ms / 1000
        if until > self._throttled_until:
            self._throttled_until = until
            self._end_throttle_timer()
            self._throttle_timer = self._server.loop.call_at(until, self._throttle_ends)

    def silence(self) -> None:
        self.silent = True
        self._throttled_until = math.inf
        if self._transport is not None:
            self._transport.pause_reading()

    def read_no_more(self) -> None:
        """The server stops: start no more requests; those under way may finish while the stop waits."""
        if self._transport is not None and not self._closing:
            self._transport.pause_reading()

    def _end_throttle_timer(self) -> None:
        if self._throttle_timer is not None:
            self._throttle_timer.cancel()  # the timer would keep the connection in memory
            self._throttle_timer = None

    def _throttle_ends(self) -> None:
        self._throttle_timer = None
        if not self.silent:
            self._throttled_until = 0.0
            self.resume()
            self._server.end_iteration_soon()

    def _may_read(self) -> bool:
        """Whether to read more: nothing waits, there is memory for it, and no stop has begun."""
        if self._waiting is not None or self._yielded or self._closing or self.silent or self._server.is_stopping:
            return False
        return self._frame is None or self._frame_filled < self._frame_capacity


def _is_produce(buffer: bytearray, position: int) -> bool:
    """Whether the request whose size is at ``position`` is a Produce."""
    return len(buffer) >= position + 6 and buffer[position + 4] == 0 and buffer[position + 5] == PRODUCE
