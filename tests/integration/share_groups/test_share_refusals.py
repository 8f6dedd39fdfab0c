"""What both brokers answer where a request of a share group is wrong, or its group does not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.protocol.generated import share_fetch_request as fetches
from oncelog.protocol.generated.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from oncelog.protocol.generated.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from oncelog.protocol.generated.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.share_acknowledge_request import ShareAcknowledgeRequest
from oncelog.protocol.generated.share_fetch_request import ShareFetchRequest
from oncelog.protocol.generated.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from oncelog.protocol.wire import Message
from tests.compatibility.interop.admin.admin_wire import Connection
from tests.conftest import RunningBroker

LOADING = (14, 15, 16)
NO_GROUP, INVALID, WRONG_ID, WRONG_EPOCH = 69, 42, 24, 123
NO_SESSION = 122
HERE = "no-such-share-group"
ACKNOWLEDGED = [
    fetches.FetchTopic(b"\1" * 16, [fetches.FetchPartition(0, 0, [fetches.AcknowledgementBatch(0, 0, [1])])])
]


@pytest.fixture
def connection(broker: RunningBroker) -> Iterator[Connection]:
    """To a broker that has its coordinators."""
    opened = Connection(broker.bootstrap_servers)
    opened.call(FindCoordinatorRequest("", 0, [HERE]), 4)
    yield opened
    opened.close()


def beat(group: str, member: str, epoch: int) -> Message:
    return ShareGroupHeartbeatRequest(group, member, epoch, None, ["t"])


@pytest.mark.parametrize(
    ("request_", "version", "error", "message"),
    [
        (beat(HERE, "", 0), 1, INVALID, None),
        (beat(HERE, " ", 0), 1, INVALID, "MemberId can't be empty."),
        (beat("", "m", 0), 1, INVALID, "GroupId can't be empty."),
        (beat(HERE, "m", -1), 1, NO_GROUP, f"Group {HERE} not found."),
        (beat(HERE, "m", 5), 1, NO_GROUP, f"Share group {HERE} not found."),
        (ShareFetchRequest(HERE, None, 0), 1, INVALID, None),
        (ShareFetchRequest(None, "m", 0), 1, INVALID, None),
        (ShareAcknowledgeRequest(HERE, None, 1), 1, INVALID, None),
        (ShareFetchRequest(HERE, "m" * 37, 0), 1, INVALID, None),
        (ShareFetchRequest(HERE, "m", 0, topics=ACKNOWLEDGED), 1, INVALID, None),
        (ShareFetchRequest(HERE, "m", 1, max_records=1, is_renew_ack=True), 2, INVALID, None),
        (ShareFetchRequest(HERE, "m" * 36, 7), 1, NO_SESSION, None),
        (ShareAcknowledgeRequest(HERE, "m" * 37, 1), 1, INVALID, None),
        (ShareAcknowledgeRequest(HERE, "m" * 36, 1), 1, NO_SESSION, None),
        (ShareAcknowledgeRequest(HERE, "m", 0), 1, WRONG_EPOCH, None),
        (AlterShareGroupOffsetsRequest("", []), 0, WRONG_ID, "The group id is invalid."),
        (AlterShareGroupOffsetsRequest(HERE + "-made", []), 0, 0, None),
        (DeleteShareGroupOffsetsRequest("", []), 0, WRONG_ID, "The group id is invalid."),
        (DeleteShareGroupOffsetsRequest(HERE, []), 0, NO_GROUP, f"Group {HERE} not found."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Message) else str(value),
)
def test_a_refusal_has_kafkas_error_message(
    connection: Connection, request_: Message, version: int, error: int, message: str | None
) -> None:
    def probe() -> tuple[int, str | None] | None:
        answer: Any = connection.call(request_, version)
        return None if answer.error_code in LOADING else (answer.error_code, answer.error_message)

    assert eventually(probe) == (error, message)


def test_offsets_of_topics_that_do_not_exist_do_not_create_a_group(connection: Connection) -> None:
    partition = [AlterShareGroupOffsetsRequestPartition(0, 1)]
    group = HERE + "-altered"
    topics = [AlterShareGroupOffsetsRequestTopic("no-such-topic", each) for each in (partition, [])]

    def probe() -> list[tuple[str, list[int]]] | None:
        answer: Any = connection.call(AlterShareGroupOffsetsRequest(group, topics), 0)
        shown = [(topic.topic_name, [each.error_code for each in topic.partitions]) for topic in answer.responses]
        return None if answer.error_code in LOADING else shown

    assert eventually(probe) == [("no-such-topic", [3])]
    deleted: Any = connection.call(DeleteShareGroupOffsetsRequest(group, []), 0)
    assert deleted.error_code == NO_GROUP


@pytest.mark.parametrize("group", [HERE, ""])
def test_offsets_of_a_group_that_does_not_exist_are_not_set(connection: Connection, group: str) -> None:
    topics = [DescribeShareGroupOffsetsRequestTopic("no-such-topic", [0])]

    def probe() -> list[tuple[int, list[tuple[int, int, int]]]] | None:
        asked = [DescribeShareGroupOffsetsRequestGroup(group, each) for each in (topics, None)]
        answer: Any = connection.call(DescribeShareGroupOffsetsRequest(asked), 0)
        groups = answer.groups
        if any(each.error_code in LOADING for each in groups):
            return None
        return [
            (
                each.error_code,
                [(p.start_offset, p.leader_epoch, p.error_code) for t in each.topics for p in t.partitions],
            )
            for each in groups
        ]

    assert sorted(eventually(probe) or []) == [(0, []), (0, [(-1, 0, 0)])]
