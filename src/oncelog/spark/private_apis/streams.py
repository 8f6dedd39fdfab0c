"""Running queries: finds the query of a micro-batch, and sets how queries write their checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from oncelog.spark.private_apis.driver import has_class
from oncelog.spark.private_apis.jobs import GROUP
from oncelog.spark.private_apis.uses import ApiMissing, private_api

_QUERY_ID = "sql.streaming.queryId"
_BATCH_ID = "streaming.sql.batchId"


class HasProperties(Protocol):
    """A SparkContext, or the TaskContext of a task."""

    def getLocalProperty(self, key: str) -> str | None: ...


class MicroBatch(NamedTuple):
    query_id: str
    batch_id: int


def _unknown(context: HasProperties) -> MicroBatch | None:
    return None


@private_api(
    f"property.{_QUERY_ID}",
    f"property.{_BATCH_ID}",
    buys="a batch whose rows are another query's is refused",
    instead=_unknown,
    loses="the checkpoint says which batch a task belongs to",
)
def batch_of_task(context: HasProperties) -> MicroBatch | None:
    """The micro-batch that a query's task belongs to; None if Spark does not report one."""
    found = _local_batch(context)
    if found is None:
        raise ApiMissing(f"a task of a query has no local property {_QUERY_ID} or {_BATCH_ID}")
    return found


def batch_of_thread(context: HasProperties) -> MicroBatch | None:
    """The micro-batch that a thread of the driver runs, or that its parent ran when it was started; None if there is
    none.
    """
    return _local_batch(context)


def _local_batch(context: HasProperties) -> MicroBatch | None:
    query_id, batch_id = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
    return None if query_id is None or batch_id is None else MicroBatch(str(query_id), int(str(batch_id)))


class ActiveStream(NamedTuple):
    """A run of a query.

    :param checkpoint: the checkpoint's location; empty if Spark does not report it.
    :param batch_id: the current micro-batch; None before the first one.
    :param execution: Spark's ``StreamExecution``; None if Spark does not report it.
    """

    query_id: str
    run_id: str
    checkpoint: str
    batch_id: int | None
    execution: Any = None


def _stream_of_thread(rows: Any, batch_id: int) -> list[ActiveStream]:
    context = rows.sparkSession.sparkContext
    batch = batch_of_thread(context)
    if batch is None:
        return []
    return [ActiveStream(batch.query_id, str(context.getLocalProperty(GROUP)), "", batch.batch_id)]


@private_api(
    "JavaSession.sharedState",
    "SharedState.activeStreamingQueries",
    "StreamExecution.id",
    "StreamExecution.runId",
    "StreamExecution.resolvedCheckpointRoot",
    "StreamExecution.sparkSessionForStream from 4.0",
    "StreamExecution.getLatestExecutionContext from 4.0",
    "StreamExecution.lastExecution below 4.0",
    "StreamExecution.currentBatchId below 4.0",
    buys="for_each_batch and to_table find the query's checkpoint, and refuse rows of another query",
    instead=_stream_of_thread,
    loses="for_each_batch and to_table need the option checkpointLocation, and do not refuse rows of another query",
)
def streams_of(rows: Any, batch_id: int) -> list[ActiveStream]:
    """The query whose session ``rows`` belong to, and the query whose batch this thread runs; one entry if they are the
    same.

    Neither is certain: joined rows have the session of the left side, which may belong to another query; and a
    long-lived thread keeps the properties of the batch in which it was started.
    """
    session: Any = rows.sparkSession._jsparkSession
    batch = batch_of_thread(rows.sparkSession.sparkContext)
    of_thread = batch.query_id if batch is not None and batch.batch_id == batch_id else ""
    active = session.sharedState().activeStreamingQueries().elements()
    of_rows, others = [], []
    while active.hasMoreElements():  # a Python for loop would end with a Java exception, which takes 30 ms
        query = active.nextElement()
        if _is_in(query, session):
            of_rows.append(_described(query))
        elif str(query.id()) == of_thread:
            others.append(_described(query))
    return of_rows + others


def _described(query: Any) -> ActiveStream:
    checkpoint = str(query.resolvedCheckpointRoot())
    return ActiveStream(str(query.id()), str(query.runId()), checkpoint, _batch_of(query), query)


def _is_in(query: Any, session: Any) -> bool:
    """Whether a query runs its batches in the session, which is a Java object."""
    if not _is_before_4():
        return bool(query.sparkSessionForStream().equals(session))
    last = query.lastExecution()
    return last is not None and bool(last.sparkSession().equals(session))


