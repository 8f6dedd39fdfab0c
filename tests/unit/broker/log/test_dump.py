"""Every file of a partition's folder can be shown, and so can its damage."""

from __future__ import annotations

import pytest

from oncelog.broker.log import checkpoints, dump
from oncelog.broker.log.dump import BatchEntry, CheckpointEntry, Damage, PropertyEntry, dump_file
from oncelog.broker.log.leader_epoch_cache import EpochEntry
from oncelog.broker.log.producers.producer_entry import ProducerStateEntry
from oncelog.broker.log.segments.transaction_index import AbortedTxn
from oncelog.errors import CorruptLogError, StorageError
from oncelog.records.control import ControlType
from oncelog.settings.config import TopicConfig
from oncelog.testing.simulation.disk import FaultyDisk
from oncelog.types import TopicPartition
from tests.unit.broker.log.batches import FOLDER, NOW_MS, append, batch, flip, marker, open_log


@pytest.fixture
def folder(disk: FaultyDisk) -> FaultyDisk:
    """A closed folder: two batches of an aborted transaction and its marker."""
    log = open_log(disk, config=TopicConfig(index_interval_bytes=50))
    append(log, batch(2, pid=7, seq=0, txn=True))
    append(log, batch(1, pid=7, seq=2, txn=True))
    marker(log, 7, commit=False, coordinator_epoch=4)
    log.close()
    return disk


def path(kind: str, offset: int = 0) -> str:
    return f"{FOLDER}/{offset:020d}.{kind}"


def test_a_dump_shows_the_batches_and_markers_of_a_log(folder: FaultyDisk) -> None:
    first, second, third = dump_file(folder, path("log"))
    assert isinstance(first, BatchEntry)
    assert isinstance(second, BatchEntry)
    assert isinstance(third, BatchEntry)
    assert (first.position, first.header.records_count, first.crc_matches, first.records) == (0, 2, True, None)
    assert second.position == first.header.size_bytes
    assert third.control is not None
    assert third.control.type is ControlType.ABORT
    assert third.control.marker == (ControlType.ABORT, 4)


def test_a_dump_shows_the_records_of_a_log_on_request(folder: FaultyDisk) -> None:
    entries = list(dump_file(folder, path("log"), records=True))
    records = [record for entry in entries if isinstance(entry, BatchEntry) for record in entry.records or ()]
    assert [(record.offset, record.key) for record in records[:3]] == [(0, b"k"), (1, b"k"), (2, b"k")]
    assert len(records) == 4


def test_a_dump_can_begin_at_a_position(folder: FaultyDisk) -> None:
    entries = list(dump_file(folder, path("log")))
    assert isinstance(entries[1], BatchEntry)
    assert list(dump_file(folder, path("log"), start=entries[1].position)) == entries[1:]


def test_a_dump_shows_a_batch_with_a_wrong_crc_and_ends_after_it(folder: FaultyDisk) -> None:
    third = list(dump_file(folder, path("log")))[2]
    assert isinstance(third, BatchEntry)
    flip(folder, path("log"), third.position - 1)
    entries = list(dump_file(folder, path("log")))
    assert [isinstance(entry, BatchEntry) and entry.crc_matches for entry in entries] == [True, False]


@pytest.mark.parametrize(("cut", "reason"), [(1, "cut off"), (70, "header")])
def test_a_dump_shows_a_truncated_batch_as_damage(folder: FaultyDisk, cut: int, reason: str) -> None:
    file = folder.open(path("log"))
    file.truncate(file.size() - cut)
    damage = list(dump_file(folder, path("log")))[-1]
    assert isinstance(damage, Damage)
    assert reason in damage.reason


def test_a_dump_shows_indexes_and_producer_snapshots(folder: FaultyDisk) -> None:
    first, second, _ = dump_file(folder, path("log"))
    assert isinstance(first, BatchEntry)
    assert isinstance(second, BatchEntry)
    end = second.position + second.header.size_bytes
    assert list(dump_file(folder, path("index"))) == [(2, second.position), (3, end)]
    assert list(dump_file(folder, path("timeindex"))) == [(NOW_MS + 1, 1)]
    assert list(dump_file(folder, path("txnindex"))) == [AbortedTxn(7, 0, 3, 4)]
    (producer,) = dump_file(folder, path("snapshot", 4))
    assert isinstance(producer, ProducerStateEntry)
    assert (producer.producer_id, producer.last_sequence, producer.coordinator_epoch) == (7, 2, 4)


def test_a_dump_shows_checkpoints(folder: FaultyDisk) -> None:
    checkpoints.write_offset_checkpoint(folder, checkpoints.RECOVERY_POINT_CHECKPOINT, {TopicPartition("t", 0): 4})
    checkpoints.write_clean_shutdown(folder, 9)
    checkpoints.write_partition_metadata(folder, FOLDER, bytes(16))
    checkpoints.write_meta_properties(folder, checkpoints.MetaProperties("c", 1, "d"))
    assert list(dump_file(folder, f"{FOLDER}/leader-epoch-checkpoint")) == [EpochEntry(0, 0)]
    expected = [CheckpointEntry(TopicPartition("t", 0), 4)]
    assert list(dump_file(folder, checkpoints.RECOVERY_POINT_CHECKPOINT)) == expected
    assert list(dump_file(folder, ".kafka_cleanshutdown")) == [PropertyEntry("brokerEpoch", "9")]
    assert list(dump_file(folder, f"{FOLDER}/partition.metadata"))[1] == ("topic_id", "A" * 22)
    assert PropertyEntry("cluster.id", "c") in list(dump_file(folder, "meta.properties"))


@pytest.mark.parametrize("kind", ["index", "timeindex", "txnindex", "snapshot"])
def test_a_dump_shows_a_damaged_file_as_damage(folder: FaultyDisk, kind: str) -> None:
    folder.write_atomic(path(kind), b"abc")
    (damage,) = dump_file(folder, path(kind))
    assert isinstance(damage, Damage)
    assert path(kind) in damage.reason


@pytest.mark.parametrize("name", ["meta.properties", "recovery-point-offset-checkpoint"])
def test_a_dump_shows_a_damaged_text_file_as_damage(folder: FaultyDisk, name: str) -> None:
    folder.write_atomic(name, b"\xff\xfe")
    (damage,) = dump_file(folder, name)
    assert isinstance(damage, Damage)


@pytest.mark.parametrize("name", ["notes.txt", f"{FOLDER}/{0:020d}.xyz"])
def test_a_dump_refuses_a_file_of_another_kind_and_names_it(folder: FaultyDisk, name: str) -> None:
    with pytest.raises(CorruptLogError, match=name):
        dump_file(folder, name)


def test_a_dump_of_a_file_that_does_not_exist_is_a_storage_error(folder: FaultyDisk) -> None:
    with pytest.raises(StorageError):
        list(dump.dump_file(folder, path("log", 5)))
