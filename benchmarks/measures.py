"""The measurements of one server. Each function returns its figures by name; `__main__` computes the medians of several
rounds.

Figures that end in `_per_s` are better when higher, all others when lower.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import psutil
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.load import BenchmarkError, run_client
from benchmarks.servers import Server, Usage

Figures = dict[str, float]


class Size(NamedTuple):
    """The amount of load of a full run or a quick one."""

    small_records: int
    large_records: int
    latency_records: int
    seconds_of_transactions: float
    megabytes_not_flushed: int
    seconds_of_requests: float
    bytes_before_requests: int
    """The amount of memory that is touched and released before each cell of raw requests."""
    cell: str = ""
    """Only cells of raw requests whose name contains this text are measured."""


FULL = Size(2_000_000, 300_000, 3_000, 3, 1_000, 4, 6_000_000_000)
QUICK = Size(300_000, 50_000, 500, 0.6, 100, 0.5, 0)

PARTITIONS_OF_A_TOPIC = 100

_topics = 0


def new_topic(server: Server, partitions: int) -> str:
    """Create a topic for one measurement; returns its name when all partitions have leaders."""
    global _topics
    _topics += 1
    name = f"bench-{time.time_ns()}-{_topics}"
    admin = AdminClient({"bootstrap.servers": server.bootstrap_servers, "log_level": 3})
    replication = 1
    admin.create_topics([NewTopic(name, partitions, replication)])[name].result(30)
    deadline = time.monotonic() + 30
    while True:
        found = admin.list_topics(name, timeout=10).topics[name]
        if len(found.partitions) == partitions and all(part.leader >= 0 for part in found.partitions.values()):
            return name
        if time.monotonic() > deadline:
            raise BenchmarkError(f"{server.name} did not make the topic {name}")
        time.sleep(0.02)


def produce(server: Server, partitions: int, size_bytes: int, records: int) -> tuple[Figures, str]:
    """Measure producing: idempotent, acks=all, librdkafka's default batches."""
    topic = new_topic(server, partitions)
    usage = Usage(server)
    found = run_client("produce", server.bootstrap_servers, topic, partitions, size_bytes, records)
    name = f"produce {size_bytes} B to {partitions}"
    return {
        f"{name}: messages_per_s": records / found["seconds"],
        f"{name}: broker CPU us a message": usage.cpu_s / records * 1e6,
    }, topic


def consume(server: Server, topic: str, partitions: int, size_bytes: int, records: int) -> Figures:
    usage = Usage(server)
    found = run_client("consume", server.bootstrap_servers, topic, partitions, size_bytes, records)
    name = f"consume {size_bytes} B from {partitions}"
    return {
        f"{name}: messages_per_s": records / found["seconds"],
        f"{name}: broker CPU us a message": usage.cpu_s / records * 1e6,
    }


def throughput(server: Server, size: Size) -> Figures:
    """Measure producing, and consuming from the page cache."""
    figures: Figures = {}
    for partitions in (1, 8):
        found, _ = produce(server, partitions, 100, size.small_records)
        figures |= found
        found, topic = produce(server, partitions, 1000, size.large_records)
        figures |= found
        figures |= consume(server, topic, partitions, 1000, size.large_records)
    figures["RSS MB under load"] = Usage(server).rss_mb
    return figures


def produce_only(server: Server, size: Size) -> Figures:
    """Measure producing only, the part of `throughput` in which flush policies differ."""
    figures: Figures = {}
    for partitions in (1, 8):
        for size_bytes, records in ((100, size.small_records), (1000, size.large_records)):
            figures |= produce(server, partitions, size_bytes, records)[0]
    return figures


def latency(server: Server, size: Size) -> Figures:
    """Latency of one record of 100 B at a time, acks=all."""
    usage = Usage(server)
    topic = new_topic(server, 1)
    found = run_client("latency", server.bootstrap_servers, topic, 1, 100, size.latency_records)
    return {
        "one record acked: p50 ms": found["p50_ms"],
        "one record acked: p99 ms": found["p99_ms"],
        "one record acked: broker CPU ms": usage.cpu_s / size.latency_records * 1e3,
    }


