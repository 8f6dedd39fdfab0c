"""The client at the other end of a connection, the listener that it used, and the channel for its answers.

The server creates a session for each connection; the broker's core reads it for each request. On a listener without
SASL the principal is known before the first request (``ANONYMOUS``, or the name in the client's certificate); with SASL
the authenticator sets the principal, and allows no other request before that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from oncelog.broker.core.cluster.node import SimulatedNode
    from oncelog.broker.log.results import FileSlice
    from oncelog.runtime.ports import Buffer

ANONYMOUS = "User:ANONYMOUS"

Part: TypeAlias = "Buffer | FileSlice"
"""A part of an answer: bytes in memory, or a range of a file that the server sends without copying."""


class SecurityProtocol(Enum):
    """Kafka's ``SecurityProtocol``: whether a listener encrypts, and whether it requires a login."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def encrypts(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def asks_for_login(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class Authenticator(Protocol):
    """The authentication of a connection, which sees every frame first (``sasl_authenticator``)."""

    @property
    def was_authenticated(self) -> bool:
        """Whether a login has succeeded; another login may be in progress."""
        ...

    @property
    def is_authenticated(self) -> bool: ...

    @property
    def largest_frame(self) -> int:
        """The largest frame in bytes that is accepted before the login has succeeded."""
        ...

    def allows_requests(self, now_ms: int) -> bool:
        """Whether :meth:`takes` would return False for every frame that does not begin a login."""
        ...

    def takes(self, channel: Channel, slot: int, frame: bytes | memoryview, now_ms: int) -> bool:
        """Handle a frame that belongs to the login; returns False if it is for the APIs."""
        ...

    def clock_was_set(self, step_ms: int) -> None:
        """Keep the session's remaining time when the clock is set."""
        ...


@dataclass(slots=True, eq=False, repr=False)
class Session:
    """The client of one connection.

    ``node`` is this broker as advertised by the connection's listener; None if there is only one listener.
    ``authenticator`` sees every frame first; None if the listener requires no login. ``software`` is the name and
    version that the client gives for its software (KIP-511).
    """

    principal: str = ANONYMOUS
    node: SimulatedNode | None = None
    listener: str = "PLAINTEXT"
    authenticator: Authenticator | None = None
    software: tuple[str, str] = ("unknown", "unknown")

    @property
    def node_id(self) -> int | None:
        """The id of the node that the client is connected to; None if there is only one listener."""
        return self.node.node_id if self.node is not None else None


class Channel(Protocol):
    """One connection, as the broker's core uses it; the server implements it."""

    session: Session

    @property
    def connection_id(self) -> int: ...

    @property
    def client_host(self) -> str: ...

    def reply(self, slot: int, parts: Sequence[Part]) -> None:
        """Answer the request that came with ``slot``; the server sends answers in the order of slots.

        Without parts the request gets no answer (acks=0). Ignored if the connection is closed.
        """
        ...

    def throttle(self, wait_ms: int) -> None:
        """Pause reading requests from this connection for ``wait_ms``: the client has exceeded its quota."""
        ...

    def pause_requests(self) -> None:
        """Start no further request of this connection, not even a Produce request, until the current one is
        answered."""
        ...

    def resume_requests(self, slot: int) -> None:
        """End the pause for a Produce request: later requests may start before its answer is sent.

        This has no effect if a later request had started before the pause, because that request may be parked, too.
        """
        ...

    def close(self, reason: str) -> None:
        """Close this connection and no other; ``reason`` goes to the broker's log."""
        ...
