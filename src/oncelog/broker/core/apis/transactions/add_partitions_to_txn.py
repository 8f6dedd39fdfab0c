"""AddPartitionsToTxn (key 24), versions 0-5: announces partitions that a transaction will write to.

Clients send 0-3, one transaction each; version 2 introduces PRODUCER_FENCED (before: INVALID_PRODUCER_EPOCH); 3 is
flexible. Partition leaders send 4 and 5, for several transactions at once, to add partitions on a client's behalf
(KIP-890 part 2) or only to verify them. A topic that does not exist fails the whole transaction of the request: nothing
is added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work, finished, groups_in_parts, in_parts
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

PARTITIONS_IN_A_CHUNK = 200
TRANSACTIONS_IN_A_CHUNK = 20
FIRST_WITH_PRODUCER_FENCED = 2
FIRST_FROM_BROKERS = 4


T = TypeVar("T")
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
        work = _add_each(ports, context, request)
    else:
        work = _add_one(ports, context, request)
    return ports.tasks.begin(work, owner=context).flat_map(lambda answered: answered)


def _add_each(
    ports: TransactionPorts, context: RequestContext, request: AddPartitionsToTxnRequest
) -> Work[Deferred[AddPartitionsToTxnResponse]]:
    added: list[Deferred[AddPartitionsToTxnResult]] = []
    for transactions in in_parts(request.transactions, TRANSACTIONS_IN_A_CHUNK):
        for transaction in transactions:
            producer = ProducerIdAndEpoch(transaction.producer_id, transaction.producer_epoch)
            partitions = yield from _partitions(transaction.topics)
            asked = _TransactionPartitions(transaction.transactional_id, producer, transaction.verify_only, partitions)
            adding = yield from _add(ports, context, asked)
            added.append((yield from _when_known(adding, partial(_result, asked.transactional_id))))
        if len(transactions) == TRANSACTIONS_IN_A_CHUNK:
            yield
    return gather(added).map(lambda results: AddPartitionsToTxnResponse(results_by_transaction=results))


def _when_known(adding: Deferred[Errors], answer: Callable[[Errors], Work[T]]) -> Work[Deferred[T]]:
    """Wait for the result, in chunks: refused partitions may be anything, and as many as fit; added ones exist."""
    if adding.succeeded:
        return Deferred.of((yield from answer(adding.value)))
    return adding.map(lambda errors: finished(answer(errors)))


def _result(transactional_id: str, errors: Errors) -> Work[AddPartitionsToTxnResult]:
    results = yield from _results(errors)
    return AddPartitionsToTxnResult(transactional_id=transactional_id, topic_results=results)


def _of_one(errors: Errors) -> Work[AddPartitionsToTxnResponse]:
    results = yield from _results(errors)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)


def _add_one(
    ports: TransactionPorts, context: RequestContext, request: AddPartitionsToTxnRequest
) -> Work[Deferred[AddPartitionsToTxnResponse]]:
    producer = ProducerIdAndEpoch(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    partitions = yield from _partitions(request.v3_and_below_topics)
    asked = _TransactionPartitions(request.v3_and_below_transactional_id, producer, False, partitions)
    adding = yield from _add(ports, context, asked)
    return (yield from _when_known(adding, _of_one))


def _partitions(topics: Sequence[AddPartitionsToTxnTopic]) -> Work[list[TopicPartition]]:
    found: list[TopicPartition] = []
    for chunk in groups_in_parts(topics, lambda topic: topic.partitions, PARTITIONS_IN_A_CHUNK):
        found += [TopicPartition(topic.name, partition) for topic, part in chunk for partition in part]
        if len(found) >= PARTITIONS_IN_A_CHUNK:
            yield
    return found


def _add(ports: TransactionPorts, context: RequestContext, asked: _TransactionPartitions) -> Work[Deferred[Errors]]:
    errors: Errors = {}
    refused, node_id = False, context.session.node_id
    for part in in_parts(asked.partitions, PARTITIONS_IN_A_CHUNK):
        for partition in part:
            errors[partition] = error = _refusal(ports, context, partition)
            refused = refused or error is not Error.NONE
        if len(part) == PARTITIONS_IN_A_CHUNK:
            yield
    if refused:
        for part in in_parts(asked.partitions, PARTITIONS_IN_A_CHUNK):
            for partition in part:
                if errors[partition] is Error.NONE:
                    errors[partition] = Error.OPERATION_NOT_ATTEMPTED
            if len(part) == PARTITIONS_IN_A_CHUNK:
                yield
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
    """Why a partition is refused: clients may not add internal topics; partition leaders may, on behalf of clients."""
    name = partition.topic
    if context.api_version < FIRST_FROM_BROKERS and (
        name in INTERNAL_TOPICS or not allows(ports, context, Operation.WRITE, TOPIC, name)
    ):
        return Error.TOPIC_AUTHORIZATION_FAILED
    topic = ports.metadata.topic(name)
    exists = topic is not None and 0 <= partition.partition < topic.partitions
    return Error.NONE if exists else Error.UNKNOWN_TOPIC_OR_PARTITION


def _results(errors: Errors) -> Work[list[AddPartitionsToTxnTopicResult]]:
    topics: dict[str, AddPartitionsToTxnTopicResult] = {}
    for number, ((name, partition), error) in enumerate(errors.items(), 1):
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = AddPartitionsToTxnTopicResult(name=name)
        topic.results_by_partition.append(
            AddPartitionsToTxnPartitionResult(partition_index=partition, partition_error_code=error)
        )
        if not number % PARTITIONS_IN_A_CHUNK:
            yield
    return list(topics.values())
