"""Timestamps of records as Kafka allows them, any 64-bit number of milliseconds, in batch and streaming reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka import Producer
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import unix_micros

from oncelog.spark.maven import spark_connector_jars
from tests.integration.spark.kafka_records import create_topic
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.restarted_queries import run_to_the_end

NANOSECONDS = 1_700_000_000_000_000_000
LAST_MS = 9_223_372_036_854_775
HELD = [0, 1, 5, 1_700_000_000_123, -5, -62_135_596_800_001, 253_402_300_800_000, LAST_MS, -LAST_MS]
"""Times that microseconds hold: around 1970, before the year 1, after 9999, and the last ones."""
ANY_TIME = {"message_timestamp_after_max_ms": str(2**63 - 1), "retention_ms": "-1"}


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


def send(address: str, topic: str, timestamps: list[int]) -> None:
    producer = Producer({"bootstrap.servers": address})
    refused: list[object] = []
    for number, timestamp in enumerate(timestamps):
        producer.produce(
            topic, b"%d" % number, partition=0, timestamp=timestamp, on_delivery=lambda error, _: refused.append(error)
        )
    assert producer.flush(120) == 0
    assert refused == [None] * len(timestamps)


@pytest.fixture
def topic(broker: RunningBroker, unique_name: str) -> str:
    return create_topic(broker.bootstrap_servers, unique_name, **ANY_TIME)


def options(broker: RunningBroker, topic: str, **more: str) -> dict[str, str]:
    at = {"kafka.bootstrap.servers": broker.bootstrap_servers}
    return {**at, "subscribe": topic, "startingOffsets": "earliest", **more}


def test_times_that_fit_microseconds_are_read_exactly(spark: SparkSession, broker: RunningBroker, topic: str) -> None:
    sent = [one for one in HELD if one]  # librdkafka takes 0 for the time of sending
    send(broker.bootstrap_servers, topic, sent)
    rows = spark.read.format("oncelog").options(**options(broker, topic)).load()
    assert [row[0] for row in rows.orderBy("offset").select(unix_micros("timestamp")).collect()] == [
        one * 1000 for one in sent
    ]


@KAFKA_IN_SOAK
def test_a_timestamp_in_nanoseconds_stops_the_read_with_its_place(
    spark: SparkSession, broker: RunningBroker, topic: str, tmp_path: Path
) -> None:
    send(broker.bootstrap_servers, topic, [5, NANOSECONDS, 7])
    expected = f"Record 1 of {topic}-0 has the timestamp {NANOSECONDS} ms, and Spark's timestamps end at {LAST_MS} ms"
    with pytest.raises(PySparkException, match=expected):
        spark.read.format("oncelog").options(**options(broker, topic)).load().collect()
    stream = spark.readStream.format("oncelog").options(**options(broker, topic)).load()
    writer = stream.writeStream.foreachBatch(lambda rows, _: rows.collect())
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    with pytest.raises(PySparkException, match=expected):
        query.awaitTermination(300)


@KAFKA_IN_SOAK
def test_the_advised_option_reads_the_record_and_does_not_move_the_watermark(
    spark: SparkSession, broker: RunningBroker, topic: str, tmp_path: Path
) -> None:
    recent = 1_700_000_000_000
    given = [recent, NANOSECONDS, -LAST_MS - 1, recent + 1000]
    send(broker.bootstrap_servers, topic, given)
    read = options(broker, topic, includeTimestampMillis="true", maxOffsetsPerTrigger="2")
    rows = spark.read.format("oncelog").options(**{k: v for k, v in read.items() if "max" not in k}).load()
    held = [recent * 1000, None, None, (recent + 1000) * 1000]
    found = rows.orderBy("offset").select("timestampMillis", unix_micros("timestamp").alias("held")).collect()
    assert [(row.timestampMillis, row.held) for row in found] == list(zip(given, held, strict=True))
    late: list[int] = []
    stream = spark.readStream.format("oncelog").options(**read).load()
    counted = stream.withWatermark("timestamp", "10 seconds").dropDuplicatesWithinWatermark(["offset"])

    def keep(batch: object, _: int) -> None:
        late.extend(row.offset for row in batch.collect())  # type: ignore[attr-defined]

    writer = counted.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path))
    run_to_the_end(writer.trigger(availableNow=True).start)
    assert 3 in late


def test_log_append_time_is_the_time_of_the_broker(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    topic = create_topic(broker.bootstrap_servers, unique_name, message_timestamp_type="LogAppendTime")
    send(broker.bootstrap_servers, topic, [NANOSECONDS])
    (row,) = spark.read.format("oncelog").options(**options(broker, topic)).load().collect()
    assert row.timestampType == 1
    assert row.timestamp.year >= 2024


@pytest.mark.soak
def test_sparks_own_connector_reads_the_same_times_and_stops_at_the_same_record(
    spark: SparkSession, broker: RunningBroker, topic: str
) -> None:
    sent = [one for one in HELD if one and one > -12_219_292_800_000]  # before 1582 it moves them to another calendar
    send(broker.bootstrap_servers, topic, [*sent, LAST_MS + 1])
    jars = ",".join(str(jar) for jar in spark_connector_jars())
    job = Path(__file__).with_name("connector_timestamps.py")
    done = subprocess.run(
        [sys.executable, str(job), broker.bootstrap_servers, topic, str(len(sent)), jars],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:3000]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["held"] == [one * 1000 for one in sent]
    assert f"offset {len(sent)} has timestamp value {LAST_MS + 1} that overflows" in seen["refused"]
    ending = json.dumps({topic: {"0": len(sent)}})
    rows = spark.read.format("oncelog").options(**options(broker, topic, endingOffsets=ending)).load()
    assert [row[0] for row in rows.orderBy("offset").select(unix_micros("timestamp")).collect()] == seen["held"]
    with pytest.raises(PySparkException, match=f"Record {len(sent)} of {topic}-0 has the timestamp {LAST_MS + 1} ms"):
        spark.read.format("oncelog").options(**options(broker, topic)).load().collect()
