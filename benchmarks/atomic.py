"""Measures the outbox with its relay, and the inbox, in rows and records a second, with SQLite and with PostgreSQL.

    python -m benchmarks.atomic [--records N] [--size BYTES]

The embedded broker and its clients share one process. The outbox is written in transactions of 100 records and relayed
in batches of 1,000; the inbox reads the records that the relay has sent, up to 500 in a transaction, and writes each as
a row. PostgreSQL's programs must be installed, as for the tests. PostgreSQL runs without fsync, SQLite with
``synchronous = NORMAL``.
"""

from __future__ import annotations

import argparse
import os
import resource
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

import oncelog
from oncelog import atomic
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from tests.support.two_phase.postgres import Postgres

IN_A_TRANSACTION = 100


def sqlite(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def written(outbox: atomic.Outbox, records: int, topic: str, value: bytes) -> float:
    began = time.perf_counter()
    for first in range(0, records, IN_A_TRANSACTION):
        with outbox.transaction() as transaction:
            for number in range(first, min(first + IN_A_TRANSACTION, records)):
                transaction.send(topic, value, str(number).encode())
    return records / (time.perf_counter() - began)


def relayed(relay: atomic.Relay, records: int) -> float:
    began, sent = time.perf_counter(), 0
    while sent < records:
        sent += relay.round()
    return records / (time.perf_counter() - began)


def received(inbox: atomic.Inbox[Any, Any], database: Any, records: int, insert: str) -> float:
    began, seen = time.perf_counter(), 0
    while seen < records:
        with inbox.transaction() as transaction:
            if transaction.records:
                cursor = database.cursor()
                cursor.executemany(insert, [(one.key, one.value) for one in transaction.records])
            seen += len(transaction.records)
    return records / (time.perf_counter() - began)


def measure(address: str, name: str, database: Any, records: int, size: int) -> None:
    mark, kind = ("?", "BLOB") if name == "sqlite" else ("%s", "BYTEA")
    database.execute(f"CREATE TABLE received (k {kind}, v {kind})")
    if name != "sqlite":
        database.commit()
    with (
        Admin(bootstrap_servers=address) as admin,
        Producer(bootstrap_servers=address, transactional_id=f"relay-{name}") as producer,
        Consumer(
            bootstrap_servers=address, group_id=name, isolation_level="read_committed", enable_auto_commit=False,
            auto_offset_reset="none",
        ) as consumer,
    ):  # fmt: skip
        admin.create_topics([NewTopic(name, 1)])
        outbox = atomic.Outbox(database)
        outbox.start()
        relay = atomic.Relay(database, producer, admin)
        relay.start()
        rates = {"outbox, written": written(outbox, records, name, b"x" * size), "outbox, relayed": 0.0}
        rates["outbox, relayed"] = relayed(relay, records)
        inbox = atomic.Inbox(atomic.Outbox(database), consumer, [name])
        inbox.start()
        rates["inbox"] = received(inbox, database, records, f"INSERT INTO received VALUES ({mark}, {mark})")
        (count,) = database.execute("SELECT count(*) FROM received").fetchone()
        assert count == records
    for what, rate in rates.items():
        print(f"{name:<12}{what:<18}{rate:>10,.0f} records/s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--size", type=int, default=100)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, Postgres() as postgres, oncelog.Broker() as broker:
        measure(broker.bootstrap_servers, "sqlite", sqlite(Path(scratch) / "rows.db"), asked.records, asked.size)
        with psycopg.connect(postgres.new_database()) as connection:
            measure(broker.bootstrap_servers, "postgresql", connection, asked.records, asked.size)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"the process at most {peak} MB; load average {os.getloadavg()[0]:.0f}")


if __name__ == "__main__":
    sys.exit(main())
