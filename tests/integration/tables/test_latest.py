"""Which row of a key is the latest: in a batch, and beside the row that each kind of table has."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from deltalake import DeltaTable
from py4j.protocol import Py4JJavaError
from pyiceberg.catalog import load_catalog
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.private_apis.java_errors import our_sentence
from oncelog.spark.tables.databases.sql_names import of_table
from oncelog.spark.tables.latest import later
from oncelog.spark.tables.options import Mode, TableFormat, TableOptions, parse_table_options
from tests.integration.tables.conftest import ONE_OF_EACH_ENGINE
from tests.integration.tables.worlds import Query, World

ROWS = "id long, at timestamp, n int, text string"
Row = tuple[int, int | None, int | None, str]


def query_of(world: World, *latest_by: str, **more: Any) -> Query:
    options = replace(world.options, mode=Mode.UPSERT, key=("id",), latest_by=latest_by, **more)
    return Query(world.folder / "checkpoint", options)


def moment(second: int | None) -> datetime.datetime | None:
    return None if second is None else datetime.datetime(2024, 1, 1, 0, 0, second, tzinfo=datetime.UTC)


def write(spark: SparkSession, query: Query, batch_id: int, *rows: Row) -> None:
    made = [(key, moment(second), number, text) for key, second, number, text in rows]
    query.write_frame(batch_id, spark.createDataFrame(made, ROWS))


def read(options: TableOptions, *names: str) -> list[tuple[Any, ...]]:
    columns = ", ".join(names)
    match options.format:
        case TableFormat.SQLITE:
            rows = sqlite3.connect(options.url).execute(f"SELECT {columns} FROM flights").fetchall()
        case TableFormat.POSTGRESQL:
            with psycopg.connect(options.url) as connection:
                rows = connection.execute(f"SELECT {columns} FROM flights".encode()).fetchall()
        case TableFormat.DELTA:
            found = DeltaTable(options.table).to_pyarrow_table().select(list(names)).to_pylist()
            rows = [tuple(row.values()) for row in found]
        case TableFormat.ICEBERG:
            found = load_catalog("default", **options.catalog).load_table(options.table).scan().to_arrow()
            rows = [tuple(row.values()) for row in found.select(list(names)).to_pylist()]
    return sorted(rows)


def test_the_latest_row_of_each_key_in_a_batch_is_written_and_an_older_batch_replaces_no_row(
    spark: SparkSession, world: World
) -> None:
    query = query_of(world, "at")
    write(spark, query, 0, (1, 2, 0, "b"), (1, 1, 0, "a"), (1, None, 0, "never"), (2, 9, 0, "x"), (3, None, 0, "n"))
    assert read(query.options, "id", "text") == [(1, "b"), (2, "x"), (3, "n")]
    write(spark, query, 1, (1, 1, 0, "late"), (2, 9, 0, "same"), (3, 0, 0, "first"), (4, 5, 0, "new"))
    assert read(query.options, "id", "text") == [(1, "b"), (2, "same"), (3, "first"), (4, "new")]
    write(spark, query, 2, (1, None, 0, "null"), (3, 1, 0, "second"), (3, 0, 0, "first again"))
    assert read(query.options, "id", "text") == [(1, "b"), (2, "same"), (3, "second"), (4, "new")]


@ONE_OF_EACH_ENGINE
def test_several_order_columns_are_compared_in_the_given_order(spark: SparkSession, world: World) -> None:
    query = query_of(world, "at", "n")
    write(spark, query, 0, (1, 2, 1, "a"), (1, 2, 3, "c"), (1, 1, 9, "z"), (2, None, 2, "b"))
    assert read(query.options, "id", "text") == [(1, "c"), (2, "b")]
    write(spark, query, 1, (1, 2, 2, "older"), (2, None, 3, "newer"))
    assert read(query.options, "id", "text") == [(1, "c"), (2, "newer")]


@ONE_OF_EACH_ENGINE
def test_texts_in_an_order_column_are_compared_by_their_bytes(spark: SparkSession, world: World) -> None:
    """A collation of the database would say that B is later than a."""
    query = query_of(world, "text")
    write(spark, query, 0, (1, 0, 1, "a"), (1, 0, 2, "B"))
    assert read(query.options, "n") == [(1,)]
    write(spark, query, 1, (1, 0, 3, "B"))
    assert read(query.options, "n") == [(1,)]
    write(spark, query, 2, (1, 0, 4, "ä"))
    assert read(query.options, "n") == [(4,)]


SORTED_ALIKE = [
    (TableFormat.POSTGRESQL, "citext", "string", "'B', 'a'"),
    (TableFormat.POSTGRESQL, "order_status", "string", "'z', 'a'"),
    (TableFormat.POSTGRESQL, "char(3)", "string", "'B', 'a'"),
    (TableFormat.POSTGRESQL, "numeric", "bigint", "9, 10"),
    (TableFormat.POSTGRESQL, "timestamp", "date", "date'1999-12-31', date'10000-01-01'"),
    (TableFormat.SQLITE, "TEXT COLLATE NOCASE", "string", "'B', 'a'"),
    (TableFormat.SQLITE, "", "bigint", "9, 10"),
    (TableFormat.SQLITE, "NUMERIC", "boolean", "true, false"),
    (TableFormat.SQLITE, "DATETIME", "string", "'2024-01-02 03:04:05', '2023-12-31 23:59:59'"),
]
"""A column's type, a type of rows, and two values that the database or their texts may sort differently than Spark."""


