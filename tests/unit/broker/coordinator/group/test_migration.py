"""A group changes its protocol while its members continue to read, in both directions (KIP-848)."""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup
from oncelog.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from oncelog.broker.coordinator.group.states import ClassicState, ConsumerState
from oncelog.broker.coordinator.group.subscription import decode_assignment, encode_assignment
from oncelog.errors import Error
from oncelog.protocol.generated.consumer_protocol_assignment import ConsumerProtocolAssignment
from tests.support.group_host import GroupClient, MemoryGroupHost, subscription


def new_host(**settings: str) -> MemoryGroupHost:
    return MemoryGroupHost({"t": 4, "u": 2}, {"group.consumer.assignment.interval.ms": "0", **settings})


@pytest.fixture
def g() -> GroupClient:
    return GroupClient(new_host())


def by_topic(data: bytes) -> dict[str, list[int]]:
    decoded = decode_assignment(data)
    assert decoded is not None
    return {topic.topic: sorted(topic.partitions) for topic in decoded.assigned_partitions}


def stable_classic(g: GroupClient, instance_id: str | None = None, **options: Any) -> str:
    """A group of one member that has all of ``t``; returns the member's id."""
    member_id, answer = g.joined(instance_id=instance_id, **options)
    g.host.pass_time(0)
    member_id = answer.value.member_id
    assignment = encode_assignment({"t": [0, 1, 2, 3]}, 1)
    g.sync(member_id, answer.value.generation_id, {member_id: assignment}, instance_id=instance_id)
    return member_id


def kind(g: GroupClient) -> type:
    return type(g.host.shard(g.group_id).groups[g.group_id])


def rejoin(g: GroupClient, member_id: str, **owned: list[int]) -> int:
    """The classic member joins and syncs; returns its generation."""
    answer = g.join(member_id, protocols={"range": subscription("t", owned=owned)}).value
    assert answer.error_code == Error.NONE
    return answer.generation_id


def test_a_member_of_the_consumer_protocol_upgrades_the_group_and_shares_partitions_with_classic_members(
    g: GroupClient,
) -> None:
    old = stable_classic(g)
    joined = g.beat("new", 0).value
    assert (joined.error_code, joined.member_epoch, g.assigned(joined)) == (Error.NONE, 2, {})
    assert kind(g) is ConsumerGroup
    assert g.heartbeat(old, 1) == Error.REBALANCE_IN_PROGRESS
    assert rejoin(g, old, t=[0, 1, 2, 3]) == 1
    assert by_topic(g.sync(old, 1).value.assignment) == {"t": [0, 1]}
    assert g.heartbeat(old, 1) == Error.REBALANCE_IN_PROGRESS
    assert rejoin(g, old, t=[0, 1]) == 2
    assert by_topic(g.sync(old, 2).value.assignment) == {"t": [0, 1]}
    assert g.heartbeat(old, 2) == Error.NONE
    assert g.assigned(g.beat("new", 2).value) == {"t": [2, 3]}
    group = g.host.shard("g").groups["g"]
    assert group.state is ConsumerState.STABLE
    g.host.restart()
    assert g.heartbeat(old, 2) == Error.NONE
    assert g.beat("new", 2).value.error_code == Error.NONE


def test_offsets_survive_both_migrations(g: GroupClient) -> None:
    old = stable_classic(g)
    g.commit(7, member_id=old, generation=1)
    g.beat("new", 0)
    assert g.commit(8, member_id=old, generation=1, version=8).value == Error.NONE
    g.beat("new", -1)
    assert kind(g) is ClassicGroup
    assert g.offset() == 8
    g.host.restart()
    assert g.offset() == 8


def test_an_upgrade_answers_a_waiting_classic_request_with_rebalance_in_progress(g: GroupClient) -> None:
    stable_classic(g)
    _, waiting = g.joined()
    g.beat("new", 0)
    assert waiting.value.error_code == Error.REBALANCE_IN_PROGRESS


def test_the_group_is_downgraded_when_its_last_consumer_member_leaves(g: GroupClient) -> None:
    old = stable_classic(g)
    g.beat("new", 0)
    rejoin(g, old, t=[0, 1])
    g.sync(old, 2)
    g.beat("new", -1)
    group = g.host.shard("g").groups["g"]
    assert isinstance(group, ClassicGroup)
    assert (group.state, group.leader_id) == (ClassicState.PREPARING_REBALANCE, old)
    assert g.heartbeat(old, 2) == Error.REBALANCE_IN_PROGRESS
    answer = g.join(old).value
    assert (answer.leader, answer.generation_id, len(answer.members)) == (old, 3, 1)
    g.host.restart()
    assert kind(g) is ClassicGroup


