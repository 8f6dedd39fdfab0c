"""Topics and options with which other readers of Kafka failed, as public reports have them, on our broker and Apache
Kafka. Each test names its report.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.conftest import RunningBroker
from tests.integration.spark.kafka_records import create_topic, eventually, produce, produce_transaction
from tests.integration.spark.source.test_source import drain, read, values
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.restarted_queries import run_to_the_end

pytestmark = KAFKA_IN_SOAK


def stream(spark: SparkSession, broker: RunningBroker, **options: str) -> DataFrame:
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "startingOffsets": "earliest"} | options
    return spark.readStream.format("oncelog").options(**given).load()


def delete_records(address: str, topic: str, before: int, partition: int = 0) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    for result in admin.delete_records([TopicPartition(topic, partition, before)]).values():
        result.result(120)


def test_reading_of_twelve_partitions_continues_after_a_restart(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """apache/spark#16857 (SPARK-19517) and mozilla/telemetry-streaming#14: the checkpoint of many partitions was not
    read back.
    """
    address = broker.bootstrap_servers
    create_topic(address, unique_name, 12)
    rows = stream(spark, broker, subscribe=unique_name)
    for run in range(2):
        sent = [b"%d:%d" % (run, n) for n in range(12)]
        for number, value in enumerate(sent):
            produce(address, unique_name, [value], partition=number)
        assert drain(rows, tmp_path / "c")[0] == sorted(value.decode() for value in sent)


def test_starting_offsets_apply_to_a_topic_in_capitals_whatever_the_case_of_option_names(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """apache/spark#17209 (SPARK-19853), #24967 and #23612: the JSON, or the options' names, were made lower case."""
    address = broker.bootstrap_servers
    topic = create_topic(address, f"Orders.UPPER_{unique_name}", 2)
    produce(address, topic, [b"%d:a" % n for n in range(5)], partition=0)
    produce(address, topic, [b"9:b"], partition=1)
    start = json.dumps({topic: {"0": 3, "1": -1}})
    options = {"KAFKA.Bootstrap.SERVERS": address, "SUBSCRIBE": topic, "STARTINGOFFSETS": start}
    rows = spark.readStream.format("oncelog").options(**options).load()
    assert drain(rows, tmp_path / "c")[0] == ["3:a", "4:a"]


