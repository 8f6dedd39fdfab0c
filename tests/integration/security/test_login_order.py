"""Requests out of place in a login, to our broker and to Apache Kafka: the same bytes, and the same end.

With sessions that last until the connection ends, and with sessions that expire, which may be renewed (KIP-368).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.broker.core.registry import SERVED
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.describe_acls_request import DescribeAclsRequest
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.messages import TITLES, request_type, response_type
from oncelog.protocol.wire import Message
from tests.integration.security.requests import ASKS, Ask
from tests.integration.security.sides import PASSWORD, Side, kafka_side, oncelog_side
from tests.support.frames import encode_request

SETTINGS = {
    "connection.failed.authentication.delay.ms": "0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    "listener.name.clients.scram-sha-512.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
}
CLOSED = "closed"
DESCRIBE_ACLS = DescribeAclsRequest(2, None, 1, None, None, 1, 1)
"""An empty one cannot be read: it would ask for unknown kinds of resources."""


def frame(message: Message, version: int) -> bytes:
    return unchecked(message.API_KEY, version, message.encode(version))


def unchecked(api_key: int, version: int, body: bytes = b"") -> bytes:
    return encode_request(api_key, version, 7, "early", body)


def login(user: str, password: str = PASSWORD, version: int = 2) -> bytes:
    return frame(SaslAuthenticateRequest(f"\0{user}\0{password}".encode()), version)


SENT = {
    "handshake": frame(SaslHandshakeRequest("PLAIN"), 1),
    "handshake 0": frame(SaslHandshakeRequest("PLAIN"), 0),
    "handshake 9": unchecked(ApiKey.SASL_HANDSHAKE, 9),
    "handshake for SCRAM": frame(SaslHandshakeRequest("SCRAM-SHA-512"), 1),
    "handshake for nothing known": frame(SaslHandshakeRequest("NOPE"), 1),
    "login": login("alice"),
    "login 0": login("alice", version=0),
    "login 9": unchecked(ApiKey.SASL_AUTHENTICATE, 9),
    "login of bob": login("bob"),
    "wrong login": login("alice", "wrong"),
    "versions": frame(ApiVersionsRequest("early", "1"), 3),
    "versions 99": unchecked(ApiKey.API_VERSIONS, 99),
    "versions of nobody": frame(ApiVersionsRequest("", ""), 3),
    "request": frame(HeartbeatRequest("group", 1, "nobody"), 4),
    "request 99": unchecked(ApiKey.HEARTBEAT, 99),
    "unreadable": unchecked(ApiKey.HEARTBEAT, 4, b"\xff\xff\xff\xff\x7f"),
    "more than asked": unchecked(ApiKey.HEARTBEAT, 4, HeartbeatRequest("group", 1, "nobody").encode(4) + b"and more"),
    "unknown API": unchecked(999, 0),
}


@pytest.fixture(scope="module", params=[0, 60_000], ids=["without-end", "expiring"])
def sides(request: pytest.FixtureRequest) -> Iterator[tuple[Side, Side]]:
    settings = {**SETTINGS, "connections.max.reauth.ms": str(request.param)}
    with oncelog_side(settings) as ours, kafka_side(settings) as theirs:
        yield ours, theirs


def answers(side: Side, frames: Sequence[bytes]) -> list[bytes | str]:
    """Each answer, and whether the connection ends."""
    found: list[bytes | str] = []
    with RawConnection(side.asking_servers) as connection:
        try:
            for sent in frames:
                connection.send_bytes(sent)
                found.append(bytes(connection.receive_frame()))
            connection.send_bytes(SENT["unknown API"])  # which ends any connection
            with contextlib.suppress(ConnectionClosed, ConnectionError):
                found.append(bytes(connection.receive_frame()))
        except (ConnectionClosed, ConnectionError):
            found.append(CLOSED)
    return found


@pytest.mark.kafka
@pytest.mark.parametrize(
    "order",
    [
        "handshake, login, handshake 0, request",
        "handshake, login, handshake 9",
        "handshake, login, handshake for SCRAM, login",
        "handshake, login, handshake for nothing known, login",
        "handshake, login, handshake, login, request, handshake, login, request",
        "handshake, login 0, handshake, login 0, request",
        "handshake, login, handshake, login of bob, request",
        "handshake, login, handshake, wrong login, request",
        "handshake, login, login, request",
        "handshake, login, handshake, request",
        "handshake, login, handshake, versions of nobody",
    ],
)
def test_a_handshake_after_a_login_renews_only_a_session_that_expires(sides: tuple[Side, Side], order: str) -> None:
    ours, theirs = (answers(side, [SENT[name] for name in order.split(", ")]) for side in sides)
    assert ours == theirs


@pytest.mark.kafka
@pytest.mark.parametrize(
    "order",
    [
        *("request", "request 99", "login", "unknown API", "handshake 9", "handshake for nothing known"),
        *("versions of nobody, versions 99, versions of nobody, handshake", "versions 99, request"),
        *("handshake, handshake", "handshake, handshake 0", "handshake, handshake 9", "handshake, login 9"),
        *("handshake, versions", "handshake, versions 99", "handshake, versions of nobody"),
        *("handshake, request", "handshake, request 99", "handshake, unreadable", "handshake, more than asked"),
        *("handshake 0, handshake 0", "handshake 0, request", "handshake 0, login"),
    ],
)
def test_requests_before_a_login_are_answered_as_in_kafka(sides: tuple[Side, Side], order: str) -> None:
    ours, theirs = (answers(side, [SENT[name] for name in order.split(", ")]) for side in sides)
    assert ours == theirs


@pytest.mark.kafka
@pytest.mark.parametrize("order", ["versions, versions", "versions, request", "versions, versions 99"])
def test_after_api_versions_only_a_handshake_is_accepted(sides: tuple[Side, Side], order: str) -> None:
    for side in sides:
        (versions, end) = answers(side, [SENT[name] for name in order.split(", ")])
        assert (len(versions) > 0, end) == (True, CLOSED)


def _same(request: Message, _: bytes) -> Message:
    return request


def in_place_of_a_login() -> Iterator[Ask]:
    """Every API in every version, empty, and with what the matrix of rights requests."""
    for key, served in SERVED.items():
        kind = request_type(key)
        for version in range(served.low, served.high + 1):
            request = DESCRIBE_ACLS if key == ApiKey.DESCRIBE_ACLS else kind()
            yield Ask(f"{TITLES[key]} {version}", version, partial(_same, request))
    yield from ASKS


@pytest.mark.kafka
def test_each_request_sent_in_place_of_a_login_is_answered_as_by_kafka(sides: tuple[Side, Side]) -> None:
    found: dict[str, dict[str, list[Any]]] = {}
    for side in sides:
        for asked in in_place_of_a_login():
            request = asked.build(b"id-of-some-topic")
            early = answers(side, [SENT["handshake"], frame(request, asked.version)])[1:]
            found.setdefault(asked.name, {})[side.name] = [
                reported(answer, request.API_KEY, asked.version) for answer in early
            ]
    differing = {name: both for name, both in found.items() if both["oncelog"] != both["kafka"]}
    assert not differing, "\n".join(f"{name}: {both}" for name, both in differing.items())


def reported(answer: bytes | str, api_key: int, version: int) -> Any:
    """All fields of an answer; some of Apache Kafka's are in the order of a hash map."""
    if isinstance(answer, str):
        return answer
    _, position = decode_response_header(answer, api_key, version)
    return fields(response_type(api_key).decode(answer, version, position))


def fields(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(map(fields, value), key=repr)
    slots = getattr(type(value), "__slots__", None)
    return {slot: fields(getattr(value, slot)) for slot in slots} if slots else value
