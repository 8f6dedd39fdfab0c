"""Opening after a clean close, a crash of the process, a power loss, and damage; Kafka's ``LogLoader``."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from oncelog.broker.log.partition_log import PartitionLog
from oncelog.errors import Error
from oncelog.settings.config import TopicConfig
from oncelog.testing.simulation.disk import FaultyDisk
from tests.unit.broker.log.batches import (
    FOLDER,
    NOW_MS,
    append,
    batch,
    fill,
    flush,
    headers,
    marker,
    open_log,
    read_headers,
    roll,
)

Reopen = Callable[..., PartitionLog]
SMALL = TopicConfig(index_interval_bytes=200)


def path(offset: int, kind: str) -> str:
    return f"{FOLDER}/{offset:020d}.{kind}"


def overwrite(disk: FaultyDisk, name: str, data: bytes) -> None:
    file = disk.open(name, create=True)
    file.truncate(0)
    file.append([data])


def three_segments(disk: FaultyDisk) -> PartitionLog:
    """Idempotent, committed, aborted and open batches; segments at 0, 12 and 24."""
    log = open_log(disk, config=SMALL)
    for number in range(3):
        if number:
            roll(log)
        for step in range(4):
            append(log, batch(pid=1, seq=number * 4 + step))
        append(log, batch(2, pid=2, seq=number * 2, txn=True, size=200))
        marker(log, 2, commit=number == 1)
        append(log, batch(5, pid=3, seq=number * 5, txn=True, size=100))
    return log


def observed(log: PartitionLog) -> dict[str, object]:
    """Everything that a client could notice."""
    log.maybe_advance_high_watermark(log.log_end_offset)
    return {
        "headers": headers(log),
        "reads": [read_headers(log, offset, 300) for offset in range(log.log_start_offset, log.log_end_offset)],
        "aborted": log.aborted_transactions(0, log.log_end_offset),
        "stable": log.last_stable_offset,
        "times": [log.offset_for_timestamp(NOW_MS + late) for late in range(8)],
        "latest": log.offset_of_max_timestamp(),
        "producers": [
            (p.producer_id, p.producer_epoch, p.last_sequence, p.coordinator_epoch, p.current_txn_first_offset)
            for p in log.active_producers()
        ],
        "epochs": log.leader_epoch_cache.entries,
    }


def contents(disk: FaultyDisk) -> dict[str, bytes]:
    return {name: disk.read(f"{FOLDER}/{name}") for name in disk.list(FOLDER)}


def test_a_start_after_a_crash_writes_no_file_of_the_segment_that_continues(disk: FaultyDisk) -> None:
    log = open_log(disk, config=SMALL)
    for seq in range(10):
        append(log, batch(pid=1, seq=seq))
    before = contents(disk)
    log = open_log(disk, config=SMALL)
    assert contents(disk) == before
    log.close()
    assert {"00000000000000000010.snapshot", "00000000000000000000.index"} < contents(disk).keys()


def test_a_leader_epoch_without_a_batch_is_not_written(disk: FaultyDisk) -> None:
    log = open_log(disk)
    append(log, batch())
    log.leader_epoch_cache.assign(1, 1)
    log.close()
    written = contents(disk)["leader-epoch-checkpoint"]
    assert written == b"0\n1\n0 0\n"
    log = open_log(disk, clean=True)
    log.leader_epoch_cache.assign(2, 1)
    assert log.files.begin_close() is None
    append(log, batch())
    log.close()
    assert contents(disk)["leader-epoch-checkpoint"] == b"0\n2\n0 0\n2 1\n"


@pytest.mark.parametrize("clean", [True, False])
def test_a_reopened_log_is_unchanged(disk: FaultyDisk, clean: bool) -> None:
    log = three_segments(disk)
    before = observed(log)
    log.close(clean=clean)
    assert observed(open_log(disk, clean=clean, config=SMALL)) == before


def test_opening_a_cleanly_closed_log_checks_only_batches_after_the_last_index_entry(disk: FaultyDisk) -> None:
    log = three_segments(disk)
    log.close()
    data = bytearray(disk.read(path(24, "log")))
    data[20] ^= 1  # the CRC of the first batch of the last segment
    overwrite(disk, path(24, "log"), bytes(data))
    assert open_log(disk, clean=True).log_end_offset == 36


def test_after_a_clean_restart_the_last_batch_is_still_recognised_as_a_duplicate(
    disk: FaultyDisk, reopen: Reopen
) -> None:
    log = three_segments(disk)
    log.close()
    log = reopen()
    assert append(log, batch(pid=1, seq=11)).duplicate
    assert append(log, batch(pid=1, seq=12)).error is Error.NONE


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("rolled_before", [(), (4,), (2, 5, 6), (7,)])
def test_after_a_restart_the_last_five_batches_are_recognised_as_duplicates(
    disk: FaultyDisk, reopen: Reopen, clean: bool, rolled_before: tuple[int, ...]
) -> None:
    """A snapshot has only the last one. A client that lost its answers begins with the oldest of them; refused as out
    of order, it would write that one again in its next epoch."""
    log = open_log(disk)
    append(log, batch(pid=2, seq=0, epoch=4))
    for seq in range(7):
        if seq in rolled_before:
            roll(log)
        append(log, batch(2, pid=1, seq=2 * seq))
        append(log, batch(pid=2, seq=seq, epoch=5))
    if 7 in rolled_before:
        roll(log)
    log.close(clean=clean)
    log = reopen(clean=clean)
    assert [append(log, batch(2, pid=1, seq=2 * seq)).duplicate for seq in range(2, 7)] == [True] * 5
    assert append(log, batch(2, pid=1, seq=2)).error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(log, batch(pid=2, seq=0, epoch=4)).error is Error.INVALID_PRODUCER_EPOCH
    assert append(log, batch(pid=2, seq=2, epoch=5)).duplicate
    assert append(log, batch(pid=1, seq=14)).error is Error.NONE


def test_the_last_batches_are_known_whatever_their_timestamps_and_the_clock_say(disk: FaultyDisk) -> None:
    log = open_log(disk)
    for seq in range(3):
        append(log, batch(pid=1, seq=seq))
    log.close()
    log = open_log(disk, clean=True, now_ms=NOW_MS + 3_600_000)
    assert append(log, batch(pid=1, seq=2)).duplicate
    assert append(log, batch(pid=1, seq=1)).duplicate


def test_after_a_crash_batches_written_since_the_snapshot_are_still_recognised_as_duplicates(
    disk: FaultyDisk, reopen: Reopen
) -> None:
    log = three_segments(disk)
    log.close(clean=False)
    log = reopen(clean=False)
    assert append(log, batch(pid=1, seq=8)).duplicate
    assert append(log, batch(5, pid=3, seq=10, txn=True)).duplicate


@pytest.mark.parametrize(
    "kinds", [("index",), ("timeindex",), ("index", "timeindex"), ("index", "timeindex", "txnindex")]
)
@pytest.mark.parametrize("clean", [True, False])
def test_missing_indexes_are_recreated(disk: FaultyDisk, kinds: tuple[str, ...], clean: bool) -> None:
    log = three_segments(disk)
    before = observed(log)
    log.close()
    for base in (0, 12, 24):
        for kind in kinds:
            disk.remove(path(base, kind))
    log = open_log(disk, clean=clean, recovery_point=36, config=SMALL)
    assert observed(log) == before
    log.close()
    assert observed(open_log(disk, clean=True, config=SMALL)) == before


@pytest.mark.parametrize("kind", ["index", "timeindex", "txnindex"])
@pytest.mark.parametrize("damage", [b"\xff" * 24, b"\x00" * 34, b"\x00" * 24, b"abc", b"\x7f" * 68])
def test_damaged_indexes_are_recreated_and_give_the_same_answers(disk: FaultyDisk, kind: str, damage: bytes) -> None:
    log = three_segments(disk)
    before = observed(log)
    log.close()
    for base in (0, 12):
        overwrite(disk, path(base, kind), damage)
    assert observed(open_log(disk, clean=True, config=SMALL)) == before


def test_a_damaged_newest_snapshot_is_replaced_by_an_older_snapshot(disk: FaultyDisk, reopen: Reopen) -> None:
    log = three_segments(disk)
    before = observed(log)["producers"]
    log.close()
    overwrite(disk, path(36, "snapshot"), b"nonsense")
    log = reopen()
    assert observed(log)["producers"] == before
    assert append(log, batch(pid=1, seq=12)).error is Error.NONE


def test_without_any_snapshot_a_crash_is_recovered_from_the_batches(disk: FaultyDisk, reopen: Reopen) -> None:
    log = three_segments(disk)
    before = observed(log)
    log.close(clean=False)
    for name in disk.list(FOLDER):
        if name.endswith("snapshot"):
            disk.remove(f"{FOLDER}/{name}")
    assert observed(open_log(disk, config=SMALL)) == before


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_with_a_damaged_segment_opens(disk: FaultyDisk, clean: bool) -> None:
    log = three_segments(disk)
    log.close(clean=clean)
    for name in disk.list(FOLDER):
        if name.endswith("snapshot"):
            overwrite(disk, f"{FOLDER}/{name}", b"nonsense")
    data = bytearray(disk.read(path(12, "log")))
    data[16] = 7  # the format of its first batch
    overwrite(disk, path(12, "log"), bytes(data))
    log = open_log(disk, clean=clean, recovery_point=24, config=SMALL)
    assert log.log_end_offset == 36
    assert append(log, batch(pid=1, seq=12)).error is Error.NONE


def test_a_cleanly_closed_folder_without_snapshots_is_not_read_for_its_producers(
    disk: FaultyDisk, reopen: Reopen
) -> None:
    log = three_segments(disk)
    log.close()
    for name in disk.list(FOLDER):
        if name.endswith("snapshot"):
            disk.remove(f"{FOLDER}/{name}")
    assert reopen().active_producers() == []


@pytest.mark.parametrize("damage", [b"", b"0\n7\n", b"garbage", b"0\n3\n0 0\n2 8\n5 1"])
def test_lost_leader_epochs_are_restored_from_the_batches(disk: FaultyDisk, damage: bytes) -> None:
    log = open_log(disk)
    for epoch in (0, 2, 5):
        log.writer.append_client(batch(8), leader_epoch=epoch, now_ms=NOW_MS)
    expected = log.leader_epoch_cache.entries
    assert expected == ((0, 0), (2, 8), (5, 16))
    log.close()
    overwrite(disk, f"{FOLDER}/leader-epoch-checkpoint", damage)
    assert open_log(disk, clean=True).leader_epoch_cache.entries == expected


# --- what a crash leaves


@pytest.mark.parametrize("cut", range(1, 71, 6))
def test_only_a_torn_last_batch_is_truncated(disk: FaultyDisk, cut: int) -> None:
    log = open_log(disk)
    fill(log, 10)
    append(log, batch(pid=1, seq=0))
    size = log.size_bytes
    append(log, batch(pid=1, seq=1))
    data = disk.read(path(0, "log"))
    overwrite(disk, path(0, "log"), data[:-cut])
    log = open_log(disk)
    assert (log.log_end_offset, log.size_bytes) == (11, size)
    assert append(log, batch(pid=1, seq=1)).base_offset == 11
    assert [header.base_offset for header in headers(log)] == list(range(12))


@pytest.mark.parametrize("zeros", [1, 60, 61, 5000])
def test_zeros_at_the_end_are_truncated(disk: FaultyDisk, zeros: int) -> None:
    log = open_log(disk)
    fill(log, 10)
    size = log.size_bytes
    log.close(clean=False)
    disk.open(path(0, "log")).append([bytes(zeros)])
    log = open_log(disk)
    assert (log.log_end_offset, log.size_bytes) == (10, size)


@pytest.mark.parametrize("position", [0, 8, 16, 17, 21, 23, 57, 61, 70])
def test_recovery_truncates_the_log_at_the_first_bad_batch(disk: FaultyDisk, position: int) -> None:
    log = open_log(disk)
    fill(log, 10)
    starts = [at for at, _ in log.segment_list.active.scan(0)]
    log.close(clean=False)
    data = bytearray(disk.read(path(0, "log")))
    data[starts[6] + position] ^= 0x55
    overwrite(disk, path(0, "log"), bytes(data))
    assert open_log(disk).log_end_offset == 6


def test_segments_after_a_bad_batch_are_removed(disk: FaultyDisk) -> None:
    log = three_segments(disk)
    log.close(clean=False)
    data = disk.read(path(12, "log"))
    overwrite(disk, path(12, "log"), data[:-10])
    log = open_log(disk)
    assert log.log_end_offset == 19
    assert [name for name in disk.list(FOLDER) if name.endswith("log")] == [
        "00000000000000000000.log",
        "00000000000000000012.log",
    ]
    assert append(log, batch(5, pid=3, seq=5, txn=True)).error is Error.NONE


def test_segments_below_the_recovery_point_are_not_read(disk: FaultyDisk) -> None:
    log = three_segments(disk)
    flush(log)
    log.close(clean=False)
    data = bytearray(disk.read(path(0, "log")))
    data[-1] ^= 1
    overwrite(disk, path(0, "log"), bytes(data))
    assert open_log(disk, recovery_point=24).log_end_offset == 36
    assert open_log(disk, recovery_point=11).log_end_offset < 12


def test_a_log_whose_end_lies_before_its_start_is_emptied(disk: FaultyDisk) -> None:
    log = three_segments(disk)
    log.close()
    log = open_log(disk, clean=True, log_start_offset=40)
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (40, 40, 0)
    assert append(log, batch()).base_offset == 40


def test_a_restart_keeps_the_start_offset_of_the_log(disk: FaultyDisk) -> None:
    log = three_segments(disk)
    log.close()
    log = open_log(disk, clean=True, log_start_offset=5)
    assert (log.log_start_offset, log.high_watermark) == (5, 5)


def test_the_recovery_point_passes_the_last_segment_only_after_a_clean_close(disk: FaultyDisk) -> None:
    log = three_segments(disk)
    log.close()
    assert log.files.recovery_point == 36
    log = open_log(disk, clean=False, recovery_point=13)
    assert log.files.recovery_point == 13
    ticket = flush(log)
    assert ticket is not None
    assert [file.path for file in ticket.files if file.path.endswith("log")] == [path(12, "log"), path(24, "log")]
    assert (log.flushed_offset, log.files.recovery_point) == (36, 24)


def test_leftover_files_of_deletion_and_compaction_are_removed(disk: FaultyDisk) -> None:
    log = three_segments(disk)
    before = observed(log)
    log.close()
    for name in (
        "00000000000000000000.log.deleted",
        "00000000000000000012.index.cleaned",
        "00000000000000000099.index",
    ):
        overwrite(disk, f"{FOLDER}/{name}", b"x")
    assert observed(open_log(disk, clean=True, config=SMALL)) == before
    assert not [name for name in disk.list(FOLDER) if name.endswith(("deleted", "cleaned")) or "99" in name]


def test_a_compaction_whose_segment_swap_had_begun_is_finished(disk: FaultyDisk) -> None:
    log = three_segments(disk)
    log.close()
    cleaned = disk.read(path(0, "log")) + disk.read(path(12, "log"))
    for kind, data in (("log", cleaned), ("index", b""), ("timeindex", b"")):
        overwrite(disk, path(0, f"{kind}.swap"), data)
    log = open_log(disk, clean=True)
    assert [segment.base_offset for segment in log.segments] == [0, 24]
    assert len(headers(log)) == 21
    assert read_headers(log, 13)[0].base_offset == 13


def test_recovery_keeps_files_that_do_not_belong_to_the_log(disk: FaultyDisk) -> None:
    three_segments(disk).close()
    overwrite(disk, f"{FOLDER}/partition.metadata", b"version: 0\n")
    open_log(disk)
    assert disk.read(f"{FOLDER}/partition.metadata") == b"version: 0\n"


@pytest.mark.parametrize("seed", range(40))
def test_synced_records_survive_a_power_loss(disk: FaultyDisk, seed: int) -> None:
    rng = random.Random(seed)
    log = open_log(disk, config=SMALL)
    synced: list[object] = []
    for number in range(rng.randint(1, 40)):
        append(log, batch(rng.randint(1, 5), pid=1, seq=log.active_producers()[0].last_sequence + 1 if number else 0))
        if rng.random() < 0.2:
            roll(log)
        if rng.random() < 0.2:
            flush(log)
            synced = list(headers(log))
    point = log.files.recovery_point
    written = headers(log)
    log = open_log(disk.crash(rng), recovery_point=point, config=SMALL)
    found = headers(log)
    assert found[: len(synced)] == synced
    assert found == written[: len(found)]
    producers = log.active_producers()
    if found:
        assert producers[0].last_sequence == found[-1].last_sequence


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("closed", [False, True])
def test_leader_epochs_of_synced_records_survive_a_power_loss(disk: FaultyDisk, seed: int, closed: bool) -> None:
    """Otherwise a consumer that asks for an epoch that is no longer known would have to start over."""
    log = open_log(disk)
    for epoch in range(3):
        log.writer.append_client(batch(), leader_epoch=epoch, now_ms=NOW_MS)
    entries = log.leader_epoch_cache.entries
    if closed:
        log.close()
    else:
        flush(log)
    log = open_log(disk.crash(random.Random(seed)), clean=closed, recovery_point=3)
    assert log.leader_epoch_cache.entries == entries


@pytest.mark.parametrize(("policy", "end"), [("delete", 7), ("compact", 36)])
def test_a_segment_that_lost_its_whole_last_batch_ends_the_log(disk: FaultyDisk, policy: str, end: int) -> None:
    """A power loss may take the end of one segment and leave the next; only compaction makes gaps on purpose."""
    three_segments(disk).close(clean=False)
    log = open_log(disk)
    size = log.segment_list.oldest(1)[0].position_of(7)
    log.close(clean=False)
    disk.open(path(0, "log")).truncate(size)
    log = open_log(disk, config=TopicConfig(cleanup_policy=(policy,)))
    assert log.log_end_offset == end
    assert append(log, batch()).base_offset == end


def damaged_files(disk: FaultyDisk) -> list[str]:
    return [name for name in disk.list(FOLDER) if name.endswith(".damaged")]


def test_synced_records_that_a_later_recovery_truncates_are_kept_in_another_file(disk: FaultyDisk) -> None:
    three_segments(disk).close()
    whole = disk.read(path(12, "log"))
    last = disk.read(path(24, "log"))
    damaged = bytearray(whole)
    damaged[20] ^= 1  # the CRC of the first batch of the second segment
    overwrite(disk, path(12, "log"), bytes(damaged))
    log = open_log(disk, clean=False, recovery_point=24, config=SMALL)
    assert log.log_end_offset == 36, "below the recovery point nothing is read"
    log.close(clean=False)
    disk.remove(path(12, "index"))
    log = open_log(disk, clean=False, recovery_point=24, config=SMALL)
    assert disk.read(f"{FOLDER}/{damaged_files(disk)[0]}") == bytes(damaged)
    assert last in (disk.read(f"{FOLDER}/{name}") for name in [*damaged_files(disk), path(24, "log").split("/")[-1]])


def test_an_unsynced_torn_end_is_truncated_and_not_kept_in_another_file(disk: FaultyDisk) -> None:
    log = open_log(disk)
    fill(log, 4)
    log.close(clean=False)
    data = disk.read(path(0, "log"))
    overwrite(disk, path(0, "log"), data[:-3])
    open_log(disk, clean=False)
    assert damaged_files(disk) == []
