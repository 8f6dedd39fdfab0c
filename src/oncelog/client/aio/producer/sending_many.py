"""Sends many records in one call, as columns, without a future for each record.

Called by the asyncio producer to implement ``send_many``, and by ``sending_arrow``. It fills batches of ``batch.size``:
larger batches (128 KiB and more) are faster.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, SupportsIndex

from oncelog.client.aio.connection.cluster_access import ClusterAccess
from oncelog.client.aio.producer.record_appender import RecordAppender
from oncelog.client.core import arguments
from oncelog.client.core.batches.accumulator import Accumulator, ProducerBatch, WholeBatch
from oncelog.client.core.batches.record_sizes import largest_size, owned
from oncelog.client.core.config import ProducerConfig
from oncelog.client.core.connection.metadata import TopicImage
from oncelog.client.core.structs import Bytes, RecordMetadata, TopicPartition
from oncelog.records.batch import BatchBuilder, Headers
from oncelog.runtime import real_asyncio as asyncio


class StoredRun(NamedTuple):
    """Consecutive records of one call that were stored together: ``records`` records from ``offset`` on (-1 if
    unknown)."""

    topic: str
    partition: int
    offset: int
    records: int


class ManyDeliveries:
    """Combines the outcomes of all batches of one call into one future."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: asyncio.Future[list[StoredRun]] = loop.create_future()
        self._stored: dict[tuple[int, ...], StoredRun] = {}
        """The stored runs by their place in the call. A place is the batch's number; the halves of a split batch append
        0 and 1 to it."""
        self._batches = 0
        self._missing = 0
        self._complete = False

    def handle(self, name: TopicPartition, count: int) -> _BatchHandle:
        self._batches += 1
        return self.part(name, (self._batches,), count)

    def part(self, name: TopicPartition, place: tuple[int, ...], count: int) -> _BatchHandle:
        self._missing += 1
        return _BatchHandle(self, name, place, count)

    def divided(self) -> None:
        """Count the two halves of a split batch, which were added as parts, instead of the whole batch."""
        self._missing -= 1

    def all_queued(self) -> None:
        self._complete = True
        self._settle()

    def stored(self, place: tuple[int, ...], stored: StoredRun) -> None:
        self._stored[place] = stored
        self._missing -= 1
        self._settle()

    def failed(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def _settle(self) -> None:
        if self._complete and not self._missing and not self.future.done():
            self.future.set_result([self._stored[place] for place in sorted(self._stored)])


class _BatchHandle(WholeBatch):
    """Receives the outcome of one batch, or of a part of it."""

    __slots__ = ("_count", "_many", "_name", "_place")

    def __init__(self, many: ManyDeliveries, name: TopicPartition, place: tuple[int, ...], count: int) -> None:
        self._many = many
        self._name = name
        self._place = place
        self._count = count

    def halves(self, low: int, high: int) -> tuple[WholeBatch, WholeBatch]:
        many, name, place = self._many, self._name, self._place
        halves = many.part(name, (*place, 0), low), many.part(name, (*place, 1), high)
        many.divided()
        return halves

    def done(self) -> bool:
        return self._many.future.done()

    def set_result(self, first: RecordMetadata | None) -> None:
        offset = -1 if first is None else first.offset
        self._many.stored(self._place, StoredRun(*self._name, offset, self._count))

    def set_exception(self, error: BaseException) -> None:
        self._many.failed(error)

    def exception(self) -> None:
        """Does nothing; a future's method of this name marks its error as seen, but the program uses the future of the
        whole call."""


Queue = Callable[[Callable[[], ProducerBatch | None]], Awaitable[ProducerBatch]]
"""A function that repeats an attempt to queue a batch until there is memory for it."""


class Rows(NamedTuple):
    """The columns of one call, as lists of equal length; ``timestamps`` may be one number for all rows."""

    values: list[bytes | None]
    keys: list[bytes | None] | None
    timestamps: int | list[int]
    headers: list[Headers | None] | None


def checked_rows(
    values: Sequence[Bytes | None],
    keys: Sequence[Bytes | None] | None,
    timestamps: SupportsIndex | Iterable[SupportsIndex],
    headers: Sequence[Headers | None] | None,
) -> Rows:
    """The columns as lists; keys and values that are buffers are copied.

    :raises TypeError: their lengths differ, or a value has a type that a record cannot hold.
    """
    for what, given in (
        ("values", values),
        ("keys", () if keys is None else keys),
        ("headers", () if headers is None else headers),
    ):
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            raise TypeError(f"send_many takes a list of {what}, not {type(given).__name__}; for one record call send()")
    rows = Rows(
        _contents("value", values),
        None if keys is None else _contents("key", keys),
        _timestamps(timestamps),
        None if headers is None else list(headers),
    )
    for name, column in zip(rows._fields, rows, strict=True):
        if isinstance(column, list) and len(column) != len(rows.values):
            raise TypeError(f"{name} has {len(column)} rows, values has {len(rows.values)}")
    for more in rows.headers or ():
        largest_size(None, None, more or ())
    return rows


_BYTES_OR_NONE = frozenset({bytes, type(None)})
_CONTENTS = _BYTES_OR_NONE | {bytearray, memoryview}


def _contents(what: str, given: Sequence[Bytes | None]) -> list[bytes | None]:
    """A column of keys or values as a list; buffers are copied."""
    fields: list[Any] = list(given)
    if _BYTES_OR_NONE.issuperset(map(type, fields)):
        return fields
    for field in fields:
        if type(field) not in _CONTENTS:
            text = f"each {what} must be bytes or None, not {type(field).__name__}"
            raise TypeError(f"{text}; send_many does not serialize")
    return [owned(field) for field in fields]


def _timestamps(given: SupportsIndex | Iterable[SupportsIndex]) -> int | list[int]:
    """One timestamp for all rows, or a list with one for each row; numpy numbers and pandas columns are accepted."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        return arguments.whole(given, "timestamp_ms")
    timestamps: list[Any] = list(given)
    if not {int}.issuperset(map(type, timestamps)):
        return [arguments.whole(timestamp, "each timestamp_ms") for timestamp in timestamps]
    for extreme in (min(timestamps, default=0), max(timestamps, default=0)):
        arguments.whole(extreme, "timestamp_ms")
    return timestamps


def larger_than(rows: Rows, limit_bytes: int) -> int:
    """An upper bound on the size in bytes of the first row whose bound exceeds the limit; 0 if there is none."""
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
        image: TopicImage,
        batch_size_bytes: int,
        queue: Queue,
        many: ManyDeliveries,
    ) -> None:
        self._accumulator = accumulator
        self._image = image
        self._batch_size_bytes = batch_size_bytes
        self._queue = queue
        self._many = many

    async def send_by_key(
        self,
        by_key: Callable[[TopicImage, Sequence[bytes | None]], list[int]],
        rows: Rows,
        choose: Callable[[], int],
        now_ms: Callable[[], int],
    ) -> None:
        """Send the rows to the partitions that their keys determine; rows without a key go, batch by batch, to the
        partition that ``choose`` returns. Rows with keys keep their order in each partition."""
        if rows.keys is None or self._image.partition_count == 1:
            await self.send(rows, choose, now_ms)
            return
        chosen: dict[int, list[int]] = {}
        for row, partition in enumerate(by_key(self._image, rows.keys)):
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
        """Send the rows in batches; each batch goes to the partition that ``choose`` returns, whatever its keys are."""
        row = 0
        while row < len(rows.values):
            builder = BatchBuilder()
            row = builder.append_rows(
                self._batch_size_bytes, rows.timestamps, rows.keys, rows.values, rows.headers, row
            )
            name = self._image.keys[choose()]
            handle = self._many.handle(name, builder.count)
            await self._queue(_append(self._accumulator, name, builder, now_ms, handle))


def _always(partition: int) -> Callable[[], int]:
    return lambda: partition


def _append(
    accumulator: Accumulator, name: TopicPartition, builder: BatchBuilder, now_ms: Callable[[], int], handle: WholeBatch
) -> Callable[[], ProducerBatch | None]:
    return lambda: accumulator.append_batch(name, builder, now_ms(), handle)


class ManySender:
    """Implements ``send_many`` of one producer."""

    def __init__(
        self, config: ProducerConfig, appender: RecordAppender, accumulator: Accumulator, cluster: ClusterAccess
    ) -> None:
        self._config = config
        self._appender = appender
        self._accumulator = accumulator
        self._now_ms = cluster.network.now_ms

    async def send_rows(self, topic: str, rows: Rows, partition: int | None) -> asyncio.Future[list[StoredRun]]:
        """Queue columns given as lists; waits while ``buffer.memory`` is used up."""
        appender, config = self._appender, self._config
        image, many = await self.begin(topic, partition)
        too_large = larger_than(rows, min(config.max_request_size, config.buffer_memory))
        if too_large:
            raise appender.too_large(topic, too_large)
        sender = _RowsSender(self._accumulator, image, config.max_batch_size, appender.queue_batch, many)
        by_key = partition is None and appender.by_key
        send = partial(sender.send_by_key, appender.partitions_of) if by_key else sender.send
        choose = partial(appender.choose_for_batch, image) if partition is None else _always(partition)
        try:
            await send(rows, choose, self._now_ms)
        except BaseException:
            many.future.cancel()  # the caller never received the delivery
            raise
        finally:
            many.all_queued()
            self._appender.poll_soon()
        return many.future

    async def begin(self, topic: str, partition: int | None) -> tuple[TopicImage, ManyDeliveries]:
        """Begin a call; returns the topic and the object that collects the outcomes of its batches."""
        if partition is not None:
            arguments.whole(partition, "partition", 32)
        self._appender.check_send()
        image = await self._appender.known_topic(topic)
        if partition is not None:
            self._appender.check_partition(image, partition)
        return image, ManyDeliveries(self._appender.running())


__all__ = ["ManyDeliveries", "ManySender", "Rows", "StoredRun", "checked_rows"]
