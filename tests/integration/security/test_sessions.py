"""Sessions that end and are renewed (KIP-368), on our broker and on Apache Kafka."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_authenticate_response import SaslAuthenticateResponse
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.generated.sasl_handshake_response import SaslHandshakeResponse
from tests.integration.security.sides import PASSWORD, Rule, Side, kafka_side, oncelog_side

SESSION_MS = 10_000
SETTINGS = {
    "connections.max.reauth.ms": str(SESSION_MS),
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    "listener.name.clients.scram-sha-512.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
    "connection.failed.authentication.delay.ms": "0",
}
FAILED, ILLEGAL_SASL_STATE = 58, 34


@pytest.fixture(scope="module", params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def side(request: pytest.FixtureRequest) -> Iterator[Side]:
    with (oncelog_side if request.param == "oncelog" else kafka_side)(SETTINGS) as found:
        yield found


@pytest.fixture(scope="module", autouse=True)
def unrenewed(side: Side) -> Iterator[RawConnection]:
    """Opened before all else, so that its session ends while the other tests run."""
    with side.connect("alice") as connection:
        assert works(connection)
        yield connection


def plain(user: str, password: str = PASSWORD) -> SaslAuthenticateRequest:
    return SaslAuthenticateRequest(f"\0{user}\0{password}".encode())


def works(connection: RawConnection) -> bool:
    try:
        connection.ask(MetadataRequest([], False), 9)
    except ConnectionClosed:
        return False
    return True


def renewing(connection: RawConnection, mechanism: str = "PLAIN") -> None:
    """Begin the next login."""
    assert connection.ask(SaslHandshakeRequest(mechanism), 1).error_code == 0


def lasted_a_second(connection: RawConnection) -> None:
    """Return when the broker accepts the next login: Kafka's shortest session is a second."""
    end = time.monotonic() + 1.1
    eventually(lambda: works(connection) and time.monotonic() > end)


def test_a_session_continues_after_a_reauthentication(side: Side) -> None:
    with side.connect("alice") as connection:
        for _ in range(3):
            lasted_a_second(connection)
            renewing(connection)
            answer = connection.ask(plain("alice"), 2)
            assert answer.error_code == 0
            assert 0 < answer.session_lifetime_ms <= SESSION_MS
        assert works(connection)


def test_another_user_cannot_take_over_a_session(side: Side) -> None:
    with side.connect("alice") as connection:
        renewing(connection)
        answer = connection.ask(plain("bob"), 2)
        assert answer.error_code == FAILED
        assert answer.error_message == "Cannot change principals during re-authentication from User.alice: User.bob"
        assert not works(connection)


def test_another_mechanism_cannot_renew_a_session(side: Side) -> None:
    with side.connect("alice") as connection:
        renewing(connection, "SCRAM-SHA-512")
        with pytest.raises(ConnectionClosed):
            connection.ask(SaslAuthenticateRequest(b"n,,n=alice,r=abcdefgh"), 2)


def test_a_wrong_password_ends_a_session(side: Side) -> None:
    with side.connect("alice") as connection:
        renewing(connection)
        assert connection.ask(plain("alice", "wrong"), 2).error_code == FAILED
        assert not works(connection)


def test_other_requests_end_the_connection_between_the_handshake_and_the_login(side: Side) -> None:
    with side.connect("alice") as connection:
        renewing(connection)
        assert connection.ask(HeartbeatRequest("group", 1, "nobody"), 4).error_code == ILLEGAL_SASL_STATE
        assert not works(connection)


def test_a_session_is_renewed_at_once_but_not_twice_in_a_second(side: Side) -> None:
    with side.connect("alice") as connection:
        renewing(connection)
        assert connection.ask(plain("alice"), 2).error_code == 0
        assert connection.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == ILLEGAL_SASL_STATE
        assert works(connection)


@pytest.fixture
def topic(side: Side, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, which alice may read and write."""
    name = f"of-{request.node.originalname}"
    side.admin.create_topic(name)
    side.set_rules(Rule(kind=2, name=name, pattern=3, principal="User:alice", host="*", operation=2, permission=3))
    return name


def test_a_pipelined_reauthentication_is_processed_in_order(side: Side, topic: str) -> None:
    """A waiting fetch, the login, and what follows it, all before the first answer."""
    with side.connect("alice") as connection:
        lasted_a_second(connection)
        waiting = connection.send_fetch({(topic, 0): RawFetchPosition(0)}, max_wait_ms=300)
        handshake = connection.send_message(SaslHandshakeRequest("PLAIN"), 1)
        login = connection.send_message(plain("alice"), 2)
        produced = [connection.send_produce({(topic, 0): batch(b"x")}) for _ in range(3)]
        assert connection.receive_fetch(waiting).partitions[topic, 0].batches == []
        assert SaslHandshakeResponse.decode(connection.receive(handshake, flexible=False), 1, 0).error_code == 0
        assert SaslAuthenticateResponse.decode(connection.receive(login, flexible=True), 2, 0).error_code == 0
        answers = [connection.receive_produce(sent)[topic, 0] for sent in produced]
        assert [(answer.error, answer.base_offset) for answer in answers] == [(0, 0), (0, 1), (0, 2)]


def test_requests_after_a_failed_login_are_not_served(side: Side, topic: str) -> None:
    with side.connect("alice") as connection:
        lasted_a_second(connection)
        assert connection.produce(topic, batch(b"before")).error == 0
        handshake = connection.send_message(SaslHandshakeRequest("PLAIN"), 1)
        login = connection.send_message(plain("bob"), 2)
        with contextlib.suppress(ConnectionClosed):  # ended before all was sent
            for _ in range(3):
                connection.send_produce({(topic, 0): batch(b"behind")})
        assert SaslHandshakeResponse.decode(connection.receive(handshake, flexible=False), 1, 0).error_code == 0
        assert SaslAuthenticateResponse.decode(connection.receive(login, flexible=True), 2, 0).error_code == FAILED
        with pytest.raises(ConnectionClosed):
            connection.receive_frame()
    assert side.admin.list_offset(topic).offset == 1


def test_a_session_that_is_not_renewed_is_ended(unrenewed: RawConnection) -> None:
    eventually(lambda: not works(unrenewed))
