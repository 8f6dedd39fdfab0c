"""The offsets of share groups (KIP-932): one part of the admin client. ``admin_groups`` lists, describes and deletes
share groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from oncelog.client.aio.admin.admin_connection import AdminConnection
from oncelog.client.aio.connection.cluster_access import check
from oncelog.client.core import arguments
from oncelog.client.core.admin.admin_types import ShareGroupOffset
from oncelog.client.core.client_errors import error_for, error_of
from oncelog.client.core.connection.wire import Api
from oncelog.client.core.structs import TopicPartition
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated import alter_share_group_offsets_request as alter
from oncelog.protocol.generated import delete_share_group_offsets_request as delete
from oncelog.protocol.generated import describe_share_group_offsets_request as describe
from oncelog.types import by_topic

DESCRIBE = Api(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 0, 1)
ALTER = Api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, 0)
DELETE = Api(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, 0)


class ShareGroupsAdmin(AdminConnection):
    """The admin client's methods for the offsets of share groups. Each call goes to the group's coordinator, which
    refuses changes while the group has members."""

    async def list_share_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, ShareGroupOffset]:
        """The group's start offsets in these partitions, or in all partitions that it reads or has read."""
        wanted = None if partitions is None else by_topic(arguments.partitions(partitions))
        topics = None
        if wanted is not None:
            topics = [describe.DescribeShareGroupOffsetsRequestTopic(name, numbers) for name, numbers in wanted.items()]
        asked = describe.DescribeShareGroupOffsetsRequestGroup(group_id, topics)

        async def ask(node: int) -> dict[TopicPartition, ShareGroupOffset]:
            request = describe.DescribeShareGroupOffsetsRequest(groups=[asked])
            group = (await self.cluster.ask(node, DESCRIBE, request)).groups[0]
            check(group.error_code, f"the offsets of share group {group_id!r} were not described", group.error_message)
            found: dict[TopicPartition, ShareGroupOffset] = {}
            for topic in group.topics:
                for item in topic.partitions:
                    name = TopicPartition(topic.topic_name, item.partition_index)
                    what = f"the offset of share group {group_id!r} for {name} was not described"
                    if error_of(item.error_code) is not Error.UNKNOWN_TOPIC_OR_PARTITION:
                        check(item.error_code, what, item.error_message)
                    found[name] = ShareGroupOffset(_known(item.start_offset), _known(item.lag))
            return found

        return await self._at_group(group_id, ask)

    async def alter_share_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Set the group's start offsets: its next deliveries begin there, and earlier deliveries are forgotten."""
        given = arguments.by_partition(offsets, "offsets")
        wanted = {name: arguments.whole(offset, f"the offset for {name}", 64) for name, offset in given.items()}
        topics = [
            alter.AlterShareGroupOffsetsRequestTopic(
                topic,
                [
                    alter.AlterShareGroupOffsetsRequestPartition(number, wanted[TopicPartition(topic, number)])
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(wanted).items()
        ]

        async def ask(node: int) -> None:
            request = alter.AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics)
            answer = await self.cluster.ask(node, ALTER, request)
            _check_whole(answer, group_id)
            for topic in answer.responses:
                for item in topic.partitions:
                    name = TopicPartition(topic.topic_name, item.partition_index)
                    what = f"the offset of share group {group_id!r} for {name} was not changed"
                    check(item.error_code, what, item.error_message)

        await self._at_group(group_id, ask)

    async def delete_share_group_offsets(self, group_id: str, topics: Iterable[str]) -> None:
        """Delete the group's delivery state for these topics."""
        names = arguments.names(topics, "topics")

        async def ask(node: int) -> None:
            request = delete.DeleteShareGroupOffsetsRequest(
                group_id=group_id, topics=[delete.DeleteShareGroupOffsetsRequestTopic(name) for name in names]
            )
            answer = await self.cluster.ask(node, DELETE, request)
            _check_whole(answer, group_id)
            for topic in answer.responses:
                what = f"the offsets of share group {group_id!r} for topic {topic.topic_name!r} were not deleted"
                check(topic.error_code, what, topic.error_message)

        await self._at_group(group_id, ask)


def _known(number: int) -> int | None:
    return None if number < 0 else number


def _check_whole(answer: Any, group_id: str) -> None:
    """Raise an error if the whole request was refused."""
    error = error_of(answer.error_code)
    if error is Error.NON_EMPTY_GROUP:
        raise error_for(error, f"share group {group_id!r} has members; stop them before its offsets are changed")
    check(answer.error_code, f"the offsets of share group {group_id!r} were not changed", answer.error_message)
