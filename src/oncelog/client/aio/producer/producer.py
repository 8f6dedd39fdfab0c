"""The asyncio producer, with aiokafka's methods and names.

Called by programs, the command line, the console and Spark. The rules are in ``client.core``, and ``record_appender``
puts records into batches; this module holds the producer's life cycle and its public methods. ``send`` suspends only if
a batch has filled up, memory is short, or the topic is not known yet.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, SupportsIndex, overload

from oncelog.client.aio.aiokafka_keywords import config_of
from oncelog.client.aio.connection.cluster_access import ClusterAccess, settled
from oncelog.client.aio.connection.wait_reports import waiting
from oncelog.client.aio.polling import Polling, running_loop, unclosed
from oncelog.client.aio.producer.deliveries import Deliveries
from oncelog.client.aio.producer.hand_batch import Batch, HandBatchOutcome, RecordHeaders
from oncelog.client.aio.producer.record_appender import Partitioner, RecordAppender
from oncelog.client.aio.producer.sending_many import ManySender, StoredRun, checked_rows
from oncelog.client.aio.transactions.transaction import Transaction, end_before_stop
from oncelog.client.core import arguments
from oncelog.client.core.arguments import Offsets
from oncelog.client.core.batches.accumulator import Accumulator
from oncelog.client.core.client_errors import (
    Error,
    FatalProducerError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    ProducerClosed,
)
from oncelog.client.core.config import ProducerConfig
from oncelog.client.core.metrics import Metrics
from oncelog.client.core.producer.producer_metrics import ProducerMetrics
from oncelog.client.core.producer.sender import Sender
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
from oncelog.client.core.transactions.coordinator_requests import Result
from oncelog.client.core.transactions.transaction_manager import TransactionManager
from oncelog.client.core.transactions.transaction_states import ClientTxnState
from oncelog.client.core.transactions.two_phase import TwoPhaseTransactions, token_of
from oncelog.client.stopping import check_timeout, limit_ms, within
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time

if TYPE_CHECKING:
    from typing import Unpack

    import pyarrow as pa

    from oncelog.client.core.keywords import ProducerKeywords

    class ProducerArguments(ProducerKeywords, total=False):
        """The arguments of a producer's constructor, except its serializers."""

        config: ProducerConfig | None
        partitioner: Partitioner | None
        ssl_context: ssl.SSLContext | None


log = logging.getLogger(__name__)

_CONTINUES = "it continues in the background: call it again to learn the outcome"

Serializer = Callable[[AnyK], bytes | None]


