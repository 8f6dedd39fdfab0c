"""Connections to the brokers on asyncio: the client cores' :class:`~oncelog.client.core.wire.Wire`.

Called by producer, consumer, admin and the transaction session. One connection for each node and channel; requests on
it are answered in order. A connection that breaks, or whose oldest request has waited for its timeout, fails all its
requests at once, and the cores decide what to repeat. ``Network`` also carries the cores' timers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import ssl
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any

from oncelog.client.aio.sasl import authenticate
from oncelog.client.core.backoff import backoff_ms
from oncelog.client.core.config import ClientConfig
from oncelog.client.core.errors import KafkaConnectionError, UnsupportedVersionError, error_for, error_of
from oncelog.client.core.wire import API_VERSIONS, NO_LIMIT, Answer, Api, Build, Failure, OnAnswer
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.protocol.errors import ProtocolError
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.api_versions_response import ApiVersionsResponse
from oncelog.protocol.wire import Message, skip_tags
from oncelog.timers import Timer, Timers

if TYPE_CHECKING:
    from oncelog.client.aio.tokens import Tokens

log = logging.getLogger(__name__)

_HEADER = Struct(">ihhih")
_INT32 = Struct(">i")
_READ_BYTES = 256 * 1024
_WATCH_SECONDS = 0.5
_NO_TIMEOUT = 2**62


class Request:
    """A request on its way, or waiting for its connection."""

    __slots__ = ("api", "deadline_ms", "expect_answer", "highest", "message", "on_answer", "timeout_ms", "version")

    def __init__(
        self,
        api: Api,
        message: Message | Build,
        on_answer: OnAnswer,
        timeout_ms: int,
        highest: int,
        expect_answer: bool,
    ) -> None:
        self.api = api
        self.message = message
        self.on_answer = on_answer
        self.timeout_ms = timeout_ms
        self.deadline_ms = _NO_TIMEOUT
        self.highest = highest
        self.expect_answer = expect_answer
        self.version = -1


class Connection(asyncio.BufferedProtocol):
    """One socket: frames out, frames in, matched by order."""

    def __init__(self, network: Network, node: int, host: str, port: int) -> None:
        self._network = network
        self.node = node
        self.host = host
        self.port = port
        self._transport: asyncio.Transport | None = None
        self._client_id = network.config.client_id.encode()
        self._correlation = 0
        self._in_flight: deque[tuple[int, Request]] = deque()
        self._queued: list[Request] = []
        self._ranges: dict[int, tuple[int, int]] = {}
        self.ready = False
        self.closed = False
        self.last_used_ms = network.now_ms()
        self._scratch = bytearray(_READ_BYTES)
        self._have = 0
        self._big: bytearray | None = None
        self._big_have = 0
        self._sent_ready = False
        self.renew_at_ms = _NO_TIMEOUT

    @property
    def load(self) -> int:
        return len(self._in_flight) + len(self._queued)

    @property
    def unanswered(self) -> bool:
        return bool(self._in_flight or self._queued)

    # --- opening and closing

    async def open(self) -> None:
        """Connect, agree on versions, authenticate; sends what was queued meanwhile."""
        config = self._network.config
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(config.request_timeout_ms / 1000):
                await loop.create_connection(
                    lambda: self, self.host, self.port, ssl=self._network.ssl_context, server_hostname=self._tls_name()
                )
                await self._agree_on_versions()
                if config.security_protocol.startswith("SASL"):
                    await self._log_in()
        except TimeoutError:
            self.give_up(Error.REQUEST_TIMED_OUT, f"{self.address} did not answer in time")
            return
        except (OSError, OncelogError, ProtocolError) as error:
            self.give_up(Error.NETWORK_EXCEPTION, f"cannot connect to {self.address}: {error}")
            if isinstance(error, KafkaError) and not error.retriable:
                self._network.refused(error)
            return
        self._serve()

    async def _log_in(self) -> None:
        """Authenticate, and note when the session that the broker grants is to be renewed (KIP-368)."""
        lifetime_ms = await authenticate(self.ask, self._network.config, lambda: self._network.tokens.token())
        if lifetime_ms > 0:
            self.renew_at_ms = self._network.now_ms() + int(lifetime_ms * random.uniform(0.85, 0.95))

    async def renew(self) -> None:
        """Log in again on the same connection; requests that come meanwhile wait."""
        self.ready, self.renew_at_ms = False, _NO_TIMEOUT
        try:
            await self._log_in()
        except (OncelogError, ProtocolError) as error:
            self.give_up(Error.NETWORK_EXCEPTION, f"{self.address} did not renew the session: {error}")
            return
        self._serve()

    def _serve(self) -> None:
        """Send what waited."""
        self.ready = True
        queued, self._queued = self._queued, []
        for request in queued:
            self.send(request)
        self._network.connected(self)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def _tls_name(self) -> str | None:
        return self.host if self._network.ssl_context is not None else None

    async def _agree_on_versions(self) -> None:
        for version in (API_VERSIONS.highest, 0):
            answer: ApiVersionsResponse = await self.ask(API_VERSIONS, ApiVersionsRequest("oncelog", "0.1.0"), version)
            error = error_of(answer.error_code)
            if error is Error.NONE:
                self._ranges = {item.api_key: (item.min_version, item.max_version) for item in answer.api_keys}
                self._network.learn_features(answer)
                return
            if error is not Error.UNSUPPORTED_VERSION:
                raise error_for(error, f"{self.address} refused ApiVersions")
        raise UnsupportedVersionError(Error.UNSUPPORTED_VERSION, f"{self.address} speaks no ApiVersions we know")

    async def ask(self, api: Api, message: Message, version: int) -> Any:
        """A request of the opening handshake, in a fixed version."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def answered(answer: Answer, version: int, now_ms: int) -> None:
            if not future.done():
                future.set_result(answer)

        request = Request(api, message, answered, self._network.config.request_timeout_ms, NO_LIMIT, True)
        self._write(request, version)
        answer = await future
        if isinstance(answer, Failure):
            raise error_for(answer.error, answer.text)
        return answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError(f"{transport!r} is no stream")
        self._transport = transport
        if self.closed:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        why = f": {exc}" if exc is not None else ""
        self.give_up(Error.NETWORK_EXCEPTION, f"{self.address} closed the connection{why}")

    def eof_received(self) -> bool:
        return False

    def give_up(self, error: Error, text: str) -> None:
        """Close, and fail every request; those that went out may have been carried out."""
        if self.closed:
            return
        self.closed = True
        was_ready, self.ready = self.ready, False
        if self._transport is not None:
            self._transport.abort()
        in_flight, self._in_flight = self._in_flight, deque()
        queued, self._queued = self._queued, []
        self._network.disconnected(self, was_ready, text)
        now_ms = self._network.now_ms()
        for _, request in in_flight:
            request.on_answer(Failure(error, text, True), request.version, now_ms)
        for request in queued:
            request.on_answer(Failure(error, text, False), -1, now_ms)

    # --- sending

    def version(self, api: Api, highest: int) -> int | None:
        """The highest version of ``api`` that both sides speak."""
        offered = self._ranges.get(api.key)
        if offered is None:
            return None
        version = min(offered[1], api.highest, highest)
        return version if version >= max(offered[0], api.lowest) else None

    def send(self, request: Request) -> None:
        """Send now, or when the connection is ready."""
        if not self.ready:
            if request.deadline_ms == _NO_TIMEOUT:
                request.deadline_ms = self._network.now_ms() + request.timeout_ms
            self._queued.append(request)
            return
        version = self.version(request.api, request.highest)
        if version is None:
            offered = self._ranges.get(request.api.key)
            has = "does not offer it" if offered is None else f"offers versions {offered[0]} to {offered[1]}"
            text = (
                f"{self.address} {has}, but {request.api.name} is needed in a version from {request.api.lowest} to "
                f"{min(request.api.highest, request.highest)}"
            )
            self._network.call_soon(
                lambda: request.on_answer(Failure(Error.UNSUPPORTED_VERSION, text, False), -1, self._network.now_ms())
            )
            return
        self._write(request, version)

    def _write(self, request: Request, version: int) -> None:
        if self._transport is None:
            raise KafkaConnectionError(f"{self.address} is not connected")
        message = request.message if isinstance(request.message, Message) else request.message(version)
        request.message = message
        request.version = version
        parts = message.encode_parts(version)
        client_id = self._client_id
        self._correlation = (self._correlation + 1) & 0x7FFFFFFF
        flexible = version >= message.FLEXIBLE_FROM
        size = 10 + len(client_id) + flexible
        for part in parts:
            size += len(part)
        header = _HEADER.pack(size, message.API_KEY, version, self._correlation, len(client_id)) + client_id
        if flexible:
            header += b"\0"
        now_ms = self._network.now_ms()
        self.last_used_ms = now_ms
        if request.expect_answer:
            request.deadline_ms = now_ms + request.timeout_ms
            self._in_flight.append((self._correlation, request))
        self._transport.write(b"".join((header, *parts)))

    def check(self, now_ms: int) -> None:
        """Give up when a request has waited for too long."""
        late = next((item for _, item in self._in_flight if item.deadline_ms <= now_ms), None)
        if late is None:
            late = next((item for item in self._queued if item.deadline_ms <= now_ms), None)
        if late is not None:
            self.give_up(
                Error.REQUEST_TIMED_OUT,
                f"{self.address} did not answer {late.api.name} within request.timeout.ms={late.timeout_ms}",
            )

    # --- receiving

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._big is not None:
            return memoryview(self._big)[self._big_have :]
        return memoryview(self._scratch)[self._have :]

    def buffer_updated(self, nbytes: int) -> None:
        big = self._big
        if big is not None:
            self._big_have += nbytes
            if self._big_have == len(big):
                self._big = None
                self._frame(big)
            return
        self._have += nbytes
        scratch, have, at = self._scratch, self._have, 0
        while have - at >= 4:
            (size,) = _INT32.unpack_from(scratch, at)
            if size < 4:
                self.give_up(Error.NETWORK_EXCEPTION, f"{self.address} sent a frame of {size} bytes")
                return
            if have - at - 4 < size:
                if size + 4 > len(scratch):
                    self._big = bytearray(size)
                    self._big_have = have - at - 4
                    self._big[: self._big_have] = memoryview(scratch)[at + 4 : have]
                    at = have
                break
            frame = bytes(memoryview(scratch)[at + 4 : at + 4 + size])
            at += 4 + size
            self._frame(frame)
            if self.closed:
                return
        if at:
            rest = have - at
            scratch[:rest] = scratch[at:have]
            self._have = rest

    def _frame(self, frame: bytes | bytearray) -> None:
        (correlation,) = _INT32.unpack_from(frame, 0)
        if not self._in_flight or self._in_flight[0][0] != correlation:
            self.give_up(Error.NETWORK_EXCEPTION, f"{self.address} answered request {correlation} out of turn")
            return
        _, request = self._in_flight.popleft()
        version, api = request.version, request.api
        try:
            at = 4
            if version >= api.response.FLEXIBLE_FROM and api is not API_VERSIONS:
                tags = frame[4]
                at = skip_tags(frame, 5, len(frame), tags) if tags else 5  # type: ignore[arg-type]
            if api is API_VERSIONS and _INT32.size <= len(frame) - 4 and frame[4:6] == b"\x00\x23":
                version = 0  # a broker that does not know the version answers in the oldest one (KIP-511)
            answer = api.response.decode(frame, version, at)  # type: ignore[arg-type]
        except ProtocolError as error:
            request.on_answer(Failure(Error.NETWORK_EXCEPTION, str(error), True), version, self._network.now_ms())
            self.give_up(Error.NETWORK_EXCEPTION, f"{self.address} sent what {api.name} is not: {error}")
            return
        now_ms = self._network.now_ms()
        self.last_used_ms = now_ms
        request.on_answer(answer, version, now_ms)


