"""Transactions as an operator sees them, and how to end one that hangs (KIP-664): one part of the admin client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from oncelog.client.aio.admin.admin_connection import AdminConnection
from oncelog.client.aio.connection.cluster_access import check
from oncelog.client.aio.transaction_lookups import describe_producers, list_transactions
from oncelog.client.core import arguments
from oncelog.client.core.admin.admin_types import ProducerState, TransactionDescription, TransactionListing
from oncelog.client.core.client_errors import IllegalStateError, error_of
from oncelog.client.core.connection.coordinator_lookup import CoordinatorType
from oncelog.client.core.connection.wire import INIT_PRODUCER_ID, Api
from oncelog.client.core.structs import TopicPartition
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

T = TypeVar("T")

DESCRIBE_TRANSACTIONS = Api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0)
WRITE_TXN_MARKERS = Api(ApiKey.WRITE_TXN_MARKERS, 1, 1)
"""Version 1 of WriteTxnMarkers, whose older rules accept a marker with the epoch that the open transaction has in the
partition."""


class TransactionsAdmin(AdminConnection):
    """The admin client's methods for transactions. Coordinators identify a transaction by its transactional id,
    partitions by its producer id."""

    async def _at_transaction_coordinator(self, name: str, ask: Callable[[int], Awaitable[T]]) -> T:
        finder = self.cluster.finder(CoordinatorType.TRANSACTION, name)
        return await self.cluster.at_coordinator(f"the request about transactional id {name!r}", finder, ask)

    async def list_transactions(
        self, *, states: Sequence[str] = (), producer_ids: Sequence[int] = (), running_longer_than_ms: int = -1
    ) -> list[TransactionListing]:
        """Transactional ids, by name: all, or those that match."""
        wanted = arguments.names(states, "states")
        producers = arguments.wholes(producer_ids, "producer ids")
        longer_ms = arguments.whole(running_longer_than_ms, "running_longer_than_ms")
        return await list_transactions(
            self.cluster, states=wanted, producer_ids=producers, running_longer_than_ms=longer_ms
        )

    async def describe_transactions(self, transactional_ids: Iterable[str]) -> list[TransactionDescription]:
        """State, producer and partitions of transactional ids."""
        return [
            await self._describe_transaction(name) for name in arguments.names(transactional_ids, "transactional ids")
        ]

    async def _describe_transaction(self, name: str) -> TransactionDescription:
        async def ask(node: int) -> TransactionDescription:
            request = DescribeTransactionsRequest(transactional_ids=[name])
            item = (await self.cluster.ask(node, DESCRIBE_TRANSACTIONS, request)).transaction_states[0]
            unknown = error_of(item.error_code) is Error.TRANSACTIONAL_ID_NOT_FOUND
            check(item.error_code, f"transactional id {name!r} {'does not exist' if unknown else 'was not described'}")
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

        return await self._at_transaction_coordinator(name, ask)

    async def describe_producers(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, list[ProducerState]]:
        """The producers whose state each partition holds, including open transactions."""
        return await describe_producers(self.cluster, arguments.partitions(partitions))

    async def find_hanging_transactions(
        self, partitions: Iterable[TopicPartition]
    ) -> list[tuple[TopicPartition, ProducerState]]:
        """Transactions that are open in a partition but unknown to every coordinator: they hold back the last stable
        offset forever, unless :meth:`abort_transaction` ends them. Transactions that end during the search are not
        listed."""
        open_here = await self._open_in(partitions)
        known: set[tuple[int, TopicPartition]] = set()
        wanted = sorted({producer.producer_id for _, producer in open_here})
        for listing in await self.list_transactions(producer_ids=wanted) if wanted else []:
            for description in await self.describe_transactions([listing.transactional_id]):
                known.update((description.producer_id, name) for name in description.partitions)
        suspects = {
            (name, producer.producer_id, producer.transaction_start_offset)
            for name, producer in open_here
            if (producer.producer_id, name) not in known
        }
        # A coordinator also does not know a transaction that ended before it was asked: report only those that are
        # still open.
        return [
            (name, producer)
            for name, producer in await self._open_in(sorted({name for name, _, _ in suspects}))
            if (name, producer.producer_id, producer.transaction_start_offset) in suspects
        ]

    async def _open_in(self, partitions: Iterable[TopicPartition]) -> list[tuple[TopicPartition, ProducerState]]:
        return [
            (name, producer)
            for name, producers in (await self.describe_producers(partitions)).items()
            for producer in producers
            if producer.transaction_start_offset >= 0
        ]

    async def abort_transaction(
        self, partition: TopicPartition, *, start_offset: int | None = None, producer: ProducerState | None = None
    ) -> None:
        """End a hanging transaction in one partition with an abort marker.

        :param start_offset: its first offset there; or pass the producer as ``describe_producers`` returned it.
        """
        name = arguments.partition(partition)
        if start_offset is not None:
            arguments.whole(start_offset, "start_offset")
        if producer is not None and not isinstance(producer, ProducerState):
            raise TypeError(
                arguments.misfit(
                    ProducerState, producer, "producer must be {wanted}, as describe_producers() gives it, not {given}"
                )
            )
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

        async def ask(node: int) -> None:
            answer = await self.cluster.ask(node, WRITE_TXN_MARKERS, WriteTxnMarkersRequest(markers=[marker]))
            for written in answer.markers:
                for topic in written.topics:
                    for item in topic.partitions:
                        check(item.error_code, f"the abort marker for {name} was not written")

        await self.cluster.at_leader("abort_transaction", name, ask)

    async def fence_producers(self, transactional_ids: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Fence the producers of these transactional ids and abort their open transactions; returns the producer ids
        and epochs now in force."""
        fenced: dict[str, tuple[int, int]] = {}
        for name in arguments.names(transactional_ids, "transactional ids"):

            async def ask(node: int, name: str = name) -> tuple[int, int]:
                request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
                answer = await self.cluster.ask(node, INIT_PRODUCER_ID, request)
                check(answer.error_code, f"the producer of {name!r} was not fenced")
                return answer.producer_id, answer.producer_epoch

            fenced[name] = await self._at_transaction_coordinator(name, ask)
        return fenced
