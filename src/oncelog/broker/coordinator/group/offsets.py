"""Committed offsets, pending offsets of open transactions, and the expiry of both.

The state follows from the offset records of one shard: only :meth:`OffsetStore.replay` and
:meth:`OffsetStore.replay_marker` change it. A record outside a transaction becomes the committed offset at once; a
record inside a transaction waits for its producer's marker: COMMIT makes it the committed offset unless a record later
in the log was committed meanwhile, ABORT drops it. Pending offsets never expire, and keep their group alive. Called by
``shard`` and ``offset_requests``. Source: Kafka's ``OffsetMetadataManager`` and ``OffsetAndMetadata`` (4.4.0); KIP-211
(expiry), KIP-447 (stable offsets).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from oncelog.broker.coordinator.group import records
from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup
from oncelog.broker.coordinator.group.environment import Group
from oncelog.broker.coordinator.group.states import ClassicState
from oncelog.broker.coordinator.runtime import CoordinatorRecord, LoggedMarker
from oncelog.protocol.generated.offset_commit_key import OffsetCommitKey
from oncelog.protocol.generated.offset_commit_value import OffsetCommitValue
from oncelog.types import NO_PRODUCER_ID


class CommittedOffset(NamedTuple):
    """A group's committed offset in a partition. ``record_offset`` is the offset of the commit's own record in the
    log."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    """When the offset expires by the client's own request (OffsetCommit versions 2 to 4), else -1."""
    topic_id: bytes
    record_offset: int


Partitions = dict[int, CommittedOffset]
Place = tuple[str, str, int]
"""The group, topic and partition to which an offset belongs."""


class GroupOffsets(NamedTuple):
    """A group's committed offsets by topic, and the partitions with offsets in open transactions."""

    committed: Mapping[str, Partitions]
    pending: Collection[tuple[str, int]]


