"""Rows to record batches in a task: destinations, order, columns."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from oncelog.errors import ConfigError
from oncelog.records.batch import Record, decode_records
from oncelog.records.partitioner import partition_for_key
from oncelog.spark.sink.rows import BadRow, Encoding, SinkColumns, TaskEncoder, positions_of

TYPES: dict[str, DataType] = {
    "binary": BinaryType(),
    "string": StringType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "array<string>": ArrayType(StringType()),
    "headers": ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
    "swapped": ArrayType(StructType([StructField("value", BinaryType()), StructField("key", StringType())])),
    "texts": ArrayType(StructType([StructField("key", StringType()), StructField("value", StringType())])),
    **{
        f"map<{key.simpleString()},{value.simpleString()}>": MapType(key, value)
        for key in (StringType(), IntegerType())
        for value in (StringType(), BinaryType(), IntegerType())
    },
}


def schema(columns: str) -> StructType:
    """Names and types, which need no session, unlike Spark's own parser."""
    pairs = [column.split() for column in columns.split(", ")]
    return StructType([StructField(name, TYPES[kind]) for name, kind in pairs])


@pytest.mark.parametrize(("codec", "low", "high"), [("gzip", 1, 9), ("lz4", 9, 12), ("zstd", -100, 19)])
def test_the_compression_codec_uses_the_requested_level(codec: str, low: int, high: int) -> None:
    values = pa.array([f"{n * 2654435761 % 1009} {n % 37} words that come again" for n in range(2000)])

    def size_bytes(level: int) -> int:
        encoding = Encoding(SinkColumns.of(schema("value string"), "t"), "t", {"t": 1}, codec, 1 << 20, level)
        batches = TaskEncoder(encoding, seed=0, now_ms=0).encode([pa.RecordBatch.from_pydict({"value": values})])
        return sum(len(batch.data) for batch in batches)

    assert size_bytes(high) < size_bytes(low)


def encode(
    ddl: str, columns: dict[str, pa.Array], counts: dict[str, int], topic: str = "", seed: int = 0
) -> dict[tuple[str, int], list[Record]]:
    encoding = Encoding(SinkColumns.of(schema(ddl), topic), topic, counts, "lz4", 1 << 16)
    encoder = TaskEncoder(encoding, seed=seed, now_ms=1_700_000_000_000)
    rows = pa.RecordBatch.from_pydict(columns)
    records: dict[tuple[str, int], list[Record]] = {}
    for batch in encoder.encode([rows.slice(0, 3), rows.slice(3)]):
        found = list(decode_records(batch.data))
        assert len(found) == batch.records
        records.setdefault((batch.topic, batch.partition), []).extend(found)
    assert encoder.rows == rows.num_rows == sum(len(found) for found in records.values())
    return records


def test_the_key_decides_the_partition_as_in_java() -> None:
    keys = [b"%d" % n for n in range(100)]
    records = encode("key binary, value binary", {"key": pa.array(keys), "value": pa.array(keys)}, {"t": 5}, "t")
    for (topic, partition), found in records.items():
        assert topic == "t"
        assert all(partition_for_key(record.key or b"", 5) == partition for record in found)


def test_rows_of_a_partition_keep_their_order() -> None:
    values = [b"%05d" % n for n in range(2000)]
    keys = [b"%d" % (n % 7) for n in range(2000)]
    records = encode("key binary, value binary", {"key": pa.array(keys), "value": pa.array(values)}, {"t": 3}, "t")
    for found in records.values():
        assert [record.value for record in found] == sorted(record.value or b"" for record in found)


def test_an_explicit_partition_takes_precedence_over_the_key() -> None:
    columns = {
        "key": pa.array([b"k"] * 4),
        "value": pa.array([b"v"] * 4),
        "partition": pa.array([2, 0, None, 1], pa.int32()),
    }
    records = encode("key binary, value binary, partition int", columns, {"t": 3}, "t")
    by_key = partition_for_key(b"k", 3)
    expected = {("t", n): 1 + (n == by_key) for n in range(3)}
    assert {place: len(found) for place, found in records.items()} == expected


@pytest.mark.parametrize("partition", [-1, 3])
def test_a_partition_that_does_not_exist_is_refused(partition: int) -> None:
    columns = {"value": pa.array([b"v"]), "partition": pa.array([partition], pa.int32())}
    with pytest.raises(BadRow, match=f"partition {partition} of topic t, which has partitions 0 to 2"):
        encode("value binary, partition int", columns, {"t": 3}, "t")


def test_rows_without_a_key_reach_every_partition_from_any_task() -> None:
    many = encode("value string", {"value": pa.array(["v"] * 10_000)}, {"t": 4}, "t")
    assert {partition for _, partition in many} == {0, 1, 2, 3}
    few = [encode("value string", {"value": pa.array(["v"])}, {"t": 4}, "t", seed=seed) for seed in range(4)]
    assert {next(iter(found))[1] for found in few} == {0, 1, 2, 3}


def test_the_topic_column_names_the_destination_of_each_row() -> None:
    columns = {"value": pa.array(["1", "2", "3", "4"]), "topic": pa.array(["a", "b", "a", "b"])}
    records = encode("value string, topic string", columns, {"a": 1, "b": 1})
    assert {place: [record.value for record in found] for place, found in records.items()} == {
        ("a", 0): [b"1", b"3"],
        ("b", 0): [b"2", b"4"],
    }


