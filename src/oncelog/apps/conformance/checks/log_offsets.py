"""Checks of offsets found by timestamp and by leader epoch, and of deleted records."""

from __future__ import annotations

from oncelog.apps.conformance.checks.isolation import stable
from oncelog.apps.conformance.expect import holds, same
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer
from oncelog.apps.conformance.raw.wire import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    RawConnection,
)
from oncelog.apps.conformance.registry import check, each
from oncelog.errors import Error
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from oncelog.protocol.generated.list_offsets_request import ListOffsetsRequest
from oncelog.protocol.generated.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

OUT_OF_RANGE = Error.OFFSET_OUT_OF_RANGE
UNKNOWN_TOPIC = Error.UNKNOWN_TOPIC_OR_PARTITION
UNKNOWN_LEADER = Error.UNKNOWN_LEADER_EPOCH


@check("KIP-79")
def list_offsets_by_every_kind_of_time(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    start = 1_700_000_000_000
    for times in ([start, start + 10], [start + 50, start + 40], [start + 20]):
        connection.produce(topic, batch(*[b"x"] * len(times), timestamps=times))

    def found(timestamp: int, version: int | None = None) -> tuple[int, int, int]:
        answer = connection.list_offset(topic, timestamp, version=version)
        return answer.error_code, answer.offset, answer.timestamp

    same(found(LATEST), (0, 5, -1))
    same(found(EARLIEST), (0, 0, -1))
    if connection.offers(ListOffsetsRequest.API_KEY, 7):
        same(found(MAX_TIMESTAMP)[2], start + 50)
    if connection.offers(ListOffsetsRequest.API_KEY, 8):
        same(found(EARLIEST_LOCAL), (0, 0, -1))
    if connection.offers(ListOffsetsRequest.API_KEY, 9):
        same(found(LATEST_TIERED), (0, -1, -1))
    same(found(0), (0, 0, start))
    same(found(start), (0, 0, start))
    same(found(start + 1), (0, 1, start + 10))
    same(found(start + 11), (0, 2, start + 50))
    same(found(start + 45), (0, 2, start + 50))
    same(found(start + 51), (0, -1, -1))


@check("KIP-734", since="3.0")
def list_offsets_max_timestamp_names_the_record(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    start = 1_700_000_000_000
    empty = connection.list_offset(topic, MAX_TIMESTAMP)
    same((empty.error_code, empty.offset, empty.timestamp), (0, -1, -1))
    connection.produce(topic, batch(b"a", b"b", b"c", timestamps=[start, start + 9, start + 3]))
    connection.produce(topic, batch(b"d", timestamp=start + 5))
    found = connection.list_offset(topic, MAX_TIMESTAMP)
    same((found.offset, found.timestamp, found.leader_epoch), (1, start + 9, 0))


@check("KIP-1005", since="3.9")
@each(
    "timestamp",
    "version",
    values=[(MAX_TIMESTAMP, 6), (EARLIEST_LOCAL, 7), (LATEST_TIERED, 8), (-6, 10), (-7, 11), (-99, 11)],
)
def list_offsets_of_a_time_that_the_version_does_not_have(fixture: Fixture, timestamp: int, version: int) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    same(connection.list_offset(topic, timestamp, version=version).error_code, 35)


@check("KIP-79")
@each("version", values=range(1, 12))
def list_offsets_in_every_version(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    connection.produce(topic, batch(b"a"))
    answer = connection.list_offset(topic, LATEST, version=version)
    same((answer.error_code, answer.offset), (0, 1))
    if version >= 4:
        same(answer.leader_epoch, 0)
    missing = connection.list_offset(topic, LATEST, 8, version=version)
    same((missing.error_code, missing.offset, missing.timestamp), (UNKNOWN_TOPIC, -1, -1))


def delete_records(connection: RawConnection, topic: str, offset: int, partition: int = 0) -> tuple[int, int]:
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


@check("KIP-107")
def deleted_records_are_below_the_log_start(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    for _ in range(3):
        connection.produce(topic, batch(b"a", b"b"))
    same(delete_records(connection, topic, 7), (OUT_OF_RANGE, -1))
    same(delete_records(connection, topic, -2), (OUT_OF_RANGE, -1))
    same(delete_records(connection, topic, 3), (0, 3))
    same(delete_records(connection, topic, 1), (0, 3))
    same(connection.list_offset(topic, EARLIEST).offset, 3)
    same(connection.fetch(topic, 2).error, OUT_OF_RANGE)
    found = connection.fetch(topic, 3)
    same((found.log_start_offset, found.batches[0].base_offset), (3, 2))
    same(delete_records(connection, topic, -1), (0, 6))
    holds(
        connection.list_offset(topic, EARLIEST).offset == connection.list_offset(topic).offset == 6,
        "if all records are deleted, the log start offset is the end offset",
    )
    same(connection.produce(topic, batch(b"c"))[:2], (0, 6))
    same(connection.produce(topic, batch(b"c")).log_start_offset, 6)
    same(delete_records(connection, topic, 0, 4), (UNKNOWN_TOPIC, -1))


@check("KIP-107")
def delete_records_of_an_open_transaction_moves_the_stable_offset(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    producer.send(topic, b"a", b"b")
    connection.produce(topic, batch(b"c"))
    same(stable(connection, topic), 0)
    same(delete_records(connection, topic, 2), (0, 2))
    same(stable(connection, topic), 2)
    producer.abort()
    same(connection.read_committed(topic, 2), [b"c"])


@check("KIP-101")
@each("version", values=[2, 3, 4])
def offset_for_leader_epoch(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    topic = fixture.topic()
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

    same(ask(0), (0, 0, 2))
    same(ask(5), (0, -1, -1))
    same(ask(-1), (0, -1, -1))
    same(ask(0, partition=7), (UNKNOWN_TOPIC, -1, -1))
    same(ask(0, current=0), (0, 0, 2))
    same(ask(0, current=3), (UNKNOWN_LEADER, -1, -1))
