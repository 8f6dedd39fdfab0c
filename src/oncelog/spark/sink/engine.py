"""Writes one micro-batch to the broker exactly once: the steps of its transaction.

Called by the sink's ``commit()`` on the driver (:mod:`oncelog.spark.sink.writers`) and, without Spark, by tests. No
I/O: the broker is behind :class:`TransactionEngine`. :mod:`oncelog.spark.sink.marker` interprets markers. Invariants:

- The marker (which plan of which batch, committed as a consumer group's offset) is in the same transaction as the
  records, so either both are visible or neither is.
- The marker is read only after InitProducerId has ended a dead run's transaction and fenced any process that might
  still be writing: what it says then stays true.
- A failed or unknown commit raises. Spark repeats the batch, and the next run's steps 2 and 3 find out what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.errors import Error, InvariantError, KafkaError, OncelogError
from oncelog.spark.kafka.interface import PartitionBatch, TransactionEngine
from oncelog.spark.sink.marker import (
    Decision,
    Marker,
    Memory,
    NamedWrite,
    Plan,
    Refuse,
    Skip,
    Write,
    could_have_expired,
    decide,
    decide_overwritten,
)
from oncelog.types import TopicPartition


class Step(Enum):
    """Points between two requests, in order: where a crash leaves the broker in a different state."""

    STARTED = "started"
    FENCED = "fenced"
    MARKER_READ = "marker-read"
    HALF_PRODUCED = "half-produced"
    PRODUCED = "produced"
    MARKER_ADDED = "marker-added"
    COMMITTED = "committed"


Observer = Callable[[Step, int | None], None]
"""Called when a step of a batch has been reached; used to show progress and to inject crashes."""


def ignore(step: Step, batch_id: int | None) -> None:
    """An observer that does nothing."""


Clock: TypeAlias = Callable[[], int]
"""Milliseconds since 1970."""


class SinkRefused(OncelogError):
    """The batch cannot be written without breaking the guarantee; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class BatchWrite:
    """One micro-batch, ready to be written; picklable without its batches.

    :param plan: None for a batch write without an id: it is atomic, but a repeat writes again.
    :param marker_partition: where the marker is committed; not used without a plan.
    :param rows: None until they are counted.
    :param batches: the record batches in task order; may be read only once.
    :param count: the number of batches.
    """

    plan: Plan | NamedWrite | None
    marker_partition: TopicPartition
    rows: int | None = None
    count: int = 0
    batches: Iterable[PartitionBatch] = ()

    @property
    def batch_id(self) -> int | None:
        return self.plan.number if self.plan is not None else None


class Outcome(Enum):
    WRITTEN = "written"
    SKIPPED = "skipped"


Remember: TypeAlias = Callable[[Memory], None]
"""Stores in the checkpoint where the batch is written."""


def commit_batch(
    write: BatchWrite,
    engine: TransactionEngine,
    observe: Observer,
    warn: Callable[[str], None],
    now_ms: Clock,
    remember: Remember,
) -> Outcome:
    """Write the batch in one transaction, unless its marker says it is written. Raises OncelogError if it may not be
    in.

    Any exception before EndTxn is followed by an abort, so that readers need not wait for the timeout.
    """
    decision = open_batch(write, engine, observe, now_ms)
    if decision.warning:
        warn(decision.warning)
    if isinstance(decision, Skip):
        if decision.leave_marker:
            close_batch(write, engine, observe, remember, skipped=True)
        return Outcome.SKIPPED
    if write.plan is None and write.count == 0:
        return Outcome.WRITTEN
    try:
        engine.produce(observed(write.batches, write.count, write.batch_id, observe))
        observe(Step.PRODUCED, write.batch_id)
    except OncelogError as error:
        abort(engine, error)
        raise
    close_batch(write, engine, observe, remember)
    return Outcome.WRITTEN


def open_batch(write: BatchWrite, engine: TransactionEngine, observe: Observer, now_ms: Clock) -> Write | Skip:
    """Fence, read the marker after that, and decide. Uses everything in ``write`` except the batches.

    Raises SinkRefused if neither writing nor skipping is right.
    """
    observe(Step.STARTED, write.batch_id)
    engine.init_producer_id()
    observe(Step.FENCED, write.batch_id)
    decision: Decision = Write("a write without an id")
    if write.plan is not None:
        offsets = engine.committed_offsets(write.marker_partition)
        # The clock is read after the marker: however long the process was suspended, no marker expires unnoticed
        decision = decide_by_offsets(write.plan, offsets, now_ms(), write.rows)
    if isinstance(decision, Refuse):
        raise SinkRefused(decision.reason)
    observe(Step.MARKER_READ, write.batch_id)
    return decision


