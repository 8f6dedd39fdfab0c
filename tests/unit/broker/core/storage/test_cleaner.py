"""Which log is compacted next, and what happens to work for a log that is gone."""

from __future__ import annotations

import random

import pytest

from oncelog.broker.core.storage.cleaner import FIRST_PAUSE, Cleaner
from oncelog.broker.log.checkpoints import CLEANER_OFFSET_CHECKPOINT, read_offset_checkpoint
from oncelog.broker.log.compaction import Compaction
from oncelog.broker.log.partition_log import PartitionLog
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import Error, StorageError
from oncelog.records.batch import decode_records, encode_batch
from oncelog.records.record import Record
from oncelog.settings.config import TopicConfig
from oncelog.testing.simulation.disk import FaultyDisk
from oncelog.types import TopicPartition
from tests.support.ports import Later
from tests.unit.broker.log.batches import roll

NOW_MS = 1_000_000
A0, B0 = TopicPartition("a", 0), TopicPartition("b", 0)
COMPACTED = TopicConfig(cleanup_policy=("compact",), file_delete_delay_ms=0)


class Folder:
    """A data folder with compacted logs, and its cleaner."""

    def __init__(self, *names: TopicPartition, disk: MemoryDisk | None = None) -> None:
        self.disk = disk or MemoryDisk()
        self.later = Later()
        self.logs = {name: self.open(name) for name in names}
        self.cleaner = Cleaner(self.disk, self.later, self.logs, lambda: self.cleaner.write_checkpoint())

    def open(self, name: TopicPartition) -> PartitionLog:
        return PartitionLog.open(
            self.disk, str(name), name, COMPACTED, now_ms=NOW_MS, clean_shutdown=True, verify_transactions=False
        )

    def write(
        self, name: TopicPartition, key: bytes = b"k", value: bytes | None = b"v" * 100, *, rolls: bool = True
    ) -> None:
        """One more record, and the segment is closed."""
        log = self.logs[name]
        batch = encode_batch([Record(offset=0, timestamp=NOW_MS, key=key, value=value)])
        assert log.writer.append_client(batch, leader_epoch=0, now_ms=NOW_MS).error is Error.NONE
        log.maybe_advance_high_watermark(log.log_end_offset)
        if rolls:
            roll(log, NOW_MS)

    def clean(self, now_ms: int) -> None:
        """Until no work is due."""
        self.cleaner.clean(now_ms)
        while self.later.jobs:
            self.later.do_next()

    def cut(self, name: TopicPartition, offset: int) -> None:
        self.logs[name].trimmer.truncate_to(offset)
        self.cleaner.truncated(name, offset)

    def records(self, name: TopicPartition) -> list[tuple[int, bytes | None, bytes | None]]:
        return [
            (record.offset, record.key, record.value)
            for _, batch in self.logs[name].batches(0)
            for record in decode_records(batch)
        ]

    def first_offset(self, name: TopicPartition) -> int:
        return next(header.base_offset for header, _ in self.logs[name].batches(0) if header.records_count)


def test_a_compacted_log_is_not_compacted_again_before_it_gets_new_records() -> None:
    folder = Folder(A0)
    for _ in range(2):
        folder.write(A0)
    folder.clean(NOW_MS)
    assert folder.first_offset(A0) == 1
    sizes = [segment.size_bytes for segment in folder.logs[A0].segments]
    restarted = Cleaner(folder.disk, folder.later, folder.logs, lambda: None)
    restarted.load()
    for cleaner in (folder.cleaner, restarted):
        for seconds in (0, 15, 86_400):
            cleaner.clean(NOW_MS + 1000 * seconds)
            assert not folder.later.jobs, "nothing is dirty"
    assert [segment.size_bytes for segment in folder.logs[A0].segments] == sizes
    for _ in range(2):
        folder.write(A0)
    folder.cleaner.clean(NOW_MS)
    assert folder.later.jobs


def test_a_log_that_always_needs_compaction_does_not_delay_other_logs() -> None:
    folder = Folder(A0, B0)
    for _ in range(2):
        folder.write(A0)
        folder.write(B0)
    folder.cleaner.clean(NOW_MS)
    for _ in range(8):
        folder.write(A0)
    for _ in range(3):  # A is rewritten and synced, B is rewritten
        folder.later.do_next()
    assert folder.first_offset(B0) == 1


def test_a_recreated_log_is_compacted_although_the_job_of_the_old_log_failed() -> None:
    folder = Folder(A0)
    for _ in range(2):
        folder.write(A0)
    folder.cleaner.clean(NOW_MS)
    folder.logs.pop(A0).delete("token")
    folder.cleaner.forget(A0)
    folder.logs[A0] = folder.open(A0)
    folder.later.do_next(StorageError("its folder is gone"))
    for _ in range(2):
        folder.write(A0)
    folder.cleaner.clean(NOW_MS)
    folder.later.do_next()
    assert folder.first_offset(A0) == 1


