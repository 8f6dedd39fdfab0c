"""Positions of groups: committed offsets, lag, and the targets of a reset.

Called by the command line and the console. A group's lag is given both to the last stable offset, where a
read_committed reader stops, and to the high watermark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.sink_markers import SinkMarker
from oncelog.client.core.admin.admin_types import GroupDescription, GroupListing, MemberDescription, ShareGroupOffset
from oncelog.client.positions import EARLIEST, LATEST, LogPlace, offsets_of
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.types import TopicPartition

IDLE = ("Empty", "Dead")
SHARE = "share"
"""The type of share groups, as brokers name it."""
AT_ONCE = 16
"""The number of groups queried at a time."""


class GroupRefused(OncelogError):
    """The group does not exist, or its members prevent the change."""


class PartitionPosition(NamedTuple):
    """The position of a group in one partition, with the last stable offset (``stable``) and the high watermark
    (``end``).

    :ivar committed: the committed offset; None if the group has none here.
    :ivar stable: None, like ``end``, if the topic is gone or the partition has no leader.
    :ivar member: the member that reads the partition, if there is one.
    :ivar marker: the marker that a Spark sink keeps here instead of a position.
    """

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


class SharePosition(NamedTuple):
    """The position of a share group in one partition: every record before ``start`` is delivered for good.

    ``start`` is None until a member has fetched from the partition. ``end`` is the high watermark, None if the topic is
    gone or the partition has no leader. ``lag`` is the broker's count of records up to ``end`` that are not delivered
    for good.
    """

    name: TopicPartition
    start: int | None
    end: int | None
    lag: int | None


class GroupWithPositions(NamedTuple):
    """A group with its positions in all partitions, sorted. For a share group they are in ``shared``, and ``positions``
    is empty."""

    group: GroupDescription
    positions: list[PartitionPosition]
    shared: Sequence[SharePosition] = ()


class PositionChange(NamedTuple):
    """A group's position in one partition before and after a reset; ``before`` is None if there was no position."""

    before: int | None
    after: int


def _behind(committed: int | None, end: int | None) -> int | None:
    return None if committed is None or end is None else max(0, end - committed)


async def existing_group(admin: Admin, group: str) -> tuple[GroupDescription, GroupCommits]:
    """The group with its committed offsets or, for a share group, its start offsets.

    :raises GroupRefused: the group does not exist.
    """
    found = (await admin.describe_consumer_groups([group]))[0]
    offsets = await _offsets_of(admin, found)
    if found.state == "Dead" and not offsets.positions and not offsets.markers:
        raise GroupRefused(f"group {group!r} does not exist; see oncelog groups list")
    return found, offsets


class GroupCommits(NamedTuple):
    """The offsets of a group by partition.

    :ivar positions: committed offsets, or the start offsets of a share group.
    :ivar markers: the markers of Spark sinks.
    :ivar shared: the details of a share group, also in partitions from which no member has fetched yet.
    """

    positions: dict[TopicPartition, int]
    markers: dict[TopicPartition, SinkMarker]
    shared: Mapping[TopicPartition, ShareGroupOffset] = {}


async def _offsets_of(admin: Admin, group: GroupDescription) -> GroupCommits:
    if group.type != SHARE:
        return await group_offsets(admin, group.group_id)
    shared = await admin.list_share_group_offsets(group.group_id)
    starts = {name: one.start_offset for name, one in shared.items() if one.start_offset is not None}
    return GroupCommits(starts, {}, shared)


async def group_offsets(admin: Admin, group: str) -> GroupCommits:
    """The committed offsets of a group; empty if the group does not exist."""
    offsets = await admin.list_consumer_group_offsets(group, negative=True)
    found = {name: SinkMarker.of(group, name, committed.metadata) for name, committed in offsets.items()}
    markers = {name: marker for name, marker in found.items() if marker is not None}
    positions = {name: one.offset for name, one in offsets.items() if name not in markers and one.offset >= 0}
    return GroupCommits(positions, markers)


