"""Requests, schemas and values with which other registries and their clients failed, as public reports have them. Each
test names its report."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirAvroDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirAvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer as TheirProtobufDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer as TheirProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import any_pb2, struct_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

import oncelog
from oncelog.schemas import (
    AvroDeserializer,
    AvroSerializer,
    JsonSchemaDeserializer,
    JsonSchemaSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Reference,
    Schema,
    SchemaError,
    SchemaRegistry,
)
from tests.conftest import RunningBroker
from tests.integration.schema_registry.http_calls import Answer, avro, call, register

HERE = SerializationContext("orders", MessageField.VALUE)


def record(name: str, *fields: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": one, "type": kind} for one, kind in fields], **more}


def register_json(url: str, subject: str, schema: Any, **more: Any) -> Answer:
    return register(url, subject, json.dumps(schema), **more)


def is_compatible(url: str, subject: str, schema: Any, kind: str = "AVRO", version: str = "latest") -> Any:
    path = f"/compatibility/subjects/{quote(subject, safe='')}/versions/{version}"
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return call(url, "POST", path, {"schema": text, "schemaType": kind}).body.get("is_compatible")


# --- Requests


def test_a_compatibility_check_against_a_missing_version_is_refused_but_not_against_the_latest(url: str) -> None:
    """Aiven-Open/karapace#985: a subject without versions takes any schema, and has no version 5."""
    assert is_compatible(url, "none", '"string"') is True
    answer = call(url, "POST", "/compatibility/subjects/none/versions/5", {"schema": '"string"'})
    assert (answer.status, answer.code) == (404, 40402)
    register(url, "x", '"string"')
    assert call(url, "POST", "/compatibility/subjects/x/versions/5", {"schema": '"string"'}).code == 40402


def test_the_answer_for_a_schema_version_contains_no_settings_of_the_subject(url: str) -> None:
    """Aiven-Open/karapace#435: Java's client fails at a member that it does not know."""
    register(url, "x", '"string"')
    call(url, "PUT", "/config/x", {"compatibility": "FULL"})
    assert set(call(url, "GET", "/subjects/x/versions/latest").body) == {"subject", "version", "id", "guid", "schema"}


@pytest.mark.parametrize("empty", [None, {}])
def test_request_fields_that_newer_clients_send_may_be_empty(url: str, empty: Any) -> None:
    """Aiven-Open/karapace#916: .NET's client 2.5 sends metadata and rules with each schema."""
    more = {"metadata": empty, "ruleSet": empty, "references": [] if empty is not None else None}
    assert register(url, "x", '"string"', **more).body["id"] == 1
    assert register(url, "x", '"string"').body["id"] == 1
    assert call(url, "POST", "/subjects/x", {"schema": '"string"', **more}).body["version"] == 1


@pytest.mark.parametrize("path", ["/config/", "/mode/", "/subjects/", "/subjects/x/versions/", "//subjects"])
def test_a_url_may_have_superfluous_slashes(url: str, path: str) -> None:
    """domnikl/schema-registry-gitops#27: a client asks for ``/config/``."""
    register(url, "x", '"string"')
    assert call(url, "GET", path).status == 200


@pytest.mark.parametrize(
    "subject", ["proto/common/envelope.proto", "a%2Fb", "a b+c", "ü/日本", "/", "..", "x/versions/1"]
)
def test_every_request_accepts_a_subject_with_slashes(url: str, subject: str) -> None:
    """redpanda-data/connect#2190, redpanda-data/console#311, provectus/kafka-ui#1995, tchiotludo/akhq#1353."""
    name = quote(subject, safe="")
    assert register(url, subject, avro("a")).body["id"] == 1
    assert call(url, "GET", "/subjects").body == [subject]
    assert call(url, "GET", f"/subjects/{name}/versions/latest").body["subject"] == subject
    assert call(url, "GET", f"/subjects/{name}/versions/1/schema").status == 200
    assert call(url, "POST", f"/subjects/{name}", {"schema": avro("a")}).body["version"] == 1
    assert is_compatible(url, subject, avro("a", "b")) is False
    assert call(url, "PUT", f"/config/{name}", {"compatibility": "NONE"}).status == 200
    assert is_compatible(url, subject, avro("a", "b")) is True
    assert call(url, "GET", f"/config/{name}").body == {"compatibilityLevel": "NONE"}
    assert call(url, "PUT", f"/mode/{name}", {"mode": "READONLY"}).status == 200
    assert call(url, "DELETE", f"/mode/{name}").status == 200
    assert call(url, "GET", "/schemas/ids/1/versions").body == [{"subject": subject, "version": 1}]
    named = [{"name": "R", "subject": subject, "version": 1}]
    assert register_json(url, "y", record("Y", ("r", "R")), references=named).status == 200
    assert call(url, "GET", f"/subjects/{name}/versions/1/referencedby").body == [2]
    for one in ("y", name):
        assert call(url, "DELETE", f"/subjects/{one}").status == 200
        assert call(url, "DELETE", f"/subjects/{one}?permanent=true").body == [1]


