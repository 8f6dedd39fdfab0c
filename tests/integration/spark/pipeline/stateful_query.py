"""The driver of the stateful tests: a query with state in RocksDB, on two executors of its own.

Run as a program, so that it and its executors can be killed: prints its process ids first, then a line for each batch.
Event time is in the values, so that what should come out can be told without Spark (``test_stateful``).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, concat_ws, count, expr, from_json, session_window, sum, window
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from oncelog.spark.session import for_each_batch, session
from tests.support.class_archive import QUICK_START, executors_options
from tests.support.restarted_queries import run_to_the_end

EVENT = "at timestamp_ltz, key string, kind string, amount bigint"
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.session.timeZone": "UTC",
    "spark.task.maxFailures": "8",
    "spark.deploy.maxExecutorRetries": "-1",
}
TIMER_MS = 10_000
SESSION_GAP = "400 milliseconds"


class Totals(StatefulProcessor):
    """Keeps a key's amounts in a list and its kinds in a map, and emits both when a timer says that the key is done."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._amounts = handle.getListState("amounts", "amount bigint")
        self._kinds = handle.getMapState("kinds", "kind string", "count bigint")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        first = not self._amounts.exists()
        for frame in rows:
            for at, kind, amount in zip(frame["at"], frame["kind"], frame["amount"], strict=True):
                if first:
                    self._handle.registerTimer(int(pd.Timestamp(at).timestamp() * 1000) + TIMER_MS)
                    first = False
                self._amounts.appendValue((int(amount),))
                seen: Any = self._kinds.getValue((kind,)) if self._kinds.containsKey((kind,)) else (0,)
                self._kinds.updateValue((kind,), (seen[0] + 1,))
        yield pd.DataFrame({"key": pd.Series(dtype="str"), "value": pd.Series(dtype="str")})

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        amounts = sorted(int(item[0]) for item in self._amounts.get())
        kinds = {str(kind[0]): int(number[0]) for kind, number in self._kinds.iterator()}
        self._amounts.clear()
        self._kinds.clear()
        yield pd.DataFrame({"key": [key[0]], "value": [json.dumps([amounts, kinds], sort_keys=True)]})

    def close(self) -> None:
        """Nothing is held."""


def events(spark: SparkSession, task: dict[str, Any], topic: str) -> DataFrame:
    rows = (
        spark.readStream.format("oncelog")
        .option("kafka.bootstrap.servers", task["servers"])
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", task["rows"])
        .load()
    )
    return rows.select(from_json(col("value").cast("string"), EVENT).alias("event")).select("event.*")


def windows(spark: SparkSession, task: dict[str, Any]) -> DataFrame:
    rows = events(spark, task, task["events"]).withWatermark("at", "5 seconds")
    totals = rows.groupBy(window("at", "10 seconds"), "key").agg(count("*").alias("n"), sum("amount").alias("amount"))
    start = expr("cast(unix_millis(window.start) as string)")
    return totals.select(concat_ws("|", start, "key").alias("key"), concat_ws("|", "n", "amount").alias("value"))


def joined(spark: SparkSession, task: dict[str, Any]) -> DataFrame:
    left = events(spark, task, task["events"]).withWatermark("at", "5 seconds").where("kind = 'a'").alias("l")
    right = events(spark, task, task["others"]).withWatermark("at", "5 seconds").alias("r")
    near = expr("l.key = r.key and r.at >= l.at and r.at <= l.at + interval 5 seconds")
    return left.join(right, near).select(
        col("l.key").alias("key"), concat_ws("|", "l.amount", "r.amount").alias("value")
    )


def distinct(spark: SparkSession, task: dict[str, Any]) -> DataFrame:
    rows = events(spark, task, task["events"]).withWatermark("at", "10 seconds")
    return rows.dropDuplicatesWithinWatermark(["key"]).select("key", col("key").alias("value"))


