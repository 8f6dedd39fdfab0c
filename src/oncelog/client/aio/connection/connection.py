"""One connection to a broker: opens, negotiates versions, logs in; then sends frames and matches answers by order.

Called by the network. Every request given to a connection is answered exactly once: with the broker's answer, or with a
:class:`~oncelog.client.core.connection.wire.RequestFailure` if it cannot be encoded, waits longer than its timeout, or
is under way when the connection breaks. Failures are delivered from the event loop, each in a call of its own, so that
a bug in one caller does not cost the others their answers.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any, Protocol, cast

from oncelog.client.aio.connection.handshake import looks_like_tls, refusal, silence
from oncelog.client.core.client_errors import UnsupportedVersionError, error_for, error_of
from oncelog.client.core.config import ClientConfig
from oncelog.client.core.connection.wire import API_VERSIONS, NO_LIMIT, Answer, Api, Build, OnAnswer, RequestFailure
from oncelog.client.core.metrics import NetworkMetrics
from oncelog.client.core.releases import first_with, is_too_old, too_old
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.protocol.framing import decode_response_header, encode_request_header, peek_correlation_id
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.api_versions_response import ApiVersionsResponse
from oncelog.protocol.struct_fields import Buffer
from oncelog.protocol.wire import Message
from oncelog.runtime import forks
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.chance import random

if TYPE_CHECKING:
    from oncelog.client.aio.connection.tokens import Tokens

_INT32 = Struct(">i")
_READ_BYTES = 256 * 1024
_UNSUPPORTED_VERSION = _INT32.pack(Error.UNSUPPORTED_VERSION)[2:]
NEVER_MS = 2**62
_LOOK_SECONDS = 0.02
"""The interval for checking whether the system has accepted all encrypted data, which no callback reports."""
_READ_OUT_SECONDS = 5.0
_LARGEST_HANDSHAKE_ANSWER = 1 << 20
"""Limit on answers during the opening handshake: a peer that announces more is not a broker."""


class Request:
    """A request that is sent, or waits for its connection. ``deadline_ms`` starts again when it is sent."""

    __slots__ = (
        "abandoned",
        "api",
        "deadline_ms",
        "expect_answer",
        "highest",
        "message",
        "on_answer",
        "timeout_ms",
        "version",
    )

    def __init__(
        self,
        api: Api,
        message: Message | Build,
        on_answer: OnAnswer,
        timeout_ms: int,
        highest: int,
        expect_answer: bool,
        now_ms: int,
    ) -> None:
        self.api = api
        self.message = message
        self.on_answer = on_answer
        self.timeout_ms = timeout_ms
        self.deadline_ms = now_ms + timeout_ms
        self.highest = highest
        self.expect_answer = expect_answer
        self.version = -1
        self.abandoned = False
        """Whether the caller has stopped waiting; an abandoned request is not sent any more."""


class ConnectionOwner(Protocol):
    """The interface that a connection needs from the network."""

    @property
    def config(self) -> ClientConfig: ...

    @property
    def tokens(self) -> Tokens: ...

    @property
    def metrics(self) -> NetworkMetrics: ...

    def now_ms(self) -> int: ...

    def call_soon(self, callback: Callable[[], None]) -> None: ...

    def fail(self, request: Request, failure: RequestFailure) -> None: ...

    def written(self, request: Request) -> None: ...

    def connected(self, connection: BrokerConnection) -> None: ...

    def disconnected(self, connection: BrokerConnection, text: str) -> None: ...

    def refused(self, error: KafkaError) -> None: ...

    def learn_features(self, answer: ApiVersionsResponse) -> None: ...


class BrokerConnection(asyncio.BufferedProtocol):
    """One connection to one node."""

    def __init__(self, owner: ConnectionOwner, node: int, host: str, port: int, ssl_context: Any) -> None:
        self._owner = owner
        self.node = node
        self._host = host
        self._port = port
        self._ssl_context = ssl_context
        self._transport: asyncio.Transport | None = None
        self._under: asyncio.Transport | None = None
        """The transport of the TCP connection below TLS; None without TLS."""
        self._client_id = owner.config.client_id
        self._metrics = owner.metrics
        self._traffic = owner.metrics.node(node)
        self._correlation = 0
        self._in_flight: deque[tuple[int, Request]] = deque()
        self._queued: list[Request] = []
        self._unwritten: list[Request] = []
        """Requests without an answer whose bytes the operating system has not yet accepted."""
        self.unheard = False
        """Whether requests without an answer were written, for which nothing shows how far the broker has read."""
        self._over: asyncio.Future[None] | None = None
        self._ranges: dict[int, tuple[int, int]] = {}
        self.ready = False
        self.closed = False
        self.renew_at_ms = NEVER_MS
        self.last_used_ms = owner.now_ms()
        self._scratch = bytearray(_READ_BYTES)
        self._out: list[Buffer] = []
        self._flushing = False
        self._looking = False
        self._have = 0
        self._big: bytearray | None = None
        self._big_have = 0

    @property
    def address(self) -> str:
        return f"{self._host}:{self._port}"

    @property
    def load(self) -> int:
        """The number of requests that wait for an answer, or to be written."""
        return len(self._in_flight) + len(self._queued) + len(self._unwritten)

    # --- opening and closing

    async def open(self, setup_timeout_ms: int) -> None:
        """Connect, agree on versions, log in; then sends whatever was queued meanwhile. A failure closes the
        connection."""
        config = self._owner.config
        protocol = config.security_protocol
        try:
            await self._connect(setup_timeout_ms)
            async with asyncio.timeout(config.request_timeout_ms / 1000):
                await self._agree_on_versions()
                if protocol.startswith("SASL"):
                    await self._log_in()
        except TimeoutError as error:
            why = str(error) or silence(bool(self._ranges), "answer", config.request_timeout_ms)
            self.give_up(Error.REQUEST_TIMED_OUT, f"{self.address} {why}")
            return
        except OSError as error:
            self.give_up(Error.NETWORK_EXCEPTION, f"cannot connect to {self.address}: {refusal(error, protocol)}")
            return
        except (OncelogError, ProtocolError) as error:
            self.give_up(Error.NETWORK_EXCEPTION, f"cannot connect to {self.address}: {error}")
            if isinstance(error, KafkaError) and not error.retriable:
                self._owner.refused(error)
            return
        self._serve()

    async def _log_in(self) -> None:
        """Authenticate, and record when the session that the broker grants must be renewed (KIP-368)."""
        # imported here, because it imports hash functions that only a login needs
        from oncelog.client.aio.connection.sasl import authenticate

        lifetime_ms = await authenticate(self.ask, self._owner.config, lambda: self._owner.tokens.token())
        if lifetime_ms > 0:
            self.renew_at_ms = self._owner.now_ms() + int(lifetime_ms * random.uniform(0.85, 0.95))

    async def renew(self) -> None:
        """Log in again on the same connection; requests that arrive meanwhile wait."""
        self.ready, self.renew_at_ms = False, NEVER_MS
        try:
            await self._log_in()
        except (OncelogError, ProtocolError) as error:
            self.give_up(Error.NETWORK_EXCEPTION, f"{self.address} did not renew the session: {error}")
            return
        self._serve()

    def _serve(self) -> None:
        """Send the requests that waited for the connection."""
        self.ready = True
        queued, self._queued = self._queued, []
        for request in queued:
            self.send(request)
        self._owner.connected(self)

    async def _connect(self, timeout_ms: int) -> None:
        loop = asyncio.get_running_loop()
        context = self._ssl_context
        under: asyncio.Transport | None = None
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                if context is None:
                    await loop.create_connection(lambda: self, self._host, self._port)
                else:
                    under, _ = await loop.create_connection(asyncio.Protocol, self._host, self._port)
                    await self._start_tls(under, context)
        except TimeoutError:
            did = "accept the connection" if under is None else "finish the TLS handshake"
            raise TimeoutError(
                f"did not {did} within {timeout_ms} ms (socket.connection.setup.timeout.ms, doubled with each failure)"
            ) from None

    async def _start_tls(self, under: asyncio.Transport, context: Any) -> None:
        """Keep the transport under TLS, whose write buffer is not accessible if ``create_connection`` starts TLS."""
        loop = asyncio.get_running_loop()
        try:
            upper = await loop.start_tls(under, self, context, server_hostname=self._host)
        except BaseException:
            under.abort()
            raise
        if upper is None:
            raise ConnectionResetError("the connection ended during the TLS handshake")
        self._under = under
        self.connection_made(upper)

    async def _agree_on_versions(self) -> None:
        for version in (API_VERSIONS.highest, 0):
            answer: ApiVersionsResponse = await self.ask(API_VERSIONS, ApiVersionsRequest("oncelog", "0.1.0"), version)
            error = error_of(answer.error_code)
            if error is Error.NONE:
                offered = {item.api_key: (item.min_version, item.max_version) for item in answer.api_keys}
                if is_too_old(offered):
                    raise UnsupportedVersionError(Error.UNSUPPORTED_VERSION, too_old(str(self.address)))
                self._ranges = offered
                self._owner.learn_features(answer)
                return
            if error is not Error.UNSUPPORTED_VERSION:
                raise error_for(error, f"{self.address} refused ApiVersions")
        raise UnsupportedVersionError(
            Error.UNSUPPORTED_VERSION, f"{self.address} supports no known version of ApiVersions"
        )

    async def ask(self, api: Api, message: Message, version: int) -> Any:
        """Send a request of the opening handshake, in a fixed version."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def answered(answer: Answer, version: int, now_ms: int) -> None:
            if not future.done():
                future.set_result(answer)

        timeout_ms = self._owner.config.request_timeout_ms
        self._write(Request(api, message, answered, timeout_ms, NO_LIMIT, True, self._owner.now_ms()), version)
        answer = await future
        if isinstance(answer, RequestFailure):
            raise error_for(answer.error, answer.text)
        return answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = self._transport = cast(asyncio.Transport, transport)  # uvloop's transports are not subclasses
        stream.set_write_buffer_limits(high=1, low=0)  # resume_writing() is called once nothing is left to write
        self._metrics.made.value += 1
        if self.closed:
            stream.abort()

    def descriptor(self) -> int:
        """The descriptor of the socket, for a forked child; -1 without a socket."""
        return forks.descriptor_of(self._under or self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        ended = self._transport.get_extra_info("socket") if self._transport is not None else None
        if ended is not None:
            forks.end(ended.fileno())
        why = f": {exc}" if exc is not None else ""
        if not self._ranges and self._ssl_context is None:
            why += " before it answered; if this is an SSL listener, set security.protocol to SSL or SASL_SSL"
        self.give_up(Error.NETWORK_EXCEPTION, f"{self.address} closed the connection{why}")

    def eof_received(self) -> bool:
        return False

    async def read_out(self) -> None:
        """Stop writing, and wait for a limited time for the broker to read everything and close; then call
        :meth:`give_up`.

        After ``close`` the kernel still sends what was written, but drops the rest if an answer arrives meanwhile.
        """
        self.ready = False
        self._flush()
        self._over = asyncio.get_running_loop().create_future()
        self._close_our_side()
        await asyncio.wait([self._over], timeout=_READ_OUT_SECONDS)

    def _close_our_side(self) -> None:
        """Close our side if the broker has answered everything."""
        transport = self._transport
        if transport is None or self._in_flight or transport.is_closing():
            return
        writing = self._under or transport
        with contextlib.suppress(OSError):  # the broker has closed the connection, and the loop has not reported it yet
            if writing is not transport:
                # sends TLS's close_notify, after which Apache Kafka waits for the end of the TCP connection
                transport.close()
            end = writing.write_eof if writing.can_write_eof() else writing.close
            end()

    def give_up(self, error: Error, text: str) -> None:
        """Close, and fail every request; those already sent may have been carried out."""
        if self.closed:
            return
        self.closed = True
        self.ready = False
        if self._over is not None and not self._over.done():
            self._over.set_result(None)
        if self._transport is not None:
            self._transport.abort()
            self._metrics.ended.value += 1
        in_flight, self._in_flight = self._in_flight, deque()
        unwritten, self._unwritten = self._unwritten, []
        queued, self._queued = self._queued, []
        for request in [*(request for _, request in in_flight), *unwritten]:
            self._owner.fail(request, RequestFailure(error, text, True))
        for request in queued:
            self._owner.fail(request, RequestFailure(error, text, False))
        self._owner.disconnected(self, text)

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
            self._queued.append(request)
            return
        if request.abandoned:
            return
        version = self.version(request.api, request.highest)
        if version is None:
            self._owner.fail(request, RequestFailure(Error.UNSUPPORTED_VERSION, self._not_offered(request), False))
        else:
            self._write(request, version)

    def _not_offered(self, request: Request) -> str:
        api = request.api
        offered = self._ranges.get(api.key)
        if offered is None:
            text = f"{self.address} does not offer {api.name}"
        else:
            highest = min(api.highest, request.highest)
            text = (
                f"{self.address} offers versions {offered[0]} to {offered[1]} of {api.name}, but one from {api.lowest} "
                f"to {highest} is needed"
            )
        release = first_with(api.key, api.lowest)
        return text if release is None else f"{text}; Apache Kafka supports it since {release}"

    def _write(self, request: Request, version: int) -> None:
        if self._transport is None:
            self._owner.fail(
                request, RequestFailure(Error.NETWORK_EXCEPTION, f"{self.address} is not connected", False)
            )
            return
        try:
            message = request.message if isinstance(request.message, Message) else request.message(version)
            parts = message.encode_parts(version)
            number = (self._correlation + 1) & 0x7FFFFFFF
            size = sum(map(len, parts))
            header = encode_request_header(message.API_KEY, version, number, self._client_id, size)
        except (ProtocolError, TypeError, ValueError, AttributeError) as error:
            text = f"{request.api.name} was not sent because it cannot be encoded: {error}"
            self._owner.fail(request, RequestFailure(Error.INVALID_REQUEST, text, False))
            return
        request.version = version
        self._correlation = number
        now_ms = self._owner.now_ms()
        self.last_used_ms = now_ms
        request.deadline_ms = now_ms + request.timeout_ms
        if request.expect_answer:
            self._in_flight.append((self._correlation, request))
        else:
            self._unwritten.append(request)
            self.unheard = True
        self._traffic.sizes.add(len(header) + size)
        self._out.append(header)
        self._out += parts
        if len(self._in_flight) <= 1 and len(self._out) == 1 + len(parts):
            self._flush()
        elif not self._flushing:
            self._flushing = True
            self._owner.call_soon(self._flush)

    def _flush(self) -> None:
        """Pass encoded frames to the socket: at once if no request is under way, else all those of an iteration
        together."""
        self._flushing = False
        out, self._out = self._out, []
        if out and self._transport is not None and not self.closed:
            self._transport.write(b"".join(out))
            self.resume_writing()

    def resume_writing(self) -> None:
        """The operating system has accepted all writes: requests that get no answer are now complete."""
        transport, under = self._transport, self._under
        if self._unwritten and not self._out and transport is not None and not transport.get_write_buffer_size():
            if under is not None and under.get_write_buffer_size():
                if not self._looking:
                    self._looking = True
                    asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look_under)
                return
            written, self._unwritten = self._unwritten, []
            for request in written:
                self._owner.written(request)

    def _look_under(self) -> None:
        self._looking = False
        self.resume_writing()

    def check(self, now_ms: int) -> None:
        """Fail requests that have waited too long to be sent; give up if an answer is overdue."""
        if self._queued:
            late = [item for item in self._queued if item.deadline_ms <= now_ms]
            self._queued = [item for item in self._queued if item.deadline_ms > now_ms]
            for request in late:
                text = f"{self.address} was not connected within request.timeout.ms={request.timeout_ms}"
                self._owner.fail(request, RequestFailure(Error.REQUEST_TIMED_OUT, text, False))
        self.resume_writing()
        waiting = [*(item for _, item in self._in_flight), *self._unwritten]
        overdue = next((item for item in waiting if item.deadline_ms <= now_ms), None)
        if overdue is not None:
            what = f"{'answer' if overdue.expect_answer else 'take'} {overdue.api.name}"
            why = silence(bool(self._ranges), what, overdue.timeout_ms)
            self.give_up(Error.REQUEST_TIMED_OUT, f"{self.address} {why}")

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
            if size < 4 or (size > _LARGEST_HANDSHAKE_ANSWER and not self._ranges):
                self.give_up(Error.NETWORK_EXCEPTION, self._no_frame(size))
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

    def _no_frame(self, size: int) -> str:
        if not self._ranges and looks_like_tls(self._scratch):
            return f"{self.address} uses TLS; set security.protocol to SSL or SASL_SSL"
        return f"{self.address} sent a frame of {size} bytes, which no Kafka broker sends; check the port"

    def _frame(self, frame: bytes | bytearray) -> None:
        correlation = peek_correlation_id(frame)  # type: ignore[arg-type]
        if not self._in_flight or self._in_flight[0][0] != correlation:
            self.give_up(Error.NETWORK_EXCEPTION, f"{self.address} answered request {correlation} out of order")
            return
        _, request = self._in_flight.popleft()
        version, api = request.version, request.api
        try:
            answer: Any
            if api is API_VERSIONS and frame[4:6] == _UNSUPPORTED_VERSION:
                # The answer has version 0 (KIP-511), or is garbled (librdkafka's mock broker). The request is sent
                # again in either case.
                answer = ApiVersionsResponse(error_code=Error.UNSUPPORTED_VERSION)
            else:
                _, at = decode_response_header(frame, api.key, version)  # type: ignore[arg-type]
                answer = api.response.decode(frame, version, at)  # type: ignore[arg-type]
        except ProtocolError as error:
            self._owner.fail(request, RequestFailure(Error.NETWORK_EXCEPTION, str(error), True))
            self.give_up(Error.NETWORK_EXCEPTION, f"{self.address} sent an invalid answer to {api.name}: {error}")
            return
        now_ms = self._owner.now_ms()
        self.last_used_ms = now_ms
        sent_ms = request.deadline_ms - request.timeout_ms
        self._metrics.answered(self._traffic, api.key, len(frame) + 4, now_ms - sent_ms)
        request.on_answer(answer, version, now_ms)
        if self._over is not None:
            self._close_our_side()


__all__ = ["BrokerConnection", "ConnectionOwner", "Request"]
