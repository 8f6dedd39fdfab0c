"""How messages name a plan."""

from __future__ import annotations

import json
from dataclasses import replace

from oncelog.spark.kafka.place import Place
from oncelog.spark.options import parse_offsets_json
from oncelog.spark.sink.marker import OFFSETS_IN_MARKER, Marker, OffsetLogEntry
from oncelog.spark.sink.plan_description import bare_offsets, offsets_by_source, plan_description
from oncelog.types import TopicPartition
from tests.unit.spark.sink.test_marker import plan


def line(topic: str, partitions: int) -> tuple[str, dict[TopicPartition, int]]:
    """A source's line as the checkpoint holds it in a first batch, and its offsets."""
    offsets = {TopicPartition(topic, number): 10_000_000_000 + number for number in range(partitions)}
    begun = dict.fromkeys(offsets, 0)
    return json.dumps(Place(offsets, {topic: "i" * 22}, begun, begun).as_json()), offsets


def test_reported_offsets_have_the_form_of_starting_offsets() -> None:
    first, second = line("orders", 12), line("refunds", 12)
    reported = plan_description(0, f"{first[0]}\n{second[0]}", "f" * 64)
    shown = reported.partition("up to ")[2].partition(" (fingerprint")[0]
    assert [parse_offsets_json(text + "}}") for text in shown.removesuffix("}}").split("}}, ")] == [
        first[1],
        second[1],
    ]


def test_a_shortened_message_says_where_all_offsets_are() -> None:
    reported = plan_description(0, line("orders", 200)[0], "f" * 64)
    assert len(reported) < 1300
    assert reported.endswith(
        "... (fingerprint ffffffffffff, all offsets with oncelog pipeline doctor CHECKPOINT --json)"
    )


def test_offsets_of_other_sources_stay_unchanged_in_the_description_of_a_plan() -> None:
    others = '-\n17\n{"logOffset":3}\n{"a": {"x": 1}}\n[1]\n'
    assert bare_offsets(others) == others


def test_a_marker_of_many_partitions_leaves_out_topic_ids_and_leader_epochs() -> None:
    text, offsets = line("orders", 120)
    assert len(text) > OFFSETS_IN_MARKER
    marker = Marker.of(replace(plan(5), batch=OffsetLogEntry(5, "f" * 64, 0, text)), 1)
    assert parse_offsets_json(marker.offsets) == offsets
    assert len(marker.encode()) <= 4096


def test_offsets_of_named_sources_are_matched_by_name_in_any_order() -> None:
    first, second = line("orders", 1)[0], line("refunds", 1)[0]
    assert offsets_by_source(f"two:{second}\none:{first}") == {"one": first, "two": second}
    assert offsets_by_source(f"{first}\n-") == {"0": first, "1": "-"}


def test_a_named_source_is_reported_with_its_name_and_bare_offsets() -> None:
    text, offsets = line("orders", 1)
    reported = bare_offsets(f"one:{text}")
    assert reported.startswith('one:{"orders"')
    assert parse_offsets_json(reported.removeprefix("one:")) == offsets
