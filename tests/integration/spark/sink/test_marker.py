"""The marker and what users do to checkpoints, clusters and time: real queries, on our broker and Apache Kafka.

The pure table is in ``tests/unit/spark/sink/test_marker.py``. An expired marker is simulated by a deleted group, since
both leave the same: nothing. Time passes by giving a plan in the checkpoint an earlier date.
"""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from oncelog.client.blocking import Admin
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.errors import ConfigError
from oncelog.records.batch import Record, encode_batch
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.options import parse_sink_options
from oncelog.spark.session import for_each_batch
from oncelog.spark.sink.engine import BatchOutcome, BatchStep, SinkRefused, ignore
from oncelog.spark.sink.planning import now_ms, plan_write
from oncelog.spark.tables.sink import to_table
from oncelog.types import TopicPartition
from tests.integration.spark.kafka_records import (
    committed,
    create_topic,
    eventually,
    produce,
    values,
    wait_until_settled,
)
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.restarted_queries import run_to_the_end, worker_was_late
from tests.support.sink_writes import BatchWrite, commit_batch
from tests.unit.spark.sink.test_checkpoint import spark_writes


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


MONTH_MS = 30 * 24 * 3_600_000


class Job:
    """A query that copies a topic, with its checkpoint in a folder that users may copy, restore and age."""

    def __init__(self, spark: SparkSession, broker: RunningBroker, name: str, folder: Path) -> None:
        self._spark = spark
        self.address = broker.bootstrap_servers
        self.source = create_topic(self.address, f"{name}-in")
        self.sink = create_topic(self.address, f"{name}-out")
        self.checkpoint = folder / "checkpoint"
        self.by_batch = False
        self.reading: dict[str, str] = {}
        self.writing: dict[str, str] = {}
        self.sent = 0

    def send(self, count: int = 10) -> None:
        """That many more records, numbered on."""
        produce(self.address, self.source, [b"%04d:v" % n for n in range(self.sent, self.sent + count)])
        self.sent += count

    def run(self, *, sink: str = "", checkpoint: Path | None = None, **options: str) -> None:
        """Run to the end of what there is."""
        writer = self._writer(checkpoint or self.checkpoint, topic=sink or self.sink, **options)
        run_to_the_end(writer.trigger(availableNow=True).start)
        wait_until_settled(self.address, sink or self.sink)

    def start(self, checkpoint: Path) -> StreamingQuery:
        """A run that does not end."""
        return self._writer(checkpoint, topic=self.sink).start()

    def rested(self, expire: Callable[[], None]) -> StreamingQuery:
        """A query that has processed everything, which was a month ago, and still runs."""
        while True:
            query = self.start(self.checkpoint)
            try:
                query.processAllAvailable()
                break
            except PySparkException as error:
                if not worker_was_late(error):
                    raise
        last = max(int(file.name) for file in (self.checkpoint / "offsets").glob("[0-9]*"))
        for number in range(last + 1):
            self.age(number)
        wait_until_settled(self.address, self.sink)
        expire()
        return query

    def _writer(self, checkpoint: Path, **options: str) -> DataStreamWriter:
        writing = {"kafka.bootstrap.servers": self.address} | self.writing | options
        rows = self._rows().writeStream.option("checkpointLocation", str(checkpoint))
        if self.by_batch:
            return rows.foreachBatch(for_each_batch(writing))
        return rows.format("oncelog").options(**writing)

    def _rows(self) -> DataFrame:
        reader = self._spark.readStream.format("oncelog").option("kafka.bootstrap.servers", self.address)
        wanted = {"subscribe": self.source, "startingOffsets": "earliest"} | self.reading
        return reader.options(**wanted).load().select("value")

    def refused(self, says: str, **given: str) -> str:
        """The sentence of a run that ends with a refusal."""
        with pytest.raises(PySparkException, match=says) as caught:
            self.run(**given)
        return str(caught.value)

    def numbers(self, sink: str = "") -> list[int]:
        return [int(value[:4]) for value in values(committed(self.address, sink or self.sink))]

    def group(self, sink: str = "") -> str:
        query_id = json.loads((self.checkpoint / "metadata").read_text())["id"]
        return f"oncelog-marker-{query_id}-{sink or self.sink}"

    def forget_marker(self) -> None:
        """As after ``offsets.retention.minutes``."""
        admin = AdminClient({"bootstrap.servers": self.address})
        admin.delete_consumer_groups([self.group()])[self.group()].result(120)

    def age(self, batch_id: int, by_ms: int = MONTH_MS) -> None:
        """Make the batch look planned that long ago."""
        file = self.checkpoint / "offsets" / str(batch_id)
        planned = re.sub(r'(?<="batchTimestampMs":)\d+', lambda found: str(int(found[0]) - by_ms), file.read_text())
        file.write_text(planned)
        self.without_checksum(file)

    def crash_before_commit_log(self, batch_id: int) -> None:
        """As a driver leaves it that dies between EndTxn and Spark's commit log."""
        file = self.checkpoint / "commits" / str(batch_id)
        file.unlink()
        self.without_checksum(file)

    def markers(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The group's offsets."""
        with Admin(bootstrap_servers=self.address) as admin:
            return admin.list_consumer_group_offsets(self.group(), negative=True)

    def batch(self) -> int:
        """The number of the last batch that is in."""
        return max(int(json.loads(found.metadata)["batchId"]) for found in self.markers().values())

    def restore_markers(self, markers: dict[TopicPartition, OffsetAndMetadata]) -> None:
        """As in a log that went back to its earlier state."""
        with Admin(bootstrap_servers=self.address) as admin:
            admin.alter_consumer_group_offsets(self.group(), {name: (0, one.metadata) for name, one in markers.items()})

    def without_checksum(self, file: Path) -> None:
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)

    def copied(self, name: str) -> Path:
        return Path(shutil.copytree(self.checkpoint, self.checkpoint.with_name(name)))


