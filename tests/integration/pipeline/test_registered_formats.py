"""Pipelines from and to records whose schemas are in a registry."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from urllib.request import Request, urlopen
from uuid import UUID

import pytest
from google.protobuf.wrappers_pb2 import Int64Value

from oncelog import Producer
from oncelog.broker.server.listener_settings import Address
from oncelog.errors import OncelogError
from oncelog.schema_registry.serving import RegistryThread
from oncelog.schema_registry.settings import RegistrySettings
from oncelog.schemas import (
    AvroDeserializer,
    AvroSerializer,
    JsonSchemaSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Schema,
    SchemaRegistry,
)
from tests.conftest import RunningBroker
from tests.integration.pipeline.conftest import PipelineCommand, PipelinesInSession
from tests.integration.pipeline.test_dead_letters import headers_of, produce
from tests.integration.schema_registry.stand_in import JSON_ANSWER, Answer, running
from tests.integration.spark.kafka_records import committed, create_topic
from tests.support.both_brokers import KAFKA_IN_SOAK

pytestmark = [pytest.mark.timeout(1200), pytest.mark.spark]

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    ],
}
NOTED = ORDER | {"fields": [*ORDER["fields"], {"name": "note", "type": ["null", "string"], "default": None}]}

AVRO = """
[source]
topic = "{topic}"
format = "avro"
registry = "{url}"
malformed = "dead-letter"
dead_letter = "{topic}-dead"

[query]
sql = "select * except(key, timestamp, topic, partition, offset) from source"

