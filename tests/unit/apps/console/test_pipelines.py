"""What the console keeps of the runs that Spark sessions report."""

from __future__ import annotations

from typing import Any

from oncelog.apps.console.pipelines import Pipelines


def reported(known: Pipelines, session: str, now_ms: int, state: str = "running", **progress: Any) -> None:
    report: dict[str, Any] = {"session": session, "pipeline": "late", "state": state}
    known.take(report | ({"progress": {"pipeline": "late", "batch": 1, **progress}} if progress else {}), now_ms)


def shown(known: Pipelines) -> list[tuple[str, list[str]]]:
    return [(one.session, [other.session for other in one.earlier]) for one in known.all()]


def test_a_killed_run_of_a_query_is_not_listed_once_its_successor_runs() -> None:
    known = Pipelines()
    reported(known, "h:1", 1_000, query_id="q")
    assert shown(known) == [("h:1", [])]
    reported(known, "h:2", 9_000)
    reported(known, "h:2", 9_500, query_id="q")
    reported(known, "h:2", 10_000, "ended")
    assert shown(known) == [("h:2", ["h:1"])]
    reported(known, "h:3", 20_000, query_id="q")
    assert shown(known) == [("h:3", ["h:1", "h:2"])]


def test_a_failed_run_of_a_query_is_not_listed_once_another_run_continues_it() -> None:
    known = Pipelines()
    reported(known, "h:1", 1_000, query_id="q")
    reported(known, "h:1", 2_000, "failed")
    reported(known, "h:2", 9_000, query_id="q")
    assert shown(known) == [("h:2", ["h:1"])]


def test_two_runs_at_the_same_time_are_both_shown() -> None:
    known = Pipelines()
    reported(known, "h:1", 1_000, query_id="q")
    reported(known, "h:2", 2_000, query_id="q")
    reported(known, "h:1", 3_000, query_id="q")
    assert shown(known) == [("h:1", []), ("h:2", [])]


def test_a_run_of_another_query_of_the_same_name_is_not_a_successor() -> None:
    known = Pipelines()
    reported(known, "h:1", 1_000, query_id="q")
    reported(known, "h:2", 2_000, query_id="other")
    assert shown(known) == [("h:1", []), ("h:2", [])]


def test_tables_are_distinguished_from_topics() -> None:
    known = Pipelines()
    reported(
        known, "h:1", 1_000, sinks={"topic 'late'": 3, "delta table lake/late": 2, "the topics that the rows name": 1}
    )
    assert known.all()[0].tables == ("delta table lake/late",)
    reported(known, "h:1", 2_000, sinks="nonsense")
    assert known.all()[0].tables == ()
