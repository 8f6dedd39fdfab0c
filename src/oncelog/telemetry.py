"""OpenTelemetry for the clients: spans, and the trace context in records' headers (the extra ``otel``).

Programs pass each client to be traced to :func:`instrument`; nothing else in oncelog imports this module, so programs
that do not use it pay nothing. Names and attributes follow OpenTelemetry's semantic conventions for messaging and
Kafka. The context is in the header ``traceparent``, or in what the program's propagator writes; pipelines keep headers
(``includeHeaders``).

- ``send``, ``send_and_wait``, ``send_many``: a span ``send TOPIC`` of kind PRODUCER until the record is acknowledged.
- ``getone``, ``getmany``, iteration: a span ``poll TOPIC`` of kind CLIENT with a link to the context of each record.
- :func:`process`: a span ``process TOPIC`` of kind CONSUMER around a program's work on one record, linked likewise.

``send_batch``, ``send_arrow``, and consumers' columns and Arrow tables are not traced: they have no object per record.
"""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from oncelog.client import aio, blocking
from oncelog.errors import ConfigError, KafkaError

try:
    from opentelemetry import propagate, trace
    from opentelemetry.context import Context
    from opentelemetry.propagators.textmap import Getter, Setter
    from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer, TracerProvider
except ImportError as missing:
    raise ConfigError("tracing needs OpenTelemetry: install it with pip install 'oncelog[otel]'") from missing

if TYPE_CHECKING:
    _Asyncio = aio.Producer[Any, Any] | aio.Consumer[Any, Any]
    _Blocking = blocking.Producer[Any, Any] | blocking.Consumer[Any, Any]

    from oncelog.client.core.structs import ConsumerRecord

MAX_LINKS = 128
"""Maximum number of links of one span, OpenTelemetry's own default. Further links are counted but not added."""
_Headers = list[tuple[str, bytes | None]]
_Client = TypeVar("_Client", bound="_Asyncio | _Blocking")
_MARK = "_oncelog_traced"


class _Delivery(Protocol):
    """The common methods of an asyncio future and a delivery of the blocking producer."""

    def add_done_callback(self, callback: Callable[[Any], object], /) -> object: ...

    def exception(self) -> BaseException | None: ...

    def result(self) -> Any: ...


class _ToHeaders(Setter[_Headers]):
    def set(self, carrier: _Headers, key: str, value: str) -> None:
        carrier.append((key, value.encode()))


class _FromHeaders(Getter[Sequence[tuple[str, bytes | None]]]):
    def get(self, carrier: Sequence[tuple[str, bytes | None]], key: str) -> list[str] | None:
        return [(value or b"").decode(errors="replace") for name, value in carrier if name == key] or None

    def keys(self, carrier: Sequence[tuple[str, bytes | None]]) -> list[str]:
        return [name for name, _ in carrier]


_SETTER, _GETTER = _ToHeaders(), _FromHeaders()


def instrument(client: _Client, tracer_provider: TracerProvider | None = None) -> _Client:
    """Trace a producer or a consumer, asyncio, blocking or aiokafka-shaped; returns it.

    :param client: an already traced client stays as it is.
    :param tracer_provider: OpenTelemetry's global one by default.
    :raises ConfigError: it is not a producer or consumer of oncelog.
    """
    if getattr(client, _MARK, False):
        return client
    tracer = trace.get_tracer("oncelog", tracer_provider=tracer_provider)
    if isinstance(client, aio.Producer | blocking.Producer):
        _Producing(tracer, client).wrap(client)
    elif isinstance(client, aio.Consumer | blocking.Consumer):
        _Consuming(tracer, client).wrap(client)
    else:
        raise ConfigError(f"a producer or a consumer of oncelog can be traced, not {type(client).__name__}")
    setattr(client, _MARK, True)
    return client


def context_of(record: ConsumerRecord[object, object]) -> Context:
    """The trace context in a record's headers; an empty context if the headers have none."""
    return propagate.extract(record.headers, context=Context(), getter=_GETTER)


@contextlib.contextmanager
def process(record: ConsumerRecord[object, object], tracer_provider: TracerProvider | None = None) -> Iterator[Span]:
    """A span around the work on one record; sends inside belong to it, and an exception ends it as failed.

    :param tracer_provider: OpenTelemetry's global one by default.
    """
    tracer = trace.get_tracer("oncelog", tracer_provider=tracer_provider)
    attributes: dict[str, Any] = {
        **_operation("process", "process"),
        "messaging.destination.name": record.topic,
        "messaging.destination.partition.id": str(record.partition),
        "messaging.kafka.offset": record.offset,
        **_of_record(record.key, record.value),
    }
    with tracer.start_as_current_span(
        f"process {record.topic}", kind=SpanKind.CONSUMER, attributes=attributes, links=_links([record])
    ) as span:
        yield span


