"""The driver of the crash tests of the executors' path: copies a topic by ``for_each_batch`` on a cluster.

Run as a program, so that it can be killed: prints its process ids first, then a line for each batch that it wrote.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.functions import col, udf

from oncelog.spark.executors import Written, collected, scheduling
from oncelog.spark.executors import write as executors_write
from oncelog.spark.executors.barrier import BarrierWriter
from oncelog.spark.session import for_each_batch, session
from oncelog.spark.sink.engine import BatchStep
from oncelog.spark.tables.sink import to_table
from tests.integration.spark.crash_query import source_of
from tests.support.class_archive import QUICK_START, executors_options
from tests.support.restarted_queries import run_to_the_end
from tests.support.spark_faults import Fault, FaultOnce, Faults, PauseAt

CLUSTER = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.cores.max": "4",
    "spark.speculation": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.heartbeatInterval": "2s",
    "spark.network.timeout": "20s",
    "spark.network.timeoutInterval": "2s",
    "spark.deploy.maxExecutorRetries": "-1",
}


def dice(value: bytes) -> int:
    """A different number each time the row is computed."""
    return random.randrange(1000)


class BeforeItsWrites:
    """A writer that comes to :data:`BEFORE` first."""

    def __init__(self, writer: BarrierWriter, faults: list[FaultOnce]) -> None:
        self._writer = writer
        self._faults = faults

    def __call__(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for fault in self._faults:
            fault(BEFORE, self._writer.batch_id)
        yield from self._writer(rows)


BEFORE = BatchStep.MARKER_READ
"""The driver's last step before the writers begin: a fault at this step happens to a writer instead."""


