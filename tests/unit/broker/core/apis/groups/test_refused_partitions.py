"""Refused partitions are put into an answer by lookups: 400,000 refused topics fit into one OffsetCommit.

A client that may not read a topic does not learn from the answer whether the topic exists.
"""

from __future__ import annotations

import pytest

from oncelog.broker.core.apis.groups.refused_partitions import add_refused
from oncelog.errors import Error
from oncelog.protocol.acls import Acl, AclResourceType, Operation, PatternType, Permission
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_commit_response import OffsetCommitResponsePartition as Partition
from oncelog.protocol.generated.offset_commit_response import OffsetCommitResponseTopic as Topic
from oncelog.protocol.generated.offset_delete_request import OffsetDeleteRequest, OffsetDeleteRequestTopic
from oncelog.protocol.generated.txn_offset_commit_request import TxnOffsetCommitRequest, TxnOffsetCommitRequestTopic
from oncelog.protocol.wire import Message
from oncelog.types import CONSUMER_OFFSETS_TOPIC
from tests.unit.broker.core.conftest import NOW_MS, Admin


class Name(str):
    """A name that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return super().__eq__(other)


def topic(name: str, *partitions: int) -> Topic:
    return Topic(Name(name), partitions=[Partition(index, 3) for index in partitions])


def test_refused_partitions_are_added_to_the_entry_of_their_topic() -> None:
    topics = [topic("a", 0), topic("b", 0)]
    add_refused(topics, [topic("b", 7), topic("c", 1), topic("c", 2)], lambda each: each.name)
    assert [(each.name, [part.partition_index for part in each.partitions]) for each in topics] == [
        ("a", [0]),
        ("b", [0, 7]),
        ("c", [1, 2]),
    ]


def test_adding_many_refused_topics_does_not_search_the_answer_for_each_topic() -> None:
    topics = [topic("known", 0)]
    refused = [topic(f"unknown-{number}", 0) for number in range(1000)]
    Name.compared = 0
    add_refused(topics, refused, lambda each: each.name)
    assert len(topics) == 1001
    assert Name.compared < 2000


FORBIDDEN = ("there", "missing")
ABOUT_FORBIDDEN: dict[str, tuple[Message, int]] = {
    "OffsetCommit": (OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic(name) for name in FORBIDDEN]), 8),
    "OffsetDelete": (OffsetDeleteRequest("g", [OffsetDeleteRequestTopic(name) for name in FORBIDDEN]), 0),
    "TxnOffsetCommit": (
        TxnOffsetCommitRequest("id", "g", 1, 0, topics=[TxnOffsetCommitRequestTopic(name) for name in FORBIDDEN]),
        3,
    ),
}


@pytest.mark.parametrize("name", ABOUT_FORBIDDEN)
def test_a_caller_without_read_permission_does_not_learn_whether_the_topic_exists(name: str) -> None:
    """A topic without partitions is answered as in Kafka: without partitions, too."""
    admin = Admin(**{"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"})
    for topic_name in ("mine", "there"):
        admin.broker.topics.create(topic_name, 1, {}, NOW_MS)
    admin.broker.topics.ensure_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS)
    allowed = ((AclResourceType.TOPIC, "mine"), (AclResourceType.GROUP, "g"), (AclResourceType.TRANSACTIONAL_ID, "id"))
    admin.broker.change_acls(
        [
            Acl(kind, resource, PatternType.LITERAL, "User:ANONYMOUS", "*", Operation.ALL, Permission.ALLOW)
            for kind, resource in allowed
        ]
    )
    mine = OffsetCommitRequestTopic("mine", partitions=[OffsetCommitRequestPartition(0, 1, -1, "")])
    committed = admin.ask(OffsetCommitRequest("g", topics=[mine]), 8)
    assert committed.topics[0].partitions[0].error_code == Error.NONE
    request, version = ABOUT_FORBIDDEN[name]
    answer = admin.ask(request, version)
    assert [(topic.name, topic.partitions) for topic in answer.topics] == [("there", []), ("missing", [])]
    admin.broker.stop(NOW_MS)
