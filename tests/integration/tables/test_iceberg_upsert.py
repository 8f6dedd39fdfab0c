"""Upserts into Iceberg, against a dict; what they read and rewrite is counted."""

from __future__ import annotations

import datetime
import decimal
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import And, BooleanExpression, In
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import Table
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from oncelog.spark.tables.inline import inline_part
from oncelog.spark.tables.lake.iceberg_upsert import MAX_VALUES, may_match
from oncelog.spark.tables.options import Mode, TableFormat
from oncelog.spark.tables.store import WrittenPart
from tests.integration.tables.worlds import IcebergWorld, Query, world_of

COLUMNS = {
    "place": pa.string(),
    "id": pa.int64(),
    "text": pa.string(),
    "tags": pa.list_(pa.string()),
}
FIELDS = [
    StructField("place", StringType()),
    StructField("id", LongType()),
    StructField("text", StringType()),
    StructField("tags", ArrayType(StringType())),
]
ROWS = StructType(FIELDS)
Key = tuple[str, int]


@pytest.fixture
def form() -> TableFormat:
    return TableFormat.ICEBERG


def upserting(world: IcebergWorld, **more: Any) -> Query:
    options = replace(world.options, mode=Mode.UPSERT, **{"key": ("place", "id"), **more})
    return Query(world.folder / "checkpoint", options)


def made(rows: dict[Key, str], names: Sequence[str] = tuple(COLUMNS)) -> Callable[[], list[WrittenPart]]:
    columns = {
        "place": [place for place, _ in rows],
        "id": [number for _, number in rows],
        "text": list(rows.values()),
        "tags": [[text] for text in rows.values()],
    }
    table = pa.table({name: pa.array(columns[name], COLUMNS[name]) for name in names})
    return lambda: [inline_part(table.to_batches())] if rows else []


def loaded(world: IcebergWorld) -> Table:
    return world.catalog().load_table(world.options.table)


def read(world: IcebergWorld) -> dict[Key, tuple[str, list[str]]]:
    rows = loaded(world).scan().to_arrow().to_pylist()
    found = {(row["place"], row["id"]): (row["text"], row["tags"]) for row in rows}
    assert len(found) == len(rows), "a key is there twice"
    return found


@pytest.mark.parametrize("partition_by", [(), ("place",), ("text",)], ids=["whole", "by key", "by another column"])
def test_upserts_by_two_key_columns_replace_and_insert_rows(world: IcebergWorld, partition_by: tuple[str, ...]) -> None:
    query = upserting(world, partition_by=partition_by)
    draw = random.Random(7)
    expected: dict[Key, str] = {}
    for number in range(6):
        keys = [(draw.choice("xyz"), draw.randrange(30)) for _ in range(draw.choice([0, 1, 25]))]
        rows = {key: f"{draw.randrange(3)}" for key in keys}
        query.run(number, [], schema=ROWS, made=made(rows))
        expected |= rows
    assert read(world) == {key: (text, [text]) for key, text in expected.items()}
    assert len(expected) > 30


def test_many_rows_of_two_key_columns_make_a_small_filter_and_one_snapshot(world: IcebergWorld) -> None:
    query = upserting(world)
    rows = {(f"place {number % 70}", number): "a" for number in range(5000)}
    query.run(0, [], schema=ROWS, made=made(rows))
    query.run(1, [], schema=ROWS, made=made(dict.fromkeys(rows, "b")))
    assert read(world) == {key: ("b", ["b"]) for key in rows}
    assert len(loaded(world).snapshots()) == 2
    source = pa.table({"place": [place for place, _ in rows], "id": [number for _, number in rows]})
    assert terms(may_match(source, ("place", "id"))) == 70 + 2


def terms(filter_: BooleanExpression) -> int:
    """With how many values a filter compares."""
    match filter_:
        case And():
            return terms(filter_.left) + terms(filter_.right)
        case In():
            return len(filter_.literals)
        case _:
            return 1