def test_a_referenced_soft_deleted_version_remains_when_its_schema_is_registered_again(url: str) -> None:
    """confluentinc/schema-registry#4277: a reference names a subject and version, and they must stay."""
    register_json(url, "item", record("Item", ("a", "int")))
    named = [{"name": "Item", "subject": "item", "version": 1}]
    order = record("Order", ("item", "Item"))
    assert register_json(url, "order", order, references=named).body["id"] == 2
    call(url, "DELETE", "/subjects/order")
    call(url, "DELETE", "/subjects/item")
    assert register_json(url, "item", record("Item", ("a", "int"))).body == {
        "id": 1, "version": 2, "guid": call(url, "GET", "/schemas/ids/1").body["guid"],
    }  # fmt: skip
    assert call(url, "GET", "/subjects/item/versions/1?deleted=true").body["id"] == 1
    assert call(url, "GET", "/schemas/ids/2?format=resolved").status == 200
    assert register_json(url, "order", order, references=named).body["id"] == 2
    registry = SchemaRegistry(url)
    ours = Schema(json.dumps(order), "AVRO", (Reference("Item", "item", 1),))
    written = AvroSerializer(registry, ours, subject="order")({"item": {"a": 5}})
    assert AvroDeserializer(SchemaRegistry(url))(written) == {"item": {"a": 5}}


def test_a_deleted_schema_is_imported_under_another_id(url: str) -> None:
    """confluentinc/schema-registry#1062: a migration gives each schema the id that it has elsewhere."""
    register(url, "x", '"string"')
    call(url, "DELETE", "/subjects/x")
    assert call(url, "PUT", "/mode/x", {"mode": "IMPORT"}).status == 200
    assert register(url, "x", '"string"', id=500, version=3).body["id"] == 500
    assert call(url, "GET", "/schemas/ids/500").body["schema"] == '"string"'
    assert call(url, "GET", "/subjects/x/versions").body == [3]
    call(url, "PUT", "/mode/x", {"mode": "READWRITE"})
    assert register(url, "x", '"string"').body["id"] == 500
    assert register(url, "y", '"long"').body["id"] == 501


# --- Avro


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("string", "null-as-none"), ("string", 5), (["int", "null"], "null"),
        ({"type": "enum", "name": "Suit", "symbols": ["A"]}, "null-as-none"),
        ({"type": "record", "name": "Money", "fields": [{"name": "v", "type": "float"}]}, {"w": 0}),
    ],
)  # fmt: skip
def test_a_default_that_no_reader_could_use_is_refused_and_the_error_names_its_field(
    url: str, kind: Any, default: Any
) -> None:
    """confluentinc/schema-registry#603, #1293, #1882, #2038 and hortonworks/registry#617: it was accepted, or
    ended in status 500."""
    field = {"name": "broken", "type": kind, "default": None if default == "null-as-none" else default}
    answer = register_json(url, "x", {"type": "record", "name": "R", "fields": [field]})
    assert (answer.status, answer.code) == (422, 42201)
    assert "broken" in answer.body["message"]
    assert call(url, "GET", "/subjects").body == []


def test_a_default_may_have_any_type_of_its_union(url: str) -> None:
    """redpanda-data/redpanda#4129, hortonworks/registry#633 and confluentinc/schema-registry#707: Java's Avro takes one
    of a later type too since 1.12."""
    fields = [
        {"name": "a", "type": ["null", "string"], "default": None},
        {"name": "c", "type": ["string", "null"], "default": None},
        {"name": "b", "type": ["string", "null"], "default": "No Address Available"},
    ]
    assert register_json(url, "x", {"type": "record", "name": "R", "fields": fields}).status == 200


def test_a_schema_written_out_in_full_is_found_if_it_is_normalized(url: str) -> None:
    """incubly-oss/kafka-schema-operator#50: ``"string"`` and ``{"type": "string"}`` are one type, and so are names with
    and without their namespace."""
    short = record("R", ("a", "string"), ("b", ["null", "n.I"]), namespace="n")
    short["fields"].insert(1, {"name": "i", "type": record("I", ("x", "int"))})
    long = {
        "name": "n.R", "type": "record",
        "fields": [
            {"type": {"type": "string"}, "name": "a"},
            {"name": "i", "type": {"type": "record", "name": "n.I",
                                   "fields": [{"name": "x", "type": {"type": "int"}}]}},
            {"name": "b", "type": [{"type": "null"}, "I"]},
        ],
    }  # fmt: skip
    assert register_json(url, "x", short).body["id"] == 1
    assert register_json(url, "x", long).body["id"] == 1
    assert call(url, "POST", "/subjects/x?normalize=true", {"schema": json.dumps(long)}).body["id"] == 1


