"""WriteTxnMarkers (key 27), versions 1-2: write the markers of transactions, for a coordinator, or for an operator who
ends a hanging transaction.

Version 2 adds the transaction version: at transaction version 2 or above, a marker's epoch must be greater than the
producer's epoch in the partition (KIP-1228). Source: Kafka's ``KafkaApis.handleWriteTxnMarkersRequest``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.transaction.host import TxnMarker
from oncelog.broker.core.requests.context import RequestContext
from oncelog.protocol.generated.write_txn_markers_request import WritableTxnMarker, WriteTxnMarkersRequest
from oncelog.protocol.generated.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from oncelog.runtime.deferred import Deferred, gather
from oncelog.types import ProducerIdAndEpoch, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import TransactionPorts


def handle(
    ports: TransactionPorts, context: RequestContext, request: WriteTxnMarkersRequest
) -> Deferred[WriteTxnMarkersResponse]:
    # Topics without partitions are left out of the answer.
    named = [marker for marker in request.markers if any(topic.partition_indexes for topic in marker.topics)]
    results = [_write(ports, context, marker) for marker in named]
    return gather(results).map(lambda markers: WriteTxnMarkersResponse(markers=markers))


def _write(
    ports: TransactionPorts, context: RequestContext, asked: WritableTxnMarker
) -> Deferred[WritableTxnMarkerResult]:
    marker = TxnMarker(
        producer=ProducerIdAndEpoch(asked.producer_id, asked.producer_epoch),
        commit=asked.transaction_result,
        coordinator_epoch=asked.coordinator_epoch,
        transaction_version=asked.transaction_version,
        partitions=tuple(
            TopicPartition(topic.name, partition) for topic in asked.topics for partition in topic.partition_indexes
        ),
    )
    return ports.write_markers(marker, context.now_ms).map(
        lambda errors: WritableTxnMarkerResult(
            producer_id=asked.producer_id,
            topics=[
                WritableTxnMarkerTopicResult(
                    name=topic.name,
                    partitions=[
                        WritableTxnMarkerPartitionResult(
                            partition_index=partition, error_code=errors[TopicPartition(topic.name, partition)]
                        )
                        for partition in topic.partition_indexes
                    ],
                )
                for topic in asked.topics
                if topic.partition_indexes
            ],
        )
    )