class OffsetStore:
    """The offsets of all groups of one shard."""

    def __init__(self) -> None:
        self._committed: dict[str, dict[str, Partitions]] = {}
        self._pending: dict[int, dict[Place, CommittedOffset]] = {}
        self._open: dict[str, dict[tuple[str, int], set[int]]] = {}
        """By group and partition, the producers whose transactions hold a pending offset."""
        self._groups: dict[str, dict[str, int]] = {}
        """For each topic, the groups with offsets in it and the number of those offsets, so that the deletion of a
        topic need not search all groups."""

    # --- changes, from records alone

    def replay(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, record_offset: int, producer_id: int
    ) -> None:
        place = (key.group, key.topic, key.partition)
        if value is None:
            self._forget(place)
            return
        committed = CommittedOffset(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            record_offset,
        )
        if producer_id == NO_PRODUCER_ID:
            self.commit(place, committed)
        else:
            self.hold(place, committed, producer_id)

    def replay_marker(self, marker: LoggedMarker) -> None:
        producer_id = marker.producer.producer_id
        for place, pending in self._pending.pop(producer_id, {}).items():
            self._close(place, producer_id)
            if marker.commit:
                present = self.get(*place)
                if present is None or pending.record_offset > present.record_offset:
                    self.commit(place, pending)

    def commit(self, place: Place, committed: CommittedOffset) -> None:
        """Store a committed offset. Called when its record, or the marker that ends its transaction, is in the log."""
        group_id, topic, partition = place
        partitions = self._committed.setdefault(group_id, {}).setdefault(topic, {})
        if partition not in partitions:
            self._count(place, 1)
        partitions[partition] = committed

    def hold(self, place: Place, committed: CommittedOffset, producer_id: int) -> None:
        """Store a pending offset. Called when a record inside a transaction is in the log."""
        group_id, topic, partition = place
        pending = self._pending.setdefault(producer_id, {})
        if place not in pending:
            self._count(place, 1)
        pending[place] = committed
        self._open.setdefault(group_id, {}).setdefault((topic, partition), set()).add(producer_id)

    def _count(self, place: Place, change: int) -> None:
        group_id, topic, _ = place
        groups = self._groups.setdefault(topic, {})
        groups[group_id] = groups.get(group_id, 0) + change
        if not groups[group_id]:
            del groups[group_id]
            if not groups:
                del self._groups[topic]

    def _forget(self, place: Place) -> None:
        group_id, topic, partition = place
        topics = self._committed.get(group_id, {})
        partitions = topics.get(topic, {})
        if partitions.pop(partition, None) is not None:
            self._count(place, -1)
            if not partitions:
                del topics[topic]
                if not topics:
                    del self._committed[group_id]
        for producer_id in sorted(self._open.get(group_id, {}).get((topic, partition), ())):
            pending = self._pending[producer_id]
            del pending[place]
            if not pending:
                del self._pending[producer_id]
            self._close(place, producer_id)

    def _close(self, place: Place, producer_id: int) -> None:
        self._count(place, -1)
        group_id, topic, partition = place
        partitions = self._open[group_id]
        producers = partitions[topic, partition]
        producers.discard(producer_id)
        if not producers:
            del partitions[topic, partition]
            if not partitions:
                del self._open[group_id]

    # --- reads

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self._committed.get(group_id, {}).get(topic, {}).get(partition)

    def topics(self, group_id: str) -> Iterator[tuple[str, Partitions]]:
        """All committed offsets of a group by topic, in order of topic names."""
        topics = self._committed.get(group_id, {})
        for topic in sorted(topics):
            yield topic, topics[topic]

    def of(self, group_id: str) -> GroupOffsets:
        """The group's offsets, not copied: use them only before control returns to the event loop."""
        return GroupOffsets(self._committed.get(group_id, {}), self._open.get(group_id, {}))

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction has a pending offset for this partition, so that the committed offset may change
        soon."""
        return (topic, partition) in self._open.get(group_id, {})

    def has_any(self, group_id: str) -> bool:
        """Whether the group has offsets, pending ones included."""
        return group_id in self._committed or group_id in self._open

    def has_pending(self, group_id: str) -> bool:
        return group_id in self._open

    # --- decisions

    def delete_all(self, group_id: str) -> list[CoordinatorRecord]:
        """Tombstones that remove every offset of a group, pending ones included."""
        places = {(topic, partition) for topic, partitions in self.topics(group_id) for partition in partitions}
        places |= self._open.get(group_id, {}).keys()
        return [records.offset_tombstone(group_id, topic, partition) for topic, partition in sorted(places)]

    def delete(self, group_id: str, topic: str, partition: int) -> list[CoordinatorRecord]:
        """A tombstone for the offset of one partition, or nothing if the partition has none."""
        if self.get(group_id, topic, partition) is None and not self.is_pending(group_id, topic, partition):
            return []
        return [records.offset_tombstone(group_id, topic, partition)]

    def groups_of(self, topic: str) -> list[str]:
        """The groups with offsets in a topic, pending ones included, in order of their ids."""
        return sorted(self._groups.get(topic, ()))

    def delete_topic(self, group_id: str, topic: str) -> list[CoordinatorRecord]:
        """Tombstones that remove every offset of a group in a topic, pending ones included."""
        indexes = set(self._committed.get(group_id, {}).get(topic, ()))
        indexes |= {index for name, index in self._open.get(group_id, ()) if name == topic}
        return [records.offset_tombstone(group_id, topic, index) for index in sorted(indexes)]

    def expired(self, group: Group, now_ms: int, retention_ms: int) -> tuple[list[CoordinatorRecord], bool]:
        """Tombstones for expired offsets, and whether the group then has no offsets, committed or pending."""
        nothing_pending = not self.has_pending(group.group_id)
        if group.group_id not in self._committed:
            return [], nothing_pending
        counts_from = _expiry_base(group)
        if counts_from is None:
            return [], False
        written: list[CoordinatorRecord] = []
        all_gone = True
        for topic, partitions in self.topics(group.group_id):
            for partition, committed in sorted(partitions.items()):
                if (
                    not group.reads(topic)
                    and not self.is_pending(group.group_id, topic, partition)
                    and _is_expired(committed, counts_from(committed), now_ms, retention_ms)
                ):
                    written.append(records.offset_tombstone(group.group_id, topic, partition))
                else:
                    all_gone = False
        return written, all_gone and nothing_pending


def _is_expired(committed: CommittedOffset, base_ms: int, now_ms: int, retention_ms: int) -> bool:
    if committed.expire_timestamp_ms != -1:
        return now_ms >= committed.expire_timestamp_ms
    return now_ms - base_ms >= retention_ms


def _expiry_base(group: Group) -> Callable[[CommittedOffset], int] | None:
    """The time from which retention counts, or None while the group keeps everything (KIP-211).

    For simple groups, groups of newer protocols, and topics that a stable group has stopped reading: the commit. For
    groups without members: when the group became empty, if known. For rebalancing groups, and members that are not
    consumers: never.
    """
    if not isinstance(group, ClassicGroup) or group.protocol_type is None:
        return lambda committed: committed.commit_timestamp_ms
    if group.empty:
        since_ms = group.state_timestamp_ms
        return lambda committed: committed.commit_timestamp_ms if since_ms == -1 else since_ms
    if group.consumer_type and group.subscribed_topics is not None and group.state is ClassicState.STABLE:
        return lambda committed: committed.commit_timestamp_ms
    return None