CURRENCY = {"type": "enum", "name": "Currency", "namespace": "budget.currencies", "symbols": ["EUR", "USD"]}


def test_a_union_may_reference_records_that_share_a_referenced_type(url: str) -> None:
    """confluentinc/schema-registry#1710 and #1793, ImFlog/schema-registry-plugin#126, #130 and #199: "Can't redefine".
    The shared type has a subject of its own, and is used by both."""
    register_json(url, "currency", CURRENCY)
    shared = [{"name": "budget.currencies.Currency", "subject": "currency", "version": 1}]
    names = ("budget.Decreased", "budget.Updated")
    for name in names:
        made = record(name, ("buyer", "long"), ("currency", "budget.currencies.Currency"))
        assert register_json(url, name, made, references=shared).status == 200
    union = [{"name": name, "subject": name, "version": 1} for name in names]
    assert register_json(url, "orders-value", list(names), references=union).status == 200
    client, registry = SchemaRegistryClient({"url": url}), SchemaRegistry(url)
    theirs = TheirSchema(json.dumps(names), "AVRO", [SchemaReference(one, one, 1) for one in names])
    value = {"buyer": 1, "currency": "USD"}
    written = TheirAvroSerializer(client, theirs)(("budget.Updated", value), HERE)
    ours = Schema(json.dumps(names), "AVRO", tuple(Reference(one, one, 1) for one in names))
    assert AvroSerializer(registry, ours, topic="orders")(("budget.Updated", value)) == written
    assert AvroDeserializer(registry, union_names=True)(written) == ("budget.Updated", value)
    assert TheirAvroDeserializer(client, return_record_name=True)(written, HERE) == ("budget.Updated", value)


def test_a_union_of_records_that_define_the_same_type_is_refused_or_readable(url: str) -> None:
    """The same reports, with the type written out in both records: Java's parser refuses the union of them."""
    names = ("budget.Decreased", "budget.Updated")
    for name in names:
        register_json(url, name, record(name, ("buyer", "long"), ("currency", CURRENCY)))
    union = [{"name": name, "subject": name, "version": 1} for name in names]
    answer = register_json(url, "orders-value", list(names), references=union)
    if answer.status == 200:
        ours = Schema(json.dumps(names), "AVRO", tuple(Reference(one, one, 1) for one in names))
        value = {"buyer": 1, "currency": "USD"}
        written = AvroSerializer(SchemaRegistry(url), ours, topic="orders")(("budget.Updated", value))
        assert AvroDeserializer(SchemaRegistry(url))(written) == value
    else:
        assert answer.code == 42201
        assert "budget.currencies.Currency" in answer.body["message"]


@pytest.mark.parametrize("text", ['  "string"  ', '"string"\n', '{"type": "string"}', '\t"string"'])
def test_a_schema_of_a_primitive_type_may_have_white_space_around_it(url: str, text: str) -> None:
    """confluentinc/confluent-kafka-python#1162."""
    registry, client = SchemaRegistry(url), SchemaRegistryClient({"url": url})
    written = AvroSerializer(registry, text, topic="orders")("a")
    assert TheirAvroSerializer(client, text)("a", HERE) == written
    assert AvroDeserializer(registry)(written) == "a"
    assert register(url, "orders-value", text).body["id"] == 1


def test_a_schema_may_consist_of_a_referenced_type_alone(url: str) -> None:
    """fastavro/fastavro#804: ``{"type": "test.point"}``, and the name alone."""
    register_json(url, "point", record("test.point", ("x", "float")))
    reference = Reference("test.point", "point", 1)
    for number, text in enumerate(('"test.point"', '{"type": "test.point"}')):
        schema = Schema(text, "AVRO", (reference,))
        serializer = AvroSerializer(SchemaRegistry(url), schema, subject=f"use-{number}")
        assert AvroDeserializer(SchemaRegistry(url))(serializer({"x": 1.5})) == {"x": 1.5}