def transactions(server: Server, size: Size, records: int) -> Figures:
    """Measure transactions, one after the other; the duration of a trial determines how many fit into the time."""
    topic = new_topic(server, 1)
    work = ("transactions", server.bootstrap_servers, topic, 1, 100, records)
    trial = run_client(*work, 20)
    count = max(40, int(size.seconds_of_transactions * 20 / trial["seconds"]))
    usage = Usage(server)
    found = run_client(*work, count)
    warm = count // 10 + 2
    name = f"{records}-message transactions"
    return {
        f"{name}: transactions_per_s": count / found["seconds"],
        f"{name}: whole p50 ms": found["whole_p50_ms"],
        f"{name}: commit p50 ms": found["commit_p50_ms"],
        f"{name}: commit p99 ms": found["commit_p99_ms"],
        f"{name}: broker CPU ms each": usage.cpu_s / (count + warm) * 1e3,
    }


def both_transactions(server: Server, size: Size) -> Figures:
    return transactions(server, size, 1) | transactions(server, size, 100)


def start_up(server: Server, size: Size) -> Figures:
    """Measure a start with the existing data after a clean stop, and then the idle memory."""
    del size
    server.stop()
    seconds = server.start()
    time.sleep(1)
    return {"start to first answer: ms": seconds * 1e3, "RSS MB idle": Usage(server).rss_mb}


def produce_one_by_one(server: Server, records: int) -> str:
    """Produce records of 1 KB to a new topic, each in a batch of its own; returns the topic's name."""
    topic = new_topic(server, 1)
    settings = {"bootstrap.servers": server.bootstrap_servers, "enable.idempotence": True, "batch.num.messages": 1}
    producer = Producer({**settings, "queue.buffering.max.messages": 100_000, "log_level": 3})
    value = bytes(1000)
    for _ in range(records):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(120):
        raise BenchmarkError(f"{server.name} did not take all records")
    return topic


def recovery(server: Server, size: Size) -> Figures:
    """Measures a start after kill -9, which has to read the records that were not flushed."""
    records = size.megabytes_not_flushed * 1000
    _, topic = produce(server, 1, 1000, records)
    return _recovery(server, topic, records, f"{size.megabytes_not_flushed} MB")


def recovery_of_small_batches(server: Server, size: Size) -> Figures:
    """Like `recovery`, with each record in a batch of its own."""
    records = size.megabytes_not_flushed * 100
    topic = produce_one_by_one(server, records)
    return _recovery(server, topic, records, f"{size.megabytes_not_flushed // 10} MB in batches of 1 KB")


def recovery_of_many_partitions(server: Server, size: Size) -> Figures:
    """Fill many partitions with one record each; measures a start after kill -9, then a stop and the next start."""
    topics = [new_topic(server, PARTITIONS_OF_A_TOPIC) for _ in range(size.megabytes_not_flushed // 50)]
    count = len(topics) * PARTITIONS_OF_A_TOPIC
    producer = Producer({"bootstrap.servers": server.bootstrap_servers, "log_level": 3})
    for topic in topics:
        for partition in range(PARTITIONS_OF_A_TOPIC):
            producer.produce(topic, bytes(100), partition=partition)
    if producer.flush(60):
        raise BenchmarkError(f"{server.name} did not take a record for each partition")
    server.kill()
    after_kill_s = server.start()
    cpu_s = sum(psutil.Process(server.pid).cpu_times()[:2])
    begin = time.monotonic()
    server.stop()
    stop_s = time.monotonic() - begin
    return {
        f"start after kill -9 of {count} partitions: s": after_kill_s,
        f"start after kill -9 of {count} partitions: CPU s": cpu_s,
        f"stop of {count} partitions: s": stop_s,
        f"start after a stop of {count} partitions: s": server.start(),
    }


def _recovery(server: Server, topic: str, records: int, amount: str) -> Figures:
    server.kill()
    begin = time.monotonic()
    server.start()
    answered = time.monotonic()
    run_client("consume", server.bootstrap_servers, topic, 1, 1000, records)
    return {f"restart after kill -9 with {amount} not flushed: s": answered - begin}


MEASURES: dict[str, Callable[[Server, Size], Figures]] = {
    "start": start_up,
    "latency": latency,
    "transactions": both_transactions,
    "throughput": throughput,
}
