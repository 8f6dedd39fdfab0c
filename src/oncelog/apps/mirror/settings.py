"""The settings and the progress of a mirror. Called by the command line and :mod:`oncelog.apps.mirror.run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oncelog.apps.mirror.mirrored_topics import Selection

MIB = 1024 * 1024
MAX_BYTES = 64 * MIB
"""The default limit of the bytes that a round copies; a round of this size takes seconds, and its transaction may last
a minute."""
INTERVAL_MS = 200


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """The settings of a mirror. ``name`` distinguishes mirrors into the same target."""

    name: str
    selection: Selection
    max_bytes: int = MAX_BYTES
    timeout_ms: int | None = None
    interval_s: float = INTERVAL_MS / 1000
    allow_loss: bool = False
    into_existing: bool = False


@dataclass(frozen=True, slots=True)
class MirrorProgress:
    """The progress after a round: what it copied, and the lag of each topic in offsets, including markers."""

    records: int
    size_bytes: int
    groups: int
    lag: Mapping[str, int]
    caught_up: bool
    """Whether the target already had everything that the source had when the round began."""

    @property
    def total_lag(self) -> int:
        return sum(self.lag.values())


__all__ = ["INTERVAL_MS", "MAX_BYTES", "MIB", "MirrorProgress", "MirrorSettings"]
