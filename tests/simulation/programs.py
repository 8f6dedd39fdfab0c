"""The programs of a simulated world: ordinary asyncio code with our client that notes what it does and sees.

Each is what a user would write: it handles brokers' errors, and begins again. Killing one takes everything except the
history, which stands for what the program's owner knows.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Sequence
from typing import Any

from oncelog.client.aio import Consumer, Producer
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.core.client_errors import FatalProducerError, KafkaTimeoutError
from oncelog.client.core.structs import RecordMetadata
from oncelog.errors import KafkaError
from oncelog.testing.simulation import Simulation
from oncelog.types import TopicPartition
from tests.simulation.history import COPY, NAME, History, Outcome, Position, Seen, Sent, Transaction, printed

NO_OFFSET = -1
"""The value of a group that has no members left."""
STANDS_STILL_S = 9.0
TOMBSTONES = 0.2
"""How often a record with a key is a tombstone."""
PAUSE_S = 1.0
"""The pause between a program's failure and its next attempt."""
TOO_LARGE_BYTES = 3000
"""More than a topic accepts that has ``max.message.bytes`` of a focused world."""


class Program:
    """What all programs share. ``done`` outlives the program's lives: it is what its owner has seen done.

    :cvar alone: whether there is never a second instance beside it.
    """

    alone = False

    def __init__(self, world: Simulation, history: History, name: str, settings: dict[str, Any]) -> None:
        self.world = world
        self.history = history
        self.name = name
        self.settings = {"bootstrap_servers": world.bootstrap_servers, **settings}
        self.rng = world.rng(name)
        self.lives = 0
        self.done = False
        self.keys = 0
        """How many keys there are; 0: its records have none."""
        self._count = 0

    async def main(self) -> None:
        """One life: work until all is done, whatever errors there are."""
        while not self.done:
            self.lives += 1
            try:
                await self.live(f"{self.name}.{self.lives}")
            except KafkaError as error:
                self.world.note(f"failed: {error.error.name}", self.name)
                await asyncio.sleep(PAUSE_S)

    async def live(self, life: str) -> None:
        raise NotImplementedError

    def value(self) -> bytes:
        self._count += 1
        return f"{self.name}-{self._count}".encode()

    async def send(
        self, producer: Producer, value: bytes, where: TopicPartition, life: str, transaction: Transaction | None = None
    ) -> asyncio.Future[RecordMetadata]:
        """Send a record; its acknowledgement is noted when it comes."""
        number = transaction.number if transaction is not None else None
        now_ns = self.world.loop.now_ns
        if self.keys:
            key, deletes = b"%d" % self.rng.randrange(self.keys), self.rng.random() < TOMBSTONES
            self.history.sent.append(Sent(value, where, life, number, now_ns, key, deletes))
            future = await producer.send(
                where.topic,
                None if deletes else value,
                key,
                where.partition,
                headers=[(NAME, value)] if deletes else [],
            )
        else:
            self.history.sent.append(Sent(value, where, life, number, now_ns))
            future = await producer.send(where.topic, value, partition=where.partition)
        future.add_done_callback(lambda done: self._sent(value, done))
        return future

    def _sent(self, value: bytes, done: asyncio.Future[RecordMetadata]) -> None:
        if done.cancelled() or done.exception() is not None:
            return
        stored = done.result()
        self.history.acknowledged[value] = TopicPartition(stored.topic, stored.partition), stored.offset


class PlainProducer(Program):
    """Sends records one after another, with several in flight, and never the same one twice."""

    def __init__(
        self, world: Simulation, history: History, name: str, topic: str, partitions: int, count: int, **settings: Any
    ) -> None:
        super().__init__(world, history, name, settings)
        self._topic = topic
        self._partitions = partitions
        self._left = count
        self.is_brief = False
        """Every few records have a producer of their own, as in a job that runs every few seconds."""
        self.pause_s = 2.5
        """The average pause between some records and the next ones."""
        self.too_large = 0.0
        """How often a record is one that the broker refuses."""

    async def live(self, life: str) -> None:
        jobs = 0
        while self._left > 0:
            jobs += 1
            async with Producer(**self.settings) as producer:
                if self.is_brief:
                    await asyncio.sleep(self.rng.expovariate(1.0))
                while self._left > 0:
                    await self._send_some(producer, f"{life}.{jobs}")
                    if self.is_brief:
                        break
                await producer.flush()
        self.done = True

    async def _send_some(self, producer: Producer, life: str) -> None:
        for _ in range(self.rng.choice([1, 4, 10, 20])):
            self._left -= 1
            where = TopicPartition(self._topic, self.rng.randrange(self._partitions))
            large = bytes(TOO_LARGE_BYTES) if self.too_large and self.rng.random() < self.too_large else b""
            await self.send(producer, self.value() + large, where, life)
        await asyncio.sleep(self.rng.expovariate(1 / self.pause_s))


