"""What reads everything there is right after a commit was acknowledged: nothing of it is missed, on either broker."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from tests.integration.cli.conftest import call
from tests.integration.spark.kafka_records import create_topic
from tests.support.restarted_queries import run_to_the_end

PARTITIONS = 30


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


class Writer:
    """Commits transactions; each has a record in every partition."""

    def __init__(self, address: str, topic: str) -> None:
        self._topic = topic
        self._producer = Producer({"bootstrap.servers": address, "transactional.id": f"{topic}-writer"})
        self._producer.init_transactions(120)
        self.committed = 0

    def commit(self) -> None:
        self._producer.begin_transaction()
        for number in range(PARTITIONS):
            self._producer.produce(self._topic, b"v", partition=number)
        self._producer.commit_transaction(120)
        self.committed += PARTITIONS


@pytest.fixture
def topic(broker: RunningBroker, unique_name: str) -> str:
    return create_topic(broker.bootstrap_servers, unique_name, PARTITIONS)


def options(broker: RunningBroker, topic: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxRecordsPerPartition": "1000000",
    }


@pytest.mark.parametrize("rounds", [4, pytest.param(100, marks=pytest.mark.soak)])
def test_process_all_available_reads_everything_committed_before(
    spark: SparkSession, broker: RunningBroker, topic: str, tmp_path: Path, rounds: int
) -> None:
    seen: list[int] = []

    def keep(rows: DataFrame, _: int) -> None:
        seen.append(rows.count())

    stream = spark.readStream.format("oncelog").options(**options(broker, topic)).load().coalesce(2)
    query = stream.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path)).start()
    writer = Writer(broker.bootstrap_servers, topic)
    found = []
    try:
        for _ in range(rounds):
            writer.commit()
            query.processAllAvailable()
            found.append(sum(seen) - writer.committed)
    finally:
        query.stop()
    assert found == [0] * rounds


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=pytest.mark.soak)])
def test_batch_reads_and_available_now_read_everything_committed_before(
    spark: SparkSession, broker: RunningBroker, topic: str, tmp_path: Path, rounds: int
) -> None:
    writer = Writer(broker.bootstrap_servers, topic)
    seen: list[int] = []

    def keep(rows: DataFrame, _: int) -> None:
        seen.append(rows.count())

    for _ in range(rounds):
        writer.commit()
        rows = spark.read.format("oncelog").options(**options(broker, topic)).load().coalesce(2)
        assert rows.count() == writer.committed
        writer.commit()
        stream = spark.readStream.format("oncelog").options(**options(broker, topic)).load().coalesce(2)
        target = stream.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path))
        run_to_the_end(target.trigger(availableNow=True).start)
        assert sum(seen) == writer.committed


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=pytest.mark.soak)])
def test_consume_and_export_to_the_end_read_everything_committed_before(
    broker: RunningBroker, topic: str, tmp_path: Path, rounds: int
) -> None:
    writer = Writer(broker.bootstrap_servers, topic)
    exported = 0
    for _ in range(rounds):
        writer.commit()
        read = call("consume", "-t", topic, "--from-beginning", "--to-end", "-b", broker.bootstrap_servers).done()
        assert read.err == f"{writer.committed} records\n"
        writer.commit()
        reported = call("export", topic, "--to", tmp_path / "out.csv", "--json", "-b", broker.bootstrap_servers).done()
        exported += reported.json_lines[-1]["records"]
        assert exported == writer.committed
