"""JSON Schema and Protobuf values in columns, and readers of whatever comes."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from oncelog.schemas.arrow.value_reading import (
    UNKNOWN,
    ColumnReader,
    ReaderSchema,
    columns_of,
    find_reader,
    parse_version,
)
from oncelog.schemas.arrow.value_writing import ColumnWriter, avro_name, avro_schema
from oncelog.schemas.codecs import Codecs
from oncelog.schemas.framing import framed, with_indexes
from oncelog.schemas.protobuf_codec import ProtobufCodec
from oncelog.schemas.schema_errors import SchemaError, SchemaRegistryError
from oncelog.schemas.structs import AVRO, JSON, PROTOBUF, RegisteredSchema, Schema


class Registry:
    """Schemas by id, without a server."""

    url = "http://registry"

    def __init__(self, schemas: Mapping[int, Schema]) -> None:
        self.schemas = dict(schemas)
        self.asked: list[int] = []

    def schema(self, schema_id: int, form: str = "") -> Schema:
        self.asked.append(schema_id)
        if schema_id not in self.schemas:
            raise SchemaRegistryError("not found", 404, 40403)
        return self.schemas[schema_id]

    def dependencies(self, schema: Schema, form: str = "") -> dict[str, Schema]:
        return {}

    def version(self, subject: str, version: int | str = "latest", form: str = "") -> RegisteredSchema:
        number = len(self.schemas) if version == "latest" else int(version)
        return RegisteredSchema(subject, number, number, self.schemas[number])


def reader_of(registry: Any, number: int, message: str = "") -> ColumnReader:
    return ColumnReader(find_reader(registry, f"s:{number}", message), Codecs(registry))


def json_schema(**properties: Any) -> Schema:
    return Schema(json.dumps({"type": "object", "properties": properties}), JSON)


def as_json(schema_id: int, value: Any) -> bytes:
    return framed(schema_id, json.dumps(value).encode())


def test_json_of_each_type_becomes_a_column() -> None:
    schema = {
        "type": "object",
        "definitions": {"money": {"type": "object", "properties": {"cents": {"type": "integer"}}}},
        "properties": {
            "i": {"type": "integer"},
            "n": {"type": "number"},
            "s": {"type": ["string", "null"]},
            "b": {"oneOf": [{"type": "null"}, {"type": "boolean"}]},
            "o": {"$ref": "#/definitions/money"},
            "a": {"type": "array", "items": {"type": "string"}},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
            "any": {},
            "either": {"type": ["string", "integer"]},
            "self": {"$ref": "#"},
        },
    }
    registry = Registry({1: Schema(json.dumps(schema), JSON)})
    reader = reader_of(registry, 1)
    assert [(one.name, one.type) for one in reader.arrow_type] == [
        ("i", pa.int64()),
        ("n", pa.float64()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("o", pa.struct([("cents", pa.int64())])),
        ("a", pa.list_(pa.string())),
        ("m", pa.map_(pa.string(), pa.int64())),
        ("any", pa.string()),
        ("either", pa.string()),
        ("self", pa.struct(list(reader.arrow_type.field("self").type))),
    ]
    value = {"i": 1.0, "n": 2, "s": None, "b": True, "o": {"cents": 5, "x": 1}, "a": ["x"], "m": {"k": 1},
             "any": [1, {"a": None}], "either": 3, "self": {"i": 2, "self": {"i": 3}}}  # fmt: skip
    found = reader.read(pa.array([as_json(1, value), None]))
    (row, null) = found.values.to_pylist()
    assert found.problems == {}
    assert null is None
    assert {name: row[name] for name in ("i", "n", "s", "b", "o", "a", "m", "any", "either")} == {
        "i": 1, "n": 2.0, "s": None, "b": True, "o": {"cents": 5}, "a": ["x"], "m": [("k", 1)],
        "any": '[1, {"a": null}]', "either": "3",
    }  # fmt: skip
    assert row["self"]["self"] == '{"i": 3}'


@pytest.mark.parametrize(
    "null",
    [
        {"type": "null", "title": "Nothing"},
        {"type": ["null"]},
        {"const": None},
        {"enum": [None], "description": "none"},
    ],
    ids=json.dumps,
)
def test_a_union_with_null_has_the_other_type_however_null_is_written(null: Any) -> None:
    part = {"type": "object", "properties": {"cents": {"type": "integer"}}}
    schema = {
        "type": "object",
        "properties": {"o": {"anyOf": [part, null]}, "e": {"anyOf": [{"enum": [None, 1]}, part]}},
    }
    reader = reader_of(Registry({1: Schema(json.dumps(schema), JSON)}), 1)
    assert reader.arrow_type == pa.struct([("o", pa.struct([("cents", pa.int64())])), ("e", pa.string())])
    found = reader.read(pa.array([as_json(1, {"o": None}), as_json(1, {"o": {"cents": 5}})]))
    assert [row["o"] for row in found.values.to_pylist()] == [None, {"cents": 5}]


MONEY = {"type": "object", "properties": {"cents": {"type": "integer"}}}
REFERENCES: list[tuple[str, dict[str, Any], str]] = [
    ("draft-07/schema#", {"definitions": {"a": {"$id": "#money", **MONEY}}}, "#money"),
    ("draft-07/schema#", {"definitions": {"a": {"$id": "http://shop/money.json", **MONEY}}}, "http://shop/money.json"),
    ("draft-07/schema#", {"$id": "http://shop/order.json", "definitions": {"a b/c": MONEY}}, "#/definitions/a%20b~1c"),
    ("draft/2020-12/schema", {"$defs": {"a": {"$anchor": "money", **MONEY}}}, "#money"),
    ("draft/2020-12/schema", {"$id": "http://shop/order.json", "$defs": {"a": {"$id": "money", **MONEY}}}, "money"),
    ("draft/2020-12/schema", {"$defs": {"a": {"anyOf": [MONEY, {"type": "null"}]}}}, "#/$defs/a/anyOf/0"),
]


@pytest.mark.parametrize(("draft", "more", "reference"), REFERENCES)
def test_a_referenced_json_schema_has_its_type_in_whatever_way_it_is_named(
    draft: str, more: dict[str, Any], reference: str
) -> None:
    host = "http://json-schema.org" if draft.startswith("draft-") else "https://json-schema.org"
    properties = {"price": {"$ref": reference}, "id": {"type": "integer"}}
    schema = {"$schema": f"{host}/{draft}", "type": "object", "properties": properties, **more}
    reader = reader_of(Registry({1: Schema(json.dumps(schema), JSON)}), 1)
    found = reader.read(pa.array([as_json(1, {"id": 1, "price": {"cents": 5}})]))
    assert found.values.to_pylist() == [{"id": 1, "price": {"cents": 5}}]


def test_conditions_beside_a_reference_hide_no_property() -> None:
    """Drafts from 2019-09 on apply them, draft 7 does not."""
    beside = {"$ref": "#/$defs/money", "properties": {"currency": {"type": "string"}}}
    for draft, expected in (
        ("https://json-schema.org/draft/2020-12/schema", '{"cents": 5, "currency": "EUR"}'),
        ("http://json-schema.org/draft-07/schema#", {"cents": 5}),
    ):
        schema = {"$schema": draft, "type": "object", "properties": {"price": beside}, "$defs": {"money": MONEY}}
        reader = reader_of(Registry({1: Schema(json.dumps(schema), JSON)}), 1)
        found = reader.read(pa.array([as_json(1, {"price": {"cents": 5, "currency": "EUR"}})]))
        assert found.values.to_pylist() == [{"price": expected}]


def test_json_that_does_not_match_the_schema_becomes_null_with_the_reason() -> None:
    required = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    registry = Registry({1: json_schema(id={}), 2: Schema(json.dumps(required), JSON), 3: Schema('"int"', AVRO)})
    reader = reader_of(registry, 2)
    rows = [as_json(2, {"id": 1}), as_json(2, {"id": "x"}), as_json(1, {"id": "x"}), as_json(1, {}), framed(2, b"{"),
            as_json(1, {"id": 2**64}), as_json(9, {}), framed(3, b"\2"), b"", b"{}"]  # fmt: skip
    found = reader.read(pa.array(rows))
    assert found.values.to_pylist() == [{"id": 1}] + [None] * 9
    assert {number: str(problem)[:40] for number, problem in found.problems.items()} == {
        1: "the value does not fit the JSON Schema: ",
        2: "id is 'x', which cannot be read as an in",
        3: "id is missing, and the reader's schema r",
        4: "the payload is not JSON: Expecting prope",
        5: "id is 18446744073709551616, which cannot",
        6: "schema id 9 is not known to http://regis",
        7: "it was written with schema 3 of type AVR",
        8: "no schema id: the length is 0, and an id",
        9: "no schema id: the length is 2, and an id",
    }
    assert set(found.verdicts) == {1, 2, 3, 9}
    assert found.verdicts[9] == UNKNOWN


def test_a_registry_that_does_not_answer_does_not_make_values_malformed() -> None:
    class Silent(Registry):
        def schema(self, schema_id: int, form: str = "") -> Schema:
            raise SchemaRegistryError("cannot be reached")

    reader = reader_of(Silent({1: json_schema(id={})}), 1)
    with pytest.raises(SchemaRegistryError):
        reader.read(pa.array([as_json(1, {})]))


def test_each_schema_id_is_requested_once() -> None:
    registry = Registry({1: Schema('"int"', AVRO), 2: Schema('"long"', AVRO)})
    reader = reader_of(registry, 2)
    codecs = reader._codecs
    for _ in range(3):
        found = reader.read(pa.array([framed(1, b"\2"), framed(2, b"\4"), framed(1, b"\6")]))
        assert found.values.to_pylist() == [1, 2, 3]
    assert codecs.of(1) is codecs.of(1)


@pytest.mark.parametrize(
    ("schema", "value", "kind"),
    [
        ({"enum": ["NEW", "DONE", None]}, "NEW", pa.string()),
        ({"anyOf": [{"const": "x"}, {"type": "null"}]}, "x", pa.string()),
        ({"enum": [1, 2]}, 2, pa.int64()),
        ({"const": True}, True, pa.bool_()),
        ({"enum": [True, 1]}, 1, None),
        ({"enum": ["a", {}]}, "a", None),
        ({"enum": [None]}, None, None),
    ],
    ids=str,
)
def test_values_of_one_type_in_an_enum_or_a_const_are_the_type_of_a_property_without_a_type(
    schema: dict[str, Any], value: Any, kind: pa.DataType | None
) -> None:
    found = reader_of(Registry({1: json_schema(p=schema)}), 1).read(pa.array([as_json(1, {"p": value})]))
    given = value if kind is not None or value is None else json.dumps(value)
    assert (found.values.type.field("p").type, found.values.to_pylist()) == (kind or pa.string(), [{"p": given}])


def protobuf_file() -> Schema:
    file = FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.extend(["google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto",
                            "google/protobuf/struct.proto", "google/protobuf/duration.proto"])  # fmt: skip
    color = file.enum_type.add(name="Color")
    color.value.add(name="RED", number=0)
    color.value.add(name="BLUE", number=1)
    part = file.message_type.add(name="Part")
    part.field.add(name="name", number=1, type=9, label=1)
    order = file.message_type.add(name="Order")
    kinds = {"i32": 5, "i64": 3, "u32": 13, "u64": 4, "f": 2, "d": 1, "b": 8, "s": 9, "y": 12}
    for number, (name, kind) in enumerate(kinds.items(), 1):
        order.field.add(name=name, number=number, type=kind, label=1)
    order.field.add(name="color", number=20, type=14, type_name=".shop.Color", label=1)
    order.field.add(name="part", number=21, type=11, type_name=".shop.Part", label=1)
    order.field.add(name="parts", number=22, type=11, type_name=".shop.Part", label=3)
    order.field.add(name="ints", number=23, type=5, label=3)
    entry = order.nested_type.add(name="ByNameEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=9, label=1)
    entry.field.add(name="value", number=2, type=11, type_name=".shop.Part", label=1)
    order.field.add(name="by_name", number=24, type=11, type_name=".shop.Order.ByNameEntry", label=3)
    order.field.add(name="at", number=25, type=11, type_name=".google.protobuf.Timestamp", label=1)
    order.field.add(name="took", number=26, type=11, type_name=".google.protobuf.Duration", label=1)
    order.field.add(name="maybe", number=27, type=11, type_name=".google.protobuf.Int64Value", label=1)
    order.field.add(name="free", number=28, type=11, type_name=".google.protobuf.Struct", label=1)
    order.field.add(name="left", number=29, type=9, label=1, oneof_index=0)
    order.field.add(name="right", number=30, type=5, label=1, oneof_index=0)
    order.oneof_decl.add(name="side")
    node = file.message_type.add(name="Node")
    node.field.add(name="next", number=1, type=11, type_name=".shop.Node", label=1)
    return Schema(base64.b64encode(file.SerializeToString()).decode(), PROTOBUF)


def message(value: Any, name: str = "Order", schema_id: int = 1) -> bytes:
    codec = ProtobufCodec(protobuf_file(), {})
    codec.choose(name)
    return framed(schema_id, codec.encode(value))


def test_protobuf_of_each_type_becomes_a_column() -> None:
    reader = reader_of(Registry({1: protobuf_file()}), 1, "shop.Order")
    full = {
        "i32": -1, "i64": -(2**63), "u32": 2**32 - 1, "u64": 2**64 - 1, "f": 0.5, "d": 1e300, "b": True, "s": "ä",
        "y": base64.b64encode(b"\xff").decode(), "color": "BLUE", "part": {"name": "p"}, "parts": [{"name": "a"}, {}],
        "ints": [1, 2], "by_name": {"k": {"name": "v"}}, "at": "2026-01-31T12:00:00.000001Z", "took": "1.5s",
        "maybe": "0", "free": {"x": [1]}, "left": "",
    }  # fmt: skip
    found = reader.read(pa.array([message(full), message({}), None]))
    found.values.validate(full=True)
    assert found.problems == {}
    assert found.values.to_pylist() == [
        {
            "i32": -1, "i64": -(2**63), "u32": 2**32 - 1, "u64": Decimal(2**64 - 1), "f": 0.5, "d": 1e300, "b": True,
            "s": "ä", "y": b"\xff", "color": "BLUE", "part": {"name": "p"}, "parts": [{"name": "a"}, {"name": ""}],
            "ints": [1, 2], "by_name": [("k", {"name": "v"})],
            "at": datetime.datetime(2026, 1, 31, 12, 0, 0, 1, datetime.UTC), "took": datetime.timedelta(seconds=1.5),
            "maybe": 0, "free": '{"x": [1.0]}', "left": "", "right": None,
        },
        {
            "i32": 0, "i64": 0, "u32": 0, "u64": Decimal(0), "f": 0.0, "d": 0.0, "b": False, "s": "", "y": b"",
            "color": "RED", "part": None, "parts": [], "ints": [], "by_name": [], "at": None, "took": None,
            "maybe": None, "free": None, "left": None, "right": None,
        },
        None,
    ]  # fmt: skip


def test_protobuf_that_does_not_match_the_schema_becomes_null_with_the_reason() -> None:
    reader = reader_of(Registry({1: protobuf_file()}), 1, "Order")
    whole = message({"s": "x", "at": "2026-01-31T12:00:00Z"})
    late = framed(1, with_indexes([1], b"\xca\x01\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))
    rows = [whole, whole[:-1], message({"name": "x"}, "Part"), framed(1, b"\2\x14"), late, framed(1, b"")]
    found = reader.read(pa.array(rows))
    assert [row is None for row in found.values.to_pylist()] == [False] + [True] * 5
    assert {number: str(problem)[:40] for number, problem in found.problems.items()} == {
        1: "the bytes do not fit the message shop.Or",
        2: "the message is of type shop.Part, not of",
        3: "the schema's Protobuf file has no messag",
        4: "the value cannot be read into columns: P",
        5: "the path to the message in its Protobuf ",
    }


def test_a_recursive_protobuf_message_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"shop.Node contains itself"):
        reader_of(Registry({1: protobuf_file()}), 1, "Node")


def test_the_number_after_the_last_colon_is_the_version_of_a_subject() -> None:
    assert parse_version("orders-value") == ("orders-value", "latest")
    assert parse_version("orders-value:3") == ("orders-value", 3)
    assert parse_version("orders-value:latest") == ("orders-value", "latest")
    assert parse_version("a:b") == ("a:b", "latest")


ROWS = pa.struct(
    [
        ("b", pa.bool_()), ("i", pa.int32()), ("l", pa.int64()), ("f", pa.float32()), ("d", pa.float64()),
        ("s", pa.string()), ("y", pa.binary()), ("day", pa.date32()), ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")), ("money", pa.decimal128(9, 2)), ("a", pa.list_(pa.int64())),
        ("m", pa.map_(pa.string(), pa.struct([("x", pa.int32())]))), ("o", pa.struct([("x", pa.string())])),
    ]
)  # fmt: skip


def test_columns_are_unchanged_after_writing_and_reading_with_a_schema_made_from_them() -> None:
    schema = avro_schema(ROWS, "shop.Order")
    target = ReaderSchema("s", 1, 7, schema)
    value = {
        "b": True, "i": -5, "l": 2**40, "f": 0.5, "d": 0.25, "s": "x", "y": b"\0", "day": datetime.date(2026, 1, 31),
        "at": datetime.datetime(2026, 1, 31, 12, 0, 0, 7, datetime.UTC),
        "local": datetime.datetime(2026, 1, 31, 12), "money": Decimal("-1.50"), "a": [1, None],
        "m": [("k", {"x": 1}), ("n", None)], "o": {"x": None},
    }  # fmt: skip
    rows = pa.array([value, dict.fromkeys(value), None], ROWS)
    writer = ColumnWriter(target)
    writer.check(ROWS)
    written = writer.write(rows)
    found = reader_of(Registry({7: schema}), 7).read(written)
    assert found.problems == {}
    assert found.values.to_pylist() == rows.to_pylist()


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ([("id", pa.int64()), ("more", pa.string())], "has no field for the column more"),
        ([("id", pa.string())], "the column id is of type string, which s:1 cannot take: there it is int64"),
        ([("id", pa.float64())], "cannot take"),
        ([], "requires id"),
    ],
)
def test_columns_that_do_not_match_the_schema_are_refused(columns: list[Any], why: str) -> None:
    order = {"type": "record", "name": "O", "fields": [{"name": "id", "type": "long"},
             {"name": "note", "type": ["null", "string"]}]}  # fmt: skip
    writer = ColumnWriter(ReaderSchema("s", 1, 1, Schema(json.dumps(order))))
    writer.check(pa.struct([("id", pa.int32())]))
    with pytest.raises(SchemaError) as refused:
        writer.check(pa.struct(columns))
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ([("a b", pa.int64())], "'a b' cannot be a field of Avro"),
        ([("t", pa.duration("us"))], "the column t is of type duration"),
        ([("o", pa.struct([("m", pa.map_(pa.int64(), pa.int64()))]))], "the column o.m is of type map"),
    ],
)
def test_columns_that_avro_does_not_have_are_refused(columns: list[Any], why: str) -> None:
    with pytest.raises(SchemaError) as refused:
        avro_schema(pa.struct(columns), "R")
    assert why in str(refused.value)


def test_rows_are_written_as_json_and_as_protobuf() -> None:
    rows = pa.array([{"i32": 1, "s": "x", "parts": [{"name": "p"}], "y": b"\1", "color": None}])
    proto = find_reader(Registry({1: protobuf_file()}), "s:1", "Order")  # type: ignore[arg-type]
    writer = ColumnWriter(proto)
    writer.check(rows.cast(pa.struct([("i32", pa.int32()), *list(rows.type)[1:-1], ("color", pa.string())])).type)
    (row,) = reader_of(Registry({1: protobuf_file()}), 1, "Order").read(writer.write(rows)).values.to_pylist()
    assert (row["i32"], row["s"], row["parts"], row["y"], row["color"]) == (1, "x", [{"name": "p"}], b"\1", "RED")
    schema = json_schema(i32={"type": "integer"}, s={"type": "string"})
    kept = rows.cast(rows.type).field("i32"), rows.field("s")
    (written,) = ColumnWriter(ReaderSchema("s", 1, 3, schema)).write(
        pa.StructArray.from_arrays(kept, names=["i32", "s"])
    )
    assert written.as_py() == framed(3, b'{"i32":1,"s":"x"}')


def test_a_value_that_does_not_match_its_schema_is_reported() -> None:
    writer = ColumnWriter(
        ReaderSchema("s", 1, 1, Schema('{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'))
    )
    with pytest.raises(SchemaError, match="a row cannot be written with s:1"):
        writer.write(pa.array([{"a": None}], pa.struct([("a", pa.int32())])))


def test_a_schema_that_is_not_a_record_becomes_one_column() -> None:
    assert columns_of(ReaderSchema("s", 1, 1, Schema('"long"'))) == pa.struct([("value", pa.int64())])


def test_topic_names_become_valid_record_names() -> None:
    assert [avro_name(text) for text in ("orders", "late-orders.v2", "9lives", "")] == [
        "orders", "late_orders_v2", "_9lives", "_",
    ]  # fmt: skip