class TransactionalProducer(Program):
    """Commits and aborts transactions over several partitions."""

    def __init__(
        self, world: Simulation, history: History, name: str, topic: str, partitions: int, count: int, **settings: Any
    ) -> None:
        super().__init__(world, history, name, {"transactional_id": name, **settings})
        self._topic = topic
        self._partitions = partitions
        self._left = count
        self.too_large = 0.0
        """How often a transaction contains a record that the broker refuses."""

    async def live(self, life: str) -> None:
        producer = Producer(**self.settings)
        try:
            await producer.start()
            while self._left > 0:
                await self._transaction(producer, life)
                await asyncio.sleep(self.rng.expovariate(2.0))
        except BaseException:
            await abandon(producer)
            raise
        await producer.stop()
        self.done = True

    async def _transaction(self, producer: Producer, life: str) -> None:
        self._left -= 1
        transaction = self.history.begin(life)
        await producer.begin_transaction()
        aborts = self.rng.random() < 0.3
        try:
            for _ in range(self.rng.randint(1, 5)):
                where = TopicPartition(self._topic, self.rng.randrange(self._partitions))
                await self.send(producer, self.value(), where, life, transaction)
                if self.rng.random() < 0.3:
                    await asyncio.sleep(self.rng.expovariate(2.0))
            if self.rng.random() < self.too_large:
                where = TopicPartition(self._topic, self.rng.randrange(self._partitions))
                await self.send(producer, self.value() + bytes(TOO_LARGE_BYTES), where, life, transaction)
            if not aborts:
                await commit(self.world, producer, transaction)
                return
        except FatalProducerError:
            raise
        except KafkaTimeoutError:
            raise
        except KafkaError as error:
            self.world.note(f"aborts: {error.error.name}", self.name)
        transaction.outcome = Outcome.ABORTING
        await producer.abort_transaction()
        transaction.outcome = Outcome.ABORTED


class Deserter(Program):
    """Begins a transaction that nobody ends, except by its timeout."""

    def __init__(self, world: Simulation, history: History, name: str, topic: str, partitions: int, **settings: Any):
        super().__init__(world, history, name, {"transactional_id": name, "transaction_timeout_ms": 15_000, **settings})
        self._topic = topic
        self._partitions = partitions

    async def live(self, life: str) -> None:
        producer = Producer(**self.settings)
        await producer.start()
        await asyncio.sleep(self.rng.uniform(0, 20))
        transaction = self.history.begin(life)
        await producer.begin_transaction()
        for _ in range(3):
            where = TopicPartition(self._topic, self.rng.randrange(self._partitions))
            await self.send(producer, self.value(), where, life, transaction)
            await asyncio.sleep(self.rng.expovariate(2.0))
        self.done = True
        self.world.processes[self.name].kill()
        await asyncio.sleep(0)


async def commit(world: Simulation, producer: Producer, transaction: Transaction) -> None:
    """Commit, and ask again while the outcome is unknown."""
    transaction.commit_asked_ns = world.loop.now_ns
    transaction.outcome = Outcome.COMMITTING
    for _ in range(20):
        try:
            await producer.commit_transaction()
        except KafkaTimeoutError:
            continue
        transaction.outcome = Outcome.COMMITTED
        return
    raise KafkaTimeoutError("the outcome of a transaction stays unknown")


def copy_of(value: bytes, transaction: Transaction) -> bytes:
    """A value of its own for each attempt to copy a record."""
    return COPY + value + f"/{transaction.number}".encode()


async def abandon(client: Producer | Consumer) -> None:
    """Stop a client that has failed, and ignore how that ends."""
    try:
        await client.stop()
    except KafkaError:
        return


