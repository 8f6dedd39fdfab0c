"""Damaged bytes and disks that fail to read: what is whole is found, and what is not is never passed over."""

from __future__ import annotations

import pytest

from oncelog.broker.log.checkpoints import decode_leader_epochs
from oncelog.broker.log.partition_log import PartitionLog
from oncelog.broker.log.producers.producer_rules import refused_by_coordinator
from oncelog.broker.log.producers.producer_snapshot import decode_snapshot
from oncelog.broker.log.producers.verification_state import TransactionSupportedOperation
from oncelog.broker.log.segments.batch_reader import read_batches, records_at_rest
from oncelog.broker.log.segments.segment import Segment
from oncelog.errors import CorruptLogError, Error, StorageError
from oncelog.records.batch import CorruptBatch, read_header
from oncelog.records.crc import crc32c
from oncelog.records.validation import ValidatedBatch
from oncelog.runtime.ports import File
from oncelog.settings.config import TopicConfig
from oncelog.testing.simulation.disk import FaultyDisk
from oncelog.types import ProducerIdAndEpoch
from tests.unit.broker.log.batches import FOLDER, NOW_MS, append, batch, fill, flip, marker, open_log

LOG = f"{FOLDER}/00000000000000000000.log"
SNAPSHOT = b"\x00\x01" + crc32c(b"\x00\x00\x00\x02").to_bytes(4, "big") + b"\x00\x00\x00\x02"
"""Claims two producers and holds none."""


def segment_of(disk: FaultyDisk) -> Segment:
    """The log's segment as a later start sees it: without what appends remember."""
    return Segment.existing(disk, FOLDER, 0, NOW_MS)


def sizes(disk: FaultyDisk) -> list[int]:
    return [header.size_bytes for _, header in segment_of(disk).scan(0)]


# --- reading


def test_a_large_batch_whose_checksum_differs_is_refused(disk: FaultyDisk) -> None:
    """One that is larger than a read of the file is read apart from the others."""
    file = disk.open("large.log", create=True)
    data = batch(1, size=5 << 20)
    data[-1] ^= 0xFF
    file.append([data])
    assert len(list(read_batches(file, 0, len(data)))) == 1
    with pytest.raises(CorruptBatch, match=r"large.log, position 0: the CRC differs"):
        list(read_batches(file, 0, len(data), check_crc=True))


def test_the_records_read_from_a_file_end_before_a_torn_batch_and_leave_markers_out(
    log: PartitionLog, disk: FaultyDisk
) -> None:
    append(log, batch(2, pid=1, seq=0, txn=True))
    marker(log, 1)
    fill(log, 2)
    log.close()
    data = bytearray(disk.read(LOG))
    assert [record.offset for record in records_at_rest(bytes(data))] == [0, 1, 3, 4]
    data[-1] ^= 0xFF
    assert [record.offset for record in records_at_rest(bytes(data))] == [0, 1, 3]


@pytest.mark.parametrize("damaged", [1, 2])
def test_a_read_ends_before_a_damaged_batch_and_never_skips_it(
    log: PartitionLog, disk: FaultyDisk, damaged: int
) -> None:
    fill(log, 4)
    log.close()
    size = sizes(disk)[0]
    flip(disk, LOG, damaged * size + 16)  # the magic
    segment = segment_of(disk)
    assert segment.end_of_read(0, 3) == damaged * size
    with pytest.raises(CorruptLogError, match=f"no whole batch at position {damaged * size}"):
        segment.end_of_read(damaged * size, 3)
    with pytest.raises(CorruptLogError):
        segment.locate(3)


def test_an_offset_above_the_last_batch_is_not_in_the_segment(log: PartitionLog, disk: FaultyDisk) -> None:
    fill(log, 2)
    log.close()
    segment = segment_of(disk)
    assert segment.locate(2) is None
    assert segment.end_of_read(0, 2) == segment.size_bytes == segment.position_of(2)


