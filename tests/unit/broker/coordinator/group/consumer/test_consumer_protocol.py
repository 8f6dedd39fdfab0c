"""The consumer protocol (KIP-848): joining, reconciling, epochs, static members, leaving, subscriptions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.broker.coordinator.group.consumer import consumer_rules, reconcile
from oncelog.broker.coordinator.group.consumer.consumer_group import ConsumerGroup, ConsumerMember
from oncelog.broker.coordinator.group.consumer.consumer_rules import EpochClaim, MembershipStatus, MemberVerdict
from oncelog.broker.coordinator.group.consumer.epoch_draft import MAX_EPOCH
from oncelog.broker.coordinator.group.states import ConsumerState, MemberState
from oncelog.errors import Error
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.offset_fetch_request import OffsetFetchRequestGroup
from oncelog.types import ProducerIdAndEpoch
from tests.support.group_host import GroupClient, MemoryGroupHost
from tests.support.ports import CountingRandom
from tests.support.work import calls_of


@pytest.fixture
def host() -> MemoryGroupHost:
    return MemoryGroupHost({"t": 4, "u": 2}, {"group.consumer.assignment.interval.ms": "0"})


@pytest.fixture
def g(host: MemoryGroupHost) -> GroupClient:
    return GroupClient(host)


def group_of(g: GroupClient) -> ConsumerGroup:
    group = g.host.shard(g.group_id).groups[g.group_id]
    assert isinstance(group, ConsumerGroup)
    return group


def two_members(g: GroupClient) -> None:
    """``a`` and ``b`` share ``t`` at epoch 3: each owns two partitions."""
    g.beat("a", 0)
    g.beat("b", 0)
    g.beat("a", 2, owned={"t": [0, 1, 2, 3]})
    g.beat("a", 2, owned={"t": [0, 1]})
    g.beat("b", 3, owned={})
    g.beat("b", 3, owned={"t": [2, 3]})


# The table


def test_the_heartbeat_table_is_total_and_equals_kafkas() -> None:
    fenced, unknown = MemberVerdict.FENCED_EPOCH, MemberVerdict.UNKNOWN
    j, c, p, o, n = EpochClaim.JOIN, EpochClaim.CURRENT, EpochClaim.PREVIOUS, EpochClaim.OLDER, EpochClaim.NEWER
    stay = {c: MemberVerdict.STAY, p: MemberVerdict.STAY, o: fenced, n: fenced}
    other = dict.fromkeys((c, p, o, n), MemberVerdict.FENCED_INSTANCE)
    assert {
        MembershipStatus.UNKNOWN: {j: MemberVerdict.ADD, c: unknown, p: unknown, o: unknown, n: unknown},
        MembershipStatus.MEMBER: {j: MemberVerdict.STAY, **stay},
        MembershipStatus.STATIC: {j: MemberVerdict.UNRELEASED, **stay},
        MembershipStatus.RETURNING: {j: MemberVerdict.REPLACE, **stay},
        MembershipStatus.HELD: {j: MemberVerdict.UNRELEASED, **other},
        MembershipStatus.RELEASED: {j: MemberVerdict.REPLACE, **other},
    } == consumer_rules.HEARTBEAT_RULES


def test_every_member_state_has_a_rule() -> None:
    assert set(reconcile.RULES) == set(MemberState)


@pytest.mark.parametrize(
    ("change", "version", "message"),
    [
        ({"group_id": " "}, 1, "GroupId can't be empty."),
        ({"member_id": ""}, 1, "MemberId can't be empty."),
        ({"member_id": "", "member_epoch": 1}, 0, "MemberId can't be empty."),
        ({"member_id": "", "member_epoch": -1}, 0, "MemberId can't be empty."),
        ({"instance_id": ""}, 1, "InstanceId can't be empty."),
        ({"rack_id": ""}, 1, "RackId can't be empty."),
        ({"rebalance_timeout_ms": -1}, 1, "RebalanceTimeoutMs must be provided in first request."),
        ({"topic_partitions": None}, 1, "TopicPartitions must be empty when (re-)joining."),
        (
            {"subscribed_topic_names": None},
            1,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        ({"member_epoch": -2}, 1, "InstanceId can't be null."),
        ({"member_epoch": -3}, 1, "MemberEpoch is invalid."),
    ],
)
def test_a_heartbeat_that_contradicts_itself_is_refused(change: dict[str, object], version: int, message: str) -> None:
    good = ConsumerGroupHeartbeatRequest("g", "m", 0, None, None, 1000, ["t"], None, None, [])
    refusal = consumer_rules.invalid_heartbeat(good.replace(**change), version, ("uniform", "range"))
    assert refusal == (Error.INVALID_REQUEST, message)
    assert consumer_rules.invalid_heartbeat(good, version, ("uniform",)) is None


def test_an_unknown_assignor_is_refused(g: GroupClient) -> None:
    answer = g.beat("a", 0, assignor="sticky").value
    assert answer.error_code == Error.UNSUPPORTED_ASSIGNOR
    assert answer.error_message == "ServerAssignor sticky is not supported. Supported assignors: uniform, range."


# Joining


def test_the_first_member_gets_all_partitions_at_epoch_2(g: GroupClient) -> None:
    answer = g.beat("a", 0, topics=["t", "u"]).value
    assert (answer.error_code, answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == (0, "a", 2, 5000)
    assert g.assigned(answer) == {"t": [0, 1, 2, 3], "u": [0, 1]}
    assert group_of(g).state is ConsumerState.STABLE


def test_in_consumer_group_heartbeat_0_the_coordinator_chooses_the_member_id(g: GroupClient) -> None:
    answer = g.beat("", 0, version=0).value
    assert answer.member_id is not None and len(answer.member_id) == 22
    assert g.beat(answer.member_id, answer.member_epoch).value.error_code == Error.NONE


def test_the_answer_to_a_heartbeat_without_changes_contains_no_assignment(g: GroupClient) -> None:
    g.beat("a", 0)
    answer = g.beat("a", 2).value
    assert (answer.member_epoch, answer.assignment) == (2, None)


def test_the_answer_to_a_full_heartbeat_contains_the_whole_assignment(g: GroupClient) -> None:
    g.beat("a", 0)
    answer = g.beat("a", 2, topics=["t"], owned={}, rebalance_timeout_ms=1000).value
    assert g.assigned(answer) == {"t": [0, 1, 2, 3]}


def test_a_heartbeat_of_an_unknown_group_or_member_is_refused(g: GroupClient) -> None:
    assert g.beat("a", 1).value.error_code == Error.GROUP_ID_NOT_FOUND
    assert g.beat("a", -1).value.error_code == Error.GROUP_ID_NOT_FOUND
    g.beat("a", 0)
    assert g.beat("b", 1).value.error_code == Error.UNKNOWN_MEMBER_ID
    assert g.beat("b", -1).value.error_code == Error.UNKNOWN_MEMBER_ID


def test_a_full_group_refuses_new_members() -> None:
    host = MemoryGroupHost({"t": 1}, {"group.consumer.max.size": "1"})
    g = GroupClient(host)
    g.beat("a", 0)
    assert g.beat("b", 0).value.error_code == Error.GROUP_MAX_SIZE_REACHED
    assert g.beat("a", 2).value.error_code == Error.NONE


def test_a_full_group_accepts_its_returning_static_member() -> None:
    g = GroupClient(MemoryGroupHost({"t": 1}, {"group.consumer.max.size": "1"}))
    g.beat("a", 0, instance_id="i")
    g.beat("a", -2, instance_id="i")
    assert g.beat("b", 0, instance_id="j").value.error_code == Error.GROUP_MAX_SIZE_REACHED
    assert g.beat("b", 0, instance_id="i").value.error_code == Error.NONE


def test_a_heartbeat_is_answered_when_the_changes_that_it_made_are_durable(g: GroupClient) -> None:
    g.host.sync_at_once = False
    answer = g.beat("a", 0)
    assert not answer.done
    g.host.sync()
    assert answer.value.member_epoch == 2


@pytest.mark.parametrize("logged", [Error.NOT_ENOUGH_REPLICAS, Error.REQUEST_TIMED_OUT])
def test_a_heartbeat_that_cannot_be_stored_changes_nothing(g: GroupClient, logged: Error) -> None:
    g.host.append_error = logged
    assert g.beat("a", 0).value.error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert "g" not in g.host.shard("g").groups


# Reconciling


def test_a_partition_goes_to_its_new_owner_only_once_the_old_owner_has_revoked_it(g: GroupClient) -> None:
    g.beat("a", 0)
    joined = g.beat("b", 0).value
    assert (joined.member_epoch, g.assigned(joined)) == (3, {})
    assert group_of(g).members["b"].state is MemberState.UNRELEASED_PARTITIONS
    reported = g.beat("a", 2, owned={"t": [0, 1, 2, 3]}).value
    assert (reported.member_epoch, g.assigned(reported)) == (2, {"t": [0, 1]})
    assert group_of(g).members["a"].state is MemberState.UNREVOKED_PARTITIONS
    assert g.beat("b", 3).value.assignment is None
    assert g.beat("a", 2, owned={"t": [0, 1, 2]}).value.member_epoch == 2
    done = g.beat("a", 2, owned={"t": [0, 1]}).value
    assert (done.member_epoch, done.assignment) == (3, None)
    got = g.beat("b", 3).value
    assert (got.member_epoch, g.assigned(got)) == (3, {"t": [2, 3]})
    assert group_of(g).state is ConsumerState.STABLE


def test_a_member_that_does_not_give_up_its_partitions_in_time_is_removed(g: GroupClient) -> None:
    g.beat("a", 0, rebalance_timeout_ms=30_000)
    g.beat("b", 0)
    g.beat("a", 2, owned={"t": [0, 1, 2, 3]})
    g.host.pass_time(29_999)
    g.beat("a", 2, owned={"t": [0, 1, 2, 3]})
    g.beat("b", 3)
    g.host.pass_time(1)
    assert set(group_of(g).members) == {"b"}
    answer = g.beat("b", 3).value
    assert (answer.member_epoch, g.assigned(answer)) == (4, {"t": [0, 1, 2, 3]})


def test_a_member_without_heartbeats_is_removed(g: GroupClient) -> None:
    two_members(g)
    g.host.pass_time(30_000)
    g.beat("a", 3)
    g.host.pass_time(15_000)
    assert set(group_of(g).members) == {"a"}
    assert g.beat("b", 3).value.error_code == Error.UNKNOWN_MEMBER_ID


def test_the_epoch_after_the_largest_possible_epoch_is_1(g: GroupClient) -> None:
    """A group of a damaged or hostile log may have any. Partitions are assigned as after any other epoch."""
    g.beat("a", 0, topics=["t"])
    group = group_of(g)
    group.epoch = group.assignment_epoch = MAX_EPOCH
    g.beat("a", group.members["a"].epoch)
    assert group.members["a"].epoch == MAX_EPOCH
    assert g.beat("b", 0, topics=["t"]).value.error_code == Error.NONE
    group = group_of(g)
    assert (group.epoch, group.assignment_epoch, group.members["b"].epoch) == (1, 1, 1)
    assert group.targets["b"] and group.state is ConsumerState.RECONCILING


def test_a_heartbeat_with_another_epoch_than_the_members_is_fenced(g: GroupClient) -> None:
    two_members(g)
    assert g.beat("a", 4).value.error_code == Error.FENCED_MEMBER_EPOCH
    assert g.beat("a", 1).value.error_code == Error.FENCED_MEMBER_EPOCH
    assert g.beat("a", 2).value.error_code == Error.FENCED_MEMBER_EPOCH


def test_a_member_that_lost_an_answer_may_repeat_its_heartbeat_with_the_previous_epoch(g: GroupClient) -> None:
    two_members(g)
    answer = g.beat("a", 2, owned={"t": [0, 1]}).value
    assert (answer.error_code, answer.member_epoch) == (Error.NONE, 3)
    assert g.beat("a", 2, owned={"t": [0, 1, 2]}).value.error_code == Error.FENCED_MEMBER_EPOCH


def test_a_failed_removal_of_a_member_is_retried(g: GroupClient) -> None:
    two_members(g)
    g.host.append_error = Error.NOT_ENOUGH_REPLICAS
    g.host.pass_time(46_000)
    assert set(group_of(g).members) == {"a", "b"}
    g.host.append_error = Error.NONE
    g.host.pass_time(1000)
    assert group_of(g).empty


def test_a_group_computes_assignments_no_more_often_than_the_interval_allows() -> None:
    g = GroupClient(MemoryGroupHost({"t": 4}, {"group.consumer.assignment.interval.ms": "1000"}))
    g.beat("a", 0)
    g.host.pass_time(999)
    joined = g.beat("b", 0).value
    assert (joined.member_epoch, g.assigned(joined)) == (2, {})
    assert group_of(g).state is ConsumerState.ASSIGNING
    g.host.pass_time(1)
    assert g.beat("b", 2).value.member_epoch == 3


def test_a_setting_of_a_group_takes_precedence_over_the_brokers_setting(g: GroupClient) -> None:
    own = {"consumer.session.timeout.ms": "60000", "consumer.heartbeat.interval.ms": "7000"}
    g.host.settings_of[g.group_id] = own
    assert g.beat("a", 0).value.heartbeat_interval_ms == 7000
    g.host.pass_time(59_999)
    assert set(group_of(g).members) == {"a"}
    g.host.pass_time(1)
    assert group_of(g).empty
    del g.host.settings_of[g.group_id]
    assert g.beat("a", 0).value.heartbeat_interval_ms == 5000


# Leaving


def test_a_member_that_leaves_frees_its_partitions_at_once(g: GroupClient) -> None:
    two_members(g)
    answer = g.beat("b", -1).value
    assert (answer.member_id, answer.member_epoch) == ("b", -1)
    got = g.beat("a", 3).value
    assert (got.member_epoch, g.assigned(got)) == (4, {"t": [0, 1, 2, 3]})


def test_a_rejoining_member_need_not_revoke_its_former_partitions(g: GroupClient) -> None:
    """Its former life had 30 s to give partitions up."""
    g.beat("a", 0, rebalance_timeout_ms=30_000)
    g.beat("b", 0)
    g.beat("a", 2, owned={"t": [0, 1, 2, 3]})
    g.beat("a", -1)
    epoch = g.beat("a", 0).value.member_epoch
    g.beat("b", 3)
    g.host.pass_time(30_000)
    assert "a" in group_of(g).members
    assert g.beat("a", epoch).value.error_code == Error.NONE


def test_a_group_that_its_last_member_leaves_is_removed_unless_it_has_offsets(g: GroupClient) -> None:
    g.beat("a", 0)
    g.beat("a", -1)
    assert (group_of(g).state, group_of(g).epoch) == (ConsumerState.EMPTY, 3)
    assert ("session", "g", "a") not in g.host.shard("g").env.timers
    g.host.pass_time(600_000)
    assert "g" not in g.host.shard("g").groups


# Static members


def test_an_instance_id_is_not_taken_over_from_a_live_member(g: GroupClient) -> None:
    g.beat("a", 0, instance_id="i")
    assert g.beat("b", 0, instance_id="i").value.error_code == Error.UNRELEASED_INSTANCE_ID
    assert g.beat("a", 0, instance_id="i").value.error_code == Error.UNRELEASED_INSTANCE_ID
    assert g.beat("b", 2, instance_id="i").value.error_code == Error.FENCED_INSTANCE_ID
    assert g.beat("b", -1, instance_id="i").value.error_code == Error.FENCED_INSTANCE_ID
    assert g.beat("a", 2, instance_id="j").value.error_code == Error.UNKNOWN_MEMBER_ID
    assert g.beat("a", 2, instance_id="i").value.error_code == Error.NONE


@pytest.mark.parametrize("member_id", ["b", "a"])
def test_a_static_member_that_left_temporarily_comes_back_to_its_partitions(g: GroupClient, member_id: str) -> None:
    g.beat("a", 0, instance_id="i")
    g.beat("x", 0)
    answer = g.beat("a", -2, instance_id="i").value
    assert (answer.member_id, answer.member_epoch) == ("a", -2)
    assert group_of(g).members["a"].assigned != {}
    epoch = group_of(g).epoch
    back = g.beat(member_id, 0, instance_id="i").value
    assert back.member_epoch == epoch == group_of(g).epoch
    assert g.assigned(back) == {"t": [0, 1]}
    assert set(group_of(g).members) == {member_id, "x"}
    g.beat("x", 3)
    assert group_of(g).state is ConsumerState.STABLE


def test_a_static_member_that_does_not_come_back_is_removed_when_its_session_ends(g: GroupClient) -> None:
    g.beat("a", 0, instance_id="i")
    g.beat("a", -2, instance_id="i")
    g.host.pass_time(45_000)
    assert group_of(g).empty


def test_a_temporarily_absent_static_member_has_nothing_to_revoke(g: GroupClient) -> None:
    """It has until its session ends, however soon its rebalance timeout would be over."""
    g.beat("a", 0, instance_id="i", rebalance_timeout_ms=10_000)
    g.beat("b", 0)
    g.beat("a", 2, instance_id="i", owned={"t": [0, 1, 2, 3]})
    assert group_of(g).members["a"].state is MemberState.UNREVOKED_PARTITIONS
    g.beat("a", -2, instance_id="i")
    g.host.pass_time(10_000)
    assert set(group_of(g).members) == {"a", "b"}
    g.beat("b", 3)
    g.host.pass_time(35_000)
    assert set(group_of(g).members) == {"b"}


def test_a_static_member_leaves_permanently_with_epoch_minus_1(g: GroupClient) -> None:
    g.beat("a", 0, instance_id="i")
    assert g.beat("a", -1, instance_id="i").value.error_code == Error.NONE
    assert g.beat("b", 0, instance_id="i").value.error_code == Error.NONE


# Subscriptions


def test_a_member_that_changes_its_topics_causes_a_new_group_epoch(g: GroupClient) -> None:
    g.beat("a", 0, topics=["t"])
    answer = g.beat("a", 2, topics=["u"], owned={"t": [0, 1, 2, 3]}).value
    assert (answer.member_epoch, g.assigned(answer)) == (2, {})
    answer = g.beat("a", 2, owned={}).value
    assert (answer.member_epoch, g.assigned(answer)) == (3, {"u": [0, 1]})


def test_members_with_different_topics_get_partitions_of_their_own_topics(g: GroupClient) -> None:
    g.beat("a", 0, topics=["t"])
    answer = g.beat("b", 0, topics=["t", "u"]).value
    assert g.assigned(answer) == {"u": [0, 1]}


def test_the_assignor_that_most_members_request_is_used(g: GroupClient) -> None:
    g.beat("a", 0, assignor="range")
    g.beat("b", 0, assignor="range")
    g.beat("c", 0, assignor="uniform")
    assert group_of(g).preferred_assignor(group_of(g).members.values()) == "range"
    assert [sorted(group_of(g).target(m)[g.host.id_of("t")]) for m in "abc"] == [[0, 1], [2], [3]]


def test_a_group_that_elects_another_assignor_starts_a_new_epoch(g: GroupClient) -> None:
    epoch = g.beat("a", 0).value.member_epoch
    assert g.beat("a", epoch, assignor="uniform").value.member_epoch == epoch
    assert g.beat("a", epoch, assignor="range").value.member_epoch == epoch + 1
    assert g.beat("a", epoch + 1, assignor="range").value.member_epoch == epoch + 1
    g.beat("b", 0, assignor="uniform")
    epoch = group_of(g).epoch
    g.beat("b", epoch, assignor="range")
    assert group_of(g).epoch == epoch + 1
    g.beat("c", 0, assignor="range")
    epoch = group_of(g).epoch
    g.beat("c", epoch, assignor="uniform")
    assert group_of(g).epoch == epoch


@pytest.mark.parametrize("order", [("range", "uniform"), ("uniform", "range")])
def test_the_uniform_assignor_wins_among_equally_requested_assignors(g: GroupClient, order: tuple[str, str]) -> None:
    for member, assignor in zip("ab", order, strict=True):
        g.beat(member, 0, assignor=assignor)
    assert group_of(g).preferred_assignor(group_of(g).members.values()) == "uniform"


def test_a_topic_that_does_not_exist_yet_is_assigned_once_it_is_created(g: GroupClient) -> None:
    answer = g.beat("a", 0, topics=["later"]).value
    assert (answer.member_epoch, g.assigned(answer)) == (2, {})
    g.host.create_topic("later", 2)
    answer = g.beat("a", 2).value
    assert (answer.member_epoch, g.assigned(answer)) == (3, {"later": [0, 1]})


def test_partitions_of_enlarged_topics_are_assigned_and_those_of_deleted_topics_revoked(g: GroupClient) -> None:
    g.beat("a", 0, topics=["t", "u"])
    g.host.create_topic("u", 3)
    assert g.assigned(g.beat("a", 2).value) == {"t": [0, 1, 2, 3], "u": [0, 1, 2]}
    g.host.delete_topic("t")
    answer = g.beat("a", 3, owned={"u": [0, 1, 2]}).value
    assert (answer.member_epoch, g.assigned(answer)) == (4, {"u": [0, 1, 2]})


def test_changes_of_topics_without_subscribers_do_not_rebalance_the_group(g: GroupClient) -> None:
    g.beat("a", 0)
    g.host.create_topic("other", 1)
    assert g.beat("a", 2).value.member_epoch == 2


def test_a_regular_expression_subscribes_to_existing_and_later_topics_that_it_matches(g: GroupClient) -> None:
    answer = g.beat("a", 0, regex="[tx].*").value
    assert g.assigned(answer) == {"t": [0, 1, 2, 3]}
    g.host.create_topic("x1", 1)
    answer = g.beat("a", 2).value
    assert (answer.member_epoch, g.assigned(answer)) == (3, {"t": [0, 1, 2, 3], "x1": [0]})
    g.host.create_topic("y", 1)
    assert g.beat("a", 3).value.member_epoch == 3
    answer = g.beat("a", 3, regex="u", owned={"t": [0, 1, 2, 3], "x1": [0]}).value
    assert g.assigned(answer) == {}
    assert set(group_of(g).regexes) == {"u"}


def test_a_member_gets_its_named_topics_first_and_topics_of_its_expression_at_the_next_heartbeat(
    g: GroupClient,
) -> None:
    answer = g.beat("a", 0, topics=["u"], regex="t").value
    assert (answer.member_epoch, set(g.assigned(answer) or ())) == (2, {"u"})
    answer = g.beat("a", 2).value
    assert (answer.member_epoch, set(g.assigned(answer) or ())) == (3, {"t", "u"})
    assert g.beat("a", 3).value.assignment is None
    # One that is known already has its topics at once.
    assert set(g.assigned(g.beat("b", 0, topics=["u"], regex="t").value) or ()) <= {"t", "u"}
    assert group_of(g).topics_of(group_of(g).members["b"]) == {"t", "u"}


def test_an_expression_that_is_not_matched_before_the_next_heartbeat_survives_a_restart(g: GroupClient) -> None:
    g.beat("a", 0, topics=["u"], regex="t")
    g.host.restart()
    answer = g.beat("a", 2).value
    assert (answer.member_epoch, set(g.assigned(answer) or ())) == (3, {"t", "u"})


def test_a_regular_expression_matches_only_whole_names(g: GroupClient) -> None:
    g.host.create_topic("tt", 1)
    assert set(g.assigned(g.beat("a", 0, regex="t").value) or ()) == {"t"}


@pytest.mark.parametrize("regex", ["[", "(", "a**", "(?=x)", r"(a)\1", "x{2000}"])
def test_an_invalid_regular_expression_is_refused(g: GroupClient, regex: str) -> None:
    answer = g.beat("a", 0, regex=regex).value
    assert answer.error_code == Error.INVALID_REGULAR_EXPRESSION
    assert answer.error_message is not None
    assert regex in answer.error_message
    assert "g" not in g.host.shard("g").groups
    g.beat("a", 0)
    assert g.beat("a", 2, regex=regex).value.error_code == Error.INVALID_REGULAR_EXPRESSION
    assert group_of(g).members["a"].regex == ""


# Offsets


def test_members_commit_with_their_epoch_from_version_9_on(g: GroupClient) -> None:
    two_members(g)
    commit = g.commit
    assert commit(1, member_id="a", generation=3, version=9).value == Error.NONE
    assert commit(1, member_id="a", generation=3, version=8).value == Error.UNSUPPORTED_VERSION
    assert commit(1, member_id="a", generation=4).value == Error.STALE_MEMBER_EPOCH
    assert commit(1, member_id="x", generation=3).value == Error.UNKNOWN_MEMBER_ID
    assert commit(1).value == Error.UNKNOWN_MEMBER_ID


def test_a_commit_with_an_older_epoch_is_accepted_for_partitions_owned_since_that_epoch(g: GroupClient) -> None:
    """KIP-1251: ``a`` owns t-0 since epoch 2, ``b`` owns t-2 since epoch 3."""
    two_members(g)
    assert g.commit(1, member_id="a", generation=2, partition=0).value == Error.NONE
    assert g.commit(1, member_id="a", generation=2, partition=3).value == Error.STALE_MEMBER_EPOCH
    assert g.commit(1, member_id="a", generation=1, partition=0).value == Error.STALE_MEMBER_EPOCH
    assert g.commit(1, member_id="b", generation=2, partition=2).value == Error.STALE_MEMBER_EPOCH


def test_transactional_commits_refuse_stale_member_epochs(g: GroupClient) -> None:
    two_members(g)
    producer = ProducerIdAndEpoch(1, 0)
    commit = g.commit_in_transaction
    assert commit(1, producer, member_id="a", generation=4).value == Error.ILLEGAL_GENERATION
    assert commit(1, producer, member_id="a", generation=2, partition=3).value == Error.ILLEGAL_GENERATION
    assert commit(1, producer, member_id="x", generation=3).value == Error.UNKNOWN_MEMBER_ID
    assert commit(1, producer, member_id="a", generation=3).value == Error.NONE
    assert commit(1, producer).value == Error.NONE


def test_members_fetch_offsets_with_their_epoch_and_administrators_without_an_epoch(g: GroupClient) -> None:
    two_members(g)

    def error(member_id: str | None, epoch: int) -> int:
        request = OffsetFetchRequestGroup("g", member_id, epoch, None)
        return g.host.coordinator.fetch_offsets(request, False, g.host.now_ms, node_id=None).answer.error_code

    assert error(None, -1) == Error.NONE
    assert error("a", 3) == Error.NONE
    assert error("a", 2) == Error.STALE_MEMBER_EPOCH
    assert error("x", 3) == Error.UNKNOWN_MEMBER_ID


# Describing


def test_a_described_group_shows_current_and_target_assignments(g: GroupClient) -> None:
    g.beat("a", 0)
    g.beat("b", 0)
    (described,) = g.host.coordinator.consumer_group_describe(["g"], g.host.now_ms, node_id=None).value
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Reconciling", 3, 3)
    assert described.assignor_name == "uniform"
    a, b = described.members
    assert (a.member_epoch, b.member_epoch, a.member_type) == (2, 3, 1)
    assert a.assignment is not None
    assert a.target_assignment is not None
    assert a.assignment.topic_partitions[0].topic_name == "t"
    assert a.assignment.topic_partitions[0].partitions == [0, 1, 2, 3]
    assert a.target_assignment.topic_partitions[0].partitions == [0, 1]
    g.commit(1, topic="t", member_id="a", generation=2)
    absent, empty = g.host.coordinator.consumer_group_describe(["absent", ""], g.host.now_ms, node_id=None).value
    assert (absent.error_code, absent.error_message) == (Error.GROUP_ID_NOT_FOUND, "Group absent not found.")
    assert empty.error_code == Error.INVALID_GROUP_ID


# Any order of events


@given(
    st.lists(
        st.tuples(st.sampled_from(["beat", "leave", "grow", "restart", "time"]), st.sampled_from("abc")), max_size=40
    )
)
@settings(max_examples=80, deadline=None)
def test_no_partition_ever_has_two_owners_and_in_the_end_all_partitions_are_assigned(
    steps: list[tuple[str, str]],
) -> None:
    host = MemoryGroupHost({"t": 4, "u": 2}, {"group.consumer.assignment.interval.ms": "0"})
    g = GroupClient(host)
    epochs: dict[str, int] = {}
    owned: dict[str, dict[str, list[int]]] = {}

    def beat(member: str) -> None:
        topics = ["t", "u"] if member != "c" else ["u"]
        answer = g.beat(member, epochs.get(member, 0), topics=topics, owned=owned.get(member, {})).value
        if answer.error_code in (Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH, Error.GROUP_ID_NOT_FOUND):
            epochs.pop(member, None)
            owned.pop(member, None)
            return
        assert answer.error_code == Error.NONE
        epochs[member] = answer.member_epoch
        assigned = g.assigned(answer)
        if assigned is not None:
            owned[member] = assigned
        held = [(t, p) for mine in owned.values() for t, ps in mine.items() for p in ps]
        assert len(held) == len(set(held))

    for step, member in steps:
        match step:
            case "beat":
                beat(member)
            case "leave" if member in epochs:
                g.beat(member, -1)
                del epochs[member]
                owned.pop(member, None)
            case "grow":
                host.create_topic("t", (host.topic_partitions("t") or 0) + 1)
            case "restart":
                host.restart()
            case "time":
                host.pass_time(20_000)
                if "g" in host.shard("g").groups:
                    alive = getattr(host.shard("g").groups["g"], "members", {})
                    for gone in [m for m in epochs if m not in alive]:
                        del epochs[gone]
                        owned.pop(gone, None)
            case _:
                pass
    for _ in range(8):
        for member in "abc":
            beat(member)
    group = group_of(g)
    assert group.state is ConsumerState.STABLE
    everything = {(t, p) for t in ("t", "u") for p in range(host.topic_partitions(t) or 0)}
    assert {(t, p) for mine in owned.values() for t, ps in mine.items() for p in ps} == everything


def test_the_fake_random_source_generates_different_member_ids() -> None:
    random = CountingRandom()
    assert random.token(16) != random.token(16)


def test_removing_a_member_does_not_remove_a_later_owner_of_its_partition() -> None:
    group = ConsumerGroup("g")
    topic = b"t" * 16
    group.put_member(ConsumerMember("a", 2, assigned={topic: {0: 2}}))
    group.put_member(ConsumerMember("b", 3, assigned={topic: {0: 3}}))
    group.remove_member("a")
    assert group.owner_epoch(topic, 0) == 3
    group.remove_member("b")
    assert group.owner_epoch(topic, 0) == -1


# Many members


def crowd(count: int) -> GroupClient:
    """Members that joined between two assignments; some subscribe by an expression."""
    g = GroupClient(MemoryGroupHost({"t": 4, "u": 2}, {"group.consumer.assignment.interval.ms": "15000"}))
    for number in range(count):
        g.beat(f"m{number:04}", 0, regex="u.*" if number % 10 == 9 else None, topics=["t"])
    return g


def test_a_joining_member_does_not_scan_other_members() -> None:
    few, many = crowd(30), crowd(600)
    calls = [calls_of(lambda g=g: g.beat("new", 0)) for g in (few, many)]  # type: ignore[misc]
    assert calls[1] <= calls[0] + 20


def test_members_whose_sessions_end_together_are_removed_together() -> None:
    """10,000 of them took 11 s in one iteration: each copied the group."""
    g = crowd(500)
    group = group_of(g)
    epoch = group.epoch
    g.beat("stays", 0)
    g.host.pass_time(44_000)
    g.beat("stays", group.members["stays"].epoch)
    g.host.pass_time(2_000)
    assert list(group_of(g).members) == ["stays"]
    assert group_of(g).epoch <= epoch + 10
    assert not [name for name in g.host.shard("g").env.timers._by_group["g"] if name[2] != "stays"]


def test_members_with_very_long_names_are_removed_in_batches_that_fit_the_log() -> None:
    g = GroupClient(MemoryGroupHost({"t": 4}, {"group.consumer.assignment.interval.ms": "15000"}))
    for number in range(60):
        g.beat(f"{number}" + "m" * 30_000, 0)
    g.host.largest_batch_bytes = 1_000_000
    g.host.pass_time(46_000)
    assert group_of(g).empty
