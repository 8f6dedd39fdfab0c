"""Writes the rows of a DataFrame as one batch; their size decides whether the driver or the executors write them.

Called by ``for_each_batch`` and ``write`` of :mod:`oncelog.spark.session`. Plain tasks encode the rows into record
batches, and a shuffle brings each partition's batches to the one writer that owns it
(:mod:`oncelog.spark.executors.shuffle`). Then the write engine (:mod:`oncelog.spark.sink.engine`) writes them:

- the driver collects and writes a small batch, as in ``format("oncelog")``: without a shuffle, in one job, if the last
  batch of the sink was small (:mod:`oncelog.spark.executors.collected`);
- the executors write larger batches (:mod:`oncelog.spark.executors.carrier`), in one barrier stage.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.types import StructField, StructType

from oncelog.runtime import real_time
from oncelog.spark.executors.barrier import batches_of
from oncelog.spark.executors.carrier import ATTEMPTS, ExecutorsCarrier, timeouts_ms
from oncelog.spark.executors.collected import Share, collect_rows, last_sizes
from oncelog.spark.executors.scheduling import TooFewSlots, cannot_have, choose_writers
from oncelog.spark.executors.shuffle import Repeated, Shuffled, Volumes, shuffle_rows
from oncelog.spark.options import SinkOptions
from oncelog.spark.private_apis import plans
from oncelog.spark.process import this_process
from oncelog.spark.sink.driver_carrier import DriverCarrier
from oncelog.spark.sink.engine import BatchOutcome, BatchResult, Observer, SinkRefused, WriteEngine
from oncelog.spark.sink.marker import BatchPlan, name_topics
from oncelog.spark.sink.planning import PendingWrite, encoding_for, engine_for, group_of
from oncelog.spark.sink.rows import SinkColumns, positions_of
from oncelog.spark.sink.topic_transaction import TopicTransaction

logger = logging.getLogger(__name__)

DRIVER_BYTES = 64 << 20
"""The driver itself writes a batch of at most this many encoded bytes, unless an option forbids it; it writes 100 MB in
about a second."""


@dataclass(frozen=True, slots=True)
class Written:
    """How a batch was written.

    :param batch_id: the micro-batch, or the option ``batchId``; None if the write has no checkpoint.
    :param path: ``executors``, ``driver``, or ``none`` if the marker showed that the batch was written already.
    :param writers: the number of tasks that wrote it; 0 if the driver did.
    :param rows: how many rows were written.
    :param size_bytes: their size as records.
    :param seconds: how long the write took.
    :param replayed: whether an earlier run of the query had planned the micro-batch without completing it.
    :param sinks: the rows written by each sink; none for a sink that already had the batch.
    """

    batch_id: int | None
    path: str
    writers: int
    rows: int
    size_bytes: int
    seconds: float
    replayed: bool = False
    sinks: Mapping[str, int] = field(default_factory=dict)


def write_rows(
    rows: DataFrame, options: SinkOptions, plan: Callable[[], PendingWrite], observe: Observer
) -> tuple[PendingWrite, Written]:
    """Write the rows in one transaction, unless their marker shows that they were written before. Raises OncelogError
    if the write fails or is refused.

    :param plan: plans the write without the rows; reading the checkpoint and asking the cluster takes as long as a
        small job. Called once: before the rows are computed, or for a small batch at the same time.
    """
    share = None
    if options.micro_batch is not None and not options.writers:
        share = last_sizes().take_share(group_of(options))
    if share is None or len({name.lower() for name in rows.columns}) < len(rows.columns):
        pending = plan()
    else:
        pending, written = _collect_small(rows, options, plan, observe, share)
        if written is not None:
            return pending, written
    return pending, _shuffle_any_size(rows, options, pending, observe)


def _shuffle_any_size(rows: DataFrame, options: SinkOptions, pending: PendingWrite, observe: Observer) -> Written:
    """Write a batch of any size.

    If Spark has lost and repeated a part, the whole batch is computed again: if a query returns other rows each time (a
    repartition by a random value), rows of the repeated tasks could occur twice or be missing.
    """
    chosen = _columns_to_write(rows)
    spark = rows.sparkSession
    max_writers: int | None = None
    for _ in range(ATTEMPTS):
        try:
            encoding = encoding_for(chosen.schema, options)
            writers = choose_writers(spark, options.writers, sum(encoding.partition_counts.values()))
            if max_writers is not None:
                writers = min(writers, max_writers)
            with this_process().part(Volumes).counting(spark.sparkContext) as volume:
                shuffled = shuffle_rows(chosen, encoding, writers, pending.batch_id, volume)
                return _hand_to_engine(shuffled, options, pending, observe)
        except TooFewSlots as few:
            if options.writers:
                raise cannot_have(options.writers, few) from None
            max_writers = few.writers
            logger.warning("Starting a batch again with at most %d writers: %s", few.writers, few.why)
        except Repeated:
            logger.warning(
                "A part of a batch was lost, with an executor or in a shuffle: the batch is computed and written again"
            )
    raise SinkRefused(
        f"Executors or their results were lost in each of {ATTEMPTS} attempts to write a batch, so nothing is "
        "written: Spark's logs say why"
    )


def _columns_to_write(rows: DataFrame) -> DataFrame:
    """The columns that the sink uses, under the sink's names."""
    # select() cannot distinguish column names that differ only in case, so columns get numbers
    numbered = rows.toDF(*map(str, range(len(rows.columns))))
    return numbered.select([col(str(number)).alias(name) for name, number in positions_of(rows.columns).items()])


