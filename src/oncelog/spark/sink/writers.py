"""The writers of ``format("oncelog")``: tasks encode rows, the driver commits them.

PySpark makes a writer on the driver, pickles it to the tasks, and calls ``commit()`` in a separate worker of the
driver, which knows only the options and the tasks' messages: for a stream it makes the writer there again. A task never
contacts the broker, so running it twice has no effect. The steps inside ``commit()`` are in
:mod:`oncelog.spark.sink.engine`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from oncelog.errors import InvariantError
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.options import SinkOptions
from oncelog.spark.private_apis import streams, workers
from oncelog.spark.private_apis.streams import MicroBatch
from oncelog.spark.python_worker import acknowledged, pass_over_imports
from oncelog.spark.sink.driver_carrier import DriverCarrier
from oncelog.spark.sink.engine import Observer, SinkRefused
from oncelog.spark.sink.planning import (
    begin_micro_batch,
    checkpoint_at,
    encoding_for,
    engine_for,
    now_ms,
    plan_write,
)
from oncelog.spark.sink.rows import Encoding, TaskEncoder
from oncelog.spark.versions import VersionChecked, stream_arrow_writer


@dataclass(frozen=True, slots=True)
class TaskOutput(WriterCommitMessage):
    """The encoded batches of one task, and the query and the micro-batch whose rows it encoded."""

    source: MicroBatch | None
    task: int
    rows: int
    size_bytes: int
    batches: tuple[PartitionBatch, ...]


class TaskSide(VersionChecked):
    """The part of a writer that runs in tasks; picklable. It never connects, so it contains no password."""

    def __init__(self, encoding: Encoding, options: SinkOptions, *, of_query: bool) -> None:
        self._encoding = encoding
        self._micro_batch = options.micro_batch
        self._max_batch_bytes = options.max_batch_bytes
        self._of_query = of_query

    def write(self, rows: Iterator[pa.RecordBatch]) -> TaskOutput:
        pass_over_imports()
        context = TaskContext.get()
        if context is None:
            raise InvariantError("a sink task runs outside a Spark task")
        source = streams.batch_of_task(context) if self._of_query else None
        task, batch_id = context.partitionId(), source.batch_id if source else None
        encoder = TaskEncoder(self._encoding, seed=task + (batch_id or self._micro_batch or 0), now_ms=now_ms())
        batches: list[PartitionBatch] = []
        size_bytes = 0
        for batch in encoder.encode(acknowledged(rows)):
            batches.append(batch)
            size_bytes += len(batch.data)
            if size_bytes > self._max_batch_bytes:
                raise _too_large(size_bytes, self._max_batch_bytes)
        return TaskOutput(source, task, encoder.rows, size_bytes, tuple(batches))


def _too_large(size_bytes: int, limit_bytes: int) -> SinkRefused:
    return SinkRefused(
        f"The batch holds {size_bytes} bytes encoded, and more than maxBatchBytes ({limit_bytes}) may not travel "
        "through the driver: let the executors write (foreachBatch(for_each_batch(options)), or for a batch "
        "write(df, options), both of oncelog.spark.session), or read less at a time (maxOffsetsPerTrigger)"
    )


def commit_outputs(
    outputs: Sequence[TaskOutput], options: SinkOptions, batch_id: int | None, observe: Observer
) -> None:
    """Write the encoded batches of the tasks in one transaction, on the driver. Raises OncelogError if they are not
    written.

    :param batch_id: the micro-batch; None for a batch write.
    """
    outputs = sorted(outputs, key=lambda output: output.task)
    through_driver = sum(output.size_bytes for output in outputs)
    if through_driver > options.max_batch_bytes:
        raise _too_large(through_driver, options.max_batch_bytes)
    # A query with format("oncelog") has one sink; for_each_batch over Spark Connect may have several
    siblings = None if options.micro_batch is not None else ()
    pending = plan_write(options, batch_id, siblings)
    carrier = DriverCarrier(
        chain.from_iterable(output.batches for output in outputs),
        rows=sum(output.rows for output in outputs),
        count=sum(len(output.batches) for output in outputs),
    )
    engine_for(pending, options, observe).write(carrier)


def _outputs(messages: Sequence[WriterCommitMessage | None]) -> list[TaskOutput]:
    outputs = [message for message in messages if isinstance(message, TaskOutput)]
    if len(outputs) != len(messages):
        raise InvariantError(f"{len(messages) - len(outputs)} of {len(messages)} tasks sent no message to commit()")
    return outputs


class _Writer:
    """The common part of both writers: what they contain when they are pickled.

    PySpark pickles a writer twice: first for the tasks, then for ``commit()`` in the driver's worker. Only the second
    copy contains the client's properties, with their passwords.
    """

    _options: SinkOptions | None
    _sent_to_tasks = False

    def __getstate__(self) -> dict[str, object]:
        state = dict(self.__dict__)
        if not self._sent_to_tasks:
            self._sent_to_tasks = True
            state["_options"] = None
        return state

    def _driver_options(self) -> SinkOptions:
        if self._options is None:
            raise InvariantError("PySpark gave commit() the copy of the writer that was meant for tasks")
        return self._options


class StreamWriter(_Writer, stream_arrow_writer()):  # type: ignore[misc]
    """Writes the micro-batches of a query in Append or Complete mode. Spark makes a new writer for each batch."""

    def __init__(self, tasks: TaskSide | None, options: SinkOptions, observe: Observer) -> None:
        """Make a writer for one micro-batch.

        :param tasks: None for a writer that only commits.
        """
        self._tasks = tasks
        self._options = options
        self._observe = observe

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        if self._tasks is None:
            raise InvariantError("PySpark gave a task the writer that was made to commit")
        return self._tasks.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        options, outputs = self._driver_options(), _outputs(messages)
        checkpoint = checkpoint_at(options.checkpoint_location)
        query_id, sources = checkpoint.query_id(), {output.source for output in outputs}
        if None in sources and checkpoint.is_under_way(batchId):
            sources = {MicroBatch(query_id, batchId) if source is None else source for source in sources}
        others = [source and tuple(source) for source in sources if source != (query_id, batchId)]
        if others:
            raise SinkRefused(
                f"Batch {batchId} of query {query_id} is refused, as its rows come from {sorted(others, key=str)}: "
                f"checkpointLocation {options.checkpoint_location} is not that of this query"
            )
        commit_outputs(outputs, options, batchId, self._observe)
        pass_over_imports()

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Does nothing: Spark calls this even after a commit whose outcome is unknown, and the next run determines the
        outcome."""


