"""Rate limits, splitting, positions and data loss, as Spark's own connector has them."""

from __future__ import annotations

from json import dumps

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.errors import ConfigError
from oncelog.records.batch import DELETE_HORIZON_BIT, BatchHeader
from oncelog.spark.kafka.interface import OffsetRange
from oncelog.spark.kafka.place import BatchMark, Place
from oncelog.spark.options import EARLIEST, LATEST, ByTimestampStrategy, OffsetsOption, parse_offsets_json
from oncelog.spark.source.planned_offsets import (
    check_order,
    describe_beyond,
    describe_loss,
    limit_offsets,
    positions_to_ask,
    remade_topics,
    resolve_position,
    split_ranges,
)
from oncelog.types import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def test_offsets_are_written_in_the_form_of_sparks_own_connector() -> None:
    offsets = {B0: 7, A1: 2, A0: 1}
    assert Place(offsets).as_json() == {"a": {"0": 1, "1": 2}, "b": {"0": 7}}
    assert Place.of({"a": {"0": 1, "1": 2}, "b": {"0": 7}}) == Place(offsets)


def test_a_checkpoint_contains_the_topic_ids_and_the_start_of_the_first_batch() -> None:
    place = Place({A0: 9, B0: 7}, {"a": "id-a", "b": "id-b", "gone": "x"}, {A0: 5})
    json = {"a": {"0": 9, "id": "id-a", "from": {"0": 5}}, "b": {"0": 7, "id": "id-b"}}
    assert place.as_json() == json
    assert Place.of(json) == Place({A0: 9, B0: 7}, {"a": "id-a", "b": "id-b"}, {A0: 5})


def test_a_changed_topic_id_shows_a_recreation_and_an_unknown_id_does_not() -> None:
    assert remade_topics({"a": "1", "b": "2", "c": "3"}, {"a": "9", "b": "2", "d": "4"}) == ["a"]
    assert remade_topics({}, {"a": "1"}) == []


def test_the_limit_is_divided_in_proportion_to_the_records_of_each_partition() -> None:
    limited = limit_offsets({A0: 0, A1: 100, B0: 5}, {A0: 90, A1: 110, B0: 5}, 10)
    assert limited == {A0: 9, A1: 101, B0: 5}


def test_a_partition_with_few_unread_records_is_not_starved_by_the_limit() -> None:
    assert limit_offsets({A0: 0, A1: 0}, {A0: 1_000_000, A1: 1}, 10)[A1] == 1


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=6), st.integers(1, 2000))
def test_a_limited_range_stays_within_the_log_and_advances_every_waiting_partition(
    ends: list[tuple[int, int]], limit: int
) -> None:
    start = {TopicPartition("t", n): low for n, (low, _) in enumerate(ends)}
    latest = {TopicPartition("t", n): low + size for n, (low, size) in enumerate(ends)}
    end = limit_offsets(start, latest, limit)
    assert all(start[partition] <= end[partition] <= latest[partition] for partition in end)
    taken = sum(end[partition] - start[partition] for partition in end)
    waiting = [partition for partition in end if latest[partition] > start[partition]]
    assert taken <= limit + len(waiting)
    assert all(end[partition] > start[partition] for partition in waiting)


def test_ranges_are_split_by_the_maximum_number_of_records() -> None:
    assert split_ranges([OffsetRange(A0, 0, 10), OffsetRange(A1, 5, 5)], None, 4) == [
        OffsetRange(A0, 0, 3),
        OffsetRange(A0, 3, 6),
        OffsetRange(A0, 6, 10),
    ]


def test_the_largest_ranges_are_split_to_reach_the_minimum_number_of_tasks() -> None:
    parts = split_ranges([OffsetRange(A0, 0, 90), OffsetRange(A1, 0, 10)], 10, None)
    assert [item.partition for item in parts].count(A0) == 9
    assert [item.partition for item in parts].count(A1) == 1


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 300)), max_size=5),
    st.none() | st.integers(1, 40),
    st.none() | st.integers(1, 100),
)
def test_dividing_ranges_loses_and_repeats_no_offset(
    ranges: list[tuple[int, int]], least: int | None, most: int | None
) -> None:
    items = [OffsetRange(TopicPartition("t", n), low, low + size) for n, (low, size) in enumerate(ranges)]
    parts = split_ranges(items, least, most)
    cut = [(part.partition, offset) for part in parts for offset in range(part.start, part.end)]
    assert cut == [(item.partition, offset) for item in items for offset in range(item.start, item.end)]
    assert all(part.size > 0 for part in parts)
    assert most is None or all(part.size <= most for part in parts)


def test_starting_offsets_must_name_exactly_the_partitions_that_are_read() -> None:
    position = OffsetsOption(offsets={A0: 3}, option="startingOffsets")
    with pytest.raises(ConfigError, match="startingOffsets does not name a-1"):
        positions_to_ask(position, [A0, A1])
    with pytest.raises(ConfigError, match="startingOffsets names a-0, not read here"):
        positions_to_ask(position, [])


