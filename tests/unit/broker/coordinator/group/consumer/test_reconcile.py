"""Reconciliation of one member (KIP-848): it gives up before it gains, and gains only what is free."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from oncelog.broker.coordinator.group.consumer.consumer_group import ConsumerMember
from oncelog.broker.coordinator.group.consumer.reconcile import MustRejoin, ReconcileInput, reconcile
from oncelog.broker.coordinator.group.states import MemberState

T, U = b"topic-t", b"topic-u"


def member(
    state: MemberState = MemberState.STABLE,
    epoch: int = 5,
    assigned: Mapping[bytes, Mapping[int, int]] | None = None,
    revoking: Mapping[bytes, Mapping[int, int]] | None = None,
) -> ConsumerMember:
    return ConsumerMember(
        "m",
        epoch,
        epoch - 1,
        state,
        assigned={topic: dict(owned) for topic, owned in (assigned or {}).items()},
        revoking={topic: dict(owned) for topic, owned in (revoking or {}).items()},
    )


def goal(
    target: Mapping[bytes, set[int]],
    *,
    epoch: int = 5,
    subscribed: frozenset[bytes] = frozenset({T, U}),
    owners: Mapping[tuple[bytes, int], int] | None = None,
    reported: Mapping[bytes, set[int]] | None = None,
    changed: bool = False,
) -> ReconcileInput:
    return ReconcileInput(
        epoch,
        {topic: frozenset(partitions) for topic, partitions in target.items()},
        subscribed,
        lambda topic, partition: (owners or {}).get((topic, partition), -1),
        None if reported is None else {topic: frozenset(partitions) for topic, partitions in reported.items()},
        changed,
    )


def test_a_member_with_its_target_assignment_is_returned_unchanged() -> None:
    one = member(assigned={T: {0: 5}})
    assert reconcile(one, goal({T: {0}})) is one
    assert reconcile(one, goal({T: {0}}, changed=True)) is one, "it still subscribes to all that it has"


@pytest.mark.parametrize("reported", [None, {T: {0, 1}}, {T: {1}}])
def test_a_member_stays_at_its_epoch_until_it_has_revoked_its_partitions(
    reported: Mapping[bytes, set[int]] | None,
) -> None:
    """A member that does not report may still have everything."""
    after = reconcile(member(assigned={T: {0: 5, 1: 5}}), goal({T: {0, 2}}, epoch=6, reported=reported))
    assert (after.state, after.epoch) == (MemberState.UNREVOKED_PARTITIONS, 5)
    assert (after.assigned, after.revoking) == ({T: {0: 5}}, {T: {1: 5}})
    assert reconcile(after, goal({T: {0, 2}}, epoch=6, reported=reported)) is after


def test_after_revoking_a_partition_the_member_gets_new_partitions_at_the_new_epoch() -> None:
    waiting = member(MemberState.UNREVOKED_PARTITIONS, assigned={T: {0: 5}}, revoking={T: {1: 5}})
    after = reconcile(waiting, goal({T: {0, 2}}, epoch=6, owners={(T, 1): 5}, reported={T: {0}}))
    assert (after.state, after.epoch, after.previous_epoch) == (MemberState.STABLE, 6, 5)
    assert (after.assigned, after.revoking) == ({T: {0: 5, 2: 6}}, {})


def test_the_member_waits_for_a_partition_that_another_member_still_owns() -> None:
    after = reconcile(member(epoch=5), goal({T: {0, 1}}, epoch=6, owners={(T, 1): 4}, reported={}))
    assert (after.state, after.epoch, after.assigned) == (MemberState.UNRELEASED_PARTITIONS, 6, {T: {0: 6}})
    released = reconcile(after, goal({T: {0, 1}}, epoch=6, owners={(T, 0): 6}, reported={T: {0}}))
    assert (released.state, released.assigned) == (MemberState.STABLE, {T: {0: 6, 1: 6}})


@pytest.mark.parametrize("state", [MemberState.STABLE, MemberState.UNREVOKED_PARTITIONS])
def test_a_topic_that_is_no_longer_subscribed_is_given_up_at_once(state: MemberState) -> None:
    """The member keeps its epoch: the new target has not been computed yet."""
    revoking = {T: {3: 5}} if state is MemberState.UNREVOKED_PARTITIONS else None
    one = member(state, assigned={T: {0: 5}, U: {0: 5, 1: 5}}, revoking=revoking)
    asked = goal({T: {0}, U: {0, 1}}, subscribed=frozenset({T}), reported={T: {0, 3}, U: {0, 1}}, changed=True)
    after = reconcile(one, asked)
    assert (after.state, after.epoch) == (MemberState.UNREVOKED_PARTITIONS, 5)
    assert after.assigned == {T: {0: 5}}
    assert after.revoking == {U: {0: 5, 1: 5}, **(revoking or {})}
    assert one.revoking == (revoking or {}), "nothing is changed in place"


def test_the_member_does_not_wait_for_a_topic_that_it_has_already_given_up() -> None:
    one = member(assigned={T: {0: 5}, U: {0: 5}})
    after = reconcile(one, goal({T: {0}}, subscribed=frozenset({T}), reported={T: {0}}, changed=True))
    assert (after.state, after.assigned, after.revoking) == (MemberState.STABLE, {T: {0: 5}}, {})


@pytest.mark.parametrize("reported", [None, {T: {0}}])
def test_a_member_in_an_unknown_state_must_rejoin_unless_it_owns_nothing(
    reported: Mapping[bytes, set[int]] | None,
) -> None:
    one = member(MemberState.UNKNOWN, assigned={T: {0: 5}})
    with pytest.raises(MustRejoin):
        reconcile(one, goal({T: {0}}, epoch=6, reported=reported))
    after = reconcile(member(MemberState.UNKNOWN), goal({T: {0}}, epoch=6, reported={}))
    assert (after.state, after.epoch, after.assigned) == (MemberState.STABLE, 6, {T: {0: 6}})
