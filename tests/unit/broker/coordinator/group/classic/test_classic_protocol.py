"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup over time: who waits, who is answered when, who is removed."""

from __future__ import annotations

import pytest

from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup
from oncelog.broker.coordinator.group.states import ClassicState
from oncelog.errors import Error
from tests.support.group_host import GroupClient, MemoryGroupHost, subscription

MINUTE_MS = 60_000


@pytest.fixture
def host() -> MemoryGroupHost:
    return MemoryGroupHost({"t": 3, "u": 2})


@pytest.fixture
def g(host: MemoryGroupHost) -> GroupClient:
    return GroupClient(host)


def group_of(g: GroupClient) -> ClassicGroup:
    group = g.host.shard(g.group_id).groups[g.group_id]
    assert isinstance(group, ClassicGroup)
    return group


# Joining


def test_join_group_from_version_4_on_first_returns_a_member_id_to_a_dynamic_member(g: GroupClient) -> None:
    answer = g.join(version=4).value
    assert answer.error_code == Error.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("c-")
    assert len(answer.member_id) == len("c-") + 36


def test_join_group_below_version_4_adds_a_new_member_at_once(g: GroupClient) -> None:
    answer = g.join(version=3)
    g.host.pass_time(0)
    assert answer.value.error_code == Error.NONE
    assert answer.value.generation_id == 1


def test_a_pending_id_is_forgotten_after_the_session_timeout(g: GroupClient) -> None:
    member_id = g.join(session_timeout_ms=10_000).value.member_id
    g.host.pass_time(10_000)
    assert g.join(member_id).value.error_code == Error.UNKNOWN_MEMBER_ID


def test_an_unknown_group_refuses_a_member_that_names_an_id(g: GroupClient) -> None:
    answer = g.join("made-up").value
    assert (answer.error_code, answer.member_id) == (Error.UNKNOWN_MEMBER_ID, "made-up")
    assert "g" not in g.host.shard("g").groups


@pytest.mark.parametrize(("timeout_ms", "error"), [(5999, 26), (6000, 79), (1_800_000, 79), (1_800_001, 26)])
def test_session_timeouts_lie_between_the_configured_bounds(g: GroupClient, timeout_ms: int, error: int) -> None:
    assert g.join(session_timeout_ms=timeout_ms).value.error_code == error


def test_an_empty_group_id_is_refused(host: MemoryGroupHost) -> None:
    g = GroupClient(host, group_id="")
    assert g.join().value.error_code == Error.INVALID_GROUP_ID
    assert g.sync("m", 1).value.error_code == Error.INVALID_GROUP_ID
    assert g.heartbeat("m", 1) == Error.INVALID_GROUP_ID
    assert g.leave(("m", None)).value.error_code == Error.INVALID_GROUP_ID


def test_the_first_rebalance_waits_for_more_members_while_they_keep_joining() -> None:
    host = MemoryGroupHost({"t": 3}, {"group.initial.rebalance.delay.ms": "3000"})
    g = GroupClient(host)
    _, first = g.joined(rebalance_timeout_ms=10_000)
    host.pass_time(2999)
    assert not first.done
    _, second = g.joined(rebalance_timeout_ms=10_000)
    host.pass_time(1)  # 3 s: somebody came, so another 3 s
    assert not first.done
    host.pass_time(2999)
    assert not first.done
    host.pass_time(1)
    assert first.done
    assert second.done


def test_the_first_rebalance_waits_no_longer_than_the_rebalance_timeout() -> None:
    host = MemoryGroupHost({"t": 3}, {"group.initial.rebalance.delay.ms": "3000"})
    g = GroupClient(host)
    _, first = g.joined(rebalance_timeout_ms=8000)
    for _ in range(8):
        host.pass_time(999)
        g.joined(rebalance_timeout_ms=8000)
    host.pass_time(8000 - 8 * 999)
    assert first.done


