"""Topics and partitions that cannot be created, with Apache Kafka's messages, and pages of topics."""

from __future__ import annotations

import pytest

from oncelog.broker.core.apis.topics import create_partitions
from oncelog.errors import Error
from oncelog.protocol.generated.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from oncelog.protocol.generated.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from oncelog.protocol.generated.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tests.unit.broker.core.conftest import NOW_MS, Admin

ONE = CreatableReplicaAssignment(0, [1])
SET_TOO = "A manual partition assignment was specified, but"


@pytest.mark.parametrize(
    ("topic", "error", "message"),
    [
        (
            CreatableTopic("a b", 1, 1),
            Error.INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and "
            "'-'",
        ),
        (
            CreatableTopic("t", -1, 2, [ONE]),
            Error.INVALID_REQUEST,
            f"{SET_TOO} replication factor was not set to -1.",
        ),
        (CreatableTopic("t", 2, -1, [ONE]), Error.INVALID_REQUEST, f"{SET_TOO} numPartitions was not set to -1."),
        (
            CreatableTopic("t", -1, -1, [ONE, ONE]),
            Error.INVALID_REPLICA_ASSIGNMENT,
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            CreatableTopic("t", 1, 0),
            Error.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            CreatableTopic("t", 0, 1),
            Error.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        ),
    ],
)
def test_a_topic_that_cannot_be_created_is_refused_with_kafkas_message(
    admin: Admin, topic: CreatableTopic, error: Error, message: str
) -> None:
    (found,) = admin.ask(CreateTopicsRequest([topic]), 7).topics
    assert (found.error_code, found.error_message) == (error, message)
    assert not admin.broker.metadata.topics()


def grow(admin: Admin, count: int, *nodes: list[int]) -> tuple[Error, str | None]:
    assigned = [CreatePartitionsAssignment(of_one) for of_one in nodes] or None
    (found,) = admin.ask(CreatePartitionsRequest([CreatePartitionsTopic("t", count, assigned)]), 3).results
    return Error(found.error_code), found.error_message


def test_one_request_can_add_only_a_limited_number_of_partitions(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(create_partitions, "MAX_PARTITIONS_OF_A_REQUEST", 3)
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    refused = (Error.POLICY_VIOLATION, "Excessively large number of additional partitions per request.")
    assert grow(admin, 5) == refused
    assert grow(admin, 4) == (Error.NONE, None)
    assert len(admin.broker.partitions()) == 4


@pytest.mark.parametrize(
    "request_",
    [
        DescribeTopicPartitionsRequest([TopicRequest("t")], cursor=Cursor("t", -1)),
        DescribeTopicPartitionsRequest([TopicRequest("t")], cursor=Cursor("other", 0)),
    ],
    ids=["a partition below 0", "a topic that was not asked for"],
)
def test_a_page_of_describe_topic_partitions_begins_at_the_partition_of_the_cursor(
    admin: Admin, request_: DescribeTopicPartitionsRequest
) -> None:
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    assert [topic.error_code for topic in admin.ask(request_, 0).topics] == [Error.INVALID_REQUEST]


def test_each_page_of_topics_continues_where_the_previous_page_ended(admin: Admin) -> None:
    for name in ("a", "b", "c"):
        admin.broker.topics.create(name, 2, {}, NOW_MS)
    cursor, seen = None, []
    while True:
        page = admin.ask(DescribeTopicPartitionsRequest(response_partition_limit=3, cursor=cursor), 0)
        seen += [(topic.name, part.partition_index) for topic in page.topics for part in topic.partitions]
        if page.next_cursor is None:
            break
        cursor = Cursor(page.next_cursor.topic_name, page.next_cursor.partition_index)
    assert seen == [(name, index) for name in ("a", "b", "c") for index in (0, 1)]
