"""The lag of a query behind the logs that it reads, as Spark's own Kafka connector reports it.

Used by programs, the pipeline runner and :mod:`oncelog.spark.progress`. PySpark's data sources cannot put metrics of
their own into a progress report, so the lag is computed from the offsets in each report: by :func:`report_with_lag`
for a given report, and by :class:`LagListener` for every report of every query.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json
from oncelog.spark.private_apis import driver
from oncelog.spark.versions import PYSPARK_MISSING, pyspark_problem

try:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryListener,
    )
except ImportError as missing:
    raise ConfigError(pyspark_problem() or PYSPARK_MISSING) from missing

from oncelog.types import TopicPartition

logger = logging.getLogger(__name__)

AVERAGE, MIN, MAX = "avgOffsetsBehindLatest", "minOffsetsBehindLatest", "maxOffsetsBehindLatest"

Report = Mapping[str, Any]


class OffsetsBehind(NamedTuple):
    """The number of offsets between a source's position and the ends of its partitions; control records are included,
    as in any lag.
    """

    average: float
    least: int
    most: int
    total: int

    def as_metrics(self) -> dict[str, str]:
        """The lag in the form of the metrics of Spark's connector."""
        return {AVERAGE: str(self.average), MAX: str(self.most), MIN: str(self.least)}


def offsets_behind(source: Report) -> OffsetsBehind | None:
    """The lag of one source in a report; None for another kind of source, or before its first offsets are known."""
    latest, reached = offsets_of(source.get("latestOffset")), offsets_of(source.get("endOffset"))
    behind = [max(0, end - reached[partition]) for partition, end in latest.items() if partition in reached]
    if not behind:
        return None
    return OffsetsBehind(sum(behind) / len(behind), min(behind), max(behind), sum(behind))


def offsets_of(value: object) -> dict[TopicPartition, int]:
    """Offsets in a report: a JSON object, or a string containing one; empty for other sources."""
    parsed = json.loads(value) if isinstance(value, str) else value
    if not isinstance(parsed, dict):
        return {}
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in parsed.items()
        if isinstance(partitions, dict)
        for partition, offset in partitions.items()
        if isinstance(offset, int) and str(partition).isdecimal()
    }


def report_with_lag(report: Any) -> dict[str, Any]:
    """A progress report (``query.lastProgress``) as JSON types, with the lag added to each source's ``metrics``."""
    filled: dict[str, Any] = json.loads(report.json) if hasattr(report, "json") else dict(report)
    filled["sources"] = [
        dict(source) | ({} if behind is None else {"metrics": dict(source.get("metrics") or {}) | behind.as_metrics()})
        for source in filled.get("sources", [])
        for behind in [offsets_behind(source)]
    ]
    return filled


class LagListener(StreamingQueryListener):
    """Passes on every progress report of a session's queries, with the lag of their sources among the metrics.

    ``spark.streams.addListener(LagListener(print))``. Without a callable, the lag of each batch is logged. With
    ``gauges``, the driver's JVM has a gauge for each query and metric, named ``NAME.maxOffsetsBehindLatest`` and so on;
    gauges need a driver, so they do not work with Spark Connect.
    """

    def __init__(self, report: Callable[[dict[str, Any]], None] | None = None, gauges: Gauges | None = None) -> None:
        self._report = report or _log
        self._gauges = gauges

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Does nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        report = report_with_lag(event.progress)
        if self._gauges is not None:
            self._gauges.show(report)
        self._report(report)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Does nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Does nothing: the last values of a query stay visible."""


def _log(report: Report) -> None:
    for source in report.get("sources", []):
        metrics = source.get("metrics", {})
        if MAX in metrics:
            logger.info(
                "query %s, batch %s, %s: %s offsets behind at most, %s on average",
                *(report.get("name") or report.get("id"), report.get("batchId"), source.get("description")),
                *(metrics[MAX], metrics[AVERAGE]),
            )


class Gauges:
    """Lag gauges in the driver's JVM, as MBeans of the domain ``oncelog``, which JMX exporters collect.

    Spark's own metrics system accepts no sources from Python.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.java = driver.gauges(spark)
        """The lag gauges of the driver's JVM; None if Spark lacks the classes."""

    def show(self, report: Report) -> None:
        """Set the gauges of a report's query to the lag over all of its sources."""
        found = [behind for source in report.get("sources", []) if (behind := offsets_behind(source)) is not None]
        if not found or self.java is None:
            return
        query = report.get("name") or report.get("id")
        self.java.set(f"{query}.{AVERAGE}", max(item.average for item in found))
        self.java.set(f"{query}.{MIN}", float(min(item.least for item in found)))
        self.java.set(f"{query}.{MAX}", float(max(item.most for item in found)))

    def close(self) -> None:
        """Unregister the MBeans."""
        if self.java is not None:
            self.java.close()
