"""The table of idempotence and transactions: KIP-98, KIP-360, KIP-890, KIP-1228; Kafka's ``ProducerAppendInfo``."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from oncelog.broker.log.producers.producer_entry import BatchMetadata, ProducerStateEntry
from oncelog.broker.log.producers.producer_rules import Refusal
from oncelog.broker.log.producers.producer_snapshot import decode_snapshot, encode_snapshot
from oncelog.broker.log.producers.producer_state import ProducerStateManager
from oncelog.broker.log.producers.verification_state import VerificationGuard
from oncelog.errors import CorruptLogError, Error
from oncelog.records.batch import BatchHeader, read_header
from oncelog.types import MAX_SEQUENCE
from tests.unit.broker.log.batches import NOW_MS, PARTITION, batch

PID = 7


def header(
    seq: int, count: int = 1, *, epoch: int = 3, txn: bool = False, pid: int = PID, timestamp: int = NOW_MS
) -> BatchHeader:
    return read_header(batch(count, pid=pid, epoch=epoch, seq=seq, txn=txn, timestamp=timestamp))


def manager(*, verify: bool = False) -> ProducerStateManager:
    return ProducerStateManager(PARTITION, verify_transactions=verify)


def answer(
    state: ProducerStateManager,
    data: BatchHeader,
    guard: VerificationGuard | None = None,
) -> Error | str:
    """What a producer is answered: an error, ``"duplicate"`` or NONE."""
    outcome = state.check_client(data, guard, state.map_end_offset)
    if isinstance(outcome, Refusal):
        return outcome.error
    return Error.NONE if outcome is None else "duplicate"


def take(state: ProducerStateManager, data: BatchHeader) -> None:
    state.apply_data(data, state.map_end_offset)


def end(state: ProducerStateManager, *, epoch: int = 3, commit: bool = True, pid: int = PID) -> None:
    state.apply_marker(pid, epoch, 0, commit, state.map_end_offset, NOW_MS)


class Case(NamedTuple):
    """A producer that wrote one record for each of the sequences ``written`` in epoch 3, and a batch that it sends
    then.
    """

    name: str
    written: range
    seq: int
    expected: Error | str
    count: int = 1  # type: ignore[assignment] # a tuple has a method of that name
    epoch: int = 3
    txn: bool = False
    open_transaction: bool = False


CASES = [
    Case("any of the last five batches is a duplicate", range(6), 1, "duplicate"),
    Case("the newest batch is a duplicate", range(6), 5, "duplicate"),
    Case("the sixth last batch is out of order", range(6), 0, Error.OUT_OF_ORDER_SEQUENCE_NUMBER),
    Case("the first sequence alone makes no duplicate", range(6), 5, Error.OUT_OF_ORDER_SEQUENCE_NUMBER, count=2),
    Case("the next sequence is accepted", range(6), 6, Error.NONE),
    Case("a gap is out of order", range(6), 7, Error.OUT_OF_ORDER_SEQUENCE_NUMBER),
    Case("zero follows the greatest sequence", range(MAX_SEQUENCE, MAX_SEQUENCE + 1), 0, Error.NONE),
    Case(
        "no sequence passes the greatest",
        range(MAX_SEQUENCE - 1, MAX_SEQUENCE),
        0,
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ),
    Case("an older epoch is fenced", range(1), 1, Error.INVALID_PRODUCER_EPOCH, epoch=2),
    Case("an older epoch is fenced even with a known sequence", range(1), 0, Error.INVALID_PRODUCER_EPOCH, epoch=2),
    Case("a newer epoch has to begin at 0", range(1), 1, Error.OUT_OF_ORDER_SEQUENCE_NUMBER, epoch=4),
    Case("a newer epoch begins at 0", range(1), 0, Error.NONE, epoch=4),
    Case("an unknown producer may begin anywhere", range(0), 5, Error.NONE),
    Case(
        "a plain write inside the producer's transaction is refused",
        range(1),
        1,
        Error.INVALID_TXN_STATE,
        open_transaction=True,
    ),
    Case("a transactional write may begin a transaction", range(1), 1, Error.NONE, txn=True),
    Case("a transaction goes on with the next sequence", range(1), 1, Error.NONE, txn=True, open_transaction=True),
    Case(
        "an older epoch is fenced before anything else is looked at",
        range(1),
        9,
        Error.INVALID_PRODUCER_EPOCH,
        epoch=2,
        open_transaction=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_producers_batch_is_judged_as_in_kafka(case: Case) -> None:
    state = manager()
    for seq in case.written:
        take(state, header(seq, txn=case.open_transaction))
    assert answer(state, header(case.seq, case.count, epoch=case.epoch, txn=case.txn)) == case.expected


def test_after_a_batch_across_the_sequence_wrap_the_next_sequence_is_expected() -> None:
    state = manager()
    take(state, header(MAX_SEQUENCE - 1, count=4))
    assert answer(state, header(2)) is Error.NONE
    assert answer(state, header(3)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert answer(state, header(MAX_SEQUENCE - 1, count=4)) == "duplicate"


def test_a_duplicate_returns_the_offsets_of_the_original() -> None:
    state = manager()
    state.skip_to(100)
    take(state, header(0, count=10))
    take(state, header(10))
    outcome = state.check_client(header(0, count=10), None, state.map_end_offset)
    assert isinstance(outcome, BatchMetadata)
    assert (outcome.first_offset, outcome.last_offset) == (100, 109)


def test_a_new_producer_epoch_forgets_the_batches_of_the_old_epoch() -> None:
    state = manager()
    take(state, header(0))
    take(state, header(0, epoch=4))
    assert answer(state, header(0)) is Error.INVALID_PRODUCER_EPOCH
    assert [b.last_sequence for b in state.entries[PID].batches] == [0]


def test_a_marker_of_the_same_epoch_keeps_the_sequences() -> None:
    state = manager()
    take(state, header(0, txn=True))
    end(state)
    assert answer(state, header(0, txn=True)) == "duplicate"
    assert answer(state, header(1, txn=True)) is Error.NONE


def test_a_marker_with_a_newer_epoch_starts_sequences_at_0() -> None:
    state = manager()
    take(state, header(0, txn=True))
    end(state, epoch=4)
    assert answer(state, header(1, txn=True, epoch=4)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert answer(state, header(0, txn=True, epoch=4)) is Error.NONE
    assert answer(state, header(1, txn=True, epoch=3)) is Error.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(
    ("epoch", "coordinator_epoch", "version", "expected"),
    [
        (3, 5, 0, None),
        (4, 5, 0, None),
        (2, 5, 0, Error.INVALID_PRODUCER_EPOCH),
        (3, 4, 0, Error.TRANSACTION_COORDINATOR_FENCED),
        (2, 4, 0, Error.INVALID_PRODUCER_EPOCH),
        (3, 5, 2, Error.INVALID_PRODUCER_EPOCH),
        (4, 5, 2, None),
        (4, 6, 2, None),
    ],
)
def test_the_epoch_and_the_coordinator_epoch_of_a_marker_are_checked(
    epoch: int, coordinator_epoch: int, version: int, expected: Error | None
) -> None:
    state = manager()
    take(state, header(0, txn=True))
    state.apply_marker(PID, 3, 5, True, state.map_end_offset, NOW_MS)
    take(state, header(1, txn=True))
    refusal = state.check_marker(PID, epoch, coordinator_epoch, version)
    assert (refusal and refusal.error) == expected


def test_a_marker_of_transaction_version_2_can_be_repeated_after_its_transaction() -> None:
    state = manager()
    take(state, header(0, txn=True))
    end(state, epoch=4)
    assert state.check_marker(PID, 4, 0, 2) is None
    refusal = state.check_marker(PID, 3, 0, 2)
    assert refusal is not None
    assert refusal.error is Error.INVALID_PRODUCER_EPOCH


def test_a_marker_without_a_producer_id_is_refused() -> None:
    refusal = manager().check_marker(-1, 0, 0, 2)
    assert refusal is not None and refusal.error is Error.UNKNOWN_SERVER_ERROR


def test_a_marker_of_an_unknown_producer_is_accepted() -> None:
    state = manager()
    assert state.check_marker(PID, 0, 0, 2) is None
    assert state.apply_marker(PID, 0, 9, True, 0, NOW_MS) is None
    assert state.entries[PID].coordinator_epoch == 9


# --- verification (KIP-890)


def test_a_transaction_begins_only_with_a_verification_guard() -> None:
    state = manager(verify=True)
    guard = state.begin_verification(PID, 3, 0, False, NOW_MS)
    first = header(0, txn=True)
    assert guard is not None
    assert answer(state, first) is Error.INVALID_TXN_STATE
    assert answer(state, first, VerificationGuard()) is Error.INVALID_TXN_STATE
    assert answer(state, first, guard) is Error.NONE
    take(state, first)
    assert state.begin_verification(PID, 3, 1, False, NOW_MS) is None
    assert answer(state, header(1, txn=True)) is Error.NONE


def test_a_verification_guard_is_stale_once_the_transaction_has_ended() -> None:
    state = manager(verify=True)
    guard = state.begin_verification(PID, 3, 0, False, NOW_MS)
    end(state, commit=False)
    assert answer(state, header(0, txn=True), guard) is Error.INVALID_TXN_STATE
    again = state.begin_verification(PID, 3, 0, False, NOW_MS)
    assert answer(state, header(0, txn=True), again) is Error.NONE


@pytest.mark.parametrize(("marker_epoch", "stays"), [(3, True), (4, True), (5, False)])
def test_a_late_marker_of_transaction_version_2_does_not_end_a_later_transaction(
    marker_epoch: int, stays: bool
) -> None:
    state = manager(verify=True)
    guard = state.begin_verification(PID, 4, 0, True, NOW_MS)
    end(state, epoch=marker_epoch)
    refused = Error.NONE if stays else Error.INVALID_PRODUCER_EPOCH
    assert answer(state, header(0, txn=True, epoch=4), guard) is refused


def test_an_open_transaction_of_an_older_epoch_does_not_replace_verification() -> None:
    state = manager(verify=True)
    take(state, header(0, txn=True))
    assert answer(state, header(0, txn=True, epoch=4)) is Error.INVALID_TXN_STATE
    assert state.begin_verification(PID, 4, 0, False, NOW_MS) is not None


def test_a_duplicate_batch_needs_no_verification() -> None:
    state = manager(verify=True)
    take(state, header(0, txn=True))
    end(state)
    assert answer(state, header(0, txn=True)) == "duplicate"


def test_a_batch_outside_a_transaction_needs_no_verification() -> None:
    assert answer(manager(verify=True), header(0)) is Error.NONE


def test_no_batch_overtakes_a_batch_of_its_producer_that_waits_for_verification() -> None:
    state = manager(verify=True)
    guard = state.begin_verification(PID, 3, 0, False, NOW_MS)
    assert state.begin_verification(PID, 3, 1, False, NOW_MS) is guard
    assert answer(state, header(1, txn=True), guard) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert answer(state, header(0, txn=True), guard) is Error.NONE


def test_a_newer_epoch_restarts_the_sequences_of_batches_that_wait_for_verification() -> None:
    state = manager(verify=True)
    state.begin_verification(PID, 3, 0, False, NOW_MS)
    guard = state.begin_verification(PID, 4, 5, False, NOW_MS)
    assert answer(state, header(5, txn=True, epoch=4), guard) is Error.NONE


def test_a_transaction_of_version_2_of_an_unknown_producer_begins_at_sequence_0() -> None:
    state = manager(verify=True)
    guard = state.begin_verification(PID, 3, 5, True, NOW_MS)
    assert answer(state, header(5, txn=True), guard) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert answer(state, header(0, txn=True), guard) is Error.NONE


def test_with_verification_disabled_the_coordinator_is_asked_only_to_add_the_partition() -> None:
    """As in Kafka 4.3: a producer of transaction version 2 adds no partitions itself, so its first append still
    does.
    """
    state = manager()
    assert state.begin_verification(PID, 3, 0, False, NOW_MS) is None
    assert answer(state, header(0, txn=True)) is Error.NONE
    assert state.begin_verification(PID + 1, 3, 0, True, NOW_MS) is not None


@pytest.mark.parametrize(
    ("epoch", "txn", "expected"),
    [
        (3, True, None),
        (2, True, Error.INVALID_PRODUCER_EPOCH),
        (3, False, Error.INVALID_TXN_STATE),
        (4, True, None),
    ],
)
def test_a_coordinators_batch_is_checked_for_its_epoch_but_not_for_a_sequence(
    epoch: int, txn: bool, expected: Error | None
) -> None:
    state = manager()
    take(state, header(0, txn=True))
    refusal = state.check_coordinator(header(-1, epoch=epoch, txn=txn), None, 1)
    assert (refusal and refusal.error) == expected


# --- what holds readers back


def test_a_transaction_holds_readers_back_until_its_marker_is_replicated() -> None:
    state = manager()
    take(state, header(0, txn=True))
    take(state, header(0, pid=8))
    end(state)
    assert state.first_undecided_offset is None
    assert state.first_unstable_offset == 0
    state.replicated_to(2)
    assert state.first_unstable_offset == 0
    state.replicated_to(3)
    assert state.first_unstable_offset is None


def test_the_last_stable_offset_when_a_transaction_ends_is_the_start_of_the_first_open_transaction() -> None:
    state = manager()
    take(state, header(0, txn=True, pid=1))
    take(state, header(0, txn=True, pid=2))
    take(state, header(0, txn=True, pid=3))
    two = state.apply_marker(2, 3, 0, False, 3, NOW_MS)
    one = state.apply_marker(1, 3, 0, False, 4, NOW_MS)
    three = state.apply_marker(3, 3, 0, True, 5, NOW_MS)
    assert two is not None
    assert one is not None
    assert three is not None
    assert (two.first_offset, two.last_offset, two.last_stable_offset, two.aborted) == (1, 3, 0, True)
    assert (one.first_offset, one.last_offset, one.last_stable_offset, one.aborted) == (0, 4, 2, True)
    assert (three.first_offset, three.last_offset, three.last_stable_offset, three.aborted) == (2, 5, 6, False)


# --- expiry, snapshots


def test_an_idle_producer_expires_unless_it_has_an_open_transaction() -> None:
    state = ProducerStateManager(PARTITION, 1000, verify_transactions=True)
    take(state, header(0, timestamp=NOW_MS))
    take(state, header(0, pid=8, txn=True, timestamp=NOW_MS))
    guard = state.begin_verification(9, 0, 0, False, NOW_MS)
    state.expire(NOW_MS + 999)
    assert sorted(state.entries) == [PID, 8]
    state.expire(NOW_MS + 1000)
    assert sorted(state.entries) == [8]
    assert answer(state, header(0, pid=9, txn=True), guard) is Error.INVALID_TXN_STATE


def test_a_producer_snapshot_contains_the_newest_batch_of_each_producer() -> None:
    state = manager()
    for seq in range(7):
        take(state, header(seq))
    take(state, header(4, count=3, pid=8, txn=True))
    end(state, pid=9, epoch=1)
    loaded = manager()
    loaded.load(decode_snapshot(encode_snapshot(state.entries.values())), state.map_end_offset, NOW_MS)
    assert loaded.entries[PID] == ProducerStateEntry(PID, 3, -1, NOW_MS, -1, [BatchMetadata(6, 6, 0, NOW_MS)])
    timestamp = NOW_MS + 2
    assert loaded.entries[8] == ProducerStateEntry(8, 3, -1, timestamp, 7, [BatchMetadata(6, 9, 2, timestamp)])
    assert loaded.entries[9] == ProducerStateEntry(9, 1, 0, NOW_MS)
    assert loaded.first_unstable_offset == 7


def test_a_producer_snapshot_has_kafkas_bytes() -> None:
    # version 1, CRC-32C of the rest, one entry of 46 bytes (ProducerSnapshot.json)
    data = encode_snapshot([ProducerStateEntry(7, 3, 5, 9, 11, [BatchMetadata(2, 12, 1, 9)])])
    entry = "0000000000000007 0003 00000002 000000000000000c 00000001 0000000000000009 00000005 000000000000000b"
    assert data[:2].hex() == "0001"
    assert data[6:].hex() == "00000001" + entry.replace(" ", "")


@pytest.mark.parametrize("position", [0, 3, 8, 20, -1])
def test_a_damaged_producer_snapshot_is_detected(position: int) -> None:
    data = bytearray(encode_snapshot([ProducerStateEntry(7, 3)]))
    data[position] ^= 0x40
    with pytest.raises(CorruptLogError):
        decode_snapshot(bytes(data))


@pytest.mark.parametrize("size", [0, 5, 9, 20])
def test_a_truncated_producer_snapshot_is_detected(size: int) -> None:
    with pytest.raises(CorruptLogError):
        decode_snapshot(encode_snapshot([ProducerStateEntry(7, 3)])[:size])


def test_expired_producers_are_not_loaded_from_a_snapshot() -> None:
    state = ProducerStateManager(PARTITION, 1000)
    state.load([ProducerStateEntry(7, 3, last_timestamp=NOW_MS)], 1, NOW_MS + 1000)
    assert not state.entries


def test_a_verification_that_began_with_the_older_protocol_allows_any_first_sequence() -> None:
    """After verification, Apache Kafka only remembers whether the first request bumped epochs, whoever appends in
    the end.
    """
    for first_request, expected in ((False, Error.NONE), (True, Error.OUT_OF_ORDER_SEQUENCE_NUMBER)):
        state = manager(verify=True)
        state.begin_verification(7, 0, 0, first_request, 0)
        guard = state.begin_verification(7, 2, 1, True, 0)
        assert answer(state, header(1, pid=7, epoch=2, txn=True), guard) == expected
