"""The progress of a running query, from Spark's progress reports.

Called by the pipeline runner and the demo. Pure, except for :class:`ProgressReader`, which asks the query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from oncelog.runtime import real_json as json
from oncelog.spark.lag import OffsetsBehind, offsets_behind, offsets_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, slots=True)
class Progress:
    """One batch of a pipeline.

    :param rows: rows read in this batch.
    :param lag: offsets not read yet, control records included; ``avg_behind``, ``min_behind`` and ``max_behind`` are
        the lag per partition, over all sources. All are None if Spark reports no ends of the logs, as for a batch that
        an earlier run had planned.
    :param late_rows: rows dropped because they were older than the watermark.
    :param watermark: ISO 8601, empty if the query has none.
    :param reached: the offset after the last one read, by ``topic-partition``.
    :param path: who wrote: ``driver``, ``executors``, or ``none`` if the batch was written before; empty if unknown.
    :param sinks: the rows that were written, by sink: ``topic 'late'``, ``delta table lake/late``.
    """

    pipeline: str
    query_id: str
    batch: int
    rows: int
    rows_per_second: float
    lag: int | None
    duration_ms: int
    watermark: str
    state_rows: int
    late_rows: int
    reached: Mapping[str, int]
    path: str = ""
    avg_behind: float | None = None
    min_behind: int | None = None
    max_behind: int | None = None
    sinks: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Progress:
        return cls(**json.loads(text))


def read_progress(name: str, report: Mapping[str, Any]) -> Progress:
    """Parse a progress report of Spark (``StreamingQueryProgress`` as JSON)."""
    reached: dict[str, int] = {}
    behind: list[OffsetsBehind] = []
    for source in report.get("sources", []):
        reached |= {str(partition): offset for partition, offset in offsets_of(source.get("endOffset")).items()}
        found = offsets_behind(source)
        behind += [] if found is None else [found]
    states = report.get("stateOperators", [])
    return Progress(
        pipeline=name,
        query_id=str(report.get("id", "")),
        batch=int(report.get("batchId", -1)),
        rows=int(report.get("numInputRows", 0)),
        rows_per_second=_number(report.get("processedRowsPerSecond")),
        lag=sum(item.total for item in behind) if behind else None,
        avg_behind=max((item.average for item in behind), default=None),
        min_behind=min((item.least for item in behind), default=None),
        max_behind=max((item.most for item in behind), default=None),
        duration_ms=int(report.get("batchDuration", 0)),
        watermark=str(report.get("eventTime", {}).get("watermark", "")),
        state_rows=sum(int(state.get("numRowsTotal", 0)) for state in states),
        late_rows=sum(int(state.get("numRowsDroppedByWatermark", 0)) for state in states),
        reached=reached,
    )


def _of_a_batch(report: Mapping[str, Any]) -> bool:
    """Whether a report is about a batch that has run: Spark also reports idle queries, with the number of the next
    batch."""
    return "addBatch" in (report.get("durationMs") or {})


def _number(value: object) -> float:
    """A rate from Spark's report; Spark reports NaN or infinity for an empty batch."""
    rate = float(value) if isinstance(value, (int, float)) else 0.0
    return round(rate, 1) if 0 <= rate < 1e12 else 0.0


class HowWritten(Protocol):
    """How a batch was written: see :class:`oncelog.spark.executors.write.Written`."""

    @property
    def path(self) -> str: ...
    @property
    def sinks(self) -> Mapping[str, int]: ...


TakeWritten: TypeAlias = Callable[[int], HowWritten | None]


class ProgressReader:
    """Returns the batches of one query that were not returned before.

    :param take: returns, once per batch, how it was written, if that is known.
    """

    def __init__(self, name: str, query: StreamingQuery, take: TakeWritten | None = None) -> None:
        self._name = name
        self._take = take
        self._query = query
        self._last = -1
        self.last: Progress | None = None

    def new(self) -> list[Progress]:
        """The batches reported since the last call, each once; Spark's recent reports are included, so none is missed
        between two calls."""
        newest = self._query.lastProgress
        if newest is None:
            return []
        report = _as_dict(newest)
        if int(report["batchId"]) <= self._last:
            return []
        reports = [report]
        if int(report["batchId"]) > self._last + 1:
            reports = [_as_dict(recent) for recent in self._query.recentProgress]
        found: list[Progress] = []
        for one in filter(_of_a_batch, reports):
            progress = read_progress(self._name, one)
            written = None if self._take is None else self._take(progress.batch)
            if written is not None:
                progress = replace(progress, path=written.path, sinks=written.sinks)
            if progress.batch > self._last:
                self._last = progress.batch
                found.append(progress)
        if found:
            self.last = found[-1]
        return found


def _as_dict(progress: Any) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(progress.json) if hasattr(progress, "json") else progress
    return report
