"""Checks 11-15 and 47: what a broker knows after a crash, after damage to its files, and after a clean stop.

One life of a node serves all tests: everything is written first, then the node is killed, its files are damaged, and it
is started again; then it is stopped cleanly and started once more. Each test looks at one part of that course.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, RawBatch, RawRecord, batch, parse_batches
from oncelog.apps.conformance.raw.bodies import READ_COMMITTED
from oncelog.apps.conformance.raw.group_members import commit, committed
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, find_coordinator, new_pid
from oncelog.apps.conformance.raw.wire import EARLIEST, RawConnection
from tests.integration.conformance.nodes import Node, new_node, partition_folder

OUT_OF_ORDER, INVALID_EPOCH = 45, 47
SMALL = {"segment_bytes": 1048576}
"""The smallest segments that Apache Kafka 4 allows."""
GROUP = "offsets-in-a-transaction"
OTHER_COUNTS = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}
"""For topics created from then on; existing ones keep their partitions, and the records in them keep their owner."""
PAD = bytes(300_000)
ROUNDS = 9


def transaction_partition(name: str) -> int:
    value = 0
    for unit in name:
        value = (31 * value + ord(unit)) & 0xFFFFFFFF
    return abs(value - 2**32 if value >= 2**31 else value) % 50


@dataclass
class Life:
    """What was written before the node was killed."""

    node: Node
    connection: RawConnection
    pids: dict[str, int] = field(default_factory=dict)
    producers: dict[str, RawTransactionalProducer] = field(default_factory=dict)
    committed: list[RawRecord] = field(default_factory=list)
    uncommitted: list[RawBatch] = field(default_factory=list)
    indexes: dict[str, set[str]] = field(default_factory=dict)
    segments: int = 0
    marker_epoch: int = -1

    def send(self, topic: str, sequence: int, value: bytes = b"x", epoch: int = 0) -> tuple[int, int]:
        pid = self.pids.setdefault(topic, new_pid(self.connection))
        answer = self.connection.produce(topic, batch(value, pid=pid, epoch=epoch, sequence=sequence))
        return answer.error, answer.base_offset


def all_batches(connection: RawConnection, topic: str) -> list[RawBatch]:
    found: list[RawBatch] = []
    offset = 0
    while batches := connection.fetch(topic, offset).batches:
        found += batches
        offset = batches[-1].last_offset + 1
    return found


def write_everything(life: Life) -> None:
    connection = life.connection
    for name in ("torn", "clean", "offline"):
        connection.create_topic(name)
    for name in ("segments", "snapshots"):
        connection.create_topic(name, **SMALL)
    connection.create_topic("by-time", segment_ms=10_000)
    for sequence in range(4):
        assert life.send("torn", sequence) == (0, sequence)
        assert life.send("clean", sequence) == (0, sequence)
    for sequence in range(14):
        assert life.send("snapshots", sequence, PAD)[0] == 0
    write_by_time(connection)
    write_segments(life)
    prepared = RawTransactionalProducer(connection, "prepared").init()
    connection.create_topic("prepared")
    prepared.send("prepared", b"decided")
    prepared.commit()
    life.producers["prepared"] = prepared
    open_ = RawTransactionalProducer(connection, "open").init()
    connection.create_topic("open")
    open_.send("open", b"first")
    find_coordinator(connection, GROUP, 0)
    assert commit(connection, GROUP, {("open", 0): 3}) == [0]
    open_.send_offsets(GROUP, {("open", 0): 7})
    life.producers["open"] = open_


def write_by_time(connection: RawConnection) -> None:
    """The batches are seven seconds of record time apart, so every second one is more than segment.ms after its
    segment began.
    """
    start = 1_700_000_000_000
    for step in range(6):
        assert connection.produce("by-time", batch(b"%d" % step, timestamp=start + 7000 * step)).error == 0


def write_segments(life: Life) -> None:
    """Aborted and committed transactions across several segments; one was aborted segments after it began."""
    connection = life.connection
    long_, brief = (RawTransactionalProducer(connection, name).init() for name in ("long", "brief"))
    long_.send("segments", b"aborted in the end")
    for round_ in range(ROUNDS):
        brief.send("segments", b"brief %d" % round_, PAD)
        brief.end(commit=round_ % 2 == 0)
        connection.produce("segments", batch(b"plain %d" % round_))
    long_.send("segments", b"aborted too")
    long_.abort()
    connection.produce("segments", batch(b"last"))
    life.committed = connection.committed_records("segments")
    life.uncommitted = all_batches(connection, "segments")


def last_batch(path: Path) -> tuple[int, RawBatch]:
    """Position and content of the last batch of a segment file."""
    at, found = 0, None
    data = path.read_bytes().rstrip(b"\0") + bytes(64)
    for item in parse_batches(data):
        found = (at, item)
        at += 61 + len(item.area)
    assert found is not None
    return found


def newest_segment(folder: Path) -> Path:
    return max(folder.glob("*.log"))


def cut_last_batch(folder: Path) -> RawBatch:
    path = newest_segment(folder)
    at, found = last_batch(path)
    with path.open("r+b") as file:
        file.truncate(at)
    return found


def damage_files(life: Life) -> None:
    node = life.node
    torn = newest_segment(partition_folder(node, "torn"))
    at, _ = last_batch(torn)
    data = bytearray(torn.read_bytes())
    data[at + 63] ^= 0x55
    torn.write_bytes(data)
    segments = partition_folder(node, "segments")
    life.segments = len(list(segments.glob("*.log")))
    for kind in ("index", "timeindex", "txnindex"):
        life.indexes[kind] = {path.name for path in segments.glob(f"*.{kind}")}
        for path in segments.glob(f"*.{kind}"):
            path.unlink()
    snapshots = sorted(partition_folder(node, "snapshots").glob("*.snapshot"))
    assert len(snapshots) >= 2
    snapshots[-1].write_bytes(b"\x00\x01 this is no snapshot")
    # As if the node had died when the decision was written and no marker yet.
    state = partition_folder(node, "__transaction_state", transaction_partition("prepared"))
    cut_last_batch(state)
    marker = cut_last_batch(partition_folder(node, "prepared"))
    assert marker.is_control
    life.marker_epoch = marker.marker()[1]


@pytest.fixture(scope="module", params=["oncelog", pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.soak])])
def crashed(request: pytest.FixtureRequest) -> Iterator[Life]:
    """A node that was killed, damaged and started again."""
    node = new_node(request.param)
    node.start()
    life = Life(node, RawConnection(node.bootstrap_servers))
    try:
        find_coordinator(life.connection, "any", 1)
        write_everything(life)
        life.connection.close()
        node.kill()
        damage_files(life)
        node.start()
        life.connection = RawConnection(node.bootstrap_servers)
        for name in ("torn", "clean", "segments", "snapshots", "by-time", "prepared", "open"):
            eventually(partial(lambda name: life.connection.list_offset(name, EARLIEST).error_code == 0, name))
        find_coordinator(life.connection, "any", 1)
        yield life
    finally:
        node.close()


def test_check_11_a_corrupt_last_batch_is_truncated_and_earlier_batches_stay(crashed: Life) -> None:
    connection = crashed.connection
    assert connection.list_offset("torn").offset == 3
    assert [found.value for found in connection.committed_records("torn")] == [b"x"] * 3
    assert crashed.send("torn", 2) == (0, 2)
    assert crashed.send("torn", 5)[0] == OUT_OF_ORDER
    assert crashed.send("torn", 3) == (0, 3)
    assert crashed.send("torn", 4) == (0, 4)


def test_check_12_lost_indexes_are_recreated(crashed: Life) -> None:
    assert crashed.segments > 2
    folder = partition_folder(crashed.node, "segments")
    for kind, names in crashed.indexes.items():
        assert names <= {path.name for path in folder.glob(f"*.{kind}")}


def test_check_12_without_its_indexes_the_log_reads_as_before(crashed: Life) -> None:
    connection = crashed.connection
    assert connection.committed_records("segments") == crashed.committed
    assert [found.value for found in crashed.committed if len(found.value or b"") < 100] == [
        value
        for round_ in range(ROUNDS)
        for value in ([b"brief %d" % round_] if round_ % 2 == 0 else []) + [b"plain %d" % round_]
    ] + [b"last"]
    assert all_batches(connection, "segments") == crashed.uncommitted
    for item in crashed.uncommitted:
        found = connection.fetch("segments", item.base_offset, partition_max_bytes=1).batches[0]
        assert found.base_offset == item.base_offset


def test_check_12_offsets_are_found_by_time_without_the_time_index(crashed: Life) -> None:
    connection = crashed.connection
    for step in range(6):
        found = connection.list_offset("by-time", 1_700_000_000_000 + 7000 * step - 1)
        assert (found.error_code, found.offset) == (0, step)


def test_check_13_a_corrupt_snapshot_is_skipped_and_sequences_continue(crashed: Life) -> None:
    assert crashed.send("snapshots", 13)[1] == 13
    assert crashed.send("snapshots", 15)[0] == OUT_OF_ORDER
    assert crashed.send("snapshots", 14) == (0, 14)


def test_check_15_segments_roll_by_the_time_of_records(crashed: Life) -> None:
    folder = partition_folder(crashed.node, "by-time")
    assert sorted(int(path.stem) for path in folder.glob("*.log")) == [0, 2, 4]


def test_check_47_a_decided_transaction_is_finished_after_the_crash(crashed: Life) -> None:
    connection, producer = crashed.connection, crashed.producers["prepared"]
    producer.connection = connection
    assert producer.completed() == "CompleteCommit"
    eventually(lambda: connection.list_offset("prepared", isolation=READ_COMMITTED).offset == 2)
    assert connection.read_committed("prepared") == [b"decided"]
    marker = connection.fetch("prepared", 1).batches[0]
    assert marker.marker()[0] == "commit"
    assert marker.marker()[1] > crashed.marker_epoch
    assert (marker.pid, marker.epoch) == (producer.pid, producer.epoch)


def test_an_open_transaction_continues_after_the_crash(crashed: Life) -> None:
    connection, producer = crashed.connection, crashed.producers["open"]
    producer.connection = connection
    assert producer.describe().transaction_state == "Ongoing"
    assert connection.list_offset("open", isolation=READ_COMMITTED).offset == 0
    stale = batch(b"again", pid=producer.pid, epoch=producer.epoch, sequence=0, attributes=TRANSACTIONAL)
    assert connection.produce("open", stale, transactional_id="open").base_offset == 0
    find_coordinator(connection, GROUP, 0)
    assert committed(connection, GROUP, "open") == 3
    assert committed(connection, GROUP, "open", stable=True) == -88
    producer.send("open", b"second")
    producer.commit()
    assert connection.read_committed("open") == [b"first", b"second"]
    eventually(lambda: committed(connection, GROUP, "open", stable=True) == 7)


def test_producer_ids_given_before_the_crash_are_not_given_again(crashed: Life) -> None:
    known = set(crashed.pids.values()) | {producer.pid for producer in crashed.producers.values()}
    assert not known & {new_pid(crashed.connection) for _ in range(20)}


def test_check_14_after_a_clean_stop_the_last_batch_is_still_known(crashed: Life) -> None:
    """The last test of this module: it stops the node cleanly and starts it again."""
    life = crashed
    life.pids["offline"] = new_pid(life.connection)
    for sequence in range(3):
        life.send("offline", sequence)
    fenced = RawTransactionalProducer(life.connection, "fenced").init()
    life.connection.close()
    life.node.stop()
    life.node.start(OTHER_COUNTS)
    life.connection = RawConnection(life.node.bootstrap_servers)
    for name in ("offline", "clean"):
        eventually(partial(lambda name: life.connection.list_offset(name, EARLIEST).error_code == 0, name))
    assert life.send("offline", 2) == (0, 2)
    assert life.send("offline", 4)[0] == OUT_OF_ORDER
    assert life.send("offline", 3) == (0, 3)
    assert life.send("clean", 3) == (0, 3)
    assert life.send("clean", 4) == (0, 4)
    assert life.connection.committed_records("segments") == life.committed
    find_coordinator(life.connection, GROUP, 0)
    assert committed(life.connection, GROUP, "open", stable=True) == 7
    new = RawTransactionalProducer(life.connection, "fenced").init()
    assert (new.pid, new.epoch) == (fenced.pid, fenced.epoch + 1)
    fenced.connection = life.connection
    assert fenced.end_once(commit=True).error_code == 90
