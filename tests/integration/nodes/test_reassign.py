"""Replicas move between several nodes of ours, as Kafka's own tool and the admin client ask; nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import oncelog
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.errors import Error, KafkaError
from oncelog.types import TopicPartition
from tests.integration.client.reading import values
from tests.support.apache_kafka import run_tool

TOOLS = "org.apache.kafka.tools"
ORDERS = [[1, 2, 3], [2, 1, 3], [3, 1, 2]]


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(nodes=3, settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("t", replica_assignments={0: [1], 1: [1], 2: [1]})])
        yield broker


def placed(broker: oncelog.Broker) -> list[tuple[int, tuple[int, ...]]]:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        return [(item.leader, item.replicas) for item in admin.describe_topics(["t"])[0].partitions]


@pytest.mark.kafka
def test_kafkas_reassignment_tool_adds_replicas_and_an_election_makes_each_node_a_leader(
    broker: oncelog.Broker, tmp_path: Path
) -> None:
    servers, plan = ("--bootstrap-server", broker.bootstrap_servers), tmp_path / "three.json"
    moves = [{"topic": "t", "partition": number, "replicas": nodes} for number, nodes in enumerate(ORDERS)]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    command = (f"{TOOLS}.reassign.ReassignPartitionsCommand", *servers, "--reassignment-json-file", str(plan))
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send("t", b"before", partition=2).result(60)
        run_tool(*command, "--execute")
        reported = run_tool(*command, "--verify")
        run_tool(f"{TOOLS}.LeaderElectionCommand", *servers, "--election-type", "PREFERRED", "--all-topic-partitions")
        producer.send("t", b"after", partition=2).result(60)
    assert reported.count(" is completed.") == 3
    assert placed(broker) == [(1, (1, 2, 3)), (2, (2, 1, 3)), (3, (3, 1, 2))]
    assert values(broker.bootstrap_servers, "t", 3) == [b"before", b"after"]


def test_a_reassignment_moves_one_partition_to_another_node(broker: oncelog.Broker) -> None:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.alter_partition_reassignments({TopicPartition("t", 1): [3]})
    assert placed(broker) == [(1, (1,)), (3, (3,)), (1, (1,))]


def test_the_admin_client_reports_refused_reassignments(broker: oncelog.Broker) -> None:
    name = TopicPartition("t", 0)
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        with pytest.raises(KafkaError, match="INVALID_REPLICA_ASSIGNMENT"):
            admin.alter_partition_reassignments({name: [9]})
        with pytest.raises(KafkaError, match="NO_REASSIGNMENT_IN_PROGRESS"):
            admin.alter_partition_reassignments({name: None})
        with pytest.raises(KafkaError, match="INVALID_REPLICA_ASSIGNMENT"):  # the graver one of two
            admin.alter_partition_reassignments({name: None, TopicPartition("t", 1): [9]})
        with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            admin.alter_partition_reassignments({TopicPartition("none", 0): [1]})
        assert admin.elect_leaders([name]) == {name: Error.ELECTION_NOT_NEEDED}
        assert admin.elect_leaders([]) == {}
        assert admin.list_partition_reassignments() == {}
