"""UpdateFeatures, and how transactions and groups behave at each level, on brokers that belong to these tests."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.group_members import commit, committed
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, find_coordinator, init
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.transaction_log_value import TransactionLogValue
from oncelog.protocol.generated.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tests.integration.conformance.features import (
    GROUP,
    HIGHEST,
    SAFE,
    TRANSACTION,
    UNSAFE,
    UPGRADE,
    finalized,
    set_level,
    update,
)
from tests.integration.conformance.nodes import Node, running_node

INVALID_UPDATE_VERSION, UNSUPPORTED_VERSION, FENCED, INVALID_EPOCH = 95, 35, 90, 47
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMMITTED, ABORTED = range(6)
SETTINGS = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "transaction.state.log.num.partitions": "1",
    "oncelog.flush.policy": "none",
}
LEVELS = pytest.mark.parametrize("level", [0, 1, 2])


@pytest.fixture(scope="module", params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def node(request: pytest.FixtureRequest) -> Iterator[Node]:
    with running_node(request.param, SETTINGS) as started:
        yield started


@pytest.fixture
def connection(node: Node) -> Iterator[RawConnection]:
    """Every test begins and ends with the highest levels."""
    with RawConnection(node.bootstrap_servers) as opened:
        yield opened
    with RawConnection(node.bootstrap_servers) as opened:
        for feature, level in HIGHEST.items():
            set_level(opened, feature, level)


@pytest.fixture
def producer_id(unique_name: str) -> str:
    return f"{unique_name}-id"


def values_logged(connection: RawConnection, transactional_id: str) -> list[tuple[int, int, int, int]]:
    """For each value of an id: its version, the state, the producer's epoch and the client's transaction version."""
    found = []
    for batch in connection.fetch("__transaction_state", 0, 0).batches:
        for record in batch.records():
            assert record.key is not None
            if record.value is not None and record.key[4:] == transactional_id.encode():
                (version,) = struct.unpack_from(">h", record.value)
                value = TransactionLogValue.decode(record.value, version, 2)
                newer = value.client_transaction_version if version >= 1 else 0
                found.append((version, value.transaction_status, value.producer_epoch, newer))
    return found


def epochs(connection: RawConnection, topic: str) -> list[tuple[str, int]]:
    """For each batch: its kind and its producer's epoch."""
    batches = connection.fetch(topic, 0, 0).batches
    return [(batch.marker()[0] if batch.is_control else "data", batch.epoch) for batch in batches]


# --- updates

NOT_A_DOWNGRADE = (
    "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
)
NO_SUCH_TYPE = "The controller does not support the given upgrade type."


@pytest.mark.parametrize(
    ("feature", "level", "how", "reason"),
    [
        (TRANSACTION, 1, UPGRADE, NOT_A_DOWNGRADE),
        (GROUP, 0, UPGRADE, NOT_A_DOWNGRADE),
        (TRANSACTION, 3, UPGRADE, "Local controller 1 only supports versions 0-2"),
        (GROUP, 2, UNSAFE, "Local controller 1 only supports versions 0-1"),
        (TRANSACTION, -1, UNSAFE, "A feature version cannot be less than 0."),
        ("nope", -1, UPGRADE, "A feature version cannot be less than 0."),
        ("nope", 0, SAFE, "Feature nope not found."),
        ("nope", 1, UPGRADE, "Local controller 1 does not support this feature."),
        ("", 1, UPGRADE, "Local controller 1 does not support this feature."),
        (TRANSACTION, 2, 0, NO_SUCH_TYPE),
        (TRANSACTION, 2, 4, NO_SUCH_TYPE),
        ("nope", -1, -1, NO_SUCH_TYPE),
    ],
)
@pytest.mark.parametrize("validate_only", [False, True])
def test_an_impossible_feature_update_is_refused(
    connection: RawConnection, feature: str, level: int, how: int, reason: str, validate_only: bool
) -> None:
    answer = update(connection, (feature, level, how), validate_only=validate_only)
    assert (answer.error_code, answer.results) == (INVALID_UPDATE_VERSION, [])
    assert answer.error_message == (
        "The update failed for all features since the following feature had an error: "
        f"Invalid update version {level} for feature {feature}. {reason}"
    )
    assert finalized(connection)[1] == HIGHEST


