"""Schemas named in headers, by GUID or id, as producers of Confluent 8 name them: written and read, in every reader."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry import avro as their_avro
from confluent_kafka.schema_registry import json_schema as their_json
from confluent_kafka.schema_registry import protobuf as their_protobuf
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass

import oncelog
from oncelog.client.aio import Consumer as AioConsumer
from oncelog.client.aio import Producer as AioProducer
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
)
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import call as run
from tests.integration.schema_registry.http_calls import avro
from tests.integration.schema_registry.stand_in import running

GUID = {"schema.id.serializer": header_schema_id_serializer}
HEADER = "__value_schema_id"
TITLED = {"title": "Order", "type": "object", "properties": {"a": {"type": "integer"}}}


def inner_class() -> Any:
    """The class of the second message in a file, inside of another."""
    file = FileDescriptorProto(name="in_headers.proto", package="in_headers", syntax="proto3")
    file.message_type.add(name="First")
    inner = file.message_type.add(name="Outer").nested_type.add(name="Inner")
    inner.field.add(name="a", number=1, type=FieldDescriptorProto.TYPE_INT32, label=FieldDescriptorProto.LABEL_OPTIONAL)
    pool = Default()
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("in_headers.Outer.Inner"))


def context_of(field: str = "value") -> Any:
    """What confluent-kafka's producers hand over."""
    return SerializationContext("orders", MessageField(field), [])


class Format:
    """Serializers and deserializers of one format, ours and Confluent's."""

    def __init__(self, name: str, url: str) -> None:
        registry, client, another = SchemaRegistry(url), *(SchemaRegistryClient({"url": url}) for _ in range(2))
        self.value: Any = {"a": 7}
        if name == "avro":
            self.value = {"a": "more than five bytes, which confluent-kafka's client needs"}
            text = avro("a").replace('"int"', '"string"')
            self.ours: Any = AvroSerializer(registry, text, topic="orders", schema_id_serializer="header")
            self.theirs: Any = their_avro.AvroSerializer(client, text, conf=GUID)
            self.read: Any = AvroDeserializer(registry)
            self.they_read: Any = their_avro.AvroDeserializer(another)
        elif name == "json":
            text = json.dumps(TITLED)
            self.ours = JsonSchemaSerializer(registry, text, topic="orders", schema_id_serializer="header")
            self.theirs = their_json.JSONSerializer(text, client, conf=GUID)
            self.read = JsonSchemaDeserializer(registry)
            self.they_read = their_json.JSONDeserializer(text, schema_registry_client=another)
        else:
            kind = inner_class()
            self.value = kind(a=7)
            conf = {"use.deprecated.format": False}
            self.ours = ProtobufSerializer(registry, kind, topic="orders", schema_id_serializer="header")
            self.theirs = their_protobuf.ProtobufSerializer(kind, client, {**conf, **GUID})
            self.read = ProtobufDeserializer(registry, kind)
            self.they_read = their_protobuf.ProtobufDeserializer(kind, conf, another)


@pytest.mark.parametrize("name", ["avro", "json", "protobuf"])
@pytest.mark.parametrize("field", ["value", "key"])
def test_confluents_serializers_and_ours_write_the_same_bytes_and_read_each_other(
    url: str, name: str, field: str
) -> None:
    one = Format(name, url)
    ours, theirs = context_of(field), context_of(field)
    written = one.ours(one.value, ours), one.theirs(one.value, theirs)
    assert written[0] == written[1]
    assert list(ours.headers) == list(theirs.headers)
    assert [header for header, _ in ours.headers] == [f"__{field}_schema_id"]
    assert one.read(written[1], theirs) == one.value
    assert one.they_read(written[0], ours) == one.value


@pytest.mark.parametrize("name", ["avro", "json", "protobuf"])
def test_a_schema_id_in_a_header_is_read_like_an_id_in_the_value(url: str, name: str) -> None:
    one = Format(name, url)
    context = context_of()
    written = one.ours(one.value, context)
    header = b"\0\0\0\0\1" + context.headers[0][1][17:]
    assert one.read(written, SerializationContext("orders", MessageField.VALUE, [(HEADER, header)])) == one.value
    assert one.read(written, SerializationContext("orders", MessageField.VALUE, {HEADER: header})) == one.value
    two = [(HEADER, b"\0\0\0\0\x09"), (HEADER, header)]
    assert one.read.deserialize("orders", two, written) == one.value, "the last of the name counts, as in Java"


