"""The general append path: locate, validate, verify, append, commit, answer.

Called by ``apis/data/produce`` for each partition of a request, and by ``produce_runs`` for a transaction's first
batch, which is then already validated. Each step is a method below, in this order; a step that has to wait yields
(``parking``). There are three entry points: :meth:`AppendPipeline.from_start`, and two that begin with verification and
with commit.

Invariants
- Batches of a connection do not overtake each other: the connection is parked until its batch is in the log.
- If a topic is deleted while a batch is parked, even if a topic with the same name is created again, the batch is
  refused.
- The verification guard is taken before the coordinator is asked, and stays with the batch until the append.

Sources: Kafka's ``KafkaApis.handleProduceRequest`` and ``ReplicaManager.handleProduceAppend``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from oncelog.broker.core.appending.batch import FIRST_WITH_TOPIC_IDS, PendingBatch, refused, result_response
from oncelog.broker.core.appending.validation_cost import max_unpacked_bytes, takes_long, validate_briefly
from oncelog.broker.core.appending.verification import VerificationPorts, verify_transaction
from oncelog.broker.core.requests.parking import carry_out
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import TOPIC, AccessPorts, allows
from oncelog.broker.log.producers.verification_state import TransactionSupportedOperation, Verification
from oncelog.broker.log.results import AppendResult
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import PartitionProduceResponse
from oncelog.records.batch import CODEC_MASK, TRANSACTIONAL_BIT, BatchHeader, read_header
from oncelog.records.compression import Compression
from oncelog.records.record_errors import CorruptBatch
from oncelog.records.validation import InvalidBatch, single_batch
from oncelog.runtime.deferred import Deferred
from oncelog.types import INTERNAL_TOPICS, ProducerIdAndEpoch, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.appending.validation_thread import ValidationThread
    from oncelog.broker.core.requests.context import RequestContext
    from oncelog.broker.core.storage.partition import Partition
    from oncelog.broker.metadata.store import MetadataStore
    from oncelog.runtime.timers import Timers

FIRST_WITH_ZSTD: Final = 7
FIRST_WITH_ABORTABLE_ERROR: Final = 11
FIRST_WITH_TRANSACTION_V2: Final = 12
ALL_IN_SYNC: Final = -1
"""The value of ``acks`` in a request with ``acks=all``."""
ACKS: Final = (ALL_IN_SYNC, 0, 1)
NOT_REACHED: Final = frozenset(
    {
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.NETWORK_EXCEPTION,
    }
)
"""Errors that say that the transaction coordinator gave no answer: reported as NOT_ENOUGH_REPLICAS, which every
producer retries."""
ADMIN_CLIENT_ID: Final = "__admin_client"
"""The only client id that may write to internal topics (Kafka's ``AdminUtils``)."""


class AppendPorts(AccessPorts, VerificationPorts, Protocol):
    """The interface that the pipeline needs from the broker."""

    metadata: MetadataStore
    timers: Timers

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...

    def led_partition(self, context: RequestContext, topic_partition: TopicPartition) -> Partition | Error: ...


class AppendPipeline:
    """Appends the batches of producers to the partitions of one broker."""

    def __init__(self, ports: AppendPorts, validation: ValidationThread) -> None:
        self._ports = ports
        self._validation = validation

    def from_start(
        self, context: RequestContext, request: ProduceRequest, topic: TopicProduceData, data: PartitionProduceData
    ) -> Deferred[PartitionProduceResponse]:
        """Append one partition's batch, with all steps from ``locate`` to ``answer``; the answer waits for the commit
        unless ``acks`` is 0."""
        batch = self._locate(context, request, topic, data)
        if isinstance(batch, PartitionProduceResponse):
            return Deferred.of(batch)
        return carry_out(self._from_validation(batch))

    def from_verification(
        self, batch: PendingBatch, verified: Deferred[Verification]
    ) -> Deferred[PartitionProduceResponse]:
        """Verify, append and answer the first batch of a transaction, which has been validated already."""
        return carry_out(self._once_verified(batch, verified))

    def from_commit(self, batch: PendingBatch, result: AppendResult) -> Deferred[PartitionProduceResponse]:
        """The answer to a batch that was appended with ``result``, once it is committed."""
        return carry_out(self._answer_when_committed(batch, result))

    def verify(self, batch: PendingBatch) -> Deferred[Verification]:
        """Ask the transaction coordinator about a batch, unless the partition has an open transaction of this producer
        (KIP-890)."""
        header = batch.header
        # a request without an id is refused as a whole before its batches are verified
        transactional_id = batch.request.transactional_id or ""
        producer = ProducerIdAndEpoch(header.producer_id, header.producer_epoch)
        operation, now_ms = _supported_operation(batch.version), self._ports.now_ms
        return verify_transaction(
            self._ports, batch.partition, transactional_id, producer, operation, now_ms, header.base_sequence
        )

    # --- the steps, in order

    def _locate(
        self, context: RequestContext, request: ProduceRequest, topic: TopicProduceData, data: PartitionProduceData
    ) -> PendingBatch | PartitionProduceResponse:
        """The partition with its batch (a request has only one for each), or the answer that refuses the batch."""
        version, name = context.api_version, self._topic_name(context, topic)
        if isinstance(name, Error):
            return refused(data.index, name)
        partition = self._ports.led_partition(context, TopicPartition(name, data.index))
        if isinstance(partition, Error):
            return refused(data.index, partition)
        raw = data.records or b""
        records = raw if isinstance(raw, memoryview) else memoryview(raw)
        header = header_of(records)
        if header is None or header.size_bytes != len(records):
            size_bytes = single_batch(records)
            if isinstance(size_bytes, InvalidBatch):
                return refused(data.index, size_bytes.error_code, size_bytes.message)
            records = records[:size_bytes]
            header = read_header(records, 0)
        if version < FIRST_WITH_ZSTD and header.attributes & CODEC_MASK == Compression.ZSTD:
            message = f"zstd needs Produce {FIRST_WITH_ZSTD} or newer (KIP-110)."
            return refused(data.index, Error.UNSUPPORTED_COMPRESSION_TYPE, message)
        if request.acks not in ACKS:
            return refused(data.index, Error.INVALID_REQUIRED_ACKS)
        if name in INTERNAL_TOPICS and context.client_id != ADMIN_CLIENT_ID:
            message = f"The topic {name} is internal: clients may not write to it."
            return refused(data.index, Error.INVALID_TOPIC_EXCEPTION, message)
        return PendingBatch(context, version, request, partition, records, header)

    def _topic_name(self, context: RequestContext, topic: TopicProduceData) -> str | Error:
        """The name of the topic, or an error if the topic is unknown or the caller may not write to it."""
        name: str | None = topic.name
        if context.api_version >= FIRST_WITH_TOPIC_IDS:
            info = self._ports.metadata.topic_by_id(topic.topic_id)
            name = info.name if info else None
            if name is None:
                return Error.UNKNOWN_TOPIC_ID
        if not allows(self._ports, context, Operation.WRITE, TOPIC, name or ""):
            return Error.TOPIC_AUTHORIZATION_FAILED
        return Error.UNKNOWN_TOPIC_OR_PARTITION if name is None else name

    def _from_validation(self, batch: PendingBatch) -> Work[PartitionProduceResponse]:
        error = yield from self._validate(batch)
        if error is not Error.NONE:
            return _refused_batch(batch, error)
        if batch.header.is_transactional:
            return (yield from self._once_verified(batch, self.verify(batch)))
        return (yield from self._answer_when_committed(batch, self._append(batch)))

    def _once_verified(self, batch: PendingBatch, verified: Deferred[Verification]) -> Work[PartitionProduceResponse]:
        verification: Verification = verified.value if verified.succeeded else (yield verified)
        error, batch.guard = verification
        if error is not Error.NONE:
            return _refused_batch(batch, Error.NOT_ENOUGH_REPLICAS if error in NOT_REACHED else error)
        return (yield from self._answer_when_committed(batch, self._append(batch)))

    def _validate(self, batch: PendingBatch) -> Work[Error]:
        """Validate a batch before the append if that takes long; other batches are validated as part of the append."""
        validation = self._validation
        worker = validation.worker
        if worker is None or not takes_long(batch):
            return Error.NONE
        max_bytes = max_unpacked_bytes(batch)
        if not validation.has_capacity(max_bytes):
            return Error.NONE
        batch.validated = validate_briefly(batch, self._ports.now_ms)
        if batch.validated is None:
            batch.validated = yield validation.validate(worker, batch, self._ports.now_ms, max_bytes)
            if self._is_gone(batch):
                return Error.UNKNOWN_TOPIC_OR_PARTITION
        return Error.NONE

    def _append(self, batch: PendingBatch) -> AppendResult | Error:
        partition = batch.partition
        if batch.request.acks == ALL_IN_SYNC and partition.lacks_replicas:
            return Error.NOT_ENOUGH_REPLICAS
        result = partition.append_client(batch.records, self._ports.now_ms, batch.guard, batch.validated)
        batch.context.may_be_repeated = result.error is Error.NONE and not batch.header.attributes & ~TRANSACTIONAL_BIT
        return result

    def _answer_when_committed(
        self, batch: PendingBatch, result: AppendResult | Error
    ) -> Work[PartitionProduceResponse]:
        """Answer when the appended records are committed, or at the producer's timeout; the records may still be
        committed later.

        With a single replica acks=1 waits like acks=all, so that an acknowledged record can be read at once.
        """
        if isinstance(result, Error):
            return _refused_batch(batch, result)
        partition, acks = batch.partition, batch.request.acks
        answer = result_response(partition.topic_partition.partition, result)
        if result.error is not Error.NONE or acks == 0 or (acks != ALL_IN_SYNC and partition.replicas is not None):
            return answer
        committed = partition.when_committed(result.last_offset + 1)
        if not committed.done:
            deadline_ms = self._ports.now_ms + batch.request.timeout_ms
            error: Error = yield by_deadline(self._ports.timers, deadline_ms, committed)
            if error is not Error.NONE:
                answer.error_code = error
                answer.base_offset = -1
        return answer

    def _is_gone(self, batch: PendingBatch) -> bool:
        """Whether the batch's partition no longer exists, because its topic was deleted while the batch was parked."""
        return self._ports.partition(batch.partition.topic_partition) is not batch.partition


def by_deadline(timers: Timers, deadline_ms: int, committed: Deferred[Error]) -> Deferred[Error]:
    """Resolves to the value of ``committed``, or to REQUEST_TIMED_OUT at the deadline."""
    outcome: Deferred[Error] = Deferred()
    settle_by_deadline(timers, deadline_ms, committed, outcome.resolve)
    return outcome


def settle_by_deadline(
    timers: Timers, deadline_ms: int, committed: Deferred[Error], settle: Callable[[Error], None]
) -> None:
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


def header_of(records: bytes | memoryview | None) -> BatchHeader | None:
    """The header of the first batch, or None if no header can be read."""
    if not records:
        return None
    try:
        return read_header(records, 0)
    except CorruptBatch:
        return None


def _refused_batch(batch: PendingBatch, error: Error) -> PartitionProduceResponse:
    return refused(batch.partition.topic_partition.partition, error)


def _supported_operation(version: int) -> TransactionSupportedOperation:
    if version >= FIRST_WITH_TRANSACTION_V2:
        return TransactionSupportedOperation.ADD_PARTITION
    if version >= FIRST_WITH_ABORTABLE_ERROR:
        return TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
    return TransactionSupportedOperation.DEFAULT_ERROR