[sink]
topic = "{topic}-out"
format = "avro"
registry = "{url}"
key = "id"
"""


UNKNOWN_ID = (404, JSON_ANSWER, b'{"error_code": 40403, "message": "Schema not found"}')


def values_of(address: str, topic: str, registry: SchemaRegistry) -> list[Any]:
    read = AvroDeserializer(registry)
    found = (read(record.value) for record in committed(address, topic) if record.key is not None)
    return sorted(found, key=lambda order: order["id"])


@KAFKA_IN_SOAK
def test_each_record_is_read_with_its_own_schema_and_a_new_field_appears_after_a_restart(
    broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession, registry_url: str
) -> None:
    address = broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-out", f"{unique_name}-dead"):
        create_topic(address, name, 1)
    file = pipelines.write("orders.toml", AVRO.format(topic=unique_name, url=registry_url))
    with SchemaRegistry(registry_url) as registry:
        first = AvroSerializer(registry, ORDER, topic=unique_name)
        whole = first({"id": 1, "amount": Decimal("1.5")}) or b""
        foreign = AvroSerializer(registry, {"type": "record", "name": "Other", "fields": []}, subject="other")({})
        bad = [b"no magic", b"\0\0\0\x03\xe7" + whole[5:], whole[:-1], whole + b"x", b"", b"\0\0", foreign]
        produce(address, unique_name, [whole, *bad, None, first({"id": 2, "amount": Decimal(2)})])
        (notice,) = pipelines.run(file, address).notices
        assert f"orders: source is read into {unique_name}-value:1" in notice
        later = first({"id": 4, "amount": Decimal(4)})
        second = AvroSerializer(registry, NOTED, topic=unique_name)
        produce(address, unique_name, [second({"id": 3, "amount": Decimal(3), "note": "late"}), later])
        (notice,) = pipelines.run(file, address).notices
        assert f"is read into {unique_name}-value:2, and was into {unique_name}-value:1; new: note" in notice
        found = values_of(address, f"{unique_name}-out", registry)
        known = registry.versions(f"{unique_name}-out-value")
    assert [(order["id"], str(order["amount"]), order.get("note")) for order in found] == [
        (1, "1.50", None),
        (2, "2.00", None),
        (3, "3.00", "late"),
        (4, "4.00", None),
    ]
    assert known == [1, 2]
    dead = committed(address, f"{unique_name}-dead")
    assert [record.value for record in dead] == bad
    reasons = [headers_of(record)["oncelog.error"] for record in dead]
    assert reasons == [
        "no schema id: the first byte is 110, not 0",
        f"schema id 999 is not known to {registry_url}",
        "the bytes do not fit schema 1: they end too early",
        "the bytes do not fit schema 1: 1 bytes are left over",
        "no schema id: the length is 0, and an id takes 5 bytes",
        "no schema id: the length is 2, and an id takes 5 bytes",
        "schema 2: it was written as record Other, which cannot be read as record shop.Order: nothing is wrong with "
        "the record",
    ]


@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_schemas_are_named_in_headers(
    broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession, registry_url: str
) -> None:
    """By GUID; the header goes with a dead letter, and not with a value that is written again."""
    address = broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-out", f"{unique_name}-dead"):
        create_topic(address, name, 1)
    text = AVRO.format(topic=unique_name, url=registry_url)
    passed_on = text.replace("[query]", '[source.options]\nincludeHeaders = "true"\n\n[query]')
    file = pipelines.write("orders.toml", passed_on)
    with SchemaRegistry(registry_url) as registry:
        written = AvroSerializer(registry, ORDER, schema_id_serializer="header")
        with Producer(bootstrap_servers=address, value_serializer=written) as producer:
            producer.send_and_wait(unique_name, {"id": 1, "amount": Decimal("1.5")}, headers=[("mine", b"x")])
        guid = registry.latest(f"{unique_name}-value").guid or ""
        named = ("__value_schema_id", b"\1" + UUID(guid).bytes)
        with Producer(bootstrap_servers=address) as producer:
            producer.send_and_wait(unique_name, b"\x02", headers=[named])
            producer.send_and_wait(unique_name, b"\x02", headers=[(named[0], b"\1" + bytes(16))])
        pipelines.run(file, address)
        (out,) = [one for one in committed(address, f"{unique_name}-out") if one.key is not None]
        assert [header for header, _ in out.headers] == ["mine"]
        assert AvroDeserializer(registry)(out.value) == {"id": 1, "amount": Decimal("1.50")}
    dead = committed(address, f"{unique_name}-dead")
    assert [one.value for one in dead] == [b"\x02"] * 2
    assert dict(dead[0].headers)["__value_schema_id"] == named[1]
    reasons = [(dict(one.headers)["oncelog.error"] or b"").decode() for one in dead]
    assert reasons[0] == "the bytes do not fit schema 1: they end too early"
    assert "has no schema with the GUID 00000000-0000-0000-0000-000000000000" in reasons[1]


@pytest.mark.soak
@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_a_pinned_schema_version_stays_in_use_after_a_newer_registration(
    broker: RunningBroker, unique_name: str, pipeline: PipelineCommand, registry_url: str
) -> None:
    address = broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-out", f"{unique_name}-dead"):
        create_topic(address, name, 1)
    text = AVRO.format(topic=unique_name, url=registry_url)
    named = text.replace("[source]", f'[source]\nschema = "{unique_name}-value:1"')
    file = pipeline.write("orders.toml", named)
    with SchemaRegistry(registry_url) as registry:
        old = AvroSerializer(registry, ORDER, topic=unique_name)({"id": 1, "amount": Decimal(1)})
        new = AvroSerializer(registry, NOTED, topic=unique_name)({"id": 2, "amount": Decimal(2), "note": "x"})
        produce(address, unique_name, [new, old])
        ended = pipeline.run(str(file), "--once", "-b", address)
        assert ended.returncode == 0, ended.stderr
        assert f"orders: source is read into {unique_name}-value:1" in ended.stderr
        found = values_of(address, f"{unique_name}-out", registry)
    assert [(order.pop("id"), str(order.pop("amount")), order) for order in found] == [(1, "1.00", {}), (2, "2.00", {})]
    assert committed(address, f"{unique_name}-dead") == []


TAGS = {"type": "array", "items": {"type": "string"}}
EVENTS = {"type": "object", "properties": {"id": {"type": "integer"}, "tags": TAGS}, "required": ["id"]}
SEVERAL = """
[sources.events]
topic = "{topic}-events"
format = "json-schema"
malformed = "dead-letter"
dead_letter = "{topic}-dead"

