"""Which log is compacted next, and what becomes of the work for one that is gone."""

from __future__ import annotations

from collections.abc import Callable

from oncelog.broker.cleaner import Cleaner
from oncelog.config import TopicConfig
from oncelog.errors import Error, StorageError
from oncelog.log.partition_log import PartitionLog
from oncelog.records.batch import encode_batch
from oncelog.records.record import Record
from oncelog.server.memory_disk import MemoryDisk
from oncelog.types import TopicPartition

NOW_MS = 1_000_000
A0, B0 = TopicPartition("a", 0), TopicPartition("b", 0)
COMPACTED = TopicConfig(cleanup_policy=("compact",), file_delete_delay_ms=0)


class Later:
    """Background work that is done when the test says so."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Callable[[], None], Callable[[Exception | None], None]]] = []

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        self.jobs.append((work, done))

    def finish(self, error: Exception | None = None) -> None:
        work, done = self.jobs.pop(0)
        if error is None:
            work()
        done(error)


class Folder:
    """A data folder with compacted logs, and its cleaner."""

    def __init__(self, *names: TopicPartition) -> None:
        self.disk = MemoryDisk()
        self.later = Later()
        self.logs = {name: self.open(name) for name in names}
        self.cleaner = Cleaner(self.disk, self.later, self.logs)

    def open(self, name: TopicPartition) -> PartitionLog:
        return PartitionLog.open(
            self.disk, str(name), name, COMPACTED, now_ms=NOW_MS, clean_shutdown=True, verify_transactions=False
        )

    def write(self, name: TopicPartition) -> None:
        """One more closed segment."""
        log = self.logs[name]
        batch = encode_batch([Record(offset=0, timestamp=NOW_MS, key=b"k", value=b"v" * 100)])
        assert log.append_client(batch, leader_epoch=0, now_ms=NOW_MS).error is Error.NONE
        log.maybe_advance_high_watermark(log.log_end_offset)
        log.roll(NOW_MS)

    def first_offset(self, name: TopicPartition) -> int:
        return next(header.base_offset for header, _ in self.logs[name].batches(0) if header.records_count)


def test_a_log_that_is_always_due_keeps_no_other_waiting() -> None:
    folder = Folder(A0, B0)
    for _ in range(2):
        folder.write(A0)
        folder.write(B0)
    folder.cleaner.clean(NOW_MS)
    for _ in range(8):
        folder.write(A0)
    folder.later.finish()
    folder.later.finish()
    assert folder.first_offset(B0) == 1


def test_a_log_that_is_made_again_is_compacted_though_the_job_for_the_one_before_failed() -> None:
    folder = Folder(A0)
    for _ in range(2):
        folder.write(A0)
    folder.cleaner.clean(NOW_MS)
    folder.logs.pop(A0).delete("token")
    folder.cleaner.forget(A0)
    folder.logs[A0] = folder.open(A0)
    folder.later.finish(StorageError("its folder is gone"))
    for _ in range(2):
        folder.write(A0)
    folder.cleaner.clean(NOW_MS)
    folder.later.finish()
    assert folder.first_offset(A0) == 1


def test_a_log_that_cannot_be_looked_at_keeps_no_other_waiting() -> None:
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
    folder.later.finish()
    assert folder.first_offset(B0) == 1
