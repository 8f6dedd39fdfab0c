"""Requests out of place in a login, to our broker and to Apache Kafka: the same bytes, and the same end.

With sessions that last until the connection ends, and with sessions that expire, which may be renewed (KIP-368).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import pytest

from oncelog.conformance.wire import Connection, ConnectionClosed
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.wire import Message
from tests.security.sides import PASSWORD, Side, kafka_side, oncelog_side
from tests.support.frames import encode_request

SETTINGS = {
    "connection.failed.authentication.delay.ms": "0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    "listener.name.clients.scram-sha-512.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
}
CLOSED = "closed"


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
    with Connection(side.asking_servers) as connection:
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
    ],
)
def test_a_handshake_after_a_login_renews_only_a_session_that_expires(sides: tuple[Side, Side], order: str) -> None:
    ours, theirs = (answers(side, [SENT[name] for name in order.split(", ")]) for side in sides)
    assert ours == theirs
