"""The blocking producer: records go from the program's threads to the loop's through a queue.

Called by programs, the command line and Spark.
"""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from oncelog.client.aio.producer import Producer as AsyncProducer
from oncelog.client.aio.producer import RecordHeaders, Serializer
from oncelog.client.aio.sending_many import Stored
from oncelog.client.background import Background, background
from oncelog.client.blocking import unclosed
from oncelog.client.core.accumulator import largest_size
from oncelog.client.core.arguments import Offsets, whole
from oncelog.client.core.errors import (
    FatalProducerError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    ProducerClosed,
)
from oncelog.client.core.structs import ConsumerGroupMetadata, RecordMetadata
from oncelog.client.delivery import Delivery

if TYPE_CHECKING:
    import ssl
    from typing import Unpack

    import pyarrow as pa

    from oncelog.client.aio.producer import Partitioner
    from oncelog.client.core.config import ProducerConfig
    from oncelog.client.core.keywords import ProducerKeywords
    from oncelog.client.core.metrics import Metrics

    class ProducerArguments(ProducerKeywords, total=False):
        """What is handed on to the asyncio producer."""

        config: ProducerConfig | None
        partitioner: Partitioner | None
        ssl_context: ssl.SSLContext | None


T = TypeVar("T")
_Queued = tuple[Delivery[RecordMetadata], str, bytes | None, bytes | None, int | None, int | None, RecordHeaders]

HANDED_OVER = 8192
"""Records that may wait between the caller's thread and the loop's; the producer's own bound is ``buffer.memory``."""