DEBEZIUM_SNAPSHOT = {
    "type": "string", "connect.version": 1, "connect.parameters": {"allowed": "true,first,last,false,incremental"},
    "connect.default": "false", "connect.name": "io.debezium.data.Enum",
}  # fmt: skip
DEBEZIUM_SOURCE = {
    "type": "record", "name": "Source", "namespace": "io.debezium.connector.postgresql",
    "fields": [
        {"name": "version", "type": "string"}, {"name": "ts_ms", "type": "long"},
        {"name": "snapshot", "type": [DEBEZIUM_SNAPSHOT, "null"], "default": "false"},
        {"name": "lsn", "type": ["null", "long"], "default": None},
    ],
    "connect.name": "io.debezium.connector.postgresql.Source",
}  # fmt: skip
DEBEZIUM_ROW = {
    "type": "record", "name": "Value",
    "fields": [
        {"name": "id", "type": {"type": "int", "connect.default": 0}, "default": 0},
        {"name": "amount", "type": ["null", {
            "type": "record", "name": "VariableScaleDecimal", "namespace": "io.debezium.data",
            "fields": [{"name": "scale", "type": "int"}, {"name": "value", "type": "bytes"}],
            "connect.doc": "Variable scaled decimal", "connect.version": 1,
            "connect.name": "io.debezium.data.VariableScaleDecimal"}], "default": None},
        {"name": "at", "type": ["null", {
            "type": "string", "connect.version": 1, "connect.name": "io.debezium.time.ZonedTimestamp"}],
         "default": None},
        {"name": "doc", "type": [{"type": "string", "connect.version": 1, "connect.default": "{}",
                                  "connect.name": "io.debezium.data.Json"}, "null"], "default": "{}"},
        {"name": "flags", "type": ["null", {"type": "bytes", "connect.version": 1,
                                            "connect.parameters": {"length": "8"},
                                            "connect.name": "io.debezium.data.Bits"}], "default": None},
        {"name": "tags", "type": ["null", {"type": "array", "items": ["null", "string"]}], "default": None},
    ],
    "connect.name": "shop-1.public.orders.Value",
}  # fmt: skip
DEBEZIUM = {
    "type": "record", "name": "Envelope", "namespace": "shop-1.public.orders", "connect.version": 2,
    "fields": [
        {"name": "before", "type": ["null", DEBEZIUM_ROW], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "source", "type": DEBEZIUM_SOURCE},
        {"name": "transaction", "default": None, "type": ["null", {
            "type": "record", "name": "block", "namespace": "event", "connect.version": 1,
            "connect.name": "event.block",
            "fields": [{"name": "id", "type": "string"}, {"name": "total_order", "type": "long"}]}]},
        {"name": "op", "type": "string"},
    ],
    "connect.name": "shop-1.public.orders.Envelope",
}  # fmt: skip
CHANGE = {
    "before": None,
    "after": {"id": 1, "amount": {"scale": 2, "value": b"\x04\xd2"}, "at": "2026-01-31T12:00:00Z", "doc": "{}",
              "flags": b"\x01", "tags": ["a", None]},
    "source": {"version": "3.0", "ts_ms": 5, "snapshot": "last", "lsn": None},
    "transaction": {"id": "7:1", "total_order": 1}, "op": "c",
}  # fmt: skip


def test_an_envelope_of_debezium_3_is_written_and_read_by_both_clients(url: str) -> None:
    """debezium/debezium#3898 and fastavro/fastavro#101: names are not adjusted any more, and each type is used where
    it was first needed."""
    text, client, registry = json.dumps(DEBEZIUM), SchemaRegistryClient({"url": url}), SchemaRegistry(url)
    written = TheirAvroSerializer(client, text)(CHANGE, HERE)
    assert AvroSerializer(registry, text, topic="orders")(CHANGE) == written
    assert AvroDeserializer(registry)(written) == CHANGE
    assert TheirAvroDeserializer(client)(written, HERE) == CHANGE


def test_a_renamed_record_is_refused_and_the_error_names_the_expected_one(url: str) -> None:
    """microsoft/kafka-connect-cosmosdb#538: the refusal says which name was expected."""
    register_json(url, "orders-value", DEBEZIUM)
    renamed = json.loads(json.dumps(DEBEZIUM))
    renamed["name"] = "inferred_name_1976230485"
    answer = register_json(url, "orders-value", renamed)
    assert answer.status == 409
    assert "NAME_MISMATCH" in answer.body["message"]
    assert "shop-1.public.orders.Envelope" in answer.body["message"]


