"""Delta tables and rows with which other writers failed, as public reports have them; more of them than in
``test_reported_elsewhere.py``. Each test names its report.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.tables.options import Mode, TableFormat
from tests.integration.tables.arrow_batches import Batches, rows_of
from tests.integration.tables.worlds import world_of

UTC = datetime.UTC
DAY = datetime.date(2024, 11, 25)


@pytest.fixture
def delta(tmp_path: Path) -> Batches:
    return Batches(world_of(TableFormat.DELTA, tmp_path, str))


def table_of(delta: Batches) -> DeltaTable:
    return DeltaTable(delta.world.options.table)


def selected(delta: Batches, where: str) -> list[Any]:
    """Ids that a reader finds who may skip files by their statistics and partitions."""
    rows = QueryBuilder().register("t", table_of(delta)).execute(f"SELECT id FROM t WHERE {where}").read_all()
    return sorted(pa.table(rows)["id"].to_pylist())


def partitions_of(delta: Batches) -> list[str | None]:
    """The texts of the partitions by ``p`` in the log."""
    log = sorted((Path(delta.world.options.table) / "_delta_log").glob("*.json"))
    added = [json.loads(line)["add"] for path in log for line in path.read_text().splitlines() if '"add"' in line]
    return [one["partitionValues"]["p"] for one in added]


@pytest.mark.parametrize("count", [8_193, 100_000])
def test_an_upsert_of_100000_rows_replaces_each_row(delta: Batches, count: int) -> None:
    """delta-io/delta-rs#4572 and #4475: "matched a target row with multiple source rows", from 8,193 rows on."""
    ids, part = list(range(count)), ["a"] * count
    write_deltalake(
        delta.world.options.table, pa.table({"id": ids, "part": part, "n": [0] * count}), partition_by="part"
    )
    for n in (1, 2):
        delta.upsert({"id": ids, "part": part, "n": [n] * count}, "id bigint;part string;n bigint", "id")
    rows = table_of(delta).to_pyarrow_table()
    assert (rows.num_rows, set(rows["n"].to_pylist()), sorted(rows["id"].to_pylist()) == ids) == (count, {2}, True)


def test_upserts_into_date_partitions_replace_rows(delta: Batches) -> None:
    """delta-io/delta-rs#3013 and #2344: "Missing partition column", "Unable to convert expression to string"."""
    kinds = pa.schema([("id", pa.int64()), ("d", pa.date32()), ("price", pa.decimal128(6, 4)), ("k", pa.string())])
    start = pa.table({"id": [1], "d": [DAY], "price": [Decimal("1.5000")], "k": ["a"]}, schema=kinds)
    write_deltalake(delta.world.options.table, start, partition_by=["d"])
    rows = {
        "id": [1, 2],
        "d": [DAY, datetime.date(1, 1, 1)],
        "price": pa.array([Decimal("1.5000"), Decimal("-99.9999")], pa.decimal128(6, 4)),
        "k": ["b", None],
    }
    for _ in range(2):
        delta.upsert(rows, "id bigint;d date;price decimal(6,4);k string", "d", "id")
    assert [(row["id"], row["d"], row["price"], row["k"]) for row in rows_of(delta)] == [
        (1, DAY, Decimal("1.5000"), "b"),
        (2, datetime.date(1, 1, 1), Decimal("-99.9999"), None),
    ]


