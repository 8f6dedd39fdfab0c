"""Spark's own Kafka connector on one broker: writes and reads, batch and streaming; prints what it saw as JSON.

A program of its own, because its jars must be there when the JVM starts. Run by ``test_sparks_own_connector.py``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from oncelog.spark.session import session


def main(servers: str, topic: str, folder: Path, jars: str, login: Path | None = None) -> None:
    """:param login: a JSON file with the ``kafka.`` options of a broker that requires a login."""
    settings = {"spark.jars": jars, "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    spark = session("connector", master="local[2]", settings=settings)
    spark.sparkContext.setLogLevel("ERROR")
    at = {"kafka.bootstrap.servers": servers, **(json.loads(login.read_text()) if login is not None else {})}
    read = {**at, "subscribe": topic, "startingOffsets": "earliest", "kafka.isolation.level": "read_committed"}
    rows = spark.range(200).selectExpr("CAST(id AS STRING) AS key", "CAST(id * id AS STRING) AS value")
    rows.write.format("kafka").options(**at, topic=topic).save()
    batch = spark.read.format("kafka").options(**read).load().selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)")
    seen = {"batch": sorted((row.key, row.value) for row in batch.collect())}
    stream = spark.readStream.format("kafka").options(**read, maxOffsetsPerTrigger=50).load()
    query = (
        stream.selectExpr("key", "value")
        .writeStream.format("kafka")
        .options(**at, topic=f"{topic}-copy", checkpointLocation=str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    copied = spark.read.format("kafka").options(**{**read, "subscribe": f"{topic}-copy"}).load()
    seen["copied"] = sorted(row.value for row in copied.selectExpr("CAST(value AS STRING)").collect())
    named = spark.read.format("kafka").options(**at, subscribePattern=topic[1:]).load()
    seen["named"] = sorted(row.topic for row in named.select("topic").distinct().collect())
    spark.stop()
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4], *map(Path, sys.argv[5:]))
