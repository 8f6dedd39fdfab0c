"""The crash matrix of the sink: drivers, brokers and zombies at each step, against our broker and Apache Kafka.

A query copies a topic in micro-batches; each run pauses inside the commit of one of them, and there something is
killed. What confluent-kafka sees (read_committed) is checked right after, and at the end: every record once,
in order within its partition.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest
from pyspark.sql import SparkSession

from oncelog.spark.sink_protocol import Step
from tests.spark.crash_query import run_to_the_end, source_of
from tests.spark.kafka_records import Seen, committed, create_topic, eventually, produce, wait_until_settled
from tests.support.apache_kafka import ApacheKafka
from tests.support.spark_faults import Paused, PausePoint

pytestmark = [pytest.mark.crash, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
ROWS = 40
"""Records of a micro-batch; the topics have two partitions, one record key in turn for each."""


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


class Driver:
    """One run of the query in a process of its own."""

    def __init__(self, task: dict[str, object], log: Path) -> None:
        self._log = log
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.crash_query", json.dumps(task)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._pids: list[int] = []

    def pids(self) -> list[int]:
        """Of Python and of the JVM, which the program prints when the session is there."""
        if not self._pids:
            stdout = self.process.stdout
            assert stdout is not None
            ready, _, _ = select.select([stdout], [], [], 120)
            line = stdout.readline() if ready else ""
            assert line, f"the driver did not start:\n{self._log.read_text()[-2000:]}"
            self._pids = json.loads(line)
        return self._pids

    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self, *others: int) -> None:
        for pid in [*self.pids(), *others]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(30)

    def finish(self, *, timeout_s: float = 180) -> int:
        return self.process.wait(timeout_s)


class Job:
    """A query with its topics and its checkpoint, run as often as it takes."""

    def __init__(self, spark: SparkSession, broker: RunningBroker, name: str, folder: Path, batches: int) -> None:
        self._spark = spark
        self.address = broker.bootstrap_servers
        self.sink = f"{name}-out"
        self._source = f"{name}-in"
        self._folder = folder
        self.batches = batches
        create_topic(self.address, self._source, 1)
        create_topic(self.address, self.sink, 2)
        produce(self.address, self._source, [b"%d:v" % n for n in range(batches * ROWS)])

    @contextmanager
    def run(self, options: dict[str, str]) -> Iterator[Driver]:
        """A run in a process of its own, with the options of a pause."""
        task: dict[str, object] = {
            "servers": self.address,
            "source": self._source,
            "sink": self.sink,
            "checkpoint": str(self._folder / "checkpoint"),
            "rows": ROWS,
            "options": options,
        }
        driver = Driver(task, self._folder / "driver.log")
        try:
            yield driver
        finally:
            if driver.alive():
                driver.kill()

    def complete(self) -> None:
        """A run to the end, then the proof."""
        stream = source_of(self._spark, self.address, self._source, ROWS)
        writer = (
            stream.writeStream.format("oncelog")
            .option("kafka.bootstrap.servers", self.address)
            .option("topic", self.sink)
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .trigger(availableNow=True)
        )
        run_to_the_end(writer.start)
        self.check(self.batches)

    def seen(self) -> list[Seen]:
        return committed(self.address, self.sink)

    def check(self, batches: int) -> None:
        """Exactly the records of the first ``batches`` micro-batches are visible, in order."""
        eventually(lambda: sorted(map(number_of, self.seen())), list(range(batches * ROWS)))
        seen = self.seen()
        for partition in (0, 1):
            inside = [number_of(record) for record in seen if record.partition == partition]
            assert inside == sorted(inside)


def number_of(record: Seen) -> int:
    return int((record.value or b"").split(b":")[0])


def wait_paused(point: PausePoint, driver: Driver) -> Paused:
    driver.pids()
    return point.wait(driver.alive)


DECISIVE = (Step.HALF_PRODUCED, Step.MARKER_ADDED, Step.COMMITTED)
"""A part of the data is in, all of it with its marker is, it is committed: what the next run finds differs."""


@pytest.mark.parametrize(
    "steps",
    [pytest.param(DECISIVE, id="decisive"), pytest.param(tuple(Step), id="every", marks=pytest.mark.soak)],
)
def test_driver_killed_at_steps_of_the_commit(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path, steps: Sequence[Step]
) -> None:
    """Run n pauses at step n of batch n and is killed there; the next run settles batch n and goes on to its own.

    ``test_commit.py`` stops at every step, without a driver that dies.
    """
    job = Job(spark, broker, unique_name, tmp_path, len(steps) + 1)
    with PausePoint() as point:
        for batch, step in enumerate(steps):
            with job.run(point.options(step, batch)) as driver:
                paused = wait_paused(point, driver)
                driver.kill(paused.pid)
            job.check(batch + 1 if step is Step.COMMITTED else batch)
    job.complete()


def test_driver_killed_while_end_txn_is_under_way(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """The answer is never seen: the batch is in as a whole or not at all, and the next run finds out which."""
    job = Job(spark, broker, unique_name, tmp_path, 2)
    with PausePoint() as point, job.run(point.options(Step.MARKER_ADDED, 0)) as driver:
        paused = wait_paused(point, driver)
        driver.pids()
        paused.resume()
        driver.kill(paused.pid)
    job.complete()


@pytest.mark.parametrize("step", [Step.STARTED, Step.MARKER_ADDED])
def test_zombie_commit_and_its_successor_write_the_batch_once(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path, step: Step
) -> None:
    """A paused driver wakes up after another one has written its batch from the same checkpoint.

    Where it had been fenced, it fails; where it had not begun, it fences in turn, finds the marker and skips.
    """
    job = Job(spark, broker, unique_name, tmp_path, 2)
    with PausePoint() as point, job.run(point.options(step, 0)) as zombie:
        paused = wait_paused(point, zombie)
        job.complete()
        paused.resume()
        zombie.finish()
    job.check(2)


def test_transaction_that_times_out_before_its_end_is_written_by_the_replay(
    spark: SparkSession, timeout_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    job = Job(spark, timeout_broker, unique_name, tmp_path, 2)
    with PausePoint() as point:
        options = point.options(Step.MARKER_ADDED, 0) | {"kafka.transaction.timeout.ms": "1000"}
        with job.run(options) as driver:
            paused = wait_paused(point, driver)
            wait_until_settled(job.address, job.sink)
            paused.resume()
            assert driver.finish() != 0
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
        ready, _, _ = select.select([stdout], [], [], 30)
        line = stdout.readline() if ready else ""
        found = next((word for word in line.replace(",", " ").split() if word.startswith("127.0.0.1:")), "")
        assert found, f"no address in what serve printed: {line!r}"
        self._address = found.rstrip(".")
        return self

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None


@pytest.fixture(params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def own_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Restartable]:
    """A broker of this test alone, durable, that it may kill."""
    if request.param == "oncelog":
        ours = OncelogProcess(tmp_path / "broker").start()
        yield ours
        ours.kill()
    else:
        with ApacheKafka(tmp_path / "broker") as kafka:
            yield kafka


@pytest.fixture(params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def timeout_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningBroker]:
    """A broker that looks twice a second for transactions past their timeout."""
    if request.param == "oncelog":
        from oncelog import Broker

        with Broker(settings=FAST_TIMEOUT) as ours:
            yield ours
    else:
        with ApacheKafka(tmp_path / "broker", FAST_TIMEOUT) as kafka:
            yield kafka


@pytest.mark.parametrize("step", [Step.FENCED, Step.MARKER_ADDED])
def test_broker_killed_inside_the_commit_and_started_again(
    spark: SparkSession, own_broker: Restartable, unique_name: str, tmp_path: Path, step: Step
) -> None:
    """The commit goes on with the broker that is back, or fails and the replay writes the batch."""
    job = Job(spark, own_broker, unique_name, tmp_path, 2)
    with PausePoint() as point, job.run(point.options(step, 0)) as driver:
        paused = wait_paused(point, driver)
        own_broker.kill()
        own_broker.start()
        paused.resume()
        driver.finish()
    assert len(job.seen()) in (0, ROWS, 2 * ROWS)
    job.complete()
