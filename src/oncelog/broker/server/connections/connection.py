"""One client connection: frames in, answers out in request order.

The event loop's transport reads into a buffer that all connections share, or into the buffer of a large request, so
that a batch reaches the log without being copied; ``sending`` writes the answers.

Invariants
- Answers are sent in the order of their requests.
- As in Apache Kafka, a connection has only one request in progress; the exception is a Produce request after another,
  so that one sync commits all batches of a pipelining producer.
- While a peer does not read its answers, its requests wait, too, so that a slow peer takes limited memory.
- A connection that has used up its budget of an iteration pauses until the next one.
- Memory for a request is allocated as it arrives, not according to its announced size, and all requests share
  ``RequestMemory``.
- A connection on which nothing is sent or received has no buffer.
- A peer that reads none of its answers for ``connections.max.idle.ms`` counts as idle, like a peer that sends nothing;
  so does a peer that has not logged in by then, or that sends a request byte by byte.
"""

from __future__ import annotations

import logging
import math
import socket
from struct import Struct
from typing import TYPE_CHECKING, Protocol, cast

from oncelog.broker.server.connections.parts import FIRST_FRAME_BYTES, PRODUCE, IncomingFrame, is_produce
from oncelog.broker.server.connections.sending import OUT_AT_ONCE_BYTES, SEND_AT_ONCE, Sending, SendingHost
from oncelog.broker.server.listener_settings import host_text
from oncelog.errors import InvariantError
from oncelog.runtime import forks, real_time
from oncelog.runtime import real_asyncio as asyncio

if TYPE_CHECKING:
    from oncelog.broker.core.requests.session import Session
    from oncelog.broker.server.connections.spare_buffers import SpareBuffers
    from oncelog.protocol.struct_fields import Buffer

logger = logging.getLogger(__name__)

READ_BUFFER_BYTES = 256 * 1024
"""The size of the buffer that all connections share; its contents are processed before the next connection reads."""
READ_IF_SHORT_BYTES = 4 * 1024
"""The number of bytes of the shared buffer that are filled while connections wait for memory: an incomplete request in
it is kept, and counted."""
ITERATION_BUDGET = 256 * 1024
"""A connection's budget for one iteration, in bytes: it is used by bytes received, with an extra cost for each request
and for large answers."""
REQUEST_COST = 4 * 1024
NS_OF_A_BYTE = 2
"""The CPU time in ns, on the general path, that costs as much of the budget as one byte: half a millisecond uses up a
budget, because a pipeline of such requests would delay all other connections."""
_SIZE = Struct(">i")


class ConnectionHost(SendingHost, Protocol):
    """The interface that a connection needs from its server."""

    max_request_bytes: int
    read_buffer: bytearray
    read_view: memoryview
    spare_buffers: SpareBuffers
    is_stopping: bool
    iteration_ms: int
    ends_soon: bool

    def now_ms(self) -> int: ...

    def admit(self, connection: Connection) -> str | None:
        """Count a new connection; returns the reason if the connection is refused."""

    def forget(self, connection: Connection) -> None: ...


