"""The network of a simulation: its listeners, and connections that have delays, stall, split data and can be cut.

Data arrives after a delay that the seed decides, sometimes in chunks. A partitioned network delivers nothing until it
is healed. A connection that is cut may lose data in flight, and each peer is notified at its own time.
"""

from __future__ import annotations

import contextvars
import errno
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from oncelog.protocol.api_keys import ApiKey
from oncelog.runtime import real_asyncio as asyncio
from oncelog.testing.simulation.connections import (
    RST,
    Direction,
    SimulatedConnection,
    SimulatedSocket,
    SimulatedTransport,
    Where,
)
from oncelog.testing.simulation.loop import RUNNING, START_NS, ProcessLife, SimulatedLoop

if TYPE_CHECKING:
    import random

    from oncelog.testing.simulation.timeline import Timeline

FIRST_DESCRIPTOR = 1_000_000
"""The first descriptor of simulated sockets, higher than any real one."""
FIRST_PORT = 40_000
WINDOW_BYTES = 256 * 1024


class NetworkModel:
    """How the network behaves when nothing is broken.

    :param delay_s: the shortest and longest time that a message takes.
    :param slow: the probability that a message takes up to ``slow_s`` instead.
    :param split: the probability that a message arrives in two chunks.
    :param window_bytes: how many bytes may be in flight in one direction before the sender has to wait.
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


class MessageTrigger:
    """An action at the arrival of a certain message: the first one of its kind after ``skip`` others.

    :param what: an API's name, or ``answer to NAME``.
    :param act: called with the connection.
    :param lost: whether the message itself does not arrive, because ``act`` cuts its connection.
    """

    __slots__ = ("act", "lost", "skip", "what")

    def __init__(self, what: str, skip: int, act: Callable[[SimulatedConnection], None], *, lost: bool = False) -> None:
        self.what = what
        self.skip = skip
        self.act = act
        self.lost = lost


class _Listener:
    """A listening server, which ``create_server`` returns."""

    def __init__(self, network: SimulatedNetwork, factory: Any, address: Where, sock: SimulatedSocket | None) -> None:
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
        """Return at once, because closing takes no time."""


class SimulatedNetwork:
    """All connections and listeners of a simulation.

    :param rng: decides on delays and chunks.
    """

    def __init__(self, loop: SimulatedLoop, rng: random.Random, timeline: Timeline, model: NetworkModel) -> None:
        self.loop = loop
        self.rng = rng
        self.timeline = timeline
        self.model = model
        self._listeners: dict[Where, _Listener] = {}
        self._bound: dict[Where, None] = {}
        self._connections: dict[SimulatedConnection, None] = {}
        self._dead: dict[Where, list[SimulatedConnection]] = {}
        self._sockets: dict[int, SimulatedSocket] = {}
        self._next_descriptor = FIRST_DESCRIPTOR
        self._next_port = FIRST_PORT
        self._count = 0
        self._parted: dict[tuple[str, Where], None] = {}
        self._healed: list[asyncio.Future[None]] = []
        self._triggers: list[MessageTrigger] = []

    # --- delays

    @property
    def window_bytes(self) -> int:
        return self.model.window_bytes

    def delay_ns(self) -> int:
        model, rng = self.model, self.rng
        low, high = model.delay_s
        if model.slow and rng.random() < model.slow:
            high = max(high, model.slow_s)
        return int((low + (high - low) * rng.random()) * 1e9)

    def splits(self) -> bool:
        return bool(self.model.split) and self.rng.random() < self.model.split

    def note(self, what: str, who: str = "network") -> None:
        self.timeline.note(self.loop.now_ns - START_NS, who, what)

    def note_delivery(self, connection: SimulatedConnection, receiver: SimulatedTransport, data: bytes) -> bool:
        """Add an arriving message to the timeline and run its triggers; returns True if the message is lost."""
        what = f"answer to {connection.asked}"
        if receiver is connection.ends[1]:
            key = int.from_bytes(data[4:6], "big") if len(data) > 8 else -1
            what = _API_NAMES.get(key, "bytes") if int.from_bytes(data[:4], "big") <= len(data) - 4 else "part"
            connection.asked = what
        where = f"{connection.client}>{connection.server[1]}#{connection.number}"
        self.note(f"{what} {len(data)} {zlib.crc32(data):08x}", where)
        lost = False
        for trigger in list(self._triggers):
            if trigger.what == what:
                trigger.skip -= 1
                if trigger.skip < 0:
                    self._triggers.remove(trigger)
                    lost = lost or trigger.lost
                    self.loop.call_soon(trigger.act, connection, context=contextvars.Context())
        return lost

    # --- connections

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
        connection = SimulatedConnection(self, client, server, self._count)
        own = (f"10.0.0.{1 + zlib.crc32(client.encode()) % 250}", self._next_port)
        near = SimulatedTransport(connection, factory(), process, server, own)
        far = SimulatedTransport(
            connection, _in_context(listener.context, listener.factory), listener.process, own, server
        )
        connection.ends = (near, far)
        near.out, far.out = Direction(connection, far), Direction(connection, near)
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

    # --- listeners and descriptors

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
        # clients learn that connections from before the node's restart are gone
        for connection in self._dead.pop(address, ()):
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
        """Another object for the socket with this descriptor, for ``socket.socket(fileno=...)``."""
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

    # --- what goes wrong

    @property
    def connections(self) -> Sequence[SimulatedConnection]:
        return list(self._connections)

    def is_parted(self, client: str, server: Where) -> bool:
        return bool(self._parted) and ((client, server) in self._parted)

    def add_trigger(self, trigger: MessageTrigger) -> None:
        """Add a trigger for a message that has not arrived yet."""
        self._triggers.append(trigger)

    def part(self, client: str, server: Where) -> None:
        """Deliver nothing between a client and an address from now on; neither of them is notified."""
        self.note(f"{client} and port {server[1]} are cut off from each other")
        self._parted[client, server] = None

    def heal(self) -> None:
        """Deliver everything again, including the data that waited, and remove all triggers."""
        self._triggers.clear()
        if not self._parted:
            return
        self.note("the network is healed")
        self._parted.clear()
        healed, self._healed = self._healed, []
        for waiter in healed:
            if not waiter.done():
                waiter.set_result(None)
        for connection in self.connections:
            for end in connection.ends:
                end.out.schedule()

    def cut(self, connection: SimulatedConnection) -> None:
        """Cut a connection: data in flight arrives or is lost, and each peer is notified at its own time."""
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

    def died(self, process: ProcessLife, *, silent: bool) -> None:
        """End all connections and listeners of a dead process.

        :param silent: whether its machine died, too, so that peers are not notified before the machine is back.
        """
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
                    end.out.push(RST, signal=True)
                self.forget(end)


def _made(end: SimulatedTransport) -> None:
    if not end.lost:
        end.protocol.connection_made(end)


def _context_of(process: ProcessLife | None) -> Any:
    context = contextvars.copy_context()
    if process is not None:
        context.run(RUNNING.set, process)
    return context


def _in_context(context: Any, work: Callable[[], Any]) -> Any:
    return work() if context is None else context.run(work)


_API_NAMES = {int(key): key.name.title().replace("_", "") for key in ApiKey}

__all__ = ["MessageTrigger", "NetworkModel", "SimulatedNetwork"]
