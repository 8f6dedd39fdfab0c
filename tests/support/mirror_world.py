"""Writers of every kind at work on one cluster, a mirror that is killed, and what must hold on the other cluster.

Used by the tests of the mirror. A transaction's record names the transaction and the number of its records, so a reader
can tell whether it is whole; an output of the consume-transform-produce loop names the input it was made from.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from random import Random
from typing import Any, NamedTuple

import confluent_kafka

from oncelog.client.aio import Admin, Consumer, Producer
from oncelog.client.aio.admin.admin import NewTopic
from oncelog.types import TopicPartition

TIMEOUT_S = 180.0
BUSY_MS = 600_000
"""For this long, writers may stand still on a busy machine without losing their transaction or their group."""
PARTITIONS = 3


class Seen(NamedTuple):
    """A record as a reader receives it, without its offset."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int


class Names(NamedTuple):
    """Topics and group of one test."""

    first: str
    second: str
    outputs: str
    group: str

    @classmethod
    def of(cls, unique: str) -> Names:
        return cls(f"{unique}-first", f"{unique}-second", f"{unique}-outputs", f"{unique}-group")

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.first, self.second, self.outputs)


Contents = dict[TopicPartition, list[tuple[int, Seen]]]


async def ends_of(address: str, topics: tuple[str, ...]) -> dict[TopicPartition, int]:
    """Last stable offsets."""
    async with Admin(bootstrap_servers=address) as admin:
        names = [name for topic in topics for name in await admin.partitions(topic)]
        found = await admin.list_offsets(dict.fromkeys(names, -1), read_committed=True)
        return {name: item.offset for name, item in found.items()}


async def committed(address: str, topics: tuple[str, ...]) -> Contents:
    """What a read_committed reader receives now: offset and record, by partition."""
    ends = await ends_of(address, topics)
    found: Contents = {name: [] for name in ends}
    async with Consumer(
        bootstrap_servers=address, isolation_level="read_committed", enable_auto_commit=False
    ) as consumer:
        consumer.assign(list(ends))
        await consumer.seek_to_beginning(*ends)
        async with asyncio.timeout(TIMEOUT_S):
            while any([await consumer.position(name) < end for name, end in ends.items()]):
                for name, records in (await consumer.getmany(timeout_ms=100, max_records=10_000)).items():
                    found[name] += [
                        (record.offset, Seen(record.key, record.value, tuple(record.headers), record.timestamp))
                        for record in records
                        if record.offset < ends[name]
                    ]
    return found


async def group_offsets(address: str, names: Names) -> dict[TopicPartition, int]:
    async with Admin(bootstrap_servers=address) as admin:
        return {
            name: position.offset for name, position in (await admin.list_consumer_group_offsets(names.group)).items()
        }


async def at_rest(address: str, names: Names) -> tuple[Contents, dict[TopicPartition, int]]:
    """Contents and group offsets at one moment: with nobody else at work, offsets that are the same before and
    after.

    A mirror that is killed may have asked for the end of its transaction, which then comes while partitions are read.
    """
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            before = await ends_of(address, names.topics), await group_offsets(address, names)
            contents = await committed(address, names.topics)
            if before == (await ends_of(address, names.topics), await group_offsets(address, names)):
                return contents, before[1]


def without_offsets(contents: Contents) -> dict[TopicPartition, list[Seen]]:
    return {name: [seen for _, seen in records] for name, records in contents.items()}


def check_whole(contents: Contents) -> int:
    """Every transaction that is there at all is there whole; returns how many."""
    counts: Counter[str] = Counter()
    totals: dict[str, int] = {}
    for records in contents.values():
        for _, seen in records:
            reported = json.loads(seen.value or b"{}")
            if "txn" in reported:
                counts[reported["txn"]] += 1
                totals[reported["txn"]] = reported["of"]
    split = {txn: (counts[txn], totals[txn]) for txn in totals if counts[txn] != totals[txn]}
    assert not split, f"transactions are not whole (records there, records in all): {split}"
    return len(totals)


