"""Writers of every kind at work on one cluster, a mirror that is killed, and what must hold of the other cluster.

Used by the tests of the mirror. A record of a transaction says which transaction it is of and how many that has, so a
reader can tell whether it is whole; an output of the consume-transform-produce loop says which input it was made of.
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
from oncelog.client.aio.admin import NewTopic
from oncelog.types import TopicPartition

PATIENCE_S = 180.0
PARTITIONS = 3


class Seen(NamedTuple):
    """A record as a reader is given it, without its offset."""

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


async def committed(address: str, topics: tuple[str, ...]) -> Contents:
    """What a reader of read_committed is given now: offset and record, by partition."""
    found: Contents = {}
    async with Admin(bootstrap_servers=address) as admin:
        names = [name for topic in topics for name in await admin.partitions(topic)]
        ends = {
            name: item.offset
            for name, item in (await admin.list_offsets(dict.fromkeys(names, -1), read_committed=True)).items()
        }
    async with Consumer(
        bootstrap_servers=address, isolation_level="read_committed", enable_auto_commit=False
    ) as consumer:
        consumer.assign(names)
        await consumer.seek_to_beginning(*names)
        for name in names:
            found[name] = []
        async with asyncio.timeout(PATIENCE_S):
            while any([await consumer.position(name) < ends[name] for name in names]):
                for name, records in (await consumer.getmany(timeout_ms=100, max_records=10_000)).items():
                    found[name] += [
                        (record.offset, Seen(record.key, record.value, tuple(record.headers), record.timestamp))
                        for record in records
                        if record.offset < ends[name]
                    ]
    return found


def without_offsets(contents: Contents) -> dict[TopicPartition, list[Seen]]:
    return {name: [seen for _, seen in records] for name, records in contents.items()}


def check_whole(contents: Contents) -> int:
    """Every transaction that is there at all is there whole; how many."""
    counts: Counter[str] = Counter()
    totals: dict[str, int] = {}
    for records in contents.values():
        for _, seen in records:
            told = json.loads(seen.value or b"{}")
            if "txn" in told:
                counts[told["txn"]] += 1
                totals[told["txn"]] = told["of"]
    split = {txn: (counts[txn], totals[txn]) for txn in totals if counts[txn] != totals[txn]}
    assert not split, f"transactions are not whole (records there, records in all): {split}"
    return len(totals)


async def check_outputs(address: str, names: Names, contents: Contents) -> None:
    """The group stands exactly behind the inputs whose outputs are there."""
    async with Admin(bootstrap_servers=address) as admin:
        committed_offsets = await admin.list_consumer_group_offsets(names.group)
    made_of = [
        json.loads(seen.value or b"")["made_of"]
        for name, records in contents.items()
        if name.topic == names.outputs
        for _, seen in records
    ]
    assert len(made_of) == len(set(made_of)), "an input was processed twice"
    done = []
    for name, position in committed_offsets.items():
        done += [json.loads(seen.value or b"")["id"] for offset, seen in contents[name] if offset < position.offset]
    assert sorted(done) == sorted(made_of), "the group's offsets and its outputs do not belong together"


class Writers:
    """Four kinds of writers, each until :attr:`stop`."""

    def __init__(self, address: str, names: Names, random: Random) -> None:
        self.address = address
        self.names = names
        self.random = random
        self.stop = asyncio.Event()
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
        """By the newest protocol that the cluster has."""
        async with Producer(bootstrap_servers=self.address, transactional_id=f"{self.names.first}-{name}") as producer:
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
        """By the older protocol, whose transactions share an epoch; in a thread."""
        random = Random(self.random.random())
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": self.address, "transactional.id": f"{self.names.first}-{name}"}
        )
        producer.init_transactions(60)
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
                producer.flush(60)
                producer.abort_transaction(60)
            else:
                producer.commit_transaction(60)
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
        """Consume, transform, produce, until there is nothing left behind the others' end."""
        async with (
            Consumer(
                self.names.first,
                bootstrap_servers=self.address,
                group_id=self.names.group,
                isolation_level="read_committed",
                auto_offset_reset="earliest",
                enable_auto_commit=False,
            ) as consumer,
            Producer(bootstrap_servers=self.address, transactional_id=f"{self.names.group}-loop") as producer,
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
    async with asyncio.timeout(PATIENCE_S):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


async def kill_some_time(process: Process, random: Random) -> None:
    """-9, somewhere in its start or after some rounds."""
    assert process.stdout is not None
    try:
        if random.random() < 0.3:
            await asyncio.wait_for(process.wait(), random.random() * 3)
        else:
            async with asyncio.timeout(PATIENCE_S):
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


async def at_rest(address: str, names: Names) -> None:
    """Until what a killed mirror had decided is complete: its coordinator then has nothing prepared."""
    async with Admin(bootstrap_servers=address) as admin, asyncio.timeout(PATIENCE_S):
        while any(
            item.transactional_id == f"oncelog-mirror-{names.first}" and item.state.startswith("Prepare")
            for item in await admin.list_transactions()
        ):
            await asyncio.sleep(0.05)


async def killed_again_and_again(source: str, target: str, unique: str, kills: int, seed: int) -> None:
    random = Random(seed)
    names = Names.of(unique)
    await make_topics(source, names)
    writers = Writers(source, names, random)
    async with writers.at_work():
        for _ in range(kills):
            await kill_some_time(await start_mirror(source, target, names), random)
            await at_rest(target, names)
            async with Admin(bootstrap_servers=target) as admin:
                topics = set(await admin.list_topics())
            if topics.issuperset(names.topics):
                contents = await committed(target, names.topics)
                check_whole(contents)
                await check_outputs(target, names, contents)
    await finish(await start_mirror(source, target, names, "--switch-over"))
    there, here = await committed(target, names.topics), await committed(source, names.topics)
    assert without_offsets(there) == without_offsets(here)
    assert check_whole(there) > 0
    await check_outputs(target, names, there)
    await check_offsets(source, target, names, here, there)


async def check_offsets(source: str, target: str, names: Names, here: Contents, there: Contents) -> None:
    """A group's offset on the target is before the record that it is before on the source."""
    async with Admin(bootstrap_servers=source) as admin, Admin(bootstrap_servers=target) as other:
        on_source = await admin.list_consumer_group_offsets(names.group)
        on_target = await other.list_consumer_group_offsets(names.group)
    assert on_source and on_source.keys() == on_target.keys()
    for name, position in on_source.items():
        before = sum(offset < position.offset for offset, _ in here[name])
        assert before == sum(offset < on_target[name].offset for offset, _ in there[name])