class FailingFile:
    """A file of which the disk fails to read the bytes of some batches."""

    def __init__(self, file: File, bad: range) -> None:
        self._file = file
        self.bad = bad
        self.path = file.path

    def read_at(self, position: int, size_bytes: int) -> bytes:
        if position < self.bad.stop and position + size_bytes > self.bad.start:
            raise StorageError(f"cannot read {self.path}: Input/output error")
        return self._file.read_at(position, size_bytes)


def test_batches_around_an_unreadable_batch_are_read(log: PartitionLog, disk: FaultyDisk) -> None:
    fill(log, 5)
    log.close()
    size = sizes(disk)[0]
    segment = segment_of(disk)
    failing = FailingFile(segment.file, range(2 * size + 70, 2 * size + 71))
    segment._file = failing  # type: ignore[assignment]
    segment.find_unreadable(0, 5 * size)
    assert (segment.readable_end(0), segment.readable_end(3 * size)) == (2 * size, segment.size_bytes)
    with pytest.raises(StorageError, match="Input/output error"):
        segment.readable_end(2 * size)
    segment.find_unreadable(3 * size, 4 * size)  # nothing is wrong there
    assert segment.readable_end(3 * size) == segment.size_bytes
    segment.forgive()
    assert segment.readable_end(2 * size) == segment.size_bytes


def test_a_damaged_batch_is_distinguished_from_a_batch_that_the_disk_cannot_read(
    log: PartitionLog, disk: FaultyDisk
) -> None:
    fill(log, 3)
    log.close()
    size = sizes(disk)[0]
    flip(disk, LOG, size + 16)
    segment = segment_of(disk)
    segment.find_unreadable(0, 3 * size)
    assert segment.readable_end(0) == segment.size_bytes


# --- files beside the log


@pytest.mark.parametrize("line", ["1", "1 2 3", "x 2", "1 x", "-1 2", "99999999999 2"])
def test_a_line_of_the_epoch_checkpoint_that_is_not_an_epoch_and_an_offset_is_refused(line: str) -> None:
    with pytest.raises(CorruptLogError, match="not an epoch and an offset"):
        decode_leader_epochs(f"0\n1\n{line}\n".encode(), "leader-epoch-checkpoint")


def test_a_producer_snapshot_with_fewer_producers_than_it_claims_is_refused() -> None:
    """Its checksum is right: it was written like that."""
    with pytest.raises(CorruptLogError, match="does not hold the 2 producers it claims"):
        decode_snapshot(SNAPSHOT, "0.snapshot")


# --- appending


def test_a_log_that_has_failed_refuses_appends(log: PartitionLog) -> None:
    fill(log, 1)
    log.fail("cannot sync")
    data = batch(pid=1, seq=0)
    writer = log.writer
    assert writer.append_run([data], [read_header(data)], 0, NOW_MS) == []
    checked = writer.append_client(data, leader_epoch=0, now_ms=NOW_MS, checked=ValidatedBatch(read_header(data), data))
    own = writer.append_coordinator([(b"k", b"v")], leader_epoch=0, now_ms=NOW_MS)
    assert (checked.error, own.error) == (Error.KAFKA_STORAGE_ERROR,) * 2
    assert log.log_end_offset == 1


def test_a_batch_larger_than_a_segment_is_refused_by_every_append(disk: FaultyDisk) -> None:
    log = open_log(disk, config=TopicConfig(segment_bytes=1 << 20, max_message_bytes=2 << 20))
    data = batch(pid=1, seq=0, size=1 << 20)
    checked = log.writer.append_client(
        data, leader_epoch=0, now_ms=NOW_MS, checked=ValidatedBatch(read_header(data), data)
    )
    own = log.writer.append_coordinator([(b"k", b"v" * (1 << 20))], leader_epoch=0, now_ms=NOW_MS)
    assert (checked.error, own.error) == (Error.RECORD_LIST_TOO_LARGE,) * 2
    assert log.log_end_offset == 0


