"""Iceberg tables and rows with which other writers failed, as public reports have them; more of them than in
``test_reported_elsewhere.py``. Each test names its report.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import EqualTo, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)
from pyspark.sql import types as spark

from oncelog.errors import OncelogError
from oncelog.spark.tables.inline import inline_part
from oncelog.spark.tables.options import Mode, TableFormat
from tests.integration.tables.arrow_batches import Batches, create, rows_of
from tests.integration.tables.worlds import IcebergWorld, Query, with_mode, world_of

UTC = datetime.UTC
HOUR = datetime.timedelta(hours=1)


@pytest.fixture
def iceberg(tmp_path: Path) -> Batches:
    return Batches(world_of(TableFormat.ICEBERG, tmp_path, str))


def table_of(iceberg: Batches) -> Any:
    assert isinstance(iceberg.world, IcebergWorld)
    return iceberg.world.catalog().load_table("lake.flights")


def selected(iceberg: Batches, where: str) -> list[int]:
    """Ids that a reader finds who skips files by their statistics and partitions."""
    return sorted(table_of(iceberg).scan(row_filter=where).to_arrow()["id"].to_pylist())


def moments(*values: datetime.datetime, zone: str | None = "UTC") -> pa.Array:
    return pa.array(values, pa.timestamp("us", zone))


@pytest.mark.parametrize(
    "how", [DayTransform(), IdentityTransform(), BucketTransform(2), TruncateTransform(1)], ids=str
)
def test_upsert_into_a_partitioned_table_leaves_its_other_rows_alone(iceberg: Batches, how: Any) -> None:
    """apache/iceberg-python#3758: the replaced row stayed, and another one was there twice."""
    part = 3 if isinstance(how, DayTransform) else 1
    fields = ("k", StringType(), False), ("v", IntegerType(), False), ("ts", TimestampType(), False)
    create(iceberg, *fields, spec=((part, how, "part"),))
    day = datetime.datetime(2024, 1, 1)

    def rows(*given: tuple[str, int]) -> dict[str, Any]:
        texts, numbers = zip(*given, strict=True)
        return {"k": list(texts), "v": pa.array(numbers, pa.int32()), "ts": moments(*[day] * len(given), zone=None)}

    kinds = "k string;v int;ts timestamp_ntz"
    iceberg.write(rows(("a", 1), ("b", 2), ("ab", 3)), kinds)
    iceberg.upsert(rows(("a", 10), ("c", 4)), kinds, "k")
    assert [(row["k"], row["v"]) for row in rows_of(iceberg)] == [("a", 10), ("ab", 3), ("b", 2), ("c", 4)]


def test_an_upsert_replaces_null_and_writes_null(iceberg: Batches) -> None:
    """apache/iceberg-python#1835: a NULL was never replaced."""
    create(iceberg, ("foo", StringType(), True), ("bar", IntegerType(), False), ("baz", IntegerType(), False))
    kinds = "foo string;bar int;baz int"
    for bar, baz in ((None, 1), (7, None), (None, None), (8, 8)):
        iceberg.upsert(
            {"foo": ["apple"]} | {n: pa.array([v], pa.int32()) for n, v in (("bar", bar), ("baz", baz))}, kinds, "foo"
        )
        assert rows_of(iceberg) == [{"foo": "apple", "bar": bar, "baz": baz}]


