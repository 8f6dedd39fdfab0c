"""The crash matrix of the executors' path on a standalone cluster: two workers with two executors each, speculation on.

``make soak``: each run starts a driver and four executors. ``test_executors.py`` is the short form.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from oncelog.spark.sink.engine import BatchStep
from tests.conftest import RunningBroker
from tests.integration.conformance.features import set_transaction_version
from tests.integration.spark.driver_process import TIMEOUT_S, DriverProcess
from tests.integration.spark.executors.executors_query import BEFORE, DiesWithRows
from tests.integration.spark.kafka_records import committed, create_topic, eventually, produce
from tests.integration.spark.sink.test_sink_crashes import OncelogProcess, Restartable
from tests.support.apache_kafka import ApacheKafka
from tests.support.spark_cluster import SparkCluster
from tests.support.spark_faults import Fault, FaultOnce, NotReached, PausePoint

pytestmark = [pytest.mark.crash, pytest.mark.soak, pytest.mark.timeout(3000)]

ROWS = 400
"""Records of a micro-batch."""
PARTITIONS = 8
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
WRITING = (BEFORE, BatchStep.HALF_PRODUCED, BatchStep.PRODUCED)
"""Before, in and after the writes of a task."""
TWO_WRITERS: dict[str, Any] = {"options": {"writers": "2"}, "settings": {"spark.cores.max": "2"}}
"""Steps at which a query is started several times, or twice at once."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    with SparkCluster(java_options=QUICK, hosts=True) as running:
        yield running


@pytest.fixture(
    params=[
        pytest.param((kind, level), id=f"{kind}-{level}", marks=[pytest.mark.kafka] if kind == "kafka" else [])
        for kind in ("oncelog", "kafka")
        for level in (2, 1, 0)
    ]
)
def own_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Restartable]:
    """A broker for this test alone, by kind and ``transaction.version``."""
    kind, level = request.param
    with ExitStack() as stack:
        broker: Restartable
        if kind == "oncelog":
            broker = ours = OncelogProcess(tmp_path / "broker").start()
            stack.callback(ours.kill)
        else:
            broker = stack.enter_context(ApacheKafka(tmp_path / "broker"))
        set_transaction_version(broker.bootstrap_servers, level)
        yield broker


class Job:
    """A query with its topics and its checkpoint."""

    def __init__(self, cluster: SparkCluster, broker: RunningBroker, name: str, folder: Path, batches: int) -> None:
        self._cluster = cluster
        self.address = broker.bootstrap_servers
        self.sink = f"{name}-out"
        self._source = f"{name}-in"
        self.folder = folder
        self.batches = batches
        create_topic(self.address, self._source, 2)
        create_topic(self.address, self.sink, PARTITIONS)
        for partition in (0, 1):
            numbers = range(partition, batches * ROWS, 2)
            produce(self.address, self._source, [b"%d:v" % n for n in numbers], partition=partition)

    @contextmanager
    def run(self, *faults: tuple[Fault, BatchStep, int], **task: Any) -> Iterator[DriverProcess]:
        run = DriverProcess(
            "tests.integration.spark.executors.executors_query",
            {
                "master": self._cluster.master,
                "servers": self.address,
                "source": self._source,
                "sink": self.sink,
                "checkpoint": str(self.folder / "checkpoint"),
                "folder": str(self.folder),
                "rows": ROWS,
                "shuffle": False,
                "options": {"writers": "4"},
                "slots_timeout_s": 120,  # executors come back slowly on a busy machine
                "faults": [(fault.value, step.value, batch) for fault, step, batch in faults],
            }
            | task,
            self.folder / "driver.log",
        )
        try:
            yield run
        finally:
            if run.alive():
                run.kill()

    def complete(self, *faults: tuple[Fault, BatchStep, int], **task: Any) -> None:
        """Run to the end, then check the result."""
        with self.run(*faults, **task) as run:
            status, log = run.finish()
            assert status == 0, log[-4000:]
        for fault, step, batch in faults:
            assert FaultOnce(self.folder, step, fault, batch).happened
        self.check()

    def check(self, batches: int | None = None) -> None:
        """Each record of the first micro-batches, or of the whole source, is visible once, and no other."""
        wanted = list(range((self.batches if batches is None else batches) * ROWS))
        eventually(lambda: sorted(self.numbers()), wanted, timeout_s=60)

    def numbers(self) -> list[int]:
        return [int(record.key or b"") for record in committed(self.address, self.sink)]

    def executors(self) -> list[psutil.Process]:
        """The JVMs that run the tasks."""
        return [
            process
            for worker in self._cluster.workers
            for process in psutil.Process(worker.pid).children()
            if any("CoarseGrainedExecutorBackend" in word for word in process.cmdline())
        ]

    def ends(self) -> int:
        """Records in the log, aborted ones included."""
        return len(committed(self.address, self.sink, isolation="read_uncommitted"))


