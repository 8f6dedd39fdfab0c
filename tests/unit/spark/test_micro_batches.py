"""A sink of a query writes a batch once, however often and from however many threads it is called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame

from oncelog.errors import ConfigError
from oncelog.spark.micro_batches import QuerySinks, RunningQuery, running_query
from oncelog.spark.private_apis import streams
from oncelog.spark.private_apis.uses import KnownApis
from oncelog.spark.process import this_process
from oncelog.spark.sink.checkpoint import CheckpointError
from oncelog.spark.sink.marker import OffsetLogEntry

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


def test_the_job_groups_of_a_run_are_removed_when_the_run_ends() -> None:
    sinks = QuerySinks()
    sinks.groups("one").add("group")
    assert (sinks.groups("one"), sinks.groups("another")) == ({"group"}, set())
    sinks.close()
    assert sinks.groups("one") == set()


class Query:
    """Spark's object for one run of a query, whose batches are in a session of its own."""

    def __init__(self, query_id: str, batch: int | None) -> None:
        self.session: Any = SimpleNamespace(equals=lambda other: other is self.session)
        running = None if batch is None else SimpleNamespace(batchId=lambda: batch)
        self.id, self.runId = lambda: query_id, lambda: f"run of {query_id}"
        self.resolvedCheckpointRoot, self.sparkSessionForStream = lambda: f"/{query_id}", lambda: self.session
        self.getLatestExecutionContext = lambda: running


class Elements:
    """Java's enumeration."""

    def __init__(self, items: list[Query]) -> None:
        self._items = list(items)

    def hasMoreElements(self) -> bool:
        return bool(self._items)

    def nextElement(self) -> Query:
        return self._items.pop(0)


def rows_of(of_session: Query, of_thread: str, batch_id: int, active: list[Query]) -> DataFrame:
    """Rows of a query's session, in a thread that has run a batch of the same or another query."""
    properties = {
        "sql.streaming.queryId": of_thread,
        "streaming.sql.batchId": str(batch_id),
        "spark.jobGroup.id": "run of the thread",
    }
    queries = SimpleNamespace(elements=lambda: Elements(active))
    of_session.session.sharedState = lambda: SimpleNamespace(activeStreamingQueries=lambda: queries)
    context = SimpleNamespace(getLocalProperty=properties.get)
    session = SimpleNamespace(_jsparkSession=of_session.session, sparkContext=context)
    return cast(DataFrame, SimpleNamespace(sparkSession=session))


@pytest.fixture(autouse=True)
def _any_version(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(streams, "_is_before_4", lambda: False)
    this_process().close()
    yield
    this_process().close()


def test_the_query_is_found_by_the_session_of_the_rows() -> None:
    one, other = Query("one", 5), Query("other", 5)
    assert running_query(rows_of(one, "one", 5, [other, one]), 5, "") == RunningQuery("run of one", "/one")
    assert running_query(rows_of(one, "another", 4, [other, one]), 5, "") == RunningQuery("run of one", "/one")


def test_the_query_is_found_by_its_thread_if_the_rows_belong_to_another_session() -> None:
    one, kept = Query("one", 5), Query("kept", 7)
    assert running_query(rows_of(kept, "one", 5, [kept, one]), 5, "") == RunningQuery("run of one", "/one")


def test_rows_and_thread_that_belong_to_different_queries_are_refused() -> None:
    one, kept = Query("one", 5), Query("kept", 5)
    with pytest.raises(ConfigError, match="rows of the session of query kept, in a thread of query one, and both"):
        running_query(rows_of(kept, "one", 5, [one, kept]), 5, "")


def test_rows_of_a_run_that_has_ended_are_refused() -> None:
    with pytest.raises(ConfigError, match="for_each_batch writes micro-batches"):
        running_query(rows_of(Query("one", 5), "one", 5, []), 5, "")


@pytest.mark.parametrize("batch", [6, None])
def test_rows_of_a_batch_that_has_ended_are_refused(batch: int | None) -> None:
    one = Query("one", batch)
    with pytest.raises(ConfigError, match=f"called with batch 5, while the query is in batch {batch}"):
        running_query(rows_of(one, "one", 5, [one]), 5, "")


def test_a_spark_that_does_not_list_its_queries_gets_the_checkpoint(tmp_path: Path) -> None:
    """What this thread's properties say is compared with the checkpoint that is named."""
    this_process().part(KnownApis).missing.add(streams.streams_of.name)
    (tmp_path / "metadata").write_text('{"id": "query"}')
    rows = rows_of(Query("query", 5), "query", 5, [])
    with pytest.raises(ConfigError, match="does not say where the checkpoint of query query is: name it in the option"):
        running_query(rows, 5, "")
    for _ in range(2):
        assert running_query(rows, 5, str(tmp_path)) == RunningQuery("run of the thread", str(tmp_path))
    with pytest.raises(ConfigError, match="called with batch 6"):
        running_query(rows, 6, str(tmp_path))
    with pytest.raises(ConfigError, match="while this is query other: name the query's own"):
        running_query(rows_of(Query("other", 5), "other", 5, []), 5, str(tmp_path))


@pytest.mark.parametrize(
    ("offsets", "ends"),
    [
        ('{"t":{"0":10}}', ['{"t": {"0": 10}}']),
        ('orders:{"t":{"0":10}}\nrefunds:7', ["7", '{"t":{"0":10}}']),
        ('{"t":{"0":10}}\n-', ['{"t":{"0":10}}']),
        ('{"t":{"0":10}}', None),
    ],
)
def test_the_plan_that_a_run_has_made_itself_is_accepted(offsets: str, ends: list[str] | None) -> None:
    RunningQuery("run", "checkpoint", ends).check_plan(OffsetLogEntry(3, "fingerprint", 0, offsets))


@pytest.mark.parametrize("offsets", ['{"t":{"0":15}}', '{"t":{"0":10}}\n{"t":{"0":10}}', "-"])
def test_the_plan_of_another_run_is_refused(offsets: str) -> None:
    run = RunningQuery("run", "checkpoint", ['{"t":{"0":10}}'])
    with pytest.raises(CheckpointError, match=r"offsets/3 of checkpoint .* this run has planned it up to \{"):
        run.check_plan(OffsetLogEntry(3, "fingerprint", 0, offsets))
