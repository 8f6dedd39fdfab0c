"""Share sessions (KIP-932): the partitions that a member reads, and the epoch of its next request.

Used by the APIs ShareFetch and ShareAcknowledge. A session belongs to a connection and ends with it: the member's
acquired records become available then. Source: Kafka's ``ShareSession`` and ``ShareSessionCache`` (4.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from oncelog.errors import Error

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
MAX_EPOCH: Final = 2**31 - 1
MAX_PARTITIONS: Final = 250_000
"""Limit on the partitions of all sessions of a node, as for fetch sessions."""

Place = tuple[bytes, int]
"""A partition, as topic id and index."""


class SessionOwner(NamedTuple):
    """A member at one node: a member has a session at each node that leads partitions that the member reads."""

    group_id: str
    member_id: str
    node_id: int | None


@dataclass(slots=True)
class ShareSession:
    """One member's share session; the next request must have the session epoch ``epoch``. ``partitions`` are in the
    order in which the member added them."""

    member: SessionOwner
    connection_id: int
    epoch: int = INITIAL_EPOCH + 1
    partitions: dict[Place, bool] = field(default_factory=dict)
    """For each partition whether an answer has contained it."""

    def rotated(self) -> list[Place]:
        """The partitions in the order in which the current request serves them: each request begins with another
        partition."""
        places = list(self.partitions)
        start = self.epoch % len(places) if places else 0
        return places[start:] + places[:start]


class ShareSessions:
    """The sessions of this broker's members."""

    def __init__(self) -> None:
        self._sessions: dict[SessionOwner, ShareSession] = {}
        self._by_connection: dict[int, set[SessionOwner]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[ShareSession]:
        return iter(self._sessions.values())

    def of(self, member: SessionOwner) -> ShareSession | None:
        return self._sessions.get(member)

    def open(
        self, member: SessionOwner, connection_id: int, places: Iterable[Place], most: int
    ) -> ShareSession | Error:
        """A new session, which replaces the member's last one; an error if the node would have more than ``most``
        sessions, or too many partitions."""
        self.close(member)
        partitions = dict.fromkeys(places, False)
        others = [session for session in self._sessions.values() if session.member.node_id == member.node_id]
        used = sum(len(session.partitions) for session in others)
        if len(others) >= most or used + len(partitions) > MAX_PARTITIONS:
            return Error.SHARE_SESSION_LIMIT_REACHED
        session = ShareSession(member, connection_id, partitions=partitions)
        self._sessions[member] = session
        self._by_connection.setdefault(connection_id, set()).add(member)
        return session

    def resume(self, member: SessionOwner, epoch: int) -> ShareSession | Error:
        """The session that a request continues, or an error; the last request of a session has ``FINAL_EPOCH``."""
        session = self._sessions.get(member)
        if session is None:
            return Error.SHARE_SESSION_NOT_FOUND
        if epoch == FINAL_EPOCH:
            return session
        if session.epoch != epoch:
            return Error.INVALID_SHARE_SESSION_EPOCH
        session.epoch = 1 if session.epoch == MAX_EPOCH else session.epoch + 1
        return session

    def close(self, member: SessionOwner) -> ShareSession | None:
        session = self._sessions.pop(member, None)
        if session is not None:
            members = self._by_connection[session.connection_id]
            members.discard(member)
            if not members:
                del self._by_connection[session.connection_id]
        return session

    def of_connection(self, connection_id: int) -> list[SessionOwner]:
        return sorted(self._by_connection.get(connection_id, ()))