class Producer:
    """The blocking producer; settings as for ``oncelog.client.aio.Producer``.

    It starts with the first call, or with ``start()`` or ``with``. One that the program forgets to close sends what is
    queued before the program ends, for which that waits 10 s at most, and aborts an open transaction.
    """

    def __init__(
        self,
        *,
        key_serializer: Serializer | None = None,
        value_serializer: Serializer | None = None,
        **settings: Unpack[ProducerArguments],
    ) -> None:
        self._producer = AsyncProducer(**settings)
        self._key_serializer = key_serializer
        self._value_serializer = value_serializer
        self._background: Background | None = None
        self._queue: deque[_Queued] = deque()
        self._pumping = False
        self._room = threading.Event()
        self._room.set()
        self._idle: asyncio.Event | None = None
        self._start_lock = threading.Lock()
        self._closed = False

    @property
    def config(self) -> ProducerConfig:
        """The settings in force."""
        return self._producer.config

    def start(self) -> Self:
        """Connect; see the asyncio producer."""
        with self._start_lock:
            if self._closed:
                raise ProducerClosed("the producer was stopped; make a new one")
            if self._background is None:
                chosen = background()
                chosen.run(self._start())
                self._background = chosen
                unclosed.kept.add(self._producer)
                unclosed.opened(self)
        return self

    async def _start(self) -> None:
        self._idle = asyncio.Event()
        self._idle.set()
        await self._producer.start()

    def stop(self) -> None:
        """Send what is queued, abort an open transaction, close the connections. May be called twice."""
        if self._closed:
            return
        self._closed = True
        unclosed.closed(self)
        if self._background is not None:
            self._background.run(self._stop())

    close = stop

    def begin_flush(self) -> Future[None] | None:
        """As :meth:`flush`, without waiting; None where there is nothing to flush, or it is another process's."""
        chosen = self._background
        if self._closed or chosen is None or not chosen.usable:
            return None
        return asyncio.run_coroutine_threadsafe(self._flush(), chosen.loop)

    def begin_stop(self) -> Future[None] | None:
        """As :meth:`stop`, without waiting; None where there is nothing to stop, or it is another process's."""
        chosen = self._background
        if self._closed or chosen is None or not chosen.usable:
            return None
        self._closed = True
        return asyncio.run_coroutine_threadsafe(self._stop(), chosen.loop)

    def records_waiting(self) -> int:
        """How many records have no outcome yet."""
        return len(self._queue) + self._producer.records_waiting()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and self._background is not None and self._background.usable:
            unclosed.dropped(self)  # which has it once more, until it is closed
            warnings.warn(f"Unclosed {self!r}; call close()", ResourceWarning, source=self, stacklevel=2)

    async def _flush(self) -> None:
        await self._handed_over()
        await self._producer.flush()

    async def _stop(self) -> None:
        try:
            await self._handed_over()
        finally:
            try:
                await self._producer.stop()
            finally:
                unclosed.kept.discard(self._producer)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._closed:
            raise ProducerClosed("the producer was stopped")
        self.start()

        async def in_order() -> T:
            await self._handed_over()
            return await work()

        return (self._background or background()).run(in_order())

    # --- sending

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: RecordHeaders | None = None,
    ) -> Delivery[RecordMetadata]:
        """Queue a record; the delivery tells the outcome, errors of the record itself included.

        :raises IllegalStateError: the producer has a ``transactional_id``, and no transaction is open.
        :raises AbortableTransactionError: a record before it has failed; abort the transaction.
        :raises KafkaTimeoutError: there was no room for ``max.block.ms``.
        """
        if self._background is None or self._closed:
            if self._closed:
                raise ProducerClosed("the producer was stopped")
            self.start()
        transactions = self._producer._transactions
        if transactions is not None and not transactions.may_send:
            transactions.check_send()
        key_bytes = key if self._key_serializer is None else self._key_serializer(key)
        value_bytes = value if self._value_serializer is None else self._value_serializer(value)
        largest_size(key_bytes, value_bytes, headers or ())  # what cannot be a record is refused here, not later
        delivery: Delivery[RecordMetadata] = Delivery()
        stamp = int(time.time() * 1000) if timestamp_ms is None else whole(timestamp_ms, "timestamp_ms")
        if partition is not None and partition.__class__ is not int:
            partition = whole(partition, "partition")
        self._queue.append((delivery, topic, value_bytes, key_bytes, partition, stamp, headers or ()))
        if not self._pumping:
            self._pumping = True
            self._wake()
        elif len(self._queue) > HANDED_OVER:
            self._wait_for_room()
        return delivery

    def _wake(self) -> None:
        chosen = self._background
        if chosen is None or not chosen.usable:
            raise IllegalStateError("the producer was made before this process was forked; make a new one here")
        chosen.loop.call_soon_threadsafe(self._begin_pumping)

    def _wait_for_room(self) -> None:
        self._room.clear()
        if len(self._queue) > HANDED_OVER and not self._room.wait(self._producer.config.max_block_ms / 1000):
            raise KafkaTimeoutError(
                f"no room for a record within max.block.ms={self._producer.config.max_block_ms}: "
                f"buffer.memory={self._producer.config.buffer_memory} is full of records not acknowledged"
            )

    def _begin_pumping(self) -> None:
        if self._idle is not None and self._idle.is_set():
            self._idle.clear()
            self._task = asyncio.get_running_loop().create_task(self._pump())

    async def _pump(self) -> None:
        """Hand queued records to the producer, in order."""
        queue, intake = self._queue, self._producer._intake
        try:
            while True:
                while queue:
                    item = queue.popleft()
                    delivery = item[0]
                    try:
                        if not intake.put(*item):
                            await intake.put_slowly(*item)
                    except Exception as error:  # noqa: BLE001 - the program's partitioner may raise anything
                        if not delivery.done():
                            delivery.set_exception(error.with_traceback(None))  # whose frames would keep the delivery
                    if len(queue) * 2 < HANDED_OVER and not self._room.is_set():
                        self._room.set()
                    if intake.filled and intake.time_to_yield():
                        await asyncio.sleep(0)
                self._pumping = False
                if not queue:
                    return
                self._pumping = True
        finally:
            self._room.set()
            if self._idle is not None:
                self._idle.set()

    async def _handed_over(self) -> None:
        """Wait until everything sent so far is with the producer."""
        while self._queue or (self._idle is not None and not self._idle.is_set()):
            self._pumping = True
            self._begin_pumping()
            if self._idle is not None:
                await self._idle.wait()

    def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: RecordHeaders | None = None,
    ) -> RecordMetadata:
        """Send a record and wait until it is acknowledged."""
        return self.send(topic, value, key, partition, timestamp_ms, headers).result()

    def send_many(
        self,
        topic: str,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | Sequence[int] | None = None,
        headers: Sequence[RecordHeaders | None] | None = None,
    ) -> Delivery[list[Stored]]:
        """Queue many records given as columns, behind what was sent before; the delivery tells where each run of them
        was stored, or why not. See the asyncio producer."""
        return self._queue_many(
            lambda: self._producer.send_many(
                topic, values, keys, partition=partition, timestamp_ms=timestamp_ms, headers=headers
            )
        )

    def send_arrow(
        self, topic: str, table: pa.Table | pa.RecordBatch, *, partition: int | None = None
    ) -> Delivery[list[Stored]]:
        """Queue the rows of an Arrow table, behind what was sent before. See the asyncio producer."""
        return self._queue_many(lambda: self._producer.send_arrow(topic, table, partition=partition))

    def _queue_many(
        self, send: Callable[[], Coroutine[Any, Any, asyncio.Future[list[Stored]]]]
    ) -> Delivery[list[Stored]]:
        """Waits until everything is queued, which is while ``buffer.memory`` is used up."""
        delivery: Delivery[list[Stored]] = Delivery()

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
        """What this producer has counted; see the asyncio producer. Neither starts it nor waits for what is queued."""

        async def there() -> Metrics:
            return self._producer.metrics()

        if self._background is None or self._closed:
            return self._producer.metrics()
        return self._background.run(there())

    # --- transactions

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        self._run(self._producer.begin_transaction)

    def commit_transaction(self) -> None:
        """Make the transaction's records and offsets visible, all at once."""
        self._run(self._producer.commit_transaction)

    def abort_transaction(self) -> None:
        """Take the transaction back."""
        self._run(self._producer.abort_transaction)

    def send_offsets_to_transaction(self, offsets: Offsets, group_id: str | ConsumerGroupMetadata) -> None:
        """Commit consumed positions together with the transaction's records."""
        self._run(lambda: self._producer.send_offsets_to_transaction(offsets, group_id))

    def prepare(self) -> str:
        """End the first phase of two-phase commit; the token is for the database. See the asyncio producer."""
        return self._run(self._producer.prepare)

    def complete(self, token: str) -> None:
        """End what is prepared as the database says: commit it if ``token`` is its token, else abort it."""
        self._run(lambda: self._producer.complete(token))

    @property
    def prepared(self) -> str | None:
        """The token of the transaction that waits for :meth:`complete`; None where none does."""
        self.start()
        return self._producer.prepared

    def transaction(self) -> Transaction:
        """``with producer.transaction():`` commits at the end, aborts on an exception what is not prepared."""
        return Transaction(self)

    def abort_if_open(self) -> None:
        """Abort where a transaction is open; nothing happens after a fatal error."""
        if self._producer.transaction_open:
            self.abort_transaction()


class Transaction:
    """One transaction as a block."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def __enter__(self) -> Producer:
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
            self._producer.abort_if_open()


__all__ = ["Producer", "Transaction"]
