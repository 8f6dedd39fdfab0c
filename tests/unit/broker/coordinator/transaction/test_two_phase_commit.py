"""Two-phase commit in the coordinator. Expected answers come from KIP-939 and the review of its pull request."""

from __future__ import annotations

import struct

import pytest

from oncelog.broker.coordinator.transaction.events import (
    AddPartitions,
    EndTxn,
    EndTxnAndBump,
    ForgetProducer,
    InitProducerId,
    Timeout,
    VerifyPartitions,
)
from oncelog.broker.coordinator.transaction.orphans import PartitionProducer, find_orphans
from oncelog.broker.coordinator.transaction.records import decode_value, encode_value
from oncelog.broker.coordinator.transaction.rule_parts import Decision, complete
from oncelog.broker.coordinator.transaction.rules import decide
from oncelog.broker.coordinator.transaction.states import NO_TIME_LIMIT, TransactionState, Txn
from oncelog.broker.coordinator.transaction.transaction_coordinator import ProducerResult, TransactionCoordinator
from oncelog.errors import Error
from oncelog.settings.config import BrokerConfig
from oncelog.types import NO_PRODUCER, ProducerIdAndEpoch, TopicPartition
from tests.support.transaction_host import MemoryTransactionHost

S = TransactionState
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOW = 10_000
PREPARED_BY = ProducerIdAndEpoch(42, 100)
ENABLED = BrokerConfig(transaction_two_phase_commit_enable=True)


def ongoing(epoch: int = 100, **changes: object) -> Txn:
    base = Txn(
        "id",
        42,
        epoch,
        NO_TIME_LIMIT,
        S.ONGOING,
        frozenset({P0}),
        start_ms=9_000,
        last_update_ms=9_500,
        previous_producer_id=42,
        client_transaction_version=2,
    )
    return base._replace(**changes)  # type: ignore[arg-type]


def keep(fresh: int = -1, timeout_ms: int = NO_TIME_LIMIT, **changes: object) -> InitProducerId:
    return InitProducerId("id", timeout_ms, fresh_producer_id=fresh, keep_prepared=True, **changes)  # type: ignore[arg-type]


def written(decision: Decision) -> Txn:
    assert decision.value is not None, decision
    return decision.value


def kept(txn: Txn, times: int = 1) -> Txn:
    for _ in range(times):
        txn = written(decide(txn, keep(), NOW))
    return txn


# --- keeping


def test_an_open_transaction_keeps_its_epoch_and_its_producer_gets_the_next_epoch() -> None:
    decision = decide(ongoing(), keep(), NOW)
    value = written(decision)
    assert (value.state, value.producer, value.owner) == (S.ONGOING, PREPARED_BY, (42, 101))
    assert (decision.error, decision.producer, decision.ongoing) == (Error.NONE, (42, 101), PREPARED_BY)
    assert (value.partitions, value.start_ms) == (frozenset({P0}), 9_000)


def test_each_init_producer_id_with_keep_prepared_txn_fences_the_previous_producer() -> None:
    value = kept(ongoing(), times=3)
    assert (value.producer, value.owner) == (PREPARED_BY, (42, 103))
    for stale in (100, 101, 102):
        for event in (EndTxn(ProducerIdAndEpoch(42, stale), True), EndTxnAndBump(ProducerIdAndEpoch(42, stale), True)):
            assert decide(value, event, NOW).error is Error.PRODUCER_FENCED


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_init_producer_id_with_keep_prepared_txn_is_an_ordinary_init_if_no_transaction_is_open(
    state: TransactionState,
) -> None:
    before = ongoing(state=state, partitions=frozenset())
    decision = decide(before, keep(), NOW)
    assert (written(decision).state, decision.producer, decision.ongoing) == (S.EMPTY, (42, 101), NO_PRODUCER)


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_init_producer_id_with_keep_prepared_txn_is_refused_while_the_transaction_ends(state: TransactionState) -> None:
    assert decide(ongoing(state=state), keep(), NOW).error is Error.CONCURRENT_TRANSACTIONS


def test_init_producer_id_with_keep_prepared_txn_creates_an_unknown_transactional_id() -> None:
    decision = decide(None, keep(fresh=900), NOW)
    assert (decision.producer, decision.ongoing) == ((900, 0), NO_PRODUCER)


def test_init_producer_id_with_keep_prepared_txn_is_fenced_if_it_names_another_epoch_than_the_last() -> None:
    value = kept(ongoing())
    assert decide(value, keep(expected=PREPARED_BY), NOW).error is Error.PRODUCER_FENCED
    assert decide(value, keep(expected=ProducerIdAndEpoch(42, 101)), NOW).producer == (42, 102)


