"""A batch that another thread is to write is in the log before anything else changes it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from oncelog.broker.log.long_append import LongAppend
from oncelog.broker.log.partition_log import PartitionLog
from oncelog.errors import Error
from oncelog.records.batch import read_header
from oncelog.testing.simulation.disk import FaultyDisk
from oncelog.types import ProducerIdAndEpoch
from tests.unit.broker.log.batches import NOW_MS, append, batch, fill, headers, marker, open_log


def begin(log: PartitionLog, data: bytearray) -> LongAppend:
    begun = log.writer().begin_append(data, leader_epoch=0, now_ms=NOW_MS)
    assert isinstance(begun, LongAppend)
    begun.alone = threading.Lock()
    return begun


CHANGES: dict[str, Callable[[PartitionLog], object]] = {
    "a batch": lambda log: append(log, batch()),
    "a run of batches": lambda log: log.writer().append_run(
        [(one := batch())], [read_header(one)], leader_epoch=0, now_ms=NOW_MS
    ),
    "a coordinator's batch": lambda log: log.writer().append_coordinator([(b"k", b"v")], leader_epoch=0, now_ms=NOW_MS),
    "a marker": lambda log: marker(log, 9),
    "a large batch": lambda log: begin(log, batch()),
    "a verification": lambda log: log.writer().begin_verification(9, 0, 0, True),
    "forgotten verifications": lambda log: log.writer().forget_verifications(),
    "forgotten producers": lambda log: log.writer().forget_producers(),
    "expired producers": lambda log: log.writer().expire_producers(NOW_MS),
    "retention": lambda log: log.trimmer().apply_retention(NOW_MS),
    "deleted records": lambda log: log.trimmer().delete_records_before(-1),
    "a truncation": lambda log: log.trimmer().truncate_to(log.log_end_offset + 9),
    "the end": lambda log: log.begin_close(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_nothing_changes_the_log_before_the_batch_is_in_it(
    log: PartitionLog, change: Callable[[PartitionLog], object]
) -> None:
    fill(log, 2)
    begun = begin(log, batch(3, pid=1, seq=0))
    assert (log.log_end_offset, begun.result, log.producer_count) == (2, None, 0)
    change(log)
    assert begun.result is not None
    assert (begun.result.error, begun.result.base_offset, begun.result.last_offset) == (Error.NONE, 2, 4)
    log.settle()
    assert [header.base_offset for header in headers(log)][:3] == [0, 1, 2]


def test_reads_do_not_wait_for_it(log: PartitionLog) -> None:
    fill(log, 2)
    begun = begin(log, batch())
    log.maybe_advance_high_watermark(9)
    assert (log.high_watermark, len(headers(log)), begun.result) == (2, 2, None)
    log.settle()
    assert (log.maybe_advance_high_watermark(9), log.high_watermark, len(headers(log))) == (True, 3, 3)


def test_a_log_that_is_closed_and_opened_again_has_it(log: PartitionLog, reopen: Callable[..., PartitionLog]) -> None:
    fill(log, 1)
    begin(log, batch(pid=1, seq=0))
    log.close()
    again = reopen()
    assert (again.log_end_offset, again.producer_count) == (2, 1)


def test_a_full_disk_refuses_it_and_leaves_the_log_as_it_was(disk: FaultyDisk) -> None:
    log = open_log(disk)
    fill(log, 1)
    begun = begin(log, batch(size=500))
    disk.free_bytes = 20
    assert append(log, batch()).error is Error.KAFKA_STORAGE_ERROR
    assert begun.result is not None
    assert begun.result.error is Error.KAFKA_STORAGE_ERROR
    assert (log.log_end_offset, len(headers(log)), log.failed is None) == (1, 1, True)
    disk.free_bytes = None
    assert append(log, batch()).base_offset == 1


def test_a_log_that_goes_offline_meanwhile_does_not_accept_it(log: PartitionLog) -> None:
    """As without another thread: nothing is accepted after a failed sync."""
    fill(log, 1)
    begun = begin(log, batch(pid=1, seq=0))
    log.fail("a sync failed")
    log.settle()
    assert begun.result is not None
    assert (begun.result.error, begun.result.message) == (Error.KAFKA_STORAGE_ERROR, "a sync failed")
    assert (log.log_end_offset, log.producer_count, len(headers(log))) == (1, 0, 1)


def test_whoever_needs_the_log_waits_for_the_thread_that_writes(
    log: PartitionLog, disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = begin(log, batch(pid=1, seq=0))
    file, writing, may_write = type(begun.segment.file), threading.Event(), threading.Event()
    original = file.append

    def slow(self: object, buffers: object) -> None:
        writing.set()
        assert may_write.wait(60)
        original(self, buffers)  # type: ignore[arg-type]

    monkeypatch.setattr(file, "append", slow)
    thread = threading.Thread(target=begun.write)
    thread.start()
    assert writing.wait(60)
    settled = threading.Thread(target=log.settle)
    settled.start()
    assert log.log_end_offset == 0
    may_write.set()
    settled.join(60)
    thread.join(60)
    assert (log.log_end_offset, len(headers(log))) == (1, 1)
    assert log.writer().forget_producers() == [1]
    assert marker(log, ProducerIdAndEpoch(1, 0).producer_id).base_offset == 1
