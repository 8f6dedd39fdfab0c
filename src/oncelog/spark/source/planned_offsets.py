"""Computes the offsets of a read: where it begins and ends, rate limits, and the split into tasks. Pure.

Called by the readers (:mod:`oncelog.spark.source.reader`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from oncelog.errors import ConfigError, OncelogError
from oncelog.records.batch import BatchHeader
from oncelog.spark.kafka.interface import LogEnd, OffsetRange
from oncelog.spark.kafka.place import Offsets, Place
from oncelog.spark.options import BESIDE_PARTITIONS, EARLIEST, LATEST, ByTimestampStrategy, OffsetsOption
from oncelog.types import TopicPartition


class DataLoss(OncelogError):
    """Records that the query has not read were deleted; the text says which, and what to do."""


def place_given(position: OffsetsOption) -> Place:
    """The topic ids, leader epochs and marks, without offsets, of a position that was copied from a checkpoint. Raises
    ConfigError if their form is not that of a checkpoint."""
    try:
        return Place.of(position.beside)._replace(start={})
    except ConfigError:
        raise ConfigError(
            f"Option {position.option} contains, besides the partitions of a topic, entries that no checkpoint of "
            f"oncelog contains: leave {', '.join(BESIDE_PARTITIONS)} out"
        ) from None


def remade_topics(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Topics that were deleted and recreated between two lookups of their ids, sorted."""
    return sorted(topic for topic, id_ in before.items() if now.get(topic, id_) != id_)


def replaced_logs(place: Place, found: Mapping[TopicPartition, BatchHeader]) -> list[TopicPartition]:
    """The partitions whose log cannot be the log that was planned, sorted.

    :param found: for each log, the record batch that it now has before the offset of ``place``; logs without such a
        batch are missing.
    """
    return sorted(name for name, header in found.items() if not place.marks[name].may_be(header))


def describe_replaced(partitions: Iterable[TopicPartition], place: Place) -> list[str]:
    """One sentence for each partition, which says that its log was replaced."""
    return [
        f"topic {name.topic} was deleted and recreated, or its log written again: the records before offset "
        f"{place.offsets[name]} of {name} are not those that the query planned (the cluster gives no topic id)"
        for name in partitions
    ]