def test_the_schema_id_in_the_header_takes_precedence(url: str) -> None:
    """A payload that begins as an id does is not read with that id's schema."""
    registry = SchemaRegistry(url)
    wrong = AvroSerializer(registry, '"long"', subject="wrong")(3)
    assert wrong == b"\0\0\0\0\1\6"
    schema = json.dumps({"type": "record", "name": "F", "fields": [{"name": "a", "type": "bytes"}, *(
        {"name": f"n{number}", "type": "int"} for number in range(5)
    )]})  # fmt: skip
    serializer = AvroSerializer(registry, schema, topic="orders", schema_id_serializer="header")
    context = context_of()
    value = {"a": b"", "n0": 0, "n1": 0, "n2": 0, "n3": -1, "n4": 3}
    written = serializer(value, context)
    assert written == wrong
    assert AvroDeserializer(registry)(written, context) == value


def test_our_clients_pass_headers_to_serializers(broker: RunningBroker, url: str, topic: str) -> None:
    registry, name = SchemaRegistry(url), f"orders{topic}"
    one: Any = {
        "key_serializer": AvroSerializer(registry, '"long"', schema_id_serializer="header"),
        "value_serializer": AvroSerializer(registry, avro("a"), schema_id_serializer="header"),
    }
    readers: Any = {
        "key_deserializer": AvroDeserializer(registry), "value_deserializer": AvroDeserializer(registry),
        "auto_offset_reset": "earliest",
    }  # fmt: skip
    servers = broker.bootstrap_servers
    with oncelog.Producer(bootstrap_servers=servers, **one) as producer:
        producer.send_and_wait(name, {"a": 1}, key=5, headers=[("mine", b"x")])
    with oncelog.Consumer(name, bootstrap_servers=servers, **readers) as consumer:
        first = consumer.getone()
    assert (first.key, first.value) == (5, {"a": 1})
    assert [header for header, _ in first.headers] == ["mine", "__key_schema_id", "__value_schema_id"]

    async def asyncio_clients() -> None:
        asked = AsyncSchemaRegistry(url)
        written = AvroSerializer(asked, avro("a"), schema_id_serializer="header")
        async with AioProducer(bootstrap_servers=servers, value_serializer=written) as producer:
            await producer.send_and_wait(name, {"a": 2}, headers=first.headers)
            await producer.send_and_wait(name, None)
        async with AioConsumer(name, bootstrap_servers=servers, **readers) as consumer:
            records = [await consumer.getone() for _ in range(3)]
        assert [record.value for record in records] == [{"a": 1}, {"a": 2}, None]
        assert [header for header, _ in records[1].headers].count(HEADER) == 1

    asyncio.run(asyncio_clients())
    plain = AvroSerializer(registry, avro("a"))
    with oncelog.Producer(bootstrap_servers=servers, value_serializer=plain) as producer:
        producer.send_and_wait(name, {"a": 3}, headers=first.headers)
    with oncelog.Consumer(name, bootstrap_servers=servers, **readers) as consumer:
        assert [consumer.getone().value for _ in range(4)][-1] == {"a": 3}, "an old header is not kept"


def test_commands_read_schema_headers_and_drop_them_when_they_encode(
    broker: RunningBroker, url: str, topic: str, tmp_path: Path
) -> None:
    env = {"ONCELOG_BOOTSTRAP_SERVER": broker.bootstrap_servers, "ONCELOG_SCHEMA_REGISTRY": url}
    name = f"orders{topic}"
    written = AvroSerializer(SchemaRegistry(url), avro("a"), schema_id_serializer="header")
    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers, value_serializer=written) as producer:
        producer.send_and_wait(name, {"a": 7})
    read = ("consume", "-t", name, "--from-beginning", "-e")
    assert run(*read, env=env).done().out.splitlines() == ['{"a": 7}']
    (line,) = run(*read, "--json", env=env).done().json_lines
    assert (line["value"], line["value_schema"]["id"], line["headers"][0][0]) == ({"a": 7}, 1, HEADER)
    again = json.dumps(line) + "\n"
    run("produce", "-t", name, "--json-lines", "--value-schema", "latest", stdin=again, env=env).done()
    assert run(*read, env=env).done().out.splitlines() == ['{"a": 7}'] * 2
    target = tmp_path / "orders.csv"
    run("export", name, "--to", target, env=env).done()
    assert [line.split(",")[-2:-1] for line in target.read_text().splitlines()[1:]] != []
    assert target.read_text().count('{""a"": 7}') + target.read_text().count(",7,") == 2
    unknown = oncelog.Producer(bootstrap_servers=broker.bootstrap_servers)
    with unknown as producer:
        producer.send_and_wait(name, b"\x0e", headers=[(HEADER, b"\1" + bytes(16))])
    found = run("doctor", "--schema-registry", url, "--bootstrap-server", broker.bootstrap_servers, env=env)
    assert "schema ids that the registry does not know: 00000000-0000-0000-0000-000000000000" in found.out


