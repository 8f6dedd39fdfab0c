"""The map translates exactly, whatever the runs, and is restored from its records unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.apps.mirror.offset_map import (
    CHAPTER,
    NO_ID,
    MapError,
    MirroredPosition,
    MirrorState,
    PartitionMap,
    Run,
    group_record,
    is_replaced,
    mirror_record,
    position_record,
    runs_record,
)
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.types import TopicPartition

NAME = TopicPartition("t", 0)


def of(pairs: list[tuple[int, int]]) -> PartitionMap:
    made = PartitionMap()
    for source, target in pairs:
        made.add(Run(source, target, 1))
    return made


@given(st.lists(st.tuples(st.sampled_from([1, 1, 1, 2, 5]), st.sampled_from([1, 1, 1, 2, 3])), max_size=60))
def test_an_offset_is_translated_to_the_first_record_at_or_after_it(steps: list[tuple[int, int]]) -> None:
    pairs, source, target = [], 0, 10
    for ahead, behind in steps:
        pairs.append((source, target))
        source, target = source + ahead, target + behind
    made = of(pairs)
    for offset in range(source + 3):
        at_or_after = [there for here, there in pairs if here >= offset]
        expected = at_or_after[0] if at_or_after else pairs[-1][1] + 1 if pairs else None
        assert made.translate(offset) == expected


def test_the_offset_map_stores_records_without_a_gap_as_one_run() -> None:
    assert of([(0, 5), (1, 6), (2, 7)]).chapters == {0: [Run(0, 5, 3)]}
    assert of([(0, 5), (2, 6)]).chapters == {0: [Run(0, 5, 1), Run(2, 6, 1)]}
    assert of([(0, 5), (1, 7)]).chapters == {0: [Run(0, 5, 1), Run(1, 7, 1)]}


def test_a_change_of_the_offset_map_rewrites_only_its_last_chapter() -> None:
    made = of([(2 * number, number) for number in range(CHAPTER)])
    made.changed.clear()
    made.add(Run(10_000, 10_000, 1))
    made.add(Run(20_000, 20_000, 1))
    assert made.changed == {1}
    assert made.translate(2 * CHAPTER) == 10_000
    assert made.translate(6) == 3


def test_chapters_of_deleted_records_are_removed_from_the_offset_map_except_for_the_last() -> None:
    made = of([(2 * number, number) for number in range(2 * CHAPTER + 1)])
    assert made.forget_before(2 * CHAPTER - 1) == []
    assert made.forget_before(2 * CHAPTER) == [0]
    assert made.forget_before(10**9) == [1]
    assert made.translate(0) == 2 * CHAPTER


def test_the_offset_map_is_restored_from_its_records() -> None:
    state = MirrorState()
    for key, value in [
        mirror_record("A", "B"),
        position_record(NAME, MirroredPosition(7, "one", "two")),
        runs_record(NAME, 0, [Run(0, 5, 3), Run(4, 9, 1)]),
        runs_record(NAME, 1, [Run(6, 11, 1)]),
        group_record("g", NAME, OffsetAndMetadata(9, "")),
        group_record("marker", NAME, OffsetAndMetadata(-1, "batch 7")),
    ]:
        state.apply(key, value)
    assert (state.source_cluster, state.target_cluster) == ("A", "B")
    assert state.positions == {NAME: MirroredPosition(7, "one", "two")}
    assert [state.map_of(NAME).translate(offset) for offset in (0, 2, 3, 5, 7)] == [5, 7, 9, 11, 12]
    assert state.groups == {("g", NAME): OffsetAndMetadata(9, ""), ("marker", NAME): OffsetAndMetadata(-1, "batch 7")}
    state.apply(*runs_record(NAME, 0, None))
    assert state.map_of(NAME).translate(0) == 11


@pytest.mark.parametrize("record", [(None, b"{}"), (b"{}", b"{}"), (b"no", b"no"), (b'{"kind":"position"}', b"{}")])
def test_the_offset_map_refuses_a_record_of_another_program(record: tuple[bytes | None, bytes]) -> None:
    with pytest.raises(MapError, match="no mirror has written"):
        MirrorState().apply(*record)


def test_the_offset_map_accepts_a_topic_id_where_it_had_none() -> None:
    """A cluster that is upgraded gives ids to the topics that it has."""
    first, second = "0a" * 16, "0b" * 16
    assert not is_replaced(NO_ID, first)
    assert not is_replaced(first, NO_ID)
    assert is_replaced(first, second)
    position = MirroredPosition(5, NO_ID, NO_ID)
    assert position.take_ids(first, second)
    assert (position.source_id, position.target_id) == (first, second)
    assert not position.take_ids(second, first)
    assert (position.source_id, position.target_id) == (first, second)
