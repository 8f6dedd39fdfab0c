"""A database beside the log, with ``oncelog.atomic``: an outbox that is relayed, and an inbox whose records go on.

The database is SQLite, which has one writer at a time. What PostgreSQL adds is made by the writers: an id is taken from
a sequence when a transaction begins, and its row appears when the transaction commits, below rows with greater ids that
were sent long ago; or never, if it is rolled back.
"""

from __future__ import annotations

import asyncio
import contextvars
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from oncelog.atomic import Superseded, aio
from oncelog.client.aio import Admin, Consumer, Producer
from oncelog.errors import KafkaError
from oncelog.testing.simulation import Simulation
from tests.simulation.history import History
from tests.simulation.programs import PAUSE_S, STANDS_STILL_S, Program, abandon

ORDERS, RECEIPTS = "orders", "receipts"
RECEIPT = b"receipt of "
STALLS = 0.1
"""How often an inbox stands still between two transactions."""
APART = 1_000_000
"""Between two ids of the sequence; SQLite gives ids of its own, one above the greatest, to the inbox's rows."""
_ROW = (
    "INSERT INTO oncelog_outbox (id, topic, partition_number, record_value, headers, timestamp_ms) "
    "VALUES (?, ?, ?, ?, '[]', ?)"
)


class Shop:
    """The database, which outlives all programs, and its sequence, which never goes back."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "shop.db"
        self._id = 0
        with closing(self.connection()) as connection:
            connection.execute("PRAGMA journal_mode = MEMORY")
            connection.execute("CREATE TABLE taken (value BLOB)")

    def connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=0)  # nobody waits in a transaction, so nobody meets a lock
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    def next_id(self) -> int:
        self._id += APART
        return self._id

    def waiting(self) -> int:
        """Rows that are not sent, or not known to be."""
        with closing(self.connection()) as connection:
            ((count,),) = connection.execute("SELECT COUNT(*) FROM oncelog_outbox")
        return int(count)

    def taken(self) -> int:
        with closing(self.connection()) as connection:
            ((count,),) = connection.execute("SELECT COUNT(*) FROM taken")
        return int(count)


class OrderWriter(Program):
    """Takes orders, one after another, in transactions that last; some are rolled back."""

    def __init__(self, world: Simulation, history: History, name: str, shop: Shop, partitions: int, count: int) -> None:
        super().__init__(world, history, name, {})
        self._shop, self._partitions, self._left = shop, partitions, count

    async def live(self, life: str) -> None:
        outbox = aio.Outbox(self._shop.connection())
        await outbox.start()
        partition = self.rng.randrange(self._partitions)
        while self._left:
            self._left -= 1
            rows = [(self._shop.next_id(), self.value()) for _ in range(self.rng.randint(1, 3))]
            await asyncio.sleep(self.rng.choice([0.0, 0.1, 1.0, 5.0]) * self.rng.random())
            if self.done:
                return  # a second instance has taken the last order
            if self.rng.random() < 0.8:
                with closing(self._shop.connection()) as connection:
                    now_ms = time.time_ns() // 1_000_000
                    connection.executemany(_ROW, [(number, ORDERS, partition, value, now_ms) for number, value in rows])
                    connection.commit()
                values = [value for _, value in rows]
                self.history.rows.setdefault(ORDERS, []).extend(values)
                self.history.rows.setdefault(RECEIPTS, []).extend(RECEIPT + value for value in values)
                self.history.ordered.setdefault(life, []).extend(values)
            await asyncio.sleep(self.rng.expovariate(2.0))
        self.done = True


class _Client(Program):
    """A program that another instance may shut out, and that begins again then."""

    async def live(self, life: str) -> None:
        try:
            await self.work()
        except Superseded as error:
            self.world.note(str(error), self.name)
            await asyncio.sleep(PAUSE_S * self.rng.randint(1, 5))

    async def work(self) -> None:
        raise NotImplementedError


class OutboxSender(_Client):
    """Relays until all that the shop has committed, and the receipts for it, are sent."""

    def __init__(
        self, world: Simulation, history: History, name: str, shop: Shop, writers: list[OrderWriter], **settings: Any
    ) -> None:
        super().__init__(world, history, name, {})
        self._shop, self._writers, self._more = shop, writers, settings

    def _all_sent(self) -> bool:
        rows = len(self.history.rows.get(ORDERS, []))
        return all(one.done for one in self._writers) and self._shop.taken() >= rows and not self._shop.waiting()

    async def work(self) -> None:
        producer = Producer(**self.settings, **self._more, transactional_id=self.name)
        admin = Admin(**self.settings)
        try:
            with closing(self._shop.connection()) as connection:
                relay = aio.Relay(connection, producer, admin, batch_size=self.rng.randint(1, 5))
                await relay.start()
                while not self._all_sent():
                    if not await relay.round():
                        await asyncio.sleep(self.rng.expovariate(2.0))
        finally:
            await _close(producer, admin)
        self.done = True


class ReceiptWriter(_Client):
    """Takes the orders from the topic, and answers each by the outbox."""

    def __init__(
        self, world: Simulation, history: History, name: str, shop: Shop, writers: list[OrderWriter], partitions: int
    ) -> None:
        super().__init__(world, history, name, {})
        self._shop, self._writers, self._partitions = shop, writers, partitions

    async def work(self) -> None:
        consumer: Consumer[bytes, bytes] = Consumer(
            **self.settings,
            group_id="receipts",
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="none",
            session_timeout_ms=6000,
        )
        try:
            with closing(self._shop.connection()) as connection:
                inbox = aio.Inbox(aio.Outbox(connection), consumer, [ORDERS])
                await inbox.start()
                while not self._all_taken():
                    if self.rng.random() < STALLS:
                        await self._stand_still()
                    async with inbox.transaction(max_records=self.rng.randint(1, 6)) as transaction:
                        for record in transaction.records:
                            connection.execute("INSERT INTO taken VALUES (?)", (record.value,))
                            partition = self.rng.randrange(self._partitions)
                            await transaction.send(RECEIPTS, RECEIPT + (record.value or b""), partition=partition)
                    await asyncio.sleep(self.rng.expovariate(5.0))
        finally:
            await abandon(consumer)
        self.done = True

    async def _stand_still(self) -> None:
        """Until the group has given the partitions to another; then it has records that it no longer may write."""
        process = self.world.processes[self.name]
        self.world.loop.call_later(STANDS_STILL_S, process.resume, context=contextvars.Context())
        process.pause()
        await asyncio.sleep(0)

    def _all_taken(self) -> bool:
        rows = len(self.history.rows.get(ORDERS, []))
        return all(one.done for one in self._writers) and self._shop.taken() >= rows


async def _close(producer: Producer, admin: Admin) -> None:
    await abandon(producer)
    try:
        await admin.close()
    except KafkaError:
        return
