"""How one micro-batch reaches the broker exactly once: the steps, the marker, and the decision to write or to skip.

Called by the sink's ``commit()`` on the driver (:mod:`oncelog.spark.sink`) and, without Spark, by tests. No I/O: the
broker is behind :class:`TransactionEngine`. Invariants:

- The marker (id of the batch, committed as a consumer group's offset) is in the same transaction as the records, so
  either both are visible or neither is.
- The marker is read only after InitProducerId has ended what a dead run left open and has fenced whoever might still
  be writing: what it says then stays true.
- A failed or unknown commit raises. Spark repeats the batch, and the next run's steps 2 and 3 find out what happened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from oncelog.errors import OncelogError
from oncelog.records.batch import Buffer
from oncelog.types import CONSUMER_OFFSETS_TOPIC, ProducerStamp, TopicPartition


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
"""Told when a step of a batch has been reached; used to show progress and to inject crashes."""


def ignore(step: Step, batch_id: int | None) -> None:
    """An observer that does nothing."""


class PartitionBatch(NamedTuple):
    """One encoded record batch for one partition, not yet stamped with a producer."""

    topic: str
    partition: int
    records: int
    data: Buffer


class CommittedOffset(NamedTuple):
    """A consumer group's committed offset with its metadata."""

    offset: int
    metadata: str


class TransactionEngine(Protocol):
    """The broker, as one transactional id and the consumer group of the same name see it.

    Each call returns when the broker has answered, repeats what may be repeated, and raises OncelogError else.
    """

    def init_producer_id(self) -> None:
        """Fence older producers of the id; repeated until no earlier transaction of it is open."""
        ...

    def producer(self) -> ProducerStamp:
        """Who writes: what :meth:`init_producer_id` was given, or :meth:`join` was told."""
        ...

    def join(self, producer: ProducerStamp) -> None:
        """Go on in the transaction of a producer that another process initialized under this id."""
        ...

    def committed_offsets(self) -> Mapping[TopicPartition, CommittedOffset]:
        """All offsets of the group, none of them pending (require_stable)."""
        ...

    def produce(self, batches: Iterable[PartitionBatch]) -> None:
        """Append in the given order, partition by partition, acks=all, inside the transaction."""
        ...

    def add_offset(self, partition: TopicPartition, offset: int, metadata: str) -> None:
        """Commit the group's offset as part of the transaction."""
        ...

    def end(self, *, commit: bool) -> None:
        """EndTxn, repeated until the outcome is known."""
        ...


class SinkRefused(OncelogError):
    """The batch cannot be written without breaking the guarantee; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Marker:
    """What the transaction of a batch leaves behind: which batch it was, and how many rows it held."""

    query_id: str
    batch_id: int
    rows: int

    def encode(self) -> str:
        return json.dumps({"queryId": self.query_id, "batchId": self.batch_id, "rows": self.rows})

    @classmethod
    def decode(cls, metadata: str) -> Marker | None:
        """None for metadata that no sink wrote, such as that of an ordinary consumer."""
        try:
            fields = json.loads(metadata)
            return cls(str(fields["queryId"]), int(fields["batchId"]), int(fields["rows"]))
        except (ValueError, KeyError, TypeError):
            return None


@dataclass(frozen=True, slots=True)
class BatchWrite:
    """One micro-batch, ready to be written.

    :param query_id: what the batch ids count for: a streaming query, or the name a user gave a batch write.
    :param batch_id: None for a batch write without an id: it is atomic, but a repeat writes again.
    :param follows_marker: batch ids count from 0 without a gap, so that a missing marker is an error.
    :param topic: the ``topic`` option; where the marker lives when it is given.
    :param batches: the record batches in task order; may be read only once.
    :param count: how many there are.
    """

    query_id: str
    batch_id: int | None
    follows_marker: bool
    topic: str
    rows: int
    count: int
    batches: Iterable[PartitionBatch]


class Outcome(Enum):
    WRITTEN = "written"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the marker means for a batch; ``warning`` is for the log where it is not empty."""

    outcome: Outcome
    marker_partition: TopicPartition
    warning: str = ""