class Copier(Program):
    """Consume, transform, produce: a group member that copies a topic and commits through its transactions."""

    def __init__(
        self, world: Simulation, history: History, name: str, group: str, source: str, target: str, partitions: int,
        consumer: dict[str, Any], producer: dict[str, Any],
    ) -> None:  # fmt: skip
        super().__init__(world, history, name, {})
        self.source, self._target, self._partitions = source, target, partitions
        self.group_settings = {**self.settings, "group_id": group, "isolation_level": "read_committed", **consumer}
        self.producer_settings = {**self.settings, "transactional_id": name, **producer}
        self.stands_still = 0.0
        """How often it stalls between its records and their offsets until its group takes it for dead."""
        self.works_s = 0.0
        """So long does it work at most between its records and their offsets."""
        self.aborts = 0.0
        """How often it aborts a transaction that has its offsets, and reads again what it had read."""

    async def live(self, life: str) -> None:
        producer = Producer(**self.producer_settings)
        consumer = Consumer(self.source, auto_offset_reset="earliest", enable_auto_commit=False, **self.group_settings)
        try:
            await producer.start()
            await consumer.start()
            while not self.done:
                records = await consumer.getmany(timeout_ms=2000, max_records=self.rng.randint(1, 20))
                if records:
                    await self.copy(consumer, producer, life, records)
        except BaseException:
            await abandon(producer)
            await abandon(consumer)
            raise
        await producer.stop()
        await consumer.stop()

    async def copy(self, consumer: Consumer, producer: Producer, life: str, records: Any) -> None:
        transaction = self.history.begin(life)
        await producer.begin_transaction()
        positions: dict[TopicPartition, int] = {}
        for partition, found in records.items():
            for record in found:
                where = TopicPartition(self._target, self.rng.randrange(self._partitions))
                await self.send(producer, copy_of(record.value or b"", transaction), where, life, transaction)
                positions[partition] = record.offset + 1
        member = consumer.group_metadata()
        if self.works_s:
            await asyncio.sleep(self.rng.uniform(0, self.works_s))
        if self.stands_still and self.rng.random() < self.stands_still:
            process = self.world.processes[self.name]
            self.world.loop.call_later(STANDS_STILL_S, process.resume, context=contextvars.Context())
            process.pause()
            await asyncio.sleep(0)
        await producer.send_offsets_to_transaction(positions, member)
        if self.aborts and self.rng.random() < self.aborts:
            transaction.outcome = Outcome.ABORTING
            await producer.abort_transaction()
            transaction.outcome = Outcome.ABORTED
            await consumer.seek_to_committed()
            return
        await commit(self.world, producer, transaction)


class Watcher(Program):
    """Reads committed records from all partitions as they arrive; each life starts at the beginning."""

    alone = True

    def __init__(
        self, world: Simulation, history: History, name: str, wheres: Sequence[TopicPartition], **settings: Any
    ):
        super().__init__(
            world, history, name, {"isolation_level": "read_committed", "fetch_max_wait_ms": 2000, **settings}
        )
        self._wheres = wheres

    async def live(self, life: str) -> None:
        async with Consumer(auto_offset_reset="earliest", **self.settings) as consumer:
            consumer.assign(self._wheres)
            await consumer.seek_to_beginning(*self._wheres)
            seeks = 0
            self.history.starts.update({(f"{life}/0", where): 0 for where in self._wheres})
            while not self.done:
                for where, records in (await consumer.getmany(timeout_ms=2000)).items():
                    for record in records:
                        self.history.seen.append(
                            Seen(f"{life}/{seeks}", where, record.offset, printed(record), self.world.loop.now_ns)
                        )
                if self.rng.random() < 0.1:
                    seeks += 1
                    where = self.rng.choice(list(self._wheres))
                    offset = self.rng.randint(0, await consumer.position(where))
                    consumer.seek(where, offset)
                    self.history.starts[f"{life}/{seeks}", where] = offset


class Sampler(Program):
    """Looks at offsets of partitions and groups from time to time."""

    alone = True

    def __init__(
        self, world: Simulation, history: History, name: str, wheres: Sequence[TopicPartition], groups: Sequence[str]
    ) -> None:
        super().__init__(world, history, name, {})
        self._wheres, self._groups = wheres, groups
        self._known: dict[str, dict[TopicPartition, None]] = {group: {} for group in groups}

    async def live(self, life: str) -> None:
        async with Admin(**self.settings) as admin:
            while not self.done:
                for group in self._groups:
                    found = await admin.list_consumer_group_offsets(group)
                    self._known[group].update(dict.fromkeys(found))
                    for where in self._known[group]:
                        offset = found[where].offset if where in found else NO_OFFSET
                        self.history.positions.append(Position(group, where, offset, self.world.loop.now_ns))
                await asyncio.sleep(self.rng.uniform(0.5, 3.0))


async def read_all(
    world: Simulation, wheres: Sequence[TopicPartition], isolation_level: str
) -> dict[TopicPartition, list[tuple[int, bytes]]]:
    """Every record of some partitions, from the first to the last."""
    found: dict[TopicPartition, list[tuple[int, bytes]]] = {where: [] for where in wheres}
    async with Consumer(
        bootstrap_servers=world.bootstrap_servers,
        isolation_level=isolation_level,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=4000,
    ) as consumer:
        consumer.assign(wheres)
        await consumer.seek_to_beginning(*wheres)
        ends = await consumer.end_offsets(wheres)
        while True:
            behind = [where for where in wheres if await consumer.position(where) < ends[where]]
            if not behind:
                return found
            for where, records in (await consumer.getmany(timeout_ms=1000)).items():
                found[where] += [(record.offset, printed(record)) for record in records]


def some(rng: random.Random, **choices: Sequence[Any]) -> dict[str, Any]:
    """A value for each setting; None leaves the default."""
    picked = {name: rng.choice(values) for name, values in choices.items()}
    return {name: value for name, value in picked.items() if value is not None}
