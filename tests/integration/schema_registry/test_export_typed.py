"""``oncelog export`` with a registry: key and value are columns of their schemas' types."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from oncelog.client.blocking import Producer
from oncelog.schemas import AvroSerializer, Codecs, JsonSchemaSerializer, SchemaRegistry
from oncelog.schemas.arrow.value_reading import ColumnReader, find_reader
from oncelog.schemas.structs import JSON, PROTOBUF, Reference, Schema
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import Outcome, call
from tests.integration.schema_registry import http_calls

LEG = {"type": "record", "name": "Leg", "fields": [{"name": "to", "type": "string"}]}
FLIGHT: dict[str, Any] = {
    "type": "record",
    "name": "Flight",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "delay", "type": ["null", "int"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "legs", "type": {"type": "array", "items": LEG}},
        {"name": "tags", "type": {"type": "map", "values": "double"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "either", "type": ["string", "long"]},
        {"name": "next", "type": ["null", "Flight"], "default": None},
    ],
}
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.UTC)
VALUE: dict[str, Any] = {
    "id": 2**40,
    "delay": None,
    "at": AT,
    "day": datetime.date(2026, 1, 2),
    "price": decimal.Decimal("12.50"),
    "legs": [{"to": "JFK"}, {"to": "ü"}],
    "tags": {"a": 0.5},
    "kind": "B",
    "either": 7,
    "next": None,
}
PERSON = {
    "title": "Person",
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"oneOf": [{"type": "null"}, {"type": "integer"}]},
        "scores": {"type": "array", "items": {"type": "number"}},
        "any": {},
        "home": {"$ref": "#/definitions/home"},
    },
    "definitions": {"home": {"type": "object", "properties": {"city": {"type": ["string", "null"]}}}},
}
PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Order {
  int32 id = 1;
  optional string note = 2;
  uint64 big = 3;
  repeated Item items = 4;
  map<string, int64> counts = 5;
  google.protobuf.Timestamp at = 6;
  State state = 7;
  enum State { NEW = 0; DONE = 1; }
  message Item { string name = 1; bytes raw = 2; Order inside = 3; }
}
"""


class Exporter:
    def __init__(self, servers: str, url: str, topic: str, folder: Path) -> None:
        self.servers, self.url, self.topic, self.folder = servers, url, topic, folder
        self.registry = SchemaRegistry(url)
        call("topics", "create", topic, "-b", servers).done()

    def send(self, *values: bytes | None) -> None:
        with Producer(bootstrap_servers=self.servers) as producer:
            for value in values:
                producer.send_and_wait(self.topic, value, b"k")

    def run(self, name: str, *more: object) -> Outcome:
        to = self.folder / name
        return call("export", self.topic, "--to", to, "-b", self.servers, "--schema-registry", self.url, *more)

    def table(self, name: str, *more: object) -> pa.Table:
        """The column ``value`` as a table."""
        self.run(name, *more).done()
        to = self.folder / name
        if to.suffix == ".delta":
            rows = DeltaTable(str(to)).to_pyarrow_table().sort_by("offset")
        else:
            rows = pa.concat_tables([pq.read_table(file) for file in sorted(to.glob("*.parquet"))])
        return rows["value"].combine_chunks()


@pytest.fixture
def exporter(broker: RunningBroker, url: str, topic: str, tmp_path: Path) -> Exporter:
    return Exporter(broker.bootstrap_servers, url, f"typed{topic}", tmp_path)


def avro(exporter: Exporter, schema: Any = FLIGHT) -> Callable[[Any], bytes]:
    serializer = AvroSerializer(exporter.registry, json.dumps(schema), topic=exporter.topic)
    return lambda value: serializer(value) or b""


@pytest.mark.parametrize("name", ["out.parquet", "out.delta"])
def test_avro_columns_keep_their_types(exporter: Exporter, name: str) -> None:
    write = avro(exporter)
    exporter.send(write(VALUE), None, write({**VALUE, "delay": 5, "either": "x", "next": VALUE}))
    column = exporter.table(name)
    first, nothing, last = column.to_pylist()
    assert nothing is None
    assert {**first, "legs": [dict(one) for one in first["legs"]]} == {
        **VALUE, "tags": [("a", 0.5)], "either": "7", "next": None,
    }  # fmt: skip
    assert (last["delay"], last["either"]) == (5, '"x"')
    assert json.loads(last["next"])["id"] == 2**40
    kinds = {field.name: field.type for field in column.type}
    assert (kinds["id"], kinds["price"], kinds["day"]) == (pa.int64(), pa.decimal128(9, 2), pa.date32())


