"""Batches of Arrow's rows, written into a Delta or Iceberg table that the test may have made, without Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField
from pyspark.sql import types as spark

from oncelog.spark.tables.inline import inline_part
from oncelog.spark.tables.options import Mode
from oncelog.spark.tables.store import WrittenPart
from tests.integration.tables.worlds import IcebergWorld, Query, World


class Batches:
    """Batches of Arrow's rows, each as the first of a new query."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._count = 0

    def write(self, rows: dict[str, Any], kinds: str, **options: Any) -> None:
        """:param kinds: the columns' types, as Spark writes them."""
        schema = schema_of(kinds)
        self._count += 1
        query = Query(
            self.world.folder / f"c{self._count}", replace(self.world.options, **options), query_id=f"q{self._count}"
        )
        table = pa.table(rows)

        def made() -> list[WrittenPart]:
            return [inline_part(table.to_batches())] if table.num_rows else []

        query.run(0, [], schema=schema, made=made)

    def upsert(self, rows: dict[str, Any], kinds: str, *key: str) -> None:
        self.write(rows, kinds, mode=Mode.UPSERT, key=key)


def schema_of(kinds: str) -> spark.StructType:
    simple = {
        "bigint": spark.LongType(),
        "binary": spark.BinaryType(),
        "boolean": spark.BooleanType(),
        "int": spark.IntegerType(),
        "string": spark.StringType(),
        "double": spark.DoubleType(),
        "float": spark.FloatType(),
        "timestamp": spark.TimestampType(),
        "timestamp_ntz": spark.TimestampNTZType(),
        "date": spark.DateType(),
        "decimal(38,10)": spark.DecimalType(38, 10),
        "decimal(10,2)": spark.DecimalType(10, 2),
        "decimal(2,1)": spark.DecimalType(2, 1),
        "decimal(6,4)": spark.DecimalType(6, 4),
        "array<string>": spark.ArrayType(spark.StringType()),
    }
    found = [one.split("|") if "|" in one else one.split(" ", 1) for one in kinds.split(";")]
    return spark.StructType([spark.StructField(name, simple[kind]) for name, kind in found])


def rows_of(batches: Batches) -> list[dict[str, Any]]:
    if isinstance(batches.world, IcebergWorld):
        rows = batches.world.catalog().load_table(batches.world.options.table).scan().to_arrow()
    else:
        rows = DeltaTable(batches.world.options.table).to_pyarrow_table()
    return sorted(rows.to_pylist(), key=str)


def create(batches: Batches, *fields: tuple[str, Any, bool], spec: tuple[tuple[int, Any, str], ...] = ()) -> Any:
    """A table of pyiceberg: names, types, required; source id, transform and name of its partitions."""
    assert isinstance(batches.world, IcebergWorld)
    catalog = batches.world.catalog()
    catalog.create_namespace("lake")
    columns = [NestedField(n, name, kind, required=need) for n, (name, kind, need) in enumerate(fields, 1)]
    parts = [PartitionField(source, 1000 + n, how, name) for n, (source, how, name) in enumerate(spec)]
    return catalog.create_table("lake.flights", Schema(*columns), partition_spec=PartitionSpec(*parts))
