"""What a reader's schema makes of a writer's bytes: Java's Avro reads the same, value for value and type for type.

Named cases are those that people have reported; random pairs of schemas come from a seed.
"""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

import pytest

from oncelog.schemas.avro.values import EXACT
from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.schema_errors import SchemaError, SchemaMismatch
from oncelog.schemas.structs import Schema
from tests.support.java_avro import Case, Refused, comparable, java_values
from tests.support.random_avro import RandomAvro

RANDOM_PAIRS = 400


def record(*fields: Any, name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def logical(kind: str, logical_type: str, /, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical_type, **more}


OLD = record(field("id", "int"))
POINT = record(field("x", "int"), field("y", ["null", "string"], default=None), name="shop.Point")
NODE = record(field("v", "int"), field("next", ["null", "Node"], default=None), name="Node")
MONEY = logical("bytes", "decimal", precision=6, scale=2)
SIDE = {"type": "enum", "name": "Side", "namespace": "", "symbols": ["buy", "sell"]}
OUTSIDE = record(
    field("side", SIDE),
    field("was", ["null", "Side"]),
    field("leg", ["null", record(field("sides", {"type": "array", "items": "Side"}), name="legs.Leg")]),
    name="shop.Trade",
)
"""Java finds a type without a namespace by its short name in every namespace, and writes schemas so."""
DEFAULTS: list[tuple[str, Any, Any]] = [
    ("boolean", "boolean", True),
    ("int", "int", -(2**31)),
    ("long", "long", 2**63 - 1),
    ("float from a whole number", "float", 1),
    ("float", "float", 0.1),
    ("double", "double", 0.1),
    ("double that is no number", "double", "NaN"),
    ("text", "string", "ü€😀"),
    ("bytes beyond ASCII", "bytes", "\u00ff\u0000a"),
    ("fixed", {"type": "fixed", "name": "F", "size": 2}, "\u00ff\u0001"),
    ("enum", {"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
    ("date", logical("int", "date"), 19000),
    ("date before 1970", logical("int", "date"), -1),
    ("time-millis", logical("int", "time-millis"), 3_600_001),
    ("time-micros", logical("long", "time-micros"), 3_600_000_001),
    ("timestamp-millis", logical("long", "timestamp-millis"), 1_700_000_000_123),
    ("timestamp-micros before 1970", logical("long", "timestamp-micros"), -1),
    ("timestamp-nanos", logical("long", "timestamp-nanos"), 1_700_000_000_123_456_789),
    ("local-timestamp-millis", logical("long", "local-timestamp-millis"), 5),
    ("local-timestamp-micros", logical("long", "local-timestamp-micros"), 5),
    ("decimal of bytes", MONEY, "\u0001\u0000"),
    ("negative decimal", MONEY, "\u00ff"),
    (
        "decimal of fixed",
        logical("fixed", "decimal", name="D", size=4, precision=8, scale=3),
        "\u0000\u0000\u0001\u00f4",
    ),
    ("decimal without its scale", logical("bytes", "decimal", precision=4), "*"),
    ("decimal with a scale above its precision", logical("bytes", "decimal", precision=2, scale=4), "*"),
    ("uuid", logical("string", "uuid"), "0d5c7a2e-0000-4000-8000-000000000000"),
    ("uuid of fixed", logical("fixed", "uuid", name="U", size=16), "\u0001" * 16),
    ("duration", logical("fixed", "duration", name="T", size=12), "\u0001" * 12),
    ("unknown logical type", logical("string", "io.debezium.time.ZonedTimestamp"), "2026"),
    ("logical type on another type", logical("string", "timestamp-millis"), "2026"),
    ("Debezium's names", {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.MicroTimestamp"}, 7),
    ("null", "null", None),
    ("optional", ["null", "string"], None),
    ("optional with a value first", ["string", "null"], "x"),
    ("the second type of a union (1.12)", ["null", "string"], "x"),
    ("bytes in a union", ["bytes", "null"], "\u00ff"),
    ("a decimal in a union", [MONEY, "null"], "\u0001\u0000"),
    ("a timestamp in a union", [logical("long", "timestamp-millis"), "null"], 0),
    ("array", {"type": "array", "items": "bytes"}, ["\u00ff", ""]),
    ("array of times", {"type": "array", "items": logical("int", "date")}, [0, 1]),
    ("map", {"type": "map", "values": MONEY}, {"ü": "\u0001"}),
    ("record", POINT, {"x": 1}),
    ("record with all its fields", POINT, {"x": 1, "y": "b"}),
    ("record in a union", ["null", POINT], {"x": 1}),
    ("record that holds itself", NODE, {"v": 1, "next": {"v": 2}}),
    (
        "empty array and map",
        record(
            field("a", {"type": "array", "items": "int"}, default=[]),
            field("m", {"type": "map", "values": "int"}, default={}),
            name="Empty",
        ),
        {},
    ),
]
RESOLVED: list[tuple[str, Any, Any, Any]] = [
    (
        "types outside of namespaces",
        OUTSIDE,
        OUTSIDE,
        {"side": "sell", "was": "buy", "leg": {"sides": ["buy", "sell"]}},
    ),
    ("int to long", "int", "long", 7),
    ("int to float", "int", "float", 2**24 + 1),
    ("long to float", "long", "float", 2**62 + 1),
    ("long to double", "long", "double", 2**62 + 1),
    ("float to double", "float", "double", 0.1),
    ("text to bytes", record(field("a", "string")), record(field("a", "bytes")), {"a": "ü"}),
    ("bytes to text", record(field("a", "bytes")), record(field("a", "string")), {"a": "ü".encode()}),
    ("int into a union of float and long", "int", ["float", "long"], 7),
    ("int into a union with int", "int", ["null", "long", "int"], 7),
    ("text into a union with bytes", "string", ["null", "bytes"], "x"),
    ("a union into one of its types", ["null", "int"], "long", 7),
    ("a union into a longer one", ["null", "int"], ["string", "null", "long"], 7),
    ("an alias of a field", OLD, record(field("number", "long", aliases=["id"])), {"id": 7}),
    (
        "an alias of a record",
        record(field("p", POINT)),
        record(field("p", {**POINT, "name": "shop.P2", "aliases": ["Point"]})),
        {"p": {"x": 1, "y": None}},
    ),
    (
        "an alias of a record in a union",
        ["null", POINT],
        ["null", record(field("q", "int"), name="shop.Q"), {**POINT, "name": "shop.P2", "aliases": ["shop.Point"]}],
        {"x": 1, "y": "b"},
    ),
    ("another namespace in a union", ["null", POINT], ["null", {**POINT, "name": "other.Point"}], {"x": 1, "y": "b"}),
    (
        "the record of that name in a union",
        POINT,
        [record(field("x", "int"), name="shop.First"), POINT],
        {"x": 1, "y": "b"},
    ),
    (
        "an enum's default",
        {"type": "enum", "name": "E", "symbols": ["A", "B"]},
        {"type": "enum", "name": "E", "symbols": ["B"], "default": "B"},
        "A",
    ),
    (
        "another order of symbols",
        {"type": "enum", "name": "E", "symbols": ["A", "B"]},
        {"type": "enum", "name": "E", "symbols": ["B", "A"]},
        "A",
    ),
    ("a decimal longer than its type", record(field("a", MONEY)), record(field("a", MONEY)), None),
    ("a decimal as its bytes", record(field("a", MONEY)), record(field("a", "bytes")), None),
    (
        "fields in another order, one left out",
        record(field("a", NODE), field("b", "int"), field("c", "string")),
        record(field("c", "string"), field("b", "int")),
        {"a": {"v": 1, "next": {"v": 2}}, "b": 3, "c": "x"},
    ),
    (
        "a default in a record inside arrays",
        record(field("l", {"type": "array", "items": record(field("id", "int"), name="I")})),
        record(
            field(
                "l",
                {
                    "type": "array",
                    "items": record(
                        field("id", "int"), field("at", logical("long", "timestamp-millis"), default=0), name="I"
                    ),
                },
            )
        ),
        {"l": [{"id": 1}, {"id": 2}]},
    ),
    ("a date after the year 9999", logical("int", "date"), logical("int", "date"), 3_000_000),
    ("a time after the year 9999", "long", logical("long", "timestamp-micros"), 253_402_300_800_000_000),
]
LONG_DECIMAL = b"\x06" + (1_234_567).to_bytes(3, "big")


class Pair(NamedTuple):
    name: str
    case: Case


def codec_of(schema: Any) -> AvroCodec:
    return AvroCodec(Schema(json.dumps(schema)), {})


def named_pairs() -> list[Pair]:
    made = [
        Pair(f"default: {name}", Case(OLD, record(field("id", "int"), field("new", kind, default=default)), b"\x0e"))
        for name, kind, default in DEFAULTS
    ]
    for name, writer, reader, value in RESOLVED:
        data = LONG_DECIMAL if value is None else codec_of(writer).encode(value)
        made.append(Pair(name, Case(writer, reader, data)))
    return made


def random_pairs() -> list[Pair]:
    source = RandomAvro(random.Random(43))
    return [Pair(f"random {number}", source.case()) for number in range(RANDOM_PAIRS)]


@pytest.fixture(scope="module")
def asked() -> dict[str, tuple[Case, Any]]:
    pairs = [*named_pairs(), *random_pairs()]
    answers = java_values(one.case for one in pairs)
    return {one.name: (one.case, answer) for one, answer in zip(pairs, answers, strict=True)}


def exactly(value: Any) -> Any:
    """With the types of all its parts: True is no 1, and 1 is no 1.0."""
    if isinstance(value, dict):
        return {name: exactly(one) for name, one in value.items()}
    if isinstance(value, list):
        return [exactly(one) for one in value]
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("name", [one.name for one in named_pairs()])
def test_values_equal_those_of_java(asked: dict[str, tuple[Case, Any]], name: str) -> None:
    case, expected = asked[name]
    assert not isinstance(expected, Refused), expected
    if "after the year 9999" in name:
        with pytest.raises(SchemaError, match="the years 1 to 9999"):
            codec_of(case.writer).decode(case.data, codec_of(case.reader), position=0)
        exact = codec_of(case.writer).decode(case.data, codec_of(case.reader), position=0, form=EXACT)
        assert exact == expected[1]
        return
    found = codec_of(case.writer).decode(case.data, codec_of(case.reader), position=0)
    assert exactly(comparable(found)) == exactly(expected)


def test_random_writer_and_reader_schemas_resolve_as_in_java(asked: dict[str, tuple[Case, Any]]) -> None:
    """Java 1.12.1 refuses a default ``[]`` of a union; whatever it reads is read here, and is equal."""
    random_ones = [asked[one] for one in asked if one.startswith("random")]
    read = [(case, expected) for case, expected in random_ones if not isinstance(expected, Refused)]
    assert len(read) > RANDOM_PAIRS * 0.9
    for case, expected in read:
        found = codec_of(case.writer).decode(case.data, codec_of(case.reader), position=0)
        assert exactly(comparable(found)) == exactly(expected), case


@pytest.mark.parametrize(
    ("writer", "reader", "value", "why"),
    [
        (OLD, record(field("id", "int"), field("b", "int")), {"id": 1}, "b was not written, and has no default"),
        (OLD, record(field("id", "string")), {"id": 1}, "id was written as int, which cannot be read as string"),
        (OLD, record(field("id", ["null", "string"])), {"id": 1}, "cannot be read as union"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, {"type": "enum", "name": "E", "symbols": ["B"]}, "A",
         "none of the reader's, which has no default"),
    ],
)  # fmt: skip
def test_values_that_java_refuses_are_mismatches_and_not_malformed_records(
    writer: Any, reader: Any, value: Any, why: str
) -> None:
    data = codec_of(writer).encode(value)
    (answer,) = java_values([Case(writer, reader, data)])
    assert isinstance(answer, Refused)
    with pytest.raises(SchemaMismatch, match=why):
        codec_of(writer).decode(data, codec_of(reader), position=0)


def test_decoded_records_do_not_share_a_default_value() -> None:
    reader = codec_of(record(field("id", "int"), field("l", {"type": "array", "items": "int"}, default=[])))
    first, second = (codec_of(OLD).decode(b"\x0e", reader, position=0) for _ in range(2))
    first["l"].append(1)
    assert second == {"id": 7, "l": []}


@pytest.mark.parametrize(("kind", "default"), [(kind, default) for _, kind, default in DEFAULTS])
def test_an_omitted_field_is_written_with_its_default(kind: Any, default: Any) -> None:
    """The bytes are those that the default's value has."""
    codec = codec_of(record(field("id", "int"), field("new", kind, default=default)))
    written = codec.encode({"id": 7}, strict=True)
    read = codec_of(OLD).decode(b"\x0e", codec, position=0)
    assert exactly(comparable(codec.decode(written, position=0))) == exactly(comparable(read))
    assert codec.encode(codec.from_json({"id": 7}), strict=True) == written
