"""The executors' side of a write: the tasks of a barrier stage, all in one transaction.

Called in Spark's workers by the plan that :mod:`oncelog.spark.executors.carrier` makes. The driver has fenced older
producers and decided to write; it passes its producer to one run of the stage. Each rank appends the batches of its own
partitions and reports.

Invariants:

- There is one writer for each (producer id, epoch, partition): Spark never runs a task of a barrier stage twice at the
  same time, and never repeats a barrier stage that is the last of its job. So each run has its own epoch, sequences
  neither repeat nor interleave, and of two runs only the later one's records can ever be committed.
- A task never ends the transaction: the driver does, once it has every rank's report. A broker's final refusal is also
  a report, so that the stage is not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import NamedTuple

import pyarrow as pa
from pyspark import TaskContext

from oncelog.errors import InvariantError, OncelogError
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.kafka.interface import PartitionBatch, final
from oncelog.spark.kafka.prefetch import run_ahead
from oncelog.spark.options import SinkOptions
from oncelog.spark.python_worker import acknowledged, pass_over_imports
from oncelog.spark.sink.driver_carrier import BatchCounter, observed
from oncelog.spark.sink.engine import BatchStep, Observer
from oncelog.spark.sink.rows import Encoding, TaskEncoder
from oncelog.spark.versions import VersionChecked
from oncelog.types import ProducerIdAndEpoch

ENCODED = "writer int, task int, topic string, partition int, records int, data binary"
"""One row for each encoded record batch; ``writer`` is the key of the rank that owns its partition."""

REPORT = "report string"

Rows = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class RankReport:
    """The result of one rank.

    :param refusal: why nothing may be committed, even by a retry; empty if there is no reason.
    :param seconds: how long appending took.
    """

    rank: int
    refusal: str = ""
    rows: int = 0
    batches: int = 0
    size_bytes: int = 0
    seconds: float = 0.0

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str) -> RankReport:
        return cls(**json.loads(text))


class BatchSize(NamedTuple):
    """The size of a batch: the number of tasks that computed its rows, the number of rows, the bytes of their columns,
    and the bytes of the record batches.
    """

    tasks: int
    rows: int
    row_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Encoder(VersionChecked):
    """Encodes rows to :data:`ENCODED`, in plain tasks that contact no broker; picklable.

    :param keys: for each rank, the shuffle key that sends a row to this rank.
    :param count: called at the end of a task.
    """

    encoding: Encoding
    keys: Sequence[int]
    batch_id: int | None
    count: Callable[[BatchSize], None]

    def __call__(self, rows: Rows) -> Rows:
        pass_over_imports()
        task = _task().partitionId()
        encoder = TaskEncoder(self.encoding, seed=task + (self.batch_id or 0), now_ms=real_time.time_ms())
        bases = self._bases()
        size_bytes = 0
        with closing(run_ahead(acknowledged(rows), wait=True)) as ahead:
            for chunk in encoder.encode_chunks(ahead):
                size_bytes += sum(len(batch.data) for batch in chunk)
                yield self._encoded(task, chunk, bases)
        self.count(BatchSize(1, encoder.rows, encoder.row_bytes, size_bytes))

    def _encoded(self, task: int, chunk: Sequence[PartitionBatch], bases: Mapping[str, int]) -> pa.RecordBatch:
        writers = [self.keys[(bases[batch.topic] + batch.partition) % len(self.keys)] for batch in chunk]
        return pa.RecordBatch.from_arrays(
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

    def _bases(self) -> dict[str, int]:
        """For each topic, the position of its partition 0 in the list of all partitions. The list is the same in every
        task.
        """
        bases: dict[str, int] = {}
        partitions = 0
        for topic, count in sorted(self.encoding.partition_counts.items()):
            bases[topic] = partitions
            partitions += count
        return bases


@dataclass(frozen=True, slots=True)
class BarrierWriter(VersionChecked):
    """Writes :data:`ENCODED` rows in a barrier stage and yields one row of :data:`REPORT`; picklable.

    :param producer: the producer that the driver initialized, for one run of the stage.
    """

    batch_id: int | None
    options: SinkOptions
    transactional_id: str
    timeout_ms: int
    producer: ProducerIdAndEpoch
    observe: Observer

    def __call__(self, rows: Rows) -> Rows:
        pass_over_imports()
        report = self._written(_task().partitionId(), rows)
        yield pa.RecordBatch.from_arrays([pa.array([report.encode()], pa.string())], names=["report"])

    def _written(self, rank: int, rows: Rows) -> RankReport:
        began = real_time.monotonic()
        sent = BatchCounter()
        refusal = ""
        transaction = cluster_for(self.options).transaction(self.transactional_id, self.timeout_ms)
        transaction.join(self.producer)
        try:
            with closing(run_ahead(acknowledged(rows), wait=True)) as ahead:
                transaction.produce(observed(sent.count(batches_of(ahead)), 1, self._reached))
            self._reached(BatchStep.PRODUCED)
        except OncelogError as error:
            if not final(error):
                raise
            refusal = str(error)
        return RankReport(rank, refusal, sent.rows, sent.batches, sent.size_bytes, real_time.monotonic() - began)

    def _reached(self, step: BatchStep) -> None:
        self.observe(step, self.batch_id)


def batches_of(rows: Rows) -> Iterator[PartitionBatch]:
    """The batches in :data:`ENCODED` rows."""
    for chunk in rows:
        topics, partitions, records = (chunk.column(name).to_pylist() for name in ("topic", "partition", "records"))
        data = chunk.column("data")
        for number, topic in enumerate(topics):
            yield PartitionBatch(topic, partitions[number], records[number], memoryview(data[number].as_buffer()))


def _task() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise InvariantError("a sink task runs outside a Spark task")
    return context
