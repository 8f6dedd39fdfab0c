"""``oncelog.testing.history`` with real clients: what each of them does is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import aiokafka
import confluent_kafka
import pytest

from oncelog import Broker
from oncelog.client import aio
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.testing.history import (
    Acknowledged,
    Committed,
    Event,
    GroupOffset,
    History,
    Read,
    ReadAll,
    Sent,
    check,
    recorded,
)
from oncelog.types import TopicPartition

Run = Callable[[str, str, History], None]
COUNT = 10


def blocking(servers: str, topic: str, history: History) -> None:
    where = TopicPartition(topic, 0)
    with recorded(Producer(bootstrap_servers=servers, transactional_id=topic), history, "p") as producer:
        with producer.transaction():
            for number in range(COUNT):
                producer.send(topic, b"v%d" % number)
        producer.begin_transaction()
        producer.send(topic, b"aborted", partition=0).get()
        producer.send_offsets_to_transaction({where: 99}, topic)
        producer.abort_transaction()
    reader = Consumer(
        bootstrap_servers=servers, auto_offset_reset="earliest", isolation_level="read_committed", group_id=topic
    )
    with recorded(reader, history, "c", group=topic) as consumer:
        consumer.assign([where])
        read = 0
        while read < COUNT:
            read += sum(map(len, consumer.getmany(timeout_ms=1000).values()))
        consumer.commit({where: COUNT})
        consumer.seek_to_beginning(where)
        while not consumer.getmany(timeout_ms=1000):
            pass


def asynchronous(servers: str, topic: str, history: History) -> None:
    async def run(kinds: Any, position: Any) -> None:
        settings = {"bootstrap_servers": servers, "transactional_id": topic}
        async with recorded(kinds.Producer(**settings), history, "p") as producer:
            await producer.begin_transaction()
            for number in range(COUNT - 1):
                await (await producer.send(topic, b"v%d" % number))
            await producer.send_and_wait(topic, b"last")
            await producer.commit_transaction()
            async with producer.transaction():
                await producer.send_offsets_to_transaction({position(topic, 0): 1}, "other")
        reads = {"auto_offset_reset": "earliest", "isolation_level": "read_committed", "enable_auto_commit": False}
        made = kinds.Consumer(bootstrap_servers=servers, group_id=topic, **reads)
        async with recorded(made, history, "c", group=topic) as consumer:
            consumer.assign([position(topic, 0)])
            for _ in range(COUNT):
                await consumer.getone()
            await consumer.commit()

    asyncio.run(run(aio, TopicPartition))


class AioKafka:
    Producer = aiokafka.AIOKafkaProducer
    Consumer = aiokafka.AIOKafkaConsumer


def of_aiokafka(servers: str, topic: str, history: History) -> None:
    async def run() -> None:
        made = AioKafka.Producer(bootstrap_servers=servers, transactional_id=topic)
        async with recorded(made, history, "p") as producer, producer.transaction():
            for number in range(COUNT):
                await producer.send(topic, b"v%d" % number)
        reads = {"auto_offset_reset": "earliest", "isolation_level": "read_committed", "enable_auto_commit": False}
        consumer = recorded(
            AioKafka.Consumer(bootstrap_servers=servers, group_id=topic, **reads), history, "c", group=topic
        )
        async with consumer:
            consumer.subscribe([topic])
            read = 0
            async for _ in consumer:
                read += 1
                if read == COUNT:
                    break
            await consumer.commit()

    asyncio.run(run())


def confluent(servers: str, topic: str, history: History) -> None:
    made = confluent_kafka.Producer({"bootstrap.servers": servers, "transactional.id": topic})
    producer = recorded(made, history, "p", group=topic)
    producer.init_transactions()
    producer.begin_transaction()
    for number in range(COUNT):
        producer.produce(topic, b"v%d" % number)
    producer.commit_transaction()
    settings = {
        "bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest", "enable.auto.commit": False,
    }  # fmt: skip
    consumer = recorded(confluent_kafka.Consumer(settings), history, "c", group=topic)
    consumer.subscribe([topic])
    read = 0
    while read < COUNT:
        message = consumer.poll(1.0)
        read += message is not None and message.error() is None
    producer.begin_transaction()
    producer.send_offsets_to_transaction(
        [confluent_kafka.TopicPartition(topic, 0, 3)], consumer.consumer_group_metadata(), 10
    )
    producer.commit_transaction()
    consumer.commit(asynchronous=False)
    consumer.close()


def of_kind(history: History, kind: type[Event]) -> list[Any]:
    return [event for event in history if isinstance(event, kind)]


@pytest.mark.parametrize("run", [blocking, asynchronous, of_aiokafka, confluent])
def test_a_history_contains_the_calls_of_a_client(run: Run, oncelog_broker: Broker, unique_name: str) -> None:
    with Admin(bootstrap_servers=oncelog_broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1, 1)])
    history = History()
    run(oncelog_broker.bootstrap_servers, unique_name, history)
    where = TopicPartition(unique_name, 0)
    read = of_kind(history, Read)
    committed = [one.record for one in of_kind(history, Sent) if one.record != b"aborted"]
    assert [one.record for one in read][:COUNT] == committed
    assert len(committed) == COUNT
    assert {one.record for one in of_kind(history, Acknowledged)} >= set(committed)
    assert of_kind(history, Committed)
    positions = [one for one in of_kind(history, GroupOffset) if one[:2] == (unique_name, where)]
    assert COUNT <= positions[-1].offset <= COUNT + 1  # the commit marker may have been passed
    in_transactions = [one for one in of_kind(history, GroupOffset) if one is not positions[-1]]
    assert [one.offset for one in in_transactions] == {"confluent": [3], "asynchronous": [1]}.get(run.__name__, [])
    history.add(ReadAll("c", where))
    assert check(history) == []


def test_records_lost_by_a_broker_are_found(oncelog_broker: Broker, unique_name: str) -> None:
    """Records are deleted behind the history's back."""
    where = TopicPartition(unique_name, 0)
    history = History()
    with Admin(bootstrap_servers=oncelog_broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1, 1)])
        with recorded(Producer(bootstrap_servers=oncelog_broker.bootstrap_servers), history, "p") as producer:
            for number in range(3):
                producer.send_and_wait(unique_name, b"v%d" % number)
        admin.delete_records({where: 2})
    made = Consumer(bootstrap_servers=oncelog_broker.bootstrap_servers, auto_offset_reset="earliest")
    with recorded(made, history, "c") as consumer:
        consumer.assign([where])
        consumer.getone()
    history.add(ReadAll("c", where))
    assert [str(breach)[:12] for breach in check(history)] == ["lost: b'v0' ", "lost: b'v1' "]
