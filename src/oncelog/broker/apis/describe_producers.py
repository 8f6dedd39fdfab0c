"""DescribeProducers (key 61), version 0: the producers that a partition knows, and their open transactions
(KIP-664)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.security.access import TOPIC, allows
from oncelog.broker.security.refusals import MESSAGES
from oncelog.broker.slices import Work, groups_in_parts
from oncelog.deferred import Deferred
from oncelog.errors import Error
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest, TopicRequest
from oncelog.protocol.generated.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker


PARTITIONS_IN_A_PIECE = 20


def handle(
    broker: Broker, context: RequestContext, request: DescribeProducersRequest
) -> Deferred[DescribeProducersResponse]:
    return broker.slices.begin(_describe_each(broker, context, request), context.channel)


def _describe_each(
    broker: Broker, context: RequestContext, request: DescribeProducersRequest
) -> Work[DescribeProducersResponse]:
    may_read: dict[str, bool] = {}
    topics: list[TopicResponse] = []
    last: TopicRequest | None = None
    for piece in groups_in_parts(request.topics, lambda topic: topic.partition_indexes, PARTITIONS_IN_A_PIECE):
        for topic, part in piece:
            if topic is not last:
                last = topic
                topics.append(TopicResponse(name=topic.name))
            if topic.name not in may_read:
                may_read[topic.name] = allows(broker, context, Operation.READ, TOPIC, topic.name)
            topics[-1].partitions += [
                _describe(broker, context, TopicPartition(topic.name, index))
                if may_read[topic.name]
                else PartitionResponse(partition_index=index, error_code=Error.TOPIC_AUTHORIZATION_FAILED)
                for index in part
            ]
            found = topics[-1].partitions[-len(part) :] if part else ()
            entries = sum([1 + len(partition.active_producers) for partition in found])
            yield from broker.answer_memory.grow(context, entries)
        yield
    return DescribeProducersResponse(topics=topics)


def _describe(broker: Broker, context: RequestContext, topic_partition: TopicPartition) -> PartitionResponse:
    partition = broker.led_partition(context, topic_partition)
    if isinstance(partition, Error):
        unknown = broker.metadata.topic(topic_partition.topic) is None
        return PartitionResponse(
            partition_index=topic_partition.partition,
            error_code=partition,
            error_message=MESSAGES[partition] if unknown else None,
        )
    return PartitionResponse(
        partition_index=topic_partition.partition,
        error_code=Error.NONE,
        active_producers=[
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.producer_epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.current_txn_first_offset,
            )
            for entry in partition.log.active_producers()
        ],
    )
