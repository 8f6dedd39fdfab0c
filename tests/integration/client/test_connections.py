"""Connections that fail in every way: each request gets an answer or an error that says what to do."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Any
from unittest.mock import patch

import pytest

from oncelog.client.aio import Admin, Producer
from oncelog.client.aio.connection.network import Network
from oncelog.client.core.config import ClientConfig
from oncelog.client.core.connection.wire import API_VERSIONS, FIND_COORDINATOR, METADATA, Answer, RequestFailure
from oncelog.client.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError
from oncelog.errors import Error
from oncelog.protocol.framing import decode_request_header, encode_response_header
from oncelog.protocol.generated.api_versions_response import ApiVersion, ApiVersionsResponse
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.metadata_response import MetadataResponse, MetadataResponseBroker
from tests.integration.client.reading import on_loop

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(handler: Handler) -> AsyncIterator[str]:
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


class ScriptedBroker:
    """Answers ApiVersions and Metadata once it is allowed to; keeps the API keys of the requests that it has read."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.answers: set[int] = {API_VERSIONS.key, METADATA.key}
        self.seen: list[int] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.port = writer.get_extra_info("sockname")[1]
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                header, _ = decode_request_header(await reader.readexactly(size))
                self.seen.append(header.api_key)
                await self.may_answer.wait()
                if header.api_key in self.answers:
                    body = self._answer(header.api_key).encode(header.api_version)
                    head = encode_response_header(header.api_key, header.api_version, header.correlation_id, len(body))
                    writer.write(head + body)
        except (asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.close()

    def _answer(self, key: int) -> Any:
        if key == API_VERSIONS.key:
            return ApiVersionsResponse(api_keys=[ApiVersion(3, 0, 12), ApiVersion(10, 0, 5), ApiVersion(18, 0, 3)])
        return MetadataResponse(brokers=[MetadataResponseBroker(0, "127.0.0.1", self.port)])


def config(address: str, **settings: Any) -> ClientConfig:
    return ClientConfig.from_keywords(bootstrap_servers=[address], **settings)


@on_loop
async def test_an_unencodable_request_is_refused_while_a_connection_opens_and_the_others_are_sent() -> None:
    broker = ScriptedBroker()
    async with listening(broker.serve) as address:
        network = Network(config(address))
        starting = asyncio.create_task(network.start())
        await asyncio.sleep(0)
        good = MetadataRequest(topics=None)
        bad = MetadataRequest(topics="ab")  # type: ignore[arg-type]
        calls = [asyncio.create_task(network.call(-1, METADATA, message)) for message in (good, bad, good)]
        await asyncio.sleep(0)
        broker.may_answer.set()
        await starting
        first, second, third = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(second, KafkaError)
        assert second.error is Error.INVALID_REQUEST
        assert "Metadata was not sent because it cannot be encoded" in str(second)
        for answered in (first, third):
            assert not isinstance(answered, BaseException)
        await network.close()


@on_loop
async def test_a_call_that_was_cancelled_while_the_connection_opens_is_not_sent() -> None:
    broker = ScriptedBroker()
    async with listening(broker.serve) as address:
        network = Network(config(address))
        starting = asyncio.create_task(network.start())
        await asyncio.sleep(0)
        calls = [asyncio.create_task(network.call(-1, METADATA, MetadataRequest(topics=None))) for _ in range(2)]
        await asyncio.sleep(0)
        calls[0].cancel()
        await asyncio.gather(calls[0], return_exceptions=True)
        broker.may_answer.set()
        await starting
        await calls[1]
        assert broker.seen == [API_VERSIONS.key, METADATA.key]
        await network.close()


@on_loop
async def test_an_unanswered_request_and_all_later_requests_fail_and_a_new_connection_is_opened() -> None:
    broker = ScriptedBroker()
    broker.may_answer.set()
    async with listening(broker.serve) as address:
        network = Network(config(address, request_timeout_ms=200, reconnect_backoff_ms=1))
        await network.start()
        broker.answers = {API_VERSIONS.key}
        calls = [network.call(-1, METADATA, MetadataRequest(topics=None)) for _ in range(3)]
        failed = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(error, KafkaTimeoutError) for error in failed)
        assert "did not answer Metadata within request.timeout.ms=200" in str(failed[0])
        broker.answers = {API_VERSIONS.key, METADATA.key}
        await network.call(-1, METADATA, MetadataRequest(topics=None))
        await network.close()


@on_loop
async def test_an_exception_in_one_caller_does_not_affect_the_answers_to_others() -> None:
    broker = ScriptedBroker()
    async with listening(broker.serve) as address:
        network = Network(config(address))
        starting = asyncio.create_task(network.start())
        await asyncio.sleep(0)
        reported: list[RequestFailure] = []

        def raises(answer: Answer, version: int, now_ms: int) -> None:
            raise RuntimeError("a bug in a core")

        def notes(answer: Answer, version: int, now_ms: int) -> None:
            reported.append(answer)

        errors: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
        for on_answer in (raises, notes):
            network.send(-1, METADATA, MetadataRequest(topics=None), on_answer)
        starting.cancel()
        await network.close()
        assert [answer.error for answer in reported] == [Error.NETWORK_EXCEPTION]
        assert str(errors[0]["exception"]) == "a bug in a core"


