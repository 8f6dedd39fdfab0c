"""Appending: order of checks, what is rewritten, rolling; Kafka's ``UnifiedLog.append``, ``LogSegment.shouldRoll``."""

from __future__ import annotations

import pytest

from oncelog.broker.log.partition_log import PartitionLog
from oncelog.errors import Error
from oncelog.records.batch import decode_records, verify_crc
from oncelog.settings.config import TopicConfig
from oncelog.testing.simulation.disk import FaultyDisk
from oncelog.types import MAX_SEQUENCE
from tests.unit.broker.log.batches import NOW_MS, append, batch, fill, headers, open_log, roll

MAX_MESSAGE_BYTES = 1_048_588


def test_an_append_gets_the_next_offsets_and_the_leader_epoch(log: PartitionLog) -> None:
    fill(log, 1, 3)
    data = batch(2)
    result = log.writer.append_client(data, leader_epoch=9, now_ms=NOW_MS)
    assert result[:4] == (Error.NONE, 3, 4, -1)
    assert log.log_end_offset == 5
    ((header, stored),) = log.batches(3)
    assert (header.base_offset, header.partition_leader_epoch) == (3, 9)
    assert verify_crc(stored)
    assert stored[16:] == data[16:], "nothing but offset and epoch is rewritten"
    assert log.leader_epoch_cache.entries == ((0, 0), (9, 3))


def test_log_append_time_is_stored_and_returned(disk: FaultyDisk) -> None:
    log = open_log(disk, config=TopicConfig(message_timestamp_type="LogAppendTime"))
    data = batch(3, timestamp=5, pid=1, seq=0)
    result = append(log, data)
    assert result.log_append_time_ms == NOW_MS
    ((_, stored),) = log.batches(0)
    assert {record.timestamp for record in decode_records(stored)} == {NOW_MS}
    again = append(log, data, now_ms=NOW_MS + 5)
    assert (again.duplicate, again.log_append_time_ms) == (True, NOW_MS)


def test_a_topic_with_its_own_codec_recompresses_batches(disk: FaultyDisk) -> None:
    log = open_log(disk, config=TopicConfig(compression_type="gzip"))
    append(log, batch(10, size=100))
    ((header, stored),) = log.batches(0)
    assert header.compression.name == "GZIP"
    assert len(decode_records(stored)) == 10


@pytest.mark.parametrize(("excess", "error"), [(0, Error.NONE), (1, Error.MESSAGE_TOO_LARGE)])
def test_a_batch_of_max_message_bytes_is_the_largest_accepted_batch(
    log: PartitionLog, excess: int, error: Error
) -> None:
    data = batch(size=MAX_MESSAGE_BYTES - len(batch(size=1_000_000)) + 1_000_000 + excess)
    assert len(data) == MAX_MESSAGE_BYTES + excess
    assert append(log, data).error is error


def test_a_batch_larger_than_a_segment_is_refused(disk: FaultyDisk) -> None:
    log = open_log(disk, config=TopicConfig(segment_bytes=1 << 20, max_message_bytes=2 << 20))
    assert append(log, batch(size=1 << 20)).error is Error.RECORD_LIST_TOO_LARGE
    assert log.log_end_offset == 0


def test_a_corrupt_batch_is_refused_and_does_not_change_the_log(log: PartitionLog) -> None:
    data = batch(pid=1, seq=0)
    data[-1] ^= 1
    assert append(log, data).error is Error.CORRUPT_MESSAGE
    assert (log.log_end_offset, log.size_bytes, log.active_producers()) == (0, 0, [])


def test_the_refusal_of_a_compacted_topic_lists_the_records_without_a_key(disk: FaultyDisk) -> None:
    log = open_log(disk, config=TopicConfig(cleanup_policy=("compact",)))
    result = append(log, batch(2, key=None))
    assert result.error is Error.INVALID_RECORD
    assert [index for index, _ in result.record_errors] == [0, 1]


