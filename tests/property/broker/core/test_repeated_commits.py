"""Commits that repeat an earlier one have the same effect as on the general path: two brokers get the same ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.generated.join_group_response import JoinGroupResponse
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from oncelog.records.batch import decode_records
from oncelog.settings.config import BrokerConfig, parse
from oncelog.types import TopicPartition
from tests.property.broker.core.sides import same_on_both
from tests.support.frames import encode_request, receive_as_run
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel

OFFSETS = TopicPartition("__consumer_offsets", 0)
MEMBER = "member"
SETTINGS = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}


class Commit(NamedTuple):
    offset: int
    group: str = "simple"
    version: int = 9
    partition: int = 0
    leader_epoch: int = -1
    metadata: str | None = "here"
    as_member: bool = False
    generation: int = -1
    more: bool = False


def commit_of(**fields: Any) -> Commit:
    """Separate, so that Hypothesis keeps the defaults."""
    return Commit(**fields)


USUAL = st.builds(commit_of, offset=st.integers(-1, 2**62), leader_epoch=st.integers(-1, 3))
OF_MEMBER = st.builds(
    commit_of,
    offset=st.integers(0, 9),
    group=st.just("joined"),
    as_member=st.sampled_from([True] * 6 + [False]),
    generation=st.sampled_from([1, 1, 1, 1, 1, 0, 2]),
)
ODD = st.builds(
    commit_of,
    offset=st.integers(0, 9),
    group=st.sampled_from(["simple", "joined", "other", ""]),
    version=st.sampled_from([2, 5, 7, 8, 9, 10]),
    partition=st.sampled_from([0, 1, 2]),
    metadata=st.sampled_from([None, "", "x" * 20, "x" * 21]),
    more=st.booleans(),
)
CHANGES = st.sampled_from(["new topic", "join", "session ends", "shorter metadata"])
STEPS = st.lists(st.one_of(USUAL, USUAL, OF_MEMBER, OF_MEMBER, OF_MEMBER, ODD, CHANGES), min_size=10, max_size=40)


class Side:
    """A broker and one connection to it that commits; ``repeats`` counts the commits that took the short path."""

    def __init__(self, *, may_repeat: bool, policy: str = "none") -> None:
        self.admin = Admin(**SETTINGS, **{"oncelog.flush.policy": policy, "offset.metadata.max.bytes": "20"})
        self.broker = self.admin.broker
        self.channel = RecordingChannel()
        self.may_repeat = may_repeat
        self.repeats = self.asked = 0
        self.broker.topics.ensure_internal("__consumer_offsets", NOW_MS)
        self.broker.tasks.finish()
        self.new_topic()

    def new_topic(self) -> None:
        if self.broker.metadata.topic("t") is not None:
            self.broker.topics.delete("t", NOW_MS)
        self.topic_id = self.broker.topics.create("t", 2, {}, NOW_MS).topic_id

    def join(self) -> None:
        """The only member of its group; static, so that both brokers call it by the same name afterwards."""
        protocols = [JoinGroupRequestProtocol("range", b"")]
        channel = RecordingChannel()
        request = JoinGroupRequest("joined", 30_000, 30_000, "", MEMBER, "consumer", protocols)
        frame = encode_request(request.API_KEY, 9, 1, "c", request.encode(9))
        self.broker.receive(channel, 0, memoryview(frame)[4:], NOW_MS)
        self.broker.advance(NOW_MS)
        joined = JoinGroupResponse.decode(channel.answers[0], 9, 9)
        self.member_id = joined.member_id
        assigned = [SyncGroupRequestAssignment(self.member_id, b"")]
        producer = joined.generation_id, self.member_id, MEMBER
        self.admin.ask(SyncGroupRequest("joined", *producer, "consumer", "range", assigned), 5)

    def commit(self, commit: Commit) -> None:
        self.asked += 1
        parts = [
            OffsetCommitRequestPartition(
                index, commit.offset, commit.leader_epoch if commit.version >= 6 else -1, commit.metadata
            )
            for index in ([commit.partition, 1] if commit.more else [commit.partition])
        ]
        topic = OffsetCommitRequestTopic(partitions=parts)
        if commit.version >= 10:
            topic.topic_id = self.topic_id
        else:
            topic.name = "t"
        request = OffsetCommitRequest(commit.group, commit.generation, topics=[topic])
        request.member_id = getattr(self, "member_id", "") if commit.as_member else ""
        frame = encode_request(8, commit.version, self.asked, "c", request.encode(commit.version))
        if self.may_repeat and receive_as_run(self.broker, self.channel, self.asked, frame, NOW_MS):
            self.repeats += 1
        else:
            self.broker.receive(self.channel, self.asked, memoryview(frame)[4:], NOW_MS)

    def step(self, step: Commit | str) -> None:
        match step:
            case Commit():
                self.commit(step)
            case "new topic":
                self.new_topic()
            case "join":
                self.join()
            case "session ends":
                self.broker.groups.expire_members("joined", None, NOW_MS)
            case _:
                texts = {**SETTINGS, "oncelog.flush.policy": "none", "offset.metadata.max.bytes": "3"}
                self.broker.reconfigure(parse(BrokerConfig, texts))

    def seen(self) -> object:
        """What the connection was answered, what the log holds, and what is known of the groups."""
        partition = self.broker.partition(OFFSETS)
        assert partition is not None
        logged = [(r.key, r.value) for _, batch in partition.log.batches(0) for r in decode_records(batch)]
        fetched = [
            self.admin.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None)]), 8)
            for group in ("simple", "joined", "other")
        ]
        return self.channel.answers, self.channel.closed, logged, fetched


@settings(max_examples=100, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(STEPS)
def test_a_repeated_commit_on_the_fast_path_has_the_same_effect_as_on_the_general_path(
    steps: list[Commit | str],
) -> None:
    same_on_both(Side, ["join", *steps])


def test_a_pattern_for_repeated_commits_is_dropped_when_it_is_outdated() -> None:
    of_member = Commit(1, "joined", as_member=True, generation=1)
    for change in ("session ends", "new topic", "shorter metadata", "join"):
        assert (
            same_on_both(Side, ["join", *[of_member._replace(offset=offset) for offset in range(4)], change, of_member])
            == 3
        )
    for change in ("new topic", "shorter metadata"):
        assert same_on_both(Side, [Commit(1), Commit(2), Commit(3), change, Commit(4)]) == 2


@pytest.mark.parametrize("version", [8, 9, 10])
def test_offset_commits_take_the_fast_path_from_the_second_commit_on(version: int) -> None:
    side = Side(may_repeat=True)
    side.step("join")
    for offset in range(5):
        side.commit(Commit(offset, "joined", version, as_member=True, generation=1))
    assert side.repeats == 4
    side.commit(Commit(9, "joined", version, as_member=True, generation=2))
    assert side.repeats == 4


def test_a_commit_that_waits_for_a_sync_takes_the_general_path() -> None:
    side = Side(may_repeat=True, policy="commit")
    for offset in range(3):
        side.commit(Commit(offset))
    assert side.repeats == 0


def test_a_disk_failure_is_reported_on_the_fast_path_as_on_the_general_path() -> None:
    sides = [Side(may_repeat=False), Side(may_repeat=True)]
    for side in sides:
        side.commit(Commit(1))
        partition = side.broker.partition(OFFSETS)
        assert partition is not None
        partition.flush_failed("the disk is full")
        side.commit(Commit(2))
    assert sides[1].channel.answers == sides[0].channel.answers
    assert sides[1].repeats == 0
