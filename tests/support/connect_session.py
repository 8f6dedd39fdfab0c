"""A Spark Connect server as its own process, and what a client of it does. Run as a program by ``connect_server``.

A process cannot have both a classic session and one of Spark Connect, so the client is a process too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from oncelog.spark.session import for_each_batch
from tests.support.restarted_queries import run_to_the_end, worker_was_late


def main() -> None:
    """``SERVER, BROKER, NAME, FOLDER``, maybe ``refusals``: copies NAME to NAME-copy and NAME-each, and prints what
    it read and what was refused.
    """
    server, broker, name, folder, *more = sys.argv[1:]
    spark = SparkSession.builder.remote(server).getOrCreate()
    address = {"kafka.bootstrap.servers": broker}
    rows = spark.createDataFrame([(str(n), f"v{n}") for n in range(20)], "key string, value string")
    rows.write.format("oncelog").options(**address, topic=name).mode("append").save()
    read = spark.read.format("oncelog").options(**address, subscribe=name, includeHeaders="true").load()
    found = sorted(row["value"].decode() for row in read.select("value").collect())
    stream = spark.readStream.format("oncelog").options(**address, subscribe=name, startingOffsets="earliest").load()
    for _ in range(2):
        copied = stream.select("key", "value").writeStream.format("oncelog").trigger(availableNow=True)
        run_to_the_end(copied.options(**address, topic=f"{name}-copy", checkpointLocation=f"{folder}/copy").start)
        counts = stream.groupBy("key").count().selectExpr("key", "cast(count as string) as value")
        sink = {**address, "topic": f"{name}-each", "checkpointLocation": f"{folder}/each"}
        each = counts.writeStream.outputMode("update").foreachBatch(for_each_batch(sink)).trigger(availableNow=True)
        run_to_the_end(each.option("checkpointLocation", f"{folder}/each").start)
    refused = refusals(stream, address, name, folder) if more == ["refusals"] else []
    print(json.dumps({"read": found, "refused": refused}))
    spark.stop()


def refusals(stream: DataFrame, address: dict[str, str], name: str, folder: str) -> list[str]:
    """The errors of queries that name the checkpoint of a query that has ended, and of one that runs."""
    writer = stream.writeStream.trigger(processingTime="1 second")

    def reported(number: int, named: str) -> str:
        sink = for_each_batch({**address, "topic": f"{name}-each", "checkpointLocation": f"{folder}/{named}"})
        try:
            run_to_the_end(writer.foreachBatch(sink).option("checkpointLocation", f"{folder}/wrong-{number}").start)
        except StreamingQueryException as error:
            return str(error)
        raise AssertionError("a query with a wrong checkpoint was not refused")

    ended = reported(0, "each")
    other = for_each_batch({**address, "topic": f"{name}-other", "checkpointLocation": f"{folder}/other"})
    start = writer.foreachBatch(other).option("checkpointLocation", f"{folder}/other").start
    right = processed(start)
    running = reported(1, "other")
    right.stop()
    return [ended, running]


def processed(start: Callable[[], StreamingQuery]) -> StreamingQuery:
    """A query that runs and has processed everything that there is."""
    while True:
        try:
            query = start()
            query.processAllAvailable()
            return query
        except PySparkException as error:
            if not worker_was_late(error):
                raise


if __name__ == "__main__":
    main()