class Network:
    """All connections of one client, and its timers. Belongs to the event loop that it was started on."""

    def __init__(self, config: ClientConfig, tls: ssl.SSLContext | None = None) -> None:
        self.config = config
        self.ssl_context = tls or _tls_of(config)
        self._tokens: Tokens | None = None
        self.timers: Timers = _LoopTimers(self)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._addresses: dict[int, tuple[str, int]] = {}
        for index, address in enumerate(config.bootstrap_servers):
            host, _, port = address.rpartition(":")
            self._addresses[-1 - index] = (host.strip("[]"), int(port))
        self._bootstrap = list(self._addresses)
        self._connections: dict[tuple[int, int], Connection] = {}
        self._failures: dict[tuple[int, int], int] = {}
        self._not_before: dict[tuple[int, int], int] = {}
        self._why: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._observers: list[Callable[[], None]] = []
        self._refused: KafkaError | None = None
        self._features_epoch = -2
        self._transaction_version = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ms = _NO_TIMEOUT
        self._watch: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def tokens(self) -> Tokens:
        """The client's tokens for OAUTHBEARER."""
        from oncelog.client.aio.tokens import Tokens  # an HTTP client that only OAUTHBEARER needs

        if self._tokens is None:
            self._tokens = Tokens(self.config)
        return self._tokens

    # --- life

    async def start(self) -> None:
        """Connect to one of the bootstrap servers.

        :raises KafkaConnectionError: none can be reached; the text says why for each.
        """
        self._loop = asyncio.get_running_loop()
        self._watch = self._loop.call_later(_WATCH_SECONDS, self._look_after_connections)
        order = self._bootstrap[:]
        random.shuffle(order)
        for node in order:
            connection = self._connect(node, 0)
            while not connection.ready and not connection.closed:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            if connection.ready:
                return
            if self._refused is not None:
                raise self._refused
        reasons = "; ".join(self._why.values())
        raise KafkaConnectionError(
            f"no broker could be reached ({reasons}); check bootstrap.servers="
            f"{','.join(self.config.bootstrap_servers)} and that the broker is running"
        )

    async def close(self) -> None:
        """Close every connection; requests without an answer fail."""
        self._closed = True
        if self._watch is not None:
            self._watch.cancel()
        if self._alarm is not None:
            self._alarm.cancel()
        for connection in list(self._connections.values()):
            connection.give_up(Error.NETWORK_EXCEPTION, "the client was closed")
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await asyncio.sleep(0)

    def observe(self, callback: Callable[[], None]) -> None:
        """Call back when a connection came or went."""
        self._observers.append(callback)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise RuntimeError("the client was not started")
        return self._loop

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.loop.call_soon(callback)

    # --- Wire

    def now_ms(self) -> int:
        return int(time.monotonic() * 1000)

    def ready(self, node: int) -> bool:
        connection = self._connections.get((node, 0))
        if connection is not None:
            return connection.ready
        self._connect_later(node, 0)
        return False

    def any_node(self) -> int:
        """The ready node with the least to do; else one that may be tried now, known nodes before bootstrap ones."""
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
        timeout = self.config.request_timeout_ms if timeout_ms is None else timeout_ms
        request = Request(api, message, on_answer, timeout, highest, expect_answer)
        connection = self._connections.get((node, channel))
        if connection is not None:
            connection.send(request)
            return
        if self._closed or node not in self._addresses:
            text = "the client was closed" if self._closed else f"node {node} has no known address"
            self.call_soon(lambda: on_answer(Failure(Error.NETWORK_EXCEPTION, text, False), -1, self.now_ms()))
            return
        wait_ms = self._not_before.get((node, channel), 0) - self.now_ms()
        if wait_ms <= 0:
            self._connect(node, channel).send(request)
        else:
            self.loop.call_later(wait_ms / 1000, lambda: self._send_after_wait(node, channel, request))

    def _send_after_wait(self, node: int, channel: int, request: Request) -> None:
        connection = self._connections.get((node, channel))
        if connection is None and not self._closed:
            connection = self._connect(node, channel)
        if connection is None:
            request.on_answer(Failure(Error.NETWORK_EXCEPTION, "the client was closed", False), -1, self.now_ms())
        else:
            connection.send(request)

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
        """Ask and wait: the answer and its version.

        :raises KafkaError: there was no answer.
        """
        future: asyncio.Future[tuple[Any, int]] = self.loop.create_future()

        def answered(answer: Answer, version: int, now_ms: int) -> None:
            if future.done():
                return
            if isinstance(answer, Failure):
                future.set_exception(error_for(answer.error, answer.text))
            else:
                future.set_result((answer, version))

        self.send(node, api, message, answered, timeout_ms=timeout_ms, highest=highest, channel=channel)
        return await future

    # --- what connections tell

    def connected(self, connection: Connection) -> None:
        for key, known in self._connections.items():
            if known is connection:
                self._failures.pop(key, None)
                self._not_before.pop(key, None)
        self._why.pop(connection.address, None)
        self._notify()

    def disconnected(self, connection: Connection, was_ready: bool, text: str) -> None:
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

    def refused(self, error: KafkaError) -> None:
        """A broker will never have us (wrong credentials, no common version)."""
        self._refused = error

    def learn_features(self, answer: ApiVersionsResponse) -> None:
        """Note the finalized ``transaction.version`` (KIP-584); at level 0 it is not in the answer."""
        if answer.finalized_features_epoch >= self._features_epoch:
            self._features_epoch = answer.finalized_features_epoch
            levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
            self._transaction_version = levels.get("transaction.version", 0)

    def _notify(self) -> None:
        for observer in list(self._observers):
            self.call_soon(observer)

    # --- connecting

    def _connect(self, node: int, channel: int) -> Connection:
        host, port = self._addresses[node]
        connection = Connection(self, node, host, port)
        self._connections[node, channel] = connection
        self._run(connection.open(), f"oncelog connection to {host}:{port}")
        return connection

    def _run(self, work: Coroutine[None, None, None], name: str) -> None:
        task = self.loop.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _connect_later(self, node: int, channel: int) -> None:
        if self._closed or node not in self._addresses:
            return
        wait_ms = self._not_before.get((node, channel), 0) - self.now_ms()
        if wait_ms <= 0:
            self._connect(node, channel)
        else:
            self.timers.schedule(self.now_ms() + wait_ms, lambda now_ms: self._notify())

    def _look_after_connections(self) -> None:
        now_ms = self.now_ms()
        idle_ms = self.config.connections_max_idle_ms
        for connection in list(self._connections.values()):
            if connection.ready and now_ms >= connection.renew_at_ms:
                self._run(connection.renew(), f"oncelog session at {connection.address}")
            elif connection.unanswered:
                connection.check(now_ms)
            elif 0 <= idle_ms < now_ms - connection.last_used_ms and len(self._connections) > 1:
                connection.give_up(Error.NETWORK_EXCEPTION, f"{connection.address} was idle")
        self._watch = self.loop.call_later(_WATCH_SECONDS, self._look_after_connections)

    # --- timers

    def arm(self, at_ms: int) -> None:
        """Fire the timers at ``at_ms`` at the latest."""
        if at_ms >= self._alarm_ms or self._closed:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_ms = at_ms
        self._alarm = self.loop.call_later(max(0.0, (at_ms - self.now_ms()) / 1000), self._fire)

    def _fire(self) -> None:
        self._alarm = None
        self._alarm_ms = _NO_TIMEOUT
        self.timers.fire(self.now_ms())
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
    from oncelog.client.aio.tls import ssl_context

    return ssl_context(config)


def addresses(servers: Sequence[str] | str) -> tuple[str, ...]:
    """``bootstrap_servers`` as aiokafka takes it: one text or a list."""
    if isinstance(servers, str):
        return tuple(part.strip() for part in servers.split(",") if part.strip())
    return tuple(servers)
