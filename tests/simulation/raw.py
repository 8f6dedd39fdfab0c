"""Programs that speak the protocol directly, to do what no well-behaved client does.

They repeat what was stored long ago, leave out sequences, return with an old epoch, write into a transaction that has
ended, and ask nodes that do not lead. What must never be stored is noted as forbidden.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from oncelog.client.aio.connection.cluster_access import ClusterAccess
from oncelog.client.core.client_errors import error_for, error_of
from oncelog.client.core.config import ClientConfig
from oncelog.client.core.connection.coordinator_lookup import CoordinatorType
from oncelog.client.core.connection.error_rules import ErrorAction, Step, action_for
from oncelog.client.core.connection.wire import NO_LIMIT, PRODUCE
from oncelog.client.core.transactions.transaction_requests import (
    TV1_HIGHEST_PRODUCE,
    Request,
    RequestOutcome,
    TxnRequests,
)
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.records.batch import BatchBuilder
from oncelog.testing.simulation import Simulation
from oncelog.types import NO_PRODUCER, IsolationLevel, ProducerIdAndEpoch, TopicPartition
from tests.simulation.history import History, Outcome, Sent
from tests.simulation.programs import Program

FAR = 1000
"""A sequence this far ahead is never reached by anything that is sent later."""
REFUSED_SOON_MS = 5000
KEPT = 5
"""How many batches of a producer a partition recognises as repeats."""
NEVER_RAISED = frozenset({Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER})


@dataclass
class _Batch:
    payload: bytes
    base_offset: int
    lives: int
    """The broker's time when it was stored."""


@dataclass
class _Place:
    """What a raw producer knows about one partition."""

    where: TopicPartition
    epoch: int = 0
    sequence: int = 0
    kept: deque[_Batch] = field(default_factory=lambda: deque(maxlen=KEPT))
    old_epochs: list[int] = field(default_factory=list)