RECURSIVE = record("Node", ("value", "int"), ("next", ["null", "Node"]))
TREE = record("t.Tree", ("leaf", ["null", "string"]), ("children", {"type": "array", "items": "t.Tree"}))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (RECURSIVE, {"value": 1, "next": {"value": 2, "next": None}}),
        (TREE, {"leaf": None, "children": [{"leaf": "a", "children": []}, {"leaf": None, "children": []}]}),
        ({"type": "map", "values": RECURSIVE}, {"k": {"value": 1, "next": None}}),
    ],
)
def test_recursive_records_are_evolved_and_read_by_both_clients(url: str, schema: Any, value: Any) -> None:
    """fastavro/fastavro#765: a record that contains itself, here with a reader's schema."""
    text, client, registry = json.dumps(schema), SchemaRegistryClient({"url": url}), SchemaRegistry(url)
    written = TheirAvroSerializer(client, text)(value, HERE)
    assert AvroSerializer(registry, text, topic="orders")(value) == written
    newer = json.loads(text)
    inner = newer if newer["type"] == "record" else newer["values"]
    inner["fields"].append({"name": "note", "type": "string", "default": "-"})
    assert is_compatible(url, "orders-value", newer) is True
    read = AvroDeserializer(registry, json.dumps(newer))(written)
    assert read == TheirAvroDeserializer(client, json.dumps(newer))(written, HERE)


def test_a_field_found_by_its_alias_is_compatible_and_read(url: str) -> None:
    """confluentinc/schema-registry#1775, and fastavro/fastavro#700 with a type that is used twice: fields, records and
    enums are found by their aliases."""
    old = record("R", ("first", "string"), ("kind", {"type": "enum", "name": "K", "symbols": ["A", "B"]}))
    new = {
        "type": "record", "name": "R",
        "fields": [
            {"name": "given", "type": "string", "aliases": ["first"]},
            {"name": "kind", "type": {"type": "enum", "name": "K", "symbols": ["A", "Z"], "default": "Z"}},
        ],
    }  # fmt: skip
    registry = SchemaRegistry(url)
    written = AvroSerializer(registry, json.dumps(old), topic="orders")({"first": "a", "kind": "B"})
    assert is_compatible(url, "orders-value", new) is True
    assert AvroDeserializer(registry, json.dumps(new))(written) == {"given": "a", "kind": "Z"}


@pytest.mark.parametrize("format_", ["avro", "json", "protobuf"])
def test_a_tombstone_is_deserialized_to_none_without_asking_the_registry(
    broker: RunningBroker, topic: str, format_: str
) -> None:
    """confluentinc/confluent-kafka-python#189, confluentinc/confluent-kafka-dotnet#905 and thomhurst/Dekaf#2564."""
    registry = SchemaRegistry("http://127.0.0.1:9")  # nobody listens there
    deserializers = {"avro": AvroDeserializer, "json": JsonSchemaDeserializer, "protobuf": ProtobufDeserializer}
    deserializer: Any = deserializers[format_](registry)
    assert deserializer(None) is None
    servers, name = broker.bootstrap_servers, f"tombstones{topic}-{format_}"
    with oncelog.Producer(bootstrap_servers=servers) as producer:
        producer.send_and_wait(name, None, key=b"k")
    options = {"auto_offset_reset": "earliest", "value_deserializer": deserializer}
    with oncelog.Consumer(name, bootstrap_servers=servers, **options) as consumer:
        assert consumer.getone().value is None


# --- JSON Schema

PARTLY_OPEN = {
    "$id": "https://example.com/person.schema.json", "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object", "properties": {"foo": {"type": "string"}},
    "additionalProperties": {"anyOf": [{"type": "string"}]},
}  # fmt: skip
WITH_BAR = {**PARTLY_OPEN, "properties": {"foo": {"type": "string"}, "bar": {"type": "string"}}}
ONLY_BAR = {**PARTLY_OPEN, "properties": {"bar": {"type": "string"}}}
INTEGERS_TOO = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
CHANGES: list[tuple[str, Any, Any, bool]] = [
    ("a property enters what is partly open", PARTLY_OPEN, WITH_BAR, True),
    ("a property leaves what is partly open", WITH_BAR, ONLY_BAR, True),
    ("what is partly open opens more", PARTLY_OPEN, {**PARTLY_OPEN, "additionalProperties": INTEGERS_TOO}, True),
    ("a property enters that was an integer", {**PARTLY_OPEN, "additionalProperties": INTEGERS_TOO},
     {**WITH_BAR, "additionalProperties": INTEGERS_TOO}, False),
    ("an optional field enters an open object",
     {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": True},
     {"type": "object", "required": ["a"], "additionalProperties": True,
      "properties": {"a": {"type": "integer"}, "b": {"oneOf": [{"type": "null"}, {"type": "string"}]}}}, False),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "allowed"), [one[1:] for one in CHANGES], ids=[one[0] for one in CHANGES])
def test_changes_of_open_and_partly_open_objects_are_judged_as_by_confluent(
    url: str, before: Any, after: Any, allowed: bool
) -> None:
    """confluentinc/schema-registry#1490, #1529, #2121 and #2671: with the verdicts that their maintainers explain."""
    assert register_json(url, "x", before, schemaType="JSON").status == 200
    assert is_compatible(url, "x", after, "JSON") is allowed


