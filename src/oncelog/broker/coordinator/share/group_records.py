"""The records of share groups in ``__consumer_offsets``, in the versions of Kafka 4.4.

Source: Kafka's ``GroupCoordinatorRecordHelpers``.
"""

from __future__ import annotations

from collections.abc import Mapping

from oncelog.broker.coordinator.group.consumer.consumer_group import Assignment, TopicId
from oncelog.broker.coordinator.group.records import record, tombstone
from oncelog.broker.coordinator.runtime import CoordinatorRecord
from oncelog.broker.coordinator.share.share_group import InitializedTopic, ShareGroup, ShareMember
from oncelog.protocol.generated import share_group_current_member_assignment_value as current
from oncelog.protocol.generated import share_group_state_partition_metadata_value as states
from oncelog.protocol.generated import share_group_target_assignment_member_value as target
from oncelog.protocol.generated.share_group_current_member_assignment_key import ShareGroupCurrentMemberAssignmentKey
from oncelog.protocol.generated.share_group_member_metadata_key import ShareGroupMemberMetadataKey
from oncelog.protocol.generated.share_group_member_metadata_value import ShareGroupMemberMetadataValue
from oncelog.protocol.generated.share_group_metadata_key import ShareGroupMetadataKey
from oncelog.protocol.generated.share_group_metadata_value import ShareGroupMetadataValue
from oncelog.protocol.generated.share_group_state_partition_metadata_key import ShareGroupStatePartitionMetadataKey
from oncelog.protocol.generated.share_group_target_assignment_member_key import ShareGroupTargetAssignmentMemberKey
from oncelog.protocol.generated.share_group_target_assignment_metadata_key import (
    ShareGroupTargetAssignmentMetadataKey,
)
from oncelog.protocol.generated.share_group_target_assignment_metadata_value import (
    ShareGroupTargetAssignmentMetadataValue,
)


def epoch(group_id: str, number: int, metadata_hash: int) -> CoordinatorRecord:
    return record(ShareGroupMetadataKey(group_id), ShareGroupMetadataValue(number, metadata_hash))


def subscription(group_id: str, member: ShareMember) -> CoordinatorRecord:
    value = ShareGroupMemberMetadataValue(member.rack_id, member.client_id, member.client_host, sorted(member.topics))
    return record(ShareGroupMemberMetadataKey(group_id, member.member_id), value)


def target_epoch(group_id: str, number: int, timestamp_ms: int) -> CoordinatorRecord:
    value = ShareGroupTargetAssignmentMetadataValue(number, timestamp_ms)
    return record(ShareGroupTargetAssignmentMetadataKey(group_id), value)


def member_target(group_id: str, member_id: str, assignment: Assignment) -> CoordinatorRecord:
    topics = [target.TopicPartition(topic_id, sorted(assignment[topic_id])) for topic_id in sorted(assignment)]
    value = target.ShareGroupTargetAssignmentMemberValue(topics)
    return record(ShareGroupTargetAssignmentMemberKey(group_id, member_id), value)


def member_assignment(group_id: str, member: ShareMember) -> CoordinatorRecord:
    assigned = member.assigned
    topics = [current.TopicPartitions(topic_id, sorted(assigned[topic_id])) for topic_id in sorted(assigned)]
    value = current.ShareGroupCurrentMemberAssignmentValue(member.epoch, member.previous_epoch, 0, topics)
    return record(ShareGroupCurrentMemberAssignmentKey(group_id, member.member_id), value)


def initialized_topics(group_id: str, topics: Mapping[TopicId, InitializedTopic]) -> CoordinatorRecord:
    """The record that lists the partitions with a stored state. No state is ever partly initialized or partly
    deleted."""
    value = states.ShareGroupStatePartitionMetadataValue(
        [],
        [
            states.TopicPartitionsInfo(topic_id, topics[topic_id].name, sorted(topics[topic_id].partitions))
            for topic_id in sorted(topics)
        ],
        [],
    )
    return record(ShareGroupStatePartitionMetadataKey(group_id), value)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    return [
        tombstone(ShareGroupCurrentMemberAssignmentKey(group_id, member_id)),
        tombstone(ShareGroupTargetAssignmentMemberKey(group_id, member_id)),
        tombstone(ShareGroupMemberMetadataKey(group_id, member_id)),
    ]


def group_tombstones(group: ShareGroup) -> list[CoordinatorRecord]:
    """Tombstones for all records of a group; the record of the group itself comes last."""
    group_id = group.group_id
    written = [gone for member_id in sorted(group.members) for gone in member_tombstones(group_id, member_id)]
    return [
        *written,
        tombstone(ShareGroupTargetAssignmentMetadataKey(group_id)),
        tombstone(ShareGroupStatePartitionMetadataKey(group_id)),
        tombstone(ShareGroupMetadataKey(group_id)),
    ]