def test_offsets_given_as_numbers_are_resolved_without_a_request() -> None:
    position = OffsetsOption(offsets={A0: 3, A1: EARLIEST, B0: LATEST}, option="startingOffsets")
    assert positions_to_ask(position, [A0, A1, B0]) == {A1: EARLIEST, B0: LATEST}
    answers = {A1: 10, B0: 99}
    assert resolve_position(position, answers, {}, ByTimestampStrategy.ERROR) == {A0: 3, A1: 10, B0: 99}


def test_a_timestamp_after_the_last_record_is_an_error_or_the_end() -> None:
    position = OffsetsOption(timestamp=5, option="startingTimestamp")
    assert positions_to_ask(position, [A0]) == {A0: 5}
    with pytest.raises(ConfigError, match="No record of a-0 has timestamp 5"):
        resolve_position(position, {A0: -1}, {A0: 9}, ByTimestampStrategy.ERROR)
    assert resolve_position(position, {A0: -1}, {A0: 9}, ByTimestampStrategy.LATEST) == {A0: 9}


def test_data_loss_is_a_missing_partition_or_a_log_that_begins_after_or_ends_before_the_position() -> None:
    start, earliest, latest = {A0: 5, A1: 5, B0: 5}, {A0: 7, A1: 0}, {A0: 9, A1: 3}
    assert describe_loss(start, earliest, latest) == [
        "a-0 begins at offset 7 and the query is at 5",
        "a-1 ends at offset 3 and the query is at 5",
        "b-0 does not exist any more, or the options of the read name other topics now",
    ]
    assert describe_loss({A0: 5}, {A0: 5}, {A0: 5}) == []


def test_a_read_that_would_end_before_it_begins_is_refused_and_the_error_names_both_options() -> None:
    partition = TopicPartition("a", 0)
    starting, ending = OffsetsOption(option="startingOffsets"), OffsetsOption(option="endingTimestamp")
    check_order({partition: 3}, {partition: 3}, starting, ending)
    with pytest.raises(ConfigError, match=r"begin at offset 4 \(startingOffsets\) .* at 3 \(endingTimestamp\)"):
        check_order({partition: 4}, {partition: 3}, starting, ending)


def test_read_beyond_the_end_is_described() -> None:
    a, b = TopicPartition("a", 0), TopicPartition("b", 0)
    assert describe_beyond({a: 5, b: 5}, {a: 5, b: 4}) == ["b-0 ends at offset 4 and is to be read to 5"]


PLANNED = BatchHeader(
    base_offset=90,
    last_offset_delta=9,
    producer_id=5,
    producer_epoch=1,
    base_sequence=20,
    records_count=10,
    max_timestamp=1000,
    crc=77,
)


@pytest.mark.parametrize(
    ("found", "same"),
    [
        (PLANNED, True),
        (PLANNED._replace(partition_leader_epoch=8), True),  # outside the checksum
        (PLANNED._replace(records_count=3, max_timestamp=900, crc=1), True),  # compaction removed seven records
        (PLANNED._replace(records_count=0, max_timestamp=-1, crc=1), True),  # and all of them
        (PLANNED._replace(base_offset=100), True),  # and the batch: this is the next one
        (PLANNED._replace(attributes=DELETE_HORIZON_BIT, base_timestamp=9, crc=1), True),
        (PLANNED._replace(crc=1), False),
        (PLANNED._replace(max_timestamp=1001, crc=1), False),
        (PLANNED._replace(records_count=3, max_timestamp=1001, crc=1), False),
        (PLANNED._replace(records_count=11, crc=1), False),
        (PLANNED._replace(producer_id=6), False),
        (PLANNED._replace(producer_epoch=2), False),
        (PLANNED._replace(base_sequence=30), False),
        (PLANNED._replace(base_offset=91, last_offset_delta=8), False),
        (PLANNED._replace(last_offset_delta=10), False),
        (PLANNED._replace(base_offset=0, last_offset_delta=99), False),
    ],
)
def test_a_batch_of_a_recreated_log_is_distinguished_from_a_batch_of_a_compacted_log(
    found: BatchHeader, same: bool
) -> None:
    assert BatchMark.of(PLANNED).may_be(found) == same


def test_fingerprints_are_restored_from_the_checkpoint_and_are_not_offsets() -> None:
    place = Place({A0: 100}, marks={A0: BatchMark.of(PLANNED)})
    json = place.as_json()
    assert json == {"a": {"0": 100, "marks": {"0": [90, 99, 5, 1, 20, 10, 1000, 77]}}}
    assert Place.of(json) == place
    assert parse_offsets_json(dumps(json)) == {A0: 100}
