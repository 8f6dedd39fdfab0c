"""A data folder's logs: identity, leftovers of deleted topics, clean and unclean ends."""

from __future__ import annotations

import pytest

from oncelog.broker.core.requests.tasks import Tasks
from oncelog.broker.core.requests.work import finished
from oncelog.broker.core.storage.log_manager import LogManager
from oncelog.broker.log import checkpoints
from oncelog.broker.metadata.store import MetadataStore
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import ConfigError, Error, StorageError
from oncelog.records.batch import encode_batch
from oncelog.records.record import Record
from oncelog.runtime.timers import Timers
from oncelog.settings.config import BrokerConfig, TopicConfig, parse_broker
from oncelog.types import TopicPartition
from tests.support.ports import AtOnce, CountingRandom

T0 = TopicPartition("t", 0)
OLD_ID, NEW_ID = b"\1" * 16, b"\2" * 16


def manager(
    disk: MemoryDisk, cluster_id: str = "", config: BrokerConfig | None = None
) -> tuple[LogManager, Timers, MetadataStore]:
    random = CountingRandom()
    timers = Timers()
    store = MetadataStore(":memory:", node_id=1, random=random, cluster_id=cluster_id)
    return LogManager(disk, config or BrokerConfig(), timers, AtOnce(), random, Tasks()), timers, store


def append(logs: LogManager, topic_id: bytes) -> int:
    """Appends one record; returns its offset."""
    log = logs.open(T0, topic_id, TopicConfig(), 0)
    batch = encode_batch([Record(offset=0, timestamp=0, key=None, value=b"v")])
    return log.writer.append_client(batch, leader_epoch=0, now_ms=0).base_offset


def test_a_recreated_topic_does_not_take_over_the_folder_of_the_deleted_one() -> None:
    disk = MemoryDisk()
    logs, _, _ = manager(disk)
    assert append(logs, OLD_ID) == 0
    again, _, _ = manager(disk)
    assert append(again, NEW_ID) == 0
    assert any(name.endswith("-stray") for name in disk.list(""))


def test_the_log_of_an_existing_topic_continues_at_its_end() -> None:
    disk = MemoryDisk()
    logs, _, _ = manager(disk)
    assert append(logs, OLD_ID) == 0
    again, _, _ = manager(disk)
    assert append(again, OLD_ID) == 1


def test_a_folder_of_a_topic_that_does_not_exist_is_renamed_and_a_foreign_folder_kept() -> None:
    disk = MemoryDisk()
    logs, _, _ = manager(disk)
    append(logs, OLD_ID)
    disk.make_folder("notes-1")
    disk.make_folder("__cluster_metadata-0")
    checkpoints.write_partition_metadata(disk, "__cluster_metadata-0", OLD_ID)
    again, _, _ = manager(disk)
    again.started(0)
    names = disk.list("")
    assert "t-0" not in names
    assert "notes-1" in names
    assert "__cluster_metadata-0" in names


def test_removal_of_a_deleted_topic_continues_after_a_restart() -> None:
    disk = MemoryDisk()
    logs, _, _ = manager(disk)
    append(logs, OLD_ID)
    logs.delete(logs.open(T0, OLD_ID, TopicConfig(), 0), 0)
    assert any(name.endswith("-delete") for name in disk.list(""))
    again, timers, _ = manager(disk)
    again.started(0)
    timers.fire(0)
    assert not any(name.endswith("-delete") for name in disk.list(""))


def test_a_data_folder_of_another_cluster_is_refused() -> None:
    disk = MemoryDisk()
    logs, _, store = manager(disk)
    logs.start(store)
    other, _, another = manager(disk, cluster_id="A" * 22)
    with pytest.raises(ConfigError, match="belongs to node 1 of cluster"):
        other.start(another)


def test_a_clean_stop_leaves_the_clean_shutdown_file_and_the_next_start_removes_it() -> None:
    disk = MemoryDisk()
    logs, _, store = manager(disk)
    logs.start(store)
    append(logs, OLD_ID)
    logs.stop()
    assert checkpoints.read_clean_shutdown(disk)
    again, _, _ = manager(disk, cluster_id=store.cluster_id)
    again.start(store)
    assert not checkpoints.read_clean_shutdown(disk)


def test_after_a_damaged_checkpoint_the_next_start_succeeds_and_checks_every_log() -> None:
    disk = MemoryDisk()
    logs, _, store = manager(disk)
    logs.start(store)
    append(logs, OLD_ID)
    logs.stop()
    disk.write_atomic(checkpoints.RECOVERY_POINT_CHECKPOINT, b"nonsense")
    again, _, _ = manager(disk, cluster_id=store.cluster_id)
    again.start(store)
    assert append(again, OLD_ID) == 1


