"""The Spark sink without Spark: a model of its driver, checkpoint and writers around the shipped protocol.

Shipped code: the write engine (``spark/sink/engine.py``), the marker (``spark/sink/marker.py``), the transaction
(``spark/sink/topic_transaction.py``) and the client that talks to the brokers (``spark/kafka``). Modelled: Spark. Like
it, the driver writes a batch's plan down before it runs the batch and a commit after it, and repeats after a restart
what has a plan and no commit; writers of a run are never run twice, but one that is given up may continue. The sink's
calls block, as in Spark's workers: each runs in a greenlet, and its waiting is the simulation's.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import greenlet

from oncelog.client.core.config import ClientConfig
from oncelog.errors import KafkaError, OncelogError
from oncelog.records.batch import BatchBuilder
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.kafka.kafka_cluster import KafkaCluster
from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.driver_carrier import DriverCarrier
from oncelog.spark.sink.engine import (
    CarriedRecords,
    Carrier,
    EnginePorts,
    Reached,
    RetryTransaction,
    SinkRefused,
    WriteEngine,
    ignore,
)
from oncelog.spark.sink.marker import BatchPlan, LastWrite, OffsetLogEntry, PreviousBatch
from oncelog.spark.sink.topic_transaction import TopicTransaction
from oncelog.testing.simulation import SimulatedProcess, Simulation
from oncelog.types import ProducerIdAndEpoch, TopicPartition
from tests.simulation.history import History
from tests.simulation.programs import Program

T = TypeVar("T")
ATTEMPTS = 4
WRITERS = 2


async def blocking(work: Callable[[], T]) -> T:
    """Run blocking code of the sink; this coroutine awaits what that code waits for with :func:`wait`."""
    inner = greenlet.greenlet(work)
    inner.gr_context = greenlet.getcurrent().gr_context
    outcome = inner.switch()
    while not inner.dead:
        try:
            found = await outcome
        except OncelogError as error:
            outcome = inner.throw(error)
        else:
            outcome = inner.switch(found)
    return outcome  # type: ignore[no-any-return]


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Inside :func:`blocking`: the result of a coroutine."""
    outer = greenlet.getcurrent().parent
    if outer is None:
        raise RuntimeError("wait() outside of blocking()")
    return outer.switch(work)  # type: ignore[no-any-return]


class SimulatedLoop:
    """The simulation's loop, for the shipped client, which otherwise waits on a loop in another thread."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return wait(work)

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Returns a finished result: lanes wait on threads, and a simulation has only one, so they run one after
        another.
        """
        future: Future[T] = Future()
        try:
            future.set_result(self.run(work))
        except OncelogError as error:
            future.set_exception(error)
        return future


@contextmanager
def _connected(config: ClientConfig) -> Iterator[KafkaCluster]:
    """A client for the length of the block; if its process is killed, it does not say goodbye."""
    cluster = KafkaCluster.connect(config, loop=SimulatedLoop())
    try:
        yield cluster
    except Exception:
        cluster.close()
        raise
    cluster.close()


class _Run:
    """One writer of one run: what the driver hears from it."""

    def __init__(self) -> None:
        self.begun = False
        self.rows: int | None = None
        self.error: OncelogError | None = None
        self.process: SimulatedProcess | None = None

    @property
    def is_dead(self) -> bool:
        return self.rows is None and self.error is None and self.process is not None and not self.process.alive


