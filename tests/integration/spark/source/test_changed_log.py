"""The source on a log that has changed: cut and grown again, or another topic's of the same name.

Planned and read by the readers themselves, as Spark does it; no session is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from oncelog.spark.kafka.connections import client_config
from oncelog.spark.kafka.kafka_cluster import KafkaCluster
from oncelog.spark.kafka.place import Json
from oncelog.spark.options import SourceOptions, parse_source_options
from oncelog.spark.source.batch import BatchReader
from oncelog.spark.source.planned_offsets import DataLoss
from oncelog.spark.source.reader import read_partition
from oncelog.spark.source.stream import StreamReader
from tests.integration.spark.kafka_records import create_topic, eventually, produce
from tests.integration.spark.sink.test_sink_crashes import OncelogProcess, Restartable
from tests.integration.spark.source.test_source import RunningBroker
from tests.support.apache_kafka import ApacheKafka


def source(broker: RunningBroker, topic: str, **options: str) -> SourceOptions:
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic, "startingOffsets": "earliest"}
    return parse_source_options(given | options, streaming=True)


def values(options: SourceOptions, tasks: Iterable[InputPartition]) -> list[bytes]:
    return [
        value for task in tasks for rows in read_partition(options, task) for value in rows.column("value").to_pylist()
    ]


def make_again(broker: RunningBroker, topic: str, values: Iterable[bytes]) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_topics([topic])[topic].result(120)
    eventually(lambda: topic in admin.list_topics(timeout=120).topics, False)

    def created() -> bool:
        try:
            create_topic(broker.bootstrap_servers, topic)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # ZooKeeper still has it
                raise
            return False
        return True

    eventually(created, True)
    produce(broker.bootstrap_servers, topic, values)


def test_a_task_reads_nothing_of_a_topic_that_was_recreated_after_the_plan(
    broker: RunningBroker, unique_name: str
) -> None:
    create_topic(broker.bootstrap_servers, unique_name)
    produce(broker.bootstrap_servers, unique_name, [b"%d:old" % n for n in range(10)])
    strict, lenient = source(broker, unique_name), source(broker, unique_name, failOnDataLoss="false")
    stream = StreamReader(lenient)
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadAllAvailable())
    tasks = stream.partitions(start, end)
    batch = BatchReader(strict).partitions()
    make_again(broker, unique_name, [b"%d:new" % n for n in range(15)])
    for planned in (tasks, batch):
        with pytest.raises(DataLoss, match=f"topic {unique_name} was deleted and recreated"):
            values(strict, planned)
        assert values(lenient, planned) == []
    eventually(lambda: int(stream.latestOffset(end, ReadAllAvailable())[unique_name].get("0", -1)), 15)
    tasks = stream.partitions(end, stream.latestOffset(end, ReadAllAvailable()))
    assert values(lenient, tasks) == [b"%d:new" % n for n in range(15)]


def delete(broker: RunningBroker, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_topics([topic])[topic].result(120)
    eventually(lambda: topic in admin.list_topics(timeout=120).topics, False)


def read_all(options: SourceOptions, start: Json | None) -> tuple[list[bytes], Json]:
    """The values of a run with Trigger.AvailableNow, and where it ends."""
    stream = StreamReader(options)
    stream.prepareForTriggerAvailableNow()
    begin = stream.initialOffset() if start is None else start
    found: list[bytes] = []
    while (end := stream.latestOffset(begin, ReadMaxRows(4))) != begin:
        found += values(options, stream.partitions(begin, end))
        begin = end
    return sorted(found), begin


@pytest.mark.parametrize("is_deleted", [True, False])
def test_after_a_topic_is_deleted_or_unsubscribed_one_start_must_tolerate_data_loss(
    broker: RunningBroker, unique_name: str, is_deleted: bool
) -> None:
    """apache/flink-connector-kafka#77 and apache/spark#15820: a topic that is gone was read on, or ended each start."""
    stays, goes = f"{unique_name}-a", f"{unique_name}-b"
    for topic in (stays, goes):
        create_topic(broker.bootstrap_servers, topic)
        produce(broker.bootstrap_servers, topic, [b"0:v"])
    both = f"{stays},{goes}"
    found, place = read_all(source(broker, both), None)
    assert found == [b"0:v", b"0:v"]
    if is_deleted:
        delete(broker, goes)
    with pytest.raises(DataLoss, match=f"{goes}-0 does not exist any more, .* to false for one start"):
        read_all(source(broker, stays), place)
    assert read_all(source(broker, stays, failOnDataLoss="false"), place)[0] == []
    _, place = read_all(source(broker, stays, failOnDataLoss="false"), place)
    produce(broker.bootstrap_servers, stays, [b"1:v"])
    found, place = read_all(source(broker, stays), place)
    assert found == [b"1:v"]
    if is_deleted:
        create_topic(broker.bootstrap_servers, goes)
    produce(broker.bootstrap_servers, goes, [b"2:new"])
    found, place = read_all(source(broker, both), place)
    assert found == [b"2:new"], "also the topic that stayed goes on at its position"
    assert read_all(source(broker, both), place) == ([], place)