def test_the_first_member_leads_and_only_the_leader_gets_the_members(g: GroupClient) -> None:
    lead, first = g.joined()
    other, second = g.joined()
    g.host.pass_time(0)
    assert first.value.leader == second.value.leader == lead
    assert {m.member_id for m in first.value.members} == {lead, other}
    assert second.value.members == []
    assert [m.metadata for m in first.value.members] == [subscription("t")] * 2
    assert (first.value.protocol_type, first.value.protocol_name) == ("consumer", "range")


def test_members_vote_for_a_protocol_that_all_of_them_know(g: GroupClient) -> None:
    _, first = g.joined(protocols={"a": b"1", "b": b"2", "c": b"3"})
    g.joined(protocols={"c": b"", "b": b""})
    g.joined(protocols={"b": b"", "c": b""})
    g.host.pass_time(0)
    assert first.value.protocol_name == "b"
    assert g.joined(protocols={"a": b""})[1].value.error_code == Error.INCONSISTENT_GROUP_PROTOCOL


def test_a_rebalance_keeps_members_that_rejoined_in_time_and_drops_the_others(g: GroupClient) -> None:
    lead, follower = g.stable(2, rebalance_timeout_ms=MINUTE_MS, session_timeout_ms=300_000)
    new, joining = g.joined(rebalance_timeout_ms=MINUTE_MS, session_timeout_ms=300_000)
    assert g.heartbeat(follower, 1) == Error.REBALANCE_IN_PROGRESS
    g.join(follower, session_timeout_ms=300_000)
    assert not joining.done
    g.host.pass_time(MINUTE_MS)
    assert joining.value.generation_id == 2
    assert joining.value.leader == follower
    assert set(group_of(g).members) == {follower, new}
    assert g.heartbeat(lead, 1) == Error.UNKNOWN_MEMBER_ID


def test_a_rebalance_ends_at_once_when_all_known_members_are_back(g: GroupClient) -> None:
    lead, follower = g.stable(2)
    _, joining = g.joined()
    g.join(follower)
    assert not joining.done
    g.join(lead)
    assert joining.value.generation_id == 2
    assert joining.value.leader == lead


def test_a_rebalance_waits_for_a_pending_member(g: GroupClient) -> None:
    (lead,) = g.stable(1)
    pending = g.join(session_timeout_ms=20_000).value.member_id
    rejoin = g.join(lead, protocols={"range": subscription("u")}, session_timeout_ms=30_000)
    assert not rejoin.done
    g.host.pass_time(20_000)
    assert rejoin.value.generation_id == 2
    assert g.join(pending).value.error_code == Error.UNKNOWN_MEMBER_ID


def test_a_follower_that_repeats_its_join_gets_the_current_generation(g: GroupClient) -> None:
    lead, follower = g.stable(2)
    answer = g.join(follower).value
    assert (answer.generation_id, answer.leader, answer.members) == (1, lead, [])
    assert group_of(g).state is ClassicState.STABLE


def test_a_leader_that_joins_again_makes_the_group_rebalance(g: GroupClient) -> None:
    lead, follower = g.stable(2)
    answer = g.join(lead)
    assert not answer.done
    assert g.heartbeat(follower, 1) == Error.REBALANCE_IN_PROGRESS


def test_a_leader_that_repeats_its_join_before_the_assignment_gets_the_members_again(g: GroupClient) -> None:
    lead, answer = g.joined()
    g.host.pass_time(0)
    assert g.join(lead).value == answer.value


def test_the_group_waits_at_most_five_minutes_for_a_new_member() -> None:
    host = MemoryGroupHost({"t": 3}, {"group.initial.rebalance.delay.ms": "600000"})
    g = GroupClient(host)
    member_id, answer = g.joined(rebalance_timeout_ms=1_200_000, session_timeout_ms=6000)
    host.pass_time(299_999)
    assert not answer.done
    host.pass_time(1)
    assert (answer.value.error_code, answer.value.member_id) == (Error.UNKNOWN_MEMBER_ID, "")
    assert member_id not in group_of(g).members