def test_a_decoded_value_that_is_written_as_json_does_not_claim_to_be_avro(
    broker: RunningBroker, url: str, topic: str
) -> None:
    """Confluent's deserializers would take the JSON text for Avro of the schema in the header."""
    env = {"ONCELOG_BOOTSTRAP_SERVER": broker.bootstrap_servers, "ONCELOG_SCHEMA_REGISTRY": url}
    name = f"orders{topic}"
    written = AvroSerializer(SchemaRegistry(url), avro("a"), schema_id_serializer="header")
    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers, value_serializer=written) as producer:
        producer.send_and_wait(name, {"a": 7}, key=b"k", headers=[("mine", b"1")])
    read = ("consume", "-t", name, "--from-beginning", "-e", "--json")
    without = {"ONCELOG_BOOTSTRAP_SERVER": broker.bootstrap_servers}
    for lines in [run(*read, env=used).done().out for used in (env, without)]:
        run("produce", "-t", name, "--json-lines", stdin=lines, env=env).done()
    with oncelog.Consumer(name, bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        first, text, same = (consumer.getone() for _ in range(3))
    assert (text.value, text.headers) == (b'{"a":7}', (("mine", b"1"),))
    assert (same.value, same.headers) == (first.value, first.headers)


def test_unsupported_values_are_refused_with_the_reason(url: str) -> None:
    registry = SchemaRegistry(url)
    serializer = AvroSerializer(registry, avro("a"), topic="orders", schema_id_serializer="header")
    with pytest.raises(ConfigError, match="needs the record's headers, which this producer does not hand over"):
        serializer({"a": 1})
    with pytest.raises(ConfigError, match="schema_id_serializer is 'prefix' or 'header', not 'guid'"):
        AvroSerializer(registry, avro("a"), schema_id_serializer="guid")
    reader = AvroDeserializer(registry)
    with pytest.raises(SchemaRegistryError, match="has no schema with the GUID 00000000-0000-0000-0000-000000000000"):
        reader.deserialize("orders", [(HEADER, b"\1" + bytes(16))], b"\2")
    with pytest.raises(SchemaError, match="the record's header has no schema id: the length is 3, and an id takes 5"):
        reader.deserialize("orders", [(HEADER, b"\0\0\0")], b"\2")
    assert reader.deserialize("orders", [(HEADER, None)], b"\0\0\0\0\1\2") == {"a": 1}
    assert registry.id_of(registry.latest("orders-value").guid or "") == 1


def test_a_registry_that_gives_no_guid_is_reported() -> None:
    with running() as older:
        serializer = AvroSerializer(SchemaRegistry(older.url), avro("a"), topic="orders", schema_id_serializer="header")
        with pytest.raises(SchemaRegistryError, match="gives schemas no GUID, as Confluent's do"):
            serializer({"a": 1}, SerializationContext("orders", MessageField.VALUE, []))


def test_the_guid_of_a_schema_text_is_the_same_in_every_registry(url: str) -> None:
    registry = SchemaRegistry(url)
    registry.register("x", Schema(avro("a")))
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
    assert registry.latest("x").guid == str(UUID(hashlib.md5(text.encode()).hexdigest()))
    uses = '{"type":"record","name":"U","fields":[{"name":"r","type":"R"}]}'
    user = Schema(uses, references=(Reference("R", "x", 1),))
    registry.register("y", user)
    digest = hashlib.md5(user.text.encode() + b"Rx\0\0\0\1")
    assert registry.latest("y").guid == str(UUID(digest.hexdigest()))
    assert Codecs(registry).decoded(b"\2", [(HEADER, b"\0\0\0\0\1")]).value == {"a": 1}