@pytest.mark.parametrize("how", ["session", "classic leave"])
def test_a_group_is_downgraded_when_its_last_consumer_member_leaves_or_expires(g: GroupClient, how: str) -> None:
    old = stable_classic(g, session_timeout_ms=300_000)
    g.beat("new", 0)
    if how == "session":
        g.host.pass_time(45_000)
    else:
        assert g.leave(("new", None)).value.members[0].error_code == Error.NONE
    assert kind(g) is ClassicGroup
    assert old in g.host.shard("g").groups["g"].members


def test_a_static_member_that_returns_with_the_classic_protocol_downgrades_the_group(g: GroupClient) -> None:
    old = stable_classic(g)
    g.beat("new", 0, instance_id="i")
    rejoin(g, old, t=[0, 1])
    g.sync(old, 2)
    g.beat("new", 2, instance_id="i", owned={})
    g.beat("new", -2, instance_id="i")
    answer = g.join(instance_id="i").value
    assert answer.error_code == Error.NONE
    group = g.host.shard("g").groups["g"]
    assert isinstance(group, ClassicGroup)
    assert (group.state, set(group.members)) == (ClassicState.STABLE, {old, answer.member_id})
    synced = g.sync(answer.member_id, answer.generation_id, instance_id="i").value
    assert by_topic(synced.assignment) == {"t": [2, 3]}
    assert g.heartbeat(old, 2) == Error.NONE
    g.host.restart()
    assert g.heartbeat(answer.member_id, answer.generation_id, "i") == Error.NONE


def test_members_of_the_classic_protocol_may_join_a_consumer_group(g: GroupClient) -> None:
    g.beat("new", 0)
    asked = g.join().value
    assert asked.error_code == Error.MEMBER_ID_REQUIRED
    answer = g.join(asked.member_id).value
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (Error.NONE, 3, "range")
    assert (answer.leader, answer.members) == ("", [])
    assert by_topic(g.sync(asked.member_id, 3).value.assignment) == {}
    g.beat("new", 2, owned={"t": [0, 1, 2, 3]})
    g.beat("new", 2, owned={"t": [0, 1]})
    assert g.heartbeat(asked.member_id, 3) == Error.REBALANCE_IN_PROGRESS
    assert rejoin(g, asked.member_id) == 3
    assert by_topic(g.sync(asked.member_id, 3).value.assignment) == {"t": [2, 3]}


def test_a_member_that_does_not_join_again_in_time_is_removed(g: GroupClient) -> None:
    old = stable_classic(g, session_timeout_ms=300_000, rebalance_timeout_ms=20_000)
    g.beat("new", 0)
    assert g.heartbeat(old, 1) == Error.REBALANCE_IN_PROGRESS
    g.host.pass_time(10_000)
    assert g.heartbeat(old, 1) == Error.REBALANCE_IN_PROGRESS
    g.host.pass_time(10_000)
    assert set(g.host.shard("g").groups["g"].members) == {"new"}


def test_a_member_that_joins_but_does_not_sync_is_removed(g: GroupClient) -> None:
    g.beat("new", 0)
    member_id, _ = g.joined(session_timeout_ms=300_000, rebalance_timeout_ms=20_000)
    g.host.pass_time(20_000)
    assert set(g.host.shard("g").groups["g"].members) == {"new"}
    assert g.heartbeat(member_id, 3) == Error.UNKNOWN_MEMBER_ID


