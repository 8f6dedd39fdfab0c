"""The states of a member under KIP-848, and which state may follow which.

Called by the consumer group member. The names are those of ``MemberState`` in Kafka's client, with these differences.
RESOLVING is part of RECONCILING there. There is no REJOINED there, because Kafka's client joins again only after its
listener has handled the loss. ACKNOWLEDGING is part of STABLE here. STALE, the state of a member that left because its
program does not fetch, is FENCED here. Leaving ends at once in UNSUBSCRIBED.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto


class ClientMemberState(Enum):
    """The state of a member in its group, and of its partitions."""

    JOINING = auto()
    """The member is not in the group and has no partitions. Its heartbeats ask to join."""
    STABLE = auto()
    """In the group; the last target has been reached, and may have to be reported."""
    RESOLVING = auto()
    """In the group; its new target contains topics whose names are not known yet."""
    RECONCILING = auto()
    """In the group; the listener is running for revoked or assigned partitions. A newer target waits."""
    FENCED = auto()
    """The member is not in the group; the listener runs for lost partitions. Its heartbeats ask to join."""
    REJOINED = auto()
    """In the group again, while the listener is still running for the lost partitions. The new target waits."""
    UNSUBSCRIBED = auto()
    """The member has left; a new subscription creates a new member."""
    FATAL = auto()
    """The group has refused the member for good."""

    @property
    def joined(self) -> bool:
        """Whether the member considers itself in the group: heartbeats then report only changes."""
        return self in _JOINED

    @property
    def ended(self) -> bool:
        """Whether the membership is over: nothing more is sent, and nothing that arrives has an effect."""
        return self in _ENDED

    @property
    def settled(self) -> bool:
        """Whether a target has been reached: heartbeats report its partitions, and a new target can be pursued."""
        return self in _SETTLED


_S = ClientMemberState
_JOINED = frozenset({_S.STABLE, _S.RESOLVING, _S.RECONCILING, _S.REJOINED})
_ENDED = frozenset({_S.UNSUBSCRIBED, _S.FATAL})
_SETTLED = frozenset({_S.STABLE, _S.RESOLVING})

_LOSS = {
    _S.FENCED: "the coordinator does not know the member or its epoch, or the program is stuck",
    _S.JOINING: "the same, while the member owns nothing",
}
_END = {_S.UNSUBSCRIBED: "the program leaves", _S.FATAL: "the coordinator refuses for good"}

MAY_FOLLOW: Mapping[ClientMemberState, Mapping[ClientMemberState, str]] = {
    _S.JOINING: {
        _S.STABLE: "the coordinator admits the member",
        _S.JOINING: "the coordinator does not know the member or its epoch",
        **_END,
    },
    _S.STABLE: {
        _S.STABLE: "a target is what the member owns already",
        _S.RESOLVING: "a target contains topics without a known name",
        _S.RECONCILING: "a target differs from what the member owns",
        **_LOSS,
        **_END,
    },
    _S.RESOLVING: {
        _S.STABLE: "the names are known; the target is what the member owns already",
        _S.RESOLVING: "names are missing still, or in a newer target",
        _S.RECONCILING: "the names are known",
        **_LOSS,
        **_END,
    },
    _S.RECONCILING: {
        _S.STABLE: "the listener has been called",
        **_LOSS,
        **_END,
    },
    _S.FENCED: {
        _S.JOINING: "the listener has been called",
        _S.REJOINED: "the coordinator admits the member before that",
        _S.FENCED: "the coordinator refuses the member again before that",
        **_END,
    },
    _S.REJOINED: {
        _S.STABLE: "the listener has been called",
        _S.FENCED: "lost again before that",
        **_END,
    },
    _S.UNSUBSCRIBED: {
        _S.UNSUBSCRIBED: "the program leaves again",
        _S.FATAL: "the coordinator refuses a lookup",
    },
    _S.FATAL: dict(_END),
}
"""The states that may follow each state, with the reason for each change."""


__all__ = ["MAY_FOLLOW", "ClientMemberState"]
