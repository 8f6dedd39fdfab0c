"""Spark's own Kafka connector reads records up to an offset, and then the one there; prints what it saw as JSON.

A program of its own, because its jars must be there when the JVM starts. Run by ``test_timestamps.py``.
"""

from __future__ import annotations

import json
import sys

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.functions import unix_micros

from oncelog.spark.session import session


def main(servers: str, topic: str, end: int, jars: str) -> None:
    settings = {"spark.jars": jars, "spark.ui.enabled": "false"}
    spark = session("connector", master="local[1]", settings=settings)
    spark.sparkContext.setLogLevel("OFF")
    read = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"}
    rows = spark.read.format("kafka").options(**read, endingOffsets=json.dumps({topic: {"0": end}})).load()
    seen: dict[str, object] = {
        "held": [row[0] for row in rows.orderBy("offset").select(unix_micros("timestamp")).collect()]
    }
    try:
        spark.read.format("kafka").options(**read).load().collect()
    except (PySparkException, Py4JJavaError) as error:
        seen["refused"] = str(error)
    spark.stop()
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
