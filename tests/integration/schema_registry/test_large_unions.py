"""Unions of 1,000 branches, in each format: registered, written and read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.protobuf.json_format import MessageToDict

from oncelog.schemas import (
    AvroDeserializer,
    AvroSerializer,
    JsonSchemaDeserializer,
    JsonSchemaSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Schema,
    SchemaRegistry,
)

BRANCHES = 1000
CHOSEN = (0, 63, 64, BRANCHES - 1)
"""63 is the last branch whose number takes one byte in Avro."""


@pytest.fixture
def registry(url: str) -> Iterator[SchemaRegistry]:
    """A client of this test's registry."""
    with SchemaRegistry(url) as registry:
        yield registry


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def test_large_avro_unions_are_written_and_read(registry: SchemaRegistry) -> None:
    kinds = [
        {"type": "record", "name": f"Kind{number}", "fields": [{"name": f"f{number}", "type": "long"}]}
        for number in range(BRANCHES)
    ]
    schema = {"type": "record", "name": "Event", "fields": [{"name": "body", "type": kinds}]}
    write, read = AvroSerializer(registry, schema, topic="events"), AvroDeserializer(registry)
    for number in CHOSEN:
        value = {"body": {f"f{number}": 7}}
        data = write(value)
        assert data is not None
        assert data[5:] == _varint(2 * number) + _varint(2 * 7)
        assert read(data) == value
    assert registry.subjects() == ["events-value"]


def test_large_json_schema_unions_are_written_and_read(registry: SchemaRegistry) -> None:
    kinds = [
        {
            "type": "object",
            "properties": {f"f{number}": {"type": "integer"}},
            "required": [f"f{number}"],
            "additionalProperties": False,
        }
        for number in range(BRANCHES)
    ]
    schema = {"title": "Event", "oneOf": kinds}
    write, read = JsonSchemaSerializer(registry, schema, topic="events"), JsonSchemaDeserializer(registry)
    for number in CHOSEN:
        value = {f"f{number}": 7}
        data = write(value)
        assert data is not None
        assert read(data) == value
    assert registry.subjects() == ["events-value"]


def test_large_protobuf_oneofs_are_written_and_read(registry: SchemaRegistry) -> None:
    fields = "\n".join(f"int64 f{number} = {number + 1};" for number in range(BRANCHES))
    text = f'syntax = "proto3";\nmessage Event {{ oneof body {{\n{fields}\n}} }}'
    schema_id = registry.register("events-value", Schema(text, "PROTOBUF"))
    read = ProtobufDeserializer(registry)
    for number in CHOSEN:
        payload = _varint((number + 1) << 3) + b"\x07"
        message = read(b"\0" + schema_id.to_bytes(4, "big") + b"\0" + payload)
        assert MessageToDict(message, preserving_proto_field_name=True) == {f"f{number}": "7"}
        data = ProtobufSerializer(registry, type(message), topic="copies")(message)
        assert data is not None
        assert data[5:] == b"\0" + payload
        assert read(data) == message
