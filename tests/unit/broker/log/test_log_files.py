"""Bytes of the small files: indexes, checkpoints, names; Kafka's ``OffsetIndex``, ``TimeIndex``, ``CheckpointFile``."""

from __future__ import annotations

import pytest

from oncelog.broker.log import checkpoints
from oncelog.broker.log.checkpoints import MetaProperties
from oncelog.broker.log.file_names import deleted_folder, parse_file_name, parse_partition_folder
from oncelog.broker.log.leader_epoch_cache import EpochEntry, LeaderEpochCache
from oncelog.broker.log.segments.offset_index import OffsetIndex
from oncelog.broker.log.segments.time_index import TimeIndex
from oncelog.broker.log.segments.transaction_index import AbortedTxn, TransactionIndex
from oncelog.errors import CorruptLogError
from oncelog.testing.simulation.disk import FaultyDisk
from oncelog.types import TopicPartition


def offset_index() -> OffsetIndex:
    index = OffsetIndex(100)
    for offset, position in ((109, 0x1000), (119, 0x2000), (139, 0x3000)):
        index.append(offset, position)
    return index


def test_an_offset_index_contains_relative_offsets_and_positions() -> None:
    assert offset_index().encode().hex() == "000000090000100000000013000020000000002700003000"
    assert offset_index().encode(2).hex() == "0000002700003000"


@pytest.mark.parametrize(
    ("offset", "position"), [(0, 0), (100, 0), (108, 0), (109, 0x1000), (138, 0x2000), (139, 0x3000), (10**12, 0x3000)]
)
def test_the_search_for_an_offset_starts_at_the_entry_at_or_below_it(offset: int, position: int) -> None:
    assert offset_index().position_for(offset) == position


@pytest.mark.parametrize(
    ("position", "offset"), [(0, 109), (0x1000, 109), (0x1001, 119), (0x3000, 139), (0x3001, None)]
)
def test_an_offset_index_gives_an_upper_bound_for_offsets_before_a_file_position(
    position: int, offset: int | None
) -> None:
    assert offset_index().offset_at_or_after(position) == offset


@pytest.mark.parametrize(("offset", "left"), [(100, 0), (109, 0), (110, 1), (139, 2), (140, 3)])
def test_a_truncation_removes_index_entries_at_or_above_its_offset(offset: int, left: int) -> None:
    index = offset_index()
    index.truncate_to(offset)
    assert len(index) == left


def test_preallocated_zeros_are_not_read_as_index_entries() -> None:
    data = offset_index().encode()
    assert OffsetIndex.decode(100, data + bytes(800), 0x4000).entries() == offset_index().entries()
    assert OffsetIndex.decode(100, bytes(800), 0x4000).entries() == []


@pytest.mark.parametrize(
    "data",
    [
        offset_index().encode()[8:] + offset_index().encode(),
        offset_index().encode() + b"\0",
        bytes.fromhex("0000000900005000"),
        bytes.fromhex("ffffffff00001000"),
    ],
    ids=["falls", "cut off", "past the log", "negative"],
)
def test_a_damaged_offset_index_is_detected(data: bytes) -> None:
    with pytest.raises(CorruptLogError):
        OffsetIndex.decode(100, data, 0x4000)


def test_a_time_index_contains_only_rising_timestamps() -> None:
    index = TimeIndex(100)
    for timestamp, offset in ((50, 109), (50, 119), (40, 120), (60, 139)):
        index.append_if_later(timestamp, offset)
    assert index.encode().hex() == "000000000000003200000009000000000000003c00000027"
    assert TimeIndex.decode(100, index.encode() + bytes(1200)).entries() == [(50, 109), (60, 139)]
    assert [index.offset_for(timestamp) for timestamp in (49, 50, 59, 60, 99)] == [100, 109, 109, 139, 139]


@pytest.mark.parametrize("data", [b"abc", bytes.fromhex("000000000000003200000009" * 2)], ids=["cut off", "level"])
def test_a_damaged_time_index_is_detected(data: bytes) -> None:
    with pytest.raises(CorruptLogError):
        TimeIndex.decode(100, data)


def test_an_entry_of_a_transaction_index_has_34_bytes() -> None:
    index = TransactionIndex()
    index.append(AbortedTxn(7, 100, 120, 121))
    expected = "00000000000000000007000000000000006400000000000000780000000000000079"
    assert index.encode().hex() == expected
    assert TransactionIndex.decode(100, index.encode()).entries == index.entries


