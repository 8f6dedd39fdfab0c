"""Compares Spark's own Kafka connector with ours: rows a second, and the records in the topic after kills of the
driver.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.load import BenchmarkError
from benchmarks.measures import Figures, new_topic
from benchmarks.servers import Kafka, Oncelog, Server, running
from oncelog.spark.maven import spark_connector_jars
from tests.support.children import ends_with_us

Add = Callable[[str, Figures], None]
PARTITIONS = 2
NAMES = {"kafka": "Spark's connector", "oncelog": "oncelog's"}


class Job:
    """One run of `spark_job.py` in a separate process, which is killed at the end of the block."""

    def __init__(
        self, steps: list[dict[str, Any]], *, master: str | None = None, settings: dict[str, str] | None = None
    ) -> None:
        jars = [str(jar) for jar in spark_connector_jars()]
        task = {"jars": jars, "steps": steps, "master": master, "settings": settings or {}}
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the job
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.spark_job", json.dumps(task)],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=Path(__file__).parents[1],
            start_new_session=True,
        )
        ends_with_us(self.process.pid)
        self.pids = [self.process.pid]
        self.pids = self.line()

    def line(self) -> Any:
        """The next line that the program prints."""
        stdout = self.process.stdout
        text = stdout.readline() if stdout else b""
        if not text:
            self._errors.seek(0)
            raise BenchmarkError(f"the Spark job ended early:\n{self._errors.read().decode(errors='replace')[-2000:]}")
        return json.loads(text)

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the driver's Python and its JVM with SIGKILL if they still run; their Python workers end with them."""
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()


def speeds(rounds: int, add: Add, *, quick: bool) -> None:
    """Batch reads and writes: both connectors, each on both brokers. The first round is a warm-up."""
    rows = 100_000 if quick else 1_000_000
    with running(Oncelog()) as ours, running(Kafka()) as kafka:
        steps: list[dict[str, Any]] = []
        names: list[tuple[str, str]] = []
        for _ in range(rounds + 1):
            for server in (ours, kafka):
                for connector in NAMES:
                    common = {"format": connector, "servers": server.bootstrap_servers, "rows": rows}
                    topic = new_topic(server, PARTITIONS)
                    for work in ("write", "read"):
                        steps.append({**common, "work": work, "topic": topic})
                        names.append((f"{NAMES[connector]}, on {server.name}", work))
        with Job(steps) as job:
            for number, (name, work) in enumerate(names):
                print(f"Spark, {work}: {name}", file=sys.stderr, flush=True)
                seconds = job.line()["seconds"]
                if number >= len(names) // (rounds + 1):
                    add(name, {f"Spark batch {work}: rows_per_s": rows / seconds})


def kills(add: Add, *, quick: bool) -> None:
    """Copy a topic in micro-batches while the query's driver is killed repeatedly; adds the numbers of duplicate and
    missing records in the end."""
    records, batches, times = (4_000, 8, 1) if quick else (100_000, 40, 4)
    for server in (Oncelog(), Kafka()):
        with running(server):
            for connector in NAMES:
                print(f"Spark's driver killed {times} times: {NAMES[connector]}, on {server.name}", file=sys.stderr)
                counts = _copy_with_kills(server, connector, records, batches, times)
                repeated = sum(count - 1 for count in counts.values())
                name = f"Spark's driver killed {times} times, {records} records"
                missing = records - len(counts)
                figures = {f"{name}: duplicates": float(repeated), f"{name}: missing": float(missing)}
                add(f"{NAMES[connector]}, on {server.name}", figures)


def _copy_with_kills(server: Server, connector: str, records: int, batches: int, times: int) -> Counter[bytes]:
    source, target = new_topic(server, PARTITIONS), new_topic(server, PARTITIONS)
    producer = Producer({"bootstrap.servers": server.bootstrap_servers, "enable.idempotence": True})
    for number in range(records):
        producer.produce(source, b"%d" % number, partition=number % PARTITIONS)
        producer.poll(0)
    producer.flush()
    with tempfile.TemporaryDirectory() as folder:
        step = {
            "work": "copy",
            "format": connector,
            "servers": server.bootstrap_servers,
            "topic": source,
            "to": target,
            "batch_rows": records // batches,
            "checkpoint": f"{folder}/checkpoint",
        }
        for kill in range(times):
            with Job([step]) as job:
                _await_records(job, server, target, records * (kill + 1) // (times + 1))
        with Job([step]) as job:
            job.line()
    return _committed(server, target)


def _await_records(job: Job, server: Server, topic: str, count: int) -> None:
    consumer = Consumer({"bootstrap.servers": server.bootstrap_servers, "group.id": "watch"})
    deadline = time.monotonic() + 180
    while _end(consumer, topic) < count:
        if job.process.poll() is not None or time.monotonic() > deadline:
            raise BenchmarkError(f"the query did not write {count} records to {topic}")
        time.sleep(0.005)
    consumer.close()


def _end(consumer: Consumer, topic: str) -> int:
    return sum(consumer.get_watermark_offsets(TopicPartition(topic, n), 10, cached=False)[1] for n in range(PARTITIONS))


def _committed(server: Server, topic: str) -> Counter[bytes]:
    """How often a read_committed reader sees each record."""
    settings = {"bootstrap.servers": server.bootstrap_servers, "group.id": "count", "enable.partition.eof": True}
    consumer = Consumer({**settings, "isolation.level": "read_committed", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, n, 0) for n in range(PARTITIONS)])
    seen: Counter[bytes] = Counter()
    ended: set[int] = set()
    while len(ended) < PARTITIONS:
        for message in consumer.consume(10_000, 0.5):
            if message.error():
                ended.add(message.partition() or 0)
            else:
                seen[message.value() or b""] += 1
    consumer.close()
    return seen