def test_topic_deleted_between_two_batches_does_not_hold_up_the_others(broker: RunningBroker, unique_name: str) -> None:
    """Trigger.AvailableNow has its end from its start, so each batch plans the deleted topic, too."""
    stays, goes = f"{unique_name}-a", f"{unique_name}-b"
    for topic in (stays, goes):
        create_topic(broker.bootstrap_servers, topic)
        produce(broker.bootstrap_servers, topic, [b"%d:v" % n for n in range(10)])
    wanted = source(broker, f"{stays},{goes}", failOnDataLoss="false", **{"kafka.default.api.timeout.ms": "1000000"})
    stream = StreamReader(wanted)
    stream.prepareForTriggerAvailableNow()
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadMaxRows(4))
    found = values(wanted, stream.partitions(start, end))
    delete(broker, goes)
    while (start := end) != (end := stream.latestOffset(start, ReadMaxRows(4))):
        found += values(wanted, stream.partitions(start, end))
    assert sorted(found) == sorted([*(b"%d:v" % n for n in range(10)), b"0:v", b"1:v"])


class WithoutIds(KafkaCluster):
    """Sees a cluster as one that gives no topic ids, as Apache Kafka with ``inter.broker.protocol.version`` 2.7."""

    async def ids_of(self, topics: Sequence[str]) -> dict[str, str]:
        return {}


def test_a_recreated_longer_topic_without_an_id_is_detected(broker: RunningBroker, unique_name: str) -> None:
    create_topic(broker.bootstrap_servers, unique_name)
    produce(broker.bootstrap_servers, unique_name, [b"%d:old" % n for n in range(100)], partition=0)
    strict, lenient = source(broker, unique_name), source(broker, unique_name, failOnDataLoss="false")
    cluster = WithoutIds.connect(client_config(strict.client), strict.cluster)
    stream = StreamReader(strict, lambda _: cluster)
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadAllAvailable())
    assert end[unique_name].keys() >= {"0", "marks"} and "id" not in end[unique_name]
    assert len(values(strict, stream.partitions(start, end))) == 100
    produce(broker.bootstrap_servers, unique_name, [b"%d:old" % n for n in range(100, 110)], partition=0)
    grown = eventually_grown(stream, end, unique_name, 110)
    assert values(strict, stream.partitions(end, grown)) == [b"%d:old" % n for n in range(100, 110)]
    make_again(broker, unique_name, [b"%d:new" % n for n in range(150)])
    with pytest.raises(DataLoss, match=f"topic {unique_name} was deleted and recreated, or its log written again"):
        StreamReader(strict, lambda _: cluster).latestOffset(grown, ReadAllAvailable())
    goes_on = StreamReader(lenient, lambda _: cluster)
    new = goes_on.latestOffset(grown, ReadAllAvailable())
    assert values(lenient, goes_on.partitions(grown, new)) == [b"%d:new" % n for n in range(150)]
    assert StreamReader(lenient, lambda _: cluster).partitions(start, grown) == []


@pytest.mark.kafka
def test_a_recreated_topic_of_kafka_2_8_with_protocol_2_7_is_detected(tmp_path: Path) -> None:
    with ApacheKafka(tmp_path, {"inter.broker.protocol.version": "2.7"}, version="2.8.2") as kafka:
        create_topic(kafka.bootstrap_servers, "orders")
        produce(kafka.bootstrap_servers, "orders", [b"%d:old" % n for n in range(100)], partition=0)
        strict, lenient = source(kafka, "orders"), source(kafka, "orders", failOnDataLoss="false")
        stream = StreamReader(strict)
        start = stream.initialOffset()
        end = eventually_grown(stream, start, "orders", 100)
        assert end["orders"].keys() >= {"0", "marks"} and "id" not in end["orders"]
        assert len(values(strict, stream.partitions(start, end))) == 100
        make_again(kafka, "orders", [b"%d:new" % n for n in range(150)])
        with pytest.raises(DataLoss, match="topic orders was deleted and recreated, or its log written again"):
            StreamReader(strict).latestOffset(end, ReadAllAvailable())
        goes_on = StreamReader(lenient)
        new = goes_on.latestOffset(end, ReadAllAvailable())
        assert values(lenient, goes_on.partitions(end, new)) == [b"%d:new" % n for n in range(150)]


