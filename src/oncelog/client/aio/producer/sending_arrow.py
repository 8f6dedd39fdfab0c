"""Sends Arrow tables as records, without a Python object for each.

Called by the asyncio producer to implement ``send_arrow``. A table is sent in slices, and the batches of a slice are
encoded one after another as ``buffer.memory`` allows: memory besides the table is bounded, and the event loop can run
in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from oncelog.client.core.arguments import ARROW_MISSING
from oncelog.errors import ConfigError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time

try:
    import numpy as np
    import pyarrow as pa
except ImportError as missing:
    raise ConfigError(ARROW_MISSING) from missing

from oncelog.client.aio.producer.sending_many import StoredRun
from oncelog.client.core.batches.accumulator import Accumulator, ProducerBatch, WholeBatch
from oncelog.client.core.batches.record_sizes import largest_size
from oncelog.client.core.connection.metadata import TopicImage
from oncelog.records.arrow import EncodedBatch, bytes_of, check_headers, encode_from_arrow, partitions_of_keys
from oncelog.records.arrow_bounds import is_view, longest_bytes, longest_headers_bytes
from oncelog.records.batch import HEADER_SIZE_BYTES

if TYPE_CHECKING:
    from oncelog.client.aio.producer.record_appender import RecordAppender
    from oncelog.client.aio.producer.sending_many import ManySender
    from oncelog.client.core.config import ProducerConfig

SLICE_ROWS = 65_536
"""The number of rows that are sorted by partition at once, which takes a few milliseconds."""

SLICE_BYTES = 64 << 20
"""Maximum size of a slice's columns that must be copied because they consist of several chunks; a slice of one row may
exceed it."""

_COLUMNS = ("value", "key", "timestamp", "headers", "partition")


class ArrowSender:
    """Implements ``send_arrow`` of one producer."""

    def __init__(
        self, config: ProducerConfig, appender: RecordAppender, accumulator: Accumulator, many: ManySender
    ) -> None:
        self._config = config
        self._appender = appender
        self._accumulator = accumulator
        self._many = many

    async def send(
        self, topic: str, table: pa.Table | pa.RecordBatch, partition: int | None, now_ms: Callable[[], int]
    ) -> asyncio.Future[list[StoredRun]]:
        """Queue the rows of a table; waits while ``buffer.memory`` is used up."""
        if not isinstance(table, pa.Table | pa.RecordBatch):
            raise TypeError(f"send_arrow takes a pyarrow.Table or RecordBatch, not {type(table).__name__}")
        whole = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
        _check_columns(whole.schema.names)
        image, many = await self._many.begin(topic, partition)
        if partition is None and "partition" in whole.schema.names:
            self._check_partitions(image, whole.column("partition"))
        if "headers" in whole.schema.names:
            check_headers(whole.column("headers"))
        batches = self._batches(image, whole, partition)
        if self._may_be_too_large(whole):
            batches = iter(self._checked(topic, list(batches)))
        try:
            for destination, count, largest, data in batches:
                name = image.keys[destination]
                handle = many.handle(name, count)
                await self._appender.queue_batch(self._append(image, destination, count, largest, data, handle, now_ms))
        except BaseException:
            many.future.cancel()  # the caller never received the delivery
            raise
        finally:
            many.all_queued()
            self._appender.poll_soon()
        return many.future

    def _append(
        self,
        image: TopicImage,
        destination: int,
        count: int,
        max_timestamp: int,
        data: bytes,
        handle: WholeBatch,
        now_ms: Callable[[], int],
    ) -> Callable[[], ProducerBatch | None]:
        """A function that tries to queue an already encoded batch."""
        name, payload = image.keys[destination], bytearray(data)
        return lambda: self._accumulator.append_sealed(name, payload, count, max_timestamp, now_ms(), handle)

    def _batches(self, image: TopicImage, table: pa.Table, partition: int | None) -> Iterator[EncodedBatch]:
        config = self._config
        default_timestamp_ms = real_time.time_ms()
        for rows in _slices(table):
            columns = _columns(rows)
            yield from encode_from_arrow(
                columns["value"],
                self._destinations(image, columns, partition),
                key=columns.get("key"),
                timestamp=columns.get("timestamp"),
                default_timestamp_ms=default_timestamp_ms,
                headers=columns.get("headers"),
                compression=config.compression,
                level=config.compression_level,
                batch_size_bytes=max(1, config.max_batch_size - HEADER_SIZE_BYTES),
            )

    def _may_be_too_large(self, table: pa.Table) -> bool:
        """Whether a row may exceed ``max.request.size``: then all batches are encoded before the first is queued."""
        names = table.schema.names
        bounds = [longest_bytes(table.column(name)) for name in ("key", "value") if name in names]
        bounds += [longest_headers_bytes(table.column(name)) for name in ("headers",) if name in names]
        known = [bound for bound in bounds if bound is not None]
        return len(known) < len(bounds) or sum(known) + largest_size(None, None, ()) > self._config.max_request_size

    def _checked(self, topic: str, batches: list[EncodedBatch]) -> list[EncodedBatch]:
        """The batches, if none is too large.

        :raises RecordTooLargeError: a row is too large; no row has been queued.
        """
        too_large = max((len(item.data) for item in batches if item.records_count == 1), default=0)
        if too_large > self._config.max_request_size:
            raise self._appender.too_large(topic, too_large)
        return batches

    def _check_partitions(self, image: TopicImage, column: pa.ChunkedArray) -> None:
        """Check that the topic has all partitions in the column.

        :raises UnknownTopicOrPartitionError: it lacks one of them.
        """
        for chunk in column.chunks:
            if chunk.null_count:
                raise TypeError("each row needs a partition: fill the column, or leave it out")
            chosen = np.asarray(chunk.cast("int32"))
            for partition in (chosen.min(), chosen.max()) if len(chosen) else ():
                self._appender.check_partition(image, int(partition))

    def _destinations(self, image: TopicImage, columns: Mapping[str, Any], partition: int | None) -> Any:
        """The partition of each row, as an array."""
        rows = len(columns["value"])
        if partition is not None:
            return np.full(rows, partition, np.int32)
        if "partition" in columns:
            return np.asarray(columns["partition"].cast("int32"))
        if "key" not in columns or not self._appender.by_key:
            return self._round_robin(image, rows, columns["value"].nbytes)
        if self._appender.keys_in_bulk:
            found = partitions_of_keys(columns["key"], image.partition_count)
        else:
            found = np.array(self._appender.partitions_of(image, bytes_of(columns["key"])), np.int32)
        without = found < 0
        if without.any():
            found[without] = self._round_robin(image, int(without.sum()), columns["value"].nbytes)
        return found

    def _round_robin(self, image: TopicImage, rows: int, size_bytes: int) -> Any:
        """The partition of each of these rows without keys: consecutive rows, about a batch each, take turns over
        partitions."""
        batches = 1 + (size_bytes + rows * largest_size(None, None, ())) // self._config.max_batch_size
        chosen = [self._appender.choose_for_batch(image) for _ in range(min(batches, rows))]
        return np.repeat(np.array(chosen, np.int32), -(-rows // len(chosen)))[:rows]


def _check_columns(names: list[str]) -> None:
    """Check the names of a table's columns.

    :raises TypeError: the column ``value`` is missing, or a column is unknown.
    """
    if "value" not in names or any(name not in _COLUMNS for name in names):
        known = ", ".join(_COLUMNS)
        raise TypeError(f"send_arrow takes the columns {known} (value is needed), not {', '.join(names)}")


def _slices(table: pa.Table) -> Iterator[pa.Table]:
    """Consecutive slices of the table that are small enough to join the chunks of each column."""
    start = 0
    while start < table.num_rows:
        rows = table.slice(start, SLICE_ROWS)
        while rows.num_rows > 1 and _to_copy_bytes(rows) > SLICE_BYTES:
            rows = rows.slice(0, rows.num_rows // 2)
        yield rows
        start += rows.num_rows


def _to_copy_bytes(rows: pa.Table) -> int:
    """The size in bytes of columns with several chunks, which joining copies; buffers that chunks share are not
    counted."""
    columns = (column for column in rows.columns if column.num_chunks > 1)
    return sum(column.nbytes for column in columns if not (pa.types.is_dictionary(column.type) or is_view(column.type)))


def _columns(table: pa.Table) -> Mapping[str, Any]:
    """Each column as one array; only a column with several chunks is copied."""
    found: dict[str, Any] = {}
    for name in table.schema.names:
        column = table.column(name)
        found[name] = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return found


__all__ = ["ArrowSender"]
