"""Compares writes of oncelog's executors with writes of Spark's own connector on a standalone Spark cluster, to both
brokers.

    python -m benchmarks --only executors                          all of it: some minutes
    python -m benchmarks.executors --executors 1 2 4 --rounds 2    the table, some twelve minutes
    python -m benchmarks.executors --executors 2 [--broker kafka] [--rows COUNT]    one count, one broker, other rows
    python -m benchmarks.executors --large GIGABYTES [--broker kafka]

The last command shows what one large batch costs the driver: memory of the driver's JVM (1 GB of heap), of its Python
and of the executors' Python workers, and the bytes that go through the driver.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import psutil
from rich.console import Console

from benchmarks import report
from benchmarks.measures import Figures, new_topic
from benchmarks.servers import Kafka, Oncelog, Server, Usage, running
from benchmarks.spark import Job
from tests.support.spark_cluster import SparkCluster

Add = Callable[[str, Figures], None]
PARTITIONS = 8
ROWS = 3_000_000
WARM_UPS = 2
"""Rounds that are not counted: Java's JIT compiler is busy during the whole first round, and for oncelog during the
second too."""
BROKERS: dict[str, Callable[[], Server]] = {"oncelog": Oncelog, "kafka": Kafka}
TUNED = {
    "kafka.compression.type": "lz4",
    "kafka.batch.size": "524288",
    "kafka.linger.ms": "50",
    "kafka.buffer.memory": "67108864",
}
"""Options with which a user tunes Spark's own connector: large compressed batches."""
CONTENDERS: dict[str, tuple[str, dict[str, str]]] = {
    "rows made and dropped": ("noop", {}),
    "Spark's connector, defaults": ("kafka", {}),
    "Spark's connector, tuned": ("kafka", TUNED),
    "oncelog, executors": ("executors", {}),
}


def speeds(
    rounds: int,
    add: Add,
    *,
    quick: bool,
    counts: Sequence[int] = (1, 2, 4),
    brokers: Sequence[str] = ("oncelog", "kafka"),
    rows: int = ROWS,
) -> None:
    """Measure with each number of executors. In each round every contender writes the same rows; the first rounds are
    warm-ups."""
    rows = 200_000 if quick else rows
    with SparkCluster() as cluster:
        for executors in counts:
            for name in brokers:  # the two brokers do not run at the same time: even an idle broker takes CPU
                with running(BROKERS[name]()) as server:
                    _speeds(cluster, server, executors, rows, rounds, add)


def _speeds(cluster: SparkCluster, server: Server, executors: int, rows: int, rounds: int, add: Add) -> None:
    steps: list[dict[str, Any]] = []
    for _ in range(rounds + WARM_UPS):
        for form, options in CONTENDERS.values():
            if form == "executors":
                options = {"writers": str(executors)}
            topic = new_topic(server, PARTITIONS)
            common = {"servers": server.bootstrap_servers, "topic": topic, "slices": executors}
            steps.append({"work": "write_json", "format": form, "options": options, "rows": rows, **common})
    settings = {"spark.cores.max": str(executors), "spark.executor.cores": "1", "spark.executor.memory": "1g"}
    with Job(steps, master=cluster.master, settings=settings) as job:
        spark, broker = _SparkUsage(cluster, job), Usage(server)
        for number, contender in enumerate([*CONTENDERS] * (rounds + WARM_UPS)):
            name = f"{contender}, on {server.name}"
            spark_s, broker_s = spark.cpu_s(), broker.cpu_s
            seconds = job.line()["seconds"]
            spark_s, broker_s = spark.cpu_s() - spark_s, broker.cpu_s - broker_s
            warm_up = number < len(CONTENDERS) * WARM_UPS
            where = f"Spark cluster write, executors: {executors}"
            cpu = f"CPU {spark_s:.1f} and the broker's {broker_s:.1f} s"
            print(f"{where}, {name}: {seconds:.1f} s, {cpu}{', warm-up' * warm_up}", file=sys.stderr, flush=True)
            if not warm_up:
                figures = {
                    "rows_per_s": rows / seconds,
                    "cpu_s_per_million_rows": spark_s * 1e6 / rows,
                    "cpu_s_per_million_rows_with_broker": (spark_s + broker_s) * 1e6 / rows,
                }
                add(name, {f"{where}: {figure}": value for figure, value in figures.items()})


