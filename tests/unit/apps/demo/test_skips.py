"""Which batches count as skipped."""

from __future__ import annotations

from oncelog.apps.demo.observed_source import CommitStep, Journal
from oncelog.apps.demo.run import skipped
from oncelog.spark.sink.engine import BatchStep


def test_a_batch_whose_last_attempt_ends_after_the_marker_counts_as_skipped() -> None:
    first = [
        BatchStep.STARTED,
        BatchStep.FENCED,
        BatchStep.MARKER_READ,
        BatchStep.PRODUCED,
        BatchStep.MARKER_ADDED,
        BatchStep.COMMITTED,
    ]
    again = [BatchStep.STARTED, BatchStep.FENCED, BatchStep.MARKER_READ]
    steps = [CommitStep(1.0, "p", step.value, 7, 1, False) for step in first]
    assert skipped(steps) == []
    steps += [CommitStep(2.0, "p", step.value, 7, 2, False) for step in again]
    steps += [CommitStep(3.0, "p", step.value, 8, 2, False) for step in first]
    assert [step.batch for step in skipped(steps)] == [7]


def test_reading_the_journal_leaves_out_an_incomplete_last_line(tmp_path) -> None:  # type: ignore[no-untyped-def]
    journal = Journal(tmp_path, "p")
    journal.reached(BatchStep.STARTED, 3)
    with journal.path.open("a") as file:
        file.write('[1.0, "p", "fen')
    assert [(step.step, step.batch, step.paused) for step in journal.read()] == [("started", 3, False)]
