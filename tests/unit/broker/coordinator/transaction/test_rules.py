"""The transaction protocol at the level of its rules. Expected answers come from Kafka and the KIPs named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oncelog.broker.coordinator.transaction.events import (
    AddPartitions,
    EndTxn,
    EndTxnAndBump,
    Event,
    Expire,
    InitProducerId,
    MarkersWritten,
    Timeout,
    VerifyPartitions,
)
from oncelog.broker.coordinator.transaction.records import decode_value, encode_value
from oncelog.broker.coordinator.transaction.rule_parts import Decision, complete
from oncelog.broker.coordinator.transaction.rules import RULES, decide
from oncelog.broker.coordinator.transaction.states import MAY_FOLLOW, PREPARED, TransactionState, Txn
from oncelog.errors import Error, InvariantError
from oncelog.types import ProducerIdAndEpoch, TopicPartition

S = TransactionState
PID, EPOCH, NEW_PID = 7, 3, 900
OWNER = ProducerIdAndEpoch(PID, EPOCH)
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOW = 10_000


def txn(state: TransactionState, **changes: object) -> Txn:
    """An id in ``state`` whose producer is OWNER."""
    live = state in {S.ONGOING, *PREPARED}
    base = Txn(
        "id",
        PID,
        EPOCH,
        60_000,
        state,
        frozenset({P0}) if live else frozenset(),
        start_ms=-1 if state is S.EMPTY else 9_000,
        last_update_ms=9_500,
        previous_producer_id=PID,
        client_transaction_version=0,
    )
    return base._replace(**changes)  # type: ignore[arg-type]


def written(decision: Decision) -> Txn:
    assert decision.value is not None
    return decision.value


# --- the tables


def test_every_event_has_a_rule_in_every_state() -> None:
    assert set(RULES) == set(Event.__args__)
    for event, table in RULES.items():
        assert set(table) == set(TransactionState), event


EVENTS = (
    InitProducerId("id", 60_000, fresh_producer_id=NEW_PID),
    InitProducerId("id", 60_000, OWNER, fresh_producer_id=NEW_PID),
    InitProducerId("id", 60_000, transaction_version=1, fresh_producer_id=NEW_PID),
    AddPartitions(OWNER, frozenset({P1})),
    VerifyPartitions(OWNER, frozenset({P0, P1})),
    EndTxn(OWNER, True),
    EndTxn(OWNER, False),
    EndTxnAndBump(OWNER, True, NEW_PID),
    EndTxnAndBump(OWNER, False, NEW_PID),
    EndTxnAndBump(ProducerIdAndEpoch(PID, EPOCH - 1), True, NEW_PID),
    EndTxnAndBump(ProducerIdAndEpoch(PID, EPOCH - 1), False, NEW_PID),
    Timeout(fresh_producer_id=NEW_PID),
    Timeout(1, fresh_producer_id=NEW_PID),
    MarkersWritten(),
    Expire(100),
)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("state", [state for state in S if state not in {S.DEAD, S.PREPARE_EPOCH_FENCE}])
def test_a_decision_is_a_valid_transition_and_does_not_change_the_given_state(
    state: TransactionState, event: Event
) -> None:
    before = txn(state, previous_producer_id=5)
    kept = before._replace()
    if isinstance(event, MarkersWritten) and state not in PREPARED:
        with pytest.raises(InvariantError, match="MarkersWritten in state"):
            decide(before, event, NOW)
        return
    decision = decide(before, event, 200_000)
    assert before == kept
    if decision.value is not None:
        assert state in MAY_FOLLOW[decision.value.state]
        assert decision.value.previous_producer_id == before.producer_id
        assert decision.value.last_update_ms == 200_000
        assert 0 <= decision.value.producer_epoch <= 32767
        assert (decision.value.start_ms == -1) == (decision.value.state is S.EMPTY)
    if decision.forget:
        assert state in MAY_FOLLOW[S.DEAD]


def test_a_transient_state_that_is_never_logged_raises_an_invariant_error() -> None:
    with pytest.raises(InvariantError, match="PrepareEpochFence"):
        decide(txn(S.PREPARE_EPOCH_FENCE), EndTxn(OWNER, True), NOW)


# --- InitProducerId


def test_an_unknown_transactional_id_gets_a_new_producer_id_and_epoch_0() -> None:
    assert decide(None, InitProducerId("id", 5_000), NOW) == Decision(needs_producer_id=True)
    value = written(decide(None, InitProducerId("id", 5_000, fresh_producer_id=NEW_PID), NOW))
    assert value == Txn("id", NEW_PID, 0, 5_000, S.EMPTY, last_update_ms=NOW, previous_producer_id=NEW_PID)


def test_init_producer_id_of_an_unknown_transactional_id_ignores_the_given_producer_id() -> None:
    event = InitProducerId("id", 5_000, ProducerIdAndEpoch(5, 5), fresh_producer_id=NEW_PID)
    assert decide(None, event, NOW).producer == (NEW_PID, 0)


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_init_producer_id_raises_the_epoch_and_stores_the_new_timeout(state: TransactionState) -> None:
    value = written(decide(txn(state), InitProducerId("id", 1_234), NOW))
    assert (value.state, value.producer, value.last_producer_epoch) == (S.EMPTY, (PID, EPOCH + 1), -1)
    assert (value.timeout_ms, value.partitions, value.start_ms) == (1_234, frozenset(), -1)


def test_init_producer_id_with_the_current_epoch_raises_the_epoch_and_stores_the_previous_epoch() -> None:
    value = written(decide(txn(S.EMPTY), InitProducerId("id", 1, OWNER), NOW))
    assert (value.producer_epoch, value.last_producer_epoch) == (EPOCH + 1, EPOCH)


def test_init_producer_id_with_the_previous_epoch_repeats_the_answer() -> None:
    bumped = written(decide(txn(S.EMPTY), InitProducerId("id", 1, OWNER), NOW))
    again = decide(bumped, InitProducerId("id", 1, OWNER), NOW + 1)
    assert again.producer == bumped.producer
    assert written(again).last_producer_epoch == EPOCH


def test_init_producer_id_with_an_older_epoch_is_fenced() -> None:
    assert decide(txn(S.EMPTY), InitProducerId("id", 1, ProducerIdAndEpoch(PID, 1)), NOW).error is Error.PRODUCER_FENCED


def test_init_producer_id_without_a_producer_id_fences_the_previous_producer() -> None:
    taken_over = written(decide(txn(S.EMPTY), InitProducerId("id", 1), NOW))
    assert decide(taken_over, InitProducerId("id", 1, OWNER), NOW).error is Error.PRODUCER_FENCED


def test_init_producer_id_with_another_producer_id_is_fenced() -> None:
    event = InitProducerId("id", 1, ProducerIdAndEpoch(PID + 1, EPOCH))
    for state in (S.EMPTY, S.ONGOING, S.COMPLETE_COMMIT, S.COMPLETE_ABORT):
        assert decide(txn(state), event, NOW) == Decision(Error.PRODUCER_FENCED)


def test_init_producer_id_with_the_producer_id_before_the_last_rotation_repeats_the_answer() -> None:
    exhausted = txn(S.EMPTY, producer_epoch=32766)
    event = InitProducerId("id", 1, ProducerIdAndEpoch(PID, 32766), fresh_producer_id=NEW_PID)
    rotated = written(decide(exhausted, event, NOW))
    assert (rotated.producer, rotated.previous_producer_id, rotated.last_producer_epoch) == ((NEW_PID, 0), PID, 32766)
    again = decide(rotated, replace(event, fresh_producer_id=-1), NOW)
    assert again.producer == (NEW_PID, 0)


def test_init_producer_id_repeated_after_a_rotation_and_a_restart_is_fenced() -> None:
    """As by Apache Kafka 4.4.0 (KAFKA-20357): the records do not tell whether this producer or another one rotated."""
    exhausted = txn(S.EMPTY, producer_epoch=32766)
    event = InitProducerId("id", 1, ProducerIdAndEpoch(PID, 32766), fresh_producer_id=NEW_PID)
    rotated = written(decide(exhausted, event, NOW))
    loaded = decode_value("id", encode_value(rotated, 1))
    assert (loaded.producer, loaded.previous_producer_id) == ((NEW_PID, 0), PID)
    assert decide(loaded, event, NOW).error is Error.PRODUCER_FENCED


def test_exhausted_epochs_lead_to_a_new_producer_id() -> None:
    exhausted = txn(S.COMPLETE_COMMIT, producer_epoch=32766)
    assert decide(exhausted, InitProducerId("id", 1), NOW).needs_producer_id
    value = written(decide(exhausted, InitProducerId("id", 1, fresh_producer_id=NEW_PID), NOW))
    assert (value.producer, value.previous_producer_id, value.last_producer_epoch) == ((NEW_PID, 0), PID, -1)


def test_the_last_epoch_but_one_is_still_assigned() -> None:
    value = written(decide(txn(S.EMPTY, producer_epoch=32765), InitProducerId("id", 1), NOW))
    assert value.producer == (PID, 32766)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_init_producer_id_during_a_transaction_fences_the_producer_aborts_and_asks_for_a_retry(version: int) -> None:
    decision = decide(txn(S.ONGOING), InitProducerId("id", 1, transaction_version=version), NOW)
    value = written(decision)
    assert decision.error is Error.CONCURRENT_TRANSACTIONS
    assert (value.state, value.producer, value.partitions) == (S.PREPARE_ABORT, (PID, EPOCH + 1), frozenset({P0}))
    assert value.client_transaction_version == (2 if version == 2 else 0)
    assert value.last_producer_epoch == (EPOCH if version == 2 else -1)
    ended = complete(value, NOW)
    assert written(decide(ended, InitProducerId("id", 1), NOW)).producer_epoch == EPOCH + 2


def test_init_producer_id_that_fences_at_the_last_epoch_needs_a_new_producer_id_from_transaction_version_2_on() -> None:
    ongoing = txn(S.ONGOING, producer_epoch=32766)
    assert decide(ongoing, InitProducerId("id", 1), NOW) == Decision(needs_producer_id=True)
    decision = decide(ongoing, InitProducerId("id", 1, fresh_producer_id=NEW_PID), NOW)
    assert decision.error is Error.CONCURRENT_TRANSACTIONS
    assert (written(decision).producer, written(decision).next_producer_id) == ((PID, 32767), NEW_PID)
    assert complete(written(decision), NOW).producer == (NEW_PID, 0)


def test_init_producer_id_that_fences_at_the_last_epoch_at_transaction_version_0_uses_the_epoch_for_markers() -> None:
    ongoing = txn(S.ONGOING, producer_epoch=32766)
    value = written(decide(ongoing, InitProducerId("id", 1, transaction_version=0), NOW))
    assert (value.producer, value.next_producer_id) == ((PID, 32767), -1)


@pytest.mark.parametrize("state", sorted(PREPARED))
def test_init_producer_id_while_a_transaction_ends_gets_concurrent_transactions(state: TransactionState) -> None:
    stranger = ProducerIdAndEpoch(99, 0)
    for expected in (ProducerIdAndEpoch(-1, -1), OWNER, stranger):
        decision = decide(txn(state), InitProducerId("id", 1, expected), NOW)
        assert decision == Decision(Error.CONCURRENT_TRANSACTIONS)


# --- AddPartitions, verification


def test_adding_partitions_under_an_unknown_id_gets_invalid_producer_id_mapping() -> None:
    assert decide(None, AddPartitions(OWNER, frozenset({P0})), NOW).error is Error.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("state", [S.EMPTY, S.ONGOING, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_adding_partitions_checks_the_producer_id_before_the_epoch(state: TransactionState) -> None:
    def error(producer_id: int, epoch: int) -> Error:
        return decide(txn(state), AddPartitions(ProducerIdAndEpoch(producer_id, epoch), frozenset({P1})), NOW).error

    assert error(PID + 1, EPOCH + 1) is Error.INVALID_PRODUCER_ID_MAPPING
    assert error(PID, EPOCH + 1) is Error.PRODUCER_FENCED
    assert error(PID, EPOCH - 1) is Error.PRODUCER_FENCED


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_adding_the_first_partition_begins_the_transaction(state: TransactionState) -> None:
    value = written(decide(txn(state), AddPartitions(OWNER, frozenset({P1}), 2), NOW))
    assert (value.state, value.partitions, value.start_ms) == (S.ONGOING, frozenset({P1}), NOW)
    assert value.client_transaction_version == 2


def test_adding_partitions_keeps_the_start_time_of_the_transaction() -> None:
    value = written(decide(txn(S.ONGOING), AddPartitions(OWNER, frozenset({P1})), NOW))
    assert (value.partitions, value.start_ms) == (frozenset({P0, P1}), 9_000)


def test_adding_a_partition_that_is_in_the_transaction_writes_nothing() -> None:
    assert decide(txn(S.ONGOING), AddPartitions(OWNER, frozenset({P0})), NOW) == Decision()


@pytest.mark.parametrize("state", sorted(PREPARED))
def test_adding_partitions_while_a_transaction_ends_gets_concurrent_transactions(state: TransactionState) -> None:
    for producer in (OWNER, ProducerIdAndEpoch(NEW_PID, 0)):
        decision = decide(txn(state), AddPartitions(producer, frozenset({P0})), NOW)
        assert decision == Decision(Error.CONCURRENT_TRANSACTIONS)


def test_verification_names_the_partitions_that_are_absent() -> None:
    event = VerifyPartitions(OWNER, frozenset({P1, P0}))
    assert decide(txn(S.ONGOING), event, NOW) == Decision(absent=(P1,))
    assert decide(txn(S.EMPTY), event, NOW).absent == (P0, P1)
    assert decide(txn(S.COMPLETE_COMMIT), event, NOW).absent == (P0, P1)


def test_verification_checks_the_producer_id_then_the_epoch_then_a_pending_end() -> None:
    def error(producer_id: int, epoch: int) -> Error:
        return decide(
            txn(S.PREPARE_COMMIT), VerifyPartitions(ProducerIdAndEpoch(producer_id, epoch), frozenset({P0})), NOW
        ).error

    assert decide(None, VerifyPartitions(OWNER, frozenset({P0})), NOW).error is Error.INVALID_PRODUCER_ID_MAPPING
    assert error(PID + 1, EPOCH) is Error.INVALID_PRODUCER_ID_MAPPING
    assert error(PID, EPOCH + 1) is Error.PRODUCER_FENCED
    assert error(PID, EPOCH) is Error.CONCURRENT_TRANSACTIONS


# --- EndTxn 0-4

NONE, AGAIN, INVALID = Error.NONE, Error.CONCURRENT_TRANSACTIONS, Error.INVALID_TXN_STATE


@pytest.mark.parametrize(
    ("state", "commit", "abort"),
    [
        (S.EMPTY, INVALID, INVALID),
        (S.PREPARE_COMMIT, AGAIN, INVALID),
        (S.PREPARE_ABORT, INVALID, AGAIN),
        (S.COMPLETE_COMMIT, NONE, INVALID),
        (S.COMPLETE_ABORT, INVALID, NONE),
    ],
)
def test_end_txn_outside_a_transaction_is_refused_or_repeats_the_outcome(
    state: TransactionState, commit: Error, abort: Error
) -> None:
    for outcome, expected in ((True, commit), (False, abort)):
        decision = decide(txn(state), EndTxn(OWNER, outcome), NOW)
        assert (decision.error, decision.value) == (expected, None)


@pytest.mark.parametrize(("commit", "state"), [(True, S.PREPARE_COMMIT), (False, S.PREPARE_ABORT)])
def test_end_txn_of_the_older_protocol_keeps_the_epoch(commit: bool, state: TransactionState) -> None:
    decision = decide(txn(S.ONGOING), EndTxn(OWNER, commit), NOW)
    value = written(decision)
    assert decision.error is Error.NONE
    assert (value.state, value.producer, value.partitions, value.start_ms) == (state, OWNER, frozenset({P0}), 9_000)


def test_end_txn_of_an_unknown_transactional_id_another_producer_or_a_zombie_is_refused() -> None:
    assert decide(None, EndTxn(OWNER, True), NOW).error is Error.INVALID_PRODUCER_ID_MAPPING
    for state in (S.EMPTY, S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT, S.COMPLETE_COMMIT, S.COMPLETE_ABORT):
        stranger, zombie = ProducerIdAndEpoch(PID + 1, EPOCH), ProducerIdAndEpoch(PID, EPOCH - 1)
        assert decide(txn(state), EndTxn(stranger, True), NOW).error is Error.INVALID_PRODUCER_ID_MAPPING
        assert decide(txn(state), EndTxn(zombie, True), NOW).error is Error.PRODUCER_FENCED


# --- EndTxn 5


def test_end_txn_that_raises_the_epoch_returns_the_epoch_of_the_next_transaction() -> None:
    decision = decide(txn(S.ONGOING), EndTxnAndBump(OWNER, True), NOW)
    value = written(decision)
    assert decision.producer == (PID, EPOCH + 1)
    assert (value.state, value.producer, value.last_producer_epoch) == (S.PREPARE_COMMIT, (PID, EPOCH + 1), EPOCH)
    assert value.client_transaction_version == 2
    ended = complete(value, NOW + 5)
    assert (ended.state, ended.producer, ended.partitions) == (S.COMPLETE_COMMIT, (PID, EPOCH + 1), frozenset())
    assert (ended.start_ms, ended.last_update_ms) == (9_000, NOW + 5)
    assert ended.client_transaction_version == 2
    assert written(decide(ended, InitProducerId("id", 1), NOW)).client_transaction_version == 2


BUMPED_TABLE = [
    # state, commit and abort with the current epoch, commit and abort repeated with the epoch before (KIP-890)
    (S.EMPTY, INVALID, "abort", Error.PRODUCER_FENCED, Error.PRODUCER_FENCED),
    (S.COMPLETE_COMMIT, INVALID, "abort", NONE, INVALID),
    (S.COMPLETE_ABORT, INVALID, "abort", INVALID, NONE),
    (S.PREPARE_COMMIT, AGAIN, AGAIN, AGAIN, AGAIN),
    (S.PREPARE_ABORT, AGAIN, AGAIN, AGAIN, AGAIN),
]


@pytest.mark.parametrize(("state", "commit", "abort", "retried_commit", "retried_abort"), BUMPED_TABLE)
def test_end_txn_that_raises_the_epoch_outside_a_transaction_is_answered_by_the_last_outcome(
    state: TransactionState, commit: Error, abort: Error | str, retried_commit: Error, retried_abort: Error
) -> None:
    before = ProducerIdAndEpoch(PID, EPOCH - 1)
    expected = [(OWNER, True, commit), (OWNER, False, abort), (before, True, retried_commit)]
    for producer, outcome, answer in [*expected, (before, False, retried_abort)]:
        decision = decide(txn(state), EndTxnAndBump(producer, outcome), NOW)
        if answer == "abort":
            value = written(decision)
            assert (value.state, value.partitions, value.start_ms) == (S.PREPARE_ABORT, frozenset(), NOW)
            assert decision.producer == (PID, EPOCH + 1)
        else:
            assert (decision.error, decision.value) == (answer, None)
            if answer is NONE:
                assert decision.producer == OWNER


@pytest.mark.parametrize("state", [S.EMPTY, S.ONGOING, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_end_txn_that_raises_the_epoch_is_refused_for_another_producer_or_a_zombie(state: TransactionState) -> None:
    def error(producer_id: int, epoch: int) -> Error:
        return decide(txn(state), EndTxnAndBump(ProducerIdAndEpoch(producer_id, epoch), True), NOW).error

    assert error(PID + 1, EPOCH) is Error.INVALID_PRODUCER_ID_MAPPING
    assert error(PID, EPOCH - 2) is Error.PRODUCER_FENCED
    assert error(PID, EPOCH + 1) is Error.PRODUCER_FENCED


def test_end_txn_that_raises_the_epoch_is_fenced_if_it_has_the_previous_epoch_of_an_open_transaction() -> None:
    decision = decide(txn(S.ONGOING), EndTxnAndBump(ProducerIdAndEpoch(PID, EPOCH - 1), True), NOW)
    assert decision == Decision(Error.PRODUCER_FENCED)


def test_end_txn_that_exhausts_the_epochs_returns_a_new_producer_id() -> None:
    ongoing = txn(S.ONGOING, producer_epoch=32766)
    event = EndTxnAndBump(ProducerIdAndEpoch(PID, 32766), True)
    assert decide(ongoing, event, NOW) == Decision(needs_producer_id=True)
    decision = decide(ongoing, replace(event, fresh_producer_id=NEW_PID), NOW)
    value = written(decision)
    assert decision.producer == (NEW_PID, 0)
    assert (value.producer, value.next_producer_id) == ((PID, 32767), NEW_PID)
    ended = complete(value, NOW)
    assert (ended.producer, ended.previous_producer_id, ended.next_producer_id) == ((NEW_PID, 0), PID, -1)
    assert decide(ended, event, NOW) == Decision(producer=ProducerIdAndEpoch(NEW_PID, 0))
    assert decide(ended, replace(event, commit=False), NOW).error is Error.INVALID_TXN_STATE


def test_a_producer_with_the_epoch_before_a_rotation_is_fenced_in_the_next_transaction() -> None:
    ongoing = txn(S.ONGOING, producer_id=NEW_PID, producer_epoch=0, previous_producer_id=PID)
    assert decide(ongoing, EndTxnAndBump(ProducerIdAndEpoch(PID, 32766), True), NOW).error is Error.PRODUCER_FENCED


# --- timeout, expiry


def test_a_transaction_is_fenced_and_aborted_once_its_timeout_has_passed() -> None:
    ongoing = txn(S.ONGOING)
    assert decide(ongoing, Timeout(), 69_000) == Decision()
    value = written(decide(ongoing, Timeout(), 69_001))
    assert (value.state, value.producer) == (S.PREPARE_ABORT, (PID, EPOCH + 1))
    assert decide(ongoing, Timeout(), 69_001).error is Error.NONE


@pytest.mark.parametrize("state", [state for state in S if state not in {S.ONGOING, S.PREPARE_EPOCH_FENCE}])
def test_a_timeout_changes_only_an_ongoing_transaction(state: TransactionState) -> None:
    assert decide(txn(state), Timeout(), 10**12) == Decision()


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_an_idle_transactional_id_expires_at_the_limit(state: TransactionState) -> None:
    assert decide(txn(state), Expire(1_000), 10_499) == Decision()
    assert decide(txn(state), Expire(1_000), 10_500) == Decision(forget=True)


@pytest.mark.parametrize("state", [S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_a_transactional_id_with_an_open_transaction_does_not_expire(state: TransactionState) -> None:
    assert decide(txn(state), Expire(1_000), 10**12) == Decision()
