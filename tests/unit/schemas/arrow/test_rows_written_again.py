"""Rows that were read with a JSON Schema or a Protobuf file are written again as the values that they were read from.

The expected values are given in JSON; Google's runtime and Python's json make records of them.
"""

from __future__ import annotations

import datetime
import json
from typing import Any

import pyarrow as pa
import pytest

from oncelog.schema_registry.formats.protobuf import parse
from oncelog.schemas.arrow.value_reading import ColumnReader, ReaderSchema
from oncelog.schemas.arrow.value_writing import ColumnWriter
from oncelog.schemas.codecs import Codecs
from oncelog.schemas.framing import HEADER_BYTES, framed
from oncelog.schemas.protobuf_codec import ProtobufCodec
from oncelog.schemas.schema_errors import SchemaError
from oncelog.schemas.structs import JSON, PROTOBUF, Schema

PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/empty.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/type/money.proto";
enum Color { option allow_alias = true; RED = 0; GREEN = 1; LIME = 1; }
message Order {
  google.protobuf.Duration took = 1;
  repeated google.protobuf.Duration times = 2;
  google.protobuf.Timestamp at = 3;
  map<int32, google.protobuf.Timestamp> when = 4;
  google.protobuf.Struct free = 5;
  google.protobuf.Value any_value = 6;
  repeated google.protobuf.Value values = 7;
  google.protobuf.ListValue list = 8;
  google.protobuf.Any any = 9;
  google.protobuf.Empty empty = 10;
  google.protobuf.FieldMask mask = 11;
  google.protobuf.BytesValue some_bytes = 12;
  repeated google.protobuf.StringValue names = 13;
  google.protobuf.FloatValue some_float = 14;
  google.protobuf.BoolValue some_bool = 15;
  map<bool, string> flags = 16;
  map<uint64, bytes> by_number = 17;
  map<string, Part> parts = 18;
  map<string, Color> colors = 19;
  repeated Color more_colors = 20;
  oneof side { Part left = 21; string right = 22; google.protobuf.UInt64Value far = 23; }
  optional bytes maybe = 24;
  google.type.Money price = 25;
  string camelCase = 26;
  string renamed = 27 [json_name = "other"];
  repeated float floats = 28;
  uint64 u64 = 29;
  fixed32 f32 = 30;
  google.protobuf.NullValue nothing = 31;
  string None = 32;
}
message Part { int32 x = 1; }
"""
MESSAGES: list[dict[str, Any]] = [
    {"took": "1.500s"},
    {"took": "-1.500s"},
    {"times": ["1s", "-2.000001s", "0s"]},
    {"at": "2026-01-31T12:00:00.123456Z", "when": {"-1": "0001-01-01T00:00:00Z"}},
    {"free": {"a": [1, None, {"b": "c"}]}},
    {"free": {}},
    {"any_value": "x"},
    {"any_value": 5},
    {"any_value": None},
    {"any_value": {"x": "5"}},
    {"values": [1, "1", None, {"x": 1}, [True]]},
    {"list": [1, "a"]},
    {"any": {"@type": "type.googleapis.com/shop.Part", "x": 5}},
    {"empty": {}, "mask": "a,bC"},
    {"some_bytes": "/w==", "names": ["a", ""], "some_float": "Infinity", "some_bool": False},
    {"flags": {"true": "x", "false": "y"}, "by_number": {"18446744073709551615": "/w=="}},
    {"parts": {"a": {"x": 1}, "b": {}}, "colors": {"c": "GREEN"}, "more_colors": ["RED", "LIME", 7, -7]},
    {"left": {}},
    {"right": ""},
    {"far": "18446744073709551615"},
    {"maybe": ""},
    {"price": {"currencyCode": "EUR", "units": "-5", "nanos": -5}},
    {"camelCase": "x", "other": "y", "None": "z", "nothing": None},
    {"floats": [1.1, "NaN"], "u64": "18446744073709551615", "f32": 4294967295},
    {},
]


class Registry:
    """One schema, whatever its id."""

    url = "http://registry"

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def schema(self, schema_id: int, form: str = "") -> Schema:
        return self._schema

    def dependencies(self, schema: Schema, form: str = "") -> dict[str, Schema]:
        return {}


def rows_of(schema: Schema, *values: bytes) -> pa.Array:
    registry: Any = Registry(schema)
    found = ColumnReader(ReaderSchema("s", 1, 1, schema), Codecs(registry)).read(pa.array(values, pa.binary()))
    assert found.problems == {}
    return found.values


def written(schema: Schema, rows: pa.Array) -> list[bytes]:
    writer = ColumnWriter(ReaderSchema("s", 1, 1, schema))
    writer.check(rows.type)
    return writer.write(rows).to_pylist()


@pytest.fixture(scope="module")
def orders() -> Schema:
    return Schema(parse(PROTO, []).formatted("serialized"), PROTOBUF)


@pytest.mark.parametrize("value", MESSAGES, ids=str)
def test_a_protobuf_message_is_written_again_as_the_same_message(orders: Schema, value: dict[str, Any]) -> None:
    codec = ProtobufCodec(orders, {})
    (again,) = written(orders, rows_of(orders, framed(1, codec.encode(value))))
    assert str(codec.decode(again)) == str(codec.from_json(value))


def test_fractions_of_a_microsecond_are_dropped_towards_zero_as_by_from_protobuf(orders: Schema) -> None:
    """Spark's ProtobufDeserializer: ``TimeUnit.NANOSECONDS.toMicros``."""
    values = [{"took": took} for took in ("0.000001999s", "-0.000001999s", "-1.000000999s")]
    rows = rows_of(orders, *(framed(1, ProtobufCodec(orders, {}).encode(value)) for value in values))
    assert [row["took"] // datetime.timedelta(microseconds=1) for row in rows.to_pylist()] == [1, -1, -1_000_000]


def test_of_two_enum_names_with_one_number_the_first_is_read_as_in_java(orders: Schema) -> None:
    rows = rows_of(orders, framed(1, ProtobufCodec(orders, {}).encode({"more_colors": ["LIME"]})))
    assert rows.to_pylist()[0]["more_colors"] == ["GREEN"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"side": 1}, "Order has no field for the column side"),
        ({"left": {"y": 1}}, r"Part has no field for the column left\.y"),
        ({"left": 5}, "left is 5, not a struct of the fields of Part"),
        ({"right": "", "left": {"x": 1}}, "right and left have values, but only one field of a oneof may have one"),
        ({"f32": 2**32}, "f32 is 4294967296, which does not fit: Value out of range"),
        ({"more_colors": ["BLUE"]}, r"the enum shop\.Color has no 'BLUE', but RED, GREEN, LIME"),
        ({"free": "x"}, r"free is not the JSON of a google\.protobuf\.Struct .*: write to_json\(\.\.\.\) in the query"),
        ({"names": ["a", None]}, r"names\[1\] is null, and the lists and maps of Protobuf hold no null"),
        ({"took": datetime.timedelta(days=4_000_000)}, "took is .*, which does not fit: Duration is not valid"),
    ],
    ids=str,
)
def test_a_row_that_does_not_fit_its_protobuf_message_is_refused(orders: Schema, row: Any, message: str) -> None:
    writer = ColumnWriter(ReaderSchema("s", 1, 1, orders))
    with pytest.raises(SchemaError, match=f"a row cannot be written with s:1: .*{message}"):
        writer.write(pa.array([row]))


