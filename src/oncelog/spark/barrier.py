"""The executors' side of a write: the tasks of a barrier stage, all in one transaction.

Called in Spark's workers by the plan that :mod:`oncelog.spark.executors` makes. Rank 0 of each stage attempt fences
(InitProducerId), reads the marker under that fence, decides, and hands producer and decision round; then each rank
appends the batches of its own partitions and reports. Invariants:

- One writer for each (producer id, epoch, partition): a barrier stage repeats all of its tasks or none, never runs
  one twice at the same time, and each attempt takes a new epoch. So sequences neither repeat nor interleave, and of
  two attempts only the later one's records can ever be committed.
- A task never ends the transaction with a commit: that is the driver's, once it has every rank's report of one
  producer. What a broker or the decision refuses for good is such a report too, so that Spark does not try again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace

import pyarrow as pa
from pyspark import BarrierTaskContext, TaskContext

from oncelog.errors import Error, InvariantError, KafkaError, OncelogError
from oncelog.spark.cluster import Cluster
from oncelog.spark.connections import cluster_for
from oncelog.spark.marker import Skip, Write
from oncelog.spark.options import SinkOptions
from oncelog.spark.planning import now_ms
from oncelog.spark.prefetch import run_ahead
from oncelog.spark.rows import Encoding, TaskEncoder
from oncelog.spark.sink_protocol import (
    BatchWrite,
    Observer,
    Outcome,
    PartitionBatch,
    Step,
    abort,
    observed,
    open_batch,
)
from oncelog.types import ProducerStamp

ENCODED = "writer int, task int, topic string, partition int, records int, data binary"
"""One row for each encoded record batch; ``writer`` is the rank that owns its partition."""

REPORT = "report string"

Rows = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Report:
    """What one rank did, or why it did not.

    :param outcome: a name of :class:`Outcome`, or empty where ``refusal`` says why nothing may be written.
    :param again: another attempt of the stage may heal what ``refusal`` says.
    :param leave_marker: skipped without a marker, so that the driver commits one.
    :param timeout_ms: of the transaction; ``seconds``: since it began.
    """

    rank: int
    producer_id: int = -1
    producer_epoch: int = -1
    outcome: str = ""
    leave_marker: bool = False
    timeout_ms: int = 0
    warning: str = ""
    refusal: str = ""
    again: bool = False
    rows: int = 0
    batches: int = 0
    size_bytes: int = 0
    seconds: float = 0.0

    @property
    def producer(self) -> ProducerStamp:
        return ProducerStamp(self.producer_id, self.producer_epoch)

    @property
    def decision(self) -> Write | Skip:
        if Outcome[self.outcome] is Outcome.WRITTEN:
            return Write("", self.warning)
        return Skip("", self.warning, self.leave_marker)

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str) -> Report:
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class Encoder:
    """Rows to :data:`ENCODED`, in plain tasks that contact nobody; picklable.

    :param count: told runs, rows and bytes: of each chunk, and at the end that the task has run once more.
    """

    encoding: Encoding
    writers: int
    batch_id: int | None
    count: Callable[[int, int, int], None]

    def __call__(self, rows: Rows) -> Rows:
        task = _task().partitionId()
        encoder = TaskEncoder(self.encoding, seed=task + (self.batch_id or 0), now_ms=time.time_ns() // 1_000_000)
        bases = self._bases()
        before = 0
        for chunk in encoder.encode_chunks(rows):
            writers = [(bases[batch.topic] + batch.partition) % self.writers for batch in chunk]
            self.count(0, encoder.rows - before, sum(len(batch.data) for batch in chunk))
            before = encoder.rows
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array(writers, pa.int32()),
                    pa.array([task] * len(chunk), pa.int32()),
                    pa.array([batch.topic for batch in chunk], pa.string()),
                    pa.array([batch.partition for batch in chunk], pa.int32()),
                    pa.array([batch.records for batch in chunk], pa.int32()),
                    pa.array([batch.data for batch in chunk], pa.binary()),
                ],
                names=[column.split()[0] for column in ENCODED.split(", ")],
            )
        self.count(1, 0, 0)

    def _bases(self) -> dict[str, int]:
        """Number of each topic's partition 0 among all partitions, the same in every task."""
        bases: dict[str, int] = {}
        partitions = 0
        for topic, count in sorted(self.encoding.partition_counts.items()):
            bases[topic] = partitions
            partitions += count
        return bases


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes :data:`ENCODED` rows in a barrier stage and yields one row of :data:`REPORT`; picklable.

    :param write: the batch but for its records.
    """

    write: BatchWrite
    options: SinkOptions
    transactional_id: str
    timeouts_ms: tuple[int, ...]
    observe: Observer

    def __call__(self, rows: Rows) -> Rows:
        report = self._written(BarrierTaskContext.get(), rows)
        yield pa.RecordBatch.from_arrays([pa.array([report.encode()], pa.string())], names=["report"])

    def _written(self, stage: BarrierTaskContext, rows: Rows) -> Report:
        rank = stage.partitionId()
        # An error while others wait in allGather would end their executors: Spark throws in a thread nobody watches
        opening = self._open().encode() if rank == 0 else ""
        begun = replace(Report.decode(stage.allGather(opening)[0]), rank=rank)
        if begun.again:
            raise OncelogError(f"the transaction could not be begun: {begun.refusal}")
        cluster = cluster_for(self.options)
        if begun.refusal or begun.outcome != Outcome.WRITTEN.name:
            return begun
        began = time.monotonic()
        sent = _Sent()
        refusal = ""
        with cluster.transaction(self.transactional_id, begun.timeout_ms) as engine:
            engine.join(begun.producer)
            try:
                with closing(run_ahead(batches_of(rows), wait=True)) as ahead:
                    engine.produce(observed(sent.count(ahead), 1, self.write.batch_id, self.observe))
                self.observe(Step.PRODUCED, self.write.batch_id)
            except OncelogError as error:
                if not final(error):
                    abort(engine, error)
                    raise
                refusal = explained(error, begun.timeout_ms)
        return replace(
            begun,
            refusal=refusal,
            rows=sent.rows,
            batches=sent.batches,
            size_bytes=sent.size_bytes,
            seconds=time.monotonic() - began,
        )

    def _open(self) -> Report:
        """Begin the transaction, with the first timeout that the broker allows; what fails is reported."""
        try:
            return self._begun(cluster_for(self.options))
        except OncelogError as error:
            return Report(0, refusal=str(error), again=not final(error))

    def _begun(self, cluster: Cluster) -> Report:
        for timeout_ms in self.timeouts_ms:
            with cluster.transaction(self.transactional_id, timeout_ms) as engine:
                try:
                    decision = open_batch(self.write, engine, self.observe, now_ms)
                except KafkaError as error:
                    if error.error is Error.INVALID_TRANSACTION_TIMEOUT and timeout_ms != self.timeouts_ms[-1]:
                        continue
                    return Report(0, refusal=explained(error, timeout_ms), again=not final(error))
                producer = engine.producer()
                skips = isinstance(decision, Skip)
                return Report(
                    0,
                    producer.producer_id,
                    producer.producer_epoch,
                    (Outcome.SKIPPED if skips else Outcome.WRITTEN).name,
                    isinstance(decision, Skip) and decision.leave_marker,
                    timeout_ms,
                    decision.warning,
                )
        raise InvariantError("a writer was given no transaction timeout")


class _Sent:
    """What went through."""

    def __init__(self) -> None:
        self.rows = self.batches = self.size_bytes = 0

    def count(self, batches: Iterator[PartitionBatch]) -> Iterator[PartitionBatch]:
        for batch in batches:
            self.rows += batch.records
            self.batches += 1
            self.size_bytes += len(batch.data)
            yield batch


def batches_of(rows: Rows) -> Iterator[PartitionBatch]:
    """The batches in :data:`ENCODED` rows."""
    for chunk in rows:
        topics, partitions, records = (chunk.column(name).to_pylist() for name in ("topic", "partition", "records"))
        data = chunk.column("data")
        for number, topic in enumerate(topics):
            yield PartitionBatch(topic, partitions[number], records[number], memoryview(data[number].as_buffer()))


_HEALED_BY_A_FENCE = (
    Error.TRANSACTION_ABORTABLE,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    Error.INVALID_TXN_STATE,
    Error.INVALID_PRODUCER_ID_MAPPING,
)


def final(error: OncelogError) -> bool:
    """Whether another attempt of the stage would fail too, or would fence the producer that fenced this one."""
    return not (isinstance(error, KafkaError) and (error.retriable or error.error in _HEALED_BY_A_FENCE))


def explained(error: OncelogError, timeout_ms: int) -> str:
    """The error's text, with what else may be behind it and what to do."""
    match error.error if isinstance(error, KafkaError) else None:
        case Error.INVALID_PRODUCER_EPOCH | Error.PRODUCER_FENCED:
            return (
                f"{error}: another run of this query has taken over, or the transaction took longer than its timeout "
                f"({timeout_ms} ms). In the second case give more writers, write less at a time, or raise "
                "kafka.transaction.timeout.ms (at most the broker's transaction.max.timeout.ms)"
            )
        case Error.INVALID_TRANSACTION_TIMEOUT:
            return (
                f"{error}: kafka.transaction.timeout.ms is {timeout_ms}, more than the broker's "
                "transaction.max.timeout.ms: lower the one or raise the other"
            )
        case _:
            return str(error)


def _task() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise InvariantError("a sink task runs outside a Spark task")
    return context
