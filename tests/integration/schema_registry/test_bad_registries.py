"""A registry that hangs, lies, answers HTML, errors or redirections gives one clear error."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace

import pytest

from oncelog.cli.shared.schema_values import Decoding
from oncelog.errors import ConfigError
from oncelog.schemas import AvroDeserializer, Codecs, Schema, SchemaError, SchemaRegistry, SchemaRegistryError
from oncelog.schemas.transport import RegistryAddress, Transport, parse_urls
from tests.integration.schema_registry.stand_in import JSON_ANSWER, Answer, StandIn, running


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with running() as found:
        yield found


HTML = (200, {"Content-Type": "text/html"}, b"<html>welcome to our portal</html>")
WRONG: list[tuple[Answer, str]] = [
    (HTML, "is not a schema registry: it answers '<html>welcome"),
    ((500, {}, b"<html>oops</html>"), "answers with status 500, as no schema registry: '<html>oops"),
    ((503, {}, b""), "answers with status 503"),
    ((302, {"Location": "http://elsewhere.invalid/"}, b""), "redirects to http://elsewhere.invalid/"),
    ((401, {}, b""), "asks for a login"),
    ((403, JSON_ANSWER, b'{"error_code": 40301, "message": "not you"}'), "forbids this: not you"),
    ((422, JSON_ANSWER, b'{"error_code": 42201, "message": "bad schema"}'), r"refuses: bad schema \(error 42201\)"),
    ((200, JSON_ANSWER, b'{"schema": 7}'), "no usable schema"),
    ((200, JSON_ANSWER, b"[]"), "no usable"),
    ((200, JSON_ANSWER, b'{"schema": "\\"int\\"", "references": [1]}'), "no usable list"),
    ((200, JSON_ANSWER, b"[" * 100_000), "is not a schema registry"),
]


@pytest.mark.parametrize(("answer", "printed"), WRONG, ids=[printed[:20] for _, printed in WRONG])
def test_an_invalid_answer_of_a_registry_raises_one_clear_error(
    stand_in: StandIn, answer: Answer, printed: str
) -> None:
    stand_in.misbehave = lambda target: answer
    with pytest.raises(SchemaRegistryError, match=printed):
        SchemaRegistry(stand_in.url, retries=1).schema(1)


def test_a_registry_that_is_restarting_is_asked_again(stand_in: StandIn) -> None:
    answers: list[Answer | None] = [(503, {}, b""), (502, {}, b""), None]
    stand_in.misbehave = lambda target: answers.pop(0)
    assert SchemaRegistry(stand_in.url).register("s", Schema('"int"')) == 1


def asked_while_away(url: str) -> list[float]:
    """How long the pauses between the attempts are until a version is there."""
    pauses: list[float] = []
    asked = Transport(RegistryAddress(parse_urls(url)[0]), pauses.append)
    asked.request("GET", "/subjects")
    asked.request("GET", "/subjects/s/versions")
    return pauses


@pytest.mark.parametrize("status", [502, 503, 504, None])
def test_the_client_waits_for_a_registry_that_has_answered_before(stand_in: StandIn, status: int | None) -> None:
    """``retries`` is for one whose address may be wrong."""
    SchemaRegistry(stand_in.url).register("s", Schema('"int"'))
    away = iter([True] * 12)

    def misbehave(target: str) -> Answer | None:
        if target == "/subjects" or not next(away, False):
            return None
        if status is None:
            raise ConnectionAbortedError  # the server closes the connection
        return status, {}, b""

    stand_in.misbehave = misbehave
    pauses = asked_while_away(stand_in.url)
    assert pauses[:4] == [0.1, 0.2, 0.4, 0.8] and set(pauses[4:]) == {1.0}
    assert next(away, None) is None


def test_a_registry_that_answers_with_status_500_is_not_waited_for(stand_in: StandIn) -> None:
    stand_in.misbehave = lambda target: None if target == "/subjects" else (500, {}, b"oops")
    with pytest.raises(SchemaRegistryError, match="answers with status 500"):
        asked_while_away(stand_in.url)
    assert len(stand_in.requests) == 1 + 1 + 3


def test_consume_waits_for_a_registry_that_restarts(stand_in: StandIn, capfd: pytest.CaptureFixture[str]) -> None:
    SchemaRegistry(stand_in.url).register("s", Schema('"int"'))
    decoding = Decoding(SchemaRegistry(stand_in.url, timeout_s=0.2))
    away = iter([True] * 8)

    def misbehave(target: str) -> Answer | None:
        if next(away, False):
            raise ConnectionAbortedError
        return None

    stand_in.misbehave = misbehave
    record = SimpleNamespace(key=None, value=b"\0\0\0\0\1\2", headers=())
    found, _ = decoding.members(record)
    assert found == {"key": None, "value": 1}
    reports = [line for line in capfd.readouterr().err.splitlines() if line.startswith("still waiting")]
    assert [line.partition(": ")[0] for line in reports] == ["still waiting, for 60 s more at most"]
    assert stand_in.url in reports[0]


def test_a_client_does_not_send_a_deletion_twice(stand_in: StandIn) -> None:
    stand_in.misbehave = lambda target: (503, {}, b"")
    with pytest.raises(SchemaRegistryError):
        SchemaRegistry(stand_in.url).delete_subject("s")
    assert len(stand_in.requests) == 1


def test_an_unreachable_registry_is_reported_with_address_and_attempts() -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(SchemaRegistryError, match=rf"{url} cannot be reached after 2 attempts: .*refused"):
            SchemaRegistry(url, retries=1).subjects()


@pytest.mark.parametrize("trickle", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"])
def test_a_request_to_a_hanging_or_slow_registry_times_out(trickle: bytes) -> None:
    stop = threading.Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with closing(connection):
                connection.sendall(trickle)
                while not stop.wait(0.02):
                    try:
                        connection.sendall(b" " if trickle else b"")
                    except OSError:
                        return

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            with pytest.raises(SchemaRegistryError, match=r"cannot be reached: no answer within 0\.3 s"):
                SchemaRegistry(url, timeout_s=0.3).subjects()
        finally:
            stop.set()
            thread.join()


def test_the_client_asks_the_next_registry_address_if_one_cannot_be_reached(stand_in: StandIn) -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert SchemaRegistry(f"{dead},{stand_in.url}").subjects() == []


def test_credentials_are_sent_in_the_configured_way_and_never_shown(stand_in: StandIn) -> None:
    inside = stand_in.url.replace("http://", "http://anna:s%40crit@")
    registries = [
        SchemaRegistry(inside),
        SchemaRegistry(stand_in.url, user="anna", password="s@crit"),
        SchemaRegistry(stand_in.url, token=lambda: "abc"),
    ]
    for registry in registries:
        registry.subjects()
        assert "crit" not in repr(registry) + registry.url
    sent = [headers["Authorization"] for _, _, headers in stand_in.requests]
    assert sent == ["Basic YW5uYTpzQGNyaXQ=", "Basic YW5uYTpzQGNyaXQ=", "Bearer abc"]


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8081", "ftp://x", "http://", "http://x:99999", "http://a b/", "http://ä"]
)
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="a schema registry's address is http://HOST:PORT"):
        SchemaRegistry(url)


def test_an_unknown_schema_id_is_not_requested_again_at_once(stand_in: StandIn) -> None:
    read = AvroDeserializer(SchemaRegistry(stand_in.url))
    for _ in range(3):
        with pytest.raises(SchemaRegistryError, match=r"Schema 9 not found \(error 40403\)"):
            read(b"\0\0\0\0\x09x")
    assert len(stand_in.requests) == 1


def test_circular_references_raise_one_clear_error(stand_in: StandIn) -> None:
    references = [{"name": "a.B", "subject": "s", "version": 1}]
    body = {"schema": '"a.B"', "references": references, "subject": "s", "version": 1, "id": 1}
    stand_in.misbehave = lambda target: (200, JSON_ANSWER, json.dumps(body).encode())
    with pytest.raises(SchemaRegistryError, match="form a circle"):
        Codecs(SchemaRegistry(stand_in.url)).of(1)


@pytest.mark.parametrize("text", ["{", '{"type": "record"}', '"nothing"', "[" * 5000 + "]" * 5000])
def test_an_invalid_schema_raises_one_clear_error_and_is_not_fetched_again(stand_in: StandIn, text: str) -> None:
    stand_in.answer("POST", "/subjects/s/versions", {"schema": text})
    codecs = Codecs(SchemaRegistry(stand_in.url))
    for _ in range(2):
        with pytest.raises(SchemaError, match="schema 1 cannot be used: this is not an Avro schema"):
            codecs.of(1)
    assert len(stand_in.requests) == 1


def test_a_truncated_payload_raises_one_clear_error(stand_in: StandIn) -> None:
    schema = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "a", "type": {"type": "array", "items": "string"}}, {"name": "b", "type": "double"}],
        }
    )
    stand_in.answer("POST", "/subjects/s/versions", {"schema": schema})
    codecs = Codecs(SchemaRegistry(stand_in.url))
    data = struct.pack(">bi", 0, 1) + b"\x04\x02x\x04yz\x00" + struct.pack("<d", 1.5)
    assert codecs.decoded(data).value == {"a": ["x", "yz"], "b": 1.5}
    for length in range(len(data)):
        with pytest.raises(
            SchemaError, match="they end too early|items cannot be in" if length >= 5 else "no schema id"
        ):
            codecs.decoded(data[:length])
    with pytest.raises(SchemaError, match="1 bytes are left over"):
        codecs.decoded(data + b"\0")
    with pytest.raises(SchemaError, match="the first byte is 1, not 0"):
        codecs.decoded(b"\x01" + data[1:])