def test_offsets_with_missing_or_extra_partitions_or_without_numbers_are_refused(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    """apache/spark#15504 (SPARK-17812) and #58043 (SPARK-58774)."""
    create_topic(broker.bootstrap_servers, unique_name, 2)
    for offsets, says in {
        json.dumps({unique_name: {"0": 1}}): f"{unique_name}-1",
        json.dumps({unique_name: {"0": 0, "1": 0, "2": 0}}): f"{unique_name}-2",
        json.dumps({unique_name: {"0": 0, "1": 0}, "other": {"0": 0}}): "other-0",
        json.dumps({unique_name: "earliest"}): "it takes earliest, latest or JSON such as",
        json.dumps({unique_name: {"0": 1.5, "1": 0}}): "it takes earliest, latest or JSON such as",
        json.dumps({unique_name: {"0": True, "1": 0}}): "it takes earliest, latest or JSON such as",
        json.dumps({unique_name: {"0": -3, "1": 0}}): "it takes earliest, latest or JSON such as",
    }.items():
        with pytest.raises(PySparkException) as refused:
            read(spark, broker, subscribe=unique_name, startingOffsets=offsets).count()
        assert says in str(refused.value), (offsets, str(refused.value)[-500:])


RUNS: Sequence[tuple[bool, int]] = ((False, 3), (True, 1), (False, 2), (True, 2), (False, 1), (True, 1), (False, 4))
"""Transactions, one after the other: whether they were committed, and how many records they have."""


@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_ranges_without_committed_records_delay_no_batch(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path, most: int
) -> None:
    """apache/spark#22042 (SPARK-25005), #21917, #20836, #20572, apache/druid#5404, apache/hudi#8258 and #1598: batches
    that begin, end or consist of markers and aborted records failed after a wait, or lost records.
    """
    address = broker.bootstrap_servers
    create_topic(address, unique_name)
    sent = []
    for number, (commit, count) in enumerate(RUNS):
        transaction = [b"%d%d:v" % (number, n) for n in range(count)]
        produce_transaction(address, unique_name, transaction, commit=commit)
        sent += [value.decode() for value in transaction] if commit else []
    eventually(lambda: values(read(spark, broker, subscribe=unique_name, minPartitions="30")), sorted(sent))
    rows = stream(spark, broker, subscribe=unique_name, maxOffsetsPerTrigger=str(most))
    found, sizes = drain(rows, tmp_path / "c")
    assert found == sorted(sent)
    assert max(sizes) <= most
    assert drain(rows, tmp_path / "c")[0] == []


def test_records_deleted_before_the_read_stop_the_query_or_are_skipped_once(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """apache/spark#22207 (SPARK-25214), #15820, byzer-org/byzer-lang#1242 and mozilla/telemetry-streaming#25: records
    twice with failOnDataLoss false, or a query that never went on.
    """
    address = broker.bootstrap_servers
    create_topic(address, unique_name)
    produce(address, unique_name, [b"%d:v" % n for n in range(10)])
    delete_records(address, unique_name, 5)
    start = json.dumps({unique_name: {"0": 2}})
    options = {"subscribe": unique_name, "startingOffsets": start}
    with pytest.raises(PySparkException, match="begins at offset 5 and the query is at 2"):
        read(spark, broker, **options).count()
    left = [f"{n}:v" for n in range(5, 10)]
    assert values(read(spark, broker, failOnDataLoss="false", minPartitions="4", **options)) == left
    rows = stream(spark, broker, failOnDataLoss="false", maxOffsetsPerTrigger="2", **options)
    assert drain(rows, tmp_path / "c")[0] == left
    produce(address, unique_name, [b"%d:v" % n for n in range(10, 14)])
    delete_records(address, unique_name, 12)
    with pytest.raises(PySparkException, match="failOnDataLoss"):
        drain(stream(spark, broker, **options), tmp_path / "c")
    assert drain(rows, tmp_path / "c")[0] == ["12:v", "13:v"]


def test_new_partitions_and_topics_are_read_from_their_beginning(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """apache/spark#38911 (SPARK-41387), #38898 (SPARK-41375), #15102 and ippontech/spark-kafka-source#6: AvailableNow
    with partitions that came later, and a pattern whose topics are not there yet.
    """
    address = broker.bootstrap_servers
    create_topic(address, f"{unique_name}-a")
    options = {"subscribePattern": f"{unique_name}-.*", "startingOffsets": "latest"}
    rows = stream(spark, broker, **options)
    produce(address, f"{unique_name}-a", [b"0:old"])
    assert drain(rows, tmp_path / "c")[0] == []
    first, second = f"{unique_name}-a", f"{unique_name}-b"
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_partitions([NewPartitions(first, 3)])[first].result(120)
    create_topic(address, second, 2)
    eventually(lambda: len(admin.list_topics(first, 30).topics[first].partitions), 3)
    produce(address, first, [b"1:new"], partition=2)
    produce(address, second, [b"2:new"], partition=1)
    assert drain(rows, tmp_path / "c")[0] == ["1:new", "2:new"]
    assert drain(rows, tmp_path / "c")[0] == []


def test_available_now_reads_all_records_despite_min_offsets_per_trigger(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """apache/spark#32653 and #33792 (SPARK-35312): the last records were too few for minOffsetsPerTrigger."""
    address = broker.bootstrap_servers
    create_topic(address, unique_name)
    produce(address, unique_name, [b"%d:v" % n for n in range(8)])
    rows = stream(spark, broker, subscribe=unique_name, minOffsetsPerTrigger="4", maxOffsetsPerTrigger="5")
    found, sizes = drain(rows, tmp_path / "c")
    assert (len(found), sum(sizes)) == (8, 8)


def test_topic_named_twice_is_read_once(spark: SparkSession, broker: RunningBroker, unique_name: str) -> None:
    """astrolabsoftware/fink-broker#443 and hortonworks/streamline#694: each record twice."""
    address = broker.bootstrap_servers
    create_topic(address, unique_name)
    produce(address, unique_name, [b"0:v", b"1:v"])
    assert values(read(spark, broker, subscribe=f"{unique_name}, {unique_name} ,")) == ["0:v", "1:v"]
    twice = json.dumps({unique_name: [0, 0]})
    assert values(read(spark, broker, assign=twice)) == ["0:v", "1:v"]


def test_progress_of_a_query_is_json_with_its_offsets(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """apache/spark#53102 (SPARK-54390): offsets that are JSON broke the report for listeners."""
    address = broker.bootstrap_servers
    create_topic(address, unique_name)
    produce(address, unique_name, [b"0:v"])
    rows = stream(spark, broker, subscribe=unique_name)
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    query = run_to_the_end(writer.trigger(availableNow=True).start)
    (progress,) = (one for one in query.recentProgress if one["numInputRows"])
    reported: dict[str, Any] = json.loads(progress.json)
    (source,) = reported["sources"]
    end = source["endOffset"]
    assert (json.loads(end) if isinstance(end, str) else end)[unique_name]["0"] == 1
