"""Files that nobody registers, because every registry and every client has them; and the refusal of all others."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaRegistryClient, protobuf
from confluent_kafka.schema_registry.confluent import meta_pb2
from confluent_kafka.schema_registry.confluent.type import decimal_pb2, variant_pb2
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass
from google.type import money_pb2

from oncelog.schemas import Codecs, ProtobufDeserializer, ProtobufSerializer, Schema, SchemaRegistry
from oncelog.schemas.known_protos import KNOWN, known_file
from oncelog.schemas.structs import PROTOBUF
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import call as run
from tests.integration.schema_registry.http_calls import call, register

CONTEXT = SerializationContext("orders", MessageField.VALUE)
TEXT = (
    'syntax = "proto3"; package shop; import "google/type/money.proto"; message Order { google.type.Money price = 1; }'
)
PRICE = {"currency_code": "EUR", "units": "12", "nanos": 500_000_000}
TAGGED = """
syntax = "proto3"; package shop; import "confluent/meta.proto"; import "confluent/type/decimal.proto";
message Order {
  string card = 1 [(confluent.field_meta) = {tags: "PII", params: [{key: "a", value: "b"}]}];
  confluent.type.Decimal price = 2 [(confluent.field_meta).params = {key: "precision", value: "9"}];
}
"""


def priced() -> Any:
    """The class of a message with an amount of money, as protoc generates it."""
    file = FileDescriptorProto(name="known/order.proto", package="known", syntax="proto3")
    file.dependency.append("google/type/money.proto")
    file.message_type.add(name="Order").field.add(
        name="price", number=1, label=FieldDescriptorProto.LABEL_OPTIONAL,
        type=FieldDescriptorProto.TYPE_MESSAGE, type_name=".google.type.Money",
    )  # fmt: skip
    pool = Default()
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("known.Order"))


def test_every_known_file_can_be_imported(url: str) -> None:
    imports = "\n".join(f'import "{name}";' for name in sorted(KNOWN) if name != "confluent/types/decimal.proto")
    answer = register(url, "x", f'syntax = "proto3";\n{imports}\nmessage M {{ int32 a = 1; }}', schemaType="PROTOBUF")
    assert answer.status == 200, answer.body
    codec = Codecs(SchemaRegistry(url)).of(1)
    assert codec.from_json({"a": 1}).a == 1
    old = 'syntax = "proto3"; import "confluent/types/decimal.proto"; message M { confluent.type.Decimal a = 1; }'
    assert register(url, "y", old, schemaType="PROTOBUF").status == 200


@pytest.mark.parametrize("file", [meta_pb2, decimal_pb2, variant_pb2], ids=["meta", "decimal", "variant"])
def test_confluents_properties_files_keep_their_meaning(file: Any) -> None:
    theirs = FileDescriptorProto.FromString(file.DESCRIPTOR.serialized_pb)
    ours = known_file(theirs.name)
    theirs.ClearField("options")
    for descriptor in (theirs, ours):
        for message in descriptor.message_type:
            for field in message.field:
                field.ClearField("json_name")
    assert ours == theirs


def test_protobuf_money_is_written_and_read_by_both_clients(url: str) -> None:
    order = priced()
    value = order(price=money_pb2.Money(currency_code="EUR", units=12, nanos=500_000_000))
    registry, client = SchemaRegistry(url), SchemaRegistryClient({"url": url})
    conf = {"use.deprecated.format": False}
    ours = ProtobufSerializer(registry, order, topic="orders")(value)
    theirs = protobuf.ProtobufSerializer(order, client, conf)(value, CONTEXT)
    assert ours == theirs
    assert client.get_latest_version("orders-value").schema.references == []
    assert ProtobufDeserializer(registry, order)(theirs) == value
    assert protobuf.ProtobufDeserializer(order, conf, client)(ours, CONTEXT) == value
    assert Codecs(registry).decoded(ours or b"").value == {"price": PRICE}
    assert register(url, "text-value", TEXT, schemaType="PROTOBUF").status == 200


def test_confluents_protobuf_options_are_kept_and_values_are_read(url: str) -> None:
    client, registry = SchemaRegistryClient({"url": url}), SchemaRegistry(url)
    assert client.register_schema("orders-value", TheirSchema(TAGGED, "PROTOBUF")) == 1
    assert "PII" in (client.get_schema(1).schema_str or "")
    text = registry.schema(1, "serialized").text
    file = FileDescriptorProto.FromString(base64.b64decode(text))
    meta: Any = meta_pb2
    assert file.message_type[0].field[0].options.Extensions[meta.field_meta].tags == ["PII"]
    assert client.lookup_schema("orders-value", TheirSchema(text, "PROTOBUF")).schema_id == 1
    assert registry.problems("orders-value", Schema(TAGGED.replace("string card", "bytes card"), PROTOBUF)) == []
    assert registry.problems("orders-value", Schema(TAGGED.replace("string card", "int32 card"), PROTOBUF)) != []
    codec = Codecs(registry).of(1)
    value = {"card": "1", "price": {"value": "AQ==", "precision": 9, "scale": 2}}
    payload = codec.encode(codec.from_json(value))
    assert codec.decode_json(b"\0\0\0\0\1" + payload)[0] == value


MISSING = [
    (
        "buf/validate/validate.proto",
        'syntax = "proto3"; import "buf/validate/validate.proto"; message M {int32 a = 1;}',
    ),
    ("google/api/http.proto", 'syntax = "proto3"; import "google/api/http.proto"; message M {google.api.Http a = 1;}'),
    ("google/type/none.proto", 'syntax = "proto3"; import "google/type/none.proto"; message M {int32 a = 1;}'),
]


@pytest.mark.parametrize(("name", "text"), MISSING)
def test_an_unknown_import_is_refused_with_advice_that_works(
    broker: RunningBroker, url: str, tmp_path: Path, name: str, text: str
) -> None:
    env = {"ONCELOG_BOOTSTRAP_SERVER": broker.bootstrap_servers, "ONCELOG_SCHEMA_REGISTRY": url}
    file, imported = tmp_path / "m.proto", tmp_path / "imported.proto"
    file.write_text(text)
    imported.write_text('syntax = "proto3"; package google.api; message Http {int32 a = 1;}')
    refused = run("schemas", "register", "m-value", file, env=env)
    assert refused.code != 0
    assert f"it imports {name}, which is neither among its references nor a file that every registry has" in refused.err
    assert "--reference" in refused.err
    run("schemas", "register", "imported", imported, env=env).done()
    run("schemas", "register", "m-value", file, "--reference", f"{name}=imported:1", env=env).done()
    assert Codecs(SchemaRegistry(url)).of(2).from_json({}) is not None


BROKEN = [
    'syntax = "proto3"; message A {strin a = 1;}', 'syntax = "proto3"; message A {string a = 1}',
    'syntax = "proto3"; import "google/type/money.proto"; message A {google.type.Mone a = 1;}',
    'import "../x.proto"; message A {}', 'import "/etc/hosts"; message A {}', "message", 'import "x',
]  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_no_message_shows_a_path_of_the_server(url: str, text: str) -> None:
    answer = register(url, "x", text, schemaType="PROTOBUF")
    assert answer.code == 42201
    assert "oncelog-protobuf-" not in answer.body["message"]
    assert "/tmp" not in answer.body["message"]
    assert "schema-" not in answer.body["message"]


@pytest.mark.parametrize(
    "name", ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
)
def test_a_json_schema_may_refer_to_the_schema_of_schemas(url: str, name: str) -> None:
    assert register(url, "x", json.dumps({"$ref": name}), schemaType="JSON").status == 200
    answer = register(url, "y", '{"$ref": "https://example.com/x.json"}', schemaType="JSON")
    assert "'https://example.com/x.json', which is neither in it nor among its references" in answer.body["message"]
    assert "--reference" in answer.body["message"]
    assert call(url, "GET", "/subjects").body == ["x"]
