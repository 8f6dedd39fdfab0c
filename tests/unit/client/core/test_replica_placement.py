"""Replicas are spread: what any placement must satisfy, for random clusters and a few explicit ones."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.client.core.replica_placement import spread
from oncelog.errors import ConfigError
from oncelog.types import TopicPartition


def names(count: int) -> list[TopicPartition]:
    return [TopicPartition("t", number) for number in range(count)]


def loads(placed: dict[TopicPartition, tuple[int, ...]], nodes: list[int]) -> list[int]:
    counted = Counter(node for replicas in placed.values() for node in replicas)
    return [counted[node] for node in nodes]


def test_one_node_becomes_three() -> None:
    placed = spread(dict.fromkeys(names(6), (1,)), {1: None, 2: None, 3: None}, 3)
    assert all(sorted(replicas) == [1, 2, 3] for replicas in placed.values())
    assert Counter(replicas[0] for replicas in placed.values()) == {1: 2, 2: 2, 3: 2}


def test_a_node_that_is_not_named_loses_its_replicas() -> None:
    placed = spread(dict.fromkeys(names(4), (1, 2)), {2: None, 3: None, 4: None})
    assert 1 not in {node for replicas in placed.values() for node in replicas}
    assert max(loads(placed, [2, 3, 4])) - min(loads(placed, [2, 3, 4])) <= 1


def test_what_is_even_stays_where_it_is() -> None:
    there = {name: ((at % 3) + 1, ((at + 1) % 3) + 1) for at, name in enumerate(names(6))}
    placed = spread(there, {1: None, 2: None, 3: None})
    assert {name: set(replicas) for name, replicas in placed.items()} == {n: set(r) for n, r in there.items()}


def test_replicas_are_in_different_racks() -> None:
    placed = spread(dict.fromkeys(names(8), (1,)), {1: "a", 2: "a", 3: "b", 4: "b"}, 2)
    assert all(len({replica > 2 for replica in replicas}) == 2 for replicas in placed.values())


def test_more_replicas_than_nodes_are_refused() -> None:
    with pytest.raises(ConfigError, match="3 replicas need as many nodes, and there are 2"):
        spread(dict.fromkeys(names(1), (1,)), {1: None, 2: None}, 3)


@given(
    nodes=st.sets(st.integers(1, 8), min_size=1),
    partitions=st.integers(0, 30),
    factor=st.integers(1, 8),
    data=st.data(),
)
def test_every_partition_has_its_replicas_on_different_nodes_evenly(
    nodes: set[int], partitions: int, factor: int, data: st.DataObject
) -> None:
    factor = min(factor, len(nodes))
    there = st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True).map(tuple)
    current = {name: data.draw(there) for name in names(partitions)}
    placed = spread(current, dict.fromkeys(nodes), factor)
    assert placed.keys() == current.keys()
    assert all(len(set(replicas)) == factor and set(replicas) <= nodes for replicas in placed.values())
    each = loads(placed, sorted(nodes))
    assert sum(each) == factor * partitions
    assert max(each) - min(each) <= 1
    again = spread(placed, dict.fromkeys(nodes), factor)
    assert {name: set(replicas) for name, replicas in again.items()} == {name: set(to) for name, to in placed.items()}
