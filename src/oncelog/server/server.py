"""The asyncio shell around the broker's core: listener, turns, timers and the flusher.

A turn is one call of the core from outside (bytes arrived, a timer is due, a sync is done). At its end the answers that
it made ready leave, in one system call for each connection where possible, and a sync is arranged if answers wait
for one. All of it runs on the event loop's thread; elsewhere run only background work and ``FlushJob.sync``, unless
that is a small one on a quick disk.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from oncelog.broker.broker import Broker
from oncelog.broker.log_manager import FlushJob
from oncelog.broker.request_memory import STALLED_S
from oncelog.errors import StorageError
from oncelog.metrics.shell import ShellCounts
from oncelog.server.connection import READ_BUFFER_BYTES, Connection
from oncelog.server.connection_limits import ConnectionLimits
from oncelog.server.doors import Door
from oncelog.server.sending import Sending
from oncelog.server.spare_buffers import SpareBuffers
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.metrics.broker_source import BrokerSource
    from oncelog.server.listeners import Address

logger = logging.getLogger(__name__)

QUICK_SYNC_S = 0.001
"""While small syncs take less than this on average, they run on the loop's thread: handing one to another thread and
back costs more, and whoever produces waits for it in any case."""

WATCH_S = 1.0
WATCHED_AT_ONCE = 500
"""Connections of which it is asked at once whether they are idle: with 10,000 it takes 20 s to ask all of them."""
LEAST_STEP_MS = 100
"""A clock that is set by less makes no difference to a timeout."""
MANY_CONNECTIONS = 16
"""From so many on, one turn takes in what is there of all of them."""
SLICE_S = 0.001
"""How long requests that take long are worked on between others' turns."""
GOODBYE_S = 1.0
"""How long a stop waits for peers to take what they were answered."""


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


class WallClock:
    """Tells when the wall clock was set: it then moves otherwise than the monotonic clock."""

    def __init__(
        self,
        wall_ns: Callable[[], int],
        monotonic_ns: Callable[[], int],
    ) -> None:
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns
        self._ahead_ms = self._now_ahead_ms()

    def _now_ahead_ms(self) -> int:
        return (self._wall_ns() - self._monotonic_ns()) // 1_000_000

    def step_ms(self) -> int:
        """How far the wall clock was set since the last call, 0 where it only drifts."""
        ahead_ms = self._now_ahead_ms()
        step_ms = ahead_ms - self._ahead_ms
        if abs(step_ms) < LEAST_STEP_MS:
            return 0
        self._ahead_ms = ahead_ms
        return step_ms


