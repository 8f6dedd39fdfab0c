"""A member of a group under the protocol of KIP-848 (``group.protocol=consumer``): one heartbeat does everything.

Called by the consumer. The coordinator computes assignments; the member gives up what it must, takes what it gets, and
tells in the next heartbeat what it has. Source: KIP-848, ``ConsumerMembershipManager``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.coordinator import CoordinatorFinder, CoordinatorType
from oncelog.client.core.errors import error_for, error_of
from oncelog.client.core.membership import Host
from oncelog.client.core.metadata import ClusterMetadata
from oncelog.client.core.structs import ConsumerGroupMetadata, TopicPartition
from oncelog.client.core.subscription import Subscription
from oncelog.client.core.transaction_requests import by_topic
from oncelog.client.core.wire import CONSUMER_GROUP_HEARTBEAT, Answer, Failure, Wire
from oncelog.deferred import Deferred
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from oncelog.protocol.generated.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from oncelog.timers import Timer

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
LEAVE_STATIC_EPOCH = -2


class Next(Enum):
    """What an error means for the member."""

    REJOIN = auto()
    FIND_COORDINATOR = auto()
    RETRY = auto()
    GIVE_UP = auto()


_ERRORS: Mapping[Error, Next] = {
    Error.FENCED_MEMBER_EPOCH: Next.REJOIN,
    Error.UNKNOWN_MEMBER_ID: Next.REJOIN,
    Error.COORDINATOR_NOT_AVAILABLE: Next.FIND_COORDINATOR,
    Error.NOT_COORDINATOR: Next.FIND_COORDINATOR,
    Error.NETWORK_EXCEPTION: Next.FIND_COORDINATOR,
    Error.REQUEST_TIMED_OUT: Next.FIND_COORDINATOR,
}


class ConsumerGroupMember:
    """One consumer's place in a group of the new protocol.

    :param member_id: unique; the client makes it.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        wire: Wire,
        metadata: ClusterMetadata,
        subscription: Subscription,
        host: Host,
        member_id: str,
    ) -> None:
        self._config = config
        self._group_id = config.group_id or ""
        self._wire = wire
        self._metadata = metadata
        self._subscription = subscription
        self._host = host
        self._member_id = member_id
        self._epoch = JOIN_EPOCH
        self._joined = False
        self._left = False
        self._asked = False
        """Whether the coordinator may know the member."""
        self._losses = 0
        """How often all was lost; what goes on from before the last time ends there."""
        self._busy = False
        self._reconciling = False
        self._interval_ms = config.heartbeat_interval_ms
        self._target: dict[bytes, list[int]] | None = None
        self._told_topics: tuple[str, ...] | None = None
        self._told_owned: tuple[TopicPartition, ...] | None = None
        self._timer: Timer | None = None
        self._polled_ms = wire.now_ms()
        self.finder = CoordinatorFinder(
            wire,
            self._group_id,
            CoordinatorType.GROUP,
            retry_backoff_ms=config.retry_backoff_ms,
            retry_backoff_max_ms=config.retry_backoff_max_ms,
            on_found=self.poll,
            on_error=lambda error, now_ms: self._give_up(error),
        )

    @property
    def identity(self) -> ConsumerGroupMetadata:
        return ConsumerGroupMetadata(self._group_id, self._epoch, self._member_id, self._config.group_instance_id)

    @property
    def stable(self) -> bool:
        return self._joined and not self._reconciling and self._target is None

    def polled(self, now_ms: int) -> None:
        self._polled_ms = now_ms
        if not self._joined:
            self.poll(now_ms)

    def subscription_changed(self, reason: str) -> None:
        self.poll(self._wire.now_ms())

    def metadata_changed(self) -> None:
        """Topics that the target names may be known now."""
        if self._target is not None:
            self._reconcile()

    def poll(self, now_ms: int) -> None:
        """Send a heartbeat where there is something to tell."""
        if self._left or self._busy or not self._subscription.by_group:
            return
        if self._timer is not None and self._timer.pending and not self._news():
            return
        self._beat(now_ms)

    def leave(self) -> Deferred[None]:
        done: Deferred[None] = Deferred()
        node = self.finder.node
        self._left = True
        if self._timer is not None:
            self._timer.cancel()
        if node is None or not self._asked:
            done.resolve(None)
            return done
        static = self._config.group_instance_id is not None
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            member_epoch=LEAVE_STATIC_EPOCH if static else LEAVE_EPOCH,
            instance_id=self._config.group_instance_id,
        )
        self._wire.send(
            node, CONSUMER_GROUP_HEARTBEAT, request, lambda answer, version, now_ms: done.resolve(None), channel=1
        )
        return done

    def _news(self) -> bool:
        if not self._joined or self._told_topics != self._subscription.topics:
            return True
        return not self._reconciling and self._told_owned != self._owned()

    def _owned(self) -> tuple[TopicPartition, ...]:
        return tuple(sorted(self._subscription.assigned))

    def _beat(self, now_ms: int) -> None:
        if self._left or self._busy:
            return
        if self._timer is not None:
            self._timer.cancel()
        if self._host.reading():
            self._polled_ms = now_ms
        if now_ms - self._polled_ms > self._config.max_poll_interval_ms:
            if self._joined:
                self._stop_reading()
            return
        node = self.finder.node
        if node is None:
            self.finder.look_up()
            return
        self._busy = self._asked = True
        request = self._request()
        self._wire.send(node, CONSUMER_GROUP_HEARTBEAT, request, self._heard, channel=1)

    def _request(self) -> ConsumerGroupHeartbeatRequest:
        """Everything when joining, afterwards only what has changed."""
        joining = not self._joined
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            member_epoch=self._epoch,
            instance_id=self._config.group_instance_id,
        )
        if joining:
            request.rebalance_timeout_ms = self._config.effective_rebalance_timeout_ms
            request.server_assignor = self._config.group_remote_assignor
            request.rack_id = self._config.client_rack or None
        if joining or self._told_topics != self._subscription.topics:
            self._told_topics = self._subscription.topics
            request.subscribed_topic_names = sorted(self._told_topics)
        owned = () if joining else self._owned()
        if joining or (not self._reconciling and self._told_owned != owned):
            self._told_owned = owned
            request.topic_partitions = [
                TopicPartitions(topic_id=self._metadata.topic_id(topic), partitions=numbers)
                for topic, numbers in by_topic(owned).items()
            ]
        return request

    def _heard(self, answer: Answer, version: int, now_ms: int) -> None:
        self._busy = False
        if self._left:
            return
        error = answer.error if isinstance(answer, Failure) else error_of(answer.error_code)
        if error is not Error.NONE:
            self._failed(error, answer, now_ms)
            return
        response: ConsumerGroupHeartbeatResponse = answer
        self._joined = True
        self._epoch = response.member_epoch
        self._interval_ms = response.heartbeat_interval_ms
        if response.assignment is not None:
            self._target = {item.topic_id: list(item.partitions) for item in response.assignment.topic_partitions}
        self._timer = self._wire.timers.schedule(now_ms + self._interval_ms, self._beat)
        if self._target is not None:
            self._reconcile()
        elif self._news():
            self.poll(now_ms)

    def _reconcile(self) -> None:
        """Go from what is owned to the target: first give up, then take, then tell."""
        if self._reconciling or self._target is None:
            return
        names = self._metadata.names_by_id
        if any(topic_id not in names for topic_id in self._target):
            self._metadata.want(self._subscription.topics)
            self._metadata.request_update()
            return
        target, self._target = self._target, None
        wanted = [TopicPartition(names[topic_id], n) for topic_id, numbers in target.items() for n in sorted(numbers)]
        goal = set(wanted)
        leaving = [name for name in self._subscription.assigned if name not in goal]
        added = [name for name in wanted if name not in self._subscription.assigned]
        if not leaving and not added:
            self._settled()
            return
        self._reconciling = True
        losses = self._losses
        for name in leaving:
            self._subscription.assigned[name].revoking = True

        def revoked(_: None) -> None:
            if losses == self._losses:
                self._subscription.take(wanted)
                self._host.assigned(added).then(taken)

        def taken(_: None) -> None:
            if losses == self._losses:
                self._settled()

        if leaving:
            self._host.revoke(leaving, lost=False).then(revoked)
        else:
            revoked(None)

    def _settled(self) -> None:
        self._reconciling = False
        now_ms = self._wire.now_ms()
        if self._target is not None:
            self._reconcile()
        elif self._told_owned != self._owned():
            self.poll(now_ms)

    def _failed(self, error: Error, answer: Answer, now_ms: int) -> None:
        said = answer.text if isinstance(answer, Failure) else answer.error_message
        action = _ERRORS.get(error, Next.RETRY if error.retriable else Next.GIVE_UP)
        if action is Next.GIVE_UP:
            text = f"group {self._group_id!r} refused the member{': ' + said if said else ''}"
            self._give_up(error_for(error, text))
            return
        if action is Next.REJOIN:
            self._lose_all()
        elif action is Next.FIND_COORDINATOR:
            self.finder.forget()
        self._told_topics = self._told_owned = None
        self._timer = self._wire.timers.schedule(now_ms + self._config.retry_backoff_ms, self._beat)

    def _stop_reading(self) -> None:
        """The program is stuck: let others read. The next fetch joins again."""
        node = self.finder.node
        if node is not None:
            request = ConsumerGroupHeartbeatRequest(
                group_id=self._group_id, member_id=self._member_id, member_epoch=LEAVE_EPOCH
            )
            self._wire.send(node, CONSUMER_GROUP_HEARTBEAT, request, lambda answer, version, now_ms: None, channel=1)
        self._asked = False
        self._lose_all()

    def _lose_all(self) -> None:
        self._epoch = JOIN_EPOCH
        self._joined = False
        self._target = None
        self._told_topics = self._told_owned = None
        self._losses += 1
        losses = self._losses
        owned = list(self._subscription.assigned)
        self._reconciling = bool(owned)
        if not owned:
            return
        for state in self._subscription.assigned.values():
            state.revoking = True

        def told(_: None) -> None:
            if losses != self._losses:
                return
            self._subscription.take(())
            self._reconciling = False
            self._reconcile()

        self._host.revoke(owned, lost=True).then(told)

    def _give_up(self, error: KafkaError) -> None:
        self._left = True
        self._host.group_failed(error)
