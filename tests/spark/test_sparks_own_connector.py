"""Spark's own Kafka connector works with our broker unmodified, and a query of it goes on with our source and sink."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from oncelog import Broker
from tests.spark.kafka_records import committed, eventually, produce, values
from tests.support.apache_kafka import spark_connector_jars


def test_sparks_own_connector_writes_and_reads_committed_records_and_its_query_is_taken_over(
    spark: SparkSession, tmp_path: Path
) -> None:
    with Broker(tmp_path / "data", settings={"num.partitions": 3}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "aborts"})
        producer.init_transactions(30)
        producer.begin_transaction()
        for number in range(20):
            producer.produce("squares", key=str(number), value="aborted")
        producer.flush(30)
        producer.abort_transaction(30)
        jars = ",".join(str(jar) for jar in spark_connector_jars())
        job = Path(__file__).with_name("connector_job.py")
        done = subprocess.run(
            [sys.executable, str(job), broker.bootstrap_servers, "squares", str(tmp_path), jars],
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        if done.returncode == 0:
            take_over(spark, broker.bootstrap_servers, tmp_path / "checkpoint")
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["batch"] == sorted([str(number), str(number * number)] for number in range(200))
    assert seen["copied"] == sorted(str(number * number) for number in range(200))


def take_over(spark: SparkSession, address: str, checkpoint: Path) -> None:
    """The checkpoint of the connector's query, with our source and sink: only once told that nothing is in doubt."""
    before = len(committed(address, "squares-copy"))
    produce(address, "squares", [b"more:%d" % number for number in range(5)])

    def go_on(**options: str) -> None:
        given = {"kafka.bootstrap.servers": address}
        stream = spark.readStream.format("oncelog").options(**given, subscribe="squares").load()
        writer = stream.select("key", "value").writeStream.format("oncelog")
        query = writer.options(**given, topic="squares-copy", checkpointLocation=str(checkpoint), **options)
        query.trigger(availableNow=True).start().awaitTermination(120)

    with pytest.raises(PySparkException, match="taken over from another sink"):
        go_on()
    assert len(committed(address, "squares-copy")) == before
    go_on(onMissingMarker="write")
    go_on()
    eventually(lambda: len(committed(address, "squares-copy")), before + 5)
    assert sorted(values(committed(address, "squares-copy")))[-5:] == [b"more:%d" % number for number in range(5)]
