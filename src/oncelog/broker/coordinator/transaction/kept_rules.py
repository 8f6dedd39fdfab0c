"""Rules for an open transaction that a later producer with the same transactional id keeps, in order to end it as a
database has decided (KIP-939).

Source: the KIP and its pull request, because no release of Kafka contains it. Called only by ``rules``, whose tables
are those of released Kafka; events without a row here are handled as in any other open transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from oncelog.broker.coordinator.transaction.events import (
    EPOCH_BUMP_VERSION,
    AddPartitions,
    EndTxn,
    EndTxnAndBump,
    Event,
    InitProducerId,
    Timeout,
    VerifyPartitions,
)
from oncelog.broker.coordinator.transaction.rule_parts import (
    FENCED,
    NEEDS_PRODUCER_ID,
    NOTHING,
    UNSUPPORTED,
    Decision,
    Rule,
    expected_producer,
    first_or_retry,
    follow,
    owned,
    prepare,
    prepare_and_bump,
    refuse,
    store,
)
from oncelog.broker.coordinator.transaction.states import NO_TIME_LIMIT, TransactionState, Txn
from oncelog.errors import Error
from oncelog.types import NO_PRODUCER, NO_PRODUCER_ID, ProducerIdAndEpoch

S = TransactionState


def is_two_phase(txn: Txn, event: Event) -> bool:
    """Whether the open transaction was kept by a later producer, or is to be kept by this event."""
    return txn.kept or (isinstance(event, InitProducerId) and event.keep_prepared)


def _next_owner(txn: Txn, fresh_producer_id: int) -> ProducerIdAndEpoch:
    producer_id, epoch = txn.owner
    if txn.epochs_exhausted:
        return ProducerIdAndEpoch(fresh_producer_id, 0)
    return ProducerIdAndEpoch(producer_id, epoch + 1)


def _keep(txn: Txn, event: InitProducerId, now_ms: int) -> Decision:
    """The open transaction keeps its producer id and epoch, which a database may have stored; its producer gets the
    next epoch.

    The transaction can only be ended: epochs could not distinguish data added later from older data. With two-phase
    commit it no longer has a timeout; otherwise it keeps the timeout with which it began.
    """
    owner = txn.owner
    if event.expected not in (NO_PRODUCER, owner):
        return FENCED
    if event.transaction_version < EPOCH_BUMP_VERSION:
        return UNSUPPORTED
    if txn.epochs_exhausted and event.fresh_producer_id == NO_PRODUCER_ID:
        return NEEDS_PRODUCER_ID
    value = follow(
        txn,
        S.ONGOING,
        now_ms,
        epoch=txn.producer_epoch,
        last_epoch=txn.last_producer_epoch,
        next_producer=_next_owner(txn, event.fresh_producer_id),
        version=txn.client_transaction_version,
        partitions=txn.partitions,
        start_ms=txn.start_ms,
        timeout_ms=NO_TIME_LIMIT if event.timeout_ms == NO_TIME_LIMIT else txn.timeout_ms,
    )
    return Decision(value=value, producer=value.owner, ongoing=value.producer)


def _init(txn: Txn, event: InitProducerId, now_ms: int) -> Decision:
    if event.keep_prepared:
        return _keep(txn, event, now_ms)
    aborted = _end_and_bump(txn, False, event.fresh_producer_id, now_ms)
    return aborted._replace(error=Error.CONCURRENT_TRANSACTIONS) if aborted.value is not None else aborted


def _end(txn: Txn, event: EndTxn, now_ms: int) -> Decision:
    return store(prepare(txn, event, now_ms, txn.owner), txn.owner)


def _end_and_bump(txn: Txn, commit: bool, fresh_producer_id: int, now_ms: int) -> Decision:
    """End a kept transaction: markers get the transaction's epoch plus one, and the producer that ends it gets its own
    epoch plus one."""
    if txn.epochs_exhausted and fresh_producer_id == NO_PRODUCER_ID:
        return NEEDS_PRODUCER_ID
    return prepare_and_bump(txn, commit, _next_owner(txn, fresh_producer_id), txn.start_ms, now_ms)


def _end_open(txn: Txn, event: EndTxnAndBump, now_ms: int) -> Decision:
    return _end_and_bump(txn, event.commit, event.fresh_producer_id, now_ms)


def _timeout(txn: Txn, event: Timeout, now_ms: int) -> Decision:
    if not txn.timed or txn.start_ms + txn.timeout_ms >= now_ms:
        return NOTHING
    return _end_and_bump(txn, False, event.fresh_producer_id, now_ms)


KEPT: Final[Mapping[type[Event], Rule[Any]]] = {
    InitProducerId: expected_producer(
        Rule("with keepPreparedTxn: next epoch to end it with; else fence, abort, CONCURRENT_TRANSACTIONS (51)", _init)
    ),
    AddPartitions: owned(refuse(Error.INVALID_TXN_STATE)),
    VerifyPartitions: owned(refuse(Error.INVALID_TXN_STATE)),
    EndTxn: owned(Rule("prepare; answer; markers", _end)),
    EndTxnAndBump: first_or_retry(Rule("prepare; answer; markers", _end_open), refuse(Error.PRODUCER_FENCED)),
    Timeout: Rule("past start + timeout, if it has one: fence and abort", _timeout),
}
"""The rule for an event in an open transaction that a later producer keeps, or that the event asks to keep
(``keepPreparedTxn``).
"""
