"""OffsetForLeaderEpoch (key 23), versions 2-4: where a leader epoch ends, for truncation checks.

KIP-101, KIP-279, KIP-320.

Version 3 adds the replica id, 4 is flexible. Source: Kafka's ``Partition.lastOffsetForLeaderEpoch``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows, allows_cluster
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
)
from oncelog.protocol.generated.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import PartitionPorts


def handle(
    ports: PartitionPorts, context: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    sees_all = allows_cluster(ports, context, Operation.CLUSTER_ACTION, log=False)
    results: list[OffsetForLeaderTopicResult] = []
    for topic in request.topics:
        if sees_all or not topic.partitions or allows(ports, context, Operation.DESCRIBE, TOPIC, topic.topic):
            partitions = [_answer(ports, context, topic.topic, asked) for asked in topic.partitions]
        else:
            partitions = [_refused(asked, Error.TOPIC_AUTHORIZATION_FAILED) for asked in topic.partitions]
        results.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions))
    return OffsetForLeaderEpochResponse(topics=results)


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