def test_an_upsert_with_decimals_and_nested_columns_replaces_rows(iceberg: Batches) -> None:
    """dlt-hub/dlt#2671: "Unexpected physical type FIXED_LEN_BYTE_ARRAY for decimal(6, 4)", structs "not supported"."""
    inner = StructType(NestedField(10, "a", LongType()), NestedField(11, "tags", ListType(12, StringType(), False)))
    create(iceberg, ("id", LongType(), True), ("price", DecimalType(6, 4), False), ("json", inner, False))
    struct = spark.StructType(
        [spark.StructField("a", spark.LongType()), spark.StructField("tags", spark.ArrayType(spark.StringType()))]
    )
    fields = {"id": spark.LongType(), "price": spark.DecimalType(6, 4), "json": struct}
    schema = spark.StructType([spark.StructField(name, kind) for name, kind in fields.items()])
    query = Query(iceberg.world.folder / "c", with_mode(iceberg.world, Mode.UPSERT, ("id", "price")))
    for batch, text in enumerate(("x", "y")):
        rows = pa.table(
            {
                "id": [1, 2],
                "price": pa.array([Decimal("0.0001"), Decimal("-99.9999")], pa.decimal128(6, 4)),
                "json": [{"a": batch, "tags": [text, None]}, None],
            }
        )
        query.run(batch, [], schema=schema, made=lambda rows=rows: [inline_part(rows.to_batches())])
    found = rows_of(iceberg)
    assert [(row["id"], row["price"], row["json"]) for row in found] == [
        (1, Decimal("0.0001"), {"a": 1, "tags": ["y", None]}),
        (2, Decimal("-99.9999"), None),
    ]


@pytest.mark.parametrize("how", [IdentityTransform(), BucketTransform(16), TruncateTransform(2)], ids=str)
def test_upsert_moves_a_row_to_another_partition(iceberg: Batches, how: Any) -> None:
    """memiiso/debezium-server-iceberg#248 and apache/flink-cdc#4535: the row stayed in its old partition as well."""
    create(iceberg, ("id", IntegerType(), True), ("name", StringType(), False), spec=((2, how, "part"),))
    for names in (["ada", "bob", "cem"], ["ada", "BOB", None], ["zoe", "bob", "x"]):
        iceberg.upsert({"id": pa.array([1, 2, 3], pa.int32()), "name": names}, "id int;name string", "id")
    assert [(row["id"], row["name"]) for row in rows_of(iceberg)] == [(1, "zoe"), (2, "bob"), (3, "x")]


UNITS: dict[Any, Callable[[datetime.datetime], int]] = {
    HourTransform(): lambda at: (at - datetime.datetime(1970, 1, 1)) // HOUR,
    DayTransform(): lambda at: (at - datetime.datetime(1970, 1, 1)).days,
    MonthTransform(): lambda at: (at.year - 1970) * 12 + at.month - 1,
    YearTransform(): lambda at: at.year - 1970,
}
"""Units since 1970, as the specification counts them."""


@pytest.mark.parametrize("how", list(UNITS), ids=str)
def test_timestamps_of_any_year_go_to_the_partition_that_iceberg_computes(iceberg: Batches, how: Any) -> None:
    """apache/iceberg#9713 and ClickHouse/ClickHouse#118583: numbers that overflowed, or never were negative."""
    create(iceberg, ("id", LongType(), False), ("x", TimestampType(), False), spec=((2, how, "part"),))
    times = [
        datetime.datetime.min,
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime.datetime(1970, 1, 1),
        datetime.datetime.max,
    ]
    iceberg.write({"id": [0, 1, 2, 3], "x": moments(*times, zone=None)}, "id bigint;x timestamp_ntz")
    files = table_of(iceberg).inspect.files()
    units = {row["partition"]["part"] for row in table_of(iceberg).inspect.entries()["data_file"].to_pylist()}
    found = {unit if isinstance(unit, int) else (unit - datetime.date(1970, 1, 1)).days for unit in units}
    assert (files.num_rows, found) == (len({UNITS[how](at) for at in times}), {UNITS[how](at) for at in times})
    assert selected(iceberg, "x > '2020-01-01T00:00:00'") == [3]
    assert selected(iceberg, "x < '1970-01-01T00:00:00'") == [0, 1]


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/Chicago", "Europe/Warsaw"])
def test_day_partitions_and_instants_do_not_depend_on_the_time_zone_of_the_rows(iceberg: Batches, zone: str) -> None:
    """apache/iceberg#1354, ClickHouse/ClickHouse#119173 and trinodb/trino#9704: rows were in the partition of a local
    day, and instants of the hour that the clock repeats became one.
    """
    create(iceberg, ("id", LongType(), False), ("at", TimestamptzType(), False), spec=((2, DayTransform(), "day"),))
    begin = datetime.datetime(2021, 10, 30, 22, 30, tzinfo=UTC)
    times = [begin + n * HOUR for n in range(4)]
    rows = {"id": [0, 1, 2, 3], "at": moments(*[one.astimezone(ZoneInfo(zone)) for one in times], zone=zone)}
    iceberg.write(rows, "id bigint;at timestamp")
    days = [row["partition"]["day"] for row in table_of(iceberg).inspect.entries()["data_file"].to_pylist()]
    assert sorted(days) == [datetime.date(2021, 10, 30), datetime.date(2021, 10, 31)]
    assert [row["at"] for row in rows_of(iceberg)] == times
    assert selected(iceberg, "at >= '2021-10-31T00:00:00+00:00'") == [2, 3]
    with table_of(iceberg).update_spec() as update:
        update.remove_field("day")
        update.add_identity("at")
    iceberg.upsert(rows, "id bigint;at timestamp", "at")
    assert [row["at"] for row in rows_of(iceberg)] == times


