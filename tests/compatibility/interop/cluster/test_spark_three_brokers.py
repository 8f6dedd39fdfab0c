"""Pipelines on Spark over three real brokers in trouble, whose drivers are killed too: both ways of the sink.

One pipeline writes through its driver, one through its executors; each keeps the partition of a row. Both topics
contain every record that was sent, once and in order.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import monotonic

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.spark.progress import Progress
from tests.compatibility.interop.cluster.actors import PARTITIONS, Actor, Sender
from tests.compatibility.interop.cluster.disturber import TIMEOUT_S, Disturber, by_partition, every_round
from tests.support.children import ends_with_us
from tests.support.class_archive import QUICK_START
from tests.support.kafka_cluster import NODES, KafkaCluster

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.soak]
logger = logging.getLogger(__name__)

WRITTEN = {"by-driver": "driver", "by-executors": "executors"}
FILE = """
from oncelog.spark.pipeline import Sink, Source, pipeline

PATIENT = {"kafka.request.timeout.ms": "5000"}
SENT = Source("sent", options=PATIENT)


@pipeline(source=SENT, sink=Sink("by-driver", options={**PATIENT, "writers": "0"}), name="by-driver")
def by_driver(rows):
    return rows.select("key", "value", "partition")


@pipeline(source=SENT, sink=Sink("by-executors", options={**PATIENT, "writers": "2"}), name="by-executors")
def by_executors(rows):
    return rows.select("key", "value", "partition")
"""
KILL_DRIVER_EVERY = 3
"""How many rounds."""


class Pipelines(Actor):
    """``oncelog pipeline run`` as a supervisor runs it: restarted when it has ended or was killed."""

    def __init__(self, servers: str, folder: Path) -> None:
        super().__init__(servers, "")
        self._folder = folder
        (folder / "copies.py").write_text(FILE)
        self._process: subprocess.Popen[str] | None = None
        self.batches: Counter[str] = Counter()
        self.paths: Counter[tuple[str, str]] = Counter()
        self.ended: list[str] = []
        """What the run printed if it ended by itself."""

    def work(self) -> None:
        while not self.ending:
            self._process = self._start()
            if self.ending:
                self._process.terminate()
            assert self._process.stdout is not None
            for line in self._process.stdout:
                self._note(Progress.from_json(line))
            if self._process.wait() not in (0, -signal.SIGKILL):
                self.ended.append((self._folder / "said").read_text().strip().rpartition("\n")[2])
                logger.info("the pipelines ended: %s", self.ended[-1])
                assert self.batches, "they never wrote anything"
        assert self._process is not None
        assert self._process.returncode == 0

    def _start(self) -> subprocess.Popen[str]:
        settings = [part for name, value in QUICK_START.items() for part in ("--spark", f"{name}={value}")]
        with (self._folder / "said").open("w") as printed:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "oncelog", "pipeline", "run", "copies.py", "--master", "local[4,4]"),
                    *("--bootstrap-server", self.servers, "--trigger", "1 second", "--json", *settings),
                ],
                cwd=self._folder,
                stdout=subprocess.PIPE,
                stderr=printed,
                text=True,
                start_new_session=True,
            )
        ends_with_us(process.pid)
        return process

    def _note(self, progress: Progress) -> None:
        if progress.rows:
            self.batches[progress.pipeline] += 1
            self.paths[progress.pipeline, progress.path] += 1
        with self._moved:
            self.steps = min(self.batches[name] for name in WRITTEN)
            self._moved.notify_all()

    def kill(self) -> None:
        """Kill the driver and its JVM at once."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def give_up(self) -> None:
        """Kill what is left of it, however the test ended."""
        self._ending.set()
        self.kill()
        self.join(60)

    def end(self) -> None:
        self._ending.set()
        if self._process is not None:
            self._process.terminate()
        super().end()


def test_pipelines_on_three_brokers_lose_and_duplicate_nothing(
    spark_class_archive: None, cluster: KafkaCluster, admin: Admin, tmp_path: Path
) -> None:
    servers = cluster.bootstrap_servers
    admin.create_topics([NewTopic(name, PARTITIONS, NODES) for name in ("sent", *WRITTEN)])
    sender, pipelines = Sender(servers, "sent"), Pipelines(servers, tmp_path)
    sender.start()
    pipelines.start()
    try:
        disturb(cluster, admin, sender, pipelines)
        sender.end()
        sent = by_partition(servers, "sent")
        assert sent == {n: list(range(n, sender.steps * 10, PARTITIONS)) for n in range(PARTITIONS)}

        def copied() -> bool:
            return all(by_partition(servers, topic) == sent for topic in WRITTEN)

        eventually(copied, TIMEOUT_S)
        pipelines.end()
        assert copied()
    finally:
        pipelines.give_up()
    logger.info(
        "%d records; batches %s; ended by itself: %s", sender.steps * 10, dict(pipelines.paths), pipelines.ended
    )
    assert all(pipelines.paths[name, path] > 0 for name, path in WRITTEN.items())


def disturb(cluster: KafkaCluster, admin: Admin, sender: Sender, pipelines: Pipelines) -> None:
    def busy() -> None:
        sender.await_steps(3)
        pipelines.await_steps(2)

    busy()
    disturber = Disturber(cluster, admin, busy)
    for number, (trouble, node) in enumerate(every_round(0), 1):
        began = monotonic()
        if number % KILL_DRIVER_EVERY == 0:
            pipelines.kill()
        disturber.disturb(trouble, node)
        logger.info("round %d: %s, node %d: %.0f s", number, trouble, node + 1, monotonic() - began)
        for topic in WRITTEN:
            for partition, values in by_partition(cluster.bootstrap_servers, topic).items():
                assert values == list(range(partition, partition + PARTITIONS * len(values), PARTITIONS)), topic
