"""Logs each refusal once and then how often it was repeated, with the logger ``oncelog.security``.

Called by the authenticator, by the APIs' checks, by the server, and for requests that exceed a limit or are malformed.
Text from clients is written with ``repr``, so that it cannot forge a line; passwords, proofs and tokens are never
passed here.
"""

from __future__ import annotations

import logging
from typing import Protocol

from oncelog.broker.core.security.authorizer import resource_name
from oncelog.protocol.acls import Operation
from oncelog.runtime.timers import Timers

logger = logging.getLogger("oncelog.security")

REFUSALS_IN_A_PERIOD = 100
PERIOD_MS = 10_000


class Peer(Protocol):
    """The interface of a peer whose refusal is logged."""

    @property
    def client_host(self) -> str: ...


class Refusable(Peer, Protocol):
    """A connection that can be closed."""

    def close(self, reason: str) -> None: ...


class SecurityLog:
    """Writes a refusal the first time that it occurs, and the number of its repetitions at the end of each period of
    ten seconds. Beyond ``REFUSALS_IN_A_PERIOD`` different refusals in a period it only counts them."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._repeated: dict[str, int] = {}
        """The refusals of the current period, and how often each was repeated."""
        self._left_out = 0

    def refused_login(self, peer: Peer, reason: str, now_ms: int) -> None:
        self._write(f"login refused from {peer.client_host}: {reason}", now_ms)

    def refused_connection(self, host: str, reason: str, now_ms: int) -> None:
        self._write(f"connection refused from {host}: {reason}", now_ms)

    def refused_request(self, peer: Peer, reason: str, now_ms: int) -> None:
        self._write(f"request refused from {peer.client_host}: {reason}", now_ms)

    def refuse_request(self, channel: Refusable, reason: str, now_ms: int) -> None:
        """Log a request that exceeds a limit or is malformed, and close its connection."""
        self.refused_request(channel, reason, now_ms)
        channel.close(reason)

    def refused_operation(
        self, principal: str, host: str, operation: int, kind: int, name: str, api: str, now_ms: int
    ) -> None:
        what = f"{Operation(operation).name} {resource_name(kind)} {name!r}"
        self._write(f"{principal!r} from {host} may not {what} (in a {api} request)", now_ms)

    def _write(self, refusal: str, now_ms: int) -> None:
        if refusal in self._repeated:
            self._repeated[refusal] += 1
        elif len(self._repeated) >= REFUSALS_IN_A_PERIOD:
            self._left_out += 1
        else:
            if not self._repeated:
                self._timers.schedule(now_ms + PERIOD_MS, self._next_period)
            self._repeated[refusal] = 0
            logger.warning("%s", refusal)

    def _next_period(self, now_ms: int) -> None:
        self.write_counts()
        self._repeated = {refusal: 0 for refusal, count in self._repeated.items() if count}
        if self._repeated:
            self._timers.schedule(now_ms + PERIOD_MS, self._next_period)

    def write_counts(self) -> None:
        """Write the counts of repeated refusals since the last call."""
        for refusal, count in self._repeated.items():
            if count:
                logger.warning("%s (%d more time%s)", refusal, count, "" if count == 1 else "s")
        if self._left_out:
            logger.warning("%d more refusals were not logged", self._left_out)
            self._left_out = 0
