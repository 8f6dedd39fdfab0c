"""The rules of a group of the classic protocol: one table, event by state.

A rule examines and decides; ``classic_protocol`` carries the verdict out. This module, and
``docs/reference/group-states.md``, which is generated from :data:`RULES`, define when the coordinator returns
ILLEGAL_GENERATION or REBALANCE_IN_PROGRESS. Source: Kafka's ``GroupMetadataManager`` and ``ClassicGroup`` (4.4.0);
KIP-345, KIP-394, KIP-447, KIP-559.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup, Protocols
from oncelog.broker.coordinator.group.states import ClassicState
from oncelog.errors import NONE, Error


class JoinStep(Enum):
    """The step that a rule chooses for a request."""

    REFUSE = "answer the error"
    ASSIGN_ID = "hand out a member id and ask to join with it"
    ADD = "add the member and rebalance"
    REPLACE = "let the new process replace the static member's former one"
    REJOIN = "take the member's new subscription and rebalance"
    CURRENT = "answer the current generation"
    PARK = "wait for the leader's assignment"
    DISTRIBUTE = "store the leader's assignment and hand it out"
    ASSIGNMENT = "answer the member's assignment"
    ALIVE = "note that the member is alive"
    REMOVE = "remove the member"
    ACCEPT = "do it"


class JoinVerdict(NamedTuple):
    """The step to take, and the error for the answer; even the step ALIVE may have an error."""

    step: JoinStep
    error: Error = NONE


REFUSE, ALIVE = JoinStep.REFUSE, JoinStep.ALIVE
ACCEPTED = JoinVerdict(JoinStep.ACCEPT)
"""Constants, because each commit uses them, and before Python 3.12 looking up an enum member takes a call."""


@dataclass(frozen=True, slots=True)
class JoinNew:
    """JoinGroup without a member id. From version 4 on a dynamic member needs an id first (KIP-394)."""

    instance_id: str | None
    protocol_type: str
    protocols: Protocols
    needs_id: bool
    max_size: int


@dataclass(frozen=True, slots=True)
class JoinKnown:
    """JoinGroup with a member id."""

    member_id: str
    instance_id: str | None
    protocol_type: str
    protocols: Protocols
    max_size: int


@dataclass(frozen=True, slots=True)
class Sync:
    """SyncGroup. Protocol type and name are None before version 5 (KIP-559)."""

    member_id: str
    instance_id: str | None
    generation: int
    protocol_type: str | None
    protocol_name: str | None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Heartbeat of a member."""

    member_id: str
    instance_id: str | None
    generation: int


@dataclass(frozen=True, slots=True)
class Leave:
    """One member in LeaveGroup; an administrator's removal has an instance id and no member id (KIP-345)."""

    member_id: str
    instance_id: str | None


@dataclass(frozen=True, slots=True)
class CommitCase:
    """A commit of offsets outside a transaction (OffsetCommit)."""

    member_id: str
    instance_id: str | None
    generation: int


@dataclass(frozen=True, slots=True)
class TxnCommit:
    """A commit in a transaction (TxnOffsetCommit); only membership is checked, not the group's state (KIP-447)."""

    member_id: str
    instance_id: str | None
    generation: int


@dataclass(frozen=True, slots=True)
class DeleteOffsets:
    """Deletion of committed offsets (OffsetDelete)."""


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    """Deletion of the group (DeleteGroups)."""


Event = JoinNew | JoinKnown | Sync | Heartbeat | Leave | CommitCase | TxnCommit | DeleteOffsets | DeleteGroup


@dataclass(frozen=True, slots=True)
class JoinRule:
    """A cell of the table of rules: its text in the documentation, and the function that decides."""

    label: str
    decide: Callable[[ClassicGroup, Any], JoinVerdict]


def refused(error: Error) -> JoinVerdict:
    return JoinVerdict(JoinStep.REFUSE, error)


def refuse(error: Error) -> JoinRule:
    verdict = refused(error)
    return JoinRule(f"{error.name} ({error.value})", lambda group, event: verdict)


def member_error(group: ClassicGroup, member_id: str, instance_id: str | None) -> Error:
    """NONE if the caller is a member; UNKNOWN_MEMBER_ID if it is not, FENCED_INSTANCE_ID if another process has the
    instance."""
    if instance_id is not None:
        owner = group.static_members.get(instance_id)
        if owner is None:
            return Error.UNKNOWN_MEMBER_ID
        if owner != member_id:
            return Error.FENCED_INSTANCE_ID
    return NONE if member_id in group.members else Error.UNKNOWN_MEMBER_ID


def _current(group: ClassicGroup, event: Heartbeat | Sync | CommitCase | TxnCommit) -> Error:
    """NONE if the caller is a member and names the current generation, else the error."""
    error = member_error(group, event.member_id, event.instance_id)
    if error is NONE and event.generation != group.generation:
        return Error.ILLEGAL_GENERATION
    return error


def _full_while_joining(group: ClassicGroup, member_id: str, max_size: int) -> bool:
    """Whether the group is full for a member that rejoins: members whose JoinGroup is parked come first, so that the
    last members are left out."""
    member = group.members.get(member_id)
    return not (member is not None and member.awaiting_join) and group.awaiting_joins >= max_size


