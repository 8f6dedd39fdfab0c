"""Tables that are changed by hand between the tasks' files and the commit: a batch that no longer fits is refused."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.types import StringType as IcebergString
from pyspark.sql.types import DecimalType, StructField, StructType

from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.sink.engine import BatchStep
from oncelog.spark.tables.inline import inline_part
from oncelog.spark.tables.lake.parquet import _by_partition, _partition_value
from oncelog.spark.tables.options import TableFormat
from oncelog.spark.tables.store import WrittenPart
from tests.integration.tables.test_conflicts import once_at
from tests.integration.tables.worlds import IcebergWorld, PostgresWorld, Query, World, arrow

TEXT = "x" * 400_000
"""Rows of this size are written by the task."""


@pytest.fixture
def query(world: World) -> Query:
    query = Query(world.folder / "checkpoint", world.options)
    query.run(0, [(0, "a")])
    return query


def written(query: Query) -> Callable[[], Sequence[WrittenPart]]:
    return lambda: list(query.store.task_writer()(iter(arrow([(1, TEXT)]).to_batches())))


@pytest.mark.parametrize("form", [TableFormat.DELTA], indirect=True)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"data": arrow([(0, "a")]), "partition_by": ["id"]},
            "changed its columns or partitions while a batch was written",
        ),
        ({"data": pa.table({"id": ["0"], "text": ["a"]})}, "Column id of .* is string"),
        (None, "got the CHECK constraint small .* while a batch was written"),
    ],
    ids=["partitions", "type", "constraint"],
)
def test_a_batch_is_refused_if_its_delta_table_was_changed_meanwhile(
    world: World, query: Query, change: dict[str, object] | None, why: str
) -> None:
    def act() -> None:
        if change is None:
            DeltaTable(world.options.table).alter.add_constraint({"small": "id < 1"})
        else:
            write_deltalake(world.options.table, mode="overwrite", schema_mode="overwrite", **change)  # type: ignore[call-overload]

    with pytest.raises(OncelogError, match=why):
        query.write(1, [], made=written(query), observe=once_at(BatchStep.MARKER_ADDED, act))
    assert DeltaTable(world.options.table).to_pyarrow_table().num_rows == 1


@pytest.mark.parametrize("form", [TableFormat.ICEBERG], indirect=True)
@pytest.mark.parametrize("change", ["column", "partitions"])
def test_a_batch_is_refused_or_written_depending_on_a_concurrent_change_of_its_iceberg_table(
    world: World, query: Query, change: str
) -> None:
    """A column that was dropped and added again has another id, so that what a file has of it would be NULL."""
    assert isinstance(world, IcebergWorld)
    catalog = world.catalog()

    def act() -> None:
        if change == "partitions":
            with catalog.load_table(world.options.table).update_spec() as spec:
                spec.add_identity("id")
            return
        with catalog.load_table(world.options.table).update_schema(allow_incompatible_changes=True) as columns:
            columns.delete_column("text")
        with catalog.load_table(world.options.table).update_schema() as columns:
            columns.add_column("text", IcebergString())

    with pytest.raises(OncelogError, match="changed its columns or partitions while a batch was written"):
        query.write(1, [], made=written(query), observe=once_at(BatchStep.MARKER_ADDED, act))
    options = replace(world.options, partition_by=("id",) if change == "partitions" else ())
    Query(query.root, options).run(1, [(1, "b")])
    assert [number for number, _ in world.read()] == [0, 1]


@pytest.mark.parametrize("form", [TableFormat.POSTGRESQL], indirect=True)
def test_postgresql_rounds_no_value_if_a_column_type_is_changed_during_the_batch(world: World) -> None:
    assert isinstance(world, PostgresWorld)
    schema = StructType([StructField("price", DecimalType(10, 2))])
    made = [inline_part(pa.table({"price": pa.array([Decimal("1.25")], pa.decimal128(10, 2))}).to_batches())]
    query = Query(world.folder / "checkpoint", world.options)
    query.run(0, [], schema=schema)

    def act() -> None:
        world._execute("ALTER TABLE flights ALTER price TYPE numeric(10,1)")

    observe = once_at(BatchStep.MARKER_ADDED, act)
    with pytest.raises(ConfigError, match=r"Column price of .* is numeric\(10,1\), and was numeric\(10,2\) when"):
        query.write(1, [], schema=schema, made=lambda: made, observe=observe)
    assert world._execute("SELECT * FROM flights") == []


@pytest.mark.parametrize("form", [TableFormat.POSTGRESQL], indirect=True)
def test_a_database_of_another_encoding_stores_the_same_characters(world: World) -> None:
    assert isinstance(world, PostgresWorld)
    with psycopg.connect(world.options.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS latin")
        connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
        name = connection.info.dbname
    world.options = replace(world.options, url=world.options.url.replace(f"dbname={name}", "dbname=latin"))
    query = Query(world.folder / "checkpoint", world.options)
    query.run(0, [(0, "é")])
    query.run(1, [], made=lambda: list(query.store.task_writer()(iter(arrow([(1, "ü" * 400_000)]).to_batches()))))
    assert world._execute("SELECT length(text) FROM flights ORDER BY id") == [(1,), (400_000,)]


@pytest.mark.parametrize(
    ("zone", "text"), [(None, "0044-03-15 12:00:00.000000"), (datetime.UTC, "0044-03-15T12:00:00.000000Z")]
)
def test_partition_of_an_early_year_has_four_digits(zone: datetime.tzinfo | None, text: str) -> None:
    """A moment has its zone: Delta-Spark reads one without as a time of the session's zone."""
    assert _partition_value("moment", datetime.datetime(44, 3, 15, 12, tzinfo=zone)) == text


def test_partition_of_a_year_that_python_does_not_have_is_refused() -> None:
    rows = pa.table({"d": pa.array([4_000_000], pa.date32()), "n": [1]}).to_batches()[0]
    with pytest.raises(OncelogError, match="outside the years 1 to 9999 in a partition column"):
        list(_by_partition(rows, ("d",)))
