"""A disk that refuses: nothing is applied and nothing is promised.

A full one is asked again; after other failures the log is offline until it is reopened.
"""

from __future__ import annotations

import pytest

from oncelog.broker.log.partition_log import PartitionLog
from oncelog.errors import Error, StorageError
from oncelog.records.batch import read_header
from oncelog.settings.config import TopicConfig
from oncelog.testing.simulation.disk import FaultyDisk
from tests.unit.broker.log.batches import FOLDER, NOW_MS, append, batch, fill, flush, headers, marker, open_log, roll


def test_an_append_to_a_full_disk_changes_nothing_and_the_log_continues_when_space_is_free(
    disk: FaultyDisk, caplog: pytest.LogCaptureFixture
) -> None:
    log = open_log(disk)
    append(log, batch(pid=1, seq=0, txn=True))
    disk.free_bytes = 20
    before = (log.log_end_offset, log.size_bytes, repr(log.active_producers()), log.last_stable_offset)
    refused = append(log, batch(pid=1, seq=1, txn=True))
    assert refused.error is Error.KAFKA_STORAGE_ERROR
    assert "No space left" in refused.message
    assert marker(log, 1).error is Error.KAFKA_STORAGE_ERROR
    assert (log.log_end_offset, log.size_bytes, repr(log.active_producers()), log.last_stable_offset) == before
    assert [record.getMessage() for record in caplog.records] == [
        "t-0 refuses records until the disk has free space: cannot append to t-0/00000000000000000000.log: "
        "No space left on device"
    ]
    disk.free_bytes = None
    assert append(log, batch(pid=1, seq=1, txn=True)).base_offset == 1
    assert marker(log, 1).base_offset == 2
    assert log.last_stable_offset == log.high_watermark
    log.close()
    assert [header.base_offset for header in headers(open_log(disk))] == [0, 1, 2]


def test_a_run_refused_by_a_full_disk_is_left_unchanged(disk: FaultyDisk) -> None:
    """The caller tries its batches one by one next, and each is checked again."""
    log = open_log(disk)
    fill(log, 1)
    run = [batch(), batch()]
    disk.free_bytes = 20
    assert log.writer.append_run(run, [read_header(one) for one in run], 3, NOW_MS) == []
    assert append(log, bytearray(run[0])).error is Error.KAFKA_STORAGE_ERROR
    disk.free_bytes = None
    assert append(log, run[0]).base_offset == 1


def test_each_time_that_the_disk_is_full_is_reported_once(disk: FaultyDisk, caplog: pytest.LogCaptureFixture) -> None:
    log = open_log(disk)
    for _ in range(2):
        disk.free_bytes = 20
        fill_refused = [append(log, batch()).error for _ in range(3)]
        assert fill_refused == [Error.KAFKA_STORAGE_ERROR] * 3
        disk.free_bytes = None
        assert append(log, batch()).error is Error.NONE
    assert sum("refuses records until the disk has free space" in record.getMessage() for record in caplog.records) == 2


def test_a_partial_write_that_cannot_be_undone_stops_the_log_until_recovery(disk: FaultyDisk) -> None:
    log = open_log(disk)
    fill(log, 3)
    disk.torn_appends = 1
    assert append(log, batch()).error is Error.KAFKA_STORAGE_ERROR
    assert log.failed is not None
    assert append(log, batch()).error is Error.KAFKA_STORAGE_ERROR
    assert marker(log, 1).error is Error.KAFKA_STORAGE_ERROR
    log.close()
    log = open_log(disk)
    assert len(headers(log)) == 3
    assert append(log, batch()).base_offset == 3


def test_after_a_failed_sync_every_append_is_refused(log: PartitionLog, disk: FaultyDisk) -> None:
    fill(log, 1)
    disk.failing_syncs = 1
    ticket = log.files.begin_flush()
    assert ticket is not None
    with pytest.raises(StorageError) as failure:
        ticket.files[0].sync()
    log.fail(str(failure.value))
    refused = append(log, batch())
    assert refused.error is Error.KAFKA_STORAGE_ERROR
    assert "Input/output error" in refused.message
    assert log.flushed_offset == 0


