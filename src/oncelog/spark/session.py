"""A Spark session with the settings needed to read and write fast.

Called by the command line, pipelines and users; any other SparkSession works too, only slower. Also contains the
adapter for queries in Update mode, and the lag in a progress report.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json
from oncelog.spark.versions import (
    HAS_READ_LIMITS,
    PYSPARK_MISSING,
    check_connect,
    check_pyspark,
    is_connect,
    pyspark_problem,
    refuse_format,
    refuse_update_mode,
)

try:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
except ImportError as missing:
    raise ConfigError(pyspark_problem() or PYSPARK_MISSING) from missing

from oncelog.spark.java import find_java
from oncelog.spark.lag import offsets_behind
from oncelog.spark.micro_batches import RunningQuery, query_sinks, running_query, said_first
from oncelog.spark.options import OptionValue, option_texts, parse_sink_options
from oncelog.spark.private_apis import driver
from oncelog.spark.python import worker_python_problem
from oncelog.spark.sink.connect import StartSession, check_checkpoint
from oncelog.spark.sink.engine import Observer, ignore
from oncelog.spark.sink.marker import BatchPlan, OffsetLogEntry
from oncelog.spark.sink.planning import PendingWrite, begin_micro_batch, now_ms, plan_write

check_pyspark()
refuse_format()
refuse_update_mode()

if TYPE_CHECKING:
    from oncelog.spark.executors import Written

SETTINGS: Mapping[str, str] = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    **({} if HAS_READ_LIMITS else {"spark.sql.streaming.triggerAvailableNowWrapper.enabled": "true"}),
}
"""Spark settings for fast reads and writes.

The first one avoids a check of each row's size, which is a tenth of the JVM's work on small rows; with a column of null
headers the check takes 30 times as long as the rest. Tasks then pass 10,000 rows at a time to Python, whatever their
size: with rows of more than 50 KB lower ``spark.sql.execution.arrow.maxRecordsPerBatch``. The last one makes Spark end
a query of Trigger.AvailableNow where our source cannot do that itself.
"""


def session(
    app_name: str = "oncelog", *, master: str | None = None, settings: Mapping[str, OptionValue] | None = None
) -> SparkSession:
    """A session with :data:`SETTINGS`, on the cluster that ``master`` names, or that of ``spark-submit``, or on all
    cores of this machine.

    Workers run under this Python, so that they find the packages this program finds.

    :param settings: Spark settings, which take precedence over ours.
    :raises JavaMissing: no Java 17 or later.
    :raises ConfigError: a setting is neither text nor a number nor a boolean; or PYSPARK_PYTHON, or a session that
        runs already, has a Python without this package.
    """
    chosen_settings = option_texts(settings or {}, "oncelog.spark.session.session")
    find_java()
    _check_python(os.environ.get("PYSPARK_PYTHON"))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    submitted = None if master else _submitted_master()
    chosen = master or ("local[*]" if submitted is None else submitted)
    builder = SparkSession.builder.appName(app_name)
    if chosen:
        builder = builder.master(chosen)
    own = dict(SETTINGS)
    if chosen.startswith("local"):
        own["spark.sql.shuffle.partitions"] = str(os.cpu_count() or 1)
        own["spark.driver.host"] = "127.0.0.1"
        own["spark.driver.bindAddress"] = "127.0.0.1"
    for name, value in {**own, **chosen_settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    _check_python(str(spark.sparkContext.pythonExec))
    return spark


def _submitted_master() -> str | None:
    """The master that ``spark-submit`` was started with, empty if it is not known; None if this program was not started
    by ``spark-submit``.
    """
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # the JVM sets this variable for a Python program that it starts
        return None
    return driver.submitted_master()


def _check_python(program: str | None) -> None:
    """Check the workers' Python. With a wrong one Spark would only report DATA_SOURCE_NOT_FOUND. Raises ConfigError."""
    if program and program != sys.executable:
        problem = worker_python_problem(program)
        if problem is not None:
            raise ConfigError(problem)


