"""Reading: whole batches, bounds, timestamps; Kafka's ``LocalLog.read``, ``UnifiedLog.fetchOffsetByTimestamp``."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from oncelog.broker.log.partition_log import PartitionLog
from oncelog.errors import Error
from oncelog.settings.config import MAX_INDEX_INTERVAL_BYTES, TopicConfig
from oncelog.testing.simulation.disk import FaultyDisk
from tests.unit.broker.log.batches import (
    FOLDER,
    NOW_MS,
    append,
    batch,
    fill,
    headers,
    marker,
    open_log,
    read_headers,
    roll,
)


@pytest.fixture(params=["tail in memory", "from the files"])
def filled(request: pytest.FixtureRequest, disk: FaultyDisk, reopen: Callable[..., PartitionLog]) -> PartitionLog:
    """100 batches of 3 records in 4 segments."""
    log = open_log(disk, config=TopicConfig(index_interval_bytes=300))
    for number in range(4):
        if number:
            roll(log)
        fill(log, 25, 3, timestamp=NOW_MS + number * 100)
    if request.param == "from the files":
        log.close()
        log = reopen()
    return log


def test_a_read_at_any_offset_begins_with_the_batch_that_contains_the_offset(filled: PartitionLog) -> None:
    for offset in range(300):
        first = read_headers(filled, offset, 1)[0]
        assert first.base_offset == offset - offset % 3


@pytest.mark.parametrize("max_bytes", [1, 100, 500, 1000, 1 << 20])
def test_consecutive_reads_return_every_batch_once(filled: PartitionLog, max_bytes: int) -> None:
    offset, found = 0, []
    while offset < filled.log_end_offset:
        part = read_headers(filled, offset, max_bytes)
        assert len(part) == 1 or sum(header.size_bytes for header in part) <= max_bytes
        found += part
        offset = part[-1].next_offset
    assert found == headers(filled)


@pytest.mark.parametrize("upper", [3, 75, 78, 150, 222, 300])
def test_a_read_returns_no_batch_at_or_after_the_upper_bound(filled: PartitionLog, upper: int) -> None:
    offset, found = 0, []
    while part := read_headers(filled, offset, 700, upper):
        found += part
        offset = part[-1].next_offset
    assert [header.base_offset for header in found] == list(range(0, upper, 3))
    assert offset == upper


def test_a_batch_larger_than_the_size_limit_is_returned_only_if_at_least_one_batch_is_required(
    filled: PartitionLog,
) -> None:
    assert len(read_headers(filled, 30, 1, at_least_one=True)) == 1
    assert read_headers(filled, 30, 1, at_least_one=False) == []


def test_the_upper_bound_of_a_read_is_not_below_the_returned_batches(filled: PartitionLog) -> None:
    for offset in range(0, 300, 7):
        for max_bytes in (1, 400, 1 << 20):
            read = filled.read(offset, max_bytes, 240, at_least_one_batch=True)
            assert not isinstance(read, Error)
            got = read_headers(filled, offset, max_bytes, 240)
            assert read.upper_bound_offset >= (got[-1].next_offset if got else offset)
            assert read.upper_bound_offset <= max(240, offset)


@pytest.mark.parametrize("offset", [-1, 301])
def test_an_offset_outside_the_log_is_out_of_range(filled: PartitionLog, offset: int) -> None:
    assert filled.read(offset, 100, 300, at_least_one_batch=True) is Error.OFFSET_OUT_OF_RANGE


def test_a_read_at_the_end_of_the_log_is_empty(filled: PartitionLog) -> None:
    assert read_headers(filled, 300) == []


def test_an_offset_before_the_start_of_the_log_is_out_of_range(filled: PartitionLog) -> None:
    filled.maybe_advance_high_watermark(300)
    assert filled.trimmer.delete_records_before(100) is Error.NONE
    assert filled.read(99, 100, 300, at_least_one_batch=True) is Error.OFFSET_OUT_OF_RANGE
    assert read_headers(filled, 100, 1)[0].base_offset == 99


def test_the_slice_of_a_read_contains_file_position_and_size(filled: PartitionLog) -> None:
    read = filled.read(80, 200, 300, at_least_one_batch=True)
    assert not isinstance(read, Error)
    (piece,) = read.slices
    assert piece.file.read_at(piece.position, piece.size_bytes) == piece.read_bytes()
    assert piece.file.path.endswith("00000000000000000075.log")


def test_a_read_in_a_gap_left_by_compaction_begins_with_the_next_batch(disk: FaultyDisk) -> None:
    source = open_log(disk)
    fill(source, 6)
    stored = [bytes(data) for _, data in source.batches(0)]
    source.close()
    disk.write_atomic(f"{FOLDER}/{0:020d}.log", stored[0] + stored[3] + stored[5])
    log = open_log(disk)
    assert [header.base_offset for header in read_headers(log, 1)] == [3, 5]
    assert [header.base_offset for header in read_headers(log, 4)] == [5]


# --- timestamps


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [
        (0, (NOW_MS, 0)),
        (NOW_MS + 1, (NOW_MS + 1, 1)),
        (NOW_MS + 26, (NOW_MS + 26, 74)),
        (NOW_MS + 27, (NOW_MS + 100, 75)),
        (NOW_MS + 326, (NOW_MS + 326, 299)),
        (NOW_MS + 327, None),
    ],
)
def test_the_first_record_at_or_after_a_timestamp_is_found(
    filled: PartitionLog, timestamp: int, found: tuple[int, int] | None
) -> None:
    answer = filled.offset_for_timestamp(timestamp)
    assert (answer and answer[:2]) == found


def test_the_largest_timestamp_is_found_at_the_first_record_that_has_it(disk: FaultyDisk) -> None:
    log = open_log(disk)
    append(log, batch(3, timestamp=100))
    append(log, batch(3, timestamp=500))
    append(log, batch(1, timestamp=200))
    assert log.offset_of_max_timestamp() == (502, 5, 0)


def test_the_largest_timestamp_counts_deleted_records_until_their_segment_is_removed(disk: FaultyDisk) -> None:
    """Compared with Apache Kafka in ``tests/integration/conformance/test_list_offsets.py``."""
    log = open_log(disk)
    append(log, batch(timestamp=NOW_MS + 100))
    append(log, batch(timestamp=NOW_MS))
    roll(log)
    append(log, batch(timestamp=NOW_MS + 50))
    log.maybe_advance_high_watermark(3)
    log.trimmer.delete_records_before(1)
    assert log.offset_of_max_timestamp() == (NOW_MS + 100, 0, 0)
    log.trimmer.delete_records_before(2)
    log.trimmer.apply_retention(NOW_MS)
    assert log.offset_of_max_timestamp() == (NOW_MS + 50, 2, 0)


def test_a_search_by_timestamp_creates_no_record_objects(log: PartitionLog) -> None:
    """A batch of a megabyte may hold 1.2 million: building them kept all clients waiting for 0.7 s."""
    count = 20_000
    append(log, batch(count, timestamp=NOW_MS))
    tracemalloc.start()
    try:
        found = [log.offset_for_timestamp(NOW_MS + count - 1), log.offset_of_max_timestamp()]
        _, max_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [(NOW_MS + count - 1, count - 1, 0)] * 2
    assert max_bytes < 4 * log.size_bytes


def test_an_empty_log_has_no_largest_timestamp(log: PartitionLog) -> None:
    assert log.offset_of_max_timestamp() is None
    assert log.offset_for_timestamp(0) is None


def test_deleted_records_are_not_found_by_timestamp(filled: PartitionLog) -> None:
    filled.maybe_advance_high_watermark(300)
    filled.trimmer.delete_records_before(10)
    answer = filled.offset_for_timestamp(0)
    assert answer is not None
    assert answer.offset == 10


# --- the whole log


def test_a_read_begins_with_the_batch_that_contains_the_offset(filled: PartitionLog) -> None:
    assert [header.base_offset for header in headers(filled, 100)] == list(range(99, 300, 3))


def test_an_iteration_over_large_batches_returns_them_whole(disk: FaultyDisk) -> None:
    log = open_log(disk, config=TopicConfig(max_message_bytes=20 << 20))
    for _ in range(3):
        append(log, batch(size=5 << 20))
    fill(log, 2)
    assert [len(data) for _, data in log.batches(0)] == [header.size_bytes for header in headers(log)]


# --- transactions


def test_the_last_stable_offset_stops_at_the_first_open_transaction(log: PartitionLog) -> None:
    fill(log, 1)
    append(log, batch(pid=1, seq=0, txn=True))
    append(log, batch(pid=2, seq=0, txn=True))
    marker(log, 2)
    fill(log, 1)
    log.maybe_advance_high_watermark(log.log_end_offset)
    assert (log.last_stable_offset, log.high_watermark) == (1, 5)
    marker(log, 1)
    assert log.last_stable_offset == 1, "the marker is not replicated yet"
    log.maybe_advance_high_watermark(5)
    assert log.last_stable_offset == 1
    log.maybe_advance_high_watermark(6)
    assert log.last_stable_offset == 6


def test_the_last_stable_offset_is_not_past_the_high_watermark(log: PartitionLog) -> None:
    fill(log, 1)
    append(log, batch(pid=1, seq=0, txn=True))
    assert log.last_stable_offset == 0
    log.maybe_advance_high_watermark(1)
    assert log.last_stable_offset == 1


def test_the_high_watermark_never_falls_and_never_exceeds_the_log_end(log: PartitionLog) -> None:
    fill(log, 3)
    assert log.maybe_advance_high_watermark(2)
    assert not log.maybe_advance_high_watermark(1)
    assert log.maybe_advance_high_watermark(99)
    assert log.high_watermark == 3


def test_aborted_transactions_are_listed_in_the_order_of_their_markers(log: PartitionLog) -> None:
    append(log, batch(pid=1, seq=0, txn=True))  # 0
    append(log, batch(pid=2, seq=0, txn=True))  # 1
    marker(log, 2, commit=False)  # 2
    append(log, batch(pid=3, seq=0, txn=True))  # 3
    marker(log, 1, commit=False)  # 4
    marker(log, 3, commit=True)  # 5
    assert log.aborted_transactions(0, 6) == [(2, 1), (1, 0)]
    assert log.aborted_transactions(3, 6) == [(1, 0)]
    assert log.aborted_transactions(0, 1) == [(1, 0)]
    assert log.aborted_transactions(5, 6) == []


def test_an_aborted_transaction_whose_marker_is_in_a_later_segment_is_listed(log: PartitionLog) -> None:
    append(log, batch(pid=1, seq=0, txn=True))
    for _ in range(3):
        roll(log)
        fill(log, 2)
    marker(log, 1, commit=False)
    assert log.aborted_transactions(0, 1) == [(1, 0)]


def test_transactions_of_one_producer_may_be_aborted_and_committed_in_turn(log: PartitionLog) -> None:
    for number, commit in enumerate([False, True, False]):
        append(log, batch(pid=1, seq=number, txn=True))
        marker(log, 1, commit=commit)
    assert log.aborted_transactions(0, 6) == [(1, 0), (1, 4)]


def test_a_marker_without_a_transaction_is_written_but_ends_no_transaction(log: PartitionLog) -> None:
    assert marker(log, 1, commit=False).error is Error.NONE
    assert log.log_end_offset == 1
    assert log.aborted_transactions(0, 1) == []
    log.maybe_advance_high_watermark(1)
    assert log.last_stable_offset == 1


def test_producers_of_a_partition_are_listed_by_id(log: PartitionLog) -> None:
    append(log, batch(3, pid=9, seq=0, txn=True))
    append(log, batch(1, pid=4, seq=5))
    marker(log, 4, coordinator_epoch=6)
    four, nine = log.active_producers()
    assert (four.producer_id, four.last_sequence, four.coordinator_epoch, four.current_txn_first_offset) == (
        4,
        5,
        6,
        -1,
    )
    assert (nine.producer_id, nine.last_sequence, nine.current_txn_first_offset) == (9, 2, 0)


def test_truncated_and_rewritten_batches_are_read_again(disk: FaultyDisk) -> None:
    """The same question up to the same end of the log now finds other bytes."""
    log = open_log(disk)
    for timestamp in (NOW_MS, NOW_MS + 5):
        fill(log, 3, timestamp=timestamp)
        assert [header.base_timestamp for header in read_headers(log, 1, 1 << 20)] == [timestamp + 1, timestamp + 2]
        log.trimmer.truncate_to(0)


def test_batches_of_removed_segments_are_read_again(disk: FaultyDisk) -> None:
    log = open_log(disk)
    fill(log, 3)
    kept = log.read(0, 1 << 20, 3, at_least_one_batch=True)
    assert log.read(0, 1 << 20, 3, at_least_one_batch=True) is kept
    roll(log)
    assert log.read(0, 1 << 20, 3, at_least_one_batch=True) is not kept
    log.trimmer.truncate_fully_and_start_at(0)
    fill(log, 3, timestamp=NOW_MS + 5)
    assert read_headers(log, 0, 1 << 20)[0].base_timestamp == NOW_MS + 5


def test_a_read_scans_few_batches_whatever_the_index_interval_is(disk: FaultyDisk) -> None:
    """Without an entry, one fetch looked through all batches of a segment before its offset: seconds for a gigabyte."""
    log = open_log(disk, config=TopicConfig(index_interval_bytes=2**31 - 1))
    fill(log, 2000, 1)
    entries = log.segment_list.active.offset_index.entries()
    assert len(entries) >= log.size_bytes // (MAX_INDEX_INTERVAL_BYTES + 100)
    assert TopicConfig(index_interval_bytes=300).index_interval_bytes == 300
