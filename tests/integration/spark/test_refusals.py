"""Refusals of reads and writes: our sentence is the last that the user sees of the error, but for what Spark adds.

Spark adds ``SQLSTATE`` to every error, and its state to that of a stream.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from oncelog.errors import ConfigError
from oncelog.spark.session import for_each_batch
from tests.conftest import RunningBroker
from tests.integration.spark.kafka_records import committed, create_topic, values

pytestmark = pytest.mark.timeout(600)
AWAY = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": "1"}


def last_line(refused: pytest.ExceptionInfo[PySparkException]) -> str:
    error = str(refused.value).split("\n=== Streaming Query ===")[0]
    return re.sub(r"\s*SQLSTATE: \w+", "", error).rstrip().splitlines()[-1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"subscribe": "t", "kafka.group.id": "g"}, r"Option kafka\.group\.id is not supported, leave it out: .*"),
        ({"subscribe": "t", "subscibe": "t"}, r"Unknown option 'subscibe' of format oncelog; did you mean subscribe\?"),
        ({"subscribe": "t", "topic": "t"}, "Option topic is for writing, and this reads: leave it out"),
        ({"subscribe": "t", "startingOffsets": "{"}, "Invalid value '{' for option startingOffsets: it takes .*"),
        ({}, "Give exactly one of the options subscribe, subscribePattern and assign; given: none of them"),
        (
            {"subscribe": "t", "maxOffsetsPerTrigger": "0"},
            "Invalid value '0' for option maxOffsetsPerTrigger: it takes a whole number above 0",
        ),
        (
            {"subscribe": "t", "minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "2"},
            r"minOffsetsPerTrigger \(9\) is greater than maxOffsetsPerTrigger \(2\)",
        ),
        (
            {"subscribe": "t", "endingOffsets": "earliest"},
            "Option endingOffsets of a batch read cannot be earliest",
        ),
    ],
)
def test_unknown_read_options_are_refused_by_load(spark: SparkSession, options: Mapping[str, str], says: str) -> None:
    """Also of a stream, which is not started for it."""
    for reader in (spark.read, spark.readStream):
        with pytest.raises(PySparkException) as refused:
            reader.format("oncelog").options(**AWAY, **options).load()
        assert re.fullmatch(rf"oncelog\.errors\.ConfigError: {says}", last_line(refused)), refused.value


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"endingOffsets": "latest"}, "Option endingOffsets has no meaning in a streaming read: it is for batch reads"),
        ({}, r"connecting did not succeed within kafka\.default\.api\.timeout\.ms=1.*"),
    ],
)
def test_the_last_line_of_the_error_of_a_refused_stream_is_our_message(
    spark: SparkSession, options: Mapping[str, str], says: str
) -> None:
    """PySpark's own ``UnboundLocalError`` followed it."""
    rows = spark.readStream.format("oncelog").options(**AWAY, subscribe="t", **options).load()
    with pytest.raises(PySparkException) as refused:
        rows.writeStream.format("noop").start().awaitTermination()
    assert re.fullmatch(rf"oncelog\.\S+: {says}", last_line(refused)), refused.value
    assert "UnboundLocalError" not in str(refused.value)


def test_the_last_line_of_the_error_names_the_missing_topic(spark: SparkSession, oncelog_broker: RunningBroker) -> None:
    at = {"kafka.bootstrap.servers": oncelog_broker.bootstrap_servers, "subscribe": "nowhere"}
    with pytest.raises(PySparkException) as refused:
        spark.read.format("oncelog").options(**at).load().collect()
    assert "nowhere" in last_line(refused)
    query = spark.readStream.format("oncelog").options(**at).load().writeStream.format("noop")
    with pytest.raises(PySparkException) as refused:
        query.start().awaitTermination()
    assert "nowhere" in last_line(refused)


def test_the_last_line_of_the_error_of_a_refused_write_is_our_message(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.sql("SELECT X'00' AS value")
    stream = spark.readStream.format("rate").load().selectExpr("CAST(CAST(value AS STRING) AS BINARY) AS value")
    for options, says in {
        ("topics", ","): "Option topics lists the topics that rows may name, .*",
        ("kafka.linger.ms", "5"): r"Option kafka\.linger\.ms is not supported, leave it out: .*",
        ("subscribe", "t"): "Option subscribe is for reading, and this writes: leave it out",
    }.items():
        given = {"kafka.bootstrap.servers": "127.0.0.1:1", options[0]: options[1]}
        with pytest.raises(PySparkException) as refused:
            rows.write.format("oncelog").options(**given).mode("append").save()
        assert re.fullmatch(rf"oncelog\.errors\.ConfigError: {says}", last_line(refused)), refused.value
        writer = stream.writeStream.format("oncelog").options(**given)
        with pytest.raises(PySparkException) as refused:
            writer.option("checkpointLocation", str(tmp_path / options[0])).start().awaitTermination()
        assert re.fullmatch(rf"oncelog\.errors\.ConfigError: {says}", last_line(refused)), refused.value


@pytest.mark.parametrize(
    "start",
    [
        lambda writer: writer.format("oncelog").outputMode("update").start(),
        lambda writer: writer.outputMode("UPDATE").start(format="oncelog"),
        lambda writer: writer.start(None, "oncelog", "Update"),
    ],
)
def test_update_mode_is_refused_and_an_alternative_suggested(
    spark: SparkSession, start: Callable[[Any], object]
) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ConfigError, match=r'write with outputMode\("update"\)\.foreachBatch\(for_each_batch\(options'):
        start(stream.writeStream)


def test_update_mode_works_as_the_refusal_advises(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = oncelog_broker.bootstrap_servers
    source, sink = (create_topic(address, f"{unique_name}-{end}", 1) for end in ("in", "out"))
    options = {"kafka.bootstrap.servers": address}
    spark.sql("SELECT X'01' AS value").write.format("oncelog").options(**options, topic=source).mode("append").save()
    rows: DataFrame = (
        spark.readStream.format("oncelog")
        .options(**options, subscribe=source)
        .option("startingOffsets", "earliest")
        .load()
    )
    counts = rows.groupBy("value").count().select("value")
    writer = counts.writeStream.format("oncelog").outputMode("update")  # the format is not that of the sink
    writer = writer.foreachBatch(for_each_batch({**options, "topic": sink}))
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    query.awaitTermination()
    assert values(committed(address, sink)) == [b"\x01"]
