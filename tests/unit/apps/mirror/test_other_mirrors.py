"""No topic is begun that another mirror writes, or that is mirrored from the target itself."""

from __future__ import annotations

from oncelog.apps.mirror.offset_map import MirroredPosition, MirrorState
from oncelog.apps.mirror.other_mirrors import clashing
from oncelog.types import TopicPartition

NAME = TopicPartition("t", 0)
NEW = {NAME: MirroredPosition(0, "id on A", "id on B")}


def state(source_cluster: str, target_id: str) -> MirrorState:
    return MirrorState(source_cluster, "anywhere", {NAME: MirroredPosition(7, "there", target_id)})


def test_topic_that_another_mirror_writes_would_have_each_record_twice() -> None:
    (why,) = clashing(NEW, "B", {"oncelog-mirror.other": state("C", "id on B")}, {}).values()
    assert "'oncelog-mirror.other'" in why
    assert "twice" in why


def test_recreated_topic_since_is_no_other_mirrors() -> None:
    assert clashing(NEW, "B", {"oncelog-mirror.other": state("A", "deleted since")}, {}) == {}


def test_topic_that_is_mirrored_from_the_target_would_go_in_circles() -> None:
    (why,) = clashing(NEW, "B", {}, {"oncelog-mirror.back": state("B", "id on A")}).values()
    assert "in circles" in why


def test_topics_that_the_source_mirrors_from_a_third_cluster_may_be_mirrored() -> None:
    assert clashing(NEW, "B", {}, {"oncelog-mirror.first": state("C", "id on A")}) == {}


def test_groups_offsets_are_read_by_as_many_mirrors_as_there_are() -> None:
    new = {NAME: MirroredPosition(0, "id on A", "")}
    assert clashing(new, "B", {"oncelog-mirror.other": state("A", "")}, {}) == {}
