"""Checks 16-24 and 27: what a partition knows of its producers, and which batches it refuses for that.

Check 25 (expiry) is in test_time_outs, 26 (a new leader) needs several brokers.
"""

from __future__ import annotations

import pytest

from oncelog.client.core.config import ProducerConfig
from oncelog.conformance.transactions import Transactional, new_pid
from oncelog.conformance.wire import Connection, Produced, batch
from oncelog.errors import ConfigError
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest, TopicRequest
from tests.support.apache_kafka import KafkaFailed, run_tool

OUT_OF_ORDER, INVALID_EPOCH, INVALID_TXN_STATE = 45, 47, 48
MAX_SEQUENCE = 2**31 - 1


class Idempotent:
    """A producer id on one partition; ``send`` is one Produce."""

    def __init__(self, connection: Connection, topic: str, epoch: int = 0) -> None:
        self.connection, self.topic, self.epoch = connection, topic, epoch
        self.pid = new_pid(connection)

    def send(self, sequence: int, count: int = 1, *, epoch: int | None = None, version: int = 11) -> Produced:
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


@pytest.fixture
def producer(connection: Connection, topic: str) -> Idempotent:
    return Idempotent(connection, topic)


@pytest.mark.parametrize("back", [1, 2, 3, 4, 5])
def test_check_16_resend_of_any_of_the_last_five_batches_is_acknowledged_with_its_offset(
    producer: Idempotent, back: int
) -> None:
    for step in range(7):
        assert producer.outcome(step * 3, 3) == (0, step * 3)
    assert producer.outcome((7 - back) * 3, 3) == (0, (7 - back) * 3)
    assert producer.connection.list_offset(producer.topic).offset == 21


def test_check_16_resent_batches_may_be_repeated_in_any_order_and_as_often_as_one_likes(producer: Idempotent) -> None:
    for step in range(5):
        producer.send(step)
    for step in (4, 0, 3, 3, 1, 2, 0):
        assert producer.outcome(step) == (0, step)
    assert producer.outcome(5) == (0, 5)


def test_check_16_a_resent_batch_is_answered_with_its_own_append_time(connection: Connection, unique_name: str) -> None:
    connection.create_topic(unique_name, message_timestamp_type="LogAppendTime")
    producer = Idempotent(connection, unique_name)
    first = producer.send(0, 2)
    again = producer.send(0, 2)
    assert (again.error, again.base_offset, again.log_append_time) == (0, 0, first.log_append_time)


def test_check_17_the_sixth_last_batch_is_out_of_order(producer: Idempotent) -> None:
    for step in range(6):
        producer.send(step)
    assert producer.outcome(0) == (OUT_OF_ORDER, -1)
    assert producer.outcome(1) == (0, 1)
    assert producer.connection.list_offset(producer.topic).offset == 6


@pytest.mark.parametrize("count", [1, 2, 4])
def test_check_18_same_first_sequence_with_another_last_one_is_no_duplicate(producer: Idempotent, count: int) -> None:
    producer.send(0, 3)
    assert producer.outcome(0, count) == (OUT_OF_ORDER, -1)


def test_check_18_same_last_sequence_with_another_first_one_is_no_duplicate(producer: Idempotent) -> None:
    producer.send(0, 3)
    assert producer.outcome(1, 2) == (OUT_OF_ORDER, -1)
    assert producer.outcome(2, 1) == (OUT_OF_ORDER, -1)


def test_check_18_two_sent_batches_as_one_are_no_duplicate(producer: Idempotent) -> None:
    producer.send(0, 2)
    producer.send(2, 2)
    assert producer.outcome(0, 4) == (OUT_OF_ORDER, -1)


def test_check_19_a_gap_is_out_of_order_and_the_right_batch_is_taken_later(producer: Idempotent) -> None:
    assert producer.outcome(0) == (0, 0)
    assert producer.outcome(2) == (OUT_OF_ORDER, -1)
    assert producer.outcome(3) == (OUT_OF_ORDER, -1)
    assert producer.outcome(1) == (0, 1)
    assert producer.outcome(2) == (0, 2)


