"""A member of a group of the consumer protocol (KIP-848), without a network."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.consumer_group_member import ConsumerGroupMember
from oncelog.client.core.metadata import ClusterMetadata
from oncelog.client.core.subscription import Reset, Subscription
from oncelog.client.core.wire import CONSUMER_GROUP_HEARTBEAT, FIND_COORDINATOR, METADATA
from oncelog.deferred import Deferred
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from oncelog.types import TopicPartition
from tests.unit.client.core.producers import P0, P1, TOPIC, coordinator, picture
from tests.unit.client.core.wires import FakeWire, Sent

TOPIC_ID = b"\x01" * 16
BEAT_MS = 5000


class Program:
    """The consumer around the member: always reading; its listener takes as long as the test says."""

    def __init__(self) -> None:
        self.revoking: list[tuple[list[TopicPartition], bool, Deferred[None]]] = []
        self.failure: KafkaError | None = None

    def revoke(self, partitions: list[TopicPartition], lost: bool) -> Deferred[None]:
        done: Deferred[None] = Deferred()
        self.revoking.append((partitions, lost, done))
        return done

    def assigned(self, added: list[TopicPartition]) -> Deferred[None]:
        return Deferred.of(None)

    def group_failed(self, error: KafkaError) -> None:
        self.failure = error

    def reading(self) -> bool:
        return True


class Group:
    """A member that has found its coordinator; the test plays the coordinator."""

    def __init__(self) -> None:
        self.wire = FakeWire()
        self.program = Program()
        metadata = ClusterMetadata(self.wire, max_age_ms=10**9, retry_backoff_ms=100, retry_backoff_max_ms=1000)
        self.subscription = Subscription(Reset.EARLIEST)
        self.subscription.subscribe([TOPIC], None, None)
        config = ConsumerConfig.from_keywords(group_id="g", group_protocol="consumer")
        metadata.want([TOPIC])
        metadata.refresh()
        self.wire.pass_time(1)
        self.wire.take(METADATA).answer(picture(topic_id=TOPIC_ID))
        self.member = ConsumerGroupMember(config, self.wire, metadata, self.subscription, self.program, "m")
        self.member.poll(self.wire.now_ms())
        self.wire.take(FIND_COORDINATOR).answer(coordinator("g"))

    @property
    def owned(self) -> list[TopicPartition]:
        return sorted(self.subscription.assigned)

    def beat(self) -> Sent:
        """The heartbeat in flight, or the next one."""
        if not self.wire.count(CONSUMER_GROUP_HEARTBEAT):
            self.wire.pass_time(BEAT_MS)
        return self.wire.take(CONSUMER_GROUP_HEARTBEAT)

    def answer(self, epoch: int, target: Sequence[TopicPartition] | None = None) -> None:
        assignment = None
        if target is not None:
            assignment = Assignment([TopicPartitions(TOPIC_ID, [name.partition for name in target])])
        self.beat().answer(
            ConsumerGroupHeartbeatResponse(
                member_id="m", member_epoch=epoch, heartbeat_interval_ms=BEAT_MS, assignment=assignment
            )
        )

    def fence(self) -> None:
        self.beat().answer(ConsumerGroupHeartbeatResponse(error_code=Error.FENCED_MEMBER_EPOCH))


def test_a_revocation_that_ends_after_the_member_was_fenced_takes_no_partition_back() -> None:
    """Its listener outlasted the rebalance timeout: by then, the partitions of the old target belong to others."""
    group = Group()
    group.answer(1, [P0, P1])
    group.answer(1)
    group.answer(2, [P0])
    (leaving, lost, slow), *_ = group.program.revoking
    assert (leaving, lost) == ([P1], False)
    group.fence()
    (gone, lost, told) = group.program.revoking[-1]
    assert (sorted(gone), lost) == ([P0, P1], True)
    told.resolve(None)
    assert group.owned == []
    group.answer(3, [P1])
    assert group.owned == [P1]
    slow.resolve(None)
    assert group.owned == [P1]


def test_a_new_assignment_waits_for_the_listener_that_is_told_of_the_loss() -> None:
    group = Group()
    group.answer(1, [P0])
    group.fence()
    group.answer(2, [P0, P1])
    assert all(state.revoking for state in group.subscription.assigned.values())
    group.program.revoking[-1][2].resolve(None)
    assert group.owned == [P0, P1]
    assert not any(state.revoking for state in group.subscription.assigned.values())


def test_a_member_that_stops_while_it_joins_says_farewell() -> None:
    """Otherwise its partitions would wait for its session to end."""
    group = Group()
    joining = group.beat()
    assert joining.message.member_epoch == 0
    group.member.leave()
    assert group.beat().message.member_epoch == -1


def test_a_member_whose_join_is_to_be_repeated_says_farewell_too() -> None:
    group = Group()
    group.beat().answer(ConsumerGroupHeartbeatResponse(error_code=Error.COORDINATOR_LOAD_IN_PROGRESS))
    group.member.leave()
    assert group.beat().message.member_epoch == -1


def test_a_revocation_that_ends_after_the_member_left_takes_nothing_over() -> None:
    """After unsubscribe(), the consumer must not read partitions of the group that it left."""
    group = Group()
    group.answer(1, [P0, P1])
    group.answer(1)
    group.answer(2, [P0])
    group.member.leave()
    group.subscription.unsubscribe()
    group.program.revoking[-1][2].resolve(None)
    assert group.owned == []


def test_a_revocation_that_ends_after_the_member_failed_takes_nothing_over() -> None:
    group = Group()
    group.answer(1, [P0, P1])
    group.answer(1)
    group.answer(2, [P0])
    group.beat().answer(ConsumerGroupHeartbeatResponse(error_code=Error.GROUP_AUTHORIZATION_FAILED))
    assert group.program.failure is not None
    group.subscription.take(())
    group.program.revoking[-1][2].resolve(None)
    assert group.owned == []
