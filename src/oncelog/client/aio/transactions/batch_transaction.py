"""Transactions of encoded record batches: the caller encodes them, producer and sequence are set here.

Each step is one request.

Called by the Spark sink and by ``oncelog mirror``; :class:`~oncelog.client.aio.producer.producer.Producer` is for
records. Speaks transaction V2 (KIP-890) if the cluster has it, else the older protocol. A request whose answer was lost
is repeated with the same producer id, epoch and sequence, so the repeat has no effect. After any error a transaction
can only be ended, or :meth:`BatchTransactions.init` starts over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from oncelog.client.aio.connection.cluster_access import GIVE_UP_ON_UNKNOWN_SECONDS, ClusterAccess, settled
from oncelog.client.core.client_errors import error_for, error_of
from oncelog.client.core.connection.coordinator_lookup import CoordinatorType
from oncelog.client.core.connection.error_rules import ErrorAction, Step, action_for
from oncelog.client.core.connection.wire import NO_LIMIT, PRODUCE
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata
from oncelog.client.core.transactions.offset_topics import OffsetTopics
from oncelog.client.core.transactions.transaction_requests import (
    TV1_HIGHEST_PRODUCE,
    Request,
    RequestOutcome,
    TxnRequests,
    replaced,
)
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.records.batch import Buffer, increment_sequence, set_producer
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.deferred import Deferred
from oncelog.types import NO_PRODUCER, ProducerIdAndEpoch, TopicPartition

_PRODUCE_TIMEOUT_MS = 30_000
_FENCED = (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH)


class ReadyBatch(NamedTuple):
    """One encoded record batch, whose producer is not set yet."""

    records: int
    data: Buffer


class BatchTransactions:
    """The transactions of one transactional id, one after another.

    :param delivery_ms: how long a batch may take including all its repeats, named ``delivery_setting`` in messages;
        None means the cluster's own limit.
    :param max_request_bytes: largest Produce request, unless a single batch is larger; None means no limit.
    """

    def __init__(
        self,
        cluster: ClusterAccess,
        transactional_id: str,
        timeout_ms: int,
        *,
        two_phase_commit: bool = False,
        delivery_ms: float | None = None,
        delivery_setting: str = "delivery.timeout.ms",
        max_request_bytes: int | None = None,
    ) -> None:
        self._cluster = cluster
        self._coordinator = cluster.finder(CoordinatorType.TRANSACTION, transactional_id)
        self._id = transactional_id
        self._requests = TxnRequests(transactional_id, timeout_ms, two_phase_commit=two_phase_commit)
        self._delivery_ms = delivery_ms
        self._delivery_setting = delivery_setting
        self._max_request_bytes = max_request_bytes
        self.producer = NO_PRODUCER
        """The producer id and epoch in use: returned to :meth:`init`, passed to :meth:`join`, or renewed by a
        commit."""
        self._v2 = False
        self._sequences: dict[TopicPartition, int] = {}
        self._added: set[TopicPartition] = set()
        self._groups: set[str] = set()
        self._adding = asyncio.Lock()
        """Held while partitions are added: the coordinator refuses further additions while one is being written."""
        self._begun = False

    async def init(self) -> None:
        """Fence older producers of the id and begin with a new epoch; no earlier transaction is open afterwards."""
        outcome = await self._coordinated(Step.INIT_PRODUCER_ID, self._requests.init(NO_PRODUCER))
        if outcome.producer is None:
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, f"{self._id!r} was given no producer id")
        self._adopt(outcome.producer)
        self._ended()

    def join(self, producer: ProducerIdAndEpoch) -> None:
        """Continue the transaction of a producer that another process initialized with this id."""
        self._adopt(producer)
        self._begun = True

    def _adopt(self, producer: ProducerIdAndEpoch) -> None:
        if producer != self.producer:
            self._sequences.clear()
        self.producer = producer
        self._v2 = self._cluster.network.transaction_version() >= 2

    def _ended(self) -> None:
        self._added.clear()
        self._groups.clear()
        self._begun = False

    async def append(
        self, batches: Mapping[TopicPartition, ReadyBatch], *, channel: int = 0
    ) -> dict[TopicPartition, int]:
        """Append one batch to each of several partitions with acks=all; returns the first offset of each.

        The offset is -1 if the answer was lost and the leader only knows that it has the batch. Several calls may be in
        progress at once if their partitions differ.

        :param channel: which of the connections to each leader to use.
        """
        self._begun = True
        new = [partition for partition in batches if partition not in self._added]
        if not new:
            return await self._append(batches, channel)
        async with self._adding:
            if not self._v2:
                await self._coordinated(Step.ADD_PARTITIONS, self._requests.add_partitions(lambda: self.producer, new))
            self._added.update(new)
            return await self._append(batches, channel)

    async def _append(self, batches: Mapping[TopicPartition, ReadyBatch], channel: int) -> dict[TopicPartition, int]:
        prepared: dict[TopicPartition, bytearray] = {}
        for partition, batch in batches.items():
            sequence = self._sequences.get(partition, 0)
            prepared[partition] = data = bytearray(batch.data)
            set_producer(data, self.producer.producer_id, self.producer.producer_epoch, sequence, True)
            self._sequences[partition] = increment_sequence(sequence, batch.records)

        async def ask(node: int, names: list[TopicPartition]) -> dict[TopicPartition, int | KafkaError]:
            requests = _requests({name: prepared[name] for name in names}, self._max_request_bytes)
            answers = await asyncio.gather(*(self._send(node, request, channel) for request in requests))
            return {name: result for answer in answers for name, result in answer.items()}

        return await self._cluster.at_leaders(
            "Produce",
            prepared,
            ask,
            timeout_ms=self._delivery_ms,
            setting=self._delivery_setting,
            wait_for_unknown_s=GIVE_UP_ON_UNKNOWN_SECONDS,
        )

    async def _send(
        self, node: int, batches: Mapping[TopicPartition, bytearray], channel: int
    ) -> dict[TopicPartition, int | KafkaError]:
        """One Produce request: for each partition the offset of the stored batch, or why it was not stored."""
        topics: dict[str, list[PartitionProduceData]] = {}
        for (topic, number), data in batches.items():
            topics.setdefault(topic, []).append(PartitionProduceData(index=number, records=memoryview(data)))

        def build(version: int) -> ProduceRequest:
            listed = [TopicProduceData(name=name, partition_data=items) for name, items in topics.items()]
            return ProduceRequest(self._id, -1, _PRODUCE_TIMEOUT_MS, listed)

        try:
            answer = await self._cluster.ask(
                node, PRODUCE, build, highest=NO_LIMIT if self._v2 else TV1_HIGHEST_PRODUCE, channel=channel
            )
        except KafkaError as error:
            return dict.fromkeys(batches, error)
        results: dict[TopicPartition, int | KafkaError] = {}
        for answered in answer.responses:
            for item in answered.partition_responses:
                partition = TopicPartition(answered.name, item.index)
                code = error_of(item.error_code)
                stored = action_for(Step.PRODUCE_TRANSACTIONAL, code) is ErrorAction.DONE
                why = f": {item.error_message}" if item.error_message else ""
                text = f"{partition} did not store a batch of {len(batches[partition])} bytes{why}"
                results[partition] = item.base_offset if stored else error_for(code, text)
        return results

    async def add_offsets(self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit a group's offsets as part of the transaction."""
        self._begun = True
        if not self._v2 and group not in self._groups:
            await self._coordinated(Step.ADD_OFFSETS, self._requests.add_offsets(self.producer, group))
        self._groups.add(group)
        topics = OffsetTopics(self._cluster.metadata, (partition.topic for partition in offsets), {})
        request = self._requests.offsets(self.producer, offsets, ConsumerGroupMetadata(group), topics)
        await self._coordinated(Step.TXN_OFFSET_COMMIT, request, group, topics if self._v2 else None)

    async def end(self, *, commit: bool) -> None:
        """End the transaction, repeated until the outcome is known.

        After a commit the next call begins the next transaction; after an abort :meth:`init` has to come first. Below
        version 2 an abort is not by EndTxn but by InitProducerId: EndTxn would keep the epoch, and a batch whose answer
        was lost may still arrive. Before Apache Kafka 3.6 it would be stored, and committed with the next transaction.
        """
        if not self._begun:
            return
        if not commit and not self._v2:
            await self._abort_and_fence()
        else:
            outcome = await self._coordinated(Step.END_TXN, self._requests.end(lambda: self.producer, commit))
            if outcome.producer is not None:
                self._adopt(outcome.producer)
        self._ended()

    async def _abort_and_fence(self) -> None:
        """Abort and begin the next epoch, as EndTxn itself does from version 2 on.

        The request that aborts is answered with CONCURRENT_TRANSACTIONS. Before Apache Kafka 4.0 its repetition is
        answered with a fencing error, because the first request, or another run, has raised the epoch. In both cases no
        producer can write with the old epoch any more.
        """
        try:
            await self._coordinated(Step.INIT_PRODUCER_ID, self._requests.init(self.producer))
        except KafkaError as error:
            if error.error not in _FENCED:
                raise

    async def _coordinated(
        self, step: Step, request: Request, group: str | None = None, topics: OffsetTopics | None = None
    ) -> RequestOutcome:
        """Send a request to the step's coordinator, and retry while the error table says so."""
        api, build, read = request
        finder = self._coordinator if group is None else self._cluster.finder(CoordinatorType.GROUP, group)

        async def attempt(node: int) -> RequestOutcome:
            if topics is not None:
                known: Deferred[None] = Deferred()
                if not topics.look_up(lambda: known.resolve(None)):
                    await settled(known)
                if topics.replaced is not None:
                    return replaced(topics, group or "")
            highest = self._requests.highest(step, self._v2, topics)
            answer, version = await self._cluster.network.call(node, api, build, highest=highest, channel=1)
            return read(answer, version)

        async def ask(node: int) -> RequestOutcome:
            outcome = await attempt(node)
            if action_for(step, outcome.error) is not ErrorAction.DONE:
                raise error_for(outcome.error, f"{api.name} of {self._id!r} was refused{outcome.where}")
            return outcome

        return await self._cluster.at_coordinator(f"{api.name} of {self._id!r}", finder, ask)


def _requests(
    batches: Mapping[TopicPartition, bytearray], max_bytes: int | None
) -> list[dict[TopicPartition, bytearray]]:
    """Divide the batches among requests of at most ``max_bytes``; a larger batch gets a request of its own."""
    if max_bytes is None:
        return [dict(batches)]
    requests: list[dict[TopicPartition, bytearray]] = []
    size_bytes = 0
    for partition, data in batches.items():
        if not requests or size_bytes + len(data) > max_bytes:
            requests.append({})
            size_bytes = 0
        requests[-1][partition] = data
        size_bytes += len(data)
    return requests


__all__ = ["BatchTransactions", "ReadyBatch"]
