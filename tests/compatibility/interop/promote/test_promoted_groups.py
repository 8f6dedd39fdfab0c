"""What groups and coordinators had pending when a folder was promoted, and how Apache Kafka continues with it.

Groups of both protocols, positions that wait for their transaction, the marker of a Spark query, a decided transaction
without its markers, and one that hangs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from confluent_kafka import Consumer as ConfluentConsumer

from oncelog import Admin, Broker, Consumer, Producer
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, batch
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, new_pid
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.errors import KafkaError
from oncelog.records.batch import Record, encode_batch
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.options import TopicCreation, parse_sink_options
from oncelog.spark.sink.engine import BatchOutcome, ignore
from oncelog.spark.sink.planning import now_ms, plan_write
from oncelog.types import TopicPartition
from tests.compatibility.interop.promote.test_promote import NEVER_MS, digests, promote, wait_for_leader
from tests.support.apache_kafka import ApacheKafka
from tests.support.crash_rounds.node import ServeProcess
from tests.support.sink_writes import BatchWrite, commit_batch
from tests.unit.spark.sink.test_checkpoint import spark_writes

pytestmark = pytest.mark.kafka

IN = TopicPartition("in", 0)
SETTINGS = {"transaction.partition.verification.enable": False, "group.initial.rebalance.delay.ms": 0}
"""Without verification a stray batch may begin a transaction that no coordinator knows."""


@dataclass
class Promoted:
    """Apache Kafka on the folder, and what clients of our broker knew."""

    kafka: ApacheKafka
    checkpoint: Path
    pending: RawTransactionalProducer
    hanging: int
    """Producer id of the hanging transaction."""

    @property
    def servers(self) -> str:
        return self.kafka.bootstrap_servers


def read_on(servers: str, group: str, protocol: str, most: int) -> list[bytes | None]:
    """The group's next values, each committed after it is read."""
    with Consumer(
        IN.topic,
        bootstrap_servers=servers,
        group_id=group,
        group_protocol=protocol,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        values: list[bytes | None] = []
        while len(values) < most:
            values.append(next(consumer).value)
            consumer.commit()
    return values


def spark_batch(servers: str, checkpoint: Path, number: int) -> BatchOutcome:
    """A batch of a query, as the sink's ``commit()`` writes it."""
    given = {"kafka.bootstrap.servers": servers, "topic": "out", "checkpointLocation": str(checkpoint)}
    chosen = parse_sink_options(given, streaming=True)
    cluster = cluster_for(chosen)
    cluster.create_topics(["out"], TopicCreation(1))
    planned = plan_write(chosen, number)
    records = bytes(encode_batch([Record(0, now_ms(), None, b"batch %d" % number)]))
    what = BatchWrite(planned.plan, chosen.marker_partition, 1, 1, [PartitionBatch("out", 0, 1, records)])
    engine = cluster.transaction(planned.transactional_id, 60_000)
    return commit_batch(what, engine, ignore, lambda text: None, now_ms, planned.remember)


def promote_to(kafka: ApacheKafka, data: Path, node: Path) -> dict[str, Any]:
    return promote(data, node, "--listen", kafka.bootstrap_servers, "--controller", kafka.controller)


@pytest.fixture(scope="module")
def promoted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Promoted]:
    folder = tmp_path_factory.mktemp("groups")
    checkpoint = folder / "checkpoint"
    spark_writes(checkpoint, 0, at_ms=now_ms(), ended=False)
    with Broker(folder / "data", settings=SETTINGS) as broker:
        servers = broker.bootstrap_servers
        connection = RawConnection(servers)
        for topic in (IN.topic, "decided", "hanging"):
            connection.create_topic(topic)
        for number in range(10):
            assert connection.produce(IN.topic, batch(b"%d" % number)).error == 0
        assert read_on(servers, "classic", "classic", 4) == [b"0", b"1", b"2", b"3"]
        assert read_on(servers, "new", "consumer", 6)[-1] == b"5"
        assert spark_batch(servers, checkpoint, 0) is BatchOutcome.WRITTEN
        pending = RawTransactionalProducer(connection, "pending", version_2=True, timeout_ms=NEVER_MS).init()
        pending.send_offsets("waiting", {IN: 9})
        stray = new_pid(connection)
        sent = connection.produce(
            "hanging", batch(b"stray", pid=stray, epoch=0, sequence=0, attributes=TRANSACTIONAL), transactional_id="x"
        )
        assert sent.error == 0
        assert connection.produce("hanging", batch(b"behind")).error == 0
        broker.faults.hold_markers(topic="decided")
        decided = Producer(bootstrap_servers=servers, transactional_id="decided").start()
        decided.begin_transaction()
        decided.send("decided", b"decided")
        decided.send(IN.topic, b"decided")
        decided.commit_transaction()
        with Admin(bootstrap_servers=servers) as admin:
            assert admin.describe_transactions(["decided"])[0].state == "PrepareCommit"
        decided.stop()
        connection.close()
    digest = digests(folder / "data")
    kafka = ApacheKafka(folder / "kafka")
    done = promote_to(kafka, folder / "data", folder / "node")
    assert [found["transactional_id"] for found in done["decided_transactions"]] == ["decided"]
    assert digests(folder / "data") == digest
    try:
        kafka.start_promoted(folder / "node")
        yield Promoted(kafka, checkpoint, pending, stray)
    finally:
        kafka.stop()


