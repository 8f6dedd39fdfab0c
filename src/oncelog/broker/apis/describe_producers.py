"""DescribeProducers (key 61), version 0: the producers that a partition knows, their open transactions (KIP-664)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.security.access import TOPIC, allows
from oncelog.errors import Error
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest
from oncelog.protocol.generated.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker


def handle(broker: Broker, context: RequestContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
    hidden = {topic.name for topic in request.topics if not allows(broker, context, Operation.READ, TOPIC, topic.name)}
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    PartitionResponse(partition_index=index, error_code=Error.TOPIC_AUTHORIZATION_FAILED)
                    if topic.name in hidden
                    else _describe(broker, context, TopicPartition(topic.name, index))
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _describe(broker: Broker, context: RequestContext, topic_partition: TopicPartition) -> PartitionResponse:
    partition = broker.led_partition(context, topic_partition)
    if isinstance(partition, Error):
        unknown = partition is Error.UNKNOWN_TOPIC_OR_PARTITION
        return PartitionResponse(
            partition_index=topic_partition.partition,
            error_code=partition,
            error_message=f"{topic_partition} does not exist" if unknown else None,
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
