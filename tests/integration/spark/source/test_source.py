"""Reading topics, in batch and as a stream, from our broker and from Apache Kafka."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Protocol

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable

from oncelog.spark.lag import Gauges, LagListener
from oncelog.spark.options import parse_source_options
from oncelog.spark.session import lag
from oncelog.spark.source.planned_offsets import DataLoss
from oncelog.spark.source.stream import StreamReader
from tests.integration.spark.kafka_records import create_topic, eventually, produce, produce_transaction
from tests.support.restarted_queries import run_to_the_end


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


def read(spark: SparkSession, broker: RunningBroker, **options: str) -> DataFrame:
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers} | options
    return spark.read.format("oncelog").options(**given).load()


def values(rows: DataFrame) -> list[str]:
    return sorted(row[0].decode() for row in rows.select("value").collect())


def drain(stream: DataFrame, checkpoint: Path) -> tuple[list[str], list[int]]:
    """Values and batch sizes of what a query delivers before it ends."""
    batches: list[list[str]] = []

    def keep(rows: DataFrame, batch_id: int) -> None:
        batches.append(values(rows))

    writer = stream.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    run_to_the_end(writer.trigger(availableNow=True).start)
    return sorted(value for batch in batches for value in batch), [len(batch) for batch in batches]


def test_row_has_the_columns_of_spark_s_own_connector(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 2, retention_ms="-1")  # its records are old
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    headers = [("h", b"1"), ("h", None)]
    producer.produce(unique_name, b"v", key=b"k", partition=1, timestamp=1_700_000_000_123, headers=headers)
    producer.produce(unique_name, None, partition=0, timestamp=1_700_000_000_456)
    assert producer.flush(120) == 0
    rows = read(spark, broker, subscribe=unique_name, includeHeaders="true").orderBy("partition").collect()
    assert rows[0].asDict(recursive=True) | {"timestamp": None} == {
        "key": None,
        "value": None,
        "topic": unique_name,
        "partition": 0,
        "offset": 0,
        "timestamp": None,
        "timestampType": 0,
        "headers": None,
    }
    assert (bytes(rows[1]["key"]), bytes(rows[1]["value"])) == (b"k", b"v")
    assert rows[1]["timestamp"].timestamp() == 1_700_000_000.123
    assert [(item["key"], item["value"]) for item in rows[1]["headers"]] == [("h", b"1"), ("h", None)]
    plain = read(spark, broker, subscribe=unique_name).columns
    assert plain == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]


def test_aborted_records_are_hidden_unless_read_uncommitted_is_requested(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    address = broker.bootstrap_servers
    create_topic(address, unique_name)
    produce_transaction(address, unique_name, [b"1:in", b"2:in"], commit=True)
    produce_transaction(address, unique_name, [b"3:never"], commit=False)
    produce(address, unique_name, [b"4:in"])
    assert values(read(spark, broker, subscribe=unique_name)) == ["1:in", "2:in", "4:in"]
    dirty = read(spark, broker, subscribe=unique_name, **{"kafka.isolation.level": "read_uncommitted"})
    assert values(dirty) == ["1:in", "2:in", "3:never", "4:in"]


def test_a_batch_read_begins_and_ends_at_the_given_offsets(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    address = broker.bootstrap_servers
    create_topic(address, unique_name, 2)
    produce(address, unique_name, [b"%d:a" % n for n in range(10)], partition=0)
    produce(address, unique_name, [b"%d:b" % n for n in range(10)], partition=1)
    starts = f'{{"{unique_name}": {{"0": 7, "1": -2}}}}'
    ends = f'{{"{unique_name}": {{"0": -1, "1": 2}}}}'
    some = read(spark, broker, subscribe=unique_name, startingOffsets=starts, endingOffsets=ends)
    assert values(some) == ["0:b", "1:b", "7:a", "8:a", "9:a"]
    one = read(spark, broker, assign=f'{{"{unique_name}": [1]}}')
    assert one.count() == 10
    assert read(spark, broker, subscribePattern=f"{unique_name[:-1]}.*").count() == 20
    cut = read(spark, broker, subscribe=unique_name, minPartitions="7")
    assert cut.rdd.getNumPartitions() >= 7
    assert cut.count() == 20
    small = read(spark, broker, subscribe=unique_name, maxRecordsPerPartition="3")
    assert small.rdd.getNumPartitions() == 8


def test_batch_read_begins_at_a_timestamp(spark: SparkSession, broker: RunningBroker, unique_name: str) -> None:
    create_topic(broker.bootstrap_servers, unique_name)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for second in range(5):
        producer.produce(unique_name, b"%d" % second, timestamp=1_700_000_000_000 + second * 1000)
    assert producer.flush(120) == 0
    later = read(spark, broker, subscribe=unique_name, startingTimestamp="1700000003000")
    assert values(later) == ["3", "4"]
    named = f'{{"{unique_name}": {{"0": 1700000001500}}}}'
    between = read(
        spark, broker, subscribe=unique_name, startingOffsetsByTimestamp=named, endingTimestamp="1700000004000"
    )
    assert values(between) == ["2", "3"]
    with pytest.raises(PySparkException, match=r"No record of .* has timestamp 1800000000000"):
        read(spark, broker, subscribe=unique_name, startingTimestamp="1800000000000").count()
    last = {"startingTimestamp": "1800000000000", "startingOffsetsByTimestampStrategy": "latest"}
    assert read(spark, broker, subscribe=unique_name, **last).count() == 0


def test_batch_read_beyond_the_end_or_before_its_begin_fails(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    address = broker.bootstrap_servers
    create_topic(address, unique_name)
    produce(address, unique_name, [b"%d:a" % n for n in range(10)])

    def at(offset: int) -> str:
        return f'{{"{unique_name}": {{"0": {offset}}}}}'

    with pytest.raises(PySparkException, match=r"-0 ends at offset 10 and is to be read to 11: correct endingOffsets"):
        read(spark, broker, subscribe=unique_name, endingOffsets=at(11)).count()
    lenient = read(spark, broker, subscribe=unique_name, endingOffsets=at(11), failOnDataLoss="false")
    assert lenient.count() == 10
    with pytest.raises(PySparkException, match=r"would begin at offset 7 \(startingOffsets\) and end before it, at 4"):
        read(spark, broker, subscribe=unique_name, startingOffsets=at(7), endingOffsets=at(4)).count()


def test_a_position_group_with_active_members_does_not_end_the_query(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    create_topic(address, unique_name)
    produce(address, unique_name, [b"%d:a" % n for n in range(10)])
    group = f"{unique_name}-group"
    member = Consumer({"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest"})
    member.subscribe([unique_name])
    try:
        assert member.poll(120) is not None
        options = {"kafka.bootstrap.servers": address, "subscribe": unique_name, "startingOffsets": "earliest"}
        stream = spark.readStream.format("oncelog").options(**options, commitOffsetsToGroup=group).load()
        found, _ = drain(stream, tmp_path)
        assert len(found) == 10
    finally:
        member.close()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"subscribe": "no-such-topic-here"}, "Topic 'no-such-topic-here' does not exist"),
        (
            {"subscribe": "x", "startingOffset": "latest"},
            "Unknown option 'startingoffset' of format oncelog; did you mean startingOffsets",
        ),
    ],
)
def test_an_invalid_read_is_refused_with_one_clear_sentence(
    spark: SparkSession, oncelog_broker: RunningBroker, options: dict[str, str], text: str
) -> None:
    with pytest.raises(PySparkException, match=text):
        read(spark, oncelog_broker, **options).count()


def test_stream_delivers_each_committed_record_once_over_restarts(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    create_topic(address, unique_name, 1)
    options = {"kafka.bootstrap.servers": address, "subscribe": unique_name, "startingOffsets": "earliest"}
    stream = spark.readStream.format("oncelog").options(**options, maxOffsetsPerTrigger="4").load()
    produce_transaction(address, unique_name, [b"%d:in" % n for n in range(6)], commit=True)
    produce_transaction(address, unique_name, [b"%d:never" % n for n in range(6)], commit=False)
    first, sizes = drain(stream, tmp_path)
    assert first == [f"{n}:in" for n in range(6)]
    assert max(sizes) <= 4
    assert len(sizes) >= 3
    produce_transaction(address, unique_name, [b"8:in"], commit=True)
    produce_transaction(address, unique_name, [b"9:never"], commit=False)
    again, _ = drain(stream, tmp_path)
    assert again == ["8:in"]


def test_progress_reports_lag_and_the_group_holds_the_position(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    create_topic(address, unique_name, 1)
    produce(address, unique_name, [b"%d:x" % n for n in range(10)])
    group = f"{unique_name}-group"
    reports: list[dict[str, Any]] = []
    gauges = Gauges(spark)
    assert gauges.java is not None
    listener = LagListener(reports.append, gauges)
    spark.streams.addListener(listener)
    query = (
        spark.readStream.format("oncelog")
        .option("kafka.bootstrap.servers", address)
        .option("subscribe", unique_name)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "4")
        .option("commitOffsetsToGroup", group)
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path))
        .trigger(processingTime="1 hour")
        .start()
    )
    try:
        deadline = time.monotonic() + 60
        while not reports:
            assert query.exception() is None
            assert time.monotonic() < deadline, f"no report; the query says {query.status}"
            time.sleep(0.1)
        assert lag(query) == 6
        metrics = reports[0]["sources"][0]["metrics"]
        assert (metrics["avgOffsetsBehindLatest"], metrics["maxOffsetsBehindLatest"]) == ("6.0", "6")
        shown = [gauges.java.registry.getGauges().get(f"{query.id}.{name}").getValue() for name in metrics]
        assert shown == [6.0, 6.0, 6.0]
    finally:
        query.stop()
        spark.streams.removeListener(listener)
        gauges.close()
    drained = (
        spark.readStream.format("oncelog")
        .option("kafka.bootstrap.servers", address)
        .option("subscribe", unique_name)
        .option("commitOffsetsToGroup", group)
        .load()
    )
    drain(drained, tmp_path)
    consumer = Consumer({"bootstrap.servers": address, "group.id": group})
    try:
        assert consumer.committed([TopicPartition(unique_name, 0)], timeout=120)[0].offset == 10
    finally:
        consumer.close()


def test_recreated_topic_stops_the_query_unless_loss_is_allowed(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    from confluent_kafka.admin import AdminClient

    address = oncelog_broker.bootstrap_servers
    create_topic(address, unique_name)
    produce(address, unique_name, [b"%d:old" % n for n in range(5)])
    options = {"kafka.bootstrap.servers": address, "subscribe": unique_name, "startingOffsets": "earliest"}
    drain(spark.readStream.format("oncelog").options(**options).load(), tmp_path)
    admin = AdminClient({"bootstrap.servers": address})
    admin.delete_topics([unique_name])[unique_name].result(120)
    create_topic(address, unique_name)
    produce(address, unique_name, [b"1:new"])
    with pytest.raises(PySparkException, match="Records were lost before they were read"):
        drain(spark.readStream.format("oncelog").options(**options).load(), tmp_path)


def test_a_query_beyond_a_truncated_log_stops_or_continues_at_the_logs_end(
    broker: RunningBroker, unique_name: str
) -> None:
    """The checkpoint is at 100 and a batch is planned to 200, but the log ends at 10."""
    create_topic(broker.bootstrap_servers, unique_name)
    produce(broker.bootstrap_servers, unique_name, [b":%d" % n for n in range(10)])
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": unique_name}
    strict = StreamReader(parse_source_options(options, streaming=True))
    for place in (5, 100):
        with pytest.raises(DataLoss, match="-0 ends at offset 10 and"):
            strict.partitions({unique_name: {"0": place}}, {unique_name: {"0": 200}})
    lenient = StreamReader(parse_source_options(options | {"failOnDataLoss": "false"}, streaming=True))
    cut = lenient.latestOffset({unique_name: {"0": 100}}, ReadAllAvailable())
    assert cut[unique_name]["0"] == 10
    produce(broker.bootstrap_servers, unique_name, [b":%d" % n for n in range(10, 15)])
    eventually(lambda: lenient.latestOffset(cut, ReadAllAvailable())[unique_name]["0"], 15)
    tasks = lenient.partitions(cut, lenient.latestOffset(cut, ReadAllAvailable()))
    found = [value for task in tasks for rows in lenient.read(task) for value in rows.column("value").to_pylist()]
    assert found == [b":%d" % n for n in range(10, 15)]
