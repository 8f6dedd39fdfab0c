"""The assignor ``simple``: every partition has a reader, and the members' loads are even."""

from __future__ import annotations

from itertools import chain

import pytest

from oncelog.broker.coordinator.group.consumer.consumer_group import Assignment
from oncelog.broker.coordinator.share.simple_assignor import assign

TOPICS = [bytes([number]) * 16 for number in range(4)]
PARTITIONS = {topic_id: frozenset(range(6)) for topic_id in TOPICS}


def loads(targets: dict[str, Assignment]) -> dict[str, int]:
    return {member: sum(map(len, target.values())) for member, target in targets.items()}


@pytest.mark.parametrize("members", [1, 2, 5, 24])
def test_members_of_all_topics_get_even_shares_and_each_partition_one_reader(members: int) -> None:
    targets = assign({f"m{number:02}": frozenset(TOPICS) for number in range(members)}, PARTITIONS, {})
    given = [(topic_id, index) for target in targets.values() for topic_id, found in target.items() for index in found]
    assert len(given) == len(set(given)) == 24
    assert max(loads(targets).values()) - min(loads(targets).values()) <= 1


def test_a_member_that_reads_other_topics_too_leaves_the_shared_topic_to_less_loaded_members() -> None:
    few, many = frozenset(TOPICS[3:]), frozenset(TOPICS)
    targets = assign({"few": few, "many": many}, PARTITIONS, {})
    assert loads(targets) == {"few": 6, "many": 18}
    assert set(targets["many"]) == set(TOPICS[:3])


def test_a_member_that_joins_takes_partitions_above_an_even_share_and_the_others_stay() -> None:
    before = assign({"a": frozenset(TOPICS), "b": frozenset(TOPICS)}, PARTITIONS, {})
    after = assign({name: frozenset(TOPICS) for name in "abc"}, PARTITIONS, before)
    assert loads(after) == dict.fromkeys("abc", 8)
    for name in "ab":
        assert all(after[name][topic_id] <= before[name][topic_id] for topic_id in after[name])


def test_with_more_members_than_partitions_several_members_share_one() -> None:
    targets = assign({f"m{number:02}": frozenset(TOPICS[:1]) for number in range(13)}, PARTITIONS, {})
    assert set(chain.from_iterable(target[TOPICS[0]] for target in targets.values())) == set(range(6))
    assert min(loads(targets).values()) == 1
