"""What each error code means to a producer, in one table.

Called by the sender and the transaction manager. A row applies to every request unless the request has a row of its
own. Source: Kafka's ``TransactionManager`` and ``Sender`` (4.x): KIP-360, KIP-588, KIP-654, KIP-691, KIP-890.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from oncelog.errors import Error


class Step(Enum):
    """The requests of a producer."""

    PRODUCE_IDEMPOTENT = auto()
    PRODUCE_TRANSACTIONAL = auto()
    FIND_COORDINATOR = auto()
    INIT_PRODUCER_ID = auto()
    ADD_PARTITIONS = auto()
    ADD_OFFSETS = auto()
    TXN_OFFSET_COMMIT = auto()
    END_TXN = auto()


class Action(Enum):
    """What the producer does next."""

    DONE = auto()
    RETRY = auto()
    """Repeat the same request after ``retry.backoff.ms``."""
    FIND_COORDINATOR = auto()
    """Look the coordinator up again, then repeat the same request."""
    SEQUENCE = auto()
    """Depends on the sequences: see ``TransactionManager.verdict_on_sequence``."""
    FAIL = auto()
    """This batch or call fails; the producer continues."""
    ABORTABLE = auto()
    """The transaction must be aborted."""
    FENCED = auto()
    """Fatal: another instance uses the transactional id."""
    FATAL = auto()
    """Fatal."""


_ALWAYS: Mapping[Error, Action] = {
    Error.NONE: Action.DONE,
    Error.COORDINATOR_NOT_AVAILABLE: Action.FIND_COORDINATOR,
    Error.NOT_COORDINATOR: Action.FIND_COORDINATOR,
    Error.PRODUCER_FENCED: Action.FENCED,
    Error.INVALID_PRODUCER_EPOCH: Action.FENCED,
    Error.CLUSTER_AUTHORIZATION_FAILED: Action.FATAL,
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Action.FATAL,
    Error.UNSUPPORTED_VERSION: Action.FATAL,
    Error.INVALID_PRODUCER_ID_MAPPING: Action.FATAL,
    Error.INVALID_TXN_STATE: Action.FATAL,
    Error.TRANSACTION_ABORTABLE: Action.ABORTABLE,
    Error.TOPIC_AUTHORIZATION_FAILED: Action.ABORTABLE,
    Error.GROUP_AUTHORIZATION_FAILED: Action.ABORTABLE,
    Error.OPERATION_NOT_ATTEMPTED: Action.ABORTABLE,
}

_PRODUCE: Mapping[Error, Action] = {
    Error.DUPLICATE_SEQUENCE_NUMBER: Action.DONE,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: Action.SEQUENCE,
    Error.UNKNOWN_PRODUCER_ID: Action.SEQUENCE,
    Error.COORDINATOR_NOT_AVAILABLE: Action.RETRY,
    Error.NOT_COORDINATOR: Action.RETRY,
}

_BY_STEP: Mapping[Step, Mapping[Error, Action]] = {
    Step.PRODUCE_IDEMPOTENT: {
        **_PRODUCE,
        Error.INVALID_PRODUCER_EPOCH: Action.FAIL,
        Error.INVALID_TXN_STATE: Action.FAIL,
        Error.TOPIC_AUTHORIZATION_FAILED: Action.FAIL,
        Error.GROUP_AUTHORIZATION_FAILED: Action.FAIL,
        Error.TRANSACTION_ABORTABLE: Action.FAIL,
        Error.OPERATION_NOT_ATTEMPTED: Action.FAIL,
        Error.INVALID_PRODUCER_ID_MAPPING: Action.FAIL,
    },
    Step.PRODUCE_TRANSACTIONAL: {
        **_PRODUCE,
        Error.INVALID_PRODUCER_EPOCH: Action.ABORTABLE,
        Error.INVALID_TXN_STATE: Action.ABORTABLE,
    },
    Step.FIND_COORDINATOR: {
        Error.COORDINATOR_NOT_AVAILABLE: Action.RETRY,
        Error.NOT_COORDINATOR: Action.RETRY,
    },
    Step.INIT_PRODUCER_ID: {
        Error.CLUSTER_AUTHORIZATION_FAILED: Action.FAIL,
        Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Action.FAIL,
        Error.TRANSACTION_ABORTABLE: Action.FAIL,
        Error.INVALID_TRANSACTION_TIMEOUT: Action.FAIL,
    },
    Step.ADD_PARTITIONS: {},
    Step.ADD_OFFSETS: {},
    Step.TXN_OFFSET_COMMIT: {
        Error.FENCED_INSTANCE_ID: Action.ABORTABLE,
        Error.ILLEGAL_GENERATION: Action.ABORTABLE,
        Error.UNKNOWN_MEMBER_ID: Action.ABORTABLE,
        Error.STALE_MEMBER_EPOCH: Action.ABORTABLE,
    },
    Step.END_TXN: {},
}

_OTHERWISE: Mapping[Step, Action] = {
    Step.PRODUCE_IDEMPOTENT: Action.FAIL,
    Step.PRODUCE_TRANSACTIONAL: Action.ABORTABLE,
    Step.FIND_COORDINATOR: Action.FATAL,
    Step.INIT_PRODUCER_ID: Action.FATAL,
    Step.ADD_PARTITIONS: Action.ABORTABLE,
    Step.ADD_OFFSETS: Action.FATAL,
    Step.TXN_OFFSET_COMMIT: Action.ABORTABLE,
    Step.END_TXN: Action.FATAL,
}


def action_for(step: Step, error: Error) -> Action:
    """The action for an answer: the step's own row, else the common row, else a repeat if the code is retriable, else
    the step's default."""
    own = _BY_STEP[step].get(error)
    if own is not None:
        return own
    common = _ALWAYS.get(error)
    if common is not None:
        return common
    if error.retriable:
        return Action.RETRY
    return _OTHERWISE[step]
