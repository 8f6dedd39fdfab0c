"""The table of the classic group's rules against Kafka's answers, for every event in every state."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from oncelog.broker.coordinator.group.classic import classic_rules as rules
from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup, ClassicMember
from oncelog.broker.coordinator.group.classic.classic_rules import JoinStep
from oncelog.broker.coordinator.group.states import CLASSIC_TRANSITIONS, ClassicState
from oncelog.errors import Error, InvariantError

E, P, C, S, D = (
    ClassicState.EMPTY,
    ClassicState.PREPARING_REBALANCE,
    ClassicState.COMPLETING_REBALANCE,
    ClassicState.STABLE,
    ClassicState.DEAD,
)
PROTOCOLS = {"range": b"a", "roundrobin": b"b"}
NO = JoinStep.REFUSE


def group_in(state: ClassicState) -> ClassicGroup:
    """Generation 7: a leader ``lead``, a follower ``dyn``, a static ``stat`` of instance ``i``, a pending ``pend``."""
    group = ClassicGroup("g", generation=7, protocol_type="consumer", protocol_name="range")
    if state is not E:
        for member_id, instance_id in (("lead", None), ("dyn", None), ("stat", "i")):
            group.add(ClassicMember(member_id, instance_id, "c", "/h", 60_000, 10_000, "consumer", PROTOCOLS))
    group.pending_joins.add("pend")
    group.state = state
    return group


NEW = rules.JoinNew(None, "consumer", PROTOCOLS, True, 100)
KNOWN = rules.JoinKnown("dyn", None, "consumer", PROTOCOLS, 100)
SYNC = rules.Sync("dyn", None, 7, "consumer", "range")
BEAT = rules.Heartbeat("dyn", None, 7)
COMMIT = rules.CommitCase("dyn", None, 7)
TXN = rules.TxnCommit("dyn", None, 7)

GONE = (NO, Error.COORDINATOR_NOT_AVAILABLE)
UNKNOWN = (NO, Error.UNKNOWN_MEMBER_ID)
FENCED = (NO, Error.FENCED_INSTANCE_ID)
OLD = (NO, Error.ILLEGAL_GENERATION)
MIXED = (NO, Error.INCONSISTENT_GROUP_PROTOCOL)
FULL = (NO, Error.GROUP_MAX_SIZE_REACHED)
BUSY = (NO, Error.REBALANCE_IN_PROGRESS)
ID = (JoinStep.ASSIGN_ID, Error.MEMBER_ID_REQUIRED)
NON_EMPTY = (NO, Error.NON_EMPTY_GROUP)
NOT_FOUND = (NO, Error.GROUP_ID_NOT_FOUND)


def ok(step: JoinStep, error: Error = Error.NONE) -> tuple[JoinStep, Error]:
    return (step, error)


EXPECTED: dict[str, tuple[rules.Event, dict[ClassicState, tuple[JoinStep, Error]]]] = {
    "a new dynamic member is given an id first": (NEW, {E: ID, P: ID, C: ID, S: ID, D: GONE}),
    "before version 4 a new member is added at once": (
        replace(NEW, needs_id=False),
        dict.fromkeys((E, P, C, S), ok(JoinStep.ADD)) | {D: GONE},
    ),
    "a new static member needs no id": (
        replace(NEW, instance_id="other"),
        dict.fromkeys((E, P, C, S), ok(JoinStep.ADD)) | {D: GONE},
    ),
    "a known instance takes its own place": (
        replace(NEW, instance_id="i"),
        {E: ok(JoinStep.ADD)} | dict.fromkeys((P, C, S), ok(JoinStep.REPLACE)) | {D: GONE},
    ),
    "another protocol type is refused": (
        replace(NEW, protocol_type="connect"),
        {E: ID} | dict.fromkeys((P, C, S), MIXED) | {D: GONE},
    ),
    "a protocol that not all know is refused": (
        replace(NEW, protocols={"sticky": b""}),
        {E: ID} | dict.fromkeys((P, C, S), MIXED) | {D: GONE},
    ),
    "no protocols at all are refused": (replace(NEW, protocols={}), dict.fromkeys((E, P, C, S), MIXED) | {D: GONE}),
    "an empty protocol type is refused": (
        replace(NEW, protocol_type=""),
        dict.fromkeys((E, P, C, S), MIXED) | {D: GONE},
    ),
    "a full group takes nobody new": (replace(NEW, max_size=3), {E: ID, P: ID, C: FULL, S: FULL, D: GONE}),
    "a member comes back": (
        KNOWN,
        {E: UNKNOWN, P: ok(JoinStep.REJOIN), C: ok(JoinStep.CURRENT), S: ok(JoinStep.CURRENT), D: GONE},
    ),
    "a member comes back with another subscription": (
        replace(KNOWN, protocols={"range": b"new"}),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), ok(JoinStep.REJOIN)) | {D: GONE},
    ),
    "a member comes back with its protocols in another order": (
        replace(KNOWN, protocols=dict(reversed(PROTOCOLS.items()))),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), ok(JoinStep.REJOIN)) | {D: GONE},
    ),
    "the leader comes back": (
        replace(KNOWN, member_id="lead"),
        {E: UNKNOWN, P: ok(JoinStep.REJOIN), C: ok(JoinStep.CURRENT), S: ok(JoinStep.REJOIN), D: GONE},
    ),
    "a pending member comes with its id": (
        replace(KNOWN, member_id="pend"),
        dict.fromkeys((E, P, C, S), ok(JoinStep.ADD)) | {D: GONE},
    ),
    "an unknown id is refused": (replace(KNOWN, member_id="x"), dict.fromkeys((E, P, C, S), UNKNOWN) | {D: GONE}),
    "an old id of a static member is fenced": (
        replace(KNOWN, member_id="old", instance_id="i"),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), FENCED) | {D: GONE},
    ),
    "an existing member of a full group stays": (
        replace(KNOWN, max_size=3),
        {E: UNKNOWN, P: ok(JoinStep.REJOIN), C: ok(JoinStep.CURRENT), S: ok(JoinStep.CURRENT), D: GONE},
    ),
    "a follower asks for its assignment": (
        SYNC,
        {E: UNKNOWN, P: BUSY, C: ok(JoinStep.PARK), S: ok(JoinStep.ASSIGNMENT), D: GONE},
    ),
    "the leader brings the assignment": (
        replace(SYNC, member_id="lead"),
        {E: UNKNOWN, P: BUSY, C: ok(JoinStep.DISTRIBUTE), S: ok(JoinStep.ASSIGNMENT), D: GONE},
    ),
    "SyncGroup of another generation": (
        replace(SYNC, generation=6),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), OLD) | {D: GONE},
    ),
    "SyncGroup with another protocol type": (
        replace(SYNC, protocol_type="connect"),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), MIXED) | {D: GONE},
    ),
    "SyncGroup with another protocol": (
        replace(SYNC, protocol_name="roundrobin"),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), MIXED) | {D: GONE},
    ),
    "SyncGroup before version 5 names no protocol": (
        replace(SYNC, protocol_type=None, protocol_name=None),
        {E: UNKNOWN, P: BUSY, C: ok(JoinStep.PARK), S: ok(JoinStep.ASSIGNMENT), D: GONE},
    ),
    "SyncGroup of a fenced instance": (
        replace(SYNC, instance_id="i"),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), FENCED) | {D: GONE},
    ),
    "Heartbeat": (
        BEAT,
        {
            E: UNKNOWN,
            P: ok(JoinStep.ALIVE, Error.REBALANCE_IN_PROGRESS),
            C: ok(JoinStep.ALIVE),
            S: ok(JoinStep.ALIVE),
            D: GONE,
        },
    ),
    "Heartbeat of another generation": (
        replace(BEAT, generation=8),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), OLD) | {D: GONE},
    ),
    "Heartbeat of a stranger": (replace(BEAT, member_id="x"), dict.fromkeys((E, P, C, S), UNKNOWN) | {D: GONE}),
    "Heartbeat of a fenced instance": (
        replace(BEAT, instance_id="i"),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), FENCED) | {D: GONE},
    ),
    "Heartbeat of an unknown instance": (
        replace(BEAT, instance_id="j"),
        dict.fromkeys((E, P, C, S), UNKNOWN) | {D: GONE},
    ),
    "a member leaves": (
        rules.Leave("dyn", None),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), ok(JoinStep.REMOVE)) | {D: GONE},
    ),
    "a pending member leaves": (
        rules.Leave("pend", None),
        dict.fromkeys((E, P, C, S), ok(JoinStep.REMOVE)) | {D: GONE},
    ),
    "an administrator removes an instance": (
        rules.Leave("", "i"),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), ok(JoinStep.REMOVE)) | {D: GONE},
    ),
    "an administrator names an unknown instance": (
        rules.Leave("", "j"),
        dict.fromkeys((E, P, C, S), UNKNOWN) | {D: GONE},
    ),
    "an administrator names nobody": (rules.Leave("", None), dict.fromkeys((E, P, C, S), UNKNOWN) | {D: GONE}),
    "a stranger leaves": (rules.Leave("x", None), dict.fromkeys((E, P, C, S), UNKNOWN) | {D: GONE}),
    "a fenced instance leaves": (
        rules.Leave("old", "i"),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), FENCED) | {D: GONE},
    ),
    "a member commits": (
        COMMIT,
        {E: UNKNOWN, P: ok(JoinStep.ALIVE), C: BUSY, S: ok(JoinStep.ALIVE), D: GONE},
    ),
    "a member of another generation commits": (
        replace(COMMIT, generation=6),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), OLD) | {D: GONE},
    ),
    "somebody without ids commits": (
        rules.CommitCase("", None, -1),
        {E: ok(JoinStep.ACCEPT)} | dict.fromkeys((P, C, S), UNKNOWN) | {D: GONE},
    ),
    "a member commits without its generation": (
        replace(COMMIT, generation=-1),
        {E: ok(JoinStep.ACCEPT)} | dict.fromkeys((P, C, S), OLD) | {D: GONE},
    ),
    "a fenced instance commits": (
        replace(COMMIT, instance_id="i"),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), FENCED) | {D: GONE},
    ),
    "a member commits in a transaction": (
        TXN,
        {E: UNKNOWN} | dict.fromkeys((P, C, S), ok(JoinStep.ACCEPT)) | {D: GONE},
    ),
    "somebody without ids commits in a transaction": (
        rules.TxnCommit("", None, -1),
        dict.fromkeys((E, P, C, S), ok(JoinStep.ACCEPT)) | {D: GONE},
    ),
    "a stale generation commits in a transaction": (
        replace(TXN, generation=6),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), OLD) | {D: GONE},
    ),
    "a wrong member commits in a transaction": (
        replace(TXN, member_id="x"),
        dict.fromkeys((E, P, C, S), UNKNOWN) | {D: GONE},
    ),
    "another owner of the instance commits in a transaction": (
        replace(TXN, instance_id="i"),
        {E: UNKNOWN} | dict.fromkeys((P, C, S), FENCED) | {D: GONE},
    ),
    "offsets of a group of consumers are deleted": (
        rules.DeleteOffsets(),
        dict.fromkeys((E, P, C, S), ok(JoinStep.ACCEPT)) | {D: NOT_FOUND},
    ),
    "a group is deleted": (
        rules.DeleteGroup(),
        {E: ok(JoinStep.ACCEPT)} | dict.fromkeys((P, C, S), NON_EMPTY) | {D: NOT_FOUND},
    ),
}


@pytest.mark.parametrize("state", ClassicState, ids=lambda state: state.value)
@pytest.mark.parametrize("case", EXPECTED)
def test_every_request_in_every_state_is_answered_as_kafka_does(case: str, state: ClassicState) -> None:
    event, outcomes = EXPECTED[case]
    assert tuple(rules.decide(group_in(state), event)) == outcomes[state]


def test_every_event_has_a_rule_and_an_expectation_in_every_state() -> None:
    assert set(rules.RULES) == set(get_args(rules.Event))
    assert all(set(row) == set(ClassicState) for row in rules.RULES.values())
    assert {type(event) for event, _ in EXPECTED.values()} == set(get_args(rules.Event))
    assert all(set(outcomes) == set(ClassicState) for _, outcomes in EXPECTED.values())


def test_a_rule_changes_nothing() -> None:
    for event, _ in EXPECTED.values():
        for state in ClassicState:
            group, before = group_in(state), group_in(state)
            rules.decide(group, event)
            assert group == before


def test_offsets_of_members_that_are_not_consumers_are_not_deleted_while_they_exist() -> None:
    for state in (P, C, S):
        group = group_in(state)
        group.protocol_type = "connect"
        assert tuple(rules.decide(group, rules.DeleteOffsets())) == NON_EMPTY


def test_while_members_join_the_size_limit_counts_only_members_that_have_rejoined() -> None:
    group = group_in(P)
    group.members["lead"].awaiting_join = group.members["dyn"].awaiting_join = True
    assert tuple(rules.decide(group, replace(NEW, max_size=2))) == FULL
    assert tuple(rules.decide(group, replace(KNOWN, member_id="stat", max_size=2))) == FULL
    assert tuple(rules.decide(group, replace(KNOWN, max_size=2))) == ok(JoinStep.REJOIN)


ALLOWED = {
    (P, E), (E, P), (S, P), (C, P), (P, C), (C, S), (E, D), (P, D), (C, D), (S, D), (D, D),
}  # fmt: skip


def test_states_follow_each_other_as_in_kafka() -> None:
    """From ``ClassicGroupState.validPreviousStates``."""
    assert {(before, after) for before, row in CLASSIC_TRANSITIONS.items() for after in row} == ALLOWED


@pytest.mark.parametrize("before", ClassicState)
@pytest.mark.parametrize("after", ClassicState)
def test_a_transition_that_is_not_in_the_table_raises_an_invariant_error(
    before: ClassicState, after: ClassicState
) -> None:
    group = ClassicGroup("g", before)
    if (before, after) in ALLOWED:
        group.enter(after, 5)
        assert (group.state, group.previous_state, group.state_timestamp_ms) == (after, before, 5)
    else:
        with pytest.raises(InvariantError, match="cannot go from"):
            group.enter(after, 5)
