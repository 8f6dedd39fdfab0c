"""A service that bills orders: consume, transform, produce, with a database in between, each order exactly once.

It reads the topic ``orders`` (``customer:amount``), adds to what the customer owes in an SQLite database, and writes to
the topic ``invoices`` what is owed now. Position, row and invoice are one transaction of the database (an inbox and an
outbox, ``oncelog.atomic``); a relay sends what the outbox has. Both are programs of their own:

    python billing.py bill 127.0.0.1:9092 ledger.db
    python billing.py relay 127.0.0.1:9092 ledger.db

``test_billing.py`` kills, pauses and doubles them, in a simulation.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

from oncelog.atomic import Superseded, aio
from oncelog.client.aio import Admin, Consumer, Producer
from oncelog.errors import KafkaError

ORDERS, INVOICES = "orders", "invoices"
LEDGER = "CREATE TABLE IF NOT EXISTS ledger (customer TEXT PRIMARY KEY, owed INTEGER NOT NULL)"
ADD = "INSERT INTO ledger VALUES (?, ?) ON CONFLICT (customer) DO UPDATE SET owed = owed + excluded.owed RETURNING owed"
PAUSE_S = 1.0
LOCK_S = 5.0
"""So long is waited for the other program's transaction."""


async def bill(servers: str, path: Path) -> None:
    """Take orders until something fails."""
    consumer: Consumer[bytes, bytes] = Consumer(
        bootstrap_servers=servers,
        group_id="billing",
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="none",
        session_timeout_ms=6000,
    )
    try:
        with closing(sqlite3.connect(path, timeout=LOCK_S)) as database:
            database.execute(LEDGER)
            inbox = aio.Inbox(aio.Outbox(database), consumer, [ORDERS])
            await inbox.start()
            while True:
                async with inbox.transaction() as transaction:
                    for record in transaction.records:
                        customer, _, amount = (record.value or b"").decode().partition(":")
                        ((owed,),) = database.execute(ADD, (customer, int(amount))).fetchall()
                        await transaction.send(INVOICES, f"{customer} owes {owed}".encode(), key=customer.encode())
    finally:
        await consumer.stop()


async def relay(servers: str, path: Path) -> None:
    """Send what the outbox has until something fails; a second relay takes over."""
    producer = Producer(bootstrap_servers=servers, transactional_id="billing-relay")
    async with Admin(bootstrap_servers=servers) as admin:
        try:
            with closing(sqlite3.connect(path, timeout=LOCK_S)) as database:
                sender = aio.Relay(database, producer, admin)
                await sender.start()
                while True:
                    if not await sender.round():
                        await asyncio.sleep(PAUSE_S)
        finally:
            await producer.stop()


async def forever(work: Callable[[str, Path], Awaitable[None]], servers: str, path: Path) -> None:
    """Begin again after a failure; what is under way then is rolled back, and comes again."""
    while True:
        try:
            await work(servers, path)
        except (KafkaError, Superseded, sqlite3.OperationalError) as error:
            logging.warning("%s begins again: %s", work.__name__, error)
            await asyncio.sleep(PAUSE_S)


if __name__ == "__main__":
    _, name, address, file = sys.argv
    asyncio.run(forever({"bill": bill, "relay": relay}[name], address, Path(file)))
