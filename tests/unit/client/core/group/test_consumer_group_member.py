"""A member of a group of the consumer protocol (KIP-848), without a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import pytest

from oncelog.client.core.connection.wire import CONSUMER_GROUP_HEARTBEAT, FIND_COORDINATOR, METADATA, RequestFailure
from oncelog.client.core.group.member_states import MAY_FOLLOW, ClientMemberState
from oncelog.errors import Error, InvariantError
from oncelog.protocol.generated.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from oncelog.types import TopicPartition
from tests.unit.client.core.consumer_group import BEAT_MS, TOPIC_ID, Group
from tests.unit.client.core.producers import P0, P1, TOPIC, coordinator

S = ClientMemberState


def test_a_revocation_that_ends_after_the_member_was_fenced_does_not_return_its_partitions() -> None:
    """Its listener outlasted the rebalance timeout: by then, the partitions of the old target belong to others."""
    group = Group()
    group.answer(1, [P0, P1])
    group.answer(1)
    group.answer(2, [P0])
    (leaving, lost, slow), *_ = group.program.revoking
    assert (leaving, lost) == ([P1], False)
    group.fence()
    (gone, lost, reported) = group.program.revoking[-1]
    assert (sorted(gone), lost) == ([P0, P1], True)
    reported.resolve(None)
    assert group.owned == []
    group.answer(3, [P1])
    assert group.owned == [P1]
    slow.resolve(None)
    assert group.owned == [P1]


def test_a_new_assignment_waits_until_the_listener_has_handled_the_loss() -> None:
    group = Group()
    group.answer(1, [P0])
    group.fence()
    group.answer(2, [P0, P1])
    assert all(state.revoking for state in group.subscription.assigned.values())
    group.program.revoking[-1][2].resolve(None)
    assert group.owned == [P0, P1]
    assert not any(state.revoking for state in group.subscription.assigned.values())


def test_a_member_that_stops_while_joining_sends_a_leave_request() -> None:
    """Otherwise its partitions would wait for its session to end."""
    group = Group()
    joining = group.beat()
    assert joining.message.member_epoch == 0
    group.member.leave()
    assert group.beat().message.member_epoch == -1


def test_a_member_that_is_about_to_rejoin_can_leave_the_group() -> None:
    group = Group()
    group.refuse(Error.COORDINATOR_LOAD_IN_PROGRESS)
    group.member.leave()
    assert group.beat().message.member_epoch == -1


def test_a_revocation_that_ends_after_the_member_left_assigns_no_partition() -> None:
    """After unsubscribe(), the consumer must not read partitions of the group that it left."""
    group = Group()
    group.answer(1, [P0, P1])
    group.answer(1)
    group.answer(2, [P0])
    group.member.leave()
    group.subscription.unsubscribe()
    group.program.revoking[-1][2].resolve(None)
    assert group.owned == []


def test_a_revocation_that_ends_after_the_member_failed_has_no_effect() -> None:
    group = Group()
    group.answer(1, [P0, P1])
    group.answer(1)
    group.answer(2, [P0])
    group.refuse(Error.GROUP_AUTHORIZATION_FAILED)
    assert group.program.failure is not None
    group.subscription.take(())
    group.program.revoking[-1][2].resolve(None)
    assert group.owned == []


# --- what is told to the coordinator


def test_the_first_heartbeat_of_a_member_that_joins_contains_all_its_fields() -> None:
    group = Group(group_instance_id="one", group_remote_assignor="range", client_rack="r1", rebalance_timeout_ms=7000)
    joining = group.beat().message
    assert (joining.group_id, joining.member_id, joining.member_epoch) == ("g", "m", 0)
    assert (joining.instance_id, joining.server_assignor, joining.rack_id) == ("one", "range", "r1")
    assert (joining.rebalance_timeout_ms, joining.subscribed_topic_names) == (7000, [TOPIC])
    assert joining.topic_partitions == []


def test_a_member_that_could_not_reach_its_coordinator_sends_all_fields_again() -> None:
    """The coordinator may know nothing of what the lost heartbeats said."""
    group = stable()
    for error in (Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NONE):
        beat = group.beat()
        beat.answer(ConsumerGroupHeartbeatResponse(error_code=error, heartbeat_interval_ms=BEAT_MS, member_epoch=1))
    assert beat.message.subscribed_topic_names == [TOPIC]
    assert [(item.topic_id, item.partitions) for item in beat.message.topic_partitions] == [(TOPIC_ID, [0, 1])]


def test_a_member_without_a_coordinator_leaves_without_a_request() -> None:
    group = Group()
    group.beat().answer(RequestFailure(Error.NETWORK_EXCEPTION, "lost", sent=True))
    group.wire.pass_time(BEAT_MS)
    assert group.member.leave().done


def test_a_member_requests_the_names_of_unknown_topic_ids() -> None:
    group = stable()
    assert group.wire.count(METADATA) == 0
    group.answer_with_new_topic()
    group.wire.pass_time(BEAT_MS)
    assert [item.name for item in group.wire.take(METADATA).message.topics] == [TOPIC]


def test_a_program_that_polls_within_max_poll_interval_stays_in_the_group() -> None:
    group = Group(max_poll_interval_ms=3 * BEAT_MS)
    group.answer(1, [P0])
    group.program.stuck = True  # at no heartbeat does it wait for records
    for _ in range(10):
        group.member.polled(group.wire.now_ms())
        group.answer(1)
    assert group.member.state is S.STABLE


@pytest.mark.parametrize("stuck", [True, False])
def test_a_leaving_static_member_keeps_its_partitions_for_its_session_timeout(stuck: bool) -> None:
    """Also if its program is stuck: as documented for ``max.poll.interval.ms``, its partitions wait for it."""
    group = Group(group_instance_id="one", max_poll_interval_ms=BEAT_MS // 2)
    group.answer(1, [P0, P1])
    group.answer(1)
    if stuck:
        group.program.stuck = True
    else:
        group.member.leave()
    farewell = group.beat().message
    assert (farewell.member_epoch, farewell.member_id, farewell.instance_id) == (-2, "m", "one")


# --- the states


def stable() -> Group:
    group = Group()
    group.answer(1, [P0, P1])
    group.answer(1)
    return group


def resolving() -> Group:
    group = stable()
    group.answer_with_new_topic()
    return group


def reconciling() -> Group:
    group = stable()
    group.answer(2, [P0])
    return group


def fenced() -> Group:
    group = stable()
    group.fence()
    return group


def rejoined() -> Group:
    group = fenced()
    group.answer(3, [P1])
    return group


def unsubscribed() -> Group:
    group = stable()
    group.member.leave()
    group.wire.take(CONSUMER_GROUP_HEARTBEAT)
    return group


def failed() -> Group:
    group = stable()
    group.refuse(Error.GROUP_AUTHORIZATION_FAILED)
    return group


IN: Mapping[ClientMemberState, Callable[[], Group]] = {
    S.JOINING: Group,
    S.STABLE: stable,
    S.RESOLVING: resolving,
    S.RECONCILING: reconciling,
    S.FENCED: fenced,
    S.REJOINED: rejoined,
    S.UNSUBSCRIBED: unsubscribed,
    S.FATAL: failed,
}
in_each_state = pytest.mark.parametrize("state", ClientMemberState)
while_joined = pytest.mark.parametrize("state", [state for state in ClientMemberState if state.joined])
before_the_end = pytest.mark.parametrize("state", [state for state in ClientMemberState if not state.ended])


def rejoin(group: Group) -> None:
    """The member asks to join as a new one, and reads what it is assigned."""
    joining = group.beat()
    message = joining.message
    assert (message.member_epoch, message.subscribed_topic_names, message.topic_partitions) == (0, [TOPIC], [])
    joining.answer(
        ConsumerGroupHeartbeatResponse(
            member_id="m",
            member_epoch=7,
            heartbeat_interval_ms=BEAT_MS,
            assignment=Assignment([TopicPartitions(TOPIC_ID, [1])]),
        )
    )
    assert (group.member.state, group.owned, group.member.identity.generation_id) == (S.STABLE, [P1], 7)
    (report,) = group.beat().message.topic_partitions
    assert (report.topic_id, report.partitions) == (TOPIC_ID, [1])


@in_each_state
def test_an_assignment_is_in_force_only_while_the_member_is_stable(state: ClientMemberState) -> None:
    group = IN[state]()
    assert (group.member.state, group.member.stable) == (state, state is S.STABLE)


@pytest.mark.parametrize(("state", "following"), list(product(ClientMemberState, ClientMemberState)))
def test_a_member_makes_only_the_transitions_of_the_table(
    state: ClientMemberState, following: ClientMemberState
) -> None:
    group = IN[state]()
    if following in MAY_FOLLOW[state]:
        group.member._become(following)
        assert group.member.state is following
        return
    with pytest.raises(InvariantError, match=f"member m of group 'g' cannot go from {state.name} to {following.name}"):
        group.member._become(following)
    assert group.member.state is state


def test_the_final_state_of_a_member_is_reachable_from_every_state_and_never_left() -> None:
    ends = {state for state in ClientMemberState if state.ended}
    assert all(ends <= set(following) for following in MAY_FOLLOW.values())
    assert all(set(MAY_FOLLOW[state]) == ends for state in ends)


def test_the_reconciliation_starts_when_names_of_assigned_topic_ids_become_known() -> None:
    group = resolving()
    group.learn_new_topic()
    assert (group.member.state, group.program.revoking[-1][:2]) == (S.RECONCILING, ([P1], False))
    group.program.listened()
    assert (group.member.state, group.owned) == (S.STABLE, [TopicPartition("new", 0), P0])


def test_a_newer_target_assignment_replaces_one_whose_topic_names_are_unknown() -> None:
    group = resolving()
    group.answer(3, [P0, P1])
    assert (group.member.state, group.owned, group.program.revoking) == (S.STABLE, [P0, P1], [])


def test_a_newer_target_assignment_waits_for_the_reconciliation_in_progress() -> None:
    group = reconciling()
    group.answer(3, [P1])
    assert (group.member.state, len(group.program.revoking)) == (S.RECONCILING, 1)
    group.program.revoking[-1][2].resolve(None)
    assert (group.member.state, group.owned) == (S.RECONCILING, [P0])
    assert group.program.revoking[-1][:2] == ([P0], False)
    group.program.listened()
    assert (group.member.state, group.owned) == (S.STABLE, [P1])


@before_the_end
@pytest.mark.parametrize("error", [Error.FENCED_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID])
def test_a_refused_member_loses_what_it_owns_and_joins_again(state: ClientMemberState, error: Error) -> None:
    group = IN[state]()
    owned = group.owned
    group.refuse(error)
    assert group.member.state is (S.FENCED if owned else S.JOINING)
    if owned:
        assert group.program.revoking[-1][:2] == (owned, True)
        assert all(state.revoking for state in group.subscription.assigned.values())
    group.program.listened()
    assert (group.member.state, group.owned, group.member.identity.generation_id) == (S.JOINING, [], 0)
    rejoin(group)


def test_a_fenced_member_that_owns_nothing_joins_again_at_once() -> None:
    """Everything was revoked, and the listener is still being told that nothing is assigned instead."""
    group = stable()
    group.program.slow = True
    group.answer(2, [])
    group.program.revoking[-1][2].resolve(None)
    assert (group.member.state, group.owned) == (S.RECONCILING, [])
    group.fence()
    assert (group.member.state, len(group.program.revoking)) == (S.JOINING, 1)
    group.program.slow = False
    rejoin(group)
    group.program.listened()
    assert (group.member.state, group.owned) == (S.STABLE, [P1])


def test_a_member_that_rejoins_before_its_listener_returns_applies_the_target_afterwards() -> None:
    group = rejoined()
    group.answer(3)
    assert (group.member.state, group.owned) == (S.REJOINED, [P0, P1])
    group.program.listened()
    assert (group.member.state, group.owned) == (S.STABLE, [P1])


def test_a_member_that_joins_again_without_a_target_owns_nothing_once_its_listener_returns() -> None:
    group = fenced()
    group.answer(3)
    assert (group.member.state, group.member.stable) == (S.REJOINED, False)
    group.program.listened()
    assert (group.member.state, group.owned) == (S.STABLE, [])


@while_joined
def test_the_member_of_a_stuck_program_leaves_and_joins_again_at_the_next_poll(state: ClientMemberState) -> None:
    group = IN[state]()
    owned = group.owned
    group.program.stuck = True
    for _ in range(1000):
        if not group.member.state.joined:
            break
        sent = group.beat()
        if sent.message.member_epoch != -1:
            sent.answer(ConsumerGroupHeartbeatResponse(member_id="m", member_epoch=4, heartbeat_interval_ms=BEAT_MS))
    assert (group.member.state, group.program.revoking[-1][:2]) == (S.FENCED, (owned, True))
    group.wire.pass_time(100 * BEAT_MS)
    assert [sent.message.member_epoch for sent in group.wire.sent if sent.api is CONSUMER_GROUP_HEARTBEAT] in ([], [-1])
    group.wire.sent.clear()
    group.program.listened()
    assert (group.member.state, group.owned) == (S.JOINING, [])
    group.program.stuck = False
    group.member.polled(group.wire.now_ms())
    rejoin(group)


def nothing_more_happens(group: Group, state: ClientMemberState) -> None:
    """Whatever arrives: no heartbeat, no call of the program, no partition."""
    group.subscription.unsubscribe()
    group.subscription.subscribe([TOPIC], None, None)
    calls = (len(group.program.revoking), len(group.program.assigning))
    group.program.listened()
    group.learn_new_topic()
    group.member.polled(group.wire.now_ms())
    group.member.poll(group.wire.now_ms())
    group.member.subscription_changed("other topics")
    group.wire.pass_time(100 * BEAT_MS)
    assert group.wire.count(CONSUMER_GROUP_HEARTBEAT) == 0
    assert (len(group.program.revoking), len(group.program.assigning)) == calls
    assert (group.member.state, group.member.stable, group.owned) == (state, False, [])


@in_each_state
def test_leaving_ends_the_membership_in_every_state(state: ClientMemberState) -> None:
    group = IN[state]()
    in_flight = group.beat() if not state.ended else None
    left = group.member.leave()
    farewell = group.beat()
    assert (farewell.message.member_epoch, left.done) == (-1, False)
    farewell.answer(ConsumerGroupHeartbeatResponse(member_id="m", member_epoch=-1))
    assert left.done
    if in_flight is not None:
        in_flight.answer(
            ConsumerGroupHeartbeatResponse(
                member_id="m", member_epoch=9, assignment=Assignment([TopicPartitions(TOPIC_ID, [0, 1])])
            )
        )
    nothing_more_happens(group, S.UNSUBSCRIBED)


@before_the_end
def test_a_fatal_error_ends_the_membership_in_every_state(state: ClientMemberState) -> None:
    group = IN[state]()
    group.refuse(Error.GROUP_AUTHORIZATION_FAILED)
    assert group.program.failure is not None
    nothing_more_happens(group, S.FATAL)


@pytest.mark.parametrize("state", [state for state in ClientMemberState if state.ended])
def test_a_refused_coordinator_lookup_is_reported_even_after_the_member_has_ended(state: ClientMemberState) -> None:
    """The offsets of the group are still committed through the same finder."""
    group = IN[state]()
    group.program.failure = None
    group.member.finder.forget()
    group.member.finder.look_up()
    refusal = coordinator("g")
    refusal.coordinators[0].error_code = Error.GROUP_AUTHORIZATION_FAILED
    group.wire.take(FIND_COORDINATOR).answer(refusal)
    assert group.program.failure is not None
    assert group.member.state is S.FATAL