def test_a_recreated_topic_ignores_the_checkpoints_of_its_predecessor() -> None:
    disk = MemoryDisk()
    logs, _, _ = manager(disk)
    append(logs, OLD_ID)
    log = logs._logs[T0]
    log.trimmer.delete_records_before(-1)
    for name in checkpoints.OFFSET_CHECKPOINTS:
        checkpoints.write_offset_checkpoint(disk, name, {T0: 1})
    logs._cleaner.load()
    logs.delete(log, 0)
    finished(logs.checkpoints.forgetting("t"))
    assert append(logs, NEW_ID) == 0
    assert logs._cleaner._first_dirty == {}
    assert checkpoints.read_offset_checkpoint(disk, checkpoints.CLEANER_OFFSET_CHECKPOINT) == {}
    assert checkpoints.read_offset_checkpoint(disk, checkpoints.LOG_START_OFFSET_CHECKPOINT) == {}
    killed, _, store = manager(disk)
    killed.start(store)
    assert append(killed, NEW_ID) == 1
    assert killed._logs[T0].log_start_offset == 0


@pytest.mark.parametrize("made_by_the_start", [True, False])
def test_stale_checkpoints_of_a_deleted_topic_do_not_apply_to_its_recreation(
    made_by_the_start: bool,
) -> None:
    """The broker is killed just after that: the new topic's records lay before the log's supposed start."""
    disk = MemoryDisk()
    for name in (checkpoints.RECOVERY_POINT_CHECKPOINT, checkpoints.LOG_START_OFFSET_CHECKPOINT):
        checkpoints.write_offset_checkpoint(disk, name, {T0: 8})
    logs, _, store = manager(disk)
    logs.start(store)
    if made_by_the_start:  # the folder has not outlived a power failure
        assert append(logs, NEW_ID) == 0
        logs.started(0)
    else:
        logs.started(0)
        finished(logs.checkpoints.forgetting("t"))
        assert append(logs, NEW_ID) == 0
    killed, _, store = manager(disk)
    killed.start(store)
    assert append(killed, NEW_ID) == 1
    assert killed._logs[T0].log_start_offset == 0


def test_retention_continues_after_a_storage_error_of_one_log(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = MemoryDisk()
    logs, timers, _ = manager(disk)
    logs.started(0)
    append(logs, OLD_ID)
    other = logs.open(TopicPartition("u", 0), NEW_ID, TopicConfig(), 0)
    looked: list[str] = []

    def fails(now_ms: int) -> int:
        looked.append("t")
        raise StorageError("cannot remove t-0/0.log: input/output error")

    def works(now_ms: int) -> int:
        looked.append("u")
        return 0

    monkeypatch.setattr(logs._logs[T0].trimmer, "apply_retention", fails)
    monkeypatch.setattr(other.trimmer, "apply_retention", works)
    timers.fire(30_000)
    timers.fire(330_000)
    assert looked == ["t", "u"] * 2


def test_retention_is_checked_as_often_as_the_setting_says(monkeypatch: pytest.MonkeyPatch) -> None:
    config = parse_broker({"log.retention.check.interval.ms": "7000"})
    logs, timers, _ = manager(MemoryDisk(), config=config)
    logs.started(0)
    append(logs, OLD_ID)
    looked: list[int] = []
    monkeypatch.setattr(logs._logs[T0].trimmer, "apply_retention", lambda now_ms: looked.append(now_ms) or 0)
    for now_ms in range(0, 60_000, 500):
        timers.fire(now_ms)
    assert looked == [30_000, 37_000, 44_000, 51_000, 58_000]


def test_a_producer_id_far_beyond_all_others_does_not_advance_the_counter() -> None:
    disk = MemoryDisk()
    logs, _, _ = manager(disk)
    log = logs.open(T0, OLD_ID, TopicConfig(), 0)
    for producer_id in (7_000_000, 12, 2**63 - 1):
        batch = encode_batch(
            [Record(offset=0, timestamp=0, key=None, value=b"v")],
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
        )
        assert log.writer.append_client(batch, leader_epoch=0, now_ms=0).error is Error.NONE
    assert logs.producer_ids_end(1000) == 7_000_001
    assert logs.producer_ids_end(8_000_000) == 8_000_000


def test_records_written_after_a_truncation_are_not_taken_for_compacted_records() -> None:
    """Batches are removed whole, so the log may end below the offset that it was to be cut to."""
    disk = MemoryDisk()
    compacted = TopicConfig(cleanup_policy=("compact",))
    logs, _, store = manager(disk)
    logs.start(store)
    log = logs.open(T0, OLD_ID, compacted, 0)
    records = [Record(offset=number, timestamp=0, key=b"k%d" % number, value=b"v") for number in range(3)]
    assert log.writer.append_client(encode_batch(records), leader_epoch=0, now_ms=0).last_offset == 2
    logs.stop()
    checkpoints.write_offset_checkpoint(disk, checkpoints.CLEANER_OFFSET_CHECKPOINT, {T0: 3})
    again, _, _ = manager(disk)
    again.start(store)
    log = again.open(T0, OLD_ID, compacted, 0)
    again.truncate_to(T0, 2)
    assert log.log_end_offset == 0
    assert checkpoints.read_offset_checkpoint(disk, checkpoints.CLEANER_OFFSET_CHECKPOINT)[T0] == 0