def test_timestamp_partitions_keep_microseconds(iceberg: Batches) -> None:
    """StarRocks/starrocks#29494: they were cut to seconds."""
    create(iceberg, ("id", LongType(), False), ("at", TimestampType(), False), spec=((2, IdentityTransform(), "at"),))
    times = [datetime.datetime(2023, 8, 18, 1, 2, 3, micros) for micros in (0, 1, 999_999)]
    iceberg.write({"id": [0, 1, 2], "at": moments(*times, zone=None)}, "id bigint;at timestamp_ntz")
    assert [row["at"] for row in rows_of(iceberg)] == times
    assert selected(iceberg, "at = '2023-08-18T01:02:03.000001'") == [1]


BOUNDARY = [
    "A" * 15 + "\ud7ff" + "tail",
    "\ud7ff" * 20,
    "\U0010ffff" * 17,
    "A" * 15 + "\u2022 bullet on byte sixteen",
    '{"name":"John O\u2019Neill"}',
    "ü" * 16 + "x",
    "",
    "0123456789abcdef0123456789abcdef",
]


@pytest.mark.parametrize("how", [None, IdentityTransform(), TruncateTransform(20)], ids=str)
def test_column_bounds_of_long_texts_are_valid_utf8_and_enclose_the_values(iceberg: Batches, how: Any) -> None:
    """apache/iceberg-python#3880, duckdb/duckdb-iceberg#1136, #1334, #1418 and #1047: "surrogates not allowed", bounds
    that are no UTF-8, and upper bounds below the values.
    """
    spec: Any = () if how is None else ((2, how, "part"),)
    create(iceberg, ("id", LongType(), False), ("s", StringType(), False), spec=spec)
    for number, text in enumerate(BOUNDARY):
        iceberg.write({"id": [number], "s": [text]}, "id bigint;s string")
    assert [row["s"] for row in rows_of(iceberg)] == BOUNDARY
    table = table_of(iceberg)
    for number, text in enumerate(BOUNDARY):
        assert table.scan(row_filter=EqualTo(term=Reference("s"), value=literal(text))).to_arrow()[
            "id"
        ].to_pylist() == [number]
    for manifest in table.current_snapshot().manifests(table.io):
        entries = manifest.fetch_manifest_entry(table.io)
        values = []
        for entry in entries:
            (row,) = pq.read_table(entry.data_file.file_path.removeprefix("file://")).to_pylist()
            values.append(row["s"])
            lower, upper = (bounds.get(2) for bounds in (entry.data_file.lower_bounds, entry.data_file.upper_bounds))
            assert lower is None or lower.decode() <= row["s"]
            assert upper is None or upper.decode() >= row["s"]
        for summary in manifest.partitions or ():
            assert summary.upper_bound is None or summary.upper_bound >= max(one[:20] for one in values).encode()


