"""A member of a classic group, without a network."""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.connection.metadata import ClusterMetadata
from oncelog.client.core.connection.wire import FIND_COORDINATOR, HEARTBEAT, JOIN_GROUP, METADATA, SYNC_GROUP
from oncelog.client.core.consumer.subscription import Reset, Subscription
from oncelog.client.core.group.group_member import GroupMember
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.heartbeat_response import HeartbeatResponse
from oncelog.protocol.generated.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from oncelog.protocol.generated.sync_group_response import SyncGroupResponse
from oncelog.runtime.deferred import Deferred
from tests.unit.client.core.producers import TOPIC, coordinator, metadata_answer
from tests.unit.client.core.wires import FakeWire

SESSION_MS = 45_000
BEAT_MS = 3000


class Program:
    """The consumer around the member: always reading, with a listener that returns at once."""

    def __init__(self) -> None:
        self.failure: KafkaError | None = None

    def revoke(self, partitions: list[Any], lost: bool) -> Deferred[None]:
        return Deferred.of(None)

    def assigned(self, added: list[Any]) -> Deferred[None]:
        return Deferred.of(None)

    def group_failed(self, error: KafkaError) -> None:
        self.failure = error

    def reading(self) -> bool:
        return True


class Joined:
    """A member that is alone in its group, at generation 1."""

    def __init__(self) -> None:
        self.wire = FakeWire()
        metadata = ClusterMetadata(self.wire, max_age_ms=10**9, retry_backoff_ms=100, retry_backoff_max_ms=1000)
        self.subscription = subscription = Subscription(Reset.EARLIEST)
        subscription.subscribe([TOPIC], None, None)
        config = ConsumerConfig.from_keywords(
            group_id="g", session_timeout_ms=SESSION_MS, heartbeat_interval_ms=BEAT_MS, auto_offset_reset="earliest"
        )
        metadata.want([TOPIC])
        metadata.refresh()
        self.wire.pass_time(1)
        self.wire.take(METADATA).answer(metadata_answer())
        self.member = GroupMember(config, self.wire, metadata, subscription, Program())
        self.member.poll(self.wire.now_ms())
        self.found()
        self.wire.take(JOIN_GROUP).answer(
            JoinGroupResponse(
                generation_id=1,
                protocol_name="range",
                leader="m",
                member_id="m",
                members=[JoinGroupResponseMember(member_id="m", metadata=self.member._metadata_for("range"))],
            )
        )
        sync = self.wire.take(SYNC_GROUP)
        sync.answer(SyncGroupResponse(assignment=sync.message.assignments[0].assignment))
        assert self.member.stable

    def found(self) -> None:
        self.wire.take(FIND_COORDINATOR).answer(coordinator("g"))


def test_a_member_sends_heartbeats_again_once_the_coordinator_is_found() -> None:
    group = Joined()
    group.wire.pass_time(BEAT_MS)
    group.wire.take(HEARTBEAT).lose()
    group.found()
    for _ in range(SESSION_MS // BEAT_MS + 1):  # the coordinator is there, and answers nothing
        group.wire.pass_time(BEAT_MS)
    assert group.wire.count(HEARTBEAT) == 1
    group.wire.take(HEARTBEAT).lose()
    if group.wire.count(FIND_COORDINATOR):
        group.found()
    group.wire.pass_time(BEAT_MS)
    group.wire.take(HEARTBEAT).answer(HeartbeatResponse(error_code=Error.UNKNOWN_MEMBER_ID))
    group.wire.pass_time(200)
    assert group.wire.take(JOIN_GROUP).message.member_id == ""


@pytest.mark.parametrize(("error", "member_id"), [(Error.UNKNOWN_MEMBER_ID, ""), (Error.ILLEGAL_GENERATION, "m")])
def test_a_member_whose_commit_is_refused_loses_its_partitions_and_joins_again(error: Error, member_id: str) -> None:
    group = Joined()
    assert group.subscription.assigned
    group.member.commit_refused(error, group.member.identity)
    assert not group.subscription.assigned
    group.wire.pass_time(200)
    assert group.wire.take(JOIN_GROUP).message.member_id == member_id


def test_an_error_of_an_earlier_generations_commit_does_not_affect_the_member() -> None:
    group = Joined()
    earlier = group.member.identity._replace(generation_id=0)
    group.member.commit_refused(Error.ILLEGAL_GENERATION, earlier)
    group.member.commit_refused(Error.OFFSET_METADATA_TOO_LARGE, group.member.identity)
    assert group.subscription.assigned
    assert group.member.stable
