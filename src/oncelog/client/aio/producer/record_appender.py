"""Accepts the records that a program sends and puts them into the batches of their partitions.

Called by the producers, asyncio and blocking. This module chooses the partition, looks up unknown topics, and makes
senders wait while ``buffer.memory`` is used up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from oncelog.client.aio.connection.cluster_access import ClusterAccess
from oncelog.client.aio.producer.hand_batch import RecordHeaders
from oncelog.client.core import arguments
from oncelog.client.core.batches.accumulator import Accumulator, ProducerBatch
from oncelog.client.core.batches.partitioner import RoundRobin, UniformSticky, keyed, partitions_of_keys
from oncelog.client.core.batches.record_sizes import largest_size
from oncelog.client.core.client_errors import (
    Error,
    IllegalStateError,
    KafkaTimeoutError,
    ProducerClosed,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from oncelog.client.core.config import ProducerConfig
from oncelog.client.core.connection.metadata import TopicImage
from oncelog.client.core.producer.sender import Sender
from oncelog.client.core.transactions.transaction_manager import TransactionManager
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.runtime.chance import random
from oncelog.settings.kafka_properties import MAX_INT
from oncelog.types import partitions_there

Partitioner = Callable[[bytes | None, list[int], list[int]], int]
"""A function with aiokafka's signature: from key, all partitions and available partitions to the chosen partition."""

ITERATION_BYTES = 64 * 1024
"""A sender whose calls never suspend yields to the event loop after filling batches of this many bytes."""


