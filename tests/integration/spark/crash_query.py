"""The driver of the crash tests: copies one topic to another until it is done or killed.

Run as a program, so that it can be killed: prints its process ids first, then runs a query that pauses at the chosen
step.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter

from oncelog.spark.executors import write as executors_write
from oncelog.spark.executors.shuffle import shuffle_rows
from oncelog.spark.session import for_each_batch, session
from tests.support.class_archive import QUICK_START
from tests.support.pausing_source import PausingDataSource
from tests.support.restarted_queries import run_to_the_end
from tests.support.spark_faults import PauseAt


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


def _by_format(stream: DataStreamWriter, options: dict[str, str], pause: dict[str, str]) -> DataStreamWriter:
    return stream.format("oncelog_paused").options(**options, **pause)


def _collected(stream: DataStreamWriter, options: dict[str, str], pause: dict[str, str]) -> DataStreamWriter:
    """By ``for_each_batch``, all but the first batch collected: a second one that is shuffled ends the query."""
    shuffled: list[object] = []

    def once(*given: Any) -> Any:
        shuffled.append(given)
        if len(shuffled) > 1:
            raise RuntimeError("a batch was to be collected and is shuffled")
        return shuffle_rows(*given)

    setattr(executors_write, "shuffle_rows", once)  # noqa: B010 - mypy sees that it is imported there
    observe = PauseAt(pause["pause.at"], pause["pause.batch"], pause["pause.port"])
    return stream.foreachBatch(for_each_batch(options, observe=observe))


def main() -> None:
    task = json.loads(sys.argv[1])
    spark = session("crash", master="local[2]", settings=QUICK_START)
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(PausingDataSource)
    jvm = spark._jvm
    assert jvm is not None
    print(json.dumps([os.getpid(), jvm.java.lang.ProcessHandle.current().pid()]), flush=True)
    rows = source_of(spark, task["servers"], task["source"], task["rows"])
    write = _collected if task["collected"] else _by_format
    writer = write(
        rows.writeStream, {"kafka.bootstrap.servers": task["servers"], "topic": task["sink"]}, task["options"]
    )
    writer = writer.option("checkpointLocation", task["checkpoint"]).trigger(availableNow=True)
    run_to_the_end(writer.start)


if __name__ == "__main__":
    main()
