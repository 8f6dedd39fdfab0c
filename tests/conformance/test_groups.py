"""Checks 57-60: consumer groups and the offsets that transactions commit for them.

The part of check 60 about a high watermark below the minimum of replicas needs several brokers.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oncelog.conformance.groups import (
    MEMBER_ID_REQUIRED,
    Member,
    commit,
    committed,
    describe_group,
    fetch_offsets,
    stable_alone,
    subscription,
    until,
)
from oncelog.conformance.transactions import Transactional, find_coordinator
from oncelog.conformance.wire import Connection
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

UNSTABLE, ILLEGAL_GENERATION, UNKNOWN_MEMBER, FENCED_INSTANCE, REBALANCING = 88, 22, 25, 82, 27
INVALID_GROUP, INVALID_SESSION, INCONSISTENT, GROUP_NOT_FOUND, NON_EMPTY = 24, 26, 23, 69, 68


@pytest.fixture
def group(connection: Connection, unique_name: str) -> str:
    name = f"{unique_name}-group"
    find_coordinator(connection, name, 0)
    return name


@pytest.fixture
def producer(connection: Connection, unique_name: str) -> Transactional:
    return Transactional(connection, unique_name + "-id").init()


@pytest.fixture
def second(connection: Connection) -> Iterator[Connection]:
    with connection.another() as opened:
        yield opened


# -- offsets in transactions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [7, 8, 9])
def test_check_57_a_pending_offset_is_unstable_and_gone_after_an_abort(
    connection: Connection, topic: str, group: str, producer: Transactional, version: int
) -> None:
    assert commit(connection, group, {(topic, 0): 5}) == [0]
    producer.send_offsets(group, {(topic, 0): 9})
    error, found = fetch_offsets(connection, group, [(topic, 0)], version=version, stable=True)
    assert (error, found) == (0, {(topic, 0): (UNSTABLE, -1, "")})
    assert committed(connection, group, topic) == 5
    producer.abort()
    assert committed(connection, group, topic, stable=True) == 5


@pytest.mark.parametrize("version_2", [False, True])
def test_check_57_a_pending_offset_counts_after_the_commit(
    connection: Connection, topic: str, group: str, version_2: bool
) -> None:
    producer = Transactional(connection, group + "-id", version_2=version_2).init()
    producer.send_offsets(group, {(topic, 0): 9})
    assert committed(connection, group, topic) == -1
    assert committed(connection, group, topic, stable=True) == -UNSTABLE
    producer.commit()
    until(lambda: committed(connection, group, topic, stable=True) == 9)


def test_check_57_only_the_pending_partitions_are_unstable(
    connection: Connection, unique_name: str, group: str, producer: Transactional
) -> None:
    connection.create_topic(unique_name, 2)
    commit(connection, group, {(unique_name, 0): 1, (unique_name, 1): 2})
    producer.send_offsets(group, {(unique_name, 1): 7})
    _, found = fetch_offsets(connection, group, [(unique_name, 0), (unique_name, 1)], stable=True)
    assert {key: value[:2] for key, value in found.items()} == {
        (unique_name, 0): (0, 1),
        (unique_name, 1): (UNSTABLE, -1),
    }
    _, everything = fetch_offsets(connection, group, None, stable=True)
    assert {key: value[:2] for key, value in everything.items()} == {
        (unique_name, 0): (0, 1),
        (unique_name, 1): (UNSTABLE, -1),
    }
    producer.abort()


def test_check_57_a_later_offset_of_the_same_transaction_wins(
    connection: Connection, topic: str, group: str, producer: Transactional
) -> None:
    producer.send_offsets(group, {(topic, 0): 9})
    producer.send_offsets(group, {(topic, 0): 4}, metadata="rewound")
    producer.commit()
    until(lambda: committed(connection, group, topic, stable=True) == 4)


def test_check_58_offsets_of_a_member_are_checked(
    connection: Connection, topic: str, group: str, producer: Transactional
) -> None:
    member = stable_alone(connection, group, instance="one")
    offsets = {(topic, 0): 3}
    producer.add_offsets(group)

    def send(**who: object) -> list[int]:
        return producer.commit_offsets_once(group, offsets, **who)  # type: ignore[arg-type]

    assert send(generation=member.generation - 1, member=member.id) == [ILLEGAL_GENERATION]
    assert send(generation=member.generation + 1, member=member.id) == [ILLEGAL_GENERATION]
    assert send(generation=member.generation, member="someone") == [UNKNOWN_MEMBER]
    assert send(generation=member.generation, member="other", instance="one") == [FENCED_INSTANCE]
    assert send(generation=member.generation, member=member.id, instance="two") == [UNKNOWN_MEMBER]
    assert send() == [0]
    assert send(generation=member.generation, member=member.id, instance="one") == [0]
    assert send(generation=member.generation, member=member.id) == [0]
    producer.commit()
    until(lambda: committed(connection, group, topic, stable=True) == 3)


def test_check_58_a_generation_of_a_group_that_is_not_there(
    connection: Connection, topic: str, group: str, producer: Transactional
) -> None:
    producer.add_offsets(group)
    assert producer.commit_offsets_once(group, {(topic, 0): 3}, generation=4, member="m") == [ILLEGAL_GENERATION]
    assert producer.commit_offsets_once(group, {(topic, 0): 3}) == [0]
    producer.abort()


@pytest.mark.parametrize("version", range(5))
def test_offsets_without_the_group_in_the_transaction_are_refused(
    connection: Connection, topic: str, group: str, producer: Transactional, version: int
) -> None:
    expected = 120 if version >= 4 else 48
    assert producer.commit_offsets_once(group, {(topic, 0): 3}, version=version) == [expected]
    assert committed(connection, group, topic, stable=True) == -1


@pytest.mark.parametrize("version", range(5))
def test_offsets_of_a_fenced_producer_are_refused(
    connection: Connection, topic: str, group: str, producer: Transactional, version: int
) -> None:
    producer.add_offsets(group)
    assert producer.commit_offsets_once(group, {(topic, 0): 3}, version=version) == [0]
    Transactional(connection, producer.id).init()
    (error,) = producer.commit_offsets_once(group, {(topic, 0): 4}, version=version)
    assert error == 47
    assert committed(connection, group, topic, stable=True) == -1


def test_txn_offset_commit_5_adds_the_group_itself(connection: Connection, topic: str, group: str) -> None:
    producer = Transactional(connection, group + "-id", version_2=True).init()
    producer.send_offsets(group, {(topic, 0): 3})
    assert [added.topic for added in producer.describe().topics] == ["__consumer_offsets"]
    producer.commit()
    until(lambda: committed(connection, group, topic, stable=True) == 3)


def test_offsets_with_metadata_that_is_too_large(
    connection: Connection, topic: str, group: str, producer: Transactional
) -> None:
    producer.add_offsets(group)
    assert producer.commit_offsets_once(group, {(topic, 0): 3}, metadata="x" * 4097) == [12]
    assert producer.commit_offsets_once(group, {(topic, 0): 3}, metadata="x" * 4096) == [0]
    assert commit(connection, group, {(topic, 0): 3}, metadata="x" * 4097) == [12]
    producer.abort()


def test_check_59_a_plain_commit_behind_the_pending_one_wins(
    connection: Connection, topic: str, group: str, producer: Transactional
) -> None:
    producer.send_offsets(group, {(topic, 0): 9})
    assert commit(connection, group, {(topic, 0): 4}) == [0]
    assert committed(connection, group, topic) == 4
    assert committed(connection, group, topic, stable=True) == -UNSTABLE
    producer.commit()
    until(lambda: committed(connection, group, topic, stable=True) == 4)


def test_check_59_a_plain_commit_before_the_pending_one_loses(
    connection: Connection, topic: str, group: str, producer: Transactional
) -> None:
    commit(connection, group, {(topic, 0): 4})
    producer.send_offsets(group, {(topic, 0): 9})
    producer.commit()
    until(lambda: committed(connection, group, topic, stable=True) == 9)


def test_a_group_with_pending_offsets_is_not_deleted(
    connection: Connection, topic: str, group: str, producer: Transactional
) -> None:
    producer.send_offsets(group, {(topic, 0): 9})
    (answer,) = connection.ask(DeleteGroupsRequest(groups_names=[group]), 2).results
    first = answer.error_code
    producer.commit()
    until(lambda: committed(connection, group, topic, stable=True) in (9, -1))
    assert first in (0, NON_EMPTY)
    assert committed(connection, group, topic) == (9 if first else committed(connection, group, topic))


# -- the classic protocol -----------------------------------------------------------------------------------------


def test_check_60_heartbeats_in_every_state(connection: Connection, group: str, second: Connection) -> None:
    one, two = Member(connection, group), Member(second, group)
    one.join()
    assert one.heartbeat() == 0, "CompletingRebalance"
    assert one.sync({one.id: b"all"}).error_code == 0
    assert one.heartbeat() == 0, "Stable"
    two.identify()
    waiting = two.send_join()
    until(lambda: one.heartbeat() == REBALANCING)
    one.join()
    two.receive_join(waiting)
    assert (one.generation, two.generation) == (2, 2)
    assert one.heartbeat() == 0
    assert two.heartbeat() == 0
    assert two.heartbeat(generation_id=1) == ILLEGAL_GENERATION
    assert two.heartbeat(member_id="nobody") == UNKNOWN_MEMBER
    assert Member(connection, group + "-other").heartbeat(member_id="nobody", generation_id=1) == UNKNOWN_MEMBER


def test_the_leader_alone_receives_the_members_and_assigns(
    connection: Connection, group: str, second: Connection
) -> None:
    one, two = Member(connection, group), Member(second, group)
    one.join(metadata=subscription(b"first"))
    one.sync({one.id: b"x"})
    two.identify()
    waiting = two.send_join(metadata=subscription(b"second"))
    until(lambda: one.heartbeat() == REBALANCING)
    led = one.join(metadata=subscription(b"first"))
    followed = two.receive_join(waiting)
    assert led.leader == followed.leader == one.id
    assert {member.member_id: member.metadata for member in led.members} == {
        one.id: subscription(b"first"),
        two.id: subscription(b"second"),
    }
    assert followed.members == []
    pending = two.send_sync()
    assert one.sync({one.id: b"A", two.id: b"B"}).assignment == b"A"
    assert two.receive_sync(pending).assignment == b"B"
    assert two.sync().assignment == b"B"
    state = describe_group(connection, group)
    assert (state.group_state, state.protocol_type, state.protocol_data) == ("Stable", "consumer", "range")
    assert {member.member_id: member.member_assignment for member in state.members} == {one.id: b"A", two.id: b"B"}


def test_a_follower_that_joins_again_unchanged_keeps_the_generation(
    connection: Connection, group: str, second: Connection
) -> None:
    one, two = Member(connection, group), Member(second, group)
    one.join()
    one.sync({one.id: b"x"})
    two.identify()
    waiting = two.send_join()
    until(lambda: one.heartbeat() == REBALANCING)
    one.join()
    two.receive_join(waiting)
    pending = two.send_sync()
    one.sync({one.id: b"A", two.id: b"B"})
    two.receive_sync(pending)
    assert two.join().generation_id == 2
    assert one.heartbeat() == 0


def test_a_leader_that_joins_again_begins_a_rebalance(connection: Connection, group: str) -> None:
    member = stable_alone(connection, group)
    assert member.join().generation_id == 2


@pytest.mark.parametrize("version", range(10))
def test_join_in_every_version(connection: Connection, group: str, version: int) -> None:
    member = Member(connection, group)
    answer = member.join(version)
    assert (answer.generation_id, answer.leader, answer.protocol_name) == (1, member.id, "range")
    assert [found.member_id for found in answer.members] == [member.id]
    assert member.sync({member.id: b"all"}).assignment == b"all"
    assert member.leave()[0] == 0
    assert describe_group(connection, group).group_state == "Empty"


def test_joins_that_are_refused(connection: Connection, group: str) -> None:
    member = Member(connection, group)
    assert member.join_once(session_timeout_ms=5999).error_code == INVALID_SESSION
    assert member.join_once(session_timeout_ms=1_800_001).error_code == INVALID_SESSION
    assert member.join_once(member_id="unknown").error_code == UNKNOWN_MEMBER
    assert Member(connection, "").join_once().error_code == INVALID_GROUP
    assert member.join_once().error_code == MEMBER_ID_REQUIRED
    member.id = ""
    stable_alone(connection, group)
    assert member.join_once(version=3, protocol="other").error_code == INCONSISTENT
    assert member.join_once(version=3, protocol_type="connect").error_code == INCONSISTENT
    assert member.join_once(version=3, protocols=[]).error_code == INCONSISTENT
    assert member.join_once(version=5, member_id="unknown").error_code == UNKNOWN_MEMBER


def test_syncs_that_are_refused(connection: Connection, group: str) -> None:
    member = Member(connection, group)
    member.join()
    assert member.sync(generation_id=7).error_code == ILLEGAL_GENERATION
    assert member.sync(member_id="nobody").error_code == UNKNOWN_MEMBER
    assert member.sync(version=5, protocol_type="connect", protocol_name="range").error_code == INCONSISTENT
    assert member.sync(version=5, protocol_type="consumer", protocol_name="other").error_code == INCONSISTENT
    assert member.sync({member.id: b"all"}, version=5, protocol_type="consumer", protocol_name="range").error_code == 0


@pytest.mark.parametrize("version", range(6))
def test_leave_in_every_version(connection: Connection, group: str, version: int) -> None:
    member = stable_alone(connection, group)
    assert member.leave(version) == ((0, []) if version < 3 else (0, [0]))
    assert member.heartbeat() == UNKNOWN_MEMBER
    again = member.leave(version)
    assert again == ((UNKNOWN_MEMBER, []) if version < 3 else (0, [UNKNOWN_MEMBER]))


def test_a_static_member_that_comes_back_takes_over_without_a_rebalance(
    connection: Connection, topic: str, group: str, second: Connection
) -> None:
    old = stable_alone(connection, group, instance="one")
    new = Member(second, group, instance="one")
    answer = new.join()
    assert answer.generation_id == 1
    assert new.id != old.id
    assert old.heartbeat() == FENCED_INSTANCE
    assert old.commit({(topic, 0): 1}) == [FENCED_INSTANCE]
    assert old.sync().error_code == FENCED_INSTANCE
    assert new.heartbeat() == 0
    assert new.sync().assignment == b"all"


def test_a_static_member_leaves_by_its_instance(connection: Connection, group: str) -> None:
    member = stable_alone(connection, group, instance="one")
    member.id = ""
    assert member.leave() == (0, [0])
    assert describe_group(connection, group).members == []


# -- plain offsets ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, 10))
def test_offset_commit_in_every_version(connection: Connection, topic: str, group: str, version: int) -> None:
    assert commit(connection, group, {(topic, 0): version}, version, metadata="meta") == [0]
    for fetch_version in range(1, 10):
        _, found = fetch_offsets(connection, group, [(topic, 0), (topic, 3)], version=fetch_version)
        assert found == {(topic, 0): (0, version, "meta"), (topic, 3): (0, -1, "")}


def test_offset_commits_that_are_refused(connection: Connection, topic: str, group: str) -> None:
    offsets = {(topic, 0): 1}
    assert commit(connection, group, offsets, generation=3, member="m") == [ILLEGAL_GENERATION]
    assert commit(connection, group, offsets, 9, generation=3, member="m") == [GROUP_NOT_FOUND]
    assert commit(connection, "", offsets) == [0]
    assert commit(connection, group, {(topic, 8): 1, (topic + "-missing", 0): 1}) == [3, 3]
    member = stable_alone(connection, group)
    assert commit(connection, group, offsets) == [UNKNOWN_MEMBER]
    assert member.commit(offsets, generation=0) == [ILLEGAL_GENERATION]
    assert member.commit(offsets, member="someone") == [UNKNOWN_MEMBER]
    assert member.commit(offsets) == [0]


def test_offset_commit_while_the_group_rebalances(
    connection: Connection, topic: str, group: str, second: Connection
) -> None:
    one, two = Member(connection, group), Member(second, group)
    one.join()
    assert one.commit({(topic, 0): 1}) == [REBALANCING], "CompletingRebalance"
    one.sync({one.id: b"x"})
    assert one.commit({(topic, 0): 2}) == [0]
    two.identify()
    waiting = two.send_join()
    until(lambda: one.heartbeat() == REBALANCING)
    assert one.commit({(topic, 0): 3}) == [0], "PreparingRebalance"
    one.join()
    two.receive_join(waiting)
    assert one.commit({(topic, 0): 4}, generation=1) == [ILLEGAL_GENERATION]


def test_offsets_of_an_unknown_group(connection: Connection, topic: str, group: str) -> None:
    for version in range(1, 10):
        assert fetch_offsets(connection, group, [(topic, 0)], version=version) == (0, {(topic, 0): (0, -1, "")})
    assert fetch_offsets(connection, group, None) == (0, {})


def test_groups_are_listed_described_and_deleted(connection: Connection, topic: str, group: str) -> None:
    dead = describe_group(connection, group)
    assert (dead.error_code, dead.group_state, dead.members) == (0, "Dead", [])
    unknown = describe_group(connection, group, 6)
    assert (unknown.error_code, unknown.group_state) == (GROUP_NOT_FOUND, "Dead")
    member = stable_alone(connection, group)
    member.commit({(topic, 0): 1})
    listed = {found.group_id: found for found in connection.ask(ListGroupsRequest(), 5).groups}
    assert (listed[group].group_state, listed[group].group_type, listed[group].protocol_type) == (
        "Stable",
        "classic",
        "consumer",
    )
    filtered = connection.ask(ListGroupsRequest(states_filter=["Empty"]), 4).groups
    assert group not in {found.group_id for found in filtered}

    def delete() -> int:
        code: int = connection.ask(DeleteGroupsRequest(groups_names=[group]), 2).results[0].error_code
        return code

    assert delete() == NON_EMPTY
    member.leave()
    assert delete() == 0
    assert delete() == GROUP_NOT_FOUND
    assert committed(connection, group, topic) == -1


def test_offsets_are_deleted_one_by_one(connection: Connection, unique_name: str, group: str) -> None:
    connection.create_topic(unique_name, 2)
    commit(connection, group, {(unique_name, 0): 1, (unique_name, 1): 2})

    def delete(index: int) -> tuple[int, list[int]]:
        request = OffsetDeleteRequest(
            group_id=group,
            topics=[
                OffsetDeleteRequestTopic(
                    name=unique_name, partitions=[OffsetDeleteRequestPartition(partition_index=index)]
                )
            ],
        )
        answer = connection.ask(request, 0)
        return answer.error_code, [part.error_code for found in answer.topics for part in found.partitions]

    assert delete(0) == (0, [0])
    assert committed(connection, group, unique_name, 0) == -1
    assert committed(connection, group, unique_name, 1) == 2
