"""Every fault with other people's clients, in front of our broker and of Apache Kafka."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewTopic

import oncelog
from oncelog.apps.proxy.proxy import FaultProxy
from oncelog.broker.faults.rules import FaultError
from tests.compatibility.interop.reading import consumed_values
from tests.conftest import RunningBroker


@pytest.fixture
def proxy(broker: RunningBroker) -> Iterator[FaultProxy]:
    with FaultProxy(broker.bootstrap_servers) as running:
        yield running


@pytest.fixture
def topic(broker: RunningBroker, unique_name: str) -> str:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(unique_name, 1, 1)])[unique_name].result(120)
    return unique_name


def producer_of(proxy: FaultProxy, **settings: object) -> Producer:
    return Producer(
        {"bootstrap.servers": proxy.bootstrap_servers, "retry.backoff.ms": 10, "reconnect.backoff.ms": 1}
        | {name.replace("_", "."): value for name, value in settings.items()}
    )


def test_a_proxy_without_faults_changes_no_request_or_answer(
    proxy: FaultProxy, broker: RunningBroker, topic: str
) -> None:
    producer = producer_of(proxy)
    for number in range(100):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(120) == 0
    assert consumed_values(proxy.bootstrap_servers, topic) == [b"%d" % number for number in range(100)]


def test_a_lost_acknowledgement_duplicates_a_record_without_idempotence(
    proxy: FaultProxy, broker: RunningBroker, topic: str
) -> None:
    """Delivery at least once, and its price (A5)."""
    producer = producer_of(proxy, enable_idempotence=False, acks="all")
    with proxy.faults.lose_answer("Produce", topic=topic) as fault:
        producer.produce(topic, b"once?")
        assert producer.flush(120) == 0
    assert fault.hits == 1
    assert consumed_values(broker.bootstrap_servers, topic) == [b"once?", b"once?"]


def test_a_lost_acknowledgement_duplicates_no_record_with_idempotence(
    proxy: FaultProxy, broker: RunningBroker, topic: str
) -> None:
    producer = producer_of(proxy, enable_idempotence=True)
    with proxy.faults.lose_answer("Produce", topic=topic, times=2) as fault:
        producer.produce(topic, b"once")
        assert producer.flush(120) == 0
    assert fault.hits == 2
    assert consumed_values(broker.bootstrap_servers, topic) == [b"once"]


def test_a_repeated_request_is_stored_once(proxy: FaultProxy, broker: RunningBroker, topic: str) -> None:
    producer = producer_of(proxy, enable_idempotence=True)
    with proxy.faults.duplicate("Produce", topic=topic, times=None) as fault:
        for number in range(5):
            producer.produce(topic, b"%d" % number)
            assert producer.flush(120) == 0
    assert fault.hits == 5
    assert consumed_values(broker.bootstrap_servers, topic) == [b"%d" % number for number in range(5)]


@pytest.mark.parametrize("when", ["before", "after"])
def test_clients_survive_a_cut_connection(when: str, proxy: FaultProxy, broker: RunningBroker, topic: str) -> None:
    producer = producer_of(proxy, enable_idempotence=True)
    with proxy.faults.cut_connection(when, "Produce", topic=topic) as fault:
        producer.produce(topic, b"x")
        assert producer.flush(120) == 0
    assert fault.hits == 1
    assert consumed_values(broker.bootstrap_servers, topic) == [b"x"]


def test_an_injected_error_is_answered_and_the_request_never_arrives(
    proxy: FaultProxy, broker: RunningBroker, topic: str
) -> None:
    outcomes: list[KafkaError | None] = []
    producer = producer_of(proxy, retries=0, enable_idempotence=False)
    with proxy.faults.answer_error("Produce", "TOPIC_AUTHORIZATION_FAILED", topic=topic) as fault:
        producer.produce(topic, b"refused", on_delivery=lambda error, message: outcomes.append(error))
        producer.flush(120)
    assert fault.hits == 1
    assert [error.code() for error in outcomes if error] == [KafkaError.TOPIC_AUTHORIZATION_FAILED]
    assert consumed_values(broker.bootstrap_servers, topic) == []


def test_an_idempotent_producer_recovers_from_requests_out_of_order(
    proxy: FaultProxy, broker: RunningBroker, topic: str
) -> None:
    """Our client and Java's resend what was refused (A8); librdkafka gives up there, on every broker."""
    with oncelog.Producer(bootstrap_servers=proxy.bootstrap_servers, retry_backoff_ms=10) as producer:
        producer.send_and_wait(topic, b"0")
        with proxy.faults.reorder("Produce", topic=topic, times=3) as fault:
            sent = []
            for number in range(1, 50):
                sent.append(producer.send(topic, b"%d" % number))
                time.sleep(0.005)  # a request of its own
            producer.flush()
        assert [future.result().offset for future in sent] == list(range(1, 50))
    assert fault.hits == 3
    assert consumed_values(broker.bootstrap_servers, topic) == [b"%d" % number for number in range(50)]