def keep_proof(write: BatchWrite, engine: TransactionEngine, now_ms: Clock, remember: Remember) -> None:
    """Before the batch's rows are computed: if no marker proves that it is not written, leave one of the batch before.

    Without it only the plan's age would, for as long as markers live, and nobody may say how long that is. Does nothing
    if that is known, or the batch before was planned a moment ago, or a marker or the user decides.
    """
    plan = write.plan
    if not isinstance(plan, Plan) or plan.retention_ms is not None:
        return
    last = plan.previous.batch if plan.previous is not None else None
    if last is not None and not could_have_expired(last.planned_at_ms, now_ms(), None):
        return
    engine.init_producer_id()
    if engine.committed_offsets(write.marker_partition):
        return
    decision = decide(plan, None, now_ms())
    if not isinstance(decision, Write) or decision.warning:
        return
    try:
        memory = plan.memory(skipped=False)
        if memory != plan.remembered:
            remember(memory)
        _add_marker(engine, write.marker_partition, Marker.before(plan))
    except OncelogError as error:
        abort(engine, error)
        raise
    engine.end(commit=True)


def decide_by_offsets(
    plan: Plan | NamedWrite, offsets: Mapping[TopicPartition, OffsetAndMetadata], now_ms: int, rows: int | None = None
) -> Decision:
    """Decide about the batch, from all offsets of the marker's group."""
    marker = newest_marker(offsets)
    if marker is None and offsets:
        found = ", ".join(f"{offset.offset} for {partition}" for partition, offset in sorted(offsets.items()))
        return decide_overwritten(plan, found)
    return decide(plan, marker, now_ms, rows)


def newest_marker(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Marker | None:
    """The group's newest marker: if the option ``markerTopic`` has changed, an older one stays behind."""
    decoded = (Marker.decode(offset.metadata) for _, offset in sorted(offsets.items()))
    return max((marker for marker in decoded if marker), key=lambda marker: marker.batch_id, default=None)


def close_batch(
    write: BatchWrite, engine: TransactionEngine, observe: Observer, remember: Remember, *, skipped: bool = False
) -> None:
    """Add the marker to the produced records and end the transaction. Uses everything in ``write`` except the batches.

    The checkpoint's memory is stored before anything can commit.

    :param skipped: the batch is taken as written, and no record was produced.
    """
    plan = write.plan
    try:
        if plan is not None:
            if write.rows is None:
                raise InvariantError(f"the rows of batch {write.batch_id} were not counted")
            if isinstance(plan, Plan):
                memory = plan.memory(skipped=skipped)
                if memory != plan.remembered:
                    remember(memory)
            _add_marker(engine, write.marker_partition, Marker.of(plan, write.rows))
        observe(Step.MARKER_ADDED, write.batch_id)
    except OncelogError as error:
        abort(engine, error)
        raise
    engine.end(commit=True)
    observe(Step.COMMITTED, write.batch_id)


def _add_marker(engine: TransactionEngine, partition: TopicPartition, marker: Marker) -> None:
    """Add the marker as an offset; without the plan's offsets if a broker allows less metadata than usual."""
    short = replace(marker, offsets="").encode()
    for text in dict.fromkeys((marker.encode(), short)):
        try:
            return engine.add_offset(partition, max(marker.batch_id, 0), text)
        except KafkaError as error:
            if error.error is not Error.OFFSET_METADATA_TOO_LARGE:
                raise
    raise SinkRefused(
        f"The marker of batch {marker.batch_id} has {len(short)} bytes, more than the broker's "
        "offset.metadata.max.bytes allows: raise it (4096 unless set)"
    )


def observed(
    batches: Iterable[PartitionBatch], count: int, batch_id: int | None, observe: Observer
) -> Iterator[PartitionBatch]:
    """The batches; the observer is called when half of them were taken: then all but the last window is under way."""
    for number, batch in enumerate(batches, start=1):
        yield batch
        if number == (count + 1) // 2:
            observe(Step.HALF_PRODUCED, batch_id)


class BatchCounter:
    """Counts the batches that pass through."""

    def __init__(self) -> None:
        self.rows = self.batches = self.size_bytes = 0

    def count(self, batches: Iterable[PartitionBatch]) -> Iterator[PartitionBatch]:
        for batch in batches:
            self.rows += batch.records
            self.batches += 1
            self.size_bytes += len(batch.data)
            yield batch


def abort(engine: TransactionEngine, cause: BaseException) -> None:
    """Abort the transaction; a failure to do so is noted on ``cause``."""
    try:
        engine.end(commit=False)
    except OncelogError as error:
        cause.add_note(f"The transaction could not be aborted either ({error}); the broker does it after its timeout.")
