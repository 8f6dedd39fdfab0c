"""Batches written by the executors: the driver's side.

Called by ``for_each_batch`` and ``write`` of :mod:`oncelog.spark.session`. Plain tasks encode the rows into record
batches, and a shuffle brings each partition's batches to the one writer that owns it. Then the size decides:

- *driver*: a few bytes are collected and written by this process, as ``format("oncelog")`` does;
- *executors*: this process fences and reads the marker, a barrier stage writes in one transaction
  (:mod:`oncelog.spark.executors.barrier`), and this process adds the marker and commits. No record passes through the
  driver.

The shuffle is complete before the transaction begins, so only the write itself must fit into the transaction's timeout.
Bad rows fail before it, too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.functions import col

from oncelog.errors import Error, InvariantError, KafkaError
from oncelog.spark.executors.barrier import ENCODED, REPORT, Encoder, Report, Writer, batches_of
from oncelog.spark.executors.scheduling import (
    TooFewSlots,
    any_stage_repeated,
    cannot_have,
    choose_writers,
    enough_slots,
    tagged,
)
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.options import SinkOptions
from oncelog.spark.sink.engine import (
    BatchWrite,
    Observer,
    Outcome,
    SinkRefused,
    abort,
    close_batch,
    commit_batch,
    open_batch,
)
from oncelog.spark.sink.marker import Skip, Write
from oncelog.spark.sink.planning import Planned, now_ms
from oncelog.spark.sink.rows import positions_of
from oncelog.spark.sink.writers import encoding_for
from oncelog.types import ProducerIdAndEpoch

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

DRIVER_BYTES = 64 << 20
"""Up to this many encoded bytes the driver writes itself, unless told otherwise: it takes a second for 100 MB."""
MOST_TIMEOUT_MS = 900_000
"""Apache Kafka's ``transaction.max.timeout.ms`` unless set."""
LEAST_TIMEOUT_MS = 60_000
ATTEMPTS = 4
"""How often a batch, or its write, is tried when executors or their workers die: as often as Spark tries a stage."""
_ARROW_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """How a batch was written.

    :param batch_id: the micro-batch, or the option ``batchId``; None without one.
    :param path: ``executors``, ``driver``, or ``none`` if the marker said that the batch is written already.
    :param writers: how many tasks wrote it; 0 if the driver did.
    :param rows: how many rows were written.
    :param size_bytes: their size as records.
    :param seconds: how long it took.
    :param replayed: an earlier run of the query had planned the micro-batch without completing it.
    """

    batch_id: int | None
    path: str
    writers: int
    rows: int
    size_bytes: int
    seconds: float
    replayed: bool = False


class _Repeated(Exception):
    """Spark has recomputed a part of the batch, which is right only if the rows come out the same each time."""


def write_rows(rows: DataFrame, options: SinkOptions, planned: Planned, observe: Observer) -> Written:
    """Write the rows as one transaction, unless their marker exists. Raises OncelogError if they may not be in.

    If Spark has lost and repeated a part, the whole batch is computed again: with rows that differ each time they are
    computed (a repartition by something random), the rows of an earlier task and of a later one would overlap.
    """
    numbered = rows.toDF(*map(str, range(len(rows.columns))))  # a select cannot tell names apart by case alone
    chosen = numbered.select([col(str(number)).alias(name) for name, number in positions_of(rows.columns).items()])
    context = rows.sparkSession.sparkContext
    most_writers: int | None = None
    for _ in range(ATTEMPTS):
        try:
            with _Volume.counting(context) as volume:
                return _Batch(chosen, options, planned, observe, volume, most_writers).written()
        except TooFewSlots as few:
            if options.writers:
                raise cannot_have(options.writers, few) from None
            most_writers = few.writers
            logger.warning("A batch is begun again with at most %d writers: %s", few.writers, few.why)
        except _Repeated:
            logger.warning(
                "A part of a batch was lost, with executors or on its way: all of it is made and written again"
            )
    raise SinkRefused(
        f"Executors, or what they had made, were lost in each of {ATTEMPTS} attempts to write a batch: see Spark's "
        "logs why; nothing is written"
    )


