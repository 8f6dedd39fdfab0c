"""Several requests on one connection before the first answer are handled as if each were sent after the last answer."""

from __future__ import annotations

from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, batch, now_ms
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.transactional_producer import (
    RawTransactionalProducer,
    find_coordinator,
    init,
    new_pid,
)
from oncelog.apps.conformance.raw.wire import RawConnection

INIT_PRODUCER_ID = 22


def test_pipelined_produce_12_adds_several_new_partitions(connection: RawConnection, unique_name: str) -> None:
    connection.create_topic(unique_name, 8)
    producer = RawTransactionalProducer(connection, unique_name + "-id", version_2=True).init()
    for _ in range(5):
        sent = [
            connection.send_produce(
                {
                    (unique_name, index): batch(
                        b"x", pid=producer.pid, epoch=producer.epoch, sequence=0, attributes=TRANSACTIONAL
                    )
                },
                version=12,
                transactional_id=producer.id,
            )
            for index in range(8)
        ]
        errors = [connection.receive_produce(number, 12)[unique_name, index].error for index, number in enumerate(sent)]
        assert errors == [0] * 8
        producer.commit()


def test_pipelined_produce_12_waits_for_the_request_that_adds_the_partition(
    connection: RawConnection, topic: str
) -> None:
    producer = RawTransactionalProducer(connection, topic + "-id", version_2=True).init()
    for _ in range(5):
        sent = [
            connection.send_produce(
                {
                    (topic, 0): batch(
                        b"%d" % step, pid=producer.pid, epoch=producer.epoch, sequence=step, attributes=TRANSACTIONAL
                    )
                },
                version=12,
                transactional_id=producer.id,
            )
            for step in range(5)
        ]
        errors = [connection.receive_produce(number, 12)[topic, 0].error for number in sent]
        assert errors == [0] * 5
        producer.commit()
    assert connection.read_committed(topic) == [b"%d" % step for step in range(5)] * 5


def test_one_produce_12_may_add_several_partitions(connection: RawConnection, unique_name: str) -> None:
    connection.create_topic(unique_name, 6)
    producer = RawTransactionalProducer(connection, unique_name + "-id", version_2=True).init()
    data = {
        (unique_name, index): batch(b"x", pid=producer.pid, epoch=producer.epoch, sequence=0, attributes=TRANSACTIONAL)
        for index in range(6)
    }
    answers = connection.produce_all(data, version=12, transactional_id=producer.id)
    assert [answer.error for answer in answers.values()] == [0] * 6
    (state,) = producer.describe().topics
    assert sorted(state.partitions) == list(range(6))
    producer.commit()


def test_pipelined_produce_11_is_verified_for_each_partition(connection: RawConnection, unique_name: str) -> None:
    connection.create_topic(unique_name, 4)
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    producer.add(*[(unique_name, index) for index in range(4)])
    sent = [
        connection.send_produce(
            {
                (unique_name, index % 4): batch(
                    b"x", pid=producer.pid, epoch=producer.epoch, sequence=index // 4, attributes=TRANSACTIONAL
                )
            },
            transactional_id=producer.id,
        )
        for index in range(12)
    ]
    errors = [connection.receive_produce(number)[unique_name, index % 4].error for index, number in enumerate(sent)]
    assert errors == [0] * 12
    producer.commit()


def test_pipelined_init_producer_id_requests_each_get_an_epoch(connection: RawConnection, unique_name: str) -> None:
    from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
    from oncelog.protocol.generated.init_producer_id_response import InitProducerIdResponse

    find_coordinator(connection, unique_name, 1)
    init(connection, unique_name)
    body = InitProducerIdRequest(transactional_id=unique_name, transaction_timeout_ms=60_000).encode(4)
    sent = [connection.send(INIT_PRODUCER_ID, 4, body) for _ in range(5)]
    answers = [InitProducerIdResponse.decode(connection.receive(number, flexible=True), 4, 0) for number in sent]
    assert [(answer.error_code, answer.producer_epoch) for answer in answers] == [(0, epoch) for epoch in range(1, 6)]


def test_responses_are_sent_in_the_order_of_the_requests(connection: RawConnection, topic: str) -> None:
    """A waiting fetch holds back the answers to later requests."""
    pid = new_pid(connection)
    begin = now_ms()
    waiting = connection.send_fetch({(topic, 0): RawFetchPosition(0)}, max_wait_ms=300)
    produced = connection.send_produce({(topic, 0): batch(b"x", pid=pid, epoch=0, sequence=0)})
    answer = connection.receive_fetch(waiting).partitions[topic, 0]
    assert answer.batches == []
    assert now_ms() - begin >= 295
    assert connection.receive_produce(produced)[topic, 0].error == 0
