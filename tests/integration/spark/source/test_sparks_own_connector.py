"""Spark's own Kafka connector works with our broker unmodified; on both brokers its query can continue with ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from oncelog.spark.maven import spark_connector_jars
from tests.integration.spark.kafka_records import (
    committed,
    create_topic,
    eventually,
    produce,
    produce_transaction,
    values,
)
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.restarted_queries import run_to_the_end


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


@KAFKA_IN_SOAK
def test_sparks_own_connector_writes_and_reads_committed_records_and_its_query_is_taken_over(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-copy"):
        create_topic(address, name, 3)
    produce_transaction(address, unique_name, [b"%d:aborted" % number for number in range(20)], commit=False)
    jars = ",".join(str(jar) for jar in spark_connector_jars())
    job = Path(__file__).with_name("connector_job.py")
    done = subprocess.run(
        [sys.executable, str(job), address, unique_name, str(tmp_path), jars],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["batch"] == sorted([str(number), str(number * number)] for number in range(200))
    assert seen["copied"] == sorted(str(number * number) for number in range(200))
    named = spark.read.format("oncelog").options(
        **{"kafka.bootstrap.servers": address}, subscribePattern=unique_name[1:]
    )
    ours = sorted(row.topic for row in named.load().select("topic").distinct().collect())
    assert ours == seen["named"] == [unique_name, f"{unique_name}-copy"]
    take_over(spark, address, unique_name, tmp_path / "checkpoint")


def take_over(spark: SparkSession, address: str, topic: str, checkpoint: Path) -> None:
    """The checkpoint of the connector's query, with our source and sink: only after the user says that nothing is in
    doubt.
    """
    sink = f"{topic}-copy"
    before = len(committed(address, sink))
    produce(address, topic, [b"more:%d" % number for number in range(5)])

    def resume(**options: str) -> None:
        given = {"kafka.bootstrap.servers": address}
        stream = spark.readStream.format("oncelog").options(**given, subscribe=topic).load()
        writer = stream.select("key", "value").writeStream.format("oncelog")
        query = writer.options(**given, topic=sink, checkpointLocation=str(checkpoint), **options)
        run_to_the_end(query.trigger(availableNow=True).start)

    with pytest.raises(PySparkException, match="taken over from another sink"):
        resume()
    assert len(committed(address, sink)) == before
    resume(onMissingMarker="write")
    resume()
    eventually(lambda: len(committed(address, sink)), before + 5)
    assert sorted(values(committed(address, sink)))[-5:] == [b"more:%d" % number for number in range(5)]
