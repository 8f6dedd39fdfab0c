"""The states of a transactional id, and all data that the coordinator has about an id.

Used by the rules, the record codec and the coordinator. A :class:`Txn` never changes: a rule creates the next one, the
log stores it, and it is applied by replacing the old one. Source: Kafka's ``TransactionState`` and
``TransactionMetadata`` (KIP-98, KIP-360, KIP-890, KIP-939).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from oncelog.types import (
    MAX_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    ProducerIdAndEpoch,
    TopicPartition,
    new_tuple,
)


class TransactionState(IntEnum):
    """The states of a transaction, with the ids that Kafka stores in the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    """The transactional id is unknown, or expired and removed. Never logged: a tombstone is written instead."""
    PREPARE_EPOCH_FENCE = 7
    """Kafka's intermediate state between bumping the epoch and deciding the abort; here one record does both, so it is
    never logged."""

    @property
    def label(self) -> str:
        """Kafka's name of the state, as in DescribeTransactions and ListTransactions."""
        return _LABELS[self]

    @classmethod
    def from_label(cls, label: str) -> TransactionState | None:
        return _BY_LABEL.get(label)


_LABELS: Final[Mapping[TransactionState, str]] = {
    state: state.name.title().replace("_", "") for state in TransactionState
}
_BY_LABEL: Final[Mapping[str, TransactionState]] = {label: state for state, label in _LABELS.items()}

_S = TransactionState
MAY_FOLLOW: Final[Mapping[TransactionState, frozenset[TransactionState]]] = {
    _S.EMPTY: frozenset({_S.DEAD, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.ONGOING: frozenset({_S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_COMMIT: frozenset({_S.ONGOING}),
    _S.PREPARE_ABORT: frozenset(
        # from EMPTY and COMPLETE_*, an abort without records only bumps the epoch (KIP-890)
        {_S.ONGOING, _S.PREPARE_EPOCH_FENCE, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}
    ),
    _S.COMPLETE_COMMIT: frozenset({_S.PREPARE_COMMIT}),
    _S.COMPLETE_ABORT: frozenset({_S.PREPARE_ABORT}),
    _S.DEAD: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_EPOCH_FENCE: frozenset({_S.ONGOING}),
}
"""For each state the states that it may follow; an id's first record is EMPTY, so EMPTY follows DEAD."""

PREPARED: Final = frozenset({_S.PREPARE_COMMIT, _S.PREPARE_ABORT})
"""States in which the outcome is decided and logged, but markers may be missing."""
EXPIRABLE: Final = frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT})

LAST_CLIENT_EPOCH: Final = MAX_EPOCH - 1
"""The highest epoch that a client gets, so that the coordinator can always bump once more for a marker (KIP-360)."""

NO_TIME_LIMIT: Final = 2**31 - 1
"""The ``timeout_ms`` of a producer that uses two-phase commit: its transactions never time out (KIP-939)."""


class Txn(NamedTuple):
    """A transactional id with its producer and its current or last transaction.

    ``previous_producer_id`` is the producer id before the last record (Kafka writes it with every record, so it usually
    equals ``producer_id``). ``next_producer_id`` is set while a transaction that has used up the epochs of
    ``producer_id`` is ending. If ``next_producer_epoch`` is set as well, both identify a producer that found this
    transaction open and kept it: only that producer may end the transaction, while data and markers have the
    transaction's own producer id and epoch (KIP-939). ``last_producer_epoch`` is the epoch before the last bump, which
    a retry may still send; the log does not store it. ``start_ms`` is -1 before the first transaction.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_TIMESTAMP
    last_update_ms: int = NO_TIMESTAMP
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    client_transaction_version: int = 0
    next_producer_epoch: int = NO_PRODUCER_EPOCH

    @property
    def producer(self) -> ProducerIdAndEpoch:
        """The transaction's producer id and epoch, which its data and markers have."""
        return new_tuple(ProducerIdAndEpoch, (self.producer_id, self.producer_epoch))

    @property
    def kept(self) -> bool:
        """Whether a later producer found the transaction open and kept it (KIP-939)."""
        return self.next_producer_epoch != NO_PRODUCER_EPOCH

    @property
    def owner(self) -> ProducerIdAndEpoch:
        """The producer that currently owns the transactional id; any other producer id or epoch is another producer's
        or a zombie's."""
        if self.next_producer_epoch != NO_PRODUCER_EPOCH:  # kept
            return ProducerIdAndEpoch(self.next_producer_id, self.next_producer_epoch)
        return new_tuple(ProducerIdAndEpoch, (self.producer_id, self.producer_epoch))

    @property
    def timed(self) -> bool:
        """Whether transactions of the id time out after ``timeout_ms``."""
        return self.timeout_ms != NO_TIME_LIMIT

    @property
    def epochs_exhausted(self) -> bool:
        """Whether the next producer needs a new producer id."""
        kept = self.next_producer_epoch != NO_PRODUCER_EPOCH
        return (self.next_producer_epoch if kept else self.producer_epoch) >= LAST_CLIENT_EPOCH