def test_check_20_the_largest_sequence_is_followed_by_0(producer: Idempotent) -> None:
    assert producer.outcome(MAX_SEQUENCE) == (0, 0)
    assert producer.outcome(1) == (OUT_OF_ORDER, -1)
    assert producer.outcome(0) == (0, 1)
    assert producer.outcome(MAX_SEQUENCE) == (0, 0)
    assert producer.outcome(1) == (0, 2)


def test_check_20_the_sequence_wraps_inside_one_batch(producer: Idempotent) -> None:
    assert producer.outcome(MAX_SEQUENCE - 1, 4) == (0, 0)
    assert producer.outcome(1) == (OUT_OF_ORDER, -1)
    assert producer.outcome(2) == (0, 4)
    assert producer.outcome(MAX_SEQUENCE - 1, 4) == (0, 0)


def test_check_21_a_lower_epoch_is_an_invalid_epoch_not_a_fenced_producer(producer: Idempotent) -> None:
    producer.send(0, epoch=3)
    assert producer.outcome(1, epoch=2) == (INVALID_EPOCH, -1)
    assert producer.outcome(0, epoch=0) == (INVALID_EPOCH, -1)
    assert producer.outcome(1, epoch=3) == (0, 1)


def test_check_22_a_higher_epoch_starts_at_sequence_0(producer: Idempotent) -> None:
    producer.send(0, 5)
    assert producer.outcome(5, epoch=1) == (OUT_OF_ORDER, -1)
    assert producer.outcome(5) == (0, 5)
    assert producer.outcome(0, epoch=1) == (0, 6)
    assert producer.outcome(5) == (INVALID_EPOCH, -1)
    assert producer.outcome(1, epoch=1) == (0, 7)


def test_check_22_a_new_epoch_forgets_the_batches_of_the_old_one(producer: Idempotent) -> None:
    producer.send(0)
    producer.send(1)
    producer.send(0, epoch=7)
    assert producer.outcome(0, epoch=7) == (0, 2)
    assert producer.outcome(1, epoch=7) == (0, 3)
    assert producer.outcome(1, epoch=0) == (INVALID_EPOCH, -1)


def test_check_23_an_unknown_producer_may_start_at_any_sequence(producer: Idempotent) -> None:
    assert producer.outcome(7) == (0, 0)
    assert producer.outcome(9) == (OUT_OF_ORDER, -1)
    assert producer.outcome(8) == (0, 1)


def test_check_23_an_unknown_producer_may_start_with_any_epoch(producer: Idempotent) -> None:
    assert producer.outcome(7, epoch=12) == (0, 0)
    assert producer.outcome(8, epoch=11) == (INVALID_EPOCH, -1)


def test_check_24_sequences_go_on_after_all_records_were_deleted(producer: Idempotent) -> None:
    for step in range(3):
        producer.send(step)
    request = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(name=producer.topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=-1)])
        ],
        timeout_ms=10_000,
    )
    (deleted,) = producer.connection.ask(request, 2).topics[0].partitions
    assert (deleted.error_code, deleted.low_watermark) == (0, 3)
    assert producer.outcome(5) == (OUT_OF_ORDER, -1)
    assert producer.outcome(2) == (0, 2)
    assert producer.outcome(3) == (0, 3)


def test_sequences_are_counted_for_each_partition(connection: Connection, unique_name: str) -> None:
    connection.create_topic(unique_name, 2)
    pid = new_pid(connection)
    for partition in (0, 1):
        for sequence in (0, 1):
            data = batch(b"x", pid=pid, epoch=0, sequence=sequence)
            assert connection.produce(unique_name, data, partition).error == 0


