"""The blocking producer: records go from the program's threads to the loop's through a queue.

Called by programs, the command line and Spark.
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, SupportsIndex, TypeVar, overload

from oncelog.client.background import FORKED, BackgroundLoop, background, tell_of_fork
from oncelog.client.blocking import unclosed
from oncelog.client.core.arguments import Offsets, function, name, whole
from oncelog.client.core.batches.record_sizes import largest_size, owned, owned_headers
from oncelog.client.core.client_errors import (
    FatalProducerError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    ProducerClosed,
)
from oncelog.client.core.serialization import serialization
from oncelog.client.core.structs import (
    AnyK,
    AnyV,
    Bytes,
    ConsumerGroupMetadata,
    RecordMetadata,
    SentK,
    SentV,
    takes_fewer_types,
)
from oncelog.client.delivery import Delivery
from oncelog.client.stopping import check_timeout, limit_ms, within
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.settings.kafka_properties import MAX_INT

if TYPE_CHECKING:
    from typing import Unpack

    import pyarrow as pa

    from oncelog.client.aio.producer.hand_batch import RecordHeaders
    from oncelog.client.aio.producer.producer import ProducerArguments, Serializer
    from oncelog.client.aio.producer.sending_many import StoredRun
    from oncelog.client.core.config import ProducerConfig
    from oncelog.client.core.metrics import Metrics

    _Queued = tuple[Delivery[RecordMetadata], str, bytes | None, bytes | None, int | None, int | None, RecordHeaders]

T = TypeVar("T")
HANDED_OVER = 8192
"""How many records may wait in the queue between the caller's thread and the loop's; behind the queue,
``buffer.memory`` is the limit."""

LARGE_BYTES = 4096
LARGE_HANDED_OVER_BYTES = 8 << 20
"""Large records (at least ``LARGE_BYTES``) may wait in the queue up to this total size, plus one more record."""


@takes_fewer_types
class Producer(Generic[SentK, SentV]):
    """The blocking producer; settings as for ``oncelog.client.aio.Producer``.

    It starts with the first call, or with ``start()`` or ``with``. If the program forgets to close it, queued records
    are still sent before the program ends (which waits at most 10 s for that), and an open transaction is aborted.
    """

    @overload
    def __init__(self: Producer[Bytes, Bytes], **settings: Unpack[ProducerArguments]) -> None: ...

    @overload
    def __init__(
        self: Producer[AnyK, Bytes], *, key_serializer: Serializer[AnyK] | None, **settings: Unpack[ProducerArguments]
    ) -> None: ...

    @overload
    def __init__(
        self: Producer[Bytes, AnyV], *, value_serializer: Serializer[AnyV] | None, **settings: Unpack[ProducerArguments]
    ) -> None: ...

    @overload
    def __init__(
        self: Producer[AnyK, AnyV],
        *,
        key_serializer: Serializer[AnyK] | None,
        value_serializer: Serializer[AnyV] | None,
        **settings: Unpack[ProducerArguments],
    ) -> None: ...

    def __init__(
        self,
        *misplaced: object,
        key_serializer: Serializer[Any] | None = None,
        value_serializer: Serializer[Any] | None = None,
        **settings: Unpack[ProducerArguments],
    ) -> None:
        # imported here, because the import takes 12 ms
        from oncelog.client.aio.producer.producer import Producer as AsyncProducer

        self._producer = AsyncProducer(*misplaced, **settings)
        self._serialization = serialization(
            function(key_serializer, "key_serializer"), function(value_serializer, "value_serializer")
        )
        self._background: BackgroundLoop | None = None
        self._queue: deque[_Queued | asyncio.Event] = deque()
        """Records, and events that are set once all records queued before them have been passed to the asyncio
        producer."""
        self._large_bytes = 0
        """Total size of the large records in the queue."""
        self._large_lock = threading.Lock()
        self._pumping = False
        self._space = Event()
        self._space.set()
        self._idle: asyncio.Event | None = None
        self._start_lock = threading.Lock()
        self._is_parents = False
        self._closed = False
        tell_of_fork(self)

    @property
    def config(self) -> ProducerConfig:
        """The settings in force."""
        return self._producer.config

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client cannot be copied or sent to another process: create another client there")

    def start(self) -> Self:
        """Connect; see the asyncio producer."""
        with self._start_lock:
            if self._closed:
                raise ProducerClosed("the producer was stopped; create a new one")
            if self._is_parents:
                raise IllegalStateError(FORKED)
            if self._background is None:
                chosen = background()
                chosen.start(self._start(), self._producer.stop)
                self._background = chosen
                unclosed.kept.add(self._producer)
                unclosed.opened(self)
        return self

    def _forked(self) -> None:
        self._start_lock = threading.Lock()
        if self._producer._loop is not None:
            self._is_parents, self._background, self._queue = True, None, deque()

    async def _start(self) -> None:
        self._idle = asyncio.Event()
        self._idle.set()
        await self._producer.start()

    def stop(self, *, timeout_ms: int | None = None) -> None:
        """Send what is queued, abort an open transaction, close the connections. May be called twice.

        :param timeout_ms: give up after this time, and fail what is not acknowledged; None: wait for
            ``delivery.timeout.ms``, and with transactions for ``max.block.ms``.
        """
        check_timeout(timeout_ms)
        if self._closed:
            return
        self._closed = True
        unclosed.closed(self)
        if self._background is not None:
            self._background.run(self._stop(timeout_ms))

    close = stop

    def _begin_flush(self) -> Future[None] | None:
        """Like :meth:`flush`, without waiting; None if there is nothing to flush, or if the producer belongs to another
        process."""
        chosen = self._background
        if self._closed or chosen is None or not chosen.usable:
            return None
        return asyncio.run_coroutine_threadsafe(self._flush(), chosen.loop)

    def _begin_stop(self) -> Future[None] | None:
        """Like :meth:`stop`, without waiting; None if there is nothing to stop, or if the producer belongs to another
        process."""
        chosen = self._background
        if self._closed or chosen is None or not chosen.usable:
            return None
        self._closed = True
        return asyncio.run_coroutine_threadsafe(self._stop(), chosen.loop)

    def _records_waiting(self) -> int:
        """How many records have no outcome yet."""
        queued = sum(isinstance(item, tuple) for item in list(self._queue))
        return queued + self._producer._records_waiting()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and self._background is not None and self._background.usable:
            unclosed.dropped(self)  # the exit handler then refers to the producer until it is closed
            warnings.warn(f"Unclosed {self!r}; call close()", ResourceWarning, source=self, stacklevel=2)

    async def _flush(self) -> None:
        await self._handed_over()
        await self._producer.flush()

    async def _stop(self, timeout_ms: int | None = None) -> None:
        try:
            await within(timeout_ms, self._handed_over())
        finally:
            try:
                await self._producer.stop(timeout_ms=timeout_ms)
            finally:
                unclosed.kept.discard(self._producer)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(timeout_ms=limit_ms(error))

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._closed:
            raise ProducerClosed("the producer was stopped")
        self.start()

        async def in_order() -> T:
            await self._handed_over()
            return await work()

        return self._loop().run(in_order())

    # --- sending

    def send(
        self,
        topic: str,
        value: SentV | None = None,
        key: SentK | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: RecordHeaders | None = None,
    ) -> Delivery[RecordMetadata]:
        """Queue a record; the delivery carries the outcome, including errors in the record itself.

        :raises IllegalStateError: the producer has a ``transactional_id``, and no transaction is open.
        :raises AbortableTransactionError: an earlier record failed; abort the transaction.
        :raises KafkaTimeoutError: there was no memory for ``max.block.ms``; the record was not queued.
        """
        if self._background is None or self._closed:
            if self._closed:
                raise ProducerClosed("the producer was stopped")
            self.start()
        loop = self._background or background()
        if len(self._queue) >= HANDED_OVER or self._large_bytes >= LARGE_HANDED_OVER_BYTES:
            self._wait_for_space()  # space is checked first, so that a record is not sent if this raises
        transactions = self._producer._transactions
        if transactions is not None and not transactions.may_send:
            transactions.check_send()
        key_bytes: Any = key
        value_bytes: Any = value
        if self._serialization is not None:
            key_bytes, value_bytes, headers = self._serialization(topic, key, value, headers)
        size = largest_size(key_bytes, value_bytes, headers or ())  # an invalid record is refused by this call
        # copied, because the program may change the value before the loop writes it
        if value_bytes.__class__ is not bytes:
            value_bytes = owned(value_bytes)
        if key_bytes.__class__ is not bytes:
            key_bytes = owned(key_bytes)
        kept = owned_headers(headers) if headers else ()
        delivery: Delivery[RecordMetadata] = Delivery(loop)
        timestamp = real_time.time_ms() if timestamp_ms is None else whole(timestamp_ms, "timestamp_ms")
        if partition is not None and (partition.__class__ is not int or not 0 <= partition <= MAX_INT):
            partition = whole(partition, "partition", 32)
        if topic.__class__ is not str or not topic:
            name(topic, "topics")
        if size >= LARGE_BYTES:
            self._count_large(size)
        self._queue.append((delivery, topic, value_bytes, key_bytes, partition, timestamp, kept))
        if not self._pumping:
            self._pumping = True
            loop.call_soon(self._begin_pumping)
        return delivery

    def _loop(self) -> BackgroundLoop:
        return self._background or background()

    def _full(self) -> bool:
        return len(self._queue) >= HANDED_OVER or self._large_bytes >= LARGE_HANDED_OVER_BYTES

    def _half_empty(self) -> bool:
        return len(self._queue) * 2 < HANDED_OVER and self._large_bytes * 2 < LARGE_HANDED_OVER_BYTES

    def _count_large(self, size_bytes: int) -> None:
        with self._large_lock:
            self._large_bytes += size_bytes

    def _wait_for_space(self) -> None:
        limit_ms = self._producer.config.max_block_ms
        self._space.clear()
        if not self._full():
            self._space.set()  # set again for other threads that have just begun to wait: nothing else would wake them
        elif not self._loop().wait(self._space, limit_ms / 1000) and self._full():
            raise KafkaTimeoutError(
                f"no memory for a record within max.block.ms={limit_ms}: "
                f"buffer.memory={self._producer.config.buffer_memory} is full of records not acknowledged"
            )
        if self._closed:
            raise ProducerClosed("the producer was stopped")

    def _begin_pumping(self) -> None:
        if self._idle is not None and self._idle.is_set():
            self._idle.clear()
            self._task = asyncio.get_running_loop().create_task(self._pump())

    async def _pump(self) -> None:
        """Pass queued records to the asyncio producer, in order, until the queue is empty."""
        queue, appender, mark = self._queue, self._producer._appender, asyncio.Event
        try:
            while True:
                while queue:
                    item = queue.popleft()
                    if isinstance(item, mark):
                        item.set()
                        continue
                    delivery = item[0]
                    if self._large_bytes and (size := largest_size(item[3], item[2], item[6])) >= LARGE_BYTES:
                        self._count_large(-size)
                    try:
                        if not appender.put(*item):
                            await appender.put_slowly(*item)
                    except Exception as error:  # noqa: BLE001 - the program's partitioner may raise anything
                        if not delivery.done():
                            # A traceback refers to this frame, which would keep the delivery alive.
                            delivery.set_exception(error.with_traceback(None))
                    if not self._space.is_set() and self._half_empty():
                        self._space.set()
                    if appender.filled and appender.time_to_yield():
                        await asyncio.sleep(0)
                self._pumping = False
                if not queue:
                    return
                self._pumping = True
        finally:
            self._space.set()
            if self._idle is not None:
                self._idle.set()

    async def _handed_over(self) -> None:
        """Wait until everything queued so far has been passed to the asyncio producer."""
        if not self._queue and (self._idle is None or self._idle.is_set()):
            return
        reached = asyncio.Event()
        self._queue.append(reached)  # the queue might never become empty, because other threads keep sending
        self._pumping = True
        self._begin_pumping()
        await reached.wait()

    def send_and_wait(
        self,
        topic: str,
        value: SentV | None = None,
        key: SentK | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: RecordHeaders | None = None,
    ) -> RecordMetadata:
        """Send a record and wait until it is acknowledged."""
        return self.send(topic, value, key, partition, timestamp_ms, headers).result()

    def send_many(
        self,
        topic: str,
        values: Sequence[Bytes | None],
        keys: Sequence[Bytes | None] | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: SupportsIndex | Iterable[SupportsIndex] | None = None,
        headers: Sequence[RecordHeaders | None] | None = None,
    ) -> Delivery[list[StoredRun]]:
        """Queue many records given as columns, after everything sent before. The delivery resolves to the partition and
        offset of each run of records, or raises the error. See the asyncio producer."""
        return self._queue_many(
            lambda: self._producer.send_many(
                topic, values, keys, partition=partition, timestamp_ms=timestamp_ms, headers=headers
            )
        )

    def send_arrow(
        self, topic: str, table: pa.Table | pa.RecordBatch, *, partition: int | None = None
    ) -> Delivery[list[StoredRun]]:
        """Queue the rows of an Arrow table, after everything sent before. See the asyncio producer."""
        return self._queue_many(lambda: self._producer.send_arrow(topic, table, partition=partition))

    def _queue_many(
        self, send: Callable[[], Coroutine[Any, Any, asyncio.Future[list[StoredRun]]]]
    ) -> Delivery[list[StoredRun]]:
        """Queue all records of one call; waits while ``buffer.memory`` is used up."""
        delivery: Delivery[list[StoredRun]] = Delivery(self.start()._loop())

        async def queue() -> None:
            (await send()).add_done_callback(delivery.follow)

        self._run(queue)
        return delivery

    def flush(self) -> None:
        """Wait until everything sent so far is acknowledged or has failed."""
        self._run(self._producer.flush)

    def partitions_for(self, topic: str) -> set[int]:
        """Numbers of the topic's partitions."""
        return self._run(lambda: self._producer.partitions_for(topic))

    def metrics(self) -> Metrics:
        """This producer's metrics; see the asyncio producer. The call does not start the producer, and does not wait
        for queued records."""

        async def on_loop() -> Metrics:
            return self._producer.metrics()

        if self._background is None or self._closed:
            return self._producer.metrics()
        return self._background.run(on_loop())

    # --- transactions

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        self._run(self._producer.begin_transaction)

    def commit_transaction(self) -> None:
        """Make the transaction's records and offsets visible, all at once."""
        self._run(self._producer.commit_transaction)

    def abort_transaction(self) -> None:
        """Abort the transaction."""
        self._run(self._producer.abort_transaction)

    def send_offsets_to_transaction(self, offsets: Offsets, group_id: str | ConsumerGroupMetadata) -> None:
        """Commit consumed positions together with the transaction's records."""
        self._run(lambda: self._producer.send_offsets_to_transaction(offsets, group_id))

    def prepare(self) -> str:
        """End the first phase of two-phase commit; the token is for the database. See the asyncio producer."""
        return self._run(self._producer.prepare)

    def complete(self, token: str) -> None:
        """End the prepared transaction as the database decides: commit it if ``token`` is the prepared transaction's
        token, otherwise abort it."""
        self._run(lambda: self._producer.complete(token))

    @property
    def prepared(self) -> str | None:
        """The token of the transaction that waits for :meth:`complete`, or None."""
        self.start()
        return self._producer.prepared

    def transaction(self) -> Transaction[SentK, SentV]:
        """``with producer.transaction():`` commits at the end, and on an exception aborts unless prepared."""
        return Transaction(self)

    def abort_if_open(self, *, timeout_ms: int | None = None) -> None:
        """Abort the transaction if one is open; does nothing after a fatal error.

        :param timeout_ms: return after this time while the abort continues; None: wait for ``max.block.ms``.
        """
        check_timeout(timeout_ms)

        async def abort() -> None:
            await within(timeout_ms, self._producer.abort_transaction())

        if self._producer.transaction_open:
            self._run(abort)


class Transaction(Generic[SentK, SentV]):
    """A transaction as a ``with`` block."""

    def __init__(self, producer: Producer[SentK, SentV]) -> None:
        self._producer = producer

    def __enter__(self) -> Producer[SentK, SentV]:
        self._producer.begin_transaction()
        return self._producer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            try:
                self._producer.commit_transaction()
            except (FatalProducerError, KafkaTimeoutError):
                raise
            except KafkaError:
                self._producer.abort_if_open()
                raise
        elif not isinstance(error, FatalProducerError):
            self._producer.abort_if_open(timeout_ms=limit_ms(error))


__all__ = ["Producer", "Transaction"]
