"""Many records sent in one call: as columns or as Arrow, without a future for each record.

Called by the asyncio producer, whose ``send_many`` and ``send_arrow`` these are. They fill batches of ``batch.size``:
larger ones (128 KiB and more) are faster.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from oncelog.client.aio.cluster import Cluster
from oncelog.client.aio.intake import Intake
from oncelog.client.core.accumulator import Accumulator, ProducerBatch, largest_size
from oncelog.client.core.config import ProducerConfig
from oncelog.client.core.metadata import TopicPicture
from oncelog.client.core.partitioner import partitions_of_keys
from oncelog.client.core.structs import RecordMetadata, TopicPartition
from oncelog.records.batch import HEADER_SIZE_BYTES, BatchBuilder, Headers

if TYPE_CHECKING:
    import pyarrow as pa


class Stored(NamedTuple):
    """Where consecutive records of one call were stored: ``records`` of them from ``offset`` on (-1: not told)."""

    topic: str
    partition: int
    offset: int
    records: int


class _ManyDeliveries:
    """The outcome of the batches of one call, as one future."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: asyncio.Future[list[Stored]] = loop.create_future()
        self._stored: list[Stored | None] = []
        self._missing = 0
        self._complete = False

    def handle(self, count: int) -> _BatchHandle:
        self._missing += 1
        self._stored.append(None)
        return _BatchHandle(self, len(self._stored) - 1, count)

    def all_queued(self) -> None:
        self._complete = True
        self._settle()

    def stored(self, index: int, stored: Stored) -> None:
        self._stored[index] = stored
        self._missing -= 1
        self._settle()

    def failed(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def _settle(self) -> None:
        if self._complete and not self._missing and not self.future.done():
            self.future.set_result([item for item in self._stored if item is not None])


class _BatchHandle:
    """What the producer tells of one batch."""

    __slots__ = ("_count", "_index", "_many")

    def __init__(self, many: _ManyDeliveries, index: int, count: int) -> None:
        self._many = many
        self._index = index
        self._count = count

    def done(self) -> bool:
        return self._many.future.done()

    def set_result(self, first: RecordMetadata) -> None:
        self._many.stored(self._index, Stored(first.topic, first.partition, first.offset, self._count))

    def set_exception(self, error: BaseException) -> None:
        self._many.failed(error)

    def exception(self) -> None:
        """As of a future; the one of all batches is asked by the program."""


Queue = Callable[[Callable[[], ProducerBatch | None]], Awaitable[ProducerBatch]]
"""Repeats an attempt to queue a batch until there is memory for it."""


class Rows(NamedTuple):
    """Columns of one call, as lists of equal length; one timestamp may stand for all."""

    values: list[bytes | None]
    keys: list[bytes | None] | None
    timestamps: int | list[int]
    headers: list[Headers | None] | None


def checked_rows(
    values: Sequence[bytes | None] | str | bytes,
    keys: Sequence[bytes | None] | None,
    timestamps: int | Sequence[int],
    headers: Sequence[Headers | None] | None,
) -> Rows:
    """The columns as lists.

    :raises TypeError: they are of different lengths, or one holds what a record cannot.
    """
    if isinstance(values, str | bytes):
        raise TypeError(f"send_many takes a list of values, not {type(values).__name__}; for one record call send()")
    rows = Rows(
        list(values),
        None if keys is None else list(keys),
        timestamps if isinstance(timestamps, int) else list(timestamps),
        None if headers is None else list(headers),
    )
    for name, column in zip(rows._fields, rows, strict=True):
        if isinstance(column, list) and len(column) != len(rows.values):
            raise TypeError(f"{name} has {len(column)} rows, values has {len(rows.values)}")
    for name, fields in (("value", rows.values), ("key", rows.keys or ())):
        if not _BYTES_OR_NONE.issuperset(map(type, fields)):
            wrong = next(item for item in fields if type(item) not in _BYTES_OR_NONE)
            raise TypeError(
                f"each {name} must be bytes or None, not {type(wrong).__name__}; send_many does not serialize"
            )
    if isinstance(rows.timestamps, list) and not {int}.issuperset(map(type, rows.timestamps)):
        raise TypeError("timestamps must be whole numbers of ms")
    for more in rows.headers or ():
        largest_size(None, None, more or ())
    return rows


_BYTES_OR_NONE = frozenset({bytes, type(None)})


def larger_than(rows: Rows, limit_bytes: int) -> int:
    """Size of a row that may exceed the limit; 0 if none does."""
    longest = max((len(value) for value in rows.values if value is not None), default=0)
    longest += max((len(key) for key in rows.keys or () if key is not None), default=0)
    if rows.headers is None and largest_size(None, None, ()) + longest <= limit_bytes:
        return 0
    keys = rows.keys or [None] * len(rows.values)
    headers = rows.headers or [None] * len(rows.values)
    sizes = (largest_size(key, value, more or ()) for key, value, more in zip(keys, rows.values, headers, strict=True))
    return next((size for size in sizes if size > limit_bytes), 0)


class _RowsSender:
    """Cuts the rows of one call into batches and queues them."""

    def __init__(
        self,
        accumulator: Accumulator,
        picture: TopicPicture,
        batch_size_bytes: int,
        queue: Queue,
        many: _ManyDeliveries,
    ) -> None:
        self._accumulator = accumulator
        self._picture = picture
        self._batch_size_bytes = batch_size_bytes
        self._queue = queue
        self._many = many

    async def send_by_key(self, rows: Rows, choose: Callable[[], int], now_ms: Callable[[], int]) -> None:
        """Rows with a key go where their keys say, the others batch by batch where ``choose`` says. Rows with keys keep
        their order in each partition."""
        if rows.keys is None or self._picture.partition_count == 1:
            await self.send(rows, choose, now_ms)
            return
        chosen: dict[int, list[int]] = {}
        for row, partition in enumerate(partitions_of_keys(rows.keys, self._picture.partition_count)):
            chosen.setdefault(partition, []).append(row)
        for partition, numbers in chosen.items():
            some = Rows(
                [rows.values[row] for row in numbers],
                [rows.keys[row] for row in numbers],
                rows.timestamps if isinstance(rows.timestamps, int) else [rows.timestamps[row] for row in numbers],
                None if rows.headers is None else [rows.headers[row] for row in numbers],
            )
            await self.send(some, choose if partition < 0 else _always(partition), now_ms)

    async def send(self, rows: Rows, choose: Callable[[], int], now_ms: Callable[[], int]) -> None:
        """Every batch goes where ``choose`` says, whatever its keys."""
        row = 0
        while row < len(rows.values):
            builder = BatchBuilder()
            row = builder.append_rows(
                self._batch_size_bytes, rows.timestamps, rows.keys, rows.values, rows.headers, row
            )
            name = self._picture.keys[choose()]
            batch = await self._queue(_append(self._accumulator, name, builder, now_ms))
            batch.timestamps.append(builder.max_timestamp)
            batch.handles.append(self._many.handle(batch.count))


def _always(partition: int) -> Callable[[], int]:
    return lambda: partition


def _append(
    accumulator: Accumulator, name: TopicPartition, builder: BatchBuilder, now_ms: Callable[[], int]
) -> Callable[[], ProducerBatch | None]:
    return lambda: accumulator.append_batch(name, builder, now_ms())


def _append_sealed(
    accumulator: Accumulator,
    name: TopicPartition,
    data: bytes,
    count: int,
    max_timestamp: int,
    now_ms: Callable[[], int],
) -> Callable[[], ProducerBatch | None]:
    """An attempt to queue a batch that is encoded already."""
    return lambda: accumulator.append_sealed(name, bytearray(data), count, max_timestamp, now_ms())


class ManySender:
    """``send_many`` and ``send_arrow`` of one producer."""

    def __init__(self, config: ProducerConfig, intake: Intake, accumulator: Accumulator, cluster: Cluster) -> None:
        self._config = config
        self._intake = intake
        self._accumulator = accumulator
        self._now_ms = cluster.network.now_ms

    async def send_rows(self, topic: str, rows: Rows, partition: int | None) -> asyncio.Future[list[Stored]]:
        """Queue columns given as lists; waits while ``buffer.memory`` is used up."""
        intake, config = self._intake, self._config
        picture, many = await self._begin(topic, partition)
        too_large = larger_than(rows, min(config.max_request_size, config.buffer_memory))
        if too_large:
            raise intake.too_large(topic, too_large)
        sender = _RowsSender(self._accumulator, picture, config.max_batch_size, intake.queue_batch, many)
        send = sender.send_by_key if partition is None and intake.by_key else sender.send
        choose = partial(intake.choose_for_batch, picture) if partition is None else _always(partition)
        try:
            await send(rows, choose, self._now_ms)
        finally:
            many.all_queued()
            self._intake.poll_soon()
        return many.future

    async def send_table(
        self, topic: str, table: pa.Table | pa.RecordBatch, partition: int | None
    ) -> asyncio.Future[list[Stored]]:
        """Queue the rows of an Arrow table; waits while ``buffer.memory`` is used up."""
        from oncelog.records.arrow import encode_from_arrow

        config = self._config
        picture, many = await self._begin(topic, partition)
        columns = _arrow_columns(table)
        encoded = encode_from_arrow(
            columns["value"],
            self._destinations(picture, columns, partition),
            key=columns.get("key"),
            timestamp=columns.get("timestamp"),
            default_timestamp_ms=int(time.time() * 1000),
            headers=columns.get("headers"),
            compression=config.compression,
            level=config.compression_level,
            batch_size_bytes=max(1, config.max_batch_size - HEADER_SIZE_BYTES),
        )
        too_large = max((len(item.data) for item in encoded if item.records_count == 1), default=0)
        if too_large > config.max_request_size:
            raise self._intake.too_large(topic, too_large)
        try:
            for destination, count, largest, data in encoded:
                queue = _append_sealed(self._accumulator, picture.keys[destination], data, count, largest, self._now_ms)
                batch = await self._intake.queue_batch(queue)
                batch.handles.append(many.handle(count))
        finally:
            many.all_queued()
            self._intake.poll_soon()
        return many.future

    async def _begin(self, topic: str, partition: int | None) -> tuple[TopicPicture, _ManyDeliveries]:
        self._intake.check_send()
        picture = await self._intake.known_topic(topic)
        if partition is not None:
            self._intake.check_partition(picture, partition)
        return picture, _ManyDeliveries(self._intake.running())

    def _destinations(self, picture: TopicPicture, columns: Mapping[str, Any], partition: int | None) -> Any:
        """A partition for each row."""
        import numpy as np

        from oncelog.records.arrow import partitions_of_keys

        rows = len(columns["value"])
        if partition is not None:
            return np.full(rows, partition, np.int32)
        if "partition" in columns:
            chosen = np.asarray(columns["partition"].cast("int32"))
            bad = chosen[(chosen < 0) | (chosen >= picture.partition_count)]
            if len(bad):
                self._intake.check_partition(picture, int(bad[0]))
            return chosen
        if "key" not in columns or self._config.partitioner_ignore_keys:
            return np.full(rows, self._intake.choose(picture), np.int32)
        found = partitions_of_keys(columns["key"], picture.partition_count)
        found[found < 0] = self._intake.choose(picture)
        return found


def _arrow_columns(table: pa.Table | pa.RecordBatch) -> Mapping[str, Any]:
    """The columns that a record has, each as one array.

    :raises TypeError: there is no column ``value``, or one that a record does not have.
    """
    import pyarrow as pa

    known = ("value", "key", "timestamp", "headers", "partition")
    names = list(table.schema.names)
    unknown = [name for name in names if name not in known]
    if "value" not in names or unknown:
        raise TypeError(f"send_arrow takes the columns {', '.join(known)} (value is needed), not {', '.join(names)}")
    found: dict[str, Any] = {}
    for name in names:
        column = table.column(name)
        found[name] = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return found


__all__ = ["ManySender", "Rows", "Stored", "checked_rows"]
