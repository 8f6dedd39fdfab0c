"""The stored state of a share partition as ranges: what is stored, and the holes that are not acknowledged yet."""

from __future__ import annotations

from oncelog.broker.coordinator.share.state_rules import RecordState, ShareState, StateBatch
from oncelog.cli.administration.share_deliveries import ranges
from oncelog.types import TopicPartition

NAME = TopicPartition("t", 0)


def shown(start_offset: int, *batches: StateBatch) -> list[tuple[int, int, str, int | None]]:
    state = ShareState(0, 1, 0, start_offset, 0, 0, 0, batches)
    return [tuple(found)[1:] for found in ranges(NAME, state)]  # type: ignore[misc]


def test_offsets_between_stored_share_states_are_shown_as_not_acknowledged() -> None:
    assert shown(5, StateBatch(10, 12, RecordState.AVAILABLE, 2), StateBatch(7, 8, RecordState.ARCHIVED, 5)) == [
        (5, 6, "not acknowledged yet", None),
        (7, 8, "given up", 5),
        (9, 9, "not acknowledged yet", None),
        (10, 12, "to be delivered again", 2),
    ]


def test_offsets_before_the_start_offset_of_a_share_group_are_not_shown() -> None:
    assert shown(5, StateBatch(0, 3, RecordState.ACKNOWLEDGED, 1), StateBatch(4, 6, RecordState.ACKNOWLEDGED, 1)) == [
        (5, 6, "acknowledged", 1)
    ]


def test_a_partition_that_nobody_has_fetched_from_has_no_ranges() -> None:
    assert shown(-1) == []