DRAFTS = {
    "http://json-schema.org/draft-04/schema#": {"minimum": 0, "exclusiveMinimum": True},
    "http://json-schema.org/draft-06/schema#": {"exclusiveMinimum": 0},
    "http://json-schema.org/draft-07/schema#": {"exclusiveMinimum": 0},
    "https://json-schema.org/draft/2019-09/schema": {"exclusiveMinimum": 0},
    "https://json-schema.org/draft/2020-12/schema": {"exclusiveMinimum": 0},
}


@pytest.mark.parametrize("draft", DRAFTS)
def test_each_json_schema_draft_is_registered_evolved_and_validated_by_its_own_rules(url: str, draft: str) -> None:
    """platformatic/kafka#335, confluentinc/confluent-kafka-python#1216 and confluentinc/confluent-kafka-dotnet#2404."""
    schema = {
        "$schema": draft,
        "title": "P",
        "type": "object",
        "properties": {"n": {"type": "number", **DRAFTS[draft]}},
    }
    text, client, registry = json.dumps(schema), SchemaRegistryClient({"url": url}), SchemaRegistry(url)
    written = JSONSerializer(text, client)({"n": 1}, HERE)
    serializer = JsonSchemaSerializer(registry, text, topic="orders")
    assert serializer({"n": 1}) == written
    with pytest.raises(SchemaError, match="n"):
        serializer({"n": 0})
    assert JsonSchemaDeserializer(registry)(written) == {"n": 1}
    assert JSONDeserializer(text, schema_registry_client=client)(written, HERE) == {"n": 1}
    assert is_compatible(url, "orders-value", {**schema, "properties": {"n": {"type": "integer"}}}, "JSON") is False


@pytest.mark.parametrize("schema", [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}, True, {}])
def test_a_json_schema_need_not_describe_an_object(url: str, schema: Any) -> None:
    """hortonworks/registry#768 and confluentinc/schema-registry#2756: only objects could be written."""
    values = {"array": [1, 2], "string": "ü"}
    value = values.get(schema.get("type", "string") if isinstance(schema, dict) else "string")
    registry = SchemaRegistry(url)
    written = JsonSchemaSerializer(registry, json.dumps(schema), topic="orders")(value)
    assert JsonSchemaDeserializer(registry)(written) == value


# --- Protobuf


def many_messages() -> tuple[FileDescriptorProto, DescriptorPool]:
    """A file with 70 messages, each with two in it."""
    file = FileDescriptorProto(name="many.proto", package="many", syntax="proto3")
    for number in range(70):
        outer = file.message_type.add(name=f"M{number}")
        outer.field.add(name="outer", number=1, type=9, label=1)
        for name in ("First", "Second"):
            outer.nested_type.add(name=name).field.add(name="text", number=1, type=9, label=1)
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return file, pool


@pytest.mark.parametrize("name", ["M0", "M1", "M63", "M64", "M69.First", "M69.Second", "M0.Second"])
def test_the_message_index_path_equals_that_of_confluents_serializer(url: str, name: str) -> None:
    """confluentinc/confluent-kafka-dotnet#2505 (the path in the wrong order), confluentinc/confluent-kafka-python#1256
    and kafkajs/confluent-schema-registry#248."""
    _, pool = many_messages()
    kind = GetMessageClass(pool.FindMessageTypeByName(f"many.{name}"))
    value = kind(**{"outer" if "." not in name else "text": "x"})
    client, registry = SchemaRegistryClient({"url": url}), SchemaRegistry(url)
    theirs = TheirProtobufSerializer(kind, client, {"use.deprecated.format": False})(value, HERE)
    assert ProtobufSerializer(registry, kind, topic="orders")(value) == theirs
    read = ProtobufDeserializer(registry)(theirs)
    assert (read.DESCRIPTOR.full_name, read.SerializeToString()) == (f"many.{name}", value.SerializeToString())
    again = TheirProtobufDeserializer(kind, {"use.deprecated.format": False}, client)
    assert again(theirs, HERE) == value


