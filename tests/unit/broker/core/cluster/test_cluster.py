"""The model of several nodes: which one leads, which are in sync, what an election costs."""

from __future__ import annotations

import pytest

from oncelog.broker.core.cluster.cluster import Cluster, Replicas
from oncelog.broker.core.cluster.node import NO_LEADER
from oncelog.errors import Error, KafkaError
from oncelog.types import TopicPartition

T0 = TopicPartition("t", 0)


class Logs:
    """A host that records what was asked of it."""

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] = {}
        self.unclean = False
        self.leaders: list[tuple[int, int | None]] = []

    def end_offset(self, topic_partition: TopicPartition) -> int:
        return self.ends.get(topic_partition, 0)

    def allows_unclean(self, topic: str) -> bool:
        return self.unclean

    def leader_changed(self, topic_partition: TopicPartition, replicas: Replicas, truncate_to: int | None) -> None:
        self.leaders.append((replicas.leader, truncate_to))
        if truncate_to is not None:
            self.ends[topic_partition] = truncate_to

    def in_sync_changed(self, topic_partition: TopicPartition) -> None:
        """Nothing waits here."""


@pytest.fixture
def logs() -> Logs:
    return Logs()


@pytest.fixture
def cluster(logs: Logs) -> Cluster:
    made = Cluster([1, 2, 3], logs)
    made.add(T0, [1, 2, 3])
    return made


def kill(cluster: Cluster, node_id: int) -> None:
    cluster.member(node_id).running = False
    cluster.leave(node_id)


def start(cluster: Cluster, node_id: int) -> None:
    cluster.member(node_id).running = True
    cluster.join(node_id)


def test_leaders_and_followers_are_assigned_round_robin(cluster: Cluster) -> None:
    placed = cluster.place("orders", range(6), 2)
    assert sorted(replicas[0] for replicas in placed) == [1, 1, 2, 2, 3, 3]
    assert all(len(set(replicas)) == 2 for replicas in placed)
    assert cluster.place("orders", range(6), 2) == placed
    assert [len(replicas) for replicas in cluster.place("orders", range(2), 5)] == [3, 3]


def test_when_the_leader_stops_the_next_in_sync_replica_leads(cluster: Cluster, logs: Logs) -> None:
    logs.ends[T0] = 10
    kill(cluster, 1)
    replicas = cluster.replicas(T0)
    assert (replicas.leader, replicas.in_sync) == (2, [2, 3])
    assert cluster.controller_id == 2
    assert cluster.offline(replicas) == [1]
    start(cluster, 1)
    assert (replicas.leader, replicas.in_sync) == (2, [1, 2, 3])
    assert logs.leaders == [(2, None)]


def test_a_partition_waits_for_its_last_in_sync_replica(cluster: Cluster, logs: Logs) -> None:
    kill(cluster, 3)
    kill(cluster, 2)
    kill(cluster, 1)
    replicas = cluster.replicas(T0)
    assert (replicas.leader, replicas.in_sync) == (NO_LEADER, [1])
    start(cluster, 2)
    assert replicas.leader == NO_LEADER
    assert cluster.elect(T0, unclean=False) is Error.PREFERRED_LEADER_NOT_AVAILABLE
    start(cluster, 1)
    assert (replicas.leader, replicas.in_sync) == (1, [1, 2])


def test_an_unclean_election_loses_records_that_were_not_copied(cluster: Cluster, logs: Logs) -> None:
    logs.ends[T0] = 10
    kill(cluster, 2)
    kill(cluster, 3)
    logs.ends[T0] = 25
    kill(cluster, 1)
    start(cluster, 3)
    assert cluster.elect(T0, unclean=True) is Error.NONE
    assert logs.leaders[-1] == (3, 10)
    assert cluster.replicas(T0).in_sync == [3]
    start(cluster, 1)
    assert cluster.replicas(T0).in_sync == [1, 3]
    assert logs.ends[T0] == 10


def test_a_topic_may_allow_unclean_elections(cluster: Cluster, logs: Logs) -> None:
    logs.unclean = True
    kill(cluster, 2)
    logs.ends[T0] = 5
    kill(cluster, 3)
    kill(cluster, 1)
    assert cluster.replicas(T0).leader == NO_LEADER
    start(cluster, 2)
    assert logs.leaders[-1] == (2, 0)


def test_a_follower_that_copies_no_records_holds_the_high_watermark_back(cluster: Cluster, logs: Logs) -> None:
    logs.ends[T0] = 7
    cluster.hold_back(3)
    logs.ends[T0] = 9
    replicas = cluster.replicas(T0)
    assert replicas.committed(9) == 7
    cluster.drop_lagging(3)
    assert replicas.in_sync == [1, 2]
    assert replicas.committed(9) == 9
    cluster.let_go(3)
    assert (replicas.in_sync, replicas.committed(9)) == ([1, 2, 3], 9)


def test_a_lagging_clean_leader_truncates_records_that_only_the_old_leader_had(cluster: Cluster, logs: Logs) -> None:
    logs.ends[T0] = 7
    cluster.hold_back(2)
    cluster.hold_back(3)
    logs.ends[T0] = 9
    kill(cluster, 1)
    assert logs.leaders == [(2, 7)]


