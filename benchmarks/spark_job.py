"""Spark's side of the benchmarks, a separate program with one session: it gets steps as JSON, and prints the result of
each step as one line of JSON.

Each step has a kind of work and a format: `oncelog` or `kafka`, which is Spark's own connector.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import from_json

from benchmarks import spark_streams
from oncelog.spark.session import session
from oncelog.spark.session import write as session_write

ROW_BYTES = 110


def write(spark: SparkSession, step: dict[str, Any]) -> None:
    """Write rows made by Spark, with the sink's default settings; `oncelog` writes them in one transaction."""
    value = f"lpad(cast(id as string), {ROW_BYTES}, 'x')"
    rows = spark.range(0, step["rows"], 1, 2).selectExpr("cast(id as string) as key", f"{value} as value")
    writer = rows.write.format(step["format"]).option("kafka.bootstrap.servers", step["servers"])
    writer.option("topic", step["topic"]).mode("append").save()


def write_json(spark: SparkSession, step: dict[str, Any]) -> dict[str, Any]:
    """Write small JSON objects, a large part of each a digest, with a connector or with `executors`; the latter returns
    its path and byte counts."""
    value = (
        """concat('{"number": ', id, ', "name": "', md5(cast(id as string)), '", "text": "some words of a text"}')"""
    )
    rows = spark.range(0, step["rows"], 1, step["slices"]).selectExpr(
        "cast(id as string) as key", f"rpad({value}, {ROW_BYTES}, ' ') as value"
    )
    options = {"kafka.bootstrap.servers": step["servers"], "topic": step["topic"]} | step["options"]
    if step["format"] != "executors":
        rows.write.format(step["format"]).options(**options).mode("append").save()
        return {}
    written = session_write(rows, options)
    return {"path": written.path, "size_bytes": written.size_bytes, "result_bytes": result_bytes(spark)}


def result_bytes(spark: SparkSession) -> int:
    """Bytes that tasks have sent to the driver as results since the session began."""
    gateway: Any = spark.sparkContext._gateway
    quantiles = gateway.new_array(gateway.jvm.double, 0)
    store = spark.sparkContext._jsc.sc().statusStore()
    stages = store.stageList(None, False, False, quantiles, gateway.jvm.java.util.ArrayList())
    return sum(int(stages.apply(number).resultSize()) for number in range(stages.size()))


def read(spark: SparkSession, step: dict[str, Any]) -> None:
    """Read all columns of every record into a sink that drops them."""
    reader = spark.read.format(step["format"]).option("kafka.bootstrap.servers", step["servers"])
    rows = reader.option("subscribe", step["topic"]).option("startingOffsets", "earliest").load()
    rows.write.format("noop").mode("overwrite").save()


TEN_COLUMNS = (
    "id",
    "id % 100 as customer",
    "md5(cast(id as string)) as session",
    "id / 7 as price",
    "id % 2 = 0 as paid",
    "timestamp_millis(1700000000000 + id * 1000) as at",
    "cast(id % 5 as int) as quantity",
    "concat('item ', id % 1000) as item",
    "cast(id as decimal(12, 2)) as total",
    "array(id, id + 1) as related",
)


def _ten_columns(spark: SparkSession, rows: int) -> DataFrame:
    """Rows of ten columns, cached and already computed, so that the next step does not compute them."""
    columns = spark.range(0, rows, 1, 2).selectExpr(*TEN_COLUMNS).cache()
    columns.write.format("noop").mode("overwrite").save()
    return columns


def write_columns(spark: SparkSession, step: dict[str, Any]) -> dict[str, Any]:
    """Write ten columns as JSON, with a connector, with `executors` (our `write`) or to `noop`. The measured time does
    not include computing the rows."""
    columns = _ten_columns(spark, step["rows"])
    rows = columns.selectExpr("cast(id as string) as key", "to_json(struct(*)) as value")
    options = {"kafka.bootstrap.servers": step["servers"], "topic": step["topic"]}
    if step["format"] == "executors":
        return _timed(lambda: session_write(rows, options))
    writer = rows.write.format(step["format"])
    if step["format"] != "noop":
        writer = writer.options(**options)
    return _timed(lambda: writer.mode("append").save())


def read_columns(spark: SparkSession, step: dict[str, Any]) -> dict[str, Any]:
    """Parse every record's JSON into ten columns for a sink that drops them; `noop` parses cached JSON instead of
    records."""
    columns = _ten_columns(spark, step["rows"])
    if step["format"] == "noop":
        values = columns.selectExpr("to_json(struct(*)) as value").cache()
        values.write.format("noop").mode("overwrite").save()
    else:
        reader = spark.read.format(step["format"]).option("kafka.bootstrap.servers", step["servers"])
        reader = reader.option("subscribe", step["topic"]).option("startingOffsets", "earliest")
        values = reader.load().selectExpr("cast(value as string) as value")
    rows = values.select(from_json("value", columns.schema).alias("row")).select("row.*")
    return _timed(lambda: rows.write.format("noop").mode("overwrite").save())


def _timed(work: Callable[[], object]) -> dict[str, Any]:
    """Run ``work``; returns its seconds, and the CPU seconds of this process and its descendants."""
    begin, before = time.monotonic(), spark_streams.cpu_s(os.getpid())
    work()
    seconds = time.monotonic() - begin
    return {"seconds": seconds, "cpu_s": spark_streams.cpu_since(before, spark_streams.cpu_s(os.getpid()))}


def copy(spark: SparkSession, step: dict[str, Any]) -> None:
    """Run a streaming query that copies one topic to another in micro-batches, until all records are copied."""
    reader = spark.readStream.format(step["format"]).option("kafka.bootstrap.servers", step["servers"])
    reader = reader.option("subscribe", step["topic"]).option("startingOffsets", "earliest")
    rows = reader.option("maxOffsetsPerTrigger", step["batch_rows"]).load().select("key", "value")
    writer = rows.writeStream.format(step["format"]).option("kafka.bootstrap.servers", step["servers"])
    writer = writer.option("topic", step["to"]).option("checkpointLocation", step["checkpoint"])
    writer.trigger(availableNow=True).start().awaitTermination()


WORK = {
    "write": write,
    "write_json": write_json,
    "read": read,
    "write_columns": write_columns,
    "read_columns": read_columns,
    "copy": copy,
    "stream": spark_streams.stream,
    "idle": spark_streams.idle,
}


def main() -> None:
    task = json.loads(sys.argv[1])
    settings = {"spark.jars": ",".join(task["jars"]), **task["settings"]}
    if task["master"]:
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    spark = session("benchmarks", master=task["master"], settings=settings)
    spark.sparkContext.setLogLevel("OFF")
    jvm = spark._jvm
    if jvm is None:
        sys.exit("Spark has no JVM")
    print(json.dumps([os.getpid(), jvm.java.lang.ProcessHandle.current().pid()]), flush=True)
    for step in task["steps"]:
        begin = time.monotonic()
        printed = WORK[step["work"]](spark, step) or {}
        print(json.dumps({"seconds": time.monotonic() - begin, **printed}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
