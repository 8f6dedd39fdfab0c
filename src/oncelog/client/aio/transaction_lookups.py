"""Looks up transactions (KIP-664): producers at the leaders of partitions, transactional ids at every coordinator.

Called by the admin client and by :mod:`oncelog.client.aio.settled_ends`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oncelog.client.aio.connection.cluster_access import ClusterAccess, check
from oncelog.client.core.admin.admin_types import ProducerState, TransactionListing
from oncelog.client.core.client_errors import error_for, error_of
from oncelog.client.core.connection.wire import Api
from oncelog.client.core.structs import TopicPartition
from oncelog.errors import Error, KafkaError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest, TopicRequest
from oncelog.protocol.generated.describe_producers_response import ProducerState as DescribedProducer
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.types import by_topic

LIST_TRANSACTIONS = Api(ApiKey.LIST_TRANSACTIONS, 0, 2)
LIST_TRANSACTIONS_BY_AGE = Api(ApiKey.LIST_TRANSACTIONS, 1, 2)
"""ListTransactions with a filter by age (KIP-994), which version 0 lacks."""
DESCRIBE_PRODUCERS = Api(ApiKey.DESCRIBE_PRODUCERS, 0, 0)


async def list_transactions(
    cluster: ClusterAccess,
    *,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    running_longer_than_ms: int = -1,
) -> list[TransactionListing]:
    """Transactional ids that this client may see, by name: all, or those that match.

    :raises KafkaError: a node did not answer, or does not know the request.
    """
    api = LIST_TRANSACTIONS if running_longer_than_ms < 0 else LIST_TRANSACTIONS_BY_AGE
    request = ListTransactionsRequest(
        state_filters=list(states),
        producer_id_filters=list(producer_ids),
        duration_filter=running_longer_than_ms,
    )

    async def attempt() -> list[TransactionListing]:
        found: dict[str, TransactionListing] = {}
        for node, answer in await cluster.ask_all(api, request):
            check(answer.error_code, f"node {node} did not list its transactions")
            for item in answer.transaction_states:
                found[item.transactional_id] = TransactionListing(
                    item.transactional_id, item.producer_id, item.transaction_state
                )
        return [found[name] for name in sorted(found)]

    return await cluster.repeat("list_transactions", attempt)


async def describe_producers(
    cluster: ClusterAccess, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, list[ProducerState]]:
    """The producers whose state each partition holds, including open transactions.

    :raises KafkaError: a partition does not exist or may not be read, or its leader does not know the request.
    """

    async def ask(node: int, names: list[TopicPartition]) -> dict[TopicPartition, list[ProducerState] | KafkaError]:
        request = DescribeProducersRequest(
            topics=[TopicRequest(name=topic, partition_indexes=numbers) for topic, numbers in by_topic(names).items()]
        )
        found: dict[TopicPartition, list[ProducerState] | KafkaError] = {}
        for topic in (await cluster.ask(node, DESCRIBE_PRODUCERS, request)).topics:
            for item in topic.partitions:
                name = TopicPartition(topic.name, item.partition_index)
                error = error_of(item.error_code)
                if error is Error.NONE:
                    found[name] = [_producer_state(producer) for producer in item.active_producers]
                else:
                    message = f": {item.error_message}" if item.error_message else ""
                    found[name] = error_for(error, f"the producers of {name} were not described{message}")
        return found

    return await cluster.at_leaders("describe_producers", partitions, ask)


def _producer_state(described: DescribedProducer) -> ProducerState:
    return ProducerState(
        described.producer_id,
        described.producer_epoch,
        described.last_sequence,
        described.last_timestamp,
        described.coordinator_epoch,
        described.current_txn_start_offset,
    )


__all__ = ["describe_producers", "list_transactions"]
