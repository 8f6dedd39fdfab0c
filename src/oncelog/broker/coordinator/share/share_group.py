"""The state of a share group (KIP-932): it follows from the records in ``__consumer_offsets``.

Changed only by ``group.shard`` when it applies a record, live or at load; ``share_protocol`` decides which records to
write. Topics are identified by id. Unlike in a consumer group, several members may be assigned one partition, so
nothing is owned and nothing revoked: a member takes its target at its next heartbeat. Source: Kafka's ``ShareGroup``
and ``ShareGroupMember`` (4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from oncelog.broker.coordinator.group.consumer.consumer_group import (
    MEMBER_BYTES,
    NO_ASSIGNMENT,
    Assignment,
    TopicId,
    size_of_names,
)
from oncelog.broker.coordinator.group.states import ShareGroupState


@dataclass(frozen=True, slots=True)
class ShareMember:
    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    assigned: Assignment = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InitializedTopic:
    """The partitions of a topic whose deliveries have a stored state."""

    name: str
    partitions: frozenset[int]


@dataclass(slots=True)
class ShareGroup:
    """A share group. ``initialized``: the partitions that the group reads or has read, by topic."""

    group_id: str
    epoch: int = 0
    metadata_hash: int = 0
    assignment_epoch: int = 0
    assignment_timestamp_ms: int = 0
    members: dict[str, ShareMember] = field(default_factory=dict)
    targets: dict[str, Assignment] = field(default_factory=dict)
    initialized: Mapping[TopicId, InitializedTopic] = field(default_factory=dict)
    metadata_stale: bool = True
    """Whether topics may have changed since the metadata hash was last compared. Never stored."""

    @property
    def empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> ShareGroupState:
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @property
    def memory_bytes(self) -> int:
        return sum(MEMBER_BYTES + size_of_names(member.topics) for member in self.members.values())

    def target(self, member_id: str) -> Assignment:
        return self.targets.get(member_id, NO_ASSIGNMENT)

    def topics(self) -> frozenset[str]:
        """The topics that any member subscribes to."""
        return frozenset().union(*(member.topics for member in self.members.values()))

    def reads(self, topic: str) -> bool:
        return any(topic in member.topics for member in self.members.values())

    def copy(self) -> ShareGroup:
        """A copy of the group on which changes can be tried."""
        return replace(self, members=dict(self.members), targets=dict(self.targets))

    # --- changes, from records alone

    def apply(self, key: Any, value: Any) -> None:
        """Apply a record of the group; a value of None is a tombstone. The caller handles the tombstone of the group's
        metadata, which deletes the group."""
        _APPLY[key.API_KEY](self, key, value)


def _member(group: ShareGroup, key: Any, value: Any) -> None:
    if value is None:
        group.members.pop(key.member_id, None)
        return
    member = group.members.get(key.member_id, ShareMember(key.member_id))
    group.members[key.member_id] = replace(
        member,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topics=frozenset(value.subscribed_topic_names),
    )


def _epoch(group: ShareGroup, key: Any, value: Any) -> None:
    group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


def _target_epoch(group: ShareGroup, key: Any, value: Any) -> None:
    if value is not None:
        group.assignment_epoch, group.assignment_timestamp_ms = value.assignment_epoch, value.assignment_timestamp


def _target(group: ShareGroup, key: Any, value: Any) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
    else:
        group.targets[key.member_id] = {each.topic_id: frozenset(each.partitions) for each in value.topic_partitions}


def _assignment(group: ShareGroup, key: Any, value: Any) -> None:
    member = group.members.get(key.member_id)
    if value is not None:
        group.members[key.member_id] = replace(
            member or ShareMember(key.member_id),
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            assigned={each.topic_id: frozenset(each.partitions) for each in value.assigned_partitions},
        )
    elif member is not None:
        group.members[key.member_id] = replace(member, epoch=-1, previous_epoch=-1, assigned={})


def _initialized(group: ShareGroup, key: Any, value: Any) -> None:
    if value is not None:
        group.initialized = {
            each.topic_id: InitializedTopic(each.topic_name, frozenset(each.partitions))
            for each in value.initialized_topics
        }


_APPLY: Mapping[int, Callable[[ShareGroup, Any, Any], None]] = {
    10: _member,
    11: _epoch,
    12: _target_epoch,
    13: _target,
    14: _assignment,
    15: _initialized,
}
"""For each record type, the function that applies a record of that type."""
RECORD_TYPES = frozenset(_APPLY)
