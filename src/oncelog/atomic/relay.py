"""The relay of an outbox: sends each row of the outbox table once, as a record.

Rows are chosen by whether they have a batch number, never by comparing ids: a row that becomes visible late, below ids
that were sent long ago, still has no number. ``docs/internals/atomic.md`` has the reasoning.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oncelog.atomic.databases import Known, Row, async_database
from oncelog.atomic.outbox import read
from oncelog.atomic.positions import Contradiction, DatabasePosition, LogPosition, OnMismatch, is_sent
from oncelog.atomic.refusals import Mismatch, Superseded
from oncelog.atomic.tables import OUTBOX, RELAY, ensure
from oncelog.atomic.transaction import OffsetsAdmin, TransactionalProducer, started
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.client.errors import FatalProducerError, IllegalStateError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.runtime.chance import uuid4
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.atomic.databases import AnyConnection

REFRESH_S = 3600.0
"""Seconds after which a relay without rows commits its position again, so that the committed offset does not expire."""

_COLUMNS = "id, topic, partition_number, record_key, record_value, headers, timestamp_ms"
_FIRST = f"INSERT INTO {RELAY} VALUES (1, ?, '', 0, ?, '', '') ON CONFLICT DO NOTHING"
_TAKE_OVER = f"UPDATE {RELAY} SET writer = ? WHERE name = ? RETURNING batch, token, previous_token, topic"
_NAME = f"SELECT name FROM {RELAY}"
_BEGIN = f"UPDATE {RELAY} SET topic = ?"
_NUMBER = f"UPDATE {RELAY} SET batch = ?, token = ?, previous_token = ?"
_HELD = f"UPDATE {RELAY} SET batch = batch WHERE writer = ? AND batch = ? RETURNING 1"
_WAITING = f"SELECT topic FROM {OUTBOX} WHERE batch IS NULL ORDER BY id LIMIT 1"
_ASSIGN = (
    f"UPDATE {OUTBOX} SET batch = ? WHERE id IN (SELECT id FROM {OUTBOX} WHERE batch IS NULL ORDER BY id LIMIT ?) "
    f"RETURNING {_COLUMNS}"
)
_OF_BATCH = f"SELECT {_COLUMNS} FROM {OUTBOX} WHERE batch = ?"
_DELETE = f"DELETE FROM {OUTBOX} WHERE id BETWEEN ? AND ? AND batch = ?"


@dataclass(frozen=True, slots=True)
class _Batch:
    """The rows of the batch that the database noted last, in the order of their ids, and whether they were sent."""

    rows: Sequence[Row]
    sent: bool


class OutboxRelay:
    """Sends the records of the outbox. Only one instance relays at a time: a second one fences the first.

    :param producer: its transactional id is the relay's name, and also names the consumer group to which the relay's
        position is committed.
    :param batch_size: the maximum number of rows in one transaction.
    :param poll_ms: how long ``run()`` waits when there was nothing to send.
    :param on_mismatch: what ``start()`` does if database and log contradict each other: ``fail`` raises ``Mismatch``,
        ``send`` sends the last batch again, ``skip`` assumes that the log has the last batch.
    :param known: the interface to the connection; by default the one for asyncio.
    """

    def __init__(
        self,
        database: AnyConnection,
        producer: TransactionalProducer,
        admin: OffsetsAdmin,
        *,
        batch_size: int = 1000,
        poll_ms: int = 100,
        on_mismatch: str = "fail",
        known: Known = async_database,
    ) -> None:
        config = producer.config
        if not config.transactional_id or config.two_phase_commit:
            raise IllegalStateError("a relay's producer needs a transactional_id, and no two_phase_commit")
        if batch_size < 1 or poll_ms < 1:
            raise ValueError(f"batch_size={batch_size} and poll_ms={poll_ms} must be at least 1")
        self._database = known(database)
        self._producer = producer
        self._admin = admin
        self._name = config.transactional_id
        self._size = batch_size
        self._on_mismatch = OnMismatch(on_mismatch)
        self._me = uuid4().hex
        self._note = DatabasePosition(0, "", "", "")
        self._batch = _Batch((), True)
        self._kept_s = 0.0
        """The monotonic time at which the position was last committed to the log."""
        self.poll_s = poll_ms / 1000

    async def start(self) -> None:
        """Fence earlier instances, in the log and in the database; then read the position that they committed.

        :raises Mismatch: database and log contradict each other; nothing was sent.
        """
        await started(self._producer)
        await started(self._admin)
        await ensure(self._database, OUTBOX, RELAY)
        await self._take_over()
        position = await self._position()
        sent = is_sent(self._note, position)
        if isinstance(sent, Contradiction):
            if self._on_mismatch is OnMismatch.FAIL:
                raise Mismatch(
                    f"Relay {self._name}: {sent.reason}. Nothing was sent. on_mismatch='send' sends the rows of batch "
                    f"{self._note.batch} again; 'skip' assumes they were sent. It continues with the numbers of the "
                    "database"
                )
            sent = self._on_mismatch is OnMismatch.SKIP
            if sent and self._note.topic:
                await self._in_transaction(())
        elif self._note.topic and position is None:  # an earlier instance died before it stored position 0
            await self._store_first()
        rows = await self._database.look(_OF_BATCH, self._note.batch)
        self._batch = _Batch(sorted(rows), sent)

    async def _take_over(self) -> None:
        await self._database.begin(brief=True)
        try:
            await self._database.fetch(_FIRST, self._name, uuid4().hex)
            found = await self._database.fetch(_TAKE_OVER, self._me, self._name)
            names = await self._database.fetch(_NAME)
        except BaseException:
            await self._database.rollback()
            raise
        await self._database.commit()
        if not found:
            raise Mismatch(f"the outbox of this database is relayed by {names[0][0]!r}, not by {self._name!r}")
        self._note = DatabasePosition(*found[0])

    async def _position(self) -> LogPosition | None:
        offsets = await self._admin.list_consumer_group_offsets(self._name, require_stable=True)
        if not self._note.topic:
            return next((LogPosition(one.offset, one.metadata) for one in offsets.values()), None)
        found = offsets.get(TopicPartition(self._note.topic, 0))
        return None if found is None else LogPosition(found.offset, found.metadata)

    async def run(self) -> None:
        """Send rows until the task is cancelled; raises the first error."""
        while True:
            if not await self.round():
                await asyncio.sleep(self.poll_s)

    async def round(self) -> int:
        """Send the next rows in one transaction; returns their number, 0 if there were none.

        :raises Superseded: another instance has taken over.
        """
        if self._batch.sent and not await self._next():
            await self._keep()
            return 0
        rows = self._batch.rows
        await self._in_transaction(rows)
        self._batch = replace(self._batch, sent=True)
        return len(rows)

    async def _next(self) -> bool:
        """Delete the rows that were sent, and give the next rows a batch number; returns False if the outbox is
        empty."""
        waiting = await self._database.look(_WAITING)
        if waiting and not self._note.topic:
            await self._begin(waiting[0][0])
        if waiting:
            await self._number()
        elif self._batch.rows:
            async with self._holding():
                await self._delete()
            self._batch = _Batch((), sent=True)
        return bool(waiting)

    async def _number(self) -> None:
        note = replace(self._note, batch=self._note.batch + 1, token=uuid4().hex, previous_token=self._note.token)
        async with self._holding():
            await self._delete()
            rows = await self._database.fetch(_ASSIGN, note.batch, self._size)
            await self._database.fetch(_NUMBER, note.batch, note.token, note.previous_token)
        self._note = note
        self._batch = _Batch(sorted(rows), sent=False)

    async def _delete(self) -> None:
        if self._batch.rows:
            await self._database.fetch(_DELETE, self._batch.rows[0][0], self._batch.rows[-1][0], self._note.batch)

    async def _begin(self, topic: str) -> None:
        """Commit position 0 to the log before the first batch, so that a missing position later means that the log has
        lost it."""
        async with self._holding():
            await self._database.fetch(_BEGIN, topic)
        self._note = replace(self._note, topic=topic)
        await self._store_first()

    async def _store_first(self) -> None:
        await self._producer.partitions_for(self._note.topic)  # the topic may not exist yet
        await self._in_transaction(())

    @asynccontextmanager
    async def _holding(self) -> AsyncIterator[None]:
        """A database transaction that holds the lock on the relay's row.

        :raises Superseded: another instance has changed the row.
        """
        await self._database.begin(brief=True)
        try:
            if not await self._database.fetch(_HELD, self._me, self._note.batch):
                raise Superseded(
                    f"another instance relays as {self._name!r} now, or the answer to a COMMIT was lost: start it again"
                )
            yield
        except BaseException:
            await self._database.rollback()
            raise
        await self._database.commit()

    async def _keep(self) -> None:
        """Commit the position again, if it is old: committed offsets expire."""
        if self._note.topic and real_time.monotonic() - self._kept_s >= REFRESH_S:
            await self._in_transaction(())

    async def _in_transaction(self, rows: Sequence[Row]) -> None:
        """Send rows, and commit the position that the database noted, in one Kafka transaction."""
        position = {TopicPartition(self._note.topic, 0): OffsetAndMetadata(self._note.batch, self._note.token)}
        await self._producer.begin_transaction()
        try:
            for _, topic, partition, key, value, headers, timestamp_ms in rows:
                await self._producer.send(topic, value, key, partition, timestamp_ms, read(headers))
            await self._producer.send_offsets_to_transaction(position, self._name)
            await self._producer.commit_transaction()
        except BaseException:
            with suppress(FatalProducerError, IllegalStateError):  # a later instance has ended the transaction
                await self._producer.abort_transaction()
            raise
        self._kept_s = real_time.monotonic()


__all__ = ["OutboxRelay"]
