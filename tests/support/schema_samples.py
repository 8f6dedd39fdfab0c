"""What a value of each type of Avro, JSON Schema and Protobuf becomes in each reader.

Read by the test that asks the readers, and by the tool that writes ``docs/reference/schema-values.md``. Python's values
of Avro are those of Java (``tests/compatibility/interop/schemas``).
"""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any, NamedTuple

SAME = object()
"""As in Python."""


class Sample(NamedTuple):
    """A type and a value of it.

    :param given: the value as a schema's default or JSON has it.
    :param python: for the deserializers.
    :param shown: for ``consume --json``, ``produce`` and the console.
    :param exported: in Parquet; ``spark``: in the columns of ``from_registry``.
    """

    name: str
    kind: Any
    given: Any
    python: Any
    shown: Any = SAME
    exported: Any = SAME
    spark: Any = SAME

    def in_reader(self, value: Any) -> Any:
        return self.python if value is SAME else value


def logical(kind: str, logical_type: str, /, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical_type, **more}


UTC = datetime.UTC
AT = datetime.datetime(2026, 1, 31, 12, 0, 0, 123000, UTC)
AT_MS = 1_769_860_800_123
ID = "0d5c7a2e-0000-4000-8000-000000000000"
A = {"type": "record", "name": "shop.A", "fields": [{"name": "x", "type": "int"}]}
B = {**A, "name": "shop.B"}
INNER = {
    "type": "record",
    "name": "shop.Inner",
    "fields": [
        {"name": "x", "type": "int"},
        {"name": "price", "type": logical("bytes", "decimal", precision=6, scale=2), "default": "\u0001\u0000"},
        {"name": "day", "type": ["null", logical("int", "date")], "default": None},
    ],
}
PRICE = Decimal("2.56")

