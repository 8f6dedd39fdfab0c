"""Metrics of any Spark session's streaming queries, for Prometheus, as ``oncelog pipeline run --metrics`` serves them.

Called by programs with their own session. Spark reports sources and progress; only ``for_each_batch`` can report what
happened to a batch in the log, because Spark runs the commit of ``format("oncelog")`` in a separate process that has no
way to report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from oncelog.broker.metrics.endpoint import Endpoint
from oncelog.broker.server.listener_settings import Address
from oncelog.broker.server.opening import bind
from oncelog.spark.pipeline.series import PipelineSource
from oncelog.spark.reporting import ReportingListener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from oncelog.spark.executors import Written
    from oncelog.spark.progress import Progress


class SessionMetrics:
    """Serves metrics until ``close``; made by :func:`serve_metrics`."""

    def __init__(self, spark: SparkSession, endpoint: Endpoint, source: PipelineSource) -> None:
        self._spark = spark
        self._source = source
        self._endpoint = endpoint
        host, port = endpoint.address
        self.address = str(Address(host, port))
        """The address at which the metrics are served."""
        self._listener = ReportingListener(self)

    def start(self) -> None:
        """Serve, and listen to the session's queries."""
        self._source.running()
        self._endpoint.start()
        self._spark.streams.addListener(self._listener)

    def written(self, query: str) -> Callable[[Written], None]:
        """A callback for ``on_written`` of ``for_each_batch``, for the query of this name (``queryName``)."""
        return lambda written: self._source.written(query, written)

    def progress(self, progress: Progress) -> None:
        """Count a batch that Spark has completed."""
        self._source.progress(progress)

    def state(self, pipeline: str, state: str, problem: str = "") -> None:
        """Note that a query has begun or ended."""
        self._source.state(pipeline, state == "running")

    def close(self) -> None:
        """Stop serving."""
        self._spark.streams.removeListener(self._listener)
        self._endpoint.stop()


def serve_metrics(spark: SparkSession, address: str) -> SessionMetrics:
    """Serve the metrics of every streaming query of a session from now on.

    :param address: ``HOST:PORT`` at which to serve ``/metrics`` and ``/health``; port 0 takes a free one.
    :raises OncelogError: the address is invalid or in use.
    """
    source = PipelineSource()
    metrics = SessionMetrics(spark, Endpoint(bind(Address.parse(address)), source), source)
    metrics.start()
    return metrics
