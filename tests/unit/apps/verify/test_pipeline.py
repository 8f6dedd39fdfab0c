"""Plan, marker and records of batches, made by hand."""

from __future__ import annotations

import pytest

from oncelog.apps.verify.findings import Report
from oncelog.apps.verify.pipeline import Markers, MarkerSeen, Producer, WrittenRecords, judge
from oncelog.spark.sink.marker import Marker, OffsetLogEntry
from oncelog.types import TopicPartition
from tests.support.made_logs import Judged, judged

OUT = TopicPartition("out", 0)
PLANNED = {number: OffsetLogEntry(number, f"plan {number}", 0, "") for number in range(3)}


def seen(batch: int, rows: int = 5, *, plan: str = "", epoch: int | None = None) -> MarkerSeen:
    marker = Marker("q", batch, rows, plan or f"plan {batch}")
    return MarkerSeen(marker, OUT, 10 * batch, (7, batch if epoch is None else epoch))


WHOLE: dict[Producer, int] = {(7, 0): 5, (7, 1): 5, (7, 2): 5}
MARKERS = [seen(0), seen(1), seen(2)]


def verify(markers: list[MarkerSeen], records: dict[Producer, int], ended: tuple[int, ...] = (0, 1, 2)) -> Judged:
    report = Report()
    judge(PLANNED, ended, Markers(markers, True), WrittenRecords(records, True), report)
    return judged(report)


CASES: dict[str, tuple[list[str], list[str], list[MarkerSeen], dict[Producer, int]]] = {
    "all is well": ([], [], MARKERS, WHOLE),
    "marker compacted": ([], ["batch-unknown"], MARKERS[1:], WHOLE),
    "marker repeated without records": ([], [], [*MARKERS[:2], seen(1, 0, epoch=9), seen(2)], WHOLE),
    "rows missing": (["batch-rows"], [], MARKERS, {**WHOLE, (7, 1): 4}),
    "another plan": (["batch-other-plan"], [], [seen(0), seen(1, plan="other"), seen(2)], WHOLE),
    "written twice": (["batch-twice"], [], [*MARKERS, seen(2, epoch=3)], {**WHOLE, (7, 3): 5}),
    "gone back": (["batch-back", "batch-twice"], [], [*MARKERS, seen(1, epoch=3)], {**WHOLE, (7, 3): 5}),
    "lost": (["batch-missing"], [], MARKERS[:2], WHOLE),
    "older copy of the checkpoint": (["checkpoint-behind"], [], [*MARKERS, seen(3)], {**WHOLE, (7, 3): 5}),
}


@pytest.mark.parametrize("name", CASES)
def test_each_fault_of_a_batch_is_reported_by_name(name: str) -> None:
    found, allowed, markers, records = CASES[name]
    reported = verify(markers, records)
    assert (sorted(reported.found), reported.unknown, reported.allowed) == (found, [], allowed)


def test_missing_rows_are_reported_with_the_topics_that_were_read() -> None:
    report = Report()
    written = WrittenRecords({**WHOLE, (7, 1): 4}, True, ["out", "out-2"])
    judge(PLANNED, (), Markers(MARKERS, True), written, report)
    (finding,) = report.findings()
    assert (
        "says 5 rows, its transaction has 4 records in out, out-2: if the query writes others, name" in finding.detail
    )


@pytest.mark.parametrize(
    ("markers", "has"), [(MARKERS[:2], "the newest batch in the log is 1"), ([], "the log has no batch of this query")]
)
def test_a_missing_batch_is_reported_with_the_batches_that_the_log_has(markers: list[MarkerSeen], has: str) -> None:
    report = Report()
    judge(PLANNED, (2,), Markers(markers, True), WrittenRecords({}, False), report)
    (finding,) = report.findings()
    assert finding.detail == f"batch 2 has ended according to the checkpoint, but {has}"


def test_records_of_a_batch_are_not_counted_if_retention_or_compaction_removed_some() -> None:
    report = Report()
    judge(PLANNED, (), Markers(MARKERS, True), WrittenRecords({}, False), report)
    assert report.counts == {}


def test_a_batch_whose_marker_may_be_in_an_open_transaction_is_not_reported_missing() -> None:
    report = Report()
    judge(PLANNED, (0, 1, 2), Markers(MARKERS[:2], False), WrittenRecords(WHOLE, True), report)
    assert report.counts == {}


def test_a_checkpoint_that_lost_all_its_plans_is_reported_as_behind_the_log() -> None:
    report = Report()
    judge({}, (), Markers(MARKERS, True), WrittenRecords(WHOLE, True), report)
    assert report.counts == {"checkpoint-behind": 1}
