"""Names in schemas: what Java's Avro reads is registered, written and read, by our clients and by Confluent's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema as ConfluentsSchema
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer as ConfluentsDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from oncelog import Producer
from oncelog.schema_registry.schema_records import SCHEMA, Key, encode_key, encode_value
from oncelog.schemas import AvroDeserializer, AvroSerializer, Reference, Schema, SchemaRegistry
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import call as run
from tests.integration.schema_registry.conftest import Start
from tests.integration.schema_registry.http_calls import call, register

CONTEXT = SerializationContext("orders", MessageField.VALUE)


def record(name: str, field: str = "a", kind: Any = "int", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind}], **more}


STATUS = {"type": "enum", "name": "Größe", "symbols": ["klein", "größer"]}
READABLE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (record("Value", namespace="my-db.public.orders"), {"a": 1}),
    (record("my-db.public.orders.Envelope"), {"a": 1}),
    (record("Größe", "größe"), {"größe": 1}),
    (record("Ж", "ключ", namespace="база-1"), {"ключ": 1}),
    (record("Order", "status", STATUS, namespace="my-db"), {"status": "größer"}),
    (record("Order", "next", ["null", "Order"], namespace="1.2"), {"next": {"next": None}}),
]


@pytest.mark.parametrize(("schema", "value"), READABLE, ids=[case[0]["name"] for case in READABLE])
def test_a_schema_with_names_of_any_alphabet_and_namespace_works(
    url: str, schema: dict[str, Any], value: dict[str, Any]
) -> None:
    registry = SchemaRegistry(url)
    written = AvroSerializer(registry, schema, topic="orders")(value)
    assert AvroDeserializer(registry)(written) == value
    assert AvroDeserializer(registry, schema)(written) == value
    assert registry.problems("orders-value", Schema(json.dumps(schema))) == []
    if schema["fields"][0]["type"] != STATUS:  # fastavro, which Confluent's client reads with, refuses such a symbol
        assert ConfluentsDeserializer(SchemaRegistryClient({"url": url}))(written, CONTEXT) == value


REFUSED: list[tuple[object, str]] = [
    (record("R", "a-b"), "the name of the field 'a-b' of the record R must begin with a letter or '_'"),
    (record("R", "1a"), "the name of the field '1a' of the record R must begin"),
    (record("my.R-1"), "the name of the type 'R-1' must begin with a letter or '_' and consist of"),
    (record("R", "a", {"type": "enum", "name": "E", "symbols": ["a b"]}), "the symbol 'a b' of the enum E must begin"),
    (record("R") | {"fields": [{"name": "a", "type": "int", "default": "x"}]}, 'the default of the field R.a is "x"'),
    (record("R", "a", ".R", namespace="n"), "the type .R is not defined"),
    (record("R", "a", "Other"), "the type Other is not defined: define it here, or register it and refer to it"),
]


@pytest.mark.parametrize(("schema", "why"), REFUSED)
def test_a_new_schema_that_java_cannot_read_is_refused(url: str, schema: object, why: str) -> None:
    answer = register(url, "x", json.dumps(schema))
    assert (answer.status, answer.code) == (422, 42201)
    assert why in answer.body["message"], answer.body
    asked = call(url, "POST", "/compatibility/subjects/x/versions?verbose=true", {"schema": json.dumps(schema)})
    assert asked.body["is_compatible"] is False
    assert why in asked.body["messages"][0]
    assert call(url, "GET", "/subjects").body == []


def test_a_type_outside_of_all_namespaces_is_found_by_its_short_name(url: str) -> None:
    """Java's Avro writes schemas so; Python's packages look in the namespace alone."""
    side = {"type": "enum", "name": "Side", "namespace": "", "symbols": ["buy", "sell"]}
    fields = [{"name": "side", "type": side}, {"name": "was", "type": ["null", "Side"]}]
    trade = {"type": "record", "name": "Trade", "namespace": "shop", "fields": fields}
    registry = SchemaRegistry(url)
    written = AvroSerializer(registry, trade, topic="trades")({"side": "buy", "was": "sell"})
    assert AvroDeserializer(registry)(written) == {"side": "buy", "was": "sell"}
    shown = call(url, "GET", "/subjects/trades-value/versions/1").body["schema"]
    assert json.loads(shown) == trade
    then = {"name": "then", "type": "Side"}
    answer = register(url, "trades-value", json.dumps({**trade, "fields": [*fields, then]}))
    assert answer.status == 409
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in answer.body["message"]
    fitting = {**trade, "fields": [*fields, {**then, "default": "buy"}]}
    assert register(url, "trades-value", json.dumps(fitting)).status == 200


def stored(topic: str, broker: RunningBroker, subject: str, schema_id: int, schema: object) -> None:
    """Write a record of a registry that checks less."""
    value = {"subject": subject, "version": 1, "id": schema_id, "schema": json.dumps(schema), "deleted": False}
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send_and_wait(topic, encode_value(value), key=encode_key(Key(SCHEMA, subject, 1)))


def test_schemas_in_the_topic_are_not_checked_again(start: Start, topic: str, url: str, broker: RunningBroker) -> None:
    odd = record("R-1", "a-b", {"type": "enum", "name": "E", "symbols": ["c d"]})
    odd["fields"][0]["default"] = 5
    assert call(url, "GET", "/subjects").body == [], "the registry has made its topic"
    stored(topic, broker, "orders-value", 7, odd)
    other = start(topic)
    assert register(other.url, "orders-value", json.dumps(odd)).body["id"] == 7
    assert call(other.url, "POST", "/subjects/orders-value", {"schema": json.dumps(odd)}).body["version"] == 1
    registry = SchemaRegistry(other.url)
    written = AvroSerializer(registry, odd, topic="orders")({"a-b": "c d"})
    assert AvroDeserializer(registry)(written) == {"a-b": "c d"}
    assert register(other.url, "orders-value", json.dumps(record("R", "b"))).status == 409
    assert register(other.url, "orders-value", json.dumps(odd | {"doc": "changed"})).status == 422
    uses = {"schema": json.dumps(record("User", "r", "R-1")), "references": [
        {"name": "R-1", "subject": "orders-value", "version": 1}
    ]}  # fmt: skip
    assert call(other.url, "POST", "/subjects/users/versions", uses).status == 200


def test_references_across_unusual_namespaces_are_resolved(url: str) -> None:
    registry = SchemaRegistry(url)
    registry.register("key", Schema(json.dumps(record("Key", namespace="my-db.public.orders"))))
    order = record("Order", "key", "my-db.public.orders.Key")
    schema = Schema(json.dumps(order), "AVRO", (Reference("my-db.public.orders.Key", "key", 1),))
    written = AvroSerializer(registry, schema, topic="orders")({"key": {"a": 5}})
    assert AvroDeserializer(registry)(written) == {"key": {"a": 5}}


def test_a_type_used_before_its_definition_is_written_and_read(url: str) -> None:
    registry = SchemaRegistry(url)
    fields = [{"name": "a", "type": ["null", "B"]}, {"name": "b", "type": record("B")}]
    schema = {"type": "record", "name": "R", "fields": fields}
    written = AvroSerializer(registry, schema, topic="orders")({"a": {"a": 1}, "b": {"a": 2}})
    assert AvroDeserializer(registry)(written) == {"a": {"a": 1}, "b": {"a": 2}}


def test_commands_write_and_read_names_of_any_alphabet(
    broker: RunningBroker, url: str, topic: str, tmp_path: Any
) -> None:
    env = {"ONCELOG_BOOTSTRAP_SERVER": broker.bootstrap_servers, "ONCELOG_SCHEMA_REGISTRY": url}
    file, orders = tmp_path / "order.avsc", f"orders{topic}"
    file.write_text(json.dumps(record("Order", "größe", STATUS, namespace="my-db.public.orders")))
    run("topics", "create", orders, "--partitions", 1, env=env).done()
    line = '{"größe": "größer"}'
    run("produce", "-t", orders, "--value-schema", file, stdin=f"{line}\n", env=env).done()
    shown = run("consume", "-t", orders, "--from-beginning", "-e", env=env).done()
    assert shown.out.splitlines() == [line]
    run("export", orders, "--to", tmp_path / "out.csv", env=env).done()
    assert (tmp_path / "out.csv").read_text().count("größer") == 1


@pytest.mark.parametrize(
    "subject", ["my-db.public.orders-value", "a/b", "a%2Fb", ":a:", "ä\u00a0b", "日本", "a b?c#d&e=f", "👍"]
)
def test_the_name_of_a_subject_may_contain_any_character(url: str, subject: str) -> None:
    client, registry = SchemaRegistryClient({"url": url}), SchemaRegistry(url)
    assert client.register_schema(subject, ConfluentsSchema('"string"', "AVRO")) == 1
    assert registry.latest(subject).subject == subject
    assert client.get_latest_version(subject).schema_id == 1
    assert client.get_subjects() == registry.subjects() == [subject]
    assert client.delete_subject(subject) == [1]


def test_the_default_context_may_be_named_and_others_are_refused(url: str) -> None:
    assert register(url, ":.:orders-value", '"string"').status == 200
    assert call(url, "GET", "/subjects").body == ["orders-value"]
    assert call(url, "GET", "/subjects/%3A.%3Aorders-value/versions/1").body["subject"] == "orders-value"
    answer = register(url, ":.staging:orders-value", '"string"')
    assert answer.code == 42208
    assert "this registry has no contexts; leave out the part ':.name:'" in answer.body["message"]