class BatchWriter(_Writer, DataSourceArrowWriter):
    """Writes ``df.write`` atomically; idempotent with ``transactionalIdPrefix`` and ``batchId``, or as a query's
    micro-batch."""

    def __init__(self, tasks: TaskSide, options: SinkOptions, observe: Observer) -> None:
        self._tasks = tasks
        self._options = options
        self._observe = observe

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._tasks.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        options = self._driver_options()
        commit_outputs(_outputs(messages), options, options.micro_batch, self._observe)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Does nothing: a failed write leaves nothing visible, and its transaction is or will be aborted."""


def begin_stream(schema: StructType, options: SinkOptions, observe: Observer) -> StreamWriter:
    """The writer of a query's next batch; made on the driver, before the batch's rows are computed.

    Raises OncelogError before any task runs for anything that would be refused later. In the process that only commits,
    nothing is checked again.
    """
    if workers.only_commits():
        return StreamWriter(None, options, observe)
    checkpoint_at(options.checkpoint_location).query_id()
    writer = StreamWriter(TaskSide(encoding_for(schema, options), options, of_query=True), options, observe)
    begin_micro_batch(options)
    pass_over_imports()
    return writer


def begin_batch(
    schema: StructType, options: SinkOptions, observe: Observer, *, timestamp: int | None = None
) -> BatchWriter:
    """The writer of a batch write; made on the driver, before its rows are computed.

    :param timestamp: the position of a column with the records' timestamps.
    """
    encoding = replace(encoding_for(schema, options), timestamp=timestamp)
    writer = BatchWriter(TaskSide(encoding, options, of_query=False), options, observe)
    if options.micro_batch is not None:
        begin_micro_batch(options, options.micro_batch, None)
    return writer
