"""What a table demands of its rows holds for the files of tasks, too; and keys for rows that tasks have copied."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from deltalake.schema import Field, PrimitiveType
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.types import LongType as IcebergLong
from pyiceberg.types import NestedField
from pyiceberg.types import StringType as IcebergString
from pyspark.sql.types import StringType, StructField, StructType

from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.tables.databases.postgresql import PostgresTable
from oncelog.spark.tables.inline import inline_part
from oncelog.spark.tables.options import Mode, TableFormat
from oncelog.spark.tables.store import TableStore, WrittenPart
from tests.integration.tables.worlds import DeltaWorld, IcebergWorld, PostgresWorld, Query, World, world_of

TEXT_ONLY = StructType([StructField("text", StringType())])


def without_ids() -> list[WrittenPart]:
    return [inline_part(pa.table({"id": pa.array([1, None], pa.int64()), "text": ["a", "b"]}).to_batches())]


def with_not_null(world: World) -> None:
    """Another program makes the table, whose ids are NOT NULL."""
    match world:
        case DeltaWorld():
            fields = [Field("id", PrimitiveType("long"), nullable=False), Field("text", PrimitiveType("string"))]
            DeltaTable.create(world.options.table, Schema(fields))
        case IcebergWorld():
            world.catalog().create_namespace("lake")
            world.catalog().create_table(
                world.options.table,
                IcebergSchema(
                    NestedField(1, "id", IcebergLong(), required=True),
                    NestedField(2, "text", IcebergString(), required=False),
                ),
            )


@pytest.mark.parametrize("form", [TableFormat.DELTA, TableFormat.ICEBERG], ids=str)
@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.COMPLETE], ids=str)
def test_null_is_refused_where_the_table_has_not_null(
    form: TableFormat, mode: Mode, tmp_path: Path, new_database: Callable[[], str]
) -> None:
    world = world_of(form, tmp_path, new_database, mode=mode)
    with_not_null(world)
    query = Query(tmp_path / "checkpoint", world.options)
    query.run(0, [(0, "a")])
    with pytest.raises(OncelogError, match="has NULL in column id, which is NOT NULL there"):
        query.write(1, [], made=without_ids)
    with pytest.raises(ConfigError, match=r"Column id of .* is NOT NULL, and the rows have no such column"):
        query.write(1, [], schema=TEXT_ONLY)
    assert world.read() == [(0, "a")]
    query.run(1, [(1, "b")])
    assert world.read() == ([(1, "b")] if mode is Mode.COMPLETE else [(0, "a"), (1, "b")])


def copied(store: TableStore, ids: Sequence[int | None]) -> Callable[[], list[WrittenPart]]:
    """Rows of a task that are too many to be left to the driver."""
    text = "x" * 400_000
    batch = pa.table({"id": pa.array(ids, pa.int64()), "text": [text] * len(ids)}).to_batches()
    return lambda: list(store.task_writer()(iter(batch)))


class TestCopiedRows:
    @pytest.fixture
    def form(self) -> TableFormat:
        return TableFormat.POSTGRESQL

    @pytest.fixture
    def query(self, world: World, tmp_path: Path) -> Query:
        assert isinstance(world, PostgresWorld)
        return Query(tmp_path / "checkpoint", replace(world.options, mode=Mode.UPSERT, key=("id",)))

    def test_a_null_in_a_key_column_is_refused(self, query: Query) -> None:
        """A table of another program, with an index that allows any number of NULLs."""
        with psycopg.connect(query.options.url) as connection:
            connection.execute("CREATE TABLE flights (id bigint UNIQUE, text text)")
        store = query.store
        assert isinstance(store, PostgresTable)
        with pytest.raises(OncelogError, match="has NULL in its key id"):
            query.write(0, [], made=copied(store, [1, None]))
        query.run(0, [], made=copied(store, [1, 2]))

    def test_staged_rows_lost_in_a_crash_of_the_server_are_detected(self, query: Query) -> None:
        """A batch of keys alone: that fewer rows are new than were copied says nothing there."""
        schema = StructType([StructField("text", StringType())])
        keys = replace(query.options, key=("text",))
        query = Query(query.root, keys)
        store = query.store
        assert isinstance(store, PostgresTable)
        short = pa.table({"text": [f"{number:0300}" for number in range(2000)]}).to_batches()

        def made() -> list[WrittenPart]:
            found = list(store.task_writer()(iter(short)))
            with psycopg.connect(query.options.url) as connection:
                connection.execute(f"TRUNCATE {pickle.loads(found[0].written or b'')}".encode())
            return found

        with pytest.raises(OncelogError, match=r"0 of 2000 staged rows of .* were found: PostgreSQL has crashed"):
            query.write(0, [], schema=schema, made=made)
        query.run(0, [], schema=schema, made=lambda: list(store.task_writer()(iter(short))))
        with psycopg.connect(query.options.url) as connection:
            assert connection.execute("SELECT count(*) FROM flights").fetchall() == [(2000,)]