def check_outputs(names: Names, contents: Contents, positions: dict[TopicPartition, int]) -> None:
    """The group stands exactly after the inputs whose outputs are there."""
    made_of = [
        json.loads(seen.value or b"")["made_of"]
        for name, records in contents.items()
        if name.topic == names.outputs
        for _, seen in records
    ]
    assert len(made_of) == len(set(made_of)), "an input was processed twice"
    done = []
    for name, position in positions.items():
        done += [json.loads(seen.value or b"")["id"] for offset, seen in contents[name] if offset < position]
    assert sorted(done) == sorted(made_of), "the group's offsets and its outputs do not belong together"


class Writers:
    """Four kinds of writers, each until :attr:`stop`."""

    def __init__(self, address: str, names: Names, random: Random) -> None:
        self.address = address
        self.names = names
        self.random = random
        self.stop = asyncio.Event()
        self.has_looped = asyncio.Event()
        self._stop_thread = threading.Event()
        self._number = 0

    def _next(self) -> str:
        self._number += 1
        return str(self._number)

    def _value(self, **more: Any) -> bytes:
        return json.dumps({"id": self._next(), "pad": "x" * self.random.randrange(200), **more}).encode()

    async def _pause(self) -> None:
        await asyncio.sleep(self.random.random() * 0.04)

    async def transactional(self, name: str) -> None:
        """With the newest protocol that the cluster has."""
        async with Producer(
            bootstrap_servers=self.address,
            transactional_id=f"{self.names.first}-{name}",
            transaction_timeout_ms=BUSY_MS,
        ) as producer:
            while not self.stop.is_set():
                txn, count = f"{name}-{self._next()}", self.random.randint(1, 6)
                await producer.begin_transaction()
                for _ in range(count):
                    await producer.send_and_wait(
                        self.random.choice((self.names.first, self.names.second)),
                        self._value(txn=txn, of=count),
                        key=b"key" if self.random.random() < 0.5 else None,
                        partition=self.random.randrange(PARTITIONS),
                        headers=[("h", b"1"), ("empty", None)],
                    )
                    if self.random.random() < 0.3:
                        await self._pause()
                await (producer.abort_transaction() if self.random.random() < 0.2 else producer.commit_transaction())
                await self._pause()

    def older(self, name: str) -> None:
        """With the older protocol, whose transactions share an epoch; in a thread."""
        random = Random(self.random.random())
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": self.address,
                "transactional.id": f"{self.names.first}-{name}",
                "transaction.timeout.ms": BUSY_MS,
            }
        )
        producer.init_transactions()
        number = 0
        while not self._stop_thread.is_set():
            number += 1
            txn, count = f"{name}-{number}", random.randint(1, 4)
            producer.begin_transaction()
            for index in range(count):
                value = json.dumps({"id": f"{txn}-{index}", "txn": txn, "of": count}).encode()
                producer.produce(
                    random.choice((self.names.first, self.names.second)), value, partition=random.randrange(PARTITIONS)
                )
            if random.random() < 0.2:
                producer.flush()
                producer.abort_transaction()
            else:
                producer.commit_transaction()
            self._stop_thread.wait(random.random() * 0.05)

    async def idempotent(self) -> None:
        async with Producer(
            bootstrap_servers=self.address, enable_idempotence=True, compression_type="gzip", linger_ms=5
        ) as producer:
            while not self.stop.is_set():
                for _ in range(self.random.randint(1, 30)):
                    await producer.send(self.names.first, self._value(), partition=self.random.randrange(PARTITIONS))
                await producer.flush()
                await self._pause()

    async def loop(self) -> None:
        """Consume, transform, produce, until nothing is left after the others have ended."""
        async with (
            Consumer(
                self.names.first,
                bootstrap_servers=self.address,
                group_id=self.names.group,
                isolation_level="read_committed",
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                session_timeout_ms=BUSY_MS,
                max_poll_interval_ms=BUSY_MS,
            ) as consumer,
            Producer(
                bootstrap_servers=self.address,
                transactional_id=f"{self.names.group}-loop",
                transaction_timeout_ms=BUSY_MS,
            ) as producer,
        ):
            while not self.stop.is_set():
                batch = await consumer.getmany(timeout_ms=50, max_records=40)
                if not batch:
                    continue
                await producer.begin_transaction()
                for name, records in batch.items():
                    for record in records:
                        made_of = json.loads(record.value or b"")["id"]
                        await producer.send(self.names.outputs, self._value(made_of=made_of), partition=name.partition)
                ends = {name: records[-1].offset + 1 for name, records in batch.items()}
                await producer.send_offsets_to_transaction(ends, consumer.group_metadata())
                await producer.commit_transaction()
                self.has_looped.set()

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        kinds: list[Callable[[], Coroutine[Any, Any, None]]] = [
            lambda: self.transactional("a"), lambda: self.transactional("b"), self.idempotent, self.loop,
            lambda: asyncio.to_thread(self.older, "old"),
        ]  # fmt: skip
        async with asyncio.TaskGroup() as group:
            for kind in kinds:
                group.create_task(kind())
            try:
                yield
            finally:
                self.stop.set()
                self._stop_thread.set()