def test_a_decided_transaction_without_markers_is_completed(promoted: Promoted) -> None:
    connection = RawConnection(promoted.servers)
    wait_for_leader(connection, "decided", 0)
    assert connection.read_committed("decided") == [b"decided"]
    with Admin(bootstrap_servers=promoted.servers) as admin:
        assert admin.describe_transactions(["decided"])[0].state == "CompleteCommit"


def test_decided_transactions_of_a_killed_broker_are_complete_and_open_ones_stay_open(tmp_path: Path) -> None:
    node = ServeProcess(tmp_path, {})
    node.arguments = ("--faults", "127.0.0.1:0")
    node.start()
    try:
        connection = RawConnection(node.bootstrap_servers)
        for topic in (IN.topic, "decided", "open"):
            connection.create_topic(topic)
        hold = Request(
            f"http://{node.faults}/faults", b'{"fault": "hold_markers"}', {"Content-Type": "application/json"}
        )
        urlopen(hold).close()
        producers = {
            name: RawTransactionalProducer(connection, name, version_2=True, timeout_ms=NEVER_MS).init()
            for name in ("committed", "aborted", "open")
        }
        producers["committed"].send("decided", b"committed")
        producers["committed"].send_offsets("group", {IN: 7})
        producers["aborted"].send("decided", b"aborted")
        producers["open"].send("open", b"open")
        assert producers["committed"].end_once(commit=True).error_code == 0
        assert producers["aborted"].end_once(commit=False).error_code == 0
        assert connection.produce("decided", batch(b"behind")).error == 0
    finally:
        node.kill()
    digest = digests(node.data)
    kafka = ApacheKafka(tmp_path / "kafka")
    done = promote_to(kafka, node.data, tmp_path / "node")
    assert [found["transactional_id"] for found in done["decided_transactions"]] == ["aborted", "committed"]
    assert [found["transactional_id"] for found in done["open_transactions"]] == ["open"]
    try:
        kafka.start_promoted(tmp_path / "node")
        connection = RawConnection(kafka.bootstrap_servers)
        for topic in ("decided", "open"):
            wait_for_leader(connection, topic, 0)
        assert connection.read_committed("decided") == [b"committed", b"behind"]
        assert connection.read_committed("open") == []
        with Admin(bootstrap_servers=kafka.bootstrap_servers) as admin:
            assert admin.list_consumer_group_offsets("group", [IN], require_stable=True)[IN].offset == 7
        continued = RawTransactionalProducer(connection, "open", version_2=True, timeout_ms=NEVER_MS)
        continued.pid, continued.epoch = producers["open"].pid, producers["open"].epoch
        assert eventually(lambda: continued.describe().transaction_state) == "Ongoing"
        continued.commit()
        eventually(lambda: connection.read_committed("open") == [b"open"])
        for name in ("committed", "aborted"):
            following = RawTransactionalProducer(connection, name, version_2=True, timeout_ms=NEVER_MS).init()
            assert following.pid == producers[name].pid
            following.send("decided", b"next of " + name.encode())
            following.commit()
        expected = [b"committed", b"behind", b"next of committed", b"next of aborted"]
        eventually(lambda: connection.read_committed("decided") == expected)
    finally:
        kafka.stop()
    assert digests(node.data) == digest