class Raw(Program):
    """What the raw programs share: one cluster, and Produce requests made by hand."""

    cluster: ClusterAccess
    transactional_id: str | None = None

    def __init__(
        self, world: Simulation, history: History, name: str, topic: str, partitions: int, count: int, **settings: Any
    ) -> None:
        super().__init__(world, history, name, settings)
        self._wheres = [TopicPartition(topic, index) for index in range(partitions)]
        self._left = count

    async def live(self, life: str) -> None:
        self.cluster = ClusterAccess(ClientConfig.from_keywords(**self.settings), timeout_ms=300_000)
        try:
            await self.cluster.start()
            await self.work(life)
        except BaseException:
            await self.cluster.close()
            raise
        await self.cluster.close()
        self.done = True

    async def work(self, life: str) -> None:
        raise NotImplementedError

    def batch(self, producer: ProducerIdAndEpoch, sequence: int, values: list[bytes]) -> bytes:
        builder = BatchBuilder()
        for value in values:
            builder.append(time.time_ns() // 1_000_000, None, value)
        return bytes(
            builder.build(
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                base_sequence=sequence,
                transactional=self.transactional_id is not None,
            )
        )

    async def ask_produce(self, node: int, where: TopicPartition, payload: bytes, highest: int = NO_LIMIT) -> int:
        """The base offset that one node answers; -1 if the node knows that a batch is stored, but not where.

        :raises KafkaError: the node refuses.
        """

        def build(version: int) -> ProduceRequest:
            data = [PartitionProduceData(index=where.partition, records=memoryview(payload))]
            return ProduceRequest(self.transactional_id, -1, 5000, [TopicProduceData(where.topic, partition_data=data)])

        answer = await self.cluster.ask(node, PRODUCE, build, highest=highest)
        part = answer.responses[0].partition_responses[0]
        error = error_of(part.error_code)
        if error not in NEVER_RAISED:
            raise error_for(error, f"{where}: {part.error_message}")
        return int(part.base_offset)

    async def produce(
        self, where: TopicPartition, payload: bytes, *, timeout_ms: int = 300_000, highest: int = NO_LIMIT
    ) -> int:
        """Like :meth:`ask_produce`, of the current leader, repeated while the refusal is temporary."""

        async def ask(node: int) -> int:
            return await self.ask_produce(node, where, payload, highest)

        return await self.cluster.at_leader("Produce", where, ask, timeout_ms=timeout_ms)

    def forbidden(self, why: str) -> list[bytes]:
        value = self.value()
        self.history.forbidden[value] = why
        return [value]

    async def must_be_refused(self, where: TopicPartition, payload: bytes) -> None:
        """Whether it was stored is seen at the end."""
        try:
            await self.produce(where, payload, timeout_ms=REFUSED_SOON_MS)
        except KafkaError as error:
            self.world.note(f"refused: {error.error.name}", self.name)

    def sent(self, values: list[bytes], where: TopicPartition, life: str, transaction: int | None = None) -> None:
        now_ns = self.world.loop.now_ns
        self.history.sent += [Sent(value, where, life, transaction, now_ns) for value in values]

    def stored(self, values: list[bytes], where: TopicPartition, base_offset: int) -> None:
        if base_offset >= 0:
            for number, value in enumerate(values):
                self.history.acknowledged[value] = where, base_offset + number


class RawProducer(Raw):
    """An idempotent producer that tries everything that sequences and epochs are meant to prevent."""

    async def work(self, life: str) -> None:
        producer = await self._init()
        places = [_Place(where) for where in self._wheres]
        tries = [
            self._send,
            self._send,
            self._send,
            self._again,
            self._gap,
            self._bump,
            self._old_epoch,
            self._stranger,
        ]
        while self._left > 0:
            self._left -= 1
            place = self.rng.choice(places)
            await self.rng.choice(tries)(producer.producer_id, place, life)
            await asyncio.sleep(self.rng.expovariate(3.0))

    async def _init(self) -> ProducerIdAndEpoch:
        api, build, read = TxnRequests(None, 0).init(NO_PRODUCER)

        async def ask() -> ProducerIdAndEpoch:
            node = self.cluster.network.any_node()
            answer, version = await self.cluster.network.call(node, api, build)
            outcome = read(answer, version)
            if outcome.producer is None or outcome.error is not Error.NONE:
                raise error_for(outcome.error, "InitProducerId")
            return outcome.producer

        return await self.cluster.repeat("InitProducerId", ask)

    async def _send(self, producer_id: int, place: _Place, life: str) -> None:
        values = [self.value() for _ in range(self.rng.randint(1, 3))]
        payload = self.batch(ProducerIdAndEpoch(producer_id, place.epoch), place.sequence, values)
        self.sent(values, place.where, life)
        lives = self.world.broker.lives
        try:
            base_offset = await self.produce(place.where, payload)
        except KafkaError as error:
            if not error.retriable:
                self.history.errors.append(f"{self.name}: a batch that goes on where the last one ended: {error}")
            raise
        place.sequence += len(values)
        self.stored(values, place.where, base_offset)
        place.kept.append(_Batch(payload, base_offset, lives))

    async def _again(self, producer_id: int, place: _Place, life: str) -> None:
        """One of the last five again: it is stored already, and the answer says where."""
        if not place.kept:
            return
        batch = self.rng.choice(place.kept)
        try:
            base_offset = await self.produce(place.where, batch.payload)
        except KafkaError as error:
            # Of what a restart or a truncation has left, the last batch alone may be known.
            known = self.world.broker.node_count == 1 and batch.lives == self.world.broker.lives
            if known and not error.retriable:
                self.history.errors.append(f"{self.name}: one of the last five batches is refused: {error}")
            return
        if base_offset not in (batch.base_offset, -1) and batch.base_offset >= 0:
            self.history.errors.append(
                f"{self.name}: a batch at offset {batch.base_offset} of {place.where} is said to be at {base_offset}"
            )

    async def _gap(self, producer_id: int, place: _Place, life: str) -> None:
        if place.kept:
            values = self.forbidden("its sequence leaves others out")
            producer = ProducerIdAndEpoch(producer_id, place.epoch + self.rng.randrange(2))
            await self.must_be_refused(place.where, self.batch(producer, place.sequence + FAR, values))

    async def _bump(self, producer_id: int, place: _Place, life: str) -> None:
        """A new epoch begins with sequence 0."""
        if place.kept:
            place.old_epochs.append(place.epoch)
            place.epoch += 1
            place.sequence = 0
            place.kept.clear()
            await self._send(producer_id, place, life)

    async def _old_epoch(self, producer_id: int, place: _Place, life: str) -> None:
        if place.kept and place.old_epochs:
            values = self.forbidden("its epoch is over")
            producer = ProducerIdAndEpoch(producer_id, self.rng.choice(place.old_epochs))
            await self.must_be_refused(place.where, self.batch(producer, 0, values))

    async def _stranger(self, producer_id: int, place: _Place, life: str) -> None:
        """Ask a node that does not lead: it must say so, whatever it is asked."""
        before = self._leader(place.where)
        nodes = [node for node in sorted(self.cluster.metadata.nodes) if before is not None and node != before[0]]
        if not nodes or not place.kept:
            return
        node = self.rng.choice(nodes)
        values = self.forbidden(f"node {node} does not lead")
        payload = self.batch(ProducerIdAndEpoch(producer_id, place.epoch), place.sequence + FAR, values)
        try:
            await self.ask_produce(node, place.where, payload)
        except KafkaError as error:
            if error.retriable or self._leader(place.where) != before:
                return
            printed = error.error.name
        else:
            printed = "that it is stored"
        self.history.errors.append(f"node {node} does not lead {place.where}, and answers a Produce with {printed}")

    def _leader(self, where: TopicPartition) -> tuple[int, int] | None:
        """Node and epoch, as the cluster has them; None if there is only one node, or the broker is down."""
        if not self.world.broker.is_running:
            return None
        broker = self.world.broker.server.broker
        partition = broker.partition(where)
        if broker.cluster is None or partition is None:
            return None
        return broker.cluster.replicas(where).leader, partition.leader_epoch


class RawTransactions(Raw):
    """A transactional producer that writes once more after its transaction has ended (KIP-890)."""

    async def work(self, life: str) -> None:
        self.transactional_id = self.name
        self._requests = TxnRequests(self.name, 30_000)
        self._producer = NO_PRODUCER
        outcome = await self._coordinated(Step.INIT_PRODUCER_ID, self._requests.init(NO_PRODUCER))
        self._begin_epoch(outcome)
        while self._left > 0:
            self._left -= 1
            await self._transaction(life)
            await asyncio.sleep(self.rng.expovariate(2.0))

    @property
    def _v2(self) -> bool:
        return self.cluster.network.transaction_version() >= 2

    def _begin_epoch(self, outcome: RequestOutcome) -> None:
        if outcome.producer is not None and outcome.producer != self._producer:
            self._producer = outcome.producer
            self._sequences = dict.fromkeys(self._wheres, 0)

    async def _transaction(self, life: str) -> None:
        transaction = self.history.begin(life)
        wheres = self.rng.sample(self._wheres, self.rng.randint(1, len(self._wheres)))
        if not self._v2:
            await self._coordinated(
                Step.ADD_PARTITIONS, self._requests.add_partitions(lambda: self._producer, sorted(wheres))
            )
        producer = self._producer
        for where in wheres:
            values = [self.value()]
            self.sent(values, where, life, transaction.number)
            payload = self.batch(producer, self._sequences[where], values)
            self.stored(values, where, await self.produce(where, payload, highest=self._highest))
            self._sequences[where] += 1
        if self._v2:
            await self.amid(wheres, producer)
        commits = self.rng.random() < 0.6
        transaction.outcome = Outcome.COMMITTING if commits else Outcome.ABORTING
        if commits:
            transaction.commit_asked_ns = self.world.loop.now_ns
        outcome = await self._coordinated(Step.END_TXN, self._requests.end(lambda: self._producer, commits))
        transaction.outcome = Outcome.COMMITTED if commits else Outcome.ABORTED
        sequences = dict(self._sequences)
        self._begin_epoch(outcome)
        if self.rng.random() < 0.5:
            where = self.rng.choice(wheres)
            await self._until_ended(where, producer.producer_id)
            await self._too_late(
                where, self.batch(producer, sequences[where], self.forbidden("its transaction has ended"))
            )

    async def amid(self, wheres: Sequence[TopicPartition], producer: ProducerIdAndEpoch) -> None:
        """Called in each transaction of version 2, with the partitions that it has written to."""

    def next_sequence(self, where: TopicPartition) -> int:
        return self._sequences[where]

    async def _too_late(self, where: TopicPartition, payload: bytes) -> None:
        """Asked once: if it arrived late, in the epoch's next transaction, versions before V2 would let it in."""
        try:
            await self.ask_produce(self.cluster.metadata.leader(where), where, payload, self._highest)
        except KafkaError as error:
            if error.retriable:
                raise
            self.world.note(f"refused: {error.error.name}", self.name)

    @property
    def _highest(self) -> int:
        return NO_LIMIT if self._v2 else TV1_HIGHEST_PRODUCE

    async def _until_ended(self, where: TopicPartition, producer_id: int) -> None:
        """Wait until the marker is there: before that, an old producer's records are accepted, as in Apache Kafka."""
        while True:
            partition = self.world.broker.server.broker.partition(where) if self.world.broker.is_running else None
            if partition is not None and (
                partition.readable_to(IsolationLevel.READ_COMMITTED)
                == partition.readable_to(IsolationLevel.READ_UNCOMMITTED)
                == partition.log.log_end_offset
            ):
                return
            await asyncio.sleep(0.05)

    async def _coordinated(self, step: Step, request: Request) -> RequestOutcome:
        api, build, read = request
        finder = self.cluster.finder(CoordinatorType.TRANSACTION, self.name)

        async def ask(node: int) -> RequestOutcome:
            highest = self._requests.highest(step, self._v2)
            answer, version = await self.cluster.network.call(node, api, build, highest=highest, channel=1)
            outcome = read(answer, version)
            if action_for(step, outcome.error) is not ErrorAction.DONE:
                raise error_for(outcome.error, f"{api.name} of {self.name}")
            return outcome

        return await self.cluster.at_coordinator(api.name, finder, ask)


__all__ = ["RawProducer", "RawTransactions"]
