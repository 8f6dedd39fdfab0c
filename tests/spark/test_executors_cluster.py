"""The crash matrix of the executors' path on a standalone cluster: two workers with two executors each, speculation on.

``make soak``: each run starts a driver and four executors. ``test_executors.py`` is the short form.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oncelog.spark.sink_protocol import Step
from oncelog.testing.apache_kafka import ApacheKafka
from oncelog.testing.spark_cluster import SparkCluster
from oncelog.testing.spark_faults import Fault, FaultOnce, PausePoint
from tests.spark.kafka_records import committed, create_topic, eventually, produce
from tests.spark.test_sink_crashes import OncelogProcess, Restartable

pytestmark = [pytest.mark.crash, pytest.mark.soak, pytest.mark.timeout(3000)]

ROOT = Path(__file__).parents[2]
ROWS = 400
"""Records of a micro-batch."""
PARTITIONS = 8
WRITING = (Step.FENCED, Step.HALF_PRODUCED, Step.PRODUCED)
"""Before, in and after the writes of a task."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    with SparkCluster() as running:
        yield running


@pytest.fixture(params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def own_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Restartable]:
    if request.param == "oncelog":
        ours = OncelogProcess(tmp_path / "broker").start()
        yield ours
        ours.kill()
    else:
        with ApacheKafka(tmp_path / "broker") as kafka:
            yield kafka


class Run:
    """A driver in a process of its own, and what it says."""

    def __init__(self, task: dict[str, Any], log: Path) -> None:
        self._log = log
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.executors_query", json.dumps(task)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        self._buffer = b""
        self.pids: list[int] = self.line()

    def line(self, timeout_s: float = 600) -> Any:
        """What the driver says next."""
        stdout = self.process.stdout
        assert stdout is not None
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([stdout], [], [], 1)
            more = os.read(stdout.fileno(), 65536) if ready else b""
            if (ready and not more) or time.monotonic() > deadline:
                raise AssertionError(f"the driver ended or hangs:\n{self._log.read_text()[-3000:]}")
            self._buffer += more
        text, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(text)

    def finish(self) -> tuple[int, str]:
        """Exit status and log."""
        status = self.process.wait(900)
        return status, self._log.read_text()

    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(30)


class Job:
    """A query with its topics and its checkpoint."""

    def __init__(self, cluster: SparkCluster, broker: Restartable, name: str, folder: Path, batches: int) -> None:
        self._cluster = cluster
        self.address = broker.bootstrap_servers
        self.sink = f"{name}-out"
        self._source = f"{name}-in"
        self.folder = folder
        self.batches = batches
        create_topic(self.address, self._source, 2)
        create_topic(self.address, self.sink, PARTITIONS)
        produce(self.address, self._source, [b"%d:v" % n for n in range(batches * ROWS)])

    @contextmanager
    def run(self, *faults: tuple[Fault, Step, int], **task: Any) -> Iterator[Run]:
        run = Run(
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

    def complete(self, *faults: tuple[Fault, Step, int], **task: Any) -> None:
        """A run to the end, then the proof."""
        with self.run(*faults, **task) as run:
            status, log = run.finish()
            assert status == 0, log[-4000:]
        for fault, step, batch in faults:
            assert FaultOnce(self.folder, step, fault, batch).happened
        self.check()

    def check(self) -> None:
        """Each record of the source is visible once."""
        wanted = list(range(self.batches * ROWS))
        eventually(lambda: sorted(self.numbers()), wanted, timeout_s=60)

    def numbers(self) -> list[int]:
        return [int(record.key or b"") for record in committed(self.address, self.sink)]

    def ends(self) -> int:
        """Records in the log, aborted ones included."""
        return len(committed(self.address, self.sink, isolation="read_uncommitted"))


@pytest.fixture
def job(cluster: SparkCluster, own_broker: Restartable, unique_name: str, tmp_path: Path) -> Job:
    return Job(cluster, own_broker, unique_name, tmp_path, 3)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("fault", [Fault.KILL_WORKER, Fault.KILL_EXECUTOR])
def test_executor_or_its_worker_killed_before_in_and_after_its_writes(job: Job, fault: Fault, shuffle: bool) -> None:
    """One fault in each batch; ``shuffle`` makes the rows' order and place anew whenever Spark repeats a task."""
    job.complete(*((fault, step, batch) for batch, step in enumerate(WRITING)), shuffle=shuffle)


@pytest.mark.parametrize("step", [Step.STARTED, Step.HALF_PRODUCED])
def test_stopped_executor_that_wakes_up_after_the_next_attempt_changes_nothing(job: Job, step: Step) -> None:
    """The zombie holds an older epoch, or has not fenced yet and finds that its stage is over."""
    zombie = FaultOnce(job.folder, step, Fault.STOP_EXECUTOR, 0)
    with job.run((Fault.STOP_EXECUTOR, step, 0)) as run:
        assert run.line()["path"] == "executors"
        worker, executor = zombie.pids()
        before = job.ends()
        for pid in (executor, worker):
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:  # Spark's worker has killed the JVM by now
                continue
        status, log = run.finish()
        assert status == 0, log[-4000:]
    _await_end(worker)
    job.check()
    assert job.ends() >= before


def _await_end(pid: int) -> None:
    deadline = time.monotonic() + 120
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, f"the zombie {pid} lives on"
        time.sleep(0.2)


@pytest.mark.parametrize("step", list(Step))
def test_driver_killed_at_every_step(job: Job, step: Step) -> None:
    with PausePoint() as point, job.run(pause=list(point.options(step, 1).values())) as run:
        point.wait(run.alive, timeout_s=600)
        run.kill()
    assert len(job.numbers()) in (ROWS, 2 * ROWS)
    job.complete()


@pytest.mark.parametrize("step", [Step.FENCED, Step.PRODUCED, Step.MARKER_ADDED])
def test_broker_killed_and_started_again(job: Job, own_broker: Restartable, step: Step) -> None:
    """The batch goes on with the broker that is back, or fails and the replay writes it."""
    with PausePoint() as point, job.run(pause=list(point.options(step, 1).values())) as run:
        paused = point.wait(run.alive, timeout_s=600)
        own_broker.kill()
        own_broker.start()
        paused.resume()
        run.finish()
    job.complete()


def test_two_runs_of_a_query_write_each_batch_once(job: Job) -> None:
    """The one that is overtaken fails without effect, and does not fence the other in turn."""
    half = {"spark.cores.max": "2"}
    two = {"writers": "2"}
    with (
        PausePoint() as point,
        job.run(pause=list(point.options(Step.HALF_PRODUCED, 1).values()), options=two, settings=half) as overtaken,
    ):
        paused = point.wait(overtaken.alive, timeout_s=600)
        job.complete(options=two, settings=half)
        before = job.ends()
        paused.resume()
        status, log = overtaken.finish()
        assert status != 0
        assert "another run of this query has taken over" in log or "checkpoint" in log
        assert job.ends() == before
    job.check()


def test_worker_lost_for_good_leaves_the_batch_to_fewer_writers(
    own_broker: Restartable, unique_name: str, tmp_path: Path
) -> None:
    with SparkCluster() as small:
        job = Job(small, own_broker, unique_name, tmp_path, 3)
        with PausePoint() as point:
            pause = list(point.options(Step.HALF_PRODUCED, 0).values())
            with job.run(pause=pause, options={}) as run:
                paused = point.wait(run.alive, timeout_s=600)
                small.kill_worker(0)
                paused.resume()
                assert run.line()["writers"] in (2, 4)
                assert run.line()["writers"] == 2
                assert run.finish()[0] == 0
        job.check()
