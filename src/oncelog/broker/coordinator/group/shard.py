"""The groups of one partition of ``__consumer_offsets``: applies records to state, and runs the protocols on it.

Created by ``group_coordinator.GroupCoordinator`` through :class:`CoordinatorRuntime`, which calls ``replay``,
``replay_marker``, ``loaded`` and ``unloaded``. The classic protocol is the exception to "state changes only by
records": its members are in memory and newer than the log, so it writes a group's metadata without replaying it, as
Kafka does (``classic_protocol.members_are_ahead``); offsets, consumer groups and tombstones are applied in the same way
when they are written and at load.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from oncelog.broker.coordinator.group import records
from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup
from oncelog.broker.coordinator.group.classic.classic_protocol import ClassicProtocol
from oncelog.broker.coordinator.group.consumer.classic_members import ClassicMembers
from oncelog.broker.coordinator.group.consumer.consumer_group import ConsumerGroup, ConsumerMember, ResolvedRegex
from oncelog.broker.coordinator.group.consumer.consumer_protocol import ConsumerProtocol
from oncelog.broker.coordinator.group.environment import Environment, Group, GroupHost, NamedTimers, Records
from oncelog.broker.coordinator.group.offsets import CommittedOffset, OffsetStore, Place
from oncelog.broker.coordinator.runtime import CoordinatorRecord, CoordinatorRuntime, LoggedMarker, LoggedRecord
from oncelog.broker.coordinator.share import group_records
from oncelog.broker.coordinator.share.share_group import RECORD_TYPES as SHARE_RECORD_TYPES
from oncelog.broker.coordinator.share.share_group import ShareGroup
from oncelog.broker.coordinator.share.share_protocol import ShareProtocol
from oncelog.broker.log.producers.verification_state import VerificationGuard
from oncelog.errors import NONE, Error
from oncelog.protocol.generated.consumer_group_metadata_key import ConsumerGroupMetadataKey
from oncelog.protocol.generated.group_metadata_key import GroupMetadataKey
from oncelog.protocol.generated.offset_commit_key import OffsetCommitKey
from oncelog.protocol.generated.share_group_metadata_key import ShareGroupMetadataKey
from oncelog.protocol.internal_records import InternalRecord, decode_group_record
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.ports import Random
from oncelog.runtime.timers import RepeatedTimer
from oncelog.settings.config import BrokerConfig
from oncelog.types import NO_PRODUCER, NO_PRODUCER_ID, ProducerIdAndEpoch, TopicPartition

GROUPS_IN_A_CHUNK: Final = 50
"""The number of groups that are examined, or whose offsets are removed, in one chunk."""
TOMBSTONE_BATCH_BYTES: Final = 16_384
"""The maximum bytes of keys in one batch of tombstones: one deletion may write more tombstones than a batch can
hold."""


class GroupShard:
    """The state of one partition of ``__consumer_offsets``, and the protocols of its groups."""

    def __init__(
        self,
        host: GroupHost,
        settings: Callable[[], BrokerConfig],
        random: Random,
        partition: TopicPartition,
        runtime: CoordinatorRuntime[GroupShard],
    ) -> None:
        self.partition = partition
        self.offsets = OffsetStore()
        self._runtime = runtime
        self._last_write: Deferred[Error] = Deferred.of(NONE)
        self._now_ms = 0
        self._expiry: RepeatedTimer | None = None
        self.env = Environment(host, settings, random, partition, self.write, NamedTimers(host.timers))
        self.groups = self.env.groups
        self.classic = ClassicProtocol(self.env, self._forget_unused)
        self.consumer = ConsumerProtocol(self.env, self.classic)
        self.classic_members = ClassicMembers(self.env, self.consumer)
        self.share = ShareProtocol(self.env)
        self._share_groups: dict[str, ShareGroup] = {}

    # --- the log

    def write(
        self,
        records: Records,
        now_ms: int,
        producer: ProducerIdAndEpoch = NO_PRODUCER,
        guard: VerificationGuard | None = None,
        apply: Callable[[int], None] | None = None,
    ) -> Deferred[Error]:
        """Append records and apply them; resolves once they are committed. Without records: once all earlier writes are
        committed."""
        self._now_ms = now_ms
        if not records:
            return self._last_write
        written = self._runtime.write(self.partition, records, now_ms, producer, guard, apply)
        if not written.done or written.has_value(NONE):
            self._last_write = written
        return written

    def replay(self, record: LoggedRecord) -> None:
        decoded = decode_group_record(record.key, record.value)
        if not isinstance(decoded, InternalRecord):
            return  # records of streams groups, which this broker does not support
        key, value = decoded
        if isinstance(key, OffsetCommitKey):
            self._apply_offset(key, value, record.offset, record.producer.producer_id)
        elif isinstance(key, GroupMetadataKey):
            self._apply_classic_group(key.group, value)
        elif key.API_KEY in SHARE_RECORD_TYPES:
            self._apply_to_share_group(key, value)
        else:
            self._apply_to_consumer_group(key, value)

    def replay_marker(self, marker: LoggedMarker) -> None:
        self.offsets.replay_marker(marker)

    def loaded(self, now_ms: int) -> None:
        for group_id in list(self.groups):
            group = self.groups[group_id]
            if isinstance(group, ClassicGroup):
                self.classic.loaded(group, now_ms)
            elif isinstance(group, ShareGroup):
                self.share.loaded(group, now_ms)
            else:
                self.consumer.loaded(group, now_ms)
        self._schedule_expiry(now_ms)

    def unloaded(self) -> None:
        self.env.timers.cancel_all()
        self._end_expiry()
        self.classic.unload([g for g in self.groups.values() if isinstance(g, ClassicGroup)], self._now_ms)
        self.groups.clear()

    def expire_members(self, group_id: str, member_id: str | None, now_ms: int) -> list[str]:
        """End the session of one member, or of all members, as if no heartbeat had arrived; returns their ids."""
        group = self.env.groups.get(group_id)
        members = sorted(group.members) if group is not None and member_id is None else [member_id or ""]
        return [member for member in members if self.env.timers.fire(("session", group_id, member), now_ms)]

    # --- offsets that expire, topics that are deleted

    def _schedule_expiry(self, now_ms: int) -> None:
        def interval_ms() -> int:
            return self.env.config.offsets_retention_check_interval_ms

        def expired(now_ms: int) -> None:
            self.env.host.begin_task(self.expire(now_ms))

        self._end_expiry()
        self._expiry = self.env.host.timers.repeat(now_ms + interval_ms(), interval_ms, expired, self._keeps_all)

    def _end_expiry(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def _keeps_all(self, now_ms: int) -> bool:
        retention_ms = self.env.config.offsets_retention_minutes * 60_000
        for group in self.groups.values():
            tombstones, nothing_left = self.offsets.expired(group, now_ms, retention_ms)
            if tombstones or (nothing_left and group.empty and not isinstance(group, ShareGroup)):
                return False
        return True

    def expire(self, now_ms: int) -> Generator[None, None, None]:
        """Remove expired offsets, and groups without offsets and members; a generator that pauses between chunks."""
        retention_ms = self.env.config.offsets_retention_minutes * 60_000
        for part in _in_chunks(list(self.groups)):
            written: list[CoordinatorRecord] = []
            for group_id in part:
                group = self.groups.get(group_id)
                if group is None:  # since the list was made, the group was removed or the shard unloaded
                    continue
                tombstones, nothing_left = self.offsets.expired(group, now_ms, retention_ms)
                written += tombstones
                if nothing_left and group.empty and not isinstance(group, ShareGroup):
                    written += self.group_tombstones(group)
            # written before the task yields, because another request may then use the group again
            self._remove(written, now_ms)
            yield

    def _remove(self, tombstones: Iterable[CoordinatorRecord], now_ms: int) -> None:
        """Write tombstones in several batches, in order; the batches are not atomic together."""
        batch: list[CoordinatorRecord] = []
        size_bytes = 0
        for tombstone in tombstones:
            batch.append(tombstone)
            size_bytes += len(tombstone.key)
            if size_bytes >= TOMBSTONE_BATCH_BYTES:
                self.write(batch, now_ms)
                batch, size_bytes = [], 0
        self.write(batch, now_ms)

    def group_tombstones(self, group: Group) -> list[CoordinatorRecord]:
        if isinstance(group, ClassicGroup):
            return [records.group_tombstone(group.group_id)]
        if isinstance(group, ShareGroup):
            return group_records.group_tombstones(group)
        return records.consumer_group_tombstones(group)

    def _forget_unused(self, group: ClassicGroup, now_ms: int) -> None:
        """Remove a group created for a member id that was never used, without waiting for the next expiry check."""
        if (
            group.empty
            and not group.generation
            and not group.pending_joins
            and not self.offsets.has_any(group.group_id)
        ):
            self.write(self.group_tombstones(group), now_ms)

    def topic_deleted(self, topic: str, now_ms: int) -> Generator[None, None, None]:
        """Remove the offsets of a deleted topic, so that a new topic with the same name starts without any; a generator
        that pauses between chunks."""
        for group in list(self._share_groups.values()):
            gone = [topic_id for topic_id, known in group.initialized.items() if known.name == topic]
            if gone:
                self.share.forget_topics(group, gone, now_ms)
                yield
        for part in _in_chunks(self.offsets.groups_of(topic)):
            known = [group_id for group_id in part if group_id in self.groups]  # an unloaded shard has no groups
            self._remove([found for group_id in known for found in self.offsets.delete_topic(group_id, topic)], now_ms)
            yield

    # --- records applied

    def offsets_committed(
        self, committed: Iterable[tuple[Place, CommittedOffset]], producer_id: int, base_offset: int
    ) -> None:
        """Apply offsets of one group that were appended, one record each, with the same result as replaying the
        records.

        :param committed: the offsets, without the offsets of their records.
        """
        offsets = self.offsets
        for record_offset, (place, value) in enumerate(committed, base_offset):
            self._simple_group(place[0])
            logged = CommittedOffset(*value[:-1], record_offset)
            if producer_id == NO_PRODUCER_ID:
                offsets.commit(place, logged)
            else:
                offsets.hold(place, logged, producer_id)

    def offset_committed(self, place: Place, committed: CommittedOffset) -> None:
        """Like :meth:`offsets_committed`, for a single offset, with the offset of its record."""
        self._simple_group(place[0])
        self.offsets.commit(place, committed)

    def _simple_group(self, group_id: str) -> None:
        """Create a simple group (a classic group without members) for offsets whose group does not exist."""
        if group_id not in self.groups:
            self.groups[group_id] = ClassicGroup(group_id)

    def _apply_offset(self, key: OffsetCommitKey, value: Any, offset: int, producer_id: int) -> None:
        if value is not None:
            self._simple_group(key.group)
        self.offsets.replay(key, value, offset, producer_id)

    def _apply_classic_group(self, group_id: str, value: Any) -> None:
        if value is not None:
            self.groups[group_id] = records.classic_group_from(group_id, value)
        elif isinstance(self.groups.get(group_id), ClassicGroup):
            self._remove_group(group_id)

    def _apply_to_consumer_group(self, key: Any, value: Any) -> None:
        """Apply a record of a consumer group, which replaces a simple group or creates the group; a tombstone for an
        unknown group changes nothing."""
        group = self.groups.get(key.group_id)
        if not isinstance(group, ConsumerGroup):
            if value is None:
                return
            group = self.groups[key.group_id] = ConsumerGroup(key.group_id)
        if value is None and isinstance(key, ConsumerGroupMetadataKey):
            self._remove_group(key.group_id)
        else:
            _APPLY[key.API_KEY](group, key, value)

    def _apply_to_share_group(self, key: Any, value: Any) -> None:
        """Apply a record of a share group, as :meth:`_apply_to_consumer_group` does."""
        group = self.groups.get(key.group_id)
        if not isinstance(group, ShareGroup):
            if value is None:
                return
            group = self.groups[key.group_id] = self._share_groups[key.group_id] = ShareGroup(key.group_id)
        if value is None and isinstance(key, ShareGroupMetadataKey):
            self._remove_group(key.group_id)
        else:
            group.apply(key, value)

    def _remove_group(self, group_id: str) -> None:
        self.env.timers.cancel_group(group_id)
        del self.groups[group_id]
        self._share_groups.pop(group_id, None)


def _in_chunks(group_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(group_ids), GROUPS_IN_A_CHUNK):
        yield group_ids[start : start + GROUPS_IN_A_CHUNK]


# --- records of consumer groups; a value of None is a tombstone


def _apply_epoch(group: ConsumerGroup, key: Any, value: Any) -> None:
    group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


def _apply_partition_metadata(group: ConsumerGroup, key: Any, value: Any) -> None:
    group.has_partition_metadata = value is not None


def _apply_subscription(group: ConsumerGroup, key: Any, value: Any) -> None:
    if value is None:
        group.remove_member(key.member_id)
    else:
        member = group.members.get(key.member_id, ConsumerMember(key.member_id))
        group.put_member(records.with_subscription(member, value))


def _apply_target_epoch(group: ConsumerGroup, key: Any, value: Any) -> None:
    if value is None:
        group.assignment_epoch, group.assignment_timestamp_ms = -1, 0
    else:
        group.assignment_epoch, group.assignment_timestamp_ms = value.assignment_epoch, value.assignment_timestamp


def _apply_target(group: ConsumerGroup, key: Any, value: Any) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
    else:
        group.targets[key.member_id] = records.target_from(value)


def _apply_assignment(group: ConsumerGroup, key: Any, value: Any) -> None:
    member = group.members.get(key.member_id)
    if value is not None:
        group.put_member(records.with_assignment(member or ConsumerMember(key.member_id), value))
    elif member is not None:
        group.put_member(replace(member, epoch=-1, previous_epoch=-1, assigned={}, revoking={}))


def _apply_regex(group: ConsumerGroup, key: Any, value: Any) -> None:
    if value is None:
        group.regexes.pop(key.regular_expression, None)
    else:
        resolved = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
        group.regexes[key.regular_expression] = resolved


_APPLY: dict[int, Callable[[ConsumerGroup, Any, Any], None]] = {
    3: _apply_epoch,
    4: _apply_partition_metadata,
    5: _apply_subscription,
    6: _apply_target_epoch,
    7: _apply_target,
    8: _apply_assignment,
    16: _apply_regex,
}
"""For each record type, the function that applies a record of that type."""
