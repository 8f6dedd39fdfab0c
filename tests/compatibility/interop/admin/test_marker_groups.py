"""The group of a sink's marker is no consumer that lags: to Kafka's tool, other clients, our command and metrics."""

from __future__ import annotations

import re

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

import oncelog
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.config import ClientConfig
from oncelog.spark.kafka.interface import PartitionBatch, ProducerTransaction
from oncelog.spark.kafka.kafka_cluster import KafkaCluster
from oncelog.spark.sink.checkpoint import marker_group, named_group
from oncelog.spark.sink.marker import Marker
from oncelog.spark.sink.topic_transaction import TopicTransaction
from oncelog.types import TopicPartition
from tests.compatibility.interop.admin.test_kafka_tools import tool
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import run
from tests.integration.metrics.pages import scrape

ALERTS = re.compile(r".*oncelog-marker-.*")
"""The expression of ``docs/how-to/monitor.md``."""
BATCH = Marker("4b1f", 7, 500, "abc", 1_767_225_600_000, "[]")


def leave_marker(address: str, topic: str) -> str:
    """What a batch leaves behind, in a topic that has 20 records; returns the group."""
    with Admin(bootstrap_servers=address) as admin:
        admin.create_topics([NewTopic(topic, 1, 1)])
    with Producer(bootstrap_servers=address) as producer:
        for _ in range(20):
            producer.send(topic, b"v")
    group, where = marker_group("late-", f"4b1f-{topic}", topic), TopicPartition(topic, 0)
    cluster = KafkaCluster.connect(ClientConfig.from_properties({"bootstrap.servers": address}))

    def with_timeout(timeout_ms: int) -> ProducerTransaction:
        return cluster.transaction(group, timeout_ms)

    transaction = TopicTransaction(with_timeout, [60_000], where)
    transaction.begin()
    transaction.produce(list[PartitionBatch]())
    transaction.add_marker(BATCH)
    transaction.end(commit=True)
    assert transaction.read_marker() == BATCH  # waits until the transaction has ended
    assert transaction.look() == BATCH
    cluster.close()
    return group


@pytest.fixture
def group(broker: RunningBroker, unique_name: str) -> str:
    return leave_marker(broker.bootstrap_servers, unique_name)


def test_kafkas_tools_report_no_lag_for_a_sinks_marker_group(
    broker: RunningBroker, group: str, unique_name: str
) -> None:
    reported = tool(broker.bootstrap_servers, "consumer.group.ConsumerGroupCommand", "--describe", "--group", group)
    rows = [line.split() for line in reported.splitlines()]
    (row,) = [row for row in rows if row[:1] == [group]]
    assert row[1:6] == [unique_name, "0", "-", "20", "-"], "current offset, end and lag"
    client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    found = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(60)
    assert all(one.offset < 0 for one in found.topic_partitions)
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        assert admin.list_consumer_group_offsets(group) == {}


def test_groups_command_identifies_a_sinks_marker_group(broker: RunningBroker, group: str, unique_name: str) -> None:
    at = ("--bootstrap-server", broker.bootstrap_servers)
    holds = "marker of a Spark sink: batch 7 of 4b1f, 500 rows"
    listed = {row["group"]: row["holds"] for row in run("groups", "list", "--json", *at).done().json}
    assert listed[group] == holds
    (described,) = run("groups", "describe", group, "--json", *at).done().json
    (row,) = described["offsets"]
    assert (row["topic"], row["committed"], row["lag"], row["marker"]) == (unique_name, None, None, holds)
    assert holds in run("groups", "describe", group, *at).done().out
    refused = run("groups", "reset-offsets", group, "--topic", unique_name, "--to-earliest", *at).sentence()
    assert f"group {group!r} belongs to no consumer: it holds the {holds}" in refused


def test_all_names_of_marker_groups_have_the_same_form() -> None:
    groups = [
        marker_group("", "4b1f", "t"),
        marker_group("late-", "4b1f", "", "topics"),
        marker_group("anything", "4b1f", ""),
        named_group("daily", 20260105, "t"),
    ]
    assert all(ALERTS.fullmatch(group) for group in groups)


def test_lag_metrics_of_our_broker_leave_out_a_sinks_marker_group() -> None:
    with oncelog.Broker(metrics="127.0.0.1:0") as broker:
        group = leave_marker(broker.bootstrap_servers, "orders")
        page = scrape(broker.metrics_address)
    assert page.values("kafka_consumergroup_members", consumergroup=group) == [0]
    for name in ("kafka_consumergroup_lag", "oncelog_consumergroup_stable_lag", "kafka_consumergroup_current_offset"):
        assert page.values(name, consumergroup=group) == []
