"""Traces in records' headers, by OpenTelemetry's conventions for messaging."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import oncelog
from oncelog.aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from oncelog.client import aio, blocking
from oncelog.client.errors import RecordTooLargeError
from oncelog.errors import ConfigError
from oncelog.telemetry import context_of, instrument, process
from tests.integration.client.reading import make_topic, on_loop


class Traces:
    """The spans that have ended."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))

    def spans(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._kept.get_finished_spans() if span.name == name]

    def only(self, name: str) -> ReadableSpan:
        (span,) = self.spans(name)
        return span


@pytest.fixture
def traces() -> Traces:
    return Traces()


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with oncelog.Broker() as broker:
        yield broker.bootstrap_servers


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return {name.removeprefix("messaging."): value for name, value in (span.attributes or {}).items()}


def links(span: ReadableSpan) -> list[int]:
    """The spans that it links to."""
    return [link.context.span_id for link in span.links]


def span_id(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


@pytest.mark.parametrize("kinds", [(aio.Producer, aio.Consumer), (AIOKafkaProducer, AIOKafkaConsumer)])
@on_loop
async def test_a_record_carries_the_context_of_the_span_that_sent_it(
    servers: str, unique_name: str, traces: Traces, kinds: tuple[Any, Any]
) -> None:
    await make_topic(servers, unique_name)
    producer = instrument(kinds[0](bootstrap_servers=servers, client_id="shop"), traces.provider)
    consumer = instrument(
        kinds[1](unique_name, bootstrap_servers=servers, group_id=unique_name, auto_offset_reset="earliest"),
        traces.provider,
    )
    async with producer, consumer:
        with traces.provider.get_tracer("test").start_as_current_span("order") as order:
            stored = await producer.send_and_wait(unique_name, b"value", key=b"k", headers=[("own", b"1")])
        record = await consumer.getone()
        with process(record, traces.provider):
            await producer.send_and_wait(unique_name, None, key=b"\xff")
    sent, tombstone = traces.spans(f"send {unique_name}")
    assert sent.kind is SpanKind.PRODUCER
    assert sent.parent is not None and sent.parent.span_id == order.get_span_context().span_id
    assert attributes(sent) == {
        "system": "kafka",
        "operation.name": "send",
        "operation.type": "send",
        "client.id": "shop",
        "destination.name": unique_name,
        "destination.partition.id": str(stored.partition),
        "kafka.offset": stored.offset,
        "kafka.message.key": "k",
        "message.body.size": 5,
    }
    assert dict(record.headers)["own"] == b"1"
    assert dict(record.headers)["traceparent"] is not None
    polled = traces.only(f"poll {unique_name}")
    assert polled.kind is SpanKind.CLIENT
    assert links(polled) == [span_id(sent)]
    assert attributes(polled)["consumer.group.name"] == unique_name
    assert (attributes(polled)["operation.name"], attributes(polled)["operation.type"]) == ("poll", "receive")
    worked = traces.only(f"process {unique_name}")
    assert worked.kind is SpanKind.CONSUMER
    assert links(worked) == [span_id(sent)]
    assert tombstone.parent is not None and tombstone.parent.span_id == span_id(worked)
    assert attributes(tombstone)["kafka.message.tombstone"] is True
    assert "kafka.message.key" not in attributes(tombstone), "bytes that are not text are left out"


def test_blocking_clients_are_traced_and_a_poll_has_a_link_for_each_record(
    servers: str, unique_name: str, traces: Traces
) -> None:
    with instrument(blocking.Producer(bootstrap_servers=servers), traces.provider) as producer:
        for n in range(3):
            producer.send(unique_name, b"%d" % n)
        producer.flush()
        many = producer.send_many(unique_name, [b"a", b"b"], headers=[[("own", b"1")], None])
        many.result()
    with blocking.Consumer(unique_name, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        instrument(consumer, traces.provider)
        found = [next(iter(consumer)) for _ in range(5)]
    sent = traces.spans(f"send {unique_name}")
    assert len(sent) == 4
    assert attributes(sent[3])["batch.message_count"] == 2
    assert {links(span)[0] for span in traces.spans(f"poll {unique_name}")} == {span_id(span) for span in sent}
    assert dict(found[3].headers)["own"] == b"1"


def test_a_refused_record_ends_its_span_with_the_error(servers: str, unique_name: str, traces: Traces) -> None:
    with instrument(blocking.Producer(bootstrap_servers=servers, max_request_size=2000), traces.provider) as producer:
        with pytest.raises(RecordTooLargeError):
            producer.send(unique_name, b"x" * 5000).result()
        with pytest.raises(TypeError):
            producer.send(unique_name, object())  # type: ignore[arg-type]
    refused, wrong = traces.spans(f"send {unique_name}")
    assert refused.status.status_code is wrong.status.status_code is StatusCode.ERROR
    assert (refused.attributes or {})["error.type"] == "MESSAGE_TOO_LARGE"
    assert (wrong.attributes or {})["error.type"] == "TypeError"


@on_loop
async def test_invalid_trace_headers_create_no_span_link(servers: str, unique_name: str, traces: Traces) -> None:
    await make_topic(servers, unique_name)
    bad: list[tuple[str, bytes | None]] = [
        ("traceparent", b"\xff\xfe"),
        ("traceparent", None),
        ("tracestate", b"=" * 999),
    ]
    async with aio.Producer(bootstrap_servers=servers) as producer:
        await producer.send_and_wait(unique_name, b"v", headers=bad)
    async with aio.Consumer(unique_name, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        record = await instrument(consumer, traces.provider).getone()
    assert links(traces.only(f"poll {unique_name}")) == []
    assert context_of(record) == {}


def test_tracing_refuses_objects_that_are_no_client_and_is_idempotent(traces: Traces) -> None:
    with pytest.raises(ConfigError, match="not str"):
        instrument("producer")  # type: ignore[type-var]
    producer = instrument(blocking.Producer(bootstrap_servers="127.0.0.1:1"), traces.provider)
    send = producer.send
    assert instrument(producer, traces.provider).send is send


WITHOUT = """
import sys
import oncelog, oncelog.aiokafka, oncelog.cli.main
from oncelog.client import aio, blocking
aio.Producer, aio.Consumer, blocking.Producer, blocking.Consumer
assert not [name for name in sys.modules if name.startswith("opentelemetry")], "imported by who did not ask for it"
sys.modules["opentelemetry"] = None
try:
    import oncelog.telemetry
except oncelog.OncelogError as error:
    sys.stdout.write(str(error))
"""


def test_a_program_without_tracing_imports_nothing_and_tracing_names_a_missing_package() -> None:
    ended = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert ended.stdout == "tracing needs OpenTelemetry: install it with pip install 'oncelog[otel]'", ended.stderr
