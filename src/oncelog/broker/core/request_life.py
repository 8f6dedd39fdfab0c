"""The life cycle of a request, from its frame to its answer, as straight-line code.

``Broker`` starts it when a frame has arrived: the request is decoded, handled and answered. A request may be parked
(``parking``), with the reason for which it waits. Every exception is caught here, and affects only the request's own
client.

Invariants
- No answer is sent before the data that it acknowledges are written, and no answer about metadata before the metadata
  is on stable storage.
- A request that was received completely is carried out, even if its connection ends; a read-only request is dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.core.limits.answer_memory import AnswerTooLong
from oncelog.broker.core.limits.long_requests import MAY_WAIT_LONG, NEVER_QUEUED
from oncelog.broker.core.registry import SERVED
from oncelog.broker.core.requests.answers import LISTED_IN_A_CHUNK, LISTS, encoded, encoded_in_chunks, size_of
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.parking import Park, ParkReason, carry_out
from oncelog.broker.core.requests.session import Part
from oncelog.broker.core.requests.tasks import Tasks
from oncelog.broker.core.requests.work import Work
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import MalformedMessage
from oncelog.protocol.messages import read_type
from oncelog.protocol.struct_fields import ElementLimit
from oncelog.protocol.wire import Message
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oncelog.broker.core.limits.answer_memory import AnswerMemory
    from oncelog.broker.core.limits.long_requests import LongRequests
    from oncelog.broker.core.limits.throttle import Throttle
    from oncelog.broker.core.requests.request_metrics import RequestMetrics
    from oncelog.broker.core.security.security_log import SecurityLog
    from oncelog.broker.core.storage.metadata_sync import MetadataSync
    from oncelog.protocol.struct_fields import Buffer

logger = logging.getLogger(__name__)

Answer = Message | None
Handler = Callable[[RequestContext, Message], Answer | Deferred[Answer]]
"""Returns the response to a request; None if the request gets no response."""


class RequestPorts(Protocol):
    """The interface that carrying out a request needs from the broker."""

    request_metrics: RequestMetrics | None
    tasks: Tasks
    metadata_sync: MetadataSync
    long_requests: LongRequests
    answer_memory: AnswerMemory
    throttle: Throttle | None
    security_log: SecurityLog
    now_ms: int


class RequestLife:
    """Handles the requests of one broker, from the frame to the answer."""

    def __init__(self, ports: RequestPorts, handler: Handler) -> None:
        """:param handler: checks the caller's permissions and calls the API's handler."""
        self._ports = ports
        self._handler = handler

    def begin(self, context: RequestContext, request: Message, size_bytes: int, begun_ns: int) -> None:
        """Handle and answer a request that has been decoded, now or later.

        :param begun_ns: when the request arrived, in ns, for metrics.
        """
        try:
            if self._ports.metadata_sync.checkpointing is None:
                self._handle(context, request, size_bytes, begun_ns)
            else:
                self._carry_out(context, self._handle_later(context, request, size_bytes, begun_ns))
        except Exception as error:  # noqa: BLE001 - it ends this request and nothing else
            self._drop(context, error)

    def begin_long(self, context: RequestContext, frame: Buffer, body: int, begun_ns: int) -> None:
        """Decode and handle a long request when there is memory for it and earlier long requests have been decoded;
        commits are decoded at once."""
        admitted, turn = self._ports.long_requests.arrived(context, len(frame)), Deferred[None]()
        if context.api_key in NEVER_QUEUED:
            turn.resolve(None)
        self._carry_out(context, self._decode_and_handle(context, frame, body, turn, begun_ns))
        if not turn.done:
            self._ports.tasks.begin(_resolving(turn, admitted), context)

    def _carry_out(self, context: RequestContext, work: Work[None]) -> None:
        """Run a part of the request's work that may have to wait; an error ends the request."""
        carry_out(work).then(lambda _: None, partial(self._drop, context))

    def _decode_and_handle(
        self, context: RequestContext, frame: Buffer, body: int, turn: Deferred[None], begun_ns: int
    ) -> Work[None]:
        ports, size_bytes = self._ports, len(frame)
        if not turn.done:
            yield Park(context, ParkReason.MEMORY, turn)
        limit = ElementLimit(SERVED[context.api_key].max_elements)
        work_begun_ns = ports.tasks.begins_for(context)
        try:
            request, _ = read_type(context.api_key).decode_prefix(frame, context.api_version, body, limit)
        except MalformedMessage as error:
            self._release(context)
            self._refuse(context, f"a request could not be read: {error}")
            return
        ports.tasks.ends_for(context, work_begun_ns)
        ports.long_requests.decoded(context, limit.count)
        del frame
        context.now_ms = ports.now_ms
        yield from self._handle_later(context, request, size_bytes, begun_ns)

    def _handle_later(self, context: RequestContext, request: Message, size_bytes: int, begun_ns: int) -> Work[None]:
        if self._ports.metadata_sync.checkpointing is not None:
            yield from self._ports.metadata_sync.until_changes_are_possible(context)
        self._handle(context, request, size_bytes, begun_ns)

    def _handle(self, context: RequestContext, request: Message, size_bytes: int, begun_ns: int) -> None:
        """Call the API's handler, and answer with its result, now or once it is known."""
        ports = self._ports
        result = (self._handler if ports.throttle is None else self._handle_and_measure)(context, request)
        if isinstance(result, Deferred):
            if not result.succeeded:
                self._wait(context, size_bytes, begun_ns, result)
                return
            result = result.value
        if ports.metadata_sync.is_settled:
            self._reply(context, size_bytes, begun_ns, 0, result)
        else:
            self._reply_once_durable(context, size_bytes, begun_ns, 0, result)

    def _wait(self, context: RequestContext, size_bytes: int, begun_ns: int, result: Deferred[Answer]) -> None:
        ports, local_ns = self._ports, 0
        if ports.request_metrics is not None:
            local_ns = ports.request_metrics.clock() - begun_ns
            ports.request_metrics.handled(context.api_key, context.api_version, local_ns)
        if context.api_key in MAY_WAIT_LONG:
            ports.long_requests.answered(context)
        answer_later = partial(self._answer_later, context, size_bytes, begun_ns, local_ns)
        result.then(answer_later, partial(self._drop, context))

    def _answer_later(
        self, context: RequestContext, size_bytes: int, begun_ns: int, local_ns: int, answer: Answer
    ) -> None:
        """Send an answer for which the handler had to wait; a different client's request may have led to this call.

        :param local_ns: the time in ns that the handler took.
        """
        try:
            if self._ports.metadata_sync.is_settled:
                self._reply(context, size_bytes, begun_ns, local_ns, answer)
            else:
                self._reply_once_durable(context, size_bytes, begun_ns, local_ns, answer)
        except Exception as error:  # noqa: BLE001 - it ends this request and nothing else
            self._drop(context, error)

    def _reply_once_durable(
        self, context: RequestContext, size_bytes: int, begun_ns: int, local_ns: int, answer: Answer
    ) -> None:
        def work() -> Work[None]:
            yield from self._ports.metadata_sync.until_answer_is_durable(context)
            self._reply(context, size_bytes, begun_ns, local_ns, answer)

        self._carry_out(context, work())

    def _reply(self, context: RequestContext, size_bytes: int, begun_ns: int, local_ns: int, answer: Answer) -> None:
        ports = self._ports
        if ports.long_requests.in_progress and not ports.long_requests.is_wanted(context):
            self._release(context)
            # the request is counted although its answer is not sent: otherwise a client that disconnects at once would
            # escape its quota
            self._count(context, size_bytes)
            return
        requests = ports.request_metrics
        if requests is not None:
            total_ns = requests.clock() - begun_ns
            if local_ns:
                requests.answered(context.api_key, local_ns, total_ns, answer)
            else:
                requests.handled_and_answered(context.api_key, context.api_version, total_ns, answer)
        listed = LISTS.get(context.api_key)
        if listed is not None and answer is not None and len(getattr(answer, listed) or ()) > LISTED_IN_A_CHUNK:
            self._carry_out(context, self._reply_in_chunks(context, answer, listed, size_bytes))
            return
        context.channel.reply(context.slot, self._encode(context, answer, size_bytes))
        if ports.long_requests.in_progress or ports.answer_memory.held:
            self._release(context)

    def _reply_in_chunks(self, context: RequestContext, answer: Message, listed: str, size_bytes: int) -> Work[None]:
        work = self._encode_in_chunks(context, answer, listed, size_bytes)
        parts: Sequence[Part] = yield self._ports.tasks.begin(work, context, continues=True)
        context.channel.reply(context.slot, parts)
        self._release(context)

    def _handle_and_measure(self, context: RequestContext, request: Message) -> Answer | Deferred[Answer]:
        """Call the API's handler, and count its CPU time for the client's quotas."""
        ports = self._ports
        begun_ns = ports.tasks.begins_for(context)
        try:
            return self._handler(context, request)
        finally:
            ports.tasks.ends_for(context, begun_ns)

    def _release(self, context: RequestContext) -> None:
        """Release the memory counted for a request that needs no more."""
        self._ports.answer_memory.end(context.channel)
        self._ports.long_requests.answered(context)

    def _encode(self, context: RequestContext, answer: Answer, request_bytes: int) -> Sequence[Part]:
        if answer is None:
            self._count(context, request_bytes)
            return ()
        parts = encoded(context, answer)
        if self._ports.throttle is not None and (wait_ms := self._count(context, request_bytes, parts)):
            answer.throttle_time_ms = wait_ms  # type: ignore[attr-defined]
            parts = encoded(context, answer)
        return parts

    def _encode_in_chunks(
        self, context: RequestContext, answer: Message, listed: str, request_bytes: int
    ) -> Work[Sequence[Part]]:
        """Encode in chunks an answer that lists the broker's state; other requests run in between."""
        parts = yield from encoded_in_chunks(context, answer, listed)
        if wait_ms := self._count(context, request_bytes, parts):
            answer.throttle_time_ms = wait_ms  # type: ignore[attr-defined]
            parts = yield from encoded_in_chunks(context, answer, listed)
        return parts

    def _count(self, context: RequestContext, request_bytes: int, parts: Sequence[Part] = ()) -> int:
        """Count a request and the parts of its answer for its client's quotas; returns the client's wait in ms."""
        throttle = self._ports.throttle
        return 0 if throttle is None else throttle.count(context, request_bytes, size_of(parts), self._ports.now_ms)

    def _refuse(self, context: RequestContext, reason: str) -> None:
        """Close the connection of a request that exceeds a limit, or is malformed."""
        self._ports.security_log.refuse_request(context.channel, reason, self._ports.now_ms)

    def _drop(self, context: RequestContext, error: Exception) -> None:
        """Close the connection of a request that cannot be answered because of an expected or unexpected error."""
        self._release(context)
        if isinstance(error, AnswerTooLong):
            self._refuse(context, str(error))
            return
        if self._ports.request_metrics is not None:
            self._ports.request_metrics.failed(context.api_key)
        name = ApiKey(context.api_key).name
        logger.error("%s version %d from %s failed", name, context.api_version, context.client_host, exc_info=error)
        context.channel.close(f"{name} version {context.api_version} could not be answered: {error!r:.200}")


def _resolving(turn: Deferred[None], admitted: Deferred[None]) -> Work[None]:
    """Resolve ``turn`` in a task, so that the work that waits for it counts towards the time budget of tasks."""
    yield admitted
    turn.resolve(None)