def decide(write: BatchWrite, committed: Mapping[TopicPartition, CommittedOffset]) -> Verdict:
    """Whether ``write`` is already in, from the group's offsets. Raises SinkRefused where that cannot be known."""
    markers = {
        partition: marker
        for partition, offset in sorted(committed.items())
        if (marker := Marker.decode(offset.metadata)) is not None and marker.query_id == write.query_id
    }
    if not markers:
        if write.follows_marker and write.batch_id:
            raise SinkRefused(
                f"Query {write.query_id} is at batch {write.batch_id}, but its consumer group holds no marker of an "
                "earlier batch, so it cannot be known whether this one was written. The marker has expired "
                "(offsets.retention.minutes), its topic was deleted, or the checkpoint belongs to another cluster or "
                "transactionalIdPrefix. Check what the topic holds, then start with a new checkpoint"
            )
        return Verdict(Outcome.WRITTEN, _marker_partition(write, None))
    partition, newest = max(markers.items(), key=lambda item: (item[1].batch_id, item[0]))
    if write.batch_id is None or newest.batch_id < write.batch_id:
        return Verdict(Outcome.WRITTEN, _marker_partition(write, partition))
    warning = ""
    if newest.batch_id == write.batch_id and newest.rows != write.rows:
        warning = (
            f"Batch {write.batch_id} of {write.query_id} is already written with {newest.rows} rows, and has "
            f"{write.rows} now: was an old checkpoint restored? Nothing is written"
        )
    elif newest.batch_id > write.batch_id:
        warning = (
            f"Batch {write.batch_id} of {write.query_id} is older than batch {newest.batch_id}, which is already "
            "written: was an old checkpoint restored? Nothing is written"
        )
    return Verdict(Outcome.SKIPPED, partition, warning)


def _marker_partition(write: BatchWrite, last: TopicPartition | None) -> TopicPartition:
    """Where the marker goes: an offset needs a partition that exists.

    That of the ``topic`` option; with a ``topic`` column there may be no row to name one, so it is the last marker's
    or, at first, one of the internal topic that holds the offsets themselves.
    """
    if write.topic:
        return TopicPartition(write.topic, 0)
    return last if last is not None else TopicPartition(CONSUMER_OFFSETS_TOPIC, 0)


def commit_batch(
    write: BatchWrite, engine: TransactionEngine, observe: Observer, warn: Callable[[str], None]
) -> Outcome:
    """Write the batch in one transaction, unless its marker says that it is in. Raises OncelogError when it may not be.

    Whatever raises before EndTxn is followed by an abort, so that readers need not wait for the timeout.
    """
    verdict = open_batch(write, engine, observe)
    if verdict.warning:
        warn(verdict.warning)
    if verdict.outcome is Outcome.SKIPPED:
        return verdict.outcome
    if write.batch_id is None and write.count == 0:
        return verdict.outcome
    try:
        engine.produce(observed(write.batches, write.count, write.batch_id, observe))
        observe(Step.PRODUCED, write.batch_id)
    except OncelogError as error:
        abort(engine, error)
        raise
    close_batch(write, verdict, engine, observe)
    return verdict.outcome


def open_batch(write: BatchWrite, engine: TransactionEngine, observe: Observer) -> Verdict:
    """Fence, read the marker under the fence, and decide. Needs of ``write`` all but the batches."""
    observe(Step.STARTED, write.batch_id)
    engine.init_producer_id()
    observe(Step.FENCED, write.batch_id)
    verdict = decide(write, engine.committed_offsets() if write.batch_id is not None else {})
    observe(Step.MARKER_READ, write.batch_id)
    return verdict


def close_batch(write: BatchWrite, verdict: Verdict, engine: TransactionEngine, observe: Observer) -> None:
    """Add the marker to what was produced and end the transaction. Needs of ``write`` all but the batches."""
    try:
        if write.batch_id is not None:
            marker = Marker(write.query_id, write.batch_id, write.rows)
            engine.add_offset(verdict.marker_partition, write.batch_id, marker.encode())
        observe(Step.MARKER_ADDED, write.batch_id)
    except OncelogError as error:
        abort(engine, error)
        raise
    engine.end(commit=True)
    observe(Step.COMMITTED, write.batch_id)


def observed(
    batches: Iterable[PartitionBatch], count: int, batch_id: int | None, observe: Observer
) -> Iterator[PartitionBatch]:
    """The batches, the observer told when half of them are under way."""
    for number, batch in enumerate(batches, start=1):
        yield batch
        if number == (count + 1) // 2:
            observe(Step.HALF_PRODUCED, batch_id)


def abort(engine: TransactionEngine, cause: OncelogError) -> None:
    """End the transaction without effect; a failure is noted on ``cause``."""
    try:
        engine.end(commit=False)
    except OncelogError as error:
        cause.add_note(f"The transaction could not be aborted either ({error}); the broker does it after its timeout.")
