"""The port over drivers: what it refuses, and what it finds out that a driver does not say."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from typing import Any

import pytest

from oncelog import atomic
from oncelog.atomic.databases import Asyncpg, Sqlite, async_database, blocking_database, run
from oncelog.atomic.outbox import read, written
from oncelog.atomic.refusals import AtomicError


class Connection(sqlite3.Connection):
    pass


def test_a_database_connection_is_recognised_by_its_class_or_a_base_class() -> None:
    connection = sqlite3.connect(":memory:", factory=Connection)
    assert isinstance(blocking_database(connection), Sqlite)
    assert isinstance(async_database(connection), Sqlite)


def test_an_unsupported_connection_is_refused_and_the_error_lists_the_supported_ones() -> None:
    with pytest.raises(TypeError, match=r"takes a connection of sqlite3\.Connection, psycopg\.Connection, not str"):
        blocking_database("shop.db")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sqlite3 has autocommit since 3.12")
def test_an_sqlite_connection_with_autocommit_false_is_refused() -> None:
    settings: Any = {"autocommit": False}
    connection = sqlite3.connect(":memory:", **settings)
    with pytest.raises(AtomicError, match="autocommit=False"):
        blocking_database(connection)


def test_a_block_is_refused_if_a_database_transaction_is_already_open() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x)")
    outbox = atomic.Outbox(connection)
    outbox.start()
    connection.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(AtomicError, match="a transaction is open"), outbox.transaction():
        pass
    connection.commit()
    assert connection.execute("SELECT * FROM t").fetchall() == [(1,)]


def test_a_commit_within_a_transaction_block_is_reported() -> None:
    connection = sqlite3.connect(":memory:")
    outbox = atomic.Outbox(connection)
    outbox.start()
    with pytest.raises(AtomicError, match="has ended the database's transaction itself"), outbox.transaction():
        connection.commit()


class CommitAnsweredByRollback:
    """What asyncpg returns when a statement of the transaction had failed and the program went on."""

    def is_in_transaction(self) -> bool:
        return True

    async def execute(self, statement: str) -> str:
        assert statement == "COMMIT"
        return "ROLLBACK"


def test_a_commit_that_postgresql_answers_with_rollback_is_not_a_commit() -> None:
    with pytest.raises(AtomicError, match="nothing was committed"):
        asyncio.run(Asyncpg(CommitAnsweredByRollback()).commit())


def test_a_coroutine_that_waits_is_refused_without_an_event_loop() -> None:
    async def waits() -> None:
        await asyncio.sleep(0)

    with pytest.raises(AtomicError, match=r"use oncelog\.atomic\.aio"):
        run(waits())


def test_rows_are_tuples_with_any_row_factory_of_the_connection() -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = lambda cursor, row: {"row": row}
    assert run(blocking_database(connection).look("SELECT ?, ?", 1, b"x")) == [(1, b"x")]


def test_headers_of_an_outbox_are_stored_unchanged() -> None:
    headers = [("a", b"\x00\xff"), ("a", None), ("b", b"")]
    assert read(written(headers)) == headers


def test_an_outbox_accepts_only_bytes() -> None:
    connection = sqlite3.connect(":memory:")
    outbox = atomic.Outbox(connection)
    outbox.start()
    with pytest.raises(TypeError, match="as bytes, not str"), outbox.transaction() as transaction:
        transaction.send("orders", "tea")  # type: ignore[arg-type]
    assert connection.execute("SELECT * FROM oncelog_outbox").fetchall() == []
