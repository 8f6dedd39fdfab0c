"""A connection whose writes are not checked again (``appending/produce_runs.py``) writes nothing that it may not.

Each test lets the connection learn its route first, then changes something beneath it, and sends several requests at
once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, batch
from oncelog.apps.conformance.raw.bodies import produce_body
from oncelog.apps.conformance.raw.wire import PRODUCE, ConnectionClosed, RawConnection
from oncelog.protocol.acls import AclResourceType as Kind
from oncelog.protocol.acls import Operation, PatternType, Permission
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from tests.integration.security.sides import PASSWORD, Rule, Side, oncelog_side

MESSAGE_TOO_LARGE, TOPIC_AUTHORIZATION_FAILED, TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 10, 29, 53
UNKNOWN_TOPIC_ID, ILLEGAL_SASL_STATE = 100, 34
TOPIC_RESOURCE, SET = 2, 0


def allow(user: str, kind: Kind, name: str, operation: Operation) -> Rule:
    return Rule(kind, name, PatternType.LITERAL, f"User:{user}", "*", operation, Permission.ALLOW)


@pytest.fixture(scope="module")
def side() -> Iterator[Side]:
    settings = {"connection.failed.authentication.delay.ms": "0", "connections.max.reauth.ms": "600000"}
    with oncelog_side(settings) as found:
        yield found


def writer(side: Side, topic: str, *, user: str = "alice", version: int = 11, acks: int = -1) -> RawConnection:
    """A connection that may write to ``topic``, has done so, and has learned its route."""
    topic_id = side.admin.create_topic(topic)
    side.set_rules(allow(user, Kind.TOPIC, topic, Operation.WRITE))
    connection = side.connect(user)
    for _ in range(2):
        key = topic_id if version >= 13 else topic
        assert connection.produce(key, batch(b"may"), version=version).error == 0
    if acks == 0:
        connection.send_produce({(topic, 0): batch(b"may")}, acks=0)
    return connection


def errors_of(
    connection: RawConnection, topic: str | bytes, records: bytes, *, version: int = 11, count: int = 3
) -> set[int]:
    """The answers to requests that are all sent before one is read."""
    sent = [connection.send_produce({(topic, 0): records}, version=version) for _ in range(count)]
    return {connection.receive_produce(number, version)[topic, 0].error for number in sent}


def values(side: Side, topic: str) -> list[bytes | None]:
    return [found.value for item in side.admin.fetch(topic).batches for found in item.records()]


def test_a_revoked_permission_no_longer_applies_to_connections_that_used_it(side: Side) -> None:
    with writer(side, "taken") as connection:
        side.set_rules()
        assert errors_of(connection, "taken", batch(b"may not")) == {TOPIC_AUTHORIZATION_FAILED}
        assert values(side, "taken") == [b"may", b"may"]
        side.set_rules(allow("alice", Kind.TOPIC, "taken", Operation.WRITE))
        assert errors_of(connection, "taken", batch(b"again")) == {0}


def test_a_denied_produce_without_acks_writes_nothing_and_ends_the_connection(side: Side) -> None:
    with writer(side, "unasked", acks=0) as connection:
        eventually(lambda: len(values(side, "unasked")) == 3)
        side.set_rules()
        with contextlib.suppress(ConnectionClosed):  # ended before all was sent
            for _ in range(3):
                connection.send_produce({("unasked", 0): batch(b"may not")}, acks=0)
        with pytest.raises(ConnectionClosed):
            connection.receive_frame()
        assert values(side, "unasked") == [b"may"] * 3


def test_a_user_with_write_permission_cannot_write_into_transactions_of_others(side: Side) -> None:
    """A request with a transactional id needs the right to it if its batch is transactional, and only then."""
    topic, txn_id = "shared", "alices"
    side.admin.create_topic(topic)
    side.set_rules(
        allow("alice", Kind.TOPIC, topic, Operation.WRITE),
        allow("alice", Kind.TRANSACTIONAL_ID, txn_id, Operation.ALL),
        allow("bob", Kind.TOPIC, topic, Operation.WRITE),
    )
    with side.connect("alice") as alice, side.connect("bob") as bob:
        find = FindCoordinatorRequest(key="", key_type=1, coordinator_keys=[txn_id])
        alice.ask_until(find, 4, lambda answer: answer.coordinators[0].error_code == 0)
        begun = alice.ask_until(InitProducerIdRequest(txn_id, 60_000), 4, lambda answer: answer.error_code == 0)
        pid, epoch = begun.producer_id, begun.producer_epoch

        def in_transaction(sequence: int) -> bytes:
            return batch(b"in", pid=pid, epoch=epoch, sequence=sequence, attributes=TRANSACTIONAL)

        assert eventually(
            lambda: alice.produce(topic, in_transaction(0), version=12, transactional_id=txn_id).error == 0
        )
        for version in (11, 12):
            for _ in range(2):
                plain = bob.produce(topic, batch(b"plain"), version=version, transactional_id=txn_id)
                assert plain.error == 0
            stolen = bob.produce(topic, in_transaction(1), version=version, transactional_id=txn_id)
            assert stolen.error == TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        assert alice.produce(topic, in_transaction(1), version=12, transactional_id=txn_id).error == 0
        # And a right on the id that is taken away in the middle of a transaction.
        side.set_rules(allow("alice", Kind.TOPIC, topic, Operation.WRITE))
        refused = alice.produce(topic, in_transaction(2), version=12, transactional_id=txn_id)
        assert refused.error == TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert values(side, topic).count(b"in") == 2


def test_a_lower_max_message_bytes_applies_at_once(side: Side) -> None:
    with writer(side, "limited") as connection:
        limit = AlterableConfig("max.message.bytes", SET, "100")
        answer = side.admin.ask(
            IncrementalAlterConfigsRequest([AlterConfigsResource(TOPIC_RESOURCE, "limited", [limit])]), 1
        )
        assert answer.responses[0].error_code == 0
        assert errors_of(connection, "limited", batch(bytes(200))) == {MESSAGE_TOO_LARGE}
        assert errors_of(connection, "limited", batch(b"small")) == {0}


def test_a_recreated_topic_gets_no_records_by_its_old_id(side: Side) -> None:
    with writer(side, "again", version=13) as by_id, side.connect("alice") as by_name:
        ask = side.admin.ask
        assert by_name.produce("again", batch(b"may")).error == 0
        topic_id = ask(MetadataRequest([MetadataRequestTopic(name="again")], False), 12).topics[0].topic_id
        gone = ask(DeleteTopicsRequest([DeleteTopicState("again")], timeout_ms=5000), 6)
        assert gone.responses[0].error_code == 0
        side.admin.create_topic("again")
        assert errors_of(by_id, topic_id, batch(b"old"), version=13) == {UNKNOWN_TOPIC_ID}
        assert errors_of(by_name, "again", batch(b"new")) == {0}
        assert values(side, "again") == [b"new"] * 3


def test_a_quota_set_later_throttles_a_client_that_wrote_before(side: Side) -> None:
    with writer(side, "throttled") as connection:

        def quota(value: float, remove: bool) -> None:
            entry = EntryData([EntityData("user", "alice")], [OpData("producer_byte_rate", value, remove)])
            assert side.admin.ask(AlterClientQuotasRequest([entry], False), 1).entries[0].error_code == 0

        quota(100.0, False)
        try:
            body = produce_body(11, {("throttled", 0): batch(bytes(5000))})
            number = connection.send(PRODUCE, 11, body, flexible=True)
            answer = connection.receive(number, flexible=True)
            assert int.from_bytes(answer[-5:-1], "big") > 0, "throttle_time_ms"
        finally:
            quota(0.0, True)


def test_a_client_writes_nothing_during_reauthentication(side: Side) -> None:
    """KIP-368, and never as another user; a second login is accepted no sooner than a second after the first."""
    with writer(side, "relogin") as connection:

        def login_begins() -> bool:
            try:
                return bool(connection.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == 0)
            except ConnectionClosed:
                raise AssertionError("a second login that comes early is an error, not an end") from None

        assert eventually(login_begins)
        records = batch(b"between")
        sent = connection.send_produce({("relogin", 0): records})
        assert connection.receive_produce(sent)["relogin", 0].error == ILLEGAL_SASL_STATE
        with pytest.raises(ConnectionClosed):
            connection.receive_frame()
        assert values(side, "relogin") == [b"may", b"may"]


def test_another_name_at_a_second_login_is_refused(side: Side) -> None:
    with writer(side, "renamed") as connection:
        assert eventually(lambda: connection.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == 0)
        changed = SaslAuthenticateRequest(f"\0bob\0{PASSWORD}".encode())
        frame = changed.encode(2)
        number = connection.send(changed.API_KEY, 2, frame)
        body = produce_body(11, {("renamed", 0): batch(b"behind")})
        connection.send(PRODUCE, 11, body, flexible=True)  # in the same breath
        answer = connection.receive(number, flexible=True)
        assert int.from_bytes(answer[:2], "big") == 58
        with pytest.raises(ConnectionClosed):
            connection.receive_frame()
        assert values(side, "renamed") == [b"may", b"may"]


def test_a_connection_whose_session_has_ended_writes_nothing_more() -> None:
    with oncelog_side({"connections.max.reauth.ms": "1500"}) as side, writer(side, "ended") as connection:
        written = write_until_closed(connection, "ended")
        # What came in the last breath is written as a whole request or not at all.
        assert 2 + written <= len(values(side, "ended")) < 2 + written + 3


def write_until_closed(connection: RawConnection, topic: str) -> int:
    """How many requests were answered, all without an error, before the broker ended the connection."""
    answered = 0
    while True:
        try:
            assert errors_of(connection, topic, batch(b"may")) == {0}
        except ConnectionClosed:
            return answered
        answered += 3
