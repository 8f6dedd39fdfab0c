"""Which requests for more partitions are refused, without a broker; errors and texts are those of Kafka's
``ReplicationControlManager``.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.broker.core.requests.work import Work
from oncelog.errors import Error, StorageError
from oncelog.protocol.generated.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tests.support.handler_ports import HandlerPorts


class TopicFakes(HandlerPorts):
    """Topic ``t`` with two partitions, on nodes 1 and 2."""

    def __init__(self) -> None:
        self.made: list[tuple[str, int, object]] = []
        self.refusal: StorageError | None = None
        info = SimpleNamespace(name="t", partitions=2)
        metadata = SimpleNamespace(topic=lambda name: info if name == "t" else None)
        super().__init__(0, topics=self, metadata=metadata, nodes=SimpleNamespace(ids=(1, 2)))

    def adding_partitions(self, name: str, count: int, now_ms: int, replicas: object) -> Work[None]:
        yield
        if self.refusal is not None:
            raise self.refusal
        self.made.append((name, count, replicas))

    def create(self, *topics: CreatePartitionsTopic, validate_only: bool = False) -> list[tuple[Any, ...]]:
        request = CreatePartitionsRequest(list(topics), 1000, validate_only)
        return [(row.name, row.error_code, row.error_message) for row in self.ask(request, 3).results]


@pytest.fixture
def ports() -> TopicFakes:
    return TopicFakes()


def on(*brokers: int) -> CreatePartitionsAssignment:
    return CreatePartitionsAssignment(broker_ids=list(brokers))


def test_partitions_are_created_unless_validate_only_is_set(ports: TopicFakes) -> None:
    assert ports.create(CreatePartitionsTopic("t", 3, None), validate_only=True) == [("t", Error.NONE, None)]
    assert not ports.made
    assert ports.create(CreatePartitionsTopic("t", 3, None)) == [("t", Error.NONE, None)]
    assert ports.create(CreatePartitionsTopic("t", 4, [on(1), on(2)])) == [("t", Error.NONE, None)]
    assert ports.made == [("t", 3, -1), ("t", 4, [[1], [2]])]


@pytest.mark.parametrize(
    ("topic", "error", "message"),
    [
        (CreatePartitionsTopic("t", 2, None), Error.INVALID_PARTITIONS, "Topic already has 2 partition(s)."),
        (
            CreatePartitionsTopic("t", 1, None),
            Error.INVALID_PARTITIONS,
            "The topic t currently has 2 partition(s); 1 would not be an increase.",
        ),
        (
            CreatePartitionsTopic("t", 4, [on(1)]),
            Error.INVALID_REPLICA_ASSIGNMENT,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (CreatePartitionsTopic("u", 2, None), Error.UNKNOWN_TOPIC_OR_PARTITION, None),
    ],
)
def test_an_invalid_increase_is_refused(
    ports: TopicFakes, topic: CreatePartitionsTopic, error: Error, message: str | None
) -> None:
    assert ports.create(topic) == [(topic.name, error, message)]
    assert not ports.made


def test_a_partition_for_a_broker_that_does_not_exist_is_refused(ports: TopicFakes) -> None:
    ((_, error, _),) = ports.create(CreatePartitionsTopic("t", 3, [on(9)]))
    assert error == Error.INVALID_REPLICA_ASSIGNMENT
    assert not ports.made


def test_a_topic_that_is_named_twice_is_refused_and_the_others_are_changed(ports: TopicFakes) -> None:
    twice = CreatePartitionsTopic("u", 5, None)
    answer = ports.create(twice, CreatePartitionsTopic("t", 3, None), twice)
    assert answer == [("u", Error.INVALID_REQUEST, "Duplicate topic name."), ("t", Error.NONE, None)]


def test_a_disk_that_refuses_new_partitions_is_reported(ports: TopicFakes) -> None:
    ports.refusal = StorageError("no such device")
    assert ports.create(CreatePartitionsTopic("t", 3, None)) == [("t", Error.KAFKA_STORAGE_ERROR, "no such device")]