async def make_topics(address: str, names: Names) -> None:
    async with Admin(bootstrap_servers=address) as admin:
        await admin.create_topics(
            [NewTopic(name, PARTITIONS, 1, {}, {"retention.ms": "99999999"}) for name in names.topics]
        )


async def start_mirror(source: str, target: str, names: Names, *more: str) -> Process:
    topics = [part for name in names.topics for part in ("--topic", name)]
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "oncelog", "mirror", "--from", source, "--to", target, "--name", names.first, *topics,
        "--json", "--interval-ms", "20", *more, stdout=PIPE, stderr=PIPE,
    )  # fmt: skip


async def finish(process: Process) -> str:
    """Its output, after it ended by itself.

    Fails if it refused.
    """
    async with asyncio.timeout(TIMEOUT_S):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


async def kill_some_time(process: Process, random: Random) -> None:
    """kill -9, somewhere in its start or after some rounds."""
    assert process.stdout is not None
    try:
        if random.random() < 0.3:
            await asyncio.wait_for(process.wait(), random.random() * 3)
        else:
            async with asyncio.timeout(TIMEOUT_S):
                for _ in range(random.randint(1, 4)):
                    assert await process.stdout.readline() or process.returncode is None
            await asyncio.wait_for(process.wait(), random.random() * 0.3)
    except TimeoutError:
        pass
    if process.returncode is None:
        process.kill()
        await process.communicate()
    else:
        assert process.stderr is not None
        raise AssertionError(f"the mirror ended by itself: {(await process.stderr.read()).decode()}")


async def killed_again_and_again(source: str, target: str, unique: str, kills: int, seed: int) -> None:
    random = Random(seed)
    names = Names.of(unique)
    await make_topics(source, names)
    writers = Writers(source, names, random)
    async with writers.at_work():
        for _ in range(kills):
            await kill_some_time(await start_mirror(source, target, names), random)
            async with Admin(bootstrap_servers=target) as admin:
                topics = set(await admin.list_topics())
            if topics.issuperset(names.topics):
                contents, positions = await at_rest(target, names)
                check_whole(contents)
                check_outputs(names, contents, positions)
        async with asyncio.timeout(TIMEOUT_S):
            await writers.has_looped.wait()
    await finish(await start_mirror(source, target, names, "--switch-over"))
    there, on_target = await at_rest(target, names)
    here, on_source = await at_rest(source, names)
    assert without_offsets(there) == without_offsets(here)
    assert check_whole(there) > 0
    check_outputs(names, there, on_target)
    assert on_source, "the group stands nowhere"
    assert on_source.keys() == on_target.keys(), f"the group stands at {on_source}, and in the copy at {on_target}"
    for name, position in on_source.items():
        before = sum(offset < position for offset, _ in here[name])
        assert before == sum(offset < on_target[name] for offset, _ in there[name]), "a group stands elsewhere"
