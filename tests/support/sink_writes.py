"""Batches written by the sink's engine without Spark, carried by this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from oncelog.spark.kafka.interface import PartitionBatch, ProducerTransaction
from oncelog.spark.sink.driver_carrier import DriverCarrier
from oncelog.spark.sink.engine import BatchOutcome, Clock, EnginePorts, Observer, WriteEngine, ignore
from oncelog.spark.sink.marker import BatchPlan, LastWrite, NamedWrite
from oncelog.spark.sink.topic_transaction import TopicTransaction
from oncelog.types import TopicPartition


@dataclass(frozen=True, slots=True)
class BatchWrite:
    """One micro-batch, ready to be written; ``batches`` holds ``count`` record batches with ``rows`` rows."""

    plan: BatchPlan | NamedWrite | None
    marker_partition: TopicPartition
    rows: int = 0
    count: int = 0
    batches: Iterable[PartitionBatch] = ()


def engine_of(
    write: BatchWrite,
    transaction: ProducerTransaction,
    observe: Observer,
    warn: Callable[[str], None],
    now_ms: Clock,
    remember: Callable[[LastWrite], None],
) -> WriteEngine[TopicTransaction]:
    topics = TopicTransaction(lambda timeout_ms: transaction, (60_000,), write.marker_partition)
    return WriteEngine(write.plan, topics, EnginePorts(observe, warn, now_ms, remember))


def commit_batch(
    write: BatchWrite,
    transaction: ProducerTransaction,
    observe: Observer,
    warn: Callable[[str], None],
    now_ms: Clock,
    remember: Callable[[LastWrite], None],
) -> BatchOutcome:
    """Write the batch unless it is written, as ``commit()`` does."""
    engine = engine_of(write, transaction, observe, warn, now_ms, remember)
    return engine.write(DriverCarrier(write.batches, write.rows, write.count)).outcome


def keep_proof(
    write: BatchWrite, transaction: ProducerTransaction, now_ms: Clock, remember: Callable[[LastWrite], None]
) -> None:
    """Before the rows of the batch are computed."""
    engine_of(write, transaction, ignore, lambda text: None, now_ms, remember).keep_proof()
