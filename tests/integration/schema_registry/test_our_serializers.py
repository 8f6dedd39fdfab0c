"""Our serializers and confluent-kafka's write the same bytes, and each reads the other's."""

from __future__ import annotations

import asyncio
import datetime
import json
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry import avro as their_avro
from confluent_kafka.schema_registry import json_schema as their_json
from confluent_kafka.schema_registry import protobuf as their_protobuf
from confluent_kafka.schema_registry.schema_registry_client import Schema as TheirSchema
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import DESCRIPTOR as TIMESTAMP

import oncelog
from oncelog.errors import ConfigError
from oncelog.schemas import (
    AsyncSchemaRegistry,
    AvroDeserializer,
    AvroSerializer,
    Codecs,
    JsonSchemaDeserializer,
    JsonSchemaSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Reference,
    Schema,
    SchemaError,
    SchemaRegistry,
    SchemaRegistryError,
    record_subject,
    topic_record_subject,
)
from tests.conftest import RunningBroker
from tests.integration.schema_registry.stand_in import StandIn, running

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "token", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"], "default": "A"}},
        {"name": "lines", "type": {"type": "map", "values": {"type": "array", "items": "int"}}},
    ],
}
VALUE = {
    "id": 2**40,
    "price": Decimal("12.50"),
    "at": datetime.datetime(2026, 1, 31, 12, 0, 0, 1, tzinfo=datetime.UTC),
    "token": uuid.UUID(int=7),
    "note": "ä",
    "kind": "B",
    "lines": {"x": [1, 2], "y": []},
}
PERSON = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Person",
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}
HERE = SerializationContext("orders", MessageField.VALUE)


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def messages() -> dict[str, Any]:
    """Classes of two files, one of which imports the other and one that comes with Protobuf."""
    pool = DescriptorPool()
    pool.AddSerializedFile(TIMESTAMP.serialized_pb)
    money = FileDescriptorProto(name="shop/money.proto", package="shop", syntax="proto3")
    amount = money.message_type.add(name="Money")
    amount.field.add(name="cents", number=1, type=3, label=1)
    orders = FileDescriptorProto(name="shop/orders.proto", package="shop", syntax="proto3")
    orders.dependency.extend(["google/protobuf/timestamp.proto", "shop/money.proto"])
    first = orders.message_type.add(name="Order")
    first.field.add(name="id", number=1, type=3, label=1)
    first.field.add(name="price", number=2, type=11, type_name=".shop.Money", label=1)
    first.field.add(name="at", number=3, type=11, type_name=".google.protobuf.Timestamp", label=1)
    outer = orders.message_type.add(name="Outer")
    outer.nested_type.add(name="Unused")
    inner = outer.nested_type.add(name="Inner")
    inner.field.add(name="text", number=1, type=9, label=1)
    for file in (money, orders):
        pool.AddSerializedFile(file.SerializeToString())
    return {
        name: GetMessageClass(pool.FindMessageTypeByName(f"shop.{name}")) for name in ("Order", "Outer.Inner", "Money")
    }


def test_avro_bytes_equal_confluents_and_are_read_by_both(url: str) -> None:
    theirs = SchemaRegistryClient({"url": url})
    text = json.dumps(ORDER)
    ours = AvroSerializer(SchemaRegistry(url), text, topic="orders")
    written = ours(VALUE)
    assert written is not None
    assert written == their_avro.AvroSerializer(theirs, text)(VALUE, HERE)
    assert their_avro.AvroDeserializer(theirs)(written, HERE) == VALUE
    assert AvroDeserializer(SchemaRegistry(url))(written) == VALUE
    assert ours(VALUE, HERE) == ours.serialize("orders", None, VALUE) == written
    assert ours(None) is None
    assert theirs.get_subjects() == ["orders-value"]


def test_a_reader_gets_its_own_fields_from_an_older_writer(url: str) -> None:
    newer = {**ORDER, "fields": [ORDER["fields"][0], {"name": "more", "type": "string", "default": "none"}]}
    data = AvroSerializer(SchemaRegistry(url), ORDER, topic="t")(VALUE)
    assert AvroDeserializer(SchemaRegistry(url), newer)(data) == {"id": 2**40, "more": "none"}


