"""A batch written by the executors, to our broker and to Apache Kafka; read back by confluent-kafka.

``test_executors_cluster.py`` (``make soak``) kills everything that can be killed on a real cluster.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.streaming.query import StreamingQuery

from oncelog.errors import ConfigError, KafkaError
from oncelog.records.partitioner import partition_for_key
from oncelog.spark.executors import Written
from oncelog.spark.executors.shuffle import Volume, shuffle_rows
from oncelog.spark.kafka.lanes import WINDOW
from oncelog.spark.kafka.prefetch import run_ahead
from oncelog.spark.process import this_process
from oncelog.spark.python_worker import JvmConnection, acknowledged
from oncelog.spark.session import for_each_batch, write
from oncelog.spark.sink.engine import BatchStep, Observer, SinkRefused, ignore
from oncelog.spark.sink.rows import Encoding, SinkColumns
from tests.integration.conformance.features import node_of_transaction_version
from tests.integration.conformance.nodes import Node
from tests.integration.spark.crash_query import source_of
from tests.integration.spark.kafka_records import committed, create_topic, eventually, produce, wait_until_settled
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.restarted_queries import run_to_the_end
from tests.support.spark_faults import FaultOnce, PauseAt, PausePoint


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


def rows_of(spark: SparkSession, count: int, tasks: int = 3) -> DataFrame:
    return spark.range(0, count, 1, tasks).selectExpr(
        "cast(id as string) as key", "concat('v', id) as value", "id as ignored"
    )


def write_to(
    rows: DataFrame, broker: RunningBroker, topic: str = "", *, observe: Observer = ignore, **options: str
) -> Written:
    """Options, in which a double underscore stands for a dot."""
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers} | ({"topic": topic} if topic else {})
    given |= {name.replace("__", "."): value for name, value in options.items()}
    written = write(rows, given, observe=observe)
    if topic:
        wait_until_settled(broker.bootstrap_servers, topic)
    return written


@pytest.mark.parametrize(
    ("writers", "path"),
    [
        ("2", "executors"),
        ("auto", "driver"),
        pytest.param("1", "executors", marks=pytest.mark.soak),
        pytest.param("0", "driver", marks=pytest.mark.soak),
    ],
)
def test_every_path_writes_each_row_once_to_the_partition_that_java_chooses(
    spark: SparkSession, broker: RunningBroker, unique_name: str, writers: str, path: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 5)
    written = write_to(rows_of(spark, 400), broker, unique_name, writers=writers)
    found = committed(broker.bootstrap_servers, unique_name)
    assert (written.path, written.rows, written.writers) == (path, 400, int(writers) if path == "executors" else 0)
    assert sorted(int(record.key or b"") for record in found) == list(range(400))
    for record in found:
        assert record.partition == partition_for_key(record.key or b"", 5)
        assert record.value == b"v" + (record.key or b"")


@KAFKA_IN_SOAK
def test_rows_of_one_task_stay_in_order_in_their_partition(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 3)
    write_to(rows_of(spark, 3000, tasks=1), broker, unique_name, writers="2", kafka__batch__size="500")
    for partition in range(3):
        found = committed(broker.bootstrap_servers, unique_name)
        numbers = [int(record.key or b"") for record in found if record.partition == partition]
        assert numbers == sorted(numbers)
        assert len(numbers) > 500


def _sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.array([str(batch.num_rows)])], names=["value"])


def _connections(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in run_ahead(acknowledged(batches), wait=True):
        found = this_process().part(JvmConnection).is_found
        yield pa.RecordBatch.from_pydict({"found": [found]})


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has TCP_QUICKACK")
def test_workers_find_their_connection_to_the_jvm(spark: SparkSession) -> None:
    found = spark.range(0, 2, 1, 2).mapInArrow(_connections, "found boolean").collect()
    assert [row.found for row in found] == [True, True]


@KAFKA_IN_SOAK
@pytest.mark.parametrize("adaptive", ["true", pytest.param("false", marks=pytest.mark.soak)])
def test_rows_are_computed_under_the_settings_of_their_session(
    spark: SparkSession, broker: RunningBroker, unique_name: str, adaptive: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 1)
    session = spark.newSession()
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "3")
    session.conf.set("spark.sql.adaptive.enabled", adaptive)
    before = spark.sparkContext.getLocalProperty("spark.sql.execution.arrow.maxRecordsPerBatch")
    write_to(session.range(0, 7, 1, 1).mapInArrow(_sizes, "value string"), broker, unique_name, writers="1")
    assert Counter(record.value for record in committed(broker.bootstrap_servers, unique_name)) == {b"3": 2, b"1": 1}
    assert spark.sparkContext.getLocalProperty("spark.sql.execution.arrow.maxRecordsPerBatch") == before


def test_spark_hands_a_writer_no_more_bytes_at_once_than_its_lanes_can_send(spark: SparkSession) -> None:
    """PySpark 3.5 knows no limit in bytes: it would hand 10,000 batches of half a megabyte at a time."""
    rows = rows_of(spark, 3000, tasks=1)
    encoding = Encoding(SinkColumns.of(rows.schema, "t"), "t", {"t": 3}, "none", 100)
    shuffled = shuffle_rows(rows, encoding, 1, None, Volume(spark.sparkContext))
    handed = [int(row.value) for row in shuffled.encoded.mapInArrow(_sizes, "value string").collect()]
    assert sum(handed) > 3 * WINDOW
    assert max(handed) <= WINDOW


@KAFKA_IN_SOAK
def test_each_of_several_writers_writes_the_rows_of_several_topics(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    names = [create_topic(broker.bootstrap_servers, f"{unique_name}-{n}", 2) for n in range(3)]
    rows = spark.range(90).selectExpr(
        f"concat('{unique_name}-', id % 3) as topic", "cast(id % 2 as int) as partition", "cast(id as string) as value"
    )
    write_to(rows, broker, writers="2")
    for number, name in enumerate(names):
        wait_until_settled(broker.bootstrap_servers, name)
        found = [(record.partition, int(record.value or b"")) for record in committed(broker.bootstrap_servers, name)]
        assert sorted(found) == sorted((n % 2, n) for n in range(number, 90, 3))


@KAFKA_IN_SOAK
def test_a_batch_write_with_an_id_takes_effect_once_whichever_way_it_is_written(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 2)
    identity = {"transactionalIdPrefix": f"{unique_name}-daily", "batchId": "7"}
    paths = [
        write_to(rows_of(spark, 50), broker, unique_name, writers=writers, **identity).path
        for writers in ("2", "2", "0", "auto")
    ]
    assert paths == ["executors", "none", "none", "none"]
    assert len(committed(broker.bootstrap_servers, unique_name)) == 50


@KAFKA_IN_SOAK
def test_an_empty_batch_is_written_with_its_marker(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 2)
    identity = {"transactionalIdPrefix": f"{unique_name}-daily", "batchId": "7"}
    assert write_to(rows_of(spark, 0), broker, unique_name, writers="2", **identity).path == "executors"
    assert write_to(rows_of(spark, 0), broker, unique_name, writers="2").rows == 0
    assert write_to(rows_of(spark, 50), broker, unique_name, writers="2", **identity).path == "none"
    assert committed(broker.bootstrap_servers, unique_name) == []


STEPS = (BatchStep.PRODUCED, pytest.param(BatchStep.HALF_PRODUCED, marks=pytest.mark.soak))
"""Steps that a writer takes; the others are the driver's.