@pytest.mark.parametrize("reopened", [True, False])
@pytest.mark.parametrize("free", range(0, 200, 8))
def test_a_segment_roll_that_failed_halfway_is_completed_by_the_next_append(
    disk: FaultyDisk, free: int, reopened: bool
) -> None:
    config = TopicConfig(segment_bytes=1 << 20, index_interval_bytes=0)
    log = open_log(disk, config=config)
    for number in range(8):
        append(log, batch(pid=1, seq=number, size=130_000))
    disk.free_bytes = free
    refused = append(log, batch(pid=1, seq=8, size=130_000))
    assert refused.error is Error.KAFKA_STORAGE_ERROR
    disk.free_bytes = None
    if reopened:
        log.close()
        log = open_log(disk, config=config)
    assert append(log, batch(pid=1, seq=8, size=130_000)).error is Error.NONE
    assert append(log, batch(pid=1, seq=9, size=130_000)).error is Error.NONE
    expected = headers(log)
    assert [header.base_sequence for header in expected] == list(range(10))
    log.close()
    assert headers(open_log(disk, clean=True, config=config)) == expected


def test_a_deleted_log_refuses_appends(log: PartitionLog, disk: FaultyDisk) -> None:
    fill(log, 1)
    assert log.delete("token") == "t-0.token-delete"
    assert not disk.exists(FOLDER)
    assert disk.list("t-0.token-delete")
    assert append(log, batch()).error is Error.KAFKA_STORAGE_ERROR


# --- flushing


def test_a_flush_covers_the_records_appended_before_it_began(log: PartitionLog) -> None:
    fill(log, 2)
    ticket = log.files.begin_flush()
    assert ticket is not None
    assert ticket.end_offset == 2
    fill(log, 1)
    log.files.flushed(ticket)
    assert log.flushed_offset == 2
    assert flush(log) is not None
    assert log.files.begin_flush() is None


def test_a_flush_without_a_descriptor_leaves_its_bytes_to_the_next_flush(log: PartitionLog) -> None:
    fill(log, 2)
    ticket = log.files.begin_flush()
    assert ticket is not None
    log.files.not_flushed(ticket)
    fill(log, 1)
    again = log.files.begin_flush()
    assert again is not None
    assert again.end_offset == 3
    assert again.size_bytes == log.activity.bytes_in > ticket.size_bytes


def test_the_recovery_point_waits_for_the_indexes_of_a_segment_that_was_closed(log: PartitionLog) -> None:
    """Indexes are written at the close, after the batches were synced: a power failure may leave only a part of
    them.
    """
    fill(log, 2)
    flush(log)
    assert log.files.recovery_point == 0
    ticket = log.files.begin_flush()
    roll(log)
    assert (ticket, log.files.recovery_point) == (None, 0)
    fill(log, 1)
    assert log.files.recovery_point == 0
    flush(log)
    assert log.files.recovery_point == 2


def test_a_log_without_new_records_needs_no_flush(log: PartitionLog) -> None:
    assert log.files.begin_flush() is None


def test_a_flush_syncs_the_segment_that_was_rolled_with_its_indexes_and_snapshot(log: PartitionLog) -> None:
    append(log, batch(pid=1, seq=0))
    roll(log)
    append(log, batch(pid=1, seq=1))
    ticket = log.files.begin_flush()
    assert ticket is not None
    names = {file.path.removeprefix(f"{FOLDER}/").lstrip("0") for file in ticket.files}
    assert names == {".log", ".index", ".timeindex", "1.log", "1.snapshot", "leader-epoch-checkpoint"}
    assert ticket.folders == (FOLDER, "")
    log.files.flushed(ticket)
    append(log, batch())
    ticket = log.files.begin_flush()
    assert ticket is not None
    assert [file.path for file in ticket.files] == [f"{FOLDER}/00000000000000000001.log"]
    assert ticket.folders == ()


def test_index_files_may_be_brought_up_to_date_at_any_time(disk: FaultyDisk) -> None:
    log = open_log(disk, config=TopicConfig(index_interval_bytes=0))
    for total in (3, 6):
        fill(log, 3)
        log.files.write_indexes()
        assert disk.size(f"{FOLDER}/00000000000000000000.index") == 8 * (total - 1)
