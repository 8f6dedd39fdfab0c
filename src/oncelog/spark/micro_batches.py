"""Which query's micro-batch a function of ``foreachBatch`` was called with, and that each sink writes it once.

Called by ``for_each_batch`` (:mod:`oncelog.spark.session`) and ``to_table`` (:mod:`oncelog.spark.tables.sink`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame

from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.java_errors import our_sentence, shortened
from oncelog.spark.process import this_process
from oncelog.spark.sink.checkpoint import CheckpointError
from oncelog.spark.sink.planning import BATCH_ID, QUERY_ID, checkpoint_at
from oncelog.spark.versions import batch_of_query, session_of_query

logger = logging.getLogger(__name__)


class RunningQuery(NamedTuple):
    run_id: str
    checkpoint: str


class _Found(NamedTuple):
    """A run of a query, found by its rows' session: Spark makes one for each run."""

    query: Any
    session: Any
    running: RunningQuery


class FoundQueries:
    """The runs that were found, by query and named checkpoint; kept by the process.

    Each question to the JVM is answered by another process: to find a query takes 21 of them, to check a known one 5.
    """

    MAX_QUERIES = 100

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], _Found] = {}

    def known(self, rows: DataFrame, batch_id: int, named: str) -> RunningQuery | None:
        """The query of this thread, if it was found before, runs this batch, and ``rows`` are in its session."""
        found = self._found.get((str(rows.sparkSession.sparkContext.getLocalProperty(QUERY_ID)), named))
        session: Any = rows.sparkSession._jsparkSession
        if found is None or not found.session.equals(session) or not found.query.isActive():
            return None
        return found.running if batch_of_query(found.query) == batch_id else None

    def keep(self, query_id: str, named: str, found: _Found) -> None:
        self._found.pop((query_id, named), None)
        self._found[query_id, named] = found
        if len(self._found) > self.MAX_QUERIES:
            del self._found[next(iter(self._found))]

    def close(self) -> None:
        self._found.clear()


Sink: TypeAlias = tuple[str, ...]
"""The run of a query, and what tells its sinks apart."""


class QuerySinks:
    """The sinks of all runs of queries in this process: a sink may be made in each batch, and called from any thread.

    Kept by the process (:mod:`oncelog.spark.process`).
    """

    def __init__(self) -> None:
        self._last_written: dict[Sink, int] = {}
        self._being_written: set[Sink] = set()
        self._groups: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def writing(self, sink: Sink, batch_id: int) -> Iterator[None]:
        """Guards the write of a batch, which may be repeated if it failed. Raises ConfigError for a second write."""
        with self._lock:
            if sink in self._being_written or self._last_written.get(sink) == batch_id:
                raise ConfigError(
                    f"A sink was called twice for batch {batch_id}: the second call would be taken for a repeat of "
                    "the first and write nothing; make a sink for each write, each with a name of its own"
                )
            self._being_written.add(sink)
        try:
            yield
            self._last_written[sink] = batch_id
        finally:
            self._being_written.discard(sink)

    def groups(self, run_id: str) -> set[str]:
        """The groups to which sinks of this run have planned to write; each sink adds its own.

        In a run's first batch, a group of the checkpoint that is not among them is that of a sink that the query no
        longer has.
        """
        with self._lock:
            return self._groups.setdefault(run_id, set())

    def close(self) -> None:
        with self._lock:
            self._last_written.clear()
            self._being_written.clear()
            self._groups.clear()


def query_sinks() -> QuerySinks:
    """The sinks that this process knows."""
    return this_process().part(QuerySinks)


