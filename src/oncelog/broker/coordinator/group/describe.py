"""Descriptions of groups for clients: ListGroups, DescribeGroups and ConsumerGroupDescribe.

Called by ``group_coordinator``; reads only. Source: Kafka's ``GroupMetadataManager`` and ``ConsumerGroup`` (4.4.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup
from oncelog.broker.coordinator.group.consumer.consumer_group import ConsumerGroup, ConsumerMember
from oncelog.broker.coordinator.group.environment import Group, GroupHost
from oncelog.broker.coordinator.group.states import ClassicState
from oncelog.broker.coordinator.share.share_group import ShareGroup
from oncelog.errors import Error
from oncelog.protocol.generated import consumer_group_describe_response as described
from oncelog.protocol.generated.describe_groups_response import DescribedGroup, DescribedGroupMember
from oncelog.protocol.generated.list_groups_response import ListedGroup

GROUP_ID_NOT_FOUND_FROM = 6
"""The first version of DescribeGroups that returns an error for a missing group: earlier ones return a dead group
(KIP-1043)."""

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def listed(group: Group) -> ListedGroup:
    if isinstance(group, ShareGroup):
        return ListedGroup(group.group_id, "share", group.state.value, "share")
    if isinstance(group, ClassicGroup):
        return ListedGroup(group.group_id, group.protocol_type or "", group.state.value, "classic")
    return ListedGroup(group.group_id, "consumer", group.state.value, "consumer")


def classic_group(group_id: str, group: Group | None, api_version: int) -> DescribedGroup:
    """Describe a group for DescribeGroups; members have their subscriptions only if the group is stable."""
    if not isinstance(group, ClassicGroup):
        answer = DescribedGroup(group_id=group_id, group_state=ClassicState.DEAD.value)
        if api_version >= GROUP_ID_NOT_FOUND_FROM:
            answer.error_code = Error.GROUP_ID_NOT_FOUND
            answer.error_message = (
                f"Group {group_id} not found." if group is None else f"Group {group_id} is not a classic group."
            )
        return answer
    protocol = group.protocol_name if group.state is ClassicState.STABLE else None
    members = [
        DescribedGroupMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            b"" if protocol is None else member.protocols.get(protocol, b""),
            member.assignment,
        )
        for member in group.members.values()
    ]
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=members,
    )


def refused_consumer_group(group_id: str, error: Error, message: str | None = None) -> described.DescribedGroup:
    return described.DescribedGroup(error_code=error, error_message=message, group_id=group_id)


def consumer_group(
    group_id: str, group: Group | None, host: GroupHost, default_assignor: str
) -> described.DescribedGroup:
    if not isinstance(group, ConsumerGroup):
        message = f"Group {group_id} not found." if group is None else f"Group {group_id} is not a consumer group."
        return refused_consumer_group(group_id, Error.GROUP_ID_NOT_FOUND, message)
    return described.DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor(group.members.values()) or default_assignor,
        members=[_member(group, member, host) for member in group.members.values()],
    )


def _member(group: ConsumerGroup, member: ConsumerMember, host: GroupHost) -> described.Member:
    owned: dict[bytes, set[int]] = {}
    for partitions in (member.assigned, member.revoking):
        for topic_id, epochs in partitions.items():
            owned.setdefault(topic_id, set()).update(epochs)
    return described.Member(
        member.member_id,
        member.instance_id,
        member.rack_id,
        member.epoch,
        member.client_id,
        member.client_host,
        sorted(member.topics),
        member.regex,
        _assignment(owned, host),
        _assignment(group.target(member.member_id), host),
        CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _assignment(partitions: Mapping[bytes, Iterable[int]], host: GroupHost) -> described.Assignment:
    """The partitions with their topics' names; topics that no longer exist are left out."""
    topics: list[described.TopicPartitions] = []
    for topic_id in sorted(partitions):
        name = host.topic_name(topic_id)
        if name is not None:
            topics.append(described.TopicPartitions(topic_id, name, sorted(partitions[topic_id])))
    return described.Assignment(topics)
