"""Verification of an append by the transaction coordinator (KIP-890): the state while the answer is pending, and the
proof.

``producer_state`` creates the guard before the coordinator is asked; ``broker.core.appending.verification`` asks the
coordinator; the append has the guard with it, and ``producer_rules`` check it.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from oncelog.errors import Error


class TransactionSupportedOperation(Enum):
    """What the sender of a Produce or TxnOffsetCommit request supports, according to the request's version (Kafka's
    enum of this name)."""

    DEFAULT_ERROR = "default"
    GENERIC_ERROR_SUPPORTED = "generic"
    """The sender knows the error TRANSACTION_ABORTABLE."""
    ADD_PARTITION = "add"
    """The append itself adds its partition to the transaction (``transaction.version`` 2)."""

    @property
    def supports_epoch_bump(self) -> bool:
        return self is TransactionSupportedOperation.ADD_PARTITION


class VerificationGuard:
    """Proof that the transaction coordinator verified an append (KIP-890), valid as long as it is the producer's
    current guard."""

    __slots__ = ()


class VerificationEntry:
    """A producer whose transaction is being verified, and the lowest sequence of its appends that wait for the
    verification.
    """

    __slots__ = ("created_ms", "epoch", "guard", "lowest_sequence", "supports_epoch_bump")

    def __init__(self, created_ms: int, epoch: int, first_sequence: int, supports_epoch_bump: bool) -> None:
        self.created_ms = created_ms
        self.epoch = epoch
        self.lowest_sequence = first_sequence
        self.supports_epoch_bump = supports_epoch_bump
        self.guard = VerificationGuard()

    def seen(self, epoch: int, first_sequence: int) -> None:
        """Called when another append of the producer needs verification: keep the lowest sequence; a newer epoch
        replaces the entry's sequence.
        """
        if epoch > self.epoch or (epoch == self.epoch and first_sequence < self.lowest_sequence):
            self.epoch = epoch
            self.lowest_sequence = first_sequence

    def is_of_later_transaction(self, marker_epoch: int) -> bool:
        """Whether the guard belongs to a later transaction than the one that a marker with this epoch ends."""
        return self.supports_epoch_bump and self.epoch >= marker_epoch


class Verification(NamedTuple):
    """Result of a verification: ``error`` is an error as a partition leader returns it; ``guard`` is the guard for the
    append.

    With neither an error nor a guard, there was nothing to verify.
    """

    error: Error
    guard: VerificationGuard | None = None
