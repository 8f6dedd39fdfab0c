"""AlterPartitionReassignments (key 45), versions 0-1: move partitions to other nodes; moves take effect at once.

A single broker keeps every partition: the only replica that a request may assign is the broker itself. Null replicas
cancel a move, and no move is ever in progress. Source: Kafka's
``ReplicationControlManager.alterPartitionReassignments``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.apis.topics.create_topics import refusal_of_replicas
from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
)
from oncelog.protocol.generated.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import ClusterPorts


def handle(
    ports: ClusterPorts, context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    if not request.topics:
        return AlterPartitionReassignmentsResponse()
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=Error.NONE,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[_answer(ports, topic.name, asked, context.now_ms) for asked in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _answer(
    ports: ClusterPorts, topic: str, asked: ReassignablePartition, now_ms: int
) -> ReassignablePartitionResponse:
    error, message = _refusal(ports, topic, asked)
    if error is Error.NONE and asked.replicas is not None:
        try:
            ports.nodes.reassign(TopicPartition(topic, asked.partition_index), asked.replicas, now_ms)
        except KafkaError as refused:
            error, message = refused.error, str(refused)
    return ReassignablePartitionResponse(partition_index=asked.partition_index, error_code=error, error_message=message)


def _refusal(ports: ClusterPorts, topic: str, asked: ReassignablePartition) -> tuple[Error, str | None]:
    info = ports.metadata.topic(topic)
    if info is None:
        return Error.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {topic}."
    if not 0 <= asked.partition_index < info.partitions:
        return Error.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {topic}:{asked.partition_index}."
    if asked.replicas is None:
        return Error.NO_REASSIGNMENT_IN_PROGRESS, None
    message = refusal_of_replicas(ports.nodes.ids, asked.replicas)
    return (Error.NONE, None) if message is None else (Error.INVALID_REPLICA_ASSIGNMENT, message)
