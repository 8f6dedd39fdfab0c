"""The state and the circumstances of a request: everything that its handler gets besides the body."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from oncelog.broker.core.requests.session import Channel, Session
from oncelog.errors import InvariantError
from oncelog.runtime.deferred import Deferred


class RequestState(Enum):
    """The states of a request (``request_life``). In RECEIVED, READ and HANDLED it may be parked."""

    RECEIVED = "its frame has arrived, and may wait for memory to be decoded"
    READ = "it is decoded; permissions are checked and its API handles it"
    HANDLED = "its answer is known, and may wait until what it promises is on stable storage"
    ANSWERED = "its answer was passed to the connection"
    DROPPED = "it gets no answer: its connection has ended, or is being closed"

    __hash__ = object.__hash__  # Enum's own hashes the name, in Python, each time a request enters a state


NEXT_STATES: Final = {
    RequestState.RECEIVED: frozenset({RequestState.READ, RequestState.DROPPED}),
    RequestState.READ: frozenset({RequestState.HANDLED, RequestState.DROPPED}),
    RequestState.HANDLED: frozenset({RequestState.ANSWERED, RequestState.DROPPED}),
    RequestState.ANSWERED: frozenset({RequestState.DROPPED}),
    RequestState.DROPPED: frozenset(),
}
"""DROPPED may follow ANSWERED: the answer could not be passed to the connection."""


@dataclass(slots=True, eq=False, repr=False)
class RequestContext:
    """One request of one connection."""

    channel: Channel
    slot: int
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str
    now_ms: int
    state: RequestState = RequestState.RECEIVED
    may_be_repeated: bool = False
    """Whether its pattern may be learned for the next requests. Set by Produce (an uncompressed batch was appended)
    and OffsetCommit (the offset of one partition was committed at once)."""
    is_long: bool = False
    """Set by ``long_requests``, which counts its memory until it is answered."""
    mutation_wait_ms: int = 0
    """The throttle time for the partitions that it has created or deleted (``broker.core.limits.mutations``)."""
    parks: int = 0
    """The number of parks that keep its connection from starting other requests (``broker.core.requests.parking``)."""
    park_capacity: Deferred[None] | None = None
    """For a request that has reached the limit of parks: resolves when it may have another."""
    request_bytes: int = 0
    work_ns: int = 0
    begun_ns: int = 0
    local_ns: int = 0
    """For metrics: the time of arrival, and the time spent on it."""

    def enter(self, state: RequestState) -> None:
        """:raises InvariantError: the table of states has no such transition."""
        if state not in NEXT_STATES[self.state]:
            raise InvariantError(f"a request that is {self.state.name} cannot become {state.name}")
        self.state = state

    @property
    def session(self) -> Session:
        return self.channel.session

    @property
    def principal(self) -> str:
        return self.channel.session.principal

    @property
    def client_host(self) -> str:
        return self.channel.client_host