def test_exported_columns_stay_those_of_the_first_run(exporter: Exporter) -> None:
    """Avro resolves what was written with a later schema into the one that the export was begun with."""
    old = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    new = {**old, "fields": [*old["fields"], {"name": "b", "type": "string", "default": "x"}]}
    exporter.send(avro(exporter, old)({"a": 1}))
    assert exporter.table("out.parquet").to_pylist() == [{"a": 1}]
    exporter.send(avro(exporter, new)({"a": 2, "b": "y"}))
    assert exporter.table("out.parquet").to_pylist() == [{"a": 1}, {"a": 2}]
    assert exporter.table("again.parquet").to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_json_schema_columns_keep_their_types(exporter: Exporter) -> None:
    write = JsonSchemaSerializer(exporter.registry, json.dumps(PERSON), topic=exporter.topic)
    exporter.send(
        write({"name": "ü", "age": 3, "scores": [1, 2.5], "any": {"x": [1]}, "home": {"city": None}, "more": 1}),
        write({"name": "n", "age": None}),
    )
    assert exporter.table("out.parquet").to_pylist() == [
        {"name": "ü", "age": 3, "scores": [1.0, 2.5], "any": '{"x": [1]}', "home": {"city": None}},
        {"name": "n", "age": None, "scores": None, "any": None, "home": None},
    ]


@pytest.mark.parametrize(
    ("wrote", "value", "reads"),
    [("number", 1.5, "integer"), ("string", "5", "integer"), ("boolean", True, "integer"), ("string", "1.5", "number")],
)
def test_json_values_of_another_type_are_not_converted_to_the_columns_type(
    exporter: Exporter, wrote: str, value: Any, reads: str
) -> None:
    old, new = ({"title": "T", "type": "object", "properties": {"a": {"type": kind}}} for kind in (wrote, reads))
    subject = f"{exporter.topic}-value"
    exporter.send(JsonSchemaSerializer(exporter.registry, json.dumps(old), topic=exporter.topic)({"a": value}))
    http_calls.call(exporter.url, "PUT", f"/config/{subject}", {"compatibility": "NONE"})
    exporter.registry.register(subject, Schema(json.dumps(new), JSON))
    refused = exporter.run("out.parquet", "--malformed", "null")
    assert f"a is {value!r}, which cannot be read as a" in refused.err


def test_json_of_other_schemas_and_maps_keep_their_types(exporter: Exporter) -> None:
    code = {"type": "object", "properties": {"code": {"type": "string"}}}
    exporter.registry.register("country", Schema(json.dumps(code), JSON))
    tags = {"type": "object", "additionalProperties": {"type": "number"}}
    schema = {"type": "object", "properties": {"in": {"$ref": "country.json"}, "tags": tags}}
    with_references = Schema(json.dumps(schema), JSON, [Reference("country.json", "country", 1)])
    write = JsonSchemaSerializer(exporter.registry, with_references, topic=exporter.topic)
    data = write({"in": {"code": "DE"}, "tags": {"a": 0.5}})
    exporter.send(data)
    rows = exporter.table("out.parquet")
    assert rows.to_pylist() == [{"in": {"code": "DE"}, "tags": [("a", 0.5)]}]
    reader = find_reader(exporter.registry, f"{exporter.topic}-value")
    assert rows.type == ColumnReader(reader, Codecs(exporter.registry)).read(pa.array([data])).values.type


def test_protobuf_columns_keep_their_types(exporter: Exporter) -> None:
    file = exporter.folder / "order.proto"
    file.write_text(PROTO)
    value = {
        "id": 3,
        "big": str(2**63),
        "items": [{"name": "a", "raw": "/w==", "inside": {"id": 4}}],
        "counts": {"x": "5"},
        "at": "2026-01-02T03:04:05.678Z",
        "state": "DONE",
    }
    words = ["produce", "-t", exporter.topic, "-b", exporter.servers, "--schema-registry", exporter.url]
    call(*words, "--value-schema", file, stdin=json.dumps(value) + "\n{}\n").done()
    first, empty = exporter.table("out.parquet").to_pylist()
    assert first == {
        "id": 3,
        "note": None,
        "big": decimal.Decimal(2**63),
        "items": [{"name": "a", "raw": b"\xff", "inside": '{"id": 4}'}],
        "counts": [("x", 5)],
        "at": AT,
        "state": "DONE",
    }
    assert empty == {"id": 0, "note": None, "big": 0, "items": [], "counts": [], "at": None, "state": "NEW"}


def test_csv_export_has_a_column_for_each_field(exporter: Exporter) -> None:
    exporter.send(avro(exporter)(VALUE))
    exporter.run("out.csv").done()
    head, line, end = (exporter.folder / "out.csv").read_text().split("\n")
    assert end == ""
    assert head.startswith('"partition","offset","timestamp","key","value.id","value.delay","value.at","value.day"')
    assert line.endswith(
        '"k",1099511627776,,"2026-01-02T03:04:05.678000Z","2026-01-02","12.50",'
        '"[{""to"": ""JFK""}, {""to"": ""ü""}]","{""a"": 0.5}","B","7",,'
    )


