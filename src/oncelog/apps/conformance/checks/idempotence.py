"""Checks of what a partition leader stores about producers, and of the batches that it refuses because of that."""

from __future__ import annotations

from oncelog.apps.conformance.expect import holds, same
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.bodies import Produced
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, new_pid
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.apps.conformance.registry import check, each
from oncelog.errors import Error
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest, TopicRequest

OUT_OF_ORDER = Error.OUT_OF_ORDER_SEQUENCE_NUMBER
INVALID_EPOCH = Error.INVALID_PRODUCER_EPOCH
INVALID_TXN_STATE = Error.INVALID_TXN_STATE
MAX_SEQUENCE = 2**31 - 1


class Idempotent:
    """A producer id and one partition; ``send`` sends one Produce request."""

    def __init__(self, connection: RawConnection, topic: str, epoch: int = 0) -> None:
        self.connection, self.topic, self.epoch = connection, topic, epoch
        self.pid = new_pid(connection)

    def send(self, sequence: int, count: int = 1, *, epoch: int | None = None, version: int | None = None) -> Produced:
        data = batch(
            *[b"%d" % (sequence + index) for index in range(count)],
            pid=self.pid,
            epoch=self.epoch if epoch is None else epoch,
            sequence=sequence,
        )
        return self.connection.produce(self.topic, data, version=version)

    def outcome(self, sequence: int, count: int = 1, *, epoch: int | None = None) -> tuple[int, int]:
        answer = self.send(sequence, count, epoch=epoch)
        return answer.error, answer.base_offset


@check("KIP-98")
@each("back", values=[1, 2, 3, 4, 5])
def resend_of_any_of_the_last_five_batches_is_acknowledged_with_its_offset(fixture: Fixture, back: int) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    for step in range(7):
        same(producer.outcome(step * 3, 3), (0, step * 3))
    same(producer.outcome((7 - back) * 3, 3), (0, (7 - back) * 3))
    same(producer.connection.list_offset(producer.topic).offset, 21)