Each kill repeats a whole stage, so ``make test`` has one: the step at which the writer's records are in the log.
"""


@pytest.mark.parametrize("step", STEPS)
def test_after_a_kill_of_one_writer_at_any_step_all_writers_are_repeated(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path, step: BatchStep
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 4)
    kill = FaultOnce(tmp_path, step)
    written = write_to(rows_of(spark, 2000), broker, unique_name, observe=kill, writers="2")
    assert kill.happened
    assert (written.path, written.rows) == ("executors", 2000)
    found = committed(broker.bootstrap_servers, unique_name)
    assert sorted(int(record.key or b"") for record in found) == list(range(2000))


OLDER = [
    pytest.param(("oncelog", 1), id="oncelog-1"),
    pytest.param(("oncelog", 0), id="oncelog-0", marks=pytest.mark.soak),
    pytest.param(("kafka", 1), id="kafka-1", marks=[pytest.mark.kafka, pytest.mark.soak]),
    pytest.param(("kafka", 0), id="kafka-0", marks=[pytest.mark.kafka, pytest.mark.soak]),
]


@pytest.fixture(params=OLDER)
def older_broker(request: pytest.FixtureRequest) -> Iterator[Node]:
    """A broker with a transaction.version below 2, at which writers name their partitions and epochs stay."""
    kind, level = request.param
    with node_of_transaction_version(kind, level) as node:
        yield node


def test_each_batch_is_written_once_with_the_older_transaction_protocol_too(
    spark: SparkSession, older_broker: Node, unique_name: str, tmp_path: Path
) -> None:
    """Two batches under one id, a writer of the second one killed; and that batch again."""
    create_topic(older_broker.bootstrap_servers, unique_name, 4)
    rows = rows_of(spark, 600)
    kill = FaultOnce(tmp_path, BatchStep.PRODUCED, batch_id=2)
    paths = []
    for number in (1, 2, 2):
        written = write_to(
            rows.where(f"ignored % 2 = {number - 1}"),
            older_broker,
            unique_name,
            observe=kill,
            writers="2",
            transactionalIdPrefix=f"{unique_name}-daily",
            batchId=str(number),
        )
        paths.append(written.path)
    assert kill.happened
    assert paths == ["executors", "executors", "none"]
    found = committed(older_broker.bootstrap_servers, unique_name)
    assert sorted(int(record.key or b"") for record in found) == list(range(600))


@KAFKA_IN_SOAK
def test_executors_write_each_row_of_update_mode_once(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    source, sink = create_topic(address, f"{unique_name}-in", 2), create_topic(address, unique_name, 3)
    produce(address, source, [b"%d:v" % (n % 5) for n in range(100)])
    stream = (
        spark.readStream.format("oncelog")
        .options(**{"kafka.bootstrap.servers": address, "subscribe": source, "startingOffsets": "earliest"})
        .option("maxOffsetsPerTrigger", "40")
        .load()
        .groupBy(col("key"))
        .count()
        .selectExpr("key", "cast(count as string) as value")
    )
    options = {"kafka.bootstrap.servers": address, "topic": sink, "writers": "2"}
    paths: list[str] = []

    def start() -> None:
        writes = for_each_batch(options, on_written=lambda written: paths.append(written.path))
        writer = stream.writeStream.outputMode("update").foreachBatch(writes)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        run_to_the_end(writer.trigger(availableNow=True).start)

    start()
    assert set(paths) == {"executors"}
    before = len(paths)
    newest = max((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    newest.unlink()
    (newest.parent / f".{newest.name}.crc").unlink()
    start()
    assert paths[before] == "none"
    wait_until_settled(address, sink)
    last: dict[bytes, int] = {}
    seen = committed(address, sink)
    for record in seen:
        last[record.key or b""] = max(int(record.value or b""), last.get(record.key or b"", 0))
    assert last == dict(Counter(b"%d" % (n % 5) for n in range(100)))
    assert len(seen) == len({(record.key, record.value) for record in seen})


@pytest.mark.soak
def test_query_that_is_stopped_while_its_writers_write_leaves_nothing_and_continues_later(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    source, sink = create_topic(address, f"{unique_name}-in"), create_topic(address, unique_name, 2)
    produce(address, source, [b"%d:v" % n for n in range(100)])
    options = {"kafka.bootstrap.servers": address, "topic": sink, "writers": "2"}

    def start(observe: Observer) -> StreamingQuery:
        rows = source_of(spark, address, source, 100)
        writer = rows.writeStream.foreachBatch(for_each_batch(options, observe=observe)).trigger(availableNow=True)
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    with PausePoint() as point:
        step, batch, port = point.options(BatchStep.HALF_PRODUCED, 0).values()
        pause = PauseAt(step, batch, port, tmp_path)
        query = start(pause)
        point.wait(lambda: query.isActive, timeout_s=300)
        query.stop()
        assert not query.isActive
    wait_until_settled(address, sink)
    assert committed(address, sink) == []
    run_to_the_end(lambda: start(ignore))
    wait_until_settled(address, sink)
    assert sorted(int(record.key or b"") for record in committed(address, sink)) == list(range(100))


# --- refusals


def test_more_writers_than_spark_slots_are_refused(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oncelog.spark.executors.scheduling.TIMEOUT_S", 0.5)
    create_topic(oncelog_broker.bootstrap_servers, unique_name, 9)
    with pytest.raises(ConfigError, match="writers is 9, but the cluster has 2 slots"):
        write_to(rows_of(spark, 5), oncelog_broker, unique_name, writers="9")


@contextmanager
def another_job(spark: SparkSession, folder: Path) -> Iterator[None]:
    """A job of the same application that holds one slot."""
    begun, over = folder / "begun", folder / "over"

    def hold(_: int) -> None:
        begun.touch()
        while not over.exists():
            time.sleep(0.05)

    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(spark.sparkContext.parallelize([0], 1).foreach, hold)
        try:
            eventually(begun.exists, True, timeout_s=300)
            yield
        finally:
            over.touch()
            job.result(300)


def test_the_wait_for_slots_that_another_job_holds_has_a_limit(
    spark: SparkSession,
    oncelog_broker: RunningBroker,
    unique_name: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """If the user asked for more writers than there are slots, the batch is refused; if the sink chooses, fewer
    write.
    """
    monkeypatch.setattr("oncelog.spark.executors.scheduling.TIMEOUT_S", 0.5)
    monkeypatch.setattr("oncelog.spark.executors.write.DRIVER_BYTES", 0)
    create_topic(oncelog_broker.bootstrap_servers, unique_name, 2)
    with another_job(spark, tmp_path):
        with pytest.raises(ConfigError, match=r"writers is 2, but other jobs .* have left fewer than 2 slots"):
            write_to(rows_of(spark, 5), oncelog_broker, unique_name, writers="2")
        assert write_to(rows_of(spark, 5), oncelog_broker, unique_name).writers == 1
    assert len(committed(oncelog_broker.bootstrap_servers, unique_name)) == 5


@KAFKA_IN_SOAK
def test_transaction_timeout_above_the_brokers_is_refused_naming_both_settings(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 2)
    with pytest.raises(KafkaError, match=r"kafka.transaction.timeout.ms is 900001, .*transaction.max.timeout.ms"):
        write_to(rows_of(spark, 5), broker, unique_name, writers="2", kafka__transaction__timeout__ms="900001")


def test_a_bad_row_fails_the_batch_before_a_transaction_begins(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str
) -> None:
    create_topic(oncelog_broker.bootstrap_servers, unique_name, 2)
    rows = spark.range(5).selectExpr("cast(id as string) as value", "9 as partition")
    with pytest.raises(PySparkException, match=r"partition 9 of topic .*, which has partitions 0 to 1"):
        write_to(rows, oncelog_broker, unique_name, writers="2")
    assert committed(oncelog_broker.bootstrap_servers, unique_name, isolation="read_uncommitted") == []


@KAFKA_IN_SOAK
def test_a_record_too_large_for_the_broker_aborts_the_batch_of_all_writers(
    spark: SparkSession, broker: RunningBroker, unique_name: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 2, max_message_bytes="2000")
    rows = spark.range(2).selectExpr("repeat('x', if(id = 0, 5000, 5)) as value", "cast(id as int) as partition")
    with pytest.raises(SinkRefused, match="MESSAGE_TOO_LARGE"):
        write_to(rows, broker, unique_name, writers="2", kafka__compression__type="none")
    wait_until_settled(broker.bootstrap_servers, unique_name)
    assert committed(broker.bootstrap_servers, unique_name) == []


def test_format_oncelog_refuses_the_option_writers_and_suggests_for_each_batch_and_write(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str
) -> None:
    options = {"kafka.bootstrap.servers": oncelog_broker.bootstrap_servers, "topic": unique_name, "writers": "2"}
    with pytest.raises(PySparkException, match=r"for_each_batch\(options\).*write\(df, options\)"):
        rows_of(spark, 5).write.format("oncelog").options(**options).mode("append").save()