def _full(group: ClassicGroup, member_id: str, max_size: int) -> bool:
    if group.state is ClassicState.EMPTY:
        return False
    if group.state is ClassicState.PREPARING_REBALANCE:
        return _full_while_joining(group, member_id, max_size)
    return member_id not in group.members and len(group.members) >= max_size


def _join_new(group: ClassicGroup, event: JoinNew) -> JoinVerdict:
    if _full(group, "", event.max_size):
        return refused(Error.GROUP_MAX_SIZE_REACHED)
    if not group.supports(event.protocol_type, event.protocols):
        return refused(Error.INCONSISTENT_GROUP_PROTOCOL)
    if event.instance_id is not None:
        return JoinVerdict(JoinStep.REPLACE if event.instance_id in group.static_members else JoinStep.ADD)
    return JoinVerdict(JoinStep.ASSIGN_ID, Error.MEMBER_ID_REQUIRED) if event.needs_id else JoinVerdict(JoinStep.ADD)


def _join_known(
    known: Callable[[ClassicGroup, JoinKnown], JoinVerdict],
) -> Callable[[ClassicGroup, JoinKnown], JoinVerdict]:
    """A rule that makes the checks common to all states, and calls ``known`` for a member of the group."""

    def decide(group: ClassicGroup, event: JoinKnown) -> JoinVerdict:
        if _full(group, event.member_id, event.max_size):
            return refused(Error.GROUP_MAX_SIZE_REACHED)
        if not group.supports(event.protocol_type, event.protocols):
            return refused(Error.INCONSISTENT_GROUP_PROTOCOL)
        if event.member_id in group.pending_joins:
            return JoinVerdict(JoinStep.ADD) if event.instance_id is None else refused(Error.UNKNOWN_SERVER_ERROR)
        error = member_error(group, event.member_id, event.instance_id)
        return known(group, event) if error is NONE else refused(error)

    return decide


def _rejoin(group: ClassicGroup, event: JoinKnown) -> JoinVerdict:
    return JoinVerdict(JoinStep.REJOIN)


def _rejoin_if_changed(group: ClassicGroup, event: JoinKnown) -> JoinVerdict:
    """Rebalance if the member's subscription has changed. If it is the same, the last answer was lost: repeat that
    answer."""
    same = group.members[event.member_id].same_protocols(event.protocols)
    return JoinVerdict(JoinStep.CURRENT if same else JoinStep.REJOIN)


def _rejoin_stable(group: ClassicGroup, event: JoinKnown) -> JoinVerdict:
    """Rebalance when the leader rejoins: it may have reasons that the coordinator cannot see, such as new
    partitions."""
    return JoinVerdict(JoinStep.REJOIN) if group.leader_id == event.member_id else _rejoin_if_changed(group, event)


def _sync(then: Callable[[ClassicGroup, Sync], JoinVerdict]) -> Callable[[ClassicGroup, Sync], JoinVerdict]:
    def decide(group: ClassicGroup, event: Sync) -> JoinVerdict:
        error = _current(group, event)
        if error is not NONE:
            return refused(error)
        given = ((event.protocol_type, group.protocol_type), (event.protocol_name, group.protocol_name))
        if any(sent is not None and own is not None and sent != own for sent, own in given):
            return refused(Error.INCONSISTENT_GROUP_PROTOCOL)
        return then(group, event)

    return decide


def _sync_completing(group: ClassicGroup, event: Sync) -> JoinVerdict:
    return JoinVerdict(JoinStep.DISTRIBUTE if group.leader_id == event.member_id else JoinStep.PARK)


def _alive(error: Error) -> Callable[[ClassicGroup, Heartbeat], JoinVerdict]:
    def decide(group: ClassicGroup, event: Heartbeat) -> JoinVerdict:
        problem = _current(group, event)
        return refused(problem) if problem is not NONE else JoinVerdict(JoinStep.ALIVE, error)

    return decide


def _leave(group: ClassicGroup, event: Leave) -> JoinVerdict:
    if not event.member_id:
        known = event.instance_id is not None and event.instance_id in group.static_members
        return JoinVerdict(JoinStep.REMOVE) if known else refused(Error.UNKNOWN_MEMBER_ID)
    if event.member_id in group.pending_joins:
        return JoinVerdict(JoinStep.REMOVE)
    error = member_error(group, event.member_id, event.instance_id)
    return JoinVerdict(JoinStep.REMOVE) if error is NONE else refused(error)


def _commit_empty(group: ClassicGroup, event: CommitCase | TxnCommit) -> JoinVerdict:
    """Accept a commit without a generation, from an administrator or from a consumer that does not use groups; refuse
    unknown members."""
    if event.generation < 0:
        return ACCEPTED
    error = _current(group, event)
    return ACCEPTED if error is NONE else refused(error)