def version_table(world: World, column_type: str) -> None:
    table = f"CREATE TABLE flights (id bigint PRIMARY KEY, version {column_type}, n bigint)"
    if world.options.format is TableFormat.SQLITE:
        with contextlib.closing(sqlite3.connect(world.options.url)) as connection:
            connection.execute(table)
    else:
        with psycopg.connect(world.options.url) as connection:
            connection.execute(
                f"CREATE EXTENSION citext; CREATE TYPE order_status AS ENUM ('z', 'a'); {table}".encode()
            )


@pytest.mark.parametrize(("form", "column_type", "kind", "values"), SORTED_ALIKE, indirect=["form"])
def test_the_latest_row_does_not_depend_on_how_rows_are_divided_into_batches(
    spark: SparkSession, world: World, column_type: str, kind: str, values: str
) -> None:
    version_table(world, column_type)
    query = query_of(world, "version")
    versions = f"SELECT cast(version AS {kind}) AS version, n FROM VALUES ({values.replace(', ', ', 1), (')}, 2)"
    rows = spark.sql(f"{versions} AS given(version, n)")
    expected = rows.selectExpr("max_by(n, version)").head()
    assert expected is not None
    first = "n = 1 AND id = 2 OR n = 2 AND id = 3"
    keys = spark.sql("SELECT explode(array(1L, 2L, 3L)) AS id")
    query.write_frame(0, keys.crossJoin(rows).where(f"id = 1 OR {first}"))
    query.write_frame(1, keys.crossJoin(rows).where(f"id <> 1 AND NOT ({first})"))
    assert read(query.options, "id", "n") == [(key, expected[0]) for key in (1, 2, 3)]


SORTED_OTHERWISE = [
    (TableFormat.POSTGRESQL, "text", "10L", r"(ALTER TABLE .*), or"),
    (TableFormat.POSTGRESQL, "uuid", "'6e2ee3a9-9aee-4a0a-8a7a-3a5d4a3e2d1c'", r"(ALTER TABLE .*), or"),
    (TableFormat.POSTGRESQL, "text", "timestamp'2024-01-02 03:04:05Z'", r"(ALTER TABLE .*), or"),
    (TableFormat.POSTGRESQL, "integer", "'10'", r"write (.*) in the query"),
    (TableFormat.POSTGRESQL, "timestamptz", "'2024-01-02 03:04:05Z'", r"write (.*) in the query"),
    (TableFormat.SQLITE, "TEXT", "10L", ""),
    (TableFormat.SQLITE, "INTEGER", "'10'", r"write (.*) in the query"),
    (TableFormat.SQLITE, "DATETIME", "'10'", r"write (.*) in the query"),
]


