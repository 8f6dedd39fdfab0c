"""COPY into PostgreSQL, by tasks and by the driver: Arrow batches as CSV, in which an empty field is NULL, and an empty
text is in quotes.

Each attempt of a task makes a table of its own for its rows, in the transaction that copies them: nobody waits for
anybody, whatever the columns of other queries are, and what was moved is dropped rather than deleted row by row.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oncelog.spark.tables.databases.sql_names import quoted
from oncelog.spark.tables.inline import leave_few
from oncelog.spark.tables.store import WrittenPart

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

STAGED = "oncelog_staged_"
"""The names of tables for rows on their way begin so; then follows when they were made, in seconds since 1970."""
ON_THEIR_WAY = "oncelog: rows on their way to "
ENCODING = "UTF8"
"""Of rows that are copied and of names; the server converts to the database's own, which is the default otherwise."""


@dataclass(frozen=True, slots=True)
class CopyWriter:
    """In a task: copies the rows into a table for this attempt; a few rows are left to the driver.

    :param schema: where that table is made, with a dot behind it; empty: where the connection makes tables.
    :param table: where the rows are to go.
    :param columns: names and types.
    """

    url: str
    schema: str
    table: str
    columns: tuple[tuple[str, str], ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        many = yield from leave_few(batches)
        if many is None:
            return
        rows = size = 0
        with connected(self.url) as connection:
            staged = self._make(connection)
            with connection.cursor().copy(f"COPY {staged} FROM STDIN (FORMAT csv, FREEZE)".encode()) as copy:
                for batch in many:
                    data = csv_of(batch)
                    copy.write(data)
                    rows += batch.num_rows
                    size += len(data)
        yield WrittenPart(rows, size, written=pickle.dumps(staged))

    def _make(self, connection: psycopg.Connection) -> str:
        """The name of a new table. It is unlogged: a crash of the server empties it, and the commit counts."""
        ((made_s,),) = connection.execute("SELECT extract(epoch FROM now())::bigint").fetchall()
        staged = f"{self.schema}{quoted(f'{STAGED}{made_s}_{uuid.uuid4().hex[:16]}')}"
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in self.columns)
        connection.execute(f"CREATE UNLOGGED TABLE {staged} ({columns})".encode())
        comment = (ON_THEIR_WAY + self.table).replace("'", "''")
        connection.execute(f"COMMENT ON TABLE {staged} IS '{comment}'".encode())
        return staged


def connected(url: str) -> psycopg.Connection:
    """Used as ``with connected(url) as connection:`` for one transaction. Nothing is prepared, and nothing is set for
    the session: behind a pooler in transaction mode the next client would find it, or the next transaction miss it.
    """
    import psycopg

    return psycopg.connect(url, client_encoding=ENCODING, prepare_threshold=None)


def copy_rows(connection: psycopg.Connection, text: str, batches: Sequence[pa.RecordBatch]) -> None:
    with connection.cursor() as cursor, cursor.copy(text.encode()) as copy:
        for batch in batches:
            copy.write(csv_of(batch))


def csv_of(batch: pa.RecordBatch) -> bytes:
    """The rows. Texts are in quotes, so that an empty one is not NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    from oncelog.records.arrow_moments import moment_texts, sql_day

    columns = []
    for column in batch.columns:
        kind = column.type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            hexed = [None if value is None else "\\x" + value.hex() for value in column.to_pylist()]
            column = pa.array(hexed, pa.string())
        elif pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
            column = moment_texts(column, day=sql_day)
        elif pa.types.is_decimal(kind):
            column = pc.cast(column, pa.string())
        columns.append(column)
    table = pa.Table.from_arrays(columns, names=[str(number) for number in range(len(columns))])
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(include_header=False, quoting_style="needed"))
    return bytes(sink.getvalue())
