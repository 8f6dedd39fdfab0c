"""DeleteRecords (key 21), versions 0-2: raise the log start offset of partitions.

Offset -1 means the high watermark. Records below the new log start offset are never read again and are removed with
their segments. Source: Kafka's ``ReplicaManager.deleteRecords``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.broker.metadata.store import TopicInfo
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
)
from oncelog.protocol.generated.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import PartitionPorts


def handle(ports: PartitionPorts, context: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    results: list[DeleteRecordsTopicResult] = []
    for topic in request.topics:
        if not topic.partitions:
            continue
        if allows(ports, context, Operation.DELETE, TOPIC, topic.name):
            info = ports.metadata.topic(topic.name)
            partitions = [_delete(ports, context, info, asked) for asked in topic.partitions]
        else:
            partitions = [_refused(asked, Error.TOPIC_AUTHORIZATION_FAILED) for asked in topic.partitions]
        results.append(DeleteRecordsTopicResult(name=topic.name, partitions=partitions))
    return DeleteRecordsResponse(topics=results)


def _delete(
    ports: PartitionPorts, context: RequestContext, info: TopicInfo | None, asked: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    if info is None or not 0 <= asked.partition_index < info.partitions:
        return _refused(asked, Error.UNKNOWN_TOPIC_OR_PARTITION)
    if info.internal:
        return _refused(asked, Error.INVALID_TOPIC_EXCEPTION)
    partition = ports.led_partition(context, TopicPartition(info.name, asked.partition_index))
    if isinstance(partition, Error):
        return _refused(asked, Error.NOT_LEADER_OR_FOLLOWER)
    if partition.failed:
        return _refused(asked, Error.KAFKA_STORAGE_ERROR)
    if info.config.cleanup_policy and "delete" not in info.config.cleanup_policy:
        return _refused(asked, Error.POLICY_VIOLATION)
    error = partition.log.trimmer.delete_records_before(asked.offset)
    if error is not Error.NONE:
        return _refused(asked, error)
    return DeleteRecordsPartitionResult(
        partition_index=asked.partition_index,
        low_watermark=partition.log.log_start_offset,
        error_code=Error.NONE,
    )


def _refused(asked: DeleteRecordsPartition, error: Error) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=-1, error_code=error)
