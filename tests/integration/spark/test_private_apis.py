"""The private ground of the PySpark that is installed, and what is done without it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession, functions

from oncelog.spark.executors import Written
from oncelog.spark.executors.scheduling import any_stage_repeated, tagged
from oncelog.spark.private_apis import driver, jobs, plans, streams
from oncelog.spark.private_apis.uses import KnownApis, private_api
from oncelog.spark.process import this_process
from oncelog.spark.session import for_each_batch
from tests.integration.spark.executors.test_executors import RunningBroker, rows_of, write_to
from tests.integration.spark.kafka_records import committed, create_topic, produce, wait_until_settled
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.private_spark_apis import missing_names, uses
from tests.support.restarted_queries import run_to_the_end


def test_the_installed_pyspark_has_every_private_api_in_use(spark: SparkSession) -> None:
    assert missing_names(spark) == [], "say what to do instead for whom, or that the use is over"


@pytest.fixture
def without(spark: SparkSession) -> Iterator[set[str]]:
    """The names of what this process takes for missing."""
    this_process().close()
    yield this_process().part(KnownApis).missing
    this_process().close()


@pytest.fixture
def bare(without: set[str]) -> None:
    """Spark without anything private, on the driver."""
    without.update(use.name for use in uses())


@KAFKA_IN_SOAK
@pytest.mark.parametrize(("writers", "path"), [("2", "executors"), ("auto", "driver")])
@pytest.mark.usefixtures("bare")
def test_a_batch_is_written_without_private_apis(
    spark: SparkSession, broker: RunningBroker, unique_name: str, writers: str, path: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 3)
    written = write_to(rows_of(spark, 200), broker, unique_name, writers=writers)
    assert (written.path, written.rows) == (path, 200)
    found = committed(broker.bootstrap_servers, unique_name)
    assert sorted(int(record.key or b"") for record in found) == list(range(200))


@KAFKA_IN_SOAK
@pytest.mark.usefixtures("bare")
def test_a_query_writes_without_private_apis_if_its_checkpoint_is_given_as_option(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    source, target = create_topic(address, f"{unique_name}-in", 1), create_topic(address, f"{unique_name}-out", 2)
    values = [b"%d" % number for number in range(40)]
    produce(address, source, values)
    written: list[Written] = []

    def run(checkpoint: str) -> None:
        reader = spark.readStream.format("oncelog").option("kafka.bootstrap.servers", address)
        reader = reader.option("subscribe", source).option("startingOffsets", "earliest")
        rows = reader.option("maxOffsetsPerTrigger", "10").load().select("value")
        named = {"checkpointLocation": checkpoint} if checkpoint else {}
        options = {"kafka.bootstrap.servers": address, "topic": target} | named
        writer = rows.writeStream.foreachBatch(for_each_batch(options, on_written=written.append))
        writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
        run_to_the_end(writer.start)

    with pytest.raises(Exception, match="does not say where the checkpoint of query"):
        run("")
    run(str(tmp_path))
    assert sum(one.rows for one in written) == 40
    wait_until_settled(address, target)
    assert sorted(record.value or b"" for record in committed(address, target)) == sorted(values)


def test_jobs_are_found_by_job_group_if_spark_cannot_find_them_by_tag(spark: SparkSession, without: set[str]) -> None:
    context = spark.sparkContext
    with tagged(context) as tag:
        spark.range(3).count()
        by_tag = jobs.ids_of_tag(context, tag)
    without.add(jobs.ids_of_tag.name)
    with tagged(context) as tag:
        spark.range(3).count()
        assert not any_stage_repeated(context, tag)
        in_group = jobs.ids_of_tag(context, tag)
    assert len(by_tag) == len(in_group) > 0 and not {*by_tag} & {*in_group}
    assert context.getLocalProperty(jobs.GROUP) is None


def test_slots_and_executors_are_counted_with_and_without_private_apis(spark: SparkSession) -> None:
    context = spark.sparkContext
    assert jobs.slots.instead(context) == jobs.slots(context)
    assert len(jobs.executors.instead(context)) == len(jobs.executors(context)) == 1
    assert jobs.removal_reason(context, "of no such executor") == jobs.removal_reason.instead(context, "0") == ""


@pytest.mark.parametrize("give", [jobs.give_settings.function, jobs.give_settings.instead])
def test_tasks_of_an_rdd_have_the_settings_of_the_session(spark: SparkSession, give: Any) -> None:
    context = spark.sparkContext
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    take_back = give(other)
    given = context.getLocalProperty("spark.sql.session.timeZone")
    take_back()
    assert (given, context.getLocalProperty("spark.sql.session.timeZone")) == ("Asia/Tokyo", None)


TYPES = (
    "int",
    "string",
    "binary",
    "decimal(10,2)",
    "timestamp",
    "timestamp_ntz",
    "date",
    "array<struct<x: bigint>>",
    "map<string, double>",
    "boolean",
    "struct<y: string, z: array<float>>",
)


def test_types_are_the_same_when_the_session_resolves_them(spark: SparkSession) -> None:
    columns = spark.range(0).selectExpr(*(f"cast(null as {kind}) as c{n}" for n, kind in enumerate(TYPES))).schema
    assert plans.arrow_schema.instead(columns) == plans.arrow_schema(columns)
    for field in plans.arrow_schema(columns):
        assert plans.spark_type.instead(field.type) == plans.spark_type(field.type), field


def test_rows_are_the_same_with_and_without_private_apis(spark: SparkSession) -> None:
    for rows in (rows_of(spark, 10), rows_of(spark, 0)):
        found = plans.to_arrow(rows)
        assert found == plans.collect(rows).cast(found.schema) == plans.collect.instead(rows).cast(found.schema)


def test_only_queries_without_state_write_plain_checkpoint_files(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    table = spark.range(3).groupBy("id").count()
    stateless = [
        stream,
        stream.filter("value > 1").selectExpr("explode(array(value, 1)) as value").repartition(2),
        stream.union(stream).join(table.hint("broadcast"), stream["value"] == table["id"], "left"),
        stream.mapInPandas(lambda batches: batches, stream.schema),
    ]
    stateful = [
        stream.groupBy("value").count(),
        stream.dropDuplicates(["value"]),
        stream.select("value").distinct(),
        stream.alias("a").join(stream.alias("b"), functions.expr("a.value = b.value and a.timestamp = b.timestamp")),
        stream.limit(3),
    ]
    assert all(streams.plain_checkpoint_files(rows) for rows in stateless)
    assert [streams.plain_checkpoint_files(rows) for rows in stateful] == [None] * len(stateful)


@pytest.mark.usefixtures("bare")
def test_reports_without_private_apis_are_empty_and_do_not_fail(spark: SparkSession) -> None:
    assert (driver.gauges(spark), driver.java_process(), driver.has_java()) == (None, None, True)
    assert (driver.submitted_master(), streams.plain_checkpoint_files(spark.range(1))) == ("", None)


@pytest.mark.usefixtures("without")
def test_a_missing_java_method_is_reported_once_and_replaced(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    """As py4j says it, of a JVM that runs."""

    @private_api("ScalaContext.noSuchMethod", buys="nothing", instead=lambda context: 7, loses="nothing")
    def asked(context: Any) -> int:
        return int(context._jsc.sc().noSuchMethod())

    with caplog.at_level(logging.INFO, "oncelog"):
        assert [asked(spark.sparkContext) for _ in range(2)] == [7, 7]
    assert caplog.text.count("Method noSuchMethod([]) does not exist") == 1