AVRO: list[Sample] = [
    Sample("boolean", "boolean", True, True),
    Sample("int", "int", -(2**31), -(2**31)),
    Sample("long", "long", 2**53 + 1, 2**53 + 1),
    Sample("float", "float", 0.5, 0.5),
    Sample("double", "double", 1, 1.0),
    Sample("double, NaN", "double", "Infinity", float("inf"), "Infinity"),
    Sample("string", "string", "ü€😀", "ü€😀"),
    Sample("bytes", "bytes", "\u00ff\u0000", b"\xff\0", {"base64": "/wA="}),
    Sample("bytes, ASCII", "bytes", "abc", b"abc", "abc"),
    Sample("fixed", {"type": "fixed", "name": "F", "size": 2}, "\u00ff\u0001", b"\xff\x01", {"base64": "/wE="}),
    Sample("enum", {"type": "enum", "name": "E", "symbols": ["RED", "BLUE"]}, "BLUE", "BLUE"),
    Sample("null", "null", None, None),
    Sample("date", logical("int", "date"), -1, datetime.date(1969, 12, 31), "1969-12-31"),
    Sample(
        "time-millis",
        logical("int", "time-millis"),
        3_600_001,
        datetime.time(1, 0, 0, 1000),
        "01:00:00.001000",
        "01:00:00.001000",
        3_600_001,
    ),
    Sample(
        "time-micros",
        logical("long", "time-micros"),
        3_600_000_001,
        datetime.time(1, 0, 0, 1),
        "01:00:00.000001",
        "01:00:00.000001",
        3_600_000_001,
    ),
    Sample("timestamp-millis", logical("long", "timestamp-millis"), AT_MS, AT, "2026-01-31T12:00:00.123000+00:00"),
    Sample(
        "timestamp-micros", logical("long", "timestamp-micros"), AT_MS * 1000, AT, "2026-01-31T12:00:00.123000+00:00"
    ),
    Sample("timestamp-nanos", logical("long", "timestamp-nanos"), AT_MS * 10**6 + 1, AT_MS * 10**6 + 1),
    Sample(
        "local-timestamp-millis",
        logical("long", "local-timestamp-millis"),
        AT_MS,
        AT.replace(tzinfo=None),
        "2026-01-31T12:00:00.123000",
    ),
    Sample(
        "local-timestamp-micros",
        logical("long", "local-timestamp-micros"),
        AT_MS * 1000,
        AT.replace(tzinfo=None),
        "2026-01-31T12:00:00.123000",
    ),
    Sample("decimal", logical("bytes", "decimal", precision=6, scale=2), "\u0001\u0000", PRICE, "2.56"),
    Sample(
        "decimal of fixed",
        logical("fixed", "decimal", name="D", size=4, precision=8, scale=3),
        "\u0000\u0000\u0001\u00f4",
        Decimal("0.500"),
        "0.500",
    ),
    Sample(
        "decimal of 40 digits",
        logical("bytes", "decimal", precision=40, scale=2),
        "\u0001\u0000",
        PRICE,
        "2.56",
        "2.56",
        b"\x01\0",
    ),
    Sample("decimal, scale > precision", logical("bytes", "decimal", precision=2, scale=4), "*", b"*", "*"),
    Sample("uuid", logical("string", "uuid"), ID, uuid.UUID(ID), ID, ID, ID),
    Sample(
        "uuid of fixed",
        logical("fixed", "uuid", name="U", size=16),
        "\u0001" * 16,
        uuid.UUID("01" * 16),
        "01010101-0101-0101-0101-010101010101",
        "01010101-0101-0101-0101-010101010101",
        b"\x01" * 16,
    ),
    Sample("duration", logical("fixed", "duration", name="T", size=12), "a" * 12, b"a" * 12, "a" * 12),
    Sample("unknown logical type", logical("string", "fortnight"), "x", "x"),
    Sample("logical type of another type", logical("int", "timestamp-millis"), 5, 5),
    Sample(
        "array", {"type": "array", "items": logical("int", "date")}, [0], [datetime.date(1970, 1, 1)], ["1970-01-01"]
    ),
    Sample(
        "map",
        {"type": "map", "values": "bytes"},
        {"ü": "\u00ff"},
        {"ü": b"\xff"},
        {"ü": {"base64": "/w=="}},
        [("ü", b"\xff")],
        [("ü", b"\xff")],
    ),
    Sample(
        "record, fields left out",
        INNER,
        {"x": 1},
        {"x": 1, "price": PRICE, "day": None},
        {"x": 1, "price": "2.56", "day": None},
    ),
    Sample("null or a type", ["null", "string"], None, None),
    Sample(
        "a type or null", [logical("long", "timestamp-millis"), "null"], AT_MS, AT, "2026-01-31T12:00:00.123000+00:00"
    ),
    Sample(
        "union of string and bytes",
        ["bytes", "string"],
        "\u00ff",
        b"\xff",
        {"bytes": {"base64": "/w=="}},
        '{"bytes": {"base64": "/w=="}}',
        {"member0": b"\xff", "member1": None},
    ),
    Sample("union of records", ["null", {**A}, {**B}], None, None),
    Sample(
        "union of records, with a value",
        [A, "shop.B", "string"],
        {"x": 1},
        {"x": 1},
        {"shop.A": {"x": 1}},
        '{"shop.A": {"x": 1}}',
        {"member0": {"x": 1}, "member1": None, "member2": None},
    ),
    Sample("union of int and string", ["int", "string"], 7, 7, 7, "7", {"member0": 7, "member1": None}),
    Sample("union of int and long", ["int", "long"], 7, 7, {"int": 7}, '{"int": 7}', 7),
]

JSON_SCHEMA: list[Sample] = [
    Sample("string", {"type": "string"}, "ü", "ü"),
    Sample("integer", {"type": "integer"}, 2**53 + 1, 2**53 + 1),
    Sample("number", {"type": "number"}, 0.5, 0.5),
    Sample("boolean", {"type": "boolean"}, True, True),
    Sample("null", {"type": "null"}, None, None),
    Sample("a date's format", {"type": "string", "format": "date"}, "2026-01-31", "2026-01-31"),
    Sample("array", {"type": "array", "items": {"type": "integer"}}, [1], [1]),
    Sample("object", {"type": "object", "properties": {"x": {"type": "integer"}}}, {"x": 1}, {"x": 1}),
    Sample(
        "object without properties",
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"x": 1},
        {"x": 1},
        SAME,
        [("x", 1)],
        [("x", 1)],
    ),
    Sample("null or a type", {"oneOf": [{"type": "null"}, {"type": "string"}]}, "x", "x"),
    Sample("several types", {"type": ["string", "integer"]}, 7, 7, SAME, "7", "7"),
    Sample("anything", {}, {"x": [1]}, {"x": [1]}, SAME, '{"x": [1]}', '{"x": [1]}'),
]
"""Values that were written."""