def test_an_unreadable_log_does_not_delay_other_logs() -> None:
    folder = Folder(A0, B0)
    for _ in range(2):
        folder.write(A0)
        folder.write(B0)
    reopened = folder.disk.open

    def failing(path: str, *, create: bool = False) -> object:
        if path.startswith("a-0/"):
            raise StorageError(f"cannot open {path}")
        return reopened(path, create=create)

    folder.disk.open = failing  # type: ignore[method-assign, assignment]
    folder.cleaner.clean(NOW_MS)
    folder.later.do_next()
    assert folder.first_offset(B0) == 1


def test_a_tombstone_after_a_truncation_deletes_compacted_records() -> None:
    folder = Folder(A0)
    for key in (b"a", b"b"):
        folder.write(A0, key, b"old")
    folder.clean(NOW_MS)
    folder.cut(A0, 1)
    folder.write(A0, b"a", None)
    folder.write(A0, b"b", b"new")
    retention_ms = COMPACTED.delete_retention_ms
    for later in (0, retention_ms + 1, 2 * retention_ms + 2):
        folder.write(A0, b"b", b"new" * 100)
        folder.clean(NOW_MS + later)
    assert {key for _, key, _ in folder.records(A0)} == {b"b"}


def test_a_compaction_of_a_log_truncated_meanwhile_replaces_no_segment() -> None:
    folder = Folder(A0)
    folder.write(A0, b"a", b"old", rolls=False)
    folder.write(A0, b"b", b"old", rolls=False)
    folder.write(A0, b"b", b"old")
    folder.cleaner.clean(NOW_MS)
    work, done = folder.later.jobs.pop()
    work()
    folder.cut(A0, 1)
    folder.write(A0, b"b", b"new")
    done(None)
    assert folder.records(A0) == [(0, b"a", b"old"), (1, b"b", b"new")]


@pytest.mark.parametrize("seed", range(12))
def test_after_a_power_loss_the_checkpoint_does_not_cover_records_that_are_not_compacted(seed: int) -> None:
    disk = FaultyDisk()
    disk.make_folder(str(A0))
    folder = Folder(A0, disk=disk)
    for _ in range(3):
        folder.write(A0)
    ticket = folder.logs[A0].files.begin_flush()
    assert ticket is not None
    ticket.sync(disk, set())
    disk.sync_folder("")
    folder.clean(NOW_MS)
    after = disk.crash(random.Random(seed))
    found = Folder(A0, disk=after)
    clean_to = read_offset_checkpoint(after, CLEANER_OFFSET_CHECKPOINT)[A0]
    assert [offset for offset, _, _ in found.records(A0)] == [clean_to - 1]


def test_a_compaction_that_outlasts_its_broker_replaces_no_segment() -> None:
    """The folder may belong to another broker by then."""
    folder = Folder(A0, B0)
    for name in (A0, B0):
        folder.write(name)
        folder.write(name)
    before = folder.disk.list(str(A0))
    folder.cleaner.clean(NOW_MS)
    folder.cleaner.stop()
    folder.later.do_next()
    assert folder.disk.list(str(A0)) == before
    assert not folder.later.jobs


def dirty(*names: TopicPartition) -> Folder:
    folder = Folder(*names)
    for name in names:
        folder.write(name)
        folder.write(name)
    return folder


def test_a_log_refused_by_a_full_disk_is_compacted_when_space_is_free() -> None:
    folder = dirty(A0)
    folder.cleaner.clean(NOW_MS)
    folder.later.do_next(StorageError("cannot write a-0/0.log.cleaned: No space left on device"))
    folder.cleaner.clean(NOW_MS)
    assert not folder.later.jobs, "not at once: it takes others' room each time"
    for _ in range(FIRST_PAUSE):
        folder.clean(NOW_MS)
    assert folder.first_offset(A0) == 1


def test_the_pause_before_compacting_a_log_again_doubles_with_each_disk_error() -> None:
    folder = dirty(A0)
    tries: list[int] = []
    for call in range(1, 12 * FIRST_PAUSE):
        folder.cleaner.clean(NOW_MS)
        if folder.later.jobs:
            tries.append(call)
            folder.later.do_next(StorageError("No space left on device"))
    assert tries == [1, 1 + FIRST_PAUSE, 1 + 3 * FIRST_PAUSE, 1 + 7 * FIRST_PAUSE]


@pytest.mark.parametrize("fails", ["plan", "run", "finish", "discard"])
def test_a_failure_of_one_log_does_not_stop_compaction_of_the_next(fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = dirty(A0, B0)

    def broken(job: object, *_: object) -> None:
        if fails == "plan" or getattr(job, "_folder", "") == str(A0):
            raise StorageError("input/output error") if fails == "discard" else ZeroDivisionError("unforeseen")

    if fails == "plan":
        monkeypatch.setattr(folder.logs[A0], "aborted_entries", broken)
    else:
        whole = getattr(Compaction, fails)

        def first(job: Compaction, *args: object) -> object:
            broken(job)
            return whole(job, *args)

        monkeypatch.setattr(Compaction, fails, first)
    folder.cleaner.clean(NOW_MS)
    if fails in ("run", "discard"):
        folder.later.do_next(ZeroDivisionError("unforeseen"))
    while folder.later.jobs:
        folder.later.do_next()
    assert folder.first_offset(B0) == 1
    folder.clean(NOW_MS)
    assert folder.first_offset(A0) == 0, "it is left as it is"
