"""A proxy in front of any broker that injects faults: ``with FaultProxy("localhost:9092") as proxy: ...``.

Called by tests and by ``oncelog proxy``. Every broker of the cluster gets its own listener, and the proxy replaces the
addresses in answers about brokers, so that a client never bypasses it. Everything else passes byte for byte; a body is
read only if a fault needs it. Clients speak plain text to the proxy, and their own logins pass through; towards the
brokers the proxy encrypts and logs in as ``upstream`` says. A :class:`ProxyObserver` gets each frame; ``oncelog lab``
uses one for its diagrams.

Invariants

- If the proxy logs in at the brokers, it listens on this machine only, and its clients log in to it (``proxy_login``).
- The client gets its answers in the order of its requests, in whatever order the broker got them.
- A lost answer closes the connection, because clients treat a missing or out-of-order answer as an error of the broker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from struct import Struct
from types import TracebackType
from typing import Any, Final, Protocol, Self

from oncelog.apps.proxy.proxy_login import LARGEST_TOKEN, ProxyLogin, ProxySession
from oncelog.apps.proxy.upstream import Upstream
from oncelog.broker.faults.answers import refusal, refuse_metadata
from oncelog.broker.faults.rules import Action, Fault, Faults
from oncelog.broker.faults.targets import RequestTarget, decoded, target_of
from oncelog.broker.server.listener_settings import Address
from oncelog.client.core.config import ClientConfig
from oncelog.errors import OncelogError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.protocol.framing import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_response_header,
)
from oncelog.protocol.messages import response_type
from oncelog.runtime import forks
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.listening import close_servers
from oncelog.runtime.loop_thread import LoopThread

LARGEST_FRAME: Final = 256 << 20
NOT_RUNNING: Final = "the proxy is not running: use it in a with block, or call start()"
REORDER_TIMEOUT_S: Final = 0.5
"""How long, in seconds, a reordered request waits for the next request; it is then sent anyway, for clients with one
request in flight."""
_SIZE: Final = Struct(">i")
_WITH_ADDRESSES: Final = {
    ApiKey.METADATA: 0,
    ApiKey.FIND_COORDINATOR: 0,
    ApiKey.DESCRIBE_CLUSTER: 0,
    ApiKey.PRODUCE: 10,
    ApiKey.FETCH: 16,
}
"""The APIs whose answers may contain addresses, and the first version of each that does."""


class ProxyError(OncelogError):
    """The proxy cannot start, or the broker behind it cannot be reached."""


class ProxyObserver(Protocol):
    """Observes all requests and answers, on the proxy's own thread; ``number`` counts the requests in the order of
    their arrival."""

    def asked(self, number: int, header: RequestHeader, frame: bytes, struck: Sequence[Fault]) -> None:
        """Called when a client's request has arrived; ``struck`` are the faults that apply to it."""
        ...

    def answered(self, number: int, frame: bytes) -> None:
        """Called with the answer to a request, from the broker or from a fault that answers in its place."""
        ...

    def delivered(self, number: int, arrived: bool) -> None:
        """Called when the answer to a request was sent to the client, or was lost."""
        ...


class _Exchange:
    """One request of a client and the outcome of its answer."""

    __slots__ = ("answer", "cut", "delay_ms", "error", "header", "is_last", "number", "swallow", "throttle_ms")

    def __init__(self, header: RequestHeader | None, number: int = 0, *, swallow: bool = False) -> None:
        self.header = header
        self.number = number
        self.swallow = swallow
        self.answer: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self.cut = self.is_last = False
        self.delay_ms = 0
        self.throttle_ms = 0
        self.error: Fault | None = None

    def take(self, struck: Mapping[Action, Fault]) -> None:
        """Store what the faults of this exchange do to the answer: whether it is lost, how long it is delayed, and its
        throttle time."""
        self.cut = Action.LOSE_ANSWER in struck
        if (delay := struck.get(Action.DELAY_ANSWER)) is not None:
            self.delay_ms = delay.delay_ms
        if (throttle := struck.get(Action.THROTTLE)) is not None:
            self.throttle_ms = throttle.delay_ms

    def resolve(self, frame: bytes | None) -> None:
        if not self.answer.done():
            self.answer.set_result(frame)