class _SparkUsage:
    """CPU seconds of all of Spark: driver, executors and their Python workers, also those that have ended."""

    def __init__(self, cluster: SparkCluster, job: Job) -> None:
        self._roots = [psutil.Process(pid) for pid in (*job.pids, *(worker.pid for worker in cluster.workers))]

    def cpu_s(self) -> float:
        total = 0.0
        seen: set[int] = set()
        for root in self._roots:
            for process in (root, *root.children(recursive=True)):
                if process.pid in seen:
                    continue
                seen.add(process.pid)
                try:
                    times = process.cpu_times()
                except psutil.NoSuchProcess:
                    continue
                total += times.user + times.system + times.children_user + times.children_system
        return total


# --- one large batch


class _Memory(threading.Thread):
    """Samples the resident memory of driver and workers: the value at the beginning, and the maximum."""

    def __init__(self, cluster: SparkCluster, job: Job) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._python, self._jvm = (psutil.Process(pid) for pid in job.pids)
        self._over = threading.Event()
        self.first = (self._mb(self._python), self._mb(self._jvm))
        self.most = self.first
        self.worker_mb = 0.0

    @staticmethod
    def _mb(process: psutil.Process) -> float:
        return float(process.memory_info().rss) / 1e6

    def run(self) -> None:
        while not self._over.wait(0.25):
            python, jvm = self._mb(self._python), self._mb(self._jvm)
            self.most = (max(python, self.most[0]), max(jvm, self.most[1]))
            for worker in self._cluster.workers:
                for process in psutil.Process(worker.pid).children(recursive=True):
                    try:
                        if "python" in process.name():
                            self.worker_mb = max(self.worker_mb, self._mb(process))
                    except psutil.NoSuchProcess:
                        continue

    def stop(self) -> None:
        self._over.set()
        self.join()


def large(gigabytes: float, server: Server) -> dict[str, float]:
    """One batch of this size (keys and values), written by four executors; the driver has 1 GB of heap."""
    row_bytes = 118
    rows = int(gigabytes * 1e9 / row_bytes)
    with SparkCluster() as cluster, running(server):
        warm, topic = new_topic(server, PARTITIONS), new_topic(server, PARTITIONS)
        common = {
            "work": "write_json",
            "format": "executors",
            "options": {"writers": "4"},
            "servers": server.bootstrap_servers,
        }
        steps = [
            {**common, "topic": warm, "rows": 100_000, "slices": 4},
            {**common, "topic": topic, "rows": rows, "slices": max(8, rows // 500_000)},
        ]
        settings = {"spark.executor.cores": "1", "spark.executor.memory": "1g", "spark.driver.memory": "1g"}
        with Job(steps, master=cluster.master, settings=settings) as job:
            job.line()
            memory = _Memory(cluster, job)
            memory.start()
            printed = job.line()
            memory.stop()
    return {
        "gigabytes": gigabytes,
        "rows": rows,
        "seconds": printed["seconds"],
        "rows_per_s": rows / printed["seconds"],
        "encoded_mb": printed["size_bytes"] / 1e6,
        "driver_python_grew_mb": memory.most[0] - memory.first[0],
        "driver_jvm_grew_mb": memory.most[1] - memory.first[1],
        "results_through_driver_kb": printed["result_bytes"] / 1e3,
        "largest_executor_python_mb": memory.worker_mb,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.executors")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--executors", type=int, nargs="+", metavar="COUNT", help="compare the speeds with so many executors, each"
    )
    what.add_argument("--large", type=float, default=5.0, metavar="GIGABYTES", help="size of the batch, default 5")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows whose speed is measured, default {ROWS:,}")
    parser.add_argument(
        "--broker", choices=[*BROKERS], help="only this one; the large batch goes to oncelog by default"
    )
    options = parser.parse_args()
    if options.executors:
        results: dict[str, dict[str, list[float]]] = {}

        def add(name: str, figures: Figures) -> None:
            for figure, value in figures.items():
                results.setdefault(name, {}).setdefault(figure, []).append(value)

        brokers = [options.broker] if options.broker else [*BROKERS]
        speeds(options.rounds, add, quick=False, counts=options.executors, brokers=brokers, rows=options.rows)
        report.show(results, Console(width=160))
        return
    began = time.monotonic()
    broker = options.broker or "oncelog"
    figures = large(options.large, BROKERS[broker]())
    print(json.dumps(figures, indent=1))
    print(f"{time.monotonic() - began:.0f} s in all, on {broker}", file=sys.stderr)


if __name__ == "__main__":
    main()
