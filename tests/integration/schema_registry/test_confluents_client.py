"""confluent-kafka's client and serializers, unmodified, with a registry on either broker."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.schema_registry.schema_registry_client import (
    ConfigCompatibilityLevel,
    Metadata,
    MetadataProperties,
    ServerConfig,
)
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from tests.integration.schema_registry.http_calls import avro


@pytest.fixture
def client(url: str) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": url})


def test_every_call_of_confluents_client_works(client: SchemaRegistryClient) -> None:
    first, second = Schema(avro("a"), "AVRO"), Schema(avro("a", "b=1"), "AVRO")
    assert client.register_schema("x", first) == 1
    assert client.register_schema_full_response("x", second).schema_id == 2
    assert json.loads(client.get_schema(1).schema_str or "") == json.loads(avro("a"))
    assert client.get_schema_types() == ["JSON", "PROTOBUF", "AVRO"]
    assert client.get_subjects_by_schema_id(1) == ["x"]
    (place,) = client.get_schema_versions(2)
    assert (place.subject, place.version) == ("x", 2)
    found = client.lookup_schema("x", second)
    assert (found.subject, found.version, found.schema_id) == ("x", 2, 2)
    assert client.get_subjects() == ["x"]
    assert client.get_latest_version("x").version == 2
    assert client.get_version("x", 1).schema_id == 1
    assert client.get_versions("x") == [1, 2]
    assert client.get_referenced_by("x", 1) == []
    client.set_compatibility("x", "FULL")
    assert client.get_compatibility("x") == "FULL"
    assert client.get_compatibility() == "BACKWARD"
    assert client.test_compatibility("x", Schema(avro("a", "b=1", "c=2"), "AVRO")) is True
    assert client.test_compatibility("x", Schema(avro("a", "b=1", "c"), "AVRO")) is False
    assert client.test_compatibility_all_versions("x", Schema(avro("a", "b=1", "c=2"), "AVRO")) is True
    client.set_config("x", ServerConfig(compatibility=ConfigCompatibilityLevel.BACKWARD))
    assert client.get_config("x").compatibility_level == "BACKWARD"
    client.delete_config("x")
    assert client.get_global_mode() == "READWRITE"
    assert client.update_mode("x", "READONLY") == "READONLY"
    assert client.get_mode("x") == "READONLY"
    assert client.delete_mode("x") == "READONLY"
    assert client.update_global_mode("READWRITE") == "READWRITE"
    assert client.get_contexts() == ["."]
    assert client.delete_version("x", 1) == 1
    assert client.delete_version("x", 1, permanent=True) == 1
    assert client.delete_subject("x") == [2]
    assert client.delete_subject("x", permanent=True) == [2]
    with pytest.raises(SchemaRegistryError) as refused:
        client.get_schema(17)
    assert (refused.value.http_status_code, refused.value.error_code) == (404, 40403)


def test_a_version_is_found_by_its_metadata(client: SchemaRegistryClient) -> None:
    """As ``use.latest.with.metadata`` of the serializers does."""
    context = SerializationContext("owned", MessageField.VALUE)
    for fields, properties in (
        (("a",), {"owner": "anna", "stage": "live"}),
        (("a", "b=1"), {"owner": "anna"}),
        (("a", "b=1", "c=2"), {"owner": "ben"}),
    ):
        owned = Metadata(None, MetadataProperties(properties), None)
        client.register_schema("owned-value", Schema(avro(*fields), "AVRO", metadata=owned))
    assert client.get_latest_with_metadata("owned-value", {"owner": "anna"}).version == 2
    assert client.get_latest_with_metadata("owned-value", {"owner": "anna", "stage": "live"}).version == 1
    settings = {"auto.register.schemas": False, "use.latest.with.metadata": {"owner": "anna"}}
    written = AvroSerializer(client, avro("a"), conf=settings)({"a": 1, "b": 2}, context)
    assert written == b"\0\0\0\0\2\2\4"
    for subject, properties, code in (("owned-value", {"owner": "carl"}, 40403), ("nobody", {"owner": "anna"}, 40401)):
        with pytest.raises(SchemaRegistryError) as refused:
            client.get_latest_with_metadata(subject, properties)
        assert refused.value.error_code == code


AS_WRITTEN = {
    "AVRO": '{"type":"record","name":"R","fields":[{"name":"a","type":"string","zz":1,"aa":2}]}',
    "JSON": '{"type":"object","properties":{"b":{},"a":{}}}',
    "PROTOBUF": 'syntax = "proto3"; message M { int32 b = 2; int32 a = 1; }',
}


@pytest.mark.parametrize("kind", AS_WRITTEN)
def test_a_schema_that_was_not_normalized_is_found_by_its_normal_form(client: SchemaRegistryClient, kind: str) -> None:
    """As ``use.latest.version=False``, ``auto.register.schemas=False`` and ``normalize.schemas=True`` look for it."""
    schema = Schema(AS_WRITTEN[kind], kind)
    registered = client.register_schema("s", schema)
    client.clear_caches()
    assert client.lookup_schema("s", schema, normalize_schemas=True).schema_id == registered
    client.clear_caches()
    normal = client.register_schema("s", schema, normalize_schemas=True)
    assert normal != registered
    client.clear_caches()
    assert client.lookup_schema("s", schema, normalize_schemas=True).schema_id == normal
    client.clear_caches()
    assert client.lookup_schema("s", schema).schema_id == registered


def test_avro_values_of_two_versions_are_written_and_read(client: SchemaRegistryClient) -> None:
    context = SerializationContext("orders", MessageField.VALUE)
    old = AvroSerializer(client, avro("a"))({"a": 1}, context)
    new = AvroSerializer(client, avro("a", "b=7"))({"a": 2, "b": 3}, context)
    assert (old[:5], new[:5]) == (b"\0\0\0\0\1", b"\0\0\0\0\2")
    read = AvroDeserializer(client, avro("a", "b=7"))
    assert read(old, context) == {"a": 1, "b": 7}
    assert read(new, context) == {"a": 2, "b": 3}


def test_avro_values_with_references_are_written_and_read(client: SchemaRegistryClient) -> None:
    client.register_schema("item", Schema(avro("a", name="Item"), "AVRO"))
    order = Schema(
        '{"type":"record","name":"Order","fields":[{"name":"item","type":"Item"}]}',
        "AVRO",
        [SchemaReference("Item", "item", 1)],
    )
    context = SerializationContext("orders", MessageField.VALUE)
    written = AvroSerializer(client, order)({"item": {"a": 5}}, context)
    assert AvroDeserializer(client)(written, context) == {"item": {"a": 5}}


JSON_SCHEMA = json.dumps(
    {"title": "Order", "type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
)


def test_json_values_are_written_and_read(client: SchemaRegistryClient) -> None:
    context = SerializationContext("orders", MessageField.VALUE)
    written = JSONSerializer(JSON_SCHEMA, client)({"a": 1}, context)
    assert written[:5] == b"\0\0\0\0\1"
    assert JSONDeserializer(JSON_SCHEMA)(written, context) == {"a": 1}
    assert client.get_latest_version("orders-value").schema.schema_type == "JSON"


def order_class() -> Any:
    """A message class as protoc generates it."""
    file = FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Order")
    message.field.add(
        name="a", number=1, type=FieldDescriptorProto.TYPE_INT32, label=FieldDescriptorProto.LABEL_OPTIONAL
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def test_protobuf_values_are_written_and_read(client: SchemaRegistryClient) -> None:
    order = order_class()
    context = SerializationContext("orders", MessageField.VALUE)
    configured = {"use.deprecated.format": False}
    written = ProtobufSerializer(order, client, configured)(order(a=7), context)
    read = ProtobufDeserializer(order, configured, client)(written, context)
    assert read == order(a=7)
    registered = client.get_latest_version("orders-value")
    assert "message Order {" in (registered.schema.schema_str or "")
    serialized = client.get_schema(registered.schema_id or 0, fmt="serialized").schema_str
    assert client.lookup_schema("orders-value", Schema(serialized, "PROTOBUF")).version == 1


def test_an_avro_schema_with_inlined_references_is_the_version_that_references_them(
    client: SchemaRegistryClient,
) -> None:
    """Serializers of generated classes send the whole schema (``ParsedSchema.canLookup``; confluent-kafka-python#2173):
    auto-registration must not add a version, and a lookup must find the one that is there."""
    address = {"type": "record", "name": "Address", "namespace": "shop", "fields": [{"name": "city", "type": "string"}]}
    names = ("home", "work")
    fields: list[Any] = [{"name": name, "type": ["null", "shop.Address"], "default": None} for name in names]
    customer = {"type": "record", "name": "Customer", "namespace": "shop", "fields": fields}
    client.register_schema("address", Schema(json.dumps(address), "AVRO"))
    referring = Schema(json.dumps(customer), "AVRO", [SchemaReference("shop.Address", "address", 1)])
    registered = client.register_schema("customers-value", referring)
    fields[0]["type"] = ["null", address]
    client.clear_caches()
    whole = Schema(json.dumps(customer), "AVRO")
    assert client.lookup_schema("customers-value", whole).schema_id == registered
    assert client.register_schema("customers-value", whole) == registered
    assert client.get_versions("customers-value") == [1]
    fields[0]["type"] = ["null", {**address, "fields": [{"name": "city", "type": "int"}]}]
    with pytest.raises(SchemaRegistryError):
        client.lookup_schema("customers-value", Schema(json.dumps(customer), "AVRO"))
