"""Verification of an append with the transaction coordinator (KIP-890): what is asked, and what proves the answer.

``log.producer_state`` gives out the guard before the coordinator is asked; ``broker.verification`` asks; the append
carries the guard, and the rules in ``log.producer_rules`` look at it.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from oncelog.errors import Error


class TransactionSupportedOperation(Enum):
    """What the version of a Produce or TxnOffsetCommit lets its sender understand (Kafka's enum of this name)."""

    DEFAULT_ERROR = "default"
    GENERIC_ERROR_SUPPORTED = "generic"
    """TRANSACTION_ABORTABLE is known."""
    ADD_PARTITION = "add"
    """The append adds its partition to the transaction (transaction.version 2)."""

    @property
    def supports_epoch_bump(self) -> bool:
        return self is TransactionSupportedOperation.ADD_PARTITION


class VerificationGuard:
    """Proof that an append was verified with the transaction coordinator (KIP-890), while it is the current one."""

    __slots__ = ()


class VerificationEntry:
    """A producer whose transaction is being verified, and the lowest sequence it has tried to append meanwhile."""

    __slots__ = ("created_ms", "epoch", "guard", "lowest_sequence", "supports_epoch_bump")

    def __init__(self, created_ms: int, epoch: int, first_sequence: int, supports_epoch_bump: bool) -> None:
        self.created_ms = created_ms
        self.epoch = epoch
        self.lowest_sequence = first_sequence
        self.supports_epoch_bump = supports_epoch_bump
        self.guard = VerificationGuard()

    def seen(self, epoch: int, first_sequence: int) -> None:
        """Another append asks for verification: a lower sequence, or a newer epoch, which starts again."""
        if epoch > self.epoch or (epoch == self.epoch and first_sequence < self.lowest_sequence):
            self.epoch = epoch
            self.lowest_sequence = first_sequence


class Verification(NamedTuple):
    """What came of it: ``error`` in the words of a partition's leader, and the guard that the append carries.

    No error and no guard: there was nothing to verify.
    """

    error: Error
    guard: VerificationGuard | None = None
