"""The records of ``__consumer_offsets`` that the group coordinator writes and loads, in the versions of Kafka 4.4.0.

Builders return a :class:`CoordinatorRecord`; the ``*_from`` functions turn decoded values back into state. The order of
topics and partitions in a record is fixed (sorted by id), although nothing depends on it.
Source: Kafka's ``GroupCoordinatorRecordHelpers``; layouts are those of ``protocol.internal_records``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup, ClassicMember
from oncelog.broker.coordinator.group.consumer.consumer_group import (
    Assignment,
    ClassicMembership,
    ConsumerGroup,
    ConsumerMember,
    OwnedPartitions,
    ResolvedRegex,
)
from oncelog.broker.coordinator.group.states import ClassicState, MemberState
from oncelog.broker.coordinator.runtime import CoordinatorRecord
from oncelog.errors import InvariantError
from oncelog.protocol.coordinator_fast import offset_commit_key, offset_commit_value
from oncelog.protocol.generated import (
    consumer_group_current_member_assignment_value as current_assignment,
)
from oncelog.protocol.generated import (
    consumer_group_member_metadata_value as member_metadata,
)
from oncelog.protocol.generated import (
    consumer_group_target_assignment_member_value as target_assignment,
)
from oncelog.protocol.generated import (
    group_metadata_value as classic_metadata,
)
from oncelog.protocol.generated.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from oncelog.protocol.generated.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from oncelog.protocol.generated.consumer_group_metadata_key import ConsumerGroupMetadataKey
from oncelog.protocol.generated.consumer_group_metadata_value import ConsumerGroupMetadataValue
from oncelog.protocol.generated.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey
from oncelog.protocol.generated.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from oncelog.protocol.generated.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from oncelog.protocol.generated.consumer_group_target_assignment_member_key import (
    ConsumerGroupTargetAssignmentMemberKey,
)
from oncelog.protocol.generated.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from oncelog.protocol.generated.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from oncelog.protocol.generated.group_metadata_key import GroupMetadataKey
from oncelog.protocol.generated.offset_commit_key import OffsetCommitKey
from oncelog.protocol.generated.offset_commit_value import OffsetCommitValue
from oncelog.protocol.internal_records import encode_record_key, encode_record_value
from oncelog.protocol.wire import Message

OFFSET_COMMIT_VERSION_WITH_EXPIRY = 1
GROUP_METADATA_VERSION = 3


def record(key: Message, value: Message, version: int = 0) -> CoordinatorRecord:
    return CoordinatorRecord(encode_record_key(key), encode_record_value(value, version))


def tombstone(key: Message) -> CoordinatorRecord:
    return CoordinatorRecord(encode_record_key(key), None)


# --- offsets


def offset_commit(key: OffsetCommitKey, value: OffsetCommitValue) -> CoordinatorRecord:
    """The record of a committed offset, in version 4, or 1 if the client requested its own retention time
    (OffsetCommit 2 to 4).
    """
    if value.expire_timestamp != -1:
        return record(key, value, OFFSET_COMMIT_VERSION_WITH_EXPIRY)
    return CoordinatorRecord(
        offset_commit_key(key.group, key.topic, key.partition),
        offset_commit_value(value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, value.topic_id),
    )


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return tombstone(OffsetCommitKey(group_id, topic, partition))


# --- groups of the classic protocol


def group_metadata(group: ClassicGroup, assignments: Mapping[str, bytes]) -> CoordinatorRecord:
    """The record of a group's generation: its members, with the chosen protocol's metadata and ``assignments`` by
    member id.
    """
    members: list[classic_metadata.MemberMetadata] = []
    for member in group.members.values():
        if group.protocol_name is None:
            raise InvariantError(f"group {group.group_id} has members but no protocol")
        members.append(
            classic_metadata.MemberMetadata(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.session_timeout_ms,
                member.protocols[group.protocol_name],
                assignments[member.member_id],
            )
        )
    value = classic_metadata.GroupMetadataValue(
        group.protocol_type or "",
        group.generation,
        group.protocol_name,
        group.leader_id,
        group.state_timestamp_ms,
        members,
    )
    return record(GroupMetadataKey(group.group_id), value, GROUP_METADATA_VERSION)


def empty_group_metadata(group: ClassicGroup) -> CoordinatorRecord:
    """The record of a new group: generation 0, no protocol chosen."""
    value = classic_metadata.GroupMetadataValue("", 0, None, None, group.state_timestamp_ms, [])
    return record(GroupMetadataKey(group.group_id), value, GROUP_METADATA_VERSION)


def group_tombstone(group_id: str) -> CoordinatorRecord:
    return tombstone(GroupMetadataKey(group_id))


def classic_group_from(group_id: str, value: classic_metadata.GroupMetadataValue) -> ClassicGroup:
    """The group that a record stores: STABLE, or EMPTY without members. Of a member's protocols only the chosen one is
    known. A leader that is not a member (in a damaged record, or another broker's) is ignored."""
    group = ClassicGroup(
        group_id,
        state_timestamp_ms=value.current_state_timestamp,
        generation=value.generation,
    )
    for member in value.members:
        rebalance_timeout_ms = member.session_timeout if member.rebalance_timeout == -1 else member.rebalance_timeout
        group.add(
            ClassicMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                rebalance_timeout_ms,
                member.session_timeout,
                value.protocol_type,
                {value.protocol or "": member.subscription},
                member.assignment,
            )
        )
    if value.leader in group.members:
        group.leader_id = value.leader
    group.state = ClassicState.STABLE if value.members else ClassicState.EMPTY
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    group.subscribed_topics = group.compute_subscribed_topics()
    return group


# --- groups of the consumer protocol


