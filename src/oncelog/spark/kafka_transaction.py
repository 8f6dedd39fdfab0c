"""The steps of one transaction against a Kafka cluster, each a blocking call.

Implements :class:`oncelog.spark.sink_protocol.TransactionEngine`; called by ``commit()`` alone. Speaks transaction V2
(KIP-890) where the cluster has it and the older protocol elsewhere. A request whose answer is lost is repeated with the
same producer id, epoch and sequence, so that repeating has no effect.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from oncelog.client.core.coordinator import CoordinatorType
from oncelog.client.core.error_rules import Action, Step, action_for
from oncelog.client.core.errors import error_for, error_of
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata
from oncelog.client.core.transaction_requests import TV1_HIGHEST_PRODUCE, Outcome, Request, TxnRequests
from oncelog.client.core.wire import NO_LIMIT, OFFSET_FETCH, PRODUCE
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.records.batch import increment_sequence, stamp_producer
from oncelog.spark.sink_protocol import CommittedOffset, PartitionBatch
from oncelog.types import NO_PRODUCER, ProducerStamp, TopicPartition

if TYPE_CHECKING:
    from oncelog.spark.kafka_cluster import KafkaCluster

_WINDOW = 64
"""Batches looked at together, to fill one request with a batch for each of several partitions."""
_PRODUCE_TIMEOUT_MS = 30_000


class KafkaTransaction:
    """One transactional id; its consumer group has the same name."""

    def __init__(self, cluster: KafkaCluster, transactional_id: str, timeout_ms: int) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._requests = TxnRequests(transactional_id, timeout_ms)
        self._stamp = NO_PRODUCER
        self._v2 = False
        self._sequences: dict[TopicPartition, int] = {}
        self._added: set[TopicPartition] = set()
        self._begun = False

    def init_producer_id(self) -> None:
        outcome = self._cluster.run(self._coordinated(Step.INIT_PRODUCER_ID, self._requests.init(NO_PRODUCER)))
        if outcome.stamp is None:
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, f"{self._id!r} was given no producer id")
        self._stamp = outcome.stamp
        self._v2 = self._cluster.network.transaction_version() >= 2

    def producer(self) -> ProducerStamp:
        return self._stamp

    def join(self, producer: ProducerStamp) -> None:
        self._stamp = producer
        self._v2 = self._cluster.network.transaction_version() >= 2
        self._begun = True

    def committed_offsets(self, expected: TopicPartition) -> Mapping[TopicPartition, CommittedOffset]:
        found = self._cluster.run(self._committed_offsets(None))
        return found if expected in found else found | self._cluster.run(self._committed_offsets(expected))

    async def _committed_offsets(self, only: TopicPartition | None) -> dict[TopicPartition, CommittedOffset]:
        """All offsets of the group, or that of one partition."""
        named = [] if only is None else [only]

        def build(version: int) -> OffsetFetchRequest:
            if version >= 8:
                grouped = [OffsetFetchRequestTopics(topic, partition_indexes=[number]) for topic, number in named]
                group = OffsetFetchRequestGroup(group_id=self._id, topics=grouped or None)
                return OffsetFetchRequest(groups=[group], require_stable=True)
            topics = [OffsetFetchRequestTopic(topic, [number]) for topic, number in named]
            return OffsetFetchRequest(group_id=self._id, topics=topics or None, require_stable=version >= 7)

        async def attempt() -> dict[TopicPartition, CommittedOffset]:
            node = await self._cluster.coordinator(self._id, CoordinatorType.GROUP)
            try:
                answer, version = await self._cluster.network.call(node, OFFSET_FETCH, build, channel=1)
                group = answer.groups[0] if version >= 8 else answer
                return _offsets_of(group, self._id)
            except KafkaError:
                self._cluster.forget_coordinator(self._id, CoordinatorType.GROUP)
                raise

        return await self._cluster.repeat(attempt)

    def produce(self, batches: Iterable[PartitionBatch]) -> None:
        source = iter(batches)
        queues: dict[TopicPartition, deque[PartitionBatch]] = {}
        while True:
            missing = _WINDOW - sum(len(queue) for queue in queues.values())
            for batch in islice(source, missing):
                queues.setdefault(TopicPartition(batch.topic, batch.partition), deque()).append(batch)
            queues = {partition: queue for partition, queue in queues.items() if queue}
            if not queues:
                return
            self._cluster.run(self._append({partition: queue.popleft() for partition, queue in queues.items()}))

    async def _append(self, batches: Mapping[TopicPartition, PartitionBatch]) -> None:
        """One batch for each of several partitions; returns when all are stored."""
        new = [partition for partition in batches if partition not in self._added]
        self._begun = True
        if new and not self._v2:
            await self._coordinated(Step.ADD_PARTITIONS, self._requests.add_partitions(lambda: self._stamp, new))
        self._added.update(new)
        waiting: dict[TopicPartition, bytearray] = {}
        for partition, batch in batches.items():
            sequence = self._sequences.get(partition, 0)
            waiting[partition] = data = bytearray(batch.data)
            stamp_producer(data, self._stamp.producer_id, self._stamp.producer_epoch, sequence, True)
            self._sequences[partition] = increment_sequence(sequence, batch.records)

        async def attempt() -> None:
            by_leader: dict[int, dict[TopicPartition, bytearray]] = {}
            for partition, data in waiting.items():
                by_leader.setdefault(await self._cluster.leader(partition), {})[partition] = data
            refused: list[KafkaError] = []
            most = self._cluster.options.max_request_bytes
            sends = [
                self._send(node, request, waiting, refused)
                for node, partitions in by_leader.items()
                for request in _requests(partitions, most)
            ]
            await asyncio.gather(*sends)
            if refused:
                raise min(refused, key=lambda error: error.retriable)
            if waiting:
                left = ", ".join(str(partition) for partition in sorted(waiting))
                raise KafkaError(Error.UNKNOWN_SERVER_ERROR, f"the answer to Produce says nothing of {left}")

        await self._cluster.repeat(attempt, self._cluster.options.delivery_ms / 1000)

    async def _send(
        self,
        node: int,
        batches: Mapping[TopicPartition, bytearray],
        waiting: dict[TopicPartition, bytearray],
        refused: list[KafkaError],
    ) -> None:
        """One Produce request: takes what was stored out of ``waiting``, adds to ``refused`` why the rest was not."""
        topics: dict[str, list[PartitionProduceData]] = {}
        for (topic, number), data in batches.items():
            topics.setdefault(topic, []).append(PartitionProduceData(index=number, records=memoryview(data)))

        def build(version: int) -> ProduceRequest:
            listed = [TopicProduceData(name=name, partition_data=items) for name, items in topics.items()]
            return ProduceRequest(self._id, -1, _PRODUCE_TIMEOUT_MS, listed)

        try:
            highest = NO_LIMIT if self._v2 else TV1_HIGHEST_PRODUCE
            answer, _ = await self._cluster.network.call(node, PRODUCE, build, highest=highest)
        except KafkaError as error:
            refused.append(error)
            for partition in batches:
                self._cluster.forget_leader(partition)
            return
        for topic in answer.responses:
            for item in topic.partition_responses:
                partition = TopicPartition(topic.name, item.index)
                error_code = error_of(item.error_code)
                action = action_for(Step.PRODUCE_TRANSACTIONAL, error_code)
                if action is Action.DONE:
                    del waiting[partition]
                    continue
                self._cluster.forget_leader(partition)
                refused.append(error_for(error_code, f"{partition} did not take a batch: {item.error_message or ''}"))

    def add_offset(self, partition: TopicPartition, offset: int, metadata: str) -> None:
        self._cluster.run(self._add_offset(partition, offset, metadata))

    async def _add_offset(self, partition: TopicPartition, offset: int, metadata: str) -> None:
        self._begun = True
        if not self._v2:
            await self._coordinated(Step.ADD_OFFSETS, self._requests.add_offsets(self._stamp, self._id))
        offsets = {partition: OffsetAndMetadata(offset, metadata)}
        request = self._requests.offsets(self._stamp, offsets, ConsumerGroupMetadata(self._id))
        await self._coordinated(Step.TXN_OFFSET_COMMIT, request)

    def end(self, *, commit: bool) -> None:
        if not self._begun:
            return
        self._cluster.run(self._coordinated(Step.END_TXN, self._requests.end(lambda: self._stamp, commit)))

    async def _coordinated(self, step: Step, request: Request) -> Outcome:
        """A request to the coordinator that the step asks, repeated while the error table says so."""
        api, build, read = request
        kind = CoordinatorType.GROUP if step is Step.TXN_OFFSET_COMMIT else CoordinatorType.TRANSACTION
        highest = self._requests.highest(step, self._v2)

        async def attempt() -> Outcome:
            node = await self._cluster.coordinator(self._id, kind)
            try:
                answer, version = await self._cluster.network.call(node, api, build, highest=highest, channel=1)
            except KafkaError:
                self._cluster.forget_coordinator(self._id, kind)
                raise
            outcome = read(answer, version)
            action = action_for(step, outcome.error)
            if action is Action.DONE:
                return outcome
            if action is Action.FIND_COORDINATOR:
                self._cluster.forget_coordinator(self._id, kind)
            raise error_for(outcome.error, f"{api.name} of {self._id!r} was refused{outcome.where}")

        return await self._cluster.repeat(attempt)


def _requests(
    batches: Mapping[TopicPartition, bytearray], most_bytes: int | None
) -> list[dict[TopicPartition, bytearray]]:
    """The batches shared out to requests of at most ``most_bytes``, or one batch."""
    if most_bytes is None:
        return [dict(batches)]
    requests: list[dict[TopicPartition, bytearray]] = []
    size_bytes = 0
    for partition, data in batches.items():
        if not requests or size_bytes + len(data) > most_bytes:
            requests.append({})
            size_bytes = 0
        requests[-1][partition] = data
        size_bytes += len(data)
    return requests


def _offsets_of(group: Any, name: str) -> dict[TopicPartition, CommittedOffset]:
    """The offsets in an answer of OffsetFetch, which has the same fields in all versions."""
    error = error_of(group.error_code)
    if error is not Error.NONE:
        raise error_for(error, f"the offsets of group {name!r} cannot be told")
    offsets: dict[TopicPartition, CommittedOffset] = {}
    for topic in group.topics:
        for item in topic.partitions:
            error = error_of(item.error_code)
            if error is not Error.NONE:
                where = f"{topic.name}-{item.partition_index}"
                raise error_for(error, f"the offset of group {name!r} for {where} cannot be told")
            if item.committed_offset >= 0:
                place = TopicPartition(topic.name, item.partition_index)
                offsets[place] = CommittedOffset(item.committed_offset, item.metadata or "")
    return offsets
