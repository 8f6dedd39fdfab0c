"""Avro values in the columns of a reader's schema; what is expected comes from Avro's rules for resolution."""

from __future__ import annotations

import datetime
import json
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from oncelog.schemas.arrow import decoder
from oncelog.schemas.arrow.avro_types import AvroColumns, AvroTypes
from oncelog.schemas.arrow.value_reading import ReaderSchema
from oncelog.schemas.arrow.value_writing import ColumnWriter
from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.schema_errors import SchemaError, SchemaMismatch
from oncelog.schemas.structs import JSON, Schema

ENGINES = [decoder.RowDecoder] if decoder.compiled is None else [decoder.CompiledDecoder, decoder.RowDecoder]
HEAD = bytes(5)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    return request.param


def codec_of(schema: Any) -> AvroCodec:
    return AvroCodec(Schema(json.dumps(schema)), {})


def record(*fields: Any, name: str = "R") -> dict[str, Any]:
    """A record whose fields are a, b and so on, unless they are given as fields."""
    made = []
    for letter, one in zip("abcdefgh", fields, strict=False):
        is_field = isinstance(one, dict) and isinstance(one.get("name"), str) and "default" in one
        made.append(one if is_field else {"name": letter, "type": one})
    return {"type": "record", "name": name, "fields": made}


def attempted(engine: Any, writer: Any, reader: Any, *payloads: bytes | None) -> tuple[pa.Array, dict[int, Any]]:
    """The values, from the bytes behind the schema id, and why some are null."""
    types = AvroTypes(codec_of(reader).parsed)
    made = engine(types, AvroColumns(types))
    rows = [None if payload is None else HEAD + payload for payload in payloads]
    found, problems = made.read(rows, {HEAD: made.reading(AvroTypes(codec_of(writer).parsed))})
    found.validate(full=True)
    return found, problems


def read(engine: Any, writer: Any, reader: Any, *payloads: bytes) -> pa.Array:
    """The values; raises what is wrong with the first one that cannot be read."""
    found, problems = attempted(engine, writer, reader, *payloads)
    for problem in problems.values():
        raise problem
    return found


def through(engine: Any, writer: Any, reader: Any, *values: Any) -> list[Any]:
    found: list[Any] = read(engine, writer, reader, *map(codec_of(writer).encode, values)).to_pylist()
    return found


LONG_TIME = {"type": "long", "logicalType": "timestamp-micros"}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
WIDE = {"type": "fixed", "name": "M", "logicalType": "decimal"}
COLORS = {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}
MORNING = datetime.datetime(2026, 1, 31, 12, 0, 0, 1000, datetime.UTC)