def test_a_group_accepts_no_more_members_than_allowed() -> None:
    host = MemoryGroupHost({"t": 3}, {"group.max.size": "2"})
    g = GroupClient(host)
    g.stable(2)
    answer = g.join().value
    assert (answer.error_code, answer.member_id) == (Error.GROUP_MAX_SIZE_REACHED, "")


def test_a_request_repeated_while_the_first_waits_is_answered_together_with_the_first(g: GroupClient) -> None:
    g.stable(1)
    member_id, first = g.joined()
    second = g.join(member_id)
    lead = group_of(g).leader_id
    assert lead is not None
    g.join(lead)
    assert first.value == second.value
    assert first.value.generation_id == 2


# Assigning


def test_followers_wait_for_the_leaders_assignment(g: GroupClient) -> None:
    lead, first = g.joined()
    follower, _ = g.joined()
    g.host.pass_time(0)
    waiting = g.sync(follower, 1)
    assert not waiting.done
    answer = g.sync(lead, 1, {lead: b"L", follower: b"F"})
    assert (waiting.value.assignment, answer.value.assignment) == (b"F", b"L")
    assert (answer.value.protocol_type, answer.value.protocol_name) == ("consumer", "range")
    assert first.value.error_code == Error.NONE


def test_an_assignment_is_delivered_only_once_it_is_stored(g: GroupClient) -> None:
    lead, _ = g.joined()
    g.host.pass_time(0)
    g.host.sync_at_once = False
    answer = g.sync(lead, 1, {lead: b"L"})
    assert not answer.done
    assert group_of(g).state is ClassicState.COMPLETING_REBALANCE
    g.host.sync()
    assert answer.value.assignment == b"L"
    assert group_of(g).state is ClassicState.STABLE


