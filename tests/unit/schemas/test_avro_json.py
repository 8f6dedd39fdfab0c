"""Avro values as JSON, and back: what is shown can be written again."""

from __future__ import annotations

import json
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


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


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
    (NODE, {"v": 1, "next": {"v": 2, "next": None}}),
]


@pytest.mark.parametrize(("schema", "shown"), SHOWN, ids=[json.dumps(schema)[:50] for schema, _ in SHOWN])
def test_what_is_shown_can_be_written_again(schema: Any, shown: Any) -> None:
    codec = AvroCodec(Schema(json.dumps(schema)), {})
    written = codec.encode(codec.from_json(shown), strict=True)
    assert codec.to_json(codec.decode(written, position=0)) == shown


def test_avros_own_json_of_a_union_is_taken_too() -> None:
    codec = AvroCodec(Schema('["null", "string", "long"]'), {})
    assert codec.encode(codec.from_json({"long": 3})) == codec.encode(codec.from_json(3)) == b"\x04\x06"


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
    (logical("bytes", "decimal", precision=4), "a lot", "a decimal number"),
    (logical("bytes", "decimal", precision=4), "NaN", "a decimal number"),
    (logical("bytes", "decimal", precision=4), 1e400, "a decimal number"),
    (logical("string", "uuid"), "nobody", "must be a UUID"),
    (logical("long", "timestamp-nanos"), "2026-01-31T12:00:00Z", "must be long"),
    (logical("long", "fortnight"), "2026-01-31", "must be long"),
    (logical("int", "timestamp-millis"), "2026-01-31T12:00:00Z", "must be int"),
    ("bytes", {"base64": "?"}, "must be base64"),
]


@pytest.mark.parametrize(("schema", "value", "said"), UNFIT, ids=[said for _, _, said in UNFIT])
def test_what_does_not_fit_is_refused_with_its_place(schema: Any, value: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        AvroCodec(Schema(json.dumps(schema)), {}).from_json(value)


def test_a_schema_with_which_few_bytes_claim_much_is_refused() -> None:
    with pytest.raises(SchemaError, match="take no bytes"):
        AvroCodec(Schema('{"type": "array", "items": "null"}'), {})


def test_a_value_that_nests_deeper_than_the_reader_can_follow_is_refused() -> None:
    codec = AvroCodec(Schema(json.dumps(NODE)), {})
    with pytest.raises(SchemaError, match="are read to"):
        codec.decode(b"\x02\x02" * 100_000, position=0)
