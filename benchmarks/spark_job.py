"""Spark's side of the benchmarks, a program of its own: one session, steps as JSON, one line of JSON for each.

Each step has a kind of work and a format: `oncelog` or `kafka`, which is Spark's own connector.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from pyspark.sql import SparkSession

from benchmarks import spark_streams
from oncelog.spark.session import session
from oncelog.spark.session import write as session_write

ROW_BYTES = 110


def write(spark: SparkSession, step: dict[str, Any]) -> None:
    """Rows made by Spark, defaults of the sink; `oncelog` writes them in one transaction."""
    value = f"lpad(cast(id as string), {ROW_BYTES}, 'x')"
    rows = spark.range(0, step["rows"], 1, 2).selectExpr("cast(id as string) as key", f"{value} as value")
    writer = rows.write.format(step["format"]).option("kafka.bootstrap.servers", step["servers"])
    writer.option("topic", step["topic"]).mode("append").save()


def write_json(spark: SparkSession, step: dict[str, Any]) -> dict[str, Any]:
    """Small JSON objects, half of each a digest, by a connector or by `executors`; what was written."""
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
    """What tasks have sent to the driver as their results since the session began."""
    gateway: Any = spark.sparkContext._gateway
    quantiles = gateway.new_array(gateway.jvm.double, 0)
    store = spark.sparkContext._jsc.sc().statusStore()
    stages = store.stageList(None, False, False, quantiles, gateway.jvm.java.util.ArrayList())
    return sum(int(stages.apply(number).resultSize()) for number in range(stages.size()))


def read(spark: SparkSession, step: dict[str, Any]) -> None:
    """All columns of every record, to a sink that drops them."""
    reader = spark.read.format(step["format"]).option("kafka.bootstrap.servers", step["servers"])
    rows = reader.option("subscribe", step["topic"]).option("startingOffsets", "earliest").load()
    rows.write.format("noop").mode("overwrite").save()


def copy(spark: SparkSession, step: dict[str, Any]) -> None:
    """A streaming query from one topic to another in micro-batches, until all is copied."""
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
        said = WORK[step["work"]](spark, step) or {}
        print(json.dumps({"seconds": time.monotonic() - begin, **said}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
