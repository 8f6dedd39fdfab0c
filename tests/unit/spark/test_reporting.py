"""Spark's events of a session's queries, as a reporter gets them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from oncelog.spark.progress import Progress
from oncelog.spark.reporting import ReportingListener


class Reported:
    """A reporter that keeps the states."""

    def __init__(self) -> None:
        self.states: list[tuple[str, str, str]] = []

    def progress(self, progress: Progress) -> None:
        raise AssertionError("no batch has ended")

    def state(self, pipeline: str, state: str, problem: str = "") -> None:
        self.states.append((pipeline, state, problem))


def event(run: str, problem: str | None = None, name: str | None = "copy") -> Any:
    return SimpleNamespace(id="query", runId=run, name=name, exception=problem)


def test_a_run_that_fails_is_reported_with_the_first_line_of_its_error() -> None:
    reported = Reported()
    listener = ReportingListener(reported)
    listener.onQueryStarted(event("1"))
    listener.onQueryTerminated(event("1", "no such column\nat line 1"))
    assert reported.states == [("copy", "running", ""), ("copy", "failed", "no such column")]


def test_a_late_report_that_a_run_ended_does_not_end_the_next_run() -> None:
    reported = Reported()
    listener = ReportingListener(reported)
    listener.onQueryStarted(event("1"))
    listener.onQueryStarted(event("2"))
    listener.onQueryTerminated(event("1", "killed"))
    assert reported.states == [("copy", "running", "")] * 2
    listener.onQueryTerminated(event("2"))
    assert reported.states[2:] == [("copy", "ended", "")]


def test_queries_without_a_name_are_distinguished_by_their_ids() -> None:
    reported = Reported()
    listener = ReportingListener(reported)
    listener.onQueryStarted(event("1", name=None))
    listener.onQueryStarted(event("2"))
    listener.onQueryTerminated(event("1", name=None))
    assert reported.states[2:] == [("query", "ended", "")]
