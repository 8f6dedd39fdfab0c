"""After a mixed workload through the broker: Apache Kafka's tool reads each file of the folder, and Kafka serves it.

The workload: plain, committed and aborted records over several segments, offsets committed in and outside of
transactions, a transaction left open. The tool's decoders of both internal topics have to name what was done.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.compatibility.interop.reading import consumed_values
from tests.support.apache_kafka import ApacheKafka, run_tool
from tests.support.crash_rounds.node import ServeProcess

pytestmark = pytest.mark.kafka

TOPIC = "mixed"
PARTITIONS = 2
GROUP = "readers"
SEGMENT_BYTES = 1 << 20
ROUNDS = 12
COMPLAINTS = (
    "isvalid: false",
    "Found timestamp mismatch",
    "Index sanity",
    "corrupt",
    "Exception",
    "Error",
    "Mismatches in",
    "Found out of order",
)


class Written:
    """A folder that the broker left, and what its consumers had read."""

    def __init__(self, data: Path, values: dict[int, list[bytes | None]]) -> None:
        self.data = data
        self.values = values

    def files(self, folders: str, kind: str) -> list[Path]:
        return sorted(self.data.glob(f"{folders}/*.{kind}"))


def transactional(servers: str, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": name, "compression.type": "lz4"})
    producer.init_transactions(120)
    return producer


def write(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    config = {"segment.bytes": str(SEGMENT_BYTES)}
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1, config=config)])[TOPIC].result(120)
    writers = [transactional(servers, "commits"), transactional(servers, "aborts")]
    plain = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    reader = Consumer({"bootstrap.servers": servers, "group.id": GROUP, "enable.auto.commit": False})
    reader.subscribe([TOPIC])
    rng = random.Random(1)
    for number in range(ROUNDS):
        for writer in writers:
            writer.begin_transaction()
        for index in range(60):
            filler = rng.randbytes(3000)
            for name, writer in enumerate((*writers, plain)):
                writer.produce(TOPIC, b"%d-%d-%d " % (name, number, index) + filler, partition=index % PARTITIONS)
        plain.flush(120)
        reader.poll(0.1)
        offsets = [TopicPartition(TOPIC, 0, number + 1)]
        writers[0].send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), 30)
        writers[0].commit_transaction(120)
        writers[1].flush(120)
        writers[1].abort_transaction(120)
    left_open = transactional(servers, "left-open")
    left_open.begin_transaction()
    left_open.produce(TOPIC, b"left open", partition=1)
    left_open.flush(120)
    reader.commit(offsets=[TopicPartition(TOPIC, 1, 77)], asynchronous=False)
    reader.close()


@pytest.fixture(scope="module", params=[pytest.param("stopped", marks=pytest.mark.soak), "killed"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    node = ServeProcess(tmp_path_factory.mktemp("broker"), {"group.initial.rebalance.delay.ms": "0"})
    try:
        node.start()
        write(node.bootstrap_servers)
        values = {
            partition: consumed_values(node.bootstrap_servers, TOPIC, partition) for partition in range(PARTITIONS)
        }
        if request.param == "stopped":
            node.stop()
        else:
            node.kill()
        yield Written(node.data, values)
    finally:
        node.close()


def dump(files: list[Path], *options: str) -> str:
    tool = "org.apache.kafka.tools.DumpLogSegments"
    return run_tool(tool, "--deep-iteration", *options, "--files", ",".join(map(str, files)), timeout_s=120)


def test_kafkas_tool_finds_no_fault_in_any_file(written: Written, kafka_jars: Path) -> None:
    assert len(written.files(f"{TOPIC}-0", "log")) > 2
    for kind in ("log", "index", "timeindex", "txnindex", "snapshot"):
        files = [path for path in written.files(f"{TOPIC}-*", kind) if path.stat().st_size]
        assert files, kind
        shown = dump(files)
        assert [complaint for complaint in COMPLAINTS if complaint in shown] == [], shown[-3000:]


def test_kafkas_tool_decodes_the_log_of_transactions(written: Written, kafka_jars: Path) -> None:
    files = [path for path in written.files("__transaction_state-*", "log") if path.stat().st_size]
    shown = dump(files, "--transaction-log-decoder")
    assert [complaint for complaint in COMPLAINTS if complaint in shown] == [], shown[-3000:]
    last: dict[str, str] = {}
    found = re.findall(r"transactionalId\D{0,4}?[=:]\"?([a-z-]+).*?(?:state|transactionStatus)[\"=:]+(\w+)", shown)
    for name, state in found:
        last[name] = state
    assert set(last) == {"commits", "aborts", "left-open"}, shown[-3000:]
    assert last["left-open"] in ("Ongoing", "1")
    assert last["commits"] in ("CompleteCommit", "4")
    assert last["aborts"] in ("CompleteAbort", "5")


def test_kafkas_tool_decodes_the_committed_offsets(written: Written, kafka_jars: Path) -> None:
    files = [path for path in written.files("__consumer_offsets-*", "log") if path.stat().st_size]
    shown = dump(files, "--offsets-decoder")
    assert [complaint for complaint in COMPLAINTS if complaint in shown] == [], shown[-3000:]
    commits = re.findall(rf'"group":"{GROUP}","topic":"{TOPIC}","partition":(\d).*?"offset":(\d+)', shown)
    assert commits == [("0", str(number + 1)) for number in range(ROUNDS)] + [("1", "77")], shown[-3000:]


def test_apache_kafka_serves_the_same_records_from_our_folders(written: Written) -> None:
    with ApacheKafka() as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(120)
        kafka.stop()
        for partition in range(PARTITIONS):
            theirs = kafka.data_folder / f"{TOPIC}-{partition}"
            for path in theirs.iterdir():
                if path.name != "partition.metadata":
                    path.unlink()
            for path in (written.data / theirs.name).iterdir():
                if path.name != "partition.metadata":
                    shutil.copy(path, theirs)
        (kafka.data_folder / ".kafka_cleanshutdown").unlink()
        kafka.start()
        for partition, values in written.values.items():
            assert len(values) == 2 * 30 * ROUNDS
            assert consumed_values(kafka.bootstrap_servers, TOPIC, partition) == values