def _commit(verdict: JoinVerdict) -> Callable[[ClassicGroup, CommitCase], JoinVerdict]:
    """Decide about a commit with a generation. :param verdict: the outcome for a member of this generation."""

    def decide(group: ClassicGroup, event: CommitCase) -> JoinVerdict:
        if event.generation < 0 and not event.member_id and event.instance_id is None:
            return refused(Error.UNKNOWN_MEMBER_ID)
        error = _current(group, event)
        if error is not NONE:
            return refused(error)
        return verdict

    return decide


def _txn_commit(group: ClassicGroup, event: TxnCommit) -> JoinVerdict:
    """Accept a member of the current generation and, in any state, a request without a member, as before version 3."""
    if event.generation < 0 and not event.member_id and event.instance_id is None:
        return ACCEPTED
    error = _current(group, event)
    return ACCEPTED if error is NONE else refused(error)


def _delete_offsets(group: ClassicGroup, event: DeleteOffsets) -> JoinVerdict:
    """Accept OffsetDelete for a group of consumers, whose subscriptions say which topics are read and so must keep
    their offsets."""
    return ACCEPTED if group.consumer_type else refused(Error.NON_EMPTY_GROUP)


_E, _P, _C, _S, _D = (
    ClassicState.EMPTY,
    ClassicState.PREPARING_REBALANCE,
    ClassicState.COMPLETING_REBALANCE,
    ClassicState.STABLE,
    ClassicState.DEAD,
)
_NEW = JoinRule("protocols fit and there is room: id first (v4+), else add; known instance: replace", _join_new)
_ACCEPT = JoinRule("accept", lambda group, event: ACCEPTED)
_LEAVE = JoinRule("remove, if it is a member or a pending id", _leave)
_TXN = JoinRule("accept without ids; else a member of this generation", _txn_commit)
_DELETE_READ = JoinRule("accept for groups of consumers, else NON_EMPTY_GROUP (68)", _delete_offsets)
_GONE = refuse(Error.COORDINATOR_NOT_AVAILABLE)

RULES: Mapping[type[Event], Mapping[ClassicState, JoinRule]] = {
    JoinNew: {_E: _NEW, _P: _NEW, _C: _NEW, _S: _NEW, _D: _GONE},
    JoinKnown: {
        _E: JoinRule("add a pending id, else UNKNOWN_MEMBER_ID (25)", _join_known(_rejoin)),
        _P: JoinRule("join", _join_known(_rejoin)),
        _C: JoinRule("changed: rebalance; same: current generation", _join_known(_rejoin_if_changed)),
        _S: JoinRule("leader or changed: rebalance; else current generation", _join_known(_rejoin_stable)),
        _D: _GONE,
    },
    Sync: {
        _E: refuse(Error.UNKNOWN_MEMBER_ID),
        _P: JoinRule("REBALANCE_IN_PROGRESS (27)", _sync(lambda group, event: refused(Error.REBALANCE_IN_PROGRESS))),
        _C: JoinRule("leader: store and hand out; follower: wait", _sync(_sync_completing)),
        _S: JoinRule("own assignment", _sync(lambda group, event: JoinVerdict(JoinStep.ASSIGNMENT))),
        _D: _GONE,
    },
    Heartbeat: {
        _E: refuse(Error.UNKNOWN_MEMBER_ID),
        _P: JoinRule("REBALANCE_IN_PROGRESS (27), alive", _alive(Error.REBALANCE_IN_PROGRESS)),
        _C: JoinRule("alive", _alive(NONE)),
        _S: JoinRule("alive", _alive(NONE)),
        _D: _GONE,
    },
    Leave: {_E: _LEAVE, _P: _LEAVE, _C: _LEAVE, _S: _LEAVE, _D: _GONE},
    CommitCase: {
        _E: JoinRule("accept without a generation, else as a member", _commit_empty),
        _P: JoinRule("accept a member of this generation, alive", _commit(JoinVerdict(ALIVE))),
        _C: JoinRule(
            "REBALANCE_IN_PROGRESS (27) for a member of this generation", _commit(refused(Error.REBALANCE_IN_PROGRESS))
        ),
        _S: JoinRule("accept a member of this generation, alive", _commit(JoinVerdict(ALIVE))),
        _D: _GONE,
    },
    TxnCommit: {_E: JoinRule("accept without a generation, else as a member", _commit_empty)}
    | dict.fromkeys((_P, _C, _S), _TXN)
    | {_D: _GONE},
    DeleteOffsets: {_E: _ACCEPT, _P: _DELETE_READ, _C: _DELETE_READ, _S: _DELETE_READ}
    | {_D: refuse(Error.GROUP_ID_NOT_FOUND)},
    DeleteGroup: {_E: _ACCEPT}
    | dict.fromkeys((_P, _C, _S), refuse(Error.NON_EMPTY_GROUP))
    | {_D: refuse(Error.GROUP_ID_NOT_FOUND)},
}
"""A rule for each event in each state. Every rule except those of DEAD first checks the caller."""


def decide(group: ClassicGroup, event: Event) -> JoinVerdict:
    """Decide what ``event`` means for ``group``; changes nothing."""
    return RULES[type(event)][group.state].decide(group, event)
