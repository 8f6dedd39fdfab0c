"""The common part of batch and streaming reads from Kafka, on the driver and in tasks.

Called by the readers of batches and streams (:mod:`oncelog.spark.source.batch`, :mod:`oncelog.spark.source.stream`).
Rows have the columns of Spark's own Kafka connector: key, value, topic, partition, offset, timestamp, timestampType
and, with ``includeHeaders``, headers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from oncelog.errors import ConfigError, OncelogError
from oncelog.records.arrow import MAX_MS, BatchBytes, decode_to_arrow, in_microseconds
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.kafka.interface import KafkaAccess, LogEnd, LogReplaced, OffsetRange, prefetched
from oncelog.spark.kafka.place import Offsets
from oncelog.spark.options import EARLIEST, LATEST, ByTimestampStrategy, OffsetsOption, SourceOptions
from oncelog.spark.python_worker import pass_over_imports
from oncelog.spark.source.planned_offsets import DataLoss, loss_error, positions_to_ask, resolve_position, split_ranges
from oncelog.types import IsolationLevel, TopicPartition

logger = logging.getLogger(__name__)


class TimestampBeyond(OncelogError):
    """A record has a timestamp that Spark's microseconds cannot hold; the text names the record and what to do."""


_ROWS_OF_ARROW_BATCH = 32_768
_BYTES_OF_ARROW_BATCH = 16 << 20


def subscribed_partitions(
    cluster: KafkaAccess, options: SourceOptions, *, may_miss: bool = False
) -> list[TopicPartition]:
    """The partitions that the options name, sorted. Raises ConfigError for a topic or partition that does not exist.

    :param may_miss: leave out missing topics and partitions instead of raising.
    """
    subscription = options.subscription
    if subscription.pattern:
        counts = cluster.partition_counts(None)
        chosen = {topic: count for topic, count in counts.items() if subscription.matches(topic)}
        return _all_of(chosen)
    topics = list(subscription.topics) or sorted({partition.topic for partition in subscription.assigned})
    counts = cluster.partition_counts(topics)
    for topic in topics:
        if topic not in counts and not may_miss:
            raise ConfigError(
                f"Topic {topic!r} does not exist at {options.bootstrap_servers}: create it, or name another one"
            )
    if not subscription.assigned:
        return _all_of({topic: counts[topic] for topic in topics if topic in counts})
    if may_miss:
        return [
            partition for partition in subscription.assigned if partition.partition < counts.get(partition.topic, 0)
        ]
    for partition in subscription.assigned:
        if not 0 <= partition.partition < counts[partition.topic]:
            raise ConfigError(
                f"Option assign names {partition}, but topic {partition.topic} has partitions 0 to "
                f"{counts[partition.topic] - 1}"
            )
    return list(subscription.assigned)


def _all_of(counts: dict[str, int]) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic, count in sorted(counts.items()) for number in range(count)]


def offsets_at(
    cluster: KafkaAccess,
    options: SourceOptions,
    position: OffsetsOption,
    partitions: Sequence[TopicPartition],
    strategy: ByTimestampStrategy,
) -> dict[TopicPartition, int]:
    """The offsets of a position at the reader's isolation level; waits for the markers of transactions whose end was
    acknowledged."""
    questions = positions_to_ask(position, partitions)
    changing = [partition for partition, asked in questions.items() if asked != EARLIEST]
    latest = offsets_of_ends(cluster.settled_ends(changing, options.isolation)) if changing else {}
    answers = {partition: latest[partition] for partition in changing if questions[partition] == LATEST}
    others = {partition: asked for partition, asked in questions.items() if partition not in answers}
    answers |= cluster.list_offsets(others, options.isolation) if others else {}
    return resolve_position(position, answers, latest, strategy)


def plan_tasks(options: SourceOptions, ranges: Sequence[OffsetRange]) -> list[InputPartition]:
    """One task for each range, split as ``minPartitions`` and ``maxRecordsPerPartition`` ask."""
    cut = split_ranges(ranges, options.min_partitions, options.max_records_per_partition)
    return [InputPartition(item) for item in cut]


