"""An idempotent producer against the rule by which Apache Kafka takes a sequence (``ProducerAppendInfo``)."""

from __future__ import annotations

from oncelog.client.core.client_errors import AbortableTransactionError
from oncelog.client.core.connection.wire import PRODUCE
from oncelog.errors import Error
from tests.unit.client.core.kafka_partition import KafkaPartition, serve
from tests.unit.client.core.producers import P0, ProducerCore, refuse, sequence, stored


def known_producer(kafka: KafkaPartition) -> ProducerCore:
    """A producer that has stored its first record."""
    core = ProducerCore().start()
    core.send(b"0")
    kafka.answer(core.produced())
    return core


def test_a_new_partition_that_refuses_the_first_batch_stores_no_later_batch_before_it() -> None:
    core, kafka = ProducerCore().start(), KafkaPartition()
    for n in range(4):
        core.send(b"%d" % n)
    refuse(core.produced(), Error.NOT_LEADER_OR_FOLLOWER)
    serve(core, kafka)
    assert kafka.values == [b"0", b"1", b"2", b"3"]
    assert [outcome.error for outcome in core.outcomes] == [None] * 4


def test_a_batch_that_a_later_batch_overtook_at_a_leader_without_state_is_stored_in_a_new_epoch() -> None:
    kafka = KafkaPartition()
    core = known_producer(kafka)
    for n in (1, 2, 3):
        core.send(b"%d" % n)
    first, second, third = (core.produced() for _ in range(3))
    kafka.forget_producer()
    refuse(first, Error.NOT_LEADER_OR_FOLLOWER)
    kafka.answer(second)
    kafka.answer(third)
    core.send(b"4")
    serve(core, kafka)
    assert kafka.values == [b"0", b"2", b"3", b"1", b"4"]
    assert [outcome.error for outcome in core.outcomes] == [None] * 5


def test_a_batch_whose_outcome_is_unknown_is_settled_before_the_new_epoch() -> None:
    kafka = KafkaPartition()
    core = known_producer(kafka)
    for n in (1, 2, 3):
        core.send(b"%d" % n)
    first, second, third = (core.produced() for _ in range(3))
    kafka.forget_producer()
    refuse(first, Error.NOT_LEADER_OR_FOLLOWER)
    kafka.answer(second)
    kafka.write(third)
    third.lose()
    core.wire.pass_time(200)
    refuse(core.produced(), Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    core.wire.pass_time(2000)
    again = core.produced()
    assert sequence(again) == (7, 0, 3)
    kafka.answer(again)
    core.wire.pass_time(2000)
    again = core.produced()
    assert sequence(again) == (7, 1, 0)
    kafka.answer(again)
    assert kafka.values == [b"0", b"2", b"3", b"1"]
    assert [outcome.error for outcome in core.outcomes] == [None] * 4


def test_batches_that_the_broker_refused_keep_their_order_in_the_new_epoch() -> None:
    kafka = KafkaPartition()
    core = known_producer(kafka)
    for n in (1, 2, 3, 4):
        core.send(b"%d" % n)
    sent = [core.produced() for _ in range(4)]
    kafka.forget_producer()
    refuse(sent[0], Error.NOT_LEADER_OR_FOLLOWER)
    refuse(sent[1], Error.NOT_LEADER_OR_FOLLOWER)
    kafka.answer(sent[2])
    sent[3].lose()
    core.send(b"5")
    serve(core, kafka)
    assert kafka.values == [b"0", b"3", b"4", b"1", b"2", b"5"]
    assert [outcome.error for outcome in core.outcomes] == [None] * 6


def test_a_transaction_whose_batch_was_overtaken_must_be_aborted() -> None:
    core = ProducerCore(transactional_id="a").start()
    core.txn.begin()
    core.send(b"0")
    stored(core.produced())
    core.send(b"1")
    core.send(b"2")
    first, second = core.produced(), core.produced()
    refuse(first, Error.NOT_LEADER_OR_FOLLOWER)
    stored(second)
    core.wire.pass_time(200)
    refuse(core.produced(), Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert isinstance(core.txn.last_error, AbortableTransactionError)
    assert core.sender.idle


def test_at_most_five_batches_counting_from_the_oldest_unanswered_batch_are_sent() -> None:
    """The leader recognises a repeat among its last five batches only."""
    kafka = KafkaPartition()
    core = known_producer(kafka)
    for n in range(1, 9):
        core.send(b"%d" % n)
    lost = core.produced()
    kafka.write(lost)
    core.metadata.leader_changed(P0, 2, 1)
    for _ in range(7):
        if core.wire.count(PRODUCE):
            kafka.answer(core.produced())
            core.poll()
    assert kafka.values == [b"%d" % n for n in range(6)]
    lost.lose()
    serve(core, kafka)
    assert kafka.values == [b"%d" % n for n in range(9)]
    assert [outcome.error for outcome in core.outcomes] == [None] * 9