def test_acks_all_is_refused_if_too_few_replicas_are_in_sync() -> None:
    assert Replicas([1, 2, 3], [1]).is_short(2)
    assert not Replicas([1, 2, 3], [1, 2]).is_short(2)
    assert not Replicas([1], [1]).is_short(2)  # never more than there are


def test_exactly_one_node_leads_a_partition(cluster: Cluster) -> None:
    assert [cluster.leads(T0, node_id) for node_id in (1, 2, 3)] == [True, False, False]
    assert cluster.leads(T0, None)
    for node_id in (2, 3, 1):
        kill(cluster, node_id)
    assert not cluster.leads(T0, None)


def test_leaders_move_to_in_sync_replicas(cluster: Cluster, logs: Logs) -> None:
    cluster.move_leader(T0, 3)
    assert cluster.replicas(T0).leader == 3
    assert cluster.elect(T0, unclean=False) is Error.NONE
    assert cluster.elect(T0, unclean=False) is Error.ELECTION_NOT_NEEDED
    cluster.set_in_sync(T0, 2, in_sync=False)
    with pytest.raises(KafkaError, match=r"node 2 cannot lead t-0; the in-sync replicas are \[1, 3\]"):
        cluster.move_leader(T0, 2)
    with pytest.raises(KafkaError, match="there is no node 4: the cluster has 1, 2, 3"):
        cluster.move_leader(T0, 4)
    cluster.set_in_sync(T0, 2, in_sync=True)
    assert cluster.replicas(T0).in_sync == [1, 2, 3]
    with pytest.raises(KafkaError, match="node 1 leads t-0: move the leader first"):
        cluster.set_in_sync(T0, 1, in_sync=False)


def test_replicas_can_be_reassigned(cluster: Cluster, logs: Logs) -> None:
    cluster.reassign(T0, [3, 2])
    replicas = cluster.replicas(T0)
    assert (replicas.assigned, replicas.in_sync, replicas.leader) == ([3, 2], [3, 2], 3)
    kill(cluster, 2)
    with pytest.raises(KafkaError, match="node 2 is not up"):
        cluster.reassign(T0, [2])


def test_a_partition_on_nodes_that_are_down_has_no_leader(cluster: Cluster) -> None:
    kill(cluster, 1)
    kill(cluster, 2)
    later = TopicPartition("t", 1)
    replicas = cluster.add(later, [1, 2])
    assert (replicas.leader, replicas.in_sync) == (NO_LEADER, [1])
    assert cluster.elect(later, unclean=True) is Error.ELIGIBLE_LEADERS_NOT_AVAILABLE
    start(cluster, 2)
    assert cluster.elect(later, unclean=True) is Error.NONE
    assert cluster.elect(later, unclean=True) is Error.ELECTION_NOT_NEEDED
    assert replicas.leader == 2


def test_a_partition_is_not_affected_by_nodes_without_its_replica(cluster: Cluster, logs: Logs) -> None:
    elsewhere = TopicPartition("t", 1)
    replicas = cluster.add(elsewhere, [2])
    for node_id in (1, 3):
        kill(cluster, node_id)
        start(cluster, node_id)
        cluster.hold_back(node_id)
        cluster.drop_lagging(node_id)
        cluster.let_go(node_id)
    assert (replicas.leader, replicas.in_sync, replicas.stalled) == (2, [2], {})
    with pytest.raises(KafkaError, match=r"node 3 is not a replica of t-1; its replicas are \[2\]"):
        cluster.set_in_sync(elsewhere, 3, in_sync=False)


def test_a_removed_partition_is_unknown_to_the_cluster(cluster: Cluster) -> None:
    cluster.remove(T0)
    cluster.remove(T0)
    assert not cluster.leads(T0, 1)
    with pytest.raises(KafkaError, match="there is no partition t-0"):
        cluster.replicas(T0)


def test_a_follower_with_all_records_stays_in_sync_while_isolated(cluster: Cluster) -> None:
    cluster.hold_back(3)
    cluster.drop_lagging(3)
    assert cluster.replicas(T0).in_sync == [1, 2, 3]
    assert cluster.shrinks == 0


def test_replicas_are_removed_from_and_added_to_the_in_sync_replicas_on_request(cluster: Cluster) -> None:
    cluster.set_in_sync(T0, 2, in_sync=False)
    cluster.set_in_sync(T0, 2, in_sync=False)
    assert (cluster.replicas(T0).in_sync, cluster.shrinks) == ([1, 3], 1)
    kill(cluster, 2)
    with pytest.raises(KafkaError, match="node 2 is not up"):
        cluster.set_in_sync(T0, 2, in_sync=True)


def test_moving_a_leader_to_the_node_that_leads_already_changes_nothing(cluster: Cluster, logs: Logs) -> None:
    cluster.move_leader(T0, 1)
    assert logs.leaders == []


def test_replicas_around_the_leader_change_without_an_election(cluster: Cluster, logs: Logs) -> None:
    cluster.reassign(T0, [2, 1])
    assert (cluster.replicas(T0).leader, logs.leaders) == (1, [])


def test_the_end_offset_of_a_former_leader_that_copies_no_records_does_not_change(cluster: Cluster, logs: Logs) -> None:
    logs.ends[T0] = 4
    cluster.hold_back(1)
    cluster.move_leader(T0, 2)
    logs.ends[T0] = 9
    replicas = cluster.replicas(T0)
    assert (replicas.stalled, replicas.committed(9)) == ({1: 4}, 4)
