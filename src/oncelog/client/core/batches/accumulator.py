"""Records waiting to be sent: a queue of batches for each partition, within ``buffer.memory``.

Called by the producer (append), the sender (drain, retry, complete) and the transaction manager (sequences). Records
are added to a batch until it is full or drained; from then on its bytes are fixed, and a retry sends the very same
records. Sources: Kafka's ``RecordAccumulator`` and ``ProducerBatch``.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping

from oncelog.client.core.structs import TopicPartition
from oncelog.errors import InvariantError, KafkaError
from oncelog.records.batch import (
    HEADER_SIZE_BYTES,
    BatchBuilder,
    Compression,
    Headers,
    decode_records,
    set_producer,
)
from oncelog.types import NO_PRODUCER, NO_SEQUENCE, ProducerIdAndEpoch


class WholeBatch:
    """The handle of a whole batch, which stands for the handles of its records and gets one outcome."""

    def halves(self, low: int, high: int) -> tuple[WholeBatch, WholeBatch]:
        """Make two handles that replace this one, for the halves of a split batch with these numbers of records."""
        raise NotImplementedError


class ProducerBatch:
    """Records of one partition that are sent together.

    ``handles`` are the caller's objects for each record, in order, or one :class:`WholeBatch`.
    """

    __slots__ = (
        "attempts",
        "builder",
        "closed",
        "count",
        "created_ms",
        "done",
        "handles",
        "in_flight",
        "limit_bytes",
        "not_before_ms",
        "number",
        "partition",
        "payload",
        "producer",
        "queued",
        "refused",
        "sequence",
        "sequence_reset",
        "size_bytes",
        "timestamps",
    )

    def __init__(self, partition: TopicPartition, number: int, now_ms: int, limit_bytes: int = 0) -> None:
        self.partition = partition
        self.number = number
        self.limit_bytes = limit_bytes
        """The size up to which records are added to the batch."""
        self.builder = BatchBuilder()
        self.handles: list[object] = []
        self.timestamps: list[int] = []
        self.count = 0
        self.size_bytes = HEADER_SIZE_BYTES
        self.created_ms = now_ms
        self.closed = False
        self.payload: bytearray | None = None
        self.producer: ProducerIdAndEpoch = NO_PRODUCER
        self.sequence = NO_SEQUENCE
        self.sequence_reset = False
        self.refused = False
        """Whether the leader certainly did not store the batch under its sequence; such a batch waits outside its queue
        for a new epoch.
        """
        self.attempts = 0
        self.not_before_ms = 0
        self.in_flight = False
        self.queued = False
        """Whether the batch is in its partition's queue; kept here because searching a long queue takes too long."""
        self.done = False

    @property
    def has_sequence(self) -> bool:
        return self.sequence != NO_SEQUENCE

    @property
    def view(self) -> memoryview:
        """The sealed bytes, without a copy."""
        if self.payload is None:
            raise InvariantError(f"a batch of {self.partition} was sent before it was sealed")
        return memoryview(self.payload)

    def assign(self, producer: ProducerIdAndEpoch, sequence: int, reset: bool = False) -> None:
        """Give the batch its producer and its first sequence number in the partition."""
        self.producer, self.sequence = producer, sequence
        self.sequence_reset = reset
        self.refused = False

    def seal(self, compression: Compression, level: int | None, transactional: bool) -> bytearray:
        """The batch's bytes with its producer and sequence. Records are encoded at the first call; a later call only
        sets producer and sequence again."""
        if self.payload is None:
            self.closed = True
            self.payload = self.builder.build(
                compression=compression,
                level=level,
                producer_id=self.producer.producer_id,
                producer_epoch=self.producer.producer_epoch,
                base_sequence=self.sequence,
                transactional=transactional,
            )
        elif self.has_sequence:
            set_producer(
                self.payload, self.producer.producer_id, self.producer.producer_epoch, self.sequence, transactional
            )
        return self.payload


OnDone = Callable[[ProducerBatch, int, int, int, KafkaError | None], None]
"""Called with the batch, the base offset (-1 if unknown), the log append time (-1 if there is none), the log start
offset (-1 if unknown) and the error."""


