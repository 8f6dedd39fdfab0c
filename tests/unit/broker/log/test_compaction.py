"""Compaction against what a reader may rely on; Kafka's ``LogCleaner`` (KIP-98, KIP-534)."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from oncelog.broker.log import compaction
from oncelog.broker.log.partition_log import PartitionLog
from oncelog.errors import CorruptLogError, Error, StorageError
from oncelog.records.batch import BatchBuilder, decode_records
from oncelog.records.control import parse_control
from oncelog.settings.config import TopicConfig
from oncelog.testing.simulation.disk import FaultyDisk
from tests.unit.broker.log.batches import FOLDER, NOW_MS, append, commit_all, flip, headers, marker, open_log, roll

CONFIG = TopicConfig(cleanup_policy=("compact",), delete_retention_ms=1000, file_delete_delay_ms=0)


class Writer:
    """Writes one record a batch and rolls on request."""

    def __init__(self, log: PartitionLog) -> None:
        self.log = log
        self.sequences: dict[int, int] = {}

    def put(self, *pairs: tuple[str, str | None], pid: int = -1, txn: bool = False, timestamp: int = NOW_MS) -> None:
        builder = BatchBuilder()
        for key, value in pairs:
            builder.append(timestamp, key.encode(), None if value is None else value.encode())
        seq = self.sequences.get(pid, 0) if pid >= 0 else -1
        self.sequences[pid] = seq + len(pairs)
        data = builder.build(
            producer_id=pid, producer_epoch=0 if pid >= 0 else -1, base_sequence=seq, transactional=txn
        )
        assert append(self.log, data).error is Error.NONE

    def end(self, pid: int, *, commit: bool) -> None:
        assert marker(self.log, pid, commit=commit).error is Error.NONE

    def roll(self) -> None:
        roll(self.log)
        commit_all(self.log)


@pytest.fixture
def writer(disk: FaultyDisk) -> Writer:
    return Writer(open_log(disk, config=CONFIG))


def compacted(log: PartitionLog, dirty_from: int = 0, now_ms: int = NOW_MS, **kwargs: int) -> int:
    """Compact whatever is there; returns the new first dirty offset."""
    job = compaction.plan(log, dirty_from, now_ms, force=True, **kwargs)
    assert job is not None
    job.run()
    return job.finish(log, now_ms)


class Seen(NamedTuple):
    offset: int
    key: str
    value: str | None


def committed_view(log: PartitionLog) -> list[Seen]:
    """What a read_committed consumer receives: Kafka's ``CompletedFetch``."""
    aborted = sorted((first, pid) for pid, first in log.aborted_transactions(0, log.log_end_offset))
    active: set[int] = set()
    seen = []
    for header, data in log.batches(0):
        while aborted and aborted[0][0] <= header.last_offset:
            active.add(aborted.pop(0)[1])
        if header.is_control:
            found = parse_control(data)
            if found is not None and not found.commit:
                active.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in active):
            for record in decode_records(data):
                assert record.key is not None
                value = None if record.value is None else record.value.decode()
                seen.append(Seen(record.offset, record.key.decode(), value))
    return seen


def table(log: PartitionLog) -> dict[str, str]:
    """The topic as a table: last value of each key that is not deleted."""
    rows: dict[str, str | None] = {}
    for _, key, value in committed_view(log):
        rows[key] = value
    return {key: value for key, value in rows.items() if value is not None}


def test_the_newest_record_of_each_key_keeps_its_offset(writer: Writer) -> None:
    for number in range(3):
        writer.put(("a", f"a{number}"), ("b", f"b{number}"))
        writer.put((f"only{number}", "x"))
        writer.roll()
    assert compacted(writer.log) == 9
    assert committed_view(writer.log) == [
        (2, "only0", "x"),
        (5, "only1", "x"),
        (6, "a", "a2"),
        (7, "b", "b2"),
        (8, "only2", "x"),
    ]


def test_the_active_segment_is_not_compacted(writer: Writer) -> None:
    writer.put(("a", "1"))
    writer.roll()
    writer.put(("a", "2"))
    writer.put(("a", "3"))
    commit_all(writer.log)
    assert compacted(writer.log) == 1
    assert [seen.value for seen in committed_view(writer.log)] == ["1", "2", "3"]


def test_open_transactions_are_not_compacted(writer: Writer) -> None:
    writer.put(("a", "1"))
    writer.roll()
    writer.put(("a", "2"), pid=1, txn=True)
    writer.roll()
    writer.put(("a", "3"))
    writer.roll()
    assert writer.log.last_stable_offset == 1
    assert compacted(writer.log) == 1
    assert compaction.plan(writer.log, 1, NOW_MS, force=True) is None


