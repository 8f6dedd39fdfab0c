"""The stored state of a share partition: each event in each state, and what a start rebuilds."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.broker.coordinator.share import state_records
from oncelog.broker.coordinator.share.state_rules import (
    FENCED_LEADER,
    FENCED_STATE,
    KNOWN,
    UNINITIALIZED,
    UNKNOWN,
    UNKNOWN_STATE,
    Compact,
    Delete,
    Event,
    Initialize,
    Load,
    Record,
    RecordState,
    ShareKey,
    ShareState,
    StateBatch,
    StateRefusal,
    StateSnapshot,
    Tombstone,
    Update,
    WriteState,
    apply,
    decide,
    merged,
)

NOW_MS = 1_700_000_000_000
KEY = ShareKey("g", bytes(range(16)), 3)
MAX_UPDATES = 3
ACKNOWLEDGED, AVAILABLE = RecordState.ACKNOWLEDGED, RecordState.AVAILABLE


def fold(*events: Event) -> ShareState | None:
    """The state after events that are all allowed."""
    state: ShareState | None = None
    for event in events:
        decision = decide(state, event, NOW_MS, MAX_UPDATES)
        assert not isinstance(decision, StateRefusal)
        if decision is not None:
            state = apply(state, decision, NOW_MS)
    return state


def write(
    first: int, last: int, state: RecordState = ACKNOWLEDGED, start: int = -1, leader_epoch: int = 0
) -> WriteState:
    return WriteState(1, leader_epoch, start, 0, [StateBatch(first, last, state, 1)])


@pytest.mark.parametrize("rules", [KNOWN, UNKNOWN])
def test_each_table_has_a_rule_for_each_event(rules: object) -> None:
    assert rules is KNOWN or rules is UNKNOWN
    assert set(KNOWN) == set(UNKNOWN) == set(get_args(Event))


@pytest.mark.parametrize("event", [write(0, 1), Load(0)])
def test_the_state_of_an_uninitialized_share_partition_is_neither_read_nor_written(event: Event) -> None:
    assert decide(None, event, NOW_MS, MAX_UPDATES) is UNKNOWN_STATE


def test_initializing_a_share_state_again_without_a_start_offset_keeps_its_delivery_states() -> None:
    state = fold(Initialize(1), write(0, 4, start=0))
    assert state is not None
    assert decide(state, Initialize(2), NOW_MS, MAX_UPDATES) is None
    moved = fold(Initialize(1), write(0, 4, start=0), Initialize(2, 7))
    assert moved is not None
    assert (moved.start_offset, moved.batches, moved.state_epoch) == (7, (), 2)


def test_a_share_state_request_with_an_older_epoch_is_fenced() -> None:
    state = fold(Initialize(2, 0), Load(5))
    assert decide(state, write(0, 1, leader_epoch=5)._replace(state_epoch=1), NOW_MS, MAX_UPDATES) is FENCED_STATE
    assert decide(state, write(0, 1, leader_epoch=4), NOW_MS, MAX_UPDATES) is FENCED_LEADER
    assert decide(state, Load(4), NOW_MS, MAX_UPDATES) is FENCED_LEADER
    assert decide(state, Initialize(1, 0), NOW_MS, MAX_UPDATES) is FENCED_STATE


def test_a_snapshot_is_written_after_a_number_of_updates_and_contains_them() -> None:
    state = fold(Initialize(1, 0), *[write(2 * n, 2 * n) for n in range(MAX_UPDATES)])
    assert state is not None
    assert state.updates == MAX_UPDATES
    decision = decide(state, write(9, 9), NOW_MS, MAX_UPDATES)
    assert isinstance(decision, StateSnapshot)
    assert [batch.first for batch in decision.state.batches] == [0, 2, 4, 9]
    assert (decision.state.snapshot_epoch, decision.state.updates) == (state.snapshot_epoch + 1, 0)


def test_a_deleted_share_state_does_not_exist_and_may_be_deleted_again() -> None:
    assert fold(Initialize(1), Delete()) is None
    assert fold(Delete(), Compact()) is None


BATCHES = st.lists(
    st.builds(
        lambda first, size, state, count: StateBatch(first, first + size, state, count),
        st.integers(0, 30),
        st.integers(0, 8),
        st.sampled_from([AVAILABLE, ACKNOWLEDGED, RecordState.ARCHIVED]),
        st.integers(1, 3),
    ),
    max_size=8,
)


@given(BATCHES, st.integers(0, 40))
def test_merged_delivery_batches_keep_the_latest_state_of_each_offset(batches: list[StateBatch], start: int) -> None:
    printed = {
        offset: (batch.state, batch.deliveries)
        for batch in batches
        for offset in range(batch.first, batch.last + 1)
        if offset >= start
    }
    found = merged((), batches, start)
    assert {offset: batch[2:] for batch in found for offset in range(batch.first, batch.last + 1)} == printed
    assert all(
        before.last < after.first and (before.last + 1 < after.first or before[2:] != after[2:])
        for before, after in pairwise(found)
    )


@pytest.mark.parametrize(
    "change",
    [
        StateSnapshot(ShareState(3, 2, 1, 10, 4, NOW_MS, NOW_MS + 1, (StateBatch(10, 12, ACKNOWLEDGED, 2),))),
        Update(3, 1, UNINITIALIZED, 4, (StateBatch(10, 12, AVAILABLE, 2), StateBatch(14, 14, ACKNOWLEDGED, 1))),
        Tombstone(),
    ],
)
def test_a_share_state_record_is_unchanged_after_encoding_and_decoding(change: Record) -> None:
    record = state_records.encoded(KEY, change)
    assert state_records.decoded(record.key, record.value) == (KEY, change)


def test_the_key_of_a_share_state_has_kafkas_layout() -> None:
    """``ShareSnapshotKey``: type 0, then group id, topic id and partition."""
    record = state_records.encoded(KEY, Tombstone())
    assert record.key == b"\0\0" + b"\0\x01g" + bytes(range(16)) + b"\0\0\0\x03"