class Worker:
    """One thread that does things in order and reports on the loop's thread; implements ``ports.Background``."""

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self._loop = loop
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], None]) -> None:
        self._queue.put(job)

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        def job() -> None:
            error: Exception | None = None
            try:
                work()
            except Exception as caught:  # noqa: BLE001 - handed to the core, which decides
                error = caught
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(done, error)

        self._queue.put(job)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """Finish what is queued, then end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            job()


class Server:
    """Serves one broker on its listening sockets until ``stop``."""

    def __init__(self, broker: Broker, flusher: Worker, background: Worker, source: BrokerSource | None = None) -> None:
        """:param source: is told when the server begins to serve, and when it stops."""
        self.broker = broker
        self.loop = asyncio.get_running_loop()
        self.max_request_bytes = broker.config.socket_request_max_bytes
        self.memory = broker.request_memory
        self.read_buffer = bytearray(READ_BUFFER_BYTES)
        self.read_view = memoryview(self.read_buffer)
        self.spare_buffers = SpareBuffers()
        self.most_connections = sys.maxsize
        """What the limit of open files leaves for connections."""
        self.counts = ShellCounts()
        self._source = source
        self.metrics_address: Address | None = None
        self.at_end: list[Callable[[], None]] = []
        """Called when nothing is left of the broker."""
        self.ahead_ms = 0
        """How much time has passed here only, for tests (:meth:`pass_time`)."""
        self._wall_clock = WallClock(time.time_ns, time.monotonic_ns)
        self._slicing = False
        self._flusher = flusher
        self._background = background
        self._listeners: dict[Door, asyncio.Server] = {}
        self._doors: list[Door] = []
        self._opening: set[asyncio.Task[None]] = set()
        self._connections: dict[Connection, None] = {}
        self._unwatched: list[Connection] = []
        self.has_many_connections = False
        self._limits = ConnectionLimits(broker)
        self._connection_count = 0
        self._writable: dict[Sending, None] = {}
        self._turn_scheduled = False
        self._flushing = False
        self._flush_scheduled = False
        self._small_sync_s = QUICK_SYNC_S
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms: int | None = None
        self._stopped = False

    def now_ms(self) -> int:
        """The time that the broker goes by: the wall clock's, unless a test has let some pass."""
        return time.time_ns() // 1_000_000 + self.ahead_ms

    async def listen(self, doors: Sequence[Door]) -> None:
        """Accept connections on bound sockets."""
        self._doors = list(doors)
        for door in doors:
            await self._open(door)
        self._watch()
        self.turn_ends()
        if self._source is not None:
            self._source.serves(self, self.loop)

    async def _open(self, door: Door) -> None:
        config = self.broker.config
        door.size_buffers(config.socket_receive_buffer_bytes, config.socket_send_buffer_bytes)
        self._listeners[door] = await self.loop.create_server(partial(self._accept, door), sock=door.sock, backlog=512)

    def open_later(self, door: Door) -> None:
        """Listen at one more door."""
        self._doors.append(door)
        opening = self.loop.create_task(self._open(door))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)

    def shut(self, door: Door, reason: str) -> None:
        """Listen at a door no longer, and end its connections once what they were answered has left."""
        self._doors.remove(door)
        listener = self._listeners.pop(door, None)
        if listener is not None:
            listener.close()
        for connection in list(self._connections):
            if connection.session.listener == door.listener.name:
                connection.close(reason)
        door.close()
        self.turn_ends()

    # --- several nodes

    def leave(self, node_id: int, reason: str) -> None:
        """Close a node's listeners and its connections."""
        for door in self._doors:
            if door.node_id == node_id and door in self._listeners:
                self._listeners.pop(door).close()
        self.cut_connections(node_id, reason)

    async def come_back(self, node_id: int) -> None:
        """Listen for a node again."""
        for door in self._doors:
            if door.node_id == node_id and door not in self._listeners:
                door.bind_again()
                await self._open(door)

    def cut_connections(self, node_id: int, reason: str) -> None:
        for connection in self._connections_to(node_id):
            connection.cut_off(reason)

    def silence(self, node_id: int) -> None:
        """A node's connections stay open, and nothing passes through them any more."""
        for connection in self._connections_to(node_id):
            connection.silence()

    def _connections_to(self, node_id: int) -> list[Connection]:
        return [connection for connection in self._connections if connection.session.node_id == node_id]

    async def stop(self) -> None:
        """Close the listener and all connections, then the broker with everything synced."""
        if self._stopped:
            return
        self._stopped = True
        if self._source is not None:
            self._source.stops()
        for listener in self._listeners.values():
            listener.close()
        if self._timer is not None:
            self._timer.cancel()
        while self._flushing and self._flusher.alive:
            await asyncio.sleep(0.001)
        try:
            self.broker.stop(self.now_ms())
        finally:
            await self._end()

    async def break_off(self) -> None:
        """End as a crash would: nothing is written or synced any more, and nobody is told."""
        self._stopped = True
        if self._source is not None:
            self._source.stops()
        for listener in self._listeners.values():
            listener.close()
        if self._timer is not None:
            self._timer.cancel()
        for connection in list(self._connections):
            connection.cut_off("the broker crashes")
        while self._connections:
            await asyncio.sleep(0.001)
        for door in self._doors:
            door.close()
        self._flusher.stop()
        self._background.stop()
        self.broker.abandon()
        for close in self.at_end:
            close()

    async def _end(self) -> None:
        """Give back what the operating system lent; whatever became of the broker."""
        for connection in list(self._connections):
            connection.close("the broker stops")  # first: writing would go on with requests that wait for answers
            connection.write()
        deadline = self.loop.time() + GOODBYE_S
        while self._connections and self.loop.time() < deadline:
            await asyncio.sleep(0.001)
        for connection in list(self._connections):
            connection.cut_off("it does not read its answers, and the broker stops")
        for door in self._doors:
            door.close()
        self._flusher.stop()
        self._background.stop()
        for close in self.at_end:
            close()

    # --- connections

    def _accept(self, door: Door) -> Connection:
        self._connection_count += 1
        return door.connection(self, self._connection_count)

    def admit(self, connection: Connection) -> str | None:
        """Count a new connection in, and have it wait for its turn; why it is not served, where it is not."""
        self._connections[connection] = None
        self.has_many_connections = len(self._connections) >= MANY_CONNECTIONS
        opened, listener = self.counts.opened, connection.session.listener
        opened[listener] = opened.get(listener, 0) + 1
        if self._stopped:
            return "the broker stops"
        config = self.broker.config
        if len(self._connections) > min(config.max_connections, self.most_connections):
            refusal = "the broker serves as many connections as max.connections, or its file descriptors, allow"
        else:
            refusal = self._limits.refusal(connection.client_host, listener) or ""
        self._limits.opened(connection.client_host, listener)
        if refusal:
            self.broker.security_log.refused_connection(connection.client_host, refusal, self.now_ms())
            return refusal
        cluster, node_id = self.broker.cluster, connection.session.node_id
        if cluster is not None and node_id is not None and not cluster.member(node_id).reachable:
            connection.silence()
        wait_ms = self._limits.wait_ms(connection.client_host, listener, self.now_ms())
        if wait_ms:
            connection.throttle(wait_ms)
        return None

    def forget(self, connection: Connection) -> None:
        if connection in self._connections:
            closed, listener = self.counts.closed, connection.session.listener
            self._limits.closed(connection.client_host, listener)
            closed[listener] = closed.get(listener, 0) + 1
        self._connections.pop(connection, None)
        self.has_many_connections = len(self._connections) >= MANY_CONNECTIONS
        self._writable.pop(connection, None)
        self.broker.disconnected(connection)

    def connected(self) -> Iterable[Connection]:
        """Every connection there is."""
        return list(self._connections)

    def wants_write(self, connection: Sending) -> None:
        """Its answers leave at the end of this turn."""
        self._writable[connection] = None

    def _watch(self) -> None:
        """Once a second: the wall clock, connections that are idle (some of very many), and those that keep memory from
        others."""
        if self._stopped:
            return
        self._mind_the_clock()
        now = self.loop.time()
        idle_ms = self.broker.config.connections_max_idle_ms
        if not self._unwatched:
            self._unwatched = list(self._connections)
        some, self._unwatched = self._unwatched[:WATCHED_AT_ONCE], self._unwatched[WATCHED_AT_ONCE:]
        for connection in some:
            if connection in self._connections and 0 <= idle_ms < 1000 * (now - connection.active_at):
                connection.cut_off(f"idle for longer than connections.max.idle.ms={idle_ms}")
        if self.memory.missing_bytes > 0:
            self._take_back(now - STALLED_S)
        if self.memory.is_short:
            self._make_room(now - STALLED_S)
        self.turn_ends()
        self.loop.call_later(WATCH_S, self._watch)

    def _make_room(self, since: float) -> None:
        """Others wait for memory: end requests of which nothing has come since ``since``, the first one first.

        Those that wait themselves are ended only if all others do so too, and none of them would ever go on, whatever
        memory long requests and answers give back.
        """
        receiving = [connection for connection in self._connections if connection.is_receiving]
        stalled = [connection for connection in receiving if connection.progressed < since]
        silent = [connection for connection in stalled if not self.memory.wanted_bytes(connection)]
        stuck = len(stalled) == len(receiving) and self.memory.is_full_of_requests
        ended = silent or (stalled if stuck else [])
        missing = self.memory.missing_bytes
        for connection in sorted(ended, key=lambda connection: connection.request_begun):
            if missing <= 0:
                return
            missing -= connection.held_bytes + self.memory.wanted_bytes(connection)
            connection.cut_off("its request does not go on while others wait for memory")

    def _take_back(self, since: float) -> None:
        """Memory is short: end connections that have kept a long answer waiting since ``since``, the longest first."""
        keeping = [connection for connection in self._connections if connection.kept_bytes]
        missing = self.memory.missing_bytes
        for connection in sorted(keeping, key=lambda connection: -connection.kept_bytes):
            if missing > 0 and connection.kept_since < since:
                missing -= connection.kept_bytes
                connection.cut_off("it does not take its answer while others wait for memory")

    # --- turns

    def received(self) -> None:
        """A connection's bytes were looked at: with few connections its turn ends now, with many that of all of them
        once each has been read: what is sent in a row wakes its receivers less often, and is looked after once."""
        if not self.has_many_connections:
            self.turn_ends()
        elif not self._turn_scheduled:
            self._turn_scheduled = True
            self.loop.call_soon(self._common_turn_ends)

    def _common_turn_ends(self) -> None:
        self._turn_scheduled = False
        self.turn_ends()

    def turn_ends(self) -> None:
        """Take in what was gathered, send what is ready, arrange a sync and the next wake-up."""
        gathered, writable = self.broker.gathered, self._writable
        if gathered:
            self.broker.settle(self.now_ms())
        while writable:
            connection, _ = writable.popitem()
            connection.write()
            if gathered and not writable:  # requests that waited for their connection's answers
                self.broker.settle(self.now_ms())
        if self.broker.flushing.wanted and not self._flushing and not self._flush_scheduled:
            # After this iteration of the loop, so that what other connections sent meanwhile shares the sync.
            self._flush_scheduled = True
            self.loop.call_soon(self._flush)
        if self.broker.slices and not self._slicing:
            self._slicing = True
            self.loop.call_soon(self._slice)
        wakeup = self.broker.next_wakeup_ms()
        if wakeup is not None and (self._timer_ms is None or wakeup < self._timer_ms):
            if self._timer is not None:
                self._timer.cancel()
            self._timer_ms = wakeup
            self._timer = self.loop.call_later(max(0, wakeup - self.now_ms()) / 1000, self._wake)

    def _slice(self) -> None:
        """Go on with requests that take long, for a moment; what else came meanwhile has its turn before the next."""
        self._slicing = False
        self.broker.settle(self.now_ms())  # what was gathered came before what is changed now
        slices, end = self.broker.slices, time.perf_counter() + SLICE_S
        while slices and not self._stopped:
            slices.step()
            if time.perf_counter() >= end:
                break
        self.turn_ends()

    def pass_time(self, ms: int) -> None:
        """Let time pass at once, for the broker alone: whatever was to happen meanwhile happens now, in its order."""
        until_ms = self.now_ms() + ms
        while (due_ms := self.broker.next_wakeup_ms()) is not None and due_ms <= until_ms:
            self.ahead_ms += max(0, due_ms - self.now_ms())
            self.broker.advance(max(due_ms, self.now_ms()))
        self.ahead_ms += max(0, until_ms - self.now_ms())
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._timer_ms = None
        self.turn_ends()

    def _mind_the_clock(self) -> None:
        """Timers last as long as they were meant to, whatever becomes of the wall clock."""
        step_ms = self._wall_clock.step_ms()
        if step_ms:
            logger.warning("the wall clock was set %+d ms; timeouts go on as they were", step_ms)
            self.broker.clock_was_set(step_ms)
            self._limits.clock_was_set(step_ms)
            for connection in self._connections:
                if connection.session.gate is not None:
                    connection.session.gate.clock_was_set(step_ms)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._timer_ms = None

    def _wake(self) -> None:
        self._timer = self._timer_ms = None
        self._mind_the_clock()
        self.broker.advance(self.now_ms())
        self.turn_ends()

    def _flush(self) -> None:
        self._flush_scheduled = False
        if self._flushing or self._stopped:
            return
        job = self.broker.flushing.take(self.now_ms())
        if job is None:
            return
        if self._small_sync_s < QUICK_SYNC_S and job.is_small:
            begin = time.perf_counter()
            failures = job.sync()
            self._synced(job, failures, time.perf_counter() - begin)
            return
        self._flushing = True
        self._flusher.submit(lambda: self._sync(job))

    def _sync(self, job: FlushJob) -> None:
        begin = time.perf_counter()
        failures = job.sync()
        self.loop.call_soon_threadsafe(self._synced, job, failures, time.perf_counter() - begin)

    def _synced(self, job: FlushJob, failures: dict[TopicPartition, StorageError], seconds: float) -> None:
        self._flushing = False
        self.counts.flushes.record(int(seconds * 1e9))
        self.counts.flush_failures += len(failures)
        if job.is_small:
            self._small_sync_s += (min(seconds, 4 * QUICK_SYNC_S) - self._small_sync_s) / 8
        self.broker.flushing.done(job, failures, self.now_ms())
        self.turn_ends()
