"""Logs one line for each refusal, but only a few per second, with the logger ``oncelog.security``.

Called by the authenticator, by the APIs' checks and by the server. Text from clients is written with ``repr``, so that
it cannot forge a line; passwords, proofs and tokens are never passed here.
"""

from __future__ import annotations

import logging
from typing import Protocol

from oncelog.broker.core.security.authorizer import resource_name
from oncelog.protocol.acls import Operation

logger = logging.getLogger("oncelog.security")

LINES_IN_A_PERIOD = 100
PERIOD_MS = 10_000


class Peer(Protocol):
    """The refused peer."""

    @property
    def client_host(self) -> str: ...


class SecurityLog:
    """Writes refusals; beyond ``LINES_IN_A_PERIOD`` it only counts them, and logs their number in the next period."""

    def __init__(self) -> None:
        self._period_ends_ms = 0
        self._written = 0
        self._left_out = 0

    def clock_was_set(self, step_ms: int) -> None:
        """Keep the period's remaining time."""
        self._period_ends_ms += step_ms

    def refused_login(self, peer: Peer, reason: str, now_ms: int) -> None:
        if self._may_write(now_ms):
            logger.warning("login refused from %s: %s", peer.client_host, reason)

    def refused_connection(self, host: str, reason: str, now_ms: int) -> None:
        if self._may_write(now_ms):
            logger.warning("connection refused from %s: %s", host, reason)

    def refused_operation(
        self, principal: str, host: str, operation: int, kind: int, name: str, api: str, now_ms: int
    ) -> None:
        if self._may_write(now_ms):
            logger.warning(
                "%r from %s may not %s %s %r, asked with %s",
                principal,
                host,
                Operation(operation).name,
                resource_name(kind),
                name,
                api,
            )

    def _may_write(self, now_ms: int) -> bool:
        if now_ms >= self._period_ends_ms:
            self._period_ends_ms = now_ms + PERIOD_MS
            self._written = 0
            if self._left_out:
                logger.warning("%d more refusals were not logged", self._left_out)
                self._left_out = 0
        if self._written >= LINES_IN_A_PERIOD:
            self._left_out += 1
            return False
        self._written += 1
        return True