def test_the_topic_option_takes_precedence_over_the_topic_column() -> None:
    columns = {"value": pa.array(["1"]), "topic": pa.array(["a"])}
    assert list(encode("value string, topic string", columns, {"t": 1}, "t")) == [("t", 0)]


def test_a_row_without_a_topic_or_with_an_unknown_topic_is_refused() -> None:
    ddl, value = "value string, topic string", pa.array(["1"])
    with pytest.raises(BadRow, match="column topic is null"):
        encode(ddl, {"value": value, "topic": pa.array([None], pa.string())}, {"a": 1})
    with pytest.raises(BadRow, match="Topic 'x', named by a row, does not exist"):
        encode(ddl, {"value": value, "topic": pa.array(["x"])}, {"a": 1})


def test_headers_and_nulls_are_encoded_into_records() -> None:
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = pa.array([[{"key": "h", "value": b"1"}, {"key": "h", "value": None}], None], kind)
    columns = {
        "key": pa.array([None, b""], pa.binary()),
        "value": pa.array([None, b""], pa.binary()),
        "headers": headers,
    }
    records = encode("key binary, value binary, headers headers", columns, {"t": 1}, "t")
    first, second = records[("t", 0)]
    assert (first.key, first.value, list(first.headers)) == (None, None, [("h", b"1"), ("h", None)])
    assert (second.key, second.value, list(second.headers)) == (b"", b"", [])


@pytest.mark.parametrize(
    ("ddl", "kind"),
    [
        ("map<string,string>", pa.map_(pa.string(), pa.string())),
        ("map<string,binary>", pa.map_(pa.string(), pa.binary())),
        ("texts", pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))),
        ("swapped", pa.list_(pa.struct([("value", pa.binary()), ("key", pa.string())]))),
    ],
)
def test_headers_may_be_maps_and_have_string_values(ddl: str, kind: pa.DataType) -> None:
    rows: list[list[tuple[str, str | None]] | None] = [[("h", "ä"), ("none", None), ("", "")], None, [], [("i", "2")]]
    given = rows if pa.types.is_map(kind) else [
        None if row is None else [{"key": key, "value": value} for key, value in row] for row in rows
    ]  # fmt: skip
    columns = {"value": pa.array([b"v"] * 4), "headers": pa.array(given, kind)}
    records = encode(f"value binary, headers {ddl}", columns, {"t": 1}, "t")[("t", 0)]
    wanted = [[(key, None if value is None else value.encode()) for key, value in row or []] for row in rows]
    assert [list(record.headers) for record in records] == wanted


@pytest.mark.parametrize("item", [None, {"key": None, "value": b"1"}])
def test_a_header_without_a_key_is_refused(item: object) -> None:
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    rows = [[{"key": "h", "value": b"1"}], None, [], [{"key": "h", "value": None}, item]]
    columns = {"value": pa.array([b"a"] * 4), "headers": pa.array(rows, kind)}
    with pytest.raises(BadRow, match="whose key is null in column headers, and Kafka's headers need a key"):
        encode("value binary, headers headers", columns, {"t": 1}, "t")
    whole = {name: column.slice(0, 3) for name, column in columns.items()}
    assert len(encode("value binary, headers headers", whole, {"t": 1}, "t")[("t", 0)]) == 3


@pytest.mark.parametrize(
    ("ddl", "topic", "text"),
    [
        ("key string", "t", "column named value is required; the columns are key"),
        ("value int", "t", "Column value has type int, but must be string or binary: convert it"),
        ("value string, key int", "t", "Column key has type int"),
        ("value string, partition bigint", "t", "Column partition has type bigint, but must be int"),
        ("value string, headers array<string>", "t", "Column headers has type array<string>, but headers must be map<"),
        ("value string, headers map<int,string>", "t", "Column headers has type map<int,string>, but headers must be"),
        ("value string, headers map<string,int>", "t", "or one of these with binary values: convert it, for example"),
        ("value string, headers string", "t", "Column headers has type string, but headers must be"),
        ("Value string, offset bigint, VALUE string", "t", "Columns Value and VALUE are both named value: drop or"),
        ("value string, value string", "t", "Columns value and value are both named value: drop or rename one"),
        ("value string", "", "with the option topic, or a column topic"),
    ],
)
def test_wrong_columns_are_refused_before_a_job_runs(ddl: str, topic: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        SinkColumns.of(schema(ddl), topic)


def test_an_exact_name_takes_precedence_over_a_name_in_another_case() -> None:
    """Like Spark's own connector, with ``spark.sql.caseSensitive`` and without (verified with Spark 4.2's)."""
    assert positions_of(["VALUE", "value", "Key", "offset"]) == {"value": 1, "key": 2}
    columns = {"VALUE": pa.array(["no"]), "value": pa.array(["yes"])}
    (batch,) = encode("VALUE string, value string", columns, {"t": 1}, "t")[("t", 0)]
    assert batch.value == b"yes"


def test_columns_that_the_sink_does_not_write_are_ignored() -> None:
    columns = {"offset": pa.array([1, 2]), "Value": pa.array(["a", "b"])}
    assert len(encode("offset bigint, Value string", columns, {"t": 1}, "t")[("t", 0)]) == 2
