"""The producer's reaction to each error code, in one table.

Called by the sender and the transaction manager. A row applies to every request unless the request has a row of its
own. Source: Kafka's ``TransactionManager`` and ``Sender`` (4.x): KIP-360, KIP-588, KIP-654, KIP-691, KIP-890.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from oncelog.errors import Error


class Step(Enum):
    """The kinds of requests that a producer sends."""

    PRODUCE_IDEMPOTENT = auto()
    PRODUCE_TRANSACTIONAL = auto()
    FIND_COORDINATOR = auto()
    INIT_PRODUCER_ID = auto()
    ADD_PARTITIONS = auto()
    ADD_OFFSETS = auto()
    TXN_OFFSET_COMMIT = auto()
    END_TXN = auto()


class ErrorAction(Enum):
    """The producer's reaction to an answer."""

    DONE = auto()
    RETRY = auto()
    """Repeat the same request after ``retry.backoff.ms``."""
    FIND_COORDINATOR = auto()
    """Look the coordinator up again, then repeat the same request."""
    SEQUENCE = auto()
    """Let the batch's sequences decide: see ``TransactionManager.verdict_on_sequence``."""
    FAIL = auto()
    """Fail this batch or call; the producer continues."""
    ABORTABLE = auto()
    """Put the transaction into an error state from which only an abort leads."""
    FENCED = auto()
    """Fail the producer for good, because another instance uses the transactional id."""
    FATAL = auto()
    """Fatal."""


_ALWAYS: Mapping[Error, ErrorAction] = {
    Error.NONE: ErrorAction.DONE,
    Error.COORDINATOR_NOT_AVAILABLE: ErrorAction.FIND_COORDINATOR,
    Error.NOT_COORDINATOR: ErrorAction.FIND_COORDINATOR,
    Error.PRODUCER_FENCED: ErrorAction.FENCED,
    Error.INVALID_PRODUCER_EPOCH: ErrorAction.FENCED,
    Error.CLUSTER_AUTHORIZATION_FAILED: ErrorAction.FATAL,
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: ErrorAction.FATAL,
    Error.UNSUPPORTED_VERSION: ErrorAction.FATAL,
    Error.INVALID_PRODUCER_ID_MAPPING: ErrorAction.FATAL,
    Error.INVALID_TXN_STATE: ErrorAction.FATAL,
    Error.TRANSACTION_ABORTABLE: ErrorAction.ABORTABLE,
    Error.TOPIC_AUTHORIZATION_FAILED: ErrorAction.ABORTABLE,
    Error.GROUP_AUTHORIZATION_FAILED: ErrorAction.ABORTABLE,
    Error.OPERATION_NOT_ATTEMPTED: ErrorAction.ABORTABLE,
}

_PRODUCE: Mapping[Error, ErrorAction] = {
    Error.DUPLICATE_SEQUENCE_NUMBER: ErrorAction.DONE,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: ErrorAction.SEQUENCE,
    Error.UNKNOWN_PRODUCER_ID: ErrorAction.SEQUENCE,
    Error.COORDINATOR_NOT_AVAILABLE: ErrorAction.RETRY,
    Error.NOT_COORDINATOR: ErrorAction.RETRY,
}

_BY_STEP: Mapping[Step, Mapping[Error, ErrorAction]] = {
    Step.PRODUCE_IDEMPOTENT: {
        **_PRODUCE,
        Error.INVALID_PRODUCER_EPOCH: ErrorAction.FAIL,
        Error.INVALID_TXN_STATE: ErrorAction.FAIL,
        Error.TOPIC_AUTHORIZATION_FAILED: ErrorAction.FAIL,
        Error.GROUP_AUTHORIZATION_FAILED: ErrorAction.FAIL,
        Error.TRANSACTION_ABORTABLE: ErrorAction.FAIL,
        Error.OPERATION_NOT_ATTEMPTED: ErrorAction.FAIL,
        Error.INVALID_PRODUCER_ID_MAPPING: ErrorAction.FAIL,
    },
    Step.PRODUCE_TRANSACTIONAL: {
        **_PRODUCE,
        Error.INVALID_PRODUCER_EPOCH: ErrorAction.ABORTABLE,
        Error.INVALID_TXN_STATE: ErrorAction.ABORTABLE,
    },
    Step.FIND_COORDINATOR: {
        Error.COORDINATOR_NOT_AVAILABLE: ErrorAction.RETRY,
        Error.NOT_COORDINATOR: ErrorAction.RETRY,
    },
    Step.INIT_PRODUCER_ID: {
        Error.CLUSTER_AUTHORIZATION_FAILED: ErrorAction.FAIL,
        Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: ErrorAction.FAIL,
        Error.TRANSACTION_ABORTABLE: ErrorAction.FAIL,
        Error.INVALID_TRANSACTION_TIMEOUT: ErrorAction.FAIL,
    },
    Step.ADD_PARTITIONS: {},
    Step.ADD_OFFSETS: {},
    Step.TXN_OFFSET_COMMIT: {
        Error.FENCED_INSTANCE_ID: ErrorAction.ABORTABLE,
        Error.ILLEGAL_GENERATION: ErrorAction.ABORTABLE,
        Error.UNKNOWN_MEMBER_ID: ErrorAction.ABORTABLE,
        Error.STALE_MEMBER_EPOCH: ErrorAction.ABORTABLE,
        Error.GROUP_ID_NOT_FOUND: ErrorAction.ABORTABLE,
    },
    Step.END_TXN: {},
}

_OTHERWISE: Mapping[Step, ErrorAction] = {
    Step.PRODUCE_IDEMPOTENT: ErrorAction.FAIL,
    Step.PRODUCE_TRANSACTIONAL: ErrorAction.ABORTABLE,
    Step.FIND_COORDINATOR: ErrorAction.FATAL,
    Step.INIT_PRODUCER_ID: ErrorAction.FATAL,
    Step.ADD_PARTITIONS: ErrorAction.ABORTABLE,
    Step.ADD_OFFSETS: ErrorAction.FATAL,
    Step.TXN_OFFSET_COMMIT: ErrorAction.ABORTABLE,
    Step.END_TXN: ErrorAction.FATAL,
}


def action_for(step: Step, error: Error) -> ErrorAction:
    """The action for an answer: the step's own row, else the common row, else a repeat if the code is retriable, else
    the step's default."""
    own = _BY_STEP[step].get(error)
    if own is not None:
        return own
    common = _ALWAYS.get(error)
    if common is not None:
        return common
    if error.retriable:
        return ErrorAction.RETRY
    return _OTHERWISE[step]
