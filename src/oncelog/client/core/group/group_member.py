"""A member of a group under the classic protocol: join, sync, heartbeat, rejoin, leave.

Called by the consumer. With eager assignors a rebalance first revokes all partitions; with cooperative ones only those
that move. Heartbeats run in the background; a program that fetches nothing for ``max.poll.interval.ms`` leaves the
group until it fetches again. Sources: ``AbstractCoordinator``, ``ConsumerCoordinator``; KIP-62, KIP-345, KIP-394,
KIP-429.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from oncelog.client.core.client_errors import error_for
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.connection.metadata import ClusterMetadata
from oncelog.client.core.connection.wire import (
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    SYNC_GROUP,
    Answer,
    RequestFailure,
    Wire,
    error_in,
)
from oncelog.client.core.consumer.subscription import Subscription
from oncelog.client.core.group.assignors import ASSIGNORS, AssignedMember
from oncelog.client.core.group.group_messages import assignment_bytes, read_assignment, read_member, subscription_bytes
from oncelog.client.core.group.group_phases import ClassicErrorReaction, Phase, next_for
from oncelog.client.core.group.membership import Host, Membership
from oncelog.client.core.structs import ConsumerGroupMetadata, TopicPartition
from oncelog.client.core.waiting import retried
from oncelog.errors import Error, KafkaError
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.generated.join_group_response import JoinGroupResponse
from oncelog.protocol.generated.leave_group_request import LeaveGroupRequest, MemberIdentity
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from oncelog.protocol.generated.sync_group_response import SyncGroupResponse
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.timers import Timer

PROTOCOL_TYPE = "consumer"
JOIN_LAPSE_MS = 5000
"""How long after the rebalance timeout an unanswered JoinGroup or SyncGroup counts as lost, in ms."""
NO_GENERATION = -1


class GroupMember(Membership):
    """A consumer's membership of a group under the classic protocol."""

    def __init__(
        self,
        config: ConsumerConfig,
        wire: Wire,
        metadata: ClusterMetadata,
        subscription: Subscription,
        host: Host,
    ) -> None:
        super().__init__(config, wire, metadata, subscription, host)
        self.phase = Phase.OUT
        self._cooperative = all(name == "cooperative-sticky" for name in config.partition_assignment_strategy)
        self._generation = NO_GENERATION
        self._assignor = ""
        self._leader = False
        self._rejoin = False
        self._reason = ""
        self._owned_before: list[TopicPartition] = []
        self._owned_generation = NO_GENERATION
        self._counted: dict[str, int] = {}
        self._last_answer_ms = wire.now_ms()
        self._heartbeat_timer: Timer | None = None
        self._heartbeat_in_flight = False
        self._waiting = False
        self._attempt = 0

    @property
    def identity(self) -> ConsumerGroupMetadata:
        return ConsumerGroupMetadata(self._group_id, self._generation, self._member_id, self._config.group_instance_id)

    @property
    def stable(self) -> bool:
        return self.phase is Phase.STABLE and not self._rejoin

    # --- called by the consumer

    def polled(self, now_ms: int) -> None:
        self._polled_ms = now_ms
        if self.phase is Phase.OUT:
            self.poll(now_ms)

    def subscription_changed(self, reason: str) -> None:
        self._rejoin = True
        self._reason = reason
        self.poll(self._wire.now_ms())

    def poll(self, now_ms: int) -> None:
        """Look up the coordinator, or join or rejoin, if that is due."""
        if self.phase is Phase.LEFT or self._waiting or not self._subscription.by_group:
            return
        if self.finder.node is None:
            self.finder.look_up()
            return
        if self.phase is Phase.OUT or (self.phase is Phase.STABLE and self._rejoin):
            if not self._program_fetches(now_ms):
                return
            self._prepare()

    def _coordinator_found(self, now_ms: int) -> None:
        """Restart the session timeout, because a new coordinator must not be blamed for the silence of the last one."""
        self._last_answer_ms = now_ms
        self.poll(now_ms)

    def metadata_changed(self) -> None:
        """As the leader, rebalance if a topic has more partitions than at the assignment."""
        if self._leader and self.phase is Phase.STABLE:
            counts = {topic: self._count(topic) for topic in self._counted}
            if counts != self._counted:
                self.subscription_changed("the number of partitions has changed")

    def leave(self) -> Deferred[None]:
        """Leave the group, so that others get the partitions at once; static members stay in it."""
        done: Deferred[None] = Deferred()
        member_id, node = self._member_id, self.finder.node
        self.phase = Phase.LEFT
        self._stop_heartbeats()
        if not member_id or node is None or self._config.group_instance_id is not None:
            done.resolve(None)
            return done
        self._send_leave(node, member_id, "the consumer was stopped").then(done.resolve)
        return done

    def _send_leave(self, node: int, member_id: str, reason: str) -> Deferred[None]:
        done: Deferred[None] = Deferred()

        def build(version: int) -> LeaveGroupRequest:
            if version < 3:
                return LeaveGroupRequest(group_id=self._group_id, member_id=member_id)
            member = MemberIdentity(member_id=member_id, reason=reason if version >= 5 else None)
            return LeaveGroupRequest(group_id=self._group_id, members=[member])

        self._wire.send(node, LEAVE_GROUP, build, lambda answer, version, now_ms: done.resolve(None), channel=1)
        return done

    # --- joining

    def _prepare(self) -> None:
        """Revoke what the protocol requires, then join."""
        self.phase = Phase.PREPARING
        self._rejoin = False
        owned = list(self._subscription.assigned)
        self._owned_before, self._owned_generation = owned, self._generation
        if self._cooperative:
            self._fetch_topics()
            return
        for state in self._subscription.assigned.values():
            state.revoking = True

        def revoked(_: None) -> None:
            if self.phase is not Phase.PREPARING:
                return
            self._subscription.take(())
            self._fetch_topics()

        self._host.revoke(owned, lost=False).then(revoked)

    def _fetch_topics(self) -> None:
        """Fetch metadata if topics are unknown, because their partitions must be known before they can be assigned;
        then join."""
        if not self._metadata.want(self._subscription.topics):
            self._join()
            return

        def refreshed(failure: object) -> None:
            if self.phase is Phase.PREPARING:
                self._join()

        self._metadata.refresh().then(refreshed)

    def _node_or_begin_again(self) -> int | None:
        """The coordinator's node; None if it was lost, and then the attempt to join ends and a lookup begins."""
        if self.finder.node is None:
            self.phase = Phase.OUT
            self.finder.look_up()
        return self.finder.node

    def _rebalance_request_timeout_ms(self) -> int:
        return max(self._config.effective_rebalance_timeout_ms + JOIN_LAPSE_MS, self._config.request_timeout_ms)

    def _join(self) -> None:
        node = self._node_or_begin_again()
        if node is None:
            return
        self.phase = Phase.JOINING
        self._attempt += 1
        attempt = self._attempt
        config = self._config

        def build(version: int) -> JoinGroupRequest:
            return JoinGroupRequest(
                group_id=self._group_id,
                session_timeout_ms=config.session_timeout_ms,
                rebalance_timeout_ms=config.effective_rebalance_timeout_ms,
                member_id=self._member_id,
                group_instance_id=config.group_instance_id if version >= 5 else None,
                protocol_type=PROTOCOL_TYPE,
                protocols=[
                    JoinGroupRequestProtocol(name=name, metadata=self._metadata_for(name))
                    for name in config.partition_assignment_strategy
                ],
                reason=self._reason or None,
            )

        def answered(answer: Answer, version: int, now_ms: int) -> None:
            if attempt == self._attempt and self.phase is Phase.JOINING:
                self._joined(answer, now_ms)

        timeout_ms = self._rebalance_request_timeout_ms()
        self._wire.send(node, JOIN_GROUP, build, answered, timeout_ms=timeout_ms, channel=1)

    def _metadata_for(self, assignor: str) -> bytes:
        return subscription_bytes(
            assignor,
            self._subscription.topics,
            self._owned_before,
            self._owned_generation,
            cooperative=self._cooperative,
            rack_id=self._config.client_rack or None,
        )

    def _joined(self, answer: Answer, now_ms: int) -> None:
        error = error_in(answer)
        if error is Error.MEMBER_ID_REQUIRED:
            self._member_id = answer.member_id
            self._join()
            return
        if error is not Error.NONE:
            self._failed(error, answer, now_ms, "JoinGroup")
            return
        response: JoinGroupResponse = answer
        self._member_id = response.member_id
        self._generation = response.generation_id
        self._assignor = response.protocol_name or ""
        self._reason = ""
        self._leader = response.leader == response.member_id
        self._last_answer_ms = now_ms
        self.phase = Phase.SYNCING
        self._start_heartbeats(now_ms)
        if self._leader and not response.skip_assignment:
            self._divide(response)
        else:
            self._sync({})

    def _divide(self, response: JoinGroupResponse) -> None:
        """The leader's task: assign the partitions."""
        members: list[AssignedMember] = []
        for item in response.members:
            try:
                members.append(
                    read_member(self._assignor, item.member_id, item.group_instance_id, bytes(item.metadata))
                )
            except ProtocolError as error:
                self._give_up(
                    KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL, f"member {item.member_id} joined with {error}")
                )
                return
        topics = sorted({topic for member in members for topic in member.topics})
        generation = self._generation

        def known(failure: object) -> None:
            if self.phase is not Phase.SYNCING or generation != self._generation:
                return
            self._counted = {topic: self._count(topic) for topic in topics}
            counts = {topic: count for topic, count in self._counted.items() if count}
            self._sync(ASSIGNORS[self._assignor](counts, members))

        if self._metadata.want(topics):
            self._metadata.refresh().then(known)
        else:
            known(None)

    def _count(self, topic: str) -> int:
        image = self._metadata.topics.get(topic)
        return 0 if image is None else image.partition_count

    def _sync(self, assignment: Mapping[str, list[TopicPartition]]) -> None:
        node = self._node_or_begin_again()
        if node is None:
            return
        attempt, generation = self._attempt, self._generation

        def build(version: int) -> SyncGroupRequest:
            return SyncGroupRequest(
                group_id=self._group_id,
                generation_id=generation,
                member_id=self._member_id,
                group_instance_id=self._config.group_instance_id if version >= 3 else None,
                protocol_type=PROTOCOL_TYPE,
                protocol_name=self._assignor,
                assignments=[
                    SyncGroupRequestAssignment(member_id=member_id, assignment=assignment_bytes(names))
                    for member_id, names in assignment.items()
                ],
            )

        def answered(answer: Answer, version: int, now_ms: int) -> None:
            if attempt == self._attempt and self.phase is Phase.SYNCING:
                self._synced(answer, now_ms)

        timeout_ms = self._rebalance_request_timeout_ms()
        self._wire.send(node, SYNC_GROUP, build, answered, timeout_ms=timeout_ms, channel=1)

    def _synced(self, answer: Answer, now_ms: int) -> None:
        error = error_in(answer)
        if error is not Error.NONE:
            self._failed(error, answer, now_ms, "SyncGroup")
            return
        response: SyncGroupResponse = answer
        try:
            partitions = read_assignment(bytes(response.assignment))
        except ProtocolError as malformed:
            self._give_up(KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL, f"the leader's assignment is {malformed}"))
            return
        self._last_answer_ms = now_ms
        self.phase = Phase.TAKING
        owned = list(self._subscription.assigned)
        wanted = set(partitions)
        leaving = [name for name in owned if name not in wanted]
        added = [name for name in partitions if name not in self._subscription.assigned]
        if not leaving:
            self._take(partitions, added, rejoin=False)
            return
        for name in leaving:
            self._subscription.assigned[name].revoking = True
        self._host.revoke(leaving, lost=False).then(lambda _: self._take(partitions, added, rejoin=True))

    def _take(self, partitions: list[TopicPartition], added: list[TopicPartition], rejoin: bool) -> None:
        """Apply the assignment. With ``rejoin``, join once more, so that the partitions that were given up get new
        owners."""
        if self.phase is not Phase.TAKING:
            return
        self._subscription.take(partitions)
        self._metadata.want({name.topic for name in partitions})
        for state in self._subscription.assigned.values():
            state.revoking = False

        def taken(_: None) -> None:
            if self.phase is not Phase.TAKING:
                return
            self.phase = Phase.STABLE
            if rejoin and self._cooperative:
                self._rejoin = True
                self._reason = "partitions were given up"
            self.poll(self._wire.now_ms())

        self._host.assigned(added).then(taken)

    # --- staying

    def _start_heartbeats(self, now_ms: int) -> None:
        if self._heartbeat_timer is None:
            self._heartbeat_timer = self._wire.timers.schedule(
                now_ms + self._config.heartbeat_interval_ms, self._send_heartbeat
            )

    def _stop_heartbeats(self) -> None:
        if self._heartbeat_timer is not None:
            self._heartbeat_timer.cancel()
            self._heartbeat_timer = None

    def _send_heartbeat(self, now_ms: int) -> None:
        """Send a heartbeat; also notices a program that stopped fetching and a coordinator that stopped answering."""
        self._heartbeat_timer = self._wire.timers.schedule(
            now_ms + self._config.heartbeat_interval_ms, self._send_heartbeat
        )
        if self.phase is Phase.JOINING:
            return
        if not self._program_fetches(now_ms) and self.phase is Phase.STABLE:
            self._stop_reading()
            return
        node = self.finder.node
        if node is not None and now_ms - self._last_answer_ms > self._config.session_timeout_ms:
            self.finder.forget()
            node = None
        if node is None:
            self.finder.look_up()
            return
        if self._heartbeat_in_flight:
            return
        self._heartbeat_in_flight = True
        attempt, generation = self._attempt, self._generation

        def build(version: int) -> HeartbeatRequest:
            instance_id = self._config.group_instance_id if version >= 3 else None
            return HeartbeatRequest(self._group_id, generation, self._member_id, instance_id)

        def answered(answer: Answer, version: int, then_ms: int) -> None:
            self._heartbeat_in_flight = False
            if attempt == self._attempt:
                self._on_heartbeat(answer, then_ms)

        self._wire.send(node, HEARTBEAT, build, answered, channel=1)

    def _on_heartbeat(self, answer: Answer, now_ms: int) -> None:
        error = error_in(answer)
        if error is Error.NONE:
            self._last_answer_ms = now_ms
        elif self.phase is Phase.STABLE:
            self._refused(error, answer, now_ms)

    def _refused(self, error: Error, answer: Answer, now_ms: int) -> None:
        if error is Error.REBALANCE_IN_PROGRESS:
            self._last_answer_ms = now_ms
            self._rejoin = True
            self._reason = "the group is rebalancing"
            self.poll(now_ms)
        elif next_for(error) in (ClassicErrorReaction.FIND_COORDINATOR, ClassicErrorReaction.RETRY):
            if next_for(error) is ClassicErrorReaction.FIND_COORDINATOR:
                self.finder.forget()
                self.finder.look_up()
        else:
            self._failed(error, answer, now_ms, "Heartbeat" if answer is not None else "OffsetCommit")

    def _stop_reading(self) -> None:
        """Give up the partitions, because the program does not fetch any more, and leave the group unless the member is
        static (KIP-62). The next fetch joins again."""
        node, member_id = self.finder.node, self._member_id
        if node is not None and member_id and self._config.group_instance_id is None:
            self._send_leave(node, member_id, "max.poll.interval.ms has passed without a fetch")
        self._member_id = ""
        self._lose_all(lambda: None)

    # --- failing

    def _failed(self, error: Error, answer: Answer, now_ms: int, what: str) -> None:
        message = answer.text if isinstance(answer, RequestFailure) else ""
        action = next_for(error)
        if action in (ClassicErrorReaction.FIND_COORDINATOR, ClassicErrorReaction.RETRY):
            retried(error, message or f"{what} of group {self._group_id!r} was refused")
        match action:
            case ClassicErrorReaction.REJOIN:
                self._rejoin_later(now_ms)
            case ClassicErrorReaction.REJOIN_LOST:
                self._lose_all(lambda: self._rejoin_later(self._wire.now_ms()))
            case ClassicErrorReaction.REJOIN_AS_NEW:
                self._member_id = ""
                self._lose_all(lambda: self._rejoin_later(self._wire.now_ms()))
            case ClassicErrorReaction.FIND_COORDINATOR:
                self.finder.forget()
                self._rejoin_later(now_ms)
            case ClassicErrorReaction.RETRY:
                self._rejoin_later(now_ms)
            case ClassicErrorReaction.GIVE_UP:
                refused = f"{what} of group {self._group_id!r} was refused"
                self._give_up(error_for(error, f"{refused}: {message}" if message else refused))

    def _rejoin_later(self, now_ms: int) -> None:
        """Join again after the backoff."""
        self.phase = Phase.OUT
        self._stop_heartbeats()
        self._attempt += 1
        self._waiting = True

        def rejoin(then_ms: int) -> None:
            self._waiting = False
            self.poll(then_ms)

        self._wire.timers.schedule(now_ms + self._config.retry_backoff_ms, rejoin)

    def _lose_all(self, then: Callable[[], None]) -> None:
        """Give up all partitions as lost, because they already belong to others, and call ``then``."""
        self._generation = NO_GENERATION
        self._attempt += 1
        self.phase = Phase.PREPARING
        owned = list(self._subscription.assigned)

        def released(_: None) -> None:
            if self.phase is not Phase.PREPARING:
                return
            self._subscription.take(())
            self.phase = Phase.OUT
            self._stop_heartbeats()
            then()

        if owned:
            for state in self._subscription.assigned.values():
                state.revoking = True
            self._host.revoke(owned, lost=True).then(released)
        else:
            released(None)

    def _give_up(self, error: KafkaError) -> None:
        self.phase = Phase.LEFT
        self._stop_heartbeats()
        self._host.group_failed(error)


__all__ = ["GroupMember"]