class RecordAppender:
    """Puts each record that the program sends into the batch of its partition.

    :param poll_soon: called when there is something new to send.
    """

    def __init__(
        self,
        config: ProducerConfig,
        cluster: ClusterAccess,
        accumulator: Accumulator,
        sender: Sender,
        transactions: TransactionManager | None,
        partitioner: Partitioner | None,
        poll_soon: Callable[[], None],
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._metadata = cluster.metadata
        self._network = cluster.network
        self._accumulator = accumulator
        self._sender = sender
        self._transactions = transactions
        self.poll_soon = poll_soon
        self._custom_partitioner = partitioner
        self._round_robin = RoundRobin() if config.partitioner_class == "roundrobin" else None
        self._sticky = UniformSticky(
            config.max_batch_size,
            random.randrange,
            accumulator.queue_lengths,
            config.partitioner_adaptive_partitioning_enable,
            sender.passed_over,
        )
        self._open: dict[str, ProducerBatch] = {}
        """The batch that the sticky partitioner is filling in each topic."""
        self._ignore_keys = config.partitioner_ignore_keys and partitioner is None
        self.filled = 0
        """The number of batches filled since the event loop last ran."""
        self._space_waiters: deque[asyncio.Future[None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def start(self) -> None:
        """Bind to the running event loop."""
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """Accept nothing more; senders waiting for memory get an error."""
        self._closed = True
        for waiter in self._space_waiters:
            if not waiter.done():
                waiter.set_exception(ProducerClosed("the producer was stopped"))

    @property
    def by_key(self) -> bool:
        """Whether a record's key determines its partition."""
        return not self._ignore_keys

    @property
    def keys_in_bulk(self) -> bool:
        """Whether Java's partitioner decides by key; it can hash many keys in one call."""
        return self._custom_partitioner is None

    def check_send(self) -> None:
        """Raise an error if the transaction's state does not allow a record now."""
        if self._transactions is not None:
            self._transactions.check_send()

    def running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise IllegalStateError("the producer has not started; call start() first")
        if self._loop is not asyncio.get_running_loop():
            raise IllegalStateError("the producer was started on another event loop; use it there, or create one here")
        return self._loop

    # --- single records

    def put(
        self,
        handle: object,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp_ms: int | None,
        headers: RecordHeaders,
    ) -> bool:
        """Queue a record at once; returns False if the topic is not known yet or memory is short.

        :param handle: an object with ``done``, ``set_result`` and ``set_exception``, called with the outcome on the
            loop.
        """
        if topic.__class__ is not str:
            arguments.name(topic, "topics")
        transactions = self._transactions
        if transactions is not None and not transactions.may_send:
            transactions.check_send()
        if timestamp_ms is None:
            timestamp = real_time.time_ms()
        else:
            timestamp = arguments.whole(timestamp_ms, "timestamp_ms")
        size = 0
        if partition is None and (key is None or self._ignore_keys):
            batch = self._open.get(topic)
            if batch is not None:
                if key is None and not headers and value.__class__ is bytes:
                    if self._accumulator.add_quickly(batch, timestamp, value):
                        batch.handles.append(handle)
                        return True
                else:
                    size = largest_size(key, value, headers)
                    if size <= self._accumulator.space_in(batch):
                        self._accumulator.add(batch, timestamp, key, value, headers)
                        batch.handles.append(handle)
                        return True
        size = size or largest_size(key, value, headers)
        return self._put_anywhere(handle, topic, value, key, partition, timestamp, headers, size)

    def _put_anywhere(
        self,
        handle: object,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp: int,
        headers: RecordHeaders,
        size: int,
    ) -> bool:
        """Like :meth:`put`, for records that do not go to the topic's current batch of records without keys."""
        image = self._metadata.topics.get(topic)
        if image is None or self._closed or not image.partition_count:
            return False
        config = self._config
        if size > config.max_request_size or size > config.buffer_memory:
            raise self.too_large(topic, size)
        stuck = False
        if partition is None:
            if key is not None and not self._ignore_keys and self._custom_partitioner is None:
                partition = keyed(key, image)
            else:
                partition, stuck = self._choose(key, image)
        elif partition.__class__ is not int or not 0 <= partition <= MAX_INT:
            partition = arguments.whole(partition, "partition", 32)
        self.check_partition(image, partition)
        name = image.keys[partition]
        now_ms = int(real_time.monotonic() * 1000)
        batch = self._accumulator.append(name, timestamp, key, value, headers, size, now_ms)
        if batch is None:
            return False
        if self._transactions is not None and self._transactions.transactional:
            self._transactions.add_partition(name)
        batch.handles.append(handle)
        if stuck:
            self._open[topic] = batch
        if batch.count == 1:
            if len(self._accumulator.queues[name]) > 1:
                self.filled += 1
                self._sender.poll(now_ms)
            else:
                self.poll_soon()
        return True

    def time_to_yield(self) -> bool:
        """Whether enough batches have been filled since the last yield that the event loop should run and send them
        together."""
        if self.filled * self._config.max_batch_size < ITERATION_BYTES:
            return False
        self.filled = 0
        return True

    async def put_slowly(
        self,
        handle: object,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp_ms: int | None,
        headers: RecordHeaders,
    ) -> None:
        """Like :meth:`put`, but waits until the topic is known and there is memory."""
        deadline = real_time.monotonic() + self._config.max_block_ms / 1000
        await self.known_topic(topic)
        try:
            while not self.put(handle, topic, value, key, partition, timestamp_ms, headers):
                if topic in self._metadata.topics:
                    await self._wait_for_space(deadline)
                else:
                    await self.known_topic(topic)
        finally:
            self.space_freed()  # wakes the next waiter, because this one may have been woken and then cancelled

    # --- whole batches

    async def queue_batch(self, attempt: Callable[[], ProducerBatch | None]) -> ProducerBatch:
        """Queue a whole batch as soon as there is memory for it. Its outcome may already be known when this returns."""
        deadline = real_time.monotonic() + self._config.max_block_ms / 1000
        self._check_open()
        self.check_send()
        try:
            while (queued := attempt()) is None:
                await self._wait_for_space(deadline)
                self._check_open()
                self.check_send()  # the transaction may have been prepared or ended meanwhile
        finally:
            self.space_freed()
        if self._transactions is not None and self._transactions.transactional:
            self._transactions.add_partition(queued.partition)
        self.filled += 1
        if self.time_to_yield():
            self._sender.poll(self._network.now_ms())
            await asyncio.sleep(0)
        return queued

    # --- choosing a partition

    def _choose(self, key: bytes | None, image: TopicImage) -> tuple[int, bool]:
        """A partition for a record without a key, and whether the sticky partitioner chose it."""
        if self._custom_partitioner is not None:
            everything = list(range(image.partition_count))
            chosen = self._custom_partitioner(key, everything, image.available)
            self.check_partition(image, chosen)
            return chosen, False
        if self._round_robin is not None:
            return self._round_robin.next(image), False
        filled = self._open.pop(image.name, None)
        if filled is not None:
            self._sticky.batch_ended(image, filled.size_bytes)
        return self._sticky.current(image), True

    def partitions_of(self, image: TopicImage, keys: Sequence[bytes | None]) -> list[int]:
        """The partition of each record whose key determines it; -1 for a record without a key."""
        if self._custom_partitioner is None:
            return partitions_of_keys(keys, image.partition_count)
        return [-1 if key is None else self._choose(key, image)[0] for key in keys]

    def choose_for_batch(self, image: TopicImage) -> int:
        """Choose the partition for a whole batch of records without keys."""
        chosen, stuck = self._choose(None, image)
        if stuck:
            self._sticky.batch_ended(image, self._config.max_batch_size)
        return chosen

    def check_partition(self, image: TopicImage, partition: int) -> None:
        """Check that the topic has this partition.

        :raises UnknownTopicOrPartitionError: it has not.
        """
        if not 0 <= partition < image.partition_count:
            raise _no_partition(image, partition)

    # --- waiting

    def _check_open(self) -> None:
        """Raise if the producer was stopped: a queued record would neither be sent nor fail."""
        if self._closed:
            raise ProducerClosed("the producer was stopped")

    async def _wait_for_space(self, deadline: float) -> None:
        self._check_open()
        self.poll_soon()
        waiter: asyncio.Future[None] = self.running().create_future()
        self._space_waiters.append(waiter)
        try:
            async with asyncio.timeout(max(0.0, deadline - real_time.monotonic())):
                await waiter
        except TimeoutError:
            raise KafkaTimeoutError(
                f"no memory for a record within max.block.ms={self._config.max_block_ms}: "
                f"buffer.memory={self._config.buffer_memory} is full of records that the broker has not acknowledged"
            ) from None
        finally:
            if waiter in self._space_waiters:
                self._space_waiters.remove(waiter)

    def space_freed(self) -> None:
        """Wake the sender that has waited longest; when it has its memory, it wakes the next one."""
        if self._space_waiters:
            for waiter in self._space_waiters:
                if not waiter.done():
                    waiter.set_result(None)
                    return

    async def known_topic(self, topic: str) -> TopicImage:
        """The topic, as soon as the cluster knows it. Looking it up creates the topic if the brokers allow auto
        creation."""
        self._check_open()
        self.running()
        return await self._cluster.topic(arguments.name(topic, "topics"))

    def too_large(self, topic: str, size: int) -> RecordTooLargeError:
        if size > self._config.max_request_size:
            limit = f"max.request.size={self._config.max_request_size}"
        else:
            limit = f"buffer.memory={self._config.buffer_memory}"
        return RecordTooLargeError(
            f"a record of up to {size} bytes for topic {topic!r} is larger than {limit}; raise the setting or send less"
        )


def _no_partition(image: TopicImage, partition: int) -> UnknownTopicOrPartitionError:
    return UnknownTopicOrPartitionError(
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        f"topic {image.name!r} has no partition {partition}; {partitions_there(image.partition_count)}",
    )


__all__ = ["Partitioner", "RecordAppender"]
