"""Runs of produce requests: what a pipelining producer has sent, appended with one write and answered with one message.

Called by :class:`~oncelog.broker.broker.Broker` for the requests that lie whole in a connection's buffer. A *route* is
what the broker remembers of a produce request that went the general way (``apis/produce.py``) and was taken in: the
bytes in which the next ones do not differ, the topic and its limits, and the answer with its gaps. A run is taken only
as far as the general way would do the same with each of its requests; what is special about one of them (another
shape, a refusal, a duplicate, a first batch that must be verified, a new segment) is left to that way, which sees it
from its first byte. Routes are forgotten where anything changes that they were learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final

from oncelog.acls import Operation
from oncelog.broker.apis.produce import FIRST_WITH_TOPIC_IDS, respond, when_settled
from oncelog.broker.context import Channel, RequestContext
from oncelog.broker.partition import Partition
from oncelog.broker.security.access import TRANSACTIONAL_ID, allows
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import PartitionProduceResponse
from oncelog.protocol.produce_scan import Limits, PlainProduce, ProduceShape, scan
from oncelog.types import INTERNAL_TOPICS, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

FIRST_WITH_LOG_START: Final = 5
"""Older answers have another gap; nobody is in a hurry who asks for them."""
ROUTES_KEPT: Final = 8
"""For one connection: a producer that writes to more topics in turn goes the general way."""
_MIN_LONG, _MAX_LONG = -(2**63), 2**63 - 1
_GAP: Final = Struct(">qqq")
_MARK: Final = (-2, -1, -3)
"""Base offset, append time and log start of the answer that is made into a template: no name holds these bytes."""


class AnswerTemplate:
    """The answer to a batch that was taken in; only correlation id and offsets differ from one to the next."""

    __slots__ = ("_head", "_pack", "_size", "_tail")

    def __init__(self, version: int, request: ProduceRequest, index: int) -> None:
        base_offset, append_time_ms, log_start_offset = _MARK
        part = PartitionProduceResponse(
            index=index,
            error_code=Error.NONE,
            base_offset=base_offset,
            log_append_time_ms=append_time_ms,
            log_start_offset=log_start_offset,
        )
        answer = _encoded(version, request, 0, part)
        gap = answer.rindex(_GAP.pack(*_MARK))
        self._size, self._head, self._tail = answer[:4], answer[8:gap], answer[gap + _GAP.size :]
        self._pack = Struct(f">4si{len(self._head)}sqqq{len(self._tail)}s").pack

    def fill(self, correlation_id: int, base_offset: int, log_start_offset: int) -> bytes:
        return self._pack(self._size, correlation_id, self._head, base_offset, -1, log_start_offset, self._tail)


def _encoded(version: int, request: ProduceRequest, correlation_id: int, part: PartitionProduceResponse) -> bytes:
    body = respond(version, request, [part]).encode(version)
    return encode_response_header(ApiKey.PRODUCE, version, correlation_id, len(body)) + body


class Route:
    """Where the plain produce requests of one shape lead. ``request`` is the one that it was learned from.

    ``in_transactions``: its batches may belong to a transaction, which takes a right on the transactional id.
    """

    __slots__ = ("_targets", "in_transactions", "limits", "request", "shape", "topic", "version")

    def __init__(
        self,
        shape: ProduceShape,
        version: int,
        request: ProduceRequest,
        topic: str,
        limits: Limits,
        *,
        in_transactions: bool,
    ) -> None:
        self.shape = shape
        self.in_transactions = in_transactions
        self.version = version
        self.request = request
        self.topic = topic
        self.limits = limits
        self._targets: dict[int, tuple[Partition, AnswerTemplate]] = {}

    def target(self, broker: Broker, index: int) -> tuple[Partition, AnswerTemplate] | None:
        """The partition and its answers; None where the topic has no such partition."""
        target = self._targets.get(index)
        if target is None:
            partition = broker.partition(TopicPartition(self.topic, index))
            if partition is not None:
                target = self._targets[index] = (partition, AnswerTemplate(self.version, self.request, index))
        return target


class ProduceRuns:
    """The routes of all connections of one broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._routes: dict[Channel, list[Route]] = {}

    def forget(self, channel: Channel | None = None) -> None:
        """Routes must be learned anew: those of ``channel``, or all."""
        if channel is None:
            self._routes.clear()
        else:
            self._routes.pop(channel, None)

    def learn(self, context: RequestContext, request: ProduceRequest, frame: memoryview, body: int) -> None:
        """Remember a request that the general way has just taken in, if the next one may be like it."""
        channel, version = context.channel, context.api_version
        if version < FIRST_WITH_LOG_START:
            return
        shape = ProduceShape.of(frame, body, version)
        if shape is None:
            return
        routes = self._routes.setdefault(channel, [])
        if any(route.shape == shape for route in routes):
            return
        topic = request.topic_data[0]
        info = self._broker.metadata.topic_by_id(topic.topic_id) if version >= FIRST_WITH_TOPIC_IDS else None
        name = info.name if info else topic.name
        partition = self._broker.partition(TopicPartition(name, topic.partition_data[0].index))
        if partition is None or name in INTERNAL_TOPICS or not partition.log.takes_batches_unchanged:
            return
        # Without its records, which are a view into memory that is not ours.
        learned = TopicProduceData(topic.name, topic.topic_id, [PartitionProduceData(0, None)])
        request = ProduceRequest(request.transactional_id, request.acks, request.timeout_ms, [learned])
        config = partition.log.config
        limits = Limits(
            config.max_message_bytes,
            config.compacted,
            config.message_timestamp_before_max_ms,
            config.message_timestamp_after_max_ms,
        )
        # The request that it is learned from may have held a plain batch, for which nobody asked this.
        txn_id = request.transactional_id
        may = txn_id is not None and allows(self._broker, context, Operation.WRITE, TRANSACTIONAL_ID, txn_id, log=False)
        del routes[ROUTES_KEPT - 1 :]
        routes.insert(0, Route(shape, version, request, name, limits, in_transactions=may))

    def receive(self, channel: Channel, slot: int, buffer: bytearray, start: int, end: int, now_ms: int) -> int:
        """Take a run of the requests in ``buffer[start:end]``; where it ends, ``start`` for none.

        All answers of a run go out as the one of ``slot``.
        """
        route = self._route(channel, buffer, start)
        if route is None:
            return start
        requests = self._broker.requests
        begun_ns = requests.clock() if requests is not None else 0
        max_bytes, require_keys, before_max_ms, after_max_ms = route.limits
        limits = Limits(
            max_bytes, require_keys, max(now_ms - before_max_ms, _MIN_LONG), min(now_ms + after_max_ms, _MAX_LONG)
        )
        found = scan(buffer, start, end, route.shape, limits)
        target = route.target(self._broker, found[0].partition) if found else None
        if target is None:
            return start
        if not route.in_transactions:
            found = _without_transactions(found)
        partition, template = target
        view = memoryview(buffer)
        batches = [view[entry.batch_at : entry.batch_at + entry.header.batch_length + 12] for entry in found]
        offsets = partition.append_run(batches, [entry.header for entry in found], now_ms)
        if not offsets:
            return start
        taken = found[: len(offsets)]
        if requests is not None:
            requests.handled(ApiKey.PRODUCE, route.version, requests.clock() - begun_ns, len(taken))
        if route.request.acks == 0:
            channel.reply(slot, ())
        else:
            self._answer(channel, slot, route, partition, template, taken, offsets, now_ms, begun_ns)
        return taken[-1].end

    def _route(self, channel: Channel, buffer: bytearray, start: int) -> Route | None:
        routes = self._routes.get(channel)
        if routes:
            for route in routes:
                if route.shape.fits(buffer, start):
                    return route
        return None

    def _answer(
        self,
        channel: Channel,
        slot: int,
        route: Route,
        partition: Partition,
        template: AnswerTemplate,
        taken: Sequence[PlainProduce],
        offsets: Sequence[int],
        now_ms: int,
        begun_ns: int,
    ) -> None:
        """Now where the batches are committed, else once they are, or it fails, or the producer's patience ends."""
        log_start_offset = partition.log.log_start_offset
        fill = template.fill
        answers = [
            fill(entry.correlation_id, offset, log_start_offset) for entry, offset in zip(taken, offsets, strict=True)
        ]
        committed_from = partition.log.log_end_offset
        requests = self._broker.requests
        local_ns = requests.clock() - begun_ns if requests is not None else 0
        if partition.log.high_watermark >= committed_from:
            if requests is not None:
                requests.answered_run(local_ns, local_ns, len(taken), Error.NONE)
            channel.reply(slot, [b"".join(answers)])
            return

        def settle(error: Error) -> None:
            if requests is not None:
                requests.answered_run(local_ns, requests.clock() - begun_ns, len(taken), error)
            if error is Error.NONE:
                channel.reply(slot, [b"".join(answers)])
                return
            part = PartitionProduceResponse(
                index=taken[0].partition,
                error_code=error,
                base_offset=-1,
                log_append_time_ms=-1,
                log_start_offset=log_start_offset,
            )
            channel.reply(slot, [_encoded(route.version, route.request, entry.correlation_id, part) for entry in taken])

        deadline_ms = now_ms + route.request.timeout_ms
        when_settled(self._broker.timers, deadline_ms, partition.when_committed(committed_from), settle)


def _without_transactions(found: list[PlainProduce]) -> list[PlainProduce]:
    """What comes before the first transactional batch, which needs a transactional id and the right to it."""
    for position, entry in enumerate(found):
        if entry.header.is_transactional:
            return found[:position]
    return found
