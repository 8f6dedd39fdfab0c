"""Encodes the rows of a batch in plain tasks, and shuffles the record batches to the writers that own their partitions.

Called by :mod:`oncelog.spark.executors.write`, before the transaction begins: so only the write itself must fit into
the transaction's timeout, and bad rows fail before it, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from oncelog.spark.executors.barrier import ENCODED, BatchSize, Encoder
from oncelog.spark.executors.ranks import keys_of_ranks
from oncelog.spark.executors.scheduling import any_executor_lost, any_stage_repeated, tagged
from oncelog.spark.kafka.lanes import WINDOW
from oncelog.spark.private_apis import jobs, plans
from oncelog.spark.process import this_process
from oncelog.spark.sink.rows import Encoding

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_ARROW_BYTES = 1 << 20


class Repeated(Exception):
    """Spark has recomputed a part of the batch, which is correct only if recomputed rows are always the same."""


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The record batches of a micro-batch, each with the writer that owns its partition.

    :param encoded: rows of :data:`oncelog.spark.executors.barrier.ENCODED`.
    :param tag: the tag of the jobs that made them.
    :param size: an estimate: Spark counts repeated tasks again.
    :param executors: the executors that existed before those jobs.
    """

    spark: SparkSession
    encoded: DataFrame
    writers: int
    volume: Volume
    tag: str
    size: BatchSize
    executors: frozenset[str]

    def check_made_once(self) -> None:
        """Raises Repeated if an encoding task or a stage has run again since the shuffle was complete."""
        if self.volume.taken().tasks != self.size.tasks or any_stage_repeated(self.spark.sparkContext, self.tag):
            raise Repeated

    def check_executors(self) -> None:
        """Raises Repeated if an executor was lost, because a part of the shuffled batches may be lost, too."""
        if any_executor_lost(self.spark, self.executors):
            raise Repeated


def shuffle_rows(rows: DataFrame, encoding: Encoding, writers: int, batch_id: int | None, volume: Volume) -> Shuffled:
    """Run the job that encodes and shuffles ``rows``; raises Repeated if executors were lost in it.

    :param writers: 0 if the driver writes.
    """
    spark = rows.sparkSession
    context = spark.sparkContext
    executors = jobs.executors(context)
    keys = keys_of_ranks(max(writers, 1))
    encoder = Encoder(encoding, keys, batch_id, volume.add)
    planned = rows.mapInArrow(encoder, ENCODED).repartition(len(keys), "writer")
    with tagged(context) as tag:
        encoded = _run_shuffle(spark, planned, volume)
    shuffled = Shuffled(spark, encoded, writers, volume, tag, volume.taken(), executors)
    shuffled.check_executors()
    return shuffled


def _run_shuffle(spark: SparkSession, planned: DataFrame, volume: Volume) -> DataFrame:
    """Shuffle the encoded batches, in a separate session in which each Arrow batch contains only a few of them.

    Encoding must be complete under the settings of the user's session, and before the transaction begins.
    """
    # set for the tasks here, because Spark does not pass settings to the tasks of a plan that becomes an RDD
    take_back = jobs.give_settings(spark)
    try:
        into = this_process().part(PlainSessions).of(spark)
        return plans.run_shuffle(planned, into, lambda: volume.taken().tasks > 0)
    finally:
        take_back()


class PlainSessions:
    """A session of the application without the user's settings, for the shuffled batches; kept by the process.

    Spark keeps a session's listeners until the session is collected, so one session per batch would leak.
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
        # PySpark 3.5 limits an Arrow batch by records only.
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(WINDOW))
        self._kept = application, session  # replaces the session of an application that has ended
        return session

    def close(self) -> None:
        self._kept = None


class Volume:
    """Counts what the encoding tasks produced, by accumulators: an estimate, because Spark counts repeated tasks
    again.
    """

    def __init__(self, context: SparkContext) -> None:
        self._counters = [context.accumulator(0) for _ in BatchSize._fields]
        self._before = [0 for _ in BatchSize._fields]

    def begin(self) -> None:
        """Begin to count: :meth:`taken` returns what is added from now on."""
        self._before = [int(counter.value) for counter in self._counters]

    def add(self, size: BatchSize) -> None:
        """Add the size of the batch part that a task has encoded to the counters; called in the task."""
        for counter, more in zip(self._counters, size, strict=True):
            counter.add(more)

    def taken(self) -> BatchSize:
        """The sum of all sizes that tasks have added since :meth:`begin`, and the number of tasks that have ended;
        called on the driver.
        """
        now = [int(counter.value) for counter in self._counters]
        return BatchSize(*(after - before for after, before in zip(now, self._before, strict=True)))


class Volumes:
    """Idle counters, kept by the process for reuse, because PySpark never frees an accumulator."""

    def __init__(self) -> None:
        self._idle: list[Volume] = []

    @contextmanager
    def counting(self, context: SparkContext) -> Iterator[Volume]:
        """A counter that begins at zero. A counter whose batch failed is not reused: its tasks may still be running."""
        try:
            volume = self._idle.pop()
        except IndexError:
            volume = Volume(context)
        volume.begin()
        yield volume
        self._idle.append(volume)

    def close(self) -> None:
        self._idle.clear()
