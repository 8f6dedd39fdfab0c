"""The five flows of the idempotent producer (KIP-98): the purpose and the limits of sequence numbers."""

from __future__ import annotations

from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.transactional_producer import new_pid
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.apps.lab.flow_context import FlowContext
from oncelog.apps.lab.trace import TraceDelivery, TraceKind
from oncelog.client.core.config import ProducerConfig
from oncelog.errors import ConfigError
from oncelog.protocol.api_keys import ApiKey

PRODUCER = "producer"


def _values(context: FlowContext) -> list[str]:
    return [value for entry in context.log() for value in entry.values]


def acknowledged(context: FlowContext) -> None:
    producer = context.producer(PRODUCER)
    for value in (b"a", b"b", b"c"):
        producer.send_and_wait(context.topic, value)
    log = context.log()
    context.promise("a, b, c are stored once each, in this order", _values(context) == ["a", "b", "c"])
    context.promise(
        "the sequences are 0, 1, 2, under one PID",
        [entry.sequence for entry in log] == [0, 1, 2] and len({entry.producer_id for entry in log}) == 1,
    )


def acknowledgements_lost(context: FlowContext) -> None:
    producer = context.producer(PRODUCER)
    producer.send_and_wait(context.topic, b"a")
    with context.faults.lose_answer("Produce", topic=context.topic) as fault:
        context.note(PRODUCER, "the network will lose the next acknowledgement")
        producer.send_and_wait(context.topic, b"b")
        context.promise("an acknowledgement was lost, and the producer noticed only a delay", fault.hits == 1)
    producer.send_and_wait(context.topic, b"c")
    again = [event for event in context.recorder.events if event.fields.get("duplicate")]
    context.promise(
        "b was sent again with the same sequence, and acknowledged with its original offset", len(again) == 1
    )
    context.promise("a, b, c are stored once each", _values(context) == ["a", "b", "c"])


def batch_lost(context: FlowContext) -> None:
    producer = context.producer(PRODUCER, max_batch_size=0)
    producer.send_and_wait(context.topic, b"a")
    with context.faults.blackhole(None, "Produce", times=1, topic=context.topic) as fault:
        context.note(PRODUCER, "the network loses the next batch; those behind it arrive")
        sent = [producer.send(context.topic, value) for value in (b"b", b"c")]
        fault.wait(60)
        context.recorder.wait(lambda recorder: recorder.answers_of(ApiKey.PRODUCE) == 1)
    context.proxy.end_connections()
    context.note(
        PRODUCER, "the connection breaks; the producer reconnects and sends everything that was not acknowledged"
    )
    for delivery in sent:
        delivery.result(60)
    refused = [
        event
        for event in context.recorder.events
        if event.kind is TraceKind.ANSWER and event.fields.get("error") == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    ]
    context.promise("the batch behind the gap was refused, not stored", len(refused) >= 1)
    context.promise("a, b, c are stored once each, in this order", _values(context) == ["a", "b", "c"])


_IN_FLIGHT = 7


def _send(connection: RawConnection, context: FlowContext, pid: int, sequence: int) -> int:
    data = batch(b"%c" % (ord("a") + sequence), pid=pid, epoch=0, sequence=sequence)
    return connection.send_produce({(context.topic, 0): data})


def _reconnected(context: FlowContext) -> RawConnection:
    return context.raw(PRODUCER)


def more_than_the_cache(context: FlowContext) -> None:
    first = context.raw(PRODUCER)
    pid = new_pid(first)
    with context.faults.delay(600_000, "Produce", answer=True, times=1, topic=context.topic):
        context.note(PRODUCER, f"{_IN_FLIGHT} batches in flight, none acknowledged yet")
        for sequence in range(_IN_FLIGHT):
            _send(first, context, pid, sequence)
        context.recorder.wait(lambda recorder: recorder.answers_of(ApiKey.PRODUCE) == _IN_FLIGHT)
        context.proxy.end_connections()
    second = _reconnected(context)
    context.note(PRODUCER, "the connection broke: the producer sends all of them again")
    errors = []
    for sequence in range(_IN_FLIGHT):
        number = _send(second, context, pid, sequence)
        errors.append(second.receive_produce(number)[context.topic, 0].error)
    context.recorder.wait(lambda recorder: recorder.events[-1].kind is TraceKind.ANSWER)
    context.promise("the last five batches are recognized, and acknowledged with their offsets", errors[2:] == [0] * 5)
    context.promise(
        "the broker no longer knows whether it has the first two batches: OUT_OF_ORDER_SEQUENCE_NUMBER",
        errors[:2] == [45, 45],
    )
    context.promise("still, nothing is stored twice", _values(context) == list("abcdefg"))
    try:
        ProducerConfig.from_properties({"max.in.flight.requests.per.connection": str(_IN_FLIGHT)})
    except ConfigError as error:
        context.note(PRODUCER, f"clients do not do this: {error}")


def restarted(context: FlowContext) -> None:
    first = context.raw(PRODUCER)
    with context.faults.lose_answer("Produce", topic=context.topic):
        number = _send(first, context, new_pid(first), 0)
        try:
            first.receive_produce(number)
        except ConnectionClosed:
            context.note(PRODUCER, "its process dies before it can send again")
    second = context.raw("restarted producer")
    pid = new_pid(second)
    context.note("restarted producer", "does not know its old PID, nor whether a was stored")
    second.receive_produce(_send(second, context, pid, 0))
    context.recorder.wait(lambda recorder: recorder.events[-1].delivery is TraceDelivery.ARRIVED)
    log = context.log()
    context.promise(
        "the two producers have different PIDs, so the broker cannot recognise the record as the same",
        len({entry.producer_id for entry in log}) == 2,
    )
    context.promise(
        "a is stored twice: idempotence ends with the producer; only a transactional.id outlives it",
        _values(context) == ["a", "a"],
    )
