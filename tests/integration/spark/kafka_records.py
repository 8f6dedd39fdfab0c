"""Records written and read by another client (confluent-kafka), and what the sink left with its group."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import oncelog
from oncelog import Admin

T = TypeVar("T")


class Seen(NamedTuple):
    """A record as another client reads it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def create_topic(bootstrap_servers: str, name: str, partitions: int = 1, **config: str) -> str:
    """Create a topic and return when it can be written to, because its leaders are known."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    properties = {key.replace("_", "."): value for key, value in config.items()}
    topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=properties)
    admin.create_topics([topic])[name].result(120)
    deadline = time.monotonic() + 120
    while True:
        known = admin.list_topics(name, timeout=120).topics[name].partitions
        if len(known) == partitions and all(partition.leader >= 0 for partition in known.values()):
            return name
        if time.monotonic() > deadline:
            raise TimeoutError(f"topic {name} has no leaders")


def produce(bootstrap_servers: str, topic: str, values: Iterable[bytes], *, partition: int = -1) -> None:
    """Records whose keys are the part of their value before ``:``."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "partitioner": "murmur2_random"})
    for value in values:
        producer.produce(topic, value, key=value.split(b":")[0], partition=partition)
        producer.poll(0)
    assert producer.flush(120) == 0


def produce_transaction(bootstrap_servers: str, topic: str, values: Iterable[bytes], *, commit: bool) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": f"{topic}-writer"})
    producer.init_transactions(120)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, key=value.split(b":")[0], partition=0)
    assert producer.flush(120) == 0
    if commit:
        producer.commit_transaction(120)
    else:
        producer.abort_transaction(120)


def eventually(read: Callable[[], T], expected: T, *, timeout_s: float = 120) -> None:
    """Wait until ``read()`` becomes ``expected``: EndTxn is answered before its markers are written, so a commit
    shows late.
    """
    deadline = time.monotonic() + timeout_s
    while (found := read()) != expected:
        assert time.monotonic() < deadline, f"{found} is not {expected}"


def wait_until_settled(bootstrap_servers: str, topic: str) -> None:
    """Return when no transaction is open on the topic: the last stable offset is the end of the log."""

    def ends(isolation: str) -> list[int]:
        settings = {"bootstrap.servers": bootstrap_servers, "group.id": "ends", "isolation.level": isolation}
        consumer = Consumer(settings)
        try:
            partitions = consumer.list_topics(topic, timeout=120).topics[topic].partitions
            return [consumer.get_watermark_offsets(TopicPartition(topic, n), 30)[1] for n in sorted(partitions)]
        finally:
            consumer.close()

    eventually(lambda: ends("read_committed") == ends("read_uncommitted"), True, timeout_s=60)


def committed(bootstrap_servers: str, topic: str, *, isolation: str = "read_committed") -> list[Seen]:
    """Every record that a reader sees, commits that were acknowledged before included; by partition and offset."""
    with Admin(bootstrap_servers=bootstrap_servers) as admin:
        admin.settled_ends(admin.partitions(topic))
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": f"{topic}-reader",
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=120).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        return sorted(_until_the_ends(consumer, len(partitions)), key=lambda seen: (seen.partition, seen.offset))
    finally:
        consumer.close()


def _until_the_ends(consumer: Consumer, partitions: int) -> list[Seen]:
    seen: list[Seen] = []
    ended: set[int] = set()
    deadline = time.monotonic() + 60
    while len(ended) < partitions:
        if time.monotonic() > deadline:
            raise TimeoutError("the end of the topic was not reached")
        message = consumer.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is None:
            headers = message.headers() or []
            seen.append(
                Seen(message.topic(), message.partition(), message.offset(), message.key(), message.value(), headers)
            )
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(message.partition())
        else:
            raise KafkaException(error)
    return seen


def values(records: Iterable[Seen]) -> list[bytes]:
    return [record.value or b"" for record in records]


def markers(bootstrap_servers: str, group: str, topic: str) -> dict[str, object]:
    """The sink's marker. confluent-kafka reads past the end of an offset's metadata, so this one client is ours."""
    name = oncelog.TopicPartition(topic, 0)
    with Admin(bootstrap_servers=bootstrap_servers) as admin:
        offsets = admin.list_consumer_group_offsets(group, [name], negative=True)
    found: dict[str, object] = json.loads(offsets[name].metadata) if name in offsets else {}
    return found
