"""Transactions as an operator sees them, and how to end one that hangs (KIP-664): one part of the admin client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from oncelog.client.aio.admin_connection import AdminConnection, check
from oncelog.client.core.admin_types import ProducerState, TransactionDescription, TransactionListing
from oncelog.client.core.coordinator import CoordinatorType
from oncelog.client.core.errors import IllegalStateError, error_for, error_of
from oncelog.client.core.structs import TopicPartition
from oncelog.client.core.transaction_requests import by_topic
from oncelog.client.core.wire import INIT_PRODUCER_ID, Api
from oncelog.errors import Error
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest, TopicRequest
from oncelog.protocol.generated.describe_producers_response import DescribeProducersResponse
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.describe_transactions_response import DescribeTransactionsResponse
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.generated.list_transactions_response import ListTransactionsResponse
from oncelog.protocol.generated.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from oncelog.protocol.generated.write_txn_markers_response import WriteTxnMarkersResponse

LIST_TRANSACTIONS = Api(ListTransactionsRequest, ListTransactionsResponse, 0, 2)
DESCRIBE_TRANSACTIONS = Api(DescribeTransactionsRequest, DescribeTransactionsResponse, 0, 0)
DESCRIBE_PRODUCERS = Api(DescribeProducersRequest, DescribeProducersResponse, 0, 0)
WRITE_TXN_MARKERS = Api(WriteTxnMarkersRequest, WriteTxnMarkersResponse, 1, 1)
"""1 ends a transaction by the older rules, which let a marker carry the epoch that the partition knows."""


class TransactionsAdmin(AdminConnection):
    """Coordinators know transactions by id, partitions know producers by number."""

    async def list_transactions(
        self, *, states: Sequence[str] = (), producer_ids: Sequence[int] = (), running_longer_than_ms: int = -1
    ) -> list[TransactionListing]:
        """All transactional ids, by name, or those that match."""

        def build(version: int) -> ListTransactionsRequest:
            return ListTransactionsRequest(
                state_filters=list(states),
                producer_id_filters=list(producer_ids),
                duration_filter=running_longer_than_ms,
            )

        async def attempt() -> list[TransactionListing]:
            found: dict[str, TransactionListing] = {}
            for node, answer in await self._ask_all(LIST_TRANSACTIONS, build):
                check(answer.error_code, f"node {node} did not list its transactions")
                for item in answer.transaction_states:
                    found[item.transactional_id] = TransactionListing(
                        item.transactional_id, item.producer_id, item.transaction_state
                    )
            return [found[name] for name in sorted(found)]

        return await self._repeat("list_transactions", attempt)

    async def describe_transactions(self, transactional_ids: Iterable[str]) -> list[TransactionDescription]:
        """State, producer and partitions of transactional ids."""
        return [await self._describe_transaction(name) for name in transactional_ids]

    async def _describe_transaction(self, name: str) -> TransactionDescription:
        async def ask(node: int) -> TransactionDescription:
            request = DescribeTransactionsRequest(transactional_ids=[name])
            item = (await self._ask(node, DESCRIBE_TRANSACTIONS, request)).transaction_states[0]
            check(item.error_code, f"transactional id {name!r} was not described")
            return TransactionDescription(
                name,
                node,
                item.transaction_state,
                item.transaction_timeout_ms,
                item.transaction_start_time_ms,
                item.producer_id,
                item.producer_epoch,
                tuple(TopicPartition(topic.topic, number) for topic in item.topics for number in topic.partitions),
            )

        return await self._at_coordinator(CoordinatorType.TRANSACTION, name, ask)

    async def describe_producers(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, list[ProducerState]]:
        """The producers that each partition remembers, open transactions included."""
        wanted = [TopicPartition(*name) for name in partitions]

        async def attempt() -> dict[TopicPartition, list[ProducerState]]:
            found: dict[TopicPartition, list[ProducerState]] = {}
            for node, names in (await self._leaders(wanted)).items():
                request = DescribeProducersRequest(
                    topics=[
                        TopicRequest(name=topic, partition_indexes=numbers)
                        for topic, numbers in by_topic(names).items()
                    ]
                )
                for topic in (await self._ask(node, DESCRIBE_PRODUCERS, request)).topics:
                    for item in topic.partitions:
                        name = TopicPartition(topic.name, item.partition_index)
                        check(item.error_code, f"the producers of {name} were not described", item.error_message)
                        found[name] = [
                            ProducerState(
                                producer.producer_id,
                                producer.producer_epoch,
                                producer.last_sequence,
                                producer.last_timestamp,
                                producer.coordinator_epoch,
                                producer.current_txn_start_offset,
                            )
                            for producer in item.active_producers
                        ]
            return found

        return await self._repeat("describe_producers", attempt)

    async def find_hanging_transactions(
        self, partitions: Iterable[TopicPartition]
    ) -> list[tuple[TopicPartition, ProducerState]]:
        """Transactions that are open in a partition while no coordinator knows them: they hold the last stable offset
        back for ever, unless :meth:`abort_transaction` ends them."""
        open_here = [
            (name, producer)
            for name, producers in (await self.describe_producers(partitions)).items()
            for producer in producers
            if producer.transaction_start_offset >= 0
        ]
        known: set[tuple[int, TopicPartition]] = set()
        wanted = sorted({producer.producer_id for _, producer in open_here})
        for listing in await self.list_transactions(producer_ids=wanted) if wanted else []:
            for description in await self.describe_transactions([listing.transactional_id]):
                known.update((description.producer_id, name) for name in description.partitions)
        return [(name, producer) for name, producer in open_here if (producer.producer_id, name) not in known]

    async def abort_transaction(
        self, partition: TopicPartition, *, start_offset: int | None = None, producer: ProducerState | None = None
    ) -> None:
        """End a hanging transaction in one partition with an abort marker.

        :param start_offset: its first offset there; or give the producer as ``describe_producers`` told it.
        """
        name = TopicPartition(*partition)
        chosen = producer
        if chosen is None:
            states = (await self.describe_producers([name]))[name]
            chosen = next((item for item in states if item.transaction_start_offset == start_offset), None)
            if chosen is None or start_offset is None:
                open_at = sorted(item.transaction_start_offset for item in states if item.transaction_start_offset >= 0)
                others = f"; open ones begin at {', '.join(map(str, open_at))}" if open_at else "; none is open there"
                raise IllegalStateError(f"no transaction is open in {name} from offset {start_offset} on{others}")
        marker = WritableTxnMarker(
            producer_id=chosen.producer_id,
            producer_epoch=chosen.producer_epoch,
            transaction_result=False,
            topics=[WritableTxnMarkerTopic(name=name.topic, partition_indexes=[name.partition])],
            coordinator_epoch=max(0, chosen.coordinator_epoch),
        )

        async def attempt() -> None:
            node = next(iter(await self._leaders([name])))
            answer = await self._ask(node, WRITE_TXN_MARKERS, WriteTxnMarkersRequest(markers=[marker]))
            for written in answer.markers:
                for topic in written.topics:
                    for item in topic.partitions:
                        check(item.error_code, f"the abort marker for {name} was not written")

        await self._repeat("abort_transaction", attempt)

    async def fence_producers(self, transactional_ids: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Stop the producers of these transactional ids and abort what they left open; returns the producer ids and
        epochs that now count."""
        fenced: dict[str, tuple[int, int]] = {}
        for name in transactional_ids:

            async def ask(node: int, name: str = name) -> tuple[int, int]:
                request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
                while True:
                    answer = await self._ask(node, INIT_PRODUCER_ID, request)
                    error = error_of(answer.error_code)
                    if error is Error.NONE:
                        return answer.producer_id, answer.producer_epoch
                    if error is not Error.CONCURRENT_TRANSACTIONS:
                        raise error_for(error, f"the producer of {name!r} was not fenced")
                    await asyncio.sleep(self.config.retry_backoff_ms / 1000)

            fenced[name] = await self._at_coordinator(CoordinatorType.TRANSACTION, name, ask)
        return fenced