class _Batch:
    """One attempt to write a batch with a certain number of writers."""

    def __init__(
        self,
        rows: DataFrame,
        options: SinkOptions,
        planned: Planned,
        observe: Observer,
        volume: _Volume,
        most_writers: int | None,
    ) -> None:
        self._spark: SparkSession = rows.sparkSession
        self._options = options
        self._transactional_id = planned.transactional_id
        self._remember = planned.remember
        self._write = BatchWrite(planned.plan, options.marker_partition)
        self._observe = observe
        self._volume = volume
        encoding = encoding_for(rows.schema, options)
        context = self._spark.sparkContext
        writers = choose_writers(context, options.writers, sum(encoding.partition_counts.values()))
        self.writers = writers if most_writers is None else min(writers, most_writers)
        self._executors = _executors_of(context)
        encoder = Encoder(encoding, max(self.writers, 1), self._write.batch_id, volume.add)
        shuffled = rows.mapInArrow(encoder, ENCODED).repartitionById(max(self.writers, 1), "writer")
        with tagged(context) as self._tag:
            self._encoded = self._shuffle(shuffled, volume)
        self._runs, self._estimated_rows, self._size_bytes = volume.taken()
        if not self._executors <= _executors_of(context):
            raise _Repeated

    def _check_made_once(self) -> None:
        """Raises _Repeated if an encoding task has run again since the shuffle was complete, or any stage has."""
        if self._volume.taken()[0] != self._runs or any_stage_repeated(self._spark.sparkContext, self._tag):
            raise _Repeated

    def _shuffle(self, shuffled: Any, volume: _Volume) -> DataFrame:
        """Shuffle the encoded batches; in a separate session, whose Arrow batches hold only a few of them.

        Adaptive execution runs the shuffle when the plan becomes an RDD. If it is off, reading the first row does:
        encoding must be complete under the settings of the user's session, and before the transaction begins.
        """
        java_rdd = shuffled._jdf.toJavaRDD()
        if not volume.taken()[0]:
            java_rdd.isEmpty()
        session = _plain_session(self._spark)
        java_session: Any = session._jsparkSession
        return ClassicDataFrame(java_session.createDataFrame(java_rdd, shuffled._jdf.schema()), session)

    def written(self) -> Written:
        by_driver = self.writers == 0 or (self._options.writers is None and self._size_bytes <= DRIVER_BYTES)
        if self.writers == 0 and self._size_bytes > self._options.max_batch_bytes:
            raise SinkRefused(
                f"The batch holds {self._size_bytes} bytes encoded, more than maxBatchBytes "
                f"({self._options.max_batch_bytes}) that may go through the driver, and the executors may not write it "
                "(writers is 0, or spark.dynamicAllocation.enabled is true): allow them to, or write less at a time"
            )
        return self._by_driver() if by_driver else self._by_executors()

    def _by_driver(self) -> Written:
        began = time.monotonic()
        table = self._encoded.toArrow().sort_by("task")
        self._check_made_once()
        rows = sum(table.column("records").to_pylist())
        write = replace(
            self._write,
            rows=rows,
            count=table.num_rows,
            batches=batches_of(table.to_batches()),
        )
        with cluster_for(self._options).transaction(
            self._transactional_id, self._options.transaction_timeout_ms
        ) as engine:
            outcome = commit_batch(write, engine, self._observe, logger.warning, now_ms, self._remember)
        path = "driver" if outcome is Outcome.WRITTEN else "none"
        return Written(write.batch_id, path, 0, rows, self._size_bytes, time.monotonic() - began)

    def _by_executors(self) -> Written:
        """Fence, decide, let the executors write, commit; all of it again if executors or their workers died."""
        began = time.monotonic()
        result = Written(self._write.batch_id, "executors", self.writers, 0, 0, 0.0)
        attempt = 0
        while True:
            attempt += 1
            opened = self._open()
            if opened.decision.warning:
                logger.warning(opened.decision.warning)
            if isinstance(opened.decision, Skip):
                if opened.decision.leave_marker:
                    self._end(opened, self._estimated_rows, skipped=True)
                return replace(result, path="none", seconds=time.monotonic() - began)
            try:
                reports = self._run(opened)
            except (PySparkException, Py4JJavaError) as error:
                if attempt == ATTEMPTS or _STAGE_FAILED not in str(error):
                    self._abort(opened, error)
                    raise
                if not self._executors <= _executors_of(self._spark.sparkContext):
                    self._abort(opened, error)
                    raise _Repeated from None
                logger.warning("A writer of a batch died, all of its writers begin again: %s", _cause_of(error))
                continue
            except (SinkRefused, InvariantError, TooFewSlots) as error:
                self._abort(opened, error)
                raise
            sent = sum(report.size_bytes for report in reports)
            rows = sum(report.rows for report in reports)
            if self._write.batch_id is not None or rows:
                self._end(opened, rows)
            if not self._options.cluster.two_phase_commit:
                _warn_of_timeout(max(report.seconds for report in reports), opened.timeout_ms)
            return replace(result, rows=rows, size_bytes=sent, seconds=time.monotonic() - began)

    def _open(self) -> _Opened:
        """The producer of one run, fenced with the first timeout that the broker allows, and the marker's verdict."""
        cluster = cluster_for(self._options)
        for timeout_ms in timeouts_ms(self._options):
            with cluster.transaction(self._transactional_id, timeout_ms) as engine:
                try:
                    decision = open_batch(self._write, engine, self._observe, now_ms)
                except KafkaError as error:
                    if error.error is not Error.INVALID_TRANSACTION_TIMEOUT:
                        raise
                    if timeout_ms == timeouts_ms(self._options)[-1]:
                        raise SinkRefused(str(error)) from None
                    continue
                return _Opened(engine.producer(), decision, timeout_ms)
        raise InvariantError("a batch was given no transaction timeout")

    def _run(self, opened: _Opened) -> list[Report]:
        """Run the writers' stage once, as the last of its job, so that Spark never repeats it under the same epoch."""
        context = self._spark.sparkContext
        writer = Writer(
            self._write.batch_id,
            self._options,
            self._transactional_id,
            opened.timeout_ms,
            opened.producer,
            self._observe,
        )
        plan = self._encoded.mapInArrow(writer, REPORT, barrier=True)
        with enough_slots(context, self.writers):
            reports = [Report.decode(row.report) for row in plan.collect()]
        check_reports(reports, self.writers)
        return reports

    def _end(self, opened: _Opened, rows: int, *, skipped: bool = False) -> None:
        """Commit with the marker; if Spark has recomputed anything, abort and raise _Repeated."""
        with cluster_for(self._options).transaction(self._transactional_id, opened.timeout_ms) as engine:
            engine.join(opened.producer)
            try:
                self._check_made_once()
            except _Repeated:
                engine.end(commit=False)
                raise
            try:
                write = replace(self._write, rows=rows)
                close_batch(write, engine, self._observe, self._remember, skipped=skipped)
            except KafkaError as error:
                raise SinkRefused(str(error)) from error

    def _abort(self, opened: _Opened, cause: BaseException) -> None:
        """Abort, so that readers need not wait for the timeout of records already appended."""
        with cluster_for(self._options).transaction(self._transactional_id, opened.timeout_ms) as engine:
            engine.join(opened.producer)
            abort(engine, cause)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A transaction for one run of the writers."""

    producer: ProducerIdAndEpoch
    decision: Write | Skip
    timeout_ms: int


_STAGE_FAILED = "Could not recover from a failed barrier ResultStage"
"""Spark's message if a writer, its Python worker or its executor died; other failures of a job are final."""