def test_a_corrupt_batch_is_refused_as_corrupt_before_its_sequence_is_checked(log: PartitionLog) -> None:
    append(log, batch(pid=1, seq=0))
    data = batch(pid=1, seq=5)
    data[-1] ^= 1
    assert append(log, data).error is Error.CORRUPT_MESSAGE


def test_a_duplicate_is_answered_with_the_offset_of_the_original_and_is_not_written(log: PartitionLog) -> None:
    data = batch(3, pid=1, seq=0)
    append(log, data)
    fill(log, 1)
    size = log.size_bytes
    result = append(log, data)
    assert result[:3] == (Error.NONE, 0, 2)
    assert result.duplicate
    assert (log.log_end_offset, log.size_bytes) == (4, size)


def test_the_refusal_of_a_batch_names_producer_partition_and_values(log: PartitionLog) -> None:
    append(log, batch(pid=77, seq=0))
    message = append(log, batch(pid=77, seq=3)).message
    for part in ("77", "t-0", "sequence 3", "sequence 0", "offset 1"):
        assert part in message


def test_sequences_can_wrap_within_one_batch(log: PartitionLog) -> None:
    assert append(log, batch(4, pid=1, seq=MAX_SEQUENCE - 1)).error is Error.NONE
    assert append(log, batch(1, pid=1, seq=2)).error is Error.NONE


def test_producers_that_never_wrote_a_sequence_leave_no_state(log: PartitionLog) -> None:
    fill(log, 3)
    assert log.active_producers() == []


# --- rolling


def bases(log: PartitionLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_a_segment_is_never_larger_than_segment_bytes(disk: FaultyDisk) -> None:
    log = open_log(disk, config=TopicConfig(segment_bytes=1 << 20))
    fill(log, 30, size=100_000)
    assert len(bases(log)) == 3
    assert all(segment.size_bytes <= 1 << 20 for segment in log.segments)
    assert [header.base_offset for header in headers(log)] == list(range(30))


@pytest.mark.parametrize(("later_ms", "rolled"), [(1000, False), (1001, True)])
def test_a_segment_contains_at_most_segment_ms_of_record_time(disk: FaultyDisk, later_ms: int, rolled: bool) -> None:
    log = open_log(disk, config=TopicConfig(segment_ms=1000))
    append(log, batch(timestamp=50))
    append(log, batch(timestamp=50 + later_ms))
    assert bases(log) == ([0, 1] if rolled else [0])


def test_a_segment_with_timestamps_does_not_roll_by_the_wall_clock(disk: FaultyDisk) -> None:
    log = open_log(disk, config=TopicConfig(segment_ms=1000))
    append(log, batch(timestamp=50))
    append(log, batch(timestamp=60), now_ms=NOW_MS + 10_000)
    assert bases(log) == [0]


def test_segment_ms_counts_from_the_segments_first_batch_after_a_restart_too(disk: FaultyDisk) -> None:
    config = TopicConfig(segment_ms=1000)
    log = open_log(disk, config=config)
    append(log, batch(timestamp=50))
    append(log, batch(timestamp=900))
    log.close()
    log = open_log(disk, clean=True, config=config)
    append(log, batch(timestamp=1051))
    assert bases(log) == [0, 2]


def test_the_segment_is_rolled_when_its_index_is_full(disk: FaultyDisk) -> None:
    log = open_log(disk, config=TopicConfig(segment_index_bytes=24, index_interval_bytes=0))
    fill(log, 10)
    # three entries of 8 bytes in the offset index, but one less than two of 12 bytes in the time index
    assert bases(log) == [0, 2, 4, 6, 8]


def test_a_roll_writes_a_producer_snapshot_at_the_new_base_offset(disk: FaultyDisk) -> None:
    log = open_log(disk)
    append(log, batch(3, pid=1, seq=0))
    roll(log)
    assert "00000000000000000003.snapshot" in disk.list("t-0")


def test_an_empty_segment_is_not_rolled(log: PartitionLog) -> None:
    roll(log)
    assert bases(log) == [0]
