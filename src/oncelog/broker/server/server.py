"""The asyncio server around the broker's core: listeners, connections, iterations and timers.

An iteration is one round of the event loop: bytes have arrived for some connections, a timer is due, or a sync is done.
At its end the answers that have become ready are sent, with one system call for each connection if possible, and a sync
is arranged if answers wait for one (``syncing``). Everything runs on the event loop's thread, except background work
and syncs of the log, unless these are small and the disk is fast.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from oncelog.broker.core.broker import Broker
from oncelog.broker.core.limits.request_memory import STALLED_S
from oncelog.broker.metrics.shell import ShellCounts
from oncelog.broker.server.connections.connection import READ_BUFFER_BYTES, Connection
from oncelog.broker.server.connections.connection_limits import ConnectionLimits
from oncelog.broker.server.connections.sending import Sending
from oncelog.broker.server.connections.spare_buffers import SpareBuffers
from oncelog.broker.server.disk.syncing import Syncing
from oncelog.broker.server.listeners.acceptors import Acceptor
from oncelog.broker.server.process.clock import WallClock
from oncelog.broker.server.process.workers import BackgroundWorker, Worker
from oncelog.runtime import forks, real_time
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.listening import close_servers

if TYPE_CHECKING:
    from oncelog.broker.metrics.broker_source import BrokerSource
    from oncelog.broker.server.listener_settings import Address

logger = logging.getLogger(__name__)

WATCH_S = 1.0
WATCHED_AT_ONCE = 500
"""The number of connections checked for idleness in one second: with 10,000 connections a check of all of them takes 20
s."""
TASKS_S = 0.00025
"""The time in seconds that the event loop works on long requests before it lets other callbacks run."""
CHECKS_S = 5.0
"""The time in seconds that a stop waits for batches being validated on another thread, and for requests that take
long."""
GOODBYE_S = 1.0
"""The time in seconds that a stop waits for peers to receive their answers."""


class Server:
    """Serves one broker on its listening sockets until ``stop``."""

    def __init__(
        self,
        broker: Broker,
        clock: WallClock,
        flushers: Sequence[Worker],
        background: Worker,
        checker: Worker,
        source: BrokerSource | None = None,
    ) -> None:
        """:param flushers: the threads that sync the log together.
        :param checker: the thread that validates batches that take long.
        :param clock: the clock with which the broker was started.
        :param source: notified when the server begins to serve, and when it stops.
        """
        self.broker = broker
        self.loop = asyncio.get_running_loop()
        self.max_request_bytes = broker.config.socket_request_max_bytes
        self.memory = broker.request_memory
        self.read_buffer = bytearray(READ_BUFFER_BYTES)
        self.read_view = memoryview(self.read_buffer)
        self.spare_buffers = SpareBuffers()
        self.max_connections = sys.maxsize
        """The number of connections that the limit of file descriptors allows."""
        self.counts = ShellCounts()
        self._source = source
        self.metrics_address: Address | None = None
        self.at_end: list[Callable[[], None]] = []
        """Functions to call when all resources of the broker have been released."""
        self.ahead_ms = 0
        """The time in ms that tests have let pass, only for this broker (:meth:`pass_time`)."""
        self._clock = clock
        clock.was_set.append(self._clock_was_set)
        self._tasks_scheduled = False
        broker.tasks.wanted = self._run_tasks_soon
        broker.tasks.worked_at_once = partial(self.loop.call_soon, broker.tasks.new_round)
        self._syncing = Syncing(self, flushers)
        self._background = background
        self._checking = BackgroundWorker(checker, self.background_done)
        # with several nodes batches are validated at once, because each iteration serves one node
        if broker.cluster is None:
            broker.validation_thread.worker = self._checking
        self._listeners: dict[Acceptor, asyncio.Server] = {}
        self._acceptors: list[Acceptor] = []
        self._opening: set[asyncio.Task[None]] = set()
        self._connections: dict[Connection, None] = {}
        self._unwatched: list[Connection] = []
        several = broker.cluster.node_ids if broker.cluster is not None else (None,)
        self._limits = {node_id: ConnectionLimits(broker, node_id) for node_id in several}
        self._connection_count = 0
        self.writable: dict[Sending, None] = {}
        """Connections whose answers are sent at the end of this iteration, the last one first."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms: int | None = None
        self.ends_soon = False
        """Whether a callback for the end of this iteration has been scheduled."""
        self.iteration_ms = 0
        """The time in ms that the first connection of this iteration that received bytes has read; 0 if none has."""
        self.is_stopping = self._over = False
        """``_over``: the broker has stopped, and nothing is reported to it any more."""

    def now_ms(self) -> int:
        """The broker's time in ms: that of the wall clock, plus the time that a test has let pass.

        If the wall clock was set, deadlines have been moved when this returns; times read before are out of date.
        """
        return self._clock.now_ms() + self.ahead_ms

    async def listen(self, acceptors: Sequence[Acceptor]) -> None:
        """Accept connections on the bound sockets of ``acceptors``."""
        self._acceptors = list(acceptors)
        for acceptor in acceptors:
            await self._open(acceptor)
        self._watch()
        self.end_iteration_soon()
        forks.let_go_in_children(self)
        if self._source is not None:
            self._source.serves(self, self.loop)

    def descriptors(self) -> list[int]:
        """The descriptors of all sockets, for a forked child process."""
        listening = [acceptor.sock.fileno() for acceptor in self._acceptors]
        return listening + [number for connection in self._connections for number in connection.descriptors()]

    async def _open(self, acceptor: Acceptor) -> None:
        config = self.broker.config
        acceptor.size_buffers(config.socket_receive_buffer_bytes, config.socket_send_buffer_bytes)
        listener = await self.loop.create_server(partial(self._accept, acceptor), sock=acceptor.sock, backlog=512)
        if acceptor in self._acceptors:
            self._listeners[acceptor] = listener
            self.counts.opened.setdefault(acceptor.listener.name, 0)
        else:  # the connection was closed meanwhile
            listener.close()

    def open_later(self, acceptor: Acceptor) -> None:
        """Listen on a further acceptor, as soon as possible."""
        self._acceptors.append(acceptor)
        opening = self.loop.create_task(self._open(acceptor))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)

    def shut(self, acceptor: Acceptor, reason: str) -> None:
        """Close an acceptor, and its connections once their answers have been sent."""
        self._acceptors.remove(acceptor)
        listener = self._listeners.pop(acceptor, None)
        if listener is not None:
            _refuse(acceptor, listener)
        for connection in list(self._connections):
            if connection.session.listener == acceptor.listener.name:
                connection.close(reason)
        acceptor.close()
        self.end_iteration_soon()

    # --- several nodes

    def leave(self, node_id: int, reason: str) -> None:
        """Close a node's listeners and its connections."""
        for acceptor in self._acceptors:
            if acceptor.node_id == node_id and acceptor in self._listeners:
                _refuse(acceptor, self._listeners.pop(acceptor))
        self.cut_connections(node_id, reason)

    async def come_back(self, node_id: int) -> None:
        """Listen on a node's addresses again."""
        for acceptor in self._acceptors:
            if acceptor.node_id == node_id and acceptor not in self._listeners:
                acceptor.bind_again()
                await self._open(acceptor)

    def cut_connections(self, node_id: int, reason: str) -> None:
        for connection in self._connections_to(node_id):
            connection.cut_off(reason)

    def silence(self, node_id: int) -> None:
        """Keep a node's connections open, but receive and send nothing on them."""
        for connection in self._connections_to(node_id):
            connection.silence()

    def _connections_to(self, node_id: int) -> list[Connection]:
        return [connection for connection in self._connections if connection.session.node_id == node_id]

    async def stop(self) -> None:
        """Close listeners and connections, and then the broker, with everything synced."""
        if self.is_stopping:
            return
        self.is_stopping = True
        if self._source is not None:
            self._source.stops()
        if self._opening:
            await asyncio.wait(self._opening)
        await close_servers(self._listeners.values())
        for connection in self._connections:
            connection.read_no_more()  # stops reading requests, so that no more work begins
        broker, deadline = self.broker, self.loop.time() + CHECKS_S
        while (
            self._syncing.under_way
            or self.ends_soon
            or (
                self.loop.time() < deadline
                and (broker.tasks or broker.logs.checkpoints.is_writing or self._checking.is_coming)
            )
        ):
            await asyncio.sleep(0.001)
        self._over = True
        # changed only if no validation runs: a batch must not overtake one that is being validated
        if not self._checking.under_way:
            # without a worker, batches are validated in the iteration that receives them
            broker.validation_thread.worker = None
        try:
            self.broker.stop(self.now_ms())
        finally:
            await self._end()

    async def break_off(self) -> None:
        """End as in a crash: no further data are written or synced, and no answer is sent."""
        self.is_stopping = self._over = True
        if self._source is not None:
            self._source.stops()
        await close_servers(self._listeners.values())
        for connection in list(self._connections):
            connection.cut_off("the broker crashes")
        while self._connections:
            await asyncio.sleep(0.001)
        self._release()
        self.broker.abandon()
        for close in self.at_end:
            close()

    async def _end(self) -> None:
        """Close connections and release the operating system's resources, even if the broker failed."""
        for connection in list(self._connections):
            # closed before write(): an open connection would continue its waiting requests
            connection.close("the broker stops")
            connection.write()
        deadline = self.loop.time() + GOODBYE_S
        while self._connections and self.loop.time() < deadline:
            await asyncio.sleep(0.001)
        for connection in list(self._connections):
            connection.cut_off("the client does not read its answers, and the broker stops")
        self._release()
        for close in self.at_end:
            close()

    def _release(self) -> None:
        for acceptor in self._acceptors:
            acceptor.close()
        self._syncing.stop()
        self._background.stop()
        self._checking.end()

    # --- connections

    def _accept(self, acceptor: Acceptor) -> Connection:
        self._connection_count += 1
        return acceptor.connection(self, self._connection_count)

    def admit(self, connection: Connection) -> str | None:
        """Count a new connection, which may have to wait; returns the reason if the connection is refused, else
        None."""
        self._connections[connection] = None
        listener = connection.session.listener
        self.counts.opened[listener] += 1
        if self.is_stopping:
            return "the broker stops"
        limits = self._limits_of(connection)
        if len(self._connections) > self.max_connections:
            refusal = "the broker serves as many connections as its file descriptors allow"
        else:
            refusal = limits.refusal(connection.client_host, listener, self.now_ms()) or ""
        limits.opened(connection.client_host, listener)
        if refusal:
            self.broker.security_log.refused_connection(connection.client_host, refusal, self.now_ms())
            return refusal
        cluster, node_id = self.broker.cluster, connection.session.node_id
        if cluster is not None and node_id is not None and not cluster.member(node_id).reachable:
            connection.silence()
        wait_ms = limits.wait_ms(connection.client_host, listener, self.now_ms())
        if wait_ms:
            connection.throttle(wait_ms)
        return None

    def _limits_of(self, connection: Connection) -> ConnectionLimits:
        return self._limits[connection.session.node_id if self.broker.cluster is not None else None]

    def forget(self, connection: Connection) -> None:
        if connection in self._connections:
            self._limits_of(connection).closed(connection.client_host, connection.session.listener)
            self.counts.closed[connection.session.listener] += 1
        self._connections.pop(connection, None)
        self.writable.pop(connection, None)
        self.broker.disconnected(connection)

    def connected(self) -> Iterable[Connection]:
        """All current connections."""
        return list(self._connections)

    def _watch(self) -> None:
        """Called once per second: close connections that are idle (of many connections only some are checked) or take
        memory that others need."""
        if self.is_stopping:
            return
        # scheduled first, so that it runs again even if the rest of this call fails
        self.loop.call_later(WATCH_S, self._watch)
        now = self.loop.time()
        idle_ms = self.broker.config.connections_max_idle_ms
        if not self._unwatched:
            self._unwatched = list(self._connections)
        some, self._unwatched = self._unwatched[:WATCHED_AT_ONCE], self._unwatched[WATCHED_AT_ONCE:]
        for connection in some:
            if connection in self._connections and 0 <= idle_ms < 1000 * (now - connection.active_at):
                connection.cut_off(f"idle for longer than connections.max.idle.ms={idle_ms}")
        if self.memory.missing_bytes > 0:
            self._cut_slow_readers(now - STALLED_S)
        if self.memory.waiting:
            self._cut_stalled_requests(now - STALLED_S)
        self.end_iteration_soon()

    def _cut_stalled_requests(self, since: float) -> None:
        """Release memory for which others wait: close connections whose request has made no progress since ``since``,
        the oldest first.

        Connections that wait for memory themselves are closed only if all connections that receive a request do, and
        none could continue whatever memory long requests and answers release.
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
            connection.cut_off("the client's request makes no progress while other requests wait for memory")

    def _cut_slow_readers(self, since: float) -> None:
        """Release memory for which others wait: close connections that have not read a long answer since ``since``,
        those with the longest answers first."""
        keeping = [connection for connection in self._connections if connection.kept_bytes]
        missing = self.memory.missing_bytes
        for connection in sorted(keeping, key=lambda connection: -connection.kept_bytes):
            if missing > 0 and connection.kept_since < since:
                missing -= connection.kept_bytes
                connection.cut_off("the client does not read its answer while other requests wait for memory")

    # --- iterations

    def end_iteration_soon(self) -> None:
        """Called when a connection has handled its received bytes: end the iteration once all other connections with
        received bytes, which the loop calls one after the other, have done so.

        Waking a sleeping peer takes longer than many requests; a peer that gets all of its answers at once is woken
        only once.
        """
        if len(self._connections) < 2:
            self._end_iteration()
        elif not self.ends_soon:
            self.ends_soon = True
            self.loop.call_soon(self._end_iteration)

    def _end_iteration(self) -> None:
        """Send the answers that are ready; schedule a sync and the next wake-up."""
        self.ends_soon = False
        writable = self.writable
        while writable:
            connection, _ = writable.popitem()
            connection.write()
        # this comes last, because a connection whose answers were sent may continue with its requests
        self.iteration_ms = 0
        if self.broker.flushing.wanted:
            self._syncing.iteration_ends()
        if self.broker.tasks:
            self._run_tasks_soon()
        timer_ms = self._timer_ms
        if timer_ms is None or ((wakeup := self.broker.next_wakeup_ms()) is not None and wakeup < timer_ms):
            self._wake_up_later()

    def _wake_up_later(self) -> None:
        now_ms, wakeup = self.now_ms(), self.broker.next_wakeup_ms()  # in this order
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_ms = wakeup
        if wakeup is not None and not self._over:
            self._timer = self.loop.call_later(max(0, wakeup - now_ms) / 1000, self._wake)

    def _run_tasks_soon(self) -> None:
        if not self._tasks_scheduled:
            self._tasks_scheduled = True
            self.loop.call_soon(self._run_tasks)

    def _run_tasks(self) -> None:
        """Continue long requests for a short time; all other events that have arrived are handled before the next such
        time."""
        self._tasks_scheduled = False
        if self._over:
            return
        self.broker.now_ms = self.now_ms()
        tasks, end = self.broker.tasks, real_time.perf_counter() + TASKS_S
        while tasks:
            tasks.step()
            if real_time.perf_counter() >= end:
                break
        self.end_iteration_soon()

    def pass_time(self, ms: int) -> None:
        """Let time pass at once, only for the broker: everything due within this time happens now, in order."""
        now_ms = self.now_ms()
        until_ms = now_ms + ms
        broker = self.broker
        broker.advance(now_ms)
        broker.skip_idle(now_ms, until_ms)
        while (due_ms := broker.next_wakeup_ms()) is not None and due_ms <= until_ms:
            self.ahead_ms += max(0, due_ms - now_ms)
            now_ms = max(due_ms, now_ms)
            broker.advance(now_ms)
            while broker.tasks:  # work in chunks is completed before the next event
                broker.tasks.step()
            broker.skip_idle(now_ms, until_ms)
        self.ahead_ms += until_ms - now_ms
        self.iteration_ms = 0
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._timer_ms = None
        self.end_iteration_soon()

    def _clock_was_set(self, step_ms: int) -> None:
        """Called when the wall clock was set: move deadlines, so that timers keep their durations."""
        logger.warning("the wall clock was set by %+d ms; timeouts keep their durations", step_ms)
        self.iteration_ms = 0
        for limits in self._limits.values():
            limits.clock_was_set(step_ms)
        for connection in self._connections:
            if connection.session.authenticator is not None:
                connection.session.authenticator.clock_was_set(step_ms)
        if self._timer_ms is not None:
            self._timer_ms += step_ms  # the loop's own timer uses the monotonic clock

    def background_done(self, done: Callable[[Exception | None], None], error: Exception | None) -> None:
        """Called when background work for which an answer waits is done; once the broker has stopped, nothing is
        answered."""
        if self._over:
            return
        self.broker.now_ms = self.now_ms()
        done(error)
        self.end_iteration_soon()

    def _wake(self) -> None:
        if self._over:
            return
        self._timer = self._timer_ms = None
        end = real_time.perf_counter() + TASKS_S
        self.broker.advance(self.now_ms(), lambda: real_time.perf_counter() >= end)
        self.end_iteration_soon()


def _refuse(acceptor: Acceptor, listener: asyncio.Server) -> None:
    """Stop accepting connections at an acceptor."""
    forks.end(acceptor.sock.fileno())
    listener.close()