def test_a_commit_whose_answer_is_lost_is_committed_once(proxy: FaultProxy, broker: RunningBroker, topic: str) -> None:
    producer = producer_of(proxy, transactional_id=topic)
    producer.init_transactions(120)
    with proxy.faults.lose_answer("EndTxn", transactional_id=topic) as fault:
        producer.begin_transaction()
        producer.produce(topic, b"whole")
        producer.commit_transaction(120)
        fault.wait(60)
    assert consumed_values(broker.bootstrap_servers, topic) == [b"whole"]


def test_a_coordinator_that_has_moved_is_found_again(proxy: FaultProxy, broker: RunningBroker, topic: str) -> None:
    producer = producer_of(proxy, transactional_id=topic)
    producer.init_transactions(120)
    with (
        proxy.faults.answer_error("EndTxn", "NOT_COORDINATOR", transactional_id=topic) as moved,
        proxy.faults.answer_error("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", transactional_id=topic) as away,
    ):
        producer.begin_transaction()
        producer.produce(topic, b"x")
        producer.commit_transaction(120)
    assert (moved.hits, away.hits) == (1, 1)


def test_a_fenced_producer_gets_the_fencing_error(proxy: FaultProxy, topic: str) -> None:
    producer = producer_of(proxy, transactional_id=topic)
    producer.init_transactions(120)
    producer.begin_transaction()
    producer.produce(topic, b"x")
    with proxy.faults.answer_error("EndTxn", "PRODUCER_FENCED"), pytest.raises(KafkaException) as raised:
        producer.commit_transaction(120)
    assert raised.value.args[0].fatal()


def test_a_delayed_answer_arrives(proxy: FaultProxy, broker: RunningBroker, topic: str) -> None:
    producer = producer_of(proxy)
    with proxy.faults.delay(300, "Produce", answer=True, topic=topic, times=1) as fault:
        begun = time.monotonic()
        producer.produce(topic, b"late")
        assert producer.flush(120) == 0
        assert time.monotonic() - begun >= 0.3
    assert fault.hits == 1


def test_a_black_hole_drops_the_requests_of_one_client_only(
    proxy: FaultProxy, broker: RunningBroker, topic: str
) -> None:
    with proxy.faults.blackhole("unlucky") as fault:
        unlucky = producer_of(proxy, client_id="unlucky", message_timeout_ms=1500)
        lucky = producer_of(proxy, client_id="lucky")
        unlucky.produce(topic, b"gone")
        lucky.produce(topic, b"there")
        assert lucky.flush(120) == 0
        fault.wait()
        unlucky.flush(5)
    assert consumed_values(broker.bootstrap_servers, topic) == [b"there"]


def test_a_throttled_fetch_still_reads(proxy: FaultProxy, broker: RunningBroker, topic: str) -> None:
    writer = producer_of(proxy)
    writer.produce(topic, b"x")
    writer.flush(120)
    consumer = Consumer({"bootstrap.servers": proxy.bootstrap_servers, "group.id": topic})
    consumer.assign([Place(topic, 0, 0)])
    with proxy.faults.throttle(100, "Fetch", times=1) as fault:
        message = consumer.poll(120)
        assert message is not None and message.value() == b"x"
        fault.wait()
    consumer.close()


