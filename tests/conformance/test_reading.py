"""Checks 50, 52-56: what a reader sees of transactions, how a fetch waits and is limited, sessions, offsets by time.

Check 51 (the high watermark behind a marker) needs several brokers. Check 55 over several segments is in
test_restarts too, where the indexes are made anew.
"""

from __future__ import annotations

import struct

import pytest

from oncelog.conformance.transactions import Transactional, init, new_pid
from oncelog.conformance.wire import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    TRANSACTIONAL,
    Connection,
    Position,
    batch,
    eventually,
    now_ms,
)
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from oncelog.protocol.generated.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from oncelog.protocol.generated.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

OUT_OF_RANGE, UNKNOWN_TOPIC, FENCED_LEADER, UNKNOWN_LEADER = 1, 3, 74, 75


def stable(connection: Connection, topic: str) -> int:
    offset: int = connection.list_offset(topic, isolation=READ_COMMITTED).offset
    return offset


# -- transactions -------------------------------------------------------------------------------------------------


def test_check_50_the_first_open_transaction_holds_back_what_others_committed(
    connection: Connection, topic: str, unique_name: str
) -> None:
    first, second = (Transactional(connection, f"{unique_name}-{part}").init() for part in "ab")
    connection.produce(topic, batch(b"plain"))
    first.send(topic, b"first")
    second.send(topic, b"second")
    second.commit()
    connection.produce(topic, batch(b"plain too"))
    assert stable(connection, topic) == 1
    found = connection.fetch(topic, isolation=READ_COMMITTED)
    assert (found.last_stable_offset, found.high_watermark) == (1, 5)
    assert [item.base_offset for item in found.batches] == [0]
    assert connection.fetch(topic, 1, isolation=READ_COMMITTED).records in (b"", None)
    assert len(connection.fetch(topic).batches) == 5
    first.abort()
    assert stable(connection, topic) == 6
    assert connection.read_committed(topic) == [b"plain", b"second", b"plain too"]


def test_check_50_the_stable_offset_moves_to_the_next_open_transaction(
    connection: Connection, topic: str, unique_name: str
) -> None:
    one, two, three = (Transactional(connection, f"{unique_name}-{part}").init() for part in "abc")
    for producer in (one, two, three):
        producer.send(topic, b"x")
    assert stable(connection, topic) == 0
    two.commit()
    assert stable(connection, topic) == 0
    one.commit()
    assert stable(connection, topic) == 2
    three.abort()
    assert stable(connection, topic) == 6


def test_check_52_interleaved_transactions_are_delivered_if_committed_and_in_order(
    connection: Connection, topic: str, unique_name: str
) -> None:
    kept, dropped = (Transactional(connection, f"{unique_name}-{part}").init() for part in "kd")
    for step in range(4):
        kept.send(topic, b"kept %d" % step)
        dropped.send(topic, b"dropped %d" % step)
    dropped.abort()
    kept.send(topic, b"kept 4")
    kept.commit()
    found = connection.fetch(topic, isolation=READ_COMMITTED)
    assert found.aborted == [(dropped.pid, 1)]
    assert connection.read_committed(topic) == [b"kept %d" % step for step in range(5)]


def test_check_53_a_pid_that_aborts_and_then_commits_in_one_fetch(
    connection: Connection, topic: str, unique_name: str
) -> None:
    producer = Transactional(connection, unique_name + "-id").init()
    for round_, commit in enumerate((False, True, False, False, True)):
        producer.send(topic, b"%d" % round_)
        producer.end(commit=commit)
    found = connection.fetch(topic, isolation=READ_COMMITTED)
    assert found.aborted == [(producer.pid, 0), (producer.pid, 4), (producer.pid, 6)]
    assert connection.read_committed(topic) == [b"1", b"4"]


def test_check_53_the_same_with_transaction_version_2(connection: Connection, topic: str, unique_name: str) -> None:
    producer = Transactional(connection, unique_name + "-id", version_2=True).init()
    for round_, commit in enumerate((False, True, False, True)):
        producer.send(topic, b"%d" % round_, b"more")
        producer.end(commit=commit)
    assert connection.read_committed(topic) == [b"1", b"more", b"3", b"more"]


