"""A damaged record of ``__share_group_state`` only costs the share partitions of its partition their deliveries.

When the topic is deleted, groups start again from where a new group would. As ``test_damaged_coordinators`` for the
other internal topics.
"""

from __future__ import annotations

from itertools import count, islice
from pathlib import Path

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import parse_batches
from oncelog.broker.coordinator.share.share_coordinator import coordinator_key
from oncelog.broker.coordinator.share.state_rules import ShareKey
from oncelog.errors import NONE, Error
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest
from oncelog.types import SHARE_GROUP_STATE_TOPIC, java_hash_partition
from tests.integration.crash.test_damaged_coordinators import (
    DAMAGES,
    HEADER_BYTES,
    PARTITIONS,
    segment,
)
from tests.support.share_members import ACCEPT, ShareMember, ShareTopic

SETTINGS = {"share.coordinator.state.topic.num.partitions": PARTITIONS}


def topics_of_each(servers: str) -> dict[int, ShareTopic]:
    """A topic, with a group of its name, for each partition of the states."""
    found: dict[int, ShareTopic] = {}
    for number in count():
        topic = ShareTopic(servers, f"t{number}")
        owner = java_hash_partition(coordinator_key(ShareKey(topic.name, topic.topic_id, 0)), PARTITIONS)
        found.setdefault(owner, topic)
        if len(found) == PARTITIONS:
            return found
    raise AssertionError


def damage(data: Path, index: int) -> None:
    """The second batch of the partition."""
    path = segment(data, SHARE_GROUP_STATE_TOPIC, index)
    content = path.read_bytes()
    first, second = islice(parse_batches(content), 2)
    begin = HEADER_BYTES + len(first.area)
    end = begin + HEADER_BYTES + len(second.area)
    path.write_bytes(content[:begin] + DAMAGES[index](content[begin:end], second) + content[end:])


def test_a_damaged_record_resets_only_its_own_share_partitions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with oncelog.Broker(tmp_path, settings=SETTINGS) as broker:
        topics = topics_of_each(broker.bootstrap_servers)
        for topic in topics.values():
            topic.produce(10)
            member = ShareMember(topic, "m")
            assert member.acquired(5) == [(0, 4, 1)]
            assert member.say((0, 0, [ACCEPT])) is NONE
            assert member.say((1, 1, [ACCEPT])) is NONE
    for index in DAMAGES:
        damage(tmp_path, index)
    with oncelog.Broker(tmp_path, settings=SETTINGS) as broker:
        for index, topic in topics.items():
            topic.servers = broker.bootstrap_servers
            member = ShareMember(topic, "other")
            if index in DAMAGES:
                assert member.fetch_once() is Error.COORDINATOR_NOT_AVAILABLE
            else:
                assert member.acquired()[0][0] == 2, "what was acknowledged is known"
    logged = [
        f"{SHARE_GROUP_STATE_TOPIC}-{index} cannot be read at or after offset" in caplog.text
        for index in range(PARTITIONS)
    ]
    assert logged == [index in DAMAGES for index in range(PARTITIONS)]


def test_share_groups_start_anew_if_their_state_topic_is_deleted() -> None:
    with oncelog.Broker(settings={"group.share.min.heartbeat.interval.ms": 1}) as broker:
        topic = ShareTopic(broker.bootstrap_servers, "t")
        topic.produce(10)
        member = ShareMember(topic, "m")
        assert member.acquired(5) == [(0, 4, 1)]
        assert member.say((0, 4, [ACCEPT])) is NONE
        (deleted,) = topic.client.ask(DeleteTopicsRequest(topic_names=[SHARE_GROUP_STATE_TOPIC]), 5).responses
        assert deleted.error_code == 0
        eventually(lambda: ShareMember(topic, "other").acquired(epoch=0) == [(0, 9, 1)])