class _Producing:
    """Wraps a producer's sending methods."""

    def __init__(self, tracer: Tracer, producer: aio.Producer | blocking.Producer) -> None:
        self._tracer = tracer
        self._common = _operation("send", "send") | _client(producer.config.client_id)

    def wrap(self, producer: aio.Producer | blocking.Producer) -> None:
        _replace(producer, "send", self._wrapped(producer.send, many=False))
        _replace(producer, "send_many", self._wrapped(producer.send_many, many=True))

    def _wrapped(self, send: Callable[..., Any], *, many: bool) -> Callable[..., Any]:
        signature = inspect.signature(send)

        def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Span, inspect.BoundArguments]:
            bound = signature.bind(*args, **kwargs)
            given = bound.arguments
            topic = given["topic"]
            attributes: dict[str, Any] = {**self._common, "messaging.destination.name": topic}
            if many:
                attributes["messaging.batch.message_count"] = len(given["values"])
            else:
                attributes |= _of_record(given.get("key"), given.get("value"))
            span = self._tracer.start_span(f"send {topic}", kind=SpanKind.PRODUCER, attributes=attributes)
            context: _Headers = []
            propagate.inject(context, context=trace.set_span_in_context(span), setter=_SETTER)
            if many:
                rows = given.get("headers") or [None] * len(given["values"])
                given["headers"] = [[*(row or ()), *context] for row in rows]
            else:
                given["headers"] = [*(given.get("headers") or ()), *context]
            return span, bound

        if not inspect.iscoroutinefunction(send):

            @wraps(send)
            def traced(*args: Any, **kwargs: Any) -> Any:
                span, bound = begin(args, kwargs)
                with _failing(span):
                    return _followed(span, send(*bound.args, **bound.kwargs))

            return traced

        @wraps(send)
        async def traced_later(*args: Any, **kwargs: Any) -> Any:
            span, bound = begin(args, kwargs)
            with _failing(span):
                return _followed(span, await send(*bound.args, **bound.kwargs))

        return traced_later


def _followed(span: Span, delivery: _Delivery) -> _Delivery:
    """End the span when the outcome of the delivery is known; returns the delivery."""

    def done(outcome: Any) -> None:
        if getattr(outcome, "cancelled", bool)():
            _fail(span, "cancelled", "")
        elif (error := outcome.exception()) is not None:
            _fail(span, _kind(error), str(error))
        else:
            stored = outcome.result()
            if stored is not None and not isinstance(stored, list):
                span.set_attribute("messaging.destination.partition.id", str(stored.partition))
                if stored.offset >= 0:
                    span.set_attribute("messaging.kafka.offset", stored.offset)
        span.end()

    delivery.add_done_callback(done)
    return delivery


class _Consuming:
    """Wraps a consumer's reading methods. A call that returns nothing leaves no span."""

    def __init__(self, tracer: Tracer, consumer: aio.Consumer | blocking.Consumer) -> None:
        self._tracer = tracer
        self._common = _operation("poll", "receive") | _client(consumer.config.client_id)
        if consumer.config.group_id is not None:
            self._common["messaging.consumer.group.name"] = consumer.config.group_id

    def wrap(self, consumer: aio.Consumer | blocking.Consumer) -> None:
        for name in ("getone", "getmany"):
            _replace(consumer, name, self._wrapped(getattr(consumer, name)))

    def _wrapped(self, read: Callable[..., Any]) -> Callable[..., Any]:
        if not inspect.iscoroutinefunction(read):

            @wraps(read)
            def traced(*args: Any, **kwargs: Any) -> Any:
                began_ns = time.time_ns()
                return self._traced(read(*args, **kwargs), began_ns)

            return traced

        @wraps(read)
        async def traced_later(*args: Any, **kwargs: Any) -> Any:
            began_ns = time.time_ns()
            return self._traced(await read(*args, **kwargs), began_ns)

        return traced_later

    def _traced(self, found: Any, began_ns: int) -> Any:
        if isinstance(found, Mapping):
            records = [record for some in found.values() for record in some]
        else:
            records = [] if found is None else [found]
        if not records:
            return found
        topics = {record.topic for record in records}
        attributes = {**self._common, "messaging.batch.message_count": len(records)}
        name = "poll"
        if len(topics) == 1:
            name = f"poll {records[0].topic}"
            attributes["messaging.destination.name"] = records[0].topic
        if len({(record.topic, record.partition) for record in records}) == 1:
            attributes["messaging.destination.partition.id"] = str(records[0].partition)
        span = self._tracer.start_span(
            name, kind=SpanKind.CLIENT, attributes=attributes, links=_links(records), start_time=began_ns
        )
        span.end()
        return found


def _links(records: Iterable[ConsumerRecord[object, object]]) -> list[Link]:
    """A link for each record that has a context, up to the number of links that a span can hold."""
    found: list[Link] = []
    for record in records:
        context = trace.get_current_span(context_of(record)).get_span_context()
        if context.is_valid:
            found.append(Link(context, {"messaging.kafka.offset": record.offset}))
            if len(found) == MAX_LINKS:
                break
    return found


def _operation(name: str, kind: str) -> dict[str, Any]:
    return {"messaging.system": "kafka", "messaging.operation.name": name, "messaging.operation.type": kind}


def _client(client_id: str | None) -> dict[str, Any]:
    return {} if client_id is None else {"messaging.client.id": client_id}


def _of_record(key: Any, value: Any) -> dict[str, Any]:
    """The attributes that the conventions require for a single record. Keys that are not text are left out, as the
    conventions advise."""
    found: dict[str, Any] = {}
    if isinstance(key, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            key = key.decode()
    if isinstance(key, str | int):
        found["messaging.kafka.message.key"] = str(key)
    if value is None:
        found["messaging.kafka.message.tombstone"] = True
    elif isinstance(value, bytes | str):
        found["messaging.message.body.size"] = len(value if isinstance(value, bytes) else value.encode())
    return found


@contextlib.contextmanager
def _failing(span: Span) -> Iterator[None]:
    """End the span as failed if sending raises an error before there is a delivery."""
    try:
        yield
    except BaseException as error:
        _fail(span, _kind(error), str(error))
        span.end()
        raise


def _fail(span: Span, kind: str, text: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, text))


def _kind(error: BaseException) -> str:
    """Kafka's name for an error, or the name of the exception's class."""
    return error.error.name if isinstance(error, KafkaError) else type(error).__qualname__


def _replace(client: object, name: str, method: Callable[..., Any]) -> None:
    setattr(client, name, method)
