"""Retention, DeleteRecords, truncation, expiry; Kafka's ``UnifiedLog``."""

from __future__ import annotations

from unittest import mock

import pytest

from oncelog.broker.log.partition_log import PartitionLog
from oncelog.errors import Error, StorageError
from oncelog.settings.config import TopicConfig
from oncelog.testing.simulation.disk import FaultyDisk
from tests.unit.broker.log.batches import (
    FOLDER,
    NOW_MS,
    append,
    batch,
    commit_all,
    fill,
    headers,
    marker,
    open_log,
    roll,
)


def segmented(disk: FaultyDisk, config: TopicConfig, *, timestamps: tuple[int, ...] = (100, 200, 300)) -> PartitionLog:
    """One segment of five batches for each timestamp; the high watermark is at the end."""
    log = open_log(disk, config=config)
    for number, timestamp in enumerate(timestamps):
        if number:
            roll(log)
        fill(log, 5, timestamp=timestamp - 4)
    commit_all(log)
    return log


def bases(log: PartitionLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


@pytest.mark.parametrize(("now_ms", "left"), [(1100, [0, 5, 10]), (1101, [5, 10]), (1201, [10]), (1301, [15])])
def test_segments_are_deleted_when_their_newest_record_is_older_than_retention_ms(
    disk: FaultyDisk, now_ms: int, left: list[int]
) -> None:
    log = segmented(disk, TopicConfig(retention_ms=1000))
    assert log.trimmer.apply_retention(now_ms) == 3 - len(left) + (left == [15])
    assert bases(log) == left
    assert log.log_start_offset == left[0]


def test_a_segment_within_retention_prevents_the_deletion_of_later_segments(disk: FaultyDisk) -> None:
    log = segmented(disk, TopicConfig(retention_ms=1000), timestamps=(300, 100, 200))
    assert log.trimmer.apply_retention(1250) == 0


@pytest.mark.parametrize(("keep", "left"), [(15, [0, 5, 10]), (11, [0, 5, 10]), (10, [5, 10]), (5, [10]), (0, [15])])
def test_segments_are_deleted_while_more_than_retention_bytes_remain(
    disk: FaultyDisk, keep: int, left: list[int]
) -> None:
    one = len(batch())
    log = segmented(disk, TopicConfig(retention_bytes=keep * one, retention_ms=-1))
    log.trimmer.apply_retention(NOW_MS)
    assert bases(log) == left


def test_no_record_above_the_high_watermark_is_deleted(disk: FaultyDisk) -> None:
    log = open_log(disk, config=TopicConfig(retention_ms=1))
    fill(log, 5)
    roll(log)
    fill(log, 5)
    log.maybe_advance_high_watermark(4)
    assert log.trimmer.apply_retention(NOW_MS * 2) == 0
    log.maybe_advance_high_watermark(5)
    assert log.trimmer.apply_retention(NOW_MS * 2) == 1


def test_a_topic_that_is_only_compacted_keeps_old_segments(disk: FaultyDisk) -> None:
    log = segmented(disk, TopicConfig(cleanup_policy=("compact",), retention_ms=1, retention_bytes=0))
    assert log.trimmer.apply_retention(NOW_MS) == 0


def test_files_of_deleted_segments_are_renamed_and_removed_after_the_delay(disk: FaultyDisk) -> None:
    log = segmented(disk, TopicConfig(retention_ms=1000, file_delete_delay_ms=60_000))
    log.trimmer.apply_retention(1101)
    deleted = [name for name in disk.list(FOLDER) if name.endswith(".deleted")]
    assert "00000000000000000000.log.deleted" in deleted
    log.trimmer.apply_retention(1101 + 59_999)
    assert set(deleted) <= set(disk.list(FOLDER))
    log.files.remove_deleted_files(1101 + 60_000)
    assert not set(deleted) & set(disk.list(FOLDER))


def test_a_read_in_progress_survives_the_deletion_of_its_segment(disk: FaultyDisk) -> None:
    log = segmented(disk, TopicConfig(retention_ms=1000))
    read = log.read(0, 1000, 15, at_least_one_batch=True)
    assert not isinstance(read, Error)
    before = read.slices[0].read_bytes()
    log.trimmer.apply_retention(1101)
    assert read.slices[0].read_bytes() == before


# --- DeleteRecords


@pytest.mark.parametrize(
    ("offset", "error", "start"),
    [(3, Error.NONE, 3), (15, Error.NONE, 15), (-1, Error.NONE, 15), (16, Error.OFFSET_OUT_OF_RANGE, 0)],
)
def test_records_are_deleted_up_to_the_high_watermark(disk: FaultyDisk, offset: int, error: Error, start: int) -> None:
    log = segmented(disk, TopicConfig())
    assert log.trimmer.delete_records_before(offset) is error
    assert log.log_start_offset == start


def test_segments_below_the_log_start_offset_are_deleted_at_the_next_retention_check(disk: FaultyDisk) -> None:
    log = segmented(disk, TopicConfig(cleanup_policy=("compact",)))
    log.trimmer.delete_records_before(11)
    log.trimmer.apply_retention(NOW_MS)
    assert (bases(log), log.log_start_offset) == ([10], 11)


def test_sequences_continue_although_all_records_were_deleted(disk: FaultyDisk) -> None:
    log = open_log(disk)
    append(log, batch(5, pid=1, seq=0))
    commit_all(log)
    log.trimmer.delete_records_before(-1)
    log.trimmer.apply_retention(NOW_MS)
    assert append(log, batch(pid=1, seq=6)).error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(log, batch(pid=1, seq=5)).error is Error.NONE


def test_sequences_continue_after_a_restart_although_all_records_were_deleted(disk: FaultyDisk) -> None:
    log = open_log(disk)
    append(log, batch(5, pid=1, seq=0))
    commit_all(log)
    log.trimmer.delete_records_before(-1)
    log.close()
    log = open_log(disk, clean=True, log_start_offset=5)
    assert append(log, batch(pid=1, seq=6)).error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(log, batch(pid=1, seq=5)).error is Error.NONE


def test_the_last_stable_offset_is_not_below_the_log_start_offset(disk: FaultyDisk) -> None:
    log = open_log(disk)
    append(log, batch(5, pid=1, seq=0, txn=True))
    commit_all(log)
    assert log.last_stable_offset == 0
    log.trimmer.delete_records_before(3)
    assert log.last_stable_offset == 3


def test_leader_epochs_before_the_log_start_offset_are_removed(disk: FaultyDisk) -> None:
    log = open_log(disk)
    for epoch in (1, 2, 3):
        log.writer.append_client(batch(2), leader_epoch=epoch, now_ms=NOW_MS)
    commit_all(log)
    log.trimmer.delete_records_before(3)
    assert log.leader_epoch_cache.entries == ((2, 3), (3, 4))


# --- truncation


@pytest.mark.parametrize("offset", [0, 1, 4, 5, 7, 10, 14])
def test_a_truncated_log_continues_at_the_truncation_offset(disk: FaultyDisk, offset: int) -> None:
    log = open_log(disk)
    for number in range(15):
        if number in (5, 10):
            roll(log)
        append(log, batch(pid=1, seq=number, txn=True, timestamp=number))
        if number == 2:
            log.trimmer.truncate_to(3)  # at the end: nothing
    kept = [header for header in headers(log) if header.base_offset < offset]
    log.trimmer.truncate_to(offset)
    assert (log.log_end_offset, headers(log)) == (offset, kept)
    assert append(log, batch(pid=1, seq=offset, txn=True)).base_offset == offset
    log.close()
    assert open_log(disk, clean=True).log_end_offset == offset + 1


def test_truncation_reverts_sequences_transactions_and_bounds(disk: FaultyDisk) -> None:
    log = open_log(disk)
    append(log, batch(pid=1, seq=0, txn=True))
    marker(log, 1, commit=False)
    append(log, batch(pid=1, seq=1, txn=True))
    commit_all(log)
    log.trimmer.truncate_to(1)
    assert log.aborted_transactions(0, 9) == []
    assert (log.high_watermark, log.last_stable_offset) == (1, 0)
    assert append(log, batch(pid=1, seq=0, txn=True)).duplicate
    assert append(log, batch(pid=1, seq=1, txn=True)).base_offset == 1


def test_a_truncation_removes_later_leader_epochs(log: PartitionLog) -> None:
    for epoch in (1, 2, 3):
        log.writer.append_client(batch(2), leader_epoch=epoch, now_ms=NOW_MS)
    log.trimmer.truncate_to(3)
    assert log.log_end_offset == 2, "a batch goes whole"
    assert log.leader_epoch_cache.entries == ((1, 0),)


def test_a_log_can_be_emptied_and_continue_at_another_offset(disk: FaultyDisk) -> None:
    log = segmented(disk, TopicConfig())
    append(log, batch(pid=1, seq=0))
    log.trimmer.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark, log.size_bytes) == (100, 100, 100, 0)
    assert log.active_producers() == []
    assert append(log, batch()).base_offset == 100
    log.close()
    log = open_log(disk, clean=True, log_start_offset=100)
    assert len(headers(log)) == 1


