"""The phases of membership in a classic group, and what an error means for the member, as a table.

Called by the group member. Source: ``AbstractCoordinator``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from oncelog.errors import Error


class Phase(Enum):
    """The member's progress."""

    OUT = auto()
    """Not in the group; joins at the next poll."""
    PREPARING = auto()
    """Revoking partitions before joining."""
    JOINING = auto()
    SYNCING = auto()
    TAKING = auto()
    """Taking over the new assignment."""
    STABLE = auto()
    LEFT = auto()
    """Left, or failed for good."""


class NextPhase(Enum):
    """What an error means for the member."""

    REJOIN = auto()
    REJOIN_LOST = auto()
    """The group continued without the member, which keeps its id: its partitions are lost."""
    REJOIN_AS_NEW = auto()
    """The coordinator does not know the member (any more): its partitions are lost."""
    FIND_COORDINATOR = auto()
    RETRY = auto()
    GIVE_UP = auto()


_ERRORS: Mapping[Error, NextPhase] = {
    Error.REBALANCE_IN_PROGRESS: NextPhase.REJOIN,
    Error.ILLEGAL_GENERATION: NextPhase.REJOIN_LOST,
    Error.UNKNOWN_MEMBER_ID: NextPhase.REJOIN_AS_NEW,
    Error.COORDINATOR_NOT_AVAILABLE: NextPhase.FIND_COORDINATOR,
    Error.NOT_COORDINATOR: NextPhase.FIND_COORDINATOR,
    Error.NETWORK_EXCEPTION: NextPhase.FIND_COORDINATOR,
    Error.REQUEST_TIMED_OUT: NextPhase.FIND_COORDINATOR,
    Error.COORDINATOR_LOAD_IN_PROGRESS: NextPhase.RETRY,
}


def next_for(error: Error) -> NextPhase:
    """What an error of JoinGroup, SyncGroup or Heartbeat means; decided only here."""
    known = _ERRORS.get(error)
    if known is not None:
        return known
    return NextPhase.RETRY if error.retriable else NextPhase.GIVE_UP


__all__ = ["NextPhase", "Phase", "next_for"]
