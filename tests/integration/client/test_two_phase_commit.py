"""Two-phase commit through the socket (KIP-939): restarts, zombies, rights, and a cluster that cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog import Broker
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.client import aio
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.errors import (
    FatalProducerError,
    IllegalStateError,
    KafkaError,
    ProducerFenced,
)
from oncelog.errors import Error
from oncelog.protocol.generated.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.client.reading import make_topic, on_loop, read_back
from tests.integration.security.sides import COMMON, PASSWORD, Rule, oncelog_side
from tests.support.apache_kafka import ApacheKafka
from tests.support.crash_rounds.node import ServeProcess

ENABLED = {"transaction.two.phase.commit.enable": True}
NO_TIME_LIMIT = 2**31 - 1


@pytest.fixture(scope="module")
def enabled() -> Iterator[Broker]:
    with Broker(settings=ENABLED) as broker:
        yield broker


def producer(broker: RunningBroker, name: str, **settings: object) -> Producer:
    return Producer(
        bootstrap_servers=broker.bootstrap_servers,
        transactional_id=name,
        two_phase_commit=True,
        retry_backoff_ms=20,
        **settings,  # type: ignore[arg-type]
    )


def values(broker: RunningBroker, topic: str, partitions: int = 1) -> list[bytes | None]:
    return [seen.value for seen in read_back(broker.bootstrap_servers, topic, partitions)]


def prepared_by_a_dead_producer(broker: RunningBroker, name: str, value: bytes = b"v") -> str:
    """The token of a transaction whose producer has gone without ending it."""
    with producer(broker, name) as first:
        first.begin_transaction()
        first.send(name, value)
        return first.prepare()


@pytest.mark.parametrize("commit", [True, False])
def test_a_later_producer_completes_a_prepared_transaction_as_the_database_decided(
    enabled: Broker, unique_name: str, commit: bool
) -> None:
    with Admin(bootstrap_servers=enabled.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1, 1)])
        token = prepared_by_a_dead_producer(enabled, unique_name)
        (described,) = admin.describe_transactions([unique_name])
        assert (described.state, described.timeout_ms) == ("Ongoing", NO_TIME_LIMIT)
        assert f"{described.producer_id}:{described.producer_epoch}" == token
    for _ in range(3):
        with producer(enabled, unique_name) as later:
            assert later.prepared == token
    with producer(enabled, unique_name) as last:
        last.complete(token if commit else "")
        assert last.prepared is None
        last.complete(token)
        with last.transaction():
            last.send(unique_name, b"next")
    assert values(enabled, unique_name) == ([b"v", b"next"] if commit else [b"next"])


def test_offsets_of_a_group_are_part_of_a_prepared_transaction(enabled: Broker, unique_name: str) -> None:
    name = TopicPartition(unique_name, 0)
    with Admin(bootstrap_servers=enabled.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1, 1)])
        with producer(enabled, unique_name) as first:
            first.begin_transaction()
            first.send_offsets_to_transaction({name: 7}, unique_name)
            token = first.prepare()
        assert token
        with producer(enabled, unique_name) as later:
            later.complete(token)
        assert admin.list_consumer_group_offsets(unique_name)[name].offset == 7


def test_the_producer_that_prepared_cannot_complete_after_another_has_taken_over(
    enabled: Broker, unique_name: str
) -> None:
    with producer(enabled, unique_name) as zombie:
        zombie.begin_transaction()
        zombie.send(unique_name, b"v")
        token = zombie.prepare()
        with producer(enabled, unique_name) as later:
            with pytest.raises(ProducerFenced):
                zombie.complete("")
            assert later.prepared == token
            later.complete(token)
    assert values(enabled, unique_name) == [b"v"]


def test_a_zombie_cannot_prepare_records_for_further_partitions(enabled: Broker, unique_name: str) -> None:
    """The zombie's records to new partitions are refused, so it never gets a token for them."""
    with Admin(bootstrap_servers=enabled.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 2, 1)])
    with producer(enabled, unique_name) as zombie:
        zombie.begin_transaction()
        zombie.send_and_wait(unique_name, b"early", partition=0)
        with producer(enabled, unique_name) as later:
            assert later.prepared is not None
            failed = zombie.send(unique_name, b"late", partition=1)
            with pytest.raises(KafkaError):
                zombie.prepare()
            assert failed.exception() is not None
            later.complete("")
        with pytest.raises(KafkaError):
            zombie.abort_transaction()
    assert values(enabled, unique_name, 2) == []


