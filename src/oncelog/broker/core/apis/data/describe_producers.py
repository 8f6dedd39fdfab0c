"""DescribeProducers (key 61), version 0: the producers in a partition's producer state, and their open transactions
(KIP-664)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work, in_chunks
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.broker.core.security.refusals import MESSAGES
from oncelog.broker.metadata.topic_rules import name_refusal
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest
from oncelog.protocol.generated.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from oncelog.runtime.deferred import Deferred
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import PartitionPorts
    from oncelog.broker.core.storage.partition import Partition


PRODUCERS_IN_A_CHUNK = 100


def handle(
    ports: PartitionPorts, context: RequestContext, request: DescribeProducersRequest
) -> Deferred[DescribeProducersResponse]:
    return ports.tasks.begin(_describe_each(ports, context, request), context)


def _describe_each(
    ports: PartitionPorts, context: RequestContext, request: DescribeProducersRequest
) -> Work[DescribeProducersResponse]:
    refusals: dict[str, tuple[Error, str] | None] = {}
    topics: list[TopicResponse] = []
    for topic in request.topics:
        if topic.name not in refusals:
            refusals[topic.name] = _refusal(ports, context, topic.name)
        refused = refusals[topic.name]
        partitions: list[PartitionResponse] = []
        topics.append(TopicResponse(name=topic.name, partitions=partitions))
        for index in topic.partition_indexes:
            if refused is not None:
                partitions.append(PartitionResponse(index, *refused))
            else:
                partitions.append((yield from _describe(ports, context, TopicPartition(topic.name, index))))
                yield
    return DescribeProducersResponse(topics=topics)


def _refusal(ports: PartitionPorts, context: RequestContext, topic: str) -> tuple[Error, str] | None:
    """The error, with its message, if no partition of the topic may be described, else None. An invalid name is
    reported to every caller, authorized or not."""
    invalid = name_refusal(topic)
    if invalid is not None:
        return Error.INVALID_TOPIC_EXCEPTION, invalid
    if not allows(ports, context, Operation.READ, TOPIC, topic):
        return Error.TOPIC_AUTHORIZATION_FAILED, MESSAGES[Error.TOPIC_AUTHORIZATION_FAILED]
    return None


def _of_follower(ports: PartitionPorts, context: RequestContext, topic_partition: TopicPartition) -> Partition | Error:
    """The partition if the node that received the request has a replica of it: a follower has the same producer state
    as the leader."""
    partition = ports.partitions()[topic_partition]
    if partition.replicas is not None and context.session.node_id in partition.replicas.assigned:
        return partition
    return Error.NOT_LEADER_OR_FOLLOWER


def _describe(
    ports: PartitionPorts, context: RequestContext, topic_partition: TopicPartition
) -> Work[PartitionResponse]:
    partition = ports.led_partition(context, topic_partition)
    if partition is Error.NOT_LEADER_OR_FOLLOWER:
        partition = _of_follower(ports, context, topic_partition)
    if isinstance(partition, Error):
        unknown = ports.metadata.topic(topic_partition.topic) is None
        return PartitionResponse(
            partition_index=topic_partition.partition,
            error_code=partition,
            error_message=MESSAGES[partition] if unknown else None,
        )
    answer = PartitionResponse(partition_index=topic_partition.partition, error_code=Error.NONE, active_producers=[])
    for part in in_chunks(partition.log.active_producers(), PRODUCERS_IN_A_CHUNK):
        yield from ports.answer_memory.grow(context, len(part))
        answer.active_producers += [
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.producer_epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.current_txn_first_offset,
            )
            for entry in part
        ]
        if len(part) == PRODUCERS_IN_A_CHUNK:
            yield
    return answer