class SparkQuery(Program):
    """A streaming query's driver. ``plans``, ``commits`` and ``memory`` are its checkpoint and survive it."""

    alone = True

    def __init__(
        self, world: Simulation, history: History, name: str, topic: str, partitions: int, batches: int
    ) -> None:
        super().__init__(world, history, name, {})
        self._topic, self._partitions = topic, partitions
        self._left = batches
        self._plans: list[OffsetLogEntry] = []
        self._rows: list[list[bytes]] = []
        self._commits = 0
        self._memory: LastWrite | None = None
        self._runs = 0
        self._group = f"{name}-marker"
        self._marker = TopicPartition(topic, 0)

    async def live(self, life: str) -> None:
        try:
            await blocking(lambda: self._drive(life))
        except SinkRefused as error:
            self.history.errors.append(f"the sink refused a batch: {error}")
        self.done = True

    def _drive(self, life: str) -> None:
        config = ClientConfig.from_keywords(bootstrap_servers=self.world.bootstrap_servers)
        with _connected(config) as cluster:
            facts = cluster.facts(self._group)
            while self._left or self._commits < len(self._plans):
                if self._commits == len(self._plans):
                    self._plan()
                number = self._commits
                plan = BatchPlan(
                    group=self._group,
                    query_id="query",
                    checkpoint="checkpoint",
                    batch=self._plans[number],
                    previous=PreviousBatch(self._plans[number - 1], ended=True) if number else None,
                    remembered=self._memory,
                    cluster_id=facts.cluster_id,
                    retention_ms=facts.retention_ms,
                    on_missing=OnMissingMarker.FAIL,
                )
                rows = self._rows[number]
                self._engine(cluster, plan).write(
                    self._driver(rows) if self.rng.random() < 0.4 else _Writers(self, rows, config)
                )
                wait(asyncio.sleep(self.rng.expovariate(2.0)))  # between a batch's end and its commit in the checkpoint
                self._commits = number + 1

    def _plan(self) -> None:
        """A batch's rows, forever."""
        self._left -= 1
        rows = [self.value() for _ in range(self.rng.randint(1, 12))]
        self.history.rows.setdefault(self._topic, []).extend(rows)
        fingerprint = hashlib.sha256(b" ".join(rows)).hexdigest()
        self._rows.append(rows)
        self._plans.append(OffsetLogEntry(len(self._plans), fingerprint, _now_ms(), f"{len(self._rows)}"))

    def _remember(self, memory: LastWrite) -> None:
        self._memory = memory

    def batches(self, rows: list[bytes], rank: int = 0, writers: int = 1) -> list[PartitionBatch]:
        """The rows as encoded batches, as far as a writer owns their partitions; two rows to a batch."""
        found = []
        for partition in range(rank, self._partitions, writers):
            mine = rows[partition :: self._partitions]
            for start in range(0, len(mine), 2):
                builder = BatchBuilder()
                for row in mine[start : start + 2]:
                    builder.append(_now_ms(), None, row)
                found.append(PartitionBatch(self._topic, partition, builder.count, bytes(builder.build())))
        return found

    def _engine(self, cluster: KafkaCluster, plan: BatchPlan) -> WriteEngine[TopicTransaction]:
        transaction = TopicTransaction(partial(cluster.transaction, self._group), (20_000,), self._marker)
        return WriteEngine(plan, transaction, EnginePorts(ignore, self._warn, _now_ms, self._remember))

    def _driver(self, rows: list[bytes]) -> Carrier[TopicTransaction]:
        batches = self.batches(rows)
        return DriverCarrier(batches, len(rows), len(batches))

    def run_writers(self, producer: ProducerIdAndEpoch, rows: list[bytes], config: ClientConfig) -> list[_Run]:
        runs = [_Run() for _ in range(WRITERS)]
        self._runs += 1
        for rank, run in enumerate(runs):
            batches = self.batches(rows, rank, WRITERS)
            task = partial(_write, run, producer, batches, config, self._group)
            run.process = self.world.process(f"{self.name}.{self._runs}.{rank}", task, alone=True)
        victim = runs[self.rng.randrange(WRITERS)] if self.rng.random() < 0.2 else None
        given_up = victim if victim is not None and self.rng.random() < 0.5 else None
        if victim is not None:
            wait(asyncio.sleep(self.rng.uniform(0.0, 0.02)))
            if given_up is None and victim.process is not None:
                victim.process.kill()
        while not all(run.rows is not None or run.error is not None for run in runs):
            if given_up is not None or any(run.is_dead for run in runs):
                break  # one that is only given up continues, fenced or not
            wait(asyncio.sleep(0.1))
        if given_up is not None:
            given_up.rows = None
        return runs

    def _warn(self, text: str) -> None:
        self.world.note(text, self.name)


class _Writers:
    """Carries a batch as the executors do: each writer its own partitions; all of it again if one has died."""

    exact = False
    failures: tuple[type[Exception], ...] = (OncelogError,)

    def __init__(self, query: SparkQuery, rows: list[bytes], config: ClientConfig) -> None:
        self._query = query
        self._rows = rows
        self._config = config
        self._attempts = 0
        self.rows = len(rows)

    def carry(self, transaction: TopicTransaction, reached: Reached) -> CarriedRecords | RetryTransaction:
        self._attempts += 1
        runs = self._query.run_writers(transaction.share(), self._rows, self._config)
        failed = next((run.error for run in runs if run.error is not None), None)
        if failed is not None:
            raise failed
        if any(run.rows is None for run in runs):
            if self._attempts == ATTEMPTS:
                raise KafkaError("writers died again and again")
            return RetryTransaction("a writer died")
        if sum(run.rows or 0 for run in runs) != len(self._rows):
            raise SinkRefused("the writers' reports do not add up")
        return CarriedRecords(len(self._rows), len(runs), 0)


async def _write(
    run: _Run, producer: ProducerIdAndEpoch, batches: list[PartitionBatch], config: ClientConfig, group: str
) -> None:
    """One writer's task, which Spark never runs a second time."""
    if run.begun:
        return
    run.begun = True

    def work() -> None:
        with _connected(config) as cluster:
            transaction = cluster.transaction(group, 20_000)
            transaction.join(producer)
            transaction.produce(iter(batches))
        run.rows = sum(batch.records for batch in batches)

    try:
        await blocking(work)
    except OncelogError as error:
        run.error = error


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
