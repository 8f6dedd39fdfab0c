"""Finds the positions of a cluster's groups.

Offsets are requested group by group, those with members first; the number of groups is limited, and the result is
cached for a few seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.group_positions import SHARE, GroupCommits, group_offsets
from oncelog.client.aio.admin.sink_markers import SinkMarker
from oncelog.client.core.admin.admin_types import GroupListing, ShareGroupOffset
from oncelog.errors import KafkaError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.types import TopicPartition

MAX_GROUPS = 200
AT_ONCE = 16
REMEMBERED_SECONDS = 4.0


class GroupPositions(NamedTuple):
    """The committed offsets of each group, the offsets of share groups, the markers of Spark sinks, and how many groups
    were left out for the limit (``left_out``) or may not be read (``refused``)."""

    by_group: dict[str, dict[TopicPartition, int]]
    shared: dict[str, dict[TopicPartition, ShareGroupOffset]]
    markers: list[SinkMarker]
    left_out: int
    refused: int

    def markers_in(self, topic: str, partition: int | None = None) -> list[SinkMarker]:
        """The markers of Spark sinks that are committed for a topic, or for one partition of it."""
        return [one for one in self.markers if one.where.topic == topic and partition in (None, one.where.partition)]

    def readers_of(self, topic: str) -> dict[str, int]:
        """The number of partitions of a topic in which each group has a position, share groups included."""
        names = {group: [*positions] for group, positions in self.by_group.items()}
        names |= {group: [*offsets] for group, offsets in self.shared.items()}
        counts = {group: sum(name.topic == topic for name in names[group]) for group in sorted(names)}
        return {group: count for group, count in counts.items() if count}

    def within(self, names: Iterable[TopicPartition]) -> dict[TopicPartition, dict[str, int]]:
        """The positions in these partitions, by partition and group."""
        found: dict[TopicPartition, dict[str, int]] = {name: {} for name in names}
        for group, positions in self.by_group.items():
            for name, offset in positions.items():
                if name in found:
                    found[name][group] = offset
        return found


class GroupReaders:
    """Finds the positions of all groups of a cluster that one visitor may see, and caches them."""

    def __init__(self) -> None:
        self._known: GroupPositions | None = None
        self._asked = 0.0
        self._lock = asyncio.Lock()

    async def positions(self, admin: Admin) -> GroupPositions:
        """All positions, at most a few seconds old."""
        async with self._lock:
            if self._known is None or real_time.monotonic() - self._asked > REMEMBERED_SECONDS:
                self._known = await _ask(admin)
                self._asked = real_time.monotonic()
            return self._known


async def _ask(admin: Admin) -> GroupPositions:
    listed = await admin.list_consumer_groups()
    groups = sorted(listed, key=lambda group: group.state in ("Empty", "Dead"))
    limit = asyncio.Semaphore(AT_ONCE)
    refused = 0

    async def one(group: GroupListing) -> GroupCommits:
        nonlocal refused
        async with limit:
            try:
                if group.type == SHARE:
                    return GroupCommits({}, {}, await admin.list_share_group_offsets(group.group_id))
                return await group_offsets(admin, group.group_id)
            except KafkaError as error:
                if error.retriable:
                    raise
                refused += 1
                return GroupCommits({}, {})

    asked = groups[:MAX_GROUPS]
    answers = dict(zip(asked, await asyncio.gather(*map(one, asked)), strict=True))
    return GroupPositions(
        {group.group_id: found.positions for group, found in answers.items() if group.type != SHARE},
        {group.group_id: dict(found.shared) for group, found in answers.items() if group.type == SHARE},
        sorted({marker for found in answers.values() for marker in found.markers.values()}),
        len(groups) - len(asked),
        refused,
    )
