"""Which committed offsets a caller sees: DESCRIBE on the group, and on each topic (``KafkaApis.handleOffsetFetch``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from oncelog.errors import Error
from oncelog.protocol.acls import AclResourceType, Operation, PatternType, Permission
from oncelog.protocol.generated.create_acls_request import AclCreation, CreateAclsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.unit.broker.core.conftest import NOW_MS, Admin

NO_TOPIC_ID = b"unknown-topic-id"
TOPICS = ("seen", "hidden")
DENIED, UNKNOWN_ID = (-1, Error.TOPIC_AUTHORIZATION_FAILED), (-1, Error.UNKNOWN_TOPIC_ID)


@pytest.fixture
def admin() -> Iterator[Admin]:
    """Group ``g`` has committed offset 5 of both topics; alice may describe it and one of them."""
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    made = Admin(**settings)
    for name in TOPICS:
        made.broker.topics.create(name, 1, {}, NOW_MS)
    rules = [
        AclCreation(kind, name, PatternType.LITERAL, "User:alice", "*", Operation.DESCRIBE, Permission.ALLOW)
        for kind, name in ((AclResourceType.GROUP, "g"), (AclResourceType.TOPIC, "seen"))
    ]
    assert [result.error_code for result in made.ask(CreateAclsRequest(rules)).results] == [Error.NONE] * 2
    rows = [OffsetCommitRequestTopic(name, partitions=[OffsetCommitRequestPartition(0, 5)]) for name in TOPICS]
    made.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))  # creates __consumer_offsets
    committed = made.ask(OffsetCommitRequest("g", topics=rows), 9)
    assert [p.error_code for topic in committed.topics for p in topic.partitions] == [Error.NONE] * 2
    yield made
    made.broker.stop(NOW_MS)


def reported(topics: Any) -> dict[str, tuple[int, int]]:
    return {topic.name: (p.committed_offset, p.error_code) for topic in topics for p in topic.partitions}


@pytest.mark.parametrize("version", [1, 5, 7])
def test_a_topic_that_the_caller_may_not_describe_is_refused_by_name(admin: Admin, version: int) -> None:
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic(name, [0]) for name in (*TOPICS, "absent")])
    assert reported(admin.ask(request, version, user="alice").topics) == {
        "seen": (5, Error.NONE),
        "hidden": DENIED,
        "absent": DENIED,
    }
    assert reported(admin.ask(request, version).topics)["hidden"] == (5, Error.NONE)


@pytest.mark.parametrize("version", [2, 7])
def test_a_request_for_all_topics_returns_only_topics_that_the_caller_may_describe(admin: Admin, version: int) -> None:
    request = OffsetFetchRequest("g", None)
    assert reported(admin.ask(request, version, user="alice").topics) == {"seen": (5, Error.NONE)}
    assert reported(admin.ask(request, version).topics) == dict.fromkeys(TOPICS, (5, Error.NONE))


def test_only_the_group_that_the_caller_may_not_describe_is_refused(admin: Admin) -> None:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(name, topics=None) for name in ("g", "other")])
    groups = admin.ask(request, 8, user="alice").groups
    assert {group.group_id: (group.error_code, reported(group.topics)) for group in groups} == {
        "g": (Error.NONE, {"seen": (5, Error.NONE)}),
        "other": (Error.GROUP_AUTHORIZATION_FAILED, {}),
    }


@pytest.mark.parametrize(("version", "partitions"), [(1, 1), (2, 0)])
def test_before_version_2_a_refused_group_is_reported_for_each_partition(
    admin: Admin, version: int, partitions: int
) -> None:
    answer = admin.ask(OffsetFetchRequest("other", [OffsetFetchRequestTopic("seen", [0])]), version, user="alice")
    refused = Error.GROUP_AUTHORIZATION_FAILED
    assert answer.error_code == (Error.NONE if partitions else refused)
    assert reported(answer.topics) == ({"seen": (-1, refused)} if partitions else {})


def test_an_unknown_topic_id_and_a_hidden_topic_get_different_errors(admin: Admin) -> None:
    ids = {name: admin.broker.metadata.topic(name).topic_id for name in TOPICS}  # type: ignore[union-attr]
    asked = [OffsetFetchRequestTopics("", topic_id, [0]) for topic_id in (*ids.values(), NO_TOPIC_ID)]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=asked)])
    (group,) = admin.ask(request, 10, user="alice").groups
    found = {topic.topic_id: (p.committed_offset, p.error_code) for topic in group.topics for p in topic.partitions}
    assert found == {ids["seen"]: (5, Error.NONE), ids["hidden"]: DENIED, NO_TOPIC_ID: UNKNOWN_ID}


def test_a_request_for_all_topics_by_id_returns_only_topics_that_the_caller_may_describe(admin: Admin) -> None:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)])
    (group,) = admin.ask(request, 10).groups
    assert len(group.topics) == len(TOPICS)
    (group,) = admin.ask(request, 10, user="alice").groups
    assert [topic.topic_id for topic in group.topics] == [
        admin.broker.metadata.topic("seen").topic_id  # type: ignore[union-attr]
    ]
