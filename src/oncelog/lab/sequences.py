"""The five flows of the idempotent producer (KIP-98): the purpose and the limits of sequence numbers."""

from __future__ import annotations

from oncelog.client.core.config import ProducerConfig
from oncelog.conformance.raw.batches import batch
from oncelog.conformance.raw.transactional_producer import new_pid
from oncelog.conformance.raw.wire import Connection, ConnectionClosed
from oncelog.errors import ConfigError
from oncelog.lab.stage import Stage
from oncelog.lab.story import StoryFate, StoryKind
from oncelog.protocol.api_keys import ApiKey

PRODUCER = "producer"


def _values(stage: Stage) -> list[str]:
    return [value for entry in stage.log() for value in entry.values]


def acknowledged(stage: Stage) -> None:
    producer = stage.producer(PRODUCER)
    for value in (b"a", b"b", b"c"):
        producer.send_and_wait(stage.topic, value)
    log = stage.log()
    stage.promise("a, b, c are stored once each, in this order", _values(stage) == ["a", "b", "c"])
    stage.promise(
        "the sequences are 0, 1, 2, under one PID",
        [entry.sequence for entry in log] == [0, 1, 2] and len({entry.producer_id for entry in log}) == 1,
    )


def acknowledgements_lost(stage: Stage) -> None:
    producer = stage.producer(PRODUCER)
    producer.send_and_wait(stage.topic, b"a")
    with stage.faults.lose_answer("Produce", topic=stage.topic) as fault:
        stage.note(PRODUCER, "the network will lose the next acknowledgement")
        producer.send_and_wait(stage.topic, b"b")
        stage.promise("an acknowledgement was lost, and the producer noticed only a delay", fault.hits == 1)
    producer.send_and_wait(stage.topic, b"c")
    again = [event for event in stage.recorder.events if event.fields.get("duplicate")]
    stage.promise("b was sent again with the same sequence, and acknowledged with its original offset", len(again) == 1)
    stage.promise("a, b, c are stored once each", _values(stage) == ["a", "b", "c"])


def batch_lost(stage: Stage) -> None:
    producer = stage.producer(PRODUCER, max_batch_size=0)
    producer.send_and_wait(stage.topic, b"a")
    with stage.faults.blackhole(None, "Produce", times=1, topic=stage.topic) as fault:
        stage.note(PRODUCER, "the next batch is lost on its way; those behind it arrive")
        sent = [producer.send(stage.topic, value) for value in (b"b", b"c")]
        fault.wait(60)
        stage.recorder.wait(lambda recorder: recorder.answers_of(ApiKey.PRODUCE) == 1)
    stage.proxy.end_connections()
    stage.note(
        PRODUCER, "the connection breaks; the producer reconnects and sends everything that was not acknowledged"
    )
    for delivery in sent:
        delivery.result(60)
    refused = [
        event
        for event in stage.recorder.events
        if event.kind is StoryKind.ANSWER and event.fields.get("error") == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    ]
    stage.promise("the batch behind the gap was refused, not stored", len(refused) >= 1)
    stage.promise("a, b, c are stored once each, in this order", _values(stage) == ["a", "b", "c"])


_IN_FLIGHT = 7


def _send(connection: Connection, stage: Stage, pid: int, sequence: int) -> int:
    data = batch(b"%c" % (ord("a") + sequence), pid=pid, epoch=0, sequence=sequence)
    return connection.send_produce({(stage.topic, 0): data})


def _reconnected(stage: Stage) -> Connection:
    return stage.raw(PRODUCER)


def more_than_the_cache(stage: Stage) -> None:
    first = stage.raw(PRODUCER)
    pid = new_pid(first)
    with stage.faults.delay(600_000, "Produce", answer=True, times=1, topic=stage.topic):
        stage.note(PRODUCER, f"{_IN_FLIGHT} batches in flight, none acknowledged yet")
        for sequence in range(_IN_FLIGHT):
            _send(first, stage, pid, sequence)
        stage.recorder.wait(lambda recorder: recorder.answers_of(ApiKey.PRODUCE) == _IN_FLIGHT)
        stage.proxy.end_connections()
    second = _reconnected(stage)
    stage.note(PRODUCER, "the connection broke: the producer sends all of them again")
    errors = []
    for sequence in range(_IN_FLIGHT):
        number = _send(second, stage, pid, sequence)
        errors.append(second.receive_produce(number)[stage.topic, 0].error)
    stage.recorder.wait(lambda recorder: recorder.events[-1].kind is StoryKind.ANSWER)
    stage.promise("the last five are recognized, and acknowledged with their offsets", errors[2:] == [0] * 5)
    stage.promise(
        "the broker no longer knows whether it has the first two: OUT_OF_ORDER_SEQUENCE_NUMBER",
        errors[:2] == [45, 45],
    )
    stage.promise("still, nothing is stored twice", _values(stage) == list("abcdefg"))
    try:
        ProducerConfig.from_properties({"max.in.flight.requests.per.connection": str(_IN_FLIGHT)})
    except ConfigError as error:
        stage.note(PRODUCER, f"clients do not do this: {error}")


def restarted(stage: Stage) -> None:
    first = stage.raw(PRODUCER)
    with stage.faults.lose_answer("Produce", topic=stage.topic):
        number = _send(first, stage, new_pid(first), 0)
        try:
            first.receive_produce(number)
        except ConnectionClosed:
            stage.note(PRODUCER, "its process dies before it can send again")
    second = stage.raw("restarted producer")
    pid = new_pid(second)
    stage.note("restarted producer", "knows neither the first PID nor whether a was stored")
    second.receive_produce(_send(second, stage, pid, 0))
    stage.recorder.wait(lambda recorder: recorder.events[-1].fate is StoryFate.ARRIVED)
    log = stage.log()
    stage.promise(
        "the two have different PIDs, so nobody can see that it is the same record",
        len({entry.producer_id for entry in log}) == 2,
    )
    stage.promise(
        "a is stored twice: idempotence ends with the producer; only a transactional.id outlives it",
        _values(stage) == ["a", "a"],
    )
