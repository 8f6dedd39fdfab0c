"""The range that ``oncelog consume`` reads: partitions, start and end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from oncelog.client.positions import LogPlace, PositionKind, offsets_of
from oncelog.errors import OncelogError
from oncelog.types import TopicPartition, partitions_there

POLL_MS = 500


@dataclass(frozen=True, slots=True)
class ConsumeRange:
    """What to read, and where to stop; ``timeout`` in seconds without a record, ``until_ms`` a timestamp of records."""

    topics: tuple[str, ...]
    partitions: tuple[int, ...]
    start: LogPlace
    max_messages: int | None
    timeout: float | None
    to_end: bool
    until_ms: int | None

    @property
    def ends(self) -> bool:
        """Whether reading stops at a given offset of each partition."""
        return self.to_end or self.until_ms is not None


def bounds(
    what: ConsumeRange,
    first: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    at_start: Mapping[TopicPartition, int],
    at_until: Mapping[TopicPartition, int] | None,
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int] | None]:
    """The offsets at which reading begins, and those at which it stops (None if it does not), from the answers of
    ListOffsets."""
    starts = offsets_of(what.start, at_start, first, end)
    if at_until is not None:
        return starts, offsets_of(LogPlace(PositionKind.TIME), at_until, first, end)
    return starts, dict(end) if what.to_end else None


def partitions_of(what: ConsumeRange, counts: Mapping[str, int]) -> list[TopicPartition]:
    """The partitions to read.

    :raises OncelogError: a topic does not have one of them.
    """
    for number in what.partitions:
        for topic, count in counts.items():
            if number >= count:
                raise OncelogError(f"topic {topic!r} has no partition {number}; {partitions_there(count)}")
    return [
        TopicPartition(topic, number) for topic, count in counts.items() for number in (what.partitions or range(count))
    ]
