"""DescribeTopicPartitions (key 75), version 0: topics and their partitions, one page at a time (KIP-966).

Topics are returned sorted by name; a cursor names the partition that the next page starts with. Source: Kafka's
``DescribeTopicPartitionsRequestHandler``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.apis.topics.metadata import LeaderState
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows, authorized_operations
from oncelog.broker.metadata.store import TopicInfo
from oncelog.broker.metadata.topic_rules import name_refusal
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from oncelog.protocol.generated.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from oncelog.types import INTERNAL_TOPICS, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import TopicPorts


def handle(
    ports: TopicPorts, context: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    cursor = request.cursor
    names = sorted({topic.name for topic in request.topics})
    if not names:
        names = [info.name for info in ports.metadata.topics()]
    if cursor is not None:
        if cursor.partition_index < 0 or (request.topics and cursor.topic_name not in names):
            return _invalid(request)
        names = [name for name in names if name >= cursor.topic_name]
    limit = max(1, min(request.response_partition_limit, _max_page(ports)))
    may_see = [
        name for name in names if allows(ports, context, Operation.DESCRIBE, TOPIC, name, log=bool(request.topics))
    ]
    hidden: list[DescribeTopicPartitionsResponseTopic] = []
    if request.topics and len(may_see) < len(names):
        refused, visible = Error.TOPIC_AUTHORIZATION_FAILED, set(may_see)
        hidden = [DescribeTopicPartitionsResponseTopic(refused, name) for name in names if name not in visible]
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    next_cursor = None
    for name in may_see:
        if limit <= 0:
            next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        info = ports.metadata.topic(name)
        if info is None:
            topics.append(_unknown(name, authorized_operations(ports, context, TOPIC, name)))
            continue
        start = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        page = range(start, min(info.partitions, start + limit))
        topics.append(_described(ports, info, page, authorized_operations(ports, context, TOPIC, name)))
        limit -= len(page)
        if page and page.stop < info.partitions:
            next_cursor = Cursor(topic_name=name, partition_index=page.stop)
            break
    return DescribeTopicPartitionsResponse(topics=topics + hidden, next_cursor=next_cursor)


def _max_page(ports: TopicPorts) -> int:
    return int(ports.config.text("max.request.partition.size.limit") or 0)


def _unknown(name: str, operations: int) -> DescribeTopicPartitionsResponseTopic:
    error = Error.UNKNOWN_TOPIC_OR_PARTITION if name_refusal(name) is None else Error.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(
        error_code=error,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=operations,
    )


def _described(
    ports: TopicPorts, info: TopicInfo, page: range, operations: int
) -> DescribeTopicPartitionsResponseTopic:
    partitions = []
    for index in page:
        state = LeaderState.of(ports, TopicPartition(info.name, index))
        partitions.append(
            DescribeTopicPartitionsResponsePartition(
                error_code=state.error,
                partition_index=index,
                leader_id=state.leader_id,
                leader_epoch=state.leader_epoch,
                replica_nodes=state.replicas,
                isr_nodes=state.in_sync,
                eligible_leader_replicas=[],
                last_known_elr=[],
                offline_replicas=state.offline_replicas,
            )
        )
    return DescribeTopicPartitionsResponseTopic(
        error_code=Error.NONE,
        name=info.name,
        topic_id=info.topic_id,
        is_internal=info.internal,
        partitions=partitions,
        topic_authorized_operations=operations,
    )


def _invalid(request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=Error.INVALID_REQUEST, name=topic.name)
            for topic in request.topics
        ]
    )