def eventually_grown(stream: StreamReader, start: Json, topic: str, end: int) -> Json:
    """A plan that reaches ``end``; an acknowledged record is visible when the high watermark is behind it."""
    eventually(lambda: stream.latestOffset(start, ReadAllAvailable())[topic]["0"], end)
    return stream.latestOffset(start, ReadAllAvailable())


@pytest.fixture(params=["oncelog", pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.soak])])
def cut(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Restartable, Path]]:
    """A broker for this test alone, and the folder of its logs."""
    if request.param == "oncelog":
        ours = OncelogProcess(tmp_path / "broker").start()
        yield ours, tmp_path / "broker"
        ours.kill()
    else:
        with ApacheKafka(tmp_path / "broker") as kafka:
            yield kafka, kafka.data_folder


def cut_off(broker: Restartable, partition: Path, records: int) -> None:
    """Kill the broker, remove what its log holds from the single-record batch ``records`` on, start it again."""
    broker.kill()
    log = partition / f"{0:020}.log"
    data = log.read_bytes()
    position = 0
    for _ in range(records):
        position += 12 + int.from_bytes(data[position + 8 : position + 12])
    log.write_bytes(data[:position])
    for name in (".index", ".timeindex"):
        log.with_suffix(name).unlink(missing_ok=True)
    broker.start()


def produce_singly(broker: Restartable, topic: str, values: Iterable[bytes]) -> None:
    """Each record in a batch of its own."""
    for value in values:
        produce(broker.bootstrap_servers, topic, [value], partition=0)


def test_a_log_that_was_truncated_and_has_grown_again_is_detected(
    cut: tuple[Restartable, Path], unique_name: str, tmp_path: Path
) -> None:
    """Noticed by the plan of the next batch, by a repeated plan, and by a task whose plan was made before."""
    broker, folder = cut
    create_topic(broker.bootstrap_servers, unique_name)
    produce_singly(broker, unique_name, [b"%d:old" % n for n in range(10)])
    strict, lenient = source(broker, unique_name), source(broker, unique_name, failOnDataLoss="false")
    stream = StreamReader(lenient)
    start = stream.initialOffset()
    end: Json = stream.latestOffset(start, ReadAllAvailable())
    assert end[unique_name]["epochs"].keys() == {"0"}
    tasks = stream.partitions(start, end)
    partition = next(folder.rglob(f"{unique_name}-0"))
    cut_off(broker, partition, 6)
    produce_singly(broker, unique_name, [b"%d:new" % n for n in range(6, 12)])
    with pytest.raises(DataLoss, match="its log has been truncated to offset 6 since"):
        values(strict, tasks)
    old = [b"%d:old" % n for n in range(6)]
    assert values(lenient, tasks) == old
    again = StreamReader(strict)
    with pytest.raises(DataLoss, match="its log has been truncated to offset 6 since"):
        again.latestOffset(end, ReadAllAvailable())
    with pytest.raises(DataLoss, match="its log has been truncated to offset 6 since"):
        again.partitions(start, end)
    going_on = StreamReader(lenient)
    assert values(lenient, going_on.partitions(start, end)) == old
    after = going_on.latestOffset(end, ReadAllAvailable())
    assert values(lenient, going_on.partitions(end, after)) == [b"%d:new" % n for n in range(6, 12)]
    assert going_on.latestOffset(after, ReadAllAvailable()) == after


def test_a_restart_after_which_no_data_is_lost_reports_no_loss(cut: tuple[Restartable, Path], unique_name: str) -> None:
    """Each start begins a new leader epoch, for the plan and for a task whose plan was made before."""
    broker, _ = cut
    create_topic(broker.bootstrap_servers, unique_name)
    produce(broker.bootstrap_servers, unique_name, [b"%d:v" % n for n in range(10)])
    strict = source(broker, unique_name)
    stream = StreamReader(strict)
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadAllAvailable())
    tasks = stream.partitions(start, end)
    broker.kill()
    broker.start()
    assert len(values(strict, tasks)) == 10
    produce(broker.bootstrap_servers, unique_name, [b"%d:v" % n for n in range(10, 15)])
    eventually(lambda: stream.latestOffset(end, ReadAllAvailable())[unique_name]["0"], 15)
    after = stream.latestOffset(end, ReadAllAvailable())
    assert after[unique_name]["epochs"]["0"] > end[unique_name]["epochs"]["0"]
    assert len(values(strict, stream.partitions(end, after))) == 5