@pytest.mark.parametrize("version", [4, 7, 11, 12])
def test_check_54_aborted_transactions_are_told_to_read_committed_alone(
    connection: Connection, topic: str, unique_name: str, version: int
) -> None:
    connection.produce(topic, batch(b"a"))
    assert connection.fetch(topic, version=version, isolation=READ_UNCOMMITTED).aborted is None
    assert connection.fetch(topic, version=version, isolation=READ_COMMITTED).aborted == []
    producer = Transactional(connection, unique_name + "-id").init()
    producer.send(topic, b"b")
    producer.abort()
    assert connection.fetch(topic, version=version, isolation=READ_UNCOMMITTED).aborted is None
    assert connection.fetch(topic, version=version, isolation=READ_COMMITTED).aborted == [(producer.pid, 1)]


def test_check_54_an_empty_read_tells_no_aborted_transactions(
    connection: Connection, topic: str, unique_name: str
) -> None:
    producer = Transactional(connection, unique_name + "-id").init()
    producer.send(topic, b"b")
    producer.abort()
    assert connection.fetch(topic, 2, isolation=READ_COMMITTED).aborted == []


def test_check_55_an_aborted_transaction_whose_marker_is_segments_later_is_listed(
    connection: Connection, unique_name: str
) -> None:
    connection.create_topic(unique_name, segment_bytes=1048576)
    producer = Transactional(connection, unique_name + "-id").init()
    producer.send(unique_name, b"aborted in the end")
    for _ in range(6):
        connection.produce(unique_name, batch(bytes(500_000)))
    producer.send(unique_name, b"more of it")
    producer.abort()
    found = connection.fetch(unique_name, 0, isolation=READ_COMMITTED, partition_max_bytes=100)
    assert [item.base_offset for item in found.batches] == [0]
    assert found.aborted == [(producer.pid, 0)]
    # From the middle too: the transaction began before, and its end is after the range.
    assert connection.fetch(unique_name, 7, isolation=READ_COMMITTED).aborted == [(producer.pid, 0)]
    assert b"more of it" not in connection.read_committed(unique_name, 3)


def test_check_56_the_latest_offset_depends_on_the_isolation(
    connection: Connection, topic: str, unique_name: str
) -> None:
    connection.produce(topic, batch(b"a", b"b"))
    producer = Transactional(connection, unique_name + "-id").init()
    producer.send(topic, b"c")
    for version in range(2, 12):
        assert connection.list_offset(topic, isolation=READ_UNCOMMITTED, version=version).offset == 3
        assert connection.list_offset(topic, isolation=READ_COMMITTED, version=version).offset == 2
    producer.commit()
    assert stable(connection, topic) == connection.list_offset(topic).offset == 4


def test_a_time_behind_the_stable_offset_is_not_found_by_read_committed(
    connection: Connection, topic: str, unique_name: str
) -> None:
    start = now_ms()
    connection.produce(topic, batch(b"a", timestamp=start - 1000))
    producer = Transactional(connection, unique_name + "-id").init()
    producer.send(topic, b"b")
    committed = connection.list_offset(topic, start - 500, isolation=READ_COMMITTED)
    uncommitted = connection.list_offset(topic, start - 500)
    assert (committed.error_code, committed.offset, committed.timestamp) == (0, -1, -1)
    assert uncommitted.offset == 1
    assert connection.list_offset(topic, MAX_TIMESTAMP, isolation=READ_COMMITTED).error_code == 0
    producer.abort()


# -- markers ------------------------------------------------------------------------------------------------------


def write_marker(
    connection: Connection,
    topic: str,
    pid: int,
    epoch: int,
    *,
    commit: bool = True,
    coordinator_epoch: int = 0,
    version: int = 1,
    transaction_version: int = 0,
    partition: int = 0,
) -> int:
    marker = WritableTxnMarker(
        producer_id=pid,
        producer_epoch=epoch,
        transaction_result=commit,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
        coordinator_epoch=coordinator_epoch,
    )
    if version >= 2:
        marker.transaction_version = transaction_version
    answer = connection.ask(WriteTxnMarkersRequest(markers=[marker]), version)
    code: int = answer.markers[0].topics[0].partitions[0].error_code
    return code


