"""COPY into PostgreSQL, by tasks and by the driver.

The staging tables have the destination's types, so the server parses every value as the destination would, and can name
the column and the text when it refuses one. Each attempt of a task creates a separate table for its rows, in the
transaction that copies them. So no writer waits for another, queries may have different columns, and a table whose rows
were moved is dropped rather than emptied row by row.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oncelog.runtime.chance import uuid4
from oncelog.spark.tables.databases.postgresql_columns import TableColumn, refusal, transient
from oncelog.spark.tables.databases.postgresql_values import csv_of
from oncelog.spark.tables.databases.sql_names import quoted
from oncelog.spark.tables.inline import leave_few
from oncelog.spark.tables.store import TableRefused, WrittenPart

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

STAGED = "oncelog_staged_"
"""The prefix of the names of staging tables; the time of creation follows, in seconds since 1970."""
ON_THEIR_WAY = "oncelog: staged rows of "
ENCODING = "UTF8"
"""The encoding of copied rows and of names; the server converts it to the database's encoding."""


@dataclass(frozen=True, slots=True)
class CopyWriter:
    """Copies a task's rows into a staging table for this attempt; leaves a few rows to the driver.

    :param schema: the schema of the staging table, followed by a dot; empty for the connection's default schema.
    :param table: the destination of the rows.
    :param columns: the destination's columns, in the order of the rows' columns.
    :param shown: the destination in messages.
    """

    url: str
    schema: str
    table: str
    columns: tuple[TableColumn, ...]
    shown: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        import psycopg

        many = yield from leave_few(batches)
        if many is None:
            return
        rows = 0

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal rows
            for batch in many:
                rows += batch.num_rows
                yield batch

        try:
            with connected(self.url) as connection:
                staged = self._make(connection)
                size = copy_rows(connection, staged, self.columns, counted(), self.shown, ", FREEZE")
        except psycopg.Error as error:
            if transient(error):
                raise  # raised unchanged, so that Spark tries the task again
            raise TableRefused(refusal(self.shown, error)) from error
        yield WrittenPart(rows, size, written=pickle.dumps(staged))

    def _make(self, connection: psycopg.Connection) -> str:
        """Create a staging table; returns its name. The table is unlogged, so a crash of the server empties it, which
        the commit detects by counting the rows."""
        ((made_s,),) = connection.execute("SELECT extract(epoch FROM now())::bigint").fetchall()
        staged = f"{self.schema}{quoted(f'{STAGED}{made_s}_{uuid4().hex[:16]}')}"
        connection.execute(f"CREATE UNLOGGED TABLE {staged} ({definitions(self.columns)})".encode())
        comment = (ON_THEIR_WAY + self.table).replace("\\", "\\\\").replace("'", "''")
        connection.execute(f"COMMENT ON TABLE {staged} IS E'{comment}'".encode())
        return staged


def definitions(columns: Iterable[TableColumn]) -> str:
    return ", ".join(column.definition for column in columns)


def connected(url: str) -> psycopg.Connection:
    """A connection for one transaction, used as ``with connected(url) as connection:``.

    It prepares no statement and changes no setting of the session: behind a pooler in transaction mode the next client
    would inherit the change, or the next transaction would lack it.
    It uses READ COMMITTED, whatever the role's default is: otherwise a statement that waited for a lock would see the
    table as it was before the wait.
    """
    import psycopg

    connection = psycopg.connect(url, client_encoding=ENCODING, prepare_threshold=None)
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return connection


def copy_rows(
    connection: psycopg.Connection,
    target: str,
    columns: Sequence[TableColumn],
    batches: Iterable[pa.RecordBatch],
    table: str,
    options: str = "",
) -> int:
    """Copy the rows into ``target``; returns their size in bytes. Raises TableRefused for a value that a column would
    change.

    :param columns: the columns of the rows, in order.
    :param table: the final destination, for messages.
    """
    names = ", ".join(quoted(column.name) for column in columns)
    if any(column.is_array for column in columns):
        connection.execute("SET LOCAL array_nulls = on")  # otherwise NULL in an array would become a string
    size = 0
    with connection.cursor().copy(f"COPY {target} ({names}) FROM STDIN (FORMAT csv{options})".encode()) as copy:
        for batch in batches:
            data = csv_of(batch, columns, table)
            copy.write(data)
            size += len(data)
    return size
