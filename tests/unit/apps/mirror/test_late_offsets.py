"""Positions requested at a start are delivered once everything they depend on has arrived, and never replace newer
ones.
"""

from __future__ import annotations

from oncelog.apps.mirror.groups import LateOffsets
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.types import TopicPartition

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)
ASKED = OffsetAndMetadata(3, "")


def late() -> LateOffsets:
    return LateOffsets({("g", P): ASKED, ("h", P): ASKED}, {P: 5, Q: 5})


def test_late_offsets_are_mirrored_once_when_all_records_that_existed_at_the_start_are_mirrored() -> None:
    offsets = late()
    assert offsets.due((), {P: 5, Q: 4}) == {}
    assert offsets.due((), {P: 5, Q: 5}) == {("g", P): ASKED, ("h", P): ASKED}
    assert offsets.due((), {P: 5, Q: 5}) == {}


def test_offsets_that_were_mirrored_since_the_start_take_precedence_over_late_offsets() -> None:
    offsets = late()
    assert offsets.due([("g", P)], {P: 1, Q: 1}) == {}
    assert offsets.due((), {P: 6, Q: 6}) == {("h", P): ASKED}


def test_a_partition_that_is_no_longer_mirrored_does_not_delay_late_offsets() -> None:
    assert late().due((), {P: 5}).keys() == {("g", P), ("h", P)}
