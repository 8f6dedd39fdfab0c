"""The context of a request: everything that its handler gets besides the body."""

from __future__ import annotations

from dataclasses import dataclass

from oncelog.broker.core.requests.session import Channel, Session
from oncelog.runtime.deferred import Deferred


class Parking:
    """The number of parks of one request (``requests.parking``).

    :ivar capacity: set while the request has as many parks as it may have; resolves when one ends.
    """

    __slots__ = ("capacity", "count")

    def __init__(self) -> None:
        self.count = 0
        self.capacity: Deferred[None] | None = None


@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class RequestContext:
    """One request of one connection."""

    channel: Channel
    slot: int
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str
    now_ms: int
    may_be_repeated: bool = False
    """Whether a pattern may be learned from the request for the requests that follow. Set by Produce (an uncompressed
    batch was appended) and OffsetCommit (the offset of one partition was committed at once)."""
    parking: Parking | None = None
    """The parks that keep the connection from starting other requests; None if the request was never parked
    (``requests.parking``)."""
    work_ns: int = 0
    """The CPU time in ns that the broker has spent on the request, for quotas (``requests.tasks``,
    ``appending.validation_thread``, ``limits.throttle``)."""

    @property
    def session(self) -> Session:
        return self.channel.session

    @property
    def principal(self) -> str:
        return self.channel.session.principal

    @property
    def client_host(self) -> str:
        return self.channel.client_host