PROTO = 'syntax = "proto3"; package p; '
PROTOBUF_CHANGES: list[tuple[str, str, str, bool]] = [
    ("FORWARD", "message B {int32 a=1;}", "message B {int32 a=1;} message Unused {string v=1;}", False),
    ("BACKWARD", "message B {int32 a=1;}", "message B {int32 a=1;} message Unused {string v=1;}", True),
    ("FULL", "message A {} message B {}", "message B {} message A {}", True),
    ("FORWARD", "message M {string a=1;}", "message M {string a=1; optional string b=2;}", True),
    ("FULL", "message M {string foo=1; int32 page=2;}", 'message M {reserved "foo"; reserved 1; int32 page=2;}', True),
    ("FULL", "message M {string foo=1;}", 'message M {string foobar=1; reserved "foo";}', True),
    ("BACKWARD", "message M {map<string,int32> m=1;}", "message M {map<string,int64> m=1;}", True),
    ("BACKWARD", "message M {string a=1;}", "message M {optional string a=1;}", True),
    (
        "BACKWARD",
        "message M {oneof o {string a=1;} string b=2;}",
        "message M {oneof o {string a=1; string b=2;}}",
        False,
    ),
]


@pytest.mark.parametrize(("level", "before", "after", "allowed"), PROTOBUF_CHANGES)
def test_protobuf_changes_are_judged_as_by_confluent(
    url: str, level: str, before: str, after: str, allowed: bool
) -> None:
    """confluentinc/schema-registry#2033, #2061 and #2970, Apicurio/apicurio-registry#1334 and #9662: other registries
    refuse an optional field, a name that changes, or messages that move."""
    call(url, "PUT", "/config/x", {"compatibility": level})
    assert register(url, "x", PROTO + before, schemaType="PROTOBUF").status == 200
    assert is_compatible(url, "x", PROTO + after, "PROTOBUF") is allowed


def test_an_added_required_protobuf_field_is_refused(url: str) -> None:
    """Apicurio/apicurio-registry#2447."""
    head, field = 'syntax = "proto2"; message P { required string message = 1; ', "required string code = 3; "
    register(url, "x", head + "}", schemaType="PROTOBUF")
    answer = register(url, "x", head + field + "}", schemaType="PROTOBUF")
    assert (answer.status, "REQUIRED_FIELD_ADDED" in answer.body["message"]) == (409, True)


def test_the_text_and_the_descriptor_of_a_proto_file_get_one_schema_id(url: str) -> None:
    """Apicurio/apicurio-registry#5790: a schema that was registered as text is found by the client that sends the
    descriptor, and the other way round."""
    file, _ = many_messages()
    encoded = base64.b64encode(file.SerializeToString()).decode()
    assert register(url, "x", encoded, schemaType="PROTOBUF").body["id"] == 1
    text = call(url, "GET", "/subjects/x/versions/1").body["schema"]
    assert "message M69" in text
    comments = "// a comment\n" + text.replace("string text = 1;", "string   text=1; /* text */")
    assert register(url, "x", comments, schemaType="PROTOBUF").body["id"] == 1
    assert call(url, "POST", "/subjects/x", {"schema": encoded, "schemaType": "PROTOBUF"}).body["version"] == 1
    given = call(url, "GET", "/subjects/x/versions/1?format=serialized").body["schema"]
    assert FileDescriptorProto.FromString(base64.b64decode(given)).message_type == file.message_type


def test_a_protobuf_type_from_a_file_without_an_import_is_refused(url: str) -> None:
    """Aiven-Open/karapace#626 and #738: a reference alone imports nothing."""
    register(url, "money", PROTO + "message Money {int32 cents=1;}", schemaType="PROTOBUF")
    named = [{"name": "money.proto", "subject": "money", "version": 1}]
    use = "message Order {Money price=1;}"
    refused = register(url, "x", PROTO + use, schemaType="PROTOBUF", references=named)
    assert (refused.code, "Money" in refused.body["message"]) == (42201, True)
    imported = 'syntax = "proto3"; package p; import "money.proto"; '
    assert register(url, "x", imported + use, schemaType="PROTOBUF", references=named).status == 200
    address = 'import "foobar.proto"; message A {google.type.PostalAddress a=1;}'
    refused = register(url, "y", 'syntax = "proto3"; package a1; ' + address, schemaType="PROTOBUF")
    assert (refused.code, "foobar.proto" in refused.body["message"]) == (42201, True)


def chain() -> Any:
    """The class of a message whose file imports one that imports another, and files that every registry has."""
    pool = DescriptorPool()
    for known in (timestamp_pb2, any_pb2, struct_pb2, wrappers_pb2):
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    last = FileDescriptorProto(name="a/b/last.proto", package="chain", syntax="proto3")
    last.message_type.add(name="Last").field.add(name="text", number=1, type=9, label=1)
    middle = FileDescriptorProto(name="a/middle.proto", package="chain", syntax="proto3", dependency=["a/b/last.proto"])
    middle.message_type.add(name="Middle").field.add(name="last", number=1, type=11, type_name=".chain.Last", label=1)
    first = FileDescriptorProto(name="first.proto", package="chain", syntax="proto3")
    first.dependency.extend(["a/middle.proto", "a/b/last.proto", *(one.DESCRIPTOR.name for one in (
        timestamp_pb2, any_pb2, struct_pb2, wrappers_pb2))])  # fmt: skip
    made = first.message_type.add(name="First")
    for number, name in enumerate(
        (".chain.Middle", ".chain.Last", ".google.protobuf.Timestamp", ".google.protobuf.Struct",
         ".google.protobuf.StringValue"), start=1,
    ):  # fmt: skip
        made.field.add(name=f"f{number}", number=number, type=11, type_name=name, label=1)
    for file in (last, middle, first):
        pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("chain.First"))