def test_check_48_a_marker_of_an_older_coordinator_is_refused(connection: Connection, topic: str) -> None:
    pid = new_pid(connection)
    connection.produce(topic, batch(b"a", pid=pid, epoch=3, sequence=0))
    assert write_marker(connection, topic, pid, 3, coordinator_epoch=5) == 0
    assert write_marker(connection, topic, pid, 3, coordinator_epoch=4) == 52
    assert write_marker(connection, topic, pid, 3, coordinator_epoch=5) == 0
    assert connection.list_offset(topic).offset == 3


def test_a_marker_of_an_older_epoch_is_refused(connection: Connection, topic: str) -> None:
    pid = new_pid(connection)
    connection.produce(topic, batch(b"a", pid=pid, epoch=3, sequence=0))
    assert write_marker(connection, topic, pid, 2) == 47
    assert write_marker(connection, topic, pid, 4) == 0
    assert connection.produce(topic, batch(b"b", pid=pid, epoch=3, sequence=1)).error == 47
    assert connection.produce(topic, batch(b"b", pid=pid, epoch=4, sequence=1)).error == 45
    assert connection.produce(topic, batch(b"b", pid=pid, epoch=4, sequence=0)).error == 0


def test_a_marker_of_transaction_version_2_bears_the_next_epoch(
    connection: Connection, topic: str, unique_name: str
) -> None:
    producer = Transactional(connection, unique_name + "-id", version_2=True).init()
    producer.send(topic, b"a")
    assert write_marker(connection, topic, producer.pid, producer.epoch, version=2, transaction_version=2) == 47
    assert write_marker(connection, topic, producer.pid, producer.epoch + 1, version=2, transaction_version=2) == 0
    assert write_marker(connection, topic, producer.pid, producer.epoch + 1, version=2, transaction_version=2) == 0
    assert connection.read_committed(topic) == [b"a"]


def test_a_marker_for_what_is_not_there(connection: Connection, topic: str, unique_name: str) -> None:
    pid = new_pid(connection)
    assert write_marker(connection, unique_name + "-missing", pid, 0) == UNKNOWN_TOPIC
    assert write_marker(connection, topic, pid, 0, partition=4) == UNKNOWN_TOPIC
    assert write_marker(connection, topic, pid, 0) == 0
    (stored,) = connection.fetch(topic).batches
    assert (stored.marker(), stored.attributes) == (("commit", 0), 0x30)


def test_markers_end_a_hanging_transaction(connection: Connection, topic: str, unique_name: str) -> None:
    """What an operator does with WriteTxnMarkers (KIP-664)."""
    producer = Transactional(connection, unique_name + "-id").init()
    producer.send(topic, b"hangs")
    connection.produce(topic, batch(b"behind it"))
    assert stable(connection, topic) == 0
    assert write_marker(connection, topic, producer.pid, producer.epoch, commit=False) == 0
    assert stable(connection, topic) == 3
    assert connection.read_committed(topic) == [b"behind it"]


# -- waiting and limits -------------------------------------------------------------------------------------------


def test_a_fetch_waits_for_min_bytes_and_no_longer_than_max_wait(connection: Connection, topic: str) -> None:
    connection.produce(topic, batch(b"a"))
    begin = now_ms()
    found = connection.fetch(topic, min_bytes=100_000, max_wait_ms=250)
    assert now_ms() - begin >= 245
    assert len(found.batches) == 1


def test_a_waiting_fetch_wakes_when_a_record_arrives(connection: Connection, topic: str) -> None:
    with connection.another() as reader:
        begin = now_ms()
        number = reader.send_fetch({(topic, 0): Position(0)}, max_wait_ms=15_000)
        connection.produce(topic, batch(b"a"))
        found = reader.receive_fetch(number).partitions[topic, 0]
        assert [item.value for item in found.batches[0].records()] == [b"a"]
        assert now_ms() - begin < 10_000


def test_a_waiting_read_committed_fetch_wakes_when_the_transaction_ends(
    connection: Connection, topic: str, unique_name: str
) -> None:
    producer = Transactional(connection, unique_name + "-id").init()
    producer.send(topic, b"a")
    with connection.another() as reader:
        begin = now_ms()
        number = reader.send_fetch({(topic, 0): Position(0)}, max_wait_ms=15_000, isolation=READ_COMMITTED)
        producer.commit()
        found = reader.receive_fetch(number).partitions[topic, 0]
        assert len(found.batches) == 2
        assert now_ms() - begin < 10_000