@on_loop
async def test_the_last_of_several_instances_completes_the_prepared_transaction(
    enabled: Broker, unique_name: str
) -> None:
    await make_topic(enabled.bootstrap_servers, unique_name)
    token = await asyncio.to_thread(prepared_by_a_dead_producer, enabled, unique_name)
    instances = [
        aio.Producer(bootstrap_servers=enabled.bootstrap_servers, transactional_id=unique_name, two_phase_commit=True)
        for _ in range(4)
    ]
    try:
        for instance in instances:
            await instance.start()
        outcomes = await asyncio.gather(*(instance.complete(token) for instance in instances), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [ProducerFenced] * 3 + [type(None)]
    finally:
        for instance in instances:
            await instance.stop()
    assert await asyncio.to_thread(values, enabled, unique_name) == [b"v"]


def test_a_prepared_producer_accepts_no_more_records(enabled: Broker, unique_name: str) -> None:
    with producer(enabled, unique_name) as sender:
        sender.begin_transaction()
        sender.send(unique_name, b"v")
        token = sender.prepare()
        with pytest.raises(IllegalStateError, match=r"complete\(token\)"):
            sender.send(unique_name, b"late")
        with pytest.raises(IllegalStateError, match=r"complete\(token\)"):
            sender.begin_transaction()
        sender.complete(token)
    assert values(enabled, unique_name) == [b"v"]


def test_an_exception_after_prepare_leaves_the_outcome_to_the_database(enabled: Broker, unique_name: str) -> None:
    token = ""
    with producer(enabled, unique_name) as sender:
        try:
            with sender.transaction():
                sender.send(unique_name, b"v")
                token = sender.prepare()
                raise ZeroDivisionError
        except ZeroDivisionError:
            assert sender.prepared == token
        sender.complete(token)
    assert values(enabled, unique_name) == [b"v"]


def test_a_token_of_another_transactional_id_is_refused(enabled: Broker, unique_name: str) -> None:
    token = prepared_by_a_dead_producer(enabled, unique_name)
    other = prepared_by_a_dead_producer(enabled, f"{unique_name}-other")
    with producer(enabled, unique_name) as later:
        with pytest.raises(IllegalStateError, match="the token is another id's"):
            later.complete(other)
        later.complete(token)
    assert values(enabled, unique_name) == [b"v"]


def test_a_plain_producer_or_an_operator_ends_a_prepared_transaction_by_force(
    enabled: Broker, unique_name: str
) -> None:
    prepared_by_a_dead_producer(enabled, unique_name)
    with Admin(bootstrap_servers=enabled.bootstrap_servers) as admin:
        admin.fence_producers([unique_name])
        assert admin.describe_transactions([unique_name])[0].state == "Empty"
    prepared_by_a_dead_producer(enabled, unique_name)
    with Producer(bootstrap_servers=enabled.bootstrap_servers, transactional_id=unique_name) as plain:
        plain.begin_transaction()
        plain.send(unique_name, b"plain")
        plain.commit_transaction()
    assert values(enabled, unique_name) == [b"plain"]


def test_read_committed_consumers_wait_before_a_prepared_transaction(enabled: Broker, unique_name: str) -> None:
    token = prepared_by_a_dead_producer(enabled, unique_name)
    with Producer(bootstrap_servers=enabled.bootstrap_servers) as plain:
        plain.send_and_wait(unique_name, b"behind")
    assert values(enabled, unique_name) == []
    with producer(enabled, unique_name) as later:
        later.complete(token)
    with Consumer(
        unique_name,
        bootstrap_servers=enabled.bootstrap_servers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    ) as consumer:
        assert [next(consumer).value for _ in range(2)] == [b"v", b"behind"]


# --- where it is not to be had


def test_a_cluster_without_two_phase_commit_is_recognised(broker: RunningBroker, unique_name: str) -> None:
    """Covers oncelog without the setting and Apache Kafka 4.3 as it is: nothing is sent that an older broker would
    abort.
    """
    with Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=unique_name) as plain:
        plain.begin_transaction()
        plain.send_and_wait(unique_name, b"v")
        with pytest.raises(FatalProducerError, match="this cluster cannot keep prepared transactions"):
            Producer(
                bootstrap_servers=broker.bootstrap_servers, transactional_id=unique_name, two_phase_commit=True
            ).start()
        plain.commit_transaction()
    assert values(broker, unique_name) == [b"v"]


@pytest.mark.kafka
def test_apache_kafka_refuses_two_phase_commit(kafka_jars: Path, tmp_path: Path, unique_name: str) -> None:
    properties = {"transaction.two.phase.commit.enable": "true", "unstable.api.versions.enable": "true"}
    kafka = ApacheKafka(tmp_path, properties, heap="256m")
    with kafka, pytest.raises(FatalProducerError, match="this cluster cannot keep prepared transactions"):
        Producer(bootstrap_servers=kafka.bootstrap_servers, transactional_id=unique_name, two_phase_commit=True).start()


def test_two_phase_commit_is_refused_below_transaction_version_2(unique_name: str) -> None:
    with Broker(settings=ENABLED) as broker:
        with RawConnection(broker.bootstrap_servers) as connection:
            update = FeatureUpdateKey(feature="transaction.version", max_version_level=1, upgrade_type=2)
            answer = connection.ask(UpdateFeaturesRequest(feature_updates=[update]), 1)
            assert answer.error_code == Error.NONE
        with pytest.raises(FatalProducerError, match=r"transaction\.version 2"):
            producer(broker, unique_name).start()