class HeldAfterItsReport:
    """One writer of the first batch, which does not end before the others."""

    def __init__(self, writer: Any, pause: PauseAt) -> None:
        self._writer = writer
        self._pause = pause

    def __call__(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self._writer(rows)
        self._pause(BatchStep.PRODUCED, 0)


def wrap_writers(wrapped: Callable[[Any], Any]) -> None:
    map_in_arrow = ClassicDataFrame.mapInArrow

    def wrapping(frame: ClassicDataFrame, function: Any, schema: Any, barrier: bool = False) -> DataFrame:
        return map_in_arrow(frame, wrapped(function) if barrier else function, schema, barrier)

    ClassicDataFrame.mapInArrow = wrapping  # type: ignore[method-assign,assignment]


def say_when_others_have_ended(spark: SparkSession, writers: int) -> None:
    """The writer as the driver sees it."""

    def watch() -> None:
        tracker = spark.sparkContext.statusTracker()
        while True:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            if any(s and s.numTasks == writers and s.numCompletedTasks == writers - 1 for s in stages):
                break
            time.sleep(0.1)
        say("the others have ended")

    threading.Thread(target=watch, daemon=True).start()


class DiesWithRows:
    """At rows that another stage has made, the executor dies once, and what that stage left there is lost with it."""

    def __init__(self, folder: Path) -> None:
        self.fault = FaultOnce(folder, BatchStep.STARTED, Fault.KILL_EXECUTOR)

    def __call__(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        self.fault(BatchStep.STARTED, None)
        yield from rows


class LosesFiles:
    """At rows that another stage has made, a part of what it left disappears after some have been read. The
    executors stay.

    Tasks that began before still have the old rows; later ones have the rows that the stage makes again.
    """

    def __init__(self, folder: Path) -> None:
        self.lost = folder / "lost"

    def __call__(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        kept = list(rows)
        (self.lost.parent / f"read-{task.partitionId()}").touch()
        while not self.lost.exists():
            files = self._files()
            if files and len(list(self.lost.parent.glob("read-*"))) > 2:
                for file in files:
                    file.unlink(missing_ok=True)
                self.lost.touch()
            time.sleep(0.05)
        yield from kept

    def _files(self) -> list[Path]:
        """What the earliest shuffle left with the executors of this worker."""
        folders = os.environ["SPARK_EXECUTOR_DIRS"].split(os.pathsep)
        found = [file for folder in folders for file in Path(folder).rglob("shuffle_*_*_*.*")]
        first = min((int(file.name.split("_")[1]) for file in found), default=0)
        return [file for file in found if int(file.name.split("_")[1]) == first]


class WaitsWithRows:
    """Tasks that have read rows of another stage, and end when the driver knows that all executors without such a task
    are gone, and what that stage left there with them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from rows
        known = self._folder / "known"
        if not known.exists():
            (self._folder / f"waits-{psutil.Process().parents()[1].pid}").touch()
            while not known.exists():
                time.sleep(0.05)


class Overtaken:
    """A task of the first batch that continues only when its speculative copy has begun."""

    def __init__(self, folder: Path) -> None:
        self._copied = folder / "speculated"

    def __call__(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        if task.partitionId() == 0 and not self._copied.exists():
            if task.attemptNumber() > 0:
                self._copied.touch()
            while not self._copied.exists():
                time.sleep(0.05)
        yield from rows


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


def main() -> None:
    task = json.loads(sys.argv[1])
    executors_write.DRIVER_BYTES = 0  # so that auto lets the executors write what a test can afford
    collected.EXPECTED_BYTES = 0  # nor is a batch expected to be small
    scheduling.TIMEOUT_S = task["slots_timeout_s"]
    spark = session(
        "crash", master=task["master"], settings=QUICK_START | CLUSTER | executors_options() | task.get("settings", {})
    )
    spark.sparkContext.setLogLevel("WARN")
    jvm = spark._jvm
    assert jvm is not None
    say([os.getpid(), jvm.java.lang.ProcessHandle.current().pid()])
    folder = Path(task["folder"])
    faults = [
        (BatchStep(step), FaultOnce(folder, BatchStep(step), Fault(fault), batch))
        for fault, step, batch in task["faults"]
    ]
    observers: list[Any] = [fault for step, fault in faults if step is not BEFORE]
    observers += [PauseAt(step, batch, port, folder) for step, batch, port in task.get("pauses", ())]
    before = [fault for step, fault in faults if step is BEFORE]
    wrap_writers(lambda writer: BeforeItsWrites(writer, before))

    def written(batch: Written) -> None:
        say(asdict(batch))

    options = {"kafka.bootstrap.servers": task["servers"], "topic": task["sink"]} | task["options"]
    if "table" in task:
        sink = to_table({"format": "sqlite", "url": task["table"], "table": "copied"}, on_written=written)
    else:
        sink = for_each_batch(options, on_written=written, observe=Faults(observers))
    throw = udf(dice, "int").asNondeterministic()

    if task.get("hold"):
        held_step, held_batch, port = task["hold"]
        pause = PauseAt(held_step, held_batch, port, folder)
        wrap_writers(lambda writer: HeldAfterItsReport(writer, pause))
        say_when_others_have_ended(spark, 4)
    overtaken = Overtaken(folder)
    dies = DiesWithRows(folder)

    def write(rows: DataFrame, batch_id: int) -> None:
        rows = rows.mapInArrow(overtaken, rows.schema) if task.get("speculate") else rows
        if task["shuffle"]:
            rows = rows.repartition(3, throw(col("value"))).mapInArrow(dies, rows.schema)
        if task.get("lose_files") and batch_id == 0:
            rows = rows.repartition(12, throw(col("value"))).mapInArrow(LosesFiles(folder), rows.schema)
        if "table" in task:
            rows = rows.repartition(4, throw(col("value"))).mapInArrow(WaitsWithRows(folder), rows.schema)
        sink(rows, batch_id)

    writer = (
        source_of(spark, task["servers"], task["source"], task["rows"])
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", task["checkpoint"])
        .trigger(availableNow=True)
    )
    run_to_the_end(writer.start)


if __name__ == "__main__":
    main()
