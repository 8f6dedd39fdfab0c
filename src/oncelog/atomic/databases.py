"""A small interface to the connections of sqlite3, psycopg and asyncpg, chosen by the connection's class.

Called by the rest of this package. Statements have ``?`` for values. The program uses its connection as before; between
``begin`` and ``commit`` its statements belong to the same transaction.

PostgreSQL may be behind a pooler in transaction mode (PgBouncer): no state of the session outlives a transaction, and
psycopg prepares none of these statements. asyncpg cannot leave single statements unprepared, so the program must set
the connection's ``statement_cache_size``.
"""

from __future__ import annotations

import inspect
import re
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from oncelog.atomic.refusals import AtomicError

if TYPE_CHECKING:
    import asyncpg
    import psycopg
    from asyncpg.pool import PoolConnectionProxy

    BlockingConnection = sqlite3.Connection | psycopg.Connection[Any]
    AsyncConnection = sqlite3.Connection | psycopg.AsyncConnection[Any] | asyncpg.Connection[Any] | PoolConnectionProxy
    AnyConnection = BlockingConnection | AsyncConnection

Value = str | int | bytes | None
Row = tuple[Any, ...]

STANDS_STILL_S = 30
"""Seconds after which PostgreSQL ends a brief transaction that is idle: its program has stopped or lost its
connection."""
_PLACE = re.compile(r"\?")


class Dialect(Enum):
    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


class Database(Protocol):
    """The interface to one connection. The driver's errors are raised unchanged."""

    @property
    def dialect(self) -> Dialect: ...

    async def begin(self, *, brief: bool = False) -> None:
        """Begin a transaction that writes.

        :param brief: whether only this package executes statements in the transaction, so that it is never idle for
            long. PostgreSQL ends a brief transaction that is idle for :data:`STANDS_STILL_S`, because the next instance
            waits for its locks.
        :raises AtomicError: a transaction is open, or the connection's mode does not allow beginning one.
        """

    async def commit(self) -> None:
        """Commit the transaction.

        :raises AtomicError: nothing was committed: a statement had failed before, or the program has ended the
            transaction itself.
        """

    async def rollback(self) -> None:
        """End the transaction, if one is open."""

    async def fetch(self, statement: str, *values: Value) -> list[Row]:
        """Execute a statement in the open transaction; returns its rows."""

    async def look(self, statement: str, *values: Value) -> list[Row]:
        """Execute a query outside a transaction; returns its rows. No transaction is open afterwards.

        :raises AtomicError: a transaction is open.
        """

    async def insert(self, statement: str, rows: Sequence[Sequence[Value]]) -> None:
        """Execute an INSERT once for each row of values, in the open transaction."""


_BRIEF = "SET LOCAL idle_in_transaction_session_timeout = '{}s'"
_OPEN = "a transaction is open on the connection already: commit it, or roll it back, first"
_ENDED = "the block has ended the database's transaction itself: leave COMMIT and ROLLBACK to transaction()"
_FAILED = "nothing was committed: a statement in the block had failed, and the block went on"


class Sqlite:
    """A ``sqlite3.Connection``. Its transactions take the write lock when they begin, so they never deadlock."""

    dialect = Dialect.SQLITE

    def __init__(self, connection: sqlite3.Connection) -> None:
        if getattr(connection, "autocommit", None) is False:
            raise AtomicError(
                "a sqlite3 connection with autocommit=False always has a transaction open: leave that argument out"
            )
        self._connection = connection

    async def begin(self, *, brief: bool = False) -> None:
        self._check_idle()
        self._connection.execute("BEGIN IMMEDIATE")

    async def commit(self) -> None:
        if not self._connection.in_transaction:
            raise AtomicError(_ENDED)
        self._connection.execute("COMMIT")

    async def rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    async def fetch(self, statement: str, *values: Value) -> list[Row]:
        cursor = self._connection.cursor()
        cursor.row_factory = None
        return cursor.execute(statement, values).fetchall()

    async def look(self, statement: str, *values: Value) -> list[Row]:
        self._check_idle()
        return await self.fetch(statement, *values)

    async def insert(self, statement: str, rows: Sequence[Sequence[Value]]) -> None:
        self._connection.executemany(statement, rows)

    def _check_idle(self) -> None:
        if self._connection.in_transaction:
            raise AtomicError(_OPEN)


