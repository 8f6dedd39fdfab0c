"""Deliveries of one partition: what is acquired, acknowledged, released, expired; compared with a naive model."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from oncelog.broker.coordinator.share.state_rules import FINAL, RecordState, StateBatch, merged
from oncelog.broker.core.sharing.share_partition import (
    AckBatch,
    AcknowledgeType,
    AckRefusal,
    Acquired,
    LogBatch,
    ShareLimits,
    SharePartition,
)
from oncelog.errors import Error

ACCEPT, RELEASE, REJECT, RENEW, GAP = 1, 2, 3, 4, 0
LIMITS = ShareLimits(lock_ms=1000)


def acquired_count(partition: SharePartition) -> int:
    return sum(len(each) for each in partition if each.state is RecordState.ACQUIRED)


def taken(
    partition: SharePartition, first: int, last: int, member: str = "a", limits: ShareLimits = LIMITS, now_ms: int = 0
) -> list[Acquired]:
    return partition.acquire(member, [LogBatch(first, last)], 500, limits, now_ms)


def done(
    partition: SharePartition, first: int, last: int, *types: int, member: str = "a", now_ms: int = 0
) -> AckRefusal | None:
    found = partition.acknowledge(member, [AckBatch(first, last, types)], LIMITS, now_ms)
    if isinstance(found, AckRefusal):
        return found
    partition.settle(found, written=True)
    return None


def test_acknowledged_records_are_never_redelivered() -> None:
    partition = SharePartition(0)
    assert taken(partition, 0, 9) == [Acquired(0, 9, 1)]
    assert done(partition, 0, 9, ACCEPT) is None
    assert (partition.start_offset, partition.in_flight, partition.next_offset()) == (10, 0, 10)


def test_a_released_record_is_delivered_again_with_a_higher_delivery_count() -> None:
    partition = SharePartition(0)
    taken(partition, 0, 2)
    assert done(partition, 0, 2, ACCEPT, RELEASE, REJECT) is None
    assert partition.start_offset == 1
    assert taken(partition, 0, 2, "b") == [Acquired(1, 1, 2)]


def test_a_record_at_its_delivery_limit_is_archived() -> None:
    partition = SharePartition(0)
    for count in range(1, LIMITS.delivery_count + 1):
        assert taken(partition, 0, 0) == [Acquired(0, 0, count)]
        assert done(partition, 0, 0, RELEASE) is None
    assert (partition.start_offset, partition.next_offset()) == (1, 1)


def test_an_expired_lock_makes_its_records_available() -> None:
    partition = SharePartition(0)
    taken(partition, 0, 4)
    assert partition.next_lock_ms() == 1000
    assert partition.expire(LIMITS, 999) == []
    assert partition.expire(LIMITS, 1000) == [StateBatch(0, 4, RecordState.AVAILABLE, 1)]
    refusal = done(partition, 0, 4, ACCEPT)
    assert refusal is not None
    assert refusal.error is Error.INVALID_RECORD_STATE


def test_a_renewed_lock_expires_later() -> None:
    partition = SharePartition(0)
    taken(partition, 0, 4)
    assert done(partition, 0, 2, RENEW, now_ms=500) is None
    assert partition.expire(LIMITS, 1000) == [StateBatch(3, 4, RecordState.AVAILABLE, 1)]
    assert partition.next_lock_ms() == 1500


@pytest.mark.parametrize(
    ("member", "first", "last", "error"),
    [
        ("b", 0, 4, Error.INVALID_RECORD_STATE),
        ("a", 0, 5, Error.INVALID_REQUEST),
        ("a", 7, 9, Error.INVALID_REQUEST),
    ],
)
def test_records_that_a_member_has_not_acquired_are_not_acknowledged(
    member: str, first: int, last: int, error: Error
) -> None:
    partition = SharePartition(0)
    taken(partition, 0, 4)
    refusal = done(partition, first, last, ACCEPT, member=member)
    assert refusal is not None
    assert refusal.error is error
    assert acquired_count(partition) == 5


def test_several_batches_are_acknowledged_together_or_not_at_all() -> None:
    partition = SharePartition(0)
    taken(partition, 0, 4)
    found = partition.acknowledge("a", [AckBatch(0, 1, [ACCEPT]), AckBatch(4, 8, [ACCEPT])], LIMITS, 0)
    assert isinstance(found, AckRefusal)
    assert acquired_count(partition) == 5
    assert done(partition, 0, 4, ACCEPT) is None


def test_an_offset_in_two_acknowledgement_batches_is_acknowledged_by_neither() -> None:
    partition = SharePartition(0)
    taken(partition, 0, 2)
    found = partition.acknowledge("a", [AckBatch(0, 1, [ACCEPT]), AckBatch(1, 2, [ACCEPT])], LIMITS, 0)
    assert isinstance(found, AckRefusal)
    assert found.error is Error.INVALID_RECORD_STATE
    assert acquired_count(partition) == 3


def test_records_with_a_pending_change_are_neither_acknowledged_nor_delivered_twice() -> None:
    partition = SharePartition(0)
    taken(partition, 0, 4)
    changes = partition.acknowledge("a", [AckBatch(0, 4, [RELEASE])], LIMITS, 0)
    assert not isinstance(changes, AckRefusal)
    refusal = partition.acknowledge("a", [AckBatch(0, 4, [ACCEPT])], LIMITS, 0)
    assert isinstance(refusal, AckRefusal)
    assert taken(partition, 0, 4, "b") == []
    assert partition.expire(LIMITS, 5000) == []
    partition.settle(changes, written=False)
    assert done(partition, 0, 4, ACCEPT) is None


def test_markers_and_aborted_records_are_skipped_without_a_delivery() -> None:
    partition = SharePartition(0)
    batches = [LogBatch(0, 2), LogBatch(3, 6, skipped=True), LogBatch(7, 9)]
    assert partition.acquire("a", batches, 500, LIMITS, 0) == [Acquired(0, 2, 1), Acquired(7, 9, 1)]
    assert done(partition, 0, 2, ACCEPT) is None
    assert partition.start_offset == 7


def test_offsets_that_compaction_removed_are_skipped() -> None:
    partition = SharePartition(0)
    assert partition.acquire("a", [LogBatch(0, 2), LogBatch(8, 9)], 500, LIMITS, 0) == [
        Acquired(0, 2, 1),
        Acquired(8, 9, 1),
    ]
    assert done(partition, 0, 9, ACCEPT) is not None
    assert done(partition, 0, 2, ACCEPT) is None
    assert partition.start_offset == 8


def test_a_share_partition_has_no_more_records_in_flight_than_allowed() -> None:
    partition, limits = SharePartition(0), LIMITS._replace(record_locks=100)
    for base in range(0, 100_000, 10):
        if not partition.can_acquire(limits):
            break
        taken(partition, base, base + 9, limits=limits)
    assert partition.in_flight == 100
    assert not partition.can_acquire(limits)


def test_a_batch_is_completed_unless_the_limit_of_records_is_strict() -> None:
    partition = SharePartition(0)
    assert partition.acquire("a", [LogBatch(0, 9)], 3, LIMITS, 0, is_strict=True) == [Acquired(0, 2, 1)]
    assert partition.acquire("a", [LogBatch(0, 9)], 3, LIMITS, 0) == [Acquired(3, 9, 1)]


def test_a_record_that_retention_deleted_is_removed_from_the_share_state() -> None:
    partition = SharePartition(0)
    taken(partition, 0, 9)
    partition.move_start(4)
    assert (partition.start_offset, acquired_count(partition)) == (4, 6)
    partition.move_start(40)
    assert (partition.start_offset, partition.next_offset()) == (40, 40)


def test_records_acquired_by_a_member_that_leaves_become_available() -> None:
    partition = SharePartition(0)
    taken(partition, 0, 4)
    taken(partition, 5, 9, "b")
    changes = partition.release("a", LIMITS)
    partition.settle(changes, written=True)
    assert changes == [StateBatch(0, 4, RecordState.AVAILABLE, 1)]
    assert acquired_count(partition) == 5


class Deliveries(RuleBasedStateMachine):
    """Each offset by itself, beside the ranges. The store is what a restart would begin with."""

    def __init__(self) -> None:
        super().__init__()
        self.partition = SharePartition(0)
        self.now_ms = 0
        self.model: dict[int, tuple[RecordState, int, str]] = {}
        self.stored: tuple[StateBatch, ...] = ()

    def of(self, offset: int) -> tuple[RecordState, int, str]:
        return self.model.get(offset, (RecordState.AVAILABLE, 0, ""))

    def store(self, changes: Sequence[StateBatch]) -> None:
        for change in changes:
            for offset in range(change.first, change.last + 1):
                self.model[offset] = (change.state, change.deliveries, "")
        self.stored = merged(self.stored, changes, self.partition.start_offset)

    @rule(member=st.sampled_from("ab"), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), strict=st.booleans())
    def acquire(self, member: str, sizes: list[int], strict: bool) -> None:
        base = self.partition.next_offset()
        batches = []
        for size in sizes:
            batches.append(LogBatch(base, base + size - 1))
            base += size
        for first, last, deliveries in self.partition.acquire(
            member, batches, 6, LIMITS, self.now_ms, is_strict=strict
        ):
            for offset in range(first, last + 1):
                state, before, _ = self.of(offset)
                assert state is RecordState.AVAILABLE
                assert deliveries == before + 1 <= LIMITS.delivery_count
                self.model[offset] = (RecordState.ACQUIRED, deliveries, member)

    @rule(
        member=st.sampled_from("ab"),
        first=st.integers(0, 60),
        kinds=st.lists(st.sampled_from([GAP, ACCEPT, RELEASE, REJECT]), min_size=1, max_size=6),
        written=st.booleans(),
    )
    def acknowledge(self, member: str, first: int, kinds: list[int], written: bool) -> None:
        last = first + len(kinds) - 1
        start = self.partition.start_offset
        asked = range(max(first, start), last + 1)
        owned = all(self.of(offset)[::2] == (RecordState.ACQUIRED, member) for offset in asked)
        changes = self.partition.acknowledge(member, [AckBatch(first, last, kinds)], LIMITS, self.now_ms)
        assert isinstance(changes, AckRefusal) is not (owned or not asked)
        if isinstance(changes, AckRefusal):
            return
        printed = {offset: AcknowledgeType(kinds[offset - first]) for offset in asked}
        self.partition.settle(changes, written=written)
        if written:
            self.store(changes)
            for offset, kind in printed.items():
                state = self.of(offset)[0]
                assert (state in FINAL) or kind is AcknowledgeType.RELEASE

    @rule(milliseconds=st.integers(1, 1500))
    def wait(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        self.store(self.partition.expire(LIMITS, self.now_ms))

    @rule()
    def restart(self) -> None:
        """Acquisitions are lost; stored states stay. A record without a stored state counts its deliveries from one."""
        self.partition = SharePartition(self.partition.start_offset, self.stored)
        stored = {offset: each for each in self.stored for offset in range(each.first, each.last + 1)}
        for offset, (state, _, _) in self.model.items():
            if state not in FINAL:
                known = stored.get(offset)
                self.model[offset] = (RecordState.AVAILABLE, known.deliveries if known else 0, "")

    @invariant()
    def ranges_tile_what_is_in_flight_and_agree_with_the_model(self) -> None:
        expected = self.partition.start_offset
        for each in self.partition:
            assert each.first == expected
            for offset in range(each.first, each.last + 1):
                assert self.of(offset) == (each.state, each.deliveries, each.member_id)
            expected = each.last + 1
        assert all(self.of(offset)[0] in FINAL for offset in range(self.partition.start_offset))
        final = sum(len(each) for each in self.partition if each.state in FINAL)
        assert self.partition.final_count == final


TestDeliveries = Deliveries.TestCase
