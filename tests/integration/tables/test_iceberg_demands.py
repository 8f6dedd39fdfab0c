"""What an Iceberg table demands, as far as no engine of the tests makes such a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, ListType, LongType, NestedField, StringType, StructType
from pyspark.sql import SparkSession

from oncelog.errors import ConfigError
from oncelog.spark.private_apis.java_errors import our_sentence
from oncelog.spark.tables.lake.iceberg_demands import check_deletes
from oncelog.spark.tables.options import Mode, TableFormat
from oncelog.spark.tables.sink import open_store
from tests.integration.tables.worlds import IcebergWorld, Query, world_of


@pytest.fixture
def world(tmp_path: Path) -> IcebergWorld:
    found = world_of(TableFormat.ICEBERG, tmp_path, str)
    assert isinstance(found, IcebergWorld)
    found.catalog().create_namespace("lake")
    return found


def test_upsert_into_a_table_with_equality_deletes_is_refused(world: IcebergWorld) -> None:
    """pyiceberg writes none; a snapshot says how many a table has."""
    upserts = replace(world.options, mode=Mode.UPSERT, key=("id",))
    with pytest.raises(
        ConfigError, match="has equality deletes, as Flink writes them, and pyiceberg does not read them"
    ):
        check_deletes({"total-equality-deletes": "3"}, upserts)
    check_deletes({"total-equality-deletes": "0"}, upserts)
    check_deletes({"total-equality-deletes": "3"}, world.options)


def test_encryption_that_the_library_does_not_follow_is_refused(world: IcebergWorld) -> None:
    schema = Schema(NestedField(1, "id", LongType(), required=False))
    world.catalog().create_table(world.options.table, schema, properties={"encryption.key-id": "k"})
    with pytest.raises(ConfigError, match=r"has encryption\.key-id = k, which pyiceberg .* does not follow"):
        open_store(world.options).check()


@pytest.mark.parametrize(
    ("row", "broken"),
    [
        ("named_struct('a', 1, 'b', 'x') as s, array(named_struct('c', 'y')) as l", ""),
        ("named_struct('a', 1, 'b', 'x') as s, cast(null as array<struct<c: string>>) as l", ""),
        ("cast(null as struct<a: int, b: string>) as s, array(named_struct('c', 'y')) as l", "column s"),
        ("named_struct('a', cast(null as int), 'b', 'x') as s, array(named_struct('c', 'y')) as l", "column s"),
        ("named_struct('a', 1, 'b', 'x') as s, array(named_struct('c', cast(null as string))) as l", "column l"),
        ("named_struct('b', 'x', 'a', 1) as s, array(named_struct('c', 'y')) as l", ""),
    ],
)
def test_not_null_of_nested_fields_applies_only_where_the_parent_is_not_null(
    spark: SparkSession, world: IcebergWorld, row: str, broken: str
) -> None:
    inner = StructType(
        NestedField(3, "a", IntegerType(), required=True), NestedField(4, "b", StringType(), required=False)
    )
    element = StructType(NestedField(6, "c", StringType(), required=True))
    schema = Schema(
        NestedField(1, "s", inner, required=False),
        NestedField(2, "l", ListType(5, element, element_required=True), required=False),
    )
    world.catalog().create_table(world.options.table, schema)
    query = Query(world.folder / "checkpoint", world.options)
    if broken:
        with pytest.raises(Py4JJavaError) as caught:
            query.write_frame(0, spark.sql(f"SELECT {row}"))
        assert f"breaks its NOT NULL inside {broken}" in our_sentence(str(caught.value))
        return
    query.write_frame(0, spark.sql(f"SELECT {row}"))
    (found,) = world.catalog().load_table(world.options.table).scan().to_arrow().to_pylist()
    assert found["s"] in (None, {"a": 1, "b": "x"})
