"""How to mirror, and how far a mirror is. Called by the command line and :mod:`oncelog.mirror.run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oncelog.mirror.topics import Selection

MIB = 1024 * 1024
MAX_BYTES = 64 * MIB
"""What a round carries unless told otherwise: seconds of a transaction that may last a minute."""
INTERVAL_MS = 200


@dataclass(frozen=True, slots=True)
class Settings:
    """How to mirror. ``name`` tells mirrors of one target apart."""

    name: str
    selection: Selection
    max_bytes: int = MAX_BYTES
    timeout_ms: int | None = None
    interval_s: float = INTERVAL_MS / 1000
    allow_loss: bool = False
    into_existing: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """After a round: what it carried, and what is left of each topic (offsets, markers among them)."""

    records: int
    size_bytes: int
    groups: int
    lag: Mapping[str, int]
    caught_up: bool
    """At the beginning of the round B had all of A."""

    @property
    def total_lag(self) -> int:
        return sum(self.lag.values())


__all__ = ["INTERVAL_MS", "MAX_BYTES", "MIB", "Progress", "Settings"]
