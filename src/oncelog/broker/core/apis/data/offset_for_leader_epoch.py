"""OffsetForLeaderEpoch (key 23), versions 2-4: where a leader epoch ends, for truncation checks.

KIP-101, KIP-279, KIP-320.

Version 3 adds the replica id, 4 is flexible. Source: Kafka's ``Partition.lastOffsetForLeaderEpoch``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work, each_in_chunks
from oncelog.broker.core.security.access import TOPIC, allows, allows_cluster
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from oncelog.protocol.generated.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from oncelog.runtime.deferred import Deferred
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import PartitionPorts

PARTITIONS_IN_A_CHUNK = 50


def handle(
    ports: PartitionPorts, context: RequestContext, request: OffsetForLeaderEpochRequest
) -> Deferred[OffsetForLeaderEpochResponse]:
    return ports.tasks.begin(_answer_each(ports, context, request), context.channel, owner=context)


def _answer_each(
    ports: PartitionPorts, context: RequestContext, request: OffsetForLeaderEpochRequest
) -> Work[OffsetForLeaderEpochResponse]:
    sees_all = allows_cluster(ports, context, Operation.CLUSTER_ACTION, log=False)
    hidden: dict[str, bool] = {}

    def answer(topic: OffsetForLeaderTopic, asked: OffsetForLeaderPartition) -> EpochEndOffset:
        name = topic.topic
        if name not in hidden:
            hidden[name] = not sees_all and not allows(ports, context, Operation.DESCRIBE, TOPIC, name)
        if hidden[name]:
            return _refused(asked, Error.TOPIC_AUTHORIZATION_FAILED)
        return _answer(ports, context, name, asked)

    topics = yield from each_in_chunks(request.topics, _partitions, answer, PARTITIONS_IN_A_CHUNK)
    return OffsetForLeaderEpochResponse(
        topics=[OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions) for topic, partitions in topics]
    )


def _partitions(topic: OffsetForLeaderTopic) -> Sequence[OffsetForLeaderPartition]:
    return topic.partitions


def _answer(
    ports: PartitionPorts, context: RequestContext, topic: str, asked: OffsetForLeaderPartition
) -> EpochEndOffset:
    partition = ports.led_partition(context, TopicPartition(topic, asked.partition))
    if isinstance(partition, Error):
        return _refused(asked, partition)
    error = Error.KAFKA_STORAGE_ERROR if partition.failed else partition.check_leader_epoch(asked.current_leader_epoch)
    if error is not Error.NONE:
        return _refused(asked, error)
    epoch, end_offset = partition.log.end_offset_for_epoch(asked.leader_epoch)
    return EpochEndOffset(error_code=Error.NONE, partition=asked.partition, leader_epoch=epoch, end_offset=end_offset)


def _refused(asked: OffsetForLeaderPartition, error: Error) -> EpochEndOffset:
    return EpochEndOffset(error_code=error, partition=asked.partition, leader_epoch=-1, end_offset=-1)
