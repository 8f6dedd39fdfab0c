"""Connections to the brokers on asyncio: the client cores' :class:`~oncelog.client.core.connection.wire.Wire`.

Called by the cluster (``client.aio.connection.cluster_access``) and the cores. There is one connection for each node
and channel, and requests on it are answered in order. Every request is answered within ``request.timeout.ms`` of being
sent or queued; a connection whose oldest answer is overdue is given up, all its requests fail, and the cores decide
which to repeat. ``Network`` also runs the cores' timers.
"""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from oncelog.client.aio.connection.connection import NEVER_MS, BrokerConnection, Request
from oncelog.client.aio.connection.wait_reports import waiting
from oncelog.client.core.backoff import backoff_ms
from oncelog.client.core.client_errors import KafkaConnectionError, error_for
from oncelog.client.core.config import ClientConfig
from oncelog.client.core.connection.wire import NO_LIMIT, Answer, Api, Build, OnAnswer, RequestFailure
from oncelog.client.core.metrics import NetworkMetrics, SampleTime
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.api_versions_response import ApiVersionsResponse
from oncelog.protocol.wire import Message
from oncelog.runtime import forks, real_time
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.chance import random
from oncelog.runtime.timers import Timer, Timers

if TYPE_CHECKING:
    from oncelog.client.aio.connection.tokens import Tokens

log = logging.getLogger(__name__)

_WATCH_SECONDS = 0.5
BOOTSTRAP_TIMEOUT_SECONDS = 1.0
"""If a bootstrap server is silent for this long, the next one is tried as well."""
_CLOSED = "the client was closed"