@pytest.mark.parametrize(("form", "column_type", "value", "advice"), SORTED_OTHERWISE, indirect=["form"])
def test_an_order_column_that_sorts_differently_in_the_table_is_refused_with_advice_that_works(
    spark: SparkSession, world: World, column_type: str, value: str, advice: str
) -> None:
    version_table(world, column_type)
    query = query_of(world, "version")
    rows = spark.sql(f"SELECT 1L AS id, {value} AS version, 1 AS n")
    says = r"sorts differently than .* in the rows, so option latestBy|would sort it as a number, while latestBy"
    with pytest.raises(OncelogError, match=says) as refused:
        query.write_frame(0, rows)
    found = re.search(advice, str(refused.value))
    assert found is not None
    if found[0].startswith("ALTER"):
        with psycopg.connect(world.options.url) as connection:
            connection.execute(found[1].encode())
    elif found[0]:
        rows = rows.selectExpr("id", f"{found[1]} AS version", "n")
    else:
        return
    query.write_frame(0, rows)
    assert read(query.options, "id", "n") == [(1, 1)]


@ONE_OF_EACH_ENGINE
def test_rows_with_equal_order_columns_must_be_identical(spark: SparkSession, world: World) -> None:
    query = query_of(world, "at")
    write(spark, query, 0, (1, 2, 0, "a"), (1, 2, 0, "a"), (1, 1, 7, "older"), (1, 1, 8, "older"))
    assert read(query.options, "id", "text") == [(1, "a")]
    with pytest.raises(Py4JJavaError) as caught:
        write(spark, query, 1, (1, 3, 0, "a"), (1, 3, 0, "b"))
    assert 'with the key {"id":1} has the same at as another one and other values: name more columns in latestBy' in (
        our_sentence(str(caught.value))
    )
    write(spark, query_of(world, "at", "text"), 1, (1, 3, 0, "a"), (1, 3, 0, "b"))
    assert read(query.options, "id", "text") == [(1, "b")]


@ONE_OF_EACH_ENGINE
@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz", "array<timestamp>", "struct<at: timestamp>"])
def test_rows_whose_order_columns_differ_by_a_microsecond_do_not_tie(
    spark: SparkSession, world: World, kind: str
) -> None:
    query = query_of(world, "n")
    times = [f"timestamp'2024-01-01 00:00:00.00000{digit}Z'" for digit in (1, 2)]
    made = {"array": "array({})", "struct": "named_struct('at', {})"}.get(kind.partition("<")[0], "cast({} AS KIND)")
    rows = " UNION ALL ".join(
        f"SELECT 1L AS id, 1 AS n, {made.format(time).replace('KIND', kind)} AS at" for time in times
    )
    with pytest.raises(Py4JJavaError) as caught:
        query.write_frame(0, spark.sql(rows))
    assert "has the same n as another one and other values" in our_sentence(str(caught.value))


RECORDS = "id long, text string, topic string, partition int, offset long"


@pytest.mark.parametrize("stored", [True, pytest.param(False, marks=pytest.mark.soak)], ids=["stored", "left out"])
def test_offsets_decide_which_row_is_the_latest_if_rows_have_offsets(
    spark: SparkSession, world: World, stored: bool
) -> None:
    """A table that lacks the source's columns gets the latest row without them."""
    query = query_of(world)
    first = "SELECT 7L as id, '' as text"
    query.write_frame(0, spark.sql(first + (", 't' as topic, 0 as partition, 0L as offset" if stored else "")))
    rows = [(1, "b", "t", 0, 11), (1, "a", "t", 0, 10), (2, "x", "t", 1, 3)]
    query.write_frame(1, spark.createDataFrame(rows, RECORDS))
    assert read(query.options, "id", "text")[:2] == [(1, "b"), (2, "x")]
    layout = query.store.layout()
    assert layout is not None and ("partition" in layout.columns) == stored
    with pytest.raises(Py4JJavaError, match="is in several partitions or topics, whose offsets do not say"):
        query.write_frame(2, spark.createDataFrame([(1, "c", "t", 0, 20), (1, "d", "t", 1, 5)], RECORDS))
    with pytest.raises(Py4JJavaError, match="is in several partitions or topics, whose offsets do not say"):
        query.write_frame(2, spark.createDataFrame([(1, "c", "t", 0, 20), (1, "d", "u", 0, 5)], RECORDS))


