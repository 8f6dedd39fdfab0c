"""Logs and batches for the tests of the log."""

from __future__ import annotations

from typing import Any

from oncelog.broker.log.partition_log import PartitionLog
from oncelog.broker.log.results import AppendResult, FlushTicket
from oncelog.errors import Error
from oncelog.records.batch import BatchBuilder, BatchHeader, iter_headers
from oncelog.runtime.ports import Disk
from oncelog.settings.config import TopicConfig
from oncelog.types import ProducerIdAndEpoch, TopicPartition

PARTITION = TopicPartition("t", 0)
FOLDER = "t-0"
NOW_MS = 1_000_000


def open_log(
    disk: Disk,
    *,
    clean: bool = False,
    config: TopicConfig | None = None,
    now_ms: int = NOW_MS,
    verify_transactions: bool = False,
    **kwargs: Any,
) -> PartitionLog:
    return PartitionLog.open(
        disk,
        FOLDER,
        PARTITION,
        config or TopicConfig(),
        now_ms=now_ms,
        clean_shutdown=clean,
        verify_transactions=verify_transactions,
        **kwargs,
    )


def batch(
    count: int = 1,
    *,
    pid: int = -1,
    epoch: int = 0,
    seq: int = -1,
    txn: bool = False,
    timestamp: int = NOW_MS,
    size: int = 10,
    key: bytes | None = b"k",
) -> bytearray:
    """``count`` records whose timestamps rise from ``timestamp``."""
    builder = BatchBuilder()
    for number in range(count):
        builder.append(timestamp + number, key, b"v" * size)
    return builder.build(
        producer_id=pid, producer_epoch=epoch if pid >= 0 else -1, base_sequence=seq, transactional=txn
    )


def append(log: PartitionLog, data: bytes | bytearray, *, now_ms: int = NOW_MS, **kwargs: Any) -> AppendResult:
    return log.writer.append_client(data, leader_epoch=0, now_ms=now_ms, **kwargs)


def fill(log: PartitionLog, batches: int, count: int = 1, *, timestamp: int = NOW_MS, size: int = 10) -> None:
    """Batches of a producer without identity, one millisecond a batch."""
    for number in range(batches):
        result = append(log, batch(count, timestamp=timestamp + number, size=size))
        assert result.error is Error.NONE, result


def marker(
    log: PartitionLog, pid: int, *, epoch: int = 0, commit: bool = True, coordinator_epoch: int = 0, version: int = 0
) -> AppendResult:
    return log.writer.append_marker(
        ProducerIdAndEpoch(pid, epoch),
        commit=commit,
        coordinator_epoch=coordinator_epoch,
        transaction_version=version,
        leader_epoch=0,
        now_ms=NOW_MS,
    )


def flush(log: PartitionLog) -> FlushTicket | None:
    ticket = log.files.begin_flush()
    if ticket is not None:
        ticket.sync(log.disk, set())
        log.files.flushed(ticket)
    return ticket


def commit_all(log: PartitionLog) -> None:
    """Move the high watermark to the end."""
    log.maybe_advance_high_watermark(log.log_end_offset)


def headers(log: PartitionLog, start: int = 0) -> list[BatchHeader]:
    return [header for header, _ in log.batches(start)]


def read_headers(
    log: PartitionLog, offset: int, max_bytes: int = 1 << 20, upper: int | None = None, *, at_least_one: bool = True
) -> list[BatchHeader]:
    """Headers of what a fetch returns."""
    read = log.read(offset, max_bytes, log.log_end_offset if upper is None else upper, at_least_one_batch=at_least_one)
    assert not isinstance(read, Error), read
    data = b"".join(piece.read_bytes() for piece in read.slices)
    assert len(data) == read.size_bytes
    found = [header for _, header in iter_headers(data)]
    assert sum(header.size_bytes for header in found) == len(data), "a read ends inside a batch"
    return found


def flip(disk: Disk, path: str, position: int) -> None:
    """Damage one byte of a file (from the end: below zero)."""
    data = bytearray(disk.read(path))
    data[position] ^= 0xFF
    disk.write_atomic(path, bytes(data))


def roll(log: PartitionLog, now_ms: int = NOW_MS) -> None:
    """Begin a new segment, as an append does that does not fit into the last one."""
    if log.segments[-1].size_bytes:
        log.files.roll(log.log_end_offset, now_ms)