def test_small_segments_are_merged(writer: Writer, disk: FaultyDisk) -> None:
    for number in range(4):
        writer.put((f"k{number}", "x"))
        writer.roll()
    compacted(writer.log)
    assert [segment.base_offset for segment in writer.log.segments] == [0, 4]
    writer.log.files.remove_deleted_files(NOW_MS)
    logs = [name for name in disk.list(FOLDER) if ".log" in name]
    assert logs == ["00000000000000000000.log", "00000000000000000004.log"]
    assert table(writer.log) == {f"k{number}": "x" for number in range(4)}


def test_records_of_aborted_transactions_are_removed_and_hide_no_older_record(writer: Writer) -> None:
    writer.put(("a", "kept"))
    writer.put(("a", "aborted"), ("b", "aborted"), pid=1, txn=True)
    writer.put(("c", "committed"), pid=2, txn=True)
    writer.end(1, commit=False)
    writer.end(2, commit=True)
    writer.put(("d", "plain"), pid=1)
    writer.put(("d", "plain"), pid=2)
    writer.roll()
    compacted(writer.log)
    assert table(writer.log) == {"a": "kept", "c": "committed", "d": "plain"}
    assert [header.base_offset for header in headers(writer.log)] == [0, 3, 4, 5, 6, 7]
    assert headers(writer.log)[4].records_count == 0, "it is the last batch of its producer"


def test_an_abort_marker_is_removed_one_compaction_and_one_delay_after_its_records(writer: Writer) -> None:
    writer.put(("x", "aborted"), pid=1, txn=True)
    writer.end(1, commit=False)
    writer.put(("y", "plain"), pid=1)
    writer.roll()
    log = writer.log

    def markers() -> list[int]:
        return [header.base_offset for header in headers(log) if header.is_control]

    compacted(log)
    assert markers() == [1]
    assert log.aborted_transactions(0, 9) == [(1, 0)], "a reader may have met the records and wait for the marker"
    compacted(log)
    assert markers() == [1]
    assert headers(log)[0].delete_horizon_ms == NOW_MS + 1000
    assert log.aborted_transactions(0, 9) == []
    compacted(log, now_ms=NOW_MS + 999)
    assert markers() == [1]
    compacted(log, now_ms=NOW_MS + 1000)
    assert markers() == []
    assert table(log) == {"y": "plain"}


def test_a_commit_marker_stays_as_long_as_records_of_its_transaction_remain(writer: Writer) -> None:
    writer.put(("x", "1"), pid=1, txn=True)
    writer.end(1, commit=True)
    writer.put(("z", "1"), pid=1)
    writer.roll()
    for now_ms in (NOW_MS, NOW_MS + 5000, NOW_MS + 10_000):
        compacted(writer.log, now_ms=now_ms)
    assert [header.is_control for header in headers(writer.log)] == [False, True, False]


def test_a_tombstone_is_removed_after_the_delay(writer: Writer) -> None:
    writer.put(("a", "1"))
    writer.put(("a", None), ("b", "1"))
    writer.put(("z", "1"))
    writer.roll()
    compacted(writer.log)
    assert committed_view(writer.log) == [(1, "a", None), (2, "b", "1"), (3, "z", "1")]
    compacted(writer.log, now_ms=NOW_MS + 999)
    assert (1, "a", None) in committed_view(writer.log)
    compacted(writer.log, now_ms=NOW_MS + 1000)
    assert committed_view(writer.log) == [(2, "b", "1"), (3, "z", "1")]


def test_a_producers_sequence_survives_compaction_and_recovery(writer: Writer, disk: FaultyDisk) -> None:
    writer.put(("a", "1"), pid=1)
    writer.put(("a", "2"), pid=1)
    writer.put(("a", "3"))
    writer.roll()
    compacted(writer.log)
    assert committed_view(writer.log) == [(2, "a", "3")]
    for name in disk.list(FOLDER):
        if name.endswith("snapshot"):
            disk.remove(f"{FOLDER}/{name}")
    again = Writer(open_log(disk, config=CONFIG))
    again.sequences[1] = 2
    again.put(("b", "1"), pid=1)
    (producer,) = again.log.active_producers()
    assert producer.last_sequence == 2


def test_no_transaction_reopens_after_a_crash_because_its_marker_was_compacted_away(disk: FaultyDisk) -> None:
    """A start from inside the compacted part trusts no snapshot from before the marker."""
    config = replace(CONFIG, segment_bytes=4000)  # two of these segments do not go into one
    writer = Writer(open_log(disk, config=config))
    writer.put(("a", "1" * 2500))
    writer.put(("x", "aborted"), pid=1, txn=True)
    writer.put(("z", "1"))
    writer.roll()
    writer.end(1, commit=False)
    writer.put(("y", "plain"), pid=1)
    writer.put(("b", "1" * 2500))
    writer.roll()
    writer.put(("c", "1"))
    for now_ms in (NOW_MS, NOW_MS, NOW_MS + 1000, NOW_MS + 2000):
        compacted(writer.log, now_ms=now_ms)
    assert not [header for header in headers(writer.log) if header.is_control]
    writer.log.close(clean=False)
    log = open_log(disk, config=config, recovery_point=3)
    commit_all(log)
    assert [segment.base_offset for segment in log.closed_segments] == [0, 3]
    assert log.last_stable_offset == log.log_end_offset == 7
    assert table(log).keys() == set("abcyz")


