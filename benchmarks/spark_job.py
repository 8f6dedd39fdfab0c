"""Spark's side of the benchmarks, a program of its own: one session, steps as JSON, one line of JSON for each.

Each step is `write`, `read` or `copy` with a format: `oncelog` or `kafka`, which is Spark's own connector.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from pyspark.sql import SparkSession

from oncelog.spark.session import session

ROW_BYTES = 110


def write(spark: SparkSession, step: dict[str, Any]) -> None:
    """Rows made by Spark, defaults of the sink; `oncelog` writes them in one transaction."""
    value = f"lpad(cast(id as string), {ROW_BYTES}, 'x')"
    rows = spark.range(0, step["rows"], 1, 2).selectExpr("cast(id as string) as key", f"{value} as value")
    writer = rows.write.format(step["format"]).option("kafka.bootstrap.servers", step["servers"])
    writer.option("topic", step["topic"]).mode("append").save()


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


WORK = {"write": write, "read": read, "copy": copy}


def main() -> None:
    task = json.loads(sys.argv[1])
    spark = session("benchmarks", settings={"spark.jars": ",".join(task["jars"])})
    spark.sparkContext.setLogLevel("OFF")
    jvm = spark._jvm
    if jvm is None:
        sys.exit("Spark has no JVM")
    print(json.dumps([os.getpid(), jvm.java.lang.ProcessHandle.current().pid()]), flush=True)
    for step in task["steps"]:
        begin = time.monotonic()
        WORK[step["work"]](spark, step)
        print(json.dumps({"seconds": time.monotonic() - begin}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
