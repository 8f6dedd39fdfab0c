"""Connections of a simulation, each with two ordered directions, and the transports and sockets at their ends.

Inside a simulation ``socket.socket`` returns a ``SimulatedSocket``, which has what the broker needs for its listeners
and for sending (``broker.server.connections.sending``). ``network`` decides what happens to a connection.
"""

from __future__ import annotations

import errno
import socket
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from oncelog.runtime import real_asyncio as asyncio
from oncelog.testing.simulation.loop import ProcessLife, SimulatedLoop
from oncelog.testing.simulation.simulation_errors import NotSimulated

if TYPE_CHECKING:
    import random

FIN, RST = b"FIN", b"RST"
Where = tuple[str, int]


class ConnectionNetwork(Protocol):
    """The part of the simulated network that a connection uses; the network decides what happens to the connection."""

    loop: SimulatedLoop
    rng: random.Random

    @property
    def window_bytes(self) -> int: ...

    def delay_ns(self) -> int: ...

    def splits(self) -> bool: ...

    def is_parted(self, client: str, server: Where) -> bool: ...

    def note_delivery(self, connection: SimulatedConnection, receiver: SimulatedTransport, data: bytes) -> bool: ...

    def forget(self, end: SimulatedTransport) -> None: ...

    def reserve(self, address: Where) -> Where: ...

    def release(self, descriptor: int, address: Where | None) -> None: ...

    def descriptor_for(self, transport: SimulatedTransport | None) -> SimulatedSocket: ...


class Direction:
    """One direction of a connection, with the data in flight in order."""

    __slots__ = ("connection", "gone", "last_ns", "queue", "receiver", "size", "timer", "waiting")

    def __init__(self, connection: SimulatedConnection, receiver: SimulatedTransport) -> None:
        self.connection = connection
        self.receiver = receiver
        self.queue: deque[tuple[int, bytes, bool]] = deque()
        self.size = 0
        self.last_ns = 0
        self.timer: asyncio.TimerHandle | None = None
        self.waiting: tuple[int, Callable[..., Any], tuple[Any, ...]] | None = None
        self.gone = False
        """Whether everything that is sent from now on is lost."""

    def push(self, data: bytes, *, signal: bool = False) -> None:
        if self.gone:
            return
        network = self.connection.network
        self.last_ns = max(self.last_ns + 1, network.loop.now_ns + network.delay_ns())
        self.queue.append((self.last_ns, data, signal))
        if not signal:
            self.size += len(data)
        self.schedule()

    def schedule(self) -> None:
        """Schedule the arrival of the first data in flight, unless that is scheduled, the receiver has paused, or the
        connection is blocked."""
        if self.timer is None and self.queue and not self.receiver.paused and not self.connection.is_blocked():
            loop = self.connection.network.loop
            at_ns = max(self.queue[0][0], loop.now_ns)
            self.timer = loop.call_at(at_ns / 1e9, self._arrive, context=self.receiver.context)

    def drop(self) -> None:
        self.queue.clear()
        self.size = 0

    def _arrive(self) -> None:
        self.timer = None
        receiver, network = self.receiver, self.connection.network
        if receiver.lost or self.connection.is_blocked():
            return
        now_ns = network.loop.now_ns + 1
        parts: list[bytes] = []
        end: bytes | None = None
        queue = self.queue
        while queue and queue[0][0] <= now_ns:
            _, data, signal = queue.popleft()
            if signal:
                end = data
                break
            parts.append(data)
        if parts:
            whole = parts[0] if len(parts) == 1 else b"".join(parts)
            self.size -= len(whole)
            if len(whole) > 1 and network.splits():
                at = network.rng.randrange(1, len(whole))
                self._put_back(whole[at:], end)
                whole, end = whole[:at], None
            self._deliver(whole, end)
        elif end is not None:
            receiver.ended(end)
        self._let_write()
        self.schedule()

    def _put_back(self, rest: bytes, end: bytes | None) -> None:
        """Put data that has not arrived yet back at the beginning of the queue, to arrive later."""
        network = self.connection.network
        at_ns = network.loop.now_ns
        if end is not None:
            self.queue.appendleft((at_ns, end, True))
        self.size += len(rest)
        self.queue.appendleft((at_ns + network.delay_ns(), rest, False))

    def _deliver(self, data: bytes, end: bytes | None) -> None:
        connection, receiver = self.connection, self.receiver
        if connection.network.note_delivery(connection, receiver, data):
            return
        view = memoryview(data)
        protocol = receiver.protocol
        while view and not receiver.lost and not receiver.paused:
            if isinstance(protocol, asyncio.BufferedProtocol):
                room = protocol.get_buffer(-1)
                taken = min(len(room), len(view))  # type: ignore[arg-type]
                room[:taken] = view[:taken]  # type: ignore[index]
                view = view[taken:]
                protocol.buffer_updated(taken)
            else:
                protocol.data_received(bytes(view))
                view = view[len(view) :]
        if receiver.lost:
            return
        if view or (end is not None and receiver.paused):
            if end is not None:
                self.queue.appendleft((0, end, True))
            if view:
                self.size += len(view)
                self.queue.appendleft((0, bytes(view), False))
        elif end is not None:
            receiver.ended(end)

    def _let_write(self) -> None:
        if self.waiting is not None and self.size < self.connection.window:
            _, callback, args = self.waiting
            self.connection.network.loop.call_soon(
                callback, *args, context=self.connection.other(self.receiver).context
            )


