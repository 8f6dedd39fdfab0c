"""The asyncio producer, with aiokafka's methods and names.

Called by programs, the command line, the console and Spark. The rules are in ``client.core``; here are the event loop,
the futures of the records and the waits. ``send`` suspends only when a batch has filled up, when memory is short, or
for a topic that is not known yet.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from oncelog.client.aio.cluster import Cluster, settled
from oncelog.client.aio.many import (
    ManyDeliveries,
    RowsSender,
    Stored,
    append_sealed,
    arrow_columns,
    checked_rows,
    larger_than,
)
from oncelog.client.aio.settings import split_settings
from oncelog.client.core.accumulator import Accumulator, ProducerBatch, largest_size
from oncelog.client.core.config import ProducerConfig
from oncelog.client.core.coordinator_requests import Result
from oncelog.client.core.errors import (
    Error,
    FatalProducerError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    ProducerClosed,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from oncelog.client.core.metadata import TopicPicture
from oncelog.client.core.partitioner import RoundRobin, UniformSticky, keyed
from oncelog.client.core.sender import Sender
from oncelog.client.core.structs import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    RecordMetadata,
    TopicPartition,
)
from oncelog.client.core.transaction_manager import TransactionManager
from oncelog.client.core.transaction_states import State
from oncelog.records.batch import HEADER_SIZE_BYTES, BatchBuilder

if TYPE_CHECKING:
    import pyarrow as pa

if TYPE_CHECKING:
    from typing import Unpack

    from oncelog.client.core.keywords import ProducerKeywords

log = logging.getLogger(__name__)
_new_metadata = partial(tuple.__new__, RecordMetadata)

Serializer = Callable[[Any], bytes | None]
Partitioner = Callable[[bytes | None, list[int], list[int]], int]
"""aiokafka's shape: (key, all partitions, available partitions) to a partition."""
RecordHeaders = Sequence[tuple[str, bytes | None]]


TURN_BYTES = 64 * 1024
"""A sender that never waits lets the event loop work after so many bytes."""


class Batch:
    """Records that the program gathers itself, for :meth:`Producer.send_batch`."""

    def __init__(self, max_size_bytes: int) -> None:
        self._builder = BatchBuilder()
        self._max_size_bytes = max_size_bytes
        self._closed = False

    def append(
        self,
        *,
        key: bytes | None = None,
        value: bytes | None = None,
        timestamp: int | None = None,
        headers: RecordHeaders = (),
    ) -> int | None:
        """Add a record; its position in the batch, or None when the batch is full or closed."""
        size = largest_size(key, value, headers)
        if self._closed or (self._builder.count and self._builder.size_bytes + size > self._max_size_bytes):
            return None
        stamp = int(time.time() * 1000) if timestamp is None else timestamp
        self._builder.append(stamp, key, value, headers)
        return self._builder.count - 1

    def close(self) -> None:
        """No records may be added any more."""
        self._closed = True

    def size(self) -> int:
        """Bytes so far, before packing."""
        return self._builder.size_bytes

    def record_count(self) -> int:
        return self._builder.count

    @property
    def builder(self) -> BatchBuilder:
        return self._builder