def said_first(write: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
    """A function for ``foreachBatch`` whose refusals are one sentence, which is logged before Spark ends the query.

    Spark shows an error of such a function three times, each time behind the frames of Python's stack and Java's. So
    the frames of this package are left out, and those of the JVM: see :mod:`oncelog.spark.java_errors`.
    """

    def call(rows: DataFrame, batch_id: int) -> None:
        failure: Exception | None = None
        try:
            write(rows, batch_id)
        except OncelogError as error:
            failure = error
        except Py4JJavaError as error:
            ours = our_sentence(str(error))
            failure = RefusedRows(ours) if ours else Py4JError(shortened(str(error)))
        if isinstance(failure, OncelogError):
            logger.error("%s", failure)
            logger.debug("where that was raised", exc_info=failure)
        if failure is not None:
            raise failure.with_traceback(None) from None

    return call


class RefusedRows(OncelogError):
    """Rows that a task has refused; the text is the task's."""


def running_query(rows: DataFrame, batch_id: int, named: str) -> RunningQuery:
    """The query that ``rows`` are a micro-batch of. Raises ConfigError if that batch is not running, or two could be
    it.

    :param named: the checkpoint named in the options, empty if there is none.
    """
    queries = this_process().part(FoundQueries)
    known = queries.known(rows, batch_id, named)
    if known is not None:
        return known
    found = {str(query.id()): query for query in _queries_of(rows, batch_id)}
    running = {query_id: batch_of_query(query) for query_id, query in found.items()}
    chosen = [query_id for query_id, number in running.items() if number == batch_id]
    if not found:
        raise ConfigError(
            "for_each_batch writes micro-batches: pass it to writeStream.foreachBatch, or call it in such a function "
            "with the rows that Spark gives to it, before it returns"
        )
    if not chosen:
        raise ConfigError(
            f"for_each_batch was called with batch {batch_id}, while the query is in batch "
            f"{' or '.join(map(str, running.values()))}: give it the rows and the number that Spark gives to the "
            "function of foreachBatch, before that function returns"
        )
    if len(chosen) > 1:
        raise ConfigError(
            f"for_each_batch was called with batch {batch_id} and rows of the session of query {chosen[0]}, in a "
            f"thread of query {chosen[1]}, and both are in that batch: give it rows of its own query's session (in a "
            "join, the left rows decide), and each query threads of its own"
        )
    query_id, query = chosen[0], found[chosen[0]]
    checkpoint = _checkpoint_of(query_id, str(query.resolvedCheckpointRoot()), named)
    one = RunningQuery(str(query.runId()), checkpoint)
    queries.keep(query_id, named, _Found(query, session_of_query(query), one))
    return one


def _queries_of(rows: DataFrame, batch_id: int) -> list[Any]:
    """Spark's objects for the query in whose session ``rows`` are, and for the one whose batch this thread runs.

    Neither is certain: joined rows have the session of the left side, which another query may have kept; and a thread
    that lives on keeps the properties of the batch in which it was started.
    """
    session: Any = rows.sparkSession._jsparkSession
    active = session.sharedState().activeStreamingQueries().elements()
    queries = []
    while active.hasMoreElements():  # an iteration in Python ends with an exception of Java's, which takes 30 ms
        queries.append(active.nextElement())
    found = [query for query in queries if session_of_query(query).equals(session)]
    context = rows.sparkSession.sparkContext
    if context.getLocalProperty(BATCH_ID) == str(batch_id):
        found += [query for query in queries if str(query.id()) == context.getLocalProperty(QUERY_ID)]
    return found


def _checkpoint_of(query_id: str, own: str, named: str) -> str:
    """The query's own checkpoint, or the named one, but only if Python sees the own one under that other name.

    With the plans of another query, a batch could wrongly count as written: such a name raises ConfigError.
    """
    if not named:
        return own
    found = checkpoint_at(named).query_id()
    if found != query_id:
        raise ConfigError(
            f"Option checkpointLocation of for_each_batch names {named}, the checkpoint of query {found}, while this "
            f"is query {query_id} with checkpoint {own}: leave the option out"
        )
    try:
        checkpoint_at(own).query_id()
    except CheckpointError:
        return named
    return own
