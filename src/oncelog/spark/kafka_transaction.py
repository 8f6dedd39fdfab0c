"""The steps of one transaction against a Kafka cluster, each a blocking call.

Implements :class:`oncelog.spark.sink_protocol.TransactionEngine` on the client's room for asking a cluster
(``client.aio.cluster``). Speaks transaction V2 (KIP-890) where the cluster has it and the older protocol elsewhere. A
request whose answer is lost is repeated with the same producer id, epoch and sequence, so that repeating has no effect.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from oncelog.client.aio.cluster import GIVE_UP_ON_UNKNOWN_SECONDS
from oncelog.client.aio.offsets import GroupOffsets
from oncelog.client.core.coordinator import CoordinatorType
from oncelog.client.core.error_rules import Action, Step, action_for
from oncelog.client.core.errors import error_for, error_of
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata
from oncelog.client.core.transaction_requests import TV1_HIGHEST_PRODUCE, Outcome, Request, TxnRequests
from oncelog.client.core.two_phase import refusal
from oncelog.client.core.wire import NO_LIMIT, PRODUCE
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.records.batch import increment_sequence, stamp_producer
from oncelog.spark.rights import naming_the_right
from oncelog.spark.sink_protocol import PartitionBatch
from oncelog.types import NO_PRODUCER, ProducerStamp, TopicPartition

if TYPE_CHECKING:
    from oncelog.spark.kafka_cluster import KafkaCluster

_WINDOW = 64
"""Batches looked at together, to fill one request with a batch for each of several partitions."""
_PRODUCE_TIMEOUT_MS = 30_000
_FENCED = (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH)


class KafkaTransaction:
    """One transactional id; its consumer group has the same name."""

    def __init__(self, cluster: KafkaCluster, transactional_id: str, timeout_ms: int) -> None:
        self._run = cluster.run
        self._options = cluster.options
        self._aio = cluster.aio
        self._coordinator = cluster.aio.finder(CoordinatorType.TRANSACTION, transactional_id)
        self._group = cluster.aio.finder(CoordinatorType.GROUP, transactional_id)
        self._offsets = GroupOffsets(cluster.aio, self._group, transactional_id)
        self._id = transactional_id
        self._requests = TxnRequests(transactional_id, timeout_ms, two_phase_commit=cluster.options.two_phase_commit)
        self._stamp = NO_PRODUCER
        self._v2 = False
        self._sequences: dict[TopicPartition, int] = {}
        self._added: set[TopicPartition] = set()
        self._begun = False
        self._shared = False

    def init_producer_id(self) -> None:
        try:
            with naming_the_right(self._id):
                outcome = self._run(self._coordinated(Step.INIT_PRODUCER_ID, self._requests.init(NO_PRODUCER)))
        except KafkaError as error:
            why = refusal(error.error) if self._options.two_phase_commit else None
            if why is None:
                raise
            raise error_for(error.error, f"kafka.transaction.two.phase.commit.enable=true was refused{why}") from error
        if outcome.stamp is None:
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, f"{self._id!r} was given no producer id")
        self._stamp = outcome.stamp
        self._v2 = self._aio.network.transaction_version() >= 2

    def producer(self) -> ProducerStamp:
        return self._stamp

    def join(self, producer: ProducerStamp) -> None:
        self._stamp = producer
        self._v2 = self._aio.network.transaction_version() >= 2
        self._begun = self._shared = True

    def committed_offsets(self, expected: TopicPartition) -> Mapping[TopicPartition, OffsetAndMetadata]:
        with naming_the_right(self._id, _marker_right(expected)):
            found = self._run(self._offsets.fetch(None, require_stable=True))
            if expected in found:
                return found
            return found | self._run(self._offsets.fetch([expected], require_stable=True))

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
            topics = ", ".join(sorted({partition.topic for partition in queues}))
            with naming_the_right(self._id, f"WRITE on the topic {topics}"):
                self._run(self._append({partition: queue.popleft() for partition, queue in queues.items()}))

    async def _append(self, batches: Mapping[TopicPartition, PartitionBatch]) -> None:
        """One batch for each of several partitions; returns when all are stored."""
        new = [partition for partition in batches if partition not in self._added]
        self._begun = True
        if new and not self._v2:
            await self._coordinated(Step.ADD_PARTITIONS, self._requests.add_partitions(lambda: self._stamp, new))
        self._added.update(new)
        stamped: dict[TopicPartition, bytearray] = {}
        for partition, batch in batches.items():
            sequence = self._sequences.get(partition, 0)
            stamped[partition] = data = bytearray(batch.data)
            stamp_producer(data, self._stamp.producer_id, self._stamp.producer_epoch, sequence, True)
            self._sequences[partition] = increment_sequence(sequence, batch.records)

        async def ask(node: int, names: list[TopicPartition]) -> dict[TopicPartition, KafkaError | None]:
            requests = _requests({name: stamped[name] for name in names}, self._options.max_request_bytes)
            answers = await asyncio.gather(*(self._send(node, request) for request in requests))
            return {name: result for answer in answers for name, result in answer.items()}

        await self._aio.at_leaders(
            "Produce",
            stamped,
            ask,
            timeout_ms=self._options.delivery_ms,
            wait_for_unknown_s=GIVE_UP_ON_UNKNOWN_SECONDS,
        )

    async def _send(
        self, node: int, batches: Mapping[TopicPartition, bytearray]
    ) -> dict[TopicPartition, KafkaError | None]:
        """One Produce request: None for what was stored, else why it was not."""
        topics: dict[str, list[PartitionProduceData]] = {}
        for (topic, number), data in batches.items():
            topics.setdefault(topic, []).append(PartitionProduceData(index=number, records=memoryview(data)))

        def build(version: int) -> ProduceRequest:
            listed = [TopicProduceData(name=name, partition_data=items) for name, items in topics.items()]
            return ProduceRequest(self._id, -1, _PRODUCE_TIMEOUT_MS, listed)

        try:
            answer = await self._aio.ask(node, PRODUCE, build, highest=NO_LIMIT if self._v2 else TV1_HIGHEST_PRODUCE)
        except KafkaError as error:
            return dict.fromkeys(batches, error)
        results: dict[TopicPartition, KafkaError | None] = {}
        for answered in answer.responses:
            for item in answered.partition_responses:
                partition = TopicPartition(answered.name, item.index)
                code = error_of(item.error_code)
                stored = action_for(Step.PRODUCE_TRANSACTIONAL, code) is Action.DONE
                text = f"{partition} did not take a batch: {item.error_message or ''}"
                results[partition] = None if stored else error_for(code, text)
        return results

    def add_offset(self, partition: TopicPartition, offset: int, metadata: str) -> None:
        with naming_the_right(self._id, _marker_right(partition)):
            self._run(self._add_offset(partition, offset, metadata))

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
        if self._shared and not commit and not self._v2:
            self._fence_sharers()
        else:
            self._run(self._coordinated(Step.END_TXN, self._requests.end(lambda: self._stamp, commit)))

    def _fence_sharers(self) -> None:
        """Abort and begin the next epoch, which EndTxn does from version 2 on: a late writer would reopen it else."""
        try:
            self._run(self._coordinated(Step.INIT_PRODUCER_ID, self._requests.init(self._stamp)))
        except KafkaError as error:
            if error.error not in _FENCED:  # by another run, or by the first answer of this one: nobody writes any more
                raise

    async def _coordinated(self, step: Step, request: Request) -> Outcome:
        """A request to the coordinator that the step asks, repeated while the error table says so."""
        api, build, read = request
        finder = self._group if step is Step.TXN_OFFSET_COMMIT else self._coordinator
        highest = self._requests.highest(step, self._v2)

        async def ask(node: int) -> Outcome:
            answer, version = await self._aio.network.call(node, api, build, highest=highest, channel=1)
            outcome = read(answer, version)
            if action_for(step, outcome.error) is not Action.DONE:
                raise error_for(outcome.error, f"{api.name} of {self._id!r} was refused{outcome.where}")
            return outcome

        return await self._aio.at_coordinator(f"{api.name} of {self._id!r}", finder, ask)


def _marker_right(partition: TopicPartition) -> str:
    """An offset is of a partition, and who commits one must be allowed to read that."""
    return f"READ on the topic {partition.topic}, or name another one for the marker in the option markerTopic"


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
