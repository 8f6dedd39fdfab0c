"""What an API handler knows about a request besides its body, and how answers leave the core."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.security.session import Session
from oncelog.deferred import Deferred
from oncelog.log.partition_log import FileSlice
from oncelog.ports import Buffer

if TYPE_CHECKING:
    from oncelog.broker.commit_order import Place
    from oncelog.broker.partition import Partition

Part = Buffer | FileSlice
"""A piece of an answer: bytes in memory, or a range of a file that the shell sends without copying it."""


class Channel(Protocol):
    """One connection as the core sees it; the shell implements it."""

    session: Session

    @property
    def connection_id(self) -> int: ...

    @property
    def client_host(self) -> str: ...

    def reply(self, slot: int, parts: Sequence[Part]) -> None:
        """Answer the request that came with ``slot``; the shell sends answers in the order of slots.

        No parts: the request has no answer (acks=0). A closed connection ignores it.
        """
        ...

    def throttle(self, wait_ms: int) -> None:
        """Take no request of this connection for a while: it has used more than its quota."""
        ...

    def hold(self) -> None:
        """Start no request of this connection, produce requests neither, before the one in hand is answered."""
        ...

    def go_on(self) -> None:
        """The produce request that is held for needs it no longer: those behind it may go ahead of its answer."""
        ...

    def close(self, reason: str) -> None:
        """End this connection, nobody else's; ``reason`` goes to the broker's log."""
        ...


@dataclass(slots=True)
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
    """The next ones may be like it. Set by Produce (a batch that is not packed was appended), Fetch (answered at once,
    with records), OffsetCommit (the offset of one partition was committed at once) and EndTxn (carried out at once)."""
    is_wide: bool = False
    """Set by Produce and Fetch, whose answers are not looked at: it names many partitions, and is written in pieces."""
    is_long: bool = False
    """Set by ``long_requests``, which count what it takes until it is answered."""
    mutation_wait_ms: int = 0
    """For how long the caller has to wait after what it has made or removed (``broker.mutations``)."""
    under_check: int = 0
    """Batches of a Produce that ``batch_checks`` has."""
    checks: dict[Partition, deque[Callable[[], None]]] | None = None
    """By the partition that one of them is for: how others for it begin, once that one has gone on."""
    room: Deferred[None] | None = None
    """Of a Produce that has as many batches under check as it may: until there is room for more."""
    place: Place | None = None
    """In the line of its group: of a long commit, and of those that came behind one."""
    settled: bool = False
    """Its answer has waited, if it had to, for the sync of the metadata that it speaks of."""
    request_bytes: int = 0
    work_ns: int = 0
    begun_ns: int = 0
    local_ns: int = 0
    """For metrics: when it came, and how long it was worked on."""

    @property
    def session(self) -> Session:
        return self.channel.session

    @property
    def principal(self) -> str:
        return self.channel.session.principal

    @property
    def client_host(self) -> str:
        return self.channel.client_host
