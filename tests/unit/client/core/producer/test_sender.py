"""Sequences, retries and order of the idempotent producer (KIP-98, KIP-360), without a network."""

from __future__ import annotations

import pytest

from oncelog.client.core.batches.accumulator import ProducerBatch
from oncelog.client.core.connection.wire import INIT_PRODUCER_ID, METADATA, PRODUCE
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.init_producer_id_response import InitProducerIdResponse
from oncelog.protocol.generated.produce_response import (
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from oncelog.records.batch import decode_records
from oncelog.types import MAX_EPOCH, ProducerIdAndEpoch
from tests.unit.client.core.producers import (
    P0,
    P1,
    TOPIC,
    ProducerCore,
    header,
    metadata_answer,
    refuse,
    sequence,
    stored,
)


def test_a_batch_gets_its_sequence_when_it_is_drained() -> None:
    core = ProducerCore().start().meet()
    for n in range(3):
        core.send(b"%d" % n)
    sent = [core.produced() for _ in range(3)]
    assert [sequence(item) for item in sent] == [(7, 0, 1), (7, 0, 2), (7, 0, 3)]
    for n, item in enumerate(sent):
        stored(item, n)
    assert [(outcome.handles, outcome.offset) for outcome in core.outcomes] == [
        ((b"0",), 0),
        ((b"1",), 1),
        ((b"2",), 2),
    ]
    assert core.accumulator.used_bytes == 0


def test_sequences_wrap_from_the_greatest_number_to_0() -> None:
    core = ProducerCore().start().meet()
    core.txn.book.of(P0).next = 2**31 - 1
    core.txn.book.of(P0).last_acked = 2**31 - 2
    core.send(b"last")
    core.send(b"first")
    assert [sequence(core.produced())[2] for _ in range(2)] == [2**31 - 1, 0]


def test_at_most_five_requests_are_in_flight() -> None:
    core = ProducerCore().start().meet()
    for n in range(8):
        core.send(b"%d" % n)
    assert core.wire.count(PRODUCE) == 5
    stored(core.produced(), 0)
    assert core.wire.count(PRODUCE) == 5


def test_acknowledging_a_batch_does_not_search_the_queue() -> None:
    """Thousands may wait: comparing with each of them took an eighth of the producer's time with records of 1 KB."""

    class Waiting(ProducerBatch):
        __hash__ = ProducerBatch.__hash__

        def __eq__(self, other: object) -> bool:
            raise AssertionError("an acknowledged batch was compared with one that waits")

    core = ProducerCore().start().meet()
    core.send(b"sent")
    waiting = Waiting(P0, 2, 0)
    waiting.attempts, waiting.not_before_ms = 1, 2**60
    core.accumulator.queues[P0].append(waiting)
    stored(core.produced(), 0)
    assert core.outcomes[0].offset == 0
    assert not core.accumulator.incomplete


def test_a_batch_that_expires_in_the_queue_is_removed_from_it() -> None:
    core = ProducerCore().start()
    core.send(b"never sent")
    (batch,) = core.accumulator.incomplete
    core.accumulator.complete(batch, error=KafkaError(Error.REQUEST_TIMED_OUT, "too late"))
    assert not core.accumulator.queues[P0]


def test_a_retry_keeps_its_sequence_and_precedes_newer_batches() -> None:
    core = ProducerCore().start().meet()
    for n in range(3):
        core.send(b"%d" % n)
    first, second, third = (core.produced() for _ in range(3))
    refuse(first, Error.NOT_ENOUGH_REPLICAS)
    refuse(second, Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    refuse(third, Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    core.send(b"new")
    assert core.wire.count(PRODUCE) == 0
    core.wire.pass_time(150)
    order = []
    while core.wire.count(PRODUCE):
        assert core.wire.count(PRODUCE) == 1, "only the oldest of a partition may be repeated"
        sent = core.produced()
        order.append(sequence(sent)[2])
        stored(sent, order[-1])
        core.wire.pass_time(200)
    assert order == [1, 2, 3, 4]
    assert [outcome.error for outcome in core.outcomes] == [None] * 4


def test_a_lost_connection_repeats_every_batch_in_order() -> None:
    core = ProducerCore().start().meet()
    for n in range(3):
        core.send(b"%d" % n)
    lost = [core.produced() for _ in range(3)]
    for sent in reversed(lost):
        sent.lose()
    seen = []
    for _ in range(3):
        core.wire.pass_time(200)
        if core.wire.count(METADATA):
            core.wire.take(METADATA).answer(metadata_answer())
        sent = core.produced()
        seen.append(sequence(sent))
        stored(sent)
    assert seen == [(7, 0, 1), (7, 0, 2), (7, 0, 3)]


def test_a_duplicate_answer_counts_as_stored_with_an_unknown_offset() -> None:
    core = ProducerCore().start()
    core.send(b"v")
    refuse(core.produced(), Error.DUPLICATE_SEQUENCE_NUMBER)
    assert (core.outcomes[0].offset, core.outcomes[0].error) == (-1, None)


@pytest.mark.parametrize("error", [Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.UNKNOWN_PRODUCER_ID])
def test_if_the_broker_lost_the_producers_state_a_new_epoch_starts_at_sequence_0(error: Error) -> None:
    core = ProducerCore().start()
    core.send(b"0")
    stored(core.produced(), 10)
    core.send(b"1")
    core.send(b"other", P1)
    first, other = core.produced(), core.produced()
    refuse(first, error, log_start_offset=0)
    stored(other)
    core.wire.pass_time(200)
    assert sequence(core.produced()) == (7, 1, 0)


def test_an_unknown_producer_after_retention_restarts_at_sequence_0_in_the_same_epoch() -> None:
    core = ProducerCore().start()
    core.send(b"0")
    stored(core.produced(), 10)
    core.send(b"1")
    refuse(core.produced(), Error.UNKNOWN_PRODUCER_ID, log_start_offset=50)
    core.wire.pass_time(200)
    assert sequence(core.produced()) == (7, 0, 0)


def test_a_new_epoch_waits_until_no_batch_of_the_partition_is_in_flight() -> None:
    core = ProducerCore().start().meet()
    core.send(b"0")
    core.send(b"1")
    first, second = core.produced(), core.produced()
    refuse(first, Error.INVALID_RECORD)
    core.send(b"2")
    core.wire.pass_time(500)
    assert core.wire.count(PRODUCE) == 0
    refuse(second, Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    core.wire.pass_time(500)
    sent = core.produced()
    assert sequence(sent) == (7, 1, 0)
    stored(sent)
    assert sequence(core.produced()) == (7, 1, 1)
    assert core.outcomes[0].error is not None
    assert core.outcomes[0].error.error is Error.INVALID_RECORD


def test_partitions_without_errors_move_to_the_new_epoch_when_no_batch_is_in_flight() -> None:
    core = ProducerCore().start()
    core.send(b"calm", P1)
    calm = core.produced()
    core.send(b"0")
    refuse(core.produced(), Error.INVALID_RECORD)
    core.poll()
    assert core.txn.producer == ProducerIdAndEpoch(7, 1)
    core.send(b"calm too", P1)
    assert core.wire.count(PRODUCE) == 0
    stored(calm)
    assert sequence(core.produced()) == (7, 1, 0)


def test_a_producer_with_an_exhausted_epoch_requests_a_new_producer_id() -> None:
    core = ProducerCore().start(epoch=MAX_EPOCH - 1)
    core.send(b"0")
    refuse(core.produced(), Error.INVALID_RECORD)
    core.poll()
    asked = core.wire.take(INIT_PRODUCER_ID)
    assert (asked.message.producer_id, asked.message.producer_epoch) == (-1, -1)
    asked.answer(InitProducerIdResponse(producer_id=8, producer_epoch=0))
    core.send(b"1")
    assert sequence(core.produced()) == (8, 0, 0)


def test_an_expired_batch_that_was_sent_makes_the_producer_start_a_new_epoch() -> None:
    core = ProducerCore(delivery_timeout_ms=31_000, request_timeout_ms=30_000).start()
    core.send(b"0")
    on_the_wire = core.produced()
    core.wire.pass_time(31_001)
    error = core.outcomes[0].error
    assert error is not None
    assert "delivery.timeout.ms=31000" in str(error)
    core.send(b"1")
    sent = core.produced()
    assert sequence(sent) == (7, 1, 0)
    on_the_wire.lose()
    stored(sent)
    assert len(core.outcomes) == 2


def test_an_expired_batch_that_was_never_sent_does_not_change_the_epoch() -> None:
    core = ProducerCore(delivery_timeout_ms=31_000, request_timeout_ms=30_000).start()
    core.wire.not_ready.add(1)
    core.send(b"0")
    core.wire.pass_time(31_001)
    assert core.outcomes[0].error is not None
    core.wire.not_ready.clear()
    core.send(b"1")
    assert sequence(core.produced()) == (7, 0, 0)


def test_a_batch_that_is_too_large_is_split_and_its_parts_keep_the_sequences() -> None:
    core = ProducerCore(linger_ms=10).start()
    for n in range(5):
        core.append(b"%d" % n)
    core.poll()
    core.wire.pass_time(11)
    whole = core.produced()
    assert header(whole).records_count == 5
    refuse(whole, Error.MESSAGE_TOO_LARGE)
    first = core.produced()
    assert (header(first).records_count, sequence(first)) == (2, (7, 0, 0))
    stored(first, 100)
    second = core.produced()
    assert (header(second).records_count, sequence(second)) == (3, (7, 0, 2))
    values = [record.value for record in decode_records(second.message.topic_data[0].partition_data[0].records)]
    assert values == [b"2", b"3", b"4"]
    stored(second, 102)
    assert [outcome.handles for outcome in core.outcomes] == [(b"0", b"1"), (b"2", b"3", b"4")]
    core.append(b"next")
    core.wire.pass_time(20)
    core.poll()
    assert sequence(core.produced())[2] == 5


def test_a_single_record_that_is_too_large_fails_and_leaves_no_gap() -> None:
    core = ProducerCore().start()
    core.send(b"big")
    refuse(core.produced(), Error.MESSAGE_TOO_LARGE)
    error = core.outcomes[0].error
    assert error is not None
    assert "max.message.bytes" in str(error)
    core.send(b"next")
    assert sequence(core.produced()) == (7, 1, 0)


def test_the_error_for_a_message_format_without_producer_ids_says_what_to_set() -> None:
    core = ProducerCore().start()
    core.send(b"v")
    refuse(core.produced(), Error.UNSUPPORTED_FOR_MESSAGE_FORMAT)
    reported = str(core.outcomes[0].error)
    assert "message.format.version" in reported and "enable.idempotence=false" in reported


def test_a_new_leader_that_a_refusal_reports_is_used_without_a_metadata_request() -> None:
    core = ProducerCore(enable_idempotence=False)
    core.send(b"v")
    moved = PartitionProduceResponse(
        index=0, error_code=Error.NOT_LEADER_OR_FOLLOWER, current_leader=LeaderIdAndEpoch(2, 1)
    )
    core.produced().answer(ProduceResponse([TopicProduceResponse(name=TOPIC, partition_responses=[moved])]))
    core.wire.pass_time(100)
    assert core.produced().node == 2
    assert core.wire.count(METADATA) == 0


def test_a_batch_waits_for_linger_unless_it_is_full() -> None:
    core = ProducerCore(linger_ms=50, max_batch_size=200, enable_idempotence=False)
    core.append(b"x" * 20)
    core.poll()
    core.wire.pass_time(49)
    assert core.wire.count(PRODUCE) == 0
    core.wire.pass_time(2)
    assert core.wire.count(PRODUCE) == 1
    for _ in range(5):
        core.append(b"x" * 40)
    core.poll()
    assert core.wire.count(PRODUCE) == 3, "two full batches go, the third still waits"
    core.wire.pass_time(51)
    assert core.wire.count(PRODUCE) == 3, "and with two requests under way it waits for an answer"
    stored(core.produced())
    stored(core.produced())
    assert core.wire.count(PRODUCE) == 2


def test_a_producer_without_idempotence_keeps_order_with_one_request_in_flight() -> None:
    core = ProducerCore(enable_idempotence=False, max_in_flight_requests_per_connection=1)
    core.send(b"0")
    core.send(b"1")
    first = core.produced()
    assert core.wire.count(PRODUCE) == 0
    refuse(first, Error.NOT_ENOUGH_REPLICAS)
    core.wire.pass_time(150)
    again = core.produced()
    values = [record.value for record in decode_records(again.message.topic_data[0].partition_data[0].records)]
    assert values == [b"0"]


def test_a_batch_fails_after_the_configured_number_of_retries() -> None:
    core = ProducerCore(enable_idempotence=False, retries=2)
    core.send(b"v")
    for _ in range(3):
        refuse(core.produced(), Error.NOT_ENOUGH_REPLICAS)
        core.wire.pass_time(2000)
    assert core.wire.count(PRODUCE) == 0
    assert core.outcomes[0].error is not None
    assert core.outcomes[0].error.error is Error.NOT_ENOUGH_REPLICAS


def test_partitions_of_a_blocked_leader_are_skipped_after_the_timeout() -> None:
    core = ProducerCore(partitioner_availability_timeout_ms=100).start()
    topic = core.metadata.topics[TOPIC]
    core.wire.not_ready.add(1)
    core.send(b"waits")
    core.wire.pass_time(100)
    assert not core.sender.passed_over(topic)
    core.wire.pass_time(1)
    assert core.sender.passed_over(topic) == {0, 1}
    core.wire.not_ready.clear()
    core.poll()
    assert not core.sender.passed_over(topic)


def test_a_leader_with_five_requests_in_flight_gets_no_further_request() -> None:
    core = ProducerCore(partitioner_availability_timeout_ms=100).start().meet()
    for n in range(6):
        core.send(b"%d" % n)
    core.wire.pass_time(101)
    assert core.sender.passed_over(core.metadata.topics[TOPIC]) == {0, 1}
    stored(core.produced(), 0)
    assert not core.sender.passed_over(core.metadata.topics[TOPIC])


def test_partitions_of_a_leader_without_batches_are_not_skipped() -> None:
    core = ProducerCore(partitioner_availability_timeout_ms=100, delivery_timeout_ms=31_000).start()
    core.wire.not_ready.add(1)
    core.send(b"expires")
    core.wire.pass_time(31_001)
    assert [outcome.handles for outcome in core.outcomes] == [(b"expires",)]
    core.poll()
    assert not core.sender.passed_over(core.metadata.topics[TOPIC])