def test_init_producer_id_with_keep_prepared_txn_is_refused_below_transaction_version_2() -> None:
    assert decide(ongoing(), keep(transaction_version=1), NOW) == Decision(Error.UNSUPPORTED_VERSION)


def test_two_phase_commit_removes_the_timeout_and_a_plain_init_producer_id_does_not_restore_it() -> None:
    assert kept(ongoing(timeout_ms=60_000)).timeout_ms == NO_TIME_LIMIT
    assert written(decide(ongoing(), keep(timeout_ms=5_000), NOW)).timeout_ms == NO_TIME_LIMIT


# --- ending


@pytest.mark.parametrize("commit", [True, False])
def test_end_txn_writes_markers_with_the_epoch_of_the_transaction_and_bumps_that_of_the_producer(commit: bool) -> None:
    decision = decide(kept(ongoing(), times=2), EndTxnAndBump(ProducerIdAndEpoch(42, 102), commit), NOW)
    prepared = written(decision)
    assert prepared.producer == (42, 101), "the markers' epoch is the one after the data's"
    assert decision.producer == (42, 103), "a delayed EndTxn with 102 must not end the next transaction"
    done = complete(prepared, NOW)
    assert (done.producer, done.owner, done.kept) == ((42, 103), (42, 103), False)
    again = decide(done, EndTxnAndBump(ProducerIdAndEpoch(42, 102), commit), NOW)
    assert (again.error, again.producer, again.value) == (Error.NONE, (42, 103), None)
    assert decide(done, EndTxnAndBump(ProducerIdAndEpoch(42, 102), not commit), NOW).error is Error.INVALID_TXN_STATE


def test_the_older_protocol_can_end_a_prepared_transaction_that_init_producer_id_kept_too() -> None:
    decision = decide(kept(ongoing()), EndTxn(ProducerIdAndEpoch(42, 101), True), NOW)
    assert (written(decision).producer, decision.producer) == (PREPARED_BY, (42, 101))
    assert complete(written(decision), NOW).producer == (42, 101)


def test_the_older_protocol_neither_begins_nor_ends_a_two_phase_transaction() -> None:
    """Its epoch would stay, and so would the token: a database's decision on one transaction would apply to the
    next.
    """
    idle = ongoing(state=S.COMPLETE_COMMIT, partitions=frozenset())
    begins = AddPartitions(idle.producer, frozenset({P0}), 0)
    assert decide(idle, begins, NOW).error is Error.INVALID_TXN_STATE
    assert decide(ongoing(), AddPartitions(PREPARED_BY, frozenset({P1}), 0), NOW).error is Error.INVALID_TXN_STATE
    assert decide(ongoing(), EndTxn(PREPARED_BY, True), NOW).error is Error.INVALID_TXN_STATE
    timed = ongoing(timeout_ms=60_000)
    assert decide(timed, EndTxn(PREPARED_BY, True), NOW).error is Error.NONE


def test_the_owner_of_a_prepared_transaction_is_stored_at_every_transaction_version() -> None:
    value = kept(ongoing())
    assert decode_value("id", encode_value(value, 0)).owner == value.owner


def test_a_prepared_transaction_that_init_producer_id_kept_accepts_no_more_partitions() -> None:
    value = kept(ongoing())
    for partition in (P0, P1):
        for producer, error in ((PREPARED_BY, Error.PRODUCER_FENCED), (value.owner, Error.INVALID_TXN_STATE)):
            assert decide(value, AddPartitions(producer, frozenset({partition}), 2), NOW).error is error
            assert decide(value, VerifyPartitions(producer, frozenset({partition})), NOW).error is error


def test_end_txn_of_another_producer_is_refused() -> None:
    value = kept(ongoing())
    assert decide(value, EndTxn(ProducerIdAndEpoch(7, 101), True), NOW).error is Error.INVALID_PRODUCER_ID_MAPPING
    assert decide(value, EndTxnAndBump(ProducerIdAndEpoch(7, 1), True), NOW).error is Error.INVALID_PRODUCER_ID_MAPPING


def test_an_ordinary_init_producer_id_ends_a_prepared_transaction_by_force() -> None:
    value = kept(ongoing(), times=2)
    decision = decide(value, InitProducerId("id", 60_000), NOW)
    assert (decision.error, written(decision).state) == (Error.CONCURRENT_TRANSACTIONS, S.PREPARE_ABORT)
    assert written(decision).producer == (42, 101)
    done = complete(written(decision), NOW)
    assert done.producer == (42, 103)
    after = decide(done, InitProducerId("id", 60_000), NOW)
    assert (after.producer, written(after).timeout_ms) == ((42, 104), 60_000)


