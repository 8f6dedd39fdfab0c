"""Finds the query of the micro-batch that a ``foreachBatch`` function received, and ensures that each sink writes it
once.

Called by ``for_each_batch`` (:mod:`oncelog.spark.session`) and ``to_table`` (:mod:`oncelog.spark.tables.sink`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame

from oncelog.errors import ConfigError, OncelogError
from oncelog.runtime import real_json as json
from oncelog.spark.private_apis import streams, texts
from oncelog.spark.private_apis.java_errors import our_sentence, shortened
from oncelog.spark.process import this_process
from oncelog.spark.sink.checkpoint import CheckpointError
from oncelog.spark.sink.marker import OffsetLogEntry
from oncelog.spark.sink.plan_description import bare_offsets, offsets_by_source
from oncelog.spark.sink.planning import checkpoint_at

logger = logging.getLogger(__name__)


class RunningQuery(NamedTuple):
    """A run of a query.

    :param ends: where its batch ends in each source, by Spark's memory; None if that is not known.
    """

    run_id: str
    checkpoint: str
    ends: Sequence[str] | None = None

    def check_plan(self, batch: OffsetLogEntry) -> None:
        """Raises CheckpointError if the checkpoint's plan of the batch is not the one that this run computes: of two
        runs that plan a batch at the same moment, one may replace the other's file, because a local disk renames a file
        over another one.

        Call this after the plan is read. A run reads its own plan unless another run has replaced it, which is then
        there for good.
        """
        if self.ends is None:
            return
        planned = [line for line in offsets_by_source(batch.offsets).values() if line not in ("", "-")]
        if sorted(map(_comparable, planned)) != sorted(map(_comparable, self.ends)):
            raise CheckpointError(
                f"Batch {batch.batch_id} is refused: offsets/{batch.batch_id} of checkpoint {self.checkpoint} was "
                f"{batch}, and this run has planned it up to {', '.join(map(bare_offsets, self.ends))}, so another run "
                "of the query has planned the batch at the same time: stop what still runs, and start the query once"
            )


def _comparable(offset: str) -> str:
    """An offset's JSON in one form; the text itself if it is not JSON."""
    try:
        return json.dumps(json.loads(offset), sort_keys=True)
    except ValueError:
        return offset


Sink: TypeAlias = tuple[str, ...]
"""The run of a query, and the names that distinguish its sinks."""


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
        """Ensures that a sink writes a batch once; a failed write may be repeated. Raises ConfigError for a second
        write."""
        with self._lock:
            if sink in self._being_written or self._last_written.get(sink) == batch_id:
                raise ConfigError(
                    f"A sink was called twice for batch {batch_id}: the second call would be taken for a repeat of "
                    "the first and write nothing; make a sink for each write, each with a name of its own. If the "
                    "second call is another attempt, because something else failed in the batch, let that error end "
                    "the query, and start the query again: sinks that have the batch skip it"
                )
            self._being_written.add(sink)
        try:
            yield
            self._last_written[sink] = batch_id
        finally:
            self._being_written.discard(sink)

    def groups(self, run_id: str) -> set[str]:
        """The marker groups of the sinks that this run has planned writes for; each sink adds its own group.

        If the checkpoint has a group that this set lacks after a run's first batch, the group belongs to a sink that
        was removed from the query.
        """
        with self._lock:
            return self._groups.setdefault(run_id, set())

    def close(self) -> None:
        with self._lock:
            self._last_written.clear()
            self._being_written.clear()
            self._groups.clear()


def query_sinks() -> QuerySinks:
    """The sinks of queries that this process runs."""
    return this_process().part(QuerySinks)


def said_first(write: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
    """Wrap a function for ``foreachBatch`` so that its refusals are one sentence, logged before Spark ends the query.

    Spark prints the error of such a function three times, each time after the stack traces of Python and of Java. So
    the error is raised without the stack frames of this package and of the JVM: see
    :mod:`oncelog.spark.private_apis.java_errors`.
    """

    def call(rows: DataFrame, batch_id: int) -> None:
        failure: Exception | None = None
        try:
            write(rows, batch_id)
        except OncelogError as error:
            failure = error
        except Py4JJavaError as error:
            text = str(error)
            if ours := our_sentence(text):
                failure = RefusedRows(ours)
            elif lost := texts.lost_state(text):
                failure = StateLost(lost)
            else:
                failure = Py4JError(shortened(text))
        if isinstance(failure, OncelogError):
            logger.error("%s", failure)
            logger.debug("the traceback of this error", exc_info=failure)
        if failure is not None:
            raise failure.with_traceback(None) from None

    return call


class StateLost(OncelogError):
    """Spark cannot compute the batch, because files of the query's state are missing; the text says what to do."""


class RefusedRows(OncelogError):
    """A task has refused rows; the message is that of the task's error."""


def running_query(rows: DataFrame, batch_id: int, named: str) -> RunningQuery:
    """The query of which ``rows`` is a micro-batch.

    :param named: the checkpoint named in the options, empty if there is none.
    :raises ConfigError: the batch is not running, two queries match, Spark does not report the query's checkpoint and
        ``named`` is empty, or ``named`` is the checkpoint of another query.
    """
    found = streams.streams_of(rows, batch_id)
    chosen = [stream for stream in found if stream.batch_id == batch_id]
    if not found:
        raise ConfigError(
            "for_each_batch writes micro-batches: pass it to writeStream.foreachBatch, or call it in such a function "
            "with the rows that Spark gives to it, before it returns"
        )
    if not chosen:
        numbers = " or ".join(str(stream.batch_id) for stream in found)
        raise ConfigError(
            f"for_each_batch was called with batch {batch_id}, while the query is in batch {numbers}: give it the rows "
            "and the number that Spark gives to the function of foreachBatch, before that function returns"
        )
    if len(chosen) > 1:
        of_rows, of_thread = chosen[0].query_id, chosen[1].query_id
        raise ConfigError(
            f"for_each_batch was called with batch {batch_id} and rows of the session of query {of_rows}, in a thread "
            f"of query {of_thread}, and both queries are in that batch: give it rows of its own query's session (in a "
            "join, "
            "the left rows decide), and each query threads of its own"
        )
    stream = chosen[0]
    checkpoint = _checkpoint_of(stream.query_id, stream.checkpoint, named)
    return RunningQuery(stream.run_id, checkpoint, streams.end_offsets_of(stream))


def _checkpoint_of(query_id: str, own: str, named: str) -> str:
    """The query's own checkpoint, or the named one if it is the same folder under another name.

    With the plans of another query, a batch could wrongly count as written, so any other name raises ConfigError.

    :param own: the checkpoint that Spark reports; empty if Spark reports none, and then ``named`` is required.
    """
    if not own and not named:
        raise ConfigError(
            f"This Spark does not say where the checkpoint of query {query_id} is: name it in the option "
            "checkpointLocation of for_each_batch or to_table"
        )
    if not named:
        return own
    found = checkpoint_at(named).query_id()
    if found != query_id:
        advice = f" with checkpoint {own}: leave the option out" if own else ": name the query's own"
        raise ConfigError(
            f"Option checkpointLocation of for_each_batch names {named}, the checkpoint of query {found}, while this "
            f"is query {query_id}{advice}"
        )
    if not own:
        return named
    try:
        checkpoint_at(own).query_id()
    except CheckpointError:
        return named
    return own
