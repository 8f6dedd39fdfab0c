"""The errors with which a mirror ends; the text of each says what to do.

Called by every module of this package.
"""

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
"""Errors that may not recur if the round is repeated: for instance, the repeated round no longer includes a deleted
topic."""


class MirrorRefused(OncelogError):
    """The mirror cannot continue, because records would be lost or mixed up; the text says what to do."""


class RangeGone(MirrorRefused):
    """The source has removed records that had not been mirrored yet."""

    def __init__(self, name: TopicPartition, position: int, first: int) -> None:
        super().__init__(
            f"{name} begins at offset {first} on the source, and offsets {position} to {first - 1} were not mirrored "
            "yet: retention has removed them; continue without them with --allow-loss"
        )
        self.name = name
        self.first = first


class MirrorFenced(MirrorRefused):
    """The target has fenced this mirror."""

    def __init__(self, name: str, timeout_ms: int) -> None:
        super().__init__(
            f"another mirror named {name!r} has taken over, or a round took longer than the transaction's timeout "
            f"({timeout_ms} ms); in the second case lower --max-bytes"
        )


class MirrorIncomplete(MirrorRefused):
    """The target cannot be reported complete, because some chosen topics are not mirrored."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            f"the target cannot get everything: the chosen topics {', '.join(missing)} are not mirrored; choose "
            "existing topics with --topic, or exclude those that should no longer be mirrored with --exclude"
            if missing
            else "no topic of the source is chosen by --topic, --topics-matching and --exclude, so there is nothing to "
            "mirror; oncelog topics list shows the topics"
        )


__all__ = ["FENCED", "PASSING", "MirrorFenced", "MirrorIncomplete", "MirrorRefused", "RangeGone"]
