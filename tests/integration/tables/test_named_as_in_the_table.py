"""Columns, keys and partitions that a table has in letters of another case, or by itself: taken as Spark takes them."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from oncelog.errors import ConfigError
from oncelog.spark.tables.options import Mode, TableFormat
from tests.integration.tables.conftest import ONE_OF_EACH_ENGINE
from tests.integration.tables.worlds import DeltaWorld, IcebergWorld, Query, World, with_mode

pytestmark = pytest.mark.spark

LAKES = pytest.mark.parametrize("form", [TableFormat.DELTA, TableFormat.ICEBERG], indirect=True)


def stored(world: World) -> list[dict[str, Any]]:
    """The rows of a table of files, in the order of their ids."""
    if isinstance(world, DeltaWorld):
        rows = world.table().to_pyarrow_table()
    else:
        assert isinstance(world, IcebergWorld)
        rows = world.catalog().load_table(world.options.table).scan().to_arrow()
    return sorted(rows.to_pylist(), key=lambda row: (row["id"] or 0, str(row.get("day"))))


@ONE_OF_EACH_ENGINE
@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_columns_and_keys_match_the_tables_regardless_of_case(spark: SparkSession, world: World, mode: Mode) -> None:
    upserts = mode is Mode.UPSERT
    made = Query(world.folder / "first", with_mode(world, mode, ("id",) if upserts else ()), query_id="first")
    made.write_frame(0, spark.sql("SELECT 1L AS id, 'old' AS text"))
    options = replace(with_mode(world, mode, ("Id",) if upserts else ()), latest_by=("TEXT",) if upserts else ())
    query = Query(world.folder / "checkpoint", options)
    query.write_frame(0, spark.sql("SELECT 'new' AS Text, 2L AS ID"))
    query.write_frame(1, spark.sql("SELECT 'zero' AS TEXT, 1L AS iD"))
    assert (
        world.read()
        == {
            Mode.APPEND: [(1, "old"), (1, "zero"), (2, "new")],
            Mode.UPSERT: [(1, "zero"), (2, "new")],
            Mode.COMPLETE: [(1, "zero")],
        }[mode]
    )


@LAKES
def test_columns_are_added_only_if_no_column_matches_regardless_of_case(spark: SparkSession, world: World) -> None:
    query = Query(world.folder / "checkpoint", replace(world.options, evolve=True))
    query.write_frame(0, spark.sql("SELECT 1L AS id, 'a' AS text, named_struct('City', 'x', 'Zip', 1) AS place"))
    more = "SELECT 2L AS ID, 'b' AS text, named_struct('city', 'y', 'zip', 2) AS Place, 7 AS n"
    query.write_frame(1, spark.sql(more))
    assert stored(world) == [
        {"id": 1, "text": "a", "place": {"City": "x", "Zip": 1}, "n": None},
        {"id": 2, "text": "b", "place": {"City": "y", "Zip": 2}, "n": 7},
    ]


@pytest.mark.parametrize("form", [TableFormat.POSTGRESQL, TableFormat.ICEBERG], indirect=True)
def test_column_that_matches_two_table_columns_is_refused_until_the_query_says_which(
    spark: SparkSession, world: World
) -> None:
    """Delta and SQLite have no two columns that differ in case alone."""
    if isinstance(world, IcebergWorld):
        world.catalog().create_namespace("lake")
        columns = [("id", pa.int64()), ("ID", pa.int64()), ("text", pa.string())]
        world.catalog().create_table(world.options.table, pa.schema(columns))
    else:
        with psycopg.connect(world.options.url) as connection:
            connection.execute('CREATE TABLE flights (id bigint, "ID" bigint, text text)')
    query = Query(world.folder / "checkpoint", world.options)
    rows = spark.sql("SELECT 1L AS Id, 'a' AS text")
    with pytest.raises(ConfigError, match=r"has id and ID: name it in the query as one of them, with AS id"):
        query.write_frame(0, rows)
    query.write_frame(0, rows.withColumnRenamed("Id", "id"))
    assert world.read() == [(1, "a")]


def test_rows_with_two_columns_that_differ_in_case_are_refused(world: World) -> None:
    twice = StructType([StructField("id", LongType()), StructField("ID", LongType())])
    with pytest.raises(ConfigError, match="have two columns named id: give one another name"):
        Query(world.folder / "checkpoint", world.options).write(0, [], schema=twice)


@pytest.mark.parametrize("mode", list(Mode), ids=str)
@LAKES
def test_rows_are_partitioned_by_the_partition_columns_of_the_table(
    spark: SparkSession, world: World, mode: Mode
) -> None:
    """Rows without a column of the partitions have NULL there, as Delta-Spark and Iceberg write them."""
    made = Query(world.folder / "first", replace(world.options, partition_by=("day", "text")), query_id="first")
    made.write_frame(0, spark.sql("SELECT 1L AS id, 'x' AS text, date'2024-02-28' AS day"))
    query = Query(world.folder / "checkpoint", with_mode(world, mode, ("id",) if mode is Mode.UPSERT else ()))
    query.write_frame(0, spark.sql("SELECT 1L AS id, 'y' AS TEXT, date'2024-02-29' AS Day"))
    query.write_frame(1, spark.sql("SELECT 3L AS id"))
    old = {"id": 1, "text": "x", "day": datetime.date(2024, 2, 28)}
    later = {"id": 1, "text": "y", "day": datetime.date(2024, 2, 29)}
    last = {"id": 3, "text": None, "day": None}
    assert stored(world) == {Mode.APPEND: [old, later, last], Mode.UPSERT: [later, last], Mode.COMPLETE: [last]}[mode]
    if isinstance(world, DeltaWorld):
        files = pa.table(world.table().get_add_actions()).to_pylist()
        assert all(set(one["partition"]) == {"day", "text"} for one in files)


@LAKES
def test_tasks_partition_their_files_by_the_partition_columns_of_the_table(spark: SparkSession, world: World) -> None:
    made = Query(world.folder / "first", replace(world.options, partition_by=("day",)), query_id="first")
    made.write_frame(0, spark.sql("SELECT 0L AS id, 'x' AS text, 0 AS day"))
    query = Query(world.folder / "checkpoint", world.options)
    rows = spark.sql("SELECT id + 1 AS ID, repeat('x', 400) AS text, cast(id % 3 AS int) AS Day FROM range(6000)")
    assert query.write_frame(0, rows.coalesce(1)).path == "executors"
    assert [(row["id"], row["day"]) for row in stored(world)] == [(0, 0), *((n + 1, n % 3) for n in range(6000))]
    query.write_frame(1, spark.sql("SELECT 1 AS day"))
    assert [row["id"] for row in stored(world)].count(None) == 1


@pytest.mark.parametrize("given", [("TEXT",), ()], ids=str)
@LAKES
def test_partition_columns_other_than_those_of_the_table_are_refused(world: World, given: tuple[str, ...]) -> None:
    made = Query(world.folder / "first", replace(world.options, partition_by=("text",)), query_id="first")
    made.run(0, [(1, "a")])
    Query(world.folder / "checkpoint", replace(world.options, partition_by=given)).run(0, [(2, "b")])
    with pytest.raises(ConfigError, match="is partitioned by text, and partitionBy says id: leave it out, or set it"):
        Query(world.folder / "other", replace(world.options, partition_by=("id",)), query_id="o").run(0, [(3, "c")])
    assert world.read() == [(1, "a"), (2, "b")]
