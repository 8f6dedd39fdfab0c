"""Runs the classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup, their parked answers and timers.

Called by ``shard``. ``classic_rules`` decides what a request means; this module carries that out: it changes the group,
starts and stops timers, parks and answers requests, and has the group's metadata written. Members, generations and
assignments live in memory and are stored when a rebalance completes (SyncGroup of the leader), when a group becomes
empty and when a static member gets another id; after a crash in between, the group is at the last stored generation,
and answers to heartbeats tell members of a later one so. A disconnect has no effect: a member is removed when its
session ends. Source: Kafka's ``GroupMetadataManager`` (4.4.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from oncelog.broker.coordinator.group import records
from oncelog.broker.coordinator.group.classic import classic_rules
from oncelog.broker.coordinator.group.classic.classic_answers import current_assignment, current_generation, join_error
from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup, ClassicMember
from oncelog.broker.coordinator.group.classic.classic_rules import JoinKnown, JoinNew, JoinStep
from oncelog.broker.coordinator.group.environment import Caller, Environment
from oncelog.broker.coordinator.group.states import ClassicState
from oncelog.broker.coordinator.runtime import client_error
from oncelog.errors import Error, InvariantError
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest
from oncelog.protocol.generated.join_group_response import JoinGroupResponse
from oncelog.protocol.generated.leave_group_request import LeaveGroupRequest
from oncelog.protocol.generated.leave_group_response import MemberResponse
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest
from oncelog.protocol.generated.sync_group_response import SyncGroupResponse
from oncelog.runtime.deferred import Deferred

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long in ms the coordinator keeps a member that has not been answered yet and so cannot send heartbeats."""
MIN_JOIN_WAIT_MS = 1000
"""Minimum duration in ms of another wait if no member of a group has joined: with a rebalance timeout of 0 the
coordinator would start a new wait at once, without end."""
MIN_SYNC_WAIT_MS = 1000
"""Minimum time in ms that members have to send SyncGroup: with a rebalance timeout of 0 (kafkajs sends 0 by default) a
member would be removed before its request can arrive. Apache Kafka has no such minimum, but its timers leave some time.
"""

MEMBER_ID_REQUIRED_FROM = 4
SKIP_ASSIGNMENT_FROM = 9

MAX_PARKED = 10
"""How many requests of one member may be parked at a time: a member may repeat its request, perhaps on other
connections."""

R = TypeVar("R")
Parked = dict[tuple[str, str], list[Deferred[R]]]
"""Requests that wait for their answers, by group id and member id."""


