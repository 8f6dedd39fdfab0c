"""Runs of produce requests: what a pipelining producer has sent, appended with one write and answered with one message.

Called by :class:`~oncelog.broker.broker.Broker` for the requests that lie whole in a connection's buffer. A *route* is
what the broker remembers of a produce request that went the general way (``apis/produce.py``) and was taken in: the
bytes in which the next ones do not differ, the topic and its limits, and the answer with its gaps. A run is taken only
as far as the general way would do the same with each of its requests; what is special about one of them (another
shape, a refusal, a duplicate, a first batch that must be verified, a new segment) is left to that way, which sees it
from its first byte. Routes are forgotten where anything changes that they were learned from.

With many connections, each of which has sent little, the runs of one turn are *gathered*: what all of them have for a
partition is appended with one write when the turn ends (:meth:`ProduceRuns.settle`), or before anything else happens.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from oncelog.acls import Operation
from oncelog.broker.apis.produce import (
    FIRST_WITH_TOPIC_IDS,
    append_verified,
    appended,
    respond,
    result_response,
    verify,
    when_settled,
)
from oncelog.broker.context import Channel, RequestContext
from oncelog.broker.partition import Partition
from oncelog.broker.security.access import TRANSACTIONAL_ID, allows
from oncelog.errors import NONE, Error
from oncelog.log.results import AppendResult
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import PartitionProduceResponse
from oncelog.protocol.produce_scan import Limits, PlainProduce, ProduceShape, scan
from oncelog.records.batch import LOG_OVERHEAD_BYTES, TRANSACTIONAL_BIT, BatchHeader
from oncelog.types import INTERNAL_TOPICS, TopicPartition, new_tuple

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

logger = logging.getLogger(__name__)

FIRST_WITH_LOG_START: Final = 5
"""Older answers have another gap; nobody is in a hurry who asks for them."""
ROUTES_KEPT: Final = 8
"""For one connection: a producer that writes to more topics in turn goes the general way."""
MOST_GATHERED_BYTES: Final = 16 * 1024
"""A longer run is worth a write of its own."""
GATHERED_BYTES: Final = 256 * 1024
"""So much is appended at once, whether the turn ends or not."""
LIMITS_KEPT_MS: Final = 100
"""So long the timestamps that a topic allows are not computed again; a batch so near to them goes the general way."""
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
            error_code=NONE,
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

    __slots__ = ("_limits", "_now_ms", "_targets", "in_transactions", "limits", "request", "shape", "topic", "version")

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
        self._now_ms = _MIN_LONG
        self._limits = limits

    def limits_at(self, now_ms: int) -> Limits:
        """The limits with the times that they mean now, and for a moment more: never wider than they are."""
        if not 0 <= now_ms - self._now_ms < LIMITS_KEPT_MS:
            max_bytes, require_keys, before_max_ms, after_max_ms = self.limits
            low, high = max(now_ms + LIMITS_KEPT_MS - before_max_ms, _MIN_LONG), min(now_ms + after_max_ms, _MAX_LONG)
            self._now_ms, self._limits = now_ms, Limits(max_bytes, require_keys, low, high)
        return self._limits

    def target(self, broker: Broker, index: int) -> tuple[Partition, AnswerTemplate] | None:
        """The partition and its answers; None if the topic has no such partition."""
        target = self._targets.get(index)
        if target is None:
            partition = broker.partition(TopicPartition(self.topic, index))
            if partition is not None:
                target = self._targets[index] = (partition, AnswerTemplate(self.version, self.request, index))
        return target


class _Run(NamedTuple):
    """Requests of one connection that are taken in together."""

    channel: Channel
    slot: int
    route: Route
    template: AnswerTemplate
    found: Sequence[PlainProduce]
    begun_ns: int


class _Gathering:
    """What was gathered for one partition: runs, and all their batches in memory of its own, with their headers.

    ``last``: the last batch of each producer.
    """

    __slots__ = ("batches", "headers", "last", "runs")

    def __init__(self) -> None:
        self.runs: list[_Run] = []
        self.batches: list[bytearray] = []
        self.headers: list[BatchHeader] = []
        self.last: dict[int, BatchHeader] = {}


class ProduceRuns:
    """The routes of all connections of one broker, and what was gathered from them in this turn."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._routes: dict[Channel, list[Route]] = {}
        self.gathered: dict[Partition, _Gathering] = {}
        """What waits for :meth:`settle`; always this one."""
        self._gathered_bytes = 0

    def forget(self, channel: Channel | None = None) -> None:
        """Routes must be learned again: those of ``channel``, or all."""
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

    def receive(
        self, channel: Channel, slot: int, buffer: bytearray, start: int, end: int, now_ms: int, *, gather: bool = False
    ) -> int:
        """Take a run of the requests in ``buffer[start:end]``; where it ends, ``start`` for none.

        All answers of a run go out as the one of ``slot``.

        :param gather: a short run may wait for :meth:`settle`.
        """
        route = self._route(channel, buffer, start)
        if route is None:
            return start
        requests = self._broker.requests
        begun_ns = requests.clock() if requests is not None else 0
        found = scan(buffer, start, end, route.shape, route.limits_at(now_ms))
        target = route.target(self._broker, found[0].partition) if found else None
        if target is None:
            return start
        if not route.in_transactions:
            found = _without_transactions(found)
        partition, template = target
        run = new_tuple(_Run, (channel, slot, route, template, found, begun_ns))
        if gather and found and found[-1].end - start <= MOST_GATHERED_BYTES:
            after = self._gather(partition, run, buffer, start, now_ms)
            return after if after > start else self._begin_transaction(partition, run, buffer, start, now_ms)
        if self.gathered:
            self.settle(now_ms)
        view = memoryview(buffer)
        batches = [view[at : at + LOG_OVERHEAD_BYTES + header.batch_length] for _, _, at, _, header in found]
        offsets = partition.append_run(batches, [entry.header for entry in found], now_ms)
        if not offsets:
            return self._begin_transaction(partition, run, buffer, start, now_ms)
        taken = found[: len(offsets)]
        if len(taken) < len(found):
            run = run._replace(found=taken)
        self._answer(partition, run, _filled(run, partition, offsets), now_ms)
        return taken[-1].end

    def _begin_transaction(self, partition: Partition, run: _Run, buffer: bytearray, start: int, now_ms: int) -> int:
        """A transaction's first batch, if it is small, goes the general way from its verification on."""
        if self.gathered:
            self.settle(now_ms)
        channel, slot, route, template, found, begun_ns = run
        if not found or not found[0].header.is_transactional or not route.request.acks:
            return start
        correlation_id, _, at, end, header = found[0]
        if header.size_bytes > MOST_GATHERED_BYTES:
            return start
        broker, request = self._broker, route.request
        batch = buffer[at : at + header.size_bytes]
        verified = verify(broker, route.version, request, partition, header, now_ms)
        result: AppendResult | None = None
        if verified.succeeded and verified.value.error is NONE and not partition.lacks_replicas:
            result = partition.append_checked(batch, header, now_ms, verified.value.guard)
            if result.error is NONE and not result.duplicate and partition.replicas is None:
                answers = [template.fill(correlation_id, result.base_offset, result.log_start_offset)]
                self._answer(partition, run._replace(found=found[:1]), answers, now_ms)
                return end
        context = RequestContext(channel, slot, ApiKey.PRODUCE, route.version, correlation_id, "", now_ms)
        requests = broker.requests

        def answer(part: PartitionProduceResponse) -> None:
            if requests is not None:
                requests.answered_run(context.local_ns, requests.clock() - begun_ns, 1, part.error_code)
            if part.error_code == NONE and part.log_append_time_ms < 0:  # a duplicate's answer has a time
                channel.reply(slot, [template.fill(correlation_id, part.base_offset, part.log_start_offset)])
            else:
                channel.reply(slot, [_encoded(route.version, request, correlation_id, part)])

        if result is not None:
            answered = appended(broker, context, request, partition, result)
        else:
            answered = append_verified(broker, context, request, partition, memoryview(batch), header, verified)
        if requests is not None:
            context.local_ns = requests.clock() - begun_ns
            requests.handled(ApiKey.PRODUCE, route.version, context.local_ns)
        answered.then(answer, lambda error: _failed([run], partition, error))
        return end

    def _gather(self, partition: Partition, run: _Run, buffer: bytearray, start: int, now_ms: int) -> int:
        """Keep what is certain to be taken in when the turn ends; where that ends, ``start`` for nothing."""
        gathering = self.gathered.get(partition) or _Gathering()
        found, log = run.found, partition.log
        headers = [entry.header for entry in found]
        count = 0 if log.failed is not None else log.admitted_at_once(headers, gathering.last)
        if not count:
            return start
        if count < len(found):
            found, headers = found[:count], headers[:count]
            run = run._replace(found=found)
        end = found[-1].end
        gathering.runs.append(run)
        gathering.headers += headers
        gathering.batches += [
            buffer[at : at + LOG_OVERHEAD_BYTES + header.batch_length] for _, _, at, _, header in found
        ]
        self.gathered[partition] = gathering
        self._gathered_bytes += end - start
        if self._gathered_bytes >= GATHERED_BYTES:
            self.settle(now_ms)
        return end

    def settle(self, now_ms: int) -> None:
        """Append what was gathered and answer it, now or once it is committed."""
        gathered, self._gathered_bytes = list(self.gathered.items()), 0
        self.gathered.clear()
        for partition, gathering in gathered:
            try:
                self._append_gathered(partition, gathering, now_ms)
            except Exception as error:  # noqa: BLE001 - those of this partition learn it, nobody else
                _failed(gathering.runs, partition, error)

    def _append_gathered(self, partition: Partition, gathering: _Gathering, now_ms: int) -> None:
        runs, batches = gathering.runs, gathering.batches
        offsets = partition.append_run(batches, gathering.headers, now_ms)
        taken, log_start_offset = 0, partition.log.log_start_offset
        for run in runs:
            if len(run.found) == 1 and taken < len(offsets):  # of a thousand connections each has sent one
                answers = [run.template.fill(run.found[0].correlation_id, offsets[taken], log_start_offset)]
                taken += 1
                self._answer(partition, run, answers, now_ms)
                continue
            begun, taken = taken, taken + len(run.found)
            mine = offsets[begun:taken]
            answers = _filled(run, partition, mine)
            if len(mine) < len(run.found):  # no room in the segment, or a disk that fails
                answers += self._one_by_one(partition, run, batches[begun:taken], len(mine), now_ms)
            self._answer(partition, run, answers, now_ms)

    @staticmethod
    def _one_by_one(
        partition: Partition, run: _Run, batches: Sequence[bytearray], first: int, now_ms: int
    ) -> Iterator[bytes]:
        """The answers to the batches from ``first`` on, appended as the general way appends one."""
        version, request = run.route.version, run.route.request
        for entry, batch in zip(run.found[first:], batches[first:], strict=True):
            result = partition.append_client(batch, now_ms)
            if result.error is NONE:
                yield run.template.fill(entry.correlation_id, result.base_offset, result.log_start_offset)
            else:
                if request.acks == 0:  # no answer: so that the producer notices
                    run.channel.close(f"a produce request with acks=0 was refused with {result.error.name}")
                yield _encoded(version, request, entry.correlation_id, result_response(entry.partition, result))

    def _route(self, channel: Channel, buffer: bytearray, start: int) -> Route | None:
        routes = self._routes.get(channel)
        if routes:
            if len(routes) == 1:
                return routes[0]  # whether the request fits it the scan says, too
            for route in routes:
                if route.shape.fits(buffer, start):
                    return route
        return None

    def _answer(self, partition: Partition, run: _Run, answers: Sequence[bytes], now_ms: int) -> None:
        """Now where the batches are committed, else once they are, or it fails, or the producer's patience ends."""
        channel, slot, route, _, taken, begun_ns = run
        log = partition.log
        log_start_offset, committed_from = log.log_start_offset, log.log_end_offset
        requests = self._broker.requests
        local_ns = requests.clock() - begun_ns if requests is not None else 0
        if route.request.acks == 0 or log.high_watermark >= committed_from:
            if requests is not None:
                requests.run_answered(route.version, local_ns, len(taken))
            if route.request.acks == 0:
                channel.reply(slot, ())
                return
            channel.reply(slot, [answers[0] if len(answers) == 1 else b"".join(answers)])
            return
        if requests is not None:
            requests.handled(ApiKey.PRODUCE, route.version, local_ns, len(taken))

        def settle(error: Error) -> None:
            if requests is not None:
                requests.answered_run(local_ns, requests.clock() - begun_ns, len(taken), error)
            if error is NONE:
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


def _filled(run: _Run, partition: Partition, offsets: Sequence[int]) -> list[bytes]:
    """The answers to the first requests of a run, as many as there are offsets."""
    fill, log_start_offset = run.template.fill, partition.log.log_start_offset
    return [fill(entry.correlation_id, at, log_start_offset) for entry, at in zip(run.found, offsets, strict=False)]


def _failed(runs: Sequence[_Run], partition: Partition, error: Exception) -> None:
    """What no rule foresees: their clients learn it, and nobody else."""
    logger.error("PRODUCE to %s failed", partition, exc_info=error)
    for run in runs:
        run.channel.close(f"PRODUCE could not be answered: {error!r:.200}")


def _without_transactions(found: list[PlainProduce]) -> list[PlainProduce]:
    """What comes before the first transactional batch, which needs a transactional id and the right to it."""
    for position, entry in enumerate(found):
        if entry.header.attributes & TRANSACTIONAL_BIT:
            return found[:position]
    return found
