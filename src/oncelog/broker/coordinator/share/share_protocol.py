"""Runs share groups: ShareGroupHeartbeat, leaving, the members' timers, and the groups' offsets (KIP-932).

Called by ``group.group_coordinator`` and ``group.shard``. As for consumer groups, this module decides which records to
write and answers when they are committed; sessions are timers of the shard's environment. Before a partition is
assigned for the first time, ``share_coordinator`` stores an initial state for it. Source: Kafka's
``GroupMetadataManager`` and ``GroupCoordinatorService`` (4.4).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from oncelog.broker.coordinator.group.consumer.consumer_draft import hash_of_topics
from oncelog.broker.coordinator.group.consumer.consumer_group import LEAVE_EPOCH, Assignment, TopicId
from oncelog.broker.coordinator.group.consumer.consumer_rules import JOIN_EPOCH, MemberRefusal
from oncelog.broker.coordinator.group.consumer.epoch_draft import EpochDraft
from oncelog.broker.coordinator.group.environment import Caller, Environment
from oncelog.broker.coordinator.runtime import client_error
from oncelog.broker.coordinator.share import group_records, simple_assignor
from oncelog.broker.coordinator.share.share_group import InitializedTopic, ShareGroup, ShareMember
from oncelog.broker.coordinator.share.state_rules import UNINITIALIZED, Initialize, ShareKey
from oncelog.errors import NONE, Error
from oncelog.protocol.generated import share_group_describe_response as described
from oncelog.protocol.generated.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from oncelog.protocol.generated.share_group_heartbeat_response import (
    Assignment as AssignmentAnswer,
)
from oncelog.protocol.generated.share_group_heartbeat_response import (
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from oncelog.runtime.deferred import Deferred, gather

RETRY_FENCING_MS: Final = 1000
HAND_OUT_MS: Final = 200
"""The heartbeat interval in ms of a member for whose partitions states were just created: members that join meanwhile
get their share at its next heartbeat."""
Offsets = Mapping[tuple[TopicId, str, int], int]
"""The start offsets of partitions, by topic id, topic name and partition."""


class ShareProtocol:
    """Handles requests to the share groups of one shard."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    # --- heartbeats

    def heartbeat(
        self, request: ShareGroupHeartbeatRequest, caller: Caller, now_ms: int
    ) -> Deferred[ShareGroupHeartbeatResponse]:
        """Handle a heartbeat of a member that joins or stays: apply its subscription, compute the target, return its
        assignment."""
        group = self._group_for(request)
        if isinstance(group, MemberRefusal):
            return _refused(*group)
        member = _judged(group, request)
        if isinstance(member, MemberRefusal):
            return _refused(*member)
        most = self._env.number("group.share.max.size")
        if request.member_id not in group.members and len(group.members) >= most:
            message = f"The share group has reached its maximum capacity of {most} members."
            return _refused(Error.GROUP_MAX_SIZE_REACHED, message)
        updated = _updated(member, request, caller)
        is_settled = (
            updated == member
            and not group.metadata_stale
            and group.epoch == group.assignment_epoch == member.epoch
            and request.member_epoch != JOIN_EPOCH
        )
        if is_settled:
            self.start_session(group.group_id, member.member_id, now_ms)
            return _answered(self._env.write([], now_ms), self._answer(request, member, member))
        missing = self._missing(group, updated)
        if not missing:
            return self._take(request, caller, {}, now_ms)
        return self._initialize(group, missing, now_ms).flat_map(
            lambda error: _refused(error) if error is not NONE else self._take(request, caller, missing, now_ms)
        )

    def _group_for(self, request: ShareGroupHeartbeatRequest) -> ShareGroup | MemberRefusal:
        found = self._env.groups.get(request.group_id)
        if isinstance(found, ShareGroup):
            return found
        if found is not None:
            return MemberRefusal(Error.GROUP_ID_NOT_FOUND, f"Group {request.group_id} is not a share group.")
        if request.member_epoch != JOIN_EPOCH:
            kind = "Group" if request.member_epoch == LEAVE_EPOCH else "Share group"
            return MemberRefusal(Error.GROUP_ID_NOT_FOUND, f"{kind} {request.group_id} not found.")
        return ShareGroup(request.group_id)

    def _missing(self, group: ShareGroup, joining: ShareMember) -> dict[TopicId, InitializedTopic]:
        """The partitions of the group's topics, and of the joining member's, that have no stored state."""
        missing: dict[TopicId, InitializedTopic] = {}
        lacks = self._env.host.share_states.lacks
        for name, (topic_id, count) in existing_topics(self._env, group.topics() | joining.topics).items():
            known = group.initialized.get(topic_id, InitializedTopic(name, frozenset()))
            new = [
                index
                for index in range(count)
                if index not in known.partitions or lacks(ShareKey(group.group_id, topic_id, index))
            ]
            if new:
                missing[topic_id] = InitializedTopic(name, frozenset(new))
        return missing

    def _initialize(
        self, group: ShareGroup, topics: Mapping[TopicId, InitializedTopic], now_ms: int
    ) -> Deferred[Error]:
        event = Initialize(group.epoch + 1)
        events = (
            (ShareKey(group.group_id, topic_id, index), event)
            for topic_id, topic in topics.items()
            for index in sorted(topic.partitions)
        )
        return gather(self._env.host.share_states.initialize(events, now_ms)).map(first_error)

    def _take(
        self,
        request: ShareGroupHeartbeatRequest,
        caller: Caller,
        initialized: Mapping[TopicId, InitializedTopic],
        now_ms: int,
    ) -> Deferred[ShareGroupHeartbeatResponse]:
        """The second half of :meth:`heartbeat`, once all partitions have states; the group may have changed
        meanwhile."""
        found = self._group_for(request)
        if isinstance(found, MemberRefusal):
            return _refused(*found)
        member = _judged(found, request)
        if isinstance(member, MemberRefusal):
            return _refused(*member)
        draft = _Draft(self._env, found)
        updated = _updated(member, request, caller)
        if updated != member or member.member_id not in found.members:
            draft.subscribe(updated)
        subscription_changed = updated.topics != member.topics
        draft.bump_epoch(always=subscription_changed)
        draft.assign_targets(now_ms, updated)
        after = draft.advance(updated, subscription_changed)
        if initialized:  # initialized partitions are assigned from the next heartbeat on, as in Apache Kafka
            draft.initialized(initialized)
            draft.bump_epoch(always=True)
        written = self._env.write(draft.written, now_ms)
        if written.done and written.value is not NONE:
            return _refused(client_error(written.value))
        group = self._env.groups[request.group_id]
        if isinstance(group, ShareGroup):
            group.metadata_stale = False
        self.start_session(request.group_id, after.member_id, now_ms)
        answer = self._answer(request, member, after)
        if initialized:
            answer.heartbeat_interval_ms = min(HAND_OUT_MS, answer.heartbeat_interval_ms)
        return _answered(written, answer)

    def _answer(
        self, request: ShareGroupHeartbeatRequest, before: ShareMember, after: ShareMember
    ) -> ShareGroupHeartbeatResponse:
        is_full = request.member_epoch == JOIN_EPOCH or request.subscribed_topic_names is not None
        assigned = after.assigned
        topics = [TopicPartitions(topic_id, sorted(assigned[topic_id])) for topic_id in sorted(assigned)]
        return ShareGroupHeartbeatResponse(
            member_id=after.member_id,
            member_epoch=after.epoch,
            heartbeat_interval_ms=self._env.group_setting(request.group_id, "share.heartbeat.interval.ms"),
            assignment=AssignmentAnswer(topics) if is_full or before.assigned != assigned else None,
        )

    # --- leaving

    def leave(self, request: ShareGroupHeartbeatRequest, now_ms: int) -> Deferred[ShareGroupHeartbeatResponse]:
        group = self._group_for(request)
        if isinstance(group, MemberRefusal):
            return _refused(*group)
        if request.member_id not in group.members:
            return _refused(*_unknown(group, request.member_id))
        written = self.remove(group, [request.member_id], now_ms)
        return _answered(written, ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=LEAVE_EPOCH))

    def remove(self, group: ShareGroup, member_ids: Iterable[str], now_ms: int) -> Deferred[Error]:
        """Remove members that left or sent no heartbeat; their partitions go to others. They keep acquired records
        until their share sessions or the locks end, as in Apache Kafka: a client may leave first and acknowledge
        afterwards."""
        draft = _Draft(self._env, group)
        gone = sorted(member_ids)
        for member_id in gone:
            draft.remove(member_id)
        draft.bump_epoch(always=True)
        draft.end_assignment_if_empty()
        written = self._env.write(draft.written, now_ms)
        if not written.done or written.has_value(NONE):
            for member_id in gone:
                self._env.timers.cancel(("session", group.group_id, member_id))
        return written

    def start_session(self, group_id: str, member_id: str, now_ms: int) -> None:
        timeout_ms = self._env.group_setting(group_id, "share.session.timeout.ms")
        self._fence_at(group_id, member_id, now_ms + timeout_ms)

    def _fence_at(self, group_id: str, member_id: str, at_ms: int) -> None:
        def timed_out(now_ms: int) -> None:
            group = self._env.groups.get(group_id)
            if not isinstance(group, ShareGroup) or member_id not in group.members:
                return
            due = [other for other in self._env.timers.due("session", group_id, now_ms) if other in group.members]
            members = sorted({member_id, *due})
            written = self.remove(group, members, now_ms)
            if written.done and written.value is not NONE:
                for each in members:
                    self._fence_at(group_id, each, now_ms + RETRY_FENCING_MS)

        self._env.timers.schedule(("session", group_id, member_id), at_ms, timed_out)

    def loaded(self, group: ShareGroup, now_ms: int) -> None:
        for member_id in group.members:
            self.start_session(group.group_id, member_id, now_ms)

    def metadata_changed(self) -> None:
        for group in self._env.groups.values():
            if isinstance(group, ShareGroup):
                group.metadata_stale = True

    # --- offsets

    def alter_offsets(self, group: ShareGroup, offsets: Offsets, now_ms: int) -> Deferred[Error]:
        """Let the group's next reader start at these offsets; -1 means the offset at which a new group would start. The
        group has no members, and may be new."""
        draft = _Draft(self._env, group)
        indexes: dict[tuple[TopicId, str], set[int]] = {}
        for topic_id, name, index in offsets:
            indexes.setdefault((topic_id, name), set()).add(index)
        draft.initialized(
            {topic_id: InitializedTopic(name, frozenset(found)) for (topic_id, name), found in indexes.items()}
        )
        draft.bump_epoch(always=True)
        draft.end_assignment_if_empty()
        states = self._env.host.share_states
        placed = {ShareKey(group.group_id, topic_id, index): offset for (topic_id, _, index), offset in offsets.items()}
        changed = states.delete((key for key, offset in placed.items() if offset == UNINITIALIZED), now_ms)
        changed += states.initialize(
            ((key, Initialize(draft.group.epoch, offset)) for key, offset in placed.items()), now_ms
        )
        self._env.host.share_states_changed(group.group_id)
        return gather([self._env.write(draft.written, now_ms), *changed]).map(first_error).map(client_error)

    def forget_topics(self, group: ShareGroup, topic_ids: Iterable[TopicId], now_ms: int) -> Deferred[Error]:
        """Remove the states of deleted topics or offsets; a later delivery starts as in a new group."""
        gone = set(topic_ids)
        left = {each: topic for each, topic in group.initialized.items() if each not in gone}
        removed = self._removed_states(group, gone, now_ms)
        written = self._env.write([group_records.initialized_topics(group.group_id, left)], now_ms)
        return gather([*removed, written]).map(first_error).map(client_error)

    def forget_all(self, group: ShareGroup, now_ms: int) -> list[Deferred[Error]]:
        """Remove all states of a group that is deleted."""
        return self._removed_states(group, set(group.initialized), now_ms)

    def _removed_states(self, group: ShareGroup, topic_ids: set[TopicId], now_ms: int) -> list[Deferred[Error]]:
        keys = [
            ShareKey(group.group_id, topic_id, index)
            for topic_id in sorted(topic_ids & group.initialized.keys())
            for index in sorted(group.initialized[topic_id].partitions)
        ]
        removed = self._env.host.share_states.delete(keys, now_ms)
        self._env.host.share_states_changed(group.group_id)
        return removed