def _batch_of(query: Any) -> int | None:
    if not _is_before_4():
        context = query.getLatestExecutionContext()
        return None if context is None else int(context.batchId())
    current = int(query.currentBatchId())
    return None if current < 0 else current


def _is_before_4() -> bool:
    """Whether this is PySpark 3. The version is compared, because py4j treats every name of an object as a method, even
    if it does not exist."""
    from pyspark import __version__

    return __version__.startswith("3.")


def _unknown_offsets(stream: ActiveStream) -> Sequence[str] | None:
    return None


@private_api(
    "StreamExecution.getLatestExecutionContext from 4.0",
    "StreamExecutionContext.batchId from 4.0",
    "StreamExecutionContext.endOffsets from 4.0",
    "StreamProgress.valuesIterator from 4.0",
    buys="a run whose plan of a batch another run has replaced in the checkpoint at the same moment is refused",
    instead=_unknown_offsets,
    loses="if two runs plan a batch at the same moment, rows between their plans may be lost or repeated",
    seen="4.3.0",
)
def end_offsets_of(stream: ActiveStream) -> Sequence[str] | None:
    """Where a query's current batch ends in each source, as Spark has it in memory; None if Spark does not say, or if
    the query is no longer in that batch. The checkpoint's file of the batch may be that of another run.
    """
    if stream.execution is None or _is_before_4():
        return None
    context = stream.execution.getLatestExecutionContext()
    if context is None or int(context.batchId()) != stream.batch_id:
        return None
    found, offsets = [], context.endOffsets().valuesIterator()
    while offsets.hasNext():
        found.append(str(offsets.next().json()))
    return found


CHECKPOINT_FILES = "spark.sql.streaming.checkpointFileManagerClass"
"""The session's setting of the class that writes a query's checkpoint; if unset, Spark chooses by the checkpoint's file
system.
"""
_STREAMING = "org.apache.spark.sql.execution.streaming"
_PLAIN_FILES = ("checkpointing.FileSystemBasedCheckpointFileManager", "FileSystemBasedCheckpointFileManager")


_STATELESS = frozenset(
    {
        *("Project", "Filter", "SubqueryAlias", "View", "Generate", "Union", "EventTimeWatermark"),
        *("MapInPandas", "MapInArrow", "PythonMapInArrow", "MapPartitions", "MapElements", "TypedFilter"),
        *("SerializeFromObject", "DeserializeToObject", "Repartition", "RepartitionByExpression", "ResolvedHint"),
    }
)
"""The names of Spark's plan nodes that are known to keep no state in a streaming query."""


def _keeps_no_state(plan: Any) -> bool:
    """Whether all nodes of a streaming plan are known to keep no state."""
    children = plan.children()
    below = [children.apply(index) for index in range(children.size())]
    if not below or not plan.isStreaming():
        return True
    name = plan.getClass().getSimpleName()
    is_lookup = name == "Join" and sum(child.isStreaming() for child in below) == 1
    return (name in _STATELESS or is_lookup) and all(map(_keeps_no_state, below))


def _as_spark_chooses(rows: Any) -> str | None:
    return None


@private_api(
    f"java.{_STREAMING}.{_PLAIN_FILES[0]} from 4.1",
    f"java.{_STREAMING}.{_PLAIN_FILES[1]} below 4.1",
    "DataFrame._jdf",
    "Dataset.queryExecution",
    "QueryExecution.analyzed",
    "LogicalPlan.children",
    "LogicalPlan.isStreaming",
    buys="a checkpoint on a local disk takes 4 processes (chmod) a batch instead of 20, half of a small batch",
    instead=_as_spark_chooses,
    loses="checkpoints on a local disk are written as Spark chooses",
)
def plain_checkpoint_files(rows: Any) -> str | None:
    """The class for :data:`CHECKPOINT_FILES` that Spark uses for file systems without support in Hadoop's newer
    ``FileContext``; None for a query that may keep state.

    The class does not replace an existing file, which Spark relies on for state: a task or a batch that runs again
    would write rows that its state does not match.
    """
    if not _keeps_no_state(rows._jdf.queryExecution().analyzed()):
        return None
    for name in _PLAIN_FILES:
        if has_class(rows.sparkSession, f"{_STREAMING}.{name}"):
            return f"{_STREAMING}.{name}"
    raise ApiMissing(f"no class {_STREAMING}.{_PLAIN_FILES[0]}")