@pytest.mark.parametrize(("group", "protocol", "following"), [("classic", "classic", b"4"), ("new", "consumer", b"6")])
def test_promoted_groups_continue_at_their_offsets(
    promoted: Promoted, group: str, protocol: str, following: bytes
) -> None:
    assert read_on(promoted.servers, group, protocol, 1) == [following]


def test_another_client_continues_a_promoted_classic_group(promoted: Promoted) -> None:
    with Admin(bootstrap_servers=promoted.servers) as admin:
        offset = admin.list_consumer_group_offsets("classic")[IN].offset
    consumer = ConfluentConsumer(
        {"bootstrap.servers": promoted.servers, "group.id": "classic", "enable.auto.commit": False}
    )
    try:
        consumer.subscribe([IN.topic])
        record = eventually(lambda: consumer.poll(1))
        assert (record.error(), record.offset()) == (None, offset)
    finally:
        consumer.close()


def test_transactional_offsets_are_committed_with_their_transaction_after_promotion(promoted: Promoted) -> None:
    known = promoted.pending
    producer = RawTransactionalProducer(RawConnection(promoted.servers), "pending", version_2=True, timeout_ms=NEVER_MS)
    producer.pid, producer.epoch = known.pid, known.epoch
    assert eventually(lambda: producer.describe().transaction_state) == "Ongoing"
    with (
        Admin(bootstrap_servers=promoted.servers) as admin,
        Admin(bootstrap_servers=promoted.servers, default_api_timeout_ms=2000) as brief,
    ):
        assert IN not in admin.list_consumer_group_offsets("waiting")
        with pytest.raises(KafkaError, match="UNSTABLE_OFFSET_COMMIT"):
            brief.list_consumer_group_offsets("waiting", [IN], require_stable=True)
        producer.commit()

        def committed() -> bool:
            found = admin.list_consumer_group_offsets("waiting")
            return IN in found and found[IN].offset == 9

        eventually(committed)


def test_a_spark_query_continues_from_its_checkpoint_after_promotion(promoted: Promoted) -> None:
    """Its checkpoint says that batch 0 is not finished; the marker in the log says that the batch is in."""
    connection = RawConnection(promoted.servers)
    wait_for_leader(connection, "out", 0)
    assert spark_batch(promoted.servers, promoted.checkpoint, 0) is BatchOutcome.SKIPPED
    (promoted.checkpoint / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')
    spark_writes(promoted.checkpoint, 1, at_ms=now_ms(), offset=20, ended=False)
    assert spark_batch(promoted.servers, promoted.checkpoint, 1) is BatchOutcome.WRITTEN
    eventually(lambda: connection.read_committed("out") == [b"batch 0", b"batch 1"])


def test_hanging_transactions_are_listed_and_aborted_after_promotion(promoted: Promoted) -> None:
    connection = RawConnection(promoted.servers)
    wait_for_leader(connection, "hanging", 0)
    name = TopicPartition("hanging", 0)
    with Admin(bootstrap_servers=promoted.servers) as admin:
        names = [name, IN, TopicPartition("decided", 0), TopicPartition("out", 0)]
        ((where, state),) = eventually(lambda: admin.find_hanging_transactions(names) or None)
        assert (where, state.producer_id) == (name, promoted.hanging)
        assert connection.read_committed("hanging") == []
        admin.abort_transaction(name, producer=state)
        eventually(lambda: connection.read_committed("hanging") == [b"behind"])
        assert admin.find_hanging_transactions(names) == []
