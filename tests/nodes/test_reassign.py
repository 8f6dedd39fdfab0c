"""``oncelog reassign`` with several nodes of ours: replicas are spread, leaders follow, nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import oncelog
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin_types import NewTopic
from oncelog.errors import Error, KafkaError
from oncelog.types import TopicPartition
from tests.cli.conftest import Outcome, call
from tests.client.reading import values


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(nodes=3, settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("t", replica_assignments={0: [1], 1: [1], 2: [1]})])
        yield broker


def reassign(broker: oncelog.Broker, *words: str) -> Outcome:
    return call("reassign", *words, "-b", broker.bootstrap_servers)


def placed(broker: oncelog.Broker) -> list[tuple[int, tuple[int, ...]]]:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        return [(item.leader, item.replicas) for item in admin.describe_topics(["t"])[0].partitions]


def test_one_replica_becomes_three_and_each_node_leads(broker: oncelog.Broker) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send("t", b"before", partition=2).result(60)
        told = reassign(broker, "--replication-factor", "3", "-J").done().json
        producer.send("t", b"after", partition=2).result(60)
    assert [(row["partition"], row["replicas"], row["new_replicas"]) for row in told] == [
        (0, [1], [1, 2, 3]),
        (1, [1], [2, 1, 3]),
        (2, [1], [3, 1, 2]),
    ]
    assert placed(broker) == [(1, (1, 2, 3)), (2, (2, 1, 3)), (3, (3, 1, 2))]
    assert values(broker.bootstrap_servers, "t", 3) == [b"before", b"after"]
    assert "0 partitions moved" in reassign(broker, "t", "--replication-factor", "3").done().err


def test_a_dry_run_moves_nothing(broker: oncelog.Broker) -> None:
    told = reassign(broker, "t:1", "--nodes", "2,3", "--dry-run").done()
    assert "1 partition would be moved" in told.err
    assert placed(broker) == [(1, (1,))] * 3
    assert "0 partitions on the move" in reassign(broker, "--show").done().err


def test_one_partition_is_moved_away(broker: oncelog.Broker) -> None:
    reassign(broker, "t:1", "--nodes", "3").done()
    assert placed(broker) == [(1, (1,)), (3, (3,)), (1, (1,))]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--replication-factor", "4"], "4 replicas need as many nodes, and there are 3 (1, 2, 3)"),
        (["--nodes", "1,7"], "the cluster has no node 7 now; it has 1, 2, 3"),
        (["--nodes", "x"], "--nodes takes node numbers"),
        (["t:9"], "topic 't' has no partition 9"),
        (["none"], "topic 'none' does not exist"),
        (["--show", "--nodes", "1"], "--show changes no replicas"),
        (["--cancel", "--timeout", "1"], "--cancel changes no replicas"),
        (["--no-wait", "--timeout", "1"], "--no-wait does not wait"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(broker: oncelog.Broker, words: list[str], complaint: str) -> None:
    assert complaint in reassign(broker, *words).sentence()


def test_replicas_of_a_node_that_is_down_are_moved_only_if_that_is_asked_for(broker: oncelog.Broker) -> None:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.alter_partition_reassignments({TopicPartition("t", 1): [1, 3]})
    broker.faults.stop_node(3)
    complaint = "node 3 holds replicas, of t-1 for one, and is not in the cluster now"
    assert complaint in reassign(broker).sentence()
    assert complaint in reassign(broker, "--dry-run").sentence()
    assert placed(broker)[1] == (1, (1, 3))
    reassign(broker, "t:1", "--nodes", "1,2", "--timeout", "60").done()
    assert set(placed(broker)[1][1]) == {1, 2}


def test_the_admin_client_says_what_was_refused(broker: oncelog.Broker) -> None:
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