def consumer_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    return record(ConsumerGroupMetadataKey(group_id), ConsumerGroupMetadataValue(epoch, metadata_hash))


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """The tombstone of a record that Kafka versions before 4.1 wrote."""
    return tombstone(ConsumerGroupPartitionMetadataKey(group_id))


def member_subscription(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    classic = None
    if member.classic is not None:
        protocols = [member_metadata.ClassicProtocol(*item) for item in member.classic.protocols.items()]
        classic = member_metadata.ClassicMemberMetadata(member.classic.session_timeout_ms, protocols)
    value = member_metadata.ConsumerGroupMemberMetadataValue(
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        sorted(member.topics),
        member.regex,
        member.rebalance_timeout_ms,
        member.assignor,
        classic,
    )
    return record(ConsumerGroupMemberMetadataKey(group_id, member.member_id), value)


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    value = ConsumerGroupTargetAssignmentMetadataValue(epoch, timestamp_ms)
    return record(ConsumerGroupTargetAssignmentMetadataKey(group_id), value)


def member_target(group_id: str, member_id: str, assignment: Assignment) -> CoordinatorRecord:
    topics = [
        target_assignment.TopicPartition(topic_id, sorted(partitions)) for topic_id, partitions in _sorted(assignment)
    ]
    value = target_assignment.ConsumerGroupTargetAssignmentMemberValue(topics)
    return record(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), value)


def member_assignment(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    value = current_assignment.ConsumerGroupCurrentMemberAssignmentValue(
        member.epoch,
        member.previous_epoch,
        member.state,
        _topic_partitions(member.assigned),
        _topic_partitions(member.revoking),
    )
    return record(ConsumerGroupCurrentMemberAssignmentKey(group_id, member.member_id), value)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    return [
        tombstone(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id)),
        tombstone(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id)),
        tombstone(ConsumerGroupMemberMetadataKey(group_id, member_id)),
    ]


def regex_resolution(group_id: str, regex: str, resolved: ResolvedRegex) -> CoordinatorRecord:
    value = ConsumerGroupRegularExpressionValue(sorted(resolved.topics), resolved.version, resolved.timestamp_ms)
    return record(ConsumerGroupRegularExpressionKey(group_id, regex), value)


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    return tombstone(ConsumerGroupRegularExpressionKey(group_id, regex))


def consumer_group_tombstones(group: ConsumerGroup) -> list[CoordinatorRecord]:
    """Tombstones for all records of a group except offsets; the group's own record comes last."""
    group_id, members = group.group_id, sorted(group.members)
    written = [tombstone(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id)) for member_id in members]
    written += [tombstone(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id)) for member_id in members]
    written.append(tombstone(ConsumerGroupTargetAssignmentMetadataKey(group_id)))
    written += [tombstone(ConsumerGroupMemberMetadataKey(group_id, member_id)) for member_id in members]
    written += [regex_tombstone(group_id, regex) for regex in sorted(group.regexes)]
    written.append(partition_metadata_tombstone(group_id))
    written.append(tombstone(ConsumerGroupMetadataKey(group_id)))
    return written


def consumer_group_records(group: ConsumerGroup) -> list[CoordinatorRecord]:
    """All records that create a group converted from the classic protocol."""
    members = [group.members[member_id] for member_id in sorted(group.members)]
    return [
        *(member_subscription(group.group_id, member) for member in members),
        consumer_epoch(group.group_id, group.epoch, group.metadata_hash),
        *(member_target(group.group_id, m.member_id, group.target(m.member_id)) for m in members),
        target_epoch(group.group_id, group.assignment_epoch, group.assignment_timestamp_ms),
        *(member_assignment(group.group_id, member) for member in members),
    ]


def with_subscription(
    member: ConsumerMember, value: member_metadata.ConsumerGroupMemberMetadataValue
) -> ConsumerMember:
    """The member with the values of its subscription record."""
    classic = value.classic_member_metadata
    return replace(
        member,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topics=frozenset(value.subscribed_topic_names),
        regex=value.subscribed_topic_regex,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        assignor=value.server_assignor,
        classic=None
        if classic is None
        else ClassicMembership(classic.session_timeout_ms, {p.name: p.metadata for p in classic.supported_protocols}),
    )


def with_assignment(
    member: ConsumerMember, value: current_assignment.ConsumerGroupCurrentMemberAssignmentValue
) -> ConsumerMember:
    """The member with the values of its assignment record."""
    known = value.state in MemberState._value2member_map_
    return replace(
        member,
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=MemberState(value.state) if known else MemberState.UNKNOWN,
        assigned=_owned_from(value.assigned_partitions, value.member_epoch),
        revoking=_owned_from(value.partitions_pending_revocation, value.member_epoch),
    )


def target_from(value: target_assignment.ConsumerGroupTargetAssignmentMemberValue) -> Assignment:
    return {topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions}


def _sorted(assignment: Assignment) -> list[tuple[bytes, frozenset[int]]]:
    return sorted(assignment.items(), key=lambda item: item[0])


def _topic_partitions(owned: OwnedPartitions) -> list[current_assignment.TopicPartitions]:
    return [
        current_assignment.TopicPartitions(topic_id, sorted(epochs), [epochs[p] for p in sorted(epochs)])
        for topic_id, epochs in sorted(owned.items(), key=lambda item: item[0])
    ]


def _owned_from(topics: list[current_assignment.TopicPartitions], member_epoch: int) -> OwnedPartitions:
    """The partitions of a stored assignment, with the epoch of each; versions before 4.3 do not store it, and the
    member's epoch is used."""
    owned: dict[bytes, Mapping[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = [max(member_epoch, 0)] * len(topic.partitions)
        owned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return owned
