"""The five flows of the idempotent producer (KIP-98): the purpose and the limits of sequence numbers."""

from __future__ import annotations

from oncelog.client.core.config import ProducerConfig
from oncelog.conformance.raw.batches import batch
from oncelog.conformance.raw.transactional_producer import new_pid
from oncelog.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.errors import ConfigError
from oncelog.lab.testbed import Testbed
from oncelog.lab.trace import TraceDelivery, TraceKind
from oncelog.protocol.api_keys import ApiKey

PRODUCER = "producer"


def _values(testbed: Testbed) -> list[str]:
    return [value for entry in testbed.log() for value in entry.values]


def acknowledged(testbed: Testbed) -> None:
    producer = testbed.producer(PRODUCER)
    for value in (b"a", b"b", b"c"):
        producer.send_and_wait(testbed.topic, value)
    log = testbed.log()
    testbed.promise("a, b, c are stored once each, in this order", _values(testbed) == ["a", "b", "c"])
    testbed.promise(
        "the sequences are 0, 1, 2, under one PID",
        [entry.sequence for entry in log] == [0, 1, 2] and len({entry.producer_id for entry in log}) == 1,
    )


def acknowledgements_lost(testbed: Testbed) -> None:
    producer = testbed.producer(PRODUCER)
    producer.send_and_wait(testbed.topic, b"a")
    with testbed.faults.lose_answer("Produce", topic=testbed.topic) as fault:
        testbed.note(PRODUCER, "the network will lose the next acknowledgement")
        producer.send_and_wait(testbed.topic, b"b")
        testbed.promise("an acknowledgement was lost, and the producer noticed only a delay", fault.hits == 1)
    producer.send_and_wait(testbed.topic, b"c")
    again = [event for event in testbed.recorder.events if event.fields.get("duplicate")]
    testbed.promise(
        "b was sent again with the same sequence, and acknowledged with its original offset", len(again) == 1
    )
    testbed.promise("a, b, c are stored once each", _values(testbed) == ["a", "b", "c"])


def batch_lost(testbed: Testbed) -> None:
    producer = testbed.producer(PRODUCER, max_batch_size=0)
    producer.send_and_wait(testbed.topic, b"a")
    with testbed.faults.blackhole(None, "Produce", times=1, topic=testbed.topic) as fault:
        testbed.note(PRODUCER, "the next batch is lost on its way; those behind it arrive")
        sent = [producer.send(testbed.topic, value) for value in (b"b", b"c")]
        fault.wait(60)
        testbed.recorder.wait(lambda recorder: recorder.answers_of(ApiKey.PRODUCE) == 1)
    testbed.proxy.end_connections()
    testbed.note(
        PRODUCER, "the connection breaks; the producer reconnects and sends everything that was not acknowledged"
    )
    for delivery in sent:
        delivery.result(60)
    refused = [
        event
        for event in testbed.recorder.events
        if event.kind is TraceKind.ANSWER and event.fields.get("error") == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    ]
    testbed.promise("the batch behind the gap was refused, not stored", len(refused) >= 1)
    testbed.promise("a, b, c are stored once each, in this order", _values(testbed) == ["a", "b", "c"])


_IN_FLIGHT = 7


def _send(connection: RawConnection, testbed: Testbed, pid: int, sequence: int) -> int:
    data = batch(b"%c" % (ord("a") + sequence), pid=pid, epoch=0, sequence=sequence)
    return connection.send_produce({(testbed.topic, 0): data})


def _reconnected(testbed: Testbed) -> RawConnection:
    return testbed.raw(PRODUCER)


def more_than_the_cache(testbed: Testbed) -> None:
    first = testbed.raw(PRODUCER)
    pid = new_pid(first)
    with testbed.faults.delay(600_000, "Produce", answer=True, times=1, topic=testbed.topic):
        testbed.note(PRODUCER, f"{_IN_FLIGHT} batches in flight, none acknowledged yet")
        for sequence in range(_IN_FLIGHT):
            _send(first, testbed, pid, sequence)
        testbed.recorder.wait(lambda recorder: recorder.answers_of(ApiKey.PRODUCE) == _IN_FLIGHT)
        testbed.proxy.end_connections()
    second = _reconnected(testbed)
    testbed.note(PRODUCER, "the connection broke: the producer sends all of them again")
    errors = []
    for sequence in range(_IN_FLIGHT):
        number = _send(second, testbed, pid, sequence)
        errors.append(second.receive_produce(number)[testbed.topic, 0].error)
    testbed.recorder.wait(lambda recorder: recorder.events[-1].kind is TraceKind.ANSWER)
    testbed.promise("the last five are recognized, and acknowledged with their offsets", errors[2:] == [0] * 5)
    testbed.promise(
        "the broker no longer knows whether it has the first two: OUT_OF_ORDER_SEQUENCE_NUMBER",
        errors[:2] == [45, 45],
    )
    testbed.promise("still, nothing is stored twice", _values(testbed) == list("abcdefg"))
    try:
        ProducerConfig.from_properties({"max.in.flight.requests.per.connection": str(_IN_FLIGHT)})
    except ConfigError as error:
        testbed.note(PRODUCER, f"clients do not do this: {error}")


def restarted(testbed: Testbed) -> None:
    first = testbed.raw(PRODUCER)
    with testbed.faults.lose_answer("Produce", topic=testbed.topic):
        number = _send(first, testbed, new_pid(first), 0)
        try:
            first.receive_produce(number)
        except ConnectionClosed:
            testbed.note(PRODUCER, "its process dies before it can send again")
    second = testbed.raw("restarted producer")
    pid = new_pid(second)
    testbed.note("restarted producer", "knows neither the first PID nor whether a was stored")
    second.receive_produce(_send(second, testbed, pid, 0))
    testbed.recorder.wait(lambda recorder: recorder.events[-1].fate is TraceDelivery.ARRIVED)
    log = testbed.log()
    testbed.promise(
        "the two have different PIDs, so nobody can see that it is the same record",
        len({entry.producer_id for entry in log}) == 2,
    )
    testbed.promise(
        "a is stored twice: idempotence ends with the producer; only a transactional.id outlives it",
        _values(testbed) == ["a", "a"],
    )