class ClassicProtocol:
    """Handles requests to the classic groups of one shard."""

    def __init__(self, environment: Environment, never_joined: Callable[[ClassicGroup, int], None]) -> None:
        """:param never_joined: called with a group and the current time when a member id expires with which no member
        has joined."""
        self._env = environment
        self._never_joined = never_joined
        self._joins: Parked[JoinGroupResponse] = {}
        self._syncs: Parked[SyncGroupResponse] = {}

    # --- requests

    def join(self, request: JoinGroupRequest, caller: Caller, now_ms: int) -> Deferred[JoinGroupResponse]:
        """Handle JoinGroup to a classic group, or to a group that does not exist and is created by a join without a
        member id."""
        group = self._env.groups.get(request.group_id)
        created = group is None
        if group is None:
            if request.member_id:
                return Deferred.of(join_error(Error.UNKNOWN_MEMBER_ID, request.member_id))
            group = ClassicGroup(request.group_id, state_timestamp_ms=now_ms)
            self._env.groups[request.group_id] = group
        if not isinstance(group, ClassicGroup):
            raise InvariantError(f"group {request.group_id} is not of the classic protocol")
        answer = self._join(group, request, caller, now_ms)
        return self._store_new_group(group, answer, now_ms) if created else answer

    def _store_new_group(
        self, group: ClassicGroup, answer: Deferred[JoinGroupResponse], now_ms: int
    ) -> Deferred[JoinGroupResponse]:
        """Write the empty metadata of a new group; if that fails, remove the group and refuse the join."""
        written = self._env.write([records.empty_group_metadata(group)], now_ms, apply=members_are_ahead)
        if not written.done or written.value is Error.NONE:
            return answer
        self._env.timers.cancel_group(group.group_id)
        for member_id in group.members:
            self._joins.pop((group.group_id, member_id), None)
        del self._env.groups[group.group_id]
        return Deferred.of(join_error(client_error(written.value), ""))

    def _join(
        self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller, now_ms: int
    ) -> Deferred[JoinGroupResponse]:
        member_id, instance_id = request.member_id, request.group_instance_id
        protocols: dict[str, bytes] = {}
        for protocol in request.protocols:
            protocols.setdefault(protocol.name, protocol.metadata)
        max_size = self._env.config.group_max_size
        event: JoinNew | JoinKnown
        if member_id:
            event = JoinKnown(member_id, instance_id, request.protocol_type, protocols, max_size)
        else:
            needs_id = caller.api_version >= MEMBER_ID_REQUIRED_FROM
            event = JoinNew(instance_id, request.protocol_type, protocols, needs_id, max_size)
            member_id = f"{caller.client_id if instance_id is None else instance_id}-{self._env.random_uuid()}"
        verdict = classic_rules.decide(group, event)
        if verdict.step in (JoinStep.ADD, JoinStep.REPLACE, JoinStep.REJOIN) and not group.has_capacity(
            member_id, protocols
        ):
            verdict = classic_rules.refused(Error.GROUP_MAX_SIZE_REACHED)
        match verdict.step:
            case JoinStep.ASSIGN_ID:
                group.pending_joins.add(member_id)
                self._expect(group.group_id, member_id, now_ms + request.session_timeout_ms)
                return Deferred.of(join_error(verdict.error, member_id))
            case JoinStep.ADD:
                return self._add(group, member_id, request, protocols, caller, now_ms)
            case JoinStep.REPLACE:
                return self._replace_static(group, member_id, request, protocols, caller, now_ms)
            case JoinStep.REJOIN:
                member = group.members[member_id]
                group.update(member, protocols, request.rebalance_timeout_ms, request.session_timeout_ms)
                answer = self._park_join(group, member)
                self._rebalance_or_complete(group, now_ms)
                return answer
            case JoinStep.CURRENT:
                return Deferred.of(current_generation(group, member_id))
            case _:
                if verdict.error is Error.GROUP_MAX_SIZE_REACHED:
                    self._drop(group, request.member_id)
                    return Deferred.of(join_error(verdict.error, ""))
                return Deferred.of(join_error(verdict.error, request.member_id))

    def sync(self, group: ClassicGroup, request: SyncGroupRequest, now_ms: int) -> Deferred[SyncGroupResponse]:
        member_id = request.member_id
        event = classic_rules.Sync(
            member_id,
            request.group_instance_id,
            request.generation_id,
            request.protocol_type,
            request.protocol_name,
        )
        verdict = classic_rules.decide(group, event)
        match verdict.step:
            case JoinStep.PARK | JoinStep.DISTRIBUTE:
                member = group.members[member_id]
                too_many = SyncGroupResponse(error_code=Error.REBALANCE_IN_PROGRESS)
                answer = _park(self._syncs, (group.group_id, member_id), too_many)
                member.awaiting_sync = True
                self._synced(group, member_id)
                if verdict.step is JoinStep.DISTRIBUTE:
                    self._distribute(group, {a.member_id: a.assignment for a in request.assignments}, now_ms)
                return answer
            case JoinStep.ASSIGNMENT:
                self._synced(group, member_id)
                return Deferred.of(current_assignment(group, group.members[member_id]))
            case _:
                return Deferred.of(SyncGroupResponse(error_code=verdict.error))

    def heartbeat(self, group: ClassicGroup, request: HeartbeatRequest, now_ms: int) -> Error:
        event = classic_rules.Heartbeat(request.member_id, request.group_instance_id, request.generation_id)
        verdict = classic_rules.decide(group, event)
        if verdict.step is JoinStep.ALIVE:
            self.alive(group, group.members[request.member_id], now_ms)
        return verdict.error

    def leave(self, group: ClassicGroup, request: LeaveGroupRequest, now_ms: int) -> list[MemberResponse] | Error:
        """Handle LeaveGroup: the outcome for each member, or an error for all of them."""
        if group.state is ClassicState.DEAD:
            return Error.COORDINATOR_NOT_AVAILABLE
        answers: list[MemberResponse] = []
        left = False
        for member in request.members:
            verdict = classic_rules.decide(group, classic_rules.Leave(member.member_id, member.group_instance_id))
            if verdict.step is JoinStep.REMOVE:
                left = True
                self._drop(group, member.member_id or group.static_members[member.group_instance_id or ""])
            answers.append(MemberResponse(member.member_id, member.group_instance_id, verdict.error))
        if left and group.state in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
            self._rebalance_or_complete(group, now_ms)
        elif left:
            self._maybe_complete_join(group, now_ms)
        return answers

    # --- life of a member

    def alive(self, group: ClassicGroup, member: ClassicMember, now_ms: int) -> None:
        """Restart the member's session timeout."""
        self._expect(group.group_id, member.member_id, now_ms + member.session_timeout_ms)

    def _expect(self, group_id: str, member_id: str, until_ms: int) -> None:
        self._env.timers.schedule(
            ("session", group_id, member_id), until_ms, lambda now_ms: self._session_over(group_id, member_id, now_ms)
        )

    def _session_over(self, group_id: str, member_id: str, now_ms: int) -> None:
        group = self._env.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            return
        member = group.members.get(member_id)
        if member is None or not member.waits:
            known = self._drop(group, member_id)
            if known and group.state in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
                self._rebalance_or_complete(group, now_ms)
            elif group.state is ClassicState.PREPARING_REBALANCE and group.all_joined:
                self._complete_join(group, now_ms)
            if member is None:
                self._never_joined(group, now_ms)

    def _drop(self, group: ClassicGroup, member_id: str) -> bool:
        """Remove a member or a pending member id, and refuse its parked requests; returns True if it was a member."""
        self._env.timers.cancel(("session", group.group_id, member_id))
        member = group.remove(member_id)
        if member is None:
            return False
        self._answer_join(group, member, join_error(Error.UNKNOWN_MEMBER_ID, ""))
        self._answer_sync(group, member, SyncGroupResponse(error_code=Error.UNKNOWN_MEMBER_ID))
        return True

    def _add(
        self,
        group: ClassicGroup,
        member_id: str,
        request: JoinGroupRequest,
        protocols: Mapping[str, bytes],
        caller: Caller,
        now_ms: int,
    ) -> Deferred[JoinGroupResponse]:
        member = ClassicMember(
            member_id,
            request.group_instance_id,
            caller.client_id,
            caller.logged_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocol_type,
            protocols,
            is_new=True,
        )
        if group.state is ClassicState.PREPARING_REBALANCE and group.previous_state is ClassicState.EMPTY:
            group.new_member_added = True
        group.add(member)
        answer = self._park_join(group, member)
        self._expect(group.group_id, member_id, now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._rebalance_or_complete(group, now_ms)
        return answer

    def _replace_static(
        self,
        group: ClassicGroup,
        new_id: str,
        request: JoinGroupRequest,
        protocols: Mapping[str, bytes],
        caller: Caller,
        now_ms: int,
    ) -> Deferred[JoinGroupResponse]:
        """Let a new process take the place of a static member: a STABLE group does not rebalance, unless the choice of
        the protocol changes (KIP-345)."""
        instance_id = request.group_instance_id or ""
        old_id, leader_before = group.static_members[instance_id], group.leader_id
        before = self._take_over(group, instance_id, new_id, now_ms)
        member = group.members[new_id]
        group.update(member, protocols, request.rebalance_timeout_ms, request.session_timeout_ms)
        answer = self._park_join(group, member)
        if group.state is not ClassicState.STABLE:
            self._rebalance_or_complete(group, now_ms)
            return answer
        if group.choose_protocol() != group.protocol_name:
            self._prepare_rebalance(group, now_ms)
            return answer

        since = self._env.timers.since(now_ms)

        def stored(error: Error) -> None:
            if self._joins.get((group.group_id, new_id)) != [answer]:
                return
            if error is not Error.NONE:
                group.update(member, *before)
                member.awaiting_join = False
                del self._joins[group.group_id, new_id]
                self._take_over(group, instance_id, old_id, since())
                answer.resolve(join_error(client_error(error), ""))
                return
            response = current_generation(group, new_id)
            if caller.api_version >= SKIP_ASSIGNMENT_FROM:
                response.skip_assignment = group.leader_id == new_id
            else:
                response.members, response.leader = [], leader_before or ""
            self._answer_join(group, member, response)

        assignments = {member.member_id: member.assignment for member in group.members.values()}
        self._env.write([records.group_metadata(group, assignments)], now_ms, apply=members_are_ahead).then(stored)
        return answer

    def _take_over(
        self, group: ClassicGroup, instance_id: str, new_id: str, now_ms: int
    ) -> tuple[Mapping[str, bytes], int, int]:
        """Change a static member's id and fence the parked requests of its former process; returns its old protocols
        and its two timeouts in ms (rebalance, session)."""
        old = group.members[group.static_members[instance_id]]
        before = (old.protocols, old.rebalance_timeout_ms, old.session_timeout_ms)
        self._env.timers.cancel(("session", group.group_id, old.member_id))
        self._answer_join(group, old, join_error(Error.FENCED_INSTANCE_ID, old.member_id))
        self._answer_sync(group, old, SyncGroupResponse(error_code=Error.FENCED_INSTANCE_ID))
        self.alive(group, group.replace_static(instance_id, new_id), now_ms)
        return before

    # --- join phase

    def _rebalance_or_complete(self, group: ClassicGroup, now_ms: int) -> None:
        if group.state is ClassicState.PREPARING_REBALANCE:
            self._maybe_complete_join(group, now_ms)
        else:
            self._prepare_rebalance(group, now_ms)

    def _maybe_complete_join(self, group: ClassicGroup, now_ms: int) -> None:
        """Complete the join phase if all have joined; an initial rebalance is completed only by its timer."""
        joining = group.state is ClassicState.PREPARING_REBALANCE and group.previous_state is not ClassicState.EMPTY
        if joining and group.all_joined:
            self._complete_join(group, now_ms)

    def _prepare_rebalance(self, group: ClassicGroup, now_ms: int) -> None:
        if group.state is ClassicState.COMPLETING_REBALANCE:
            self._reset_assignments(group, Error.REBALANCE_IN_PROGRESS, now_ms)
        group.pending_syncs.clear()
        self._env.timers.cancel(("sync", group.group_id, ""))
        initial = group.state is ClassicState.EMPTY
        group.enter(ClassicState.PREPARING_REBALANCE, now_ms)
        if initial:
            delay_ms = self._env.config.group_initial_rebalance_delay_ms
            self._delay_initial(group.group_id, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0), now_ms)
        elif group.all_joined:
            self._complete_join(group, now_ms)
        else:
            self._schedule_join_timeout(group, now_ms)

    def _delay_initial(self, group_id: str, delay_ms: int, remaining_ms: int, now_ms: int) -> None:
        """Delay the first rebalance of a group for more members; if one joins during the delay, wait again, as long as
        time remains."""

        def timed_out(now_ms: int) -> None:
            group = self._env.groups.get(group_id)
            if not isinstance(group, ClassicGroup):
                return
            if group.new_member_added and remaining_ms:
                group.new_member_added = False
                next_ms = min(self._env.config.group_initial_rebalance_delay_ms, remaining_ms)
                self._delay_initial(group_id, next_ms, max(remaining_ms - delay_ms, 0), now_ms)
            else:
                self._complete_join(group, now_ms)

        self._env.timers.schedule(("join", group_id, ""), now_ms + delay_ms, timed_out)

    def _schedule_join_timeout(self, group: ClassicGroup, now_ms: int, least_ms: int = 0) -> None:
        def timed_out(now_ms: int) -> None:
            if self._env.groups.get(group.group_id) is group:
                self._complete_join(group, now_ms)

        wait_ms = max(group.rebalance_timeout_ms, least_ms)
        self._env.timers.schedule(("join", group.group_id, ""), now_ms + wait_ms, timed_out)

    def _complete_join(self, group: ClassicGroup, now_ms: int) -> None:
        """Begin the next generation with the members that joined in time; of the others, dynamic members are removed
        and static ones stay."""
        self._env.timers.cancel(("join", group.group_id, ""))
        late = [m for m in group.members.values() if not m.awaiting_join and m.instance_id is None]
        for member in late:
            self._drop(group, member.member_id)
        if group.members and not group.elect_joined_leader():
            self._schedule_join_timeout(group, now_ms, MIN_JOIN_WAIT_MS)
            return
        group.new_member_added = False
        group.next_generation(now_ms)
        if group.empty:
            self._env.write([records.group_metadata(group, {})], now_ms, apply=members_are_ahead)
            return
        for member in list(group.members.values()):
            self.alive(group, member, now_ms)
            member.is_new = False
            group.pending_syncs.add(member.member_id)
            self._answer_join(group, member, current_generation(group, member.member_id))
        self._schedule_sync_timeout(group, now_ms)

    # --- sync phase

    def _synced(self, group: ClassicGroup, member_id: str) -> None:
        group.pending_syncs.discard(member_id)
        if not group.pending_syncs:
            self._env.timers.cancel(("sync", group.group_id, ""))

    def _schedule_sync_timeout(self, group: ClassicGroup, now_ms: int) -> None:
        generation = group.generation

        def timed_out(now_ms: int) -> None:
            current = self._env.groups.get(group.group_id) is group and group.generation == generation
            if current and group.pending_syncs:
                for member_id in sorted(group.pending_syncs):
                    self._drop(group, member_id)
                self._prepare_rebalance(group, now_ms)

        wait_ms = max(group.rebalance_timeout_ms, MIN_SYNC_WAIT_MS)
        self._env.timers.schedule(("sync", group.group_id, ""), now_ms + wait_ms, timed_out)

    def _distribute(self, group: ClassicGroup, given: Mapping[str, bytes], now_ms: int) -> None:
        """Store the leader's assignment, then answer all members that wait for it."""
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        generation = group.generation

        since = self._env.timers.since(now_ms)

        def stored(error: Error) -> None:
            if group.state is not ClassicState.COMPLETING_REBALANCE or group.generation != generation:
                return
            if error is not Error.NONE:
                self._reset_assignments(group, client_error(error), since())
                self._prepare_rebalance(group, since())
                return
            for member in group.members.values():
                member.assignment = assignments.get(member.member_id, b"")
            group.enter(ClassicState.STABLE, since())
            self._answer_syncs(group, lambda member: current_assignment(group, member), since())

        self._env.write([records.group_metadata(group, assignments)], now_ms, apply=members_are_ahead).then(stored)

    def _reset_assignments(self, group: ClassicGroup, error: Error, now_ms: int) -> None:
        for member in group.members.values():
            member.assignment = b""
        self._answer_syncs(group, lambda member: SyncGroupResponse(error_code=error), now_ms)

    def _answer_syncs(
        self, group: ClassicGroup, response: Callable[[ClassicMember], SyncGroupResponse], now_ms: int
    ) -> None:
        """Answer the members that wait for SyncGroup, and restart their session timeouts, which may have expired during
        the wait."""
        for member in list(group.members.values()):
            if member.awaiting_sync:
                self.alive(group, member, now_ms)
                self._answer_sync(group, member, response(member))

    # --- parked requests

    def _park_join(self, group: ClassicGroup, member: ClassicMember) -> Deferred[JoinGroupResponse]:
        member.awaiting_join = True
        too_many = join_error(Error.REBALANCE_IN_PROGRESS, member.member_id)
        return _park(self._joins, (group.group_id, member.member_id), too_many)

    def _answer_join(self, group: ClassicGroup, member: ClassicMember, response: JoinGroupResponse) -> None:
        member.awaiting_join = False
        for parked in self._joins.pop((group.group_id, member.member_id), ()):
            parked.resolve(response)

    def _answer_sync(self, group: ClassicGroup, member: ClassicMember, response: SyncGroupResponse) -> None:
        member.awaiting_sync = False
        for parked in self._syncs.pop((group.group_id, member.member_id), ()):
            parked.resolve(response)

    # --- load, unload, migration

    def adopt(self, group: ClassicGroup, *, rebalance: bool, now_ms: int) -> None:
        """Take over a group converted from the consumer protocol."""
        for member in group.members.values():
            self.alive(group, member, now_ms)
        if rebalance:
            self._prepare_rebalance(group, now_ms)

    def release(self, group: ClassicGroup, error: Error) -> None:
        """Answer all parked requests of a group that this coordinator no longer owns."""
        for member in list(group.members.values()):
            self._answer_join(group, member, join_error(error, member.member_id))
            self._answer_sync(group, member, SyncGroupResponse(error_code=error))

    def loaded(self, group: ClassicGroup, now_ms: int) -> None:
        """Start the session timeout of every member of a loaded group; a group above its maximum size rebalances, which
        leaves out the last members to rejoin."""
        for member in group.members.values():
            self.alive(group, member, now_ms)
        if len(group.members) > self._env.config.group_max_size:
            self._prepare_rebalance(group, now_ms)

    def unload(self, groups: Sequence[ClassicGroup], now_ms: int) -> None:
        for group in groups:
            group.enter(ClassicState.DEAD, now_ms)
            self.release(group, Error.NOT_COORDINATOR)


def _park(table: Parked[R], key: tuple[str, str], too_many: R) -> Deferred[R]:
    """Park a request behind the member's earlier ones, which will get the same answer; if there are too many, the
    oldest gets ``too_many``."""
    answer: Deferred[R] = Deferred()
    waiting = table.setdefault(key, [])
    waiting.append(answer)
    if len(waiting) > MAX_PARKED:
        waiting.pop(0).resolve(too_many)
    return answer


def members_are_ahead(_: int) -> None:
    """Do nothing: applied in place of a metadata record that was just written, because the members in memory are
    already newer than the record."""
