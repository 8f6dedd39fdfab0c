"""Writing topics, in batch and as a stream, to our broker and to Apache Kafka; read back by confluent-kafka."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, window
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructType

from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.errors import TopicAlreadyExistsError
from oncelog.records.partitioner import partition_for_key
from oncelog.spark.options import parse_sink_options
from oncelog.spark.session import for_each_batch
from oncelog.spark.sink.writers import begin_stream
from tests.integration.spark.kafka_records import (
    committed,
    create_topic,
    eventually,
    markers,
    produce,
    values,
    wait_until_settled,
)
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.restarted_queries import run_to_the_end


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


def write(rows: DataFrame, broker: RunningBroker, **options: str) -> None:
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers} | options
    rows.write.format("oncelog").options(**given).mode("append").save()
    if "topic" in options:
        wait_until_settled(broker.bootstrap_servers, options["topic"])


def source(spark: SparkSession, broker: RunningBroker, topic: str, **options: str) -> DataFrame:
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic, "startingOffsets": "earliest"}
    return spark.readStream.format("oncelog").options(**given | options).load()


def run(stream: DataFrame, broker: RunningBroker, checkpoint: Path, *, mode: str = "append", **options: str) -> str:
    """Run a query to its end; returns its id."""
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "checkpointLocation": str(checkpoint)} | options
    writer = stream.writeStream.format("oncelog").options(**given).outputMode(mode).trigger(availableNow=True)
    query = run_to_the_end(writer.start)
    if "topic" in options:
        wait_until_settled(broker.bootstrap_servers, options["topic"])
    return str(query.id)


# --- batch


@KAFKA_IN_SOAK
def test_batch_write_places_keys_as_java_does_and_keeps_headers(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 3)
    rows = spark.range(200).selectExpr(
        "cast(id as string) as key",
        "concat('v', id) as value",
        "array(named_struct('key', 'h', 'value', cast('x' as binary))) as headers",
    )
    write(rows, broker, topic=unique_name)
    found = committed(broker.bootstrap_servers, unique_name)
    assert sorted(record.key or b"" for record in found) == sorted(b"%d" % n for n in range(200))
    for record in found:
        assert record.value == b"v" + (record.key or b"")
        assert record.partition == partition_for_key(record.key or b"", 3)
        assert record.headers == [("h", b"x")]


@KAFKA_IN_SOAK
def test_rows_can_name_their_topic_and_partition(spark: SparkSession, broker: RunningBroker, unique_name: str) -> None:
    address = broker.bootstrap_servers
    names = [create_topic(address, f"{unique_name}-{n}", 2) for n in range(2)]
    rows = spark.createDataFrame(
        [(names[0], 1, None, "a"), (names[1], 0, b"k", "b"), (names[0], 0, None, None)],
        "topic string, partition int, key binary, value string",
    )
    write(rows, broker)
    for name in names:
        wait_until_settled(address, name)
    assert [(r.partition, r.key, r.value) for r in committed(address, names[0])] == [(0, None, None), (1, None, b"a")]
    assert [(r.partition, r.key, r.value) for r in committed(address, names[1])] == [(0, b"k", b"b")]


def test_failed_batch_write_leaves_nothing_visible(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 2)
    rows = spark.range(0, 1000, 1, 4).selectExpr("if(id = 999, raise_error('no'), cast(id as string)) as value")
    with pytest.raises(PySparkException):
        write(rows, broker, topic=unique_name)
    assert committed(broker.bootstrap_servers, unique_name, isolation="read_uncommitted") == []


@KAFKA_IN_SOAK
def test_batch_writes_with_ids_are_each_written_once_in_any_order(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 2)
    name = {"topic": unique_name, "transactionalIdPrefix": f"{unique_name}-nightly"}
    for day in (20250102, 20250103, 20250101, 20250102, 20250101):
        rows = spark.range(10).selectExpr(f"concat({day}, ':', id) as value")
        write(rows, broker, batchId=str(day), **name)
    found = Counter(value.split(b":")[0] for value in values(committed(broker.bootstrap_servers, unique_name)))
    assert found == {b"20250101": 10, b"20250102": 10, b"20250103": 10}


@KAFKA_IN_SOAK
def test_a_batch_id_that_was_written_to_another_topic_does_not_skip_the_write(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    rows = spark.range(5).selectExpr("cast(id as string) as value")
    for topic in (f"{unique_name}-a", f"{unique_name}-b"):
        create_topic(broker.bootstrap_servers, topic)
        write(rows, broker, topic=topic, transactionalIdPrefix=unique_name, batchId="1")
        assert len(committed(broker.bootstrap_servers, topic)) == 5


@KAFKA_IN_SOAK
def test_a_batch_write_without_an_id_is_written_each_time(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name)
    rows = spark.range(5).selectExpr("cast(id as string) as value")
    write(rows, broker, topic=unique_name)
    write(rows, broker, topic=unique_name)
    assert len(committed(broker.bootstrap_servers, unique_name)) == 10


@pytest.mark.parametrize(
    ("columns", "options", "text"),
    [
        ("cast(id as string) as value", {"topic": "t", "maxBatchBytes": "100"}, "maxBatchBytes .100. may not travel"),
        ("id as value", {"topic": "t"}, "Column value has type bigint, but must be string or binary"),
        ("cast(id as string) as value", {}, "Name the destination: with the option topic"),
        ("cast(id as string) as value", {"topic": "t", "markerTopic": "no topic"}, "'no topic' cannot be used"),
        (
            "cast(id as string) as value",
            {"topic": "t", "kafka.acks": "1"},
            "exactly-once writing needs every in-sync replica",
        ),
        ("cast(id as string) as value", {"topic": "t", "topicc": "x"}, "Unknown option 'topicc'.*did you mean topic"),
        ("cast(id as string) as value, 7 as partition", {"topic": "t"}, "names partition 7 of topic t, which has"),
        ("cast(id as string) as value, 'none-such' as topic", {}, "'none-such', named by a row, does not exist"),
    ],
)
def test_an_invalid_write_is_refused_with_one_clear_sentence(
    spark: SparkSession, oncelog_broker: RunningBroker, columns: str, options: dict[str, str], text: str
) -> None:
    with Admin(bootstrap_servers=oncelog_broker.bootstrap_servers) as admin, suppress(TopicAlreadyExistsError):
        admin.create_topics([NewTopic("t", 1)])
    rows = spark.range(1000).selectExpr(*columns.split(", "))
    with pytest.raises(PySparkException, match=text):
        write(rows, oncelog_broker, **options)


@pytest.mark.parametrize("way", ["batch", "stream", "for_each_batch"])
def test_a_misspelt_topic_is_refused_and_not_created(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path, way: str
) -> None:
    """Both brokers create topics that somebody names, unless they are told not to."""
    address = broker.bootstrap_servers
    source, right = (create_topic(address, f"{unique_name}-{end}") for end in ("in", "flights"))
    produce(address, source, [b"a", b"b"])
    wrong = f"{unique_name}-fligths"
    stream = spark.readStream.format("oncelog").option("kafka.bootstrap.servers", address)
    rows = stream.option("subscribe", source).option("startingOffsets", "earliest").load().select("value")

    def run(**options: str) -> None:
        given = {"kafka.bootstrap.servers": address} | options
        if way == "batch":
            spark.createDataFrame([("a",), ("b",)], "value string").write.format("oncelog").options(**given).mode(
                "append"
            ).save()
            return
        writer = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        if way == "stream":
            run_to_the_end(writer.format("oncelog").options(**given).start)
        else:
            run_to_the_end(writer.foreachBatch(for_each_batch(given)).start)

    reported = (
        f"Topic '{wrong}' does not exist at .*; did you mean {right}. Correct the name, or have it created with the"
    )
    with pytest.raises(PySparkException, match=reported):
        run(topic=wrong)
    with Admin(bootstrap_servers=address) as admin:
        assert wrong not in admin.list_topics()
    run(topic=wrong, createTopics='{"partitions": 3, "retention.ms": "-1"}')
    with Admin(bootstrap_servers=address) as admin:
        assert len(admin.partitions(wrong)) == 3
    assert sorted(values(committed(address, wrong))) == [b"a", b"b"]


def test_overwriting_a_topic_is_refused(spark: SparkSession, oncelog_broker: RunningBroker) -> None:
    rows = spark.range(1).selectExpr("cast(id as string) as value")
    options = {"kafka.bootstrap.servers": oncelog_broker.bootstrap_servers, "topic": "t"}
    with pytest.raises(PySparkException, match="cannot be overwritten: use INSERT INTO, or mode"):
        rows.write.format("oncelog").options(**options).mode("overwrite").save()


# --- streams


def test_stream_copies_each_record_once_and_leaves_its_marker(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    created = [create_topic(address, f"{unique_name}-{end}", 2) for end in ("in", "out")]
    produce(address, created[0], [b"%d:v" % n for n in range(30)])
    stream = source(spark, broker, created[0], maxOffsetsPerTrigger="10").select("key", "value")
    query_id = run(stream, broker, tmp_path, topic=created[1])
    produce(address, created[0], [b"%d:v" % n for n in range(30, 40)])
    assert run(stream, broker, tmp_path, topic=created[1]) == query_id
    found = committed(address, created[1])
    assert sorted(int(record.key or b"") for record in found) == list(range(40))
    marker = markers(address, f"oncelog-marker-{query_id}-{created[1]}", created[1])
    assert marker["queryId"] == query_id
    assert int(str(marker["batchId"])) >= 3


@KAFKA_IN_SOAK
def test_a_stream_continues_after_empty_batches(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    created = [create_topic(address, f"{unique_name}-{end}") for end in ("in", "out")]
    produce(address, created[0], [b"%d:drop" % n for n in range(6)])
    stream = source(spark, broker, created[0], maxOffsetsPerTrigger="3")
    kept = stream.where(col("value").cast("string").endswith("keep")).selectExpr(f"'{created[1]}' as topic", "value")
    query_id = run(kept, broker, tmp_path)
    assert markers(address, f"oncelog-marker-{query_id}", "__consumer_offsets")["rows"] == 0
    produce(address, created[0], [b"7:keep"])
    run(kept, broker, tmp_path)
    eventually(lambda: values(committed(address, created[1])), [b"7:keep"])


@KAFKA_IN_SOAK
def test_retried_tasks_leave_no_duplicate(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    created = [create_topic(address, f"{unique_name}-{end}", 2) for end in ("in", "out")]
    produce(address, created[0], [b"%d:v" % n for n in range(40)])
    died = str(tmp_path / "died")

    def die_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import signal
        from pathlib import Path as WorkerPath

        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        yield from batches
        mark = WorkerPath(f"{died}-{context.partitionId()}")
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    rows = source(spark, broker, created[0]).select("key", "value")
    run(rows.mapInArrow(die_once, rows.schema), broker, tmp_path / "checkpoint", topic=created[1])
    assert list(tmp_path.glob("died-*"))
    found = committed(address, created[1], isolation="read_uncommitted")
    assert sorted(int(record.key or b"") for record in found) == list(range(40))


def counted(spark: SparkSession, broker: RunningBroker, topic: str) -> DataFrame:
    """Counts by ten-second windows of a time that the value contains."""
    seconds = col("value").cast("string").substr(1, 4).cast("int").cast("timestamp")
    events = source(spark, broker, topic, maxOffsetsPerTrigger="10").select(seconds.alias("time"))
    windows = events.withWatermark("time", "10 seconds").groupBy(window("time", "10 seconds")).count()
    return windows.selectExpr("cast(unix_timestamp(window.start) as string) as key", "cast(count as string) as value")


@KAFKA_IN_SOAK
def test_each_window_is_written_once_in_append_mode(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    created = [create_topic(address, f"{unique_name}-{end}") for end in ("in", "out")]
    produce(address, created[0], [b"%04d:e" % n for n in range(60)])
    run(counted(spark, broker, created[0]), broker, tmp_path, topic=created[1])
    produce(address, created[0], [b"%04d:e" % n for n in range(60, 70)] + [b"0200:end"])
    run(counted(spark, broker, created[0]), broker, tmp_path, topic=created[1])
    found = {record.key: record.value for record in committed(address, created[1])}
    assert found == {b"%d" % start: b"10" for start in range(0, 70, 10)}
    assert len(committed(address, created[1])) == 7


def test_complete_mode_writes_the_whole_result_each_time(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = oncelog_broker.bootstrap_servers
    created = [create_topic(address, f"{unique_name}-{end}") for end in ("in", "out")]
    totals = source(spark, oncelog_broker, created[0]).groupBy().count().selectExpr("cast(count as string) as value")
    for batch in range(2):
        produce(address, created[0], [b"%d:v" % n for n in range(5)])
        run(totals, oncelog_broker, tmp_path, mode="complete", topic=created[1])
        assert values(committed(address, created[1]))[-1] == b"%d" % (5 * (batch + 1))


@KAFKA_IN_SOAK
def test_for_each_batch_writes_the_rows_of_update_mode_once(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    created = [create_topic(address, f"{unique_name}-{end}") for end in ("in", "out")]
    produce(address, created[0], [b"%d:v" % (n % 3) for n in range(9)])
    rows = source(spark, broker, created[0]).groupBy("key").count().selectExpr("key", "cast(count as string) as value")
    sink = for_each_batch({"kafka.bootstrap.servers": address, "topic": created[1]})

    writer = rows.writeStream.foreachBatch(sink).outputMode("update").option("checkpointLocation", str(tmp_path))
    run_to_the_end(writer.trigger(availableNow=True).start)
    wait_until_settled(address, created[1])
    assert {record.key: record.value for record in committed(address, created[1])} == dict.fromkeys(
        [b"0", b"1", b"2"], b"3"
    )
    assert len(committed(address, created[1])) == 3


class Totals(StatefulProcessor):
    """Counts the values of each key over the life of the query."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._total = handle.getValueState("total", "count bigint")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        known = self._total.get()
        total = (known[0] if known is not None else 0) + sum(len(frame) for frame in rows)
        self._total.update((total,))
        yield pd.DataFrame({"key": [key[0]], "value": [str(total)]})

    def close(self) -> None:
        """Nothing is held."""


