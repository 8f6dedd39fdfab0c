"""The network of a simulation: connections that take time, are cut, stall and split what is sent; listeners; sockets.

A connection is two directions that keep their order, as TCP does. What is sent arrives after a delay that the seed
decides, in pieces where it says so. A network that is parted delivers nothing until it is healed; a connection that is
cut loses what is under way, and each side hears of it in its own time.

``SimulatedSocket`` is what ``socket.socket`` gives inside a simulation: enough for the broker's listeners and for how
its connections send (``server.sending``).
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
import socket
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from oncelog.protocol.api_keys import ApiKey
from oncelog.testing.simulation.errors import NotSimulated
from oncelog.testing.simulation.loop import RUNNING, START_NS, Process, SimulatedLoop

if TYPE_CHECKING:
    import random

    from oncelog.testing.simulation.timeline import Timeline

_FIN, _RST = b"FIN", b"RST"
FIRST_DESCRIPTOR = 1_000_000
"""Of simulated sockets: no real one is so high."""
FIRST_PORT = 40_000
WINDOW_BYTES = 256 * 1024
Where = tuple[str, int]


class Habits:
    """How the network behaves when nothing is broken.

    :param delay_s: least and greatest time that a message takes.
    :param slow: how often one takes up to ``slow_s``.
    :param split: how often one arrives in two pieces.
    :param window_bytes: what may be under way in one direction before a sender has to wait.
    """

    __slots__ = ("delay_s", "slow", "slow_s", "split", "window_bytes")

    def __init__(
        self,
        delay_s: tuple[float, float] = (0.0001, 0.002),
        slow: float = 0.01,
        slow_s: float = 0.2,
        split: float = 0.02,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        self.delay_s = delay_s
        self.slow = slow
        self.slow_s = slow_s
        self.split = split
        self.window_bytes = window_bytes


class Ambush:
    """Something that happens when the next message of a kind has arrived.

    :param what: an API's name, or ``answer to NAME``.
    :param act: is given the connection.
    :param lost: the message does not arrive: its connection is to be cut.
    """

    __slots__ = ("act", "lost", "skip", "what")

    def __init__(self, what: str, skip: int, act: Callable[[Connection], None], *, lost: bool = False) -> None:
        self.what = what
        self.skip = skip
        self.act = act
        self.lost = lost


class _Direction:
    """One way of a connection: what is under way, in order."""

    __slots__ = ("connection", "gone", "last_ns", "queue", "receiver", "size", "timer", "waiting")

    def __init__(self, connection: Connection, receiver: SimulatedTransport) -> None:
        self.connection = connection
        self.receiver = receiver
        self.queue: deque[tuple[int, bytes, bool]] = deque()
        self.size = 0
        self.last_ns = 0
        self.timer: asyncio.TimerHandle | None = None
        self.waiting: tuple[int, Callable[..., Any], tuple[Any, ...]] | None = None
        self.gone = False
        """Whatever is sent is lost."""

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
        """See that what is under way arrives."""
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
        """What comes later after all."""
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


class Connection:
    """Two ends and two directions."""

    def __init__(self, network: Network, client: str, server: Where, number: int) -> None:
        self.network = network
        self.client = client
        self.server = server
        self.number = number
        self.window = network.habits.window_bytes
        self.asked = ""
        """The API of the last request that has arrived."""
        self.ends: tuple[SimulatedTransport, SimulatedTransport]

    def __repr__(self) -> str:
        return f"connection {self.number} of {self.client} to {self.server[0]}:{self.server[1]}"

    def is_blocked(self) -> bool:
        return self.network.is_parted(self.client, self.server)

    def other(self, end: SimulatedTransport) -> SimulatedTransport:
        return self.ends[1] if end is self.ends[0] else self.ends[0]


class SimulatedTransport(asyncio.Transport):
    """One end of a connection."""

    def __init__(self, connection: Connection, protocol: Any, process: Process | None, peer: Where, own: Where) -> None:
        super().__init__()
        self._connection = connection
        self.protocol = protocol
        self.process = process
        self._peer, self._own = peer, own
        self._network = connection.network
        self.paused = False
        self.closing = False
        self.lost = False
        self.out: _Direction
        self.context: Any = None
        self._socket = SimulatedSocket.of(self)

    @property
    def name(self) -> str:
        return self.process.name if self.process is not None else "main"

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": self._peer, "sockname": self._own, "socket": self._socket}.get(name, default)

    # -- writing ------------------------------------------------------------------------------------------------

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
        """What is written leaves at once."""

    def get_write_buffer_size(self) -> int:
        return 0

    # -- reading ------------------------------------------------------------------------------------------------

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        if self.paused and not self.lost:
            self.paused = False
            self._connection.other(self).out.schedule()

    def is_reading(self) -> bool:
        return not self.paused

    # -- the end ------------------------------------------------------------------------------------------------

    def is_closing(self) -> bool:
        return self.closing

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol  # type: ignore[no-any-return]

    def close(self) -> None:
        self._leave(_FIN)

    def abort(self) -> None:
        self._leave(_RST)

    def _leave(self, how: bytes) -> None:
        if not self.closing:
            self.closing = True
            self.out.push(how, signal=True)
            self._network.loop.call_soon(self.ends, None, context=self.context)

    def ended(self, how: bytes) -> None:
        """The other side has left."""
        if how == _RST:
            self.ends(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))
        elif not self.protocol.eof_received():
            self._leave(_FIN)

    def ends(self, error: Exception | None) -> None:
        if self.lost:
            return
        self.closing = self.lost = True
        self._network.forget(self)
        self.protocol.connection_lost(error)


class SimulatedSocket:
    """What ``socket.socket`` is inside a simulation."""

    family, type, proto = socket.AF_INET, socket.SOCK_STREAM, 6

    def __init__(self, network: Network, descriptor: int, transport: SimulatedTransport | None) -> None:
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
        """No call ever blocks."""

    def setsockopt(self, *args: Any) -> None:
        """No option changes anything here."""

    def getsockname(self) -> Where:
        return self._address

    def bind(self, address: Where) -> None:
        self._address = self._network.reserve(address)

    def listen(self, backlog: int = 0) -> None:
        """``create_server`` does it."""

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


class _Listener:
    """What ``create_server`` answers."""

    def __init__(self, network: Network, factory: Any, address: Where, sock: SimulatedSocket | None) -> None:
        self._network = network
        self.factory = factory
        self.address = address
        self.process = RUNNING.get(None)
        self.context = _context_of(self.process)
        self.sockets = (sock,) if sock is not None else ()

    def is_serving(self) -> bool:
        return self._network.listener_at(self.address) is self

    def close(self) -> None:
        self._network.stop_listening(self)

    async def wait_closed(self) -> None:
        """It is closed at once."""


class Network:
    """:param rng: decides about delays and pieces."""

    def __init__(self, loop: SimulatedLoop, rng: random.Random, timeline: Timeline, habits: Habits) -> None:
        self.loop = loop
        self.rng = rng
        self.timeline = timeline
        self.habits = habits
        self.bytes_delivered = 0
        self._listeners: dict[Where, _Listener] = {}
        self._bound: dict[Where, None] = {}
        self._connections: dict[Connection, None] = {}
        self._dead: dict[Where, list[Connection]] = {}
        self._sockets: dict[int, SimulatedSocket] = {}
        self._next_descriptor = FIRST_DESCRIPTOR
        self._next_port = FIRST_PORT
        self._count = 0
        self._parted: dict[tuple[str, Where], None] = {}
        self._healed: list[asyncio.Future[None]] = []
        self._ambushes: list[Ambush] = []

    # -- habits -------------------------------------------------------------------------------------------------

    def delay_ns(self) -> int:
        habits, rng = self.habits, self.rng
        low, high = habits.delay_s
        if habits.slow and rng.random() < habits.slow:
            high = max(high, habits.slow_s)
        return int((low + (high - low) * rng.random()) * 1e9)

    def splits(self) -> bool:
        return bool(self.habits.split) and self.rng.random() < self.habits.split

    def note(self, what: str, who: str = "network") -> None:
        self.timeline.note(self.loop.now_ns - START_NS, who, what)

    def note_delivery(self, connection: Connection, receiver: SimulatedTransport, data: bytes) -> bool:
        """Something arrives; True where it is lost on the last step."""
        self.bytes_delivered += len(data)
        what = f"answer to {connection.asked}"
        if receiver is connection.ends[1]:
            key = int.from_bytes(data[4:6], "big") if len(data) > 8 else -1
            what = _API_NAMES.get(key, "bytes") if int.from_bytes(data[:4], "big") <= len(data) - 4 else "part"
            connection.asked = what
        where = f"{connection.client}>{connection.server[1]}#{connection.number}"
        self.note(f"{what} {len(data)} {zlib.crc32(data):08x}", where)
        lost = False
        for ambush in list(self._ambushes):
            if ambush.what == what:
                ambush.skip -= 1
                if ambush.skip < 0:
                    self._ambushes.remove(ambush)
                    lost = lost or ambush.lost
                    self.loop.call_soon(ambush.act, connection, context=contextvars.Context())
        return lost

    # -- connections --------------------------------------------------------------------------------------------

    async def connect(self, factory: Any, host: str, port: int) -> tuple[SimulatedTransport, Any]:
        process = RUNNING.get(None)
        client, server = process.name if process is not None else "main", (host, port)
        await self._sleep(self.delay_ns())
        while self.is_parted(client, server):
            healed: asyncio.Future[None] = self.loop.create_future()
            self._healed.append(healed)
            await healed
        listener = self._listeners.get(server)
        if listener is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"Connect call failed {server}")
        self._count += 1
        self._next_port += 1
        connection = Connection(self, client, server, self._count)
        own = (f"10.0.0.{1 + zlib.crc32(client.encode()) % 250}", self._next_port)
        near = SimulatedTransport(connection, factory(), process, server, own)
        far = SimulatedTransport(
            connection, _in_context(listener.context, listener.factory), listener.process, own, server
        )
        connection.ends = (near, far)
        near.out, far.out = _Direction(connection, far), _Direction(connection, near)
        near.context = _context_of(process)
        far.context = listener.context
        self._connections[connection] = None
        near.out.last_ns = self.loop.now_ns + self.delay_ns()
        self.loop.call_at(near.out.last_ns / 1e9, _made, far, context=far.context)
        near.protocol.connection_made(near)
        return near, near.protocol

    async def _sleep(self, ns: int) -> None:
        await asyncio.sleep(ns / 1e9)

    def forget(self, end: SimulatedTransport) -> None:
        connection = end._connection
        end._socket.closed = True
        if connection.ends[0].lost and connection.ends[1].lost:
            self._connections.pop(connection, None)

    # -- listeners and descriptors ------------------------------------------------------------------------------

    def reserve(self, address: Where) -> Where:
        host, port = address
        if not port:
            self._next_port += 1
            port = self._next_port
        if (host, port) in self._bound:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        self._bound[host, port] = None
        return host, port

    def listen(self, factory: Any, host: Any, port: Any, sock: Any) -> _Listener:
        address = sock.getsockname() if sock is not None else self.reserve((str(host or "127.0.0.1"), int(port or 0)))
        listener = self._listeners[address] = _Listener(self, factory, address, sock)
        for connection in self._dead.pop(address, ()):  # what its former life had open: unknown to this one
            self._reset(connection.ends[0])
        return listener

    def listener_at(self, address: Where) -> _Listener | None:
        return self._listeners.get(address)

    def stop_listening(self, listener: _Listener) -> None:
        if self._listeners.get(listener.address) is listener:
            del self._listeners[listener.address]
            self._bound.pop(listener.address, None)

    def descriptor_for(self, transport: SimulatedTransport | None) -> SimulatedSocket:
        self._next_descriptor += 1
        found = self._sockets[self._next_descriptor] = SimulatedSocket(self, self._next_descriptor, transport)
        return found

    def open_descriptor(self, descriptor: int) -> SimulatedSocket:
        """``socket.socket(fileno=...)``: another object for the same socket."""
        known = self._sockets.get(descriptor)
        if known is None:
            raise OSError(errno.EBADF, "Bad file descriptor")
        return SimulatedSocket(self, descriptor, known._transport)

    def release(self, descriptor: int, address: Where | None) -> None:
        self._sockets.pop(descriptor, None)
        if address is not None:
            self._bound.pop(address, None)

    def add_writer(self, descriptor: int, callback: Callable[..., Any], args: tuple[Any, ...]) -> None:
        transport = self._sockets[descriptor]._transport
        if transport is not None:
            transport.out.waiting = (descriptor, callback, args)
            transport.out._let_write()

    def remove_writer(self, descriptor: int) -> bool:
        known = self._sockets.get(descriptor)
        if known is None or known._transport is None or known._transport.out.waiting is None:
            return False
        known._transport.out.waiting = None
        return True

    # -- what goes wrong ----------------------------------------------------------------------------------------

    @property
    def connections(self) -> Sequence[Connection]:
        return list(self._connections)

    def is_parted(self, client: str, server: Where) -> bool:
        return bool(self._parted) and ((client, server) in self._parted)

    def lie_in_wait(self, ambush: Ambush) -> None:
        """Have something happen at a message that is still to come."""
        self._ambushes.append(ambush)

    def part(self, client: str, server: Where) -> None:
        """Nothing passes between a client and an address any more; nobody is told."""
        self.note(f"{client} and port {server[1]} are parted")
        self._parted[client, server] = None

    def heal(self) -> None:
        """Everything passes again, what waited arrives, and nobody lies in wait."""
        self._ambushes.clear()
        if not self._parted:
            return
        self.note("the network is whole")
        self._parted.clear()
        healed, self._healed = self._healed, []
        for waiter in healed:
            if not waiter.done():
                waiter.set_result(None)
        for connection in self.connections:
            for end in connection.ends:
                end.out.schedule()

    def cut(self, connection: Connection) -> None:
        """End a connection: of what is under way some arrives or nothing, and each side hears of it in its time."""
        self.note(f"{connection} is cut")
        for end in connection.ends:
            if self.rng.random() < 0.5:
                end.out.drop()
            end.out.gone = True
            at_ns = max(self.loop.now_ns, end.out.last_ns) + self.delay_ns()
            reset = ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
            receiver = end.out.receiver
            self.loop.call_at(at_ns / 1e9, receiver.ends, reset, context=receiver.context)

    def _reset(self, end: SimulatedTransport) -> None:
        reset = ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
        at_ns = self.loop.now_ns + self.delay_ns()
        self.loop.call_at(at_ns / 1e9, end.ends, reset, context=end.context)

    def died(self, process: Process, *, silent: bool) -> None:
        """A process is gone. ``silent``: with its machine, so that peers hear nothing until it is back."""
        for listener in list(self._listeners.values()):
            if listener.process is process:
                self.stop_listening(listener)
        for connection in self.connections:
            for end in connection.ends:
                if end.process is not process:
                    continue
                end.lost = end.closing = True
                other = connection.other(end)
                other.out.gone = True
                other.out.drop()
                if silent:
                    if end is connection.ends[1]:
                        self._dead.setdefault(connection.server, []).append(connection)
                    end.out.drop()
                    end.out.gone = True
                elif not other.lost:
                    end.out.push(_RST, signal=True)
                self.forget(end)


def _made(end: SimulatedTransport) -> None:
    if not end.lost:
        end.protocol.connection_made(end)


def _context_of(process: Process | None) -> Any:
    context = contextvars.copy_context()
    if process is not None:
        context.run(RUNNING.set, process)
    return context


def _in_context(context: Any, work: Callable[[], Any]) -> Any:
    return work() if context is None else context.run(work)


_API_NAMES = {int(key): key.name.title().replace("_", "") for key in ApiKey}

__all__ = ["Ambush", "Connection", "Habits", "Network", "SimulatedSocket", "SimulatedTransport", "Where"]