@pytest.mark.parametrize("how", [SAFE, UNSAFE])
def test_a_downgrade_does_not_raise_a_feature_level(connection: RawConnection, how: int) -> None:
    set_level(connection, TRANSACTION, 0)
    answer = update(connection, (TRANSACTION, 1, how))
    assert answer.error_code == INVALID_UPDATE_VERSION
    assert answer.error_message.endswith("for feature transaction.version. Can't downgrade to a newer version.")


def reported(connection: RawConnection, levels: dict[str, int]) -> tuple[int, dict[str, int]]:
    """Wait until the levels are finalized: Kafka's controller answers before its broker knows of a change."""
    return eventually(lambda: found if (found := finalized(connection))[1] == levels else None, 60)


def test_a_changed_feature_level_raises_the_epoch_and_level_0_is_not_reported(connection: RawConnection) -> None:
    before = finalized(connection)
    assert before[1] == HIGHEST
    assert update(connection, (TRANSACTION, 1, SAFE)).error_code == 0
    lower = reported(connection, {GROUP: 1, TRANSACTION: 1})
    assert update(connection, (TRANSACTION, 0, UNSAFE), (GROUP, 0, SAFE)).error_code == 0
    lowest = reported(connection, {})
    assert finalized(connection, 3)[1] == {}
    assert before[0] < lower[0] < lowest[0]


@pytest.mark.parametrize("version", [1, 2])
def test_validate_only_does_not_change_a_feature(connection: RawConnection, version: int) -> None:
    answer = update(connection, (TRANSACTION, 0, SAFE), (GROUP, 0, UNSAFE), version=version, validate_only=True)
    assert answer.error_code == 0
    assert finalized(connection)[1] == HIGHEST


def test_one_refused_feature_refuses_the_whole_update(connection: RawConnection) -> None:
    answer = update(connection, (TRANSACTION, 1, SAFE), ("nope", 1, UPGRADE))
    assert answer.error_code == INVALID_UPDATE_VERSION
    assert finalized(connection)[1] == HIGHEST


@pytest.mark.parametrize("version", [0, 1, 2])
def test_update_features_0_and_1_return_a_result_for_each_feature(connection: RawConnection, version: int) -> None:
    wanted = (TRANSACTION, 2, UPGRADE), (GROUP, 1, UPGRADE), (TRANSACTION, 2, UPGRADE)
    answer = update(connection, *wanted, version=version)
    assert (answer.error_code, answer.error_message) == (0, None)
    reported = [(result.feature, result.error_code, result.error_message) for result in answer.results]
    assert reported == [(name, 0, "NONE") for name, _, _ in (wanted if version < 2 else ())]


def test_the_last_level_of_a_repeated_feature_applies(connection: RawConnection) -> None:
    assert update(connection, (TRANSACTION, 2, UPGRADE), (TRANSACTION, 3, UPGRADE)).error_code == INVALID_UPDATE_VERSION
    assert update(connection, (TRANSACTION, 3, UPGRADE), (TRANSACTION, 1, SAFE)).error_code == 0
    eventually(lambda: finalized(connection)[1].get(TRANSACTION, 0) == 1)


def test_allow_downgrade_of_version_0_has_no_effect(connection: RawConnection) -> None:
    key = FeatureUpdateKey(feature=TRANSACTION, max_version_level=1, allow_downgrade=True)
    answer = connection.ask(UpdateFeaturesRequest(feature_updates=[key]), 0)
    assert answer.error_code == INVALID_UPDATE_VERSION
    assert answer.error_message.endswith(NOT_A_DOWNGRADE)


# --- transactions


@LEVELS
def test_a_producer_of_the_older_protocol_keeps_its_epoch_at_every_transaction_version(
    connection: RawConnection, topic: str, producer_id: str, level: int
) -> None:
    set_level(connection, TRANSACTION, level)
    producer = RawTransactionalProducer(connection, producer_id).init()
    for end in (producer.commit, producer.abort):
        producer.send(topic, b"a")
        end()
    assert epochs(connection, topic) == [("data", 0), ("commit", 0), ("data", 0), ("abort", 0)]
    version = min(level, 1)
    states = EMPTY, ONGOING, PREPARE_COMMIT, COMMITTED, ONGOING, PREPARE_ABORT, ABORTED
    assert values_logged(connection, producer_id) == [(version, state, 0, 0) for state in states]


