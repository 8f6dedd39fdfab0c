"""Rows of every type through tasks into each kind of table, and what Spark, or the database, reads back."""

from __future__ import annotations

import datetime
import json
import math
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.catalog import load_catalog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from oncelog.spark.tables.options import TableFormat, TableOptions
from tests.integration.tables.worlds import Query, world_of
from tests.support.two_phase.postgres import WHY_NOT, Postgres, programs

DDL = (
    "n int, flag boolean, small byte, short short, number int, large long, single float, double double, "
    "exact decimal(20,6), text string, bytes binary, day date, moment timestamp, local timestamp_ntz, "
    "list array<double>, map map<string,decimal(10,2)>, inner struct<a: byte, b: timestamp, c: array<string>>"
)
PLAIN = 14
"""So many columns are not nested."""

_moments = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1))
_in_utc = _moments.map(lambda moment: moment.replace(tzinfo=datetime.UTC))
_texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
_doubles = st.floats(width=64)
_row = st.tuples(
    st.booleans() | st.none(),
    st.integers(-128, 127) | st.none(),
    st.integers(-(2**15), 2**15 - 1) | st.none(),
    st.integers(-(2**31), 2**31 - 1) | st.none(),
    st.integers(-(2**63), 2**63 - 1) | st.none(),
    st.floats(width=32) | st.none(),
    _doubles | st.none(),
    st.decimals(-(10**13), 10**13, places=6) | st.none(),
    _texts | st.none(),
    st.binary(max_size=8) | st.none(),
    st.dates(datetime.date(1, 1, 1)) | st.none(),
    _in_utc | st.none(),
    _moments | st.none(),
    st.lists(_doubles | st.none(), max_size=3) | st.none(),
    st.dictionaries(_texts, st.decimals(-(10**7), 10**7, places=2) | st.none(), max_size=2) | st.none(),
    st.tuples(st.integers(-128, 127) | st.none(), _in_utc | st.none(), st.lists(_texts, max_size=2)) | st.none(),
)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    if programs() is None:
        pytest.skip(WHY_NOT)
    with Postgres() as started:
        yield started


@pytest.mark.parametrize("form", list(TableFormat), ids=lambda form: str(form.value))
def test_values_are_read_back_unchanged(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, form: TableFormat, request: pytest.FixtureRequest
) -> None:
    schema = spark.createDataFrame([], DDL).schema
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")  # a table has no session's zone

    @settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
    @given(rows=st.lists(_row, min_size=1, max_size=30))
    def check(rows: list[tuple[Any, ...]]) -> None:
        if form is TableFormat.SQLITE:  # it has no NaN
            rows = [tuple(None if _is_nan(value) else value for value in row) for row in rows]
        numbered = [(number, *row) for number, row in enumerate(rows)]
        folder = tmp_path_factory.mktemp("types")
        new_database = request.getfixturevalue("postgres").new_database if form is TableFormat.POSTGRESQL else str
        options = world_of(form, folder, new_database).options
        query = Query(folder / "checkpoint", options)
        frame = spark.createDataFrame(numbered, schema)
        written = query.write_frame(0, frame)
        assert written.rows == len(rows)
        if form in (TableFormat.DELTA, TableFormat.ICEBERG):
            found = spark.read.parquet(*_files(options)).select(*schema.names)
            assert _all(found) == _all(frame)
        else:
            assert _from_database(options, schema) == [_as_database(row, form) for row in numbered]

    try:
        check()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _files(options: TableOptions) -> list[str]:
    if options.format is TableFormat.DELTA:
        return DeltaTable(options.table).file_uris()
    table = load_catalog("default", **options.catalog).load_table(options.table)
    return [str(task.file.file_path) for task in table.scan().plan_files()]


def _all(rows: DataFrame) -> list[str]:
    """As texts, in which NaN equals itself."""
    return sorted(repr(row.asDict(recursive=True)) for row in rows.collect())


