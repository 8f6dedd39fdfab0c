"""Records a second of Python clients, one process each in turn, on the same broker in the same run.

    python benchmarks/clients.py [--records N] [--size BYTES] [--bootstrap-server HOST:PORT]

Without an address an embedded broker is started in a process of its own. CPU is that of the client's process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


async def produce_oncelog(servers: str, topic: str, records: int, size: int) -> None:
    from oncelog.client.aio import Producer

    value = b"x" * size
    async with Producer(bootstrap_servers=servers) as producer:
        for _ in range(records):
            await producer.send(topic, value)
        await producer.flush()


async def produce_oncelog_not_idempotent(servers: str, topic: str, records: int, size: int) -> None:
    from oncelog.client.aio import Producer

    value = b"x" * size
    async with Producer(bootstrap_servers=servers, enable_idempotence=False) as producer:
        for _ in range(records):
            await producer.send(topic, value)
        await producer.flush()


async def produce_aiokafka(servers: str, topic: str, records: int, size: int) -> None:
    from aiokafka import AIOKafkaProducer

    value = b"x" * size
    producer = AIOKafkaProducer(bootstrap_servers=servers, enable_idempotence=True)
    await producer.start()
    for _ in range(records):
        await producer.send(topic, value)
    await producer.stop()


def produce_blocking(servers: str, topic: str, records: int, size: int) -> None:
    from oncelog.client.blocking import Producer

    value = b"x" * size
    with Producer(bootstrap_servers=servers) as producer:
        for _ in range(records):
            producer.send(topic, value)
        producer.flush()


def produce_kafka_python(servers: str, topic: str, records: int, size: int) -> None:
    from kafka import KafkaProducer

    value = b"x" * size
    producer = KafkaProducer(bootstrap_servers=servers)
    for _ in range(records):
        producer.send(topic, value)
    producer.flush()
    producer.close()


async def consume_oncelog(servers: str, topic: str, records: int, size: int) -> None:
    from oncelog.client.aio import Consumer, TopicPartition

    async with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        count = 0
        while count < records:
            for batch in (await consumer.getmany(timeout_ms=1000)).values():
                count += len(batch)


async def consume_aiokafka(servers: str, topic: str, records: int, size: int) -> None:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    consumer = AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False)
    await consumer.start()
    consumer.assign([TopicPartition(topic, 0)])
    count = 0
    while count < records:
        for batch in (await consumer.getmany(timeout_ms=1000, max_records=500)).values():
            count += len(batch)
    await consumer.stop()


def consume_blocking(servers: str, topic: str, records: int, size: int) -> None:
    from oncelog.client.blocking import Consumer
    from oncelog.types import TopicPartition

    with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        for count, _ in enumerate(consumer, 1):
            if count == records:
                return


def consume_kafka_python(servers: str, topic: str, records: int, size: int) -> None:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False)
    consumer.assign([TopicPartition(topic, 0)])
    for count, _ in enumerate(consumer, 1):
        if count == records:
            consumer.close()
            return


PRODUCERS: dict[str, Callable[..., Any]] = {
    "oncelog aio": produce_oncelog,
    "oncelog aio, not idempotent": produce_oncelog_not_idempotent,
    "oncelog blocking": produce_blocking,
    "aiokafka": produce_aiokafka,
    "kafka-python": produce_kafka_python,
}
CONSUMERS: dict[str, Callable[..., Any]] = {
    "oncelog aio": consume_oncelog,
    "oncelog blocking": consume_blocking,
    "aiokafka": consume_aiokafka,
    "kafka-python": consume_kafka_python,
}


def _timed(work: Callable[..., Any], pipe: Connection, *arguments: Any) -> None:
    begin, cpu = time.perf_counter(), time.process_time()
    if asyncio.iscoroutinefunction(work):
        asyncio.run(work(*arguments))
    else:
        work(*arguments)
    pipe.send((time.perf_counter() - begin, time.process_time() - cpu))


def _measure(work: Callable[..., Any], *arguments: Any) -> tuple[float, float]:
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_timed, args=(work, theirs, *arguments))
    process.start()
    theirs.close()
    elapsed: tuple[float, float] = ours.recv()
    process.join()
    return elapsed


def _serve(pipe: Connection) -> None:
    from oncelog import Broker

    with Broker() as broker:
        pipe.send(broker.bootstrap_servers)
        pipe.recv()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--bootstrap-server")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    servers, server = options.bootstrap_server, None
    ours, theirs = multiprocessing.Pipe()
    if servers is None:
        server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,))
        server.start()
        servers = ours.recv()
    results = []
    topic = ""
    topic = ""
    for kind, clients in (("produce", PRODUCERS), ("consume", CONSUMERS)):
        for name, work in clients.items():
            if kind == "produce":
                topic = f"bench-{time.time_ns()}"
            seconds, cpu = _measure(work, servers, topic, options.records, options.size)
            results.append({"work": kind, "client": name, "records_per_s": options.records / seconds, "cpu_s": cpu})
            if not options.json:
                rate, each = options.records / seconds, cpu / options.records * 1e6
                print(f"{kind:8} {name:28} {rate:12,.0f} records/s {each:8.2f} us CPU each", flush=True)
    if options.json:
        print(json.dumps(results))
    if server is not None:
        ours.send(None)
        server.join()


if __name__ == "__main__":
    main()
