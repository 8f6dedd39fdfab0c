"""The phases of a membership in a classic group, and the table of the member's reactions to errors.

Called by the group member. Source: ``AbstractCoordinator``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from oncelog.errors import Error


class Phase(Enum):
    """The member's progress."""

    OUT = auto()
    """The member is not in the group and joins at the next poll."""
    PREPARING = auto()
    """The member revokes partitions before it joins."""
    JOINING = auto()
    SYNCING = auto()
    TAKING = auto()
    """The member takes over its new assignment."""
    STABLE = auto()
    LEFT = auto()
    """The member has left the group, or has failed permanently."""


class ClassicErrorReaction(Enum):
    """The member's reaction to an error."""

    REJOIN = auto()
    REJOIN_LOST = auto()
    """Rejoin with the same member id: the group has continued without the member, whose partitions are lost."""
    REJOIN_AS_NEW = auto()
    """Join as a new member: the coordinator does not know this one, whose partitions are lost."""
    FIND_COORDINATOR = auto()
    RETRY = auto()
    GIVE_UP = auto()


_ERRORS: Mapping[Error, ClassicErrorReaction] = {
    Error.REBALANCE_IN_PROGRESS: ClassicErrorReaction.REJOIN,
    Error.ILLEGAL_GENERATION: ClassicErrorReaction.REJOIN_LOST,
    Error.UNKNOWN_MEMBER_ID: ClassicErrorReaction.REJOIN_AS_NEW,
    Error.COORDINATOR_NOT_AVAILABLE: ClassicErrorReaction.FIND_COORDINATOR,
    Error.NOT_COORDINATOR: ClassicErrorReaction.FIND_COORDINATOR,
    Error.NETWORK_EXCEPTION: ClassicErrorReaction.FIND_COORDINATOR,
    Error.REQUEST_TIMED_OUT: ClassicErrorReaction.FIND_COORDINATOR,
    Error.COORDINATOR_LOAD_IN_PROGRESS: ClassicErrorReaction.RETRY,
}


def next_for(error: Error) -> ClassicErrorReaction:
    """The member's reaction to an error of JoinGroup, SyncGroup or Heartbeat."""
    known = _ERRORS.get(error)
    if known is not None:
        return known
    return ClassicErrorReaction.RETRY if error.retriable else ClassicErrorReaction.GIVE_UP


__all__ = ["ClassicErrorReaction", "Phase", "next_for"]
