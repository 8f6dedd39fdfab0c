"""The driver of the crash tests: copies one topic to another until it is done or killed.

Run as a program, so that it can be killed: prints its process ids first, then runs a query that pauses at the chosen
step.
"""

from __future__ import annotations

import json
import os
import sys

from pyspark.sql import DataFrame, SparkSession

from oncelog.spark.session import session
from tests.class_archive import QUICK_START
from tests.support.patient_queries import run_to_the_end
from tests.support.pausing_source import PausingDataSource


def source_of(spark: SparkSession, servers: str, topic: str, rows: int) -> DataFrame:
    """Keys and values of a topic, the given number in a micro-batch."""
    return (
        spark.readStream.format("oncelog")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", rows)
        .load()
        .select("key", "value")
    )


def main() -> None:
    task = json.loads(sys.argv[1])
    spark = session("crash", master="local[2]", settings=QUICK_START)
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(PausingDataSource)
    jvm = spark._jvm
    assert jvm is not None
    print(json.dumps([os.getpid(), jvm.java.lang.ProcessHandle.current().pid()]), flush=True)
    rows = source_of(spark, task["servers"], task["source"], task["rows"])
    writer = (
        rows.writeStream.format("oncelog_paused")
        .option("kafka.bootstrap.servers", task["servers"])
        .option("topic", task["sink"])
        .option("checkpointLocation", task["checkpoint"])
        .options(**task["options"])
        .trigger(availableNow=True)
    )
    run_to_the_end(writer.start)


if __name__ == "__main__":
    main()