def timed(spark: SparkSession, task: dict[str, Any]) -> DataFrame:
    rows = events(spark, task, task["events"]).withWatermark("at", "5 seconds").groupBy("key")
    return rows.transformWithStateInPandas(Totals(), "key string, value string", "Append", "EventTime")


def sessions(spark: SparkSession, task: dict[str, Any]) -> DataFrame:
    rows = events(spark, task, task["events"]).withWatermark("at", "5 seconds")
    totals = rows.groupBy(session_window("at", SESSION_GAP), "key").agg(
        count("*").alias("n"), sum("amount").alias("amount")
    )
    start = expr("cast(unix_millis(session_window.start) as string)")
    return totals.select(concat_ws("|", start, "key").alias("key"), concat_ws("|", "n", "amount").alias("value"))


def outer(spark: SparkSession, task: dict[str, Any]) -> DataFrame:
    """A row of either side without a partner has NULL for the other, once the watermarks have passed."""
    left = events(spark, task, task["events"]).withWatermark("at", "5 seconds").where("kind = 'a'").alias("l")
    right = events(spark, task, task["others"]).withWatermark("at", "5 seconds").where("kind = 'a'").alias("r")
    near = expr("l.key = r.key and r.at >= l.at and r.at <= l.at + interval 1 second")
    amounts = concat_ws("|", *(expr(f"coalesce(cast({side}.amount as string), 'none')") for side in "lr"))
    return left.join(right, near, "full_outer").select(
        expr("coalesce(l.key, r.key)").alias("key"), amounts.alias("value")
    )


def grouped(spark: SparkSession, task: dict[str, Any]) -> DataFrame:
    rows = events(spark, task, task["events"]).withWatermark("at", "5 seconds").groupBy("key")
    timeout = GroupStateTimeout.EventTimeTimeout
    return rows.applyInPandasWithState(amounts_of, "key string, value string", "amounts string", "Append", timeout)


def amounts_of(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """Keeps the amounts of a key as JSON, and emits them when the key is done."""
    amounts = json.loads(state.get[0]) if state.exists else []
    if state.hasTimedOut:
        state.remove()
        yield pd.DataFrame({"key": [key[0]], "value": [json.dumps(amounts)]})
        return
    rows = pd.concat(frames)
    state.update((json.dumps(sorted([*amounts, *map(int, rows["amount"])])),))
    state.setTimeoutTimestamp(int(rows["at"].max().timestamp() * 1000) + TIMER_MS)


QUERIES = {
    "windows": windows,
    "joined": joined,
    "distinct": distinct,
    "timed": timed,
    "sessions": sessions,
    "outer": outer,
    "grouped": grouped,
}


BY_EXECUTORS = ("windows", "timed", "sessions", "outer")
"""The queries whose output is written by for_each_batch and two writers; the others use ``format("oncelog")``."""


def start(spark: SparkSession, task: dict[str, Any], name: str) -> StreamingQuery:
    sink = {"kafka.bootstrap.servers": task["servers"], "topic": task["sink"]}
    writer = QUERIES[name](spark, task).writeStream.option("checkpointLocation", task["checkpoint"])
    if name in BY_EXECUTORS:
        writer = writer.foreachBatch(for_each_batch(sink | {"writers": "2"}))
    else:
        writer = writer.format("oncelog").options(**sink)
    return writer.trigger(availableNow=True).start()


class Told(StreamingQueryListener):
    """Prints a line for each batch."""

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing is told."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        print(event.progress.batchId, flush=True)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing is told."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Nothing is told."""


def main() -> None:
    task = json.loads(sys.argv[1])
    spark = session("stateful", master="local-cluster[2,1,768]", settings=QUICK_START | SETTINGS | executors_options())
    spark.sparkContext.setLogLevel("ERROR")
    jvm = spark._jvm
    assert jvm is not None
    print(json.dumps([os.getpid(), jvm.java.lang.ProcessHandle.current().pid()]), flush=True)
    spark.streams.addListener(Told())
    run_to_the_end(lambda: start(spark, task, task["query"]))


if __name__ == "__main__":
    main()
