"""Which member gets what in a classic group."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.client.core.group.assignors import (
    ASSIGNORS,
    AssignedMember,
    Assignment,
    assign_cooperative,
    assign_range,
    assign_roundrobin,
    assign_sticky,
    decode_user_data,
    encode_user_data,
)
from oncelog.types import TopicPartition


def t(topic: str, *numbers: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in numbers]


def test_the_range_assignor_gives_the_first_members_the_remainder_of_each_topic() -> None:
    members = [AssignedMember("b", ("x", "y")), AssignedMember("a", ("x", "y"))]
    assert assign_range({"x": 3, "y": 3}, members) == {
        "a": t("x", 0, 1) + t("y", 0, 1),
        "b": t("x", 2) + t("y", 2),
    }


def test_the_range_assignor_orders_static_members_by_their_instance() -> None:
    members = [
        AssignedMember("1", ("x",), group_instance_id="z"),
        AssignedMember("2", ("x",), group_instance_id="a"),
        AssignedMember("0", ("x",)),
    ]
    assert assign_range({"x": 3}, members) == {"2": t("x", 0), "1": t("x", 1), "0": t("x", 2)}


def test_the_round_robin_assignor_skips_members_that_do_not_read_the_topic() -> None:
    members = [AssignedMember("a", ("x",)), AssignedMember("b", ("x", "y")), AssignedMember("c", ("x", "y"))]
    assert assign_roundrobin({"x": 1, "y": 3}, members) == {"a": t("x", 0), "b": t("y", 0, 2), "c": t("y", 1)}


members_strategy = st.lists(st.tuples(st.sets(st.sampled_from("xyz"), min_size=1)), min_size=1, max_size=6).map(
    lambda rows: [AssignedMember(f"m{n}", tuple(sorted(topics))) for n, (topics,) in enumerate(rows)]
)
counts_strategy = st.fixed_dictionaries({name: st.integers(0, 9) for name in "xyz"})


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
@given(members=members_strategy, counts=counts_strategy)
def test_every_partition_has_one_owner_that_reads_its_topic(
    name: str, members: list[AssignedMember], counts: dict[str, int]
) -> None:
    assignment = ASSIGNORS[name](counts, members)
    topics = {member.member_id: member.topics for member in members}
    owned = [(item, owner) for owner, items in assignment.items() for item in items]
    read = {topic for member in members for topic in member.topics}
    assert sorted(item for item, _ in owned) == sorted(TopicPartition(x, n) for x in read for n in range(counts[x]))
    assert all(item.topic in topics[owner] for item, owner in owned)


def spread(assignment: Assignment) -> int:
    sizes = [len(items) for items in assignment.values()]
    return max(sizes) - min(sizes)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 30))
def test_the_sticky_assignor_is_even_and_moves_no_more_partitions_than_it_must(
    before: int, after: int, count: int
) -> None:
    first = assign_sticky({"x": count}, [AssignedMember(f"m{n}", ("x",)) for n in range(before)])
    members = [AssignedMember(f"m{n}", ("x",), tuple(first.get(f"m{n}", ())), 1) for n in range(after)]
    second = assign_sticky({"x": count}, members)
    assert spread(first) <= 1
    assert spread(second) <= 1
    kept = sum(len(set(second[m.member_id]) & set(m.owned)) for m in members)
    low, extra = divmod(count, after)
    quota = sorted((len(m.owned) for m in members), reverse=True)
    best = sum(min(have, low + (rank < extra)) for rank, have in enumerate(quota))
    assert kept == best


def test_of_two_claims_to_a_partition_the_claim_of_the_later_generation_wins() -> None:
    both = tuple(t("x", 0, 1))
    members = [AssignedMember("a", ("x",), both, 4), AssignedMember("b", ("x",), (both[0],), 5)]
    assert assign_sticky({"x": 2}, members) == {"a": t("x", 1), "b": t("x", 0)}


def test_the_cooperative_assignor_withholds_partitions_that_their_owner_has_not_revoked() -> None:
    owner = AssignedMember("a", ("x",), tuple(t("x", 0, 1, 2, 3)), 1)
    joining = AssignedMember("b", ("x",))
    assert assign_cooperative({"x": 4}, [owner, joining]) == {"a": t("x", 0, 1), "b": []}
    given_up = AssignedMember("a", ("x",), tuple(t("x", 0, 1)), 2)
    assert assign_cooperative({"x": 4}, [given_up, joining]) == {"a": t("x", 0, 1), "b": t("x", 2, 3)}


def test_the_user_data_of_the_sticky_assignor_has_javas_encoding() -> None:
    # StickyAssignor's schema: array of (string topic, array of int32), int32 generation
    java = bytes.fromhex("0000000100017800000002000000000000000300000007")
    assert encode_user_data("sticky", t("x", 0, 3), 7) == java
    assert decode_user_data("sticky", java) == (tuple(t("x", 0, 3)), 7)
    assert decode_user_data("cooperative-sticky", encode_user_data("cooperative-sticky", [], 9)) == ((), 9)
    assert decode_user_data("sticky", b"\x00\x00\x00\x05") == ((), -1)
    assert encode_user_data("range", t("x", 0), 1) is None


@pytest.mark.parametrize("zombie", ["a", "z"])
def test_an_owner_does_not_lose_a_partition_to_a_claim_from_an_earlier_generation(zombie: str) -> None:
    """Java's ``computePartitionsTransferringOwnership``: only partitions that their new reader did not own change
    hands.
    """
    zero, one = TopicPartition("t", 0), TopicPartition("t", 1)
    members = [
        AssignedMember("m", ("t",), (zero,), generation=5),
        AssignedMember(zombie, ("t",), (zero, one), generation=4),
    ]
    assignment = ASSIGNORS["cooperative-sticky"]({"t": 2}, sorted(members))
    assert assignment == {"m": [zero], zombie: [one]}


def test_a_claim_from_an_earlier_generation_gets_no_partition_before_its_owner_gave_it_up() -> None:
    owner, zombie = (
        AssignedMember("m", ("t",), tuple(t("t", 0, 1)), generation=5),
        AssignedMember("z", ("t",), tuple(t("t", 1)), 4),
    )
    assert assign_cooperative({"t": 2}, [owner, zombie]) == {"m": t("t", 0), "z": []}


def test_a_partition_that_two_members_claim_is_revoked_from_both_first() -> None:
    members = [AssignedMember("a", ("t",), tuple(t("t", 0)), 5), AssignedMember("b", ("t",), tuple(t("t", 0)), 5)]
    assert assign_cooperative({"t": 1}, members) == {"a": [], "b": []}
