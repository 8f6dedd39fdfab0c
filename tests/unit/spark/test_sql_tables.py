"""The options of SQL tables: what CREATE TABLE takes and refuses, and how they reach reads and writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StringType, StructField, StructType

from oncelog.errors import ConfigError
from oncelog.spark.data_source import SCHEMA, OncelogDataSource
from oncelog.spark.options import SINK_OPTIONS, SOURCE_OPTIONS, parse_sink_options
from oncelog.spark.sink.rows import BadRow
from oncelog.spark.sql import table_columns, table_writer
from oncelog.spark.sql.table_columns import INTERNAL, MARKED, PUBLIC, marked, options_of
from oncelog.spark.sql.table_options import REFUSED_IN_A_TABLE, WRITING, OptionsOfTable, table_options
from oncelog.spark.sql.table_writer import TableWriter

AT = {"kafka.bootstrap.servers": "h:1"}
CATALOG = {"provider": "oncelog", "owner": "me", "team": "billing"}


def statement(options: Mapping[str, str], properties: Mapping[str, str] | None = None) -> dict[str, str]:
    """What Spark hands over for ``CREATE TABLE`` with these options and properties (seen on 4.0.5 to 4.3.0)."""
    lowered = {name.replace("__", ".").lower(): value for name, value in options.items()}
    return CATALOG | dict(properties or {}) | lowered | {f"option.{name}": text for name, text in lowered.items()}


def table(**options: str) -> OptionsOfTable:
    return table_options(statement(AT | options))


def test_a_table_of_one_topic_can_be_read_and_written() -> None:
    for found in (table(subscribe="a"), table(topic="a")):
        assert found.of_read({}, streaming=False) == {"kafka.bootstrap.servers": "h:1", "subscribe": "a"}
        assert found.of_write({}) == {"kafka.bootstrap.servers": "h:1", "topic": "a"}


def test_rows_name_one_of_several_subscribed_topics() -> None:
    assert table(subscribe="a, b").of_write({})["topics"] == "a, b"
    assert table(topics="a,b").of_read({}, streaming=False)["subscribe"] == "a,b"
    assert table(subscribePattern="a.*").of_write({}).keys() == {"kafka.bootstrap.servers"}


def test_options_of_a_table_go_to_the_read_or_to_the_write() -> None:
    found = table(
        subscribe="a",
        maxOffsetsPerTrigger="5",
        endingOffsets='{"a":{"0":3}}',
        kafka__isolation__level="read_uncommitted",
        kafka__compression__type="zstd",
        kafka__request__timeout__ms="500",
        transactionalIdPrefix="p-",
    )
    both = {"kafka.bootstrap.servers": "h:1", "kafka.request.timeout.ms": "500"}
    reads = both | {"subscribe": "a", "kafka.isolation.level": "read_uncommitted"}
    assert found.of_read({}, streaming=False) == reads | {"endingoffsets": '{"a":{"0":3}}'}
    assert found.of_read({}, streaming=True) == reads | {"maxoffsetspertrigger": "5"}
    assert found.of_write({}) == both | {"topic": "a", "kafka.compression.type": "zstd", "transactionalidprefix": "p-"}


def test_options_of_a_statement_override_contradicting_options_of_the_table() -> None:
    found = table(assign='{"a":[0]}', startingTimestamp="5", topic="a")
    given = {"subscribe": "b", "startingOffsets": "earliest"}
    read = found.of_read(given, streaming=False)
    assert read == {"kafka.bootstrap.servers": "h:1", "subscribe": "b", "startingoffsets": "earliest"}
    assert "topic" not in found.of_write({"topics": "a,b"})


def test_table_properties_count_as_options_and_other_properties_are_the_users_own() -> None:
    properties = AT | {"subscribe": "a", "delivered.by": "me"}
    assert table_options(statement({}, properties)).of_read({}, streaming=True)["subscribe"] == "a"
    with pytest.raises(ConfigError, match="Unknown property 'subscibe' of a table USING oncelog; did you mean subscr"):
        table_options(statement({}, properties | {"subscibe": "a"}))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "The table names no topic: give CREATE TABLE the option subscribe .* topic to write to one, or both"),
        ({"subscribe": "a", "startingOfsets": "x"}, "'startingofsets' of format oncelog; did you mean startingOffsets"),
        (
            {"subscribe": "a", "startingOffsets": "latest"},
            "startingOffsets of a table cannot be latest, .*leave it out",
        ),
        ({"subscribe": "a", "endingOffsets": "earliest"}, "endingOffsets of a batch read cannot be earliest"),
        ({"subscribe": "a", "assign": '{"a":[0]}'}, "exactly one of .*subscribe and assign"),
        ({"subscribe": "a", "maxOffsetsPerTrigger": "many"}, "'many' for option maxOffsetsPerTrigger"),
        ({"subscribe": "a", "kafka__group__id": "x"}, r"kafka\.group\.id is not supported, .*commitOffsetsToGroup"),
        ({"subscribe": "a", "kafka__linger__ms": "x"}, r"kafka\.linger\.ms is not supported, leave it out"),
        ({"subscribe": "a", "kafka__acks": "0"}, r"kafka\.acks cannot be '0', but only 'all'"),
        ({"subscribe": "a", "kafka__fetch__min__byts": "0"}, r"kafka\.fetch\.min\.byts of .*did you mean kafka\.fetch"),
        ({"topic": "a", "topics": "a,b"}, "Option topics lists"),
        ({"topic": "a", "batchId": "1"}, r"batchId has no meaning in a table, .*INSERT INTO orders WITH \(transact"),
        (
            {"topic": "a", "checkpointLocation": "x"},
            "checkpointLocation has no meaning in a table, .*belongs to a query",
        ),
        (
            {"topic": "a", "kafka__sasl__password": "x"},
            r"kafka\.sasl\.password is a secret.* WITH \('kafka\.sasl\.pass",
        ),
        ({"topic": "a", "kafka__sasl__jaas__config": "x"}, "is a secret"),
        ({"topic": "a", "kafka__ssl__keystore__key": "x"}, "is a secret"),
        ({"topic": "a", "location": "/x"}, "LOCATION and path are not supported, leave them out: topics have no path"),
    ],
)
def test_create_table_refuses_options_that_a_read_or_an_insert_refuses(options: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        OncelogDataSource(statement(AT | options)).schema()


def test_create_table_without_a_broker_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"kafka\.bootstrap\.servers is missing: give HOST:PORT"):
        table_options(statement({"subscribe": "a"}))


def test_every_option_is_accepted_or_refused_with_a_reason() -> None:
    assert {*SINK_OPTIONS} - {*WRITING} <= REFUSED_IN_A_TABLE.keys()
    assert not {*SOURCE_OPTIONS, *WRITING} & REFUSED_IN_A_TABLE.keys()


@pytest.mark.parametrize("keeps", [True, False])
def test_columns_carry_the_options_without_secrets(keeps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_columns, "KEEPS_INTERNAL_METADATA", keeps)
    found = table(subscribe="a", startingTimestamp="5")
    columns = marked(SCHEMA, found)
    assert [field.name for field in columns.fields if field.metadata] == [MARKED]
    assert options_of(columns) == found
    assert (PUBLIC in columns[MARKED].metadata) != keeps
    if not keeps:
        del columns[MARKED].metadata[INTERNAL]
        assert options_of(columns) == OptionsOfTable({}, found.writing)
    assert options_of(SCHEMA) is None


def made(**options: str) -> StructType:
    return OncelogDataSource(statement(AT | options)).schema()


def test_a_read_of_a_table_uses_its_options() -> None:
    columns = made(subscribe="a", maxOffsetsPerTrigger="7")
    assert OncelogDataSource({}).reader(columns)._options.subscription.topics == ("a",)  # type: ignore[attr-defined]
    stream = OncelogDataSource({"startingoffsets": "earliest"}).streamReader(columns)
    assert stream._options.max_offsets_per_trigger == 7  # type: ignore[attr-defined]


def test_the_error_about_a_table_without_its_options_says_what_to_do() -> None:
    """Spark hands over nothing of a table that was created with a column list or AS SELECT."""
    text = (
        r"servers is missing: .* SQL table .*DROP TABLE \(it deletes no record\).* without a column list and without AS"
    )
    for use in (lambda one: one.reader(SCHEMA), lambda one: one.writer(SCHEMA, False)):
        with pytest.raises(ConfigError, match=text):
            use(OncelogDataSource({}))


def test_a_table_with_other_columns_is_refused() -> None:
    columns = StructType([*made(topic="a").fields, StructField("more", StringType())])
    with pytest.raises(ConfigError, match=r"The table's columns \(.*more:string.*\) are not those of a record"):
        OncelogDataSource({}).reader(columns)
    with pytest.raises(ConfigError, match=r"The table's columns \(.*more:string.*\) are not those of a record"):
        OncelogDataSource({}).writer(columns, False)
    with pytest.raises(
        ConfigError, match="includeHeaders and includeTimestampMillis decide the columns of a SQL table"
    ):
        OncelogDataSource({"includeHeaders": "true"}).reader(made(topic="a"))


def test_a_stream_into_a_table_is_refused_with_the_call_to_use_instead() -> None:
    with pytest.raises(ConfigError, match=r"toTable does not see the options of CREATE TABLE: write"):
        OncelogDataSource({"checkpointLocation": "x"}).streamWriter(SCHEMA, False)


def test_a_write_of_all_columns_of_one_sql_table_into_another_is_refused() -> None:
    """A table that Spark made of them would be taken for the one that they come from."""
    elsewhere = OncelogDataSource({"kafka.bootstrap.servers": "h:1", "topic": "b", "checkpointLocation": "x"})
    for write in (elsewhere.writer, elsewhere.streamWriter):
        with pytest.raises(ConfigError, match=r"column timestampType of a SQL table.*select the columns to write"):
            write(made(topic="a"), False)


def test_overwriting_the_topic_of_a_table_is_refused() -> None:
    with pytest.raises(ConfigError, match="A topic cannot be overwritten: use INSERT INTO"):
        OncelogDataSource({}).writer(made(topic="a"), True)


class Kept:
    """In place of the batch write: keeps the rows."""

    def write(self, batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
        return [row for batch in batches for row in batch.to_pylist()]


def inserted(columns: StructType, monkeypatch: pytest.MonkeyPatch, **values: object) -> list[dict[str, Any]]:
    monkeypatch.setattr(table_writer, "begin_batch", lambda *_, **__: Kept())
    options = parse_sink_options({"kafka.bootstrap.servers": "h:1", "topic": "a"}, streaming=False)
    writer = TableWriter(columns, [columns.simpleString()], options, lambda *_: None)
    types = {"offset": pa.int64(), "partition": pa.int32(), "timestampType": pa.int32(), "topic": pa.string()}
    types["timestamp"] = pa.timestamp("us", "UTC")
    arrays = [pa.array([values.get(name)], types.get(name, pa.binary())) for name in columns.names]
    rows: Any = writer.write(iter([pa.RecordBatch.from_arrays(arrays, names=columns.names)]))
    return list(rows)


def test_insert_accepts_the_columns_that_a_producer_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = inserted(SCHEMA, monkeypatch, value=b"v", topic="a", partition=1, timestamp=0)
    assert [(row["value"], row["partition"]) for row in rows] == [(b"v", 1)]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"offset": 7}, r"A row has 7 in column offset, which is only read: name the columns to write"),
        ({"timestampType": 0}, r"A row has 0 in column timestampType, which is only read"),
        ({"topic": "b"}, r"A row names topic 'b' in column topic, while this table writes topic 'a'"),
        ({"timestamp": -1}, r"before 1970 in column timestamp \(-1 microseconds\)"),
    ],
)
def test_insert_refuses_columns_that_it_cannot_store(
    values: dict[str, object], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadRow, match=text):
        inserted(SCHEMA, monkeypatch, **values)


def test_options_are_kept_as_json_in_the_catalog() -> None:
    text = made(topic="a", includeHeaders="true")[MARKED].metadata[INTERNAL]
    assert json.loads(text)["reading"]["includeheaders"] == "true"
    assert made(topic="a", includeHeaders="true").names == [*SCHEMA.names, "headers"]
