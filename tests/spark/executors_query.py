"""The driver of the crash tests of the executors' path: copies a topic by ``for_each_batch`` on a cluster.

Run as a program, so that it can be killed: prints its process ids first, then a line for each batch that it wrote.
"""

from __future__ import annotations

import json
import os
import random
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, udf

from oncelog.spark import executors
from oncelog.spark.executors import Written
from oncelog.spark.session import for_each_batch, session
from oncelog.spark.sink_protocol import Step
from oncelog.testing.spark_faults import Fault, FaultOnce, Faults, PauseAt
from tests.class_archive import QUICK_START
from tests.spark.crash_query import source_of

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
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def dice(value: bytes) -> int:
    """Another number each time a row is looked at."""
    return random.randrange(1000)


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


def main() -> None:
    task = json.loads(sys.argv[1])
    executors.DRIVER_BYTES = 0  # so that auto lets the executors write what a test can afford
    executors.SLOTS_PATIENCE_S = 120  # executors come back slowly on a busy machine
    spark = session("crash", master=task["master"], settings=QUICK_START | CLUSTER | task.get("settings", {}))
    spark.sparkContext.setLogLevel("WARN")
    jvm = spark._jvm
    assert jvm is not None
    say([os.getpid(), jvm.java.lang.ProcessHandle.current().pid()])
    observers: list[Any] = [
        FaultOnce(Path(task["folder"]), Step(step), Fault(fault), batch) for fault, step, batch in task["faults"]
    ]
    if task.get("pause"):
        observers.append(PauseAt(*task["pause"]))

    def written(batch: Written) -> None:
        say(asdict(batch))

    options = {"kafka.bootstrap.servers": task["servers"], "topic": task["sink"]} | task["options"]
    sink = for_each_batch(options, on_written=written, observe=Faults(observers))
    throw = udf(dice, "int").asNondeterministic()

    def write(rows: DataFrame, batch_id: int) -> None:
        sink(rows.repartition(3, throw(col("value"))) if task["shuffle"] else rows, batch_id)

    query = (
        source_of(spark, task["servers"], task["source"], task["rows"])
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", task["checkpoint"])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
