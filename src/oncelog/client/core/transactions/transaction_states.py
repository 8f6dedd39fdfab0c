"""The life cycle of a producer as two tables: which state may follow which, and what each call does in each state.

Called by the transaction manager; the documentation shows both tables. Source: ``TransactionManager.State`` (KIP-98,
KIP-890, KIP-939).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto


class ClientTxnState(Enum):
    """The producer's state."""

    UNINITIALIZED = auto()
    INITIALIZING = auto()
    READY = auto()
    IN_TRANSACTION = auto()
    PREPARED = auto()
    """All records are stored, and a database decides between commit and abort (KIP-939)."""
    COMMITTING = auto()
    ABORTING = auto()
    ABORTABLE_ERROR = auto()
    FATAL_ERROR = auto()


_S = ClientTxnState

MAY_FOLLOW: Mapping[ClientTxnState, frozenset[ClientTxnState]] = {
    _S.UNINITIALIZED: frozenset({_S.READY, _S.INITIALIZING}),
    _S.INITIALIZING: frozenset({_S.UNINITIALIZED, _S.COMMITTING, _S.ABORTING}),
    _S.READY: frozenset({_S.INITIALIZING, _S.COMMITTING, _S.ABORTING}),
    _S.IN_TRANSACTION: frozenset({_S.READY}),
    _S.PREPARED: frozenset({_S.IN_TRANSACTION, _S.INITIALIZING}),
    _S.COMMITTING: frozenset({_S.IN_TRANSACTION, _S.PREPARED}),
    _S.ABORTING: frozenset({_S.IN_TRANSACTION, _S.PREPARED, _S.ABORTABLE_ERROR}),
    _S.ABORTABLE_ERROR: frozenset({_S.IN_TRANSACTION, _S.PREPARED, _S.COMMITTING, _S.ABORTABLE_ERROR}),
    _S.FATAL_ERROR: frozenset(ClientTxnState),
}
"""For each state, the states that may precede it."""


class Call(Enum):
    """The calls on a transactional producer."""

    INIT = auto()
    BEGIN = auto()
    SEND = auto()
    SEND_OFFSETS = auto()
    PREPARE = auto()
    COMPLETE = auto()
    COMMIT = auto()
    ABORT = auto()


class CallRule(Enum):
    """What the producer does when a call arrives."""

    PROCEED = auto()
    JOIN = auto()
    """Wait for the outcome of the same call, which is already under way."""
    MISUSE = auto()
    """Raise IllegalStateError, because the program must not call this now."""
    RAISE = auto()
    """Raise the error that led to the current state."""


_R = CallRule

_BAD = {_S.ABORTABLE_ERROR: _R.RAISE, _S.FATAL_ERROR: _R.RAISE}
_NOT_OPEN = {
    _S.UNINITIALIZED: _R.MISUSE,
    _S.INITIALIZING: _R.MISUSE,
    _S.READY: _R.MISUSE,
    _S.IN_TRANSACTION: _R.PROCEED,
    _S.PREPARED: _R.MISUSE,
    _S.COMMITTING: _R.MISUSE,
    _S.ABORTING: _R.MISUSE,
}

RULINGS: Mapping[Call, Mapping[ClientTxnState, CallRule]] = {
    Call.INIT: {
        _S.UNINITIALIZED: _R.PROCEED,
        _S.INITIALIZING: _R.JOIN,
        _S.READY: _R.MISUSE,
        _S.IN_TRANSACTION: _R.MISUSE,
        _S.PREPARED: _R.MISUSE,
        _S.COMMITTING: _R.MISUSE,
        _S.ABORTING: _R.MISUSE,
        **_BAD,
    },
    Call.BEGIN: {
        _S.UNINITIALIZED: _R.MISUSE,
        _S.INITIALIZING: _R.MISUSE,
        _S.READY: _R.PROCEED,
        _S.IN_TRANSACTION: _R.MISUSE,
        _S.PREPARED: _R.MISUSE,
        _S.COMMITTING: _R.MISUSE,
        _S.ABORTING: _R.MISUSE,
        **_BAD,
    },
    Call.SEND: {**_NOT_OPEN, **_BAD},
    Call.SEND_OFFSETS: {**_NOT_OPEN, **_BAD},
    Call.PREPARE: {**_NOT_OPEN, **_BAD, _S.PREPARED: _R.JOIN},
    Call.COMPLETE: {
        **_NOT_OPEN,
        **_BAD,
        _S.READY: _R.PROCEED,
        _S.IN_TRANSACTION: _R.MISUSE,
        _S.PREPARED: _R.PROCEED,
        _S.COMMITTING: _R.JOIN,
        _S.ABORTING: _R.JOIN,
    },
    Call.COMMIT: {**_NOT_OPEN, **_BAD, _S.PREPARED: _R.PROCEED, _S.COMMITTING: _R.JOIN},
    Call.ABORT: {
        **_NOT_OPEN,
        _S.PREPARED: _R.PROCEED,
        _S.INITIALIZING: _R.JOIN,
        _S.ABORTING: _R.JOIN,
        _S.ABORTABLE_ERROR: _R.PROCEED,
        _S.FATAL_ERROR: _R.RAISE,
    },
}
"""The rule for each call in each state. In INITIALIZING, ABORT waits for the call under way, because under the older
protocol an abort ends with a request for a new epoch."""

HINTS: Mapping[ClientTxnState, str] = {
    _S.UNINITIALIZED: "the producer has not started; call start() first",
    _S.INITIALIZING: "the producer is still starting; wait for start() to return",
    _S.READY: "no transaction is open; call begin_transaction() first",
    _S.IN_TRANSACTION: "a transaction is open; commit or abort it first",
    _S.PREPARED: "a transaction is prepared, and takes no more records; end it with complete(token)",
    _S.COMMITTING: "a commit is under way; repeat commit_transaction() to learn its outcome",
    _S.ABORTING: "an abort is under way; repeat abort_transaction() to learn its outcome",
    _S.ABORTABLE_ERROR: "the transaction has failed; call abort_transaction()",
    _S.FATAL_ERROR: "the producer has failed; stop it and start a new one",
}
