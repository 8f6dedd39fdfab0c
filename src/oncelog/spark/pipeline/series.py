"""Metrics of streaming queries for Prometheus: those of ``oncelog pipeline run --metrics``, and those of any session.

Each batch is reported by the run or by Spark (:meth:`PipelineSource.progress`), and each commit by the sink
(:meth:`PipelineSource.written`); the endpoint's thread reads the metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from oncelog.broker.metrics.catalog import FAMILIES as BROKER_FAMILIES
from oncelog.broker.metrics.catalog import PROCESS
from oncelog.broker.metrics.endpoint import HealthVerdict
from oncelog.broker.metrics.exposition import Exposition, ExpositionFormat, Family, MetricKind, labels
from oncelog.broker.metrics.process import add_process
from oncelog.runtime import real_time

if TYPE_CHECKING:
    from oncelog.spark.executors import Written
    from oncelog.spark.progress import Progress

PIPELINE: Final = "pipeline"
SKIPPED: Final = "none"
_PATHS: Final = ("driver", "executors", SKIPPED)
_SERIES: Final[Mapping[str, tuple[MetricKind, str, tuple[str, ...]]]] = {
    "oncelog_pipeline_running": (MetricKind.GAUGE, "1 while the query runs.", ()),
    "oncelog_pipeline_batch": (MetricKind.GAUGE, "The last batch that ended.", ()),
    "oncelog_pipeline_batches_total": (
        MetricKind.COUNTER,
        "Batches that ended in this run: written by driver or executors, or skipped because the log had them.",
        ("outcome",),
    ),
    "oncelog_pipeline_batches_replayed_total": (
        MetricKind.COUNTER,
        "Batches that an earlier run planned and did not finish: written, or skipped because the log had them.",
        ("outcome",),
    ),
    "oncelog_pipeline_rows_read_total": (MetricKind.COUNTER, "Rows read in this run.", ()),
    "oncelog_pipeline_rows_written_total": (MetricKind.COUNTER, "Rows committed in this run.", ()),
    "oncelog_pipeline_bytes_written_total": (MetricKind.COUNTER, "Bytes committed in this run.", ()),
    "oncelog_pipeline_commit_seconds": (MetricKind.SUMMARY, "Time from a batch's fence to its commit.", ()),
    "oncelog_pipeline_marker_age_seconds": (
        MetricKind.GAUGE,
        "Time since this run committed or found a marker.",
        (),
    ),
    "oncelog_pipeline_batch_seconds": (MetricKind.GAUGE, "Duration of the last batch, with planning.", ()),
    "oncelog_pipeline_rows_per_second": (MetricKind.GAUGE, "Rows read a second in the last batch.", ()),
    "oncelog_pipeline_lag_offsets": (
        MetricKind.GAUGE,
        "Offsets left to read after the last batch; missing if an earlier run planned the batch.",
        (),
    ),
    "oncelog_pipeline_state_rows": (MetricKind.GAUGE, "Rows in the query's state.", ()),
    "oncelog_pipeline_late_rows_total": (
        MetricKind.COUNTER,
        "Rows dropped in this run because they were later than the watermark.",
        (),
    ),
}
FAMILIES: Final[Mapping[str, Family]] = {
    name: Family(name, kind, PIPELINE, ("pipeline", *more), text) for name, (kind, text, more) in _SERIES.items()
} | {name: family for name, family in BROKER_FAMILIES.items() if family.origin == PROCESS}


@dataclass(slots=True)
class _Counts:
    running: bool = False
    outcomes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_PATHS, 0))
    replayed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_PATHS, 0))
    rows_read: int = 0
    rows_written: int = 0
    bytes_written: int = 0
    commits: int = 0
    commit_s: float = 0.0
    marked_at_s: float | None = None
    late_rows: int = 0
    last: Progress | None = None


class PipelineSource:
    """The metrics source of an endpoint for one run, or one session.

    :param names: names of queries that are known before they start.
    """

    def __init__(self, names: Iterable[str] = (), clock: Callable[[], float] = real_time.monotonic) -> None:
        self._counts = {name: _Counts() for name in names}
        self._clock = clock
        self._state = "starting"

    def running(self) -> None:
        """Mark all known queries as started."""
        self._state = "running"
        for counts in self._counts.values():
            counts.running = True

    def ended(self) -> None:
        """Mark all queries as ended."""
        self._state = "ended"
        for counts in self._counts.values():
            counts.running = False

    def state(self, pipeline: str, running: bool) -> None:
        """Mark a query as started or ended."""
        self._of(pipeline).running = running

    def _of(self, pipeline: str) -> _Counts:
        return self._counts.setdefault(pipeline, _Counts())

    def progress(self, progress: Progress) -> None:
        counts = self._of(progress.pipeline)
        counts.rows_read += progress.rows
        counts.late_rows += progress.late_rows
        counts.last = progress

    def written(self, pipeline: str, written: Written) -> None:
        """Count a batch that is in the log, whether this run wrote it or an earlier one."""
        counts = self._of(pipeline)
        counts.outcomes[written.path] += 1
        if written.replayed:
            counts.replayed[written.path] += 1
        counts.marked_at_s = self._clock()
        if written.path != SKIPPED:
            counts.rows_written += written.rows
            counts.bytes_written += written.size_bytes
            counts.commits += 1
            counts.commit_s += written.seconds

    async def live(self) -> HealthVerdict:
        return HealthVerdict(True, self._state)

    async def ready(self) -> HealthVerdict:
        return HealthVerdict(self._state == "running", self._state)

    async def metrics(self, form: ExpositionFormat) -> Exposition:
        page = Exposition(FAMILIES, form)
        for name, counts in list(self._counts.items()):
            self._add(page, labels(pipeline=name), counts)
        add_process(page)
        return page

    def _add(self, page: Exposition, at: str, counts: _Counts) -> None:
        prefix = "oncelog_pipeline_"
        page.add(f"{prefix}running", int(counts.running), at)
        for series, by_path in (("batches", counts.outcomes), ("batches_replayed", counts.replayed)):
            for path, count in by_path.items():
                outcome = "skipped" if path == SKIPPED else path
                page.add(f"{prefix}{series}_total", count, f'{at},outcome="{outcome}"')
        page.add(f"{prefix}rows_read_total", counts.rows_read, at)
        page.add(f"{prefix}rows_written_total", counts.rows_written, at)
        page.add(f"{prefix}bytes_written_total", counts.bytes_written, at)
        page.add(f"{prefix}late_rows_total", counts.late_rows, at)
        page.add_summary(f"{prefix}commit_seconds", (), counts.commits, round(counts.commit_s, 6), at)
        if counts.marked_at_s is not None:
            page.add(f"{prefix}marker_age_seconds", round(self._clock() - counts.marked_at_s, 3), at)
        if counts.last is not None:
            page.add(f"{prefix}batch", counts.last.batch, at)
            page.add(f"{prefix}batch_seconds", counts.last.duration_ms / 1000, at)
            page.add(f"{prefix}rows_per_second", round(counts.last.rows_per_second, 3), at)
            if counts.last.lag is not None:
                page.add(f"{prefix}lag_offsets", counts.last.lag, at)
            page.add(f"{prefix}state_rows", counts.last.state_rows, at)
