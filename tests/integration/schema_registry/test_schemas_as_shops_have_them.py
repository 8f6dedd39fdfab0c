"""Schemas that pydantic and Debezium make, bare types and unions, in three formats, by both clients, both ways."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirAvroDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirAvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from oncelog.schemas import (
    AvroDeserializer,
    AvroSerializer,
    JsonSchemaDeserializer,
    JsonSchemaSerializer,
    Reference,
    Schema,
    SchemaError,
    SchemaRegistry,
)

CONTEXT = SerializationContext("orders", MessageField.VALUE)
# as pydantic 2 writes the models' ``model_json_schema()``
PYDANTIC: dict[str, Any] = {
    "$defs": {
        "Card": {
            "properties": {"kind": {"const": "card", "title": "Kind", "type": "string"},
                           "number": {"title": "Number", "type": "string", "pattern": "^[0-9]+$"}},
            "required": ["kind", "number"], "title": "Card", "type": "object", "additionalProperties": False,
        },
        "Cash": {
            "properties": {"kind": {"const": "cash", "title": "Kind", "type": "string"}},
            "required": ["kind"], "title": "Cash", "type": "object", "additionalProperties": False,
        },
        "Status": {"enum": ["new", "paid"], "title": "Status", "type": "string"},
    },
    "properties": {
        "id": {"exclusiveMinimum": 0, "title": "Id", "type": "integer"},
        "at": {"format": "date-time", "title": "At", "type": "string"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Note"},
        "status": {"$ref": "#/$defs/Status", "default": "new"},
        "payment": {
            "discriminator": {"mapping": {"card": "#/$defs/Card", "cash": "#/$defs/Cash"}, "propertyName": "kind"},
            "oneOf": [{"$ref": "#/$defs/Card"}, {"$ref": "#/$defs/Cash"}], "title": "Payment",
        },
        "pair": {"maxItems": 2, "minItems": 2, "prefixItems": [{"type": "string"}, {"type": "integer"}],
                 "title": "Pair", "type": "array"},
        "tags": {"additionalProperties": {"type": "integer"}, "title": "Tags", "type": "object"},
    },
    "required": ["id", "at", "payment"], "title": "Order", "type": "object", "additionalProperties": False,
}  # fmt: skip
ORDER = {"id": 1, "at": "2026-01-31T12:00:00Z", "note": None, "payment": {"kind": "card", "number": "1"}}


@pytest.mark.parametrize("dialect", [None, "https://json-schema.org/draft/2020-12/schema"])
def test_a_pydantic_schema_is_used_by_both_clients(url: str, dialect: str | None) -> None:
    schema = PYDANTIC | ({} if dialect is None else {"$schema": dialect})
    text, client, registry = json.dumps(schema), SchemaRegistryClient({"url": url}), SchemaRegistry(url)
    theirs = JSONSerializer(text, client)(ORDER, CONTEXT)
    assert JsonSchemaSerializer(registry, text, topic="orders")(ORDER) == theirs
    assert JsonSchemaDeserializer(registry)(theirs) == ORDER
    assert JSONDeserializer(text, schema_registry_client=client)(theirs, CONTEXT) == ORDER
    newer = json.loads(text)
    newer["properties"]["coupon"] = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    assert client.test_compatibility("orders-value", TheirSchema(json.dumps(newer), "JSON")) is True
    narrower = json.loads(text)
    narrower["required"].append("tags")  # which has no default
    assert client.test_compatibility("orders-value", TheirSchema(json.dumps(narrower), "JSON")) is False


def test_a_json_schema_refers_to_another_subject(url: str) -> None:
    client, registry = SchemaRegistryClient({"url": url}), SchemaRegistry(url)
    item = {"$id": "http://shop/item.json", "type": "object", "properties": {"sku": {"type": "string"}}}
    client.register_schema("item", TheirSchema(json.dumps(item), "JSON"))
    order = {"title": "O", "type": "object", "properties": {"item": {"$ref": "http://shop/item.json"}}}
    ours = Schema(json.dumps(order), "JSON", (Reference("http://shop/item.json", "item", 1),))
    theirs = TheirSchema(json.dumps(order), "JSON", [SchemaReference("http://shop/item.json", "item", 1)])
    value = {"item": {"sku": "a"}}
    written = JSONSerializer(theirs, client)(value, CONTEXT)
    assert JsonSchemaSerializer(registry, ours, topic="orders")(value) == written
    assert JsonSchemaDeserializer(registry)(written) == value


@pytest.mark.parametrize(
    ("more", "reference"),
    [
        ({"$id": "http://shop/v1/order.json"}, "item.json"),
        ({"$id": "http://shop/v1/order.json"}, "./item.json#/definitions/item"),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, "./item.json"),
    ],
)
def test_a_json_schema_names_another_relative_to_its_own_id(url: str, more: dict[str, str], reference: str) -> None:
    """As in ``loadPreviousDraft`` and ``loadLatestDraft`` of Confluent's ``JsonSchema.java``."""
    client, registry = SchemaRegistryClient({"url": url}), SchemaRegistry(url)
    inner = {"type": "object", "properties": {"sku": {"type": "string"}}}
    client.register_schema("item", TheirSchema(json.dumps({"definitions": {"item": inner}, **inner}), "JSON"))
    order = {**more, "type": "object", "properties": {"item": {"$ref": reference}}, "additionalProperties": False}
    client.register_schema(
        "orders-value", TheirSchema(json.dumps(order), "JSON", [SchemaReference("item.json", "item", 1)])
    )
    ours = Schema(json.dumps(order), "JSON", (Reference("item.json", "item", 1),))
    write = JsonSchemaSerializer(registry, ours, topic="orders")
    assert JsonSchemaDeserializer(registry)(write({"item": {"sku": "a"}})) == {"item": {"sku": "a"}}
    with pytest.raises(SchemaError, match=r"item\.sku: 5 is not of type 'string'"):
        write({"item": {"sku": 5}})