def test_a_transaction_without_a_timeout_does_not_expire_after_25_days() -> None:
    for value in (ongoing(), kept(ongoing())):
        assert decide(value, Timeout(), 2**31 + 10**9).value is None
    assert decide(ongoing(timeout_ms=60_000), Timeout(), 2**31).value is not None


# --- epochs that are used up


def test_init_producer_id_with_keep_prepared_txn_at_the_last_epoch_returns_a_new_producer_id() -> None:
    value = ongoing(32766)
    assert decide(value, keep(), NOW).needs_producer_id
    decision = decide(value, keep(fresh=73), NOW)
    assert (decision.producer, decision.ongoing) == ((73, 0), (42, 32766))
    ended = decide(written(decision), EndTxnAndBump(ProducerIdAndEpoch(73, 0), True), NOW)
    assert (written(ended).producer, ended.producer) == ((42, 32767), (73, 1))
    done = complete(written(ended), NOW)
    assert done.producer == (73, 1)
    assert decide(done, EndTxnAndBump(ProducerIdAndEpoch(73, 0), True), NOW).producer == (73, 1)


def test_end_txn_at_the_last_epoch_of_a_transaction_that_init_producer_id_kept_returns_a_new_producer_id() -> None:
    value = kept(ongoing(32765))
    assert value.owner == (42, 32766)
    event = EndTxnAndBump(ProducerIdAndEpoch(42, 32766), True)
    assert decide(value, event, NOW).needs_producer_id
    ended = decide(value, EndTxnAndBump(ProducerIdAndEpoch(42, 32766), True, 99), NOW)
    assert (written(ended).producer, ended.producer) == ((42, 32766), (99, 0))
    done = complete(written(ended), NOW)
    assert done.producer == (99, 0)
    assert decide(done, event, NOW).producer == (99, 0)


def test_a_repeated_end_txn_is_recognised_after_two_rotations() -> None:
    value = ongoing(32766, next_producer_id=73, next_producer_epoch=32766)
    ended = decide(value, EndTxnAndBump(ProducerIdAndEpoch(73, 32766), False, 99), NOW)
    done = complete(written(ended), NOW)
    assert (written(ended).producer, done.producer) == ((42, 32767), (99, 0))
    assert decide(done, EndTxnAndBump(ProducerIdAndEpoch(73, 32766), False), NOW).producer == (99, 0)


# --- the log


def test_both_producer_ids_and_epochs_are_in_the_record_as_tags_1_and_3() -> None:
    value = kept(ongoing())
    data = encode_value(value, 1)
    assert data[:15] == struct.pack(">hqhi", 1, 42, 100, NO_TIME_LIMIT)[:15]
    tags = b"\x04\x00\x08" + struct.pack(">q", 42) + b"\x01\x08" + struct.pack(">q", 42)
    assert data.endswith(tags + b"\x02\x02\x00\x02" + b"\x03\x02" + struct.pack(">h", 101))
    assert decode_value("id", data) == value._replace(last_producer_epoch=-1)


def test_a_prepared_transaction_that_init_producer_id_kept_is_not_reported_as_hanging() -> None:
    value = kept(ongoing())
    assert find_orphans([PartitionProducer(P0, PREPARED_BY, 0, True)], [value]) == ([], [])
    prepared = written(decide(value, EndTxnAndBump(ProducerIdAndEpoch(42, 101), True), NOW))
    assert find_orphans([PartitionProducer(P0, PREPARED_BY, 0, True)], [prepared]) == ([], [])


def test_a_prepared_transaction_whose_state_was_lost_is_aborted_and_can_no_longer_be_completed() -> None:
    value = written(decide(kept(ongoing()), ForgetProducer(), NOW))
    assert (value.state, value.kept, value.producer_epoch) == (S.PREPARE_ABORT, False, 32767)


# --- the coordinator


def start(coordinator: TransactionCoordinator, now_ms: int = 1_000, **changes: bool) -> ProducerResult:
    return coordinator.init_producer_id(
        "id", 60_000, NO_PRODUCER, now_ms, node_id=None, **{"two_phase": True, "keep_prepared": True, **changes}
    ).value


def opened(host: MemoryTransactionHost) -> tuple[TransactionCoordinator, ProducerIdAndEpoch]:
    coordinator = host.coordinator(ENABLED)
    producer = start(coordinator).producer
    assert coordinator.add_partitions("id", producer, [P0], 1_000, 2, node_id=None).value is Error.NONE
    return coordinator, producer