def _from_database(options: TableOptions, schema: StructType) -> list[tuple[Any, ...]]:
    names = ", ".join(f'"{name}"' for name in schema.names[:PLAIN])
    statement = f'SELECT {names} FROM flights ORDER BY "n"'
    if options.format is TableFormat.SQLITE:
        rows = sqlite3.connect(options.url).execute(statement).fetchall()
    else:
        with psycopg.connect(options.url, options="-c timezone=UTC") as connection:
            exact = statement.replace('"single"', '"single"::double precision')  # its text is the shortest of a float4
            rows = connection.execute(exact.encode()).fetchall()
    return [tuple("nan" if _is_nan(value) else value for value in row) for row in rows]


def _as_database(row: tuple[Any, ...], form: TableFormat) -> tuple[Any, ...]:
    """The plain columns of a row, as the page's table of types says."""

    def one(value: Any) -> Any:
        if _is_nan(value):
            return "nan"
        if form is TableFormat.POSTGRESQL:
            return value
        match value:
            case Decimal():
                return format(value, "f")
            case datetime.datetime():
                text = value.replace(tzinfo=None).isoformat(" ", "microseconds")
                return text if value.tzinfo is None else f"{text}Z"
            case datetime.date():
                return value.isoformat()
            case _:
                return value

    return tuple(one(value) for value in row[:PLAIN])


@pytest.mark.parametrize("form", [TableFormat.POSTGRESQL, TableFormat.SQLITE], ids=lambda form: str(form.value))
def test_nested_values_are_json_that_spark_reads_back(
    spark: SparkSession, tmp_path: Path, form: TableFormat, request: pytest.FixtureRequest
) -> None:
    new_database = request.getfixturevalue("postgres").new_database if form is TableFormat.POSTGRESQL else str
    options = world_of(form, tmp_path, new_database).options
    query = Query(tmp_path / "checkpoint", options)
    query.plan(0)
    frame = spark.sql(
        "select array(1.5D, null, double('NaN')) as list, map('k', cast(1.25 as decimal(10,2))) as map, "
        "named_struct('a', 1Y, 'b', timestamp'2024-01-02 03:04:05.678901', 'c', cast(null as string)) as inner"
    )
    query.write_frame(0, frame)
    if form is TableFormat.SQLITE:
        row = sqlite3.connect(options.url).execute('SELECT "list", "map", "inner" FROM flights').fetchone()
    else:
        with psycopg.connect(options.url) as connection:
            found = connection.execute('SELECT "list", "map", "inner" FROM flights').fetchone()
            assert found is not None
            row = tuple(json.dumps(value) for value in found)
    back = spark.createDataFrame([row], "list string, map string, inner string").selectExpr(
        "from_json(list, 'array<double>') as list",
        "from_json(map, 'map<string,decimal(10,2)>') as map",
        "from_json(inner, 'struct<a: byte, b: timestamp, c: string>') as inner",
    )
    assert _all(back) == _all(frame)


@pytest.mark.parametrize("form", [TableFormat.DELTA, TableFormat.ICEBERG], ids=lambda form: str(form.value))
def test_a_column_without_nulls_in_the_first_batch_may_have_nulls_later(
    spark: SparkSession, tmp_path: Path, form: TableFormat
) -> None:
    """Spark infers NOT NULL for literals and built structs, and makes tables without it."""
    options = world_of(form, tmp_path, str).options
    built = "named_struct('x', n, 'l', array(n), 'm', map(n, n))"
    numbers = spark.range(2).selectExpr("cast(id as int) as n")
    first = numbers.selectExpr("n", f"{built} as s")
    assert first.schema["s"].dataType.simpleString() == "struct<x:int,l:array<int>,m:map<int,int>>"
    assert '"nullable":true' not in first.schema["s"].dataType.json()
    Query(tmp_path / "first", options, query_id="first").write_frame(0, first)
    later = numbers.selectExpr("n", f"if(n = 0, null, {built.replace(', n,', ', nullif(n, 1),', 1)}) as s")
    Query(tmp_path / "later", options, query_id="later").write_frame(0, later)
    found = spark.read.parquet(*_files(options)).select("n", "s")
    assert _all(found) == _all(first.union(later))
    first.write.parquet(str(tmp_path / "sparks"))
    assert found.schema == spark.read.parquet(str(tmp_path / "sparks")).schema
    if form is TableFormat.DELTA:
        made = StructType.fromJson(json.loads(DeltaTable(options.table).schema().to_json()))
        assert made == found.schema
