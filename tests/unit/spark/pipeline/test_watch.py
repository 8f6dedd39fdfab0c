"""What a run does with queries that end, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.spark.pipeline import PipelineError
from oncelog.spark.pipeline import running as pipeline_run
from oncelog.spark.pipeline.running import STARTS, watch

LATE = "[STREAM_FAILED] Job aborted.\norg.apache.spark.SparkException: Python worker failed to connect back.\n\tat x"


class Ended:
    """A query that has ended, with the parts of a StreamingQuery that are used."""

    isActive = False
    lastProgress = None

    def __init__(self, failure: str = "") -> None:
        self._failure = failure

    def exception(self) -> Exception | None:
        return Exception(self._failure) if self._failure else None

    def stop(self) -> None:
        """It has ended."""


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_run, "POLL_S", 0.0)


def watched(*failures: str) -> int:
    """Watch a query that fails in these ways one after another, and then ends well; returns how often it was
    restarted.
    """
    queries: list[Any] = [Ended(failure) for failure in (*failures, "")]
    left = iter(queries[1:])
    started: list[str] = []

    def again(name: str) -> Any:
        started.append(name)
        return next(left)

    watch({"one": queries[0], "other": queries[-1]}, lambda progress: None, again)
    assert set(started) <= {"one"}
    return len(started)


def test_the_run_ends_when_all_queries_have_ended_without_an_error() -> None:
    assert watched() == 0


def test_a_query_whose_python_worker_failed_is_restarted() -> None:
    assert watched(*[LATE] * (STARTS - 1)) == STARTS - 1


def test_a_query_whose_python_workers_never_start_fails() -> None:
    with pytest.raises(PipelineError, match="pipeline one failed: Python worker failed to connect back"):
        watched(*[LATE] * STARTS)


def test_any_other_failure_ends_the_run() -> None:
    with pytest.raises(PipelineError, match="pipeline one failed: too late"):
        watched("[STREAM_FAILED] Job aborted.\nCaused by: java.lang.RuntimeException: too late\n\tat x")