@check("KIP-98")
def resent_batches_may_be_repeated_in_any_order_and_as_often_as_one_likes(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    for step in range(5):
        producer.send(step)
    for step in (4, 0, 3, 3, 1, 2, 0):
        same(producer.outcome(step), (0, step))
    same(producer.outcome(5), (0, 5))


@check("KIP-98")
def a_resent_batch_is_answered_with_its_own_append_time(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    connection.create_topic(unique_name, message_timestamp_type="LogAppendTime")
    producer = Idempotent(connection, unique_name)
    first = producer.send(0, 2)
    again = producer.send(0, 2)
    same((again.error, again.base_offset, again.log_append_time), (0, 0, first.log_append_time))


@check("KIP-98")
def the_sixth_last_batch_is_out_of_order(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    for step in range(6):
        producer.send(step)
    same(producer.outcome(0), (OUT_OF_ORDER, -1))
    same(producer.outcome(1), (0, 1))
    same(producer.connection.list_offset(producer.topic).offset, 6)


@check("KIP-98")
@each("count", values=[1, 2, 4])
def same_first_sequence_with_another_last_one_is_no_duplicate(fixture: Fixture, count: int) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    producer.send(0, 3)
    same(producer.outcome(0, count), (OUT_OF_ORDER, -1))


@check("KIP-98")
def same_last_sequence_with_another_first_one_is_no_duplicate(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    producer.send(0, 3)
    same(producer.outcome(1, 2), (OUT_OF_ORDER, -1))
    same(producer.outcome(2, 1), (OUT_OF_ORDER, -1))


@check("KIP-98")
def two_sent_batches_as_one_are_no_duplicate(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    producer.send(0, 2)
    producer.send(2, 2)
    same(producer.outcome(0, 4), (OUT_OF_ORDER, -1))


@check("KIP-98")
def a_gap_is_out_of_order_and_the_right_batch_is_taken_later(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    same(producer.outcome(0), (0, 0))
    same(producer.outcome(2), (OUT_OF_ORDER, -1))
    same(producer.outcome(3), (OUT_OF_ORDER, -1))
    same(producer.outcome(1), (0, 1))
    same(producer.outcome(2), (0, 2))


@check("KIP-98")
def the_largest_sequence_is_followed_by_0(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    same(producer.outcome(MAX_SEQUENCE), (0, 0))
    same(producer.outcome(1), (OUT_OF_ORDER, -1))
    same(producer.outcome(0), (0, 1))
    same(producer.outcome(MAX_SEQUENCE), (0, 0))
    same(producer.outcome(1), (0, 2))


@check("KIP-98")
def the_sequence_wraps_inside_one_batch(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    same(producer.outcome(MAX_SEQUENCE - 1, 4), (0, 0))
    same(producer.outcome(1), (OUT_OF_ORDER, -1))
    same(producer.outcome(2), (0, 4))
    same(producer.outcome(MAX_SEQUENCE - 1, 4), (0, 0))


@check("KIP-98")
def a_lower_epoch_is_an_invalid_epoch_not_a_fenced_producer(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    producer.send(0, epoch=3)
    same(producer.outcome(1, epoch=2), (INVALID_EPOCH, -1))
    same(producer.outcome(0, epoch=0), (INVALID_EPOCH, -1))
    same(producer.outcome(1, epoch=3), (0, 1))


@check("KIP-98")
def a_higher_epoch_starts_at_sequence_0(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    producer.send(0, 5)
    same(producer.outcome(5, epoch=1), (OUT_OF_ORDER, -1))
    same(producer.outcome(5), (0, 5))
    same(producer.outcome(0, epoch=1), (0, 6))
    same(producer.outcome(5), (INVALID_EPOCH, -1))
    same(producer.outcome(1, epoch=1), (0, 7))


@check("KIP-98")
def a_new_epoch_forgets_the_batches_of_the_old_one(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    producer.send(0)
    producer.send(1)
    producer.send(0, epoch=7)
    same(producer.outcome(0, epoch=7), (0, 2))
    same(producer.outcome(1, epoch=7), (0, 3))
    same(producer.outcome(1, epoch=0), (INVALID_EPOCH, -1))


@check("KIP-98")
def an_unknown_producer_may_start_at_any_sequence(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    same(producer.outcome(7), (0, 0))
    same(producer.outcome(9), (OUT_OF_ORDER, -1))
    same(producer.outcome(8), (0, 1))


@check("KIP-98")
def an_unknown_producer_may_start_with_any_epoch(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    same(producer.outcome(7, epoch=12), (0, 0))
    same(producer.outcome(8, epoch=11), (INVALID_EPOCH, -1))


@check("KIP-98")
def sequences_go_on_after_all_records_were_deleted(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    for step in range(3):
        producer.send(step)
    request = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(name=producer.topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=-1)])
        ],
        timeout_ms=10_000,
    )
    (deleted,) = producer.connection.ask(request, 2).topics[0].partitions
    same((deleted.error_code, deleted.low_watermark), (0, 3))
    same(producer.outcome(5), (OUT_OF_ORDER, -1))
    same(producer.outcome(2), (0, 2))
    same(producer.outcome(3), (0, 3))


@check("KIP-98")
def sequences_are_counted_for_each_partition(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    connection.create_topic(unique_name, 2)
    pid = new_pid(connection)
    for partition in (0, 1):
        for sequence in (0, 1):
            data = batch(b"x", pid=pid, epoch=0, sequence=sequence)
            same(connection.produce(unique_name, data, partition).error, 0)


@check("KIP-98")
def producers_are_counted_apart(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    one, two = Idempotent(connection, topic), Idempotent(connection, topic)
    same([one.outcome(0), two.outcome(0), one.outcome(1), two.outcome(1)], [(0, 0), (0, 1), (0, 2), (0, 3)])


@check("KIP-98")
def five_requests_in_flight_are_answered_in_order(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    connection = producer.connection
    sent = [
        connection.send_produce({(producer.topic, 0): batch(b"x", pid=producer.pid, epoch=0, sequence=step)})
        for step in range(5)
    ]
    answers = [connection.receive_produce(number)[producer.topic, 0] for number in sent]
    same([(answer.error, answer.base_offset) for answer in answers], [(0, step) for step in range(5)])


@check("KIP-98")
def after_a_refused_batch_those_in_flight_behind_it_are_out_of_order_too(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    connection = producer.connection
    sent = [
        connection.send_produce({(producer.topic, 0): batch(b"x", pid=producer.pid, epoch=0, sequence=step, crc=crc)})
        for step, crc in ((0, None), (1, 7), (2, None), (3, None))
    ]
    answers = [connection.receive_produce(number)[producer.topic, 0].error for number in sent]
    same(answers, [0, 2, OUT_OF_ORDER, OUT_OF_ORDER])


@check("KIP-98")
@each("version", values=[3, 5, 8, 11, 12])
def a_duplicate_is_answered_alike_in_every_version(fixture: Fixture, version: int) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    first = producer.send(0, 4, version=version)
    again = producer.send(0, 4, version=version)
    (stored,) = producer.connection.fetch(producer.topic).batches
    same(first.log_append_time, -1)
    same(again, first._replace(log_append_time=stored.max_timestamp))
    same(producer.send(9, version=version).error, OUT_OF_ORDER)


@check("KIP-98")
def a_refused_sequence_tells_where_the_log_starts(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    producer.send(0)
    same(producer.send(4)[:4], (OUT_OF_ORDER, -1, -1, 0))


@check("KIP-664")
def describe_producers_shows_what_the_partition_knows(fixture: Fixture) -> None:
    producer = Idempotent(fixture.connection, fixture.topic())
    producer.send(0, 3, epoch=2)
    request = DescribeProducersRequest(topics=[TopicRequest(name=producer.topic, partition_indexes=[0, 9])])
    known, unknown = producer.connection.ask(request, 0).topics[0].partitions
    (state,) = known.active_producers
    same((known.error_code, unknown.error_code), (0, 3))
    same((state.producer_id, state.producer_epoch, state.last_sequence), (producer.pid, 2, 2))
    same((state.coordinator_epoch, state.current_txn_start_offset), (-1, -1))
    holds(state.last_timestamp > 1_600_000_000_000, "the last batch of the producer has a timestamp")


@check("KIP-98")
def a_plain_batch_within_an_open_transaction_is_refused(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(connection, unique_name).init()
    producer.send(topic, b"a")
    plain = batch(b"b", pid=producer.pid, epoch=producer.epoch, sequence=1)
    same(connection.produce(topic, plain).error, INVALID_TXN_STATE)
    producer.commit()
    same(connection.produce(topic, plain).error, 0)
