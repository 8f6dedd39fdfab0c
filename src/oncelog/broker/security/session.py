"""The caller at the other end of a connection, and the listener that it used.

Created by the server for each connection; read by the core for each request. On a listener without SASL the principal
is known before the first request (``ANONYMOUS``, or the name in the client's certificate); with SASL the gate sets it,
and lets nothing else through before.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from oncelog.broker.security.authorizer import ANONYMOUS

if TYPE_CHECKING:
    from oncelog.broker.node import Node
    from oncelog.broker.security.sasl_gate import SaslGate


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


@dataclass(slots=True, eq=False, repr=False)
class Session:
    """One connection's caller.

    ``node`` is this broker as advertised by the connection's listener; None if there is only one listener.
    ``gate`` is the login that every frame passes through; None if the listener requires none. ``software`` is name and
    version of the client's software, as it states them (KIP-511).
    """

    principal: str = ANONYMOUS
    node: Node | None = None
    listener: str = "PLAINTEXT"
    gate: SaslGate | None = None
    software: tuple[str, str] = ("unknown", "unknown")

    @property
    def node_id(self) -> int | None:
        """The node that was asked."""
        return self.node.node_id if self.node is not None else None
