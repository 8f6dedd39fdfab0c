"""COPY into PostgreSQL, by tasks and by the driver: Arrow batches as CSV, in which an empty field is NULL, and an empty
text is in quotes.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oncelog.spark.tables.inline import leave_few
from oncelog.spark.tables.sql_names import quoted
from oncelog.spark.tables.store import WrittenPart

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

ATTEMPT = "oncelog_attempt"
ENCODING = "UTF8"
"""Of rows that are copied and of names; the server converts to the database's own, which is the default otherwise."""


@dataclass(frozen=True, slots=True)
class CopyWriter:
    """In a task: copies the rows under a number of this attempt; a few rows are left to the driver."""

    url: str
    table: str
    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        import psycopg

        many = yield from leave_few(batches)
        if many is None:
            return
        attempt = uuid.uuid4().int >> 65
        names = ", ".join([*map(quoted, self.columns), ATTEMPT])
        rows = size = 0
        text = f"COPY {self.table} ({names}) FROM STDIN (FORMAT csv)".encode()
        with psycopg.connect(self.url, client_encoding=ENCODING) as connection, connection.cursor().copy(text) as copy:
            for batch in many:
                data = csv_of(batch, attempt)
                copy.write(data)
                rows += batch.num_rows
                size += len(data)
        yield WrittenPart(rows, size, written=pickle.dumps(attempt))


def copy_rows(connection: psycopg.Connection, text: str, batches: Sequence[pa.RecordBatch]) -> None:
    with connection.cursor() as cursor, cursor.copy(text.encode()) as copy:
        for batch in batches:
            copy.write(csv_of(batch))


def csv_of(batch: pa.RecordBatch, *numbers: int) -> bytes:
    """The rows; each with ``numbers`` behind its columns."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    columns = []
    for column in batch.columns:
        kind = column.type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            hexed = [None if value is None else "\\x" + value.hex() for value in column.to_pylist()]
            column = pa.array(hexed, pa.string())
        elif pa.types.is_timestamp(kind) and kind.tz is not None:
            column = pc.cast(column.cast(pa.timestamp("us", "UTC")), pa.string())
        elif pa.types.is_decimal(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            column = pc.cast(column, pa.string())
        columns.append(column)
    columns += [pa.array([number] * batch.num_rows, pa.int64()) for number in numbers]
    table = pa.Table.from_arrays(columns, names=[str(number) for number in range(len(columns))])
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(include_header=False, quoting_style="all_valid"))
    return bytes(sink.getvalue())