def test_classic_requests_are_checked_in_a_consumer_group_too(g: GroupClient) -> None:
    g.beat("new", 0)
    old, answer = g.joined()
    generation = answer.value.generation_id
    assert g.heartbeat("new", 2) == Error.UNKNOWN_MEMBER_ID
    assert g.heartbeat(old, generation + 1) == Error.ILLEGAL_GENERATION
    assert g.heartbeat(old, generation, "i") == Error.UNKNOWN_MEMBER_ID
    assert g.sync(old, generation + 1).value.error_code == Error.ILLEGAL_GENERATION
    assert g.sync(old, generation, protocol_type="connect").value.error_code == Error.INCONSISTENT_GROUP_PROTOCOL
    assert g.sync(old, generation, protocol_name="sticky").value.error_code == Error.INCONSISTENT_GROUP_PROTOCOL
    assert g.join(protocols={"sticky": b""}).value.error_code == Error.INCONSISTENT_GROUP_PROTOCOL
    assert g.join(protocol_type="connect").value.error_code == Error.INCONSISTENT_GROUP_PROTOCOL
    answers = g.leave((old, None), ("x", None), ("", "i")).value.members
    assert [m.error_code for m in answers] == [0, 25, 25]


def test_a_refused_join_of_a_consumer_group_does_not_return_the_member_id(g: GroupClient) -> None:
    g.beat("new", 0)
    old, _ = g.joined()
    refused = g.join(old, protocol_type="connect").value
    assert (refused.error_code, refused.member_id) == (Error.INCONSISTENT_GROUP_PROTOCOL, "")


@pytest.mark.parametrize("policy", ["disabled", "downgrade", "DISABLED"])
def test_a_group_is_not_upgraded_if_the_migration_policy_forbids_it(policy: str) -> None:
    g = GroupClient(new_host(**{"group.consumer.migration.policy": policy}))
    stable_classic(g)
    answer = g.beat("new", 0).value
    assert answer.error_code == Error.GROUP_ID_NOT_FOUND
    assert answer.error_message is not None
    assert "online upgrade is disabled" in answer.error_message


def test_a_classic_member_may_not_join_a_consumer_group_if_migration_is_disabled() -> None:
    g = GroupClient(new_host(**{"group.consumer.migration.policy": "disabled"}))
    g.beat("new", 0)
    assert g.join().value.error_code == Error.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("policy", ["upgrade", "bidirectional"])
def test_a_group_is_not_downgraded_if_the_migration_policy_forbids_it(policy: str) -> None:
    g = GroupClient(new_host(**{"group.consumer.migration.policy": policy}))
    stable_classic(g)
    g.beat("new", 0)
    g.beat("new", -1)
    assert kind(g) is (ClassicGroup if policy == "bidirectional" else ConsumerGroup)


def test_groups_of_other_protocol_types_or_with_a_custom_assignor_are_not_upgraded(g: GroupClient) -> None:
    g.joined(protocol_type="connect", protocols={"default": b""})
    g.host.pass_time(0)
    answer = g.beat("new", 0).value
    assert answer.error_code == Error.GROUP_ID_NOT_FOUND
    custom = GroupClient(g.host, "custom")
    member_id, _ = custom.joined()
    g.host.pass_time(0)
    assignment = (1).to_bytes(2) + ConsumerProtocolAssignment([], b"secret").encode(1)
    custom.sync(member_id, 1, {member_id: assignment})
    refused = custom.beat("new", 0).value
    assert refused.error_code == Error.GROUP_ID_NOT_FOUND
    assert refused.error_message is not None
    assert "custom assignor" in refused.error_message


def test_empty_groups_change_their_protocol_at_once(g: GroupClient) -> None:
    (member_id,) = g.stable(1)
    g.commit(5, member_id=member_id, generation=1)
    g.leave((member_id, None))
    assert g.beat("new", 0).value.member_epoch == 2
    assert kind(g) is ConsumerGroup
    g.beat("new", -1)
    g.stable(1)
    assert kind(g) is ClassicGroup
    assert g.offset() == 5
    g.host.restart()
    assert kind(g) is ClassicGroup
    assert g.offset() == 5


def test_a_failed_append_leaves_the_group_with_its_protocol(g: GroupClient) -> None:
    old = stable_classic(g)
    g.host.append_error = Error.NOT_ENOUGH_REPLICAS
    assert g.beat("new", 0).value.error_code == Error.COORDINATOR_NOT_AVAILABLE
    g.host.append_error = Error.NONE
    assert kind(g) is ClassicGroup
    assert g.heartbeat(old, 1) == Error.NONE
    g.beat("new", 0)
    g.host.append_error = Error.NOT_ENOUGH_REPLICAS
    assert g.beat("new", -1).value.error_code == Error.COORDINATOR_NOT_AVAILABLE
    g.host.append_error = Error.NONE
    assert kind(g) is ConsumerGroup
    assert g.beat("new", 2).value.error_code == Error.NONE


