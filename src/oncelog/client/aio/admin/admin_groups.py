"""Groups of every type, and the offsets of consumer groups: one part of the admin client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oncelog.client.aio.admin.admin_connection import AdminConnection
from oncelog.client.aio.connection.cluster_access import check
from oncelog.client.core import arguments
from oncelog.client.core.admin.admin_types import GroupDescription, GroupListing, MemberDescription
from oncelog.client.core.client_errors import UnsupportedVersionError, error_for, error_of
from oncelog.client.core.connection.wire import Api
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.consumer_protocol_assignment import ConsumerProtocolAssignment
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from oncelog.protocol.generated.share_group_describe_request import ShareGroupDescribeRequest
from oncelog.protocol.wire import Message
from oncelog.types import by_topic

LIST_GROUPS = Api(ApiKey.LIST_GROUPS, 0, 5)
DESCRIBE_GROUPS = Api(ApiKey.DESCRIBE_GROUPS, 0, 6)
CONSUMER_GROUP_DESCRIBE = Api(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1)
SHARE_GROUP_DESCRIBE = Api(ApiKey.SHARE_GROUP_DESCRIBE, 1, 1)
DELETE_GROUPS = Api(ApiKey.DELETE_GROUPS, 0, 2)
OFFSET_DELETE = Api(ApiKey.OFFSET_DELETE, 0, 0)


class GroupsAdmin(AdminConnection):
    """The admin client's methods for groups. Each request about a group goes to the group's coordinator."""

    async def list_consumer_groups(
        self, *, states: Sequence[str] = (), types: Sequence[str] = ()
    ) -> list[GroupListing]:
        """All groups, including share groups, sorted by name; with ``states`` or ``types``, only groups in one of these
        states or of one of these types."""

        wanted = arguments.names(states, "states")
        of_types = arguments.names(types, "types")

        def build(version: int) -> ListGroupsRequest:
            return ListGroupsRequest(
                states_filter=wanted if version >= 4 else [], types_filter=of_types if version >= 5 else []
            )

        async def attempt() -> list[GroupListing]:
            found: dict[str, GroupListing] = {}
            for node, answer in await self.cluster.ask_all(LIST_GROUPS, build):
                check(answer.error_code, f"node {node} did not list its groups")
                for group in answer.groups:
                    found[group.group_id] = GroupListing(
                        group.group_id, group.protocol_type, group.group_state, group.group_type
                    )
            return [found[name] for name in sorted(found) if not of_types or found[name].type in of_types]

        return await self.cluster.repeat("list_consumer_groups", attempt)

    async def find_coordinator(self, group_id: str) -> int:
        """The node that coordinates the group."""
        finder = self._group(group_id)
        return await self.cluster.repeat("find_coordinator", lambda: self.cluster.coordinator(finder))

    async def describe_consumer_groups(self, group_ids: Iterable[str]) -> list[GroupDescription]:
        """State, members and assigned partitions. A group that does not exist is described as ``Dead``."""
        return [await self._describe_group(group_id) for group_id in arguments.names(group_ids, "groups")]

    async def _describe_group(self, group_id: str) -> GroupDescription:
        async def ask(node: int) -> GroupDescription:
            new = await self._describe_new(node, group_id)
            if new is not None:
                return new
            answer = await self.cluster.ask(node, DESCRIBE_GROUPS, DescribeGroupsRequest(groups=[group_id]))
            group = answer.groups[0]
            if error_of(group.error_code) is not Error.GROUP_ID_NOT_FOUND:
                check(group.error_code, f"group {group_id!r} was not described", group.error_message)
            if not group.group_state or group.group_state == "Dead":
                share = await self._describe_share(node, group_id)
                if share is not None:
                    return share
            members = tuple(
                MemberDescription(
                    item.member_id, item.group_instance_id, item.client_id, item.client_host, _assigned(item)
                )
                for item in group.members
            )
            state = group.group_state or "Dead"
            return GroupDescription(group_id, "classic", state, group.protocol_type, group.protocol_data, node, members)

        return await self._at_group(group_id, ask)

    async def _describe_new(self, node: int, group_id: str) -> GroupDescription | None:
        """The group as the KIP-848 protocol describes it; None if the group does not use that protocol."""
        request = ConsumerGroupDescribeRequest(group_ids=[group_id])
        group = await self._describe_by_id(node, CONSUMER_GROUP_DESCRIBE, request)
        if group is None:
            return None
        members = tuple(
            MemberDescription(
                item.member_id, item.instance_id, item.client_id, item.client_host, _assigned_topics(item.assignment)
            )
            for item in group.members
        )
        return GroupDescription(group_id, "consumer", group.group_state, "consumer", group.assignor_name, node, members)

    async def _describe_share(self, node: int, group_id: str) -> GroupDescription | None:
        """The share group (KIP-932); None if the group is not a share group."""
        group = await self._describe_by_id(node, SHARE_GROUP_DESCRIBE, ShareGroupDescribeRequest(group_ids=[group_id]))
        if group is None:
            return None
        members = tuple(
            MemberDescription(item.member_id, None, item.client_id, item.client_host, _assigned_topics(item.assignment))
            for item in group.members
        )
        return GroupDescription(group_id, "share", group.group_state, "share", group.assignor_name, node, members)

    async def _describe_by_id(self, node: int, api: Api, request: Message) -> Any:
        """The description of a group; None if the node knows no group of this type and name."""
        try:
            answer = await self.cluster.ask(node, api, request)
        except UnsupportedVersionError:
            return None
        group = answer.groups[0]
        if error_of(group.error_code) in (Error.GROUP_ID_NOT_FOUND, Error.UNSUPPORTED_VERSION):
            return None
        check(group.error_code, f"group {group.group_id!r} was not described", group.error_message)
        return group

    async def delete_consumer_groups(self, group_ids: Iterable[str]) -> None:
        """Delete groups that have no members, with their offsets."""
        for group_id in arguments.names(group_ids, "groups"):

            async def ask(node: int, group_id: str = group_id) -> None:
                answer = await self.cluster.ask(node, DELETE_GROUPS, DeleteGroupsRequest(groups_names=[group_id]))
                for result in answer.results:
                    error = error_of(result.error_code)
                    if error is Error.NON_EMPTY_GROUP:
                        raise error_for(error, f"group {group_id!r} has members; stop them before it is deleted")
                    check(result.error_code, f"group {group_id!r} was not deleted")

            await self._at_group(group_id, ask)

    async def list_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        negative: bool = False,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Committed positions; partitions without one are left out.

        :param require_stable: wait until open transactions that hold offsets of the group have ended (KIP-447).
        :param negative: also what was committed with an offset below 0, which is not a position: Spark sinks keep their
            markers this way.
        """
        return await self._group_offsets(group_id).fetch(
            None if partitions is None else arguments.partitions(partitions),
            require_stable=require_stable,
            negative=negative,
        )

    async def alter_consumer_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata | int | tuple[int, str]]
    ) -> None:
        """Set committed positions of a group without members."""
        anonymous = ConsumerGroupMetadata(group_id)
        await self._group_offsets(group_id).commit(arguments.offsets(offsets), lambda: anonymous)

    async def delete_consumer_group_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Delete committed positions of partitions that no member reads."""
        topics = by_topic(arguments.partitions(partitions))

        async def ask(node: int) -> None:
            request = OffsetDeleteRequest(
                group_id=group_id,
                topics=[
                    OffsetDeleteRequestTopic(
                        name=topic, partitions=[OffsetDeleteRequestPartition(number) for number in numbers]
                    )
                    for topic, numbers in topics.items()
                ],
            )
            answer = await self.cluster.ask(node, OFFSET_DELETE, request)
            check(answer.error_code, f"offsets of group {group_id!r} were not deleted")
            for topic in answer.topics:
                for item in topic.partitions:
                    name = TopicPartition(topic.name, item.partition_index)
                    check(item.error_code, f"the offset of group {group_id!r} for {name} was not deleted")

        await self._at_group(group_id, ask)


def _assigned_topics(assignment: Any) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(t.topic_name, n) for t in assignment.topic_partitions for n in t.partitions)


def _assigned(member: Any) -> tuple[TopicPartition, ...]:
    data = bytes(member.member_assignment)
    if len(data) < 2:
        return ()
    message, _ = ConsumerProtocolAssignment.decode_prefix(data, min(int.from_bytes(data[:2], "big"), 3), 2)
    return tuple(TopicPartition(t.topic, number) for t in message.assigned_partitions for number in t.partitions)