def _cause_of(error: Exception) -> str:
    """Spark's own line for the first cause."""
    text = str(error).partition(_STAGE_FAILED)[2]
    return text.partition("Most recent failure reason:")[2].strip().partition("\n")[0] or "see Spark's log"


def check_reports(reports: list[Report], writers: int) -> None:
    """Raises SinkRefused for what a rank could not write, and InvariantError if one has not reported."""
    for report in sorted(reports, key=lambda report: report.rank):
        if report.refusal:
            raise SinkRefused(report.refusal)
    ranks = sorted(report.rank for report in reports)
    if ranks != list(range(writers)):
        raise InvariantError(f"of {writers} writers, {ranks} have reported")


def timeouts_ms(options: SinkOptions) -> tuple[int, ...]:
    """The transaction timeouts to try, until one is not refused: the user's, else as long as brokers may allow."""
    if "transaction.timeout.ms" in options.client or options.cluster.two_phase_commit:
        return (options.transaction_timeout_ms,)
    return (MOST_TIMEOUT_MS, LEAST_TIMEOUT_MS)


def _warn_of_timeout(seconds: float, timeout_ms: int) -> None:
    if seconds * 2000 > timeout_ms:
        logger.warning(
            "The transaction of a batch was open for %.0f s, more than half of its timeout (%d ms): use more writers, "
            "write less at a time, or raise kafka.transaction.timeout.ms (at most the broker's "
            "transaction.max.timeout.ms)",
            seconds,
            timeout_ms,
        )


_plain: dict[str, SparkSession] = {}
"""By application. Spark keeps a session's listeners until the session is garbage: one for each batch would add up."""


def _plain_session(spark: SparkSession) -> SparkSession:
    """A session of the same application, without the user's settings, for the shuffled batches."""
    application = spark.sparkContext.applicationId
    session = _plain.get(application)
    if session is None:
        session = spark.newSession()
        session.conf.set("spark.sql.adaptive.enabled", "false")
        session.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(_ARROW_BYTES))
        _plain.clear()  # another application's context has ended, or another query's thread was just here
        _plain[application] = session
    return session


def _executors_of(context: SparkContext) -> set[tuple[str, int]]:
    """Addresses of the current executors; one that is restarted has another."""
    scala: Any = context._jsc.sc()
    return {(str(info.host()), int(info.port())) for info in scala.statusTracker().getExecutorInfos()}


class _Volume:
    """Counts what the encoding tasks produced, by accumulators: an estimate, because Spark counts repeated tasks again.

    PySpark keeps every accumulator for ever, so later batches reuse them.
    """

    _idle: ClassVar[list[_Volume]] = []

    def __init__(self, context: SparkContext) -> None:
        self._counters = [context.accumulator(0) for _ in range(3)]
        self._before = [0, 0, 0]

    @classmethod
    @contextmanager
    def counting(cls, context: SparkContext) -> Iterator[_Volume]:
        try:
            volume = cls._idle.pop()
        except IndexError:
            volume = cls(context)
        volume._before = [int(counter.value) for counter in volume._counters]
        yield volume
        cls._idle.append(volume)

    def add(self, runs: int, rows: int, size_bytes: int) -> None:
        """Add counts, in a task."""
        for counter, more in zip(self._counters, (runs, rows, size_bytes), strict=True):
            counter.add(more)

    def taken(self) -> tuple[int, int, int]:
        """Completed runs of tasks, rows and bytes since :meth:`counting`; read on the driver."""
        now = [int(counter.value) for counter in self._counters]
        runs, rows, size_bytes = (after - before for after, before in zip(now, self._before, strict=True))
        return runs, rows, size_bytes