@takes_fewer_types
class Producer(Generic[SentK, SentV]):
    """Sends records.

    Settings are keyword arguments under aiokafka's names (``bootstrap_servers``, ``acks``, ``enable_idempotence``,
    ``transactional_id``, ``linger_ms``, ``max_batch_size``, ``compression_type``, ...), or a ready
    :class:`ProducerConfig`. A contradiction among them raises ``ConfigError`` here, before anything is sent.
    """

    _places_without_acks = True
    """Whether the future of a record sent with acks=0 resolves to its partition with offset -1; otherwise it resolves
    to None."""

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
        config: ProducerConfig | None = None,
        key_serializer: Serializer[Any] | None = None,
        value_serializer: Serializer[Any] | None = None,
        partitioner: Partitioner | None = None,
        ssl_context: ssl.SSLContext | None = None,
        **settings: Unpack[ProducerKeywords],
    ) -> None:
        config = self.config = config_of("Producer", ProducerConfig, misplaced, config, settings)
        self._serialization = serialization(
            arguments.function(key_serializer, "key_serializer"),
            arguments.function(value_serializer, "value_serializer"),
        )
        self._cluster = ClusterAccess(
            config,
            timeout_ms=config.max_block_ms,
            setting="max.block.ms",
            ssl_context=ssl_context,
            allow_auto_creation=True,
        )
        self._network = network = self._cluster.network
        self._metadata = self._cluster.metadata
        self._polling = Polling(lambda: sender.poll(network.now_ms()))
        self._accumulator = Accumulator(
            batch_size_bytes=config.max_batch_size,
            buffer_memory_bytes=config.buffer_memory,
            max_record_bytes=config.max_request_size,
            compression=config.compression,
            on_done=lambda *outcome: deliveries.batch_done(*outcome),
            on_space=lambda: appender.space_freed(),
        )
        self._metrics = metrics = ProducerMetrics(network.metrics)
        self._deliveries = deliveries = Deliveries(
            self._accumulator, metrics, bool(config.acks_number) or self._places_without_acks
        )
        self._transactions: TransactionManager | None = None
        if config.enable_idempotence:
            manager = TwoPhaseTransactions if config.two_phase_commit else TransactionManager
            self._transactions = manager(
                self._network,
                self._metadata,
                self._accumulator,
                transactional_id=config.transactional_id,
                transaction_timeout_ms=config.transaction_timeout_ms,
                retry_backoff_ms=config.retry_backoff_ms,
                retry_backoff_max_ms=config.retry_backoff_max_ms,
                on_change=self._polling.soon,
            )
        self._sender = sender = Sender(
            config, self._network, self._metadata, self._accumulator, self._transactions, metrics
        )
        self._appender = appender = RecordAppender(
            config,
            self._cluster,
            self._accumulator,
            sender,
            self._transactions,
            arguments.function(partitioner, "partitioner"),
            self._polling.soon,
        )
        self._many = ManySender(config, self._appender, self._accumulator, self._cluster)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    # --- life

    async def start(self) -> None:
        """Connect; with idempotence get a producer id, with a ``transactional_id`` fence older instances. Transactions
        that older instances left open are aborted; with ``two_phase_commit`` an open transaction becomes
        :attr:`prepared`, and :meth:`complete` ends it.
        """
        if self._closed:
            raise ProducerClosed("the producer was stopped; create a new one")
        if self._loop is not None:
            raise IllegalStateError("the producer was started already")
        self._loop = running_loop()
        self._appender.start()
        self._polling.start()
        try:
            await self._cluster.connect()
            self._network.observe(self._polling.soon)
            self._metadata.observe(self._polling.soon)
            await self._cluster.repeat("start()", self._cluster.refresh)
            if self._transactions is not None:
                await self._outcome(self._transactions.initialize(), "start()", "init")
        except BaseException:
            await self._close()
            raise

    async def stop(self, *, timeout_ms: int | None = None) -> None:
        """Send what is queued, abort an open transaction unless it is prepared, close the connections.

        A commit or abort in progress (because its caller was cancelled, say) is finished first. May be called twice.

        :param timeout_ms: give up after this time, and fail what is not acknowledged; None: wait for
            ``delivery.timeout.ms``, and with transactions for ``max.block.ms``.
        """
        check_timeout(timeout_ms)
        if self._closed:
            return
        if self._loop is None:
            self._closed = True
            return
        self._appender.running()
        try:
            if not await within(timeout_ms, self._finish()):
                self._report_given_up(timeout_ms)
        finally:
            await self._close()

    async def _finish(self) -> None:
        if self._transactions is not None:
            await end_before_stop(self._transactions, self.config)
        if self.transaction_open:
            await self._abort_on_stop()
        else:
            await self.flush()

    def _report_given_up(self, timeout_ms: int | None) -> None:
        waiting = self._records_waiting()
        if self.config.transactional_id is not None:
            log.warning(
                "the producer of transactional.id %r was stopped, and the cluster did not end its transaction within "
                "%s ms: what was not committed is aborted when transaction.timeout.ms=%d is over",
                *(self.config.transactional_id, timeout_ms, self.config.transaction_timeout_ms),
            )
        elif waiting:
            log.warning(
                "the producer was stopped, and %d records were not acknowledged within %s ms: they may be lost",
                *(waiting, timeout_ms),
            )

    async def _abort_on_stop(self) -> None:
        try:
            await self.abort_transaction()
        except FatalProducerError as error:
            log.info("the open transaction was ended by another producer or its timeout: %s", error)
        except KafkaTimeoutError:
            self._report_given_up(self.config.max_block_ms)
        else:
            log.warning(
                "the producer of transactional.id %r was stopped with a transaction open, which is aborted: "
                "call commit_transaction() first to keep it",
                self.config.transactional_id,
            )

    async def _close(self) -> None:
        self._closed = True
        error = KafkaError(Error.NETWORK_EXCEPTION, "the producer was stopped before the record was acknowledged")
        self._sender.close()
        self._accumulator.abort_all(error)
        if self._transactions is not None:
            self._transactions.close(ProducerClosed("the producer was stopped"))
        self._appender.close()
        self._polling.close()
        await self._cluster.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop(timeout_ms=limit_ms(error))

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and self._loop is not None and self._polling.here:
            waiting = self._records_waiting()
            if waiting:
                log.warning(
                    "a producer was dropped before %d records were acknowledged, which may be lost: "
                    "call stop(), or use it in an async with block",
                    waiting,
                )
            closings = (self._sender.close, self._appender.close, self._polling.close)
            unclosed(self, self._loop, closings, self._cluster.close)

    # --- sending

    async def send(
        self,
        topic: str,
        value: SentV | None = None,
        key: SentK | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: RecordHeaders | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """Queue a record; the future resolves to the partition and offset of the stored record, or raises the error.

        :raises KafkaTimeoutError: ``buffer.memory`` was used up, or the topic unknown, for ``max.block.ms``.
        :raises RecordTooLargeError: the record alone exceeds ``max.request.size`` or ``buffer.memory``.
        """
        key_bytes: Any = key
        value_bytes: Any = value
        if self._serialization is not None:
            key_bytes, value_bytes, headers = self._serialization(topic, key, value, headers)
        loop = self._loop
        if loop is None or loop is not asyncio.get_running_loop():
            loop = self._appender.running()
        future: asyncio.Future[RecordMetadata] = asyncio.Future(loop=loop)
        if not self._appender.put(future, topic, value_bytes, key_bytes, partition, timestamp_ms, headers or ()):
            await self._appender.put_slowly(
                future, topic, value_bytes, key_bytes, partition, timestamp_ms, headers or ()
            )
        elif self._appender.filled and self._appender.time_to_yield():
            await asyncio.sleep(0)
        return future

    async def send_and_wait(
        self,
        topic: str,
        value: SentV | None = None,
        key: SentK | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: RecordHeaders | None = None,
    ) -> RecordMetadata:
        """Send a record and wait until it is acknowledged."""
        return await (await self.send(topic, value, key, partition, timestamp_ms, headers))

    async def send_many(
        self,
        topic: str,
        values: Sequence[Bytes | None],
        keys: Sequence[Bytes | None] | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: SupportsIndex | Iterable[SupportsIndex] | None = None,
        headers: Sequence[RecordHeaders | None] | None = None,
    ) -> asyncio.Future[list[StoredRun]]:
        """Queue many records given as columns. The future resolves to the partition and offset of each run of
        consecutive records, or raises the error.

        Serializers are not applied. A key determines the partition of its row; rows without a key fill one batch after
        another. Waits while ``buffer.memory`` is used up.

        :raises TypeError: a column differs in length from ``values``, or holds a value that no record can hold.
        """
        rows = checked_rows(values, keys, real_time.time_ms() if timestamp_ms is None else timestamp_ms, headers)
        return await self._many.send_rows(topic, rows, partition)

    async def send_arrow(
        self, topic: str, table: pa.Table | pa.RecordBatch, *, partition: int | None = None
    ) -> asyncio.Future[list[StoredRun]]:
        """Queue the rows of an Arrow table, like :meth:`send_many`. Columns: ``value``, and optionally ``key``,
        ``timestamp`` (a timestamp), ``headers`` (lists of structs of key and value) and ``partition``."""
        from oncelog.client.aio.producer.sending_arrow import ArrowSender

        sender = ArrowSender(self.config, self._appender, self._accumulator, self._many)
        return await sender.send(topic, table, partition, self._network.now_ms)

    def create_batch(self) -> Batch:
        """A batch to fill by hand, of at most ``max_batch_size`` bytes."""
        return Batch(self.config.max_batch_size)

    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> asyncio.Future[RecordMetadata]:
        """Send a batch unchanged; the future resolves to the position of its first record."""
        if not isinstance(batch, Batch):
            raise TypeError(f"send_batch takes a batch created by create_batch(), not {batch!r}")
        appender = self._appender
        number = arguments.whole(partition, "partition", 32)
        appender.check_send()
        image = await appender.known_topic(topic)
        appender.check_partition(image, number)
        batch.close()
        if not batch.record_count():
            raise IllegalStateError("the batch is empty; append a record first")
        name = image.keys[number]
        future: asyncio.Future[Any] = appender.running().create_future()
        outcome = HandBatchOutcome(future)
        await appender.queue_batch(
            lambda: self._accumulator.append_batch(name, batch.builder, self._network.now_ms(), outcome)
        )
        self._polling.soon()
        return future

    async def flush(self) -> None:
        """Wait until everything sent so far is acknowledged or has failed; a record's future, not this call, raises its
        failure."""
        self._appender.running()
        number = self._sender.flush()
        self._polling.soon()
        began = real_time.monotonic()
        try:
            await self._deliveries.wait(number)
        finally:
            self._metrics.waited("flush", real_time.monotonic() - began)

    def _records_waiting(self) -> int:
        """The number of sent records without an outcome."""
        # iterates over a copy, because other threads may call this
        return sum(batch.count for batch in list(self._accumulator.incomplete))

    async def partitions_for(self, topic: str) -> set[int]:
        """Numbers of the topic's partitions."""
        image = await self._appender.known_topic(topic)
        return set(range(image.partition_count))

    def metrics(self) -> Metrics:
        """This producer's metrics, in Kafka's groups and under Kafka's names (``docs/reference/metrics.md``):
        ``metrics()["producer-metrics"]["record-send-total"]``."""
        moment, in_flight = self._network.moment(), self._sender.in_flight
        return self._metrics.read(moment, self._accumulator, in_flight, self._metadata.updated_ms)

    # --- transactions

    async def begin_transaction(self) -> None:
        """Begin a transaction. Nothing is sent for it until its first record."""
        self._transactional().begin()

    async def commit_transaction(self) -> None:
        """Make the transaction's records and offsets visible, all at once.

        :raises AbortableTransactionError: a record or the offsets failed; abort the transaction.
        :raises KafkaTimeoutError: the outcome is not known yet; call this again, and nothing else.
        """
        transactions = self._transactional()
        self._sender.flush()
        await self._outcome(transactions.commit(), "commit_transaction()", "commit")

    async def abort_transaction(self) -> None:
        """Abort the transaction; no read_committed reader will see any of its records and offsets."""
        await self._outcome(self._transactional().abort(), "abort_transaction()", "abort")

    async def prepare(self) -> str:
        """End the first phase of two-phase commit: all records and offsets of the transaction are stored, and no more
        are accepted.

        Store the token in the database, in the same database transaction as the rows, then call :meth:`complete`. Until
        then the prepared transaction survives any crash, and read_committed readers do not read past it.

        :return: the token, ``''`` if the transaction is empty.
        :raises AbortableTransactionError: a record or the offsets failed; abort the transaction.
        """
        transactions = self._two_phase()
        self._sender.flush()
        await self._outcome(transactions.prepare(), "prepare()", "prepare")
        return token_of(transactions.prepared)

    async def complete(self, token: str) -> None:
        """End the prepared transaction as the database decides: commit it if ``token`` is the prepared transaction's
        token, otherwise abort it.

        After a restart ``start()`` finds the transaction that an earlier producer prepared; call this before
        ``begin_transaction()``, with the token from the database: ``''`` if it has none. Does nothing if no transaction
        is prepared.

        :raises ValueError: ``token`` is not a token.
        :raises IllegalStateError: the token belongs to another transactional id, or a transaction is open but not
            prepared.
        :raises KafkaTimeoutError: the outcome is not known yet; call this again, and nothing else.
        """
        transactions = self._two_phase()
        counted = "commit" if token == self.prepared else "abort"
        await self._outcome(transactions.complete(token), "complete()", counted)

    @property
    def prepared(self) -> str | None:
        """The token of the transaction that waits for :meth:`complete`, or None."""
        transactions = self._transactions
        if not isinstance(transactions, TwoPhaseTransactions) or transactions.state is not ClientTxnState.PREPARED:
            return None
        return token_of(transactions.prepared)

    def _two_phase(self) -> TwoPhaseTransactions:
        transactions = self._transactional()
        if not isinstance(transactions, TwoPhaseTransactions):
            raise IllegalStateError("the producer has no two-phase commit; give it two_phase_commit=True")
        return transactions

    def transaction(self) -> Transaction[Self]:
        """``async with producer.transaction():`` commits at the end, and on an exception aborts unless prepared."""
        self._transactional()
        return Transaction(self)

    async def send_offsets_to_transaction(self, offsets: Offsets, group_id: str | ConsumerGroupMetadata) -> None:
        """Commit consumed positions together with the transaction's records.

        :param group_id: the group, or preferably ``consumer.group_metadata()``, with which a member that has lost its
            partitions is refused (KIP-447).
        """
        positions, group = arguments.offsets(offsets), arguments.group(group_id)
        sent = self._transactional().send_offsets(positions, group)
        await self._outcome(sent, "send_offsets_to_transaction()", "send-offsets")

    @property
    def transaction_open(self) -> bool:
        """Whether a transaction is open, which :meth:`abort_transaction` can abort."""
        transactions = self._transactions
        return transactions is not None and transactions.state in (
            ClientTxnState.IN_TRANSACTION,
            ClientTxnState.ABORTABLE_ERROR,
        )

    def _transactional(self) -> TransactionManager:
        if self._transactions is None or not self._transactions.transactional:
            raise IllegalStateError("the producer is not transactional; give it a transactional_id")
        if self._closed:
            raise ProducerClosed("the producer was stopped")
        return self._transactions

    async def _outcome(self, result: Result, what: str, counted: str) -> None:
        """Wait for the result of a transactional call, and raise its error."""
        began = real_time.monotonic()
        try:
            with waiting(self.config.bootstrap_servers, what, self.config.max_block_ms / 1000):
                error = await settled(result, self.config.max_block_ms / 1000)
        except TimeoutError:
            raise KafkaTimeoutError(
                f"{what} was not answered within max.block.ms={self.config.max_block_ms}; "
                + ("create a new producer to try again" if what == "start()" else _CONTINUES)
            ) from None
        finally:
            self._metrics.waited(counted, real_time.monotonic() - began)
        if self._transactions is not None:
            self._transactions.unheard = None
        if error is not None:
            raise error


__all__ = ["Batch", "Partitioner", "Producer", "RecordHeaders", "Serializer", "Transaction"]
