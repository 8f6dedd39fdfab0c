"""Commits rows and records by two-phase commit (KIP-939): the log prepares, the database decides, the log follows its
decision.

The table ``oncelog_prepared`` contains the instance that may write, and the token of the last transaction that the
database has committed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from oncelog.atomic.databases import Known, async_database
from oncelog.atomic.refusals import Superseded
from oncelog.atomic.tables import PREPARED, ensure
from oncelog.atomic.transaction import Headers, PreparingProducer, Transaction, started
from oncelog.client.errors import FatalProducerError, IllegalStateError
from oncelog.runtime.chance import uuid4

if TYPE_CHECKING:
    from oncelog.atomic.databases import AnyConnection

_FIRST = f"INSERT INTO {PREPARED} VALUES (?, '', '') ON CONFLICT DO NOTHING"
_TAKE_OVER = f"UPDATE {PREPARED} SET writer = ? WHERE transactional_id = ? RETURNING token"
_DECIDE = f"UPDATE {PREPARED} SET token = ? WHERE transactional_id = ? AND writer = ? RETURNING 1"


class TwoPhase:
    """One instance of a program that writes under a transactional id.

    :param known: the interface to the connection; by default the one for asyncio.
    """

    def __init__(self, database: AnyConnection, producer: PreparingProducer, *, known: Known = async_database) -> None:
        config = producer.config
        if not config.transactional_id or not config.two_phase_commit:
            raise IllegalStateError("the producer needs a transactional_id and two_phase_commit=True")
        self.database = known(database)
        self._producer = producer
        self._name = config.transactional_id
        self._me = uuid4().hex

    async def start(self) -> None:
        """Fence earlier instances, in the log and in the database; then end the transactions that they prepared."""
        await started(self._producer)
        await ensure(self.database, PREPARED)
        await self._settle()

    async def _settle(self) -> None:
        """End the last prepared transaction of the log as the database decided; waits for a COMMIT that is still under
        way."""
        await self.database.begin(brief=True)
        try:
            await self.database.fetch(_FIRST, self._name)
            ((token,),) = await self.database.fetch(_TAKE_OVER, self._me, self._name)
        except BaseException:
            await self.database.rollback()
            raise
        await self.database.commit()
        await self._producer.complete(token)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction[Any, Any]]:
        """Begin a block whose changes in the database and whose records take effect together.

        If COMMIT fails, only the database knows the outcome. The next transaction, or ``start()`` of the next instance,
        asks the database, and commits or aborts the records accordingly.

        :raises Superseded: another instance has taken over; nothing was written.
        """
        if self._producer.prepared is not None:
            await self._settle()
        await self.database.begin()
        try:
            await self._producer.begin_transaction()
            yield Transaction(self._send)
            token = await self._producer.prepare()
            if not await self.database.fetch(_DECIDE, token, self._name, self._me):
                raise Superseded(f"another instance writes as {self._name!r} now")
        except BaseException:
            try:
                await self.database.rollback()
            finally:
                # a later instance has ended the transaction, or no transaction began
                with suppress(FatalProducerError, IllegalStateError):
                    await self._producer.abort_transaction()
            raise
        await self.database.commit()
        await self._producer.complete(token)

    async def _send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp_ms: int | None,
        headers: Headers,
    ) -> None:
        await self._producer.send(topic, value, key, partition, timestamp_ms, headers)
