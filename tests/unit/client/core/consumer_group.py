"""A program with one member of a group of the consumer protocol; the test plays the coordinator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.connection.metadata import ClusterMetadata
from oncelog.client.core.connection.wire import CONSUMER_GROUP_HEARTBEAT, FIND_COORDINATOR, METADATA
from oncelog.client.core.consumer.subscription import Reset, Subscription
from oncelog.client.core.group.consumer_group_member import ConsumerGroupMember
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from oncelog.runtime.deferred import Deferred
from oncelog.types import TopicPartition
from tests.unit.client.core.producers import TOPIC, coordinator, metadata_answer
from tests.unit.client.core.wires import FakeWire, Sent

TOPIC_ID = b"\x01" * 16
NEW_TOPIC_ID = b"\x02" * 16
BEAT_MS = 5000


class Program:
    """The consumer around the member: reading unless it is stuck; its listener takes as long as the test says to be
    told of a revocation, and with ``slow`` of an assignment."""

    def __init__(self) -> None:
        self.stuck = self.slow = False
        self.assigning: list[tuple[list[TopicPartition], Deferred[None]]] = []
        self.revoking: list[tuple[list[TopicPartition], bool, Deferred[None]]] = []
        self.failure: KafkaError | None = None

    def revoke(self, partitions: list[TopicPartition], lost: bool) -> Deferred[None]:
        done: Deferred[None] = Deferred()
        self.revoking.append((partitions, lost, done))
        return done

    def assigned(self, added: list[TopicPartition]) -> Deferred[None]:
        done: Deferred[None] = Deferred() if self.slow else Deferred.of(None)
        self.assigning.append((added, done))
        return done

    def listened(self) -> None:
        """The listener returns from everything it was being told."""
        waiting = [*(done for _, _, done in self.revoking), *(done for _, done in self.assigning)]
        for done in waiting:
            if not done.done:
                done.resolve(None)

    def group_failed(self, error: KafkaError) -> None:
        self.failure = error

    def reading(self) -> bool:
        return not self.stuck


class Group:
    """A member that has found its coordinator; the test plays the coordinator."""

    def __init__(self, **settings: Any) -> None:
        self.wire = FakeWire()
        self.program = Program()
        metadata = ClusterMetadata(self.wire, max_age_ms=10**9, retry_backoff_ms=100, retry_backoff_max_ms=1000)
        self.subscription = Subscription(Reset.EARLIEST)
        self.subscription.subscribe([TOPIC], None, None)
        self.metadata = metadata
        config = ConsumerConfig.from_keywords(group_id="g", group_protocol="consumer", **settings)
        metadata.want([TOPIC])
        metadata.refresh()
        self.wire.pass_time(1)
        self.wire.take(METADATA).answer(metadata_answer(topic_id=TOPIC_ID))
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

    def answer_with_new_topic(self) -> None:
        """Assign a topic that was made after the last metadata."""
        self.beat().answer(
            ConsumerGroupHeartbeatResponse(
                member_id="m",
                member_epoch=2,
                heartbeat_interval_ms=BEAT_MS,
                assignment=Assignment([TopicPartitions(TOPIC_ID, [0]), TopicPartitions(NEW_TOPIC_ID, [0])]),
            )
        )

    def refuse(self, error: Error) -> None:
        self.beat().answer(ConsumerGroupHeartbeatResponse(error_code=error))

    def fence(self) -> None:
        self.refuse(Error.FENCED_MEMBER_EPOCH)

    def learn_new_topic(self) -> None:
        """Metadata names the topic of ``NEW_TOPIC_ID``."""
        self.metadata.names_by_id[NEW_TOPIC_ID] = "new"
        self.member.metadata_changed()