def test_avro_with_references_is_read_by_both_clients(url: str) -> None:
    registry = SchemaRegistry(url)
    inner = {"type": "record", "name": "Inner", "namespace": "shop", "fields": [{"name": "a", "type": "int"}]}
    fields = [{"name": "x", "type": "shop.Inner"}, {"name": "y", "type": ["null", "shop.Inner"]}]
    outer = {"type": "record", "name": "Outer", "namespace": "shop", "fields": fields}
    registry.register("inner", Schema(json.dumps(inner)))
    schema = Schema(json.dumps(outer), references=(Reference("shop.Inner", "inner", 1),))
    value = {"x": {"a": 1}, "y": {"a": 2}}
    data = AvroSerializer(registry, schema, topic="t")(value)
    assert AvroDeserializer(SchemaRegistry(url))(data) == value
    assert their_avro.AvroDeserializer(SchemaRegistryClient({"url": url}))(data, HERE) == value


def test_a_value_of_a_bytes_schema_is_written_without_a_length(url: str) -> None:
    data = AvroSerializer(SchemaRegistry(url), '"bytes"', topic="b")(b"\x00\xff")
    assert data == b"\0\0\0\0\x01\x00\xff"
    assert AvroDeserializer(SchemaRegistry(url))(data) == b"\x00\xff"


def test_json_bytes_equal_confluents_and_are_read_by_both(url: str) -> None:
    theirs = SchemaRegistryClient({"url": url})
    text = json.dumps(PERSON)
    value = {"name": "Ünal", "age": 3}
    written = JsonSchemaSerializer(SchemaRegistry(url), text, topic="orders")(value)
    assert written is not None
    assert written == their_json.JSONSerializer(text, theirs)(value, HERE)
    assert their_json.JSONDeserializer(None, schema_registry_client=theirs)(written, HERE) == value
    read = JsonSchemaDeserializer(SchemaRegistry(url))
    assert read(written) == value
    with pytest.raises(SchemaError, match="age: -1 is less than the minimum of 0"):
        JsonSchemaSerializer(SchemaRegistry(url), text, topic="orders")({"name": "x", "age": -1})
    with pytest.raises(SchemaError, match="'name' is a required property"):
        read(written[:5] + b"{}")
    assert JsonSchemaDeserializer(SchemaRegistry(url), validate=False)(written[:5] + b"{}") == {}


def test_a_json_schema_never_fetches_schemas_from_another_server(stand_in: StandIn) -> None:
    schema = {"properties": {"a": {"$ref": f"{stand_in.url}/elsewhere.json"}}}
    with pytest.raises(SchemaError, match="refers to what is not registered"):
        JsonSchemaSerializer(SchemaRegistry(stand_in.url), schema, topic="orders")({"a": 1})
    assert [path for _, path, _ in stand_in.requests if "elsewhere" in path] == []


@pytest.mark.parametrize("name", ["Order", "Outer.Inner"])
def test_protobuf_bytes_equal_confluents_and_are_read_by_both(url: str, messages: dict[str, Any], name: str) -> None:
    theirs = SchemaRegistryClient({"url": url})
    kind = messages[name]
    value = kind(id=5, price={"cents": 1999}) if name == "Order" else kind(text="ä")
    ours = ProtobufSerializer(SchemaRegistry(url), kind, topic="orders")
    written = ours(value)
    assert written is not None
    assert written == their_protobuf.ProtobufSerializer(kind, theirs)(value, HERE)
    assert their_protobuf.ProtobufDeserializer(kind, schema_registry_client=theirs)(written, HERE) == value
    registry = SchemaRegistry(url)
    assert ProtobufDeserializer(registry, kind)(written) == value
    assert ProtobufDeserializer(registry)(written).SerializeToString() == value.SerializeToString()
    decoded = Codecs(registry).decoded(written)
    assert decoded.name == f"shop.{name}"
    assert decoded.value == (
        {"id": "5", "price": {"cents": "1999"}} if name == "Order" else {"text": "ä"}
    )  # Protobuf's JSON has 64-bit integers as texts
    with pytest.raises(SchemaError, match=r"writes (Order|Inner), not Money"):
        ours(messages["Money"]())