def test_producers_are_counted_apart(connection: Connection, topic: str) -> None:
    one, two = Idempotent(connection, topic), Idempotent(connection, topic)
    assert [one.outcome(0), two.outcome(0), one.outcome(1), two.outcome(1)] == [(0, 0), (0, 1), (0, 2), (0, 3)]


def test_five_requests_in_flight_are_answered_in_order(producer: Idempotent) -> None:
    connection = producer.connection
    sent = [
        connection.send_produce({(producer.topic, 0): batch(b"x", pid=producer.pid, epoch=0, sequence=step)})
        for step in range(5)
    ]
    answers = [connection.receive_produce(number)[producer.topic, 0] for number in sent]
    assert [(answer.error, answer.base_offset) for answer in answers] == [(0, step) for step in range(5)]


def test_after_a_refused_batch_those_in_flight_behind_it_are_out_of_order_too(producer: Idempotent) -> None:
    connection = producer.connection
    sent = [
        connection.send_produce({(producer.topic, 0): batch(b"x", pid=producer.pid, epoch=0, sequence=step, crc=crc)})
        for step, crc in ((0, None), (1, 7), (2, None), (3, None))
    ]
    answers = [connection.receive_produce(number)[producer.topic, 0].error for number in sent]
    assert answers == [0, 2, OUT_OF_ORDER, OUT_OF_ORDER]


@pytest.mark.parametrize("version", [3, 5, 8, 11, 12])
def test_a_duplicate_is_answered_alike_in_every_version(producer: Idempotent, version: int) -> None:
    first = producer.send(0, 4, version=version)
    again = producer.send(0, 4, version=version)
    (stored,) = producer.connection.fetch(producer.topic).batches
    assert first.log_append_time == -1
    assert again == first._replace(log_append_time=stored.max_timestamp)
    assert producer.send(9, version=version).error == OUT_OF_ORDER


def test_a_refused_sequence_tells_where_the_log_starts(producer: Idempotent) -> None:
    producer.send(0)
    assert producer.send(4)[:4] == (OUT_OF_ORDER, -1, -1, 0)


def test_describe_producers_shows_what_the_partition_knows(producer: Idempotent) -> None:
    producer.send(0, 3, epoch=2)
    request = DescribeProducersRequest(topics=[TopicRequest(name=producer.topic, partition_indexes=[0, 9])])
    known, unknown = producer.connection.ask(request, 0).topics[0].partitions
    (state,) = known.active_producers
    assert (known.error_code, unknown.error_code) == (0, 3)
    assert (state.producer_id, state.producer_epoch, state.last_sequence) == (producer.pid, 2, 2)
    assert (state.coordinator_epoch, state.current_txn_start_offset) == (-1, -1)
    assert state.last_timestamp > 1_600_000_000_000


def test_a_plain_batch_within_an_open_transaction_is_refused(
    connection: Connection, topic: str, unique_name: str
) -> None:
    producer = Transactional(connection, unique_name).init()
    producer.send(topic, b"a")
    plain = batch(b"b", pid=producer.pid, epoch=producer.epoch, sequence=1)
    assert connection.produce(topic, plain).error == INVALID_TXN_STATE
    producer.commit()
    assert connection.produce(topic, plain).error == 0


def test_check_27_idempotence_with_acks_1_is_refused_by_the_client() -> None:
    with pytest.raises(ConfigError, match="acks"):
        ProducerConfig.from_properties({"enable.idempotence": "true", "acks": "1"})


@pytest.mark.kafka
def test_check_27_idempotence_with_acks_1_is_refused_by_kafkas_client(kafka_jars: object) -> None:
    with pytest.raises(KafkaFailed, match="Must set acks to all in order to use the idempotent producer"):
        run_tool(
            "org.apache.kafka.tools.ConsoleProducer",
            *("--bootstrap-server", "127.0.0.1:1", "--topic", "x"),
            *("--command-property", "enable.idempotence=true", "--command-property", "acks=1"),
        )