def test_a_fetch_of_unknown_partitions_alone_does_not_wait(connection: Connection, topic: str) -> None:
    begin = now_ms()
    answer = connection.fetch_all({(topic, 8): Position(0), (topic, 9): Position(0)}, max_wait_ms=15_000)
    assert [found.error for found in answer.partitions.values()] == [UNKNOWN_TOPIC] * 2
    assert now_ms() - begin < 10_000


def test_a_fetch_waits_though_one_of_its_partitions_is_unknown(connection: Connection, topic: str) -> None:
    begin = now_ms()
    answer = connection.fetch_all({(topic, 0): Position(0), (topic, 9): Position(0)}, max_wait_ms=250)
    assert answer.partitions[topic, 9].error == UNKNOWN_TOPIC
    assert now_ms() - begin >= 245


def test_a_fetch_of_which_one_offset_is_out_of_range_does_not_wait(connection: Connection, unique_name: str) -> None:
    connection.create_topic(unique_name, 2)
    begin = now_ms()
    answer = connection.fetch_all({(unique_name, 0): Position(0), (unique_name, 1): Position(9)}, max_wait_ms=15_000)
    assert answer.partitions[unique_name, 1].error == OUT_OF_RANGE
    assert now_ms() - begin < 10_000


def test_a_fetch_out_of_range_does_not_wait(connection: Connection, topic: str) -> None:
    for offset in (1, -1, 2**40):
        found = connection.fetch(topic, offset, max_wait_ms=15_000)
        assert found.error == OUT_OF_RANGE
        assert found.batches == []
        assert (found.high_watermark, found.last_stable_offset) == (-1, -1)


@pytest.mark.parametrize("limit", [0, 1, 70])
def test_at_least_one_batch_is_given_whatever_the_limit(connection: Connection, topic: str, limit: int) -> None:
    for value in (b"a" * 200, b"b" * 200):
        connection.produce(topic, batch(value))
    for limits in ({"partition_max_bytes": limit}, {"max_bytes": limit}):
        found = connection.fetch(topic, **limits)
        assert [item.base_offset for item in found.batches] == [0]


def test_the_byte_limit_is_for_all_partitions_together(connection: Connection, unique_name: str) -> None:
    connection.create_topic(unique_name, 3)
    for index in range(3):
        connection.produce(unique_name, batch(bytes(1000)), index)
    answer = connection.fetch_all({(unique_name, index): Position(0) for index in range(3)}, max_bytes=1500)
    sizes = [len(answer.partitions[unique_name, index].records or b"") for index in range(3)]
    whole = len(batch(bytes(1000)))
    assert sizes[0] == whole
    assert sizes[1] < whole
    assert sizes[2] == 0


def test_a_batch_is_given_whole_when_the_offset_is_within_it(connection: Connection, topic: str) -> None:
    connection.produce(topic, batch(b"a", b"b", b"c"))
    (found,) = connection.fetch(topic, 2).batches
    assert (found.base_offset, found.count) == (0, 3)


def test_a_fetch_at_the_end_is_empty(connection: Connection, topic: str) -> None:
    connection.produce(topic, batch(b"a"))
    found = connection.fetch(topic, 1)
    assert (found.error, found.high_watermark, found.records) == (0, 1, b"")


@pytest.mark.parametrize(("epoch", "error"), [(-1, 0), (0, 0), (1, UNKNOWN_LEADER), (99, UNKNOWN_LEADER)])
def test_the_leader_epoch_is_checked(connection: Connection, topic: str, epoch: int, error: int) -> None:
    answer = connection.fetch_all({(topic, 0): Position(0, leader_epoch=epoch)})
    assert answer.partitions[topic, 0].error == error
    assert connection.list_offset(topic, leader_epoch=epoch).error_code == error


def test_a_last_fetched_epoch_that_the_leader_does_not_know(connection: Connection, topic: str) -> None:
    connection.produce(topic, batch(b"a", b"b"))
    same = connection.fetch_all({(topic, 0): Position(1, last_fetched_epoch=0)}).partitions[topic, 0]
    assert (same.error, same.diverging, len(same.batches)) == (0, None, 1)
    newer = connection.fetch_all({(topic, 0): Position(1, last_fetched_epoch=7)}).partitions[topic, 0]
    assert newer.error in (0, OUT_OF_RANGE)
    assert newer.batches == []