@pytest.fixture
def job(cluster: SparkCluster, own_broker: Restartable, unique_name: str, tmp_path: Path) -> Job:
    return Job(cluster, own_broker, unique_name, tmp_path, 6)


def test_executors_and_workers_killed_around_their_writes_write_each_row_once(job: Job) -> None:
    """One fault in each batch, of rows whose order and place change whenever Spark repeats a task.

    In the first batch an executor dies before that, so that Spark repeats a part of the stage that made the rows.
    """
    kinds = [(fault, step) for fault in (Fault.KILL_WORKER, Fault.KILL_EXECUTOR) for step in WRITING]
    job.complete(*((fault, step, batch) for batch, (fault, step) in enumerate(kinds)), shuffle=True)
    assert DiesWithRows(job.folder).fault.happened


def test_an_executor_lost_before_the_other_writers_end_writes_each_row_once(job: Job) -> None:
    """Its report has reached the driver, and the others' follow: nothing is written again."""
    with PausePoint() as point, job.run(hold=pause(point, BatchStep.PRODUCED, 0)) as run:
        paused = point.wait(run.alive, timeout_s=TIMEOUT_S)
        assert run.line() == "the others have ended"
        held = psutil.Process(paused.pid).parents()[1].pid
        next(executor for executor in job.executors() if executor.pid != held).kill()
        eventually(lambda: "Lost executor" in run.log(), True, timeout_s=TIMEOUT_S)
        paused.resume()
        status, log = run.finish()
        assert status == 0, log[-4000:]
    job.check()


def test_a_speculative_copy_of_a_task_writes_no_record_twice(job: Job) -> None:
    """The copy that ends first counts; nothing is written twice."""
    eager = {
        "spark.speculation.interval": "100ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.1",
    }
    job.complete(speculate=True, settings=eager)
    assert (job.folder / "speculated").exists()


def test_a_stage_that_spark_repeats_in_part_rewrites_the_whole_batch(job: Job) -> None:
    """Files that cannot be fetched, although no executor is lost, and rows that move to other tasks when they are
    made again.
    """
    job.complete(lose_files=True, settings={"spark.locality.wait": "0"})
    assert (job.folder / "lost").exists()
    assert "the batch is computed and written again" in (job.folder / "driver.log").read_text()