@ONE_OF_EACH_ENGINE
def test_two_rows_of_a_key_without_an_order_column_are_refused_with_advice_that_works(
    spark: SparkSession, world: World
) -> None:
    with pytest.raises((OncelogError, PySparkException), match="name the columns that say it in latestBy"):
        write(spark, query_of(world), 0, (1, 1, 0, "a"), (1, 2, 0, "b"))
    write(spark, query_of(world, "at"), 0, (1, 1, 0, "a"), (1, 2, 0, "b"))
    assert read(world.options, "id", "text") == [(1, "b")]


@ONE_OF_EACH_ENGINE
def test_null_in_the_key_is_refused_even_if_there_is_an_order_column(spark: SparkSession, world: World) -> None:
    with pytest.raises(Py4JJavaError, match="has NULL in its key id: leave such rows out"):
        query_of(world, "n").write_frame(0, spark.sql("SELECT cast(null as long) as id, 1 as n"))


@ONE_OF_EACH_ENGINE
def test_order_columns_can_have_any_name(spark: SparkSession, world: World) -> None:
    query = query_of(world, 'a.b"c')
    text = 'SELECT 1L as id, {} as `a.b"c`'
    query.write_frame(0, spark.sql(text.format(2) + " UNION ALL " + text.format(1)))
    query.write_frame(1, spark.sql(text.format(0)))
    query.write_frame(2, spark.sql(text.format(3)))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"latestBy": "at"}, "for mode = upsert: set it, or leave it out"),
        ({"latestBy": "id", "mode": "upsert", "key": "id"}, "both name id, which all rows of a key have"),
        ({"latestBy": "at, at", "mode": "upsert", "key": "id"}, "names a column twice"),
    ],
)
def test_options_without_effect_are_refused(given: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse_table_options({"format": "delta", "table": "t"} | given)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ("cast(1 as double)", "cannot be in option latestBy"),
        ("array(1)", "cannot be in option latestBy"),
        ("'a' COLLATE UTF8_LCASE", r"n cannot be in option latestBy: .* write cast\(n as string\) in the query"),
        ("cast(1 as decimal(3,1))", "SQLite keeps decimals as text"),
    ],
)
@pytest.mark.parametrize("form", [TableFormat.SQLITE], indirect=True)
def test_unsuitable_order_columns_are_refused(spark: SparkSession, world: World, column: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        query_of(world, "n").write_frame(0, spark.sql(f"SELECT 1L as id, {column} as n"))


def test_the_sql_condition_compares_like_tuples_with_null_first() -> None:
    """Over all pairs of small tuples, by SQLite, against Python's order."""
    connection = sqlite3.connect(":memory:")
    order: Callable[[tuple[int | None, ...]], list[tuple[bool, int]]] = lambda row: [  # noqa: E731
        (value is not None, value or 0) for value in row
    ]
    text = later(("a", "b"), of_table, "target", "source")
    statement = f"SELECT {text} FROM (SELECT ? a, ? b) target, (SELECT ? a, ? b) source"
    values = list(itertools.product([None, 1, 2], repeat=2))
    for ours, theirs in itertools.product(values, values):
        ((found,),) = connection.execute(statement, (*ours, *theirs)).fetchall()
        assert found == int(order(ours) > order(theirs)), (ours, theirs)


@ONE_OF_EACH_ENGINE
def test_rows_of_other_queries_are_compared_with_the_order_columns_too(
    spark: SparkSession, world: World, tmp_path: Path
) -> None:
    """As when a topic is read again from its beginning, into a table that has the newest rows."""
    write(spark, query_of(world, "at"), 0, (1, 5, 0, "newest"))
    again = Query(tmp_path / "another", query_of(world, "at").options, query_id="another-0000")
    write(spark, again, 0, (1, 1, 0, "old"), (2, 1, 0, "other"))
    assert read(world.options, "id", "text") == [(1, "newest"), (2, "other")]
