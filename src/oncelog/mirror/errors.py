"""Why a mirror does not go on; each text says what to do. Called by everything in this package."""

from __future__ import annotations

from oncelog.errors import OncelogError
from oncelog.types import TopicPartition


class MirrorRefused(OncelogError):
    """Going on would lose or mix something up."""


class RangeGone(MirrorRefused):
    """A has removed records that were not mirrored yet."""

    def __init__(self, name: TopicPartition, position: int, first: int) -> None:
        super().__init__(
            f"{name} begins at offset {first} on the source, and offsets {position} to {first - 1} were not mirrored "
            "yet: retention has removed them; go on without them with --allow-loss"
        )
        self.name = name
        self.first = first


__all__ = ["MirrorRefused", "RangeGone"]
