"""Runs of Produce requests: batches that a producer has pipelined are appended with one write, and answered together.

Called by :class:`~oncelog.broker.core.broker.Broker` for complete requests in a connection's buffer. A *pattern* is
learned from a Produce request that took the general path (``pipeline``) and was accepted: it has the bytes that the
next requests have in common with this one, the topic and its limits, and a template of the answer. A run includes only
requests that the general path would treat the same way; any other request (another form, a refusal, a duplicate, a
first batch that must be verified, a new segment) is left to that path as a whole. Patterns are dropped when the topic,
its settings or the permissions change.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from oncelog.broker.core.appending.batch import FIRST_WITH_TOPIC_IDS, PendingBatch, respond
from oncelog.broker.core.appending.pipeline import settle_by_deadline
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.session import Channel
from oncelog.broker.core.security.access import TRANSACTIONAL_ID, AccessPorts, allows
from oncelog.broker.core.storage.partition import Partition
from oncelog.broker.log.results import AppendResult
from oncelog.errors import NONE, Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import PartitionProduceResponse
from oncelog.protocol.produce_scan import Limits, PlainRun, ProduceShape, scan
from oncelog.records.validation import ValidatedBatch
from oncelog.types import INTERNAL_TOPICS, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.appending.pipeline import AppendPipeline
    from oncelog.broker.core.requests.request_metrics import RequestMetrics
    from oncelog.broker.metadata.store import MetadataStore
    from oncelog.runtime.timers import Timers

logger = logging.getLogger(__name__)

FIRST_WITH_LOG_START: Final = 5
"""The first version handled in runs: older answers have another layout, and clients that use them are not
performance-critical."""
PATTERNS_KEPT: Final = 8
"""The number of patterns kept for a connection: a producer that alternates between more topics takes the general
path."""
SMALL_BATCH_BYTES: Final = 16 * 1024
"""Up to this size in bytes, a transaction's first batch is copied out of its connection's buffer; a larger one takes
the general path."""
LIMITS_KEPT_MS: Final = 1000
"""How long in ms a topic's timestamp limits are cached; a batch whose timestamps are this close to them takes the
general path."""
_MIN_LONG, _MAX_LONG = -(2**63), 2**63 - 1
_GAP: Final = Struct(">qqq")
_MARK: Final = (-2, -1, -3)
"""Values for base offset, append time and log start offset that mark their places in an encoded answer: no name
contains these bytes."""


class AnswerTemplate:
    """A template of the answers to accepted batches, which differ only in correlation id and offsets."""

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

    def fill(self, correlation_ids: Sequence[int], offsets: Sequence[int], log_start_offset: int) -> bytes:
        """The answers to as many batches as there are ``offsets``, encoded one after the other."""
        if len(offsets) == 1:  # most often
            return self._pack(self._size, correlation_ids[0], self._head, offsets[0], -1, log_start_offset, self._tail)
        answers = []
        for number, offset in zip(correlation_ids, offsets):  # noqa: B905 # there may be more of the first
            answers.append(self._pack(self._size, number, self._head, offset, -1, log_start_offset, self._tail))
        return b"".join(answers)


def _encoded(version: int, request: ProduceRequest, correlation_id: int, part: PartitionProduceResponse) -> bytes:
    body = respond(version, request, [part]).encode(version)
    return encode_response_header(ApiKey.PRODUCE, version, correlation_id, len(body)) + body


class RunPorts(AccessPorts, Protocol):
    """The interface that runs of Produce requests need from the broker."""

    metadata: MetadataStore
    timers: Timers
    request_metrics: RequestMetrics | None

    @property
    def appends(self) -> AppendPipeline: ...

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...


class ProducePattern:
    """The topic and answers of plain Produce requests of one form.

    :ivar request: the request from which the pattern was learned.
    :ivar limits: bounds for batches that hold until ``limits_until_ms``, never wider than the topic's settings.
    :ivar targets: for each partition written to so far, the partition and the template of its answers.
    """

    __slots__ = ("_relative", "limits", "limits_until_ms", "request", "shape", "targets", "topic", "version")

    def __init__(
        self,
        shape: ProduceShape,
        version: int,
        request: ProduceRequest,
        topic: str,
        limits: Limits,
    ) -> None:
        """:param limits: as for a batch, but the timestamps are distances in ms: how far a timestamp may be before and
        after the present."""
        self.shape = shape
        self.version = version
        self.request = request
        self.topic = topic
        self._relative = limits
        self.targets: dict[int, tuple[Partition, AnswerTemplate]] = {}
        self.limits_until_ms = _MIN_LONG
        self.limits = limits

    def renew_limits(self, now_ms: int) -> None:
        """Compute the timestamp limits for the next ``LIMITS_KEPT_MS``."""
        max_bytes, require_keys, before_max_ms, after_max_ms, transactional = self._relative
        low, high = max(now_ms + LIMITS_KEPT_MS - before_max_ms, _MIN_LONG), min(now_ms + after_max_ms, _MAX_LONG)
        self.limits = Limits(max_bytes, require_keys, low, high, transactional)
        self.limits_until_ms = now_ms + LIMITS_KEPT_MS

    def new_target(self, ports: RunPorts, index: int) -> tuple[Partition, AnswerTemplate] | None:
        """A partition that was not written to before, with the template of its answers; None if the topic does not have
        this partition."""
        partition = ports.partition(TopicPartition(self.topic, index))
        if partition is None:
            return None
        target = self.targets[index] = partition, AnswerTemplate(self.version, self.request, index)
        return target


class _Run(NamedTuple):
    """A run: requests of one connection that are handled together."""

    channel: Channel
    slot: int
    pattern: ProducePattern
    template: AnswerTemplate
    found: PlainRun
    begun_ns: int


class ProduceRuns:
    """Handles runs of Produce requests, with the patterns of all connections of one broker."""

    def __init__(self, ports: RunPorts) -> None:
        self._ports = ports
        self._patterns: dict[Channel, list[ProducePattern]] = {}

    def forget(self, channel: Channel | None = None) -> None:
        """Drop the patterns of ``channel``, or all of them."""
        if channel is None:
            self._patterns.clear()
        else:
            self._patterns.pop(channel, None)

    def learn(self, context: RequestContext, request: ProduceRequest, frame: memoryview, body: int) -> None:
        """Learn the pattern of a request that the general path has just accepted, if the next request may match it."""
        channel, version = context.channel, context.api_version
        if version < FIRST_WITH_LOG_START:
            return
        shape = ProduceShape.of(frame, body, version)
        if shape is None:
            return
        patterns = self._patterns.setdefault(channel, [])
        if any(pattern.shape == shape for pattern in patterns):
            return
        topic = request.topic_data[0]
        info = self._ports.metadata.topic_by_id(topic.topic_id) if version >= FIRST_WITH_TOPIC_IDS else None
        name = info.name if info else topic.name
        partition = self._ports.partition(TopicPartition(name, topic.partition_data[0].index))
        if partition is None or name in INTERNAL_TOPICS or not partition.log.takes_batches_unchanged:
            return
        # The pattern keeps no records: they are a view of memory that will be reused.
        learned = TopicProduceData(topic.name, topic.topic_id, [PartitionProduceData(0, None)])
        request = ProduceRequest(request.transactional_id, request.acks, request.timeout_ms, [learned])
        config = partition.log.config
        # Checked here, because a first request with a plain batch was not checked for this right.
        txn_id = request.transactional_id
        may = txn_id is not None and allows(self._ports, context, Operation.WRITE, TRANSACTIONAL_ID, txn_id, log=False)
        limits = Limits(
            config.max_message_bytes,
            config.compacted,
            config.message_timestamp_before_max_ms,
            config.message_timestamp_after_max_ms,
            may,
        )
        del patterns[PATTERNS_KEPT - 1 :]
        patterns.insert(0, ProducePattern(shape, version, request, name, limits))

    def receive(self, channel: Channel, slot: int, buffer: bytearray, start: int, end: int, now_ms: int) -> int:
        """Handle the longest possible run of requests in ``buffer[start:end]``; returns the end of the run, ``start``
        if no request was handled.

        All answers of a run are sent together as the answer for ``slot``.
        """
        patterns = self._patterns.get(channel)
        if not patterns:
            return start
        pattern = patterns[0] if len(patterns) == 1 else _fitting(patterns, buffer, start)
        requests = self._ports.request_metrics
        begun_ns = requests.clock() if requests is not None else 0
        if now_ms >= pattern.limits_until_ms or now_ms < pattern.limits_until_ms - LIMITS_KEPT_MS:
            pattern.renew_limits(now_ms)
        found = scan(buffer, start, end, pattern.shape, pattern.limits)
        if found is None:
            return start
        index, correlation_ids, batches, headers, ends = found
        target = pattern.targets.get(index) or pattern.new_target(self._ports, index)
        if target is None:
            return start
        partition, template = target
        offsets: Sequence[int] | None = partition.append_run(batches, headers, now_ms)
        if not offsets:
            run = _Run(channel, slot, pattern, template, found, begun_ns)
            offsets = self._begin_transaction(partition, run, now_ms)
            if not offsets:
                return start if offsets is None else ends[0]
        log, count, acks = partition.log, len(offsets), pattern.request.acks
        answers = template.fill(correlation_ids, offsets, log.log_start_offset)
        if acks and log.high_watermark < log.log_end_offset:
            run = _Run(channel, slot, pattern, template, found, begun_ns)
            self._answer_later(partition, run, answers, count, now_ms)
        else:
            if requests is not None:
                requests.run_answered(pattern.version, requests.clock() - begun_ns, count)
            channel.reply(slot, (answers,) if acks else ())
        return ends[count - 1]

    def _begin_transaction(self, partition: Partition, run: _Run, now_ms: int) -> Sequence[int] | None:
        """Verify and append a transaction's first batch, if it is small. Returns the batch's offset if it was appended
        at once, no offset if it will be answered later, None to leave it to the general path."""
        channel, slot, pattern, template, found, begun_ns = run
        correlation_id, header = found.correlation_ids[0], found.headers[0]
        if not header.is_transactional or not pattern.request.acks or header.size_bytes > SMALL_BATCH_BYTES:
            return None
        ports, request = self._ports, pattern.request
        context = RequestContext(channel, slot, ApiKey.PRODUCE, pattern.version, correlation_id, "", now_ms)
        records = bytearray(found.batches[0])
        batch = PendingBatch(context, pattern.version, request, partition, memoryview(records), header)
        verified = ports.appends.verify(batch)
        result: AppendResult | None = None
        if verified.succeeded and verified.value.error is NONE and not partition.lacks_replicas:
            result = partition.append_client(records, now_ms, verified.value.guard, ValidatedBatch(header, records))
            if result.error is NONE and not result.duplicate and partition.replicas is None:
                return (result.base_offset,)
        requests, local_ns = ports.request_metrics, 0

        def answer(part: PartitionProduceResponse) -> None:
            if requests is not None:
                requests.answered_run(local_ns, requests.clock() - begun_ns, 1, part.error_code)
            if part.error_code == NONE and part.log_append_time_ms < 0:  # the answer to a duplicate carries a timestamp
                channel.reply(slot, [template.fill((correlation_id,), (part.base_offset,), part.log_start_offset)])
            else:
                channel.reply(slot, [_encoded(pattern.version, request, correlation_id, part)])

        if result is not None:
            answered = ports.appends.from_commit(batch, result)
        else:
            answered = ports.appends.from_verification(batch, verified)
        if requests is not None:
            local_ns = requests.clock() - begun_ns
            requests.handled(ApiKey.PRODUCE, pattern.version, local_ns)
        answered.then(answer, lambda error: _failed(run, partition, error))
        return ()

    def _answer_later(self, partition: Partition, run: _Run, answers: bytes, count: int, now_ms: int) -> None:
        """Answer the run's requests once their batches are committed, when that fails, or at the producer's timeout."""
        channel, slot, pattern, _, found, begun_ns = run
        log_start_offset, committed_from = partition.log.log_start_offset, partition.log.log_end_offset
        requests = self._ports.request_metrics
        local_ns = requests.clock() - begun_ns if requests is not None else 0
        if requests is not None:
            requests.handled(ApiKey.PRODUCE, pattern.version, local_ns, count)

        def settle(error: Error) -> None:
            if requests is not None:
                requests.answered_run(local_ns, requests.clock() - begun_ns, count, error)
            if error is NONE:
                channel.reply(slot, [answers])
                return
            part = PartitionProduceResponse(
                index=found.partition,
                error_code=error,
                base_offset=-1,
                log_append_time_ms=-1,
                log_start_offset=log_start_offset,
            )
            ids = found.correlation_ids[:count]
            channel.reply(slot, [_encoded(pattern.version, pattern.request, number, part) for number in ids])

        deadline_ms = now_ms + pattern.request.timeout_ms
        settle_by_deadline(self._ports.timers, deadline_ms, partition.when_committed(committed_from), settle)


def _fitting(patterns: Sequence[ProducePattern], buffer: bytearray, start: int) -> ProducePattern:
    """The pattern that the request fits; if none does, any pattern, because the scan compares the request with it
    anyway."""
    return next((pattern for pattern in patterns if pattern.shape.fits(buffer, start)), patterns[0])


def _failed(run: _Run, partition: Partition, error: Exception) -> None:
    """Log an unexpected error and close the connection of this run; other clients are not affected."""
    logger.error("PRODUCE to %s failed", partition, exc_info=error)
    run.channel.close(f"PRODUCE could not be answered: {error!r:.200}")