def for_each_batch(
    options: Mapping[str, OptionValue],
    *,
    name: str = "",
    on_written: Callable[[Written], None] | None = None,
    observe: Observer = ignore,
) -> Callable[[DataFrame, int], None]:
    """A function for ``writeStream.foreachBatch`` that writes each micro-batch exactly once in any output mode.

    ``df.writeStream.outputMode("update").foreachBatch(for_each_batch({"topic": "t", ...}))``. The options are those of
    ``format("oncelog")``, and ``writers``: the executors write large batches themselves. Whether a batch is written,
    skipped or refused is decided as in a query that writes with ``format``. The query's checkpoint is found
    automatically. Over Spark Connect the driver writes every batch, and the option ``checkpointLocation`` must be given
    here, too; it is checked.

    :param name: distinguishes several sinks of one query, instead of their topics, so a sink with a name may get
        another topic later. The name must stay the same over restarts.
    :param on_written: called with how each batch was written.
    :param observe: called at each step, in the process that takes it; picklable.
    """
    texts = option_texts(options, "for_each_batch")
    lowered = {key.lower(): value for key, value in texts.items()}
    for taken in ("batchId", "microBatch", "sinkName"):
        if taken.lower() in lowered:
            raise ConfigError(f"Option {taken} is set by for_each_batch: leave it out")
    if is_connect():
        check_connect()
    parsed = parse_sink_options({"checkpointLocation": "found when it runs"} | lowered, streaming=True)
    identity = (parsed.transactional_id_prefix, "" if name else parsed.topic)
    started_in = StartSession()
    made_ms = now_ms()

    def on_micro_batch(rows: DataFrame, batch_id: int) -> None:
        remote = is_connect()
        named = lowered.get("checkpointlocation", "")
        run = _remote_query(lowered, on_written) if remote else running_query(rows, batch_id, named)
        if remote:
            check_checkpoint(run.checkpoint, batch_id, started_in)
        given = {key: value for key, value in texts.items() if key.lower() != "checkpointlocation"}
        given |= {"microBatch": str(batch_id), "sinkName": name, "checkpointLocation": run.checkpoint}
        sink = (run.run_id, *identity, name)
        with query_sinks().writing(sink, batch_id):
            if remote:
                rows.write.format("oncelog").options(**given).mode("append").save()
                return
            pending, written = _plan_and_write(rows, given, observe, query_sinks().groups(run.run_id), run.check_plan)
        if on_written is not None:
            replayed = isinstance(pending.plan, BatchPlan) and pending.plan.batch.planned_at_ms < made_ms
            on_written(replace(written, replayed=replayed))

    return said_first(on_micro_batch)


def write(rows: DataFrame, options: Mapping[str, OptionValue], *, observe: Observer = ignore) -> Written:
    """Write a DataFrame as one transaction; a large one is written by the executors.

    The options are those of ``format("oncelog")``, and ``writers``. A write with ``transactionalIdPrefix`` and
    ``batchId`` takes effect once, however often it is repeated. Raises OncelogError or PySparkException if it fails.
    """
    if is_connect():
        check_connect()
        raise ConfigError(
            "oncelog.spark.session.write needs a driver of its own, and this session is one of Spark Connect: use "
            'rows.write.format("oncelog").options(...).mode("append").save(), which writes through the server\'s driver'
        )
    return _plan_and_write(rows, option_texts(options, "oncelog.spark.session.write"), observe, set())[1]


def _plan_and_write(
    rows: DataFrame,
    options: Mapping[str, str],
    observe: Observer,
    siblings: set[str],
    check: Callable[[OffsetLogEntry], None] | None = None,
) -> tuple[PendingWrite, Written]:
    """Plan and write the rows; returns the plan and the result.

    :param siblings: the marker groups of the query's sinks that this run knows; the group of this write is added.
    :param check: refuses the plan of a micro-batch that is not this run's.
    """
    from oncelog.spark.executors.write import write_rows

    parsed = parse_sink_options(options, streaming=False)

    def plan() -> PendingWrite:
        if parsed.micro_batch is not None:
            begin_micro_batch(parsed, parsed.micro_batch, tuple(siblings))
        pending = plan_write(parsed, parsed.micro_batch, tuple(siblings))
        if check is not None and isinstance(pending.plan, BatchPlan):
            check(pending.plan.batch)
        siblings.add(pending.transactional_id)
        return pending

    return write_rows(rows, parsed, plan, observe)


def _remote_query(lowered: Mapping[str, str], on_written: object) -> RunningQuery:
    """The query of a batch over Spark Connect. No JVM is available to find it, so the options name its checkpoint."""
    if on_written is not None or lowered.get("writers", "0") not in ("0", "auto"):
        raise ConfigError(
            "Over Spark Connect the driver writes each batch: leave out writers and on_written of for_each_batch"
        )
    if "checkpointlocation" not in lowered:
        raise ConfigError("for_each_batch over Spark Connect needs the option checkpointLocation: give it the query's")
    return RunningQuery(lowered["checkpointlocation"], lowered["checkpointlocation"])


def lag(query: StreamingQuery) -> int | None:
    """Offsets between the query's position and the ends of the logs it reads, by its last progress report.

    None before the first report, and after a batch that an earlier run had planned, for which Spark reports no ends of
    the logs. Control records count, as they do in any consumer's lag.
    """
    progress = query.lastProgress
    if progress is None:
        return None
    report = json.loads(progress.json) if hasattr(progress, "json") else progress
    behind = [one for source in report.get("sources", []) if (one := offsets_behind(source)) is not None]
    return sum(one.total for one in behind) if behind else None
