"""A query that copies a topic in micro-batches, run by drivers that tests kill; used by the crash tests of the sink."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter

from oncelog.spark.session import for_each_batch
from tests.conftest import RunningBroker
from tests.integration.spark.crash_query import source_of
from tests.integration.spark.kafka_records import Seen, committed, create_topic, eventually, produce
from tests.support.children import ends_with_us
from tests.support.restarted_queries import run_to_the_end
from tests.support.spark_faults import Paused, PausePoint

ROOT = Path(__file__).parents[4]
ROWS = 40
"""Records of a micro-batch; the topics have two partitions, which take turns."""


class Driver:
    """One run of the query in a process of its own."""

    def __init__(self, task: dict[str, object], log: Path) -> None:
        self._log = log
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.spark.crash_query", json.dumps(task)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        ends_with_us(self.process.pid)
        self._pids: list[int] = []

    def pids(self) -> list[int]:
        """Process ids of Python and of the JVM, which the program prints once it has a session."""
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
        self.process.wait(120)

    def finish(self, *, timeout_s: float = 180) -> int:
        return self.process.wait(timeout_s)


class Here:
    """One run of the query in this process, for a driver that is not to die: it starts no JVM."""

    def __init__(self, run: Callable[[], object]) -> None:
        self._error: PySparkException | None = None
        self._thread = threading.Thread(target=self._keep_error_of, args=(run,), daemon=True)
        self._thread.start()

    def _keep_error_of(self, run: Callable[[], object]) -> None:
        try:
            run()
        except PySparkException as error:
            self._error = error

    def alive(self) -> bool:
        return self._thread.is_alive()

    def finish(self, *, timeout_s: float = 180) -> PySparkException | None:
        """The error with which it ended, None if it did what it had to."""
        self._thread.join(timeout_s)
        assert not self.alive(), f"the query did not end in {timeout_s} s"
        return self._error


class Job:
    """A query with its topics and its checkpoint, run as often as needed."""

    def __init__(
        self,
        spark: SparkSession,
        broker: RunningBroker,
        name: str,
        folder: Path,
        batches: int,
        *,
        collected: bool = False,
    ) -> None:
        """:param collected: by ``for_each_batch``, whose batches the driver collects, all but the first of a run."""
        self._spark = spark
        self._collected = collected
        self.address = broker.bootstrap_servers
        self.sink = f"{name}-out"
        self._source = f"{name}-in"
        self._folder = folder
        self.batches = batches
        create_topic(self.address, self._source, 1)
        create_topic(self.address, self.sink, 2)
        self._produce(0, batches)

    def _produce(self, first: int, end: int) -> None:
        produce(self.address, self._source, [b"%d:v" % n for n in range(first * ROWS, end * ROWS)])

    def moved_to(self, address: str, more: int) -> None:
        """The topics have moved with everything in them; produces enough for the given number of further batches."""
        self.address = address
        self._produce(self.batches, self.batches + more)
        self.batches += more

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
            "collected": self._collected,
        }
        driver = Driver(task, self._folder / "driver.log")
        try:
            yield driver
        finally:
            if driver.alive():
                driver.kill()

    def run_here(self, options: dict[str, str]) -> Here:
        """A run in this process, with the options of a pause."""
        writer = self._writer("oncelog_paused").options(**options)

        def run() -> None:
            self._spark.createDataFrame([], "key int")  # makes the session, with its data sources, this thread's
            run_to_the_end(writer.start)

        return Here(run)

    def complete(self) -> None:
        """Run to the end, then check the result."""
        writer = self._stream().foreachBatch(for_each_batch(self._sink)) if self._collected else self._writer("oncelog")
        run_to_the_end(writer.start)
        self.check(self.batches)

    @property
    def _sink(self) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.address, "topic": self.sink}

    def _stream(self) -> DataStreamWriter:
        stream = source_of(self._spark, self.address, self._source, ROWS).writeStream
        return stream.option("checkpointLocation", str(self._folder / "checkpoint")).trigger(availableNow=True)

    def _writer(self, data_source: str) -> DataStreamWriter:
        return self._stream().format(data_source).options(**self._sink)

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