def test_the_last_batch_of_a_log_is_kept_even_without_records(writer: Writer) -> None:
    writer.put(("a", "1"))
    writer.put(("a", "gone"), pid=1, txn=True)
    writer.end(1, commit=False)
    writer.roll()
    writer.put(("a", "2"))
    writer.roll()
    compacted(writer.log)
    assert table(writer.log) == {"a": "2"}
    assert writer.log.log_end_offset == 4


def test_a_log_needs_compaction_when_it_reaches_the_dirty_ratio(writer: Writer) -> None:
    for _ in range(4):
        writer.put(("a", "x" * 100))
        writer.roll()
    assert compaction.plan(writer.log, 2, NOW_MS) is None, "half of the bytes are not more than half"
    assert compaction.plan(writer.log, 1, NOW_MS) is not None
    assert compaction.plan(writer.log, 4, NOW_MS, force=True) is None


def test_records_are_compacted_no_earlier_than_min_lag_and_no_later_than_max_lag(disk: FaultyDisk) -> None:
    lagging = TopicConfig(cleanup_policy=("compact",), min_compaction_lag_ms=1000, max_compaction_lag_ms=5000)
    writer = Writer(open_log(disk, config=lagging))
    for timestamp in (NOW_MS - 2000, NOW_MS - 999):
        writer.put(("a", "x"), timestamp=timestamp)
        writer.roll()
    job = compaction.plan(writer.log, 0, NOW_MS)
    assert job is not None
    job.run()
    assert job.finish(writer.log, NOW_MS) == 1
    assert compaction.plan(writer.log, 1, NOW_MS) is None
    writer.log.update_config(TopicConfig(cleanup_policy=("compact",), min_cleanable_dirty_ratio=1.0))
    assert compaction.plan(writer.log, 1, NOW_MS) is None
    overdue = TopicConfig(cleanup_policy=("compact",), min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=5000)
    writer.log.update_config(overdue)
    assert compaction.plan(writer.log, 1, NOW_MS + 4002) is not None


def test_a_topic_without_compaction_is_not_changed(disk: FaultyDisk) -> None:
    writer = Writer(open_log(disk))
    writer.put(("a", "1"))
    writer.roll()
    assert compaction.plan(writer.log, 0, NOW_MS, force=True) is None


def test_keys_that_do_not_fit_into_memory_wait_for_the_next_compaction(writer: Writer) -> None:
    for number in range(6):
        writer.put((f"k{number % 3}", f"{number}"))
        writer.put(("t", "aborted"), pid=1, txn=True)
        writer.end(1, commit=False)
        writer.roll()
    before = table(writer.log)
    first = compacted(writer.log, max_key_bytes=150)
    assert 0 < first < 18
    assert table(writer.log) == before
    while first < 18:
        first = compacted(writer.log, first, max_key_bytes=300)
        assert table(writer.log) == before
    assert [seen.offset for seen in committed_view(writer.log)] == [9, 12, 15]


def test_a_compaction_ends_if_its_segments_were_deleted_meanwhile(writer: Writer, disk: FaultyDisk) -> None:
    for number in range(3):
        writer.put(("a", f"{number}"))
        writer.roll()
    job = compaction.plan(writer.log, 0, NOW_MS, force=True)
    assert job is not None
    job.run()
    writer.log.trimmer.delete_records_before(2)
    writer.log.trimmer.apply_retention(NOW_MS)
    assert job.finish(writer.log, NOW_MS) == 0
    assert not [name for name in disk.list(FOLDER) if name.endswith("cleaned")]
    assert table(writer.log) == {"a": "2"}


def test_a_damaged_segment_is_not_compacted(writer: Writer, disk: FaultyDisk) -> None:
    writer.put(("a", "1"))
    writer.roll()
    flip(disk, f"{FOLDER}/{0:020d}.log", 65)
    job = compaction.plan(writer.log, 0, NOW_MS, force=True)
    assert job is not None
    with pytest.raises(CorruptLogError, match="t-0"):
        job.run()
    job.discard()
    assert len(headers(writer.log)) == 1


