"""Compares Python clients: records a second, CPU a record and memory, on our broker and on Apache Kafka, in one run.

    python -m benchmarks.clients [--servers ours,kafka] [--sizes 100,1000] [--records N] [--rounds N] [--only PATTERNS]

Each figure comes from a separate client process; the clients take turns, so that other load on the machine affects all
of them, and medians are shown. CPU (user and system) and the largest resident memory are those of the client's process;
time and CPU do not include the work before the first record (imports, connecting, creating the topic). aiokafka and
kafka-python run with idempotence, as our client does by default. The batch interfaces (``send_many``, Arrow) and
confluent-kafka fill batches of 128 KiB; all others have their defaults. A program creates a topic, sends its first
record and joins a group once: for "create topic", "first send" and "join", 1,000 / (records a second) is the duration
in ms.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import json
import multiprocessing
import resource
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from fnmatch import fnmatch
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from benchmarks.servers import Kafka, Oncelog, Server, running
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic

BATCH = 131_072
ROWS = 10_000
"""Number of rows in one call of a batch interface."""
IN_TRANSACTION = 10
"""Number of records in one transaction."""


class Task(NamedTuple):
    servers: str
    topic: str
    records: int
    size: int


class Clock:
    """Measures the time and the CPU time between ``begin`` and ``end``."""

    def begin(self) -> None:
        self._at, self._cpu = time.perf_counter(), time.process_time()

    def end(self) -> None:
        self.seconds, self.cpu = time.perf_counter() - self._at, time.process_time() - self._cpu


Work = Callable[[Task, Clock], Any]


# --- produce


def _oncelog_producer(**settings: Any) -> Work:
    async def work(task: Task, clock: Clock) -> None:
        from oncelog.client.aio import Producer

        value = b"x" * task.size
        async with Producer(bootstrap_servers=task.servers, **settings) as producer:
            await producer.partitions_for(task.topic)
            clock.begin()
            for _ in range(task.records):
                await producer.send(task.topic, value)
            await producer.flush()
            clock.end()

    return work


async def produce_many(task: Task, clock: Clock) -> None:
    from oncelog.client.aio import Producer

    values = [b"x" * task.size for _ in range(ROWS)]
    async with Producer(bootstrap_servers=task.servers, max_batch_size=BATCH) as producer:
        await producer.partitions_for(task.topic)
        clock.begin()
        for _ in range(task.records // ROWS):
            await producer.send_many(task.topic, values)
        await producer.flush()
        clock.end()


async def produce_arrow(task: Task, clock: Clock) -> None:
    import pyarrow as pa

    from oncelog.client.aio import Producer

    table = pa.table({"value": [b"x" * task.size for _ in range(ROWS)]})
    async with Producer(bootstrap_servers=task.servers, max_batch_size=BATCH) as producer:
        await (await producer.send_arrow(task.topic, table.slice(0, 1)))
        clock.begin()
        for _ in range(task.records // ROWS):
            await producer.send_arrow(task.topic, table)
        await producer.flush()
        clock.end()


def produce_blocking(task: Task, clock: Clock) -> None:
    from oncelog.client.blocking import Producer

    value = b"x" * task.size
    with Producer(bootstrap_servers=task.servers) as producer:
        producer.partitions_for(task.topic)
        clock.begin()
        for _ in range(task.records):
            producer.send(task.topic, value)
        producer.flush()
        clock.end()


async def produce_aiokafka(task: Task, clock: Clock) -> None:
    from aiokafka import AIOKafkaProducer

    value = b"x" * task.size
    producer = AIOKafkaProducer(bootstrap_servers=task.servers, enable_idempotence=True)
    await producer.start()
    await producer.partitions_for(task.topic)
    clock.begin()
    for _ in range(task.records):
        await producer.send(task.topic, value)
    await producer.flush()
    clock.end()
    await producer.stop()


def produce_kafka_python(task: Task, clock: Clock) -> None:
    from kafka import KafkaProducer

    value = b"x" * task.size
    producer = KafkaProducer(bootstrap_servers=task.servers, enable_idempotence=True)
    producer.partitions_for(task.topic)
    clock.begin()
    for _ in range(task.records):
        producer.send(task.topic, value)
    producer.flush()
    clock.end()
    producer.close()


def produce_confluent(task: Task, clock: Clock) -> None:
    from confluent_kafka import Producer

    value = b"x" * task.size
    producer = Producer(
        {"bootstrap.servers": task.servers, "enable.idempotence": True, "linger.ms": 0, "batch.size": BATCH}
    )
    producer.list_topics(task.topic, timeout=30)
    clock.begin()
    for _ in range(task.records):
        while True:
            try:
                producer.produce(task.topic, value)
                break
            except BufferError:
                producer.poll(0.01)
    producer.flush()
    clock.end()


# --- consume


async def consume_oncelog(task: Task, clock: Clock) -> None:
    from oncelog.client.aio import Consumer, TopicPartition

    async with Consumer(bootstrap_servers=task.servers, auto_offset_reset="earliest") as consumer:
        clock.begin()
        consumer.assign([TopicPartition(task.topic, 0)])
        count = 0
        while count < task.records:
            for records in (await consumer.getmany(timeout_ms=1000)).values():
                count += len(records)
        clock.end()


async def consume_one_by_one(task: Task, clock: Clock) -> None:
    from oncelog.client.aio import Consumer, TopicPartition

    async with Consumer(bootstrap_servers=task.servers, auto_offset_reset="earliest") as consumer:
        clock.begin()
        consumer.assign([TopicPartition(task.topic, 0)])
        for _ in range(task.records):
            await consumer.getone()
        clock.end()


async def consume_one_by_one_aiokafka(task: Task, clock: Clock) -> None:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    consumer = AIOKafkaConsumer(bootstrap_servers=task.servers, auto_offset_reset="earliest", enable_auto_commit=False)
    await consumer.start()
    clock.begin()
    consumer.assign([TopicPartition(task.topic, 0)])
    for _ in range(task.records):
        await consumer.getone()
    clock.end()
    await consumer.stop()


async def consume_columns(task: Task, clock: Clock) -> None:
    from oncelog.client.aio import Consumer, TopicPartition

    async with Consumer(bootstrap_servers=task.servers, auto_offset_reset="earliest") as consumer:
        clock.begin()
        consumer.assign([TopicPartition(task.topic, 0)])
        count = 0
        while count < task.records:
            for columns in (await consumer.getmany_columns(timeout_ms=1000)).values():
                count += len(columns.offsets)
        clock.end()


async def consume_arrow(task: Task, clock: Clock) -> None:
    import oncelog.records.arrow  # noqa: F401
    from oncelog.client.aio import Consumer, TopicPartition

    async with Consumer(bootstrap_servers=task.servers, auto_offset_reset="earliest") as consumer:
        clock.begin()
        consumer.assign([TopicPartition(task.topic, 0)])
        count = 0
        while count < task.records:
            for table in (await consumer.getmany_arrow(timeout_ms=1000)).values():
                count += len(table)
        clock.end()


def consume_blocking(task: Task, clock: Clock) -> None:
    from oncelog.client.blocking import Consumer
    from oncelog.types import TopicPartition

    with Consumer(bootstrap_servers=task.servers, auto_offset_reset="earliest") as consumer:
        clock.begin()
        consumer.assign([TopicPartition(task.topic, 0)])
        for count, _ in enumerate(consumer, 1):
            if count == task.records:
                break
        clock.end()


async def consume_aiokafka(task: Task, clock: Clock) -> None:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    consumer = AIOKafkaConsumer(bootstrap_servers=task.servers, auto_offset_reset="earliest", enable_auto_commit=False)
    await consumer.start()
    clock.begin()
    consumer.assign([TopicPartition(task.topic, 0)])
    count = 0
    while count < task.records:
        for records in (await consumer.getmany(timeout_ms=1000, max_records=500)).values():
            count += len(records)
    clock.end()
    await consumer.stop()


def consume_kafka_python(task: Task, clock: Clock) -> None:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=task.servers, auto_offset_reset="earliest", enable_auto_commit=False)
    clock.begin()
    consumer.assign([TopicPartition(task.topic, 0)])
    for count, _ in enumerate(consumer, 1):
        if count == task.records:
            break
    clock.end()
    consumer.close()


def consume_confluent(task: Task, clock: Clock) -> None:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": task.servers,
            "group.id": "bench",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    clock.begin()
    consumer.assign([TopicPartition(task.topic, 0, 0)])
    count = 0
    while count < task.records:
        for message in consumer.consume(500, 1.0):
            message.value()
            count += 1
    clock.end()
    consumer.close()


# --- transactions: one record in ten ends one


async def transact_oncelog(task: Task, clock: Clock) -> None:
    from oncelog.client.aio import Producer

    value = b"x" * task.size
    async with Producer(bootstrap_servers=task.servers, transactional_id=task.topic) as producer:
        await producer.partitions_for(task.topic)
        clock.begin()
        for _ in range(task.records // IN_TRANSACTION):
            async with producer.transaction():
                for _ in range(IN_TRANSACTION):
                    await producer.send(task.topic, value)
        clock.end()


async def transact_aiokafka(task: Task, clock: Clock) -> None:
    from aiokafka import AIOKafkaProducer

    value = b"x" * task.size
    producer = AIOKafkaProducer(bootstrap_servers=task.servers, transactional_id=task.topic)
    await producer.start()
    await producer.partitions_for(task.topic)
    clock.begin()
    for _ in range(task.records // IN_TRANSACTION):
        async with producer.transaction():
            for _ in range(IN_TRANSACTION):
                await producer.send(task.topic, value)
    clock.end()
    await producer.stop()


def transact_confluent(task: Task, clock: Clock) -> None:
    from confluent_kafka import Producer

    value = b"x" * task.size
    producer = Producer({"bootstrap.servers": task.servers, "transactional.id": task.topic, "linger.ms": 0})
    producer.init_transactions(30)
    clock.begin()
    for _ in range(task.records // IN_TRANSACTION):
        producer.begin_transaction()
        for _ in range(IN_TRANSACTION):
            producer.produce(task.topic, value)
        producer.commit_transaction(30)
    clock.end()


def transact_kafka_python(task: Task, clock: Clock) -> None:
    from kafka import KafkaProducer

    value = b"x" * task.size
    producer = KafkaProducer(bootstrap_servers=task.servers, transactional_id=task.topic)
    producer.init_transactions()
    clock.begin()
    for _ in range(task.records // IN_TRANSACTION):
        producer.begin_transaction()
        for _ in range(IN_TRANSACTION):
            producer.send(task.topic, value)
        producer.commit_transaction()
    clock.end()
    producer.close()


# --- the first hour: what a program does once, in ms each


async def create_topics_oncelog(task: Task, clock: Clock) -> None:
    from oncelog.client.aio import Admin

    async with Admin(bootstrap_servers=task.servers) as admin:
        clock.begin()
        for number in range(task.records):
            await admin.create_topics([NewTopic(f"{task.topic}-{number}", 1, 1)])
        clock.end()


async def create_topics_aiokafka(task: Task, clock: Clock) -> None:
    from aiokafka.admin import AIOKafkaAdminClient
    from aiokafka.admin import NewTopic as TheirTopic

    admin = AIOKafkaAdminClient(bootstrap_servers=task.servers)
    await admin.start()
    clock.begin()
    for number in range(task.records):
        await admin.create_topics([TheirTopic(f"{task.topic}-{number}", 1, 1)])
    clock.end()
    await admin.close()


def _first_sends(producer_class: str) -> Work:
    """A producer that is started for one record, to a topic that it has not seen."""

    async def work(task: Task, clock: Clock) -> None:
        producer_of = _named(producer_class)
        async with producer_of(bootstrap_servers=task.servers) as warm:
            await warm.send_and_wait(task.topic, b"x")
        clock.begin()
        for _ in range(task.records):
            async with producer_of(bootstrap_servers=task.servers) as producer:
                await producer.send_and_wait(task.topic, b"x")
        clock.end()

    return work


def _joins(consumer_class: str, topic_suffix: str) -> Work:
    """A consumer that joins a group of its own, reads one record and leaves."""

    async def work(task: Task, clock: Clock) -> None:
        consumer_of, producer_of = _named(consumer_class), _named("oncelog.client.aio.producer.producer.Producer")
        async with producer_of(bootstrap_servers=task.servers) as producer:
            await producer.send_and_wait(task.topic, b"x")
        for number in range(-1, task.records):
            if not number:
                clock.begin()
            consumer = consumer_of(
                task.topic,
                bootstrap_servers=task.servers,
                group_id=f"{task.topic}-{topic_suffix}{number}",
                auto_offset_reset="earliest",
            )
            await consumer.start()
            await consumer.getone()
            await consumer.stop()
        clock.end()

    return work


def _named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


class Case(NamedTuple):
    kind: str
    client: str
    work: Work
    partitions: int = 1
    share: int = 1
    """The number of records is divided by this for a slow client, so that all clients take about as long."""


CASES = [
    Case("produce", "oncelog", _oncelog_producer()),
    Case("produce", "oncelog, not idempotent", _oncelog_producer(enable_idempotence=False)),
    Case("produce", "oncelog, 6 partitions, sticky", _oncelog_producer(), 6),
    Case("produce", "oncelog, 6 partitions, round robin", _oncelog_producer(partitioner_class="roundrobin"), 6),
    Case("produce", "oncelog, buffer of 4 MiB", _oncelog_producer(buffer_memory=4 << 20)),
    Case("produce", "oncelog blocking", produce_blocking),
    Case("produce", "oncelog send_many", produce_many),
    Case("produce", "oncelog send_arrow", produce_arrow),
    Case("produce", "aiokafka", produce_aiokafka),
    Case("produce", "kafka-python", produce_kafka_python, share=5),
    Case("produce", "confluent-kafka", produce_confluent),
    Case("consume", "oncelog", consume_oncelog),
    Case("consume", "oncelog getone", consume_one_by_one),
    Case("consume", "aiokafka getone", consume_one_by_one_aiokafka),
    Case("consume", "oncelog blocking", consume_blocking),
    Case("consume", "oncelog columns", consume_columns),
    Case("consume", "oncelog Arrow", consume_arrow),
    Case("consume", "aiokafka", consume_aiokafka),
    Case("consume", "kafka-python", consume_kafka_python, share=5),
    Case("consume", "confluent-kafka", consume_confluent),
    Case("transactions", "oncelog", transact_oncelog, share=50),
    Case("transactions", "aiokafka", transact_aiokafka, share=50),
    Case("transactions", "kafka-python", transact_kafka_python, share=50),
    Case("transactions", "confluent-kafka", transact_confluent, share=50),
    Case("create topic", "oncelog", create_topics_oncelog, share=5000),
    Case("create topic", "aiokafka", create_topics_aiokafka, share=5000),
    Case("first send", "oncelog", _first_sends("oncelog.client.aio.producer.producer.Producer"), share=5000),
    Case("first send", "oncelog.aiokafka", _first_sends("oncelog.aiokafka.AIOKafkaProducer"), share=5000),
    Case("first send", "aiokafka", _first_sends("aiokafka.AIOKafkaProducer"), share=5000),
    Case("join", "oncelog", _joins("oncelog.client.aio.consumer.consumer.Consumer", "ours"), share=10_000),
    Case("join", "oncelog.aiokafka", _joins("oncelog.aiokafka.AIOKafkaConsumer", "names"), share=10_000),
    Case("join", "aiokafka", _joins("aiokafka.AIOKafkaConsumer", "theirs"), share=10_000),
]


def _timed(case: int, task: Task, pipe: Connection) -> None:
    clock = Clock()
    result = CASES[case].work(task, clock)
    if inspect.isawaitable(result):
        asyncio.run(_awaited(result))
    pipe.send((clock.seconds, clock.cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))


async def _awaited(result: Any) -> None:
    await result


def measure(case: Case, task: Task) -> tuple[float, float, int]:
    """Run a case in a separate process; returns its seconds, CPU seconds and largest resident memory in KiB."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_timed, args=(CASES.index(case), task, theirs))
    process.start()
    theirs.close()
    try:
        measured: tuple[float, float, int] = ours.recv()
    except EOFError:
        raise SystemExit(f"{case.kind} with {case.client} failed") from None
    process.join()
    return measured


