"""Zombies, timeouts and killed brokers inside the sink's commit, on our broker and on Apache Kafka.

A query copies a topic in micro-batches and pauses inside the commit of one of them. What confluent-kafka sees
(read_committed) at the end: every record once, in order within its partition. ``test_killed_drivers.py`` kills drivers.
"""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from pyspark.sql import SparkSession

from oncelog.spark.sink.engine import BatchStep
from tests.conftest import RunningBroker
from tests.integration.spark.kafka_records import wait_until_settled
from tests.integration.spark.sink.crash_job import ROWS, Job, wait_paused
from tests.support.apache_kafka import ApacheKafka
from tests.support.spark_faults import PausePoint

pytestmark = [pytest.mark.crash, pytest.mark.timeout(900)]


def steps(fixture: str, decisive: BatchStep, other: BatchStep) -> Any:
    """The decisive step on our broker.

    The rest is part of ``make soak``: ``test_commit.py`` has all of it on both brokers, without a driver.
    """
    on_kafka, soak = pytest.mark.kafka, pytest.mark.soak
    cases = [("oncelog", decisive, ()), ("kafka", decisive, (on_kafka, soak))]
    cases += [("oncelog", other, (soak,)), ("kafka", other, (on_kafka, soak))]
    rows = [pytest.param(broker, step, marks=marks) for broker, step, marks in cases]
    return pytest.mark.parametrize((fixture, "step"), rows, indirect=[fixture])


@pytest.mark.soak
@steps("broker", BatchStep.MARKER_ADDED, BatchStep.STARTED)
def test_a_zombie_that_commits_and_its_successor_write_the_batch_once(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path, step: BatchStep
) -> None:
    """A paused driver wakes up after another one has written its batch from the same checkpoint.

    If it was fenced, it fails; if it had not begun, it fences in turn, finds the marker and skips.
    """
    job = Job(spark, broker, unique_name, tmp_path, 2)
    with PausePoint() as point, job.run(point.options(step, 0)) as zombie:
        paused = wait_paused(point, zombie)
        job.complete()
        paused.resume()
        zombie.finish()
    job.check(2)


def test_a_replay_writes_the_batch_whose_transaction_timed_out(
    spark: SparkSession, timeout_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    job = Job(spark, timeout_broker, unique_name, tmp_path, 2)
    with PausePoint() as point:
        options = point.options(BatchStep.MARKER_ADDED, 0) | {"kafka.transaction.timeout.ms": "1000"}
        run = job.run_here(options)
        paused = point.wait(run.alive)
        wait_until_settled(job.address, job.sink)
        paused.resume()
        assert run.finish() is not None
    job.check(0)
    job.complete()


SERVE = [sys.executable, "-m", "oncelog", "serve"]
FAST_TIMEOUT = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}


class Restartable(Protocol):
    """A broker in a process of its own, with its data in a folder."""

    @property
    def bootstrap_servers(self) -> str: ...
    def kill(self) -> None: ...
    def start(self) -> object: ...


class OncelogProcess:
    """Our broker as ``oncelog serve``."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self._folder = folder
        self._settings = settings
        self._address = "127.0.0.1:0"
        self._process: subprocess.Popen[str] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return self._address

    def start(self) -> OncelogProcess:
        chosen = [part for name, value in self._settings.items() for part in ("--set", f"{name}={value}")]
        self._process = subprocess.Popen(
            [*SERVE, "--listen", self._address, "--data", str(self._folder), *chosen],
            stdout=subprocess.PIPE,
            text=True,
        )
        stdout = self._process.stdout
        assert stdout is not None
        ready, _, _ = select.select([stdout], [], [], 120)
        line = stdout.readline() if ready else ""
        found = next((word for word in line.replace(",", " ").split() if word.startswith("127.0.0.1:")), "")
        assert found, f"no address in what serve printed: {line!r}"
        self._address = found.rstrip(".")
        return self

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(120)
            self._process = None


@pytest.fixture(params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def own_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Restartable]:
    """A broker for this test alone, durable, that it may kill."""
    if request.param == "oncelog":
        ours = OncelogProcess(tmp_path / "broker").start()
        yield ours
        ours.kill()
    else:
        with ApacheKafka(tmp_path / "broker") as kafka:
            yield kafka


@pytest.fixture(params=["oncelog", pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.soak])])
def timeout_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningBroker]:
    """A broker that checks twice a second for transactions past their timeout."""
    if request.param == "oncelog":
        from oncelog import Broker

        with Broker(settings=FAST_TIMEOUT) as ours:
            yield ours
    else:
        with ApacheKafka(tmp_path / "broker", FAST_TIMEOUT) as kafka:
            yield kafka


@steps("own_broker", BatchStep.MARKER_ADDED, BatchStep.FENCED)
def test_a_broker_killed_during_the_commit_and_restarted_has_each_batch_once(
    spark: SparkSession, own_broker: Restartable, unique_name: str, tmp_path: Path, step: BatchStep
) -> None:
    """The commit continues with the restarted broker, or fails and the replay writes the batch."""
    job = Job(spark, own_broker, unique_name, tmp_path, 2)
    with PausePoint() as point:
        run = job.run_here(point.options(step, 0))
        paused = point.wait(run.alive)
        own_broker.kill()
        own_broker.start()
        paused.resume()
        run.finish()
    assert len(job.seen()) in (0, ROWS, 2 * ROWS)
    job.complete()