def test_subjects_are_named_by_topic_record_or_both(url: str) -> None:
    registry = SchemaRegistry(url)
    AvroSerializer(registry, ORDER, topic="t", is_key=True)(VALUE)
    AvroSerializer(registry, ORDER, subject_name=record_subject)(VALUE)
    AvroSerializer(registry, ORDER, topic="t", subject_name=topic_record_subject)(VALUE)
    AvroSerializer(registry, ORDER, subject="own")(VALUE)
    assert sorted(registry.subjects()) == ["own", "shop.Order", "t-key", "t-shop.Order"]
    with pytest.raises(ConfigError, match="without a topic"):
        AvroSerializer(registry, ORDER)(VALUE)


def test_an_unregistered_schema_is_refused_without_auto_register(url: str) -> None:
    registry = SchemaRegistry(url)
    with pytest.raises(SchemaRegistryError) as refused:
        AvroSerializer(registry, ORDER, topic="t", auto_register=False)(VALUE)
    assert refused.value.is_not_found
    registry.register("t-value", Schema(json.dumps(ORDER)))
    assert AvroSerializer(registry, ORDER, topic="t", auto_register=False)(VALUE) is not None


def test_the_latest_or_a_given_version_is_used(url: str) -> None:
    registry = SchemaRegistry(url)
    first = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    second = {"type": "record", "name": "R", "fields": [*first["fields"], {"name": "b", "type": "int", "default": 1}]}
    ids = [registry.register("t-value", Schema(json.dumps(schema))) for schema in (first, second)]
    latest = AvroSerializer(registry, use_latest=True, topic="t")({"a": 1})
    older = AvroSerializer(registry, version=1, topic="t")({"a": 1})
    assert latest == b"\0" + ids[1].to_bytes(4) + b"\x02\x02"
    assert older == b"\0" + ids[0].to_bytes(4) + b"\x02"
    with pytest.raises(ConfigError, match="exclude each other"):
        AvroSerializer(registry, use_latest=True, auto_register=True)


def test_a_value_that_does_not_match_the_schema_is_named_in_the_refusal(url: str) -> None:
    registry = SchemaRegistry(url)
    with pytest.raises(SchemaError, match=r"does not fit the Avro schema shop\.Order"):
        AvroSerializer(registry, ORDER, topic="t")({"id": 1})
    with pytest.raises(SchemaError, match="zzz"):
        AvroSerializer(registry, ORDER, topic="t", strict=True)({**VALUE, "zzz": 1})


def test_our_clients_write_and_read_with_the_serializers(broker: RunningBroker, url: str) -> None:
    topic = "with-schemas"
    with oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([oncelog.NewTopic(topic, 1, 1)])
    registry = SchemaRegistry(url)
    serializer = AvroSerializer(registry, ORDER, topic=topic)
    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers, value_serializer=serializer) as producer:
        producer.send(topic, VALUE).result()
        producer.send(topic, None).result()
    with oncelog.Consumer(
        topic,
        bootstrap_servers=broker.bootstrap_servers,
        auto_offset_reset="earliest",
        value_deserializer=AvroDeserializer(registry),
    ) as consumer:
        assert [next(consumer).value, next(consumer).value] == [VALUE, None]


def test_serializers_of_asyncio_programs_never_block_the_event_loop(url: str) -> None:
    async def run() -> None:
        async with AsyncSchemaRegistry(url) as registry:
            written = await AvroSerializer(registry, ORDER, topic="t").serialize_async(VALUE)
            assert await AvroDeserializer(registry).deserialize_async(written) == VALUE
            assert await registry.subjects() == ["t-value"]
            assert (await registry.version("t-value")).version == 1

    asyncio.run(run())


def test_a_registry_is_asked_once_for_each_schema(stand_in: StandIn) -> None:
    registry = SchemaRegistry(stand_in.url)
    serializer = AvroSerializer(registry, ORDER, topic="t")
    written = [serializer(VALUE) for _ in range(3)]
    read = AvroDeserializer(SchemaRegistry(stand_in.url))
    assert [read(one) for one in written] == [VALUE] * 3
    assert [path for _, path, _ in stand_in.requests] == ["/subjects/t-value/versions", "/schemas/ids/1"]


def test_confluents_serializer_and_ours_register_one_schema_id(url: str) -> None:
    theirs = SchemaRegistryClient({"url": url}).register_schema("s", TheirSchema(json.dumps(ORDER), "AVRO"))
    assert SchemaRegistry(url).register("s", Schema(json.dumps(ORDER))) == theirs