class _Draft(EpochDraft[ShareGroup]):
    """The next state of a share group, and the records that lead to it, in order (see ``consumer_draft``)."""

    def __init__(self, env: Environment, group: ShareGroup) -> None:
        super().__init__(group.copy(), group_records.epoch, group_records.target_epoch)
        self._env = env
        self._existing: dict[str, tuple[TopicId, int]] | None = None

    def _topics(self) -> Mapping[str, tuple[TopicId, int]]:
        """The group's :func:`existing_topics`, looked up once between changes of its members."""
        if self._existing is None:
            self._existing = existing_topics(self._env, self.group.topics())
        return self._existing

    def subscribe(self, member: ShareMember) -> None:
        self._existing = None
        self.group.members[member.member_id] = member
        self.written.append(group_records.subscription(self.group.group_id, member))

    def remove(self, member_id: str) -> None:
        self._existing = None
        del self.group.members[member_id]
        self.group.targets.pop(member_id, None)
        self.written += group_records.member_tombstones(self.group.group_id, member_id)

    def initialized(self, topics: Mapping[TopicId, InitializedTopic]) -> None:
        if not topics:
            return
        known = dict(self.group.initialized)
        for topic_id, topic in topics.items():
            before = known.get(topic_id)
            known[topic_id] = (
                topic if before is None else replace(topic, partitions=before.partitions | topic.partitions)
            )
        self.group.initialized = known
        self.written.append(group_records.initialized_topics(self.group.group_id, known))

    def bump_epoch(self, *, always: bool) -> None:
        group = self.group
        metadata_hash = hash_of_topics(sorted(self._topics().items()))
        if always or metadata_hash != group.metadata_hash:
            self.begin_epoch(metadata_hash)

    def assign_targets(self, now_ms: int, asking: ShareMember) -> None:
        """Compute the targets of the group's epoch, at most once per interval; for a member without partitions the
        interval does not matter."""
        group, env = self.group, self._env
        interval_ms = env.group_setting(group.group_id, "share.assignment.interval.ms")
        too_soon = self.was_assigned_within(interval_ms, now_ms)
        if group.assignment_epoch == group.epoch or (too_soon and group.target(asking.member_id)):
            return
        existing = self._topics()
        subscriptions = {
            member_id: frozenset(existing[name][0] for name in member.topics if name in existing)
            for member_id, member in group.members.items()
        }
        partitions = {
            topic_id: group.initialized[topic_id].partitions & frozenset(range(count))
            for topic_id, count in existing.values()
            if topic_id in group.initialized
        }
        targets = simple_assignor.assign(subscriptions, partitions, group.targets)
        for member_id in sorted(targets):
            if targets[member_id] != group.targets.get(member_id):
                group.targets[member_id] = targets[member_id]
                self.written.append(group_records.member_target(group.group_id, member_id, targets[member_id]))
        self.end_assignment(now_ms)

    def advance(self, member: ShareMember, subscription_changed: bool) -> ShareMember:
        """Give the member its target; topics that it no longer subscribes to are removed from its assignment at
        once."""
        group = self.group
        is_behind = member.epoch != group.assignment_epoch
        assigned = group.target(member.member_id) if is_behind else member.assigned
        if subscription_changed:
            wanted = {topic_id for name, (topic_id, _) in self._topics().items() if name in member.topics}
            assigned = {topic_id: indexes for topic_id, indexes in assigned.items() if topic_id in wanted}
        if not is_behind and assigned == member.assigned:
            return member
        after = replace(member, assigned=assigned)
        if is_behind:
            after = replace(after, epoch=group.assignment_epoch, previous_epoch=member.epoch)
        group.members[member.member_id] = after
        self.written.append(group_records.member_assignment(group.group_id, after))
        return after