@pytest.mark.parametrize("level", [1, 2])
def test_the_newer_transaction_protocol_is_served_from_transaction_version_1_on(
    connection: RawConnection, topic: str, producer_id: str, level: int
) -> None:
    set_level(connection, TRANSACTION, level)
    producer = RawTransactionalProducer(connection, producer_id, version_2=True).init()
    producer.send(topic, b"a")
    producer.commit()
    assert epochs(connection, topic) == [("data", 0), ("commit", 1)]
    expected = [(1, EMPTY, 0, 0), (1, ONGOING, 0, 2), (1, PREPARE_COMMIT, 1, 2), (1, COMMITTED, 1, 2)]
    assert values_logged(connection, producer_id) == expected


def test_at_transaction_version_0_a_produce_that_adds_its_partition_is_refused(
    connection: RawConnection, topic: str, producer_id: str
) -> None:
    set_level(connection, TRANSACTION, 0)
    producer = RawTransactionalProducer(connection, producer_id, version_2=True).init()
    assert producer.send_once(topic, b"a").error == UNSUPPORTED_VERSION
    assert producer.describe().transaction_state == "Empty"
    assert epochs(connection, topic) == []


def test_at_transaction_version_0_an_offset_commit_that_adds_its_group_is_refused(
    connection: RawConnection, topic: str, producer_id: str
) -> None:
    set_level(connection, TRANSACTION, 0)
    producer = RawTransactionalProducer(connection, producer_id, version_2=True).init()
    find_coordinator(connection, producer_id, 0)
    assert producer.commit_offsets_once(producer_id, {(topic, 0): 5}, version=5) == [UNSUPPORTED_VERSION]
    assert committed(connection, producer_id, topic) == -1


@pytest.mark.parametrize("open_", [False, True])
def test_at_transaction_version_0_an_end_txn_that_raises_the_epoch_is_refused(
    connection: RawConnection, topic: str, producer_id: str, open_: bool
) -> None:
    set_level(connection, TRANSACTION, 0)
    producer = RawTransactionalProducer(connection, producer_id).init()
    if open_:
        producer.send(topic, b"a")
    answer = producer.end_once(commit=False, version=5)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (UNSUPPORTED_VERSION, -1, -1)
    assert producer.describe().transaction_state == ("Ongoing" if open_ else "Empty")


@LEVELS
def test_a_partition_not_added_to_the_transaction_is_refused_at_every_transaction_version(
    connection: RawConnection, topic: str, producer_id: str, level: int
) -> None:
    set_level(connection, TRANSACTION, level)
    producer = RawTransactionalProducer(connection, producer_id).init()
    assert producer.send_once(topic, b"a", version=11).error == 120
    assert producer.send_once(topic, b"a", version=10).error == 48


@LEVELS
def test_the_transaction_version_in_force_decides_how_a_second_producer_aborts_a_transaction(
    connection: RawConnection, topic: str, producer_id: str, level: int
) -> None:
    set_level(connection, TRANSACTION, level)
    producer = RawTransactionalProducer(connection, producer_id).init()
    producer.send(topic, b"a")
    assert RawTransactionalProducer(connection, producer_id).init().epoch == 2
    assert producer.send_once(topic, b"b").error == INVALID_EPOCH
    assert producer.end_once(commit=True).error_code == producer.end_once(commit=True, version=5).error_code == FENCED
    assert epochs(connection, topic) == [("data", 0), ("abort", 1)]
    version, client = min(level, 1), 2 if level == 2 else 0
    aborted = [(version, PREPARE_ABORT, 1, client), (version, ABORTED, 1, client), (version, EMPTY, 2, client)]
    assert values_logged(connection, producer_id)[2:] == aborted


@LEVELS
def test_the_transaction_version_in_force_decides_how_a_timeout_aborts_a_transaction(
    connection: RawConnection, topic: str, producer_id: str, level: int
) -> None:
    set_level(connection, TRANSACTION, level)
    producer = RawTransactionalProducer(connection, producer_id, timeout_ms=300).init()
    producer.send(topic, b"a")
    eventually(lambda: producer.describe().transaction_state == "CompleteAbort")
    assert epochs(connection, topic) == [("data", 0), ("abort", 1)]
    version, client = min(level, 1), 2 if level == 2 else 0
    assert values_logged(connection, producer_id)[2:] == [
        (version, PREPARE_ABORT, 1, client),
        (version, ABORTED, 1, client),
    ]
    # Only an abort that raised the epoch remembers the previous one, so only there the producer may continue (KIP-360).
    again = init(connection, producer_id, pid=producer.pid, epoch=producer.epoch)
    assert (again.error_code, again.producer_epoch) == ((0, 1) if level == 2 else (FENCED, -1))


