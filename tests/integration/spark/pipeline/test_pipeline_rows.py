"""What a malformed value does, whatever the transform reads: Spark's optimizer moves filters and omits columns."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import IntegerType, StringType, StructType

from oncelog.spark.pipeline.definition import ONLY, Pipeline, PipelineError, Sink, Source
from oncelog.spark.pipeline.registered import Schemas
from oncelog.spark.pipeline.rows import _columns, rows_of
from tests.integration.spark.kafka_records import create_topic, produce

pytestmark = pytest.mark.timeout(600)

SCHEMA = "\n" + StructType().add("carrier", StringType()).add("delay", IntegerType()).json()
GOOD = b'{"carrier": "AA", "delay": 30}'
BAD = b'{"carrier": "BB", "delay": 40} {"carrier": "CC"}'
QUERIES = {
    "select carrier as value from {rows} where delay > 15": "AA",
    "select 'read' as value, key from {rows}": "read",
    "select carrier as value from {rows} where partition = 0": "AA",
    "select cast(count(*) as string) as value from {rows}": "1",
}
"""And what each transform makes of the good record."""


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


def started(spark: SparkSession, address: str, topic: str, sql: str, name: str) -> StreamingQuery:
    def transform(rows: DataFrame) -> DataFrame:
        return spark.sql(sql, rows=rows)

    one = Pipeline(name, {ONLY: Source(topic, schema=SCHEMA)}, {ONLY: Sink("out")}, transform)
    writer = rows_of(spark, one, address, Schemas(one.name)).writeStream.format("memory").queryName(name)
    return writer.outputMode("complete" if "count" in sql else "append").trigger(availableNow=True).start()


def test_a_malformed_value_stops_the_query_whichever_columns_are_selected(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str
) -> None:
    address = oncelog_broker.bootstrap_servers
    good, bad = (create_topic(address, f"{unique_name}-{kind}") for kind in ("good", "bad"))
    produce(address, good, [GOOD])
    produce(address, bad, [GOOD, BAD])
    run = partial(started, spark, address)
    view = unique_name.replace("-", "_")
    passing = [run(good, sql, f"{view}_good_{number}") for number, sql in enumerate(QUERIES)]
    failing = [run(bad, sql, f"{view}_bad_{number}") for number, sql in enumerate(QUERIES)]
    for query, expected in zip(passing, QUERIES.values(), strict=True):
        query.awaitTermination()
        assert [row.value for row in spark.table(query.name).collect()] == [expected]
    for query in failing:
        with pytest.raises(
            StreamingQueryException, match=f"Record 1 of {bad}-0 has a value that is not JSON of the schema"
        ):
            query.awaitTermination()


def test_the_example_of_a_schema_in_the_message_is_valid(spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match="has no columns: write each as a name and a type") as refused:
        _columns("string")
    assert _columns(str(refused.value).partition("for example ")[2]).simpleString() == "struct<origin:string>"


def test_columns_of_any_name_are_read_and_written(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str
) -> None:
    """A dot in a name is no field of a struct."""
    topic = create_topic(oncelog_broker.bootstrap_servers, unique_name)
    produce(oncelog_broker.bootstrap_servers, topic, [b'{"a.b": 1, "c d": "x", "e`f": 2, "select": 3}'])
    source, sink = Source(topic, schema="`a.b` int, `c d` string, `e``f` int, `select` int"), Sink("out", key="a.b")
    view = unique_name.replace("-", "_")

    def transform(rows: DataFrame) -> DataFrame:
        return rows.drop("key", "topic", "partition", "offset", "timestamp")

    one = Pipeline(view, {ONLY: source}, {ONLY: sink}, transform)
    rows = rows_of(spark, one, oncelog_broker.bootstrap_servers, Schemas(one.name))
    rows.writeStream.format("memory").queryName(view).trigger(availableNow=True).start().awaitTermination()
    assert [(row.key, row.value) for row in spark.table(view).collect()] == [
        ("1", '{"a.b":1,"c d":"x","e`f":2,"select":3}')
    ]


def test_two_columns_of_one_name_are_refused(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str
) -> None:
    """Spark writes them as JSON with the name twice, of which a reader sees one."""
    topic = create_topic(oncelog_broker.bootstrap_servers, unique_name)
    one = Pipeline(
        "twice", {ONLY: Source(topic, schema="id int")}, {ONLY: Sink("out")}, lambda rows: rows.select("id", "id")
    )
    with pytest.raises(PipelineError, match="pipeline twice: its rows have two columns id: drop or rename one"):
        rows_of(spark, one, oncelog_broker.bootstrap_servers, Schemas(one.name))