def test_a_truncation_below_the_first_segment_moves_the_log_start_offset(disk: FaultyDisk) -> None:
    log = segmented(disk, TopicConfig(retention_ms=1000))
    log.trimmer.apply_retention(1101)
    log.trimmer.truncate_to(3)
    assert (log.log_start_offset, log.log_end_offset) == (3, 3)


# --- expiry, epochs


def test_an_expired_producer_can_begin_at_any_sequence(log: PartitionLog) -> None:
    append(log, batch(pid=1, seq=0, timestamp=NOW_MS))
    append(log, batch(pid=2, seq=0, timestamp=NOW_MS, txn=True))
    log.writer.expire_producers(NOW_MS + 86_400_000)
    assert append(log, batch(pid=1, seq=7)).error is Error.NONE
    assert append(log, batch(pid=2, seq=7, txn=True)).error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(-1, (-1, -1)), (0, (0, 0)), (1, (1, 2)), (2, (1, 2)), (3, (3, 4)), (5, (5, 6)), (6, (-1, -1))],
)
def test_the_end_offset_of_a_leader_epoch_is_found(log: PartitionLog, epoch: int, expected: tuple[int, int]) -> None:
    for known in (1, 3, 5):
        log.writer.append_client(batch(2), leader_epoch=known, now_ms=NOW_MS)
    assert log.end_offset_for_epoch(epoch) == expected