[sources.wrapped]
topic = "{topic}-wrapped"
format = "protobuf"
schema = "{topic}-wrapped-value:1"
message = "Int64Value"
malformed = "null"

[sinks.json]
topic = "{topic}-json"
format = "json-schema"
schema = "{topic}-events-value"
sql = "select id, tags from events"

[sinks.protobuf]
topic = "{topic}-protobuf"
format = "protobuf"
schema = "{topic}-wrapped-value"
message = "Int64Value"
sql = "select value + 1 as value from wrapped"

[sinks.avro]
topics = ["{topic}-a", "{topic}-b"]
format = "avro"
record = "shop.Event"
subject_name = "topic-record"
sql = "select if(id > 1, '{topic}-a', '{topic}-b') as topic, id, size(tags) as n from events"

[sinks.record]
topic = "{topic}-record"
format = "avro"
record = "shop.Note"
subject_name = "record"
sql = "select id as n from events"
"""


@pytest.mark.soak
@KAFKA_IN_SOAK
def test_json_schema_and_protobuf_are_read_and_written(
    broker: RunningBroker, unique_name: str, pipeline: PipelineCommand, registry_url: str
) -> None:
    address = broker.bootstrap_servers
    for name in ("events", "wrapped", "dead", "json", "protobuf", "a", "b", "record"):
        create_topic(address, f"{unique_name}-{name}", 1)
    with SchemaRegistry(registry_url) as registry:
        events = JsonSchemaSerializer(registry, EVENTS, topic=f"{unique_name}-events")
        wrapped = ProtobufSerializer(registry, Int64Value, topic=f"{unique_name}-wrapped")
        good = [events({"id": n, "tags": ["x"] * n}) or b"" for n in (1, 2)]
        bad = good[0][:5] + b'{"id": "one"}'
        produce(address, f"{unique_name}-events", [*good, bad])
        produce(address, f"{unique_name}-wrapped", [wrapped(Int64Value(value=2**40)), b"\0\0\0"])
        file = pipeline.write("several.toml", SEVERAL.format(topic=unique_name))
        how = pipeline.write("registry.properties", f"schema.registry.url={registry_url}\n")
        ended = pipeline.run(str(file), "--once", "-b", address, "--schema-registry-config", str(how))
        assert ended.returncode == 0, ended.stderr

        def found(name: str) -> list[bytes]:
            return [record.value or b"" for record in committed(address, f"{unique_name}-{name}")]

        assert sorted(value[5:] for value in found("json")) == [
            b'{"id":1,"tags":["x"]}',
            b'{"id":2,"tags":["x","x"]}',
        ]
        assert {value[:5] for value in found("json")} == {good[0][:5]}
        read = ProtobufDeserializer(registry, Int64Value)
        assert sorted(read(value).value for value in found("protobuf")) == [0, 2**40 + 1]
        assert found("dead") == [bad]
        as_dict = AvroDeserializer(registry)
        assert [as_dict(value) for name in "ab" for value in found(name)] == [{"id": 2, "n": 2}, {"id": 1, "n": 1}]
        assert [as_dict(value) for value in found("record")] == [{"n": 1}, {"n": 2}]
        subjects = {f"{unique_name}-a-shop.Event", f"{unique_name}-b-shop.Event", "shop.Note"}
        assert subjects <= set(registry.subjects())


@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_columns_that_the_registry_refuses_are_refused_before_anything_is_written(
    broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession, registry_url: str
) -> None:
    address = broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-out", f"{unique_name}-dead"):
        create_topic(address, name, 1)
    with SchemaRegistry(registry_url) as registry:
        write = AvroSerializer(registry, NOTED, topic=unique_name)
        registry.register(f"{unique_name}-out-value", Schema(json.dumps({**ORDER, "name": "Other"})))
    produce(address, unique_name, [write({"id": 1, "amount": Decimal(1)}), b"malformed"])
    file = pipelines.write("orders.toml", AVRO.format(topic=unique_name, url=registry_url))
    with pytest.raises(OncelogError, match=r"(?s)pipeline orders cannot write: the schema registry .*incompatible"):
        pipelines.run(file, address)
    assert committed(address, f"{unique_name}-out") == committed(address, f"{unique_name}-dead") == []


JSON_TYPE = {"Content-Type": "application/json"}
STRICT = """
[source]
topic = "{topic}"
format = "avro"
malformed = "fail"

