"""DeleteRecords (key 21), versions 0-2: raise the log start offset of partitions.

Offset -1 means the high watermark. Records below are never read again and are removed with their segments. Source:
Kafka's ``ReplicaManager.deleteRecords``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work, each_in_chunks
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.broker.metadata.store import TopicInfo
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from oncelog.protocol.generated.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from oncelog.runtime.deferred import Deferred
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import PartitionPorts

PARTITIONS_IN_A_CHUNK = 50


def handle(
    ports: PartitionPorts, context: RequestContext, request: DeleteRecordsRequest
) -> Deferred[DeleteRecordsResponse]:
    return ports.tasks.begin(_delete_each(ports, context, request), owner=context)


def _delete_each(
    ports: PartitionPorts, context: RequestContext, request: DeleteRecordsRequest
) -> Work[DeleteRecordsResponse]:
    hidden: dict[str, bool] = {}

    def answer(topic: DeleteRecordsTopic, asked: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
        if topic.name not in hidden:
            hidden[topic.name] = not allows(ports, context, Operation.DELETE, TOPIC, topic.name)
        if hidden[topic.name]:
            return _refused(asked, Error.TOPIC_AUTHORIZATION_FAILED)
        return _delete(ports, context, ports.metadata.topic(topic.name), asked)

    topics = yield from each_in_chunks(request.topics, _partitions, answer, PARTITIONS_IN_A_CHUNK)
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(name=topic.name, partitions=partitions)
            for topic, partitions in topics
            if partitions
        ]
    )


def _partitions(topic: DeleteRecordsTopic) -> Sequence[DeleteRecordsPartition]:
    return topic.partitions


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