def debezium() -> dict[str, Any]:
    """An envelope as Debezium's Avro converter writes the schema of a table."""
    day = {
        "type": "int", "connect.version": 1, "connect.default": 0, "connect.name": "io.debezium.time.Date",
        "connect.parameters": {"__debezium.source.column.type": "DATE"},
    }  # fmt: skip
    price = {
        "type": "bytes", "scale": 2, "precision": 10, "connect.version": 1, "logicalType": "decimal",
        "connect.parameters": {"scale": "2", "connect.decimal.precision": "10"},
        "connect.name": "org.apache.kafka.connect.data.Decimal",
    }  # fmt: skip
    fields = [
        {"name": "id", "type": {"type": "long", "connect.default": 0}, "default": 0},
        {"name": "day", "type": ["null", day], "default": None},
        {"name": "price", "type": ["null", price], "default": None},
    ]
    value = {"type": "record", "name": "Value", "fields": fields, "connect.name": "my-db.public.orders.Value"}
    return {
        "type": "record", "name": "Envelope", "namespace": "my-db.public.orders",
        "fields": [
            {"name": "before", "type": ["null", value], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": ["null", "long"], "default": None},
        ],
        "connect.version": 1, "connect.name": "my-db.public.orders.Envelope",
    }  # fmt: skip


AVRO: list[tuple[Any, Any]] = [
    (debezium(), {"before": None, "after": {"id": 1, "day": 20_000, "price": None}, "op": "c", "ts_ms": 5}),
    ("string", "x"), ("long", 5), ("boolean", True), ("double", 1.5),
    (["null", "string"], "x"), (["int", "string"], "x"), ({"type": "array", "items": "int"}, [1, 2]),
    ({"type": "map", "values": ["null", "long"]}, {"a": None, "b": 1}),
    ([{"type": "record", "name": "A", "fields": [{"name": "a", "type": "int"}]}, "string"], {"a": 1}),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value"), AVRO, ids=[json.dumps(case[0])[:30] for case in AVRO])
def test_avro_of_every_shape_is_used_by_both_clients(url: str, schema: Any, value: Any) -> None:
    text, client, registry = json.dumps(schema), SchemaRegistryClient({"url": url}), SchemaRegistry(url)
    theirs = TheirAvroSerializer(client, text)(value, CONTEXT)
    assert AvroSerializer(registry, text, topic="orders")(value) == theirs
    assert AvroDeserializer(registry)(theirs) == value
    assert TheirAvroDeserializer(client)(theirs, CONTEXT) == value
    assert client.test_compatibility("orders-value", TheirSchema(text, "AVRO")) is True
    assert client.lookup_schema("orders-value", TheirSchema(text, "AVRO")).version == 1