def test_two_phase_commit_is_refused_unless_the_broker_allows_it() -> None:
    coordinator = MemoryTransactionHost({"t": 2}).coordinator()
    assert start(coordinator) == ProducerResult(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


@pytest.mark.parametrize(
    ("timeout_ms", "two_phase", "error"),
    [
        (0, True, Error.INVALID_TRANSACTION_TIMEOUT),
        (2**31 - 1, True, Error.NONE),
        (2**31 - 1, False, Error.INVALID_TRANSACTION_TIMEOUT),
        (900_000, False, Error.NONE),
    ],
)
def test_transaction_max_timeout_ms_does_not_limit_two_phase_commit(
    timeout_ms: int, two_phase: bool, error: Error
) -> None:
    coordinator = MemoryTransactionHost({"t": 2}).coordinator(ENABLED)
    result = coordinator.init_producer_id("id", timeout_ms, NO_PRODUCER, 1_000, two_phase=two_phase, node_id=None).value
    assert result.error is error


def test_a_prepared_transaction_outlives_restarts_and_its_time_limit() -> None:
    host = MemoryTransactionHost({"t": 2})
    _, token = opened(host)
    for restart in range(1, 4):
        host = host.after_crash()
        coordinator = host.coordinator(ENABLED, epoch=restart, now_ms=10**9 * restart)
        host.timers.fire(10**9 * restart + 60_000)
        found = start(coordinator, 10**9 * restart + 60_000)
        assert (found.error, found.ongoing, found.producer) == (Error.NONE, token, (token.producer_id, restart))
    assert host.markers == []
    host = host.after_crash()
    coordinator = host.coordinator(ENABLED, epoch=9, now_ms=10**10)
    ended = coordinator.end_txn("id", ProducerIdAndEpoch(token.producer_id, 3), True, 10**10, 2, node_id=None).value
    assert (ended.error, ended.producer) == (Error.NONE, (token.producer_id, 4))
    assert [(marker.producer, marker.commit) for marker in host.markers] == [((token.producer_id, 1), True)]
    described = coordinator.describe("id", node_id=None)
    assert (described.state, described.producer) == (S.COMPLETE_COMMIT, (token.producer_id, 4))


@pytest.mark.parametrize("kept_records", range(2, 6))
def test_the_requested_outcome_of_a_prepared_transaction_survives_a_crash_after_each_record(kept_records: int) -> None:
    """Empty, Ongoing, Ongoing (kept), PrepareCommit, CompleteCommit: what a crash leaves of these records."""
    host = MemoryTransactionHost({"t": 2})
    _, token = opened(host)
    coordinator = host.coordinator(ENABLED, epoch=1)
    owner = start(coordinator).producer
    coordinator.end_txn("id", owner, True, 2_000, 2, node_id=None)
    assert len(host.log) == 5
    host = host.after_crash(kept_records)
    coordinator = host.coordinator(ENABLED, epoch=2)
    found = start(coordinator)
    if kept_records < 4:
        assert found.ongoing == token
        coordinator.end_txn("id", found.producer, True, 3_000, 2, node_id=None)
    else:
        assert found.ongoing == NO_PRODUCER
    assert {marker.commit for marker in host.markers} <= {True}
    state = coordinator.describe("id", node_id=None).state
    assert state is (S.COMPLETE_COMMIT if kept_records < 4 else S.EMPTY)
    assert (P0, True) in [(partition, marker.commit) for partition, marker in host.marked]


def test_a_two_phase_transaction_cannot_be_expired_on_request() -> None:
    coordinator, _ = opened(MemoryTransactionHost({"t": 2}))
    assert not coordinator.expire("id", 5_000)


def test_two_phase_commit_is_refused_before_transaction_version_2() -> None:
    coordinator = MemoryTransactionHost({"t": 2}).coordinator(ENABLED, transaction_version=1)
    for two_phase, kept in ((True, False), (False, True)):
        result = coordinator.init_producer_id(
            "id", 60_000, NO_PRODUCER, NOW, two_phase=two_phase, keep_prepared=kept, node_id=None
        )
        assert result.value.error is Error.UNSUPPORTED_VERSION
    assert coordinator.init_producer_id("id", 60_000, NO_PRODUCER, NOW, node_id=None).value.error is Error.NONE


def test_a_prepared_transaction_that_init_producer_id_kept_with_a_timeout_is_aborted_at_the_timeout() -> None:
    txn = written(decide(ongoing(timeout_ms=1000), keep(timeout_ms=1000), NOW))
    assert decide(txn, Timeout(2), txn.start_ms + 1000).value is None
    aborted = written(decide(txn, Timeout(2), txn.start_ms + 1001))
    assert aborted.state is S.PREPARE_ABORT
