"""One value from every reader: deserializers, commands, console, export and the columns of ``from_registry``.

What is expected stands in ``tests/support/schema_samples.py``, of which ``docs/reference/schema-values.md`` is made.
"""

from __future__ import annotations

import asyncio
import base64
import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oncelog.apps.console.schema_lookup import RegistryReader
from oncelog.client.blocking import Producer
from oncelog.records.record import Record
from oncelog.schemas import (
    AvroDeserializer,
    AvroSerializer,
    Codecs,
    JsonSchemaDeserializer,
    JsonSchemaSerializer,
    ProtobufDeserializer,
    SchemaError,
    SchemaRegistry,
)
from oncelog.schemas.arrow.value_reading import ColumnReader, find_reader
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import call
from tests.support.schema_samples import (
    ABSENT,
    AVRO,
    JSON_SCHEMA,
    PROTO2,
    PROTO3,
    PROTOBUF_DEFAULTS,
    PROTOBUF_SET,
    PROTOBUF_UNSET,
    Sample,
)


class Readers:
    """A topic with records, and what each reader makes of them."""

    def __init__(self, servers: str, url: str, topic: str, folder: Path) -> None:
        self.servers, self.url, self.topic, self.folder = servers, url, topic, folder
        self.registry = SchemaRegistry(url)
        self._options = ["-t", topic, "-b", servers, "--schema-registry", url]
        call("topics", "create", topic, "-b", servers).done()

    def send(self, *values: bytes | None) -> None:
        with Producer(bootstrap_servers=self.servers) as producer:
            for value in values:
                producer.send_and_wait(self.topic, value, b"k")

    def payloads(self) -> list[bytes]:
        reported = (
            call("consume", "-t", self.topic, "-b", self.servers, "--from-beginning", "--to-end", "--json").done().out
        )
        values = [json.loads(line)["value"] for line in reported.splitlines()]
        return [one.encode() if isinstance(one, str) else base64.b64decode(one["base64"]) for one in values]

    def produce(self, file: Path, *lines: Any) -> None:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        call("produce", *self._options, "--value-schema", file, stdin=text).done()

    def consumed(self) -> list[Any]:
        reported = call("consume", *self._options, "--from-beginning", "--to-end", "--json").done().out
        return [json.loads(line)["value"] for line in reported.splitlines()]

    def repeated(self) -> None:
        """What ``consume --json`` prints, by ``produce --json-lines``."""
        lines = call("consume", *self._options, "--from-beginning", "--to-end", "--json").done().out
        call("produce", *self._options, "--json-lines", "--value-schema", "latest", stdin=lines).done()

    def in_console(self, values: list[bytes]) -> list[Any]:
        reader = RegistryReader({"url": self.url})
        asyncio.run(reader.learn([Record(0, 0, b"k", value, ()) for value in values]))
        return [reader.read(value).value for value in values]

    def exported(self) -> list[Any]:
        to = self.folder / "out.parquet"
        call("export", self.topic, "--to", to, "-b", self.servers, "--schema-registry", self.url).done()
        column = pa.concat_tables([pq.read_table(file) for file in sorted(to.glob("*.parquet"))])["value"]
        rows: list[Any] = column.to_pylist()
        return rows

    def in_spark(self, values: list[bytes]) -> list[Any]:
        reader = ColumnReader(find_reader(self.registry, f"{self.topic}-value"), Codecs(self.registry))
        found = reader.read(pa.array(values, pa.binary()))
        assert found.problems == {}
        rows: list[Any] = found.values.to_pylist()
        return rows


@pytest.fixture
def readers(broker: RunningBroker, url: str, topic: str, tmp_path: Path) -> Readers:
    return Readers(broker.bootstrap_servers, url, f"one{topic}", tmp_path)


def expected(samples: list[Sample], names: list[str], which: str) -> dict[str, Any]:
    return {name: one.in_reader(getattr(one, which)) for name, one in zip(names, samples, strict=True)}


