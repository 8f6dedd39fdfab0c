"""Avro values as JSON, and back: what is shown can be written again."""

from __future__ import annotations

import datetime
import json
import struct
from typing import Any

import pytest

from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.schema_errors import SchemaError
from oncelog.schemas.structs import Schema

NODE = {
    "type": "record",
    "name": "Node",
    "fields": [{"name": "v", "type": "int"}, {"name": "next", "type": ["null", "Node"], "default": None}],
}


A = {"type": "record", "name": "shop.A", "fields": [{"name": "id", "type": "int"}]}
B = {**A, "name": "shop.B"}
C = {**A, "name": "shop.C", "fields": [{"name": "id", "type": "int"}, {"name": "x", "type": "int", "default": 0}]}


def logical(kind: str, which: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": which, **more}


SHOWN: list[tuple[Any, Any]] = [
    ("int", 7),
    ("double", "NaN"),
    ("double", "-Infinity"),
    ("string", "ä"),
    ({"type": "array", "items": "bytes"}, ["text", {"base64": "/w=="}]),
    ({"type": "fixed", "name": "F", "size": 2}, "ab"),
    ({"type": "array", "items": logical("bytes", "decimal", precision=6, scale=2)}, ["-12.50"]),
    (logical("int", "date"), "2026-01-31"),
    (logical("int", "time-millis"), "12:00:00.001000"),
    (logical("long", "time-micros"), "12:00:00.000001"),
    (logical("long", "timestamp-millis"), "2026-01-31T12:00:00.001000+00:00"),
    (logical("long", "timestamp-micros"), "2026-01-31T12:00:00.000001+00:00"),
    (logical("long", "timestamp-nanos"), 1_769_860_800_000_000_001),
    (logical("long", "local-timestamp-micros"), "2026-01-31T12:00:00.000001"),
    (logical("string", "uuid"), "00000000-0000-0000-0000-000000000007"),
    (["null", "string"], None),
    (["null", "string"], "x"),
    ({"type": "map", "values": ["int", {"type": "array", "items": "int"}]}, {"a": 1, "b": [2]}),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
    (logical("int", "date"), 3_000_000),
    (logical("long", "timestamp-millis"), 253_402_300_800_000),
    (logical("long", "timestamp-micros"), -62_135_596_800_000_001),
    (logical("fixed", "uuid", name="U", size=16), "01010101-0101-0101-0101-010101010101"),
    (logical("fixed", "duration", name="T", size=2), {"base64": "/wE="}),
    ({"type": "array", "items": logical("bytes", "decimal", precision=12, scale=8)}, ["0.00000000"]),
    ("long", 2**63 - 1),
    ({"type": "map", "values": "double"}, {"ключ": "Infinity", "😀": 0.1}),
    ({"type": "array", "items": ["null", "string", "bytes"]}, [None, {"string": "a"}, {"bytes": "a"}]),
    ({"type": "array", "items": ["int", "long"]}, [{"int": 1}, {"long": 1}]),
    ({"type": "array", "items": ["float", "double"]}, [{"float": 0.5}, {"double": 0.1}, {"double": "NaN"}]),
    ({"type": "array", "items": ["string", "double"]}, ["a", 0.5, {"string": "NaN"}, {"double": "NaN"}]),
    ({"type": "array", "items": ["null", "double"]}, [None, "NaN"]),
    (
        {"type": "array", "items": ["string", logical("long", "timestamp-millis")]},
        [{"string": "2026-01-31T12:00:00+00:00"}, {"long": "2026-01-31T12:00:00+00:00"}],
    ),
    ({"type": "array", "items": ["string", "boolean"]}, ["true", True]),
    ({"type": "array", "items": [A, B]}, [{"shop.A": {"id": 1}}, {"shop.B": {"id": 1}}]),
    ({"type": "array", "items": ["null", A]}, [None, {"id": 1}]),
    ({"type": "array", "items": ["null", {"type": "map", "values": "int"}]}, [{"a": 1}, {"map": {"map": 1}}]),
    ({"type": "array", "items": [A, {"type": "map", "values": "int"}]}, [{"shop.A": {"id": 1}}, {"map": {"id": 1}}]),
    (NODE, {"v": 1, "next": {"v": 2, "next": None}}),
]


@pytest.mark.parametrize(("schema", "shown"), SHOWN, ids=[json.dumps(schema)[:50] for schema, _ in SHOWN])
def test_values_shown_as_json_can_be_encoded_again(schema: Any, shown: Any) -> None:
    codec = AvroCodec(Schema(json.dumps(schema)), {})
    written = codec.encode(codec.from_json(shown), strict=True)
    assert codec.decode_json(written, position=0)[0] == shown


TAKEN: list[tuple[Any, Any, bytes]] = [
    (["null", "string", "long"], {"long": 3}, b"\x04\x06"),
    (["null", "string", "long"], 3, b"\x04\x06"),
    (["null", "string"], {"string": "x"}, b"\x02\x02x"),
    (["int", "long"], 2**40, b"\x02\x80\x80\x80\x80\x80\x40"),
    (["int", "long"], 3, b"\x00\x06"),
    (["float", "double"], 0.5, b"\x02" + b"\0\0\0\0\0\0\xe0?"),
    (["double", "int"], 3, b"\x02\x06"),
    (["null", {**A, "fields": [{"name": "A", "type": "int"}], "name": "A"}], {"A": 5}, b"\x02\x0a"),
    ([A, C], {"id": 1, "x": 2}, b"\x02\x02\x04"),
    ([A, B], {"-type": "shop.B", "id": 1}, b"\x02\x02"),
    ([A, "bytes"], "\u00ff", b"\x02\x02\xff"),
    ({"type": "array", "items": "bytes"}, ["\u00ff"], b"\x02\x02\xff\x00"),
    ([A, "bytes"], {"bytes": {"base64": "/w=="}}, b"\x02\x02\xff"),
]
"""Avro's own JSON, plain JSON of which one type is meant, and fastavro's key."""


@pytest.mark.parametrize(("schema", "value", "written"), TAKEN)
def test_a_value_that_names_its_type_is_written_as_that_type(schema: Any, value: Any, written: bytes) -> None:
    codec = AvroCodec(Schema(json.dumps(schema)), {})
    assert codec.encode(codec.from_json(value), strict=True) == written


AMBIGUOUS: list[tuple[Any, Any, str]] = [
    ([A, B], {"id": 1}, 'the value fits shop.A and shop.B alike: name the type, as in {"shop.A": ...}'),
    ([A, C], {"id": 1}, 'the value fits shop.A and shop.C alike: name the type, as in {"shop.A": ...}'),
    (["null", "string", "bytes"], "x", 'the value fits string and bytes alike: name the type, as in {"string": ...}'),
    ({"type": "array", "items": [A, B]}, [{"id": 1}], '[0] fits shop.A and shop.B alike'),
    (["string", logical("int", "date")], "2026-01-31", 'fits string and int alike'),
    (["string", {"type": "enum", "name": "E", "symbols": ["X"]}], "X", 'fits string and E alike'),
    ([{"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "G", "size": 1}], "x", "fits F and G alike"),
    (["string", "double"], "NaN", "fits string and double alike"),
    (["int", "boolean"], "x", "the value fits none of int, boolean: 'x'"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "printed"), AMBIGUOUS)
def test_an_ambiguous_type_is_refused(schema: Any, value: Any, printed: str) -> None:
    with pytest.raises(SchemaError) as refused:
        AvroCodec(Schema(json.dumps(schema)), {}).from_json(value)
    assert printed in str(refused.value)


PYTHON: list[tuple[Any, Any, str | bytes]] = [
    ([A, B], {"id": 1}, '("shop.A", ...)'),
    ([A, B], ("shop.B", {"id": 1}), b"\x02\x02"),
    ([A, B], {"-type": "shop.B", "id": 1}, b"\x02\x02"),
    (["bytes", {"type": "fixed", "name": "F", "size": 1}], b"x", "the value fits bytes and F alike"),
    (["bytes", {"type": "fixed", "name": "F", "size": 1}], ("F", b"x"), b"\x02x"),
    (["bytes", {"type": "fixed", "name": "F", "size": 1}], b"xy", b"\x00\x04xy"),
    (["string", {"type": "enum", "name": "E", "symbols": ["X"]}], "X", "fits string and E alike"),
    (["null", "string", "bytes"], "x", b"\x02\x02x"),
    (["null", "string", "bytes"], b"x", b"\x04\x02x"),
    (["int", logical("long", "timestamp-millis")], datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC), b"\x02\x00"),
    (["float", "double"], 0.1, b"\x02" + struct.pack("<d", 0.1)),
    (["null", A], ("shop.A", {"id": 1}), b"\x02\x02"),
]


@pytest.mark.parametrize(("schema", "value", "expected"), PYTHON)
def test_values_of_programs_match_one_union_type_or_are_refused(schema: Any, value: Any, expected: str | bytes) -> None:
    codec = AvroCodec(Schema(json.dumps(schema)), {})
    if isinstance(expected, bytes):
        assert codec.encode(value, strict=True) == expected
        return
    with pytest.raises(SchemaError) as refused:
        codec.encode(value)
    assert expected in str(refused.value)


UNFIT: list[tuple[Any, Any, str]] = [
    ("int", 2**31, "32 bits"),
    ("long", 2**63, "64 bits"),
    ("int", True, "must be int"),
    ("string", 1, "must be string"),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, "Z", "one of A"),
    ({"type": "array", "items": "int"}, [1, "x"], r"\[1\] must be int"),
    (NODE, {"next": None}, "v is missing"),
    (NODE, {"v": 1, "next": {"v": "x"}}, r"next\.v must be int"),
    (logical("int", "date"), "yesterday", "2026-01-31"),
    ({"type": "array", "items": logical("bytes", "decimal", precision=4)}, ["a lot"], "a decimal number"),
    ({"type": "array", "items": logical("bytes", "decimal", precision=4)}, ["NaN"], "a decimal number"),
    ({"type": "array", "items": logical("bytes", "decimal", precision=4)}, [1e400], "a decimal number"),
    (logical("string", "uuid"), "nobody", "must be a UUID"),
    (logical("long", "timestamp-nanos"), "2026-01-31T12:00:00Z", "must be long"),
    (logical("long", "fortnight"), "2026-01-31", "must be long"),
    (logical("int", "timestamp-millis"), "2026-01-31T12:00:00Z", "must be int"),
    ("bytes", {"base64": "?"}, "must be base64"),
]


@pytest.mark.parametrize(("schema", "value", "printed"), UNFIT, ids=[printed for _, _, printed in UNFIT])
def test_a_value_that_does_not_match_the_schema_is_refused_with_its_place(
    schema: Any, value: Any, printed: str
) -> None:
    with pytest.raises(SchemaError, match=printed):
        AvroCodec(Schema(json.dumps(schema)), {}).from_json(value)


def test_a_schema_that_lets_a_few_bytes_decode_to_a_huge_value_is_refused() -> None:
    with pytest.raises(SchemaError, match="take no bytes"):
        AvroCodec(Schema('{"type": "array", "items": "null"}'), {})


def test_a_value_that_nests_deeper_than_the_reader_can_follow_is_refused() -> None:
    codec = AvroCodec(Schema(json.dumps(NODE)), {})
    with pytest.raises(SchemaError, match="only values of up to"):
        codec.decode(b"\x02\x02" * 100_000, position=0)