# --- members of the classic protocol in a group of the new one: what is refused


def test_an_unreadable_subscription_does_not_change_the_protocol(g: GroupClient) -> None:
    g.joined(protocols={"range": b"\0"})
    g.host.pass_time(0)
    refused = g.beat("new", 0).value
    assert refused.error_message is not None
    assert refused.error_message.endswith("the embedded consumer protocol is malformed.")
    assert kind(g) is ClassicGroup


def test_a_classic_group_that_exceeds_the_size_limit_of_consumer_groups_is_not_upgraded() -> None:
    g = GroupClient(new_host(**{"group.consumer.max.size": "1"}))
    g.stable(2)
    refused = g.beat("new", 0).value
    assert refused.error_message is not None
    assert refused.error_message.endswith("the group size exceeds the consumer group maximum size.")


def test_a_full_group_accepts_no_new_classic_member_but_lets_members_rejoin() -> None:
    g = GroupClient(new_host(**{"group.consumer.max.size": "2"}))
    g.beat("new", 0)
    old, _ = g.joined()
    assert g.join().value.error_code == Error.GROUP_MAX_SIZE_REACHED
    assert g.join(old).value.error_code == Error.NONE


def test_a_full_group_accepts_a_returning_static_member_of_the_classic_protocol() -> None:
    g = GroupClient(new_host(**{"group.consumer.max.size": "2"}))
    g.beat("new", 0)
    old, _ = g.joined(instance_id="i")
    assert g.join(instance_id="j").value.error_code == Error.GROUP_MAX_SIZE_REACHED
    again = g.join(instance_id="i").value
    assert (again.error_code, again.member_id != old) == (Error.NONE, True)


def test_a_subscription_that_cannot_be_read_is_refused(g: GroupClient) -> None:
    g.beat("new", 0)
    _, answer = g.joined(protocols={"range": b"\0\1broken"})
    assert answer.value.error_code == Error.INCONSISTENT_GROUP_PROTOCOL


def test_static_members_of_the_classic_protocol_are_identified_by_their_instance(g: GroupClient) -> None:
    g.beat("new", 0)
    assert g.join("made-up", instance_id="i").value.error_code == Error.UNKNOWN_MEMBER_ID
    first = g.join(instance_id="i").value
    assert first.error_code == Error.NONE
    again = g.join(first.member_id, instance_id="i").value
    assert (again.error_code, again.member_id) == (Error.NONE, first.member_id)
    assert g.join("another", instance_id="i").value.error_code == Error.FENCED_INSTANCE_ID
    assert g.heartbeat("another", again.generation_id, "i") == Error.FENCED_INSTANCE_ID
    assert g.sync("another", again.generation_id, instance_id="i").value.error_code == Error.FENCED_INSTANCE_ID
    assert g.sync(first.member_id, again.generation_id, instance_id="i").value.error_code == Error.NONE
    errors = [member.error_code for member in g.leave(("another", "i"), ("", "i")).value.members]
    assert errors == [Error.FENCED_INSTANCE_ID, Error.NONE]
    assert set(g.host.shard("g").groups["g"].members) == {"new"}


def test_a_member_that_syncs_with_an_older_assignment_must_rejoin(g: GroupClient) -> None:
    g.beat("new", 0)
    old, answer = g.joined()
    g.beat("third", 0)
    assert g.sync(old, answer.value.generation_id).value.error_code == Error.REBALANCE_IN_PROGRESS


def test_a_classic_member_does_not_own_partitions_of_deleted_topics(g: GroupClient) -> None:
    g.beat("new", 0)
    old, _ = g.joined()
    answer = g.join(old, protocols={"range": subscription("t", owned={"gone": [0], "t": []})}).value
    assert answer.error_code == Error.NONE


def test_a_join_that_cannot_be_stored_does_not_change_the_group(g: GroupClient) -> None:
    g.beat("new", 0)
    asked = g.join().value.member_id
    g.host.append_error = Error.NOT_ENOUGH_REPLICAS
    assert g.join(asked).value.error_code == Error.COORDINATOR_NOT_AVAILABLE
    g.host.append_error = Error.NONE
    assert set(g.host.shard("g").groups["g"].members) == {"new"}
    assert g.join(asked).value.error_code == Error.NONE
