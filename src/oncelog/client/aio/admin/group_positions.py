"""Positions of groups: where each stands, how far it is behind, and where a reset would move it.

Called by the command line and the console. There are two lags: to the last stable offset, where a read_committed reader
stops, and to the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.sink_markers import SinkMarker
from oncelog.client.core.admin.admin_types import GroupDescription, GroupListing, MemberDescription
from oncelog.client.positions import EARLIEST, LATEST, LogPlace, offsets_of
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.types import TopicPartition

IDLE = ("Empty", "Dead")
AT_ONCE = 16
"""How many groups are asked at a time."""


class GroupRefused(OncelogError):
    """The group does not exist, or its members prevent the change."""


class PartitionPosition(NamedTuple):
    """A partition that a group reads; ``committed`` is None without a position, the others if the topic is gone or the
    partition has no leader. ``marker``: what a Spark sink keeps there instead of a position."""

    name: TopicPartition
    committed: int | None
    stable: int | None
    end: int | None
    member: MemberDescription | None
    marker: SinkMarker | None = None

    @property
    def lag(self) -> int | None:
        """Lag to the last stable offset."""
        return _behind(self.committed, self.stable)

    @property
    def lag_to_end(self) -> int | None:
        return _behind(self.committed, self.end)


class GroupWithPositions(NamedTuple):
    """A group with all its positions, sorted."""

    group: GroupDescription
    positions: list[PartitionPosition]


class PositionChange(NamedTuple):
    """What a reset does to one position; ``before`` is None if there was none."""

    before: int | None
    after: int


def _behind(committed: int | None, end: int | None) -> int | None:
    return None if committed is None or end is None else max(0, end - committed)


async def existing_group(admin: Admin, group: str) -> tuple[GroupDescription, GroupCommits]:
    """The group and what it has committed.

    :raises GroupRefused: the group does not exist.
    """
    found = (await admin.describe_consumer_groups([group]))[0]
    offsets = await group_offsets(admin, group)
    if found.state == "Dead" and not offsets.positions and not offsets.markers:
        raise GroupRefused(f"group {group!r} does not exist; see oncelog groups list")
    return found, offsets


class GroupCommits(NamedTuple):
    """What a group has committed: positions, and markers of Spark sinks, by partition."""

    positions: dict[TopicPartition, int]
    markers: dict[TopicPartition, SinkMarker]


async def group_offsets(admin: Admin, group: str) -> GroupCommits:
    """The committed offsets of a group; empty for one that does not exist."""
    offsets = await admin.list_consumer_group_offsets(group, negative=True)
    found = {name: SinkMarker.of(group, name, committed.metadata) for name, committed in offsets.items()}
    markers = {name: marker for name, marker in found.items() if marker is not None}
    positions = {name: one.offset for name, one in offsets.items() if name not in markers and one.offset >= 0}
    return GroupCommits(positions, markers)


async def sink_markers(admin: Admin, groups: Iterable[GroupListing]) -> dict[str, SinkMarker]:
    """The marker of each of the groups that is a Spark sink's, as far as they may be read.

    Groups that consumers use are not asked for.
    """
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(group: str) -> SinkMarker | None:
        async with limit:
            try:
                found = (await group_offsets(admin, group)).markers
            except KafkaError as error:
                if error.error is not Error.GROUP_AUTHORIZATION_FAILED:
                    raise
                return None
        return max(found.values(), key=lambda marker: marker.batch_id, default=None)

    simple = [item.group_id for item in groups if not item.protocol_type and item.state in IDLE]
    answers = await asyncio.gather(*map(one, simple))
    return {group: marker for group, marker in zip(simple, answers, strict=True) if marker is not None}


async def group_picture(admin: Admin, group: str) -> GroupWithPositions:
    """The group with its positions and lags.

    :raises GroupRefused: it does not exist.
    """
    found, (committed, markers) = await existing_group(admin, group)
    owners = {name: member for member in found.members for name in member.assignment}
    names = sorted({*committed, *owners, *markers})
    there = set(await admin.list_topics(internal=True)) & {name.topic for name in names}
    led = {
        TopicPartition(topic.name, item.partition)
        for topic in (await admin.describe_topics(sorted(there)) if there else [])
        for item in topic.partitions
        if item.leader >= 0
    }
    known = dict.fromkeys((name for name in names if name in led), LATEST)
    stable, ends = await asyncio.gather(
        admin.list_offsets(known, read_committed=True), admin.list_offsets(known, read_committed=False)
    )
    positions = [
        PartitionPosition(
            name,
            committed.get(name),
            stable[name].offset if name in known else None,
            ends[name].offset if name in known else None,
            owners.get(name),
            markers.get(name),
        )
        for name in names
    ]
    return GroupWithPositions(found, positions)


async def planned_moves(
    admin: Admin, group: str, partitions: Iterable[TopicPartition] | None, to: LogPlace | int
) -> dict[TopicPartition, PositionChange]:
    """What a reset would do, by partition; no position ends up before the first record or past the end.

    :param partitions: None for all partitions in which the group has a position.
    :param to: a place, or how many records to move forward (back if negative).
    :raises GroupRefused: the group has members, or no position that could be shifted.
    """
    before = await _idle_offsets(admin, group)
    names = sorted(before if partitions is None else partitions)
    if not names:
        return {}
    first, end = await asyncio.gather(
        admin.list_offsets(dict.fromkeys(names, EARLIEST)), admin.list_offsets(dict.fromkeys(names, LATEST))
    )
    firsts = {name: item.offset for name, item in first.items()}
    ends = {name: item.offset for name, item in end.items()}
    if isinstance(to, int):
        after = _shifted(group, names, before, to)
    else:
        found = await admin.list_offsets(dict.fromkeys(names, to.lookup()))
        after = offsets_of(to, {name: item.offset for name, item in found.items()}, firsts, ends)
    return {name: PositionChange(before.get(name), min(max(after[name], firsts[name]), ends[name])) for name in names}


async def _idle_offsets(admin: Admin, group: str) -> dict[TopicPartition, int]:
    """The committed offsets of a group without members; empty for a group that does not exist yet."""
    found = (await admin.describe_consumer_groups([group]))[0]
    if found.state not in IDLE:
        raise GroupRefused(
            f"group {group!r} has members ({len(found.members)}); stop them before its offsets are changed"
        )
    positions, markers = await group_offsets(admin, group)
    for marker in markers.values():
        raise GroupRefused(
            f"group {group!r} is no consumer's: it holds the {marker}, and with another offset in its place the sink "
            "would not know what it has written"
        )
    return positions


def _shifted(
    group: str, names: Sequence[TopicPartition], before: dict[TopicPartition, int], by: int
) -> dict[TopicPartition, int]:
    missing = [str(name) for name in names if name not in before]
    if missing:
        raise GroupRefused(f"group {group!r} has no position in {', '.join(missing)} that could be shifted")
    return {name: before[name] + by for name in names}