# -- sessions -----------------------------------------------------------------------------------------------------


def test_a_session_tells_only_what_is_new(connection: Connection, unique_name: str) -> None:
    connection.create_topic(unique_name, 3)
    everything = {(unique_name, index): Position(0) for index in range(3)}
    full = connection.fetch_all(everything, session_epoch=0)
    assert full.session_id > 0
    assert set(full.partitions) == set(everything)
    nothing = connection.fetch_all({}, session_id=full.session_id, session_epoch=1)
    assert (nothing.error, nothing.session_id, nothing.partitions) == (0, full.session_id, {})
    connection.produce(unique_name, batch(b"a"), 1)
    news = connection.fetch_all({}, session_id=full.session_id, session_epoch=2)
    assert set(news.partitions) == {(unique_name, 1)}
    assert len(news.partitions[unique_name, 1].batches) == 1
    again = connection.fetch_all({}, session_id=full.session_id, session_epoch=3)
    assert set(again.partitions) == {(unique_name, 1)}
    moved = {(unique_name, 1): Position(1)}
    assert connection.fetch_all(moved, session_id=full.session_id, session_epoch=4).partitions == {}
    forgotten = connection.fetch_all(
        {}, session_id=full.session_id, session_epoch=5, forgotten=[(unique_name, 2), (unique_name, 0)]
    )
    assert forgotten.partitions == {}
    connection.produce(unique_name, batch(b"b"), 2)
    assert connection.fetch_all({}, session_id=full.session_id, session_epoch=6).partitions == {}


def test_a_session_tells_of_new_partitions_and_of_errors(connection: Connection, unique_name: str) -> None:
    connection.create_topic(unique_name, 2)
    full = connection.fetch_all({(unique_name, 0): Position(0)}, session_epoch=0)
    added = connection.fetch_all(
        {(unique_name, 1): Position(0), (unique_name, 5): Position(0)}, session_id=full.session_id, session_epoch=1
    )
    assert set(added.partitions) == {(unique_name, 1), (unique_name, 5)}
    assert added.partitions[unique_name, 5].error == UNKNOWN_TOPIC
    more = connection.fetch_all({}, session_id=full.session_id, session_epoch=2)
    assert {key for key, found in more.partitions.items() if found.error} == {(unique_name, 5)}


@pytest.mark.parametrize(("epoch", "error"), [(2, 71), (7, 71)])
def test_a_session_with_the_wrong_epoch(connection: Connection, topic: str, epoch: int, error: int) -> None:
    full = connection.fetch_all({(topic, 0): Position(0)}, session_epoch=0)
    answer = connection.fetch_all({}, session_id=full.session_id, session_epoch=epoch)
    assert (answer.error, answer.session_id, answer.partitions) == (error, 0, {})
    assert connection.fetch_all({}, session_id=full.session_id, session_epoch=1).error == 0


def test_a_session_that_is_not_there(connection: Connection, topic: str) -> None:
    for position in ({}, {(topic, 0): Position(0)}):
        assert connection.fetch_all(position, session_id=4242, session_epoch=3).error == 70


def test_a_session_ends_with_the_final_epoch(connection: Connection, topic: str) -> None:
    full = connection.fetch_all({(topic, 0): Position(0)}, session_epoch=0)
    last = connection.fetch_all({(topic, 0): Position(0)}, session_id=full.session_id, session_epoch=-1)
    assert (last.error, last.session_id, set(last.partitions)) == (0, 0, {(topic, 0)})
    assert connection.fetch_all({}, session_id=full.session_id, session_epoch=1).error == 70


def test_a_session_may_be_begun_anew(connection: Connection, topic: str) -> None:
    first = connection.fetch_all({(topic, 0): Position(0)}, session_epoch=0)
    second = connection.fetch_all({(topic, 0): Position(0)}, session_id=first.session_id, session_epoch=0)
    assert second.error == 0
    assert second.session_id not in (0, first.session_id)
    assert connection.fetch_all({}, session_id=first.session_id, session_epoch=1).error == 70


