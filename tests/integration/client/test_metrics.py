"""``metrics()`` of the clients: Kafka's groups and names, each on the generated page, with correct values."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import oncelog
from oncelog.aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from oncelog.client import blocking
from oncelog.client.aio import Consumer, Producer
from oncelog.client.core.metrics import Metrics
from oncelog.types import TopicPartition
from tests.integration.client.reading import make_topic, on_loop
from tools import client_metrics


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with oncelog.Broker() as broker:
        yield broker.bootstrap_servers


def _documented(group: str, topic: str) -> str:
    """A group's name as the page writes it."""
    kind, point, of = group.partition(".")
    if not point:
        return kind
    if of.startswith("node-"):
        return f"{kind}.node-ID"
    return f"{kind}.TOPIC" if of == topic else f"{kind}.TOPIC-PARTITION"


def _check_names(found: Metrics, topic: str, groups: set[str]) -> None:
    assert {_documented(group, topic) for group in found} == groups
    for group, values in found.items():
        assert set(values) == client_metrics.names(_documented(group, topic)), group


CONSUMED = {group for group in client_metrics.GROUPS if group.startswith("consumer")}
PRODUCED = {group for group in client_metrics.GROUPS if group.startswith("producer")}


@on_loop
async def test_producer_and_group_consumer_report_every_documented_metric(servers: str, unique_name: str) -> None:
    await make_topic(servers, unique_name)
    async with Producer(bootstrap_servers=servers, transactional_id=unique_name) as producer:
        async with producer.transaction():
            for n in range(100):
                await producer.send(unique_name, b"%d" % n)
        made = producer.metrics()
    _check_names(made, unique_name, PRODUCED)
    assert made["producer-metrics"]["record-send-total"] == 100
    assert made[f"producer-topic-metrics.{unique_name}"]["record-send-rate"] == pytest.approx(100 / 30, rel=0.9)
    assert made["producer-metrics"]["txn-commit-time-ns-total"] > 0
    assert made["producer-metrics"]["connection-count"] >= 1
    assert made["producer-metrics"]["request-total"] == made["producer-metrics"]["response-total"]

    async with Consumer(
        unique_name,
        bootstrap_servers=servers,
        group_id=unique_name,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        enable_auto_commit=False,
    ) as consumer:
        for _ in range(60):
            await consumer.getone()
        await consumer.commit()
        await consumer.committed(TopicPartition(unique_name, 0))
        seen = consumer.metrics()
    _check_names(seen, unique_name, CONSUMED)
    partition = seen[f"consumer-fetch-manager-metrics.{unique_name}-0"]
    assert partition == {"records-lag": 41, "records-lead": 60}, "40 records and the commit's marker are not read yet"
    assert seen["consumer-fetch-manager-metrics"]["records-lag-max"] == 41
    assert seen["consumer-fetch-manager-metrics"]["records-consumed-total"] == 100
    coordinator = seen["consumer-coordinator-metrics"]
    assert coordinator["assigned-partitions"] == coordinator["rebalance-total"] == coordinator["commit-total"] == 1
    assert seen["consumer-metrics"]["commit-sync-time-ns-total"] > 0


@on_loop
async def test_reading_columns_counts_the_same_metrics_as_reading_records(servers: str, unique_name: str) -> None:
    await make_topic(servers, unique_name)
    name = TopicPartition(unique_name, 0)
    async with Producer(bootstrap_servers=servers) as producer:
        await (await producer.send_many(unique_name, [b"%d" % n for n in range(500)]))
        assert producer.metrics()["producer-metrics"]["record-send-total"] == 500
    async with Consumer(bootstrap_servers=servers) as consumer:
        consumer.assign([name])
        await consumer.seek_to_beginning(name)
        read = 0
        while read < 500:
            read += sum(len(found.values) for found in (await consumer.getmany_columns(timeout_ms=30_000)).values())
        found = consumer.metrics()
    assert found["consumer-fetch-manager-metrics"]["records-consumed-total"] == 500
    assert "consumer-coordinator-metrics" not in found


@on_loop
async def test_clients_with_aiokafkas_interface_have_metrics_too(servers: str, unique_name: str) -> None:
    await make_topic(servers, unique_name)
    producer = AIOKafkaProducer(bootstrap_servers=servers)
    consumer = AIOKafkaConsumer(unique_name, bootstrap_servers=servers, auto_offset_reset="earliest")
    await producer.start()
    await consumer.start()
    try:
        await producer.send_and_wait(unique_name, b"one")
        assert (await consumer.getone()).value == b"one"
        assert producer.metrics()["producer-metrics"]["record-send-total"] == 1
        assert consumer.metrics()["consumer-fetch-manager-metrics"]["records-consumed-total"] == 1
    finally:
        await producer.stop()
        await consumer.stop()


def test_blocking_clients_report_metrics_before_start_and_after_close(servers: str, unique_name: str) -> None:
    idle = blocking.Producer(bootstrap_servers="127.0.0.1:1")
    assert idle.metrics()["producer-metrics"]["record-send-total"] == 0
    with blocking.Producer(bootstrap_servers=servers) as producer:
        producer.send(unique_name, b"one").result()
        assert producer.metrics()["producer-metrics"]["record-send-total"] == 1
    assert producer.metrics()["producer-metrics"]["connection-count"] == 0
    with blocking.Consumer(unique_name, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        assert next(iter(consumer)).value == b"one"
        assert consumer.metrics()["consumer-fetch-manager-metrics"]["records-lag-max"] == 0
    assert consumer.metrics()["consumer-metrics"]["connection-count"] == 0
