"""Members that use the classic protocol in a group of the consumer protocol, during a migration (KIP-848).

Called by ``group.shard`` if JoinGroup, SyncGroup, Heartbeat or LeaveGroup name a consumer group. Such a member's epoch
is its generation; the coordinator assigns for it, so it never leads. REBALANCE_IN_PROGRESS announces a new assignment,
and the member joins again to get it. Source: Kafka's ``GroupMetadataManager`` (4.4.0).
"""

from __future__ import annotations

from dataclasses import replace

from oncelog.broker.coordinator.group import migration
from oncelog.broker.coordinator.group.consumer.consumer_draft import GroupDraft
from oncelog.broker.coordinator.group.consumer.consumer_group import ClassicMembership, ConsumerGroup, ConsumerMember
from oncelog.broker.coordinator.group.consumer.consumer_protocol import ConsumerProtocol
from oncelog.broker.coordinator.group.consumer.reconcile import MustRejoin
from oncelog.broker.coordinator.group.environment import Caller, Environment
from oncelog.broker.coordinator.group.states import MemberState
from oncelog.broker.coordinator.group.subscription import (
    PROTOCOL_TYPE,
    encode_assignment,
    parse_subscription,
    version_of,
)
from oncelog.broker.coordinator.runtime import client_error
from oncelog.errors import Error
from oncelog.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest
from oncelog.protocol.generated.join_group_response import JoinGroupResponse
from oncelog.protocol.generated.leave_group_request import LeaveGroupRequest
from oncelog.protocol.generated.leave_group_response import LeaveGroupResponse, MemberResponse
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest
from oncelog.protocol.generated.sync_group_response import SyncGroupResponse
from oncelog.runtime.deferred import Deferred

MEMBER_ID_REQUIRED_FROM = 4