def test_a_session_by_topic_ids(connection: Connection, unique_name: str) -> None:
    topic_id = connection.create_topic(unique_name)
    full = connection.fetch_all({(topic_id, 0): Position(0)}, version=13, session_epoch=0)
    connection.produce(unique_name, batch(b"a"))
    news = connection.fetch_all({}, version=13, session_id=full.session_id, session_epoch=1)
    assert set(news.partitions) == {(topic_id, 0)}
    by_name = connection.fetch_all({}, version=12, session_id=full.session_id, session_epoch=2)
    assert by_name.error == 106
    unknown = connection.fetch_all({(b"u" * 16, 0): Position(0)}, version=13)
    assert unknown.partitions[b"u" * 16, 0].error == 100


# -- offsets ------------------------------------------------------------------------------------------------------


def test_list_offsets_by_every_kind_of_time(connection: Connection, topic: str) -> None:
    start = 1_700_000_000_000
    for times in ([start, start + 10], [start + 50, start + 40], [start + 20]):
        connection.produce(topic, batch(*[b"x"] * len(times), timestamps=times))

    def found(timestamp: int, version: int = 9) -> tuple[int, int, int]:
        answer = connection.list_offset(topic, timestamp, version=version)
        return answer.error_code, answer.offset, answer.timestamp

    assert found(LATEST) == (0, 5, -1)
    assert found(EARLIEST) == (0, 0, -1)
    assert found(MAX_TIMESTAMP)[2] == start + 50
    assert found(EARLIEST_LOCAL) == (0, 0, -1)
    assert found(LATEST_TIERED) == (0, -1, -1)
    assert found(0) == (0, 0, start)
    assert found(start) == (0, 0, start)
    assert found(start + 1) == (0, 1, start + 10)
    assert found(start + 11) == (0, 2, start + 50)
    assert found(start + 45) == (0, 2, start + 50)
    assert found(start + 51) == (0, -1, -1)


def test_list_offsets_max_timestamp_names_the_record(connection: Connection, topic: str) -> None:
    start = 1_700_000_000_000
    empty = connection.list_offset(topic, MAX_TIMESTAMP)
    assert (empty.error_code, empty.offset, empty.timestamp) == (0, -1, -1)
    connection.produce(topic, batch(b"a", b"b", b"c", timestamps=[start, start + 9, start + 3]))
    connection.produce(topic, batch(b"d", timestamp=start + 5))
    found = connection.list_offset(topic, MAX_TIMESTAMP)
    assert (found.offset, found.timestamp, found.leader_epoch) == (1, start + 9, 0)


@pytest.mark.parametrize(
    ("timestamp", "version"),
    [(MAX_TIMESTAMP, 6), (EARLIEST_LOCAL, 7), (LATEST_TIERED, 8), (-6, 10), (-7, 11), (-99, 11)],
)
def test_list_offsets_of_a_time_that_the_version_does_not_have(
    connection: Connection, topic: str, timestamp: int, version: int
) -> None:
    assert connection.list_offset(topic, timestamp, version=version).error_code == 35


@pytest.mark.parametrize("version", range(1, 12))
def test_list_offsets_in_every_version(connection: Connection, topic: str, version: int) -> None:
    connection.produce(topic, batch(b"a"))
    answer = connection.list_offset(topic, LATEST, version=version)
    assert (answer.error_code, answer.offset) == (0, 1)
    if version >= 4:
        assert answer.leader_epoch == 0
    missing = connection.list_offset(topic, LATEST, 8, version=version)
    assert (missing.error_code, missing.offset, missing.timestamp) == (UNKNOWN_TOPIC, -1, -1)


def delete_records(connection: Connection, topic: str, offset: int, partition: int = 0) -> tuple[int, int]:
    request = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=topic, partitions=[DeleteRecordsPartition(partition_index=partition, offset=offset)]
            )
        ],
        timeout_ms=10_000,
    )
    (found,) = connection.ask(request, 2).topics[0].partitions
    return found.error_code, found.low_watermark


