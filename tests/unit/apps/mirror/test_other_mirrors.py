"""No topic is begun that another mirror writes, or that is mirrored from the target itself."""

from __future__ import annotations

from oncelog.apps.mirror.offset_map import MirroredPosition, MirrorState
from oncelog.apps.mirror.other_mirrors import clashing
from oncelog.types import TopicPartition

NAME = TopicPartition("t", 0)
NEW = {NAME: MirroredPosition(0, "id on A", "id on B")}


def state(source_cluster: str, target_id: str) -> MirrorState:
    return MirrorState(source_cluster, "anywhere", {NAME: MirroredPosition(7, "there", target_id)})


def test_a_topic_that_another_mirror_writes_is_refused_because_records_would_be_duplicated() -> None:
    (why,) = clashing(NEW, "B", {"oncelog-mirror.other": state("C", "id on B")}, {}).values()
    assert "'oncelog-mirror.other'" in why
    assert "twice" in why


def test_a_topic_that_was_recreated_since_belongs_to_no_other_mirror() -> None:
    assert clashing(NEW, "B", {"oncelog-mirror.other": state("A", "deleted since")}, {}) == {}


def test_a_topic_that_is_mirrored_from_the_target_is_refused_because_records_would_circulate() -> None:
    (why,) = clashing(NEW, "B", {}, {"oncelog-mirror.back": state("B", "id on A")}).values()
    assert "in circles" in why


def test_topics_that_the_source_mirrors_from_a_third_cluster_may_be_mirrored() -> None:
    assert clashing(NEW, "B", {}, {"oncelog-mirror.first": state("C", "id on A")}) == {}


def test_any_number_of_mirrors_can_read_group_offsets() -> None:
    new = {NAME: MirroredPosition(0, "id on A", "")}
    assert clashing(new, "B", {"oncelog-mirror.other": state("A", "")}, {}) == {}
