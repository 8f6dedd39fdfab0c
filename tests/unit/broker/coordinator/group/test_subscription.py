"""The bytes that consumers embed in the classic protocol: versions to come are read, and garbage is not."""

from __future__ import annotations

import pytest

from oncelog.broker.coordinator.group.subscription import (
    decode_assignment,
    encode_assignment,
    parse_subscription,
    subscribed_topics,
    version_of,
)
from tests.support.group_host import subscription

NEWER = 99


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff\0\0\0\0", b"\0\1\0\0\0\5"], ids=str)
def test_an_unreadable_subscription_is_read_as_empty(data: bytes) -> None:
    assert parse_subscription(data) is None
    assert subscribed_topics(data) is None
    assert data == b"" or decode_assignment(data) is None


def test_a_null_assignment_is_read_as_empty() -> None:
    found = decode_assignment(b"")
    assert found is not None and found.assigned_partitions == []


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_topics_are_read_from_every_subscription_version(version: int) -> None:
    data = subscription("a", "b", version=version)
    found = parse_subscription(data)
    assert found is not None and found.topics == ["a", "b"] == subscribed_topics(data)
    assert version_of(data) == version


def test_a_future_subscription_version_is_read_as_the_newest_known() -> None:
    data = NEWER.to_bytes(2, "big") + subscription("a", version=3)[2:] + b"more"
    found = parse_subscription(data)
    assert found is not None and found.topics == ["a"]
    assignment = encode_assignment({"a": [1, 0]}, NEWER)
    read = decode_assignment(NEWER.to_bytes(2, "big") + assignment[2:] + b"more")
    assert read is not None and [(topic.topic, topic.partitions) for topic in read.assigned_partitions] == [
        ("a", [1, 0])
    ]