@pytest.mark.parametrize(
    ("schema", "value", "kind"),
    [
        ("boolean", True, pa.bool_()),
        ("int", -(2**31), pa.int32()),
        ("long", 2**63 - 1, pa.int64()),
        ("float", 1.5, pa.float32()),
        ("double", -1e300, pa.float64()),
        ("string", "häßlich", pa.string()),
        (record("bytes"), {"a": b"\xff\0"}, None),
        ({"type": "fixed", "name": "F", "size": 3}, b"abc", pa.binary()),
        (COLORS, "BLUE", pa.string()),
        ({"type": "array", "items": "int"}, [1, 2], pa.list_(pa.int32())),
        ({"type": "map", "values": {"type": "array", "items": "string"}}, {"k": ["v"], "": []}, None),
        ({"type": "int", "logicalType": "date"}, datetime.date(1969, 7, 20), pa.date32()),
        (LONG_TIME, MORNING, pa.timestamp("us", "UTC")),
        ({"type": "long", "logicalType": "timestamp-millis"}, MORNING, pa.timestamp("us", "UTC")),
        (
            {"type": "long", "logicalType": "local-timestamp-micros"},
            MORNING.replace(tzinfo=None),
            pa.timestamp("us"),
        ),
        ({"type": "long", "logicalType": "timestamp-nanos"}, 5, pa.int64()),
        ({"type": "string", "logicalType": "uuid"}, "0d5c7a2e-0000-4000-8000-000000000000", pa.string()),
        ({"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}, bytes(12), pa.binary()),
        (record(MONEY), {"a": Decimal("-12345678.90")}, None),
        ({**WIDE, "size": 16, "precision": 38}, Decimal(-(10**37)), None),
        (record(["null", "string"], ["null", "string"]), {"a": None, "b": "x"}, None),
        (record({"type": "array", "items": record("int", name="Inner")}), {"a": [{"a": 1}, {"a": 2}]}, None),
    ],
)  # fmt: skip
def test_an_avro_value_of_each_type_is_read_into_a_column(
    engine: Any, schema: Any, value: Any, kind: pa.DataType | None
) -> None:
    (found,) = through(engine, schema, schema, value)
    expected = list(value.items()) if isinstance(value, dict) and "values" in schema else value
    assert found == expected
    if kind is not None:
        assert AvroTypes(codec_of(schema).parsed).column().arrow_type == kind


@pytest.mark.parametrize(
    ("writer", "reader", "value", "expected"),
    [
        ("int", "long", 1, 1),
        ("int", "float", 1, 1.0),
        ("long", "double", 2**53, 2.0**53),
        ("float", "double", 0.5, 0.5),
        ("string", ["null", "string"], "x", "x"),
        (["null", "string"], "string", "x", "x"),
        (["int", "string"], ["int", "string"], "x", {"member0": None, "member1": "x"}),
        (["int", "string"], ["int", "string"], 7, {"member0": 7, "member1": None}),
        (["int", "long"], ["int", "long"], 7, 7),
        ("int", ["string", "long"], 7, {"member0": None, "member1": 7}),
        ({"type": "long", "logicalType": "timestamp-millis"}, LONG_TIME, MORNING, MORNING),
        ({"type": "enum", "name": "Color", "symbols": ["GREEN", "BLUE"]}, {**COLORS, "default": "RED"}, "GREEN", "RED"),
        (record("int", "string"), record("int"), {"a": 1, "b": "left out"}, {"a": 1}),
        (
            record("int", name="a.b.R"),
            {"type": "record", "name": "c.R", "fields": [{"name": "z", "aliases": ["a"], "type": "int"}]},
            {"a": 1},
            {"z": 1},
        ),
    ],
)
def test_an_avro_value_is_resolved_into_the_readers_schema(
    engine: Any, writer: Any, reader: Any, value: Any, expected: Any
) -> None:
    assert through(engine, writer, reader, value) == [expected]


@pytest.mark.parametrize(
    ("kind", "default", "expected"),
    [
        ("int", 7, 7),
        ("bytes", "\u00ff\u0000", b"\xff\0"),
        (["null", "string"], None, None),
        (["string", "null"], "x", "x"),
        (COLORS, "BLUE", "BLUE"),
        ({"type": "array", "items": "int"}, [1, 2], [1, 2]),
        ({"type": "map", "values": "int"}, {"k": 1}, [("k", 1)]),
        (LONG_TIME, 0, datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)),
        (MONEY, "\u0001\u0000", Decimal("2.56")),
        (record("int", {"name": "b", "type": "string", "default": "d"}, name="Inner"), {"a": 1}, {"a": 1, "b": "d"}),
    ],
)
def test_a_field_that_the_writer_lacks_gets_its_default(engine: Any, kind: Any, default: Any, expected: Any) -> None:
    reader = record("int")
    reader["fields"].append({"name": "new", "type": kind, "default": default})
    assert through(engine, record("int"), reader, {"a": 1}, {"a": 2}) == [
        {"a": 1, "new": expected},
        {"a": 2, "new": expected},
    ]


FIXED = {"type": "fixed", "name": "F", "size": 2}
SCALES = "a was written as bytes (decimal of scale 2), which cannot be read as bytes (decimal of scale 3)"
SIZES = "a was written as fixed F of 2 bytes, which cannot be read as fixed F of 3 bytes"


@pytest.mark.parametrize(
    ("writer", "reader", "value", "why"),
    [
        ("string", "int", "x", "it was written as string, which cannot be read as int"),
        ("long", "int", 1, "it was written as long, which cannot be read as int"),
        ("double", "float", 1.0, "cannot be read as float"),
        (["null", "int"], "int", None, "it was written as null, which cannot be read as int"),
        (record("int"), record("int", "int"), {"a": 1}, "b was not written, and has no default"),
        (record(record("int", name="I")), record(record("string", name="I")), {"a": {"a": 1}}, "a.a was written"),
        (record("int"), record("int", name="Other"), {"a": 1}, "as record R, which cannot be read as record Other"),
        (COLORS, {**COLORS, "symbols": ["RED"]}, "BLUE", "symbol 1 of an enum is none of the reader's"),
        (MONEY, {**MONEY, "scale": 3}, Decimal(1), "a value that is nothing but bytes"),
        (record(MONEY), record({**MONEY, "scale": 3}), {"a": Decimal(1)}, SCALES),
        (record(FIXED), record({**FIXED, "size": 3}), {"a": b"ab"}, SIZES),
        (record(MONEY), record({**MONEY, "precision": 3}), {"a": Decimal(100)}, "has more than 3 digits"),
    ],
)  # fmt: skip
def test_a_value_that_the_reader_cannot_hold_is_refused_with_the_reason(
    engine: Any, writer: Any, reader: Any, value: Any, why: str
) -> None:
    payload = value if isinstance(value, Decimal) else codec_of(writer).encode(value)
    with pytest.raises(SchemaError) as refused:
        read(engine, writer, reader, payload if isinstance(payload, bytes) else b"\1")
    assert why in str(refused.value)


NESTED: dict[str, Any] = {
    "type": "record", "name": "Order", "fields": [
        {"name": "id", "type": "long"},
        {"name": "parts", "type": {"type": "map", "values": ["null", {"type": "array", "items": "string"}]}},
        {"name": "more", "type": ["null", "Order"]},
        {"name": "color", "type": COLORS},
        {"name": "amount", "type": MONEY},
        {"name": "ok", "type": "boolean"},
        {"name": "size", "type": "double"},
    ],
}  # fmt: skip
FLAT = {**NESTED, "fields": [one for one in NESTED["fields"] if one["name"] != "more"]}
ORDER = {"id": 300, "parts": {"a": ["x", "yy"], "b": None}, "color": "BLUE", "amount": Decimal("3.20"), "ok": True,
         "size": 0.5}  # fmt: skip


def test_a_payload_truncated_at_any_byte_is_refused_and_leaves_no_partial_row(engine: Any) -> None:
    payload = codec_of(NESTED).encode({**ORDER, "more": {**ORDER, "more": None}})
    cut = [payload[:end] for end in range(len(payload))]
    found, problems = attempted(engine, NESTED, FLAT, *cut, payload + b"x", None, payload)
    assert list(problems) == list(range(len(payload) + 1))
    assert str(problems[len(payload)]) == "1 bytes are left over"
    whole = {**ORDER, "parts": [("a", ["x", "yy"]), ("b", None)]}
    assert found.to_pylist() == [*[None] * (len(payload) + 2), whole]


@pytest.mark.parametrize(
    ("writer", "payload", "why"),
    [
        ("boolean", b"\2", "a boolean is the byte 2"),
        ("int", b"\x80\x80\x80\x80\x10", "more than 32 bits"),
        ("long", b"\xff" * 10 + b"\1", "more than 64 bits"),
        ("string", b"\1", "a length is -1"),
        ("string", b"\x04\xff\xff", "not UTF-8"),
        (["null", "int"], b"\x04", "no branch 2"),
        (["null", "int"], b"\1", "no branch -1"),
        (COLORS, b"\x08", "no symbol 4"),
        ({"type": "array", "items": "int"}, b"\xfe\xff\xff\xff\x0f", "items cannot be in"),
        ({"type": "map", "values": "int"}, b"\2\2\xff\2\0", "not UTF-8"),
    ],
)
def test_bytes_that_no_avro_serializer_writes_are_refused(engine: Any, writer: Any, payload: bytes, why: str) -> None:
    with pytest.raises(SchemaError) as refused:
        read(engine, writer, writer, payload)
    assert why in str(refused.value)


def test_avro_blocks_with_their_size_are_read_and_skipped(engine: Any) -> None:
    blocks = b"\3\4\2\4" + b"\2\6" + b"\0"  # two items with their size, one without
    writer = record({"type": "array", "items": "int"}, "int")
    assert read(engine, writer, writer, blocks + b"\2").to_pylist() == [{"a": [1, 2, 3], "b": 1}]
    reader = {**writer, "fields": writer["fields"][1:]}
    assert read(engine, writer, reader, blocks + b"\2").to_pylist() == [{"b": 1}]


def test_a_timestamp_outside_sparks_range_is_refused(engine: Any) -> None:
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    with pytest.raises(SchemaError, match="out of range"):
        read(engine, millis, millis, codec_of("long").encode(2**62))


def test_a_value_of_type_bytes_has_no_length_prefix(engine: Any) -> None:
    assert read(engine, "bytes", "bytes", b"abc").to_pylist() == [b"abc"]
    assert read(engine, "bytes", ["null", "string"], b"abc").to_pylist() == ["abc"]


def test_a_deeply_nested_skipped_value_is_refused(engine: Any) -> None:
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
    writer = {"type": "record", "name": "R", "fields": [{"name": "n", "type": node}, {"name": "a", "type": "int"}]}
    assert read(engine, writer, record("int"), b"\2" * 150 + b"\0\2").to_pylist() == [{"a": 1}]
    with pytest.raises(SchemaError, match="levels deep"):
        read(engine, writer, record("int"), b"\2" * 100_000 + b"\0\2")


def _doubled(depth: int) -> Any:
    inner: Any = "int"
    for i in range(depth):
        again = inner if isinstance(inner, str) else inner["name"]
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": again}]
        inner = {"type": "record", "name": f"D{i}", "fields": fields}
    return inner


@pytest.mark.parametrize(
    ("reader", "why"),
    [
        ({"type": "record", "name": "N", "fields": [{"name": "n", "type": ["null", "N"]}]}, "N contains itself"),
        ({"type": "record", "name": "N", "fields": [{"name": "n", "type": {"type": "array", "items": "N"}}]}, "itself"),
        (_doubled(20), "more than 10000 columns"),
    ],
)
def test_an_avro_schema_without_columns_is_refused(reader: Any, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        AvroTypes(codec_of(reader).parsed).column()


def test_a_union_of_200_types_is_read(engine: Any) -> None:
    """More than the codes that a union of Arrow's has."""
    branches = [{"type": "record", "name": f"R{i}", "fields": [{"name": "x", "type": "int"}]} for i in range(200)]
    (found,) = read(engine, branches, branches, codec_of("int").encode(199) + b"\2").to_pylist()
    assert [name for name, value in found.items() if value is not None] == ["member199"]


def test_a_float_is_read_as_a_float_without_rounding(engine: Any) -> None:
    assert read(engine, "float", "float", struct.pack("<f", 0.1)).to_pylist() == [
        struct.unpack("<f", struct.pack("<f", 0.1))[0]
    ]


FAR = 253_402_300_800_000_000
"""The first microsecond of the year 10000."""


@pytest.mark.parametrize(
    ("logical_type", "arrow_type", "number", "expected"),
    [
        ("timestamp-micros", pa.timestamp("us", "UTC"), FAR, FAR),
        ("timestamp-millis", pa.timestamp("us", "UTC"), FAR, FAR // 1000),
        ("local-timestamp-millis", pa.timestamp("us"), -FAR, -FAR // 1000),
        ("date", pa.date32(), 2_932_897, 2_932_897),
    ],
)
def test_a_timestamp_beyond_pythons_range_is_written_unchanged(
    logical_type: str, arrow_type: pa.DataType, number: int, expected: int
) -> None:
    kind = "int" if logical_type == "date" else "long"
    schema = record({"type": kind, "logicalType": logical_type})
    stored = pa.int32() if kind == "int" else pa.int64()
    rows = pa.StructArray.from_arrays([pa.array([number], stored).cast(arrow_type)], names=["a"])
    (written,) = ColumnWriter(ReaderSchema("s", 1, 1, Schema(json.dumps(schema)))).write(rows).to_pylist()
    assert codec_of(record(kind)).decode(written) == {"a": expected}


def test_time_that_json_cannot_express_is_refused() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    rows = pa.StructArray.from_arrays([pa.array([FAR]).cast(pa.timestamp("us"))], names=["a"])
    with pytest.raises(SchemaError, match="is not in the years 1 to 9999"):
        ColumnWriter(ReaderSchema("s", 1, 1, Schema(json.dumps(schema), JSON))).write(rows)


def test_a_union_accepts_the_structs_that_it_is_read_as() -> None:
    first = {"type": "record", "name": "A", "fields": [{"name": "x", "type": "int"}]}
    schema = record(["null", first, {**first, "name": "B"}])
    writer = ColumnWriter(ReaderSchema("s", 1, 1, Schema(json.dumps(schema))))
    kind = AvroTypes(codec_of(schema).parsed).column().arrow_type
    rows = [{"a": {"member0": None, "member1": {"x": 1}}}, {"a": {"member0": None, "member1": None}}, {"a": None}]
    assert [one[5:] for one in writer.write(pa.array(rows, kind)).to_pylist()] == [b"\4\2", b"\0", b"\0"]
    both = {"a": {"member0": {"x": 1}, "member1": {"x": 1}}}
    with pytest.raises(SchemaError, match="of member0, member1 only one may have a value"):
        writer.write(pa.array([both], kind))
    plain = pa.array([{"a": {"x": 1}}], pa.struct([("a", pa.struct([("x", pa.int32())]))]))
    with pytest.raises(SchemaError, match="a fits A and B alike"):
        writer.write(plain)


def test_values_that_the_reader_cannot_hold_are_distinguished_from_malformed_bytes(engine: Any) -> None:
    """Only the second kind is a fault of the record."""
    _, problems = attempted(engine, record("int"), record("int", "int"), b"\2", b"")
    assert {number: (type(problem), str(problem)) for number, problem in problems.items()} == {
        0: (SchemaMismatch, "b was not written, and has no default in the reader's schema"),
        1: (SchemaError, "they end too early"),
    }
    _, problems = attempted(engine, COLORS, {**COLORS, "symbols": ["RED"]}, b"\2", b"\x08")
    assert {number: (type(problem), str(problem)) for number, problem in problems.items()} == {
        0: (SchemaMismatch, "symbol 1 of an enum is none of the reader's, which has no default"),
        1: (SchemaError, "an enum has no symbol 4"),
    }