@pytest.mark.parametrize(
    ("kind", "arrow", "value", "text"),
    [
        ("decimal(6,4)", pa.decimal128(6, 4), Decimal("-99.9999"), "-99.9999"),
        ("double", pa.float64(), math.inf, "Infinity"),
        ("float", pa.float32(), math.inf, "Infinity"),
    ],
)
def test_an_upsert_into_partition_values_that_the_library_would_corrupt_is_refused(
    delta: Batches, kind: str, arrow: Any, value: Any, text: str
) -> None:
    """ClickHouse/ClickHouse#120691's sibling: delta-rs merges -99.9999 as -99.-9999, after which nobody reads the
    table, and infinity as inf, which Java does not read.
    """
    start = pa.table({"id": [1], "p": pa.array([None], arrow)})
    write_deltalake(delta.world.options.table, start, partition_by="p")
    rows = {"id": [2], "p": pa.array([value], arrow)}
    with pytest.raises(ConfigError, match=rf"is partitioned by p, a {re.escape(kind)}, whose .* use mode append"):
        delta.upsert(rows, f"id bigint;p {kind}", "id")
    delta.write(rows, f"id bigint;p {kind}")
    assert partitions_of(delta)[1:] == [text]


def test_an_upsert_of_an_empty_text_into_a_partition_column_is_refused(delta: Batches) -> None:
    """duckdb/duckdb-delta#342: an empty text in a partition is read as NULL."""
    write_deltalake(delta.world.options.table, pa.table({"id": [1], "p": ["a"]}), partition_by="p")
    with pytest.raises(OncelogError, match="has an empty text in the partition column p, which Delta reads as NULL"):
        delta.upsert({"id": [1, 2], "p": ["b", ""]}, "id bigint;p string", "id")
    assert rows_of(delta) == [{"id": 1, "p": "a"}]


def test_an_upsert_adds_a_column_to_a_partitioned_table(delta: Batches) -> None:
    """delta-io/delta-rs#4292: merge_schema failed on a partitioned table with rows."""
    write_deltalake(delta.world.options.table, pa.table({"id": [1, 2], "part": ["a", "b"]}), partition_by="part")
    rows = {"id": [2, 3], "part": ["c", "b"], "more": [7, None]}
    delta.write(rows, "id bigint;part string;more bigint", mode=Mode.UPSERT, key=("id",), evolve=True)
    assert [(row["id"], row["part"], row["more"]) for row in rows_of(delta)] == [
        (1, "a", None),
        (2, "c", 7),
        (3, "b", None),
    ]


def test_upserts_between_checkpoints_and_compactions_duplicate_no_row(delta: Batches) -> None:
    """delta-io/delta-rs#3133: rows doubled after optimize and checkpoint."""
    kinds = "id string;value bigint;validity_from timestamp"
    begin = datetime.datetime(2025, 1, 16, 10, 23, 58, 301000, tzinfo=UTC)
    for value in range(8):
        moments = pa.array([begin + datetime.timedelta(milliseconds=100 * value)] * 2, pa.timestamp("us", "UTC"))
        delta.upsert({"id": ["A", f"B{value}"], "value": [value] * 2, "validity_from": moments}, kinds, "id")
        table = table_of(delta)
        if value % 3 == 0:
            table.optimize.compact()
        if value % 2 == 0:
            table_of(delta).create_checkpoint()
    found = {row["id"]: row["value"] for row in rows_of(delta)}
    assert (len(rows_of(delta)), found) == (9, {"A": 7} | {f"B{value}": value for value in range(8)})


def test_nan_and_infinity_hide_no_row_from_filters(delta: Batches) -> None:
    """delta-io/delta-rs#1411, delta-io/delta#7101, apache/hudi#18754: statistics with inf and NaN skipped files."""
    numbers = [math.nan, math.inf, -math.inf, -0.0, 0.0, 300.0]
    kinds = "id bigint;d double;f float;s string"
    for number, one in enumerate(numbers):
        rows = {"id": [number], "d": [one], "f": pa.array([one], pa.float32()), "s": ["a"]}
        delta.write(rows, kinds)
    for column in ("d", "f"):
        assert selected(delta, f"{column} > 250") == [0, 1, 5]  # NaN is above all, as in Spark
        assert selected(delta, f"{column} = 0") == [3, 4]
        assert selected(delta, f"{column} < 0") == [2]
    assert selected(delta, "s LIKE 'a%'") == list(range(6))


