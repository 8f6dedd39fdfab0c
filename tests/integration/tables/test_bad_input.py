"""Tables that do not fit the rows, and rows that do not fit a table: refused with the column and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import DoubleType, FloatType, IntegerType, LongType, StructField, StructType

from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.tables.columns import check_columns
from oncelog.spark.tables.inline import inline_part
from oncelog.spark.tables.options import Mode, TableFormat, TableOptions, parse_table_options
from oncelog.spark.tables.sink import open_store
from tests.integration.tables.worlds import SCHEMA, DeltaWorld, IcebergWorld, PostgresWorld, Query, World, world_of

WIDER = StructType([*SCHEMA.fields, StructField("more", IntegerType())])


@pytest.fixture
def query(world: World) -> Query:
    query = Query(world.folder / "checkpoint", world.options)
    query.run(0, [(0, "a")])
    return query


def wider(row: tuple[int, str, int]) -> list[Any]:
    table = pa.table({"id": [row[0]], "text": [row[1]], "more": pa.array([row[2]], pa.int32())})
    return [inline_part(table.to_batches())]


def test_a_column_that_the_table_lacks_is_refused_unless_the_option_adds_it(world: World, query: Query) -> None:
    with pytest.raises(ConfigError, match=r"has no column more: set evolve to true"):
        query.write(1, [], schema=WIDER, made=lambda: wider((1, "b", 7)))
    evolving = Query(query.root, replace(world.options, evolve=True))
    evolving.run(1, [], schema=WIDER, made=lambda: wider((1, "b", 7)))
    assert world.read() == [(0, "a"), (1, "b")]
    evolving.run(2, [(2, "c")])
    assert world.read() == [(0, "a"), (1, "b"), (2, "c")]


@pytest.mark.parametrize("form", [TableFormat.DELTA, TableFormat.ICEBERG], indirect=True)
def test_column_of_another_type_is_refused(world: World, query: Query) -> None:
    other = StructType([StructField("id", LongType()), StructField("text", DoubleType())])
    with pytest.raises(
        ConfigError, match=r"Column text of .* while the rows need double: cast it in the query, if string holds"
    ):
        query.write(1, [], schema=other)


def test_names_with_quotes_dots_and_spaces_are_written(
    form: TableFormat, tmp_path: Path, new_database: Callable[[], str]
) -> None:
    name, column = 'od"d.na me%', 'a "b".c%'
    world = world_of(form, tmp_path, new_database)
    table = {
        TableFormat.DELTA: str(tmp_path / name),
        TableFormat.ICEBERG: "lake.odd name",
    }.get(form, '"' + name.replace('"', '""') + '"')
    if form is TableFormat.DELTA:
        column = 'a"b".c%'  # Delta allows no space in columns
    schema = StructType([StructField(column, LongType())])
    query = Query(tmp_path / "checkpoint", replace(world.options, table=table, mode=Mode.UPSERT, key=(column,)))
    made = [inline_part(pa.table({column: pa.array([1, 2], pa.int64())}).to_batches())]
    query.run(0, [], schema=schema, made=lambda: made)
    again = Query(query.root, query.options)
    again.run(1, [], schema=schema, made=lambda: made)
    assert _numbers(world, replace(world.options, table=table), name, column) == [1, 2]


def _numbers(world: World, options: Any, name: str, column: str) -> list[int]:
    quoted = ['"' + text.replace('"', '""') + '"' for text in (column, name)]
    statement = f"SELECT {quoted[0]} FROM {quoted[1]} ORDER BY 1"
    match world:
        case DeltaWorld():
            from deltalake import DeltaTable

            return sorted(DeltaTable(options.table).to_pyarrow_table()[column].to_pylist())
        case IcebergWorld():
            rows = world.catalog().load_table(options.table).scan().to_arrow()
            return sorted(rows[column].to_pylist())
        case PostgresWorld():
            with psycopg.connect(options.url) as connection:
                return [row[0] for row in connection.execute(statement.encode()).fetchall()]
        case _:
            return [row[0] for row in sqlite3.connect(options.url).execute(statement)]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([1, None], "NULL in its key"),
        ([2, 1, 2], "2 rows with the key"),
    ],
)
def test_keys_that_identify_no_row_are_refused(world: World, values: list[int | None], why: str) -> None:
    schema = StructType([StructField("k", LongType())])
    query = Query(world.folder / "checkpoint", replace(world.options, mode=Mode.UPSERT, key=("k",)))
    made = [inline_part(pa.table({"k": pa.array(values, pa.int64())}).to_batches())]
    with pytest.raises(OncelogError, match=why):
        query.write(0, [], schema=schema, made=lambda: made)


MISPLACED: list[tuple[TableFormat, str, dict[str, Any], str]] = [
    (
        TableFormat.ICEBERG,
        "a.b",
        {"type": "nosuch"},
        "looked up by pyiceberg .* is not a valid CatalogType.*catalog.type",
    ),
    (TableFormat.ICEBERG, "a.b", {"type": "sql"}, r"URI missing, .*: correct the options catalog\.\* .*catalog\.uri"),
    (TableFormat.ICEBERG, "a.b", {"type": "sql", "uri": "sqlite:///FOLDER/c.db"}, "made by .*No default .*warehouse"),
    (TableFormat.ICEBERG, "a.b.c", {}, "hierarchical namespaces are not supported.* or the name of the table"),
    (TableFormat.ICEBERG, "a..c", {}, "contains an empty segment"),
    (TableFormat.ICEBERG, "a.b", {"warehouse": "foo://x/y"}, "Unrecognized filesystem type in URI: foo"),
    (TableFormat.ICEBERG, "a.b", {"py-catalog-impl": "no.such.Catalog", "type": ""}, "Could not initialize Catalog"),
    (
        TableFormat.POSTGRESQL,
        "o",
        {"url": "jdbc:postgresql://h/d?password=hidden"},
        "not an address .* without jdbc: or",
    ),
    (
        TableFormat.POSTGRESQL,
        "o",
        {"url": "postgresql+psycopg://u:hidden@h/d"},
        "write postgresql://user@host:5432/database",
    ),
    (
        TableFormat.POSTGRESQL,
        "o",
        {"url": "postgresql://h/d?nonsense=hidden"},
        r"invalid URI query parameter: .nonsense.\)",
    ),
    (TableFormat.POSTGRESQL, "o", {"url": "postgresql://u:hid%zzden@h/d"}, "in a password % is %25, @ is %40"),
    (
        TableFormat.DELTA,
        "s3://bucket/t",
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
        "S3 error: .*: URL scheme is not allowed$",
    ),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("form", "table", "given", "says"), MISPLACED)
def test_an_invalid_table_location_is_refused_in_one_sentence(
    tmp_path: Path, form: TableFormat, table: str, given: dict[str, str], says: str
) -> None:
    given = {name: value.replace("FOLDER", str(tmp_path)) for name, value in given.items()}
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"file://{tmp_path}"}
    match form:
        case TableFormat.ICEBERG:
            alone = "uri" in given or given.get("type") in ("sql", "")
            made = given if alone else catalog | given
            options = TableOptions(form, table, catalog={name: value for name, value in made.items() if value})
        case TableFormat.POSTGRESQL:
            options = TableOptions(form, table, url=given["url"])
        case _:
            login = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
            options = TableOptions(form, table, storage=given | login)
    with pytest.raises(OncelogError, match=says) as refused:
        open_store(options).prepare(SCHEMA, options)
    assert "\n" not in str(refused.value) and "hid" not in str(refused.value)


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_folder_of_parquet_files_is_refused_as_a_delta_table(tmp_path: Path, partitioned: bool) -> None:
    """Delta-Spark refuses it too: whoever reads the files would find the rows of both."""
    rows = pa.table({"id": [1], "text": ["a"]})
    pq.write_to_dataset(rows, tmp_path / "lake", partition_cols=["text"] if partitioned else None)
    options = TableOptions(TableFormat.DELTA, str(tmp_path / "lake"))
    store = open_store(options)
    for ask in (store.prepare, store.compare):
        with pytest.raises(
            ConfigError, match=r"is no Delta table, and its folder has .* \(CONVERT TO DELTA parquet\.`"
        ):
            ask(SCHEMA, options)
    assert not (tmp_path / "lake" / "_delta_log").exists()


def test_folder_with_other_files_becomes_a_delta_table(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "README.md").write_text("orders")
    options = TableOptions(TableFormat.DELTA, str(tmp_path / "lake"))
    assert open_store(options).prepare(SCHEMA, options)


def test_database_in_memory_is_refused() -> None:
    with pytest.raises(ConfigError, match="is :memory:, which is gone when a batch has ended"):
        parse_table_options({"format": "sqlite", "table": "t", "url": ":memory:"})
    for url in ("sqlite:///shop.db", "file:shop.db?mode=rw", "jdbc:sqlite://shop.db"):
        with pytest.raises(ConfigError, match=r"which is a URL: write the file's path alone"):
            parse_table_options({"format": "sqlite", "table": "t", "url": url})


def test_floating_point_keys_are_refused() -> None:
    """Iceberg took -0.0 for another key than 0.0 in the table, SQLite for the same one as 0.0 in its batch."""
    options = TableOptions(TableFormat.SQLITE, "flights", url="tables.db", mode=Mode.UPSERT, key=("k",))
    for kind in (DoubleType(), FloatType()):
        with pytest.raises(ConfigError, match=r"Column k cannot be in option key: it is .*, cast it"):
            check_columns(StructType([StructField("k", kind), StructField("v", LongType())]), options)


@pytest.mark.parametrize("form", [TableFormat.SQLITE], indirect=True)
def test_nan_is_refused_by_sqlite_which_would_store_null(world: World) -> None:
    schema = StructType([StructField("x", DoubleType())])
    query = Query(world.folder / "checkpoint", world.options)
    made = [inline_part(pa.table({"x": [float("nan")]}).to_batches())]
    with pytest.raises(OncelogError, match=r"has nan in column x, which is REAL and would hold NULL for NaN"):
        query.write(0, [], schema=schema, made=lambda: made)


@pytest.mark.parametrize("form", [TableFormat.POSTGRESQL], indirect=True)
def test_a_role_without_permission_is_refused_at_once(world: World, query: Query) -> None:
    with psycopg.connect(world.options.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    options = replace(world.options, url=world.options.url.replace("user=tests", "user=reader"), driver_writes=True)
    with pytest.raises(OncelogError, match='has no right to INSERT on "flights"'):
        Query(query.root, options).write(1, [(1, "b")])
    assert world.read() == [(0, "a")]


@pytest.mark.parametrize("form", [TableFormat.POSTGRESQL], indirect=True)
def test_text_that_postgresql_cannot_hold_is_refused(world: World, query: Query) -> None:
    with pytest.raises(OncelogError, match="in column text, which is text and cannot hold the character NUL"):
        query.write(1, [(1, "a\0b")])
    assert world.read() == [(0, "a")]


@pytest.mark.parametrize("form", [TableFormat.SQLITE], indirect=True)
def test_the_error_says_that_the_folder_of_a_database_file_is_missing(world: World) -> None:
    options = replace(world.options, url=str(world.folder / "missing" / "tables.db"))
    with pytest.raises(OncelogError, match="which cannot be opened as a file: make its folder"):
        Query(world.folder / "checkpoint", options).write(0, [(0, "a")])


@pytest.mark.parametrize("form", [TableFormat.DELTA, TableFormat.ICEBERG], indirect=True)
def test_partition_columns_that_differ_from_the_tables_are_refused(world: World, query: Query) -> None:
    with pytest.raises(ConfigError, match="is partitioned by nothing, and partitionBy says text: leave it out"):
        Query(query.root, replace(world.options, partition_by=("text",))).write(1, [(1, "b")])


@pytest.mark.parametrize("form", [TableFormat.DELTA, TableFormat.ICEBERG], indirect=True)
def test_each_delta_partition_contains_its_rows(world: World) -> None:
    query = Query(world.folder / "checkpoint", replace(world.options, partition_by=("text",)))
    rows = [(number, f"v{number % 3}/ü=%") for number in range(10)]
    query.run(0, [*rows, (10, None)])
    query.run(1, [(11, "v0/ü=%")])
    assert world.read() == [*rows, (10, None), (11, "v0/ü=%")]


@pytest.mark.parametrize("form", [TableFormat.DELTA], indirect=True)
def test_empty_text_in_a_partition_column_is_refused_by_delta(world: World) -> None:
    query = Query(world.folder / "checkpoint", replace(world.options, partition_by=("text",)))
    with pytest.raises(OncelogError, match="empty text in the partition column text, which Delta reads as NULL"):
        query.write(0, [(0, "")])


@pytest.mark.parametrize("form", [TableFormat.DELTA], indirect=True)
def test_column_name_that_delta_does_not_allow_is_refused(world: World) -> None:
    query = Query(world.folder / "checkpoint", world.options)
    with pytest.raises(ConfigError, match="Column 'a b' cannot be in"):
        query.write(0, [], schema=StructType([StructField("a b", LongType())]))
