"""Many records in one call: as columns or as Arrow, without an object for each record.

Called by the asyncio producer and consumer, whose ``send_many``, ``send_arrow`` and ``getmany_arrow`` these are. A
producer's batch interfaces fill batches of ``batch.size``, so larger ones (128 KiB and more) are faster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from oncelog.client.core.accumulator import Accumulator, ProducerBatch, largest_size
from oncelog.client.core.fetcher import Chunk
from oncelog.client.core.metadata import TopicPicture
from oncelog.client.core.partitioner import partitions_of_keys
from oncelog.client.core.structs import Columns, RecordMetadata, TopicPartition
from oncelog.records.batch import BatchBuilder, Headers, record_columns

if TYPE_CHECKING:
    import pyarrow as pa


class Stored(NamedTuple):
    """Where consecutive records of one call were stored: ``records`` of them from ``offset`` on (-1: not told)."""

    topic: str
    partition: int
    offset: int
    records: int


class ManyDeliveries:
    """The outcome of the batches of one call, as one future."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: asyncio.Future[list[Stored]] = loop.create_future()
        self._stored: list[Stored | None] = []
        self._missing = 0
        self._complete = False

    def handle(self, count: int) -> BatchHandle:
        self._missing += 1
        self._stored.append(None)
        return BatchHandle(self, len(self._stored) - 1, count)

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


class BatchHandle:
    """What the producer tells of one batch."""

    __slots__ = ("_count", "_index", "_many")

    def __init__(self, many: ManyDeliveries, index: int, count: int) -> None:
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


class RowsSender:
    """Cuts the rows of one call into batches and queues them."""

    def __init__(
        self, accumulator: Accumulator, picture: TopicPicture, batch_size_bytes: int, queue: Queue, many: ManyDeliveries
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


def append_sealed(
    accumulator: Accumulator,
    name: TopicPartition,
    data: bytes,
    count: int,
    max_timestamp: int,
    now_ms: Callable[[], int],
) -> Callable[[], ProducerBatch | None]:
    """An attempt to queue a batch that is encoded already."""
    return lambda: accumulator.append_sealed(name, bytearray(data), count, max_timestamp, now_ms())


# --- reading


def columns_of(chunks: Sequence[Chunk], check_crc: bool) -> Columns:
    """The records of one partition's batches as columns.

    :raises CorruptBatch: a batch cannot be read.
    """
    whole = Columns([], [], [], [], [])
    for data, batches, first_offset in chunks:
        for position, _ in batches:
            found = Columns(*record_columns(data, position, first_offset=first_offset, check_crc=check_crc))
            whole.offsets.extend(found.offsets)
            whole.timestamps.extend(found.timestamps)
            whole.keys.extend(found.keys)
            whole.values.extend(found.values)
            whole.headers.extend(found.headers)
    return whole


def arrow_of(chunks: Sequence[Chunk], check_crc: bool, headers: bool) -> pa.Table:
    """The records of one partition's batches as an Arrow table.

    :raises CorruptBatch: a batch cannot be read.
    """
    import pyarrow as pa

    from oncelog.records.arrow import StoredBatch, decode_to_arrow, schema

    pieces = [
        decode_to_arrow(
            [StoredBatch(data, position, header) for position, header in batches],
            start_offset=first_offset,
            headers=headers,
            check_crc=check_crc,
        )
        for data, batches, first_offset in chunks
    ]
    return pa.Table.from_batches(pieces, schema=schema(headers=headers))


def arrow_columns(table: pa.Table | pa.RecordBatch) -> Mapping[str, Any]:
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


__all__ = [
    "ManyDeliveries",
    "Rows",
    "RowsSender",
    "Stored",
    "append_sealed",
    "arrow_columns",
    "arrow_of",
    "checked_rows",
    "columns_of",
    "larger_than",
]
