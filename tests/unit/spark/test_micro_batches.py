"""A sink of a query writes a batch once, however often and from however many threads it is called."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame

from oncelog.errors import ConfigError
from oncelog.spark import micro_batches
from oncelog.spark.micro_batches import FoundQueries, QuerySinks, RunningQuery, running_query
from oncelog.spark.process import this_process

SINK = ("run", "oncelog-", "topic", "")


def test_a_second_write_of_a_batch_is_refused_during_the_first_and_after_it() -> None:
    sinks = QuerySinks()
    with sinks.writing(SINK, 1), pytest.raises(ConfigError, match="A sink was called twice for batch 1"):
        sinks.writing(SINK, 1).__enter__()
    with pytest.raises(ConfigError, match="a name of its own"), sinks.writing(SINK, 1):
        raise AssertionError("it may not write")
    with sinks.writing(SINK, 2), sinks.writing((*SINK[:3], "late"), 2):
        pass


def test_a_batch_that_failed_may_be_written_again() -> None:
    sinks = QuerySinks()
    with pytest.raises(ZeroDivisionError), sinks.writing(SINK, 1):
        raise ZeroDivisionError
    with sinks.writing(SINK, 1):
        pass


def test_groups_are_those_of_one_run() -> None:
    sinks = QuerySinks()
    sinks.groups("one").add("group")
    assert (sinks.groups("one"), sinks.groups("another")) == ({"group"}, set())
    sinks.close()
    assert sinks.groups("one") == set()


class Query:
    """Spark's object for one run of a query, whose batches are in a session of its own."""

    def __init__(self, run_id: str) -> None:
        self.session: Any = SimpleNamespace(equals=lambda other: other is self.session)
        self.batch: int | None = 5
        self.active = True
        self.id, self.runId = lambda: "query", lambda: run_id
        self.resolvedCheckpointRoot, self.isActive = lambda: "checkpoint", lambda: self.active

    def rows(self, of_query: str = "query") -> DataFrame:
        context = SimpleNamespace(getLocalProperty=lambda name: of_query)
        return cast(
            DataFrame, SimpleNamespace(sparkSession=SimpleNamespace(_jsparkSession=self.session, sparkContext=context))
        )


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs that Spark has: one, and how often they were all looked at."""
    spark = SimpleNamespace(queries=[Query("run")], times=0)

    def queries_of(rows: DataFrame, batch_id: int) -> list[Any]:
        spark.times += 1
        return [query for query in spark.queries if query.active]

    monkeypatch.setattr(micro_batches, "_queries_of", queries_of)
    monkeypatch.setattr(micro_batches, "session_of_query", lambda query: query.session)
    monkeypatch.setattr(micro_batches, "batch_of_query", lambda query: query.batch)
    yield spark
    this_process().close()


def test_a_query_that_was_found_is_not_looked_for_in_its_next_batches(looked: Any) -> None:
    query = looked.queries[0]
    for query.batch in (5, 6):
        assert running_query(query.rows(), query.batch, "") == RunningQuery("run", "checkpoint")
    assert looked.times == 1


def test_a_query_that_was_found_is_looked_for_again_in_a_new_run(looked: Any) -> None:
    """Spark repeats the batch, which the last run had too."""
    old, new = looked.queries[0], Query("new run")
    running_query(old.rows(), 5, "")
    old.active = False
    looked.queries.append(new)
    assert running_query(new.rows(), 5, "").run_id == "new run"


def test_rows_of_a_run_that_is_over_are_refused_though_it_was_found(looked: Any) -> None:
    old = looked.queries[0]
    running_query(old.rows(), 5, "")
    old.active = False
    with pytest.raises(ConfigError, match="for_each_batch writes micro-batches"):
        running_query(old.rows(), 5, "")


def test_a_batch_that_is_over_is_refused_though_its_query_was_found(looked: Any) -> None:
    query = looked.queries[0]
    running_query(query.rows(), 5, "")
    query.batch = 6
    with pytest.raises(ConfigError, match="called with batch 5, while the query is in batch 6"):
        running_query(query.rows(), 5, "")


def test_a_thread_of_another_query_does_not_count_as_that_of_the_one_found(looked: Any) -> None:
    query = looked.queries[0]
    running_query(query.rows(), 5, "")
    running_query(query.rows("another"), 5, "")
    assert looked.times == 2


def test_as_many_found_queries_are_kept_as_allowed(monkeypatch: pytest.MonkeyPatch, looked: Any) -> None:
    monkeypatch.setattr(FoundQueries, "MAX_QUERIES", 1)
    query = looked.queries[0]
    for named in ("", "checkpoint", ""):
        monkeypatch.setattr(micro_batches, "_checkpoint_of", lambda *given: "checkpoint")
        running_query(query.rows(), 5, named)
    assert looked.times == 3