def test_a_value_that_does_not_match_the_schema_is_refused_and_its_offset_named_or_becomes_null(
    exporter: Exporter,
) -> None:
    exporter.send(avro(exporter)(VALUE), b"plain", b"\0\0\0\0\1cut")
    printed = exporter.run("out.parquet").sentence()
    assert f"The value of record {exporter.topic}-0:1 cannot be read: no schema id" in printed
    assert [path.name for path in (exporter.folder / "out.parquet").iterdir()] == [".lock"]
    reported = exporter.run("out.parquet", "--malformed", "null").done().err
    assert reported.endswith(", 2 malformed as null\n")
    assert [value is None for value in exporter.table("out.parquet").to_pylist()] == [False, True, True]


def test_a_valid_record_that_the_columns_cannot_hold_is_never_skipped(exporter: Exporter) -> None:
    old: dict[str, Any] = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    exporter.send(avro(exporter, old)({"a": 1}))
    setting = http_calls.call(exporter.url, "PUT", f"/config/{exporter.topic}-value", {"compatibility": "NONE"})
    assert setting.status == 200
    new = {**old, "fields": [*old["fields"], {"name": "b", "type": "string"}]}
    exporter.registry.register(f"{exporter.topic}-value", Schema(json.dumps(new)))
    for more in ((), ("--malformed", "null")):
        reported = exporter.run("out.parquet", *more).sentence()
        assert f"The value of record {exporter.topic}-0:0 cannot be read into the columns: schema " in reported
        assert ": b was not written, and has no default" in reported
        assert "nothing is wrong with the record" in reported
        assert "--malformed" not in reported
    new = {**old, "fields": [*old["fields"], {"name": "b", "type": "string", "default": "x"}]}
    exporter.registry.register(f"{exporter.topic}-value", Schema(json.dumps(new)))
    assert exporter.table("again.parquet").to_pylist() == [{"a": 1, "b": "x"}]


def test_the_exported_key_is_typed_if_its_subject_is_known(exporter: Exporter) -> None:
    exporter.registry.register(f"{exporter.topic}-key", Schema('"string"', "AVRO"))
    key = AvroSerializer(exporter.registry, '"string"', topic=exporter.topic, is_key=True)
    with Producer(bootstrap_servers=exporter.servers) as producer:
        producer.send_and_wait(exporter.topic, avro(exporter)(VALUE), key("ü"))
    exporter.run("out.parquet").done()
    rows = pq.read_table(next((exporter.folder / "out.parquet").glob("*.parquet")))
    assert rows["key"].to_pylist() == ["ü"]


def test_an_export_of_a_topic_without_a_subject_is_reported(exporter: Exporter) -> None:
    assert "not found" in exporter.run("out.parquet").sentence()


def test_columns_that_differ_from_the_first_run_are_refused(exporter: Exporter) -> None:
    exporter.send(avro(exporter)(VALUE))
    for name in ("out.parquet", "out.csv", "out.delta"):
        exporter.run(name).done()
        to = exporter.folder / name
        printed = call("export", exporter.topic, "--to", to, "-b", exporter.servers).sentence()
        assert "repeat --schema-registry as it was" in printed


@pytest.fixture
def two_messages(exporter: Exporter) -> Exporter:
    """Of one Protobuf file, whose first message is an Order."""
    file = exporter.folder / "order.proto"
    file.write_text(PROTO + "message Other { int32 number = 1; }\n")
    words = ["produce", "-t", exporter.topic, "-b", exporter.servers, "--schema-registry", exporter.url]
    call(*words, "--value-schema", file, stdin='{"id": 1}\n').done()
    number = exporter.registry.latest(f"{exporter.topic}-value")
    assert number.schema.schema_type == PROTOBUF
    exporter.send(b"\0" + number.schema_id.to_bytes(4, "big") + b"\2\2" + b"\x08\1")
    return exporter


def test_a_message_of_another_protobuf_type_is_refused(two_messages: Exporter) -> None:
    printed = two_messages.run("out.parquet").sentence()
    assert "the message is of type shop.Other, not of shop.Order; --message NAME exports" in printed
    assert [one is None for one in two_messages.table("out.parquet", "--malformed", "null").to_pylist()] == [
        False,
        True,
    ]


def test_exported_columns_are_those_of_the_given_protobuf_message(two_messages: Exporter) -> None:
    rows = two_messages.table("other.parquet", "--message", "Other", "--malformed", "null")
    assert rows.to_pylist() == [None, {"number": 1}]
    printed = two_messages.run("unknown.parquet", "--message", "Nothing").sentence()
    assert "the Protobuf file has no message 'Nothing'; its messages: Order, Other" in printed


def test_a_protobuf_schema_without_messages_is_refused(exporter: Exporter) -> None:
    exporter.send(avro(exporter)(VALUE))
    printed = exporter.run("out.parquet", "--message", "Order").sentence()
    assert "the schema is of type AVRO, and has no messages to choose from: leave out 'Order'" in printed
    without = call("export", exporter.topic, "--to", "out.parquet", "--message", "Order", "-b", exporter.servers)
    assert "--message names a message of a schema: give --schema-registry too" in without.sentence()
