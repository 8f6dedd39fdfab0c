"""What a reader sees of transactions and of their markers.

That the high watermark passes a marker can only be observed with several brokers; other tests check that.
"""

from __future__ import annotations

import struct

from oncelog.apps.conformance.expect import among, eventually, holds, same, there
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, batch, now_ms
from oncelog.apps.conformance.raw.bodies import READ_COMMITTED, READ_UNCOMMITTED
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, init, new_pid
from oncelog.apps.conformance.raw.wire import MAX_TIMESTAMP, RawConnection
from oncelog.apps.conformance.registry import check, each
from oncelog.errors import Error
from oncelog.protocol.generated.list_offsets_request import ListOffsetsRequest
from oncelog.protocol.generated.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

OUT_OF_RANGE = Error.OFFSET_OUT_OF_RANGE
UNKNOWN_TOPIC = Error.UNKNOWN_TOPIC_OR_PARTITION
UNKNOWN_LEADER = Error.UNKNOWN_LEADER_EPOCH


def stable(connection: RawConnection, topic: str) -> int:
    offset: int = connection.list_offset(topic, isolation=READ_COMMITTED).offset
    return offset


# --- transactions


@check("KIP-98")
def the_first_open_transaction_holds_back_what_others_committed(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    first, second = (RawTransactionalProducer(connection, f"{unique_name}-{part}").init() for part in "ab")
    connection.produce(topic, batch(b"plain"))
    first.send(topic, b"first")
    second.send(topic, b"second")
    second.commit()
    connection.produce(topic, batch(b"plain too"))
    same(stable(connection, topic), 1)
    found = connection.fetch(topic, isolation=READ_COMMITTED)
    same((found.last_stable_offset, found.high_watermark), (1, 5))
    same([item.base_offset for item in found.batches], [0])
    among(connection.fetch(topic, 1, isolation=READ_COMMITTED).records, (b"", None))
    same(len(connection.fetch(topic).batches), 5)
    first.abort()
    same(stable(connection, topic), 6)
    same(connection.read_committed(topic), [b"plain", b"second", b"plain too"])


@check("KIP-98")
def the_stable_offset_moves_to_the_next_open_transaction(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    one, two, three = (RawTransactionalProducer(connection, f"{unique_name}-{part}").init() for part in "abc")
    for producer in (one, two, three):
        producer.send(topic, b"x")
    same(stable(connection, topic), 0)
    two.commit()
    same(stable(connection, topic), 0)
    one.commit()
    same(stable(connection, topic), 2)
    three.abort()
    same(stable(connection, topic), 6)


@check("KIP-98")
def interleaved_transactions_are_delivered_if_committed_and_in_order(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    kept, dropped = (RawTransactionalProducer(connection, f"{unique_name}-{part}").init() for part in "kd")
    for step in range(4):
        kept.send(topic, b"kept %d" % step)
        dropped.send(topic, b"dropped %d" % step)
    dropped.abort()
    kept.send(topic, b"kept 4")
    kept.commit()
    found = connection.fetch(topic, isolation=READ_COMMITTED)
    same(found.aborted, [(dropped.pid, 1)])
    same(connection.read_committed(topic), [b"kept %d" % step for step in range(5)])


@check("KIP-98")
def a_pid_that_aborts_and_then_commits_in_one_fetch(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    for round_, commit in enumerate((False, True, False, False, True)):
        producer.send(topic, b"%d" % round_)
        producer.end(commit=commit)
    found = connection.fetch(topic, isolation=READ_COMMITTED)
    same(found.aborted, [(producer.pid, 0), (producer.pid, 4), (producer.pid, 6)])
    same(connection.read_committed(topic), [b"1", b"4"])


@check("KIP-890")
def the_same_with_transaction_version_2(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(connection, unique_name + "-id", version_2=True).init()
    for round_, commit in enumerate((False, True, False, True)):
        producer.send(topic, b"%d" % round_, b"more")
        producer.end(commit=commit)
    same(connection.read_committed(topic), [b"1", b"more", b"3", b"more"])


@check("KIP-98")
@each("version", values=[4, 7, 11, 12])
def only_read_committed_gets_the_list_of_aborted_transactions(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    connection.produce(topic, batch(b"a"))
    same(connection.fetch(topic, version=version, isolation=READ_UNCOMMITTED).aborted, None)
    same(connection.fetch(topic, version=version, isolation=READ_COMMITTED).aborted, [])
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    producer.send(topic, b"b")
    producer.abort()
    same(connection.fetch(topic, version=version, isolation=READ_UNCOMMITTED).aborted, None)
    same(connection.fetch(topic, version=version, isolation=READ_COMMITTED).aborted, [(producer.pid, 1)])


@check("KIP-98")
def an_empty_read_tells_no_aborted_transactions(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    producer.send(topic, b"b")
    producer.abort()
    same(connection.fetch(topic, 2, isolation=READ_COMMITTED).aborted, [])


@check("KIP-98")
def an_aborted_transaction_whose_marker_is_segments_later_is_listed(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    connection.create_topic(unique_name, segment_bytes=1048576)
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    producer.send(unique_name, b"aborted in the end")
    for _ in range(6):
        connection.produce(unique_name, batch(bytes(500_000)))
    producer.send(unique_name, b"more of it")
    producer.abort()
    found = connection.fetch(unique_name, 0, isolation=READ_COMMITTED, partition_max_bytes=100)
    same([item.base_offset for item in found.batches], [0])
    same(found.aborted, [(producer.pid, 0)])
    # A fetch from the middle of the transaction also lists it as aborted.
    same(connection.fetch(unique_name, 7, isolation=READ_COMMITTED).aborted, [(producer.pid, 0)])
    holds(
        b"more of it" not in connection.read_committed(unique_name, 3),
        "a record of an aborted transaction is not delivered even if the fetch starts after its first record",
    )


@check("KIP-98")
def the_latest_offset_depends_on_the_isolation(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    connection.produce(topic, batch(b"a", b"b"))
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    producer.send(topic, b"c")
    for version in connection.versions(ListOffsetsRequest.API_KEY, range(2, 12)):
        same(connection.list_offset(topic, isolation=READ_UNCOMMITTED, version=version).offset, 3)
        same(connection.list_offset(topic, isolation=READ_COMMITTED, version=version).offset, 2)
    producer.commit()
    holds(
        stable(connection, topic) == connection.list_offset(topic).offset == 4,
        "after the commit both isolation levels end at 4",
    )


@check("KIP-98")
def a_time_behind_the_stable_offset_is_not_found_by_read_committed(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    start = now_ms()
    connection.produce(topic, batch(b"a", timestamp=start - 1000))
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    producer.send(topic, b"b")
    committed = connection.list_offset(topic, start - 500, isolation=READ_COMMITTED)
    uncommitted = connection.list_offset(topic, start - 500)
    same((committed.error_code, committed.offset, committed.timestamp), (0, -1, -1))
    same(uncommitted.offset, 1)
    same(connection.list_offset(topic, MAX_TIMESTAMP, isolation=READ_COMMITTED).error_code, 0)
    producer.abort()


# --- markers


def write_marker(
    connection: RawConnection,
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


@check("KIP-98")
def a_marker_of_an_older_coordinator_is_refused(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    pid = new_pid(connection)
    connection.produce(topic, batch(b"a", pid=pid, epoch=3, sequence=0))
    same(write_marker(connection, topic, pid, 3, coordinator_epoch=5), 0)
    same(write_marker(connection, topic, pid, 3, coordinator_epoch=4), 52)
    same(write_marker(connection, topic, pid, 3, coordinator_epoch=5), 0)
    same(connection.list_offset(topic).offset, 3)


@check("KIP-98")
def a_marker_of_an_older_epoch_is_refused(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    pid = new_pid(connection)
    connection.produce(topic, batch(b"a", pid=pid, epoch=3, sequence=0))
    same(write_marker(connection, topic, pid, 2), 47)
    same(write_marker(connection, topic, pid, 4), 0)
    same(connection.produce(topic, batch(b"b", pid=pid, epoch=3, sequence=1)).error, 47)
    same(connection.produce(topic, batch(b"b", pid=pid, epoch=4, sequence=1)).error, 45)
    same(connection.produce(topic, batch(b"b", pid=pid, epoch=4, sequence=0)).error, 0)


@check("KIP-1228")
def a_marker_of_transaction_version_2_has_the_next_epoch(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(connection, unique_name + "-id", version_2=True).init()
    producer.send(topic, b"a")
    same(write_marker(connection, topic, producer.pid, producer.epoch, version=2, transaction_version=2), 47)
    same(write_marker(connection, topic, producer.pid, producer.epoch + 1, version=2, transaction_version=2), 0)
    same(write_marker(connection, topic, producer.pid, producer.epoch + 1, version=2, transaction_version=2), 0)
    same(connection.read_committed(topic), [b"a"])


@check("KIP-98")
def a_marker_for_what_is_not_there(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    pid = new_pid(connection)
    same(write_marker(connection, unique_name + "-missing", pid, 0), UNKNOWN_TOPIC)
    same(write_marker(connection, topic, pid, 0, partition=4), UNKNOWN_TOPIC)
    same(write_marker(connection, topic, pid, 0), 0)
    (stored,) = connection.fetch(topic).batches
    same((stored.marker(), stored.attributes), (("commit", 0), 0x30))


@check("KIP-664")
def markers_end_a_hanging_transaction(fixture: Fixture) -> None:
    """End a transaction as an operator does, with WriteTxnMarkers (KIP-664)."""
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    producer.send(topic, b"hangs")
    connection.produce(topic, batch(b"behind it"))
    same(stable(connection, topic), 0)
    same(write_marker(connection, topic, producer.pid, producer.epoch, commit=False), 0)
    same(stable(connection, topic), 3)
    same(connection.read_committed(topic), [b"behind it"])


@check("KIP-98")
def a_compressed_transaction_is_read_like_a_plain_one(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    import cramjam

    from oncelog.apps.conformance.raw.batches import GZIP, record

    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
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
        same(connection.produce(topic, data, transactional_id=producer.id).error, 0)
        producer.sequences[topic, 0] = producer.sequences.get((topic, 0), 0) + 1
        producer.end(commit=commit)
    same(connection.read_committed(topic), [b"c1"])


@check("KIP-98")
def a_marker_takes_one_offset_and_has_no_sequence(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    producer.send(topic, b"a", b"b")
    producer.abort()
    marker = connection.fetch(topic, 2).batches[0]
    same((marker.base_offset, marker.last_offset_delta, marker.count, marker.sequence), (2, 0, 1, -1))
    same((marker.attributes, marker.crc_right, marker.leader_epoch), (0x30, True, 0))
    (only,) = marker.records()
    same(only.key, struct.pack(">hh", 0, 0))
    same(len(there(only.value, "a marker's value")), 6)


@check("KIP-98")
def init_again_aborts_and_wakes_the_readers(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    producer.send(topic, b"a")
    init(connection, producer.id)
    eventually(lambda: stable(connection, topic) == 2)
    same(connection.read_committed(topic), [])