class Producer:
    """Sends records.

    Settings are keyword arguments under aiokafka's names (``bootstrap_servers``, ``acks``, ``enable_idempotence``,
    ``transactional_id``, ``linger_ms``, ``max_batch_size``, ``compression_type``, ...), or a ready
    :class:`ProducerConfig`. A contradiction among them raises ``ConfigError`` here, before anything is sent.
    """

    def __init__(
        self,
        *,
        config: ProducerConfig | None = None,
        key_serializer: Serializer | None = None,
        value_serializer: Serializer | None = None,
        partitioner: Partitioner | None = None,
        ssl_context: ssl.SSLContext | None = None,
        **settings: Unpack[ProducerKeywords],
    ) -> None:
        self.config = ProducerConfig.from_keywords(**split_settings(settings)) if config is None else config
        self._key_serializer = key_serializer
        self._value_serializer = value_serializer
        self._custom_partitioner = partitioner
        config = self.config
        self._cluster = Cluster(
            config,
            timeout_ms=config.max_block_ms,
            setting="max.block.ms",
            ssl_context=ssl_context,
            allow_auto_creation=True,
        )
        self._network = self._cluster.network
        self._metadata = self._cluster.metadata
        self._accumulator = Accumulator(
            batch_size_bytes=config.max_batch_size,
            buffer_memory_bytes=config.buffer_memory,
            max_record_bytes=config.max_request_size,
            compression=config.compression,
            on_done=self._batch_done,
            on_space=self._space_freed,
        )
        self._transactions: TransactionManager | None = None
        if config.enable_idempotence:
            self._transactions = TransactionManager(
                self._network,
                self._accumulator,
                transactional_id=config.transactional_id,
                transaction_timeout_ms=config.transaction_timeout_ms,
                retry_backoff_ms=config.retry_backoff_ms,
                retry_backoff_max_ms=config.retry_backoff_max_ms,
                on_change=self._poll_soon,
            )
        self._sender = Sender(config, self._network, self._metadata, self._accumulator, self._transactions)
        self._round_robin = RoundRobin() if config.partitioner_class == "roundrobin" else None
        self._sticky = UniformSticky(
            config.max_batch_size,
            random.randrange,
            self._accumulator.queue_lengths,
            config.partitioner_adaptive_partitioning_enable,
            self._sender.passed_over,
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: dict[str, ProducerBatch] = {}
        """The batch of each topic that the sticky partitioner fills."""
        self._ignore_keys = config.partitioner_ignore_keys and partitioner is None
        self._poll_scheduled = False
        self._filled = 0
        """Batches filled since the event loop could last do anything else."""
        self._space_waiters: deque[asyncio.Future[None]] = deque()
        self._flush_waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._closed = False

    # --- life

    async def start(self) -> None:
        """Connect; with idempotence get a producer id, with a ``transactional_id`` fence older instances."""
        if self._closed:
            raise ProducerClosed("the producer was stopped; make a new one")
        if self._loop is not None:
            raise IllegalStateError("the producer was started already")
        self._loop = asyncio.get_running_loop()
        try:
            await self._cluster.connect()
            self._network.observe(self._poll_soon)
            self._metadata.observe(self._poll_soon)
            await self._cluster.repeat("start()", self._cluster.refresh)
            if self._transactions is not None:
                await self._outcome(self._transactions.initialize(), "start()")
        except BaseException:
            await self._close()
            raise

    async def stop(self) -> None:
        """Send what is queued, abort an open transaction, close the connections. May be called twice."""
        if self._closed:
            return
        if self._loop is None:
            self._closed = True
            return
        try:
            if self.transaction_open:
                await self._abort_on_stop()
            else:
                await self.flush()
        finally:
            await self._close()

    async def _abort_on_stop(self) -> None:
        try:
            await self.abort_transaction()
        except FatalProducerError as error:
            log.info("the open transaction was ended by others: %s", error)

    async def _close(self) -> None:
        self._closed = True
        error = KafkaError(Error.NETWORK_EXCEPTION, "the producer was stopped before the record was acknowledged")
        self._sender.close()
        self._accumulator.abort_all(error)
        for waiter in self._space_waiters:
            if not waiter.done():
                waiter.set_exception(ProducerClosed("the producer was stopped"))
        await self._cluster.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # --- sending

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: RecordHeaders | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """Queue a record; the future tells where it was stored, or why not.

        :raises KafkaTimeoutError: ``buffer.memory`` was used up, or the topic unknown, for ``max.block.ms``.
        :raises RecordTooLargeError: the record alone exceeds ``max.request.size`` or ``buffer.memory``.
        """
        key_bytes = key if self._key_serializer is None else self._key_serializer(key)
        value_bytes = value if self._value_serializer is None else self._value_serializer(value)
        loop = self._loop
        if loop is None:
            raise IllegalStateError("the producer has not started; call start() first")
        future: asyncio.Future[RecordMetadata] = asyncio.Future(loop=loop)
        if not self._put(future, topic, value_bytes, key_bytes, partition, timestamp_ms, headers or ()):
            await self._put_slowly(future, topic, value_bytes, key_bytes, partition, timestamp_ms, headers or ())
        elif self._filled and self._time_to_yield():
            await asyncio.sleep(0)
        return future

    def _put(
        self,
        handle: object,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp_ms: int | None,
        headers: RecordHeaders,
    ) -> bool:
        """Queue a record at once; False where the topic is not known yet or memory is short.

        :param handle: an object with ``done``, ``set_result`` and ``set_exception``, told the outcome on the loop.
        """
        transactions = self._transactions
        if transactions is not None and not transactions.may_send:
            transactions.check_send()
        stamp = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
        size = 0
        if partition is None and (key is None or self._ignore_keys):
            batch = self._open.get(topic)
            if batch is not None:
                if key is None and not headers and value.__class__ is bytes:
                    if self._accumulator.add_quickly(batch, stamp, value):
                        batch.handles.append(handle)
                        return True
                else:
                    size = largest_size(key, value, headers)
                    if size <= self._accumulator.room_in(batch):
                        self._accumulator.add(batch, stamp, key, value, headers)
                        batch.handles.append(handle)
                        return True
        size = size or largest_size(key, value, headers)
        return self._put_anywhere(handle, topic, value, key, partition, stamp, headers, size)

    def _put_anywhere(
        self,
        handle: object,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        stamp: int,
        headers: RecordHeaders,
        size: int,
    ) -> bool:
        """As :meth:`_put`, if the record does not just go to the batch that the topic's records without keys fill."""
        picture = self._metadata.topics.get(topic)
        if picture is None or self._closed or not picture.partition_count:
            return False
        config = self.config
        if size > config.max_request_size or size > config.buffer_memory:
            raise self._too_large(topic, size)
        stuck = False
        if partition is None:
            if key is not None and not self._ignore_keys and self._custom_partitioner is None:
                partition = keyed(key, picture)
            else:
                partition, stuck = self._choose(key, picture)
        if not 0 <= partition < picture.partition_count:
            raise _no_partition(topic, partition, picture)
        name = picture.keys[partition]
        now_ms = int(time.monotonic() * 1000)
        batch = self._accumulator.append(name, stamp, key, value, headers, size, now_ms)
        if batch is None:
            return False
        if self._transactions is not None and self._transactions.transactional:
            self._transactions.add_partition(name)
        batch.handles.append(handle)
        if stuck:
            self._open[topic] = batch
        if batch.count == 1:
            if len(self._accumulator.queues[name]) > 1:
                self._filled += 1
                self._sender.poll(now_ms)
            else:
                self._poll_soon()
        return True

    def _time_to_yield(self) -> bool:
        """Whether so much has filled up since the last time that the event loop should work: its requests go out in
        one go."""
        if self._filled * self.config.max_batch_size < TURN_BYTES:
            return False
        self._filled = 0
        return True

    async def _put_slowly(
        self,
        handle: object,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp_ms: int | None,
        headers: RecordHeaders,
    ) -> None:
        """As :meth:`_put`, waiting for what it lacks."""
        deadline = time.monotonic() + self.config.max_block_ms / 1000
        await self._known_topic(topic)
        while not self._put(handle, topic, value, key, partition, timestamp_ms, headers):
            if topic in self._metadata.topics:
                await self._wait_for_space(deadline)
            else:
                await self._known_topic(topic)

    async def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: RecordHeaders | None = None,
    ) -> RecordMetadata:
        """Send a record and wait until it is acknowledged."""
        return await (await self.send(topic, value, key, partition, timestamp_ms, headers))

    async def send_many(
        self,
        topic: str,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | Sequence[int] | None = None,
        headers: Sequence[RecordHeaders | None] | None = None,
    ) -> asyncio.Future[list[Stored]]:
        """Queue many records given as columns; the future tells where each run of them was stored, or why not.

        Serializers are not applied. Rows with a key go where the key says, the others fill batches in turn. Waits while
        ``buffer.memory`` is used up.

        :raises TypeError: a column is of another length than ``values``, or holds what a record cannot.
        """
        rows = checked_rows(values, keys, int(time.time() * 1000) if timestamp_ms is None else timestamp_ms, headers)
        picture, many = await self._begin_many(topic, partition)
        too_large = larger_than(rows, min(self.config.max_request_size, self.config.buffer_memory))
        if too_large:
            raise self._too_large(topic, too_large)
        choose = self._chooser(picture, partition)
        sender = RowsSender(self._accumulator, picture, self.config.max_batch_size, self._queue_batch, many)
        by_key = partition is None and not self._ignore_keys and self._custom_partitioner is None
        try:
            await (sender.send_by_key if by_key else sender.send)(rows, choose, self._network.now_ms)
        finally:
            many.all_queued()
            self._poll_soon()
        return many.future

    async def send_arrow(
        self, topic: str, table: pa.Table | pa.RecordBatch, *, partition: int | None = None
    ) -> asyncio.Future[list[Stored]]:
        """Queue the rows of an Arrow table; as :meth:`send_many`. Columns: ``value``, and where there are any ``key``,
        ``timestamp`` (a timestamp), ``headers`` (lists of structs of key and value) and ``partition``."""
        from oncelog.records.arrow import encode_from_arrow

        picture, many = await self._begin_many(topic, partition)
        columns = arrow_columns(table)
        destinations = self._destinations(picture, columns, partition)
        encoded = encode_from_arrow(
            columns["value"],
            destinations,
            key=columns.get("key"),
            timestamp=columns.get("timestamp"),
            default_timestamp_ms=int(time.time() * 1000),
            headers=columns.get("headers"),
            compression=self.config.compression,
            level=self.config.compression_level,
            batch_size_bytes=max(1, self.config.max_batch_size - HEADER_SIZE_BYTES),
        )
        too_large = max((len(item.data) for item in encoded if item.records_count == 1), default=0)
        if too_large > self.config.max_request_size:
            raise self._too_large(topic, too_large)
        try:
            for destination, count, largest, data in encoded:
                name = picture.keys[destination]
                queue = append_sealed(self._accumulator, name, data, count, largest, self._network.now_ms)
                batch = await self._queue_batch(queue)
                batch.handles.append(many.handle(count))
        finally:
            many.all_queued()
            self._poll_soon()
        return many.future

    async def _begin_many(self, topic: str, partition: int | None) -> tuple[TopicPicture, ManyDeliveries]:
        if self._transactions is not None:
            self._transactions.check_send()
        picture = await self._known_topic(topic)
        if partition is not None and not 0 <= partition < picture.partition_count:
            raise _no_partition(topic, partition, picture)
        return picture, ManyDeliveries(self._running())

    def _chooser(self, picture: TopicPicture, partition: int | None) -> Callable[[], int]:
        """Where each batch without keys goes."""
        if partition is not None:
            return lambda: partition

        def choose() -> int:
            chosen, stuck = self._choose(None, picture)
            if stuck:
                self._sticky.batch_ended(picture, self.config.max_batch_size)
            return chosen

        return choose

    def _destinations(self, picture: TopicPicture, columns: Mapping[str, Any], partition: int | None) -> Any:
        import numpy as np

        from oncelog.records.arrow import partitions_of_keys

        rows = len(columns["value"])
        if partition is not None:
            return np.full(rows, partition, np.int32)
        if "partition" in columns:
            chosen = np.asarray(columns["partition"].cast("int32"))
            bad = chosen[(chosen < 0) | (chosen >= picture.partition_count)]
            if len(bad):
                raise _no_partition(picture.name, int(bad[0]), picture)
            return chosen
        if "key" not in columns or self._ignore_keys:
            return np.full(rows, self._choose(None, picture)[0], np.int32)
        found = partitions_of_keys(columns["key"], picture.partition_count)
        found[found < 0] = self._choose(None, picture)[0]
        return found

    async def _queue_batch(self, attempt: Callable[[], ProducerBatch | None]) -> ProducerBatch:
        """Queue a whole batch as soon as there is memory for it."""
        deadline = time.monotonic() + self.config.max_block_ms / 1000
        if self._transactions is not None:
            self._transactions.check_send()
        while (queued := attempt()) is None:
            await self._wait_for_space(deadline)
        if self._transactions is not None and self._transactions.transactional:
            self._transactions.add_partition(queued.partition)
        self._filled += 1
        if self._time_to_yield():
            self._sender.poll(self._network.now_ms())
            await asyncio.sleep(0)
        return queued

    def create_batch(self) -> Batch:
        """A batch to fill by hand, at most ``max_batch_size`` large."""
        return Batch(self.config.max_batch_size)

    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> asyncio.Future[RecordMetadata]:
        """Send a batch as it is; the future tells where its first record was stored."""
        if self._transactions is not None:
            self._transactions.check_send()
        picture = await self._known_topic(topic)
        if not 0 <= partition < picture.partition_count:
            raise _no_partition(topic, partition, picture)
        batch.close()
        if not batch.record_count():
            raise IllegalStateError("the batch is empty; append a record first")
        name = picture.keys[partition]
        queued = await self._queue_batch(
            lambda: self._accumulator.append_batch(name, batch.builder, self._network.now_ms())
        )
        future: asyncio.Future[RecordMetadata] = self._running().create_future()
        queued.handles.append(future)
        queued.timestamps.append(batch.builder.max_timestamp)
        self._poll_soon()
        return future

    async def flush(self) -> None:
        """Wait until everything sent so far is acknowledged or has failed; failures are told by the futures."""
        number = self._sender.flush()
        self._poll_soon()
        if self._flushed(number):
            return
        future: asyncio.Future[None] = self._running().create_future()
        self._flush_waiters.append((number, future))
        await future

    async def partitions_for(self, topic: str) -> set[int]:
        """Numbers of the topic's partitions."""
        picture = await self._known_topic(topic)
        return set(range(picture.partition_count))

    def _choose(self, key: bytes | None, picture: TopicPicture) -> tuple[int, bool]:
        """A partition for a record without a key, and whether the sticky partitioner chose it."""
        if self._custom_partitioner is not None:
            everything = list(range(picture.partition_count))
            return self._custom_partitioner(key, everything, picture.available), False
        if self._round_robin is not None:
            return self._round_robin.next(picture), False
        filled = self._open.pop(picture.name, None)
        if filled is not None:
            self._sticky.batch_ended(picture, filled.size_bytes)
        return self._sticky.current(picture), True

    async def _wait_for_space(self, deadline: float) -> None:
        self._poll_soon()
        waiter: asyncio.Future[None] = self._running().create_future()
        self._space_waiters.append(waiter)
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                await waiter
        except TimeoutError:
            raise KafkaTimeoutError(
                f"no room for a record within max.block.ms={self.config.max_block_ms}: "
                f"buffer.memory={self.config.buffer_memory} is full of records that the broker has not acknowledged"
            ) from None
        finally:
            if waiter in self._space_waiters:
                self._space_waiters.remove(waiter)

    def _space_freed(self) -> None:
        if self._space_waiters:
            for waiter in self._space_waiters:
                if not waiter.done():
                    waiter.set_result(None)
                    return

    async def _known_topic(self, topic: str) -> TopicPicture:
        """The topic, as soon as the cluster knows it; the question makes brokers create it where they may."""
        if self._closed:
            raise ProducerClosed("the producer was stopped")
        self._running()
        if not isinstance(topic, str) or not topic:
            raise TypeError(f"a topic is named by a text that is not empty, not by {topic!r}")
        return await self._cluster.topic(topic)

    def _too_large(self, topic: str, size: int) -> RecordTooLargeError:
        if size > self.config.max_request_size:
            limit = f"max.request.size={self.config.max_request_size}"
        else:
            limit = f"buffer.memory={self.config.buffer_memory}"
        return RecordTooLargeError(
            f"a record of up to {size} bytes for topic {topic!r} is larger than {limit}; raise the setting or send less"
        )

    # --- transactions

    async def begin_transaction(self) -> None:
        """Begin a transaction. Nothing is sent for it until its first record."""
        self._transactional().begin()

    async def commit_transaction(self) -> None:
        """Make the transaction's records and offsets visible, all at once.

        :raises AbortableTransactionError: a record or the offsets failed; abort the transaction.
        :raises KafkaTimeoutError: the outcome is not known yet; call this again, and nothing else.
        """
        await self._outcome(self._transactional().commit(), "commit_transaction()")

    async def abort_transaction(self) -> None:
        """Take the transaction back; no reader of committed records will see any of it."""
        await self._outcome(self._transactional().abort(), "abort_transaction()")

    def transaction(self) -> Transaction:
        """``async with producer.transaction():`` commits at the end, aborts on an exception."""
        self._transactional()
        return Transaction(self)

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int | tuple[int, str]],
        group_id: str | ConsumerGroupMetadata,
    ) -> None:
        """Commit consumed positions together with the transaction's records.

        :param group_id: the group, or better ``consumer.group_metadata()``: with it a member that has lost its
            partitions to another is refused (KIP-447).
        """
        group = ConsumerGroupMetadata(group_id) if isinstance(group_id, str) else group_id
        positions = normalize_offsets(offsets)
        await self._outcome(self._transactional().send_offsets(positions, group), "send_offsets_to_transaction()")

    @property
    def transaction_open(self) -> bool:
        """Whether there is a transaction to abort."""
        transactions = self._transactions
        return transactions is not None and transactions.state in (State.IN_TRANSACTION, State.ABORTABLE_ERROR)

    def _transactional(self) -> TransactionManager:
        if self._transactions is None or not self._transactions.transactional:
            raise IllegalStateError("the producer is not transactional; give it a transactional_id")
        if self._closed:
            raise ProducerClosed("the producer was stopped")
        return self._transactions

    # --- between the loop and the cores

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise IllegalStateError("the producer has not started; call start() first")
        return self._loop

    def _poll_soon(self) -> None:
        if not self._poll_scheduled and self._loop is not None and not self._closed:
            self._poll_scheduled = True
            self._loop.call_soon(self._poll)

    def _poll(self) -> None:
        self._poll_scheduled = False
        self._sender.poll(self._network.now_ms())

    async def _outcome(self, result: Result, what: str) -> None:
        """Wait for a transaction call; raises its error."""
        try:
            error = await settled(result, self.config.max_block_ms / 1000)
        except TimeoutError:
            raise KafkaTimeoutError(
                f"{what} was not answered within max.block.ms={self.config.max_block_ms}; "
                "it goes on in the background: call it again to learn the outcome"
            ) from None
        if error is not None:
            raise error

    def _batch_done(
        self,
        batch: ProducerBatch,
        base_offset: int,
        log_append_time: int,
        log_start_offset: int,
        error: KafkaError | None,
    ) -> None:
        futures: Iterable[Any] = batch.handles
        if error is not None:
            for future in futures:
                if not future.done():
                    future.set_exception(error)
                    if isinstance(error, FatalProducerError):
                        future.exception()  # told by every later call, too: not worth a warning for each record
        else:
            topic, partition = name = batch.partition
            kind = 0 if log_append_time == -1 else 1
            start = None if log_start_offset == -1 else log_start_offset
            count = len(batch.handles)
            records = zip(
                repeat(topic),
                repeat(partition),
                repeat(name),
                range(base_offset, base_offset + count) if base_offset >= 0 else repeat(-1),
                repeat(log_append_time) if kind else batch.timestamps,
                repeat(kind),
                repeat(start),
                strict=False,
            )
            for future, outcome in zip(futures, map(_new_metadata, records), strict=False):
                try:
                    future.set_result(outcome)
                except asyncio.InvalidStateError:
                    continue  # cancelled by the program: nobody asks for its outcome
        if self._flush_waiters:
            self._wake_flushes()

    def _flushed(self, number: int) -> bool:
        oldest = next(iter(self._accumulator.incomplete), None)
        return oldest is None or oldest.number > number

    def _wake_flushes(self) -> None:
        waiting: list[tuple[int, asyncio.Future[None]]] = []
        for number, future in self._flush_waiters:
            if not self._flushed(number):
                waiting.append((number, future))
            elif not future.done():
                future.set_result(None)
        self._flush_waiters = waiting


