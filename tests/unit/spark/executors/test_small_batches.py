"""A small batch is planned, and its transaction begun, in a thread while Spark computes its rows."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from oncelog.spark.executors import write
from oncelog.spark.executors.barrier import BatchSize
from oncelog.spark.executors.collected import Share, last_sizes
from oncelog.spark.executors.shuffle import Repeated
from oncelog.spark.options import SinkOptions
from oncelog.spark.process import this_process
from oncelog.spark.sink.engine import BatchOutcome, BatchResult, CarriedRecords, ignore
from oncelog.spark.sink.planning import PendingWrite

TIMEOUT_S = 60
SCHEMA = StructType([StructField("value", StringType())])
ROWS = cast(DataFrame, SimpleNamespace(columns=["value"], schema=SCHEMA))
OPTIONS = cast(SinkOptions, SimpleNamespace(micro_batch=3, writers=None, topic="t"))
PLANNED = PendingWrite(None, "group", lambda memory: None)


class Course:
    """What was called, in order. Planning waits until the rows are computed, and the other way round."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
        self.calls: list[str] = []
        self.planning, self.computed = threading.Event(), threading.Event()
        self._found = found
        monkeypatch.setattr(write, "group_of", lambda options: "group")
        monkeypatch.setattr(write, "encoding_for", lambda schema, options: None)
        monkeypatch.setattr(write, "collect_rows", self._collect)
        monkeypatch.setattr(write, "engine_for", lambda planned, options, observe: self)
        monkeypatch.setattr(write, "_shuffle_any_size", lambda *given: self.calls.append("shuffled"))
        last_sizes().note("group", BatchSize(1, 10, 1000, 1000))

    def plan(self) -> PendingWrite:
        self.planning.set()
        assert self.computed.wait(TIMEOUT_S)
        self.calls.append("planned")
        return PLANNED

    def begin(self) -> None:
        self.calls.append("fenced")

    def write(self, carrier: object) -> BatchResult:
        self.calls.append("written")
        return BatchResult(BatchOutcome.WRITTEN, CarriedRecords(10, 1, 1000))

    def run(self) -> None:
        write.write_rows(ROWS, OPTIONS, self.plan, ignore)

    def _collect(self, *given: object) -> Any:
        assert self.planning.wait(TIMEOUT_S)
        self.calls.append("computed")
        self.computed.set()
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@pytest.fixture(autouse=True)
def _fresh_process() -> Any:
    yield
    this_process().close()


def test_rows_are_computed_while_the_batch_is_planned_and_written_after_both(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course(monkeypatch, SimpleNamespace(carrier=None, size=BatchSize(1, 20, 2000, 2000)))
    course.run()
    assert course.calls == ["computed", "planned", "fenced", "written"]
    assert last_sizes().take_share("group") == Share(131072, 2048)


def test_a_failed_row_computation_is_raised_after_the_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fence that came after the error would stop the writer of the repeated batch."""
    course = Course(monkeypatch, ValueError("rows"))
    with pytest.raises(ValueError, match="rows"):
        course.run()
    assert course.calls == ["computed", "planned", "fenced"]


@pytest.mark.parametrize("found", [None, Repeated()], ids=["larger than its share", "a stage ran again"])
def test_uncollected_rows_are_shuffled_with_the_same_plan(monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
    course = Course(monkeypatch, found)
    course.run()
    assert course.calls == ["computed", "planned", "fenced", "shuffled"]


def test_a_batch_that_could_not_be_collected_is_shuffled_when_it_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows may be more than the driver may take."""
    course = Course(monkeypatch, ValueError("Total size of serialized results is bigger than maxResultSize"))
    with pytest.raises(ValueError, match="Total size"):
        course.run()
    course.run()
    assert course.calls == ["computed", "planned", "fenced", "planned", "shuffled"]


def test_an_error_of_the_plan_is_raised_and_no_row_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course(monkeypatch, SimpleNamespace(carrier=None, size=BatchSize(1, 20, 2000, 2000)))

    def refused() -> PendingWrite:
        course.plan()
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        write.write_rows(ROWS, OPTIONS, refused, ignore)
    assert course.calls == ["computed", "planned"]
