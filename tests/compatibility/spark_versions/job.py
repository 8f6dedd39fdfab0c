"""What the tests of PySpark's versions run in each environment: queries and writes, in a process that may be killed.

Run as ``python -m tests.compatibility.spark_versions.job TASKS``; prints its process ids first, then JSON, a line for
each result. With ``--more`` after them it then carries out the tasks of each line that it reads, all in one session,
and ends each such line with ``{"end": ERROR}``, which is null if they succeeded. It imports nothing that only the
environment of the tests has.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from oncelog.errors import OncelogError
from oncelog.spark.session import for_each_batch, session, write
from oncelog.spark.sink.engine import BatchStep, Observer, ignore
from oncelog.spark.versions import HAS_DATA_SOURCES
from tests.support.private_spark_apis import missing_names
from tests.support.spark_faults import Fault, FaultOnce, Faults, PauseAt

QUICK = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8",  # so that a task has several, as with many rows
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


def at(task: dict[str, Any]) -> dict[str, str]:
    return {"kafka.bootstrap.servers": task["servers"]}


def numbers(spark: SparkSession, first: int, end: int) -> DataFrame:
    """Records whose key and value are a number."""
    text = "cast(cast(id as string) as binary)"
    return spark.range(first, end).selectExpr(f"{text} as key", f"{text} as value")


def source(spark: SparkSession, task: dict[str, Any]) -> DataFrame:
    """The keys and values of a topic as a stream, by our source, or by Spark's own where there is none.

    With ``named``, of several topics, each by a source with a name.
    """

    def read(topic: str, name: str = "") -> DataFrame:
        reader = spark.readStream.format("oncelog" if HAS_DATA_SOURCES else "kafka")
        options = at(task) | {"subscribe": topic, "startingOffsets": task.get("starting", "earliest")}
        options |= {"maxOffsetsPerTrigger": str(task["rows"])}
        reader = reader.options(**options)
        return (reader.name(name) if name else reader).load().select("key", "value")

    named = [read(topic, name) for name, topic in task.get("named", {}).items()]
    return reduce(DataFrame.union, named) if named else read(task["source"])


def run_write(spark: SparkSession, task: dict[str, Any]) -> None:
    """A batch by ``write``, or by ``format("oncelog")``."""
    rows = numbers(spark, *task["range"])
    options = at(task) | {"topic": task["sink"]}
    if task["by"] == "format":
        rows.write.format("oncelog").options(**options).mode("append").save()
        say(["format", rows.count()])
    else:
        done = write(rows, options | {"writers": task["by"]})
        say([done.path, done.rows])


def run_read(spark: SparkSession, task: dict[str, Any]) -> None:
    """A batch read."""
    rows = spark.read.format("oncelog").options(**at(task), subscribe=task["source"]).load()
    say(sorted(int(row.value) for row in rows.selectExpr("cast(value as string) as value").collect()))


def observer(task: dict[str, Any], folder: Path) -> Observer:
    observers: list[Observer] = [PauseAt(step, batch, port, folder) for step, batch, port in task.get("pauses", ())]
    observers += [
        FaultOnce(folder, BatchStep(step), Fault(fault), batch) for fault, step, batch in task.get("faults", ())
    ]
    return Faults(observers) if observers else ignore


def run_stream(spark: SparkSession, task: dict[str, Any]) -> None:
    """Copies a topic until nothing is left, by ``format("oncelog")`` or by ``for_each_batch``."""
    options = at(task) | {"topic": task["sink"]}
    folder = Path(task["folder"])
    writer = source(spark, task).writeStream.option("checkpointLocation", task["checkpoint"])
    if task["by"] == "format":
        from tests.support.pausing_source import PausingDataSource

        spark.dataSource.register(PausingDataSource)
        writer = writer.format("oncelog_paused").options(**options, **task.get("options", {}))
    else:
        sink = for_each_batch(
            options | {"writers": task["by"]},
            observe=observer(task, folder),
            on_written=lambda done: say([done.path, done.batch_id, done.rows]),
        )
        writer = writer.foreachBatch(sink)
    if task.get("until") == "stopped":
        query = writer.start()
        query.processAllAvailable()
        query.stop()
    else:
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
    sizes = [progress["numInputRows"] for progress in map(as_dict, query.recentProgress)]
    say({"batches": [size for size in sizes if size]})


def as_dict(progress: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(progress.json) if hasattr(progress, "json") else progress
    return found


def run_sql(spark: SparkSession, task: dict[str, Any]) -> None:
    """Statements, and the rows of each: text, whatever its type."""
    for statement in task["statements"]:
        rows = spark.sql(statement).collect()
        say([[None if cell is None else cell_text(cell) for cell in row] for row in rows])


def cell_text(cell: object) -> str:
    return bytes(cell).decode() if isinstance(cell, bytes | bytearray) else str(cell)


def run_nothing(spark: SparkSession, task: dict[str, Any]) -> None:
    """Only the session is started."""


def run_private(spark: SparkSession, task: dict[str, Any]) -> None:
    """Say which of the private APIs that are used are missing."""
    say(missing_names(spark))


RUNS = {
    "nothing": run_nothing,
    "write": run_write,
    "read": run_read,
    "stream": run_stream,
    "sql": run_sql,
    "private": run_private,
}


def main() -> None:
    tasks = json.loads(sys.argv[1])
    first = tasks[0]
    settings = QUICK | first.get("settings", {}) | ({"spark.jars": first["jars"]} if first.get("jars") else {})
    spark = session("versions", master=first.get("master", "local[2]"), settings=settings)
    spark.sparkContext.setLogLevel(first.get("level", "ERROR"))
    jvm = spark._jvm
    assert jvm is not None
    say([os.getpid(), jvm.java.lang.ProcessHandle.current().pid()])
    for task in tasks:
        RUNS[task["run"]](spark, task)
    if sys.argv[2:] == ["--more"]:
        for line in sys.stdin:
            say({"end": error_of(spark, json.loads(line))})
    spark.stop()


def error_of(spark: SparkSession, tasks: list[dict[str, Any]]) -> str | None:
    """Carry out the tasks, and say what stopped them."""
    try:
        for task in tasks:
            RUNS[task["run"]](spark, task)
    except (OncelogError, PySparkException):
        return traceback.format_exc()
    return None


if __name__ == "__main__":
    main()
