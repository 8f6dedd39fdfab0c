"""A table of PostgreSQL that the test has made, and sinks that write into it without Spark."""

from __future__ import annotations

import contextlib
import datetime
import sqlite3
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from oncelog.spark.tables.inline import inline_part
from oncelog.spark.tables.options import TableFormat, TableOptions
from oncelog.spark.tables.store import WrittenPart
from tests.integration.tables.worlds import Query

PATHS = ("driver", "tasks")


class Existing:
    """A database, and a sink that writes into one of its tables by way of the driver or of the tasks."""

    form = TableFormat.POSTGRESQL

    def __init__(self, url: str, folder: Path, way: str) -> None:
        self.url = url
        self.folder = folder
        self.way = way
        self._queries = 0

    def run(self, statements: str, values: Any = None) -> list[Any]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statements.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def write(
        self, columns: dict[str, tuple[DataType, pa.DataType, Sequence[Any]]], table: str = "o", **options: Any
    ) -> None:
        """One batch, as the first of a new query."""
        schema = StructType([StructField(name, kind) for name, (kind, _, _) in columns.items()])
        given = pa.table({name: pa.array(values, arrow) for name, (_, arrow, values) in columns.items()})
        self._queries += 1
        found = TableOptions(self.form, table, url=self.url, **options)
        query = Query(self.folder / f"checkpoint{self._queries}", found, query_id=f"q{self._queries}")

        def made() -> list[WrittenPart]:
            rows = given.rename_columns(list(query.names.rows.names))
            if self.way == "driver":
                return [inline_part(rows.to_batches())]
            return list(query.store.task_writer()(iter(rows.to_batches())))

        query.run(0, [], schema=schema, made=made)

    def start(self, columns: Mapping[str, DataType], table: str = "o", **options: Any) -> None:
        """What is done before the rows of a batch are computed, which fails here if it comes to that."""

        def made() -> list[WrittenPart]:
            raise AssertionError("rows were computed")

        schema = StructType([StructField(name, kind) for name, kind in columns.items()])
        found = TableOptions(self.form, table, url=self.url, **options)
        self._queries += 1
        query = Query(self.folder / f"checkpoint{self._queries}", found, query_id=f"q{self._queries}")
        query.run(0, [], schema=schema, made=made)


class ExistingSqlite(Existing):
    """The same with a file of SQLite, into which only the driver writes."""

    form = TableFormat.SQLITE

    def run(self, statements: str, values: Any = ()) -> list[Any]:
        with contextlib.closing(sqlite3.connect(self.url, isolation_level=None)) as connection:
            if ";" in statements:
                connection.executescript(statements)
                return []
            return connection.execute(statements, values).fetchall()


def texts(*values: str | None) -> tuple[DataType, pa.DataType, Sequence[Any]]:
    return StringType(), pa.string(), values


def numbers(*values: int | None) -> tuple[DataType, pa.DataType, Sequence[Any]]:
    return LongType(), pa.int64(), values


def moments(*values: datetime.datetime | int) -> tuple[DataType, pa.DataType, Sequence[Any]]:
    return TimestampType(), pa.timestamp("us", "UTC"), values


def decimals(*values: str) -> tuple[DataType, pa.DataType, Sequence[Any]]:
    return DecimalType(38, 18), pa.decimal128(38, 18), [Decimal(value) for value in values]


def doubles(*values: float) -> tuple[DataType, pa.DataType, Sequence[Any]]:
    return DoubleType(), pa.float64(), values


def tables_of(*values: Sequence[Sequence[int]]) -> tuple[DataType, pa.DataType, Sequence[Any]]:
    """Arrays of arrays."""
    return ArrayType(ArrayType(IntegerType())), pa.list_(pa.list_(pa.int32())), values