def test_delete_records(connection: Connection, topic: str) -> None:
    for _ in range(3):
        connection.produce(topic, batch(b"a", b"b"))
    assert delete_records(connection, topic, 7) == (OUT_OF_RANGE, -1)
    assert delete_records(connection, topic, -2) == (OUT_OF_RANGE, -1)
    assert delete_records(connection, topic, 3) == (0, 3)
    assert delete_records(connection, topic, 1) == (0, 3)
    assert connection.list_offset(topic, EARLIEST).offset == 3
    assert connection.fetch(topic, 2).error == OUT_OF_RANGE
    found = connection.fetch(topic, 3)
    assert (found.log_start_offset, found.batches[0].base_offset) == (3, 2)
    assert delete_records(connection, topic, -1) == (0, 6)
    assert connection.list_offset(topic, EARLIEST).offset == connection.list_offset(topic).offset == 6
    assert connection.produce(topic, batch(b"c"))[:2] == (0, 6)
    assert connection.produce(topic, batch(b"c")).log_start_offset == 6
    assert delete_records(connection, topic, 0, 4) == (UNKNOWN_TOPIC, -1)


def test_delete_records_of_an_open_transaction_moves_the_stable_offset(
    connection: Connection, topic: str, unique_name: str
) -> None:
    producer = Transactional(connection, unique_name + "-id").init()
    producer.send(topic, b"a", b"b")
    connection.produce(topic, batch(b"c"))
    assert stable(connection, topic) == 0
    assert delete_records(connection, topic, 2) == (0, 2)
    assert stable(connection, topic) == 2
    producer.abort()
    assert connection.read_committed(topic, 2) == [b"c"]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_offset_for_leader_epoch(connection: Connection, topic: str, version: int) -> None:
    connection.produce(topic, batch(b"a", b"b"))

    def ask(epoch: int, partition: int = 0, current: int = -1) -> tuple[int, int, int]:
        request = OffsetForLeaderEpochRequest(
            topics=[
                OffsetForLeaderTopic(
                    topic=topic,
                    partitions=[
                        OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=epoch)
                    ],
                )
            ]
        )
        if version >= 3:
            request.replica_id = -1
        (found,) = connection.ask(request, version).topics[0].partitions
        return found.error_code, found.leader_epoch, found.end_offset

    assert ask(0) == (0, 0, 2)
    assert ask(5) == (0, -1, -1)
    assert ask(-1) == (0, -1, -1)
    assert ask(0, partition=7) == (UNKNOWN_TOPIC, -1, -1)
    assert ask(0, current=0) == (0, 0, 2)
    assert ask(0, current=3) == (UNKNOWN_LEADER, -1, -1)


def test_a_compressed_transaction_is_read_like_a_plain_one(
    connection: Connection, topic: str, unique_name: str
) -> None:
    import cramjam

    from oncelog.conformance.wire import GZIP, record

    producer = Transactional(connection, unique_name + "-id").init()
    for commit in (False, True):
        producer.add((topic, 0))
        area = bytes(cramjam.gzip.compress(record(b"c%d" % commit)))
        data = batch(
            records=area,
            count=1,
            pid=producer.pid,
            epoch=producer.epoch,
            sequence=producer.sequences.get((topic, 0), 0),
            attributes=TRANSACTIONAL | GZIP,
        )
        assert connection.produce(topic, data, transactional_id=producer.id).error == 0
        producer.sequences[topic, 0] = producer.sequences.get((topic, 0), 0) + 1
        producer.end(commit=commit)
    assert connection.read_committed(topic) == [b"c1"]


def test_a_marker_takes_one_offset_and_has_no_sequence(connection: Connection, topic: str, unique_name: str) -> None:
    producer = Transactional(connection, unique_name + "-id").init()
    producer.send(topic, b"a", b"b")
    producer.abort()
    marker = connection.fetch(topic, 2).batches[0]
    assert (marker.base_offset, marker.last_offset_delta, marker.count, marker.sequence) == (2, 0, 1, -1)
    assert (marker.attributes, marker.crc_right, marker.leader_epoch) == (0x30, True, 0)
    (only,) = marker.records()
    assert only.key == struct.pack(">hh", 0, 0)
    assert only.value is not None
    assert len(only.value) == 6


def test_init_again_aborts_and_wakes_the_readers(connection: Connection, topic: str, unique_name: str) -> None:
    producer = Transactional(connection, unique_name + "-id").init()
    producer.send(topic, b"a")
    init(connection, producer.id)
    eventually(lambda: stable(connection, topic) == 2)
    assert connection.read_committed(topic) == []