def test_long_texts_hide_no_row_from_filters(delta: Batches) -> None:
    """apache/hudi#18755: a text beyond the statistics' length made all rows of its file NULL for readers."""
    texts = ["x" * 4096, "x" * 32, "x" * 33, "\U0010ffff" * 40, None]
    for number, text in enumerate(texts):
        delta.write({"id": [number], "s": pa.array([text], pa.string())}, "id bigint;s string")
    assert selected(delta, "s IS NOT NULL") == [0, 1, 2, 3]
    assert selected(delta, "s IS NULL") == [4]
    assert selected(delta, f"s > '{'x' * 31}'") == [0, 1, 2, 3]


PARTS: dict[str, tuple[Any, list[Any], list[str | None]]] = {
    "double": (pa.float64(), [math.inf, -math.inf, math.nan, 1e16, 0.1, None], ["Infinity", "-Infinity", "NaN"]),
    "float": (pa.float32(), [math.inf, -math.inf, math.nan, 0.5, None], ["Infinity", "-Infinity", "NaN"]),
    "decimal(38,10)": (pa.decimal128(38, 10), [Decimal("0E-10"), Decimal("1.5000000000"), None], ["0.0000000000"]),
    "boolean": (pa.bool_(), [True, False, None], ["true", "false", None]),
}
"""The type in Arrow, values, and the texts of the first of them as the protocol has them."""


@pytest.mark.parametrize("kind", list(PARTS))
def test_partitions_of_each_type_are_read_back(delta: Batches, kind: str) -> None:
    """delta-io/delta-kernel-rs#2315, ClickHouse/ClickHouse#120691 and delta-io/delta-rs#363: other texts in the log,
    which Java does not read, or as other values.
    """
    arrow, values, texts = PARTS[kind]
    write_deltalake(
        delta.world.options.table,
        pa.table({"id": pa.array([], pa.int64()), "p": pa.array([], arrow)}),
        partition_by="p",
    )
    for number, value in enumerate(values):
        delta.write({"id": [number], "p": pa.array([value], arrow)}, f"id bigint;p {kind}")
    assert partitions_of(delta)[: len(texts)] == texts
    rows = sorted(table_of(delta).to_pyarrow_table().to_pylist(), key=lambda row: int(row["id"]))
    assert [str(row["p"]) for row in rows] == [str(value) for value in pa.array(values, arrow).to_pylist()]


def test_a_binary_partition_column_is_refused_before_rows_are_computed(delta: Batches) -> None:
    """delta-io/delta-kernel-rs#2315: they were written as digits, or as Python shows them."""
    start = pa.table({"id": pa.array([], pa.int64()), "p": pa.array([], pa.binary())})
    write_deltalake(delta.world.options.table, start, partition_by="p")
    with pytest.raises(ConfigError, match="is partitioned by the binary column p"):
        delta.write({"id": [1], "p": [b"Hello"]}, "id bigint;p binary")


def test_null_of_each_type_is_a_valid_partition_value(delta: Batches) -> None:
    """duckdb/duckdb-delta#342: NULL in a partition was read as an empty text, or as another value."""
    kinds = "id bigint;s string;n int;d date;b boolean"
    arrow = {"s": pa.string(), "n": pa.int32(), "d": pa.date32(), "b": pa.bool_()}
    start = pa.table({"id": pa.array([], pa.int64())} | {name: pa.array([], kind) for name, kind in arrow.items()})
    write_deltalake(delta.world.options.table, start, partition_by=list(arrow))
    nulls = {name: pa.array([None], kind) for name, kind in arrow.items()}
    for _ in range(2):
        delta.upsert({"id": [1]} | nulls, kinds, "id")
    delta.write({"id": [2]} | nulls, kinds)
    assert selected(delta, " AND ".join(f"{name} IS NULL" for name in arrow)) == [1, 2]
    assert selected(delta, "s = ''") == []