def _collect_small(
    rows: DataFrame, options: SinkOptions, plan: Callable[[], PendingWrite], observe: Observer, share: Share
) -> tuple[PendingWrite, Written | None]:
    """Write a batch that is expected to be small, in one job. If the batch is larger, nothing is written, and None is
    returned in place of :class:`Written`.

    Its rows are computed while one thread plans the write, fences older producers and reads the marker, and another
    thread looks up the partitions. Nothing is added to the transaction before all have finished, so its timeout has not
    started. This function waits for the threads, because a late fence would stop the next writer.
    """
    began = real_time.monotonic()
    positions = positions_of(rows.columns)
    schema = StructType([StructField(name, rows.schema[number].dataType) for name, number in positions.items()])
    SinkColumns.of(schema, options.topic)  # before the job

    def plan_and_begin() -> tuple[PendingWrite, WriteEngine[TopicTransaction]]:
        pending = plan()
        engine = engine_for(pending, options, observe)
        engine.begin()
        return pending, engine

    with ThreadPoolExecutor(2, thread_name_prefix="oncelog-begin") as pool:
        begun, encoding = pool.submit(plan_and_begin), pool.submit(encoding_for, schema, options)
        pool.shutdown(wait=False)  # lets the pool's threads end after their work, and does not wait for them
        try:
            sink = group_of(options)
            collected = collect_rows(rows, positions, encoding.result, share, options.micro_batch, sink)
        except Repeated:
            return begun.result()[0], None
    pending, engine = begun.result()
    if collected is None:
        return pending, None
    result = engine.write(collected.carrier)
    last_sizes().note(pending.transactional_id, collected.size)
    return pending, _written(result, pending, "driver", 0, began)


def _written(result: BatchResult, pending: PendingWrite, path: str, writers: int, began: float) -> Written:
    if result.outcome is BatchOutcome.SKIPPED:
        path = "none"
    rows, _, size_bytes = result.carried
    topics = pending.plan.topics if isinstance(pending.plan, BatchPlan) else ()
    seconds = real_time.monotonic() - began
    return Written(pending.batch_id, path, writers, rows, size_bytes, seconds, sinks={name_topics(topics): rows})


def _hand_to_engine(shuffled: Shuffled, options: SinkOptions, pending: PendingWrite, observe: Observer) -> Written:
    began = real_time.monotonic()
    if _by_driver(shuffled, options):
        path, writers = "driver", 0
        result = engine_for(pending, options, observe).write(_collected(shuffled))
    else:
        path, writers = "executors", shuffled.writers
        carrier = ExecutorsCarrier(shuffled, options, pending.transactional_id, pending.batch_id, observe)
        result = engine_for(pending, options, observe, timeouts_ms(options)).write(carrier)
    last_sizes().note(pending.transactional_id, shuffled.size)
    return _written(result, pending, path, writers, began)


def _by_driver(shuffled: Shuffled, options: SinkOptions) -> bool:
    """Whether the driver writes the batch. Raises SinkRefused if the batch is too large for the driver and the
    executors are not allowed to write it."""
    if shuffled.writers == 0 and shuffled.size.size_bytes > options.max_batch_bytes:
        raise SinkRefused(
            f"The batch holds {shuffled.size.size_bytes} bytes encoded, more than maxBatchBytes "
            f"({options.max_batch_bytes}) that may go through the driver, and the executors may not write it "
            "(writers is 0, or spark.dynamicAllocation.enabled is true): allow them to, or write less at a time"
        )
    return shuffled.writers == 0 or (options.writers is None and shuffled.size.size_bytes <= DRIVER_BYTES)


def _collected(shuffled: Shuffled) -> DriverCarrier:
    """The shuffled batches, collected in this process in task order."""
    table = plans.to_arrow(shuffled.encoded).sort_by("task")
    shuffled.check_made_once()
    rows = sum(table.column("records").to_pylist())
    return DriverCarrier(batches_of(iter(table.to_batches())), rows, table.num_rows)