def test_infinity_is_a_partition_value_and_nan_is_refused_and_an_expression_suggested(iceberg: Batches) -> None:
    """apache/hudi#18754's sibling: pyiceberg finds no row of the partition NaN, and divided by zero."""
    create(iceberg, ("id", LongType(), False), ("d", DoubleType(), False), spec=((2, IdentityTransform(), "d"),))
    for number, one in enumerate([math.inf, -math.inf, -0.0, 0.0, 300.0, None]):
        iceberg.write({"id": [number], "d": pa.array([one], pa.float64())}, "id bigint;d double")
    assert selected(iceberg, "d > 250") == [0, 4]
    assert selected(iceberg, "d < 0") == [1]
    assert selected(iceberg, "d is null") == [5]
    with pytest.raises(OncelogError, match=r"has NaN in column d, by which it is partitioned.* nanvl\(d, null\)"):
        iceberg.write({"id": [6, 7], "d": [1.0, math.nan]}, "id bigint;d double")
    assert len(rows_of(iceberg)) == 6
    with table_of(iceberg).update_spec() as update:
        update.remove_field("d")
    iceberg.write({"id": [6, 7], "d": [1.0, math.nan]}, "id bigint;d double")
    assert sorted(str(row["d"]) for row in rows_of(iceberg))[-1] == "nan"


def test_values_of_a_renamed_struct_field_are_kept(iceberg: Batches) -> None:
    """prestodb/presto#28539, apache/iceberg#11650 and ClickHouse/ClickHouse#94335: NULL in place of the values that
    were written before, or of fields with a dot in their names.
    """
    inner = StructType(
        NestedField(3, "a", LongType(), required=False), NestedField(4, "b.c", StringType(), required=False)
    )
    create(iceberg, ("id", LongType(), True), ("s", inner, False))

    def write(batch: int, name: str, mode: Mode) -> None:
        struct = spark.StructType(
            [spark.StructField(name, spark.LongType()), spark.StructField("b.c", spark.StringType())]
        )
        schema = spark.StructType([spark.StructField("id", spark.LongType()), spark.StructField("s", struct)])
        key = ("id",) if mode is Mode.UPSERT else ()
        query_id = f"{name}{batch}{mode}"
        query = Query(iceberg.world.folder / query_id, with_mode(iceberg.world, mode, key), query_id=query_id)
        rows = pa.table({"id": [batch], "s": [{name: batch * 10, "b.c": "x"}]})
        query.run(0, [], schema=schema, made=lambda: [inline_part(rows.to_batches())])

    write(1, "a", Mode.APPEND)
    write(2, "a", Mode.UPSERT)
    with table_of(iceberg).update_schema() as update:
        update.rename_column(("s", "a"), "renamed")
    with pytest.raises(OncelogError, match="Column s of "):
        write(3, "a", Mode.APPEND)
    write(3, "renamed", Mode.APPEND)
    write(2, "renamed", Mode.UPSERT)
    assert [(row["id"], row["s"]["renamed"], row["s"]["b.c"]) for row in rows_of(iceberg)] == [
        (1, 10, "x"),
        (2, 20, "x"),
        (3, 30, "x"),
    ]


def test_an_upsert_replaces_rows_of_an_earlier_partitioning(iceberg: Batches) -> None:
    """apache/iceberg-python#3758 and apache/iceberg#10102: files of an older partitioning hold rows of the key."""
    create(iceberg, ("id", LongType(), False), ("at", TimestampType(), False), spec=((2, DayTransform(), "day"),))
    day = datetime.datetime(2024, 1, 1)
    kinds = "id bigint;at timestamp_ntz"
    iceberg.write({"id": [1, 2], "at": moments(day, day, zone=None)}, kinds)
    with table_of(iceberg).update_spec() as update:
        update.remove_field("day")
        update.add_field("id", BucketTransform(3), "bucket")
    iceberg.upsert({"id": [2, 3], "at": moments(day + HOUR, day, zone=None)}, kinds, "id")
    iceberg.upsert({"id": [1, 3], "at": moments(day + HOUR, day + HOUR, zone=None)}, kinds, "id")
    assert [(row["id"], row["at"].hour) for row in rows_of(iceberg)] == [(1, 1), (2, 1), (3, 1)]
