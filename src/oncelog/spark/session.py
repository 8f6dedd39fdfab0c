"""A Spark session with the settings that reading and writing fast needs.

Called by the command line, pipelines and users; any other SparkSession works too, if slower. Also the adapter for
queries in Update mode, and the lag in a progress report.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from oncelog.errors import ConfigError
from oncelog.spark.java import find_java
from oncelog.spark.progress import source_lag

SETTINGS: Mapping[str, str] = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "32768",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""The first one spares a check of each row's size, with which a column of null headers takes 30 times as long."""


def session(
    app_name: str = "oncelog", *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session with :data:`SETTINGS`, on all cores of this machine unless ``master`` names a cluster.

    Workers run under this Python, so that they find the packages this program finds.

    :param settings: Spark settings, laid over ours.
    :raises JavaMissing: no Java 17 or later.
    """
    find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    chosen = master or "local[*]"
    builder = SparkSession.builder.appName(app_name).master(chosen)
    own = dict(SETTINGS)
    if chosen.startswith("local"):
        own["spark.sql.shuffle.partitions"] = str(os.cpu_count() or 1)
        own["spark.driver.host"] = "127.0.0.1"
        own["spark.driver.bindAddress"] = "127.0.0.1"
    for name, value in {**own, **(settings or {})}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def for_each_batch(options: Mapping[str, str], *, name: str = "sink") -> Callable[[DataFrame, int], None]:
    """What ``writeStream.foreachBatch`` takes, to write each micro-batch exactly once in any output mode.

    ``df.writeStream.outputMode("update").foreachBatch(for_each_batch({"topic": "t", ...}))``. The options are those of
    ``format("oncelog")``. A batch that Spark repeats is skipped, as in a query that writes with ``format``.

    :param name: tells several sinks of one query apart; it must stay the same over restarts.
    """
    given = {key.lower() for key in options}
    if "batchid" in given:
        raise ConfigError("Option batchId is set by for_each_batch: leave it out")
    prefix = next((value for key, value in options.items() if key.lower() == "transactionalidprefix"), "oncelog-")
    others = {key: value for key, value in options.items() if key.lower() != "transactionalidprefix"}

    def write(rows: DataFrame, batch_id: int) -> None:
        query_id = rows.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        if not query_id:
            raise ConfigError("for_each_batch writes micro-batches: pass it to writeStream.foreachBatch")
        identity = {"transactionalIdPrefix": f"{prefix}{query_id}-{name}", "batchId": str(batch_id)}
        rows.write.format("oncelog").options(**others, **identity).mode("append").save()

    return write


def lag(query: StreamingQuery) -> int | None:
    """Offsets between where the query is and the ends of the logs it reads, by its last progress report.

    None before the first report. Control records count, as they do in any consumer's lag.
    """
    progress = query.lastProgress
    if progress is None:
        return None
    report = json.loads(progress.json) if hasattr(progress, "json") else progress
    return sum(source_lag(source) for source in report.get("sources", []))