@pytest.mark.parametrize(
    ("logged", "reported"),
    [
        (Error.NOT_ENOUGH_REPLICAS, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_COORDINATOR),
        (Error.KAFKA_STORAGE_ERROR, Error.NOT_COORDINATOR),
        (Error.MESSAGE_TOO_LARGE, Error.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_assignment_that_cannot_be_stored_is_refused_and_the_group_rebalances(
    g: GroupClient, logged: Error, reported: Error
) -> None:
    lead, _ = g.joined()
    g.host.pass_time(0)
    g.host.append_error = logged
    assert g.sync(lead, 1, {lead: b"L"}).value.error_code == reported
    assert group_of(g).state is ClassicState.PREPARING_REBALANCE


def test_a_member_that_the_leader_left_out_gets_an_empty_assignment(g: GroupClient) -> None:
    lead, _ = g.joined()
    follower, _ = g.joined()
    g.host.pass_time(0)
    waiting = g.sync(follower, 1)
    g.sync(lead, 1, {lead: b"L"})
    assert waiting.value.assignment == b""


def test_members_that_wait_for_an_assignment_rejoin_when_a_member_changes(g: GroupClient) -> None:
    g.joined()
    follower, _ = g.joined()
    g.host.pass_time(0)
    waiting = g.sync(follower, 1)
    g.joined()
    assert waiting.value.error_code == Error.REBALANCE_IN_PROGRESS


def test_a_member_that_never_syncs_is_removed_after_the_rebalance_timeout(g: GroupClient) -> None:
    lead, _ = g.joined(session_timeout_ms=300_000)
    silent, _ = g.joined(session_timeout_ms=300_000)
    g.host.pass_time(0)
    g.sync(lead, 1, {lead: b""})
    g.host.pass_time(MINUTE_MS)
    assert silent not in group_of(g).members
    assert g.heartbeat(lead, 1) == Error.REBALANCE_IN_PROGRESS


def test_a_member_with_a_rebalance_timeout_of_0_still_has_a_second_to_sync(g: GroupClient) -> None:
    lead, _ = g.joined(session_timeout_ms=300_000, rebalance_timeout_ms=0)
    g.host.pass_time(0)
    g.host.pass_time(500)
    assert g.sync(lead, 1, {lead: b"a"}).value.assignment == b"a"
    silent, _ = g.joined(session_timeout_ms=300_000, rebalance_timeout_ms=0)
    g.host.pass_time(2000)
    assert silent not in group_of(g).members


# Sessions


def test_a_member_without_heartbeats_is_removed_and_the_group_rebalances(g: GroupClient) -> None:
    lead, follower = g.stable(2, session_timeout_ms=10_000)
    for _ in range(3):
        g.host.pass_time(5000)
        g.heartbeat(lead, 1)
    assert follower not in group_of(g).members
    assert g.heartbeat(lead, 1) == Error.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("how", ["heartbeat", "commit", "join", "sync"])
def test_every_request_of_a_member_renews_its_session(g: GroupClient, how: str) -> None:
    _, follower = g.stable(2, session_timeout_ms=10_000)
    lead = group_of(g).leader_id
    assert lead is not None
    g.host.pass_time(9000)
    g.heartbeat(lead, 1)
    match how:
        case "heartbeat":
            assert g.heartbeat(follower, 1) == Error.NONE
        case "commit":
            assert g.commit(1, member_id=follower, generation=1).value == Error.NONE
        case _:
            g.join(lead)
            g.join(follower)
            if how == "sync":
                g.sync(lead, 2, {})
                g.sync(follower, 2)
    g.host.pass_time(9000)
    assert follower in group_of(g).members


def test_when_the_last_member_leaves_the_group_is_empty_in_the_next_generation(g: GroupClient) -> None:
    (lead,) = g.stable(1)
    g.host.pass_time(10_000)
    group = group_of(g)
    assert (group.state, group.generation, group.leader_id, group.protocol_name) == (ClassicState.EMPTY, 2, None, None)
    assert g.heartbeat(lead, 1) == Error.UNKNOWN_MEMBER_ID
    assert g.sync(lead, 2).value.error_code == Error.UNKNOWN_MEMBER_ID


def test_heartbeats_are_accepted_while_members_sync(g: GroupClient) -> None:
    """Check 60."""
    lead, _ = g.joined()
    g.host.pass_time(0)
    assert g.heartbeat(lead, 1) == Error.NONE
    assert g.heartbeat(lead, 2) == Error.ILLEGAL_GENERATION


def test_a_member_that_waits_for_an_answer_does_not_expire(g: GroupClient) -> None:
    lead, follower = g.stable(2, session_timeout_ms=10_000)
    answer = g.join(lead, session_timeout_ms=10_000)
    for _ in range(4):
        g.host.pass_time(5000)
        g.heartbeat(follower, 1)
    assert not answer.done
    assert lead in group_of(g).members


# Leaving


def test_a_member_that_leaves_makes_the_others_rebalance(g: GroupClient) -> None:
    lead, follower = g.stable(2)
    answer = g.leave((follower, None)).value
    assert (answer.error_code, answer.members[0].error_code) == (Error.NONE, Error.NONE)
    assert g.heartbeat(lead, 1) == Error.REBALANCE_IN_PROGRESS


def test_several_members_leave_at_once_each_with_its_own_outcome(g: GroupClient) -> None:
    lead, follower = g.stable(2)
    pending = g.join().value.member_id
    answer = g.leave((follower, None), ("stranger", None), (pending, None), ("", "no-such-instance")).value
    assert [m.error_code for m in answer.members] == [0, 25, 0, 25]
    assert set(group_of(g).members) == {lead}


def test_leaving_an_unknown_group_returns_an_error_for_each_member(g: GroupClient) -> None:
    answer = g.leave(("m", None)).value
    assert (answer.error_code, [m.error_code for m in answer.members]) == (0, [25])


def test_a_join_that_waits_is_answered_when_its_member_leaves(g: GroupClient) -> None:
    g.stable(1)
    member_id, waiting = g.joined()
    g.leave((member_id, None))
    assert waiting.value.error_code == Error.UNKNOWN_MEMBER_ID


# Static members (KIP-345)


def stable_static(g: GroupClient) -> tuple[str, str]:
    """A leader and a static follower ``i``, stable at generation 1; their ids."""
    lead, _ = g.joined()
    waiting = g.join(instance_id="i")
    g.host.pass_time(0)
    static = waiting.value.member_id
    g.sync(lead, 1, {lead: b"L", static: b"S"})
    assert g.sync(static, 1, instance_id="i").value.assignment == b"S"
    return lead, static


def test_a_static_member_that_comes_back_takes_its_place_without_a_rebalance(g: GroupClient) -> None:
    lead, old = stable_static(g)
    answer = g.join(instance_id="i").value
    assert (answer.error_code, answer.generation_id, answer.leader) == (Error.NONE, 1, lead)
    assert answer.member_id != old
    assert answer.member_id.startswith("i-")
    assert g.heartbeat(lead, 1) == Error.NONE
    assert g.sync(answer.member_id, 1, instance_id="i").value.assignment == b"S"
    assert g.heartbeat(old, 1, "i") == Error.FENCED_INSTANCE_ID
    assert g.heartbeat(old, 1) == Error.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("version", "reported"), [(8, False), (9, True)])
def test_a_static_leader_that_comes_back_may_keep_the_assignment_from_version_9_on(
    g: GroupClient, version: int, reported: bool
) -> None:
    waiting = g.join(instance_id="i")
    g.host.pass_time(0)
    old = waiting.value.member_id
    g.sync(old, 1, {old: b"S"}, instance_id="i")
    answer = g.join(instance_id="i", version=version).value
    assert answer.skip_assignment == reported
    assert bool(answer.members) == reported
    assert answer.leader == (answer.member_id if reported else old)


def test_a_static_member_that_changes_the_chosen_protocol_makes_the_group_rebalance(g: GroupClient) -> None:
    waiting = g.join(instance_id="i", protocols={"range": b"", "sticky": b""})
    g.host.pass_time(0)
    g.sync(waiting.value.member_id, 1, {}, instance_id="i")
    answer = g.join(instance_id="i", protocols={"sticky": b"", "range": b""})
    assert answer.value.generation_id == 2
    assert answer.value.protocol_name == "sticky"


def test_a_group_with_zero_rebalance_timeouts_waits_without_a_busy_timer(g: GroupClient) -> None:
    """Its timer was due again at once, in the turn in which it fired, forever."""
    waiting = g.join(instance_id="i", rebalance_timeout_ms=0)
    g.host.pass_time(0)
    static = waiting.value.member_id
    g.sync(static, 1, {static: b"S"}, instance_id="i")
    other, answer = g.joined(rebalance_timeout_ms=0)
    assert not answer.done
    g.leave((other, None))
    g.host.pass_time(0)
    assert group_of(g).state is ClassicState.PREPARING_REBALANCE
    again = g.join(static, instance_id="i", rebalance_timeout_ms=0)
    g.host.pass_time(1000)
    assert again.value.generation_id == 2


def test_a_returning_static_member_is_answered_when_its_record_is_durable(g: GroupClient) -> None:
    _, old = stable_static(g)
    g.host.sync_at_once = False
    answer = g.join(instance_id="i")
    assert not answer.done
    g.host.sync()
    assert answer.value.error_code == Error.NONE
    assert old not in group_of(g).members


def test_a_static_member_whose_new_id_cannot_be_stored_keeps_the_old_one(g: GroupClient) -> None:
    lead, old = stable_static(g)
    g.host.append_error = Error.NOT_ENOUGH_REPLICAS
    answer = g.join(instance_id="i").value
    assert (answer.error_code, answer.member_id) == (Error.COORDINATOR_NOT_AVAILABLE, "")
    g.host.append_error = Error.NONE
    assert g.heartbeat(old, 1, "i") == Error.NONE
    assert set(group_of(g).members) == {lead, old}


def test_the_former_process_of_a_static_member_is_fenced_while_its_request_waits(g: GroupClient) -> None:
    lead, _ = g.joined()
    g.host.pass_time(0)
    old = g.join(instance_id="i")
    new = g.join(instance_id="i")
    assert (old.value.error_code, old.value.protocol_name) == (Error.FENCED_INSTANCE_ID, None)
    g.join(lead)
    assert new.value.generation_id == 2


def test_a_static_member_that_misses_a_rebalance_stays_in_the_group(g: GroupClient) -> None:
    lead, static = stable_static(g)
    g.join(lead, session_timeout_ms=300_000)
    g.host.pass_time(9000)
    g.heartbeat(static, 1, "i")
    for _ in range(8):
        g.host.pass_time(9000)
        g.heartbeat(static, group_of(g).generation, "i")
    assert set(group_of(g).members) == {lead, static}
    assert group_of(g).generation == 2


def test_an_administrator_removes_a_static_member_by_its_instance(g: GroupClient) -> None:
    lead, static = stable_static(g)
    assert g.leave(("", "i")).value.members[0].error_code == Error.NONE
    assert set(group_of(g).members) == {lead}
    assert g.heartbeat(static, 1, "i") == Error.UNKNOWN_MEMBER_ID
    again = g.join(instance_id="i")
    g.join(lead)
    assert again.value.generation_id == 2


def test_a_group_of_absent_static_members_waits_until_one_of_them_returns(g: GroupClient) -> None:
    """No leader can be chosen, so the rebalance is tried again after its timeout."""
    waiting = g.join(instance_id="i", session_timeout_ms=600_000)
    dynamic, _ = g.joined(session_timeout_ms=600_000)
    g.host.pass_time(0)
    g.sync(waiting.value.member_id, 1, {}, instance_id="i")
    g.sync(dynamic, 1)
    g.leave((dynamic, None))
    g.host.pass_time(MINUTE_MS)
    assert group_of(g).state is ClassicState.PREPARING_REBALANCE
    back = g.join(waiting.value.member_id, instance_id="i", session_timeout_ms=600_000)
    assert back.value.generation_id == 2


# Another coordinator


def test_a_node_that_does_not_coordinate_the_group_answers_not_coordinator(g: GroupClient) -> None:
    (lead,) = g.stable(1)
    g.host.unload()
    assert g.heartbeat(lead, 1) == Error.NOT_COORDINATOR
    assert g.join(lead).value.error_code == Error.NOT_COORDINATOR


def test_waiting_requests_are_refused_when_the_coordinator_moves(g: GroupClient) -> None:
    lead, _ = g.joined()
    follower, _ = g.joined()
    g.host.pass_time(0)
    syncing = g.sync(follower, 1)
    other = GroupClient(g.host, "h")
    other.stable(1)
    _, joining = other.joined()
    g.host.unload()
    assert syncing.value.error_code == Error.NOT_COORDINATOR
    assert joining.value.error_code == Error.NOT_COORDINATOR
    assert g.host.timers.next_ms() is None
    assert lead != follower


def test_a_loaded_group_is_stable_and_its_members_have_a_new_session(g: GroupClient) -> None:
    lead, follower = g.stable(2, session_timeout_ms=10_000)
    g.host.pass_time(9000)
    g.host.restart()
    assert group_of(g).state is ClassicState.STABLE
    g.host.pass_time(9000)
    assert g.heartbeat(lead, 1) == Error.NONE
    assert g.sync(follower, 1).value.assignment == follower.encode()
    g.host.pass_time(10_000)
    assert group_of(g).empty
    g.host.restart()
    assert (group_of(g).state, group_of(g).generation) == (ClassicState.EMPTY, 2)


def test_a_loaded_group_above_the_limit_rebalances(g: GroupClient) -> None:
    g.stable(3)
    small = MemoryGroupHost({"t": 3}, {"group.max.size": "2"})
    small.log = g.host.log
    small.restart()
    group = small.shard("g").groups["g"]
    assert group.state is ClassicState.PREPARING_REBALANCE
