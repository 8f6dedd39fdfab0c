"""Encodes the rows of a batch in plain tasks, and shuffles the record batches to the writers that own their partitions.

Called by :mod:`oncelog.spark.executors.write`, before the transaction begins: so only the write itself must fit into
the transaction's timeout, and bad rows fail before it, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from oncelog.spark.executors.barrier import ENCODED, BatchSize, Encoder
from oncelog.spark.executors.ranks import keys_of_ranks
from oncelog.spark.executors.scheduling import any_stage_repeated, has_dynamic_allocation, tagged
from oncelog.spark.kafka.lanes import WINDOW
from oncelog.spark.process import this_process
from oncelog.spark.sink.rows import Encoding

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_ARROW_BYTES = 1 << 20


class Repeated(Exception):
    """Spark has recomputed a part of the batch, which is right only if the rows come out the same each time."""


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The record batches of a batch, each with the writer that owns its partition.

    :param encoded: rows of :data:`oncelog.spark.executors.barrier.ENCODED`.
    :param tag: the tag of the jobs that made them.
    :param size: an estimate: Spark counts repeated tasks again.
    :param executors: the executors that existed before those jobs.
    """

    context: SparkContext
    encoded: DataFrame
    writers: int
    volume: Volume
    tag: str
    size: BatchSize
    executors: frozenset[str]

    def check_made_once(self) -> None:
        """Raises Repeated if an encoding task has run again since the shuffle was complete, or any stage has."""
        if self.volume.taken().tasks != self.size.tasks or any_stage_repeated(self.context, self.tag):
            raise Repeated

    def check_executors(self) -> None:
        """Raises Repeated if an executor is gone, and with it perhaps a part of the shuffled batches.

        Not for one that dynamic allocation has ended because it was idle: Spark keeps files that are needed.
        """
        gone = self.executors - _executors_of(self.context)
        if gone and not (has_dynamic_allocation(self.context) and all(_was_ended(self.context, one) for one in gone)):
            raise Repeated


def shuffle_rows(rows: DataFrame, encoding: Encoding, writers: int, batch_id: int | None, volume: Volume) -> Shuffled:
    """Run the job that encodes and shuffles ``rows``; raises Repeated if executors were lost in it.

    :param writers: 0 if the driver writes.
    """
    spark = rows.sparkSession
    context = spark.sparkContext
    executors = _executors_of(context)
    keys = keys_of_ranks(max(writers, 1))
    encoder = Encoder(encoding, keys, batch_id, volume.add)
    planned = rows.mapInArrow(encoder, ENCODED).repartition(len(keys), "writer")
    with tagged(context) as tag:
        encoded = _run_shuffle(spark, planned, volume)
    shuffled = Shuffled(context, encoded, writers, volume, tag, volume.taken(), executors)
    shuffled.check_executors()
    return shuffled


def _run_shuffle(spark: SparkSession, planned: Any, volume: Volume) -> DataFrame:
    """Shuffle the encoded batches; in a separate session, whose Arrow batches hold only a few of them.

    Adaptive execution runs the shuffle when the plan becomes an RDD. If it is off, reading the first row does: encoding
    must be complete under the settings of the user's session, and before the transaction begins.
    """
    with _settings_in_tasks(spark):
        internal_rows = planned._jdf.queryExecution().toRdd()
        if not volume.taken().tasks:
            internal_rows.isEmpty()
    session = this_process().part(PlainSessions).of(spark)
    java_session: Any = session._jsparkSession
    java_encoded = java_session.internalCreateDataFrame(internal_rows, planned._jdf.schema(), False)
    encoded: DataFrame = type(planned)(java_encoded, session)
    return encoded


@contextmanager
def _settings_in_tasks(spark: SparkSession) -> Iterator[None]:
    """Give the tasks of this block's jobs the session's settings, which a plan that becomes an RDD does not.

    Spark does so for what it executes itself (``SQLExecution.withSQLConfPropagated``).
    """
    context: Any = spark.sparkContext._jsc
    session: Any = spark._jsparkSession
    before = context.sc().getLocalProperties()
    properties = before.clone()
    properties.putAll(session.sessionState().conf().settings())
    context.sc().setLocalProperties(properties)
    try:
        yield
    finally:
        context.sc().setLocalProperties(before)


class PlainSessions:
    """A session of the application without the user's settings, for the shuffled batches; kept by the process.

    Spark keeps a session's listeners until the session is garbage: one for each batch would add up.
    """

    def __init__(self) -> None:
        self._kept: tuple[str, SparkSession] | None = None

    def of(self, spark: SparkSession) -> SparkSession:
        application = spark.sparkContext.applicationId
        kept = self._kept
        if kept is not None and kept[0] == application:
            return kept[1]
        session = spark.newSession()
        session.conf.set("spark.sql.adaptive.enabled", "false")
        session.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(_ARROW_BYTES))
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(WINDOW))  # PySpark 3.5 knows only this one
        self._kept = application, session  # another application's context has ended
        return session

    def close(self) -> None:
        self._kept = None


def _executors_of(context: SparkContext) -> frozenset[str]:
    """Names of the current executors; one that is restarted has another."""
    scala: Any = context._jsc.sc()
    found = scala.statusStore().executorList(True)
    return frozenset(str(found.apply(number).id()) for number in range(found.size()))


def _was_ended(context: SparkContext, executor: str) -> bool:
    """Whether the driver has ended an executor, instead of losing it."""
    scala: Any = context._jsc.sc()
    try:
        reason = scala.statusStore().executorSummary(executor).removeReason()
    except Py4JJavaError:  # one of many that are gone, of which Spark keeps no records
        return False
    return str(reason) == "Some(Executor killed by driver.)"


class Volume:
    """Counts what the encoding tasks produced, by accumulators: an estimate, because Spark counts repeated tasks
    again.
    """

    def __init__(self, context: SparkContext) -> None:
        self._counters = [context.accumulator(0) for _ in BatchSize._fields]
        self._before = [0 for _ in BatchSize._fields]

    def begin(self) -> None:
        """Count from here on."""
        self._before = [int(counter.value) for counter in self._counters]

    def add(self, size: BatchSize) -> None:
        """Add counts, in a task."""
        for counter, more in zip(self._counters, size, strict=True):
            counter.add(more)

    def taken(self) -> BatchSize:
        """What was added since :meth:`begin`, and how many tasks have ended; read on the driver."""
        now = [int(counter.value) for counter in self._counters]
        return BatchSize(*(after - before for after, before in zip(now, self._before, strict=True)))


class Volumes:
    """Counters that no batch uses now; kept by the process, because PySpark keeps every accumulator for ever."""

    def __init__(self) -> None:
        self._idle: list[Volume] = []

    @contextmanager
    def counting(self, context: SparkContext) -> Iterator[Volume]:
        """A counter that begins at zero. One whose batch fails is not used again: its tasks may still run."""
        try:
            volume = self._idle.pop()
        except IndexError:
            volume = Volume(context)
        volume.begin()
        yield volume
        self._idle.append(volume)

    def close(self) -> None:
        self._idle.clear()
