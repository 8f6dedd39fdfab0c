"""DescribeProducers: which nodes answer, and what it says of names that no topic can have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.broker.core.apis.data.describe_producers import PRODUCERS_IN_A_CHUNK, _describe
from oncelog.broker.core.limits.answer_memory import AnswerMemory
from oncelog.broker.core.limits.request_memory import RequestMemory
from oncelog.broker.log.producers.producer_entry import ProducerStateEntry
from oncelog.errors import Error
from oncelog.protocol.generated.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest, TopicRequest
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.records.batch import Record, encode_batch
from oncelog.types import TopicPartition
from tests.unit.broker.core.conftest import NOW_MS, Admin

PRODUCER_ID = 7


def describe(admin: Admin, topic: str, *, node_id: int | None = None) -> Any:
    answer = admin.ask(DescribeProducersRequest([TopicRequest(topic, [0])]), node_id=node_id)
    (partition,) = answer.topics[0].partitions
    return partition


def test_a_follower_describes_producers_and_a_node_without_a_replica_does_not() -> None:
    admin = Admin(nodes=(1, 2, 3))
    assignments = [CreatableReplicaAssignment(0, [1, 2])]
    admin.ask(CreateTopicsRequest([CreatableTopic("t", -1, -1, assignments)], 1000), node_id=1)
    records = bytes(
        encode_batch([Record(0, NOW_MS, None, b"v")], producer_id=PRODUCER_ID, producer_epoch=0, base_sequence=0)
    )
    sent = ProduceRequest(None, -1, 1000, [TopicProduceData("t", partition_data=[PartitionProduceData(0, records)])])
    (produced,) = admin.ask(sent, 12, node_id=1).responses[0].partition_responses
    assert produced.error_code == Error.NONE
    for node_id in (1, 2):
        found = describe(admin, "t", node_id=node_id)
        assert (found.error_code, [each.producer_id for each in found.active_producers]) == (Error.NONE, [PRODUCER_ID])
    assert describe(admin, "t", node_id=3).error_code == Error.NOT_LEADER_OR_FOLLOWER


def test_many_producers_are_described_in_chunks() -> None:
    """A hundred thousand of one partition kept all clients waiting for 0.1 s."""
    count = 5 * PRODUCERS_IN_A_CHUNK // 2
    entries = [ProducerStateEntry(number, 0) for number in range(count)]
    partition = SimpleNamespace(log=SimpleNamespace(active_producers=lambda: entries))
    ports: Any = SimpleNamespace(
        led_partition=lambda *_: partition, authorizer=None, answer_memory=AnswerMemory(RequestMemory(0, 0))
    )
    context: Any = SimpleNamespace(channel=SimpleNamespace(connection_id=1))
    work = _describe(ports, context, TopicPartition("t", 0))
    pieces = 1
    while True:
        try:
            next(work)
        except StopIteration as end:
            answer = end.value
            break
        pieces += 1
    assert (pieces, [each.producer_id for each in answer.active_producers]) == (3, list(range(count)))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        ("b@d", "'b@d' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
    ],
    ids=["empty", "characters"],
)
def test_an_illegal_topic_name_is_refused_as_invalid(admin: Admin, name: str, reason: str) -> None:
    found = describe(admin, name)
    assert (found.error_code, found.error_message) == (
        Error.INVALID_TOPIC_EXCEPTION,
        f"Topic name is invalid: {reason}",
    )