def test_a_transaction_that_is_open_at_a_downgrade_ends_by_the_older_protocol(
    connection: RawConnection, topic: str, producer_id: str
) -> None:
    producer = RawTransactionalProducer(connection, producer_id, version_2=True).init()
    producer.send(topic, b"a")
    set_level(connection, TRANSACTION, 0)
    assert producer.send_once(topic, b"b").error == 0, "its partition is in the transaction: nothing to add"
    assert producer.end_once(commit=True, version=4).error_code == 0
    assert producer.completed() == "CompleteCommit"
    assert epochs(connection, topic) == [("data", 0), ("data", 0), ("commit", 0)]
    assert values_logged(connection, producer_id)[1:] == [
        (1, ONGOING, 0, 2),
        (0, PREPARE_COMMIT, 0, 0),
        (0, COMMITTED, 0, 0),
    ]


def test_a_transaction_that_is_open_at_an_upgrade_may_end_by_the_newer_protocol(
    connection: RawConnection, topic: str, producer_id: str
) -> None:
    set_level(connection, TRANSACTION, 0)
    producer = RawTransactionalProducer(connection, producer_id).init()
    producer.send(topic, b"a")
    set_level(connection, TRANSACTION, 2)
    answer = producer.end_once(commit=True, version=5)
    assert (answer.error_code, answer.producer_epoch) == (0, 1)
    assert producer.completed() == "CompleteCommit"
    assert epochs(connection, topic) == [("data", 0), ("commit", 1)]
    logged = values_logged(connection, producer_id)
    assert logged == [(0, EMPTY, 0, 0), (0, ONGOING, 0, 0), (1, PREPARE_COMMIT, 1, 2), (1, COMMITTED, 1, 2)]


@LEVELS
def test_clients_choose_their_protocol_by_the_transaction_version(
    node: Node, connection: RawConnection, topic: str, producer_id: str, level: int
) -> None:
    set_level(connection, TRANSACTION, level)
    with oncelog.Producer(bootstrap_servers=node.bootstrap_servers, transactional_id=producer_id) as ours:
        for value in (b"1", b"2"):
            with ours.transaction():
                ours.send(topic, value)
    newer = level == 2
    assert [epoch for kind, epoch in epochs(connection, topic) if kind == "data"] == ([0, 1] if newer else [0, 0])
    assert {client for _, _, _, client in values_logged(connection, producer_id)} == ({0, 2} if newer else {0})

    name = f"{producer_id}-librdkafka"
    other = confluent_kafka.Producer({"bootstrap.servers": node.bootstrap_servers, "transactional.id": name})
    other.init_transactions(120)
    other.begin_transaction()
    other.produce(topic, b"3")
    other.commit_transaction(120)
    eventually(lambda: connection.read_committed(topic) == [b"1", b"2", b"3"])
    assert {version for version, _, _, _ in values_logged(connection, name)} == {min(level, 1)}


# --- groups


def beat(connection: RawConnection, group: str, member: str, epoch: int, topic: str) -> Any:
    request = ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch)
    if epoch == 0:
        request.rebalance_timeout_ms, request.subscribed_topic_names, request.topic_partitions = 30_000, [topic], []
    return connection.ask(request, 1)


def test_group_version_0_disables_the_consumer_protocol(
    connection: RawConnection, topic: str, unique_name: str
) -> None:
    find_coordinator(connection, unique_name, 0)
    member = str(uuid.uuid4())
    epoch = beat(connection, unique_name, member, 0, topic).member_epoch
    assert commit(connection, unique_name, {(topic, 0): 3}, 9, generation=epoch, member=member) == [0]
    set_level(connection, GROUP, 0)
    for group, beats_with in ((unique_name, epoch), (unique_name, -1), (f"{unique_name}-new", 0), ("", 0)):
        refused = beat(connection, group, member, beats_with, topic)
        reported = refused.error_code, refused.error_message, refused.member_id, refused.member_epoch
        assert reported == (UNSUPPORTED_VERSION, None, None, 0)
    described = connection.ask(ConsumerGroupDescribeRequest([unique_name, "unknown"], True), 1).groups
    assert [(one.group_id, one.error_code, one.error_message) for one in described] == [
        (unique_name, UNSUPPORTED_VERSION, None),
        ("unknown", UNSUPPORTED_VERSION, None),
    ]
    assert commit(connection, unique_name, {(topic, 0): 4}, 9, generation=epoch, member=member) == [0]
    assert committed(connection, unique_name, topic) == 4
    set_level(connection, GROUP, 1)
    assert beat(connection, unique_name, member, epoch, topic).error_code == 0