def test_executors_lost_between_the_jobs_of_a_table_duplicate_and_lose_no_row(
    cluster: SparkCluster, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """Spark repeats what was lost as the first attempt of another stage, and with it rows move to other tasks."""
    job, table = Job(cluster, oncelog_broker, unique_name, tmp_path, 2), tmp_path / "copied.db"
    with job.run(table=str(table)) as run:
        eventually(lambda: len(list(tmp_path.glob("waits-*"))), 2, timeout_s=TIMEOUT_S)  # one partition ahead
        others = [one for one in job.executors() if not (tmp_path / f"waits-{one.pid}").exists()]
        for one in others:
            one.kill()
        eventually(lambda: run.log().count("Lost executor") >= len(others), True, timeout_s=TIMEOUT_S)
        (tmp_path / "known").touch()
        status, log = run.finish()
    assert status == 0, log[-4000:]
    assert "the batch is computed and written again" in log
    with contextlib.closing(sqlite3.connect(table)) as connection:
        keys = connection.execute("SELECT CAST(CAST(key AS TEXT) AS INTEGER) FROM copied").fetchall()
    assert sorted(key for (key,) in keys) == list(range(2 * ROWS))


def test_stopped_executors_that_wake_up_after_the_next_attempt_change_nothing(job: Job) -> None:
    """One has written half under an older epoch, and one has not begun."""
    faults = [(Fault.STOP_EXECUTOR, step, batch) for batch, step in enumerate((BatchStep.HALF_PRODUCED, BEFORE))]
    with job.run(*faults) as run:
        for fault, step, batch in faults:
            written = run.line()
            assert (written["batch_id"], written["path"]) == (batch, "executors")
            worker, executor = FaultOnce(job.folder, step, fault, batch).pids()
            for pid in (executor, worker):
                try:
                    os.kill(pid, signal.SIGCONT)
                except ProcessLookupError:  # Spark's worker has killed the JVM by now
                    continue
            _await_end(worker)
        status, log = run.finish()
        assert status == 0, log[-4000:]
    job.check()


def _await_end(pid: int) -> None:
    deadline = time.monotonic() + 120
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, f"the zombie {pid} lives on"
        time.sleep(0.2)


def test_a_driver_killed_at_every_step_writes_each_batch_once(
    cluster: SparkCluster, own_broker: Restartable, unique_name: str, tmp_path: Path
) -> None:
    """Run n pauses at step n of batch n and is killed there; the next run settles batch n and continues to its own."""
    steps = list(BatchStep)
    job = Job(cluster, own_broker, unique_name, tmp_path, len(steps) + 1)
    with PausePoint() as point:
        for batch, step in enumerate(steps):
            with job.run(pauses=[pause(point, step, batch)], **TWO_WRITERS) as run:
                paused = point.wait(run.alive, timeout_s=TIMEOUT_S)
                run.kill()
                paused.connection.close()
            job.check(batch + 1 if step is BatchStep.COMMITTED else batch)
    job.complete(**TWO_WRITERS)


def test_a_broker_killed_at_three_steps_and_restarted_has_each_batch_once(job: Job, own_broker: Restartable) -> None:
    """The batch continues with the restarted broker, or fails and the replay writes it."""
    with PausePoint() as point:
        pauses = [
            pause(point, step, batch)
            for batch, step in enumerate((BatchStep.FENCED, BatchStep.PRODUCED, BatchStep.MARKER_ADDED))
        ]
        while pauses:
            with job.run(pauses=pauses) as run:
                try:
                    while pauses:
                        paused = point.wait(run.alive, timeout_s=TIMEOUT_S)
                        pauses.remove(pause(point, paused.step, paused.batch_id))
                        own_broker.kill()
                        own_broker.start()
                        paused.resume()
                except NotReached:
                    continue
                run.finish()
    job.complete()


def test_two_runs_of_a_query_write_each_batch_once(job: Job) -> None:
    """The one that is overtaken fails without effect, and does not fence the other in turn."""
    with PausePoint() as point, job.run(pauses=[pause(point, BatchStep.HALF_PRODUCED, 1)], **TWO_WRITERS) as overtaken:
        paused = point.wait(overtaken.alive, timeout_s=TIMEOUT_S)
        job.complete(**TWO_WRITERS)
        before = job.ends()
        paused.resume()
        status, log = overtaken.finish()
        assert status != 0
        assert "has taken over" in log or "another run of the query has gone on" in log
        assert job.ends() == before
    job.check()


def test_after_the_loss_of_a_worker_fewer_writers_write_the_batch(
    own_broker: Restartable, unique_name: str, tmp_path: Path
) -> None:
    with SparkCluster(java_options=QUICK) as small, PausePoint() as point:
        job = Job(small, own_broker, unique_name, tmp_path, 3)
        with job.run(pauses=[pause(point, BatchStep.HALF_PRODUCED, 0)], options={}, slots_timeout_s=10) as run:
            paused = point.wait(run.alive, timeout_s=TIMEOUT_S)
            small.kill_worker(0)
            paused.resume()
            assert run.line()["writers"] in (2, 4)
            assert run.line()["writers"] == 2
            assert run.finish()[0] == 0
        job.check()


def pause(point: PausePoint, step: BatchStep, batch: int) -> list[str]:
    return list(point.options(step, batch).values())
