"""The blocking API of ``oncelog.atomic``: runs the package's coroutines over blocking drivers and blocking clients,
without an event loop."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, cast

from oncelog.atomic import transaction as ports
from oncelog.atomic.databases import blocking_database, run
from oncelog.atomic.inbox import InboxReader
from oncelog.atomic.outbox import OutboxWriter
from oncelog.atomic.relay import OutboxRelay
from oncelog.atomic.rows_and_records import TwoPhase
from oncelog.atomic.transaction import Headers, K, V
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.structs import ConsumerRecord

if TYPE_CHECKING:
    from oncelog.atomic.databases import BlockingConnection


class Transaction(Generic[K, V]):
    """One transaction over rows and records.

    :ivar records: the records that the inbox has received, those of a partition in offset order; empty without an
        inbox.
    """

    def __init__(self, inner: ports.Transaction[K, V]) -> None:
        self.records: Sequence[ConsumerRecord[K, V]] = inner.records
        self._inner = inner

    def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
    ) -> None:
        """Send a record in the transaction; ``read_committed`` consumers see the record only after the rows are
        committed."""
        run(self._inner.send(topic, value, key, partition, timestamp_ms, headers))


class Block(Generic[K, V]):
    """A context manager for ``with ... as transaction``: commits at the end of the block, rolls back on an
    exception."""

    def __init__(self, inner: AbstractAsyncContextManager[ports.Transaction[K, V]]) -> None:
        self._inner = inner

    def __enter__(self) -> Transaction[K, V]:
        return Transaction(run(self._inner.__aenter__()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run(self._inner.__aexit__(kind, error, trace))


class RowsAndRecords:
    """Commits rows and records together by two-phase commit (KIP-939); the brokers must support prepared transactions.

    :param database: a connection of sqlite3 or psycopg, for this object alone.
    :param producer: with a ``transactional_id`` and ``two_phase_commit=True``, for this object alone.
    """

    def __init__(self, database: BlockingConnection, producer: Producer[Any, Any]) -> None:
        self.core = TwoPhase(database, cast(ports.PreparingProducer, ports.Blocking(producer)), known=blocking_database)

    def start(self) -> None:
        """Fence earlier instances, in the log and in the database; then end the transactions that they prepared."""
        run(self.core.start())

    def transaction(self) -> Block[Any, Any]:
        """Begin a block whose changes in the database and whose records take effect together.

        If COMMIT fails, only the database knows the outcome. The next transaction, or ``start()`` of the next instance,
        asks the database, and commits or aborts the records accordingly.

        :raises Superseded: another instance has taken over; nothing was written.
        """
        return Block(self.core.transaction())


class Outbox:
    """Stores a transaction's records as rows of a table, committed with its other rows; a :class:`Relay` sends each of
    these records once.

    Works with any Kafka broker.

    :param database: a connection of sqlite3 or psycopg. Any number of programs may write, each with its own.
    """

    def __init__(self, database: BlockingConnection) -> None:
        self.core = OutboxWriter(database, known=blocking_database)

    def start(self) -> None:
        """Create the outbox table if it does not exist. If the table exists, the call is not needed."""
        run(self.core.start())

    def transaction(self) -> Block[Any, Any]:
        """Begin a block whose changes in the database and whose records take effect together."""
        return Block(self.core.transaction())


class Relay:
    """Sends the records of the outbox. Only one instance relays at a time: a second one fences the first.

    :param database: a connection of sqlite3 or psycopg, for this object alone.
    :param producer: its transactional id is the relay's name, and also names the consumer group to which the relay's
        position is committed.
    :param batch_size: the maximum number of rows in one transaction.
    :param poll_ms: how long ``run()`` waits when there was nothing to send.
    :param on_mismatch: what ``start()`` does if database and log contradict each other: ``fail`` raises ``Mismatch``,
        ``send`` sends the last batch again, ``skip`` assumes that the log has the last batch.
    """

    def __init__(
        self,
        database: BlockingConnection,
        producer: Producer[Any, Any],
        admin: Admin,
        *,
        batch_size: int = 1000,
        poll_ms: int = 100,
        on_mismatch: str = "fail",
    ) -> None:
        self._core = OutboxRelay(
            database,
            cast(ports.TransactionalProducer, ports.Blocking(producer)),
            cast(ports.OffsetsAdmin, ports.Blocking(admin)),
            batch_size=batch_size,
            poll_ms=poll_ms,
            on_mismatch=on_mismatch,
            known=blocking_database,
        )

    def start(self) -> None:
        """Fence earlier instances, in the log and in the database; then read the position that they committed.

        :raises Mismatch: database and log contradict each other; nothing was sent.
        """
        run(self._core.start())

    def round(self) -> int:
        """Send the next rows in one transaction; returns their number, 0 if there were none.

        :raises Superseded: another instance has taken over.
        """
        return int(run(self._core.round()))

    def run(self, stop: threading.Event | None = None) -> None:
        """Send rows until ``stop`` is set; raises the first error."""
        ended = threading.Event() if stop is None else stop
        while not ended.is_set():
            if not self.round():
                ended.wait(self._core.poll_s)


class Inbox(Generic[K, V]):
    """Reads records as a member of a group; each record is processed in exactly one transaction that commits.

    Works with any Kafka broker.

    :param writer: the :class:`Outbox` or :class:`RowsAndRecords` through whose connection rows are written, and records
        are sent.
    :param consumer: with ``group_id``, ``isolation_level="read_committed"``, ``enable_auto_commit=False`` and
        ``auto_offset_reset="none"``.
    :param begin: where to begin in a partition without a stored position: ``earliest`` or ``latest``.
    """

    def __init__(
        self,
        writer: Outbox | RowsAndRecords,
        consumer: Consumer[K, V],
        topics: Iterable[str],
        *,
        begin: str = "earliest",
    ) -> None:
        asked = cast("ports.GroupConsumer[K, V]", ports.Blocking(consumer))
        self._core: InboxReader[K, V] = InboxReader(writer.core, asked, topics, begin=begin)

    def start(self) -> None:
        """Create the tables if they do not exist, and begin to join the group."""
        run(self._core.start())

    def transaction(self, *, timeout_ms: int = 1000, max_records: int = 500) -> Block[K, V]:
        """Begin a block with the next records: the block's changes and the new positions take effect together.

        ``records`` is empty if no record arrived within ``timeout_ms``. If the block or the commit fails, the records
        are delivered again.
        """
        return Block(self._core.transaction(timeout_ms=timeout_ms, max_records=max_records))


__all__ = ["Block", "Inbox", "Outbox", "Relay", "RowsAndRecords", "Transaction"]
