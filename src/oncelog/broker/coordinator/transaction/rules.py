"""The whole transaction protocol without I/O: how every event is handled in every state.

``decide`` looks up one rule in ``RULES`` and changes nothing. The tables at the end of this file show when 51, 90, 48,
49 or 120 is returned; ``docs/reference/transaction-states.md`` is drawn from them.

Called only by ``shard``, which writes the value, applies it, answers, and continues with the markers. Invariants:
events from another producer, or from a zombie, reach only rules that are not wrapped in ``owned``; a value always
follows the previous state in ``states.MAY_FOLLOW``; CONCURRENT_TRANSACTIONS without a value means "retry once the
markers are written".

The checks are ordered as in Kafka 4.4: InitProducerId, AddPartitions and EndTxn 5 first check for a pending end of the
transaction (51), then the producer id (49, InitProducerId 90), then the epoch (90); EndTxn 0-4 and verification check
id and epoch first. Source: Kafka's ``TransactionCoordinator`` and ``TransactionMetadata``; KIP-98, KIP-360, KIP-588,
KIP-890. Open transactions that are kept (KIP-939) have a table of their own, ``kept_rules``.
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
    Expire,
    ForgetProducer,
    InitProducerId,
    MarkersWritten,
    Timeout,
    VerifyPartitions,
)
from oncelog.broker.coordinator.transaction.kept_rules import KEPT, is_two_phase
from oncelog.broker.coordinator.transaction.rule_parts import (
    FENCED,
    IGNORE,
    IMPOSSIBLE,
    INVALID_STATE,
    NEEDS_PRODUCER_ID,
    NOTHING,
    UNKNOWN,
    Decision,
    Rule,
    Table,
    complete,
    expected_producer,
    first_or_retry,
    follow,
    owned,
    prepare,
    prepare_and_bump,
    refuse,
    store,
)
from oncelog.broker.coordinator.transaction.states import EXPIRABLE, TransactionState, Txn
from oncelog.errors import Error
from oncelog.types import (
    MAX_EPOCH,
    NO_PRODUCER,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    ProducerIdAndEpoch,
)

S = TransactionState


def decide(txn: Txn | None, event: Event, now_ms: int) -> Decision:
    """Decide what ``event`` means for ``txn`` (None: the id is unknown); changes nothing."""
    known = UNKNOWN if txn is None else txn
    rule = RULES[type(event)][known.state]
    if known.state is S.ONGOING and is_two_phase(known, event):
        rule = KEPT.get(type(event), rule)
    return rule.run(known, event, now_ms)


# --- InitProducerId


def _create(txn: Txn, event: InitProducerId, now_ms: int) -> Decision:
    fresh = event.fresh_producer_id
    if fresh == NO_PRODUCER_ID:
        return NEEDS_PRODUCER_ID
    value = Txn(event.transactional_id, fresh, 0, event.timeout_ms, last_update_ms=now_ms, previous_producer_id=fresh)
    return store(value, value.producer)


def _renew(txn: Txn, event: InitProducerId, now_ms: int) -> Decision:
    """Answer a producer that has no open transaction: with a new epoch, with a new producer id if the epochs are used
    up, or with the same values again for a retry (KIP-360)."""
    given = event.expected != NO_PRODUCER
    expected_epoch = event.expected.producer_epoch
    producer_id, epoch = txn.producer_id, txn.producer_epoch
    if given and expected_epoch not in (epoch, txn.last_producer_epoch):
        return FENCED
    if given and expected_epoch != epoch:
        last_epoch = txn.last_producer_epoch
    else:
        last_epoch = epoch if given else NO_PRODUCER_EPOCH
        if txn.epochs_exhausted:
            if event.fresh_producer_id == NO_PRODUCER_ID:
                return NEEDS_PRODUCER_ID
            producer_id, epoch = event.fresh_producer_id, 0
        else:
            epoch += 1
    value = follow(
        txn,
        S.EMPTY,
        now_ms,
        producer_id=producer_id,
        epoch=epoch,
        last_epoch=last_epoch,
        version=txn.client_transaction_version,
        partitions=frozenset(),
        start_ms=NO_TIMESTAMP,
        timeout_ms=event.timeout_ms,
    )
    return store(value, value.producer)


def _fence(txn: Txn, event: InitProducerId, now_ms: int) -> Decision:
    """Abort the open transaction; the client retries after that.

    If the write fails, the epoch stays as it was, so repeated attempts do not use up epochs (Kafka's
    ``hasFailedEpochFence``).
    """
    aborted = _abort_open(txn, event.transaction_version, event.fresh_producer_id, now_ms)
    return aborted._replace(error=Error.CONCURRENT_TRANSACTIONS) if aborted.value is not None else aborted


def _abort_open(txn: Txn, version: int, fresh_producer_id: int, now_ms: int) -> Decision:
    """An abort that the coordinator itself decides, with a new epoch that fences the producer."""
    if version >= EPOCH_BUMP_VERSION:
        return _end_and_bump(txn, False, fresh_producer_id, txn.start_ms, now_ms)
    value = follow(
        txn,
        S.PREPARE_ABORT,
        now_ms,
        epoch=min(txn.producer_epoch + 1, MAX_EPOCH),
        last_epoch=NO_PRODUCER_EPOCH,
        version=0,
        partitions=txn.partitions,
        start_ms=txn.start_ms,
    )
    return store(value)


INIT_PRODUCER_ID: Final[Table[InitProducerId]] = {
    S.DEAD: Rule("create with a new producer id, epoch 0", _create),
    S.EMPTY: expected_producer(Rule("next epoch; PRODUCER_FENCED (90) for a stale one", _renew)),
    S.COMPLETE_COMMIT: expected_producer(Rule("next epoch; PRODUCER_FENCED (90) for a stale one", _renew)),
    S.COMPLETE_ABORT: expected_producer(Rule("next epoch; PRODUCER_FENCED (90) for a stale one", _renew)),
    S.ONGOING: expected_producer(Rule("fence, abort, CONCURRENT_TRANSACTIONS (51)", _fence)),
    S.PREPARE_COMMIT: refuse(Error.CONCURRENT_TRANSACTIONS),
    S.PREPARE_ABORT: refuse(Error.CONCURRENT_TRANSACTIONS),
    S.PREPARE_EPOCH_FENCE: IMPOSSIBLE,
}


# --- AddPartitionsToTxn, AddOffsetsToTxn


def _add(txn: Txn, event: AddPartitions, now_ms: int) -> Decision:
    ongoing = txn.state is S.ONGOING
    if not txn.timed and event.transaction_version < EPOCH_BUMP_VERSION:
        # otherwise two transactions would share an epoch, and thus the token by which a database decides
        return INVALID_STATE
    if ongoing and event.partitions <= txn.partitions:
        return NOTHING
    value = follow(
        txn,
        S.ONGOING,
        now_ms,
        epoch=txn.producer_epoch,
        last_epoch=txn.last_producer_epoch,
        version=event.transaction_version,
        partitions=txn.partitions | event.partitions,
        start_ms=txn.start_ms if ongoing else now_ms,
    )
    return store(value)


_BEGIN: Final = Rule("begin the transaction; in two-phase commit by the older protocol: INVALID_TXN_STATE (48)", _add)

ADD_PARTITIONS: Final[Table[AddPartitions]] = {
    S.DEAD: refuse(Error.INVALID_PRODUCER_ID_MAPPING),
    S.EMPTY: owned(_BEGIN),
    S.COMPLETE_COMMIT: owned(_BEGIN),
    S.COMPLETE_ABORT: owned(_BEGIN),
    S.ONGOING: owned(Rule("add; partitions that are already in the transaction are not written again", _add)),
    S.PREPARE_COMMIT: refuse(Error.CONCURRENT_TRANSACTIONS),
    S.PREPARE_ABORT: refuse(Error.CONCURRENT_TRANSACTIONS),
    S.PREPARE_EPOCH_FENCE: IMPOSSIBLE,
}


def _verify(txn: Txn, event: VerifyPartitions, now_ms: int) -> Decision:
    return Decision(absent=tuple(sorted(event.partitions - txn.partitions)))


_VERIFY: Final = owned(Rule("TRANSACTION_ABORTABLE (120) for each partition that is not in it", _verify))

VERIFY_PARTITIONS: Final[Table[VerifyPartitions]] = {
    S.DEAD: refuse(Error.INVALID_PRODUCER_ID_MAPPING),
    S.EMPTY: _VERIFY,
    S.COMPLETE_COMMIT: _VERIFY,
    S.COMPLETE_ABORT: _VERIFY,
    S.ONGOING: _VERIFY,
    S.PREPARE_COMMIT: owned(refuse(Error.CONCURRENT_TRANSACTIONS)),
    S.PREPARE_ABORT: owned(refuse(Error.CONCURRENT_TRANSACTIONS)),
    S.PREPARE_EPOCH_FENCE: IMPOSSIBLE,
}


# --- EndTxn


def _end(txn: Txn, event: EndTxn, now_ms: int) -> Decision:
    if not txn.timed:
        # otherwise the next transaction would have the same epoch, and thus the same two-phase-commit token
        return INVALID_STATE
    return store(prepare(txn, event, now_ms), txn.producer)


def _same(commit: bool, answer: Error) -> Rule[EndTxn]:
    """A rule that returns ``answer`` if EndTxn repeats the decided outcome, and INVALID_TXN_STATE if it has the other
    outcome."""

    def run(txn: Txn, event: EndTxn, now_ms: int) -> Decision:
        return Decision(answer, producer=txn.owner) if event.commit == commit else INVALID_STATE

    outcome = "commit" if commit else "abort"
    return owned(Rule(f"{outcome}: {answer.name} ({answer.value}); else INVALID_TXN_STATE (48)", run))


END_TXN: Final[Table[EndTxn]] = {
    S.DEAD: refuse(Error.INVALID_PRODUCER_ID_MAPPING),
    S.EMPTY: owned(refuse(Error.INVALID_TXN_STATE)),
    S.ONGOING: owned(Rule("prepare; answer; markers; in two-phase commit: INVALID_TXN_STATE (48)", _end)),
    S.PREPARE_COMMIT: _same(True, Error.CONCURRENT_TRANSACTIONS),
    S.PREPARE_ABORT: _same(False, Error.CONCURRENT_TRANSACTIONS),
    S.COMPLETE_COMMIT: _same(True, Error.NONE),
    S.COMPLETE_ABORT: _same(False, Error.NONE),
    S.PREPARE_EPOCH_FENCE: IMPOSSIBLE,
}


def _end_and_bump(txn: Txn, commit: bool, fresh_producer_id: int, start_ms: int, now_ms: int) -> Decision:
    """Prepare the end with the next epoch. If that is the last epoch, only the markers use it, and the next transaction
    gets a new producer id with epoch 0 (which Kafka does not store)."""
    following = NO_PRODUCER
    if txn.epochs_exhausted:
        if fresh_producer_id == NO_PRODUCER_ID:
            return NEEDS_PRODUCER_ID
        following = ProducerIdAndEpoch(fresh_producer_id, NO_PRODUCER_EPOCH)
    return prepare_and_bump(txn, commit, following, start_ms, now_ms)


def _end_open(txn: Txn, event: EndTxnAndBump, now_ms: int) -> Decision:
    return _end_and_bump(txn, event.commit, event.fresh_producer_id, txn.start_ms, now_ms)


def _abort_nothing(txn: Txn, event: EndTxnAndBump, now_ms: int) -> Decision:
    """Abort a transaction without partitions: a client that cannot know whether a partition was added aborts anyway.
    There is nothing to commit."""
    if event.commit:
        return INVALID_STATE
    return _end_and_bump(txn, False, event.fresh_producer_id, now_ms, now_ms)


def _answer_again(commit: bool) -> Rule[EndTxnAndBump]:
    def run(txn: Txn, event: EndTxnAndBump, now_ms: int) -> Decision:
        return Decision(producer=txn.producer) if event.commit == commit else INVALID_STATE

    return Rule(f"{'commit' if commit else 'abort'}: NONE (0); else INVALID_TXN_STATE (48)", run)


_ABORT_NOTHING: Final = Rule("abort: prepare, no markers; commit: INVALID_TXN_STATE (48)", _abort_nothing)

END_TXN_AND_BUMP: Final[Table[EndTxnAndBump]] = {
    S.DEAD: refuse(Error.INVALID_PRODUCER_ID_MAPPING),
    S.EMPTY: first_or_retry(_ABORT_NOTHING, refuse(Error.PRODUCER_FENCED)),
    S.ONGOING: first_or_retry(Rule("prepare; answer; markers", _end_open), refuse(Error.PRODUCER_FENCED)),
    S.PREPARE_COMMIT: refuse(Error.CONCURRENT_TRANSACTIONS),
    S.PREPARE_ABORT: refuse(Error.CONCURRENT_TRANSACTIONS),
    S.COMPLETE_COMMIT: first_or_retry(_ABORT_NOTHING, _answer_again(True)),
    S.COMPLETE_ABORT: first_or_retry(_ABORT_NOTHING, _answer_again(False)),
    S.PREPARE_EPOCH_FENCE: IMPOSSIBLE,
}


# --- the coordinator's own events


def _timeout(txn: Txn, event: Timeout, now_ms: int) -> Decision:
    if not txn.timed or txn.start_ms + txn.timeout_ms >= now_ms:
        return NOTHING
    return _abort_open(txn, event.transaction_version, event.fresh_producer_id, now_ms)


TIMEOUT: Final[Table[Timeout]] = {
    **dict.fromkeys(S, IGNORE),
    S.ONGOING: Rule("past start + timeout, if it has one: fence and abort", _timeout),
    S.PREPARE_EPOCH_FENCE: IMPOSSIBLE,
}


_COMPLETE: Final[Rule[MarkersWritten]] = Rule("complete", lambda txn, event, now_ms: store(complete(txn, now_ms)))

MARKERS_WRITTEN: Final[Table[MarkersWritten]] = {
    **dict.fromkeys(S, IMPOSSIBLE),
    S.PREPARE_COMMIT: _COMPLETE,
    S.PREPARE_ABORT: _COMPLETE,
}


def _expire(txn: Txn, event: Expire, now_ms: int) -> Decision:
    return Decision(forget=True) if txn.last_update_ms <= now_ms - event.idle_ms else NOTHING


_EXPIRE: Final = Rule("idle for long enough: remove", _expire)

EXPIRE: Final[Table[Expire]] = {
    **{state: _EXPIRE if state in EXPIRABLE else IGNORE for state in S},
    S.PREPARE_EPOCH_FENCE: IMPOSSIBLE,
}


def _disown(txn: Txn, event: ForgetProducer, now_ms: int) -> Decision:
    """Use up the producer id's epochs: a producer that still uses the id is fenced, and the next producer gets another
    producer id."""
    ongoing = txn.state is S.ONGOING
    value = follow(
        txn,
        S.PREPARE_ABORT if ongoing else S.EMPTY,
        now_ms,
        epoch=MAX_EPOCH,
        last_epoch=NO_PRODUCER_EPOCH,
        version=0,
        partitions=txn.partitions if ongoing else frozenset(),
        start_ms=txn.start_ms if ongoing else NO_TIMESTAMP,
    )
    return store(value)


def _disown_prepared(txn: Txn, event: ForgetProducer, now_ms: int) -> Decision:
    """Complete a prepared transaction without new markers: a partition that refuses a marker as too old already has it,
    because nothing newer could have been written there before it."""
    value = complete(txn, now_ms)
    used_up = value.producer_id == txn.producer_id
    return Decision(value=value._replace(producer_epoch=MAX_EPOCH) if used_up else value)


_DISOWN_IDLE: Final = Rule("exhaust the epochs", _disown)
_DISOWN_PREPARED: Final = Rule("complete; exhaust the epochs", _disown_prepared)

DISOWN: Final[Table[ForgetProducer]] = {
    S.DEAD: IGNORE,
    S.EMPTY: _DISOWN_IDLE,
    S.ONGOING: Rule("abort; exhaust the epochs", _disown),
    S.PREPARE_COMMIT: _DISOWN_PREPARED,
    S.PREPARE_ABORT: _DISOWN_PREPARED,
    S.COMPLETE_COMMIT: _DISOWN_IDLE,
    S.COMPLETE_ABORT: _DISOWN_IDLE,
    S.PREPARE_EPOCH_FENCE: IMPOSSIBLE,
}

RULES: Final[Mapping[type[Event], Table[Any]]] = {
    InitProducerId: INIT_PRODUCER_ID,
    AddPartitions: ADD_PARTITIONS,
    VerifyPartitions: VERIFY_PARTITIONS,
    EndTxn: END_TXN,
    EndTxnAndBump: END_TXN_AND_BUMP,
    Timeout: TIMEOUT,
    MarkersWritten: MARKERS_WRITTEN,
    Expire: EXPIRE,
    ForgetProducer: DISOWN,
}
