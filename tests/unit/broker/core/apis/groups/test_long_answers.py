"""OffsetFetch and others of many groups, topics and partitions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from oncelog.broker.core.security.authorizer import STANDARD_AUTHORIZER
from oncelog.errors import Error
from oncelog.protocol.acls import Acl, AclResourceType, Operation, PatternType, Permission
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tests.unit.broker.core.conftest import NOW_MS, Admin

TOPICS = [f"t{number}" for number in range(7)]
PARTITIONS = range(3)


def start(**settings: str) -> Admin:
    """A second passes with each look at the clock, so no iteration does more than one chunk."""
    seconds = count()
    made = Admin(work_clock=lambda: next(seconds) * 10**9, **settings)
    for name in TOPICS:
        made.broker.topics.create(name, len(PARTITIONS), {}, NOW_MS)
    made.broker.topics.ensure_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS)
    asked = [
        OffsetCommitRequestTopic(name, partitions=[OffsetCommitRequestPartition(p, 10 + p, -1, "") for p in PARTITIONS])
        for name in TOPICS
    ]
    for group in ("a", "b", "c"):
        made.ask(OffsetCommitRequest(group, topics=asked), 8, user="root")
    return made


@pytest.fixture(params=[False, True], ids=["everybody may", "with an authorizer"])
def admin(request: pytest.FixtureRequest) -> Iterator[Admin]:
    rules = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:root"} if request.param else {}
    made = start(**rules)
    yield made
    made.broker.stop(NOW_MS)


EVERYTHING = {name: [10 + p for p in PARTITIONS] for name in TOPICS}


def test_offsets_of_all_topics_of_several_groups_are_returned(admin: Admin) -> None:
    asked = [OffsetFetchRequestGroup(group, topics=None) for group in ("a", "b", "none", "c")]
    answer = admin.ask(OffsetFetchRequest(groups=asked), 8, user="root")
    found = {
        group.group_id: {topic.name: [p.committed_offset for p in topic.partitions] for topic in group.topics}
        for group in answer.groups
    }
    assert found == {"a": EVERYTHING, "b": EVERYTHING, "none": {}, "c": EVERYTHING}


def test_an_unknown_topic_id_among_several_is_reported(admin: Admin) -> None:
    ids = {name: info.topic_id for name in TOPICS if (info := admin.broker.metadata.topic(name)) is not None}
    unknown = b"no-such-topic-id"
    topics = [OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0, 2]) for topic_id in ids.values()]
    topics.append(OffsetFetchRequestTopics(topic_id=unknown, partition_indexes=[0, 1, 2]))
    (group,) = admin.ask(
        OffsetFetchRequest(groups=[OffsetFetchRequestGroup("a", topics=topics)]), 10, user="root"
    ).groups
    found = {topic.topic_id: [(p.committed_offset, p.error_code) for p in topic.partitions] for topic in group.topics}
    assert found == {
        **{topic_id: [(10, Error.NONE), (12, Error.NONE)] for topic_id in ids.values()},
        unknown: [(-1, Error.UNKNOWN_TOPIC_ID)] * 3,
    }


def test_offsets_of_one_group_are_returned_in_old_versions(admin: Admin) -> None:
    topics = [OffsetFetchRequestTopic(name, list(PARTITIONS)) for name in TOPICS]
    answer = admin.ask(OffsetFetchRequest("a", topics), 5, user="root")
    assert {topic.name: [p.committed_offset for p in topic.partitions] for topic in answer.topics} == EVERYTHING


def test_topics_that_the_caller_may_not_describe_are_refused_one_by_one() -> None:
    made = start(**{"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:root"})
    read = (AclResourceType.GROUP, "a", Operation.DESCRIBE), (AclResourceType.TOPIC, "t1", Operation.DESCRIBE)
    made.broker.change_acls(
        [
            Acl(kind, name, PatternType.LITERAL, "User:alice", "*", operation, Permission.ALLOW)
            for kind, name, operation in read
        ]
    )
    topics = [OffsetFetchRequestTopics(name, partition_indexes=[0]) for name in TOPICS]
    asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("a", topics=topics)])
    (group,) = made.ask(asked, 8, user="alice").groups
    found = {topic.name: topic.partitions[0].error_code for topic in group.topics}
    assert found == {name: 0 if name == "t1" else Error.TOPIC_AUTHORIZATION_FAILED for name in TOPICS}
    every = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("a", topics=None)])
    (group,) = made.ask(every, 8, user="alice").groups
    assert [topic.name for topic in group.topics] == ["t1"]
    made.broker.stop(NOW_MS)


def test_partitions_that_do_not_exist_are_not_deleted_with_the_others() -> None:
    made = start()
    topics = [
        OffsetDeleteRequestTopic("t0", [OffsetDeleteRequestPartition(index) for index in (0, 7)]),
        OffsetDeleteRequestTopic("none", [OffsetDeleteRequestPartition(0)]),
        OffsetDeleteRequestTopic("t1", [OffsetDeleteRequestPartition(1)]),
    ]
    answer = made.ask(OffsetDeleteRequest("a", topics), 0)
    found = {topic.name: {p.partition_index: p.error_code for p in topic.partitions} for topic in answer.topics}
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION
    assert found == {"t0": {0: Error.NONE, 7: unknown}, "none": {0: unknown}, "t1": {1: Error.NONE}}
    made.broker.stop(NOW_MS)


def test_each_transaction_of_a_request_is_answered() -> None:
    made = start(**{"transaction.state.log.num.partitions": "1"})
    made.broker.topics.ensure_internal(TRANSACTION_STATE_TOPIC, NOW_MS)
    asked = [
        AddPartitionsToTxnTransaction(name, 1, 0, topics=[AddPartitionsToTxnTopic("t0", [0])]) for name in ("x", "y")
    ]
    answer = made.ask(AddPartitionsToTxnRequest(asked), 4)
    found = {
        one.transactional_id: one.topic_results[0].results_by_partition[0].partition_error_code
        for one in answer.results_by_transaction
    }
    assert found == dict.fromkeys(("x", "y"), Error.INVALID_PRODUCER_ID_MAPPING)
    made.broker.stop(NOW_MS)
