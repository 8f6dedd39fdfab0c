"""Makes the errors that a producer raises in every call: until the transaction is aborted, or forever.

Called by the transaction manager.
"""

from __future__ import annotations

from oncelog.client.core.client_errors import AbortableTransactionError, FatalProducerError, ProducerFenced
from oncelog.client.core.connection.error_rules import ErrorAction
from oncelog.errors import KafkaError


def text_of(error: KafkaError) -> str:
    """The text of an error without the error code at its end."""
    return str(error).removesuffix(f" [{error.error.name}]")


def repeats_itself(error: KafkaError) -> bool:
    """Whether the error can be raised again by later calls, in a new exception of the same class with more text."""
    return isinstance(error, (AbortableTransactionError, FatalProducerError))


def fatal_error(action: ErrorAction, error: KafkaError, transactional_id: str | None) -> KafkaError:
    """The error that puts the producer into its final state."""
    if action is ErrorAction.FENCED:
        return ProducerFenced(
            error.error,
            f"another producer has taken transactional.id {transactional_id!r}, or its transaction timed out; "
            "stop this producer",
        )
    if isinstance(error, FatalProducerError):
        return error
    return FatalProducerError(error.error, text_of(error))


__all__ = ["fatal_error", "repeats_itself", "text_of"]