async def sink_markers(admin: Admin, groups: Iterable[GroupListing]) -> dict[str, SinkMarker]:
    """The marker of each of these groups that belongs to a Spark sink, if the user may read the group. Groups of
    consumers are skipped without a request."""
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


async def group_with_positions(admin: Admin, group: str) -> GroupWithPositions:
    """The group with its positions and lags.

    :raises GroupRefused: it does not exist.
    """
    found, (committed, markers, shared) = await existing_group(admin, group)
    if found.type == SHARE:
        return GroupWithPositions(found, [], await _share_positions(admin, shared))
    owners = {name: member for member in found.members for name in member.assignment}
    names = sorted({*committed, *owners, *markers})
    known = dict.fromkeys(await _led(admin, names), LATEST)
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


async def _share_positions(admin: Admin, offsets: Mapping[TopicPartition, ShareGroupOffset]) -> list[SharePosition]:
    ends = await admin.list_offsets(dict.fromkeys(await _led(admin, sorted(offsets)), LATEST))
    return [
        SharePosition(name, offsets[name].start_offset, ends[name].offset if name in ends else None, offsets[name].lag)
        for name in sorted(offsets)
    ]


async def _led(admin: Admin, names: Sequence[TopicPartition]) -> list[TopicPartition]:
    """Those of these partitions that exist and have a leader."""
    there = set(await admin.list_topics(internal=True)) & {name.topic for name in names}
    led = {
        TopicPartition(topic.name, item.partition)
        for topic in (await admin.describe_topics(sorted(there)) if there else [])
        for item in topic.partitions
        if item.leader >= 0
    }
    return [name for name in names if name in led]


async def planned_moves(
    admin: Admin, group: str, partitions: Iterable[TopicPartition] | None, to: LogPlace | int
) -> dict[TopicPartition, PositionChange]:
    """The effect of a reset, by partition; no position ends up before the first record or past the end.

    :param partitions: None for all partitions in which the group has a position, or that a share group reads.
    :param to: a place, or how many records to move forward (back if negative).
    :raises GroupRefused: the group has members, or no position that could be shifted.
    """
    commits = await _idle_offsets(admin, group)
    before, shared = commits.positions, commits.shared
    everywhere = shared if shared and not isinstance(to, int) else before
    names = sorted(everywhere if partitions is None else partitions)
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


async def _idle_group(admin: Admin, group: str) -> GroupDescription:
    found = (await admin.describe_consumer_groups([group]))[0]
    if found.state not in IDLE:
        raise GroupRefused(
            f"group {group!r} has members ({len(found.members)}); stop them before its offsets are changed"
        )
    return found


async def _idle_offsets(admin: Admin, group: str) -> GroupCommits:
    """The committed offsets of a group without members; empty for a group that does not exist yet."""
    found = await _idle_group(admin, group)
    commits = await _offsets_of(admin, found)
    for marker in commits.markers.values():
        raise GroupRefused(
            f"group {group!r} belongs to no consumer: it holds the {marker}, without which the sink would not know "
            "what it has written"
        )
    return commits


def _shifted(
    group: str, names: Sequence[TopicPartition], before: dict[TopicPartition, int], by: int
) -> dict[TopicPartition, int]:
    missing = [str(name) for name in names if name not in before]
    if missing:
        raise GroupRefused(f"group {group!r} has no position in {', '.join(missing)} that could be shifted")
    return {name: before[name] + by for name in names}


async def move(admin: Admin, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Set the offsets of a group without members, as :func:`planned_moves` has planned them.

    :raises GroupRefused: the group has members.
    """
    found = await _idle_group(admin, group)
    if found.type == SHARE:
        await admin.alter_share_group_offsets(group, offsets)
    else:
        await admin.alter_consumer_group_offsets(group, offsets)
