"""What readers learn of a log that is damaged or that the disk refuses: an error for that partition alone, never
silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from oncelog.broker.core.storage.partition import REFUSALS_KEPT
from oncelog.broker.log.partition_log import PartitionLog
from oncelog.broker.log.results import LogRead
from oncelog.broker.server.disk.memory_disk import MemoryDisk, MemoryFile
from oncelog.errors import CorruptLogError, Error, OutOfDescriptors, StorageError
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.fetch_response import FetchResponse
from oncelog.protocol.generated.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from oncelog.records.batch import HEADER_SIZE_BYTES, Record, encode_batch
from oncelog.types import TopicPartition
from tests.support.frames import encode_request
from tests.unit.broker.core.conftest import NOW_MS, Admin, Reader
from tests.unit.broker.log.batches import roll

EACH = 10
"""Batches of one record, in both segments of a partition."""
CLOSED = "t-0/00000000000000000000.log"
BATCHES = [encode_batch([Record(0, NOW_MS + number, None, b"v")]) for number in range(2 * EACH)]
SIZE = len(BATCHES[0])
DAMAGED_AT = 3
LENGTH_AT, MAGIC_AT = 8, 16


def _write(at: int, damage: bytes) -> Callable[[MemoryDisk], None]:
    return lambda disk: disk.open(CLOSED).write_at(DAMAGED_AT * SIZE + at, damage)


DAMAGES = {
    "a length that is none": _write(LENGTH_AT, b"\0\0\0\1"),
    "a length beyond the end": _write(LENGTH_AT, b"\0\1\0\0"),
    "another format": _write(MAGIC_AT, b"\7"),
    "a cut-off end": lambda disk: disk.open(CLOSED).truncate(DAMAGED_AT * SIZE + 5),
}


def _opened_again(path: Path, damage: Callable[[MemoryDisk], None]) -> Admin:
    """A broker with two partitions, the first one damaged while it was closed."""
    disk = MemoryDisk()
    admin = Admin(str(path), disk)
    admin.broker.topics.create("t", 2, {}, NOW_MS)
    for index in range(2):
        partition = admin.broker.partition(TopicPartition("t", index))
        assert partition is not None
        for number in range(2 * EACH):
            if number == EACH:
                roll(partition.log, NOW_MS)
            assert not partition.append_client(BATCHES[number], NOW_MS).error
    admin.broker.stop(NOW_MS)
    damage(disk)
    return Admin(str(path), disk)


def _fetch(offset: int, indexes: tuple[int, ...] = (0, 1), isolation: int = 0) -> FetchRequest:
    asked = [FetchPartition(index, fetch_offset=offset, partition_max_bytes=1 << 20) for index in indexes]
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        isolation_level=isolation,
        session_epoch=-1,
        topics=[FetchTopic(topic="t", partitions=asked)],
    )


def _ask(admin: Admin, channel: Reader, request: FetchRequest) -> dict[int, Any]:
    sent = encode_request(1, 12, 7, "test", request.encode(12))
    admin.broker.receive(channel, 0, memoryview(sent)[4:], NOW_MS)
    assert channel.closed is None
    answer = FetchResponse.decode(channel.answers[-1], 12, 9)
    return {part.partition_index: part for topic in answer.responses for part in topic.partitions}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_reader_does_not_skip_a_damaged_batch_by_reading_the_next_segment(kind: str, tmp_path: Path) -> None:
    admin, channel = _opened_again(tmp_path / "metadata", DAMAGES[kind]), Reader()
    found = _ask(admin, channel, _fetch(DAMAGED_AT + 1))
    assert (found[0].error_code, found[0].records) == (Error.CORRUPT_MESSAGE, b"")
    assert (found[1].error_code, len(found[1].records)) == (Error.NONE, (EACH - DAMAGED_AT - 1) * SIZE)
    behind = _ask(admin, channel, _fetch(EACH))
    assert [(part.error_code, len(part.records)) for part in behind.values()] == [(Error.NONE, EACH * SIZE)] * 2


@pytest.fixture
def unreadable(tmp_path: Path) -> Iterator[Admin]:
    """The disk refuses to read the first partition."""
    admin = _opened_again(tmp_path / "metadata", lambda _: None)
    read_at = MemoryFile.read_at

    def refusing(file: MemoryFile, position: int, size: int) -> bytes:
        if file.path == CLOSED:
            raise StorageError(f"cannot read {file.path}: Input/output error")
        return read_at(file, position, size)

    with mock.patch.object(MemoryFile, "read_at", refusing):
        yield admin


def test_a_read_error_of_the_disk_is_reported_for_its_partition_only(unreadable: Admin) -> None:
    found = _ask(unreadable, Reader(), _fetch(DAMAGED_AT))
    assert (found[0].error_code, found[1].error_code) == (Error.KAFKA_STORAGE_ERROR, Error.NONE)
    assert len(found[1].records) == (EACH - DAMAGED_AT) * SIZE
    partition = unreadable.broker.partition(TopicPartition("t", 0))
    assert partition is not None
    assert (partition.reads, partition.failed_reads) == (1, 1)


def test_a_damaged_transaction_index_is_reported_to_read_committed_readers(tmp_path: Path) -> None:
    admin, channel = _opened_again(tmp_path / "metadata", lambda _: None), Reader()
    admin.broker.logs.disk.write_atomic(CLOSED.replace(".log", ".txnindex"), b"not an entry")  # since it was opened
    found = _ask(admin, channel, _fetch(0, isolation=1))
    assert (found[0].error_code, found[1].error_code) == (Error.CORRUPT_MESSAGE, Error.NONE)
    assert _ask(admin, channel, _fetch(EACH, (0,), isolation=1))[0].error_code == Error.NONE
    assert _ask(admin, channel, _fetch(0))[0].error_code == Error.NONE


def test_offsets_by_time_are_refused_only_for_a_damaged_partition(tmp_path: Path) -> None:
    admin = _opened_again(tmp_path / "metadata", DAMAGES["another format"])
    asked = [ListOffsetsPartition(index, -1, NOW_MS + DAMAGED_AT + 1) for index in range(2)]
    answer = admin.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", asked)]), 7)
    (topic,) = answer.topics
    found = [(part.error_code, part.offset) for part in topic.partitions]
    assert found == [(Error.CORRUPT_MESSAGE, -1), (Error.NONE, DAMAGED_AT + 1)]


def _read(log: PartitionLog, offset: int, upper: int, limit: int = 1 << 20) -> int:
    """How many batches a reader receives, below ``upper``."""
    read = log.read(offset, limit, upper, at_least_one_batch=True)
    assert isinstance(read, LogRead)
    return read.size_bytes // SIZE


def _log(admin: Admin) -> PartitionLog:
    partition = admin.broker.partition(TopicPartition("t", 0))
    assert partition is not None
    return partition.log


@pytest.mark.parametrize("kind", DAMAGES)
def test_complete_batches_before_damage_are_read(kind: str, tmp_path: Path) -> None:
    """As in Apache Kafka, an open transaction there stops readers of a damaged segment at an offset."""
    log = _log(_opened_again(tmp_path / "metadata", DAMAGES[kind]))
    end = EACH - 1 if kind != "a cut-off end" else EACH - 2
    assert [_read(log, offset, end) for offset in range(DAMAGED_AT)] == [3, 2, 1]
    with pytest.raises(CorruptLogError, match=f"position {DAMAGED_AT * SIZE}"):
        _read(log, DAMAGED_AT, end)
    assert _read(log, 0, end, SIZE) == 1, "a reader that takes little"


@contextmanager
def _refusing(position: int, size: int) -> Iterator[list[tuple[int, int]]]:
    """The disk refuses these bytes of the segment; returns the reads that touched them."""
    asked: list[tuple[int, int]] = []
    read_at = MemoryFile.read_at

    def refusing(file: MemoryFile, start: int, count: int) -> bytes:
        if file.path == CLOSED and start < position + size and start + count > position:
            asked.append((start, count))
            raise StorageError(f"cannot read {file.path}: Input/output error")
        return read_at(file, start, count)

    with mock.patch.object(MemoryFile, "read_at", refusing):
        yield asked


def test_batches_before_a_batch_with_an_unreadable_header_are_read(tmp_path: Path) -> None:
    log = _log(_opened_again(tmp_path / "metadata", lambda _: None))
    with _refusing(DAMAGED_AT * SIZE, HEADER_SIZE_BYTES):
        assert [_read(log, offset, EACH - 1) for offset in range(DAMAGED_AT)] == [3, 2, 1]
        assert _read(log, 0, EACH - 1, (DAMAGED_AT + 2) * SIZE) == DAMAGED_AT
        with pytest.raises(StorageError, match="Input/output error"):
            _read(log, DAMAGED_AT, EACH - 1)


def test_an_unreadable_batch_is_refused_without_reading_the_disk_again(
    tmp_path: Path,
) -> None:
    admin, channel = _opened_again(tmp_path / "metadata", lambda _: None), Reader()
    log = _log(admin)
    with _refusing((DAMAGED_AT + 1) * SIZE - 3, 2) as asked:
        assert _read(log, 0, EACH) == EACH, "only who sends it meets that"
        admin.broker.logs.find_unreadable(CLOSED, SIZE + 5, (EACH - 1) * SIZE)
        seen = len(asked)
        assert seen > 0 and _read(log, 0, EACH) == DAMAGED_AT
        for _ in range(2):
            found = _ask(admin, channel, _fetch(DAMAGED_AT))
            assert (found[0].error_code, found[1].error_code) == (Error.KAFKA_STORAGE_ERROR, Error.NONE)
        assert len(_ask(admin, channel, _fetch(1))[0].records) == (DAMAGED_AT - 1) * SIZE
        behind = _ask(admin, channel, _fetch(DAMAGED_AT + 1))[0]
        assert (behind.error_code, len(behind.records)) == (Error.NONE, (EACH - DAMAGED_AT - 1) * SIZE)
        assert _ask(admin, channel, _fetch(EACH))[0].error_code == Error.NONE
        assert len(asked) == seen
    log.trimmer.apply_retention(NOW_MS)
    assert _read(log, 0, EACH) == EACH, "the disk has changed its mind"


def test_a_failed_sync_is_forgotten_when_the_log_is_truncated(tmp_path: Path) -> None:
    admin = _opened_again(tmp_path / "metadata", lambda _: None)
    log = _log(admin)
    with _refusing(DAMAGED_AT * SIZE + 1, 2):
        admin.broker.logs.find_unreadable(CLOSED, 0, EACH * SIZE)
        assert _read(log, 0, EACH) == DAMAGED_AT
    log.trimmer.truncate_to(1)
    assert _read(log, 0, EACH) == 1, "nothing behind the file's end is promised to a reader"


def test_a_lack_of_descriptors_or_a_missing_file_marks_no_batch_as_unreadable(tmp_path: Path) -> None:
    admin = _opened_again(tmp_path / "metadata", lambda _: None)
    with mock.patch.object(MemoryFile, "read_at", side_effect=OutOfDescriptors("cannot open it")):
        admin.broker.logs.find_unreadable(CLOSED, 0, EACH * SIZE)
    for path in ("t-0/00000000000000000003.log", "gone-0/00000000000000000000.log", f"{CLOSED}.deleted", "x"):
        admin.broker.logs.find_unreadable(path, 0, EACH * SIZE)
    assert _read(_log(admin), 0, EACH) == EACH


def test_each_damage_is_reported_once_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    admin, channel = _opened_again(tmp_path / "metadata", DAMAGES["another format"]), Reader()
    caplog.clear()
    for _ in range(3):
        assert _ask(admin, channel, _fetch(DAMAGED_AT + 1))[0].error_code == Error.CORRUPT_MESSAGE
        _read(_log(admin), 0, EACH - 1, 6 * SIZE)
    (reported,) = caplog.messages
    assert "t-0 cannot be read" in reported and f"position {DAMAGED_AT * SIZE}" in reported
    partition = admin.broker.partition(TopicPartition("t", 0))
    assert partition is not None and partition.failed_reads == 3
    for number in range(2 * REFUSALS_KEPT):
        partition.unreadable(StorageError(str(number)))
    assert len(partition._refusals) <= REFUSALS_KEPT
