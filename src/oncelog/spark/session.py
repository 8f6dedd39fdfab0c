"""A Spark session with the settings that reading and writing fast needs.

Called by the command line, pipelines and users; any other SparkSession works too, if slower. Also the adapter for
queries in Update mode, and the lag in a progress report.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from oncelog.errors import ConfigError
from oncelog.spark.java import find_java
from oncelog.spark.options import parse_sink_options
from oncelog.spark.progress import source_lag
from oncelog.spark.sink import transactional_id_of
from oncelog.spark.sink_protocol import BatchWrite, Observer, ignore

if TYPE_CHECKING:
    from oncelog.spark.executors import Written

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


def for_each_batch(
    options: Mapping[str, str],
    *,
    name: str = "sink",
    on_written: Callable[[Written], None] | None = None,
    observe: Observer = ignore,
) -> Callable[[DataFrame, int], None]:
    """What ``writeStream.foreachBatch`` takes, to write each micro-batch exactly once in any output mode.

    ``df.writeStream.outputMode("update").foreachBatch(for_each_batch({"topic": "t", ...}))``. The options are those of
    ``format("oncelog")`` and ``writers``: the executors write large batches themselves. A batch that Spark repeats is
    skipped, as in a query that writes with ``format``.

    :param name: tells several sinks of one query apart; it must stay the same over restarts.
    :param on_written: told of each batch how it was written.
    :param observe: told of each step, in the process that takes it; picklable.
    """
    given = {key.lower() for key in options}
    if "batchid" in given:
        raise ConfigError("Option batchId is set by for_each_batch: leave it out")
    prefix = next((value for key, value in options.items() if key.lower() == "transactionalidprefix"), "oncelog-")
    others = {key: value for key, value in options.items() if key.lower() != "transactionalidprefix"}
    parse_sink_options(others, streaming=True)

    def write_batch(rows: DataFrame, batch_id: int) -> None:
        query_id = rows.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        if not query_id:
            raise ConfigError("for_each_batch writes micro-batches: pass it to writeStream.foreachBatch")
        identity = {"transactionalIdPrefix": f"{prefix}{query_id}-{name}", "batchId": str(batch_id)}
        written = write(rows, others | identity, observe=observe)
        if on_written is not None:
            on_written(written)

    return write_batch


def write(rows: DataFrame, options: Mapping[str, str], *, observe: Observer = ignore) -> Written:
    """Write a DataFrame as one transaction; the executors write themselves where there is much.

    The options are those of ``format("oncelog")`` and ``writers``; with ``transactionalIdPrefix`` and ``batchId`` it
    has effect once, however often it is repeated. Raises OncelogError or PySparkException when the rows may not be in.
    """
    from oncelog.spark.executors import write_rows

    parsed = parse_sink_options(options, streaming=False)
    run_id = parsed.transactional_id_prefix if parsed.batch_id is not None else uuid.uuid4().hex
    batch = BatchWrite(run_id, parsed.batch_id, False, parsed.topic, 0, 0, ())
    return write_rows(rows, parsed, batch, transactional_id_of(parsed, run_id), observe)


def lag(query: StreamingQuery) -> int | None:
    """Offsets between where the query is and the ends of the logs it reads, by its last progress report.

    None before the first report. Control records count, as they do in any consumer's lag.
    """
    progress = query.lastProgress
    if progress is None:
        return None
    report = json.loads(progress.json) if hasattr(progress, "json") else progress
    return sum(source_lag(source) for source in report.get("sources", []))
