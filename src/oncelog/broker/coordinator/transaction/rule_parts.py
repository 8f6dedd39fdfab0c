"""Building blocks of the transaction protocol's rules: decisions, cells of the tables, and checks of the producer.

Called only by ``rules`` and ``kept_rules``. Source: Kafka's ``TransactionCoordinator`` and ``TransactionMetadata``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from oncelog.broker.coordinator.transaction.events import (
    EPOCH_BUMP_VERSION,
    AddPartitions,
    EndTxn,
    EndTxnAndBump,
    InitProducerId,
    VerifyPartitions,
)
from oncelog.broker.coordinator.transaction.states import LAST_CLIENT_EPOCH, TransactionState, Txn
from oncelog.errors import NONE, Error, InvariantError
from oncelog.types import (
    MAX_EPOCH,
    NO_PRODUCER,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    ProducerIdAndEpoch,
    TopicPartition,
    new_tuple,
)

S = TransactionState
E = TypeVar("E")


class Decision(NamedTuple):
    """What to do, in this order: write ``value`` (or the tombstone), then answer ``error``, ``producer``, ``absent``.

    Without a value and a tombstone: only answer. ``needs_producer_id``: nothing is decided yet; decide again with
    ``fresh_producer_id`` set. ``ongoing`` is the producer id and epoch of a transaction that was kept. Once a value in
    one of the states ``states.PREPARED`` is committed, the transaction's markers are sent.
    """

    error: Error = Error.NONE
    value: Txn | None = None
    forget: bool = False
    producer: ProducerIdAndEpoch = NO_PRODUCER
    absent: tuple[TopicPartition, ...] = ()
    needs_producer_id: bool = False
    ongoing: ProducerIdAndEpoch = NO_PRODUCER


NOTHING: Final = Decision()
NEEDS_PRODUCER_ID: Final = Decision(needs_producer_id=True)
UNKNOWN: Final = Txn("", NO_PRODUCER_ID, NO_PRODUCER_EPOCH, 0, S.DEAD)
"""The state of a transactional id that the coordinator does not know."""


def store(value: Txn, producer: ProducerIdAndEpoch = NO_PRODUCER) -> Decision:
    """The decision to write ``value`` and then answer with success and ``producer``."""
    return new_tuple(Decision, (NONE, value, False, producer, (), False, NO_PRODUCER))


@dataclass(frozen=True, slots=True)
class Rule(Generic[E]):
    """One cell of the tables; ``text`` describes the rule in the documentation."""

    text: str
    run: Callable[[Txn, E, int], Decision]


Table = Mapping[TransactionState, Rule[E]]


def refuse(error: Error) -> Rule[Any]:
    decision = Decision(error)
    return Rule(f"{error.name} ({error.value})", lambda txn, event, now_ms: decision)


def _impossible(txn: Txn, event: object, now_ms: int) -> Decision:
    raise InvariantError(f"{type(event).__name__} in state {txn.state.label} of {txn.transactional_id!r} is impossible")


IMPOSSIBLE: Final[Rule[Any]] = Rule("cannot be", _impossible)
IGNORE: Final[Rule[Any]] = Rule("nothing", lambda txn, event, now_ms: NOTHING)

MAPPING: Final = Decision(Error.INVALID_PRODUCER_ID_MAPPING)
FENCED: Final = Decision(Error.PRODUCER_FENCED)
INVALID_STATE: Final = Decision(Error.INVALID_TXN_STATE)
UNSUPPORTED: Final = Decision(Error.UNSUPPORTED_VERSION)

ProducerEventT = TypeVar("ProducerEventT", AddPartitions, VerifyPartitions, EndTxn)


def owned(rule: Rule[ProducerEventT]) -> Rule[ProducerEventT]:
    """Apply the rule for the producer that owns the id; refuse another producer id with 49, another epoch with 90.

    A producer whose open transaction a later producer has kept gets 90, too.
    """

    def run(txn: Txn, event: ProducerEventT, now_ms: int) -> Decision:
        producer_id, epoch = txn.owner
        if event.producer.producer_id != producer_id and not (txn.kept and event.producer == txn.producer):
            return MAPPING
        if event.producer.producer_epoch != epoch or event.producer.producer_id != producer_id:
            return FENCED
        return rule.run(txn, event, now_ms)

    return Rule(f"owner: {rule.text}", run)


def first_or_retry(first: Rule[EndTxnAndBump], retry: Rule[EndTxnAndBump]) -> Rule[EndTxnAndBump]:
    """Apply ``retry`` to a repeated EndTxn, else ``first``. As each end bumps the epoch, a repeated EndTxn has the
    previous epoch.

    If the end used up the producer id's epochs, the repeated one has the previous producer id and its last epoch.
    """

    def run(txn: Txn, event: EndTxnAndBump, now_ms: int) -> Decision:
        producer_id, epoch = event.producer
        owner = txn.owner
        if txn.kept and event.producer == txn.producer:
            return FENCED
        rotated = producer_id == txn.previous_producer_id and epoch == LAST_CLIENT_EPOCH and owner.producer_epoch == 0
        if producer_id != owner.producer_id and not rotated:
            return MAPPING
        if rotated or epoch + 1 == owner.producer_epoch:
            return retry.run(txn, event, now_ms)
        if epoch == owner.producer_epoch:
            return first.run(txn, event, now_ms)
        return FENCED

    return Rule(f"owner: {first.text}; repeated: {retry.text}", run)


def expected_producer(rule: Rule[InitProducerId]) -> Rule[InitProducerId]:
    """Refuse a producer that states an id and epoch (KIP-360), unless it is the current producer, or the one before a
    new producer id was given; else apply the rule."""

    def run(txn: Txn, event: InitProducerId, now_ms: int) -> Decision:
        producer_id, epoch = event.expected
        before_rotation = producer_id == txn.previous_producer_id and epoch >= LAST_CLIENT_EPOCH
        if event.expected != NO_PRODUCER and producer_id != txn.owner.producer_id and not before_rotation:
            return FENCED
        return rule.run(txn, event, now_ms)

    return Rule(f"same producer or none given: {rule.text}", run)


def follow(
    txn: Txn,
    state: TransactionState,
    now_ms: int,
    *,
    epoch: int,
    last_epoch: int,
    version: int,
    partitions: frozenset[TopicPartition],
    start_ms: int,
    producer_id: int | None = None,
    next_producer: ProducerIdAndEpoch = NO_PRODUCER,
    previous_producer_id: int | None = None,
    timeout_ms: int | None = None,
) -> Txn:
    """The state that follows ``txn``; each record also contains the producer id before it."""
    fields = (
        txn.transactional_id,
        txn.producer_id if producer_id is None else producer_id,
        epoch,
        txn.timeout_ms if timeout_ms is None else timeout_ms,
        state,
        partitions,
        start_ms,
        now_ms,
        txn.producer_id if previous_producer_id is None else previous_producer_id,
        next_producer.producer_id,
        last_epoch,
        version,
        next_producer.producer_epoch,
    )
    return new_tuple(Txn, fields)


def prepare(txn: Txn, event: EndTxn, now_ms: int, following: ProducerIdAndEpoch = NO_PRODUCER) -> Txn:
    """The state Prepare* of a transaction whose producer keeps its epoch.

    :param following: the producer id and epoch after the end, if these change.
    """
    return follow(
        txn,
        S.PREPARE_COMMIT if event.commit else S.PREPARE_ABORT,
        now_ms,
        epoch=txn.producer_epoch,
        last_epoch=txn.last_producer_epoch,
        version=0,
        partitions=txn.partitions,
        start_ms=txn.start_ms,
        next_producer=following,
    )


def prepare_and_bump(txn: Txn, commit: bool, following: ProducerIdAndEpoch, start_ms: int, now_ms: int) -> Decision:
    """Prepare with the next epoch, which fences late writes of this transaction.

    :param following: the producer id and epoch after the end, if these are not the markers'.
    """
    owner = txn.owner
    value = follow(
        txn,
        S.PREPARE_COMMIT if commit else S.PREPARE_ABORT,
        now_ms,
        epoch=min(txn.producer_epoch + 1, MAX_EPOCH),
        last_epoch=owner.producer_epoch,
        next_producer=following,
        previous_producer_id=owner.producer_id,
        version=EPOCH_BUMP_VERSION,
        partitions=txn.partitions,
        start_ms=start_ms,
    )
    return store(value, _after_markers(value))


def complete(txn: Txn, now_ms: int) -> Txn:
    """The state Complete*, which follows Prepare* once all markers are written."""
    producer_id, epoch = _after_markers(txn)
    return follow(
        txn,
        S.COMPLETE_COMMIT if txn.state is S.PREPARE_COMMIT else S.COMPLETE_ABORT,
        now_ms,
        producer_id=producer_id,
        epoch=epoch,
        previous_producer_id=txn.previous_producer_id if txn.kept else txn.producer_id,
        last_epoch=txn.last_producer_epoch,
        version=txn.client_transaction_version,
        partitions=frozenset(),
        start_ms=txn.start_ms,
    )


def _after_markers(txn: Txn) -> ProducerIdAndEpoch:
    """The producer id and epoch of the next transaction, after the prepared transaction ``txn``."""
    if txn.next_producer_id != NO_PRODUCER_ID:
        return ProducerIdAndEpoch(txn.next_producer_id, max(txn.next_producer_epoch, 0))
    return txn.producer
