"""The next step of a member towards its target assignment: revoke first, then wait, then assign (KIP-848).

Pure: ``consumer_draft`` calls :func:`reconcile` at each heartbeat and writes the result. A member moves to the target's
epoch when it has given up the partitions that it must not keep; a partition goes to its new owner only when the former
owner has confirmed giving it up. Source: Kafka's ``CurrentAssignmentBuilder`` (4.4.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from oncelog.broker.coordinator.group.consumer.consumer_group import (
    Assignment,
    ConsumerMember,
    OwnedPartitions,
    TopicId,
)
from oncelog.broker.coordinator.group.states import MemberState

Reported = Mapping[TopicId, frozenset[int]] | None
"""The partitions that the member reports as its own; None if it did not report any."""


@dataclass(frozen=True, slots=True)
class ReconcileInput:
    """The member's target, and what its next step depends on."""

    epoch: int
    target: Assignment
    subscribed: frozenset[TopicId]
    """The topics whose partitions the member may still own."""
    owner_epoch: Callable[[TopicId, int], int]
    """Returns the epoch at which a member owns a partition, -1 if the partition is free."""
    reported: Reported = None
    subscription_changed: bool = False


class MustRejoin(Exception):
    """The member is in a state unknown to this version: it must give everything up and join again."""


@dataclass(frozen=True, slots=True)
class ReconcileRule:
    label: str
    next: Callable[[ConsumerMember, ReconcileInput], ConsumerMember]


def _from_stable(member: ConsumerMember, goal: ReconcileInput) -> ConsumerMember:
    if member.epoch != goal.epoch:
        return _advance(member, goal)
    return _drop_unsubscribed(member, goal) if goal.subscription_changed else member


def _from_unrevoked(member: ConsumerMember, goal: ReconcileInput) -> ConsumerMember:
    if not _still_owns(member.revoking, goal.reported):
        return _advance(member, goal)
    return _drop_unsubscribed(member, goal) if goal.subscription_changed else member


def _from_unknown(member: ConsumerMember, goal: ReconcileInput) -> ConsumerMember:
    if goal.reported is None or goal.reported:
        raise MustRejoin
    return _advance(member, goal)


RULES: Mapping[MemberState, ReconcileRule] = {
    MemberState.STABLE: ReconcileRule(
        "at another epoch than the target's: take the next step; else only give up topics to which it no longer "
        "subscribes",
        _from_stable,
    ),
    MemberState.UNREVOKED_PARTITIONS: ReconcileRule(
        "still owns what it must give up: wait, but also give up topics to which it no longer subscribes; else take "
        "the next step",
        _from_unrevoked,
    ),
    MemberState.UNRELEASED_PARTITIONS: ReconcileRule(
        "take the next step: others may have released", lambda m, g: _advance(m, g)
    ),
    MemberState.UNKNOWN: ReconcileRule(
        "owns nothing: take the next step; else FENCED_MEMBER_EPOCH (110)", _from_unknown
    ),
}


def reconcile(member: ConsumerMember, goal: ReconcileInput) -> ConsumerMember:
    """The member after this heartbeat; the same object if nothing changes."""
    if not goal.subscription_changed and member.reconciled_to(goal.epoch):
        return member
    return RULES[member.state].next(member, goal)


def _still_owns(revoking: OwnedPartitions, reported: Reported) -> bool:
    """Whether the member still has any of ``revoking``; a member that does not report may have all of them."""
    if reported is None:
        return True
    return any(partitions & revoking.get(topic, {}).keys() for topic, partitions in reported.items())


def _advance(member: ConsumerMember, goal: ReconcileInput) -> ConsumerMember:
    assigned: dict[TopicId, dict[int, int]] = {}
    revoking: dict[TopicId, dict[int, int]] = {}
    gained: dict[TopicId, list[int]] = {}
    unreleased = False
    for topic in goal.target.keys() | member.assigned.keys():
        target = goal.target.get(topic, frozenset()) if topic in goal.subscribed else frozenset()
        mine = member.assigned.get(topic, {})
        released = member.revoking.get(topic, {})
        keep = {p: epoch for p, epoch in mine.items() if p in target}
        give_up = {p: epoch for p, epoch in mine.items() if p not in target}
        wanted = sorted(target - keep.keys())
        free = [p for p in wanted if p in released or goal.owner_epoch(topic, p) == -1]
        unreleased = unreleased or len(free) < len(wanted)
        for place, partitions in ((assigned, keep), (revoking, give_up)):
            if partitions:
                place[topic] = partitions
        if free:
            gained[topic] = free
    if revoking and _still_owns(revoking, goal.reported):
        return replace(
            member.at_epoch(member.epoch),
            state=MemberState.UNREVOKED_PARTITIONS,
            assigned=assigned,
            revoking=revoking,
        )
    for topic, new in gained.items():
        assigned.setdefault(topic, {}).update(dict.fromkeys(new, goal.epoch))
    return replace(
        member.at_epoch(goal.epoch),
        state=MemberState.UNRELEASED_PARTITIONS if unreleased else MemberState.STABLE,
        assigned=assigned,
        revoking={},
    )


def _drop_unsubscribed(member: ConsumerMember, goal: ReconcileInput) -> ConsumerMember:
    """Keep the member's epoch, but let the member give up at once the topics to which it no longer subscribes."""
    gone = {topic: epochs for topic, epochs in member.assigned.items() if topic not in goal.subscribed}
    if not gone:
        return member
    assigned = {topic: epochs for topic, epochs in member.assigned.items() if topic in goal.subscribed}
    revoking = {topic: dict(epochs) for topic, epochs in member.revoking.items()}
    for topic, epochs in gone.items():
        revoking.setdefault(topic, {}).update(epochs)
    changed = replace(member.at_epoch(member.epoch), assigned=assigned)
    if _still_owns(revoking, goal.reported):
        return replace(changed, state=MemberState.UNREVOKED_PARTITIONS, revoking=revoking)
    return changed