class Transaction:
    """One transaction as a block."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    async def __aenter__(self) -> Producer:
        await self._producer.begin_transaction()
        return self._producer

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            try:
                await self._producer.commit_transaction()
            except (FatalProducerError, KafkaTimeoutError):
                raise
            except KafkaError:
                await self._producer.abort_transaction()
                raise
        elif not isinstance(error, FatalProducerError):
            await self._abort()

    async def _abort(self) -> None:
        """The block's own exception goes on; one of the abort would hide it."""
        if self._producer.transaction_open:
            await self._producer.abort_transaction()


def normalize_offsets(
    offsets: Mapping[TopicPartition, OffsetAndMetadata | int | tuple[int, str]],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Offsets as aiokafka takes them: numbers, pairs with a text, or ``OffsetAndMetadata``."""
    positions: dict[TopicPartition, OffsetAndMetadata] = {}
    for name, position in offsets.items():
        key = TopicPartition(*name)
        if isinstance(position, OffsetAndMetadata):
            positions[key] = position
        elif isinstance(position, int):
            positions[key] = OffsetAndMetadata(position)
        else:
            positions[key] = OffsetAndMetadata(*position)
        if positions[key].offset < 0:
            raise IllegalStateError(f"offset {positions[key].offset} of {key} is negative; it must be 0 or more")
    return positions


def _no_partition(topic: str, partition: int, picture: TopicPicture) -> UnknownTopicOrPartitionError:
    return UnknownTopicOrPartitionError(
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        f"topic {topic!r} has no partition {partition}; its partitions are 0 to {picture.partition_count - 1}",
    )


__all__ = ["Batch", "Producer", "Transaction", "normalize_offsets"]
