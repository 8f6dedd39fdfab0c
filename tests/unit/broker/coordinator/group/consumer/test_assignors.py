"""The server-side assignors against naive models: everything assigned once, evenly, and with few moves."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.broker.coordinator.group.consumer import assignors
from oncelog.broker.coordinator.group.consumer.assignors import ASSIGNORS, MemberSpec, range_assignor, uniform_assignor
from oncelog.broker.coordinator.group.consumer.consumer_group import Assignment
from tests.support.work import calls_of

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16


def spec(*topics: bytes, current: Mapping[bytes, set[int]] | None = None, instance: str | None = None) -> MemberSpec:
    owned = {topic: frozenset(partitions) for topic, partitions in (current or {}).items()}
    return MemberSpec(frozenset(topics), owned, instance)


def plain(target: Mapping[str, Assignment]) -> dict[str, dict[bytes, list[int]]]:
    return {m: {t: sorted(p) for t, p in owned.items()} for m, owned in target.items()}


def load(owned: Assignment) -> int:
    return sum(len(partitions) for partitions in owned.values())


# Range


def test_the_range_assignor_gives_consecutive_partitions_and_the_first_members_get_one_more() -> None:
    members = {"m2": spec(A, B), "m1": spec(A, B), "m3": spec(A, B)}
    assert plain(range_assignor(members, {A: 7, B: 3})) == {
        "m1": {A: [0, 1, 2], B: [0]},
        "m2": {A: [3, 4], B: [1]},
        "m3": {A: [5, 6], B: [2]},
    }


def test_the_range_assignor_orders_static_members_first_by_their_instance() -> None:
    members = {"m1": spec(A), "m2": spec(A, instance="z"), "m3": spec(A, instance="y")}
    assert plain(range_assignor(members, {A: 3})) == {"m3": {A: [0]}, "m2": {A: [1]}, "m1": {A: [2]}}


def test_the_range_assignor_leaves_members_without_partitions_if_a_topic_has_too_few() -> None:
    members = {f"m{i}": spec(A) for i in range(3)}
    assert plain(range_assignor(members, {A: 2})) == {"m0": {A: [0]}, "m1": {A: [1]}, "m2": {}}


def test_the_range_assignor_divides_a_topic_among_its_subscribers_only() -> None:
    members = {"m1": spec(A), "m2": spec(A, B), "m3": spec(B)}
    assert plain(range_assignor(members, {A: 3, B: 3})) == {
        "m1": {A: [0, 1]},
        "m2": {A: [2], B: [0, 1]},
        "m3": {B: [2]},
    }


# Uniform


def test_the_uniform_assignor_gives_a_single_member_all_partitions() -> None:
    assert plain(uniform_assignor({"m": spec(A, B)}, {A: 2, B: 1})) == {"m": {A: [0, 1], B: [0]}}


def test_the_uniform_assignor_moves_only_the_fair_share_to_a_new_member() -> None:
    members = {"old": spec(A, current={A: {0, 1, 2, 3}}), "new": spec(A)}
    assert plain(uniform_assignor(members, {A: 4})) == {"old": {A: [0, 1]}, "new": {A: [2, 3]}}


def test_the_uniform_assignor_leaves_the_extra_partition_with_the_member_that_has_it() -> None:
    members = {"a": spec(A, current={A: {0}}), "b": spec(A, current={A: {1, 2}})}
    assert plain(uniform_assignor(members, {A: 3})) == {"a": {A: [0]}, "b": {A: [1, 2]}}


def test_the_uniform_assignor_assigns_a_partition_without_an_owner() -> None:
    members = {"a": spec(A, current={A: {0, 1}}), "b": spec(A, current={A: {2}})}
    assert plain(uniform_assignor(members, {A: 4})) == {"a": {A: [0, 1]}, "b": {A: [2, 3]}}


def test_the_uniform_assignor_revokes_topics_that_a_member_no_longer_subscribes_to() -> None:
    members = {"a": spec(B, current={A: {0}, B: {0}}), "b": spec(A, B, current={B: {1}})}
    target = plain(uniform_assignor(members, {A: 1, B: 2}))
    assert target == {"a": {B: [0]}, "b": {A: [0], B: [1]}}


def test_the_uniform_assignor_balances_members_with_different_subscriptions() -> None:
    members = {"a": spec(A, B, current={A: {0, 1, 2}, B: {0, 1, 2}}), "b": spec(B), "c": spec(B, C)}
    target = uniform_assignor(members, {A: 3, B: 3, C: 3})
    assert {m: load(owned) for m, owned in target.items()} == {"a": 3, "b": 3, "c": 3}


def test_a_member_without_topics_gets_no_partitions() -> None:
    for assign in ASSIGNORS.values():
        assert plain(assign({"m": spec()}, {})) == {"m": {}}


# Against naive models

counts = st.dictionaries(st.sampled_from([A, B, C]), st.integers(1, 9), min_size=1)


@st.composite
def groups(draw: st.DrawFn, same: bool = False) -> tuple[dict[str, MemberSpec], dict[bytes, int]]:
    """Members with subscriptions and disjoint current targets, some of them with topics or partitions that are gone."""
    topics = draw(counts)
    wanted = st.frozensets(st.sampled_from(sorted(topics)), min_size=1)
    common = draw(wanted)
    names = [f"m{i}" for i in range(draw(st.integers(1, 6)))]
    owners = {
        (topic, partition): draw(st.sampled_from([None, *names]))
        for topic in [*sorted(topics), b"g" * 16]
        for partition in range(topics.get(topic, 0) + 2)
    }
    members: dict[str, MemberSpec] = {}
    for name in names:
        current: dict[bytes, set[int]] = {}
        for (topic, partition), owner in owners.items():
            if owner == name:
                current.setdefault(topic, set()).add(partition)
        static = draw(st.booleans())
        members[name] = MemberSpec(
            common if same else draw(wanted),
            {topic: frozenset(partitions) for topic, partitions in current.items()},
            f"i-{name}" if static else None,
        )
    return members, topics


def assert_complete(
    members: Mapping[str, MemberSpec], topics: Mapping[bytes, int], target: Mapping[str, Assignment]
) -> None:
    """Every partition of a subscribed topic belongs to exactly one of its subscribers, and nothing else is assigned."""
    subscribed = {topic for member in members.values() for topic in member.topics}
    placed = [(t, p) for owned in target.values() for t, partitions in owned.items() for p in partitions]
    assert sorted(placed) == sorted((t, p) for t in subscribed for p in range(topics[t]))
    for name, owned in target.items():
        assert owned.keys() <= members[name].topics
    assert target.keys() == members.keys()


@pytest.mark.parametrize("assignor", sorted(ASSIGNORS))
@settings(max_examples=60)
@given(group=groups())
def test_every_partition_is_assigned_to_one_subscriber(
    assignor: str, group: tuple[dict[str, MemberSpec], dict[bytes, int]]
) -> None:
    members, topics = group
    target = ASSIGNORS[assignor](members, topics)
    assert_complete(members, topics, target)
    assert ASSIGNORS[assignor](dict(reversed(members.items())), topics) == target


@settings(max_examples=60)
@given(group=groups())
def test_the_range_assignor_agrees_with_a_naive_division(group: tuple[dict[str, MemberSpec], dict[bytes, int]]) -> None:
    members, topics = group
    expected: dict[str, dict[bytes, list[int]]] = {name: {} for name in members}
    ranked = sorted(members, key=lambda n: (members[n].instance_id is None, members[n].instance_id or n))
    for topic, count in topics.items():
        subscribers = [name for name in ranked if topic in members[name].topics]
        for partition in range(count if subscribers else 0):
            shares = [count // len(subscribers) + (r < count % len(subscribers)) for r in range(len(subscribers))]
            rank = next(r for r in range(len(shares)) if partition < sum(shares[: r + 1]))
            expected[subscribers[rank]].setdefault(topic, []).append(partition)
    assert plain(range_assignor(members, topics)) == expected


@settings(max_examples=60)
@given(group=groups(same=True))
def test_the_uniform_assignor_balances_equal_subscriptions_and_moves_as_few_partitions_as_possible(
    group: tuple[dict[str, MemberSpec], dict[bytes, int]],
) -> None:
    members, topics = group
    target = uniform_assignor(members, topics)
    loads = [load(owned) for owned in target.values()]
    assert max(loads) - min(loads) <= 1
    valid = {
        name: {(t, p) for t, ps in m.current.items() if t in m.topics for p in ps if p < topics[t]}
        for name, m in members.items()
    }
    kept = sum(len(valid[n] & {(t, p) for t, ps in target[n].items() for p in ps}) for n in members)
    quota, extra = divmod(sum(loads), len(members))
    owned = sorted((len(v) for v in valid.values()), reverse=True)
    assert kept == sum(min(own, quota + (rank < extra)) for rank, own in enumerate(owned))


@settings(max_examples=60)
@given(group=groups())
def test_the_uniform_assignor_leaves_no_move_that_would_balance_two_members_better(
    group: tuple[dict[str, MemberSpec], dict[bytes, int]],
) -> None:
    members, topics = group
    target = uniform_assignor(members, topics)
    for giver, owned in target.items():
        for topic in owned:
            for taker in members:
                if topic in members[taker].topics:
                    assert load(target[giver]) - load(target[taker]) <= 1


@settings(max_examples=50)
@given(group=groups())
def test_the_uniform_assignor_moves_no_partition_if_nothing_has_changed(
    group: tuple[dict[str, MemberSpec], dict[bytes, int]],
) -> None:
    members, topics = group
    target = uniform_assignor(members, topics)
    settled = {name: MemberSpec(m.topics, target[name], m.instance_id) for name, m in members.items()}
    assert uniform_assignor(settled, topics) == target


# Evening out


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.lists(st.integers(0, 4), min_size=8, max_size=8))
def test_balancing_moves_partitions_from_the_most_to_the_least_loaded_member(
    owned: list[int], others: list[int]
) -> None:
    def world() -> tuple[list[str], dict[str, dict[bytes, set[int]]], dict[str, int]]:
        kept: dict[str, dict[bytes, set[int]]] = {}
        following = 0
        for number, count in enumerate(owned):
            kept[f"m{number}"] = {A: set(range(following, following + count)), B: set(range(others[number]))}
            following += count
        return list(kept), kept, {m: len(topics[A]) + len(topics[B]) for m, topics in kept.items()}

    subscribers, kept, loads = world()
    _, expected, naive_loads = world()
    while owners := [m for m in subscribers if expected[m][A]]:
        giver = max(owners, key=lambda m: (naive_loads[m], m))
        taker = min(subscribers, key=lambda m: (naive_loads[m], m))
        if naive_loads[giver] - naive_loads[taker] <= 1:
            break
        partition = max(expected[giver][A])
        expected[giver][A].discard(partition)
        expected[taker][A].add(partition)
        naive_loads[giver] -= 1
        naive_loads[taker] += 1
    moved = assignors._even_out(A, subscribers, kept, loads)
    assert (kept, loads) == (expected, naive_loads)
    assert moved is (kept != world()[1])


def test_balancing_many_members_does_not_scan_all_of_them_for_each_partition() -> None:
    """2,000 members have two different subscriptions, and one of them has all 2,000 partitions: this took seconds
    before.
    """
    everything = {A: set(range(2000))}
    members = {
        f"m{n:04}": spec(A, *([B] if n % 2 else []), current=everything if n == 0 else None) for n in range(2000)
    }
    found: list[Mapping[str, Assignment]] = []
    calls = calls_of(lambda: found.append(uniform_assignor(members, {A: 2000, B: 1})))
    assert max(map(load, found[0].values())) <= 2
    assert calls < 300_000