def test_a_coordinators_batch_is_no_larger_than_the_topic_allows(disk: FaultyDisk) -> None:
    log = open_log(disk, config=TopicConfig(max_message_bytes=1000))
    refused = log.writer.append_coordinator([(b"k", b"v" * 1000)], leader_epoch=0, now_ms=NOW_MS)
    assert (refused.error, log.log_end_offset) == (Error.MESSAGE_TOO_LARGE, 0)


def test_a_fenced_producer_is_refused_by_every_append(log: PartitionLog) -> None:
    assert append(log, batch(pid=1, epoch=3, seq=0)).error is Error.NONE
    late = batch(pid=1, epoch=2, seq=0)
    checked = log.writer.append_client(
        late, leader_epoch=0, now_ms=NOW_MS, checked=ValidatedBatch(read_header(late), late)
    )
    own = log.writer.append_coordinator(
        [(b"k", b"v")], leader_epoch=0, now_ms=NOW_MS, producer=ProducerIdAndEpoch(1, 2)
    )
    assert (checked.error, own.error) == (Error.INVALID_PRODUCER_EPOCH,) * 2
    assert log.log_end_offset == 1


def test_an_append_of_a_coordinator_is_refused_on_a_full_disk(disk: FaultyDisk, log: PartitionLog) -> None:
    disk.free_bytes = 20
    refused = log.writer.append_coordinator([(b"k", b"v")], leader_epoch=0, now_ms=NOW_MS)
    assert (refused.error, log.log_end_offset) == (Error.KAFKA_STORAGE_ERROR, 0)
    disk.free_bytes = None
    assert log.writer.append_coordinator([(b"k", b"v")], leader_epoch=0, now_ms=NOW_MS).base_offset == 0


@pytest.mark.parametrize(
    ("error", "operation", "answer"),
    [
        (Error.PRODUCER_FENCED, TransactionSupportedOperation.ADD_PARTITION, Error.INVALID_PRODUCER_EPOCH),
        (Error.TRANSACTION_ABORTABLE, TransactionSupportedOperation.DEFAULT_ERROR, Error.INVALID_TXN_STATE),
        (
            Error.TRANSACTION_ABORTABLE,
            TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED,
            Error.TRANSACTION_ABORTABLE,
        ),
        (Error.CONCURRENT_TRANSACTIONS, TransactionSupportedOperation.DEFAULT_ERROR, Error.NOT_ENOUGH_REPLICAS),
        (Error.CONCURRENT_TRANSACTIONS, TransactionSupportedOperation.ADD_PARTITION, Error.CONCURRENT_TRANSACTIONS),
        (Error.NOT_COORDINATOR, TransactionSupportedOperation.ADD_PARTITION, Error.NOT_COORDINATOR),
    ],
)
def test_a_coordinators_error_is_reported_with_the_error_of_the_produce_version(
    error: Error, operation: TransactionSupportedOperation, answer: Error
) -> None:
    """KIP-890; Kafka's ``ReplicaManager``."""
    assert refused_by_coordinator(error, operation) is answer


def test_a_batch_whose_offset_an_index_cannot_hold_begins_a_segment(disk: FaultyDisk) -> None:
    log = open_log(disk)
    segment = Segment.create(disk, FOLDER, 10, NOW_MS)
    assert segment.should_roll(100, NOW_MS, 10 + 2**31, NOW_MS, log.config, 0)
    assert not segment.should_roll(100, NOW_MS, 10 + 2**31 - 1, NOW_MS, log.config, 0)


def test_a_log_opens_even_if_the_last_batches_of_producers_are_unreadable(
    log: PartitionLog, disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clean start reads them only so that a repeated batch is known."""
    for seq in range(3):
        append(log, batch(pid=1, seq=seq))
    log.close()
    size = disk.size(LOG) // 3

    def opened(name: str, create: bool = False) -> File:
        file = FaultyDisk.open(disk, name, create=create)
        return FailingFile(file, range(2 * size - 1, 2 * size)) if name == LOG else file  # type: ignore[return-value]

    monkeypatch.setattr(disk, "open", opened)
    again = open_log(disk, clean=True)
    assert again.log_end_offset == 3
    assert append(again, batch(pid=1, seq=2)).duplicate
