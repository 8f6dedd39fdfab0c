"""Verifies with the transaction coordinator that an append belongs to an open transaction (KIP-890), for Produce and
TxnOffsetCommit.

The guard is taken before the coordinator is asked, and the append must have this guard: a verification from before a
marker is not valid for a batch after the marker. Source: Kafka's ``AddPartitionsToTxnManager``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from oncelog.broker.log.producers.producer_rules import refused_by_coordinator
from oncelog.broker.log.producers.verification_state import TransactionSupportedOperation, Verification
from oncelog.errors import NONE, Error
from oncelog.runtime.deferred import Deferred
from oncelog.types import NO_SEQUENCE, ProducerIdAndEpoch, TopicPartition, new_tuple

if TYPE_CHECKING:
    from oncelog.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator
    from oncelog.broker.core.storage.partition import Partition

_NOT_NEEDED = Deferred.of(Verification(NONE))


class VerificationPorts(Protocol):
    """The interface that verification needs: the transaction coordinator, on whichever node it is."""

    @property
    def transactions(self) -> TransactionCoordinator: ...


def verify_transaction(
    ports: VerificationPorts,
    partition: Partition,
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    operation: TransactionSupportedOperation,
    now_ms: int,
    base_sequence: int = NO_SEQUENCE,
) -> Deferred[Verification]:
    """Resolves to whether the producer may append to ``partition`` in its transaction, and the guard that the append
    must have."""
    guard = partition.log.writer.begin_verification(*producer, base_sequence, operation.supports_epoch_bump)
    if guard is None:
        return _NOT_NEEDED
    if isinstance(guard, Error):
        return Deferred.of(Verification(guard))

    def verified(error: Error) -> Verification:
        if error is not NONE:
            return Verification(refused_by_coordinator(error, operation))
        return new_tuple(Verification, (NONE, guard))

    return _ask(ports, partition.topic_partition, transactional_id, producer, operation, now_ms).map(verified)


def _ask(
    ports: VerificationPorts,
    partition: TopicPartition,
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    operation: TransactionSupportedOperation,
    now_ms: int,
) -> Deferred[Error]:
    coordinator = ports.transactions
    if operation.supports_epoch_bump:
        return coordinator.add_partitions(
            transactional_id, producer, [partition], now_ms, transaction_version=2, node_id=None
        )
    return coordinator.verify_partitions(transactional_id, producer, [partition], now_ms, node_id=None).map(
        lambda errors: errors[partition]
    )