class _Connection:
    """One client's connection, and the matching one to the broker."""

    def __init__(
        self,
        proxy: _Proxy,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        broker: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._proxy = proxy
        self._from_client, self._to_client = client
        self._from_broker, self._to_broker = broker
        self._asked: asyncio.Queue[_Exchange] = asyncio.Queue()
        """Exchanges in the order of the client's requests."""
        self._sent: deque[_Exchange] = deque()
        """Exchanges in the order in which their requests were sent to the broker."""
        self._reordered: tuple[bytes, _Exchange, asyncio.TimerHandle] | None = None
        self._undelivered: dict[int, _Exchange] = {}
        self._session = proxy.login.session() if proxy.login is not None else None

    async def run(self) -> None:
        """Serve the connection until the client, the broker or a fault ends it."""
        tasks = [asyncio.ensure_future(work()) for work in (self._requests, self._broker_answers, self._client_answers)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._to_broker.close()
            if self._reordered is not None:
                self._reordered[2].cancel()
            for exchange in list(self._undelivered.values()):
                self._report_delivery(exchange, False)

    def _report_delivery(self, exchange: _Exchange, arrived: bool) -> None:
        self._undelivered.pop(exchange.number, None)
        if self._proxy.observer is not None and exchange.header is not None:
            self._proxy.observer.delivered(exchange.number, arrived)

    # --- from the client

    async def _requests(self) -> None:
        session = self._session
        while True:
            largest = LARGEST_FRAME if session is None or session.is_in else LARGEST_TOKEN
            frame = await _read_frame(self._from_client, largest)
            if frame is None:
                return
            if session is not None and (answer := session.answer_to(frame)) is not None:
                self._answer_login(session, answer)
            elif (session is not None and session.refused) or not await self._request(frame):
                return
            if session is not None and session.refused:
                await asyncio.Event().wait()  # read no more; the connection closes once the last answer is sent

    def _answer_login(self, session: ProxySession, answer: bytes) -> None:
        exchange = _Exchange(None)
        exchange.is_last = session.refused
        exchange.resolve(answer)
        self._asked.put_nowait(exchange)

    async def _request(self, frame: bytes) -> bool:
        """Apply faults to one request and send it to the broker; returns False if the connection must be closed."""
        try:
            header, body = decode_request_header(frame)
        except ProtocolError:
            self._forward(frame, self._expect(_Exchange(None)))
            return True
        candidates = self._proxy.faults.candidates(header.api_key, header.api_version, header.client_id)
        request = decoded(frame, header, body) if candidates or header.api_key == ApiKey.PRODUCE else None
        target: RequestTarget | None = None
        if request is not None and any(fault.match.needs_body for fault in candidates):
            target = target_of(header.api_key, request, self._proxy.topic_name)
        struck = {fault.action: fault for fault in self._proxy.faults.strike(candidates, target)}
        exchange = _Exchange(header, self._proxy.next_number())
        if self._proxy.observer is not None:
            self._proxy.observer.asked(exchange.number, header, frame, list(struck.values()))
        if Action.LOSE_REQUEST in struck:
            return False
        if Action.BLACKHOLE in struck:
            # this request is never answered, so later requests of the connection get no answer either
            self._expect(exchange)
            return True
        if (delay := struck.get(Action.DELAY_REQUEST)) is not None:
            await asyncio.sleep(delay.delay_ms / 1000)
        fault = struck.get(Action.ANSWER_ERROR)
        if fault is not None and header.api_key != ApiKey.METADATA and request is not None:
            answer = _answer_frame(header, refusal(header.api_key, header.api_version, request, fault.error))
            self._proxy.report_answer(exchange, answer)
            self._expect(exchange).resolve(answer)
            return True
        exchange.take(struck)
        exchange.error = fault if header.api_key == ApiKey.METADATA else None
        unanswered = header.api_key == ApiKey.PRODUCE and request is not None and getattr(request, "acks", 1) == 0
        if not unanswered:
            self._expect(exchange)
        self._send(frame, exchange, struck, unanswered)
        await self._to_broker.drain()
        return not (unanswered and exchange.cut)

    def _expect(self, exchange: _Exchange) -> _Exchange:
        self._asked.put_nowait(exchange)
        self._undelivered[exchange.number] = exchange
        return exchange

    def _send(self, frame: bytes, exchange: _Exchange, struck: dict[Action, Fault], unanswered: bool) -> None:
        if Action.REORDER in struck and self._reordered is None:
            loop = asyncio.get_running_loop()
            self._reordered = (frame, exchange, loop.call_later(REORDER_TIMEOUT_S, self._release))
            return
        self._forward(frame, None if unanswered else exchange)
        if Action.DUPLICATE in struck:
            self._forward(frame, None if unanswered else _Exchange(exchange.header, swallow=True))
        self._release()

    def _release(self) -> None:
        """Send the broker the request that a fault holds back until after the next one."""
        if self._reordered is not None:
            frame, exchange, timer = self._reordered
            self._reordered = None
            timer.cancel()
            self._forward(frame, exchange)

    def _forward(self, frame: bytes, exchange: _Exchange | None) -> None:
        if exchange is not None:
            self._sent.append(exchange)
        self._to_broker.write(_SIZE.pack(len(frame)) + frame)

    # --- from the broker

    async def _broker_answers(self) -> None:
        while True:
            frame = await _read_frame(self._from_broker)
            if frame is None or not self._sent:
                return
            exchange = self._sent.popleft()
            if not exchange.swallow:
                self._proxy.report_answer(exchange, frame)
                exchange.resolve(await self._proxy.edited(exchange, frame))

    async def _client_answers(self) -> None:
        while True:
            exchange = await self._asked.get()
            frame = await exchange.answer
            if exchange.delay_ms:
                await asyncio.sleep(exchange.delay_ms / 1000)
            arrives = not exchange.cut and frame is not None
            self._report_delivery(exchange, arrives)
            if exchange.cut or frame is None:
                return
            self._to_client.write(_SIZE.pack(len(frame)) + frame)
            await self._to_client.drain()
            if exchange.is_last:
                return


class _Proxy:
    """The proxy's listeners, one for each known broker; they all run on one event loop."""

    def __init__(
        self,
        faults: Faults,
        hosts: tuple[str, str],
        upstream: Upstream,
        observer: ProxyObserver | None,
        login: ProxyLogin | None,
    ) -> None:
        """:param hosts: the host on which the listeners listen, and the host by which clients reach them."""
        self.faults = faults
        self.observer = observer
        self.login = login
        self._host, self._advertised = hosts
        self._upstream = upstream
        self._number = 0
        self._listeners: dict[tuple[str, int], tuple[asyncio.Server, int]] = {}
        self._opening: dict[tuple[str, int], asyncio.Task[int]] = {}
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        """The tasks that serve clients, and the stream to the client of each."""
        self._topics: dict[bytes, str] = {}

    async def listen_for(self, host: str, port: int, own_port: int = 0) -> int:
        """The port of the proxy's listener for a broker; the listener is created when the broker's address first
        appears."""
        key = (host, port)
        if key in self._listeners:
            return self._listeners[key][1]
        if key not in self._opening:
            self._opening[key] = asyncio.ensure_future(self._open(key, own_port))
        return await asyncio.shield(self._opening[key])

    async def _open(self, broker: tuple[str, int], own_port: int) -> int:
        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # A plain function starts the task: asyncio would leave the stream open if it cancelled a coroutine before
            # its start.
            task = asyncio.ensure_future(self._serve(broker, reader, writer))
            self._connections[task] = writer
            task.add_done_callback(self._served)

        server = await asyncio.start_server(serve, self._host, own_port)
        port: int = server.sockets[0].getsockname()[1]
        self._listeners[broker] = (server, port)
        return port

    async def _serve(self, broker: tuple[str, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = await self._upstream.reach(*broker)
        # if the upstream cannot be reached, the client's connection is closed, as the broker would close it
        if upstream is not None:
            await _Connection(self, (reader, writer), upstream).run()

    def _served(self, task: asyncio.Task[None]) -> None:
        writer = self._connections.pop(task)
        if task.cancelled():
            writer.transport.abort()
        else:
            writer.close()

    def descriptors(self) -> list[int]:
        """The descriptors of all open sockets, which a forked child must close."""
        listening = [sock.fileno() for server, _ in self._listeners.values() for sock in server.sockets]
        streams = [*self._connections.values(), *self._upstream.writers]
        return listening + [forks.descriptor_of(writer.transport) for writer in streams]

    async def close(self) -> None:
        await close_servers(server for server, _ in self._listeners.values())
        await self.end_connections()

    async def end_connections(self) -> None:
        connections = list(self._connections)
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        for writer in list(self._upstream.writers):
            writer.transport.abort()
        await asyncio.sleep(0)  # the loop releases closed streams in its next iteration

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def report_answer(self, exchange: _Exchange, frame: bytes) -> None:
        if self.observer is not None and exchange.header is not None:
            self.observer.answered(exchange.number, frame)

    def topic_name(self, topic_id: bytes) -> str:
        return self._topics.get(topic_id, "")

    async def edited(self, exchange: _Exchange, frame: bytes) -> bytes:
        """The answer for the client: with the proxy's addresses, and changed by the faults that concern its content."""
        header = exchange.header
        if header is None or not header.is_known:
            return frame
        first = _WITH_ADDRESSES.get(ApiKey(header.api_key))
        has_addresses = first is not None and header.api_version >= first
        if not has_addresses and not exchange.throttle_ms:
            return frame
        try:
            _, position = decode_response_header(frame, header.api_key, header.api_version)
            answer: Any = response_type(header.api_key).decode(frame, header.api_version, position)
        except ProtocolError:
            return frame
        changed = await self._with_own_addresses(header.api_key, answer) if has_addresses else False
        if exchange.throttle_ms:
            answer.throttle_time_ms = exchange.throttle_ms
        if exchange.error is not None:
            refuse_metadata(answer, exchange.error.error)
        if not (changed or exchange.throttle_ms or exchange.error):
            return frame
        return _answer_frame(header, answer.encode(header.api_version))

    async def _with_own_addresses(self, api_key: int, answer: Any) -> bool:
        """Replace each broker's address in an answer with that of the proxy's listener; returns whether the answer had
        any."""
        match api_key:
            case ApiKey.METADATA:
                self._topics.update((topic.topic_id, topic.name) for topic in answer.topics if topic.name)
                places = list(answer.brokers)
            case ApiKey.DESCRIBE_CLUSTER:
                places = list(answer.brokers)
            case ApiKey.FIND_COORDINATOR:
                places = [answer, *answer.coordinators]
            case _:
                places = list(answer.node_endpoints)
        places = [place for place in places if place.host and place.port > 0]
        for place in places:
            place.port = await self.listen_for(place.host, place.port)
            place.host = self._advertised
        return bool(places)


def _answer_frame(header: RequestHeader, body: bytes) -> bytes:
    head = encode_response_header(header.api_key, header.api_version, header.correlation_id, len(body))
    return head[_SIZE.size :] + body


async def _read_frame(reader: asyncio.StreamReader, largest: int = LARGEST_FRAME) -> bytes | None:
    """The next frame without its size; None if the peer has closed the connection or the size is not valid."""
    try:
        (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
        if not 0 <= size <= largest:
            return None
        return await reader.readexactly(size)
    except (asyncio.IncompleteReadError, OSError):
        return None


class FaultProxy:
    """Stands in front of a broker or a cluster during the ``with`` block, or from ``start`` to ``stop``.

    :param bootstrap_servers: ``HOST:PORT`` of one broker of the cluster.
    :param listen: the proxy's address for clients; port 0 takes a free one. Other brokers get free ports.
    :param advertised: the host by which clients reach the proxy, if it is not the one that it listens on.
    :param upstream: how to encrypt and log in at the brokers, as a client's settings or properties; without it plain
        text. Without a login there, clients log in through the proxy themselves.
    :param open_to_all: let everyone on this machine act with the login of ``upstream``, without logging in.
    :param observer: observes every request and answer.
    :raises ProxyError: clients could not find it, or other machines could act with its login.

    Clients use :attr:`bootstrap_servers` and :attr:`client_properties`; :attr:`faults` creates the faults.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        listen: str = "127.0.0.1:0",
        advertised: str | None = None,
        upstream: ClientConfig | Mapping[str, str] | None = None,
        open_to_all: bool = False,
        observer: ProxyObserver | None = None,
    ) -> None:
        self.faults = Faults()
        if isinstance(upstream, Mapping):
            upstream = ClientConfig.from_properties({"bootstrap.servers": bootstrap_servers, **upstream})
        self._upstream = Upstream(upstream)
        self._observer = observer
        self._broker = Address.parse(bootstrap_servers.split(",")[0].strip())
        self._listen = Address.parse(listen)
        if self._listen.is_every and advertised is None:
            raise ProxyError(
                f"clients get the proxy's address from its answers, and cannot connect to {listen}: name one address, "
                "or the host by which they reach it, advertised='HOST'"
            )
        self._advertised = advertised or self._listen.host
        if self._upstream.identifies and not self._listen.is_loopback:
            raise ProxyError(
                f"every client of a proxy with a login acts under that login: it may listen only on this machine, "
                f"not {listen}"
            )
        self._login = ProxyLogin() if self._upstream.identifies and not open_to_all else None
        self._thread: LoopThread | None = None
        self._proxy: _Proxy | None = None
        self._port = 0

    @property
    def bootstrap_servers(self) -> str:
        """``HOST:PORT`` for clients' ``bootstrap.servers``."""
        if self._proxy is None:
            raise ProxyError(NOT_RUNNING)
        return str(Address(self._advertised, self._port))

    @property
    def client_properties(self) -> dict[str, str]:
        """What clients need besides ``bootstrap.servers``: the proxy's own login; empty if it requires none."""
        return self._login.client_properties if self._login is not None else {}

    @property
    def why_closed(self) -> str:
        """The reason why a broker could not be reached or refused the login, the last time that happened; empty if it
        has not happened."""
        return self._upstream.why_closed

    def start(self) -> Self:
        """Start and return once clients can connect."""
        if self._thread is not None and self._thread.is_here:
            raise ProxyError("the proxy is running already")
        hosts = self._listen.host, self._advertised
        proxy = _Proxy(self.faults, hosts, self._upstream, self._observer, self._login)
        thread = self._thread = LoopThread(
            asyncio.new_event_loop(), "oncelog-proxy", "the fault proxy", NOT_RUNNING, ProxyError
        )
        thread.at_death.append(proxy.close)
        self._proxy = proxy
        try:
            self._port = thread.run(proxy.listen_for(self._broker.host, self._broker.port, self._listen.port))
        except OSError as error:
            self.stop()
            raise ProxyError(f"cannot listen on {self._listen}: {error.strerror}") from error
        except BaseException:
            self.stop()
            raise
        forks.let_go_in_children(proxy)
        return self

    def stop(self) -> None:
        """Close every connection; does nothing if it is not running, or in a forked child."""
        proxy, thread = self._proxy, self._thread
        if proxy is not None and thread is not None and not thread.is_inherited:
            self._proxy = self._thread = None
            thread.end(proxy.close)

    def end_connections(self) -> None:
        """Close every connection, losing the data in flight; clients may connect again."""
        if self._proxy is None or self._thread is None:
            raise ProxyError(NOT_RUNNING)
        self._thread.run(self._proxy.end_connections())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