def exactly(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: exactly(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [exactly(one) for one in value]
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return "datetime in UTC", repr(value.astimezone(datetime.UTC))
    return type(value).__name__, repr(value)


def test_an_avro_value_is_the_same_in_every_reader(readers: Readers) -> None:
    names = [f"f{number}" for number in range(len(AVRO))]
    fields = [{"name": name, "type": one.kind, "default": one.given} for name, one in zip(names, AVRO, strict=True)]
    old = {"type": "record", "name": "All", "fields": [{"name": "id", "type": "long"}]}
    new = {**old, "fields": [*old["fields"], *fields]}
    readers.send(AvroSerializer(readers.registry, old, topic=readers.topic)({"id": 1}))
    readers.send(AvroSerializer(readers.registry, new, topic=readers.topic)({"id": 2}))
    before, after = readers.payloads()

    deserializer = AvroDeserializer(readers.registry, new)
    for number, data in ((1, before), (2, after)):
        assert exactly(deserializer(data)) == exactly({"id": number, **expected(AVRO, names, "python")})
    shown = {"id": 2, **expected(AVRO, names, "shown")}
    assert exactly(readers.consumed()) == exactly([{"id": 1}, shown])
    assert exactly(readers.in_console([before, after])) == exactly([{"id": 1}, shown])
    for found, which in ((readers.exported(), "exported"), (readers.in_spark([before, after]), "spark")):
        assert exactly(found) == exactly(
            [{"id": 1, **expected(AVRO, names, which)}, {"id": 2, **expected(AVRO, names, which)}]
        )

    readers.repeated()
    filled, again = readers.payloads()[2:]
    assert again == after
    assert exactly(deserializer(filled)) == exactly(deserializer(before))


def test_a_json_schema_value_is_the_same_in_every_reader(readers: Readers) -> None:
    names = [f"f{number}" for number in range(len(JSON_SCHEMA))]
    properties = {name: one.kind for name, one in zip(names, JSON_SCHEMA, strict=True)}
    schema = {"title": "All", "type": "object", "properties": properties}
    value = {name: one.given for name, one in zip(names, JSON_SCHEMA, strict=True)}
    readers.send(JsonSchemaSerializer(readers.registry, schema, topic=readers.topic)(value))
    (data,) = readers.payloads()
    assert exactly(JsonSchemaDeserializer(readers.registry)(data)) == exactly(expected(JSON_SCHEMA, names, "python"))
    for found in (readers.consumed(), readers.in_console([data])):
        assert exactly(found) == exactly([expected(JSON_SCHEMA, names, "shown")])
    assert exactly(readers.exported()) == exactly([expected(JSON_SCHEMA, names, "exported")])
    assert exactly(readers.in_spark([data])) == exactly([expected(JSON_SCHEMA, names, "spark")])


def test_a_json_schema_default_fills_no_missing_field(readers: Readers) -> None:
    """As in Confluent's clients: it is a note for people."""
    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": 7}, "b": {"type": "string"}}}
    readers.send(JsonSchemaSerializer(readers.registry, schema, topic=readers.topic)({"b": "x"}))
    (data,) = readers.payloads()
    assert JsonSchemaDeserializer(readers.registry)(data) == {"b": "x"}
    assert readers.consumed() == readers.in_console([data]) == [{"b": "x"}]
    assert readers.exported() == readers.in_spark([data]) == [{"a": None, "b": "x"}]


@pytest.mark.parametrize(
    ("text", "samples"),
    [(PROTO3, PROTOBUF_UNSET), (PROTO3, PROTOBUF_SET), (PROTO2, PROTOBUF_DEFAULTS)],
    ids=["unset", "set", "defaults of proto2"],
)
def test_a_protobuf_value_is_the_same_in_every_reader(readers: Readers, text: str, samples: list[Sample]) -> None:
    file = readers.folder / "all.proto"
    file.write_text(text)
    given = {one.kind: one.given for one in samples if one.given is not None}
    readers.produce(file, given)
    (data,) = readers.payloads()
    names = [one.kind for one in samples]

    message = ProtobufDeserializer(readers.registry)(data)
    for one in samples:
        if one.python is ABSENT:
            assert not message.HasField(one.kind)
        else:
            assert exactly(_plain(getattr(message, one.kind))) == exactly(one.python)
    shown = {name: value for name, value in expected(samples, names, "shown").items() if value is not ABSENT}
    for (found,) in (readers.consumed(), readers.in_console([data])):
        assert exactly({name: found[name] for name in names if name in found}) == exactly(shown)
    for (row,), which in ((readers.exported(), "exported"), (readers.in_spark([data]), "spark")):
        assert exactly({name: row[name] for name in names}) == exactly(expected(samples, names, which))


def _plain(value: Any) -> Any:
    """A part of a message as Python's own value."""
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import Message
    from google.protobuf.timestamp_pb2 import Timestamp

    if isinstance(value, Message) and value.DESCRIPTOR.full_name == Timestamp.DESCRIPTOR.full_name:
        return value.ToDatetime(datetime.UTC)  # type: ignore[attr-defined]
    if isinstance(value, Message) and value.DESCRIPTOR.full_name == "google.protobuf.Int64Value":
        return {"value": value.value}  # type: ignore[attr-defined]
    if isinstance(value, Message):
        return MessageToDict(value)
    return {**value} if hasattr(value, "items") else list(value) if hasattr(value, "append") else value


@pytest.mark.parametrize("name", ["First", "shop.Second", "First.In", "shop.First.In.Deep"])
def test_messages_of_a_proto_file_are_written_back_unchanged(readers: Readers, name: str) -> None:
    file = readers.folder / "several.proto"
    file.write_text(
        'syntax = "proto3";\npackage shop;\nmessage First { int32 a = 1; map<string, int32> m = 2; message In { '
        "int32 a = 1; message Deep { int32 a = 1; } } }\nmessage Second { int32 a = 1; }\n"
    )
    line = json.dumps({"value": {"a": 7}, "value_schema": {"name": name}})
    options = ["-t", readers.topic, "-b", readers.servers, "--schema-registry", readers.url, "--json-lines"]
    call("produce", *options, "--value-schema", file, stdin=f"{line}\n").done()
    (data,) = readers.payloads()
    message = ProtobufDeserializer(readers.registry)(data)
    assert message.DESCRIPTOR.full_name == f"shop.{name.removeprefix('shop.')}"
    readers.repeated()
    assert readers.payloads() == [data, data]


def test_a_message_type_that_the_proto_file_lacks_is_refused(readers: Readers) -> None:
    file = readers.folder / "one.proto"
    file.write_text('syntax = "proto3";\npackage shop;\nmessage First { int32 a = 1; message In { } }\n')
    line = json.dumps({"value": {"a": 7}, "value_schema": {"name": "Other"}})
    options = ["-t", readers.topic, "-b", readers.servers, "--schema-registry", readers.url, "--json-lines"]
    printed = call("produce", *options, "--value-schema", file, stdin=f"{line}\n").err
    assert "line 1 of the input: the Protobuf file has no message 'Other'; its messages: First, First.In" in printed


def test_protobuf_fields_are_found_by_number(readers: Readers) -> None:
    """As Protobuf has it: a field that was given another name is the same field."""
    old, new = readers.folder / "old.proto", readers.folder / "new.proto"
    old.write_text('syntax = "proto3";\npackage shop;\nmessage R { int32 before = 1; }\n')
    new.write_text('syntax = "proto3";\npackage shop;\nmessage R { int32 after = 1; int32 more = 2; }\n')
    readers.produce(old, {"before": 7})
    readers.produce(new, {"after": 8, "more": 9})
    expected_rows = [{"after": 7, "more": 0}, {"after": 8, "more": 9}]
    assert readers.exported() == readers.in_spark(readers.payloads()) == expected_rows


FAR: list[tuple[str, Any, Any]] = [
    ("date", 2_932_897, datetime.date.max),
    ("timestamp-millis", 253_402_300_800_000, 253_402_300_800_000_000),
    ("timestamp-micros", -62_135_596_800_000_001, -62_135_596_800_000_001),
    ("local-timestamp-micros", 253_402_300_800_000_000, 253_402_300_800_000_000),
]


@pytest.mark.parametrize(("logical_type", "number", "in_columns"), FAR, ids=[one[0] for one in FAR])
def test_a_time_after_the_year_9999_is_refused_or_read_exactly(
    readers: Readers, logical_type: str, number: int, in_columns: Any
) -> None:
    """Python has no such time; numbers and columns do."""
    kind = {"type": "int" if logical_type == "date" else "long", "logicalType": logical_type}
    schema = {"type": "record", "name": "R", "fields": [{"name": "at", "type": kind}]}
    file = readers.folder / "far.avsc"
    file.write_text(json.dumps(schema))
    readers.produce(file, {"at": number})
    (data,) = readers.payloads()
    with pytest.raises(SchemaError, match="not in the years 1 to 9999, which are all that Python has"):
        AvroDeserializer(readers.registry)(data)
    assert readers.consumed() == readers.in_console([data]) == [{"at": number}]
    readers.repeated()
    assert readers.payloads() == [data, data]
    reader = ColumnReader(find_reader(readers.registry, f"{readers.topic}-value"), Codecs(readers.registry))
    column = reader.read(pa.array([data], pa.binary())).values.field("at")
    assert column.cast(pa.int32() if logical_type == "date" else pa.int64()).to_pylist() == [
        number if logical_type == "date" else in_columns
    ]
    to = readers.folder / "far.parquet"
    call("export", readers.topic, "--to", to, "-b", readers.servers, "--schema-registry", readers.url).done()
    table = pq.read_table(next(to.glob("*.parquet")))
    exported = table["value"].combine_chunks().field("at")
    assert exported.cast(column.type).equals(pa.concat_arrays([column, column]))