[query]
sql = "select 1 as one from source"

[sink]
topic = "{topic}-out"
"""


@pytest.mark.soak
@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_malformed_record_stops_the_pipeline_whichever_columns_it_uses(
    broker: RunningBroker, unique_name: str, pipeline: PipelineCommand, registry_url: str
) -> None:
    address = broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-out"):
        create_topic(address, name, 1)
    with SchemaRegistry(registry_url) as registry:
        good = AvroSerializer(registry, ORDER, topic=unique_name)({"id": 1, "amount": Decimal(1)}) or b""
    produce(address, unique_name, [good, good[:-1]])
    file = pipeline.write("strict.toml", STRICT.format(topic=unique_name))
    ended = pipeline.run(str(file), "--once", "-b", address, "--schema-registry", registry_url)
    assert ended.returncode == 1
    reported = ended.stderr.splitlines()[-1]
    assert f"Record 1 of {unique_name}-0 cannot be read: the bytes do not fit schema 1: they end too early" in reported
    assert "correct the schema, or set malformed to dead-letter or null" in reported
    assert committed(address, f"{unique_name}-out") == []


@pytest.mark.soak
@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_a_valid_record_that_the_readers_schema_cannot_hold_is_never_skipped(
    broker: RunningBroker, unique_name: str, pipeline: PipelineCommand, registry_url: str
) -> None:
    address = broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-out"):
        create_topic(address, name, 1)
    with SchemaRegistry(registry_url) as registry:
        good = AvroSerializer(registry, ORDER, topic=unique_name)({"id": 1, "amount": Decimal(1)}) or b""
        settings = json.dumps({"compatibility": "NONE"}).encode()
        urlopen(Request(f"{registry_url}/config/{unique_name}-value", settings, JSON_TYPE, method="PUT")).close()
        wanted = {**ORDER, "fields": [*ORDER["fields"], {"name": "new", "type": "string"}]}
        registry.register(f"{unique_name}-value", Schema(json.dumps(wanted)))
    produce(address, unique_name, [good])
    file = pipeline.write("strict.toml", STRICT.format(topic=unique_name))
    ended = pipeline.run(str(file), "--once", "-b", address, "--schema-registry", registry_url)
    assert ended.returncode == 1
    reported = ended.stderr.splitlines()[-1]
    assert f"Record 0 of {unique_name}-0 cannot be read: schema 1: new was not written, and has no default" in reported
    assert "nothing is wrong with the record: set the source's schema to a version that can take it" in reported
    assert "malformed" not in reported


@pytest.mark.soak
@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_a_record_is_a_row_or_a_dead_letter_and_never_both_if_the_registrys_answer_changes(
    broker: RunningBroker, unique_name: str, pipeline: PipelineCommand
) -> None:
    """Rows and dead letters are read by tasks of their own, which may hear different answers."""
    address = broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-out", f"{unique_name}-dead"):
        create_topic(address, name, 1)
    answers = iter([None, UNKNOWN_ID])
    with running() as registry:
        with SchemaRegistry(registry.url) as client:
            old = AvroSerializer(client, ORDER, topic=unique_name)({"id": 1, "amount": Decimal(1)})
            new = AvroSerializer(client, NOTED, topic=unique_name)({"id": 2, "amount": Decimal(2)})
        produce(address, unique_name, [old, new])

        def misbehave(target: str) -> Answer | None:
            return next(answers, None) if target.startswith("/schemas/ids/2") else None

        registry.misbehave = misbehave
        text = AVRO.format(topic=unique_name, url=registry.url).replace(
            'format = "avro"\nregistry = "{url}"\nkey', "key"
        )
        file = pipeline.write("flip.toml", text)
        for _ in range(3):
            ended = pipeline.run(str(file), "--once", "-b", address)
            if ended.returncode == 0:
                break
            assert "the schema registry answered differently about schema id 2" in ended.stderr
            assert committed(address, f"{unique_name}-dead") == committed(address, f"{unique_name}-out") == []
    out, dead = committed(address, f"{unique_name}-out"), committed(address, f"{unique_name}-dead")
    assert sorted(record.key or b"" for record in out) + [b"2" for record in dead if record.value == new] == [
        b"1",
        b"2",
    ]


@pytest.mark.soak
@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_the_pipeline_waits_for_a_registry_that_is_briefly_unavailable(
    broker: RunningBroker, unique_name: str, pipeline: PipelineCommand
) -> None:
    address = broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-out"):
        create_topic(address, name, 1)
    away: Iterator[Answer] = iter([(503, {}, b"away"), (502, {}, b"<html>"), (503, {}, b""), (503, {}, b"")])
    with running() as registry:
        with SchemaRegistry(registry.url) as client:
            value = AvroSerializer(client, ORDER, topic=unique_name)({"id": 1, "amount": Decimal(1)})
        produce(address, unique_name, [value])
        registry.misbehave = lambda target: next(away, None) if target.startswith("/schemas/ids/") else None
        file = pipeline.write("away.toml", STRICT.format(topic=unique_name))
        ended = pipeline.run(str(file), "--once", "-b", address, "--schema-registry", registry.url)
        assert ended.returncode == 0, ended.stderr
    assert [record.value for record in committed(address, f"{unique_name}-out")] == [b'{"one":1}']
    assert next(away, None) is None


@pytest.mark.soak
@pytest.mark.parametrize("broker", ["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)], indirect=True)
def test_driver_that_is_killed_and_a_registry_that_restarts_lose_and_duplicate_nothing(
    broker: RunningBroker, unique_name: str, cold_pipeline: PipelineCommand
) -> None:
    address = broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-out", f"{unique_name}-dead"):
        create_topic(address, name, 2)
    settings = RegistrySettings({"bootstrap.servers": address}, topic=f"_schemas-{unique_name}")
    registry = RegistryThread(settings, Address("127.0.0.1", 0)).start()
    place = Address("127.0.0.1", int(registry.url.rpartition(":")[2]))
    text = AVRO.format(topic=unique_name, url=registry.url)
    file = cold_pipeline.write(
        "killed.toml", text.replace("[source]", "[source]\noptions = { maxOffsetsPerTrigger = 10 }")
    )
    number = 0
    for round_ in range(4):
        with SchemaRegistry(registry.url) as client:
            more = [{"name": f"f{i}", "type": ["null", "int"], "default": None} for i in range(round_)]
            write = AvroSerializer(client, {**ORDER, "fields": [*ORDER["fields"], *more]}, topic=unique_name)
            values = [write({"id": number + i, "amount": Decimal(1)}) for i in range(30)]
        produce(address, unique_name, [*values, b"broken-%d" % round_])
        number += 30
        command = [sys.executable, "-m", "oncelog", "pipeline", "run", str(file), "-b", address, "--json"]
        with subprocess.Popen(
            command, cwd=cold_pipeline.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as running:
            assert running.stdout is not None
            for _ in range(round_):
                running.stdout.readline()  # so many batches are through
            registry.stop()
            os.killpg(running.pid, signal.SIGKILL)
        registry = RegistryThread(settings, place).start()
    ended = cold_pipeline.run(str(file), "--once", "-b", address)
    assert ended.returncode == 0, ended.stderr
    registry.stop()
    keys = sorted(int(record.key or b"") for record in committed(address, f"{unique_name}-out"))
    assert keys == list(range(number))
    assert sorted(record.value or b"" for record in committed(address, f"{unique_name}-dead")) == [
        b"broken-%d" % round_ for round_ in range(4)
    ]
