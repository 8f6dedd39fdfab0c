"""Waits for fetched records and hands them out as records, columns or Arrow tables.

Called by the asyncio consumer. Columns and tables are decoded from the stored batches, without an object per record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.util import find_spec
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from oncelog.client.aio.consumer.record_waiters import RecordWaiters
from oncelog.client.core import arguments
from oncelog.client.core.connection.wire import Wire
from oncelog.client.core.consumer.completed_fetch import Chunk
from oncelog.client.core.consumer.fetcher import Fetcher
from oncelog.client.core.consumer.subscription import Subscription
from oncelog.client.core.structs import Columns, ConsumerRecord, TopicPartition
from oncelog.errors import ConfigError, Error, KafkaError
from oncelog.records.batch import record_columns
from oncelog.records.record_errors import CorruptBatch
from oncelog.runtime import real_asyncio as asyncio

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


class RecordReader:
    """Reads records for one consumer's program.

    :param check: raises if the consumer is not open.
    :param polled: called whenever the program requests records.
    :param poll_soon: called when partitions may be fetched again.
    """

    def __init__(
        self,
        wire: Wire,
        subscription: Subscription,
        fetcher: Fetcher,
        waits: RecordWaiters,
        *,
        check: Callable[[], object],
        polled: Callable[[int], None],
        poll_soon: Callable[[], None],
        check_crcs: bool,
    ) -> None:
        self._wire = wire
        self._subscription = subscription
        self._fetcher = fetcher
        self._waits = waits
        self._check = check
        self._polled = polled
        self._poll_soon = poll_soon
        self._check_crcs = check_crcs

    async def records(
        self, partitions: Collection[TopicPartition], most: int, timeout_ms: float
    ) -> dict[TopicPartition, list[ConsumerRecord[Any, Any]]]:
        """Up to ``most`` records of these partitions, or of all; waits for the first."""
        names = arguments.partitions(partitions)
        return await self._wait_for(names, timeout_ms, lambda now_ms: self._fetcher.take(most, names, now_ms))

    async def columns(self, partitions: Collection[TopicPartition], timeout_ms: float) -> dict[TopicPartition, Columns]:
        """All records available now, as columns."""
        found = await self._batches(partitions, timeout_ms)
        return self._decoded(found, lambda chunks: columns_of(chunks, self._check_crcs))

    async def tables(
        self, partitions: Collection[TopicPartition], timeout_ms: float, headers: bool
    ) -> dict[TopicPartition, pa.Table]:
        """All records available now, as Arrow tables.

        :raises ConfigError: pyarrow or numpy is not installed; nothing is handed out.
        """
        if find_spec("pyarrow") is None or find_spec("numpy") is None:
            raise ConfigError(arguments.ARROW_MISSING)
        found = await self._batches(partitions, timeout_ms)
        return self._decoded(found, lambda chunks: table_of(chunks, self._check_crcs, headers))

    async def _batches(
        self, partitions: Collection[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, list[Chunk]]:
        names = arguments.partitions(partitions)
        return await self._wait_for(names, timeout_ms, lambda now_ms: self._fetcher.take_batches(names, now_ms))

    def _decoded(
        self, found: Mapping[TopicPartition, list[Chunk]], read: Callable[[list[Chunk]], T]
    ) -> dict[TopicPartition, T]:
        done: dict[TopicPartition, T] = {}
        for name, chunks in found.items():
            try:
                done[name] = read(chunks)
            except CorruptBatch as corrupt:
                self._give_back({other: chunks for other, chunks in found.items() if other not in done})
                error = KafkaError(
                    Error.CORRUPT_MESSAGE, f"{name} cannot be read from offset {chunks[0].first_offset} on: {corrupt}"
                )
                if not done:
                    raise error from None
                self._waits.fail(error)
                break
            except BaseException:
                # give the batches back, so that no record is skipped: they may be too large for one table
                self._give_back(found)
                raise
        return done

    def _give_back(self, found: Mapping[TopicPartition, list[Chunk]]) -> None:
        """Return to the first offset of these chunks, so that they are read again."""
        for name, chunks in found.items():
            state = self._subscription.assigned.get(name)
            if state is not None:
                state.seek(chunks[0].first_offset)

    async def _wait_for(
        self,
        partitions: Collection[TopicPartition],
        timeout_ms: float,
        take: Callable[[int], dict[TopicPartition, T]],
    ) -> dict[TopicPartition, T]:
        """The result of ``take`` as soon as it is not empty, or at the timeout."""
        loop = asyncio.get_running_loop()
        seconds = arguments.seconds(timeout_ms, "timeout_ms")
        end = None if seconds == inf else loop.time() + seconds
        first = True
        while True:
            self._waits.raise_failure()
            self._check()
            self._subscription.raise_if_nothing_to_read()
            now_ms = self._wire.now_ms()
            self._polled(now_ms)
            found = take(now_ms)
            if found:
                return found
            try:
                self._subscription.raise_if_stuck(partitions)
            except KafkaError:
                self._poll_soon()
                raise
            if first and self._subscription.without_position():
                # an earlier call may have raised the error of the lookup: look the positions up again
                self._poll_soon()
            left = None if end is None else end - loop.time()
            if left is not None and left <= 0 and not first:
                return found
            first = False
            await self._waits.wait(left)


def columns_of(chunks: Sequence[Chunk], check_crc: bool) -> Columns:
    """The records of one partition's batches as columns.

    :raises CorruptBatch: a batch cannot be read.
    """
    whole = Columns([], [], [], [], [])
    for data, batches, first_offset in chunks:
        for position, header in batches:
            found = Columns(*record_columns(data, position, header, first_offset=first_offset, check_crc=check_crc))
            whole.offsets.extend(found.offsets)
            whole.timestamps.extend(found.timestamps)
            whole.keys.extend(found.keys)
            whole.values.extend(found.values)
            whole.headers.extend(found.headers)
    return whole


def table_of(chunks: Sequence[Chunk], check_crc: bool, headers: bool) -> pa.Table:
    """The records of one partition's batches as an Arrow table.

    :raises CorruptBatch: a batch cannot be read.
    """
    import pyarrow as pa

    from oncelog.records.arrow import BatchBytes, decode_to_arrow, schema

    pieces = [
        decode_to_arrow(
            [BatchBytes(data, position, header) for position, header in batches],
            start_offset=first_offset,
            headers=headers,
            check_crc=check_crc,
        )
        for data, batches, first_offset in chunks
    ]
    return pa.Table.from_batches(pieces, schema=schema(headers=headers))


__all__ = ["RecordReader", "columns_of", "table_of"]