class Psycopg:
    """A ``psycopg.Connection`` or a ``psycopg.AsyncConnection``, with or without ``autocommit``."""

    dialect = Dialect.POSTGRESQL

    def __init__(self, connection: Any) -> None:
        from psycopg.pq import TransactionStatus
        from psycopg.rows import tuple_row

        self._connection = connection
        self._idle = TransactionStatus.IDLE
        self._rows = tuple_row

    async def begin(self, *, brief: bool = False) -> None:
        self._check_idle()
        # Without autocommit, psycopg begins a transaction before any statement.
        await self._execute("BEGIN" if self._connection.autocommit else "SELECT 1")
        if brief:
            await self._execute(_BRIEF.format(STANDS_STILL_S))

    async def commit(self) -> None:
        if self._connection.info.transaction_status == self._idle:
            raise AtomicError(_ENDED)
        cursor = await self._execute("COMMIT")
        _check_committed(cursor.statusmessage)

    async def rollback(self) -> None:
        await _settled(self._connection.rollback())

    async def fetch(self, statement: str, *values: Value) -> list[Row]:
        cursor = await self._execute(_PLACE.sub("%s", statement), values)
        return list(await _settled(cursor.fetchall())) if cursor.description else []

    async def insert(self, statement: str, rows: Sequence[Sequence[Value]]) -> None:
        cursor = self._connection.cursor(row_factory=self._rows)
        threshold = self._connection.prepare_threshold
        # executemany prepares the statement at once, and has no parameter against that
        self._connection.prepare_threshold = None
        try:
            await _settled(cursor.executemany(_PLACE.sub("%s", statement), rows))
        finally:
            self._connection.prepare_threshold = threshold

    async def look(self, statement: str, *values: Value) -> list[Row]:
        self._check_idle()
        rows = await self.fetch(statement, *values)
        await self.rollback()  # ends the transaction that psycopg begins before a statement without autocommit
        return rows

    def _check_idle(self) -> None:
        if self._connection.info.transaction_status != self._idle:
            raise AtomicError(_OPEN)

    async def _execute(self, statement: str, values: Iterable[Value] | None = None) -> Any:
        cursor = self._connection.cursor(row_factory=self._rows)
        await _settled(cursor.execute(statement, values, prepare=False))
        return cursor


class Asyncpg:
    """An ``asyncpg.Connection``, or the proxy that asyncpg's pool returns for one."""

    dialect = Dialect.POSTGRESQL

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def begin(self, *, brief: bool = False) -> None:
        self._check_idle()
        await self._connection.execute("BEGIN")
        if brief:
            await self._connection.execute(_BRIEF.format(STANDS_STILL_S))

    async def commit(self) -> None:
        if not self._connection.is_in_transaction():
            raise AtomicError(_ENDED)
        _check_committed(await self._connection.execute("COMMIT"))

    async def rollback(self) -> None:
        if self._connection.is_in_transaction():
            await self._connection.execute("ROLLBACK")

    async def fetch(self, statement: str, *values: Value) -> list[Row]:
        return [tuple(row) for row in await self._connection.fetch(_numbered(statement), *values)]

    async def look(self, statement: str, *values: Value) -> list[Row]:
        # asyncpg parses and executes in two round trips; outside a transaction a pooler may change the server between
        # them
        await self.begin()
        try:
            return await self.fetch(statement, *values)
        finally:
            await self.rollback()

    async def insert(self, statement: str, rows: Sequence[Sequence[Value]]) -> None:
        await self._connection.executemany(_numbered(statement), rows)

    def _check_idle(self) -> None:
        if self._connection.is_in_transaction():
            raise AtomicError(_OPEN)


def _check_committed(status: str | None) -> None:
    """Check the answer to COMMIT: if a statement had failed, PostgreSQL rolls back and reports no error.

    :raises AtomicError: nothing was committed.
    """
    if status != "COMMIT":
        raise AtomicError(_FAILED)


async def _settled(given: Any) -> Any:
    """The result of a call to psycopg; awaits the coroutine that psycopg's asyncio classes return."""
    return await given if inspect.isawaitable(given) else given


def _numbered(statement: str) -> str:
    number = 0

    def next_place(_: re.Match[str]) -> str:
        nonlocal number
        number += 1
        return f"${number}"

    return _PLACE.sub(next_place, statement)


_BLOCKING: Mapping[str, Callable[[Any], Database]] = {"sqlite3.Connection": Sqlite, "psycopg.Connection": Psycopg}
_ASYNC: Mapping[str, Callable[[Any], Database]] = {
    "sqlite3.Connection": Sqlite,
    "psycopg.AsyncConnection": Psycopg,
    "asyncpg.Connection": Asyncpg,
    "asyncpg.PoolConnectionProxy": Asyncpg,
}


def blocking_database(connection: object) -> Database:
    """The interface to a connection of a blocking driver.

    :raises TypeError: the connection's class is not supported.
    """
    return _database(connection, _BLOCKING, "oncelog.atomic")


def async_database(connection: object) -> Database:
    """The interface to a connection that is used with asyncio.

    :raises TypeError: the connection's class is not supported.
    """
    return _database(connection, _ASYNC, "oncelog.atomic.aio")


Known = Callable[[object], Database]
"""Returns the interface to a connection, as :func:`blocking_database` and :func:`async_database` do."""


def _database(connection: object, kinds: Mapping[str, Callable[[Any], Database]], where: str) -> Database:
    for one in type(connection).__mro__:
        kind = kinds.get(f"{one.__module__.partition('.')[0]}.{one.__qualname__}")
        if kind is not None:
            return kind(connection)
    raise TypeError(f"{where} takes a connection of {', '.join(kinds)}, not {type(connection).__qualname__}")


def run(work: Awaitable[Any]) -> Any:
    """Run a coroutine without an event loop; returns its result. Over a blocking driver and a blocking client it never
    waits."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as end:
        return end.value
    raise AtomicError("a call waited for an event loop, and there is none: use oncelog.atomic.aio")
