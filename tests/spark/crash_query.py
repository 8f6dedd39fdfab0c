"""The driver of the crash tests: copies one topic to another until it is through, or killed.

Run as a program, so that it can be: prints its process ids first, then runs a query that pauses where told.
"""

from __future__ import annotations

import json
import os
import sys

from pyspark.sql import DataFrame, SparkSession

from oncelog.spark.session import session
from oncelog.testing.spark_faults import PausingDataSource
from tests.class_archive import QUICK_START


def source_of(spark: SparkSession, servers: str, topic: str, rows: int) -> DataFrame:
    """Keys and values of a topic, so many in a micro-batch."""
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
    query = (
        rows.writeStream.format("oncelog_paused")
        .option("kafka.bootstrap.servers", task["servers"])
        .option("topic", task["sink"])
        .option("checkpointLocation", task["checkpoint"])
        .options(**task["options"])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