def test_a_compacted_log_is_read_and_reopened_like_any_other(writer: Writer, disk: FaultyDisk) -> None:
    for number in range(40):
        writer.put((f"k{number % 7}", f"{number}"))
        if number % 10 == 9:
            writer.roll()
    compacted(writer.log)
    view, offset = committed_view(writer.log), 0
    for clean in (True, False):
        writer.log.close(clean=clean)
        writer.log = open_log(disk, clean=clean, config=CONFIG)
        assert committed_view(writer.log) == view
    while offset < 40:
        read = writer.log.read(offset, 200, 40, at_least_one_batch=True)
        assert not isinstance(read, Error)
        if not read.size_bytes:
            break
        offset += 1
    assert writer.log.log_end_offset == 40


def test_a_segment_of_a_compacted_topic_is_closed_in_time_to_be_compacted(disk: FaultyDisk) -> None:
    """Kafka's ``LogConfig.maxSegmentMs``; otherwise a record waits for ``segment.ms``, seven days."""
    config = TopicConfig(cleanup_policy=("compact",), max_compaction_lag_ms=5000)
    writer = Writer(open_log(disk, config=config))
    writer.put(("a", "1"))
    writer.put(("a", "2"), timestamp=NOW_MS + 5000)
    assert writer.log.segment_count == 1
    writer.put(("a", "3"), timestamp=NOW_MS + 5001)
    assert writer.log.segment_count == 2
    writer.log.update_config(TopicConfig(cleanup_policy=("delete",), max_compaction_lag_ms=5000))
    writer.put(("a", "4"), timestamp=NOW_MS + 20_000)
    assert writer.log.segment_count == 2


def test_a_record_exceeds_max_lag_even_if_its_segment_has_a_young_record(disk: FaultyDisk) -> None:
    config = TopicConfig(cleanup_policy=("compact",), min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=5000)
    writer = Writer(open_log(disk, config=config))
    writer.put(("a", "1"))
    writer.put(("a", "2"), timestamp=NOW_MS + 5000)
    writer.roll()
    assert compaction.plan(writer.log, 0, NOW_MS + 5000) is None
    assert compaction.plan(writer.log, 0, NOW_MS + 5001) is not None


def test_a_checkpoint_past_the_end_of_the_log_does_not_cover_later_records(writer: Writer) -> None:
    """The log lost its end (a power failure, an unclean leader): Kafka also starts from the log's beginning then."""
    for value in ("1", "2"):
        writer.put(("a", value))
        writer.roll()
    job = compaction.plan(writer.log, 100, NOW_MS)
    assert job is not None
    job.run()
    assert job.finish(writer.log, NOW_MS) == 2
    assert committed_view(writer.log) == [Seen(1, "a", "2")]


class FailingDisk(FaultyDisk):
    """Renames files as often as allowed, and then fails."""

    renames_left: int | None = None

    def rename(self, old: str, new: str) -> None:
        if self.renames_left is not None:
            if not self.renames_left:
                raise StorageError(f"cannot rename {old} to {new}: Input/output error")
            self.renames_left -= 1
        super().rename(old, new)


def test_a_disk_failure_during_the_segment_swap_loses_no_record() -> None:
    """Kafka takes the log directory offline, and removes nothing."""
    small = TopicConfig(cleanup_policy=("compact",), segment_bytes=450, file_delete_delay_ms=0)
    renames, fails = 0, True
    while fails:
        disk = FailingDisk()
        writer = Writer(open_log(disk, config=small))
        for number in range(6):
            writer.put((f"k{number % 4}", f"{number}" * 100))
            writer.roll()
        before = table(writer.log)
        job = compaction.plan(writer.log, 0, NOW_MS, force=True)
        assert job is not None
        job.run()
        disk.renames_left = renames
        fails = False
        try:
            job.finish(writer.log, NOW_MS)
        except StorageError:
            fails = True
            job.discard()
        disk.renames_left = None
        assert (writer.log.failed is not None) is fails
        writer.log.files.remove_deleted_files(NOW_MS)
        again = open_log(disk, clean=False, config=small)
        commit_all(again)
        assert (table(again), again.log_end_offset) == (before, 6), f"after {renames} renames"
        assert not [name for name in disk.list(FOLDER) if name.endswith((".cleaned", ".swap", ".deleted"))]
        renames += 1
    assert renames > 10


def test_a_compaction_refused_by_a_full_disk_leaves_no_files(writer: Writer, disk: FaultyDisk) -> None:
    for number in range(3):
        writer.put((f"k{number}", "x" * 100))
        writer.roll()
    job = compaction.plan(writer.log, 0, NOW_MS, force=True)
    assert job is not None
    disk.free_bytes = 200
    with pytest.raises(StorageError):
        job.run()
    job.discard()
    assert not [name for name in disk.list(FOLDER) if name.endswith(".cleaned")]