@pytest.mark.parametrize(
    "data",
    [
        b"abc",
        b"\0\1" + bytes(32),
        TransactionIndex.encode(
            TransactionIndex.decode(0, bytes.fromhex("0000" + "00" * 15 + "01" + "00" * 7 + "02" * 9))
        )
        * 2,
    ],
    ids=["cut off", "version 1", "markers that do not rise"],
)
def test_a_damaged_transaction_index_is_detected(data: bytes) -> None:
    with pytest.raises(CorruptLogError):
        TransactionIndex.decode(0, data)


# --- leader epochs


def epochs() -> LeaderEpochCache:
    return LeaderEpochCache([EpochEntry(1, 0), EpochEntry(3, 10), EpochEntry(5, 20)])


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ((5, 25), [(1, 0), (3, 10), (5, 20)]),
        ((6, 30), [(1, 0), (3, 10), (5, 20), (6, 30)]),
        ((6, 20), [(1, 0), (3, 10), (6, 20)]),
        ((6, 5), [(1, 0), (6, 5)]),
        ((4, 15), [(1, 0), (3, 10), (4, 15)]),
        ((5, 18), [(1, 0), (3, 10), (5, 18)]),
    ],
)
def test_a_new_leader_epoch_removes_entries_that_contradict_it(
    entry: tuple[int, int], expected: list[tuple[int, int]]
) -> None:
    cache = epochs()
    cache.assign(*entry)
    assert list(cache.entries) == expected


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(-1, (-1, -1)), (0, (0, 0)), (1, (1, 10)), (2, (1, 10)), (4, (3, 20)), (5, (5, 33)), (6, (-1, -1))],
)
def test_the_end_offset_of_a_leader_epoch_is_found_in_the_epoch_cache(epoch: int, expected: tuple[int, int]) -> None:
    assert epochs().end_offset_for(epoch, 33) == expected


@pytest.mark.parametrize(("offset", "epoch"), [(0, 1), (9, 1), (10, 3), (99, 5)])
def test_the_leader_epoch_of_an_offset_is_found_in_the_epoch_cache(offset: int, epoch: int) -> None:
    assert epochs().epoch_for_offset(offset) == epoch


@pytest.mark.parametrize(
    ("start", "expected"),
    [(0, [(1, 0), (3, 10), (5, 20)]), (4, [(1, 4), (3, 10), (5, 20)]), (10, [(3, 10), (5, 20)]), (99, [(5, 99)])],
)
def test_leader_epochs_before_the_log_start_are_removed(start: int, expected: list[tuple[int, int]]) -> None:
    cache = epochs()
    cache.truncate_from_start(start)
    assert list(cache.entries) == expected


def test_no_leader_epoch_is_returned_before_the_first_entry() -> None:
    cache = epochs()
    cache.truncate_from_start(15)
    assert cache.epoch_for_offset(5) == -1
    cache.clear()
    assert cache.latest_epoch == -1


# --- checkpoints


@pytest.fixture
def root() -> FaultyDisk:
    return FaultyDisk()


def test_an_offset_checkpoint_has_kafkas_text(root: FaultyDisk) -> None:
    offsets = {TopicPartition("b", 1): 5, TopicPartition("a", 12): 7}
    checkpoints.write_offset_checkpoint(root, checkpoints.RECOVERY_POINT_CHECKPOINT, offsets)
    assert root.read("recovery-point-offset-checkpoint") == b"0\n2\na 12 7\nb 1 5\n"
    assert checkpoints.read_offset_checkpoint(root, "recovery-point-offset-checkpoint") == offsets
    assert checkpoints.read_offset_checkpoint(root, "log-start-offset-checkpoint") == {}


def test_an_empty_offset_checkpoint_has_no_lines(root: FaultyDisk) -> None:
    """Apache Kafka creates the file first and writes into it later; killed in between, it leaves an empty file."""
    root.write_atomic("c", b"")
    assert checkpoints.read_offset_checkpoint(root, "c") == {}
    assert checkpoints.decode_leader_epochs(root.read("c"), "c") == []


@pytest.mark.parametrize(
    "data", [b"\n", b"1\n0\n", b"0\n2\na 0 1\n", b"0\nx\n", b"0\n1\na 0\n", b"0\n1\na 0 x\n", b"\xff"]
)
def test_a_damaged_offset_checkpoint_is_detected(root: FaultyDisk, data: bytes) -> None:
    root.write_atomic("c", data)
    with pytest.raises(CorruptLogError):
        checkpoints.read_offset_checkpoint(root, "c")