class SimulatedConnection:
    """A connection between a client and a server, with two ends and two directions."""

    def __init__(self, network: ConnectionNetwork, client: str, server: Where, number: int) -> None:
        self.network = network
        self.client = client
        self.server = server
        self.number = number
        self.window = network.window_bytes
        self.asked = ""
        """The name of the API of the last request that arrived at the server."""
        self.ends: tuple[SimulatedTransport, SimulatedTransport]

    def __repr__(self) -> str:
        return f"connection {self.number} of {self.client} to {self.server[0]}:{self.server[1]}"

    def is_blocked(self) -> bool:
        return self.network.is_parted(self.client, self.server)

    def other(self, end: SimulatedTransport) -> SimulatedTransport:
        return self.ends[1] if end is self.ends[0] else self.ends[0]


class SimulatedTransport(asyncio.Transport):
    """The transport at one end of a connection."""

    def __init__(
        self, connection: SimulatedConnection, protocol: Any, process: ProcessLife | None, peer: Where, own: Where
    ) -> None:
        super().__init__()
        self._connection = connection
        self.protocol = protocol
        self.process = process
        self._peer, self._own = peer, own
        self._network = connection.network
        self.paused = False
        self.closing = False
        self.lost = False
        self.out: Direction
        self.context: Any = None
        self._socket = SimulatedSocket.of(self)

    @property
    def name(self) -> str:
        return self.process.name if self.process is not None else "main"

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": self._peer, "sockname": self._own, "socket": self._socket}.get(name, default)

    # --- writing

    def write(self, data: Any) -> None:
        if not self.closing and len(data):
            self.out.push(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def room(self) -> int:
        return self._connection.window - self.out.size

    def can_write_eof(self) -> bool:
        return False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing, because written data is sent at once."""

    def get_write_buffer_size(self) -> int:
        return 0

    # --- reading

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        if self.paused and not self.lost:
            self.paused = False
            self._connection.other(self).out.schedule()

    def is_reading(self) -> bool:
        return not self.paused

    # --- the end

    def is_closing(self) -> bool:
        return self.closing

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol  # type: ignore[no-any-return]

    def close(self) -> None:
        self._leave(FIN)

    def abort(self) -> None:
        self._leave(RST)

    def _leave(self, how: bytes) -> None:
        if not self.closing:
            self.closing = True
            self.out.push(how, signal=True)
            self._network.loop.call_soon(self.ends, None, context=self.context)

    def ended(self, how: bytes) -> None:
        """Handle the end of the connection by the peer, which has closed or reset it."""
        if how == RST:
            self.ends(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))
        elif not self.protocol.eof_received():
            self._leave(FIN)

    def ends(self, error: Exception | None) -> None:
        if self.lost:
            return
        self.closing = self.lost = True
        self._network.forget(self)
        self.protocol.connection_lost(error)


class SimulatedSocket:
    """Replaces ``socket.socket`` inside a simulation."""

    family, type, proto = socket.AF_INET, socket.SOCK_STREAM, 6

    def __init__(self, network: ConnectionNetwork, descriptor: int, transport: SimulatedTransport | None) -> None:
        self._network = network
        self._descriptor = descriptor
        self._transport = transport
        self._address: Where = ("0.0.0.0", 0)
        self.closed = False

    @classmethod
    def of(cls, transport: SimulatedTransport) -> SimulatedSocket:
        return transport._network.descriptor_for(transport)

    def fileno(self) -> int:
        return -1 if self.closed else self._descriptor

    def setblocking(self, flag: bool) -> None:
        """Do nothing, because no call ever blocks."""

    def setsockopt(self, *args: Any) -> None:
        """Do nothing, because no socket option has an effect in a simulation."""

    def getsockname(self) -> Where:
        return self._address

    def bind(self, address: Where) -> None:
        self._address = self._network.reserve(address)

    def listen(self, backlog: int = 0) -> None:
        """Do nothing, because ``create_server`` begins to listen."""

    def shutdown(self, how: int) -> None:
        """Do nothing: the connection ends with its transport, because a simulation has no forked processes that share
        the socket."""

    def dup(self) -> SimulatedSocket:
        if self._transport is None:
            raise OSError(errno.EBADF, "Bad file descriptor")
        return self._network.descriptor_for(self._transport)

    def detach(self) -> int:
        descriptor, self.closed = self._descriptor, True
        return descriptor

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._network.release(self._descriptor, self._address if self._transport is None else None)

    def send(self, data: Any, flags: int = 0) -> int:
        transport = self._transport
        if transport is None or self.closed:
            raise OSError(errno.EBADF, "Bad file descriptor")
        if transport.lost or transport.closing:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        room = transport.room()
        if room <= 0:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        taken = bytes(memoryview(data)[:room])
        transport.out.push(taken)
        return len(taken)

    def sendmsg(self, buffers: Sequence[Any], ancdata: Any = (), flags: int = 0) -> int:
        return self.send(b"".join(buffers))

    def __getattr__(self, name: str) -> Any:
        raise NotSimulated(f"socket.{name} is not simulated: use asyncio's connections")


__all__ = ["RST", "Direction", "SimulatedConnection", "SimulatedSocket", "SimulatedTransport", "Where"]
