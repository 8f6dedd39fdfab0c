"""Reports the waits of a client, and the errors after which it tries again.

Called wherever a client waits for a broker or retries. Both reports go to this module's logger at DEBUG, as objects
that a handler can read; the command line shows them to the user.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from oncelog.errors import Error

log = logging.getLogger(__name__)

TICK_MS = 1000
"""How often an ongoing wait is reported."""
NOT_ANSWERED = "it has not answered"


class Retried(NamedTuple):
    """An error after which the client tries again."""

    error: Error
    text: str

    def __str__(self) -> str:
        return self.text if f"[{self.error.name}]" in self.text else f"{self.text} [{self.error.name}]"


class ClusterWait(NamedTuple):
    """A report that the cluster has not done something yet."""

    servers: str
    """The bootstrap servers, separated by commas."""
    what: str
    waited_s: float
    left_s: float | None
    """The time in s after which the client gives up; None if it never does."""
    otherwise: str = NOT_ANSWERED
    """The cause to show while no error is known; if it is empty, nothing is shown yet."""

    def __str__(self) -> str:
        left = "" if self.left_s is None else f", and waits for {self.left_s:.1f} s more at most"
        return f"{self.what} is not done after {self.waited_s:.1f} s{left}"


def asked_for() -> bool:
    """Whether the logger is enabled for these reports."""
    return log.isEnabledFor(logging.DEBUG)


def retried(error: Error, text: str) -> None:
    """Report that a request will be retried after this error."""
    if asked_for():
        log.debug(Retried(error, text))


def still_waiting(
    servers: Sequence[str], what: str, waited_s: float, limit_s: float | None, otherwise: str = NOT_ANSWERED
) -> None:
    """Report an ongoing wait; ``otherwise`` as in :class:`ClusterWait`."""
    left_s = None if limit_s is None else max(0.0, limit_s - waited_s)
    log.debug(ClusterWait(",".join(servers), what, waited_s, left_s, otherwise))