def test_the_upsert_filter_does_not_grow_with_the_rows() -> None:
    for count in (MAX_VALUES + 1, 100_000):
        assert terms(may_match(pa.table({"a": range(count), "b": range(count)}), ("a", "b"))) == 4


def test_files_without_the_keys_are_neither_read_nor_rewritten(
    world: IcebergWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = upserting(world)
    for number in range(4):
        query.run(number, [], schema=ROWS, made=made({("x", 100 * number + one): "a" for one in range(0, 100, 2)}))
    before = files(world)
    scanned: list[int] = []
    scan = ArrowScan.to_table

    def counting(self: ArrowScan, tasks: Any) -> pa.Table:
        scanned.append(len(self._projected_schema.fields))
        return scan(self, tasks)

    monkeypatch.setattr(ArrowScan, "to_table", counting)
    query.run(4, [], schema=ROWS, made=made({("x", 102): "b", ("x", 205): "new"}))
    assert sorted(scanned) == [2, 2, 4], "the keys of two files, and all columns of the one with a key"
    monkeypatch.undo()
    assert len(before & files(world)) == 3
    assert read(world)["x", 102] == ("b", ["b"])
    assert len(read(world)) == 201


def files(world: IcebergWorld) -> set[str]:
    return {task.file.file_path for task in loaded(world).scan().plan_files()}


def test_columns_that_the_batch_lacks_keep_their_values(world: IcebergWorld) -> None:
    query = upserting(world)
    query.run(0, [], schema=ROWS, made=made({("x", 1): "a", ("x", 2): "b"}))
    some = StructType(FIELDS[:3])
    rows: dict[Key, str] = {("x", 2): "c", ("y", 3): "d"}
    query.run(1, [], schema=some, made=made(rows, some.names))
    found = loaded(world).scan().to_arrow().sort_by("id").to_pylist()
    assert [(row["text"], row["tags"]) for row in found] == [("a", ["a"]), ("c", ["b"]), ("d", None)]


INSTANT = datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, datetime.UTC)
KEYS: list[tuple[DataType, pa.DataType, list[Any]]] = [
    (BooleanType(), pa.bool_(), [True, False]),
    (DateType(), pa.date32(), [datetime.date(1, 1, 1), datetime.date(2024, 2, 29), datetime.date(9999, 12, 31)]),
    (DecimalType(20, 2), pa.decimal128(20, 2), [decimal.Decimal("-1.25"), decimal.Decimal("999999999999999999.99")]),
    (StringType(), pa.string(), ["", "a'b\"c", "\u00fc" * 40, "\U0010ffff"]),
    (
        TimestampType(),
        pa.timestamp("us", "UTC"),
        [INSTANT, INSTANT.replace(year=2024)],
    ),
]


@pytest.mark.parametrize("most", [1, MAX_VALUES], ids=["limits", "values"])
@pytest.mark.parametrize(("kind", "arrow", "values"), KEYS, ids=[kind.typeName() for kind, _, _ in KEYS])
def test_an_upsert_finds_an_existing_key_of_each_type(
    kind: DataType, arrow: pa.DataType, values: list[Any], most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oncelog.spark.tables.lake.iceberg_upsert.MAX_VALUES", most)
    world = world_of(TableFormat.ICEBERG, tmp_path, str)
    assert isinstance(world, IcebergWorld)
    query = upserting(world, key=("k", "id"))
    schema = StructType([StructField("k", kind), StructField("id", LongType()), StructField("text", StringType())])
    for number, text in enumerate("ab"):
        columns = [pa.array(values, arrow), pa.array([1] * len(values), pa.int64()), pa.array([text] * len(values))]
        rows = pa.table(columns, ["k", "id", "text"])
        query.run(number, [], schema=schema, made=lambda rows=rows: [inline_part(rows.to_batches())])
    found = loaded(world).scan().to_arrow()
    assert sorted(found["k"].to_pylist()) == sorted(values)
    assert set(found["text"].to_pylist()) == {"b"}