@on_loop
async def test_closing_fails_requests_that_wait_for_the_reconnection_backoff() -> None:
    broker = ScriptedBroker()
    broker.may_answer.set()
    async with listening(broker.serve) as address:
        network = Network(config(address, request_timeout_ms=100, reconnect_backoff_ms=60_000))
        await network.start()
        broker.answers = set()
        with pytest.raises(KafkaTimeoutError):
            await network.call(-1, METADATA, MetadataRequest(topics=None))
        waiting = asyncio.create_task(network.call(-1, METADATA, MetadataRequest(topics=None)))
        await asyncio.sleep(0)
        await network.close()
        with pytest.raises(KafkaConnectionError, match="the client was closed"):
            await waiting


@on_loop
async def test_an_admin_call_ends_with_its_own_timeout_when_no_coordinator_is_found() -> None:
    broker = ScriptedBroker()
    broker.may_answer.set()
    async with (
        listening(broker.serve) as address,
        Admin(bootstrap_servers=address, default_api_timeout_ms=300) as admin,
    ):
        with pytest.raises(KafkaTimeoutError, match=r"within default\.api\.timeout\.ms=300"):
            await admin.find_coordinator("g")
    assert FIND_COORDINATOR.key in broker.seen


@on_loop
async def test_a_connection_to_a_broker_that_never_answers_is_given_up() -> None:
    broker = ScriptedBroker()
    async with listening(broker.serve) as address:
        with pytest.raises(
            KafkaConnectionError, match=r"does not answer as a Kafka broker within request\.timeout\.ms=300"
        ):
            await Producer(bootstrap_servers=address, request_timeout_ms=300).start()


@on_loop
async def test_a_silent_bootstrap_server_does_not_prevent_trying_the_others() -> None:
    broker = ScriptedBroker()
    broker.may_answer.set()
    async with listening(says_nothing) as silent, listening(broker.serve) as good:
        network = Network(config(f"{good},{silent}", request_timeout_ms=600_000))
        with patch("oncelog.client.aio.connection.network.random.shuffle"):  # the last is tried first
            await network.start()
        assert network.version(network.any_node(), METADATA) is not None
        await network.close()


@on_loop
async def test_the_error_names_each_bootstrap_server_that_does_not_answer() -> None:
    async with listening(says_nothing) as one, listening(says_nothing) as other:
        with pytest.raises(KafkaConnectionError) as reported:
            await Network(config(f"{one},{other}", request_timeout_ms=2000)).start()
        for address in (one, other):
            named = f"{address} accepts connections but does not answer as a Kafka broker"
            assert f"{named} within request.timeout.ms=2000" in str(reported.value)


async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(64)
    writer.close()


async def alerts(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(64)
    writer.write(b"\x15\x03\x01\x00\x02\x02\x46")
    writer.close()


async def speaks_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(64)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.parametrize(
    ("server", "protocol", "says"),
    [
        (
            closes,
            "SSL",
            r"the TLS handshake failed \(.+\); if this is a plaintext listener, set security.protocol to PLAINTEXT",
        ),
        (speaks_http, "SSL", r"the TLS handshake failed \(.+\); if this is a plaintext listener"),
        (says_nothing, "SSL", r"did not finish the TLS handshake within 300 ms \(socket.connection.setup.timeout.ms"),
        (alerts, "PLAINTEXT", "uses TLS; set security.protocol to SSL or SASL_SSL"),
        (closes, "PLAINTEXT", "closed the connection before it answered; if this is an SSL listener, set"),
        (speaks_http, "PLAINTEXT", "sent a frame of 1213486160 bytes, which no Kafka broker sends; check the port"),
    ],
)
@on_loop
async def test_the_wrong_security_protocol_is_reported_in_one_sentence(
    server: Handler, protocol: str, says: str
) -> None:
    settings = {"security_protocol": protocol, "socket_connection_setup_timeout_ms": 300}
    async with listening(server) as address:
        with pytest.raises(KafkaConnectionError, match=says):
            await Admin(bootstrap_servers=address, **settings).start()


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
@on_loop
async def test_a_server_that_accepts_nobody_is_not_blamed_for_its_tls(protocol: str) -> None:
    settings = {"security_protocol": protocol, "socket_connection_setup_timeout_ms": 300}
    with socket.socket() as full, ExitStack() as queued:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            waiting = queued.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        address = f"127.0.0.1:{full.getsockname()[1]}"
        with pytest.raises(KafkaConnectionError, match=r"did not accept the connection within \d+ ms"):
            await Admin(bootstrap_servers=address, **settings).start()
