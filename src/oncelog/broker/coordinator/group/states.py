"""The states of a group, and which state may follow which.

Read by ``classic_group``, ``classic_rules``, ``consumer_group`` and the page ``docs/reference/group-states.md``, which
is drawn from these tables. Source: Kafka's ``ClassicGroupState``, ``ConsumerGroup.ConsumerGroupState`` and
``MemberState`` (KIP-848).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum


class ClassicState(Enum):
    """State of a group of the classic protocol; the value is the name that answers contain."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    __hash__ = object.__hash__  # Enum's own hash is a Python function, which would run for each request of a group


CLASSIC_TRANSITIONS: Mapping[ClassicState, Mapping[ClassicState, str]] = {
    ClassicState.EMPTY: {
        ClassicState.PREPARING_REBALANCE: "a member joins",
        ClassicState.DEAD: "the group is deleted or its partition moves away",
    },
    ClassicState.PREPARING_REBALANCE: {
        ClassicState.COMPLETING_REBALANCE: "every known member joined, or the rebalance timeout passed",
        ClassicState.EMPTY: "nobody is left",
        ClassicState.DEAD: "the partition moves away",
    },
    ClassicState.COMPLETING_REBALANCE: {
        ClassicState.STABLE: "the leader's assignment is stored",
        ClassicState.PREPARING_REBALANCE: "a member joins, leaves, changes or fails",
        ClassicState.DEAD: "the partition moves away",
    },
    ClassicState.STABLE: {
        ClassicState.PREPARING_REBALANCE: "a member joins, leaves, changes or fails, or the leader joins again",
        ClassicState.DEAD: "the partition moves away",
    },
    ClassicState.DEAD: {ClassicState.DEAD: "the group is removed twice"},
}
"""For each state the states that may follow it, with the cause."""


class ConsumerState(Enum):
    """State of a group of the consumer protocol (KIP-848); computed from its members, never stored."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


CONSUMER_STATES: Mapping[ConsumerState, str] = {
    ConsumerState.EMPTY: "the group has no members",
    ConsumerState.ASSIGNING: "the group epoch is ahead of the epoch of the target assignment",
    ConsumerState.RECONCILING: "a member is not at the epoch of the target assignment, or does not own all of it yet",
    ConsumerState.STABLE: "every member owns its target assignment",
    ConsumerState.DEAD: "the group does not exist",
}
"""What each state of a consumer group means, in the order in which the conditions are tried."""


class ShareGroupState(Enum):
    """State of a share group; the value is the name that answers contain."""

    EMPTY = "Empty"
    STABLE = "Stable"


class MemberState(IntEnum):
    """A member's progress towards its target assignment in the consumer protocol; the value is stored."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


MEMBER_STATES: Mapping[MemberState, str] = {
    MemberState.STABLE: "the member has what the target of its epoch gives it",
    MemberState.UNREVOKED_PARTITIONS: "the member must give partitions up and has not confirmed it",
    MemberState.UNRELEASED_PARTITIONS: "the member waits for partitions that other members still own",
    MemberState.UNKNOWN: "a state that a newer version wrote",
}
