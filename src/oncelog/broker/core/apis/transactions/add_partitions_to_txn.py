"""AddPartitionsToTxn (key 24), versions 0-5: announces partitions that a transaction will write to.

Clients send versions 0-3, for one transaction; version 2 introduces PRODUCER_FENCED (before: INVALID_PRODUCER_EPOCH); 3
is flexible. Partition leaders send 4 and 5, for several transactions at once, to add partitions on a client's behalf
(KIP-890 part 2) or only to verify them. If a topic does not exist, no partition of its transaction is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
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
from oncelog.runtime.deferred import Deferred, gather
from oncelog.types import INTERNAL_TOPICS, ProducerIdAndEpoch, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import TransactionPorts

FIRST_WITH_PRODUCER_FENCED = 2
FIRST_FROM_BROKERS = 4


Errors = dict[TopicPartition, Error]


class _TransactionPartitions(NamedTuple):
    transactional_id: str
    producer: ProducerIdAndEpoch
    verify_only: bool
    partitions: Sequence[TopicPartition]


def handle(
    ports: TransactionPorts, context: RequestContext, request: AddPartitionsToTxnRequest
) -> Deferred[AddPartitionsToTxnResponse]:
    if context.api_version >= FIRST_FROM_BROKERS:
        return _add_each(ports, context, request)
    producer = ProducerIdAndEpoch(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    partitions = _partitions(request.v3_and_below_topics)
    asked = _TransactionPartitions(request.v3_and_below_transactional_id, producer, False, partitions)
    return _add(ports, context, asked).map(
        lambda errors: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_results(errors))
    )


def _add_each(
    ports: TransactionPorts, context: RequestContext, request: AddPartitionsToTxnRequest
) -> Deferred[AddPartitionsToTxnResponse]:
    added: list[Deferred[AddPartitionsToTxnResult]] = []
    for transaction in request.transactions:
        producer = ProducerIdAndEpoch(transaction.producer_id, transaction.producer_epoch)
        partitions = _partitions(transaction.topics)
        asked = _TransactionPartitions(transaction.transactional_id, producer, transaction.verify_only, partitions)
        added.append(_add(ports, context, asked).map(partial(_result, asked.transactional_id)))
    return gather(added).map(lambda results: AddPartitionsToTxnResponse(results_by_transaction=results))


def _result(transactional_id: str, errors: Errors) -> AddPartitionsToTxnResult:
    return AddPartitionsToTxnResult(transactional_id=transactional_id, topic_results=_results(errors))


def _partitions(topics: Sequence[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, partition) for topic in topics for partition in topic.partitions]


def _add(ports: TransactionPorts, context: RequestContext, asked: _TransactionPartitions) -> Deferred[Errors]:
    node_id = context.session.node_id
    errors: Errors = {partition: _refusal(ports, context, partition) for partition in asked.partitions}
    if any(error is not Error.NONE for error in errors.values()):
        for partition, error in errors.items():
            if error is Error.NONE:
                errors[partition] = Error.OPERATION_NOT_ATTEMPTED
        return Deferred.of(errors)
    if asked.verify_only:
        return ports.transactions.verify_partitions(
            asked.transactional_id, asked.producer, asked.partitions, ports.now_ms, node_id
        )

    def for_each(error: Error) -> Errors:
        if error is Error.PRODUCER_FENCED and context.api_version < FIRST_WITH_PRODUCER_FENCED:
            error = Error.INVALID_PRODUCER_EPOCH
        return dict.fromkeys(asked.partitions, error)

    version = 2 if context.api_version >= FIRST_FROM_BROKERS else 0
    return ports.transactions.add_partitions(
        asked.transactional_id, asked.producer, asked.partitions, ports.now_ms, version, node_id
    ).map(for_each)


def _refusal(ports: TransactionPorts, context: RequestContext, partition: TopicPartition) -> Error:
    """The error that refuses a partition, or NONE: clients may not add internal topics; partition leaders may, on
    behalf of clients."""
    name = partition.topic
    if context.api_version < FIRST_FROM_BROKERS and (
        name in INTERNAL_TOPICS or not allows(ports, context, Operation.WRITE, TOPIC, name)
    ):
        return Error.TOPIC_AUTHORIZATION_FAILED
    topic = ports.metadata.topic(name)
    exists = topic is not None and 0 <= partition.partition < topic.partitions
    return Error.NONE if exists else Error.UNKNOWN_TOPIC_OR_PARTITION


def _results(errors: Errors) -> list[AddPartitionsToTxnTopicResult]:
    topics: dict[str, AddPartitionsToTxnTopicResult] = {}
    for (name, partition), error in errors.items():
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = AddPartitionsToTxnTopicResult(name=name)
        topic.results_by_partition.append(
            AddPartitionsToTxnPartitionResult(partition_index=partition, partition_error_code=error)
        )
    return list(topics.values())