class ClassicMembers:
    """Handles classic requests to the consumer groups of one shard."""

    def __init__(self, environment: Environment, consumer: ConsumerProtocol) -> None:
        self._env = environment
        self._consumer = consumer

    # --- JoinGroup

    def join(
        self, group: ConsumerGroup, request: JoinGroupRequest, caller: Caller, now_ms: int
    ) -> Deferred[JoinGroupResponse]:
        """Answer JoinGroup without waiting for other members: the generation is the member's epoch, and no member
        leads."""
        new = not request.member_id
        member_id = request.member_id or self._env.random_id()
        protocols: dict[str, bytes] = {}
        for protocol in request.protocols:
            protocols.setdefault(protocol.name, protocol.metadata)
        error = self._refusal(group, member_id, request, protocols)
        needs_id = new and request.group_instance_id is None and caller.api_version >= MEMBER_ID_REQUIRED_FROM
        if error is Error.NONE and needs_id:
            error = Error.MEMBER_ID_REQUIRED
        if error is not Error.NONE:
            return _join_refused(error, member_id if error is Error.MEMBER_ID_REQUIRED else "")
        subscription = parse_subscription(next(iter(protocols.values())))
        if subscription is None:
            return _join_refused(Error.INCONSISTENT_GROUP_PROTOCOL)
        draft = GroupDraft(self._env, group)
        draft.may_describe = caller.may_describe
        member = self._member(draft, member_id, request.group_instance_id, new)
        if isinstance(member, Error):
            return _join_refused(member)
        updated = replace(
            member,
            instance_id=member.instance_id if request.group_instance_id is None else request.group_instance_id,
            rack_id=subscription.rack_id or member.rack_id,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            topics=frozenset(subscription.topics),
            regex="",
            client_id=caller.client_id,
            client_host=caller.logged_host,
            classic=ClassicMembership(request.session_timeout_ms, protocols),
        )
        return self._join(group, draft, member, updated, subscription, now_ms)

    def _join(
        self,
        group: ConsumerGroup,
        draft: GroupDraft,
        member: ConsumerMember,
        updated: ConsumerMember,
        subscription: ConsumerProtocolSubscription,
        now_ms: int,
    ) -> Deferred[JoinGroupResponse]:
        was_static = updated.instance_id is not None and group.static_member(updated.instance_id) is not None
        changed = self._consumer.take_subscription(draft, member, updated, now_ms)
        downgrade = was_static and migration.may_downgrade(draft.group, self._env)
        if not downgrade:
            draft.assign_targets(now_ms)
        current = not downgrade or draft.group.assignment_epoch == draft.group.epoch
        reported = self._owned(subscription)
        try:
            after = draft.reconcile(updated, reported, changed) if current else updated
        except MustRejoin:
            return _join_refused(Error.UNKNOWN_MEMBER_ID)
        classic = migration.to_classic_group(draft.group, self._env, now_ms) if downgrade else None
        if classic is not None:
            written = self._consumer.downgrade(group, classic, rebalance=not current, now_ms=now_ms)
        else:
            written = self._env.write(draft.written, now_ms)
        if written.done and written.value is not Error.NONE:
            return _join_refused(client_error(written.value))
        if classic is None:
            group.metadata_stale = False
            self._joined(group.group_id, after, now_ms)
        answer = JoinGroupResponse(
            generation_id=after.epoch if classic is None else classic.generation,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=_protocol(after),
            member_id=after.member_id,
        )
        return written.map(
            lambda error: (
                answer if error is Error.NONE else JoinGroupResponse(error_code=client_error(error), protocol_name=None)
            )
        )

    def _joined(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """Start the member's session, and remove the member unless SyncGroup arrives within its rebalance timeout."""
        self._env.timers.cancel(("join", group_id, member.member_id))
        self._consumer.start_session(group_id, member, now_ms)
        self._consumer.fence_at("sync", group_id, member.member_id, now_ms + member.rebalance_timeout_ms)

    def _refusal(
        self, group: ConsumerGroup, member_id: str, request: JoinGroupRequest, protocols: dict[str, bytes]
    ) -> Error:
        if self._env.migration_policy == "disabled":
            return Error.INCONSISTENT_GROUP_PROTOCOL
        if not group.has_room_for(member_id, request.group_instance_id, self._env.config.group_consumer_max_size):
            return Error.GROUP_MAX_SIZE_REACHED
        known = [set(m.classic.protocols) for m in group.members.values() if m.classic is not None]
        common = set(protocols).intersection(*known)
        if request.protocol_type != PROTOCOL_TYPE or not common:
            return Error.INCONSISTENT_GROUP_PROTOCOL
        return Error.NONE

    def _member(self, draft: GroupDraft, member_id: str, instance_id: str | None, new: bool) -> ConsumerMember | Error:
        """The joining member from the draft, or a new one; a static member's new process replaces the former one."""
        if instance_id is None:
            return draft.group.members.get(member_id, ConsumerMember(member_id))
        static = draft.group.static_member(instance_id)
        if static is None:
            return ConsumerMember(member_id) if new else Error.UNKNOWN_MEMBER_ID
        if new:
            return draft.replace_static(static, member_id)
        return static if static.member_id == member_id else Error.FENCED_INSTANCE_ID

    def _owned(self, subscription: ConsumerProtocolSubscription) -> dict[bytes, frozenset[int]]:
        owned: dict[bytes, frozenset[int]] = {}
        for topic in subscription.owned_partitions:
            topic_id = self._env.host.topic_id(topic.topic)
            if topic_id is not None:
                owned[topic_id] = owned.get(topic_id, frozenset()) | frozenset(topic.partitions)
        return owned

    # --- SyncGroup and Heartbeat

    def sync(self, group: ConsumerGroup, request: SyncGroupRequest, now_ms: int) -> Deferred[SyncGroupResponse]:
        """Answer SyncGroup with the coordinator's assignment; the assignment in the request is ignored."""
        member = _known(group, request.member_id, request.group_instance_id)
        if isinstance(member, Error):
            return Deferred.of(SyncGroupResponse(error_code=member))
        error = _generation_error(member, request.generation_id)
        if error is Error.NONE:
            pairs = ((request.protocol_type, PROTOCOL_TYPE), (request.protocol_name, _protocol(member)))
            if any(given is not None and given != own for given, own in pairs):
                error = Error.INCONSISTENT_GROUP_PROTOCOL
            elif group.assignment_epoch != member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
                self._expect_join(group.group_id, member, now_ms)
                error = Error.REBALANCE_IN_PROGRESS
        if error is not Error.NONE:
            return Deferred.of(SyncGroupResponse(error_code=error))
        self._env.timers.cancel(("sync", group.group_id, member.member_id))
        self._consumer.start_session(group.group_id, member, now_ms)
        answer = SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=self._assignment(member),
        )
        return self._env.write([], now_ms).map(
            lambda error: answer if error is Error.NONE else SyncGroupResponse(error_code=client_error(error))
        )

    def heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest, now_ms: int) -> Error:
        """Handle a heartbeat: REBALANCE_IN_PROGRESS asks the member to join again, if that would bring it closer to its
        target assignment."""
        member = _known(group, request.member_id, request.group_instance_id)
        if isinstance(member, Error):
            return member
        error = _generation_error(member, request.generation_id)
        if error is not Error.NONE:
            return error
        self._consumer.start_session(group.group_id, member, now_ms)
        waits = member.state is MemberState.UNRELEASED_PARTITIONS
        if (
            member.epoch != group.assignment_epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (waits and not _waits_for_others(group, member))
        ):
            self._expect_join(group.group_id, member, now_ms)
            return Error.REBALANCE_IN_PROGRESS
        return Error.NONE

    def _expect_join(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """Remove the member unless it joins again within its rebalance timeout, counted from the first time that it is
        asked to."""
        if ("join", group_id, member.member_id) not in self._env.timers:
            self._consumer.fence_at("join", group_id, member.member_id, now_ms + member.rebalance_timeout_ms)

    def _assignment(self, member: ConsumerMember) -> bytes:
        by_name = {
            name: sorted(partitions)
            for topic_id, partitions in member.assigned.items()
            if (name := self._env.host.topic_name(topic_id)) is not None
        }
        metadata = b"" if member.classic is None else next(iter(member.classic.protocols.values()), b"")
        return encode_assignment(by_name, version_of(metadata) or 0)

    # --- LeaveGroup

    def leave(self, group: ConsumerGroup, request: LeaveGroupRequest, now_ms: int) -> Deferred[LeaveGroupResponse]:
        """Handle LeaveGroup, which may remove members of either protocol."""
        answers: list[MemberResponse] = []
        leaving: dict[str, ConsumerMember] = {}
        for identity in request.members:
            member: ConsumerMember | None = group.members.get(identity.member_id)
            error = Error.NONE if member is not None else Error.UNKNOWN_MEMBER_ID
            if identity.group_instance_id is not None:
                member = group.static_member(identity.group_instance_id)
                error = Error.NONE if member is not None else Error.UNKNOWN_MEMBER_ID
                if member is not None and identity.member_id and member.member_id != identity.member_id:
                    error = Error.FENCED_INSTANCE_ID
            if member is not None and error is Error.NONE:
                leaving[member.member_id] = member
            answers.append(MemberResponse(identity.member_id, identity.group_instance_id, error))
        answer = LeaveGroupResponse(members=answers)
        return self._consumer.fence(group, leaving.values(), now_ms).map(
            lambda error: answer if error is Error.NONE else LeaveGroupResponse(error_code=client_error(error))
        )


def _known(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember | Error:
    """The member that sent a request; an error if there is no such member, or if it does not use the classic
    protocol."""
    member = group.members.get(member_id)
    if instance_id is not None:
        member = group.static_member(instance_id)
        if member is not None and member.member_id != member_id:
            return Error.FENCED_INSTANCE_ID
    return Error.UNKNOWN_MEMBER_ID if member is None or member.classic is None else member


def _generation_error(member: ConsumerMember, generation: int) -> Error:
    return Error.NONE if generation == member.epoch else Error.ILLEGAL_GENERATION


def _protocol(member: ConsumerMember) -> str:
    """The protocol that the member prefers, given in answers as the chosen one: no client-side assignor runs."""
    return "" if member.classic is None else next(iter(member.classic.protocols), "")


def _waits_for_others(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether a partition of the member's target still belongs to another member."""
    return any(
        partition not in member.assigned.get(topic_id, {}) and group.owner_epoch(topic_id, partition) != -1
        for topic_id, partitions in group.target(member.member_id).items()
        for partition in partitions
    )


def _join_refused(error: Error, member_id: str = "") -> Deferred[JoinGroupResponse]:
    """A JoinGroup answer with an error; unlike a classic group, a consumer group does not repeat the request's member
    id."""
    return Deferred.of(JoinGroupResponse(error_code=error, member_id=member_id, protocol_name=None))
