"""Runs the consumer protocol: ConsumerGroupHeartbeat, leaving, and the members' timers (KIP-848).

Called by ``group.shard`` and ``classic_members``. The state of a group comes from its records; this module decides
which records to write, and answers when they are committed. Timers live in memory and start again at load.
``classic_members`` handles members of the classic protocol in such a group; ``migration`` handles changes of a whole
group's protocol. Source: Kafka's ``GroupMetadataManager`` (4.4.0).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from oncelog.broker.coordinator.group import migration, records
from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup
from oncelog.broker.coordinator.group.classic.classic_protocol import ClassicProtocol
from oncelog.broker.coordinator.group.consumer import consumer_rules
from oncelog.broker.coordinator.group.consumer.consumer_draft import GroupDraft
from oncelog.broker.coordinator.group.consumer.consumer_group import (
    STATIC_LEAVE_EPOCH,
    ConsumerGroup,
    ConsumerMember,
    OwnedPartitions,
)
from oncelog.broker.coordinator.group.consumer.consumer_rules import JOIN_EPOCH, MemberRefusal, MemberVerdict
from oncelog.broker.coordinator.group.consumer.reconcile import MustRejoin, Reported
from oncelog.broker.coordinator.group.environment import Caller, Environment
from oncelog.broker.coordinator.group.states import MemberState
from oncelog.broker.coordinator.regex import InvalidRegex, LinearRegex
from oncelog.broker.coordinator.runtime import CoordinatorRecord, client_error
from oncelog.broker.coordinator.share.share_group import ShareGroup
from oncelog.errors import Error
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from oncelog.runtime.deferred import Deferred

RETRY_FENCING_MS = 1000
"""The delay in ms before the next attempt to remove a member whose removal could not be written."""
FENCED_AT_ONCE, FENCED_BYTES = 100, 100_000
"""Limits on the members that are removed together once their timers are due, in number and in bytes of ids: their
records share a batch."""


class ConsumerProtocol:
    """Handles requests to the consumer groups of one shard."""

    def __init__(self, environment: Environment, classic: ClassicProtocol) -> None:
        self._env = environment
        self._classic = classic

    # --- heartbeats

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, caller: Caller, now_ms: int
    ) -> Deferred[ConsumerGroupHeartbeatResponse]:
        """Handle a heartbeat of a member that joins or stays: apply its changes, begin a new epoch if needed, compute
        the target, advance the member."""
        settled = self._settled(request, caller)
        if settled is not None:
            self.start_session(request.group_id, settled, now_ms)
            return self._answered(self._env.write([], now_ms), self._answer(request, settled, settled))
        draft = self._open(request.group_id, request.member_epoch == JOIN_EPOCH)
        if isinstance(draft, MemberRefusal):
            return _refused(*draft)
        real = self._env.groups.get(request.group_id)
        stale = draft.group.metadata_stale
        try:
            outcome = self._heartbeat(draft, request, caller, now_ms)
        except MustRejoin:
            return _refused(Error.FENCED_MEMBER_EPOCH, "The member must abandon all its partitions and rejoin.")
        except InvalidRegex as error:
            return _refused(Error.INVALID_REGULAR_EXPRESSION, f"SubscribedTopicRegex {error}")
        if isinstance(outcome, MemberRefusal):
            return _refused(*outcome)
        before, after = outcome
        written = self._env.write(draft.written, now_ms)
        if written.done and written.value is not Error.NONE:
            return _refused(client_error(written.value))
        group = self._env.groups[request.group_id]
        if isinstance(group, ConsumerGroup) and (stale or draft.regex_waits):
            group.metadata_stale = draft.regex_waits
        if isinstance(real, ClassicGroup) and isinstance(group, ConsumerGroup):
            self._converted(real, group, now_ms)
        self.start_session(request.group_id, after, now_ms)
        self._watch_revocation(request.group_id, before, after, now_ms)
        return self._answered(written, self._answer(request, before, after))

    @staticmethod
    def _answered(
        written: Deferred[Error], answer: ConsumerGroupHeartbeatResponse
    ) -> Deferred[ConsumerGroupHeartbeatResponse]:
        return written.map(lambda error: answer if error is Error.NONE else _error_answer(client_error(error), None))

    def _settled(self, request: ConsumerGroupHeartbeatRequest, caller: Caller) -> ConsumerMember | None:
        """The member if its heartbeat changes nothing and nothing is pending for it, as in nearly every heartbeat; else
        None."""
        group = self._env.groups.get(request.group_id)
        if not isinstance(group, ConsumerGroup) or group.metadata_stale or group.epoch != group.assignment_epoch:
            return None
        member = group.members.get(request.member_id)
        if member is None or request.member_epoch != member.epoch or request.member_epoch == JOIN_EPOCH:
            return None
        same = member.reconciled_to(group.assignment_epoch) and _updated(member, request, caller) == member
        return member if same else None

    def _open(self, group_id: str, joining: bool) -> GroupDraft | MemberRefusal:
        """A draft of the group; a joining member creates the group, or converts a classic one."""
        group = self._env.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return GroupDraft(self._env, group)
        if not joining:
            if group is None:
                return MemberRefusal(Error.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
            return MemberRefusal(Error.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        if group is None:
            return GroupDraft(self._env, ConsumerGroup(group_id))
        if isinstance(group, ShareGroup):
            return MemberRefusal(Error.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        if group.empty:
            return GroupDraft(self._env, ConsumerGroup(group_id), [records.group_tombstone(group_id)])
        converted = migration.to_consumer_group(group, self._env)
        if isinstance(converted, str):
            return MemberRefusal(Error.GROUP_ID_NOT_FOUND, converted)
        draft = GroupDraft(self._env, converted)
        converted.metadata_hash = draft.group.metadata_hash = draft.metadata_hash()
        draft.written = [records.group_tombstone(group_id), *records.consumer_group_records(converted)]
        return draft

    def _heartbeat(
        self, draft: GroupDraft, request: ConsumerGroupHeartbeatRequest, caller: Caller, now_ms: int
    ) -> tuple[ConsumerMember, ConsumerMember] | MemberRefusal:
        """The member before and after the heartbeat; all changes are in the draft."""
        group, instance_id, max_size = draft.group, request.instance_id, self._env.config.group_consumer_max_size
        if not group.has_room_for(request.member_id, instance_id, max_size):
            return MemberRefusal(
                Error.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {max_size} members.",
            )
        member_id = request.member_id or self._env.random_id()
        reported = _reported(request)
        verdict, member = consumer_rules.judge(group, member_id, instance_id, request.member_epoch, reported)
        if isinstance(verdict.value, Error):
            message = consumer_rules.explain(verdict, group.group_id, member_id, instance_id)
            return MemberRefusal(verdict.value, message)
        if member is None:
            member = ConsumerMember(member_id)
        elif verdict is MemberVerdict.REPLACE:
            member = draft.replace_static(member, member_id)
        updated = _updated(member, request, caller)
        draft.may_describe = caller.may_describe
        if updated.regex and updated.regex != member.regex:
            LinearRegex(updated.regex)  # raises InvalidRegex before anything else is decided
        changed = self.take_subscription(draft, member, updated, now_ms)
        draft.assign_targets(now_ms)
        return member, draft.reconcile(updated, reported, changed)

    @staticmethod
    def take_subscription(draft: GroupDraft, member: ConsumerMember, updated: ConsumerMember, now_ms: int) -> bool:
        """Store the member's subscription, and begin a new epoch if the subscription, the topics or the group's
        assignor changed.

        A new expression in addition to named topics is matched at the group's next heartbeat: Kafka's coordinator
        matches asynchronously, so the named topics come first, and clients rely on it.
        """
        stale = draft.group.metadata_stale
        votes = updated.assignor != member.assignor
        assignor = draft.assignor() if votes else ""
        if updated != member:
            draft.subscribe(updated)
        elected = votes and draft.assignor() != assignor
        named = updated.topics != member.topics
        expressed = (updated.regex or "") != (member.regex or "")
        not_yet = updated.regex if expressed and updated.topics else None
        resolved = draft.resolve_regexes(stale, now_ms, not_yet=not_yet)
        if named or expressed or resolved or elected or stale:
            draft.bump_epoch(always=named or expressed or resolved or elected)
        draft.group.metadata_stale = False
        return named or expressed

    def _answer(
        self, request: ConsumerGroupHeartbeatRequest, before: ConsumerMember, after: ConsumerMember
    ) -> ConsumerGroupHeartbeatResponse:
        """The answer, with the assignment if the member cannot know it: the member joins, reports all of its state, or
        has a changed assignment."""
        subscribed = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        full = request.rebalance_timeout_ms != -1 and subscribed and request.topic_partitions is not None
        is_full = request.member_epoch == JOIN_EPOCH or full or before.assigned != after.assigned
        return ConsumerGroupHeartbeatResponse(
            member_id=after.member_id,
            member_epoch=after.epoch,
            heartbeat_interval_ms=self._env.group_setting(request.group_id, "consumer.heartbeat.interval.ms"),
            assignment=_assignment(after.assigned) if is_full else None,
        )

    # --- leaving

    def leave(self, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> Deferred[ConsumerGroupHeartbeatResponse]:
        """Handle a leaving member: it leaves for good (epoch -1), or is a static member (-2), which keeps its
        partitions until its session ends."""
        group = self._env.groups.get(request.group_id)
        if not isinstance(group, ConsumerGroup):
            kind = "not found" if group is None else "is not a consumer group"
            return _refused(Error.GROUP_ID_NOT_FOUND, f"Group {request.group_id} {kind}.")
        member = group.members.get(request.member_id)
        if request.instance_id is not None:
            member = group.static_member(request.instance_id)
        verdict = MemberVerdict.STAY
        if member is None:
            verdict = MemberVerdict.UNKNOWN
        elif member.member_id != request.member_id:
            verdict = MemberVerdict.FENCED_INSTANCE
        if member is None or isinstance(verdict.value, Error):
            message = consumer_rules.explain(verdict, group.group_id, request.member_id, request.instance_id)
            return _refused(verdict.value, message)
        if request.member_epoch == STATIC_LEAVE_EPOCH:
            assigned = {topic: dict.fromkeys(partitions, 0) for topic, partitions in member.assigned.items()}
            waiting = replace(member, epoch=STATIC_LEAVE_EPOCH, assigned=assigned, revoking={})
            written = self._env.write([records.member_assignment(group.group_id, waiting)], now_ms)
            self._watch_revocation(group.group_id, member, replace(waiting, state=MemberState.STABLE), now_ms)
        else:
            written = self.fence(group, [member], now_ms)
        answer = ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
        return self._answered(written, answer)

    def fence(self, group: ConsumerGroup, members: Collection[ConsumerMember], now_ms: int) -> Deferred[Error]:
        """Remove members and begin a new epoch; if only members of the classic protocol remain, convert the group
        back."""
        if not members:
            return self._env.write([], now_ms)
        gone = {member.member_id for member in members}
        draft = GroupDraft(self._env, group)
        for member in sorted(members, key=lambda m: m.member_id):
            draft.remove(member)
        if migration.may_downgrade(draft.group, self._env):
            converted = migration.to_classic_group(draft.group, self._env, now_ms)
            if converted is not None:
                return self.downgrade(group, converted, rebalance=True, now_ms=now_ms)
        draft.forget_regexes()
        draft.bump_epoch(always=True)
        draft.end_assignment_if_empty()
        written = self._env.write(draft.written, now_ms)
        if not written.done or written.value is Error.NONE:
            for member_id in gone:
                self.cancel_timers(group.group_id, member_id)
        return written

    def downgrade(
        self, group: ConsumerGroup, converted: ClassicGroup, *, rebalance: bool, now_ms: int
    ) -> Deferred[Error]:
        """Replace ``group`` by a classic group: its records are removed, and the classic group's record is written."""
        group_id = group.group_id
        assignments = {member.member_id: member.assignment for member in converted.members.values()}
        written_records: list[CoordinatorRecord] = [
            *records.consumer_group_tombstones(group),
            records.group_metadata(converted, assignments),
        ]

        def replace_group(_: int) -> None:
            """Put the classic group into memory as it is, because it has more data about its members than the
            record."""
            self._env.groups[group_id] = converted

        written = self._env.write(written_records, now_ms, apply=replace_group)
        if written.done and written.value is not Error.NONE:
            return written
        self._env.timers.cancel_group(group_id)
        self._classic.adopt(converted, rebalance=rebalance, now_ms=now_ms)
        return written

    # --- timers

    def loaded(self, group: ConsumerGroup, now_ms: int) -> None:
        for member in group.members.values():
            self.start_session(group.group_id, member, now_ms)
            if member.state is MemberState.UNREVOKED_PARTITIONS and member.classic is None:
                self._start_revocation(group.group_id, member, now_ms)

    def metadata_changed(self) -> None:
        """Called when topics were created, deleted or extended: every group compares its metadata at its next
        heartbeat."""
        for group in self._env.groups.values():
            if isinstance(group, ConsumerGroup):
                group.metadata_stale = True

    def start_session(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """Remove the member unless it sends a heartbeat within its session timeout."""
        if member.classic is not None:
            timeout_ms = member.classic.session_timeout_ms
        else:
            timeout_ms = self._env.group_setting(group_id, "consumer.session.timeout.ms")
        self.fence_at("session", group_id, member.member_id, now_ms + timeout_ms)

    def fence_at(self, kind: str, group_id: str, member_id: str, at_ms: int) -> None:
        """Remove a member at a given time, unless the timer is restarted or cancelled before."""

        def timed_out(now_ms: int) -> None:
            group = self._env.groups.get(group_id)
            member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
            if not isinstance(group, ConsumerGroup) or member is None:
                return
            members = [member, *self._others_due(kind, group, now_ms)]
            written = self.fence(group, members, now_ms)
            if written.done and written.value is not Error.NONE:
                for each in members:
                    self.fence_at(kind, group_id, each.member_id, now_ms + RETRY_FENCING_MS)

        self._env.timers.schedule((kind, group_id, member_id), at_ms, timed_out)

    def _others_due(self, kind: str, group: ConsumerGroup, now_ms: int) -> list[ConsumerMember]:
        """Other members whose timers are due as well: with thousands of members, a copy of the group and a new epoch
        for each would take long."""
        found: list[ConsumerMember] = []
        size = len(group.group_id)
        for member_id in self._env.timers.due(kind, group.group_id, now_ms):
            size += len(group.group_id) + len(member_id)
            if len(found) == FENCED_AT_ONCE or size > FENCED_BYTES:
                break
            if member_id in group.members:
                found.append(group.members[member_id])
        return found

    def _watch_revocation(self, group_id: str, before: ConsumerMember, after: ConsumerMember, now_ms: int) -> None:
        """Remove a member unless it gives up its revoked partitions within its rebalance timeout."""
        if after.state is not MemberState.UNREVOKED_PARTITIONS:
            self._env.timers.cancel(("rebalance", group_id, after.member_id))
        elif (after.epoch, after.assigned, after.revoking) != (before.epoch, before.assigned, before.revoking):
            self._start_revocation(group_id, after, now_ms)

    def _start_revocation(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        self.fence_at("rebalance", group_id, member.member_id, now_ms + member.rebalance_timeout_ms)

    def cancel_timers(self, group_id: str, member_id: str) -> None:
        for kind in ("session", "rebalance", "join", "sync"):
            self._env.timers.cancel((kind, group_id, member_id))

    def _converted(self, classic: ClassicGroup, group: ConsumerGroup, now_ms: int) -> None:
        """After a classic group was converted: waiting members have to join again, and the sessions of all members
        start here."""
        self._classic.release(classic, Error.REBALANCE_IN_PROGRESS)
        for member in group.members.values():
            self.start_session(group.group_id, member, now_ms)


def _updated(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest, caller: Caller) -> ConsumerMember:
    """The member with the values in the request; fields left out keep their values."""
    return replace(
        member,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms
        if request.rebalance_timeout_ms == -1
        else request.rebalance_timeout_ms,
        assignor=member.assignor if request.server_assignor is None else request.server_assignor,
        topics=member.topics if request.subscribed_topic_names is None else frozenset(request.subscribed_topic_names),
        regex=member.regex if request.subscribed_topic_regex is None else request.subscribed_topic_regex,
        client_id=caller.client_id,
        client_host=caller.logged_host,
        classic=None,
    )


def _reported(request: ConsumerGroupHeartbeatRequest) -> Reported:
    if request.topic_partitions is None:
        return None
    reported: dict[bytes, frozenset[int]] = {}
    for topic in request.topic_partitions:
        reported[topic.topic_id] = reported.get(topic.topic_id, frozenset()) | frozenset(topic.partitions)
    return reported


def _assignment(assigned: OwnedPartitions) -> Assignment:
    topics: Mapping[bytes, Mapping[int, int]] = assigned
    return Assignment([TopicPartitions(topic_id, sorted(topics[topic_id])) for topic_id in sorted(topics)])


def _error_answer(error: Error, message: str | None) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error, error_message=message)


def _refused(error: Error, message: str | None = None) -> Deferred[ConsumerGroupHeartbeatResponse]:
    return Deferred.of(_error_answer(error, message))