class Connection(Sending, asyncio.BufferedProtocol):
    """One client's socket on the server; implements ``broker.core.requests.session.Channel``."""

    __slots__ = (
        "_frame",
        "_held_bytes",
        "_largest",
        "_lent",
        "_rest",
        "_throttle_timer",
        "_throttled_until",
        "_waiting_end",
        "begun",
        "connection_id",
        "session",
    )

    _server: ConnectionHost

    def __init__(self, server: ConnectionHost, connection_id: int, session: Session) -> None:
        super().__init__(server)
        self.connection_id = connection_id
        self.session = session
        self._rest = b""
        self._frame: IncomingFrame | None = None
        self.begun = self.last_active
        self._largest = 0
        self._held_bytes = 0
        self._lent = False
        self._waiting_end = 0
        self._throttled_until = 0.0
        self._throttle_timer: asyncio.TimerHandle | None = None

    # --- life

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # a cast, because uvloop's transport is not a subclass of asyncio.Transport
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.client_host = host_text(str(peer[0])) if peer else "unknown"
        original = transport.get_extra_info("socket")
        # This object shares the transport's descriptor, and detaches it at the end instead of closing it.
        self._socket = forks.Socket(fileno=original.fileno())
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
        self._order.replies.clear()
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
        """Close the connection once the answers to earlier requests have been sent."""
        if self._closing:
            return
        logger.info("connection of %s closed: %s", self.client_host, reason)
        self._closing = True
        self._waiting = None
        if self._transport is not None:
            self._transport.pause_reading()
        self._server.writable[self] = None

    def cut_off(self, reason: str) -> None:
        """Close the connection at once, without sending the remaining data, because the peer does not read them."""
        logger.info("connection of %s cut off: %s", self.client_host, reason)
        self._closing = True
        self._abort()

    @property
    def held_bytes(self) -> int:
        """The memory in bytes of the connection's requests: the one being received and those that wait."""
        return self._held_bytes

    @property
    def is_waiting(self) -> bool:
        """Whether the connection's next request has arrived and waits to be started."""
        return self._waiting is not None

    @property
    def is_known(self) -> bool:
        """Whether the peer has done what the listener requires before the first request, such as a login."""
        return self.session.authenticator is None or self.session.authenticator.was_authenticated

    @property
    def active_at(self) -> float:
        """The time since which the connection is idle: received bytes count only if they led to a login or a
        request."""
        if not self.is_known:
            return self.begun
        return self.progressed if self.is_receiving else self.last_active

    @property
    def is_receiving(self) -> bool:
        """Whether a part of a request has arrived and the rest is still to come."""
        return self._frame is not None

    @property
    def request_begun(self) -> float:
        """The time at which the request being received began to arrive; 0 if there is none."""
        return 0.0 if self._frame is None else self._frame.begun

    # --- reading

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._frame is not None:
            return self._frame.room()
        rest, server = self._rest, self._server
        view = server.read_view if not server.memory.waiting else server.read_view[:READ_IF_SHORT_BYTES]
        if not rest:
            return view
        server.read_buffer[: len(rest)] = rest
        return view[len(rest) :]

    def buffer_updated(self, nbytes: int) -> None:
        if self._closing:
            return
        server = self._server
        now = server.loop.time()
        if now != self.last_active:  # another iteration
            self.last_active = now
            self._budget.used = 0
        self._received(nbytes)
        if not server.ends_soon:
            server.end_iteration_soon()

    def _received(self, nbytes: int) -> None:
        """Process ``nbytes`` new decrypted bytes in the buffer that ``get_buffer`` returned."""
        budget = self._budget
        budget.used += nbytes
        if self._frame is None:
            self._start(self._server.read_buffer, len(self._rest) + nbytes)
        else:
            self._continue_frame(self._frame, nbytes)
        if budget.used >= ITERATION_BUDGET:
            self._yield()

    def _continue_frame(self, frame: IncomingFrame, nbytes: int) -> None:
        if frame.received(nbytes):
            self.progressed = self._server.loop.time()
        if frame.is_complete:
            self._frame = None
            self._largest = max(self._largest, frame.size_bytes)
            self._start_own(frame.take(), frame.size_bytes)
            self._release(frame.capacity)
        elif frame.is_full:
            self._want_capacity(frame, min(frame.size_bytes, 2 * frame.capacity))

    def _start_own(self, buffer: bytearray, end: int) -> None:
        """Like :meth:`_start`, for a separate buffer, which other requests may use once it is no longer needed."""
        self._lent = False
        self._start(buffer, end)
        if not self._lent:
            self._server.spare_buffers.give(buffer)
        elif self._waiting is not buffer:
            self._server.spare_buffers.lend(buffer)

    def _keep_rest(self, buffer: bytearray, position: int, end: int) -> None:
        """Keep bytes whose request could not be started: it is incomplete, or it has to wait."""
        left = end - position
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
        self._hold(left, counted=0 if buffer is self._server.read_buffer else left)
        if self._transport is not None:
            self._transport.pause_reading()

    def _begin_frame(self, begun: memoryview, size: int) -> None:
        """Begin to receive a request of ``size`` bytes, of which ``begun`` has arrived; if the connection has sent a
        request of this size before, memory for the whole request is reserved at once."""
        server = self._server
        frame = self._frame = IncomingFrame(size, len(begun), self.last_active, server.spare_buffers)
        self.progressed = server.loop.time()
        self._hold(len(begun))
        if not self._closing:
            self._want_capacity(frame, min(size, max(FIRST_FRAME_BYTES, 2 * len(begun), self._largest)))
        frame.begin(begun)

    # --- memory

    def _want_capacity(self, frame: IncomingFrame, capacity: int) -> None:
        """Let the frame grow to ``capacity``, now or when memory has been granted; until then reading stops."""
        more = capacity - frame.capacity
        frame.wanted = capacity
        if self._server.memory.reserve(self, more):
            self._held_bytes += more
            frame.capacity = capacity
        elif self._transport is not None:
            self._transport.pause_reading()

    def memory_granted(self) -> None:
        frame = self._frame
        if frame is None:
            raise InvariantError("a connection that receives no long request was granted memory for one")
        self._held_bytes += frame.wanted - frame.capacity
        frame.capacity = frame.wanted
        frame.note_progress()
        self.progressed = self._server.loop.time()
        if self._may_read():
            self._read_on()

    def _hold(self, size_bytes: int, counted: int = 0) -> None:
        """Count memory; ``counted`` of the bytes are counted already, and released when this call has returned."""
        self._held_bytes += size_bytes
        if not self._server.memory.count(size_bytes, counted):
            limit = self._server.memory.limit_bytes
            self._refuse_request(f"requests take more memory than queued.max.request.bytes allows ({limit} bytes)")

    def _release(self, size_bytes: int) -> None:
        self._held_bytes -= size_bytes
        self._server.memory.release(size_bytes)

    def _refuse_request(self, reason: str) -> None:
        self._server.broker.security_log.refuse_request(self, reason, self._server.now_ms())

    def eof_received(self) -> bool:
        return False

    # --- requests

    def _start(self, buffer: bytearray, end: int) -> None:
        """Start the requests in ``buffer[:end]``, in order, as far as they may be started now, and keep the rest."""
        server, order, budget = self._server, self._order, self._budget
        broker, authenticator = server.broker, self.session.authenticator
        now_ms = server.iteration_ms
        if not now_ms:
            now_ms = server.iteration_ms = server.now_ms()
        self._rest = b""
        position = 0
        while end - position >= 4 and not self._closing:
            (size,) = _SIZE.unpack_from(buffer, position)
            if not 0 <= size <= server.max_request_bytes:
                most = server.max_request_bytes
                self._refuse_request(f"a request of {size} bytes; socket.request.max.bytes allows {most}")
                break
            if authenticator is not None and not authenticator.is_authenticated and size > authenticator.largest_frame:
                self._refuse_request(
                    f"{size} bytes before the login is done; sasl.server.max.receive.size allows "
                    f"{authenticator.largest_frame}"
                )
                break
            after = position + 4 + size
            if after > end or budget.used >= ITERATION_BUDGET:
                break
            # the low byte of the API key is enough: no supported API is above 255
            api_key = buffer[position + 5] if size > 1 else -1
            if not self._may_start(api_key):
                break
            slot = order.next_slot
            order.next_slot = slot + 1
            if api_key in broker.pattern_caches:
                run_end = broker.receive_run(self, slot, buffer, position, end, now_ms)
                if run_end > position:
                    budget.used += REQUEST_COST * ((run_end - position) // (after - position))  # about that many
                    position = run_end
                    continue
            frame: Buffer
            if api_key != PRODUCE:
                order.only_produce = False
                frame = bytes(buffer[position + 4 : after])
            elif not position and after == end and buffer is not server.read_buffer:
                frame = memoryview(buffer)[4:after]  # the request owns its buffer
                self._lent = True
            else:
                frame = memoryview(buffer[position + 4 : after])  # a copy, in which the log may set offsets
            position = after
            # measured only if other requests of the connection wait behind this one
            begun_ns = real_time.perf_counter_ns() if after < end else 0
            broker.receive(self, slot, frame, now_ms)
            budget.used += REQUEST_COST
            if begun_ns:
                budget.used += (real_time.perf_counter_ns() - begun_ns) // NS_OF_A_BYTE
        if position < end and not self._closing:
            self._keep_rest(buffer, position, end)

    def _may_start(self, api_key: int) -> bool:
        """Whether the connection allows a request of this API to start now; a Produce request may start behind other
        ones."""
        if self._throttled_until or self._writer is not None:
            return False
        if self._out and (self._out_bytes >= OUT_AT_ONCE_BYTES or len(self._out) >= SEND_AT_ONCE):
            return False
        order = self._order
        if order.next_reply == order.next_slot:
            order.only_produce = True
            return True
        return order.only_produce and api_key == PRODUCE

    def _yield(self) -> None:
        """Pause reading and starting requests of this connection until the next iteration, unless all requests that
        arrived have been started: then a slow request causes no pause."""
        if self._waiting is None and self._frame is None:
            return
        budget = self._budget
        budget.used = 0
        if not budget.is_over and not self._closing and self._transport is not None:
            budget.is_over = True
            self._transport.pause_reading()
            self._server.loop.call_soon(self._continue)

    def _continue(self) -> None:
        self._budget.is_over = False
        self._budget.used = 0
        self.resume()
        self._server.end_iteration_soon()

    def resume(self) -> None:
        """Start waiting requests that may be started now; called at the end of an iteration."""
        waiting, budget = self._waiting, self._budget
        if (
            waiting is not None
            and not budget.is_over
            and not self._closing
            and self._may_start(PRODUCE if is_produce(waiting, 0) else -1)
        ):
            self._waiting = None
            end = self._waiting_end
            self._start_own(waiting, end)
            self._release(end)
            if budget.used >= ITERATION_BUDGET:
                self._yield()
        if self._may_read():
            self._read_on()

    def _read_on(self) -> None:
        """Resume reading from the socket."""
        if self._transport is not None:
            self._transport.resume_reading()

    def pause_requests(self) -> None:
        self._order.only_produce = False

    def resume_requests(self, slot: int) -> None:
        if slot == self._order.next_slot - 1:
            self._order.only_produce = True
        self._server.writable[self] = None  # the end of the iteration continues the requests that wait

    def throttle(self, wait_ms: int) -> None:
        """Start no request for ``wait_ms``; of the bytes that arrive in this time, only the first are read."""
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
        """Called when the server stops: start no more requests; requests in progress may finish while the stop waits
        for them."""
        if self._transport is not None and not self._closing:
            self._transport.pause_reading()

    def _end_throttle_timer(self) -> None:
        if self._throttle_timer is not None:
            self._throttle_timer.cancel()  # cancelled, because the timer would keep the connection in memory
            self._throttle_timer = None

    def _throttle_ends(self) -> None:
        self._throttle_timer = None
        if not self.silent:
            self._throttled_until = 0.0
            self.resume()
            self._server.end_iteration_soon()

    def _may_read(self) -> bool:
        """Whether to read more: no request waits, memory is granted, and the server is not stopping."""
        if self._waiting is not None or self._budget.is_over or self._closing or self.silent:
            return False
        return not self._server.is_stopping and (self._frame is None or self._frame.filled < self._frame.capacity)
