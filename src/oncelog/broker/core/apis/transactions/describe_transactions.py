"""DescribeTransactions (key 65), version 0: state, producer, timeout and partitions of transactional ids (KIP-664)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.transaction.transaction_coordinator import DescribedTransaction
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import TOPIC, TRANSACTIONAL_ID, allows
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.describe_transactions_response import (
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import TransactionPorts

ENTRIES_IN_A_CHUNK = 100
"""The number of entries described in one chunk: partitions, and transactional ids, each of which counts as several
partitions."""


def handle(
    ports: TransactionPorts, context: RequestContext, request: DescribeTransactionsRequest
) -> Deferred[DescribeTransactionsResponse]:
    return ports.tasks.begin(_describe(ports, context, request), context)


def _describe(
    ports: TransactionPorts, context: RequestContext, request: DescribeTransactionsRequest
) -> Work[DescribeTransactionsResponse]:
    states: list[TransactionState] = []
    looked_at = 0
    for name in request.transactional_ids:
        states.append(_state(ports, context, name))
        looked_at += 5 + sum(len(topic.partitions) for topic in states[-1].topics)
        if looked_at >= ENTRIES_IN_A_CHUNK:
            yield from ports.answer_memory.grow(context, looked_at)
            looked_at = 0
            yield
    return DescribeTransactionsResponse(transaction_states=states)


def _state(ports: TransactionPorts, context: RequestContext, transactional_id: str) -> TransactionState:
    """The state of a transactional id, with only those topics that the caller may describe."""
    if not allows(ports, context, Operation.DESCRIBE, TRANSACTIONAL_ID, transactional_id):
        error = Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return TransactionState(error_code=error, transactional_id=transactional_id)
    state = _described(ports.transactions.describe(transactional_id, context.session.node_id))
    state.topics = [topic for topic in state.topics if allows(ports, context, Operation.DESCRIBE, TOPIC, topic.topic)]
    return state


def _described(description: DescribedTransaction) -> TransactionState:
    if description.error is not Error.NONE or description.state is None:
        return TransactionState(error_code=description.error, transactional_id=description.transactional_id)
    topics: dict[str, TopicData] = {}
    for name, partition in description.partitions:
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = TopicData(topic=name)
        topic.partitions.append(partition)
    return TransactionState(
        error_code=Error.NONE,
        transactional_id=description.transactional_id,
        transaction_state=description.state.label,
        transaction_timeout_ms=description.timeout_ms,
        transaction_start_time_ms=description.start_ms,
        producer_id=description.producer.producer_id,
        producer_epoch=description.producer.producer_epoch,
        topics=list(topics.values()),
    )