class Network:
    """All connections of one client, and its timers. Belongs to the event loop that it was started on."""

    def __init__(self, config: ClientConfig, tls: ssl.SSLContext | None = None) -> None:
        self.config = config
        self.metrics = NetworkMetrics(self.now_ms())
        self._ssl_context = tls or _tls_of(config)
        self._tokens: Tokens | None = None
        self.timers: Timers = _LoopTimers(self)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._addresses: dict[int, tuple[str, int]] = {}
        for index, address in enumerate(config.bootstrap_servers):
            host, _, port = address.rpartition(":")
            self._addresses[-1 - index] = (host.strip("[]"), int(port))
        self._bootstrap = list(self._addresses)
        self._connections: dict[tuple[int, int], BrokerConnection] = {}
        self._waiting: dict[tuple[int, int], list[Request]] = {}
        """Requests by node and channel that wait until the backoff allows another connection attempt."""
        self._failures: dict[tuple[int, int], int] = {}
        self._not_before: dict[tuple[int, int], int] = {}
        self._why: dict[str, str] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._observers: list[Callable[[], None]] = []
        self._loss_observers: list[Callable[[], None]] = []
        self._refused: KafkaError | None = None
        self._features_epoch = -2
        self._transaction_version = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ms = NEVER_MS
        self._watch: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def tokens(self) -> Tokens:
        """The client's tokens for OAUTHBEARER."""
        # Imported here, because it imports an HTTP client that only OAUTHBEARER needs.
        from oncelog.client.aio.connection.tokens import Tokens

        if self._tokens is None:
            self._tokens = Tokens(self.config)
        return self._tokens

    # --- life

    def descriptors(self) -> list[int]:
        """The descriptors of all sockets, for a forked child."""
        return [connection.descriptor() for connection in self._connections.values()]

    async def start(self) -> None:
        """Connect to one of the bootstrap servers.

        :raises KafkaConnectionError: none can be reached; the text says why for each.
        """
        limit_ms = max(self.config.socket_connection_setup_timeout_ms, self.config.request_timeout_ms)
        with waiting(self.config.bootstrap_servers, "the opening of the connection", limit_ms / 1000):
            await self._start()

    async def _start(self) -> None:
        self._loop = asyncio.get_running_loop()
        real_time.keep_real(self._loop)
        forks.let_go_in_children(self)
        self._watch = self._loop.call_later(_WATCH_SECONDS, self._look_after_connections)
        order = self._bootstrap[:]
        random.shuffle(order)
        opening: dict[asyncio.Task[None], BrokerConnection] = {}
        while opening or order:
            if order:
                connection, task = self._connect(order.pop(), 0)
                opening[task] = connection
            timeout = BOOTSTRAP_TIMEOUT_SECONDS if order else None
            done, _ = await asyncio.wait(opening, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if any(opening.pop(task).ready for task in done):
                return
            if self._refused is not None:
                raise self._refused
        reasons = "; ".join(self._why.values())
        raise KafkaConnectionError(
            f"no broker could be reached ({reasons}); check bootstrap.servers="
            f"{','.join(self.config.bootstrap_servers)} and that the broker is running"
        )

    async def close(self) -> None:
        """Close every connection; requests that wait for an answer fail."""
        self._closed = True
        if self._watch is not None:
            self._watch.cancel()
        if self._alarm is not None:
            self._alarm.cancel()
        try:
            await asyncio.gather(*(item.read_out() for item in self._connections.values() if item.unheard))
        finally:
            self._give_up_all()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await asyncio.sleep(0)

    def _give_up_all(self) -> None:
        for connection in list(self._connections.values()):
            connection.give_up(Error.NETWORK_EXCEPTION, _CLOSED)
        for key in list(self._waiting):
            self._waited(key)

    def observe(self, callback: Callable[[], None]) -> None:
        """Call back whenever a connection is made or lost."""
        self._observers.append(callback)

    def observe_losses(self, callback: Callable[[], None]) -> None:
        """Call back when a connection ended or could not be made: its partitions may have another leader now."""
        self._loss_observers.append(callback)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise RuntimeError("the client was not started")
        return self._loop

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.loop.call_soon(callback)

    def moment(self) -> SampleTime:
        """The time at which metrics are read: now."""
        return self.metrics.moment(self.now_ms(), sum(item.ready for item in self._connections.values()))

    # --- Wire

    def now_ms(self) -> int:
        return int(real_time.monotonic() * 1000)

    def ready(self, node: int) -> bool:
        connection = self._connections.get((node, 0))
        if connection is not None:
            return connection.ready
        self._connect_later(node, 0)
        return False

    def any_node(self) -> int:
        """The connected node with the fewest requests; otherwise a node to which a connection may be tried now, known
        nodes before bootstrap servers.
        """
        ready = [c for (_, channel), c in self._connections.items() if c.ready and not channel and c.node >= 0]
        ready = ready or [c for (_, channel), c in self._connections.items() if c.ready and not channel]
        if ready:
            return min(ready, key=lambda item: item.load).node
        now_ms = self.now_ms()
        nodes = sorted(self._addresses, key=lambda node: (self._not_before.get((node, 0), 0) > now_ms, node < 0))
        return nodes[0]

    def learn(self, node: int, host: str, port: int) -> None:
        if self._addresses.get(node) == (host, port):
            return
        self._addresses[node] = (host, port)
        for channel in (0, 1):
            connection = self._connections.get((node, channel))
            if connection is not None:
                connection.give_up(Error.NETWORK_EXCEPTION, f"node {node} has moved to {host}:{port}")

    def version(self, node: int, api: Api, highest: int = NO_LIMIT) -> int | None:
        connection = self._connections.get((node, 0)) or self._connections.get((node, 1))
        return connection.version(api, highest) if connection is not None and connection.ready else None

    def transaction_version(self) -> int:
        return self._transaction_version

    def send(
        self,
        node: int,
        api: Api,
        message: Message | Build,
        on_answer: OnAnswer,
        *,
        timeout_ms: int | None = None,
        highest: int = NO_LIMIT,
        expect_answer: bool = True,
        channel: int = 0,
    ) -> None:
        self._send(node, channel, self._request(api, message, on_answer, timeout_ms, highest, expect_answer))

    def _request(
        self,
        api: Api,
        message: Message | Build,
        on_answer: OnAnswer,
        timeout_ms: int | None,
        highest: int,
        expect_answer: bool = True,
    ) -> Request:
        timeout = self.config.request_timeout_ms if timeout_ms is None else timeout_ms
        return Request(api, message, on_answer, timeout, highest, expect_answer, self.now_ms())

    def _send(self, node: int, channel: int, request: Request) -> None:
        connection = self._connections.get((node, channel))
        if connection is not None:
            connection.send(request)
            return
        if self._closed or node not in self._addresses:
            text = _CLOSED if self._closed else f"node {node} has no known address"
            self.fail(request, RequestFailure(Error.NETWORK_EXCEPTION, text, False))
            return
        key = (node, channel)
        wait_ms = self._not_before.get(key, 0) - self.now_ms()
        if key in self._waiting:
            self._waiting[key].append(request)
        elif wait_ms > 0:
            self._waiting[key] = [request]
            self.loop.call_later(wait_ms / 1000, self._waited, key)
        else:
            self._connect(node, channel)[0].send(request)

    def _waited(self, key: tuple[int, int]) -> None:
        """Send the requests that waited for a backoff; called when it is over, or when the client is closed."""
        for request in self._waiting.pop(key, ()):
            self._send(*key, request)

    def fail(self, request: Request, failure: RequestFailure) -> None:
        """Answer a request with a failure, in a separate iteration of the event loop."""
        self.call_soon(lambda: request.on_answer(failure, request.version, self.now_ms()))

    def written(self, request: Request) -> None:
        """Report, in a separate iteration of the event loop, that a request without an answer was sent."""
        self.call_soon(lambda: request.on_answer(None, request.version, self.now_ms()))

    async def call(
        self,
        node: int,
        api: Api,
        message: Message | Build,
        *,
        timeout_ms: int | None = None,
        highest: int = NO_LIMIT,
        channel: int = 0,
    ) -> tuple[Any, int]:
        """Send a request and wait; returns the answer and its version. If the call is cancelled first, nothing is sent.

        :raises KafkaError: there was no answer.
        """
        future: asyncio.Future[tuple[Any, int]] = self.loop.create_future()

        def answered(answer: Answer, version: int, now_ms: int) -> None:
            if future.done():
                return
            if isinstance(answer, RequestFailure):
                future.set_exception(error_for(answer.error, answer.text))
            else:
                future.set_result((answer, version))

        request = self._request(api, message, answered, timeout_ms, highest)
        self._send(node, channel, request)
        try:
            return await future
        finally:
            request.abandoned = True

    # --- called by connections

    def connected(self, connection: BrokerConnection) -> None:
        for key, known in self._connections.items():
            if known is connection:
                self._failures.pop(key, None)
                self._not_before.pop(key, None)
        self._why.pop(connection.address, None)
        self._notify()

    def disconnected(self, connection: BrokerConnection, text: str) -> None:
        for key, known in list(self._connections.items()):
            if known is connection:
                del self._connections[key]
                failures = self._failures[key] = self._failures.get(key, 0) + 1
                wait = backoff_ms(failures, self.config.reconnect_backoff_ms, self.config.reconnect_backoff_max_ms)
                self._not_before[key] = self.now_ms() + int(wait * random.uniform(0.8, 1.2))
        if not self._closed:
            self._why[connection.address] = text
            log.info("%s", text)
            self._notify()
            for observer in self._loss_observers:
                self.call_soon(observer)

    def refused(self, error: KafkaError) -> None:
        """Record that the brokers will never accept this client (wrong credentials, no common version)."""
        self._refused = error

    def learn_features(self, answer: ApiVersionsResponse) -> None:
        """Record the level of the finalized feature ``transaction.version`` (KIP-584), which an answer leaves out at
        level 0."""
        if answer.finalized_features_epoch >= self._features_epoch:
            self._features_epoch = answer.finalized_features_epoch
            levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
            self._transaction_version = levels.get("transaction.version", 0)

    def _notify(self) -> None:
        for observer in list(self._observers):
            self.call_soon(observer)

    # --- connecting

    def _connect(self, node: int, channel: int) -> tuple[BrokerConnection, asyncio.Task[None]]:
        host, port = self._addresses[node]
        connection = BrokerConnection(self, node, host, port, self._ssl_context)
        self._connections[node, channel] = connection
        failures = self._failures.get((node, channel), 0)
        setup_ms = backoff_ms(
            failures + 1,
            self.config.socket_connection_setup_timeout_ms,
            self.config.socket_connection_setup_timeout_max_ms,
        )
        return connection, self._run(connection, connection.open(setup_ms), f"oncelog connection to {host}:{port}")

    def _run(self, connection: BrokerConnection, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        """Run a task of a connection; if it ends unexpectedly, the connection is given up."""
        task = self.loop.create_task(work, name=name)
        self._tasks[task] = None

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.pop(task, None)
            if not task.cancelled() and task.exception() is not None:
                connection.give_up(Error.UNKNOWN_SERVER_ERROR, f"{connection.address}: {task.exception()!r}")

        task.add_done_callback(ended)
        return task

    def _connect_later(self, node: int, channel: int) -> None:
        if self._closed or node not in self._addresses:
            return
        wait_ms = self._not_before.get((node, channel), 0) - self.now_ms()
        if wait_ms <= 0:
            self._connect(node, channel)
        else:
            self.timers.schedule(self.now_ms() + wait_ms, lambda now_ms: self._notify())

    def _look_after_connections(self) -> None:
        self._watch = self.loop.call_later(_WATCH_SECONDS, self._look_after_connections)
        now_ms = self.now_ms()
        self.metrics.windows.roll(now_ms)
        idle_ms = self.config.connections_max_idle_ms
        for connection in list(self._connections.values()):
            if connection.ready and now_ms >= connection.renew_at_ms:
                self._run(connection, connection.renew(), f"oncelog session at {connection.address}")
            elif connection.load:
                connection.check(now_ms)
            elif 0 <= idle_ms < now_ms - connection.last_used_ms and len(self._connections) > 1:
                connection.give_up(Error.NETWORK_EXCEPTION, f"{connection.address} was idle")

    # --- timers

    def arm(self, at_ms: int) -> None:
        """Fire the timers no later than ``at_ms``."""
        if at_ms >= self._alarm_ms or self._closed:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_ms = at_ms
        self._alarm = self.loop.call_later(max(0.0, (at_ms - self.now_ms()) / 1000), self._fire)

    def _fire(self) -> None:
        self._alarm = None
        self._alarm_ms = NEVER_MS
        try:
            self.timers.fire(self.now_ms())
        finally:  # armed even after an exception: one timer's failure must not stop the others
            next_ms = self.timers.next_ms()
            if next_ms is not None:
                self.arm(next_ms)


class _LoopTimers(Timers):
    """Timers that wake the event loop."""

    __slots__ = ("_network",)

    def __init__(self, network: Network) -> None:
        super().__init__()
        self._network = network

    def schedule(self, at_ms: int, callback: Callable[[int], None]) -> Timer:
        timer = super().schedule(at_ms, callback)
        self._network.arm(at_ms)
        return timer


def _tls_of(config: ClientConfig) -> ssl.SSLContext | None:
    if not config.security_protocol.endswith("SSL"):
        return None
    from oncelog.client.aio.connection.tls import ssl_context

    return ssl_context(config)
