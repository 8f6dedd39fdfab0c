"""Produce (key 0), versions 3-13; 0-2 are only advertised (KAFKA-18659) and close the connection.

Version 8 adds record errors, 9 is flexible, 11 may return TRANSACTION_ABORTABLE (KIP-890), 12 adds partitions to the
transaction implicitly (transaction.version 2), 13 identifies topics by id.
Sources: Kafka's ``KafkaApis.handleProduceRequest``
and ``ReplicaManager.handleProduceAppend``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.partition import Partition
from oncelog.broker.security.access import TOPIC, TRANSACTIONAL_ID, allows
from oncelog.broker.slices import Work, finished, in_parts
from oncelog.broker.verification import verify_transaction
from oncelog.deferred import Deferred, gather
from oncelog.errors import Error
from oncelog.log.partition_log import AppendResult
from oncelog.log.verification import TransactionSupportedOperation, Verification, VerificationGuard
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from oncelog.records.batch import CODEC_MASK, TRANSACTIONAL_BIT, BatchHeader, read_header
from oncelog.records.compression import Compression
from oncelog.records.errors import CorruptBatch
from oncelog.records.validation import Checked, InvalidBatch, single_batch
from oncelog.timers import Timers
from oncelog.types import INTERNAL_TOPICS, ProducerIdAndEpoch, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

PARTITIONS_AT_ONCE = 16
TOPICS_AT_ONCE = 200
"""Topics that are only checked, or answered, at a time."""
FIRST_WITH_ZSTD = 7
FIRST_WITH_ABORTABLE_ERROR = 11
FIRST_WITH_TRANSACTION_V2 = 12
FIRST_WITH_TOPIC_IDS = 13
ALL_IN_SYNC = -1
"""``acks=all``."""
ACKS = (ALL_IN_SYNC, 0, 1)
REFUSED_WITHOUT_LOG_START = frozenset(
    {Error.CORRUPT_MESSAGE, Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE, Error.KAFKA_STORAGE_ERROR}
)
"""Refusals that do not report the log start offset; those for producer state and for single records do."""
NOT_REACHED = frozenset(
    {
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.NETWORK_EXCEPTION,
    }
)
"""The transaction coordinator gave no answer: reported as NOT_ENOUGH_REPLICAS, after which every producer retries."""
ADMIN_CLIENT_ID = "__admin_client"
"""The only client id that may write to internal topics (Kafka's ``AdminUtils``)."""


class _Write(NamedTuple):
    """One partition's part of a request, checked up to its header."""

    partition: Partition
    records: memoryview
    header: BatchHeader
    checked: Checked | None = None


def handle(broker: Broker, context: RequestContext, request: ProduceRequest) -> Deferred[ProduceResponse | None]:
    """Append each partition's batch; the answer waits for the high watermark unless ``acks`` is 0.

    Resolves to None for acks=0, which has no answer; after an error the connection is closed, so that the producer
    notices.
    """
    version, topics = context.api_version, request.topic_data
    if len(topics) > PARTITIONS_AT_ONCE or sum([len(topic.partition_data) for topic in topics]) > PARTITIONS_AT_ONCE:
        context.channel.hold()
        context.is_wide = True
        dozens = broker.slices.begin(_write_each(broker, context, request)).flat_map(gather)
        return dozens.flat_map(
            lambda parts: broker.slices.begin(
                _responding(context, request, list(chain.from_iterable(parts))), owner=context
            )
        )
    whole_error = finished(_refuse_request(broker, context, request))
    pairs = _pairs(request)
    if whole_error is not Error.NONE:
        written = gather([Deferred.of(_refused(data, whole_error)) for _, data in pairs])
    else:
        answers = [_write_partition(broker, context, request, topic, data) for topic, data in pairs]
        if len(answers) == 1 and request.acks != 0:
            return answers[0].map(lambda part: respond(version, request, [part]))
        written = gather(answers)
    if request.acks == 0:
        return written.map(lambda parts: _end_if_refused(context, parts))
    return written.map(lambda parts: respond(version, request, parts))


def _pairs(request: ProduceRequest) -> list[tuple[TopicProduceData, PartitionProduceData]]:
    return [(topic, data) for topic in request.topic_data for data in topic.partition_data]


def _write_each(
    broker: Broker, context: RequestContext, request: ProduceRequest
) -> Work[list[Deferred[list[PartitionProduceResponse]]]]:
    """Partitions by the dozen, with other turns in between; continues if the connection ends, as a single turn
    would."""
    whole_error = yield from _refuse_request(broker, context, request)
    answers = []
    for part in in_parts(_pairs(request), PARTITIONS_AT_ONCE):
        yield from broker.batch_checks.room(context)
        dozen = [
            _write_partition(broker, context, request, topic, data)
            if whole_error is Error.NONE
            else Deferred.of(_refused(data, whole_error))
            for topic, data in part
        ]
        answers.append(gather(dozen))
        yield
    return answers


def _responding(
    context: RequestContext, request: ProduceRequest, parts: list[PartitionProduceResponse]
) -> Work[ProduceResponse | None]:
    """The answer for many partitions, with other turns in between."""
    if request.acks == 0:
        _end_if_refused(context, parts)
        return None
    position, response = 0, ProduceResponse(responses=[], throttle_time_ms=0)
    for topics in in_parts(request.topic_data, TOPICS_AT_ONCE):
        count = sum([len(topic.partition_data) for topic in topics])
        response.responses += _answers(context.api_version, topics, parts[position : position + count])
        position += count
        yield
    return response


def _refuse_request(broker: Broker, context: RequestContext, request: ProduceRequest) -> Work[Error]:
    """The error of the request as a whole."""
    transactional_producers = set()
    seen = 0
    for topic in request.topic_data:
        for data in topic.partition_data:
            header = _header_of(data.records)
            if header is not None and header.is_transactional:
                transactional_producers.add((header.producer_id, header.producer_epoch))
            seen += 1
            if not seen % TOPICS_AT_ONCE:
                yield
    if transactional_producers and (
        request.transactional_id is None
        or not allows(broker, context, Operation.WRITE, TRANSACTIONAL_ID, request.transactional_id)
    ):
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if len(transactional_producers) > 1:
        return Error.INVALID_PRODUCER_ID_MAPPING
    return Error.NONE


def _header_of(records: bytes | memoryview | None) -> BatchHeader | None:
    """The header of the first batch, or None if no header can be read."""
    if not records:
        return None
    try:
        return read_header(records, 0)
    except CorruptBatch:
        return None


def _write_partition(
    broker: Broker,
    context: RequestContext,
    request: ProduceRequest,
    topic: TopicProduceData,
    data: PartitionProduceData,
) -> Deferred[PartitionProduceResponse]:
    write = _locate(broker, context, topic, data, request.acks)
    if isinstance(write, PartitionProduceResponse):
        return Deferred.of(write)
    if not broker.batch_checks.takes(context, write.partition, write.header, write.records):
        return _append_when_verified(broker, context, request, write)
    found = broker.batch_checks.briefly(context, write.partition, write.header, write.records, broker.now_ms)
    if found is not None:
        return _append_when_verified(broker, context, request, write._replace(checked=found))
    located: _Write = write

    def checked(found: Checked) -> Deferred[PartitionProduceResponse]:
        validated = located._replace(checked=found)
        return _hand_on(broker, context, located, lambda: _append_when_verified(broker, context, request, validated))

    check = broker.batch_checks.check(context, write.partition, write.header, write.records, broker.now_ms)
    return check.flat_map(checked)


def _append_when_verified(
    broker: Broker, context: RequestContext, request: ProduceRequest, write: _Write
) -> Deferred[PartitionProduceResponse]:
    """Append a batch; one of a transaction once it is verified."""
    if not write.header.is_transactional:
        return _append(broker, context, request, write, guard=None)
    verified = verify(broker, context.api_version, request, write.partition, write.header, broker.now_ms)
    return _append_verified(broker, context, request, write, verified)


def _locate(
    broker: Broker, context: RequestContext, topic: TopicProduceData, data: PartitionProduceData, acks: int
) -> _Write | PartitionProduceResponse:
    """The partition and the only batch that the request has for it, or the refusal."""
    name: str | None = topic.name
    if context.api_version >= FIRST_WITH_TOPIC_IDS:
        info = broker.metadata.topic_by_id(topic.topic_id)
        name = info.name if info else None
        if name is None:
            return _refused(data, Error.UNKNOWN_TOPIC_ID)
    if broker.authorizer is not None and not allows(broker, context, Operation.WRITE, TOPIC, name or ""):
        return _refused(data, Error.TOPIC_AUTHORIZATION_FAILED)
    if name is None:
        return _refused(data, Error.UNKNOWN_TOPIC_OR_PARTITION)
    partition = broker.led_partition(context, TopicPartition(name, data.index))
    if isinstance(partition, Error):
        return _refused(data, partition)
    raw = data.records or b""
    records = raw if isinstance(raw, memoryview) else memoryview(raw)
    header = _header_of(records)
    if header is None or header.size_bytes != len(records):
        size_bytes = single_batch(records)
        if isinstance(size_bytes, InvalidBatch):
            return _refused(data, size_bytes.error_code, size_bytes.message)
        records = records[:size_bytes]
        header = read_header(records, 0)
    if context.api_version < FIRST_WITH_ZSTD and header.attributes & CODEC_MASK == Compression.ZSTD:
        return _refused(
            data, Error.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs Produce {FIRST_WITH_ZSTD} or newer (KIP-110)."
        )
    if acks not in ACKS:
        return _refused(data, Error.INVALID_REQUIRED_ACKS)
    if name in INTERNAL_TOPICS and context.client_id != ADMIN_CLIENT_ID:
        return _refused(
            data, Error.INVALID_TOPIC_EXCEPTION, f"The topic {name} is internal: clients may not write to it."
        )
    return _Write(partition, records, header)


def verify(
    broker: Broker, version: int, request: ProduceRequest, partition: Partition, header: BatchHeader, now_ms: int
) -> Deferred[Verification]:
    """Ask the transaction coordinator if the partition has no open transaction of this producer (KIP-890)."""
    transactional_id = request.transactional_id
    if transactional_id is None:  # the whole request has been refused before
        return Deferred.of(Verification(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    stamp = ProducerIdAndEpoch(header.producer_id, header.producer_epoch)
    operation = _supported_operation(version)
    return verify_transaction(broker, partition, transactional_id, stamp, operation, now_ms, header.base_sequence)


def append_verified(
    broker: Broker,
    context: RequestContext,
    request: ProduceRequest,
    partition: Partition,
    records: memoryview,
    header: BatchHeader,
    verified: Deferred[Verification],
) -> Deferred[PartitionProduceResponse]:
    """Append a transactional batch with the guard of its verification, or return why it was not verified."""
    return _append_verified(broker, context, request, _Write(partition, records, header), verified)


def _append_verified(
    broker: Broker,
    context: RequestContext,
    request: ProduceRequest,
    write: _Write,
    verified: Deferred[Verification],
) -> Deferred[PartitionProduceResponse]:
    def append(verification: Verification) -> Deferred[PartitionProduceResponse]:
        error, guard = verification
        if error is not Error.NONE:
            told = Error.NOT_ENOUGH_REPLICAS if error in NOT_REACHED else error
            return Deferred.of(_refused_write(write, told))
        return _append(broker, context, request, write, guard)

    return verified.flat_map(append)


def _supported_operation(version: int) -> TransactionSupportedOperation:
    if version >= FIRST_WITH_TRANSACTION_V2:
        return TransactionSupportedOperation.ADD_PARTITION
    if version >= FIRST_WITH_ABORTABLE_ERROR:
        return TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
    return TransactionSupportedOperation.DEFAULT_ERROR


def _append(
    broker: Broker, context: RequestContext, request: ProduceRequest, write: _Write, guard: VerificationGuard | None
) -> Deferred[PartitionProduceResponse]:
    """Append now, or when it is the batch's turn in a line of large ones."""
    partition, long_writes = write.partition, broker.long_writes
    if not long_writes.has_line(context, partition, write.header.size_bytes):
        return _append_now(broker, context, request, write, guard)

    turn = long_writes.line_up(context, partition, write.header.size_bytes)
    return turn.flat_map(
        lambda _: _hand_on(broker, context, write, lambda: _append_now(broker, context, request, write, guard))
    )


def _hand_on(
    broker: Broker, context: RequestContext, write: _Write, go_on: Callable[[], Deferred[PartitionProduceResponse]]
) -> Deferred[PartitionProduceResponse]:
    """Continue with a batch for which its connection was held, unless its topic has been deleted meanwhile."""
    try:
        if broker.partition(write.partition.topic_partition) is not write.partition:
            return Deferred.of(_refused_write(write, Error.UNKNOWN_TOPIC_OR_PARTITION))
        return go_on()
    finally:
        broker.batch_checks.handed_on(context)


def _append_now(
    broker: Broker, context: RequestContext, request: ProduceRequest, write: _Write, guard: VerificationGuard | None
) -> Deferred[PartitionProduceResponse]:
    partition = write.partition
    if request.acks == ALL_IN_SYNC and partition.lacks_replicas:
        return Deferred.of(_refused_write(write, Error.NOT_ENOUGH_REPLICAS))
    if write.header.size_bytes >= broker.long_writes.least_bytes:
        return _append_elsewhere(broker, context, request, write, guard)
    result = partition.append_client(write.records, broker.now_ms, guard, write.checked)
    context.may_be_repeated = result.error is Error.NONE and not write.header.attributes & ~TRANSACTIONAL_BIT
    return appended(broker, context, request, partition, result)


def _append_elsewhere(
    broker: Broker, context: RequestContext, request: ProduceRequest, write: _Write, guard: VerificationGuard | None
) -> Deferred[PartitionProduceResponse]:
    """Append a large batch; another thread writes it."""
    partition = write.partition
    begun = partition.begin_append(write.records, broker.now_ms, guard, write.checked)
    if isinstance(begun, AppendResult):
        return appended(broker, context, request, partition, begun)

    def written() -> Deferred[PartitionProduceResponse]:
        return appended(broker, context, request, partition, partition.end_append(begun))

    return broker.long_writes.write(context, partition, begun).flat_map(
        lambda _: _hand_on(broker, context, write, written)
    )


def appended(
    broker: Broker, context: RequestContext, request: ProduceRequest, partition: Partition, result: AppendResult
) -> Deferred[PartitionProduceResponse]:
    """The answer, now or later, to an append with ``result``."""
    answer = result_response(partition.topic_partition.partition, result)
    if result.error is not Error.NONE or request.acks == 0:
        return Deferred.of(answer)
    if request.acks != ALL_IN_SYNC and partition.replicas is not None:
        return Deferred.of(answer)
    # acks=1 waits like acks=all: on the only replica an acknowledged record is committed and can be read at once.
    committed = partition.when_committed(result.last_offset + 1)
    if committed.done:
        return Deferred.of(answer)
    return _with_timeout(broker, broker.now_ms + request.timeout_ms, committed, answer)


def _with_timeout(
    broker: Broker, deadline_ms: int, committed: Deferred[Error], answer: PartitionProduceResponse
) -> Deferred[PartitionProduceResponse]:
    """``answer`` once committed; REQUEST_TIMED_OUT at the deadline, although the records may still be committed."""
    response: Deferred[PartitionProduceResponse] = Deferred()

    def settle(error: Error) -> None:
        if error is not Error.NONE:
            answer.error_code = error
            answer.base_offset = -1
        response.resolve(answer)

    when_settled(broker.timers, deadline_ms, committed, settle)
    return response


def when_settled(timers: Timers, deadline_ms: int, committed: Deferred[Error], settle: Callable[[Error], None]) -> None:
    """Call ``settle`` once: with the value of ``committed``, or with REQUEST_TIMED_OUT at the deadline."""
    settled = False

    def once(error: Error) -> None:
        nonlocal settled
        if not settled:
            settled = True
            timer.cancel()
            settle(error)

    timer = timers.schedule(deadline_ms, lambda _: once(Error.REQUEST_TIMED_OUT))
    committed.then(once)


def result_response(index: int, result: AppendResult) -> PartitionProduceResponse:
    """The result of an append to partition ``index``."""
    answer = PartitionProduceResponse(
        index=index,
        error_code=result.error,
        base_offset=result.base_offset,
        log_append_time_ms=result.log_append_time_ms,
        log_start_offset=result.log_start_offset,
    )
    if result.error is not Error.NONE:
        answer.error_message = result.message or None
        if result.error in REFUSED_WITHOUT_LOG_START:
            answer.log_start_offset = -1
        answer.record_errors = [
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
            for index, message in result.record_errors
        ]
    return answer


def _refused(data: PartitionProduceData, error: Error, message: str | None = None) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=data.index,
        error_code=error,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1,
        error_message=message,
    )


def _refused_write(write: _Write, error: Error) -> PartitionProduceResponse:
    partition = write.partition.topic_partition.partition
    return PartitionProduceResponse(
        index=partition, error_code=error, base_offset=-1, log_append_time_ms=-1, log_start_offset=-1
    )


def respond(version: int, request: ProduceRequest, parts: Sequence[PartitionProduceResponse]) -> ProduceResponse:
    """The answers grouped by topic, in the request's order."""
    return ProduceResponse(responses=_answers(version, request.topic_data, parts), throttle_time_ms=0)


def _answers(
    version: int, topics: Sequence[TopicProduceData], parts: Sequence[PartitionProduceResponse]
) -> list[TopicProduceResponse]:
    responses = []
    position = 0
    for topic in topics:
        count = len(topic.partition_data)
        if not count:
            continue
        answer = TopicProduceResponse(partition_responses=list(parts[position : position + count]))
        if version >= FIRST_WITH_TOPIC_IDS:
            answer.topic_id = topic.topic_id
        else:
            answer.name = topic.name
        responses.append(answer)
        position += count
    return responses


def _end_if_refused(context: RequestContext, parts: list[PartitionProduceResponse]) -> None:
    refused = [part for part in parts if part.error_code != Error.NONE]
    if refused:
        context.channel.close(f"a produce request with acks=0 was refused with {Error(refused[0].error_code).name}")