def test_a_truncated_offset_checkpoint_is_refused() -> None:
    """A power loss leaves the first part of a file that was not synced: "1 16" must not be read as "1 1"."""
    whole = checkpoints.encode_leader_epochs((EpochEntry(0, 0), EpochEntry(1, 16)))
    for kept in range(1, len(whole)):
        for zeros in (0, len(whole) - kept):
            with pytest.raises(CorruptLogError):
                checkpoints.decode_leader_epochs(whole[:kept] + bytes(zeros), "c")
    assert checkpoints.decode_leader_epochs(whole, "c") == [(0, 0), (1, 16)]


def test_partition_metadata_contains_the_topic_id(root: FaultyDisk) -> None:
    root.make_folder("t-0")
    assert checkpoints.read_partition_metadata(root, "t-0") is None
    topic_id = bytes(range(16))
    checkpoints.write_partition_metadata(root, "t-0", topic_id)
    assert root.read("t-0/partition.metadata") == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n"
    assert checkpoints.read_partition_metadata(root, "t-0") == topic_id


@pytest.mark.parametrize(
    "data", [b"", b"version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n", b"version: 0\ntopic_id: AA\n", b"\xff"]
)
def test_damaged_partition_metadata_is_detected(root: FaultyDisk, data: bytes) -> None:
    root.make_folder("t-0")
    root.write_atomic("t-0/partition.metadata", data)
    with pytest.raises(CorruptLogError):
        checkpoints.read_partition_metadata(root, "t-0")


def test_meta_properties_contain_cluster_id_and_node_id(root: FaultyDisk) -> None:
    assert checkpoints.read_meta_properties(root) is None
    properties = MetaProperties("MkU3OEVBNTcwNTJENDM2Qg", 3, "AAECAwQFBgcICQoLDA0ODw")
    checkpoints.write_meta_properties(root, properties)
    assert checkpoints.read_meta_properties(root) == properties
    assert b"version=1\n" in root.read("meta.properties")


def test_meta_properties_of_version_0_contain_cluster_id_and_node_id(root: FaultyDisk) -> None:
    root.write_atomic("meta.properties", b"#comment\nversion=0\nbroker.id=4\ncluster.id=x\n")
    assert checkpoints.read_meta_properties(root) == MetaProperties("x", 4, "")


@pytest.mark.parametrize("data", [b"", b"cluster.id=x\n", b"node.id=1\n", b"node.id=a\ncluster.id=x\n"])
def test_damaged_meta_properties_are_detected(root: FaultyDisk, data: bytes) -> None:
    root.write_atomic("meta.properties", data)
    with pytest.raises(CorruptLogError):
        checkpoints.read_meta_properties(root)


def test_a_clean_shutdown_leaves_a_marker_file(root: FaultyDisk) -> None:
    assert not checkpoints.read_clean_shutdown(root)
    checkpoints.write_clean_shutdown(root, 4)
    assert root.read(".kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":4}'
    assert checkpoints.clean_shutdown_epoch(root.read(".kafka_cleanshutdown")) == 4
    assert checkpoints.read_clean_shutdown(root)
    checkpoints.remove_clean_shutdown(root)
    assert not checkpoints.read_clean_shutdown(root)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"brokerEpoch":"x"}'])
def test_a_clean_shutdown_file_without_an_epoch_is_valid(data: bytes) -> None:
    assert checkpoints.clean_shutdown_epoch(data) == -1


# --- names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("00000000000000000012.log", (12, ".log", "")),
        ("00000000000000000012.timeindex.swap", (12, ".timeindex", ".swap")),
        ("00000000000000000012.snapshot.deleted", (12, ".snapshot", ".deleted")),
        ("12.log", None),
        ("leader-epoch-checkpoint", None),
    ],
)
def test_the_kind_of_a_log_file_is_read_from_its_name(name: str, expected: tuple[int, str, str] | None) -> None:
    assert parse_file_name(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a-b-3", ("a-b", 3)), ("t-0.abc-delete", None), ("t", None), ("-1", None), ("t-x", None)],
)
def test_the_partition_is_read_from_the_folder_name(name: str, expected: tuple[str, int] | None) -> None:
    assert parse_partition_folder(name) == expected


def test_the_folder_name_of_a_deleted_partition_is_not_too_long_for_a_file_system() -> None:
    name = deleted_folder(TopicPartition("t" * 249, 12), "0" * 32)
    assert len(name) == 255
    assert name.endswith(f"-12.{'0' * 32}-delete")