def _ours() -> Server:
    """Our broker without the initial rebalance delay: otherwise a join would measure only that delay."""
    return Oncelog(properties={"group.initial.rebalance.delay.ms": "0"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", default="ours,kafka")
    parser.add_argument("--sizes", default="100,1000")
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="", help="cells by their full name, or patterns with * and ?, between ;")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    known: dict[str, Callable[[], Server]] = {"ours": _ours, "kafka": Kafka}
    found: dict[tuple[str, int, str, str], list[tuple[float, float, float]]] = {}
    with ExitStack() as stack:
        servers = [stack.enter_context(running(known[name]())) for name in options.servers.split(",")]
        for _ in range(options.rounds):
            for size in map(int, options.sizes.split(",")):
                for server in servers:
                    run(server, size, options.records, options.only, found)
    rows = [
        {
            "server": server,
            "size": size,
            "work": kind,
            "client": client,
            "per_s": round(statistics.median(item[0] for item in figures), 1),
            "cpu_us": round(statistics.median(item[1] for item in figures), 3),
            "memory_mib": round(statistics.median(item[2] for item in figures)),
        }
        for (server, size, kind, client), figures in found.items()
    ]
    if options.json:
        print(json.dumps(rows))
        return
    for row in rows:
        where, what = f"{row['server']:14} {row['size']:5} B", f"{row['work']:12} {row['client']:36}"
        print(f"{where}  {what} {row['per_s']:12,}/s {row['cpu_us']:8.2f} us CPU {row['memory_mib']:5} MiB")


def chosen(name: str, pattern: str) -> bool:
    """Whether the pattern selects a cell: it is the cell's whole name, or a part of it."""
    whole = any(pattern == f"{case.kind} {case.client}" for case in CASES)
    return name == pattern if whole else fnmatch(name, f"*{pattern}*")


def run(
    server: Server,
    size: int,
    records: int,
    only: str,
    found: dict[tuple[str, int, str, str], list[tuple[float, float, float]]],
) -> None:
    """Measure every selected client in turn on one server, and add the results to ``found``."""
    filled = f"bench-{uuid.uuid4().hex[:8]}"
    with Admin(bootstrap_servers=server.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(filled, 1, 1)])
    fill = next(case for case in CASES if case.work is produce_many)
    measure(fill, Task(server.bootstrap_servers, filled, records, size))
    measure(
        CASES[0], Task(server.bootstrap_servers, filled, records, size)
    )  # warms up, because the first client would otherwise measure a cold broker
    for case in CASES:
        if not any(chosen(f"{case.kind} {case.client}", pattern) for pattern in only.split(";")):
            continue
        count = records // case.share
        topic = filled
        if case.kind != "consume":
            topic = f"bench-{uuid.uuid4().hex[:8]}"
            with Admin(bootstrap_servers=server.bootstrap_servers) as admin:
                admin.create_topics([NewTopic(topic, case.partitions, 1)])
        seconds, cpu, memory = measure(case, Task(server.bootstrap_servers, topic, count, size))
        each = max(1, count // IN_TRANSACTION if case.kind == "transactions" else count)
        key = (server.name, size, case.kind, case.client)
        found.setdefault(key, []).append((each / seconds, cpu / each * 1e6, memory / 1024))
        print(
            f"{server.name}, {size} B: {case.kind} {case.client}: {each / seconds:,.1f}/s", file=sys.stderr, flush=True
        )


if __name__ == "__main__":
    main()
