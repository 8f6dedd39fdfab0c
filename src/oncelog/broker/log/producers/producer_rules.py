"""When an append is refused because of its producer: the rules of idempotence and transactions, as tables.

Called by ``producer_state``; ``broker.core.appending.verification`` asks :func:`refused_by_coordinator`. Only these
rules refuse a Produce request with error 45, 47 or 48. The rules change nothing. Source: KIP-98, KIP-360, KIP-890,
KIP-1228; Kafka's ``ProducerAppendInfo``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from oncelog.broker.log.producers.producer_entry import NONE_OPEN, ProducerStateEntry
from oncelog.broker.log.producers.verification_state import (
    TransactionSupportedOperation,
    VerificationEntry,
    VerificationGuard,
)
from oncelog.errors import Error
from oncelog.records.batch import BatchHeader
from oncelog.types import MAX_SEQUENCE


class Attempt(NamedTuple):
    """A data batch to be appended, with the state of its producer (None if there is none) and of its verification."""

    header: BatchHeader
    entry: ProducerStateEntry | None
    verification: VerificationEntry | None
    guard: VerificationGuard | None
    verify: bool


class MarkerAttempt(NamedTuple):
    """A transaction marker to be appended."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    transaction_version: int
    entry: ProducerStateEntry | None


class ProducerRule(NamedTuple):
    """A rule that refuses a batch with ``error`` if ``broken`` is true and no earlier rule has refused it."""

    name: str
    error: Error
    broken: Callable[[Attempt], bool]


class MarkerRule(NamedTuple):
    """A rule that refuses a transaction marker."""

    name: str
    error: Error
    broken: Callable[[MarkerAttempt], bool]


class Refusal(NamedTuple):
    """The error of the rule that refused, and a message with the values that the rule compared."""

    error: Error
    message: str


def _not_verified(a: Attempt) -> bool:
    if not a.verify or not a.header.is_transactional:
        return False
    entry = a.entry
    if (
        entry is not None
        and entry.current_txn_first_offset != NONE_OPEN
        and entry.producer_epoch == a.header.producer_epoch
    ):
        return False
    return a.guard is None or a.verification is None or a.verification.guard is not a.guard


def _older_epoch(a: Attempt) -> bool:
    return _is_older(a.header.producer_epoch, a.entry)


def _is_older(producer_epoch: int, entry: ProducerStateEntry | None) -> bool:
    return entry is not None and producer_epoch < entry.producer_epoch


def _not_first_of_lost_state(a: Attempt) -> bool:
    if a.verification is None or not a.header.base_sequence or (a.entry is not None and a.entry.batches):
        return False
    return a.verification.supports_epoch_bump


def _overtakes_verification(a: Attempt) -> bool:
    return a.verification is not None and a.header.base_sequence > a.verification.lowest_sequence


def _new_epoch_not_from_zero(a: Attempt) -> bool:
    return a.entry is not None and a.entry.producer_epoch != a.header.producer_epoch and a.header.base_sequence != 0


def _out_of_sequence(a: Attempt) -> bool:
    if a.entry is None or a.entry.producer_epoch != a.header.producer_epoch:
        return False
    last = a.entry.last_sequence
    return a.header.base_sequence != (0 if last == MAX_SEQUENCE else last + 1)


def _plain_write_in_transaction(a: Attempt) -> bool:
    return a.entry is not None and a.entry.current_txn_first_offset != NONE_OPEN and not a.header.is_transactional


_VERIFIED = ProducerRule("transaction not verified with its coordinator", Error.INVALID_TXN_STATE, _not_verified)
_EPOCH = ProducerRule("producer epoch older than the last one seen", Error.INVALID_PRODUCER_EPOCH, _older_epoch)
_PLAIN = ProducerRule(
    "non-transactional write while a transaction is open", Error.INVALID_TXN_STATE, _plain_write_in_transaction
)

CLIENT_RULES: Final = (
    # A batch with exactly the sequences of a cached batch does not reach these rules: it is answered as a duplicate.
    _EPOCH,  # before the next rule, whose error is fatal to a client whose transaction merely timed out (KAFKA-19690)
    _VERIFIED,
    ProducerRule(
        "sequence does not start at 0 although none is known (transaction version 2)",
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        _not_first_of_lost_state,
    ),
    ProducerRule(
        "sequence follows a batch whose verification is pending",
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        _overtakes_verification,
    ),
    ProducerRule(
        "sequence of a new epoch does not start at 0", Error.OUT_OF_ORDER_SEQUENCE_NUMBER, _new_epoch_not_from_zero
    ),
    ProducerRule("sequence does not follow the last one", Error.OUT_OF_ORDER_SEQUENCE_NUMBER, _out_of_sequence),
    # An unknown producer may start with any sequence (KIP-360).
    _PLAIN,
)
"""Reasons to refuse a producer's batch, in the order in which they are checked."""

COORDINATOR_RULES: Final = (_EPOCH, _VERIFIED, _PLAIN)
"""Reasons to refuse a batch of a coordinator of this broker (TxnOffsetCommit), which has no sequence."""


def _marker_epoch_older(m: MarkerAttempt) -> bool:
    return _is_older(m.producer_epoch, m.entry)


def _marker_epoch_not_bumped(m: MarkerAttempt) -> bool:
    """Whether a marker of transaction version 2, which bumps the epoch, has the same epoch as the open transaction;
    without an open transaction it is the retry of a marker."""
    if m.entry is None or m.transaction_version < 2 or m.entry.current_txn_first_offset == NONE_OPEN:
        return False
    return m.producer_epoch == m.entry.producer_epoch


def _marker_coordinator_older(m: MarkerAttempt) -> bool:
    return m.entry is not None and m.coordinator_epoch < m.entry.coordinator_epoch


MARKER_RULES: Final = (
    MarkerRule("producer epoch older than the last one seen", Error.INVALID_PRODUCER_EPOCH, _marker_epoch_older),
    MarkerRule(
        "producer epoch not bumped (transaction version 2)", Error.INVALID_PRODUCER_EPOCH, _marker_epoch_not_bumped
    ),
    MarkerRule(
        "coordinator epoch older than the last one seen",
        Error.TRANSACTION_COORDINATOR_FENCED,
        _marker_coordinator_older,
    ),
)
"""Reasons to refuse a transaction marker, in the order in which they are checked."""


def refused_unasked(producer_epoch: int, entry: ProducerStateEntry | None) -> Error | None:
    """The error of a producer's first append that is refused without asking the transaction coordinator, because its
    epoch is too old; else None."""
    return _EPOCH.error if _is_older(producer_epoch, entry) else None


def refused_by_coordinator(error: Error, operation: TransactionSupportedOperation) -> Error:
    """The error that a partition leader returns for an error of the transaction coordinator, depending on the request's
    version."""
    match error:
        case Error.PRODUCER_FENCED:
            return _EPOCH.error
        case Error.TRANSACTION_ABORTABLE if operation is TransactionSupportedOperation.DEFAULT_ERROR:
            return _VERIFIED.error
        case Error.CONCURRENT_TRANSACTIONS if not operation.supports_epoch_bump:
            return Error.NOT_ENOUGH_REPLICAS
        case _:
            return error
