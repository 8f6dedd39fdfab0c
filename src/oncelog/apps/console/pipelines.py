"""Stores the reports of Spark sessions about their queries, for the page of pipelines.

A report is one JSON object: ``session`` (who reports), ``state`` (``running``, ``ended`` or ``failed``), ``problem``
(one sentence, if it failed) and ``progress``, the fields of a batch as ``oncelog pipeline run --json`` writes them.
Although reports come from programs that have the token, they are not trusted: sizes and numbers are limited.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json

MAX_PIPELINES = 200
KEPT_BATCHES = 300
MAX_TABLES = 20
SILENT_MS = 60_000
STATES = ("running", "ended", "failed")
_WRITTEN_BEFORE = "none"


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One reported batch, with the time of the report; its lag may be unknown."""

    seen_ms: int
    number: int
    rows: int
    rows_per_second: float
    lag: int | None
    duration_ms: int
    state_rows: int
    late_rows: int
    path: str


@dataclass(slots=True)
class PipelineRow:
    """A query of a session, with its last batches.

    :param tables: the tables that its last batch was written to.
    :param earlier: runs of the same query that ended, or stopped reporting, before this run began.
    """

    session: str
    name: str
    query_id: str
    state: str = "running"
    problem: str = ""
    began_ms: int = 0
    seen_ms: int = 0
    rows: int = 0
    skipped: int = 0
    watermark: str = ""
    tables: tuple[str, ...] = ()
    earlier: tuple[PipelineRow, ...] = ()
    batches: deque[BatchRow] = field(default_factory=lambda: deque(maxlen=KEPT_BATCHES))

    @property
    def last(self) -> BatchRow | None:
        return self.batches[-1] if self.batches else None

    @property
    def done(self) -> float | None:
        """The progress as a fraction: the records read since the first report, divided by the sum of these and the
        records left to read; None if the lag is unknown.
        """
        if self.last is None or self.last.lag is None:
            return None
        return self.rows / (self.rows + self.last.lag) if self.rows + self.last.lag else 1.0

    def continues(self, other: PipelineRow) -> bool:
        """Whether this run and ``other`` are runs of the same query, and this one began after the last report of
        ``other``."""
        same = self.name == other.name and (not self.query_id or other.query_id in ("", self.query_id))
        return same and self is not other and self.began_ms > other.seen_ms

    def silent(self, now_ms: int) -> bool:
        return self.state == "running" and now_ms - self.seen_ms > SILENT_MS

    def chart(self) -> str:
        """Rows per second and lag over time, for the page's script."""
        series = [
            {"label": "rows/s", "values": [batch.rows_per_second for batch in self.batches]},
            {"label": "lag", "values": [batch.lag for batch in self.batches]},
        ]
        return json.dumps({"x": [batch.seen_ms / 1000 for batch in self.batches], "series": series})


class Pipelines:
    """Stores all reports; queries that have been silent the longest are dropped first."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], PipelineRow] = OrderedDict()

    def all(self) -> list[PipelineRow]:
        """The last run of each query; runs of one query that overlap in time are all included."""
        known = list(self._known.values())  # sorted by their last reports
        found = [one for one in known if not any(later.continues(one) for later in known)]
        for one in found:
            one.earlier = tuple(other for other in known if one.continues(other))
        return sorted(found, key=lambda one: (one.state != "running", one.name, one.session))

    def take(self, report: object, now_ms: int) -> None:
        """Store a report.

        :raises ConfigError: the report is not valid.
        """
        if not isinstance(report, dict) or not isinstance(report.get("progress"), dict | None):
            raise ConfigError("a report is a JSON object with session, state and progress")
        progress: Mapping[str, Any] = report.get("progress") or {}
        session, name = _text(report, "session"), _text(report, "pipeline") or _text(progress, "pipeline")
        state = _text(report, "state") or "running"
        if not session or not name or state not in STATES:
            raise ConfigError(f"a report names its session and its pipeline, and its state is {', '.join(STATES)}")
        one = self._known.get((session, name))
        if one is None:
            while len(self._known) >= MAX_PIPELINES:
                self._known.popitem(last=False)
            one = PipelineRow(session, name, _text(progress, "query_id"), began_ms=now_ms)
            self._known[session, name] = one
        self._known.move_to_end((session, name))
        one.state, one.problem, one.seen_ms = state, _text(report, "problem", 2000), now_ms
        if progress:
            _add(one, progress, now_ms)


def _add(one: PipelineRow, progress: Mapping[str, Any], now_ms: int) -> None:
    batch = BatchRow(
        now_ms,
        _number(progress, "batch", -1),
        _number(progress, "rows"),
        _rate(progress.get("rows_per_second")),
        None if progress.get("lag") is None else _number(progress, "lag"),
        _number(progress, "duration_ms"),
        _number(progress, "state_rows"),
        _number(progress, "late_rows"),
        _text(progress, "path", 20),
    )
    one.query_id = _text(progress, "query_id") or one.query_id
    one.watermark = _text(progress, "watermark")
    one.tables = _tables(progress.get("sinks"))
    one.rows += batch.rows
    one.skipped += batch.path == _WRITTEN_BEFORE
    one.batches.append(batch)


def _tables(sinks: object) -> tuple[str, ...]:
    """The tables among the sinks of a batch: the sinks whose names do not begin with "topic", "topics" or "the
    topics"."""
    names = [name[:200] for name in sinks if isinstance(name, str)] if isinstance(sinks, dict) else []
    return tuple(name for name in names[:MAX_TABLES] if not name.startswith(("topic ", "topics ", "the topics ")))


def _text(fields: Mapping[str, Any], name: str, most: int = 200) -> str:
    value = fields.get(name)
    return value[:most] if isinstance(value, str) else ""


def _number(fields: Mapping[str, Any], name: str, default: int = 0) -> int:
    value = fields.get(name)
    return value if type(value) is int and 0 <= value < 2**63 else default


def _rate(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e12 else 0.0
