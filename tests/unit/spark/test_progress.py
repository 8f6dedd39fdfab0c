"""What is read from Spark's progress reports."""

from __future__ import annotations

from typing import Any, cast

from pyspark.sql.streaming.query import StreamingQuery

from oncelog.spark.progress import Progress, ProgressReader, read_progress


def report(batch: int, rows: int = 10, **more: Any) -> dict[str, Any]:
    durations = {"latestOffset": 3, "addBatch": 40, "triggerExecution": 50}
    found = {"id": "q", "batchId": batch, "numInputRows": rows, "processedRowsPerSecond": 4.0, "sources": []}
    return found | {"durationMs": durations} | more


def idle(next_batch: int) -> dict[str, Any]:
    """A query that found nothing to do."""
    return report(next_batch, 0, durationMs={"latestOffset": 3, "triggerExecution": 3})


class FakeQuery:
    """A query with the reports that it would give."""

    def __init__(self) -> None:
        self.recentProgress: list[dict[str, Any]] = []

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        return self.recentProgress[-1] if self.recentProgress else None


def test_lag_is_the_sum_of_latest_minus_reached_offset_over_the_partitions_that_were_read() -> None:
    source = {"endOffset": {"t": {"0": 5, "1": 7}}, "latestOffset": '{"t": {"0": 9, "1": 7, "2": 3}}'}
    progress = read_progress("p", report(3, sources=[source]))
    assert progress.lag == 4, "a partition that no batch has reached yet is in no report of its own"
    assert (progress.avg_behind, progress.min_behind, progress.max_behind) == (2.0, 0, 4)
    assert progress.reached == {"t-0": 5, "t-1": 7}


def test_reports_about_other_sources_and_rates_of_empty_batches_are_none() -> None:
    source = {"endOffset": 17, "latestOffset": None}
    progress = read_progress("p", report(0, sources=[source], processedRowsPerSecond=float("nan")))
    assert (progress.lag, progress.rows_per_second, progress.watermark) == (None, 0.0, "")


def test_lag_after_a_batch_that_an_earlier_run_had_planned_is_unknown() -> None:
    """Spark asks a source for no ends then, and reports none."""
    source = {"startOffset": {"t": {"0": 1}}, "endOffset": {"t": {"0": 5}}, "latestOffset": None}
    progress = read_progress("p", report(3, sources=[source]))
    assert (progress.lag, progress.avg_behind, progress.min_behind, progress.max_behind) == (None, None, None, None)
    assert Progress.from_json(progress.as_json()) == progress


def test_state_rows_and_late_rows_are_summed() -> None:
    operators = [{"numRowsTotal": 3, "numRowsDroppedByWatermark": 1}, {"numRowsTotal": 4}]
    progress = read_progress("p", report(0, stateOperators=operators, eventTime={"watermark": "2013-01-01T00:00:00Z"}))
    assert (progress.state_rows, progress.late_rows, progress.watermark) == (7, 1, "2013-01-01T00:00:00Z")


def test_progress_is_the_same_after_a_round_trip_through_json() -> None:
    progress = read_progress("p", report(1, sources=[{"endOffset": {"t": {"0": 5}}, "latestOffset": {"t": {"0": 5}}}]))
    assert Progress.from_json(progress.as_json()) == progress


def test_each_batch_is_reported_once_even_between_two_calls() -> None:
    query = FakeQuery()
    reader = ProgressReader("p", cast(StreamingQuery, query))
    assert reader.new() == []
    query.recentProgress.append(report(0))
    assert [progress.batch for progress in reader.new()] == [0]
    assert reader.new() == []
    query.recentProgress.append(idle(1))
    assert reader.new() == []
    query.recentProgress += [report(1), idle(2), report(2), report(3), idle(4)]
    assert [(progress.batch, progress.rows) for progress in reader.new()] == [(1, 10), (2, 10), (3, 10)]
    assert reader.last is not None
    assert reader.last.batch == 3