def test_aiokafka_survives_the_faults_that_librdkafka_survives(
    proxy: FaultProxy, broker: RunningBroker, topic: str
) -> None:
    async def main() -> list[bytes]:
        async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, enable_idempotence=True) as producer:
            with proxy.faults.lose_answer("Produce", topic=topic) as fault:
                await producer.send_and_wait(topic, b"once", partition=0)
            assert fault.hits == 1
        consumer = AIOKafkaConsumer(topic, bootstrap_servers=proxy.bootstrap_servers, auto_offset_reset="earliest")
        async with consumer:
            with proxy.faults.cut_connection("before", "Fetch", topic=topic) as fault:
                record = await consumer.getone()
                values = [record.value]
                values += [r.value for rs in (await consumer.getmany(timeout_ms=300)).values() for r in rs]
        return values

    assert asyncio.run(main()) == [b"once"]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda faults: faults.lose_answer("Prodcue"), "no API 'Prodcue'; did you mean Produce?"),
        (lambda faults: faults.lose_answer("Heartbeat", topic="t"), "a Heartbeat request names no topic"),
        (lambda faults: faults.lose_answer("Produce", topik="t"), "not by topik"),
        (lambda faults: faults.answer_error("Produce", "NOT_LEADER"), "no error 'NOT_LEADER'; did you mean"),
        (lambda faults: faults.answer_error("Produce", "NONE"), "NONE is not an error"),
        (lambda faults: faults.lose_answer("Produce", version=99), "versions 3 to 13, not 99"),
        (lambda faults: faults.delay(0, "Produce"), "a whole number of at least 1, not 0"),
        (lambda faults: faults.cut_connection("during"), "not 'during'"),
        (lambda faults: faults.lose_answer("Produce", times=0), "times is a whole number"),
        (lambda faults: faults.lose_answer("Produce", probability=2), "a probability is above 0"),
        (lambda faults: faults.throttle(5, "SaslHandshake"), "has no throttle time"),
        (lambda faults: faults.lose_answer("Metadata", partition=1), "names no partition"),
        (
            lambda faults: faults.lose_answer("Produce", partition=-1),
            "partition is a whole number of at least 0, not -1",
        ),
        (lambda faults: faults.lose_answer(topic="t", partition="0"), "a whole number of at least 0, not '0'"),
        (lambda faults: faults.lose_answer("Produce", topic="my topic"), "Topic name is invalid: 'my topic' contains"),
        (lambda faults: faults.lose_answer(topic=""), "the empty string is not allowed, so this fault could never"),
        (lambda faults: faults.lose_answer("EndTxn", transactional_id=""), "no transactional_id is empty, so this"),
        (lambda faults: faults.lose_answer("OffsetCommit", group=b"g"), "group is a string, not b'g'"),
        (lambda faults: faults.lose_answer("FindCoordinator", group="g", transactional_id="t"), "never for both"),
    ],
)
def test_an_impossible_fault_is_refused(make: object, complaint: str) -> None:
    with pytest.raises(FaultError, match=complaint.replace("?", r"\?")):
        make(FaultProxy("127.0.0.1:1").faults)  # type: ignore[operator]


def test_faults_are_counted_and_reported(proxy: FaultProxy, topic: str) -> None:
    with proxy.faults.lose_answer("Produce", topic=topic):
        producer = producer_of(proxy)
        producer.produce(topic, b"x")
        producer.flush(120)
    with proxy.faults.lose_answer("EndTxn") as never, pytest.raises(TimeoutError):
        never.wait(0.01)
    assert proxy.faults.report() == [
        f"lose_answer (Produce, topic {topic}) struck 1 time",
        "lose_answer (EndTxn) struck 0 times",
    ]
    assert proxy.faults.in_force == ()
