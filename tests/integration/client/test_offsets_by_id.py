"""Offsets of transactions identify their topics by id (KIP-1319), and none is committed for a recreated topic."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from oncelog.client.aio import Admin, Consumer, Producer
from oncelog.client.aio.transactions.batch_transaction import BatchTransactions
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata
from oncelog.client.errors import AbortableTransactionError
from oncelog.errors import KafkaError
from oncelog.protocol.api_keys import ApiKey
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.client.proxy import TXN_OFFSET_COMMIT, KafkaProxy
from tests.integration.client.reading import make_topic, on_loop, values
from tests.support.older_broker import KAFKA_2_8, older_broker

FAST = {"retry_backoff_ms": 20, "request_timeout_ms": 30_000, "delivery_timeout_ms": 120_000}
Send = Callable[[int], Awaitable[None]]


async def remade(servers: str, topic: str) -> None:
    """Delete a topic and make another one of its name."""
    async with Admin(bootstrap_servers=servers) as admin:
        await admin.delete_topics([topic])
    while True:
        try:
            await make_topic(servers, topic)
        except KafkaError as error:
            if "TOPIC_ALREADY_EXISTS" not in str(error):
                raise
        else:
            return


async def write(servers: str, topic: str, count: int) -> None:
    async with Producer(bootstrap_servers=servers) as producer:
        for number in range(count):
            await producer.send_and_wait(topic, b"%d" % number, partition=0)


async def committed(servers: str, group: str, topic: str) -> int | None:
    reader = {"group_id": group, "enable_auto_commit": False, "isolation_level": "read_committed"}
    async with Consumer(bootstrap_servers=servers, **reader) as consumer:
        return await consumer.committed(TopicPartition(topic, 0))


@asynccontextmanager
async def one_at_a_time(servers: str, name: str) -> AsyncIterator[tuple[Send, Callable[[], Awaitable[None]]]]:
    """A producer that commits an offset of a topic with each transaction, and what brings it back after an error."""
    async with Producer(bootstrap_servers=servers, transactional_id=name, **FAST) as producer:

        async def send(offset: int) -> None:
            await producer.begin_transaction()
            await producer.send(f"{name}-out", b"%d" % offset)
            await producer.send_offsets_to_transaction({TopicPartition(name, 0): offset}, name)
            await producer.commit_transaction()

        yield send, producer.abort_transaction


@asynccontextmanager
async def in_batches(servers: str, name: str) -> AsyncIterator[tuple[Send, Callable[[], Awaitable[None]]]]:
    """The same as the sink of Spark and the mirror do it."""
    async with Admin(bootstrap_servers=servers) as admin:
        transactions = BatchTransactions(admin.cluster, name, 60_000)
        await transactions.init()

        async def send(offset: int) -> None:
            await transactions.add_offsets(name, {TopicPartition(name, 0): OffsetAndMetadata(offset)})
            await transactions.end(commit=True)

        async def abort() -> None:
            await transactions.end(commit=False)
            await transactions.init()

        yield send, abort


@pytest.mark.parametrize("writer", [one_at_a_time, in_batches])
@on_loop
async def test_offsets_of_a_recreated_topic_are_refused(
    broker: RunningBroker, unique_name: str, writer: Callable[[str, str], object]
) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    await make_topic(broker.bootstrap_servers, f"{unique_name}-out")
    async with KafkaProxy(broker.bootstrap_servers) as proxy:
        async with writer(proxy.bootstrap_servers, unique_name) as (send, abort):  # type: ignore[attr-defined]
            await send(3)
            assert await committed(broker.bootstrap_servers, unique_name, unique_name) == 3
            await remade(broker.bootstrap_servers, unique_name)
            with pytest.raises(AbortableTransactionError, match=f"topic '{unique_name}' was deleted and recreated"):
                await send(4)
            await abort()
            assert await committed(broker.bootstrap_servers, unique_name, unique_name) is None
            await send(5)
            assert await committed(broker.bootstrap_servers, unique_name, unique_name) == 5
        assert proxy.versions[TXN_OFFSET_COMMIT] == {6}
    assert values(broker.bootstrap_servers, f"{unique_name}-out") == ([b"3", b"5"] if writer is one_at_a_time else [])


@on_loop
async def test_offsets_of_a_deleted_topic_are_not_committed_for_its_recreation(
    broker: RunningBroker, unique_name: str
) -> None:
    """Not even by a producer that has never seen the deleted one. Java's client commits it."""
    servers, partition = broker.bootstrap_servers, TopicPartition(unique_name, 0)
    await make_topic(servers, unique_name)
    await write(servers, unique_name, 3)
    reader = {"group_id": unique_name, "enable_auto_commit": False, "auto_offset_reset": "earliest"}
    reader["allow_auto_create_topics"] = False  # its metadata would create the topic before the test does
    async with Consumer(unique_name, bootstrap_servers=servers, **reader) as consumer:
        for _ in range(3):
            await consumer.getone()
        before = consumer.group_metadata()
        assert dict(before.topic_ids).keys() == {partition}
        await remade(servers, unique_name)
        async with Producer(bootstrap_servers=servers, transactional_id=unique_name, **FAST) as producer:
            await producer.begin_transaction()
            with pytest.raises(AbortableTransactionError, match=f"topic '{unique_name}' was deleted and recreated"):
                await producer.send_offsets_to_transaction({partition: 3}, before)
            await producer.abort_transaction()
            if partition in consumer.assignment():  # else the group is assigning the new topic, and begins at 0
                consumer.seek(partition, 0)
            await write(servers, unique_name, 1)
            assert (await consumer.getone()).offset == 0
            after = consumer.group_metadata()
            assert after.topic_ids != before.topic_ids
            async with producer.transaction():
                await producer.send_offsets_to_transaction({partition: 1}, after)
    assert await committed(servers, unique_name, unique_name) == 1


