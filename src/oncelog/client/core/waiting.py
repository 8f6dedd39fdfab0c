"""What a client is waiting for, and which error it has just decided to try again after.

Called wherever a client waits for a broker or repeats a request. Both go to this module's logger at DEBUG, as objects
that a handler can read; the command line shows them to a person who would otherwise wait in silence.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from oncelog.errors import Error

log = logging.getLogger(__name__)

TICK_MS = 1000
"""How often a wait that goes on is told."""


@dataclass(frozen=True, slots=True)
class Retried:
    """An answer after which the client tries again."""

    error: Error
    text: str

    def __str__(self) -> str:
        return self.text if f"[{self.error.name}]" in self.text else f"{self.text} [{self.error.name}]"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that is not done yet, and will be given up when the time that is left is over."""

    what: str
    waited_s: float
    left_s: float

    def __str__(self) -> str:
        return f"{self.what} is not done after {self.waited_s:.1f} s, and waits for {self.left_s:.1f} s more at most"


def asked_for() -> bool:
    """Whether anyone wants to know."""
    return log.isEnabledFor(logging.DEBUG)


def retried(error: Error, text: str) -> None:
    """Tell that a request will be repeated after this error."""
    if asked_for():
        log.debug(Retried(error, text))


def still_waiting(what: str, waited_s: float, limit_s: float) -> None:
    """Tell of a wait that goes on."""
    log.debug(Waiting(what, waited_s, max(0.0, limit_s - waited_s)))
