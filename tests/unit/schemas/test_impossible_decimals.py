"""Decimal numbers of a schema that no number fits are bytes, as the specification has it for invalid logical types."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from oncelog.schemas.arrow.value_reading import ReaderSchema, columns_of
from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.structs import Schema


def record(kind: dict[str, Any]) -> Schema:
    amount = {**kind, "logicalType": "decimal"}
    fields = [{"name": "a", "type": amount}, {"name": "b", "type": {"type": "array", "items": ["null", amount]}}]
    if kind["type"] == "fixed":
        fields[1]["type"] = {"type": "array", "items": ["null", kind["name"]]}
    return Schema(json.dumps({"type": "record", "name": "R", "fields": fields}))


@pytest.mark.parametrize(
    "numbers",
    [
        {"precision": 2, "scale": 5},
        {"precision": 0},
        {"precision": -1, "scale": 0},
        {"precision": 5, "scale": -2},
        {"precision": "5"},
        {"precision": True},
        {},
    ],
)
@pytest.mark.parametrize("kind", [{"type": "bytes"}, {"type": "fixed", "name": "F", "size": 4}])
def test_values_of_an_impossible_decimal_type_are_read_and_written_as_bytes(
    numbers: dict[str, Any], kind: dict[str, Any]
) -> None:
    schema = record({**kind, **numbers})
    codec = AvroCodec(schema, {})
    value = {"a": b"\x00\x01\x02\x03", "b": [None, b"\xff\xff\xff\xff"]}
    assert codec.decode(codec.encode(value), position=0) == value
    assert columns_of(ReaderSchema("s", 1, 1, schema)).field("a").type == pa.binary()


def test_a_decimal_precision_beyond_the_bytes_of_its_fixed_type_is_impossible() -> None:
    """Four bytes hold 2^31-1, which has ten digits, and thus any number of nine."""
    kind = {"type": "fixed", "name": "F", "size": 4}
    nine, ten = (AvroCodec(record({**kind, "precision": digits}), {}) for digits in (9, 10))
    assert nine.decode(nine.encode({"a": Decimal(999_999_999), "b": []}), position=0)["a"] == Decimal(999_999_999)
    assert ten.decode(ten.encode({"a": b"abcd", "b": []}), position=0)["a"] == b"abcd"


def test_a_referenced_type_with_an_impossible_decimal_is_read_as_bytes() -> None:
    needed = Schema('{"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 1, "scale": 3}')
    codec = AvroCodec(Schema('{"type": "array", "items": "F"}'), {"F": needed})
    assert codec.decode(codec.encode([b"ab"]), position=0) == [b"ab"]
