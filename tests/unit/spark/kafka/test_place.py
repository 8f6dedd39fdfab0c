"""The line of a source in a checkpoint, also one that was edited by hand or is another source's."""

from __future__ import annotations

import json

import pytest

from oncelog.errors import ConfigError
from oncelog.spark.kafka.place import Place
from oncelog.spark.sink.plan_description import bare_offsets, continues, is_ours, next_start


@pytest.mark.parametrize("number", ['"5"', "-1", "5.5", "null", "true", "NaN", "{}"])
@pytest.mark.parametrize("form", ['{"t":{"0":%s}}', '{"t":{"0":1,"from":{"0":%s}}}', '{"t":{"0":1,"epochs":{"0":%s}}}'])
def test_an_invalid_offset_in_a_checkpoint_is_refused_and_the_error_names_the_partition(number: str, form: str) -> None:
    line = form % number
    with pytest.raises(ConfigError, match=r"^The checkpoint has .* as (offset|beginning|leader epoch) of t-0"):
        Place.of(json.loads(line))
    assert Place.in_line(line) is None


@pytest.mark.parametrize(
    "line",
    [
        *("5", "[]", "null", '"t"', '{"logOffset":3}', '{"t":[]}', '{"t":{"0":1,"from":3}}'),
        *('{"t":{"0":1,"marks":{"0":[1]}}}', '{"t":{"0":1,"marks":{"0":[1,2,3,4,5,6,7,"x"]}}}'),
    ],
)
def test_the_offsets_of_another_source_are_refused_and_stay_unchanged(line: str) -> None:
    with pytest.raises(ConfigError, match="give the query the checkpoint that it began"):
        Place.of(json.loads(line))
    assert (bare_offsets(line), next_start(line), is_ours(line)) == (line, line, False)
    assert not continues('{"t":{"0":5}}', line)


def test_suggested_starting_offsets_leave_out_missing_partitions() -> None:
    """``startingOffsets`` names the partitions that exist; a missing one would be refused there."""
    line = '{"a": {"0": 5, "1": 6, "id": "x", "missing": {"1": 17}}, "b": {"0": 7, "missing": {"0": 18}}}'
    place = Place.of(json.loads(line))
    assert json.dumps(place.as_json()) == line
    assert bare_offsets(line) == '{"a": {"0": 5}}'
    assert json.loads(next_start(line)) == {"a": {"0": 5, "id": "x"}}
