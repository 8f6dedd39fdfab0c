"""Spark's side of the benchmark of micro-batches: a query for each step, and what Spark and the sink report about it.

Called by :mod:`benchmarks.spark_job` for :mod:`benchmarks.micro_batches`. The floors, which do no work of a connector,
are defined here too: a Python source whose plan is empty or whose rows are there already, a Python sink that does
nothing, and functions of ``foreachBatch`` that do nothing, collect the rows, or write them with Spark's own connector.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)

from oncelog.spark.data_source import OncelogDataSource
from oncelog.spark.private_apis.streams import CHECKPOINT_FILES, plain_checkpoint_files
from oncelog.spark.session import for_each_batch
from oncelog.spark.sink.engine import BatchStep

_TIMED = "oncelog-timed"
_FLOOR, _NOTHING = "python-floor", "python-nothing"


class FloorReader(DataSourceStreamReader):
    """A source that has a new batch whenever Spark asks for its latest offset. A batch has no partitions, or two
    partitions that together yield ``rows`` prepared rows.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def initialOffset(self) -> dict[str, int]:
        return {"batch": 0}

    def latestOffset(self, start: dict[str, int], limit: object) -> dict[str, int]:
        return {"batch": start["batch"] + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [InputPartition(number) for number in range(2 if self._rows else 0)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        count = self._rows - self._rows // 2 if partition.value else self._rows // 2
        values = pa.array([b"x" * 110] * count, pa.binary())
        yield pa.record_batch([values, values], names=["key", "value"])


class NoWriter(DataSourceStreamArrowWriter):
    """A sink that reads its rows and drops them."""

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        pass


class FloorSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return _FLOOR

    def schema(self) -> str:
        return "key binary, value binary"

    def streamReader(self, schema: object) -> DataSourceStreamReader:
        return FloorReader(int(self.options["rows"]))


class NothingSink(DataSource):
    @classmethod
    def name(cls) -> str:
        return _NOTHING

    def streamWriter(self, schema: object, overwrite: bool) -> NoWriter:  # type: ignore[override]
        return NoWriter()


class Steps:
    """Records in a file when each step of a batch was reached, because the sink's steps run in two processes."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, step: BatchStep, batch_id: int | None) -> None:
        with open(self._path, "a") as file:
            file.write(json.dumps([batch_id, step.value, time.time() * 1000]) + "\n")


class TimedSource(OncelogDataSource):
    """``format("oncelog")`` that records the times of its steps."""

    def __init__(self, options: Mapping[str, str]) -> None:
        own = {name: value for name, value in options.items() if name.lower() != "benchmarksteps"}
        super().__init__(own)
        self._steps = Steps(next(value for name, value in options.items() if name not in own))

    @classmethod
    def name(cls) -> str:
        return _TIMED

    def observe(self, step: BatchStep, batch_id: int | None) -> None:
        self._steps(step, batch_id)


def _source(spark: SparkSession, step: dict[str, Any]) -> DataFrame:
    """A stream of rows with key and value, this many in each batch, from the source that the step names."""
    if step["source"] == "rate":
        rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", step["rows"])
        return (
            rows.option("numPartitions", 2)
            .load()
            .selectExpr("cast(value as string) as key", "lpad(cast(value as string), 110, 'x') as value")
        )
    if step["source"] in ("empty", "ready"):
        return spark.readStream.format(_FLOOR).option("rows", step["rows"] * (step["source"] == "ready")).load()
    reader = spark.readStream.format(step["source"]).option("kafka.bootstrap.servers", step["servers"])
    reader = reader.option("subscribe", step["topic"]).option("startingOffsets", "earliest")
    return reader.option("maxOffsetsPerTrigger", step["rows"]).load().select("key", "value")


def _by_hand(options: dict[str, str]) -> Callable[[DataFrame, int], None]:
    """Writes the rows of a batch with Spark's own connector, for comparison; a repeated batch is written again."""

    def write(rows: DataFrame, batch_id: int) -> None:
        rows.write.format("kafka").options(**options).mode("append").save()

    return write


def _start(spark: SparkSession, step: dict[str, Any], folder: str) -> Any:
    """The running query."""
    writer = _source(spark, step).writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    options = {"kafka.bootstrap.servers": step["servers"], "topic": step["to"]}
    sink, steps = step["sink"].removesuffix("-plain"), f"{folder}/steps"
    writes: dict[str, Callable[[], Any]] = {
        "noop": lambda: writer.format("noop"),
        "nothing": lambda: writer.format(_NOTHING),
        "nothing-each": lambda: writer.foreachBatch(lambda rows, batch_id: None),
        "arrow-each": lambda: writer.foreachBatch(lambda rows, batch_id: rows.toArrow() and None),
        "kafka-each": lambda: writer.foreachBatch(_by_hand(options)),
        "kafka": lambda: writer.format("kafka").options(**options),
        "format": lambda: writer.format(_TIMED).options(**options, benchmarkSteps=steps),
        "each": lambda: writer.foreachBatch(for_each_batch(options, observe=Steps(steps))),
    }
    if not step["sink"].endswith("-plain"):
        return writes[sink]().start()
    spark.conf.set(CHECKPOINT_FILES, str(plain_checkpoint_files(spark)))
    try:
        return writes[sink]().start()
    finally:
        spark.conf.unset(CHECKPOINT_FILES)


def stream(spark: SparkSession, step: dict[str, Any]) -> dict[str, Any]:
    """Run a query for this many batches; returns the times of each counted batch in ms, and the CPU seconds per
    batch."""
    _register(spark)
    with tempfile.TemporaryDirectory() as folder:
        query = _start(spark, step, folder)
        try:
            last = step["skipped"] + step["batches"]
            began = _await_batch(query, step["skipped"] - 1), cpu_s(os.getpid())
            ended = _await_batch(query, last), cpu_s(os.getpid())
            reports = [json.loads(report.json) for report in query.recentProgress]
        finally:
            query.stop()
        jobs = _jobs(spark, str(query.runId))
        steps = _steps(Path(folder, "steps"))
    counted = [
        {"batch": report["batchId"], "rows": report["numInputRows"], "durations": report["durationMs"]}
        | {"jobs": jobs.get(report["batchId"], []), "steps": steps.get(report["batchId"], {})}
        for report in reports
        if step["skipped"] <= report["batchId"] < last and "addBatch" in report["durationMs"]
    ]
    return {"batches": counted, "cpu_s": cpu_since(began[1], ended[1]) / (ended[0] - began[0])}


def idle(spark: SparkSession, step: dict[str, Any]) -> dict[str, Any]:
    """Run a query that finds no rows; returns the CPU seconds a second of Spark's driver, including its descendants,
    and of the broker."""
    _register(spark)
    with tempfile.TemporaryDirectory() as folder:
        query = _start(spark, step, folder)
        try:
            _await(query, lambda: query._jsq.lastProgress() is not None)
            time.sleep(step["before_s"])
            begin, driver, broker = time.monotonic(), cpu_s(os.getpid()), cpu_s(step["broker"])
            time.sleep(step["seconds"])
            driver_s, broker_s = cpu_since(driver, cpu_s(os.getpid())), cpu_since(broker, cpu_s(step["broker"]))
            seconds = time.monotonic() - begin
        finally:
            query.stop()
    return {"driver_s": driver_s / seconds, "broker_s": broker_s / seconds}


def _register(spark: SparkSession) -> None:
    # pickle its classes by value, because workers cannot import this module
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    for source in (FloorSource, NothingSink, TimedSource):
        spark.dataSource.register(source)


def _await_batch(query: Any, number: int) -> int:
    """Wait until this batch is complete; returns the number of the last complete batch."""
    _await(query, lambda: int(query._jsq.lastProgress().batchId()) >= number)
    return int(query._jsq.lastProgress().batchId())


def _await(query: Any, done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not (query._jsq.lastProgress() is not None and done()):
        if query.exception() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the query did not do its batches: {query.exception()}")
        time.sleep(0.1)


def _jobs(spark: SparkSession, run_id: str) -> dict[int, list[tuple[int, int]]]:
    """The number of stages and the duration in ms of each job, by micro-batch."""
    store = spark.sparkContext._jsc.sc().statusStore()
    found: dict[int, list[tuple[int, int]]] = {}
    for number in spark.sparkContext.statusTracker().getJobIdsForGroup(run_id):
        job = store.job(number)
        description, ended = str(job.description().get()), job.completionTime()
        if " = " in description and ended.isDefined():
            took = int(ended.get().getTime()) - int(job.submissionTime().get().getTime())
            batch = description.rpartition("batch = ")[2].split()[0]
            if batch.isdecimal():
                found.setdefault(int(batch), []).append((int(job.stageIds().size()), took))
    return found


def _steps(path: Path) -> dict[int, dict[str, float]]:
    """The time in ms at which each step was reached, by micro-batch."""
    found: dict[int, dict[str, float]] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        batch, step, at_ms = json.loads(line)
        found.setdefault(batch, {})[step] = at_ms
    return found


def cpu_s(pid: int) -> dict[int, float]:
    """CPU seconds of a process and its descendants."""
    found, root = {}, psutil.Process(pid)
    for process in (root, *root.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # Spark starts a `chmod` for each file of a checkpoint
            times = process.cpu_times()
            found[process.pid] = times.user + times.system
    return found


def cpu_since(before: dict[int, float], now: dict[int, float]) -> float:
    """CPU seconds used during the block, without processes that have ended."""
    return sum(seconds - before.get(pid, 0.0) for pid, seconds in now.items())