class Accumulator:
    """Keeps all batches without an outcome: those in the queues of their partitions, and those in flight.

    :param on_done: called once for each batch, after its memory has been freed.
    :param on_space: called when memory has been freed.
    """

    def __init__(
        self,
        *,
        batch_size_bytes: int,
        buffer_memory_bytes: int,
        max_record_bytes: int = 2**31 - 1,
        compression: Compression,
        on_done: OnDone,
        on_space: Callable[[], None],
    ) -> None:
        self._batch_size_bytes = batch_size_bytes
        self._buffer_memory_bytes = buffer_memory_bytes
        self._max_record_bytes = max_record_bytes
        self._compression = compression
        self._on_done = on_done
        self._on_space = on_space
        self._numbers = 0
        self._ratios: dict[str, float] = {}
        self.used_bytes = 0
        self.queues: dict[TopicPartition, deque[ProducerBatch]] = {}
        self.incomplete: OrderedDict[ProducerBatch, None] = OrderedDict()
        """All batches without an outcome, the oldest first. An OrderedDict finds its first entry at once; a plain
        dictionary would skip all removed entries before it each time."""

    @property
    def buffer_memory_bytes(self) -> int:
        return self._buffer_memory_bytes

    @property
    def last_number(self) -> int:
        """Number of the newest batch; a flush waits for batches with numbers up to it."""
        return self._numbers

    def append(
        self,
        partition: TopicPartition,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        size_bytes: int,
        now_ms: int,
    ) -> ProducerBatch | None:
        """Add a record; returns the batch it went to, or None while ``buffer.memory`` is used up.

        :param size_bytes: from :func:`~oncelog.client.core.batches.record_sizes.largest_size`.
        """
        if self.used_bytes + size_bytes > self._buffer_memory_bytes and self.incomplete:
            return None
        queue = self.queues.get(partition)
        batch = queue[-1] if queue else None
        if (
            batch is None
            or batch.closed
            or (batch.size_bytes + size_bytes > self._limit(partition.topic) and batch.count)
        ):
            batch = self._new_batch(partition, now_ms)
        try:
            self.add(batch, timestamp, key, value, headers)
        finally:
            if not batch.count:
                self._drop_empty(batch)
        return batch

    def add(
        self, batch: ProducerBatch, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers
    ) -> None:
        """Add a record to an open batch; the caller has checked that it fits."""
        size = HEADER_SIZE_BYTES + batch.builder.append(timestamp, key, value, headers)
        self.used_bytes += size - batch.size_bytes
        batch.size_bytes = size
        batch.count += 1
        batch.timestamps.append(timestamp)

    def add_quickly(self, batch: ProducerBatch, timestamp: int, value: bytes | None) -> bool:
        """Add a record without key and headers; returns False if it does not fit, the batch is closed, or memory is
        short. This is the producer's hottest path, so it does no lookup.
        """
        if batch.closed or self.used_bytes + batch.limit_bytes > self._buffer_memory_bytes:
            return False
        size = batch.builder.append_within(batch.limit_bytes - HEADER_SIZE_BYTES, timestamp, None, value)
        if size < 0:
            return False
        size += HEADER_SIZE_BYTES
        self.used_bytes += size - batch.size_bytes
        batch.size_bytes = size
        batch.count += 1
        batch.timestamps.append(timestamp)
        return True

    def space_in(self, batch: ProducerBatch) -> int:
        """How many bytes may still be added to a batch; 0 if it is closed."""
        if batch.closed:
            return 0
        return min(batch.limit_bytes - batch.size_bytes, self._buffer_memory_bytes - self.used_bytes)

    def append_sealed(
        self,
        partition: TopicPartition,
        payload: bytearray,
        count: int,
        max_timestamp: int,
        now_ms: int,
        handle: WholeBatch,
    ) -> ProducerBatch | None:
        """Queue a batch that is already encoded; returns None while ``buffer.memory`` is used up."""
        if self.used_bytes + len(payload) > self._buffer_memory_bytes and self.incomplete:
            return None
        batch = self._new_batch(partition, now_ms)
        batch.payload = payload
        batch.count = count
        batch.handles, batch.timestamps = [handle], [max_timestamp]
        batch.closed = True
        self.used_bytes += len(payload) - batch.size_bytes
        batch.size_bytes = len(payload)
        return batch

    def append_batch(
        self, partition: TopicPartition, builder: BatchBuilder, now_ms: int, handle: WholeBatch
    ) -> ProducerBatch | None:
        """Queue records that the caller has collected; returns None while ``buffer.memory`` is used up."""
        if self.used_bytes + builder.size_bytes > self._buffer_memory_bytes and self.incomplete:
            return None
        batch = self._new_batch(partition, now_ms)
        batch.builder = builder
        batch.count = builder.count
        batch.handles, batch.timestamps = [handle], [builder.max_timestamp]
        batch.closed = True
        self.used_bytes += builder.size_bytes - batch.size_bytes
        batch.size_bytes = builder.size_bytes
        return batch

    def _limit(self, topic: str) -> int:
        if not self._compression:
            return self._batch_size_bytes
        return int(self._batch_size_bytes / self._ratios.get(topic, 1.0))

    def _new_batch(self, partition: TopicPartition, now_ms: int) -> ProducerBatch:
        self._numbers += 1
        batch = ProducerBatch(
            partition, self._numbers, now_ms, min(self._limit(partition.topic), self._max_record_bytes)
        )
        queue = self.queues.get(partition)
        if queue is None:
            queue = self.queues[partition] = deque()
        elif queue:
            queue[-1].closed = True
        queue.append(batch)
        batch.queued = True
        self.incomplete[batch] = None
        self.used_bytes += HEADER_SIZE_BYTES
        return batch

    def _drop_empty(self, batch: ProducerBatch) -> None:
        """Remove a new batch that is still empty because its first record was refused."""
        self.queues[batch.partition].remove(batch)
        del self.incomplete[batch]
        self.used_bytes -= batch.size_bytes

    def packed(self, batch: ProducerBatch) -> None:
        """Update the estimate of how well the topic's records compress, from a batch just sealed (KIP-126)."""
        if not self._compression or batch.payload is None:
            return
        topic = batch.partition.topic
        seen = max(0.1, len(batch.payload) / batch.size_bytes)
        known = self._ratios.get(topic, 1.0)
        self._ratios[topic] = max(seen * 1.05, known - 0.05) if seen < known else min(1.0, seen * 1.05)

    def ready_queues(self) -> Iterator[tuple[TopicPartition, deque[ProducerBatch]]]:
        """The partitions with queued batches and their queues, in the order in which the partitions were first used."""
        for partition, queue in self.queues.items():
            if queue:
                yield partition, queue

    def queue_lengths(self, topic: str) -> Mapping[int, int]:
        """The number of queued batches of each partition of a topic; partitions without any may be left out."""
        return {
            partition.partition: len(queue)
            for partition, queue in self.queues.items()
            if queue and partition.topic == topic
        }

    def take(self, partition: TopicPartition) -> ProducerBatch:
        """Remove the first batch of a partition from its queue, to be sent."""
        batch = self.queues[partition].popleft()
        batch.queued = False
        batch.closed = True
        batch.in_flight = True
        return batch

    def put_back(self, batch: ProducerBatch) -> None:
        """Queue a batch again, by sequence if it has one: an earlier sequence never ends up behind a later one."""
        batch.in_flight = False
        queue = self.queues[batch.partition]
        position = 0
        while position < len(queue) and queue[position].number < batch.number and queue[position].attempts:
            position += 1
        queue.insert(position, batch)
        batch.queued = True

    def set_aside(self, batch: ProducerBatch) -> None:
        """Keep a batch that was refused for good out of its queue until :meth:`put_first`, so that later batches can be
        sent."""
        batch.in_flight = False

    def put_first(self, batches: list[ProducerBatch]) -> None:
        """Queue batches that were set aside in front of all others of their partition, in the given order."""
        if batches:
            self.queues[batches[0].partition].extendleft(reversed(batches))
            for batch in batches:
                batch.queued = True

    def split(self, batch: ProducerBatch) -> list[ProducerBatch]:
        """Replace a batch that the broker found too large by two halves without sequences, at its place in the
        queue."""
        if batch.payload is None or batch.count < 2:
            raise InvariantError("only a sealed batch of several records can be split")
        records = decode_records(batch.payload, 0, check_crc=False)
        middle = len(records) // 2
        halves: list[ProducerBatch] = []
        whole = batch.handles[0] if batch.handles and isinstance(batch.handles[0], WholeBatch) else None
        shared = None if whole is None else iter(whole.halves(middle, len(records) - middle))
        for low, high in ((0, middle), (middle, len(records))):
            half = ProducerBatch(batch.partition, batch.number, batch.created_ms)
            for record in records[low:high]:
                half.size_bytes = HEADER_SIZE_BYTES + half.builder.append(
                    record.timestamp, record.key, record.value, record.headers
                )
            half.count = high - low
            half.closed = True
            if shared is None:
                half.handles, half.timestamps = batch.handles[low:high], batch.timestamps[low:high]
            else:
                half.handles, half.timestamps = [next(shared)], [half.builder.max_timestamp]
            half.attempts = max(1, batch.attempts)
            halves.append(half)
        self._replace_incomplete(batch, halves)
        queue = self.queues[batch.partition]
        self.used_bytes += sum(half.size_bytes for half in halves) - batch.size_bytes
        self.put_back(halves[0])
        queue.insert(queue.index(halves[0]) + 1, halves[1])
        halves[1].queued = True
        batch.done = True
        self._ratios[batch.partition.topic] = 1.0
        return halves

    def _replace_incomplete(self, batch: ProducerBatch, halves: list[ProducerBatch]) -> None:
        replaced: OrderedDict[ProducerBatch, None] = OrderedDict()
        for item in self.incomplete:
            if item is batch:
                replaced.update(dict.fromkeys(halves))
            else:
                replaced[item] = None
        self.incomplete = replaced

    def complete(
        self,
        batch: ProducerBatch,
        base_offset: int = -1,
        log_append_time: int = -1,
        log_start_offset: int = -1,
        error: KafkaError | None = None,
    ) -> None:
        """Give the batch its outcome. Does nothing if the batch already has one (it expired, and its answer came
        later)."""
        if batch.done:
            return
        batch.done = batch.closed = True
        del self.incomplete[batch]
        self.used_bytes -= batch.size_bytes
        if batch.queued:
            self.queues[batch.partition].remove(batch)
            batch.queued = False
        self._on_done(batch, base_offset, log_append_time, log_start_offset, error)
        self._on_space()

    def abort_undrained(self, error: KafkaError) -> None:
        """Fail all batches that were never sent: those that are queued and have no sequence."""
        for batch in [item for item in self.incomplete if not item.in_flight and not item.has_sequence]:
            self.complete(batch, error=error)

    def abort_all(self, error: KafkaError) -> None:
        """Fail everything, sent or not."""
        for batch in list(self.incomplete):
            self.complete(batch, error=error)