def test_a_failed_file_removal_is_retried_and_keeps_no_other_file(disk: FaultyDisk) -> None:
    log = segmented(disk, TopicConfig(retention_ms=1000, file_delete_delay_ms=60_000))
    log.trimmer.apply_retention(1201)
    stubborn, remove = f"{FOLDER}/00000000000000000000.log.deleted", disk.remove

    def refusing(path: str) -> None:
        if path == stubborn:
            raise StorageError(f"cannot remove {path}: Operation not permitted")
        remove(path)

    with mock.patch.object(disk, "remove", refusing):
        for _ in range(2):
            with pytest.raises(StorageError, match="Operation not permitted"):
                log.trimmer.apply_retention(1201 + 60_000)
            left = [name for name in disk.list(FOLDER) if name.endswith(".deleted") and name < "00000000000000000010"]
            assert left == ["00000000000000000000.log.deleted"]
    assert bases(log) == [15], "what is due now goes all the same"
    log.files.remove_deleted_files(1201 + 120_000)
    assert not [name for name in disk.list(FOLDER) if name.endswith(".deleted")]


def test_a_segment_with_a_failed_rename_is_deleted_the_next_time(disk: FaultyDisk) -> None:
    log = segmented(disk, TopicConfig(retention_ms=1000, file_delete_delay_ms=0))
    log.files.write_indexes()
    rename = disk.rename

    def refusing(old: str, new: str) -> None:
        if old.endswith(".timeindex"):
            raise StorageError(f"cannot rename {old}: Input/output error")
        rename(old, new)

    with mock.patch.object(disk, "rename", refusing), pytest.raises(StorageError, match="Input/output error"):
        log.trimmer.apply_retention(1201)
    assert log.trimmer.apply_retention(1201) == 2
    assert bases(log) == [10]
    log.trimmer.apply_retention(1201)
    assert not [name for name in disk.list(FOLDER) if name < "00000000000000000010"]
