"""AddPartitionsToTxn (key 24), versions 0-5: partitions that a transaction is going to write to.

Clients send 0-3, one transaction each; version 2 knows PRODUCER_FENCED, which is INVALID_PRODUCER_EPOCH before; 3 is
flexible. Partition leaders send 4 and 5, several transactions at once, to add for a client (KIP-890 part 2) or only to
verify. A topic that does not exist fails the whole transaction of the request: nothing is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.security.access import TOPIC, allows
from oncelog.deferred import Deferred, gather
from oncelog.errors import Error
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.generated.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from oncelog.types import INTERNAL_TOPICS, ProducerStamp, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

FIRST_WITH_PRODUCER_FENCED = 2
FIRST_FROM_BROKERS = 4


class _Asked(NamedTuple):
    transactional_id: str
    stamp: ProducerStamp
    verify_only: bool
    partitions: tuple[TopicPartition, ...]


def handle(
    broker: Broker, context: RequestContext, request: AddPartitionsToTxnRequest
) -> Deferred[AddPartitionsToTxnResponse]:
    if context.api_version >= FIRST_FROM_BROKERS:
        asked = [
            _Asked(
                transaction.transactional_id,
                ProducerStamp(transaction.producer_id, transaction.producer_epoch),
                transaction.verify_only,
                _partitions(transaction.topics),
            )
            for transaction in request.transactions
        ]
        return gather([_add(broker, context, one) for one in asked]).map(
            lambda results: AddPartitionsToTxnResponse(
                results_by_transaction=[
                    AddPartitionsToTxnResult(transactional_id=one.transactional_id, topic_results=_results(errors))
                    for one, errors in zip(asked, results, strict=True)
                ]
            )
        )
    stamp = ProducerStamp(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    partitions = _partitions(request.v3_and_below_topics)
    one = _Asked(request.v3_and_below_transactional_id, stamp, False, partitions)
    return _add(broker, context, one).map(
        lambda errors: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_results(errors))
    )


def _partitions(topics: Sequence[AddPartitionsToTxnTopic]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic.name, partition) for topic in topics for partition in topic.partitions)


def _add(broker: Broker, context: RequestContext, asked: _Asked) -> Deferred[dict[TopicPartition, Error]]:
    errors = {partition: _refusal(broker, context, partition) for partition in asked.partitions}
    if any(error is not Error.NONE for error in errors.values()):
        return Deferred.of(
            {
                partition: error if error is not Error.NONE else Error.OPERATION_NOT_ATTEMPTED
                for partition, error in errors.items()
            }
        )
    if asked.verify_only:
        return broker.transactions.verify_partitions(
            asked.transactional_id, asked.stamp, asked.partitions, context.now_ms
        )

    def for_each(error: Error) -> dict[TopicPartition, Error]:
        if error is Error.PRODUCER_FENCED and context.api_version < FIRST_WITH_PRODUCER_FENCED:
            error = Error.INVALID_PRODUCER_EPOCH
        return dict.fromkeys(asked.partitions, error)

    version = 2 if context.api_version >= FIRST_FROM_BROKERS else 0
    return broker.transactions.add_partitions(
        asked.transactional_id, asked.stamp, asked.partitions, context.now_ms, transaction_version=version
    ).map(for_each)


def _refusal(broker: Broker, context: RequestContext, partition: TopicPartition) -> Error:
    """Clients may add no internal topic to a transaction; partition leaders ask for clients that may."""
    name = partition.topic
    if context.api_version < FIRST_FROM_BROKERS and (
        name in INTERNAL_TOPICS or not allows(broker, context, Operation.WRITE, TOPIC, name)
    ):
        return Error.TOPIC_AUTHORIZATION_FAILED
    topic = broker.metadata.topic(name)
    exists = topic is not None and 0 <= partition.partition < topic.partitions
    return Error.NONE if exists else Error.UNKNOWN_TOPIC_OR_PARTITION


def _results(errors: Mapping[TopicPartition, Error]) -> list[AddPartitionsToTxnTopicResult]:
    topics: dict[str, AddPartitionsToTxnTopicResult] = {}
    for (name, partition), error in errors.items():
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = AddPartitionsToTxnTopicResult(name=name)
        topic.results_by_partition.append(
            AddPartitionsToTxnPartitionResult(partition_index=partition, partition_error_code=error)
        )
    return list(topics.values())