PROTO3 = """
syntax = "proto3";
package shop;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message All {
  int32 int32 = 1;
  int64 int64 = 2;
  uint32 uint32 = 3;
  uint64 uint64 = 4;
  float float = 5;
  double double = 6;
  bool bool = 7;
  string string = 8;
  bytes bytes = 9;
  State enum = 10;
  repeated int32 repeated = 11;
  map<string, int64> map = 12;
  Inner message = 13;
  optional int32 optional = 14;
  oneof choice { string oneof = 15; int32 other = 16; }
  google.protobuf.Timestamp timestamp = 17;
  google.protobuf.Int64Value wrapper = 18;
  google.protobuf.Struct struct = 19;
  google.protobuf.Any any = 20;
  State unknown_enum = 21;
  enum State { NEW = 0; DONE = 1; }
  message Inner { int32 x = 1; optional string note = 2; }
}
"""
PROTO2 = """
syntax = "proto2";
package shop;
message Old {
  optional int32 with_default = 1 [default = 7];
  optional string text = 2 [default = "x"];
  optional State state = 3 [default = DONE];
  optional int32 without = 4;
  repeated int32 repeated = 5;
  enum State { NEW = 0; DONE = 1; }
}
"""
ABSENT = "absent"
"""What JSON does not show, and Python says with ``HasField``."""

PROTOBUF_UNSET: list[Sample] = [
    Sample("int32", "int32", None, 0),
    Sample("int64", "int64", None, 0, "0"),
    Sample("uint32", "uint32", None, 0),
    Sample("uint64", "uint64", None, 0, "0", Decimal(0), Decimal(0)),
    Sample("float", "float", None, 0.0),
    Sample("double", "double", None, 0.0),
    Sample("bool", "bool", None, False),
    Sample("string", "string", None, ""),
    Sample("bytes", "bytes", None, b"", ""),
    Sample("enum", "enum", None, 0, "NEW", "NEW", "NEW"),
    Sample("repeated", "repeated", None, []),
    Sample("map", "map", None, {}, {}, [], []),
    Sample("message", "message", None, ABSENT, ABSENT, None, None),
    Sample("optional", "optional", None, ABSENT, ABSENT, None, None),
    Sample("oneof", "oneof", None, ABSENT, ABSENT, None, None),
    Sample("Timestamp", "timestamp", None, ABSENT, ABSENT, None, None),
    Sample("Int64Value", "wrapper", None, ABSENT, ABSENT, None, None),
    Sample("Struct", "struct", None, ABSENT, ABSENT, None, None),
    Sample("Any", "any", None, ABSENT, ABSENT, None, None),
]
"""A message of proto3 without a byte."""

PROTOBUF_DEFAULTS: list[Sample] = [
    Sample("int32 with a default", "with_default", None, 7, ABSENT),
    Sample("string with a default", "text", None, "x", ABSENT),
    Sample("enum with a default", "state", None, 1, ABSENT, "DONE", "DONE"),
    Sample("int32 without a default", "without", None, ABSENT, ABSENT, None, None),
    Sample("repeated", "repeated", None, []),
]
"""A message of proto2 without a byte: what has a default has it, as in Java and in Spark's ``from_protobuf``."""

PROTOBUF_SET: list[Sample] = [
    Sample("int32", "int32", -1, -1),
    Sample("int64", "int64", str(2**53 + 1), 2**53 + 1, str(2**53 + 1)),
    Sample("uint64", "uint64", str(2**64 - 1), 2**64 - 1, str(2**64 - 1), Decimal(2**64 - 1), Decimal(2**64 - 1)),
    Sample("bytes", "bytes", "/w==", b"\xff", "/w=="),
    Sample("enum", "enum", "DONE", 1, "DONE", "DONE", "DONE"),
    Sample("enum, a number without a name", "unknown_enum", 5, 5, 5, "5", "5"),
    Sample("map", "map", {"ü": "1"}, {"ü": 1}, {"ü": "1"}, [("ü", 1)], [("ü", 1)]),
    Sample("message", "message", {"x": 1}, {"x": 1}, {"x": 1}, {"x": 1, "note": None}, {"x": 1, "note": None}),
    Sample("optional, zero", "optional", 0, 0),
    Sample("oneof", "oneof", "", ""),
    Sample("Timestamp", "timestamp", "2026-01-31T12:00:00.123Z", AT, "2026-01-31T12:00:00.123Z"),
    Sample("Int64Value", "wrapper", "0", {"value": 0}, "0", 0, 0),
    Sample("Struct", "struct", {"x": [1.0]}, {"x": [1.0]}, {"x": [1.0]}, '{"x": [1.0]}', '{"x": [1.0]}'),
]
"""The same message with values."""