OPEN = {
    "type": "object",
    "required": ["note"],
    "properties": {
        "note": {"type": ["string", "null"]},
        "any": {},
        "either": {"type": ["string", "integer"]},
        "list": {"type": "array", "items": {}},
        "map": {"type": "object", "additionalProperties": {"type": ["integer", "null"]}},
        "free": {"type": "object"},
        "inner": {"type": "object", "properties": {"any": {}, "gone": {"type": "string"}}},
        "self": {"$ref": "#"},
        "one": {"oneOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}, {"type": "string"}]},
        "enum": {"enum": ["a", 1]},
        "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
    },
}
DOCUMENTS: list[dict[str, Any]] = [
    {"any": 5},
    {"any": "5"},
    {"any": '{"a": 1}'},
    {"any": {"b": [1, None]}},
    {"either": 7},
    {"either": "7"},
    {"list": [1, "1", None, {"x": 1}]},
    {"map": {"a": 1, "b": None}},
    {"free": {"a": 1, "b": "x", "c": None}},
    {"inner": {"any": "x"}},
    {"self": {"note": None, "any": 1}},
    {"one": {"x": 1}},
    {"one": "x"},
    {"enum": "a"},
    {"enum": 1},
    {"pair": ["a", 1]},
    {"note": "x"},
]


@pytest.mark.parametrize("value", DOCUMENTS, ids=str)
def test_json_is_written_again_as_the_same_json(value: dict[str, Any]) -> None:
    document, schema = {"note": None, **value}, Schema(json.dumps(OPEN), JSON)
    (again,) = written(schema, rows_of(schema, framed(1, json.dumps(document).encode())))
    assert json.loads(again[HEADER_BYTES:]) == document


def test_a_text_that_is_no_json_is_refused_for_a_property_of_several_types() -> None:
    writer = ColumnWriter(ReaderSchema("s", 1, 1, Schema(json.dumps(OPEN), JSON)))
    message = r"inner\.any is 'x', but a property without a type, .* write to_json\(\.\.\.\) in the query"
    with pytest.raises(SchemaError, match=message):
        writer.write(pa.array([{"note": "", "inner": {"any": "x"}}]))


def test_columns_of_other_types_are_written_as_json_without_null_columns() -> None:
    """``to_registry`` does not know the types of its columns before it gets the rows."""
    schema = Schema(json.dumps(OPEN), JSON)
    row = {"note": "", "any": {"x": 1, "y": None}, "more": [datetime.date(2026, 1, 31)], "free": {"x": {"y": None}}}
    (found,) = ColumnWriter(ReaderSchema("s", 1, 1, schema)).write(pa.array([row])).to_pylist()
    assert json.loads(found[HEADER_BYTES:]) == {"note": "", "any": {"x": 1}, "more": ["2026-01-31"], "free": {"x": {}}}