def existing_topics(env: Environment, names: Collection[str]) -> dict[str, tuple[TopicId, int]]:
    """Ids and partition counts, by name, of those topics in ``names`` that exist."""
    found: dict[str, tuple[TopicId, int]] = {}
    for name in sorted(env.host.topics() & frozenset(names)):
        topic_id, count = env.host.topic_id(name), env.host.topic_partitions(name)
        if topic_id is not None and count is not None:
            found[name] = (topic_id, count)
    return found


# --- rules


def invalid_heartbeat(request: ShareGroupHeartbeatRequest) -> MemberRefusal | None:
    """The error of a malformed request, with Kafka's message; None if the request is valid."""
    if not request.member_id:
        return MemberRefusal(Error.INVALID_REQUEST, "")
    empty = (
        ("MemberId", not request.member_id.strip()),
        ("GroupId", not request.group_id.strip()),
        ("RackId", request.rack_id is not None and not request.rack_id.strip()),
    )
    for name, wrong in empty:
        if wrong:
            return MemberRefusal(Error.INVALID_REQUEST, f"{name} can't be empty.")
    if request.member_epoch == JOIN_EPOCH and not request.subscribed_topic_names:
        return MemberRefusal(Error.INVALID_REQUEST, "SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVE_EPOCH:
        return MemberRefusal(Error.INVALID_REQUEST, "MemberEpoch is invalid.")
    return None


def _judged(group: ShareGroup, request: ShareGroupHeartbeatRequest) -> ShareMember | MemberRefusal:
    """The sender of a heartbeat, or the reason for refusing it. The heartbeat may have the previous epoch, because the
    last answer may have been lost."""
    member = group.members.get(request.member_id)
    epoch = request.member_epoch
    if member is None:
        return ShareMember(request.member_id) if epoch == JOIN_EPOCH else _unknown(group, request.member_id)
    if epoch in (JOIN_EPOCH, member.epoch, member.previous_epoch):
        return member
    size = "greater" if epoch > member.epoch else "smaller"
    return MemberRefusal(
        Error.FENCED_MEMBER_EPOCH,
        f"The share group member has a {size} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _unknown(group: ShareGroup, member_id: str) -> MemberRefusal:
    message = f"Member {member_id} is not a member of group {group.group_id}."
    return MemberRefusal(Error.UNKNOWN_MEMBER_ID, message)


def _updated(member: ShareMember, request: ShareGroupHeartbeatRequest, caller: Caller) -> ShareMember:
    names = request.subscribed_topic_names
    return replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        topics=member.topics if names is None else frozenset(names),
        client_id=caller.client_id,
        client_host=caller.logged_host,
    )


def first_error(errors: Iterable[Error]) -> Error:
    return next((error for error in errors if error is not NONE), NONE)


def _answered(written: Deferred[Error], answer: ShareGroupHeartbeatResponse) -> Deferred[ShareGroupHeartbeatResponse]:
    return written.map(lambda error: answer if error is NONE else _error(client_error(error), None))


def _error(error: Error, message: str | None) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=error, error_message=message)


def _refused(error: Error, message: str | None = None) -> Deferred[ShareGroupHeartbeatResponse]:
    return Deferred.of(_error(error, message))


# --- descriptions


def refused_description(group_id: str, error: Error, message: str | None = None) -> described.DescribedGroup:
    return described.DescribedGroup(error_code=error, error_message=message, group_id=group_id)


def describe(group_id: str, group: object, env: Environment) -> described.DescribedGroup:
    if not isinstance(group, ShareGroup):
        message = f"Group {group_id} not found." if group is None else f"Group {group_id} is not a share group."
        return refused_description(group_id, Error.GROUP_ID_NOT_FOUND, message)
    return described.DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=simple_assignor.NAME,
        members=[
            described.Member(
                member.member_id,
                member.rack_id,
                member.epoch,
                member.client_id,
                member.client_host,
                sorted(member.topics),
                _described(member.assigned, env),
            )
            for member in group.members.values()
        ],
    )


def _described(assigned: Assignment, env: Environment) -> described.Assignment:
    return described.Assignment(
        [
            described.TopicPartitions(topic_id, name, sorted(assigned[topic_id]))
            for topic_id in sorted(assigned)
            if (name := env.host.topic_name(topic_id)) is not None
        ]
    )
