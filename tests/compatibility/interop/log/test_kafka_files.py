"""Apache Kafka's own tools read our files, our log opens Apache Kafka's, and it serves partitions that we wrote."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from oncelog.broker.log.partition_log import PartitionLog
from oncelog.broker.log.producers.producer_snapshot import decode_snapshot
from oncelog.broker.server.disk.os_disk import OsDisk
from oncelog.errors import Error
from oncelog.records.batch import decode_records
from oncelog.settings.config import TopicConfig
from oncelog.types import TopicPartition as Partition
from tests.compatibility.interop.reading import consumed_values
from tests.support.apache_kafka import ApacheKafka, run_tool
from tests.unit.broker.log.batches import append, batch, commit_all, marker

pytestmark = pytest.mark.kafka

TOPIC = "files"
SEGMENT_BYTES = 1 << 20
NOW_MS = 1_700_000_000_000


def open_folder(root: Path, *, clean: bool) -> PartitionLog:
    return PartitionLog.open(
        OsDisk(str(root)),
        f"{TOPIC}-0",
        Partition(TOPIC, 0),
        TopicConfig(segment_bytes=SEGMENT_BYTES),
        now_ms=NOW_MS,
        clean_shutdown=clean,
        verify_transactions=False,
    )


def write_ours(root: Path) -> PartitionLog:
    """Three segments with plain, committed, aborted and open transactional batches."""
    log = open_folder(root, clean=False)
    for number in range(60):
        at = NOW_MS + number * 1000
        assert append(log, batch(20, size=500, timestamp=at), now_ms=NOW_MS).error is Error.NONE
        assert (
            append(log, batch(40, pid=7, seq=number * 40, txn=True, size=500, timestamp=at), now_ms=NOW_MS).error
            is Error.NONE
        )
        assert append(log, batch(10, pid=8, seq=number * 10, size=500, timestamp=at), now_ms=NOW_MS).error is Error.NONE
        if number % 7 == 3:
            assert marker(log, 7, commit=number % 2 == 0, coordinator_epoch=2).error is Error.NONE
    commit_all(log)
    return log


def committed_values(log: PartitionLog) -> list[bytes | None]:
    """What a read_committed consumer receives below the last stable offset."""
    aborted = sorted((first, pid) for pid, first in log.aborted_transactions(0, log.last_stable_offset))
    active: set[int] = set()
    values: list[bytes | None] = []
    for header, data in log.batches(0):
        if header.base_offset >= log.last_stable_offset:
            break
        while aborted and aborted[0][0] <= header.last_offset:
            active.add(aborted.pop(0)[1])
        if header.is_control:
            active.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in active):
            values += [record.value for record in decode_records(data)]
    return values


def test_kafkas_tool_reads_every_file_that_we_wrote(tmp_path: Path, kafka_jars: Path) -> None:
    log = write_ours(tmp_path)
    ends = [segment.base_offset for segment in log.segments]
    log.close()
    folder = tmp_path / f"{TOPIC}-0"
    kinds = ("log", "index", "timeindex", "txnindex", "snapshot")
    files = sorted(path for path in folder.iterdir() if path.suffix[1:] in kinds)
    assert len(ends) == 3
    assert {path.suffix[1:] for path in files} == set(kinds)
    shown = run_tool("org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(map(str, files)))
    assert [line for line in shown.splitlines() if line.startswith("Dumping ")] == [f"Dumping {path}" for path in files]
    for complaint in (
        "isvalid: false",
        "Found timestamp mismatch",
        "Index sanity",
        "corrupt",
        "Exception",
        "Error",
        "Mismatches in",
        "Found out of order",
    ):
        assert complaint not in shown, shown[-2000:]
    gaps = re.split(r"^Non-consecutive offsets in ", shown, flags=re.MULTILINE)[1:]
    for gap in gaps:  # the tool takes a segment's first offset for a gap unless it is 0
        assert gap.count(" is followed by ") == 1, gap


class Written:
    """What a real Apache Kafka left of one partition, and what a consumer read from it."""

    def __init__(self, folder: Path, values: list[bytes | None], end_offset: int) -> None:
        self.folder = folder
        self.values = values
        self.end_offset = end_offset

    def copy(self, root: Path) -> Path:
        target = root / f"{TOPIC}-0"
        shutil.copytree(self.folder, target)
        return target


def produce(bootstrap_servers: str) -> None:
    """Transactions of two producers, every third aborted, and plain records: more than a segment of them."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    new = NewTopic(TOPIC, 1, 1, config={"segment.bytes": str(SEGMENT_BYTES)})
    admin.create_topics([new])[TOPIC].result(120)
    writers = []
    for name in ("one", "two"):
        writer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": name, "compression.type": "lz4"})
        writer.init_transactions(120)
        writers.append(writer)
    plain = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 5})
    for number in range(30):
        for writer in writers:
            writer.begin_transaction()
        for index in range(40):
            for place, writer in enumerate((*writers, plain)):
                filler = bytes((number * index * prime) & 0xFF for prime in range(1, 800))
                writer.produce(TOPIC, b"%d-%d-%d " % (place, number, index) + filler, timestamp=NOW_MS + number)
        plain.flush(120)
        for place, writer in enumerate(writers):
            if (number + place) % 3:
                writer.commit_transaction(120)
            else:
                writer.flush(120)
                writer.abort_transaction(120)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Closed cleanly."""
    with ApacheKafka() as kafka:
        produce(kafka.bootstrap_servers)
        values = consumed_values(kafka.bootstrap_servers, TOPIC)
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "offsets"})
        _, end_offset = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=120)
        consumer.close()
        kafka.stop()
        folder = tmp_path_factory.mktemp("written") / f"{TOPIC}-0"
        shutil.copytree(kafka.data_folder / f"{TOPIC}-0", folder)
    return Written(folder, values, end_offset)


@pytest.mark.parametrize("clean", [True, False])
def test_a_partition_written_by_kafka_is_read_as_kafkas_consumer_reads_it(
    tmp_path: Path, written: Written, clean: bool
) -> None:
    written.copy(tmp_path)
    log = open_folder(tmp_path, clean=clean)
    commit_all(log)
    assert log.log_end_offset == log.last_stable_offset == written.end_offset
    assert len(log.segments) > 1
    assert committed_values(log) == written.values


def test_recreated_indexes_are_byte_for_byte_those_of_kafka(tmp_path: Path, written: Written) -> None:
    folder = written.copy(tmp_path)
    for path in folder.iterdir():
        if path.suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
            path.unlink()
    log = open_folder(tmp_path, clean=False)
    log.close()
    compared = 0
    for path in sorted(written.folder.iterdir()):
        ours = folder / path.name
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex"):
            assert ours.read_bytes() == path.read_bytes(), path.name
            compared += 1
        elif path.suffix == ".snapshot":
            expected = sorted(decode_snapshot(path.read_bytes()), key=lambda entry: entry.producer_id)
            found = sorted(decode_snapshot(ours.read_bytes()), key=lambda entry: entry.producer_id)
            assert found == expected, path.name
    assert compared >= 6
    assert (folder / "leader-epoch-checkpoint").read_bytes() == (
        written.folder / "leader-epoch-checkpoint"
    ).read_bytes()


def test_a_partition_moves_from_kafka_to_oncelog_and_back(tmp_path: Path, written: Written, kafka_jars: Path) -> None:
    folder = written.copy(tmp_path)
    log = open_folder(tmp_path, clean=True)
    appended = append(log, batch(5, pid=900, seq=0))
    assert appended.base_offset == written.end_offset
    log.close()
    newest = max(folder.glob("*.log"))
    shown = run_tool("org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--files", str(newest), timeout_s=60)
    assert "isvalid: false" not in shown
    assert "producerId: 900" in shown


def test_kafka_serves_a_partition_that_we_wrote(tmp_path: Path) -> None:
    log = write_ours(tmp_path)
    expected = committed_values(log)
    log.close()
    with ApacheKafka() as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(120)
        kafka.stop()
        theirs = kafka.data_folder / f"{TOPIC}-0"
        for path in theirs.iterdir():
            if path.name.startswith("0000") or path.name == "leader-epoch-checkpoint":
                path.unlink()
        for path in (tmp_path / f"{TOPIC}-0").iterdir():
            shutil.copy(path, theirs)
        (kafka.data_folder / ".kafka_cleanshutdown").unlink()
        kafka.start()
        assert consumed_values(kafka.bootstrap_servers, TOPIC) == expected