def read_partition(options: SourceOptions, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
    """The rows of one task; none for the empty partition that Spark adds if there is nothing to read."""
    pass_over_imports()
    return (
        iter(())
        if partition is None or partition.value is None
        else read_range(options, cast(OffsetRange, partition.value))
    )


def read_range(options: SourceOptions, item: OffsetRange) -> Iterator[pa.RecordBatch]:
    """The records of a range that the reader may see, as Arrow batches of Spark's columns. Runs in a task."""
    gathered: list[BatchBytes] = []
    rows = size_bytes = 0
    for batch in _batches(options, item):
        gathered.append(batch)
        rows += batch.header.records_count
        size_bytes += batch.header.size_bytes
        if rows >= _ROWS_OF_ARROW_BATCH or size_bytes >= _BYTES_OF_ARROW_BATCH:
            yield _to_arrow(options, item, gathered)
            gathered, rows, size_bytes = [], 0, 0
    if gathered:
        yield _to_arrow(options, item, gathered)


def _batches(options: SourceOptions, item: OffsetRange) -> Iterator[BatchBytes]:
    """The record batches of a range; ends at the offset where the log differs from the plan."""
    fetcher = cluster_for(options).fetcher(item, options.isolation)
    position = item.start
    try:
        for fetched in prefetched(fetcher, item.start, item.end):
            if fetched.log_start_offset > position:
                _report_loss(options, item, position, fetched.log_start_offset)
            position = max(fetched.next_offset, fetched.log_start_offset)
            yield from (batch for batch in fetched.batches if batch.header.base_offset < item.end)
        return
    except LogReplaced as replaced:
        if options.fail_on_data_loss:
            raise loss_error([str(replaced)]) from None
        logger.warning("%s; continuing without the lost records, because failOnDataLoss is false", replaced)
        kept = replaced.kept
    if kept > position:
        yield from _batches(options, item._replace(start=position, end=kept, leader_epoch=-1))


def _report_loss(options: SourceOptions, item: OffsetRange, position: int, log_start_offset: int) -> None:
    end = min(log_start_offset, item.end)
    text = f"Records {position} to {end - 1} of {item.partition} were deleted before they were read"
    if options.fail_on_data_loss:
        raise DataLoss(f"{text}; set failOnDataLoss to false to continue with the records that exist")
    logger.warning("%s; continuing without them, because failOnDataLoss is false", text)


def _to_arrow(options: SourceOptions, item: OffsetRange, batches: Sequence[BatchBytes]) -> pa.RecordBatch:
    """The records as Arrow columns in the order of the schema; topic and partition are constant."""
    decoded = decode_to_arrow(batches, start_offset=item.start, end_offset=item.end, headers=options.include_headers)
    rows = decoded.num_rows
    offset, milliseconds = decoded.column(2), decoded.column(3)
    timestamp = in_microseconds(milliseconds)
    if timestamp.null_count and not options.include_millis:
        first = timestamp.is_null().index(True).as_py()
        raise TimestampBeyond(
            f"Record {offset[first]} of {item.partition} has the timestamp {milliseconds[first].value} ms, and Spark's "
            f"timestamps end at {MAX_MS} ms, in the year 294247: its producer seems to use another unit than "
            "milliseconds; with the option includeTimestampMillis = true it is read, with null as its timestamp and "
            "the "
            "number in the column timestampMillis"
        )
    columns = [
        decoded.column(0),
        decoded.column(1),
        _repeated(item.partition.topic, rows),
        pa.array(np.full(rows, item.partition.partition, np.int32)),
        offset,
        timestamp,
        *(decoded.column(number) for number in range(4, decoded.num_columns)),
        *([milliseconds.view(pa.int64())] if options.include_millis else []),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(options.include_headers, options.include_millis))


def _repeated(text: str, rows: int) -> pa.Array:
    data = text.encode()
    offsets = np.arange(0, (rows + 1) * len(data), len(data), dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(data * rows)])


def arrow_schema(headers: bool, millis: bool = False) -> pa.Schema:
    """The source's Arrow schema, with which Spark compares the batches."""
    fields = [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
    ]
    if headers:
        fields.append(("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))))
    if millis:
        fields.append(("timestampMillis", pa.int64()))
    return pa.schema(fields)


def earliest_and_latest(
    cluster: KafkaAccess, partitions: Sequence[TopicPartition], isolation: IsolationLevel
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, LogEnd]]:
    """The first offset of each partition, and the current end of its log at the isolation level."""
    first = cluster.list_offsets(dict.fromkeys(partitions, EARLIEST), IsolationLevel.READ_UNCOMMITTED)
    return dict(first), dict(cluster.log_ends(partitions, isolation))


def offsets_of_ends(ends: Mapping[TopicPartition, LogEnd]) -> Offsets:
    return {partition: end.offset for partition, end in ends.items()}