def positions_to_ask(position: OffsetsOption, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The timestamp, EARLIEST or LATEST to request with ListOffsets, by partition; exact offsets need no request.

    Raises ConfigError if the option does not name exactly the partitions that are read.
    """
    wanted = sorted(partitions)
    named = position.offsets or position.timestamps
    if named and set(named) != set(wanted):
        missing = [str(partition) for partition in wanted if partition not in named]
        unknown = [str(partition) for partition in sorted(named) if partition not in set(wanted)]
        problem = f"does not name {', '.join(missing)}" if missing else f"names {', '.join(unknown)}, not read here"
        raise ConfigError(
            f"Option {position.option} {problem}: it must name every partition that is read; "
            "-2 stands for earliest and -1 for latest"
        )
    if position.timestamp is not None:
        return dict.fromkeys(wanted, position.timestamp)
    if position.timestamps:
        return dict(position.timestamps)
    if position.offsets:
        return {partition: offset for partition, offset in position.offsets.items() if offset < 0}
    return dict.fromkeys(wanted, position.everywhere)


def resolve_position(
    position: OffsetsOption, answers: Offsets, latest: Offsets, strategy: ByTimestampStrategy
) -> dict[TopicPartition, int]:
    """The offsets of a position, from the answers to the requests of :func:`positions_to_ask` (-1: no record is that
    recent)."""
    resolved = {partition: offset for partition, offset in position.offsets.items() if offset >= 0}
    for partition, offset in answers.items():
        if offset >= 0:
            resolved[partition] = offset
        elif strategy is ByTimestampStrategy.LATEST:
            resolved[partition] = latest[partition]
        else:
            asked = position.timestamp if position.timestamp is not None else position.timestamps.get(partition)
            raise ConfigError(
                f"No record of {partition} has timestamp {asked} or a later one, as {position.option} asks; "
                "set startingOffsetsByTimestampStrategy to latest to start at the end there"
            )
    return resolved


def limit_offsets(start: Offsets, latest: Offsets, limit: int) -> dict[TopicPartition, int]:
    """End offsets that are about ``limit`` records after ``start``, divided in proportion to the records of each
    partition. A partition with unread records gets at least one, so that none starves."""
    sizes = {
        partition: latest[partition] - start[partition] for partition in latest if latest[partition] > start[partition]
    }
    total = sum(sizes.values())
    if total <= limit:
        return dict(latest)
    return {
        partition: start[partition] + min(sizes[partition], max(1, limit * sizes[partition] // total))
        if partition in sizes
        else offset
        for partition, offset in latest.items()
    }


def pending(start: Offsets, latest: Offsets) -> int:
    """The number of offsets between the two positions."""
    return sum(max(0, end - start.get(partition, end)) for partition, end in latest.items())


def split_ranges(
    ranges: Sequence[OffsetRange], min_partitions: int | None, max_records: int | None
) -> list[OffsetRange]:
    """Split ranges so that none exceeds ``max_records`` and there are about ``min_partitions``; larger ranges get more
    parts. Empty ranges are left out."""
    kept = [item for item in ranges if item.size > 0]
    if max_records is not None:
        kept = [part for item in kept for part in _cut(item, -(-item.size // max_records))]
    if min_partitions is None or len(kept) >= min_partitions:
        return kept
    total = sum(item.size for item in kept)
    return [part for item in kept for part in _cut(item, max(1, round(min_partitions * item.size / total)))]


def _cut(item: OffsetRange, parts: int) -> list[OffsetRange]:
    parts = min(parts, item.size)
    bounds = [item.start + item.size * number // parts for number in range(parts + 1)]
    return [item._replace(start=low, end=high) for low, high in pairwise(bounds)]


def describe_loss(start: Offsets, earliest: Offsets, latest: Offsets) -> list[str]:
    """The deleted records from ``start`` on, one sentence per partition; empty if there are none.

    Control records and records of aborted transactions have offsets too, so fewer rows than offsets do not mean a loss.
    """
    lost: list[str] = []
    for partition, offset in sorted(start.items()):
        if partition not in latest:
            lost.append(f"{partition} does not exist any more, or the options of the read name other topics now")
        elif offset < earliest[partition]:
            lost.append(f"{partition} begins at offset {earliest[partition]} and the query is at {offset}")
        elif offset > latest[partition]:
            lost.append(f"{partition} ends at offset {latest[partition]} and the query is at {offset}")
    return lost


def describe_cut(place: Place, kept: Offsets) -> list[str]:
    """One sentence for each partition whose log below ``place`` no longer matches the plan.

    :param kept: the offset up to which each log still matches; -1 if its leader does not know.
    """
    return [
        f"{partition} was led with epoch {place.epochs[partition]} when the query planned to offset "
        f"{place.offsets[partition]}, and "
        + (
            f"its log has been truncated to offset {offset} since"
            if offset >= 0
            else "its log knows only older epochs now"
        )
        for partition, offset in sorted(kept.items())
    ]


def check_order(start: Offsets, end: Offsets, starting: OffsetsOption, ending: OffsetsOption) -> None:
    """Raises ConfigError if a batch read would end before it begins; Spark's own connector does so, too."""
    for partition, offset in sorted(start.items()):
        if offset > end[partition]:
            raise ConfigError(
                f"The read of {partition} would begin at offset {offset} ({starting.option}) and end before it, at "
                f"{end[partition]} ({ending.option}): correct one of the two options"
            )


def describe_beyond(end: Offsets, latest: Offsets) -> list[str]:
    """One sentence for each partition whose requested range ends beyond the end of its log."""
    return [
        f"{partition} ends at offset {latest[partition]} and is to be read to {offset}"
        for partition, offset in sorted(end.items())
        if offset > latest[partition]
    ]


def loss_error(lost: Sequence[str]) -> DataLoss:
    return DataLoss(
        f"Records were lost before they were read: {'; '.join(lost)}. They were deleted by retention, the topic was "
        "recreated, or its log lost its end (a power failure, an unclean election, a restored cluster). Set "
        "failOnDataLoss to false for one start to continue with what is there, also if the query (or its SQL table) "
        "reads other topics now"
    )


__all__ = [
    "EARLIEST",
    "LATEST",
    "DataLoss",
    "LogEnd",
    "OffsetRange",
    "check_order",
    "describe_beyond",
    "describe_cut",
    "describe_loss",
    "describe_replaced",
    "limit_offsets",
    "loss_error",
    "pending",
    "place_given",
    "positions_to_ask",
    "remade_topics",
    "replaced_logs",
    "resolve_position",
    "split_ranges",
]
