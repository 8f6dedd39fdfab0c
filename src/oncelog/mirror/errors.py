"""Why a mirror does not go on; each text says what to do. Called by everything in this package."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.errors import Error, OncelogError
from oncelog.types import TopicPartition

FENCED = (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH)
PASSING = (
    Error.TRANSACTION_ABORTABLE,
    Error.UNKNOWN_PRODUCER_ID,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    Error.UNKNOWN_TOPIC_OR_PARTITION,
)
"""Errors that a round may not meet a second time: a topic that was deleted is dropped when it is begun again."""


class MirrorRefused(OncelogError):
    """Going on would lose or mix something up."""


class RangeGone(MirrorRefused):
    """A has removed records that were not mirrored yet."""

    def __init__(self, name: TopicPartition, position: int, first: int) -> None:
        super().__init__(
            f"{name} begins at offset {first} on the source, and offsets {position} to {first - 1} were not mirrored "
            "yet: retention has removed them; continue without them with --allow-loss"
        )
        self.name = name
        self.first = first


class TakenOver(MirrorRefused):
    """B has fenced this mirror."""

    def __init__(self, name: str, timeout_ms: int) -> None:
        super().__init__(
            f"another mirror named {name!r} has taken over, or a round took longer than the transaction's time-out "
            f"({timeout_ms} ms); in the second case lower --max-bytes"
        )


class Incomplete(MirrorRefused):
    """B would be said to have everything, and chosen topics are not mirrored."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            f"the target cannot get everything: of the chosen topics {', '.join(missing)} are not mirrored; choose "
            "what is there with --topic, or leave out with --exclude what is not to be mirrored any more"
            if missing
            else "no topic of the source is chosen by --topic, --topics-matching and --exclude, so there is nothing to "
            "mirror; oncelog topics list shows the topics"
        )


__all__ = ["FENCED", "PASSING", "Incomplete", "MirrorRefused", "RangeGone", "TakenOver"]