@pytest.mark.parametrize("normalize", [False, True])
def test_both_clients_register_files_with_nested_imports_alike(url: str, normalize: bool) -> None:
    """confluentinc/confluent-kafka-python#2213 and confluentinc/schema-registry#1438, provectus/kafka-ui#3292,
    timeplus-io/proton#1076."""
    kind = chain()
    value = kind(f1={"last": {"text": "a"}}, f2={"text": "b"}, f3={"seconds": 5}, f5={"value": "c"})
    value.f4.fields["k"].number_value = 1.5
    client, registry = SchemaRegistryClient({"url": url}), SchemaRegistry(url)
    conf = {"use.deprecated.format": False, "normalize.schemas": normalize}
    theirs = TheirProtobufSerializer(kind, client, conf)(value, HERE)
    assert ProtobufSerializer(registry, kind, topic="orders", normalize=normalize)(value) == theirs
    assert ProtobufDeserializer(SchemaRegistry(url))(theirs).SerializeToString() == value.SerializeToString()
    assert call(url, "GET", "/subjects").body == ["a/b/last.proto", "a/middle.proto", "orders-value"]


# --- Confluent's serializers by versions, and times


def test_confluents_serializer_finds_the_latest_version_and_a_version_by_metadata(url: str) -> None:
    """confluentinc/confluent-kafka-python#1704 and #1751: with no schema of its own."""
    old, new = avro("a"), avro("a", "b=7")
    register(url, "orders-value", old, metadata={"properties": {"major": "1"}})
    register(url, "orders-value", new, metadata={"properties": {"major": "2"}})
    client = SchemaRegistryClient({"url": url})
    for conf, fields in (
        ({"use.latest.version": True}, {"a": 1, "b": 2}),
        ({"use.latest.with.metadata": {"major": "1"}}, {"a": 1}),
        ({"use.latest.with.metadata": {"major": "2"}}, {"a": 1, "b": 2}),
    ):
        serializer = TheirAvroSerializer(client, None, conf={"auto.register.schemas": False, **conf})
        written = serializer({"a": 1, "b": 2}, HERE)
        assert AvroDeserializer(SchemaRegistry(url))(written) == fields
    assert AvroSerializer(SchemaRegistry(url), topic="orders", use_latest=True)({"a": 1}) == written[:6] + b"\x0e"


ZONE = """
import sys, datetime
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer as Theirs
from confluent_kafka.serialization import MessageField, SerializationContext
from oncelog.schemas import AvroSerializer, SchemaRegistry
import json
url, kind = sys.argv[1:]
at = {"type": "long", "logicalType": kind}
fields = [("a", at), ("b", ["null", at]), ("c", {"type": "array", "items": at})]
made = [{"name": name, "type": one} for name, one in fields]
schema = json.dumps({"type": "record", "name": "R", "fields": made})
ours = AvroSerializer(SchemaRegistry(url), schema, topic="orders")
theirs = Theirs(SchemaRegistryClient({"url": url}), schema)
zone = datetime.timezone(datetime.timedelta(hours=-5))
for moment in (datetime.datetime(2026, 1, 31, 12, 0, 0, 123456), datetime.datetime(2026, 7, 31, 12),
               datetime.datetime(2026, 1, 31, 12, tzinfo=zone), datetime.datetime(1969, 12, 31, 23, 59, 59, 999000)):
    value = {"a": moment, "b": moment, "c": [moment]}
    assert ours(value) == theirs(value, SerializationContext("orders", MessageField.VALUE)), (moment, kind)
print("done")
"""


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York", "UTC"])
@pytest.mark.parametrize("kind", ["timestamp-millis", "timestamp-micros", "local-timestamp-micros"])
def test_a_time_without_a_zone_is_written_as_by_confluents_serializer(url: str, zone: str, kind: str) -> None:
    """apache/paimon#7259, fastavro/fastavro#171 and #459: the zone of the machine decides."""
    ended = subprocess.run(
        [sys.executable, "-c", ZONE, url, kind], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "TZ": zone},
    )  # fmt: skip
    assert ended.stdout == "done\n", ended.stderr
