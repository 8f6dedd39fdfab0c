"""What is refused about schemas before Spark starts, and what a start tells about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from oncelog.errors import ConfigError
from oncelog.schemas import Schema, SchemaRegistry
from oncelog.spark.pipeline import Pipeline, PipelineError, Sink, Source
from oncelog.spark.pipeline.file import load_pipelines
from oncelog.spark.pipeline.registered import Schemas, find_schemas, keep
from oncelog.spark.schemas import avro_schema, from_registry
from oncelog.spark.schemas.functions import open_registry
from oncelog.spark.schemas.verdicts import Verdicts, _Union
from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.sink.engine import BatchStep, SinkRefused
from tests.integration.schema_registry.stand_in import StandIn, running

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
}
ID = StructType().add("id", LongType())
NODE = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}


@pytest.fixture
def registry() -> Iterator[StandIn]:
    with running() as stand_in:
        with SchemaRegistry(stand_in.url) as client:
            client.register("orders-value", Schema(json.dumps({**ORDER, "fields": ORDER["fields"][:1]})))
            client.register("orders-value", Schema(json.dumps(ORDER)))
            client.register("node", Schema(json.dumps(NODE)))
        yield stand_in


def pipeline_of(source: Source, sink: Sink | None = None) -> Pipeline:
    return Pipeline("p", {"source": source}, {"source": sink or Sink("out")}, lambda rows: rows)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (Source("orders", format="avro", schema="orders-value:9"), "pipeline p cannot read orders-value:9: "),
        (Source("nobody", format="avro"), "pipeline p cannot read nobody-value: "),
        (Source("orders", format="protobuf"), "orders-value:2 is of type AVRO, and the format is protobuf"),
        (Source("orders", format="avro", schema="node"), "record Node contains itself: Spark has no type for it"),
    ],
)
def test_a_source_whose_schema_cannot_be_read_is_refused(registry: StandIn, source: Source, why: str) -> None:
    with pytest.raises(PipelineError) as refused:
        find_schemas(pipeline_of(source), registry.url)
    assert why in str(refused.value)


def test_the_latest_schema_version_is_used_unless_a_version_is_given(registry: StandIn) -> None:
    latest = find_schemas(pipeline_of(Source("orders", format="avro")), registry.url)
    named = find_schemas(pipeline_of(Source("orders", format="avro", schema="orders-value:1")), registry.url)
    assert [one.readers["source"].shown for one in (latest, named)] == ["orders-value:2", "orders-value:1"]


@pytest.mark.parametrize("what", [Source("orders", format="avro"), Source("orders", schema="id int")])
def test_a_format_without_a_registry_is_refused(what: Source) -> None:
    with pytest.raises(PipelineError, match="needs a schema registry: set registry, or give the run --schema-registry"):
        find_schemas(pipeline_of(what, Sink("out", format="avro")), "")


@pytest.mark.parametrize(
    ("schema", "columns", "why"),
    [
        (
            "orders-value:1",
            StructType().add("id", LongType()).add("note", StringType()),
            "no field for the column note",
        ),
        (
            "orders-value",
            StructType().add("id", StringType()),
            "column id is of type string, which orders-value:2 cannot",
        ),
        ("orders-value", StructType().add("note", StringType()), "requires id, which is none of the columns"),
    ],
)
def test_columns_that_do_not_match_the_sinks_schema_are_refused(
    registry: StandIn, schema: str, columns: StructType, why: str
) -> None:
    found = Schemas("p", registry.url)
    with pytest.raises(PipelineError, match="pipeline p cannot write") as refused:
        found.encoded(Sink("out", format="avro", schema=schema), None, columns)  # type: ignore[arg-type]
    assert why in str(refused.value)


def test_a_schema_made_from_columns_is_registered_under_the_subject_of_the_strategy(registry: StandIn) -> None:
    columns = StructType().add("id", LongType()).add("n", IntegerType())
    found = Schemas("p", registry.url)
    for name in ("topic", "record", "topic-record"):
        found._registered(Sink("late-orders", format="avro", subject_name=name), columns)
    found._registered(Sink(topics=("a", "b"), format="avro", record="shop.Order"), columns)
    with SchemaRegistry(registry.url) as client:
        assert client.subjects() == [
            "a-value",
            "b-value",
            "late-orders-late_orders",
            "late-orders-value",
            "late_orders",
            "node",
            "orders-value",
        ]
        assert json.loads(client.version("a-value").schema.text) == json.loads(avro_schema(columns, "shop.Order"))


def test_a_start_reports_schema_changes_since_the_previous_start(registry: StandIn, tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path))
    reported: list[str] = []
    for schema in ("orders-value:1", "orders-value:1", "orders-value:2", "node-2"):
        if schema == "node-2":
            changed = {**ORDER, "fields": [{"name": "id", "type": "string"}]}
            with SchemaRegistry(registry.url) as client:
                client.register(schema, Schema(json.dumps(changed)))
        keep(
            find_schemas(pipeline_of(Source("o", format="avro", schema=schema)), registry.url),
            checkpoint,
            reported.append,
        )
    assert reported == [
        "p: source is read into orders-value:1",
        "p: source is read into orders-value:2, and was into orders-value:1; new: note",
        "p: source is read into node-2:1, and was into orders-value:2; gone: note; another type: id",
    ]
    assert checkpoint.last_writes() == []


def test_a_batch_is_refused_if_its_tasks_get_different_answers_about_a_schema_id() -> None:
    class Context:
        def accumulator(self, value: Any, param: _Union) -> Any:
            class Told:
                def __init__(self) -> None:
                    self.value = value

                def add(self, more: Any) -> None:
                    self.value = param.addInPlace(self.value, more)

            return Told()

    verdicts = Verdicts(Context())  # type: ignore[arg-type]
    verdicts.begin()
    verdicts.add({1: "a", 2: "unknown"})
    verdicts.add({1: "a"})
    verdicts.observe(BatchStep.MARKER_ADDED, 0)
    verdicts.add({2: "b"})
    verdicts.observe(BatchStep.PRODUCED, 0)
    with pytest.raises(SinkRefused, match="answered differently about schema id 2"):
        verdicts.observe(BatchStep.MARKER_ADDED, 0)
    verdicts.begin()
    verdicts.observe(BatchStep.MARKER_ADDED, 1)


TOML = """
[source]
topic = "orders"
format = "avro"
registry = { url = "http://r", ca_file = "ca.pem" }
message = ""
[query]
sql = "select 1"
[sink]
topic = "out"
%s
"""


def test_a_toml_file_configures_format_registry_and_schema(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(TOML % 'format = "avro"\nregistry = "http://r"\nrecord = "a.B"\nsubject_name = "record"')
    (one,) = load_pipelines(path)
    (source,), (sink,) = one.sources.values(), one.topic_sinks.values()
    assert (source.format, source.registry) == ("avro", {"url": "http://r", "ca_file": "ca.pem"})
    assert (sink.format, sink.registry, sink.record, sink.subject_name) == ("avro", "http://r", "a.B", "record")
    path.write_text(TOML % 'format = "avro"\nschema = "s:3"')
    ((sink,),) = ([*one.topic_sinks.values()] for one in load_pipelines(path))
    assert sink.schema == "s:3"


@pytest.mark.parametrize(
    ("sink", "why"),
    [
        ('schema = "s"', "sink.schema is for records with schemas"),
        ('format = "delta"\nregistry = "http://r"', "sink.registry is for records with schemas"),
        ('format = "avro"\ntable = "t"', "sink.table is for tables"),
        ('format = "json-schema"', "needs schema, a registered version to write with"),
        ('format = "avro"\nschema = "s"\nrecord = "a.B"', "record and subject_name are for a schema that is made of"),
        ('format = "avro"\nschema = "s"\nsubject_name = "record"', "schema names s: leave one out"),
        ('format = "avro"\nmessage = "M"', "message = 'M' is for the format protobuf"),
        ('format = "avro"\nsubject_name = "x"', "subject_name must be one of topic, record, topic-record"),
    ],
)
def test_contradictory_entries_of_a_sinks_format_are_refused(tmp_path: Path, sink: str, why: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(TOML % sink)
    with pytest.raises((PipelineError, ConfigError), match=why):
        load_pipelines(path)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (Source("a", format="xml"), "format is 'xml', allowed are json, avro, json-schema, protobuf"),
        (Source("a", format="avro", message="M"), "message = 'M' is for the format protobuf: leave it out"),
        (Source("a", registry="http://r"), "a source with a registry needs a format"),
        (Source("a,b", format="avro"), "name the subject to read into"),
        (Source(options={"subscribePattern": "a.*"}, format="avro"), "name the subject to read into"),
    ],
)
def test_a_source_with_contradictory_entries_is_refused(source: Source, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        pipeline_of(source)


def test_an_invalid_registry_entry_is_refused() -> None:
    for wrong in ("", {}, {"url": "http://r", "colour": "red"}):
        with pytest.raises(ConfigError):
            open_registry(wrong)
    with pytest.raises(ConfigError, match="has no setting 'colour', allowed are url, user, password"):
        open_registry({"url": "http://user:secret@r", "colour": "red"})
    with pytest.raises(ConfigError, match="malformed is 'x'"):
        from_registry("value", "http://r", subject="s", malformed="x")