def test_transaction_version_cannot_change_while_a_database_has_yet_to_decide(unique_name: str) -> None:
    def lower(level: int = 0) -> tuple[int, str | None]:
        with RawConnection(broker.bootstrap_servers) as connection:
            update = FeatureUpdateKey(feature="transaction.version", max_version_level=level, upgrade_type=2)
            answer = connection.ask(UpdateFeaturesRequest(feature_updates=[update]), 1)
            return answer.error_code, answer.error_message

    with Broker(settings=ENABLED) as broker:
        with producer(broker, unique_name) as first:
            first.begin_transaction()
            first.send(unique_name, b"v")
            token = first.prepare()
        error, text = lower()
        assert (error, f"({unique_name})" in str(text)) == (Error.INVALID_UPDATE_VERSION, True), text
        with producer(broker, unique_name) as second:
            second.complete(token)
            assert lower()[0] == Error.NONE
            second.begin_transaction()
            with pytest.raises(KafkaError):
                second.send(unique_name, b"without an epoch of its own").result(60)
        assert values(broker, unique_name) == [b"v"]


def test_prepared_transactions_of_any_coordinator_prevent_a_change_of_transaction_version(unique_name: str) -> None:
    names = [f"{unique_name}-{number}" for number in range(9)]
    with Broker(nodes=3, settings=ENABLED) as broker:
        for name in names:
            with producer(broker, name) as first:
                first.begin_transaction()
                first.send(unique_name, b"v")
                first.prepare()
        assert {broker.coordinator(transactional_id=name) for name in names} == {1, 2, 3}
        for node in broker.nodes:
            with RawConnection(node.bootstrap_servers) as connection:
                update = FeatureUpdateKey(feature="transaction.version", max_version_level=1, upgrade_type=2)
                answer = connection.ask(UpdateFeaturesRequest(feature_updates=[update]), 1)
            assert answer.error_code == Error.INVALID_UPDATE_VERSION
            assert answer.error_message.startswith("9 transactions in two-phase commit are open"), node.node_id


def test_two_phase_commit_needs_a_permission_of_its_own() -> None:
    """WRITE on the transactional id is not enough, and this right is worth nothing without WRITE."""
    with oncelog_side({**COMMON, "transaction.two.phase.commit.enable": "true"}) as side:
        transactional_id, literal, allow = 5, 3, 3
        operations = {"write": 4, "two phase commit": 15}
        rules = {
            name: Rule(transactional_id, "mine", literal, "User:alice", "*", number, allow)
            for name, number in operations.items()
        }
        settings = {
            "bootstrap_servers": side.asking_servers,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "alice",
            "sasl_plain_password": PASSWORD,
            "transactional_id": "mine",
        }
        hints = {
            "write": "Write and TwoPhaseCommit on the transactional id",
            "two phase commit": "authorization failed",
        }
        for name, reported in hints.items():
            side.set_rules(rules[name])
            with pytest.raises(KafkaError, match=reported) as refused:
                Producer(**settings, two_phase_commit=True).start()  # type: ignore[arg-type]
            assert refused.value.error is Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        side.set_rules(rules["write"])
        Producer(**settings).start().stop()  # type: ignore[arg-type]
        side.set_rules(*rules.values())
        Producer(**settings, two_phase_commit=True).start().stop()  # type: ignore[arg-type]


# --- a broker that is killed


@pytest.mark.parametrize("commit", [True, False])
def test_a_prepared_transaction_survives_kill_9_of_the_broker(tmp_path: Path, unique_name: str, commit: bool) -> None:
    node = ServeProcess(tmp_path, {"transaction.two.phase.commit.enable": "true"})
    try:
        node.start()
        sender = producer(node, unique_name)
        sender.begin_transaction()
        sender.send(unique_name, b"v")
        token = sender.prepare()
        node.kill()
        node.start()
        with producer(node, unique_name) as later:
            assert later.prepared == token
            node.kill()
            node.start()
            later.complete(token if commit else "")
        sender.stop()
        assert values(node, unique_name) == ([b"v"] if commit else [])
        with Admin(bootstrap_servers=node.bootstrap_servers) as admin:
            assert admin.describe_transactions([unique_name])[0].state == (
                "CompleteCommit" if commit else "CompleteAbort"
            )
    finally:
        node.close()


def test_prepare_does_not_wait_for_linger_ms(enabled: Broker, unique_name: str) -> None:
    with producer(enabled, unique_name, linger_ms=600_000, max_block_ms=30_000) as patient:
        patient.begin_transaction()
        patient.send(unique_name, b"kept")
        patient.complete(patient.prepare())
    assert values(enabled, unique_name) == [b"kept"]