@pytest.mark.parametrize(
    ("epoch", "member", "why"),
    [(7, "someone", "UNKNOWN_MEMBER_ID"), (1, None, "STALE_MEMBER_EPOCH"), (-1, "", None)],
)
@on_loop
async def test_transactional_offsets_of_a_member_with_a_stale_epoch_are_refused(
    broker: RunningBroker, unique_name: str, epoch: int, member: str | None, why: str | None
) -> None:
    servers = broker.bootstrap_servers
    await make_topic(servers, unique_name)
    partition = TopicPartition(unique_name, 0)
    async with (
        Consumer(
            unique_name,
            bootstrap_servers=servers,
            group_id=unique_name,
            group_protocol="consumer",
            isolation_level="read_committed",  # committed() waits for the end of transactions
        ) as consumer,
        Producer(bootstrap_servers=servers, transactional_id=unique_name, **FAST) as producer,
    ):
        while not consumer.assignment():
            await consumer.getmany(timeout_ms=100)
        own = consumer.group_metadata()
        generation = own.generation_id + epoch if epoch > 0 else epoch
        named = ConsumerGroupMetadata(unique_name, generation, own.member_id if member is None else member)
        await producer.begin_transaction()
        if why is None:
            await producer.send_offsets_to_transaction({partition: 5}, named)
        else:
            with pytest.raises(AbortableTransactionError, match=why):
                await producer.send_offsets_to_transaction({partition: 5}, named)
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send_offsets_to_transaction({partition: 6}, own)
        assert await consumer.committed(partition) == 6


@on_loop
async def test_a_member_of_a_group_that_does_not_exist_is_refused(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    async with Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=unique_name, **FAST) as producer:
        await producer.begin_transaction()
        with pytest.raises(AbortableTransactionError, match="GROUP_ID_NOT_FOUND"):
            await producer.send_offsets_to_transaction(
                {TopicPartition(unique_name, 0): 5}, ConsumerGroupMetadata(unique_name, 3, "member")
            )
        await producer.abort_transaction()


@on_loop
async def test_a_broker_that_knows_no_topic_ids_in_transactional_commits_gets_topic_names(unique_name: str) -> None:
    offered = {**KAFKA_2_8, **dict.fromkeys(range(80), 100), ApiKey.TXN_OFFSET_COMMIT: 5}
    with older_broker(offered) as broker:
        await make_topic(broker.bootstrap_servers, unique_name)
        async with (
            KafkaProxy(broker.bootstrap_servers) as proxy,
            one_at_a_time(proxy.bootstrap_servers, unique_name) as (send, _),
        ):
            await send(3)
            assert proxy.versions[TXN_OFFSET_COMMIT] == {5}
        assert await committed(broker.bootstrap_servers, unique_name, unique_name) == 3
