"""Which syncs may run on the event loop's thread, and what a job syncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from oncelog.broker.core.storage.flush_job import SMALL_FLUSH_BYTES, SMALL_FLUSH_PARTITIONS, FlushJob
from oncelog.broker.log.partition_log import PartitionLog
from oncelog.broker.log.results import FlushTicket
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import StorageError
from oncelog.records.batch import encode_batch
from oncelog.records.record import Record
from oncelog.runtime.ports import Disk
from oncelog.settings.config import TopicConfig
from oncelog.types import TopicPartition


class Known(NamedTuple):
    """A partition by its name."""

    topic_partition: TopicPartition


class Folders(MemoryDisk):
    """Knows which folders were synced; refuses ``broken``."""

    def __init__(self, broken: str | None = None) -> None:
        super().__init__()
        self.synced: list[str] = []
        self._broken = broken

    def sync_folder(self, path: str) -> None:
        if path == self._broken:
            raise StorageError("the disk failed")
        self.synced.append(path)


def log_on(disk: Disk, partition: int = 0) -> PartitionLog:
    at = TopicPartition("t", partition)
    return PartitionLog.open(disk, str(at), at, TopicConfig(), now_ms=0, clean_shutdown=True)


def append(log: PartitionLog, size_bytes: int) -> None:
    record = Record(offset=0, timestamp=0, key=None, value=b"v" * size_bytes, headers=())
    assert not log.writer.append_client(encode_batch([record]), leader_epoch=0, now_ms=0).error


def flush(log: PartitionLog) -> FlushTicket:
    ticket = log.files.begin_flush()
    assert ticket is not None
    log.files.flushed(ticket)
    return ticket


def job(disk: MemoryDisk, *tickets: FlushTicket) -> FlushJob:
    return FlushJob(disk, tuple((None, ticket) for ticket in tickets))  # type: ignore[misc] # the partition is not read here


def test_the_first_sync_of_a_log_does_not_count_as_small_because_it_also_syncs_the_folder() -> None:
    disk = MemoryDisk()
    log = log_on(disk)
    append(log, 10)
    assert not job(disk, flush(log)).is_small
    append(log, 10)
    assert job(disk, flush(log)).is_small


@pytest.mark.parametrize(("size_bytes", "small"), [(SMALL_FLUSH_BYTES // 2, True), (SMALL_FLUSH_BYTES, False)])
def test_the_size_of_a_sync_counts_appends_since_the_previous_sync(size_bytes: int, small: bool) -> None:
    disk = MemoryDisk()
    log = log_on(disk)
    append(log, 4 * SMALL_FLUSH_BYTES)
    flush(log)
    append(log, size_bytes)
    ticket = flush(log)
    assert size_bytes <= ticket.size_bytes < size_bytes + 200
    assert job(disk, ticket).is_small is small


def test_a_sync_of_many_partitions_does_not_count_as_small() -> None:
    disk = MemoryDisk()
    logs = [log_on(disk, partition) for partition in range(SMALL_FLUSH_PARTITIONS + 1)]
    for log in logs:
        append(log, 10)
        flush(log)
        append(log, 10)
    tickets = [flush(log) for log in logs]
    assert job(disk, *tickets[1:]).is_small
    assert not job(disk, *tickets).is_small


@pytest.mark.parametrize("sync", [FlushJob.sync, FlushJob.sync_all_at_once])
def test_a_folder_of_many_partitions_is_synced_once(sync: Callable[[FlushJob], object]) -> None:
    disk = Folders()
    logs = [log_on(disk, partition) for partition in range(3)]
    for log in logs:
        append(log, 10)
    assert not sync(FlushJob(disk, tuple((Known(log.topic_partition), flush(log)) for log in logs)))  # type: ignore[misc] # only its name is read
    assert sorted(disk.synced) == ["", "t-0", "t-1", "t-2"]


def test_if_the_sync_of_a_folder_fails_it_is_tried_again_for_each_partition() -> None:
    disk = Folders(broken="")
    logs = [log_on(disk, partition) for partition in range(2)]
    for log in logs:
        append(log, 10)
    at = [(Known(log.topic_partition), flush(log)) for log in logs]
    assert set(FlushJob(disk, tuple(at)).sync()) == {log.topic_partition for log in logs}  # type: ignore[arg-type] # only its name is read
