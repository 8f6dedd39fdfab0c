"""Offsets of the source's groups: reads them from ``__consumer_offsets``, translates them, and decides which to set on
the target.

Called by :mod:`oncelog.apps.mirror.reading` and :mod:`oncelog.apps.mirror.run`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from oncelog.client.aio.admin.admin import Admin
from oncelog.client.core.client_errors import KafkaTimeoutError
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.offset_commit_key import OffsetCommitKey
from oncelog.protocol.generated.offset_commit_value import OffsetCommitValue
from oncelog.protocol.internal_records import InternalRecord, decode_group_record
from oncelog.records.record import Record
from oncelog.types import TopicPartition

_OFFSET_KEYS = (b"\0\0", b"\0\1")
_AT_REST = ("Empty", "Dead")

GroupPositions: TypeAlias = dict[tuple[str, TopicPartition], OffsetAndMetadata]
"""The committed offsets of groups, by group and partition.

An offset below 0 is not a position, but the marker of a Spark sink, whose content is its metadata. It is copied to the
target unchanged, in the transaction of the batch that it describes, so that a sink on the target knows which batches
are written.
"""


class OffsetCommit(NamedTuple):
    """A group's position in a partition, from a record of ``__consumer_offsets``."""

    group: str
    partition: TopicPartition
    offset: int
    metadata: str


def offset_commits(records: Iterable[Record]) -> Iterator[OffsetCommit]:
    """The positions among the records; tombstones and other kinds of records are left out."""
    for record in records:
        if record.key is None or record.value is None or record.key[:2] not in _OFFSET_KEYS:
            continue
        found = decode_group_record(record.key, record.value)
        if isinstance(found, InternalRecord):
            key, value = found
            if isinstance(key, OffsetCommitKey) and isinstance(value, OffsetCommitValue):
                name = TopicPartition(key.topic, key.partition)
                yield OffsetCommit(key.group, name, value.offset, value.metadata)


def kept_of(position: OffsetAndMetadata) -> OffsetAndMetadata:
    """The part of a group's position whose change matters: the offset, or the metadata of a Spark sink's marker."""
    return OffsetAndMetadata(position.offset, position.metadata if position.offset < 0 else "")


async def asked_offsets(
    admin: Admin, mirrored: Container[TopicPartition], *, markers: bool
) -> tuple[GroupPositions, list[str]]:
    """Every group's position in a mirrored partition, as the source reports it now, without offsets in open
    transactions; and the groups that may not be described.

    :param markers: include the markers of Spark sinks. They are left out if ``__consumer_offsets`` cannot be read: a
        marker that is copied after its batch would make the sink write the batch twice.
    """
    found: GroupPositions = {}
    denied = []
    for listing in await admin.list_consumer_groups():
        try:
            offsets = await admin.list_consumer_group_offsets(listing.group_id, negative=markers)
        except KafkaError as error:
            if error.error is not Error.GROUP_AUTHORIZATION_FAILED:
                raise
            denied.append(listing.group_id)
            continue
        for name, position in offsets.items():
            if name in mirrored:
                found[listing.group_id, name] = position
    return found, denied


class LateOffsets:
    """Positions that the source reported at the mirror's start, of groups whose last commits the mirror may already
    have passed.

    These are groups of topics that were chosen later, and groups whose offsets the target has deleted since. The
    positions may be set when everything that the source had at that time (up to ``ends``) is on the target: only then
    does it have the records of every transaction that committed one of them. If ``__consumer_offsets`` contains another
    position before that, it is newer and replaces the reported one.
    """

    def __init__(self, asked: GroupPositions, ends: Mapping[TopicPartition, int]) -> None:
        self._asked = asked
        self._ends = ends

    def due(self, brought: Iterable[tuple[str, TopicPartition]], cut: Mapping[TopicPartition, int]) -> GroupPositions:
        """The positions that a round up to ``cut`` must set; each is returned once.

        :param brought: the positions that the round has read from ``__consumer_offsets``.
        """
        for key in brought:
            self._asked.pop(key, None)
        if any(name in cut and cut[name] < end for name, end in self._ends.items()):
            return {}
        due, self._asked = self._asked, {}
        return due


class GroupsOnB(NamedTuple):
    """The positions that may be set on the target, and the groups that the mirror does not change, each with the
    reason."""

    positions: dict[str, dict[TopicPartition, OffsetAndMetadata]]
    left_alone: dict[str, str]


async def settable(
    admin: Admin,
    wanted: Mapping[tuple[str, TopicPartition], OffsetAndMetadata],
    written: Mapping[tuple[str, TopicPartition], OffsetAndMetadata],
) -> GroupsOnB:
    """The translated positions whose group is inactive on the target and has not moved there by itself.

    :param written: what the mirror set last (:func:`kept_of`).
    """
    by_group: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {}
    for (group, name), position in wanted.items():
        by_group.setdefault(group, {})[name] = position
    found = GroupsOnB({}, {})
    if not by_group:
        return found
    states = {listing.group_id: listing.state for listing in await admin.list_consumer_groups()}
    for group, positions in sorted(by_group.items()):
        state = states.get(group, "Dead")
        if state not in _AT_REST:
            found.left_alone[group] = "it has members on the target"
            continue
        moved = await _moved(admin, group, positions, written) if group in states else []
        if moved:
            what = "marker" if positions[min(moved)].offset < 0 else "offset"
            found.left_alone[group] = f"its {what} of {min(moved)} on the target is not the mirror's"
        else:
            found.positions[group] = positions
    return found


async def _moved(
    admin: Admin,
    group: str,
    positions: Iterable[TopicPartition],
    written: Mapping[tuple[str, TopicPartition], OffsetAndMetadata],
) -> list[TopicPartition]:
    """Partitions in which the group's offset on the target differs from the offset that the mirror set."""
    moved: list[TopicPartition] = []
    # a pending commit of the mirror's last transaction may cause the difference: read again once the transaction is
    # complete
    for stable in (False, True):
        try:
            there = await admin.list_consumer_group_offsets(group, require_stable=stable, negative=True)
        except KafkaTimeoutError:
            if not stable:
                raise
            break  # another client's open transaction holds offsets of the group
        moved = [name for name in positions if name in there and kept_of(there[name]) != written.get((group, name))]
        if not moved:
            break
    return moved


__all__ = [
    "GroupPositions",
    "GroupsOnB",
    "LateOffsets",
    "OffsetCommit",
    "asked_offsets",
    "kept_of",
    "offset_commits",
    "settable",
]
