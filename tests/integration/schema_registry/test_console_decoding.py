"""The console shows records by the schemas of a registry, without a browser."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

import oncelog
from oncelog.schemas import AvroSerializer, JsonSchemaSerializer, Schema, SchemaRegistry
from tests.conftest import RunningBroker
from tests.support.running_console import RunningConsole

ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
NEWER = ORDER.replace("}]}", '},{"name":"note","type":"string","default":""}]}')


@pytest.fixture
def records(broker: RunningBroker, url: str, topic: str) -> str:
    """A topic with Avro, JSON Schema, an id that nobody knows, and plain text."""
    name = f"shown{topic}"
    registry = SchemaRegistry(url)
    with oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([oncelog.NewTopic(name, 1, 1)])
    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for number in (41, 42):
            producer.send_and_wait(name, AvroSerializer(registry, ORDER, topic=name)({"id": number}), key=b"k")
        producer.send_and_wait(name, JsonSchemaSerializer(registry, {"title": "P"}, subject="p")({"name": "anna"}))
        producer.send_and_wait(name, b"\0\0\0\x03\xe7x")
        producer.send_and_wait(name, b"plain")
    return name


@pytest.fixture
def console(broker: RunningBroker, url: str) -> Iterator[RunningConsole]:
    with RunningConsole({"bootstrap.servers": broker.bootstrap_servers}, schema_registry={"url": url}) as running:
        yield running


def text_of(console: RunningConsole, address: str, /, **query: object) -> str:
    """The page without its tags."""
    with urlopen(f"{console.url}{address}?{urlencode(query)}") as answer:
        page = answer.read().decode()
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_records_are_decoded_and_their_schemas_shown_beside_them(console: RunningConsole, records: str) -> None:
    page = text_of(console, "/records", topic=records)
    assert f'{{"id": 42}} AVRO id 1, {records}-value version 1' in page
    assert '{"name": "anna"} JSON id 2, p version 1' in page
    assert "error 40403" in page
    assert "plain" in page
    one = text_of(console, "/record", topic=records, partition=0, offset=1)
    assert f"AVRO id 1, {records}-value version 1" in one
    assert '{"id": 42}' in one


def test_a_header_with_a_schema_id_is_shown_as_its_schema(
    broker: RunningBroker, url: str, console: RunningConsole, topic: str
) -> None:
    registry, name = SchemaRegistry(url), f"shown{topic}"
    to_avro = AvroSerializer(registry, ORDER, topic=name, schema_id_serializer="header")
    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers, value_serializer=to_avro) as producer:
        producer.send_and_wait(name, {"id": 41}, headers=[("__key_schema_id", b"\0\0\0\0\x07"), ("mine", b"\1x")])
    with urlopen(f"{url}/subjects/{name}-value/versions/1") as answer:
        guid = json.load(answer)["guid"]
    page = text_of(console, "/record", topic=name, partition=0, offset=0)
    assert f"__value_schema_id GUID {guid}" in page
    assert "__key_schema_id id 7" in page
    assert "AVRO id 1" in page


def test_a_search_reads_decoded_fields(console: RunningConsole, records: str) -> None:
    page = text_of(console, "/records", topic=records, path="$.id", equals="42")
    assert '{"id": 42}' in page
    assert '{"id": 41}' not in page


def test_subjects_have_pages_with_their_differences(console: RunningConsole, url: str) -> None:
    registry = SchemaRegistry(url)
    for schema in (ORDER, NEWER):
        registry.register("s", Schema(schema))
    assert "1 of 1 subjects Subjects Subject s" in text_of(console, "/schemas")
    page = text_of(console, "/schema", subject="s")
    assert "s version 2, id 2, AVRO" in page
    assert '+ "name": "note"' in page
    assert "No difference." in text_of(console, "/schema", subject="s", version=1)


def test_a_registry_that_is_gone_is_reported_beside_the_records(broker: RunningBroker, records: str) -> None:
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    with RunningConsole(servers, schema_registry={"url": "http://127.0.0.1:9"}) as console:
        page = text_of(console, "/records", topic=records)
    assert "the schema registry http://127.0.0.1:9 cannot be reached" in page
    assert "plain" in page
