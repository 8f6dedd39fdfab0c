"""What a program that was written for aiokafka sees: the same values, callbacks and warnings."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest

import oncelog
from oncelog.aiokafka import (
    AIOKafkaClient,
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    OffsetAndMetadata,
    TopicPartition,
)
from oncelog.aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from oncelog.aiokafka.errors import (
    IncompatibleBrokerVersion,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from tests.integration.client.reading import make_topic, on_loop


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with oncelog.Broker(settings={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap_servers


@on_loop
async def test_a_record_sent_without_acks_has_no_metadata(servers: str, unique_name: str) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=servers, acks=0)
    await producer.start()
    outcome: object = await producer.send_and_wait(unique_name, b"value")
    assert outcome is None
    batch = producer.create_batch()
    batch.append(value=b"one")
    reported: object = await (await producer.send_batch(batch, unique_name, partition=0))
    assert reported is None
    await producer.stop()


@on_loop
async def test_a_string_is_refused_as_a_list_of_topics(servers: str) -> None:
    await make_topic(servers, "a")
    await make_topic(servers, "b")
    admin: Any = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    for call in (
        admin.delete_topics,
        admin.describe_topics,
        admin.create_topics,
        admin.create_partitions,
        admin.delete_records,
        admin.describe_configs,
        admin.alter_configs,
        admin.describe_consumer_groups,
    ):
        for wrong in ("ab", 5, NewTopic("a", 1, 1)):
            with pytest.raises(TypeError, match="needed, not"):
                await call(wrong)
    with pytest.raises(TypeError):
        await admin.create_topics(["ab"])
    with pytest.raises(IncompatibleBrokerVersion, match="leave it out"):
        await admin.describe_consumer_groups(["g"], include_authorized_operations=True)
    assert {"a", "b"} <= set(await admin.list_topics())
    await admin.close()


class Listener(ConsumerRebalanceListener):
    def __init__(self) -> None:
        self.calls: list[tuple[str, set[TopicPartition]]] = []

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        self.calls.append(("revoked", set(revoked)))

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self.calls.append(("assigned", set(assigned)))


@on_loop
async def test_the_rebalance_listener_is_called_for_each_rebalance(servers: str, unique_name: str) -> None:
    await make_topic(servers, unique_name)
    listener = Listener()
    consumer = AIOKafkaConsumer(bootstrap_servers=servers, group_id=unique_name)
    consumer.subscribe([unique_name], listener=listener)
    await consumer.start()
    assert listener.calls == [("revoked", set()), ("assigned", {TopicPartition(unique_name, 0)})]
    await consumer.stop()


@pytest.mark.parametrize("kind", [AIOKafkaProducer, AIOKafkaConsumer])
@on_loop
async def test_an_unclosed_client_that_is_dropped_is_reported_and_collected(
    servers: str, unique_name: str, kind: type[AIOKafkaProducer] | type[AIOKafkaConsumer]
) -> None:
    client = kind(bootstrap_servers=servers)
    await client.start()
    if isinstance(client, AIOKafkaProducer):
        await client.send_and_wait(unique_name, b"value")
    gone, held = weakref.ref(client), [client]
    del client
    with pytest.warns(ResourceWarning, match=f"Unclosed.*{kind.__name__}"):
        drop(held)
    assert gone() is None


def drop(held: list[Any]) -> None:
    held.clear()
    gc.collect()


@on_loop
async def test_the_underlying_client_has_topics_partitions_and_brokers(servers: str, unique_name: str) -> None:
    await make_topic(servers, unique_name, 2)
    client = AIOKafkaClient(bootstrap_servers=servers)
    await client.bootstrap()
    assert await client.add_topic(unique_name)
    cluster = client.cluster
    assert unique_name in cluster.topics()
    assert cluster.partitions_for_topic(unique_name) == {0, 1}
    assert cluster.available_partitions_for_topic(unique_name) == {0, 1}
    (node,) = {broker.nodeId for broker in cluster.brokers()}
    assert isinstance(node, int)
    assert client.get_random_node() == node
    assert cluster.leader_for_partition(TopicPartition(unique_name, 1)) == node
    assert cluster.leader_for_partition(TopicPartition(unique_name, 2)) is None
    assert cluster.partitions_for_broker(node) == {TopicPartition(unique_name, number) for number in (0, 1)}
    with pytest.raises(TypeError, match="a list of topics"):
        client.set_topics(unique_name)
    await client.close()
    producer = AIOKafkaProducer(bootstrap_servers=servers)
    await producer.start()
    await producer.client.add_topic(unique_name)
    assert unique_name in producer.client.cluster.topics()
    await producer.stop()


@on_loop
async def test_partitions_are_checked_only_on_request(servers: str, unique_name: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    await admin.create_topics([NewTopic(unique_name, 1, 1)])
    await admin.create_partitions({unique_name: NewPartitions(3)}, validate_only=True)
    assert len((await admin.describe_topics([unique_name]))[0]["partitions"]) == 1
    await admin.create_partitions({unique_name: NewPartitions(3)})
    assert len((await admin.describe_topics([unique_name]))[0]["partitions"]) == 3
    await admin.close()


@on_loop
async def test_a_partition_that_cannot_be_read_is_reported_each_time(servers: str, unique_name: str) -> None:
    await make_topic(servers, unique_name, 2)
    name = TopicPartition(unique_name, 0)
    consumer = AIOKafkaConsumer(unique_name, bootstrap_servers=servers, group_id=unique_name, auto_offset_reset="none")
    await consumer.start()
    consumer.seek(name, 19_999)
    for _ in range(3):
        with pytest.raises(OffsetOutOfRangeError, match="19999"):
            await consumer.getone(name)
    with pytest.raises(NoOffsetForPartitionError, match=f"{unique_name}-1"):
        await consumer.getone()
    await consumer.stop()


@on_loop
async def test_a_partition_that_does_not_exist_raises_one_of_two_errors_at_once(servers: str, unique_name: str) -> None:
    await make_topic(servers, unique_name)
    consumer = AIOKafkaConsumer(bootstrap_servers=servers)
    await consumer.start()
    for kind in (KafkaTimeoutError, UnknownTopicOrPartitionError):
        with pytest.raises(kind, match="has no partition 100"):
            await consumer.offsets_for_times({TopicPartition(unique_name, 100): 0})
    await consumer.stop()


@pytest.mark.parametrize("kind", [AIOKafkaProducer, AIOKafkaConsumer, AIOKafkaClient, AIOKafkaAdminClient])
def test_arguments_that_aiokafka_refuses_are_named_in_the_refusal(kind: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match=r"`security_protocol` should be SSL or PLAINTEXT, .*, not 'SOME'"):
        kind(security_protocol="SOME")
    for protocol in ("SSL", "SASL_SSL"):
        with pytest.raises(ValueError, match=f"`ssl_context` is mandatory if security_protocol=='{protocol}'"):
            kind(security_protocol=protocol)
    with pytest.raises(ValueError, match="sasl_plain_username and sasl_plain_password required for PLAIN sasl"):
        kind(security_protocol="SASL_PLAINTEXT", sasl_plain_username="somebody")


def test_an_unknown_isolation_level_is_refused() -> None:
    with pytest.raises(ValueError, match="Incorrect isolation level READ_CCC: it is read_committed or "):
        AIOKafkaConsumer(isolation_level="READ_CCC")


@on_loop
async def test_a_topic_with_wrongly_typed_arguments_prevents_creation_of_the_others(
    servers: str, unique_name: str
) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    wrong: Any = "one"
    with pytest.raises(TypeError, match="num_partitions of topic"):
        await admin.create_topics([NewTopic(unique_name, 1, 1), NewTopic(f"{unique_name}-2", wrong, 1)])
    many = [NewTopic(f"{unique_name}-{number}", 1, 1) for number in range(30)]
    made = await admin.create_topics(many)
    assert [row[:2] for row in made.topic_errors] == [(topic.name, 0) for topic in many]
    assert unique_name not in await admin.list_topics()
    await admin.close()


@on_loop
async def test_a_compiled_pattern_and_an_offset_without_metadata_are_accepted(servers: str, unique_name: str) -> None:
    await make_topic(servers, unique_name)
    consumer = AIOKafkaConsumer(bootstrap_servers=servers, group_id=unique_name)
    consumer.subscribe(pattern=re.compile(unique_name.upper(), re.IGNORECASE))
    consumer.unsubscribe()
    consumer.assign([TopicPartition(unique_name, 0)])
    await consumer.start()
    without: Any = OffsetAndMetadata(3, None)  # type: ignore[arg-type]
    await consumer.commit({TopicPartition(unique_name, 0): without})
    assert await consumer.committed(TopicPartition(unique_name, 0)) == 3
    await consumer.stop()


@on_loop
async def test_deserializers_are_called_for_null(servers: str, unique_name: str) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=servers)
    await producer.start()
    await producer.send_and_wait(unique_name, None, key=b"k")
    await producer.send_and_wait(unique_name, b"v")
    await producer.stop()
    given: list[bytes | None] = []
    consumer = AIOKafkaConsumer(
        unique_name,
        bootstrap_servers=servers,
        auto_offset_reset="earliest",
        key_deserializer=lambda key: key or b"no key",
        value_deserializer=lambda value: given.append(value) or "seen",
    )
    await consumer.start()
    assert [(record.key, record.value) for record in [await consumer.getone(), await consumer.getone()]] == [
        (b"k", "seen"),
        (b"no key", "seen"),
    ]
    assert given == [None, b"v"]
    await consumer.stop()
