"""The share coordinator with states that are too large for one record of its topic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from oncelog.broker.coordinator.share.state_rules import Initialize, RecordState, ShareKey, StateBatch, WriteState
from oncelog.errors import NONE, Error
from oncelog.types import SHARE_GROUP_STATE_TOPIC
from tests.unit.broker.core.conftest import NOW_MS, Admin

KEY = ShareKey("g", bytes(16), 0)
RANGES = 100
SETTINGS: Any = {"message.max.bytes": "2000", "share.coordinator.snapshot.update.records.per.snapshot": "2"}


@pytest.fixture
def admin() -> Iterator[Admin]:
    made = Admin(**SETTINGS)
    made.broker.topics.ensure_internal(SHARE_GROUP_STATE_TOPIC, NOW_MS)
    assert [each.value for each in made.broker.share_states.initialize([(KEY, Initialize(1, 0))], NOW_MS)] == [NONE]
    yield made
    made.broker.stop(NOW_MS)


def write(admin: Admin, *batches: StateBatch, start_offset: int = 0) -> Error:
    return admin.broker.share_states.write(KEY, WriteState(1, 0, start_offset, 0, batches), NOW_MS).value


def test_a_share_state_that_is_too_large_for_a_snapshot_is_written_as_updates(admin: Admin) -> None:
    kinds = (RecordState.AVAILABLE, RecordState.ACKNOWLEDGED)
    ranges = [StateBatch(offset, offset, kinds[offset % 2], 1) for offset in range(RANGES)]
    for each in ranges:
        assert write(admin, each) is NONE
    state = admin.broker.share_states.state(KEY)
    assert state is not None
    assert state.batches == tuple(ranges)
    assert state.updates > 2
    assert write(admin, start_offset=RANGES - 1) is NONE, "few are left"
    while state.updates:
        assert write(admin) is NONE
        state = admin.broker.share_states.state(KEY)
        assert state is not None
    assert state.batches == (ranges[-1],)


def test_a_change_of_a_share_state_that_is_too_large_for_one_record_is_refused(admin: Admin) -> None:
    ranges = [StateBatch(2 * offset, 2 * offset, RecordState.ACKNOWLEDGED, 1) for offset in range(RANGES)]
    assert write(admin, *ranges) is Error.UNKNOWN_SERVER_ERROR
    state = admin.broker.share_states.state(KEY)
    assert state is not None
    assert state.batches == ()