@pytest.mark.soak
def test_state_of_transform_with_state_and_output_agree_over_a_restart(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    created = [create_topic(address, f"{unique_name}-{end}") for end in ("in", "out")]
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    try:
        for _ in range(2):
            produce(address, created[0], [b"%d:v" % (n % 2) for n in range(10)])
            keyed = source(spark, broker, created[0]).selectExpr("cast(key as string) as key", "value").groupBy("key")
            rows = keyed.transformWithStateInPandas(Totals(), "key string, value string", "Update", "None")
            run(rows, broker, tmp_path, topic=created[1])
    finally:
        spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
    found = Counter((record.key, record.value) for record in committed(address, created[1]))
    assert found == Counter({(key, total): 1 for key in (b"0", b"1") for total in (b"5", b"10")})


def test_no_password_is_sent_to_tasks_and_options_list_the_topics(
    oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = oncelog_broker.bootstrap_servers
    (tmp_path / "metadata").write_text('{"id":"q"}')
    for name in (unique_name, f"{unique_name}-2", f"{unique_name}-other"):
        create_topic(address, name, 1)
    options = {
        "kafka.bootstrap.servers": address,
        "kafka.ssl.key.password": "hunter2",
        "topics": f"{unique_name},{unique_name}-2",
        "checkpointLocation": str(tmp_path),
    }
    schema = StructType.fromDDL("topic string, value string")
    writer = begin_stream(schema, parse_sink_options(options, streaming=True), lambda step, batch: None)
    for_tasks, for_driver = cloudpickle.dumps(writer), cloudpickle.dumps(writer)
    assert b"hunter2" not in for_tasks
    assert f"{unique_name}-2".encode() in for_tasks
    assert f"{unique_name}-other".encode() not in for_tasks
    assert b"hunter2" in for_driver


def test_rows_may_name_only_the_topics_that_were_listed(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str
) -> None:
    address = oncelog_broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-2"):
        create_topic(address, name, 1)
    rows = spark.createDataFrame([(unique_name, "a"), (f"{unique_name}-2", "b")], "topic string, value string")
    options = {"kafka.bootstrap.servers": address}
    writer = rows.write.format("oncelog").options(**options).mode("append")
    with pytest.raises(PySparkException, match=r"names topic .*-2', which is not in the option topics"):
        writer.option("topics", unique_name).save()
    writer.option("topics", f"{unique_name},{unique_name}-2").save()
    wait_until_settled(address, unique_name)
    assert values(committed(address, unique_name)) == [b"a"]
    big = spark.createDataFrame([("abcd",)], "value string").write.format("oncelog").mode("append")
    big = big.options(**options, topic=unique_name).option("kafka.max.request.size", "3")
    with pytest.raises(PySparkException, match=r"more than kafka\.max\.request\.size \(3\) allows"):
        big.save()