@pytest.fixture(params=["format", pytest.param("for_each_batch", marks=pytest.mark.soak)])
def job(
    request: pytest.FixtureRequest, spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> Job:
    """Both ways into the sink, because one piece of code decides for both."""
    found = Job(spark, broker, unique_name, tmp_path)
    found.by_batch = request.param == "for_each_batch"
    return found


@KAFKA_IN_SOAK
def test_the_refusal_of_a_restored_checkpoint_names_the_batch_both_plans_and_the_remedy(job: Job) -> None:
    """Yesterday's checkpoint: batch 1 covers other offsets now, and was taken for "already written" before."""
    job.send()
    job.run()
    yesterday = job.copied("yesterday")
    job.send()
    job.run()
    job.send()
    reported = job.refused("the checkpoint is older than the log", checkpoint=yesterday)
    assert "Batch 1 of query" in reported
    assert f'"{job.source}": {{"0": 20' in reported
    assert f'"{job.source}": {{"0": 30' in reported
    assert "start with a new checkpoint and, as startingOffsets, the offsets up to which the log is written" in reported
    assert job.numbers() == list(range(20))
    job.run()
    assert job.numbers() == list(range(30))


@pytest.mark.soak  # the decision's unit tests have each case of it
def test_a_checkpoint_that_is_several_batches_older_than_the_log_is_refused(job: Job) -> None:
    job.send()
    job.run()
    yesterday = job.copied("yesterday")
    for _ in range(2):
        job.send()
        job.run()
    assert "the log holds batch 2 already" in job.refused("older than the log", checkpoint=yesterday)


@KAFKA_IN_SOAK
def test_a_copied_checkpoint_with_another_topic_never_writes_to_production(job: Job) -> None:
    job.send()
    job.run()
    blue = create_topic(job.address, f"{job.sink}-blue")
    copy = job.copied("copy")
    job.send()
    reported = job.refused("has never written there", sink=blue, checkpoint=copy)
    assert "onMissingMarker" in reported
    assert job.numbers(blue) == []
    job.run(sink=blue, checkpoint=copy, onMissingMarker="write")
    assert job.numbers(blue) == list(range(10, 20))
    job.run()
    assert job.numbers() == list(range(20))
    job.send()
    job.run(sink=blue, checkpoint=copy)
    job.run()
    assert (job.numbers(blue), job.numbers()) == (list(range(10, 30)), list(range(30)))


@KAFKA_IN_SOAK
def test_a_first_batch_written_under_another_prefix_is_refused_but_a_first_batch_of_a_second_sink_is_written(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """The driver died between EndTxn and the commit log of batch 0. Another prefix is another marker, but the
    checkpoint remembers the group of the first; of several sinks each has a group of its own.
    """
    job = Job(spark, broker, unique_name, tmp_path)
    job.send()
    for by_batch in (False, True):
        job.by_batch = by_batch
        job.run()
        job.crash_before_commit_log(0)
        for choice in ("fail", "write"):
            reported = job.refused("as it is written: the topic holds batch 0 of this query under oncelog-marker-",
                               transactionalIdPrefix="other-", onMissingMarker=choice)  # fmt: skip
            assert "onMissingMarker to skip" in reported
        assert job.numbers() == list(range(10))
    named = {"kafka.bootstrap.servers": job.address, "topic": job.sink}
    first, second = for_each_batch(named), for_each_batch(named, name="second")

    def write(rows: DataFrame, batch_id: int) -> None:
        first(rows, batch_id)
        second(rows, batch_id)

    rows = job._rows().writeStream.option("checkpointLocation", str(job.checkpoint))
    run_to_the_end(rows.foreachBatch(write).trigger(availableNow=True).start)
    eventually(job.numbers, [*range(10), *range(10)])


@KAFKA_IN_SOAK
def test_a_query_stopped_longer_than_its_marker_lives_continues(job: Job) -> None:
    """After a month's rest, the batch that is planned next needs no marker, because the last one ended."""
    job.send()
    job.run()
    job.age(0)
    job.forget_marker()
    job.send()
    job.run()
    assert job.numbers() == list(range(20))


@pytest.mark.soak  # a worker of Spark that comes late ends it, and it cannot be begun again
def test_a_running_query_idle_longer_than_its_marker_lives_continues(job: Job) -> None:
    """The query used to die at its next record, and could not be started again."""
    job.send()
    query = job.rested(job.forget_marker)
    job.send()
    eventually(job.numbers, list(range(20)), timeout_s=300)
    query.stop()


@pytest.mark.soak  # the decision's unit tests have each case of it
def test_a_batch_possibly_written_a_month_ago_is_refused_unless_the_user_decides(job: Job) -> None:
    """The driver died between EndTxn and the commit log, also of the first batch, and the marker is gone."""
    job.send()
    job.run()
    job.crash_before_commit_log(0)
    job.age(0)
    job.forget_marker()
    assert "markers may expire after 10080 minutes" in job.refused("cannot be known whether it is written")
    assert job.numbers() == list(range(10))
    job.run(onMissingMarker="skip")
    assert job.numbers() == list(range(10))
    job.send()
    job.run()
    assert job.numbers() == list(range(20))


@KAFKA_IN_SOAK
def test_a_replayed_batch_is_skipped_while_its_marker_exists(job: Job) -> None:
    for _ in range(2):
        job.send()
        job.run()
    job.crash_before_commit_log(1)
    job.run()
    assert job.numbers() == list(range(20))


@KAFKA_IN_SOAK
def test_a_missing_marker_that_cannot_have_expired_is_refused(job: Job) -> None:
    """The log went back to before the first marker, or somebody deleted the group."""
    job.send()
    job.run()
    job.forget_marker()
    job.send()
    job.refused("cannot have expired yet: the log lost it")
    job.run(onMissingMarker="write")
    assert job.numbers() == list(range(20))


@KAFKA_IN_SOAK
def test_a_log_that_lost_batches_is_refused_by_number_and_the_lost_batches_can_be_written_again(job: Job) -> None:
    """After a power failure under the flush policy ``interval``, or on a restored cluster, the marker is older than
    batch N-1.
    """
    job.send()
    job.run()
    before = job.markers()
    for _ in range(2):
        job.send()
        job.run()
    job.restore_markers(before)
    job.send()
    reported = job.refused("batches 1 to 2 are not in this log, whose last is batch 0")
    assert "remove the files above 0, and the hidden .1.crc and so on beside them, from offsets and commits" in reported
    assert "to go on without them, give the sink another transactionalIdPrefix, and set onMissingMarker" in reported
    for folder, number in ((folder, number) for folder in ("offsets", "commits") for number in (1, 2, 3)):
        file = job.checkpoint / folder / str(number)
        file.unlink(missing_ok=True)
        job.without_checksum(file)
    job.run()
    assert job.numbers()[-30:] == list(range(10, 40))


@KAFKA_IN_SOAK
def test_a_sink_without_which_the_query_ran_continues_under_another_prefix(job: Job) -> None:
    job.send()
    job.run()
    before = job.markers()
    job.send()
    job.run()
    job.restore_markers(before)  # as if the query had run without this sink in batch 1
    job.send()
    job.refused("batch 1 is not in this log, whose last is batch 0")
    job.refused("If the sink was renamed, give the sink the name or transactionalIdPrefix", transactionalIdPrefix="b-")
    job.run(transactionalIdPrefix="b-", onMissingMarker="write")
    job.send()
    job.run(transactionalIdPrefix="b-")
    assert job.numbers() == list(range(40))


@pytest.mark.soak  # the decision's unit tests have each case of it
def test_a_cluster_with_another_id_and_no_marker_is_refused(job: Job) -> None:
    job.send()
    job.run()
    job.age(0)
    job.forget_marker()
    memory = next((job.checkpoint / "oncelog").glob("*.json"))
    cluster_id = json.loads(memory.read_text())["clusterId"]
    memory.write_text(memory.read_text().replace(cluster_id, "the-old-one"))
    job.send()
    reported = job.refused("wrote last to the cluster with id the-old-one")
    assert cluster_id in reported
    job.refused("wrote last to the cluster with id the-old-one")
    job.run(onMissingMarker="write")
    job.send()
    job.run()
    assert job.numbers() == list(range(30))


@KAFKA_IN_SOAK
def test_sinks_of_one_query_need_names_and_a_second_write_without_a_name_is_refused(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    job = Job(spark, broker, unique_name, tmp_path)
    options = {"kafka.bootstrap.servers": job.address, "topic": job.sink}
    plain, late = for_each_batch(options), for_each_batch(options, name="late")
    job.send()

    def both(rows: DataFrame, batch_id: int) -> None:
        plain(rows, batch_id)
        late(rows, batch_id)

    def twice(rows: DataFrame, batch_id: int) -> None:
        plain(rows, batch_id)
        for_each_batch(options)(rows, batch_id)

    def start(write: Callable[[DataFrame, int], None], checkpoint: str) -> None:
        writer = job._rows().writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / checkpoint))
        run_to_the_end(writer.trigger(availableNow=True).start)
        wait_until_settled(job.address, job.sink)

    start(both, "both")
    assert sorted(job.numbers()) == sorted([*range(10), *range(10)])
    with pytest.raises(PySparkException, match=r"called twice for batch 0: .* each with a name of its own"):
        start(twice, "twice")


def test_two_sinks_with_one_marker_are_detected_for_any_spelling_of_options(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """The second sink would find the first one's marker, and write nothing."""
    job = Job(spark, oncelog_broker, unique_name, tmp_path)
    options = {"kafka.bootstrap.servers": job.address}
    sinks = [for_each_batch(options | {"topic": job.sink}), for_each_batch(options | {"TOPIC": f" {job.sink}"})]
    job.send()

    def both(rows: DataFrame, batch_id: int) -> None:
        for sink in sinks:
            sink(rows, batch_id)

    writer = job._rows().writeStream.foreachBatch(both).option("checkpointLocation", str(job.checkpoint))
    with pytest.raises(PySparkException, match="called twice for batch 0"):
        run_to_the_end(writer.trigger(availableNow=True).start)


def test_two_sinks_of_one_table_are_detected_and_sinks_of_two_tables_are_not(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """The second sink would find the first one's batch in the table, and write nothing."""
    job = Job(spark, oncelog_broker, unique_name, tmp_path)
    job.send()
    made = [f"{tmp_path}/lake/{name}" for name in ("a", "b", "../lake/b", "c")]

    def run(*tables: str) -> None:
        sinks = [to_table({"format": "delta", "table": table}) for table in tables]

        def each(rows: DataFrame, batch_id: int) -> None:
            for sink in sinks:
                sink(rows.selectExpr("cast(value as string) as value"), batch_id)

        checkpoint = tmp_path / tables[-1].replace("/", "-")
        writer = job._rows().writeStream.foreachBatch(each).option("checkpointLocation", str(checkpoint))
        run_to_the_end(writer.trigger(availableNow=True).start)

    run(made[0], made[3])
    assert [DeltaTable(table).to_pyarrow_table().num_rows for table in (made[0], made[3])] == [10, 10]
    with pytest.raises(PySparkException, match="called twice for batch 0"):
        run(made[1], made[2])
    assert DeltaTable(made[1]).to_pyarrow_table().num_rows == 10


def test_a_write_of_one_batch_in_two_threads_at_once_is_refused(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """The first write, overtaken before it has fenced, would find the second one's marker and write nothing."""
    job = Job(spark, oncelog_broker, unique_name, tmp_path)
    begun, over = threading.Event(), threading.Event()
    refused: list[str] = []

    def wait(step: BatchStep, batch_id: int | None) -> None:
        if step is BatchStep.STARTED:
            begun.set()
            assert over.wait(600)

    options = {"kafka.bootstrap.servers": job.address, "topic": job.sink, "writers": "0"}
    first, second = for_each_batch(options, observe=wait), for_each_batch(options)
    job.send()

    def other(rows: DataFrame, batch_id: int) -> None:
        try:
            assert begun.wait(600)
            second(rows, batch_id)
        except ConfigError as error:
            refused.append(str(error))
        finally:
            over.set()

    def both(rows: DataFrame, batch_id: int) -> None:
        even = "int(left(string(value), 4)) % 2 = 0"
        thread = InheritableThread(target=other, args=(rows.where(even), batch_id))
        thread.start()
        first(rows.where(f"not {even}"), batch_id)
        thread.join()

    writer = job._rows().writeStream.foreachBatch(both).option("checkpointLocation", str(job.checkpoint))
    run_to_the_end(writer.trigger(availableNow=True).start)
    assert refused  # by each thread that was started: Spark begins a query again whose worker came late
    assert all("called twice for batch 0" in text for text in refused)
    wait_until_settled(job.address, job.sink)
    assert job.numbers() == [1, 3, 5, 7, 9]


def test_for_each_batch_refuses_the_number_of_another_batch(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """Batch 1 of the query, called batch 0, would be taken for a repetition of batch 0."""
    job = Job(spark, oncelog_broker, unique_name, tmp_path)
    options = {"kafka.bootstrap.servers": job.address, "topic": job.sink}

    def start() -> None:
        sink = for_each_batch(options)
        writer = job._rows().writeStream.foreachBatch(lambda rows, batch_id: sink(rows, 0))
        writer = writer.option("checkpointLocation", str(job.checkpoint))
        run_to_the_end(writer.trigger(availableNow=True).start)

    job.send()
    start()
    job.send()
    with pytest.raises(PySparkException, match="was called with batch 0, while the query is in batch 1"):
        start()


def test_for_each_batch_refuses_the_checkpoint_of_another_query(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """By the other query's plan, batch 0 would be taken for one that is in."""
    job = Job(spark, oncelog_broker, unique_name, tmp_path)
    job.by_batch = True
    job.send()
    job.run(checkpointLocation=f"file:{job.checkpoint}")
    assert job.numbers() == list(range(10))
    job.refused("the checkpoint of query", checkpoint=tmp_path / "second", checkpointLocation=str(job.checkpoint))
    assert job.numbers() == list(range(10))


def test_an_older_marker_does_not_cause_a_rewrite_if_the_topic_of_the_newest_marker_is_deleted(
    oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """The option was changed in the very batch that is repeated, and the topic that it named was deleted."""
    address = oncelog_broker.bootstrap_servers
    topic, first, second = (create_topic(address, f"{unique_name}-{end}") for end in ("out", "first", "second"))

    def write(batch_id: int, marker: str, **given: str) -> BatchOutcome:
        options = {"kafka.bootstrap.servers": address, "topic": topic, "checkpointLocation": str(tmp_path)}
        chosen = parse_sink_options(options | {"markerTopic": marker} | given, streaming=True)
        planned = plan_write(chosen, batch_id)
        batch = PartitionBatch(topic, 0, 1, bytes(encode_batch([Record(0, now_ms(), None, b"%d" % batch_id)])))
        what = BatchWrite(planned.plan, chosen.marker_partition, 1, 1, [batch])
        engine = cluster_for(chosen).transaction(planned.transactional_id, 60_000)
        return commit_batch(what, engine, ignore, lambda text: None, now_ms, planned.remember)

    for number in (0, 1):
        spark_writes(tmp_path, number, at_ms=now_ms(), ended=number == 0)
    (tmp_path / "metadata").write_text(json.dumps({"id": unique_name}))
    assert [write(0, first), write(1, second), write(1, second)] == [
        BatchOutcome.WRITTEN,
        BatchOutcome.WRITTEN,
        BatchOutcome.SKIPPED,
    ]
    with Admin(bootstrap_servers=address) as admin:
        admin.delete_topics([second])
    for _ in range(2):
        with pytest.raises(SinkRefused, match=f"topic {second}, into which checkpoint"):
            write(1, first)
    assert write(1, first, onMissingMarker="skip") is BatchOutcome.SKIPPED
    assert write(1, first) is BatchOutcome.SKIPPED, "its marker is there again"
    eventually(lambda: values(committed(address, topic)), [b"0", b"1"])


@KAFKA_IN_SOAK
def test_a_batch_declared_written_is_not_written_after_a_crash_before_its_marker(
    broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """A checkpoint of Spark's own connector, which wrote batch 1 and died before Spark's commit log."""
    topic = create_topic(broker.bootstrap_servers, unique_name)
    (tmp_path / "metadata").write_text(json.dumps({"id": unique_name}))
    for number in (0, 1):
        spark_writes(tmp_path, number, at_ms=now_ms(), ended=number == 0)

    class Killed(BaseException):
        """The driver is gone."""

    def kill(step: BatchStep, batch_id: int | None) -> None:
        if step is BatchStep.MARKER_ADDED:
            raise Killed

    def write(observe: Callable[[BatchStep, int | None], None] = ignore) -> BatchOutcome:
        options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "checkpointLocation": str(tmp_path)}
        chosen = parse_sink_options(options | {"topic": topic, "onMissingMarker": "skip"}, streaming=True)
        planned = plan_write(chosen, 1)
        batch = PartitionBatch(topic, 0, 1, bytes(encode_batch([Record(0, now_ms(), None, b"again")])))
        what = BatchWrite(planned.plan, chosen.marker_partition, 1, 1, [batch])
        engine = cluster_for(chosen).transaction(planned.transactional_id, 60_000)
        return commit_batch(what, engine, observe, lambda text: None, now_ms, planned.remember)

    with pytest.raises(Killed):
        write(kill)
    assert [write(), write()] == [BatchOutcome.SKIPPED, BatchOutcome.SKIPPED]
    wait_until_settled(broker.bootstrap_servers, topic)
    assert committed(broker.bootstrap_servers, topic) == []


@KAFKA_IN_SOAK
@pytest.mark.parametrize("tolerates", ["true", "false"])
def test_a_recreated_source_topic_is_read_from_its_beginning_or_stops_the_query(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path, tolerates: str
) -> None:
    job = Job(spark, broker, unique_name, tmp_path)
    job.reading = {"failOnDataLoss": "false" if tolerates == "true" else "true"}
    job.send(100)
    job.run()
    admin = AdminClient({"bootstrap.servers": job.address})
    admin.delete_topics([job.source])[job.source].result(120)
    wait_until_gone(admin, job.source)
    create_topic(job.address, job.source)
    job.send(30)
    if tolerates == "true":
        job.run()
        assert job.numbers() == list(range(130))
    else:
        job.refused(f"topic {job.source} was deleted and recreated")
        assert job.numbers() == list(range(100))


def wait_until_gone(admin: AdminClient, topic: str) -> None:
    eventually(lambda: topic in admin.list_topics(timeout=120).topics, False)


def test_a_wrong_checkpoint_is_refused_before_anything_is_written(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    job = Job(spark, oncelog_broker, unique_name, tmp_path)
    job.send()
    spark.conf.set("spark.sql.streaming.checkpointLocation", str(tmp_path / "by-setting"))
    try:
        query = job._rows().writeStream.format("oncelog").queryName("named").trigger(availableNow=True)
        options = {"kafka.bootstrap.servers": job.address, "topic": job.sink}
        with pytest.raises(PySparkException, match="checkpointLocation is missing: give it to the query itself"):
            run_to_the_end(query.options(**options).start)
    finally:
        spark.conf.unset("spark.sql.streaming.checkpointLocation")
    assert job.numbers() == []
