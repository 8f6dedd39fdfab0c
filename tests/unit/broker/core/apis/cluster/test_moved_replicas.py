"""AlterPartitionReassignments, ElectLeaders and AlterReplicaLogDirs over their ports; messages are Apache Kafka's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from oncelog.protocol.generated.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from oncelog.protocol.generated.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from oncelog.types import TopicPartition
from tests.support.handler_ports import HandlerPorts
from tests.unit.broker.log.batches import NOW_MS

ORDERS = SimpleNamespace(name="orders", partitions=2)
CLEAN, UNCLEAN = 0, 1
NOT_NEEDED = (Error.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")


class ClusterFakes(HandlerPorts):
    """Nodes 1, 2 and 3, and the topic ``orders`` with two partitions."""

    def __init__(self) -> None:
        self.moved: list[tuple[TopicPartition, list[int]]] = []
        self.refusal: KafkaError | None = None
        metadata = SimpleNamespace(
            topic=lambda name: ORDERS if name == "orders" else None, topics=lambda: [ORDERS], log_dir="/data"
        )
        super().__init__(NOW_MS, metadata=metadata, nodes=SimpleNamespace(ids=(1, 2, 3), reassign=self.reassign))

    def reassign(self, name: TopicPartition, replicas: list[int], now_ms: int) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.moved.append((name, list(replicas)))

    def partition(self, name: TopicPartition) -> object | None:
        return self if name.topic == "orders" and name.partition < 2 else None

    def move(self, index: int, replicas: list[int] | None, topic: str = "orders") -> tuple[Error, str | None]:
        topics = [ReassignableTopic(topic, [ReassignablePartition(index, replicas)])]
        (found,) = self.ask(AlterPartitionReassignmentsRequest(1000, topics=topics), 0).responses[0].partitions
        return Error(found.error_code), found.error_message

    def elect(self, kind: int, *named: TopicPartitions) -> dict[str, list[tuple[Error, str | None]]]:
        answer = self.ask(ElectLeadersRequest(kind, list(named) or None, 1000), 2)
        return {
            topic.topic: [(Error(part.error_code), part.error_message) for part in topic.partition_result]
            for topic in answer.replica_election_results
        }


@pytest.fixture
def ports() -> ClusterFakes:
    return ClusterFakes()


def test_a_partition_gets_the_requested_replicas(ports: ClusterFakes) -> None:
    assert ports.move(1, [3, 2]) == (Error.NONE, None)
    assert ports.moved == [(TopicPartition("orders", 1), [3, 2])]
    ports.refusal = KafkaError(Error.NOT_CONTROLLER, "another node is")
    assert ports.move(1, [1])[0] is Error.NOT_CONTROLLER


@pytest.mark.parametrize(
    ("topic", "index", "replicas", "refusal"),
    [
        ("none", 0, [1], (Error.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find a topic named none.")),
        ("orders", 2, [1], (Error.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition orders:2.")),
        ("orders", 0, None, (Error.NO_REASSIGNMENT_IN_PROGRESS, None)),
    ],
)
def test_an_impossible_reassignment_is_refused(
    ports: ClusterFakes, topic: str, index: int, replicas: list[int] | None, refusal: tuple[Error, str | None]
) -> None:
    assert (ports.move(index, replicas, topic), ports.moved) == (refusal, [])


@pytest.mark.parametrize("replicas", [[], [1, 1], [4]])
def test_invalid_replica_lists_are_refused(ports: ClusterFakes, replicas: list[int]) -> None:
    error, message = ports.move(0, replicas)
    assert (error, bool(message), ports.moved) == (Error.INVALID_REPLICA_ASSIGNMENT, True, [])


def test_a_reassignment_without_topics_moves_nothing(ports: ClusterFakes) -> None:
    assert ports.ask(AlterPartitionReassignmentsRequest(1000, topics=[]), 0).responses == []


def test_a_single_node_needs_no_election(ports: ClusterFakes) -> None:
    assert ports.elect(CLEAN, TopicPartitions("orders", [0, 2]), TopicPartitions("none", [0])) == {
        "orders": [NOT_NEEDED, (Error.UNKNOWN_TOPIC_OR_PARTITION, "No such partition as orders-2")],
        "none": [(Error.UNKNOWN_TOPIC_OR_PARTITION, "No such topic as none")],
    }
    assert ports.elect(CLEAN) == {"orders": []}, "of all partitions, only those that needed one are told"


def test_an_election_among_several_nodes_reports_its_outcome(ports: ClusterFakes) -> None:
    asked: list[tuple[int, bool]] = []

    def elect(name: TopicPartition, *, unclean: bool) -> Error:
        asked.append((name.partition, unclean))
        return [Error.NONE, Error.PREFERRED_LEADER_NOT_AVAILABLE][name.partition]

    cluster: Any = SimpleNamespace(elect=elect)
    ports.cluster = cluster
    unavailable = (Error.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")
    assert ports.elect(UNCLEAN) == {"orders": [(Error.NONE, None), unavailable]}
    assert asked == [(0, True), (1, True)]


def test_an_election_of_an_unknown_type_is_an_invalid_request(ports: ClusterFakes) -> None:
    refusal = (Error.INVALID_REQUEST, "Unknown election type 7")
    assert ports.elect(7, TopicPartitions("orders", [0])) == {"orders": [refusal]}
    answer = ports.ask(ElectLeadersRequest(7, None, 1000), 2)
    assert (answer.error_code, answer.replica_election_results) == (Error.NONE, [])


def test_a_replica_can_only_stay_in_the_single_log_folder(ports: ClusterFakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "oncelog.broker.core.apis.data.alter_replica_log_dirs.log_dir", lambda metadata: metadata.log_dir
    )
    long = "n" * 249
    dirs = [
        AlterReplicaLogDir("/data", [AlterReplicaLogDirTopic("orders", [0, 2]), AlterReplicaLogDirTopic(long, [0])]),
        AlterReplicaLogDir("/other", [AlterReplicaLogDirTopic("orders", [1])]),
    ]
    answer = ports.ask(AlterReplicaLogDirsRequest(dirs), 2)
    assert {
        (topic.topic_name, part.partition_index): Error(part.error_code)
        for topic in answer.results
        for part in topic.partitions
    } == {
        ("orders", 0): Error.NONE,
        ("orders", 2): Error.UNKNOWN_TOPIC_OR_PARTITION,
        (long, 0): Error.INVALID_TOPIC_EXCEPTION,
        ("orders", 1): Error.LOG_DIR_NOT_FOUND,
    }
