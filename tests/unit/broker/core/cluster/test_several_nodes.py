"""A broker core with three nodes, as clients and operators see it: who leads and coordinates, and what waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oncelog.broker.core.cluster.cluster import Cluster
from oncelog.broker.core.cluster.node import NO_LEADER, SimulatedNode
from oncelog.broker.core.requests.session import Session
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import Error
from oncelog.protocol.generated.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.generated.describe_cluster_request import DescribeClusterRequest
from oncelog.protocol.generated.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition
from tests.unit.broker.core.conftest import NOW_MS, Admin
from tests.unit.broker.log.batches import batch

GROUPS, TRANSACTIONS = TopicPartition(CONSUMER_OFFSETS_TOPIC, 0), TopicPartition(TRANSACTION_STATE_TOPIC, 0)
T0 = TopicPartition("t", 0)
ONE_OF_EACH = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
NODES = (1, 2, 3)


def cluster_of(admin: Admin) -> Cluster:
    assert admin.broker.cluster is not None
    return admin.broker.cluster


def start(nodes: tuple[int, ...] = NODES, disk: MemoryDisk | None = None, **settings: str) -> Admin:
    made = Admin(disk=disk, nodes=nodes, **{**ONE_OF_EACH, **settings})
    for member in cluster_of(made).alive():
        member.addresses[Session().listener] = SimulatedNode(member.node_id, "broker.example", 9091 + member.node_id)
    return made


@pytest.fixture
def admin() -> Iterator[Admin]:
    made = start()
    made.broker.topics.create("t", 1, {}, NOW_MS)
    for topic in (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
        made.broker.topics.ensure_internal(topic, NOW_MS)
    yield made
    made.broker.stop(NOW_MS)


def leader(admin: Admin, name: TopicPartition) -> int:
    return cluster_of(admin).replicas(name).leader


def stop_node(admin: Admin, node_id: int) -> None:
    cluster_of(admin).member(node_id).running = False
    cluster_of(admin).leave(node_id)


def start_node(admin: Admin, node_id: int) -> None:
    cluster_of(admin).member(node_id).running = True
    cluster_of(admin).join(node_id)


def produce(admin: Admin, *, acks: int = -1, node_id: int | None = None) -> Error:
    data = PartitionProduceData(0, bytes(batch(1, timestamp=NOW_MS)))
    request = ProduceRequest(None, acks, 1000, [TopicProduceData("t", partition_data=[data])])
    answer = admin.ask(request, 9, node_id=leader(admin, T0) if node_id is None else node_id)
    return Error(answer.responses[0].partition_responses[0].error_code)


def commit(admin: Admin, offset: int) -> Error:
    asked = OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, offset, -1, "")])
    answer = admin.ask(OffsetCommitRequest("g", topics=[asked]), 8, node_id=leader(admin, GROUPS))
    return Error(answer.topics[0].partitions[0].error_code)


def committed(admin: Admin) -> int:
    asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)])
    answer = admin.ask(asked, 8, node_id=leader(admin, GROUPS))
    return int(answer.groups[0].topics[0].partitions[0].committed_offset)


def coordinator(admin: Admin) -> int:
    return int(
        admin.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4, node_id=1).coordinators[0].node_id
    )


def test_all_nodes_that_are_up_are_described_and_the_controller_is_one_of_them(admin: Admin) -> None:
    stop_node(admin, 1)
    answer = admin.ask(DescribeClusterRequest(), 1, node_id=2)
    assert [node.broker_id for node in answer.brokers] == [2, 3]
    assert answer.controller_id == 2


def test_metadata_names_the_leader_the_in_sync_replicas_and_the_offline_replicas(admin: Admin) -> None:
    first = leader(admin, T0)
    stop_node(admin, first)
    asked = MetadataRequest([MetadataRequestTopic(name="t")])
    (found,) = admin.ask(asked, 9, node_id=2).topics[0].partitions
    assert found.leader_id == leader(admin, T0) != first
    for node_id in NODES:
        if node_id != first:
            stop_node(admin, node_id)
    (found,) = admin.ask(asked, 9, node_id=2).topics[0].partitions
    assert (found.error_code, found.leader_id) == (Error.LEADER_NOT_AVAILABLE, NO_LEADER)
    assert sorted(found.offline_replicas) == sorted(found.replica_nodes)


def test_a_group_moves_with_its_partition_and_keeps_its_offsets(admin: Admin) -> None:
    first = leader(admin, GROUPS)
    assert coordinator(admin) == first
    assert commit(admin, 5) is Error.NONE
    stop_node(admin, first)
    assert coordinator(admin) == leader(admin, GROUPS) != first
    assert committed(admin) == 5
    assert commit(admin, 6) is Error.NONE
    admin.broker.nodes.crash_coordinator(GROUPS, NOW_MS)
    assert committed(admin) == 6


def test_a_single_node_reads_its_log_again_after_its_coordinator_crashes() -> None:
    alone = Admin(**ONE_OF_EACH)
    alone.broker.topics.create("t", 1, {}, NOW_MS)
    alone.broker.topics.ensure_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS)
    asked = OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 5, -1, "")])
    alone.ask(OffsetCommitRequest("g", topics=[asked]), 8)
    epoch = alone.broker.partitions()[GROUPS].leader_epoch
    alone.broker.nodes.crash_coordinator(GROUPS, NOW_MS)
    alone.broker.nodes.crash_coordinator(TopicPartition("none", 0), NOW_MS)
    assert alone.broker.partitions()[GROUPS].leader_epoch == epoch + 1
    answer = alone.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)]), 8)
    assert answer.groups[0].topics[0].partitions[0].committed_offset == 5
    alone.broker.stop(NOW_MS)


def test_no_coordinator_is_available_while_all_nodes_are_down(admin: Admin) -> None:
    for node_id in NODES:
        stop_node(admin, node_id)
    found = admin.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4, node_id=1).coordinators[0]
    assert found.error_code == Error.COORDINATOR_NOT_AVAILABLE


def test_acks_all_needs_enough_replicas_and_acks_1_only_the_leader() -> None:
    admin = start(**{"min.insync.replicas": "2"})
    admin.broker.topics.create("t", 1, {}, NOW_MS, 3)
    assert produce(admin) is Error.NONE
    for node_id in NODES:
        if node_id != leader(admin, T0):
            stop_node(admin, node_id)
    assert produce(admin) is Error.NOT_ENOUGH_REPLICAS
    assert produce(admin, acks=1) is Error.NONE
    admin.broker.stop(NOW_MS)


def test_a_coordinator_writes_nothing_with_too_few_in_sync_replicas() -> None:
    admin = start(**{"min.insync.replicas": "2"})
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    admin.broker.topics.ensure_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS)
    for node_id in NODES:
        if node_id != leader(admin, GROUPS):
            stop_node(admin, node_id)
    assert commit(admin, 5) is Error.COORDINATOR_NOT_AVAILABLE
    admin.broker.stop(NOW_MS)


@pytest.mark.parametrize("min_in_sync", ["1", "3"])
def test_a_transaction_completes_once_its_partition_is_up_again(min_in_sync: str) -> None:
    """Markers are repeated until the partition has a leader, and until enough replicas are in sync."""
    admin = start()
    admin.broker.topics.create("t", 1, {"min.insync.replicas": min_in_sync}, NOW_MS, 3)
    admin.broker.topics.ensure_internal(TRANSACTION_STATE_TOPIC, NOW_MS)
    cluster_of(admin).reassign(T0, [leader(admin, TRANSACTIONS) % 3 + 1] if min_in_sync == "1" else [1, 2, 3])
    coordinating = leader(admin, TRANSACTIONS)
    producer = admin.ask(InitProducerIdRequest("pay", 60_000), 4, node_id=coordinating)
    identity = producer.producer_id, producer.producer_epoch
    add = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="pay",
        v3_and_below_producer_id=identity[0],
        v3_and_below_producer_epoch=identity[1],
        v3_and_below_topics=[AddPartitionsToTxnTopic("t", [0])],
    )
    admin.ask(add, 3, node_id=coordinating)
    data = bytes(batch(1, pid=identity[0], epoch=identity[1], seq=0, txn=True, timestamp=NOW_MS))
    request = ProduceRequest("pay", -1, 1000, [TopicProduceData("t", partition_data=[PartitionProduceData(0, data)])])
    answer = admin.ask(request, 9, node_id=leader(admin, T0))
    assert answer.responses[0].partition_responses[0].error_code == Error.NONE
    away = (
        leader(admin, T0)
        if min_in_sync == "1"
        else next(n for n in NODES if n not in (coordinating, leader(admin, T0)))
    )
    stop_node(admin, away)
    log = admin.broker.partitions()[T0].log
    assert admin.ask(EndTxnRequest("pay", *identity, True), 3, node_id=coordinating).error_code == Error.NONE
    assert log.last_stable_offset == 0
    start_node(admin, away)
    admin.broker.advance(NOW_MS + 60_000)
    admin.broker.tasks.finish()
    assert log.last_stable_offset == log.log_end_offset == 2
    admin.broker.stop(NOW_MS)


def test_a_deleted_topic_is_removed_from_the_cluster(admin: Admin) -> None:
    answer = admin.ask(DeleteTopicsRequest([DeleteTopicState("t")], timeout_ms=1000), 6, node_id=1)
    assert answer.responses[0].error_code == Error.NONE
    assert not cluster_of(admin).leads(T0, None)
    admin.broker.nodes.in_sync_changed(T0)  # a change that comes too late is ignored


def test_replicas_and_preferred_leaders_are_moved(admin: Admin) -> None:
    first = leader(admin, T0)
    others = [node_id for node_id in NODES if node_id != first]
    admin.broker.nodes.reassign(T0, others, NOW_MS)
    admin.broker.nodes.reassign(TopicPartition("none", 0), others, NOW_MS)
    assert leader(admin, T0) == others[0]
    info = admin.broker.metadata.topic("t")
    assert info is not None and list(map(list, info.replicas)) == [others]
    cluster_of(admin).move_leader(T0, others[1])
    elect = ElectLeadersRequest(0, [TopicPartitions("t", [0])], 1000)
    (found,) = admin.ask(elect, 2, node_id=1).replica_election_results
    assert (found.partition_result[0].error_code, leader(admin, T0)) == (Error.NONE, others[0])
    (again,) = admin.ask(elect, 2, node_id=1).replica_election_results
    assert again.partition_result[0].error_code == Error.ELECTION_NOT_NEEDED


def test_replicas_of_a_removed_node_are_dropped_at_the_start() -> None:
    disk = MemoryDisk()
    before = start(disk=disk)
    before.broker.topics.create("t", 3, {}, NOW_MS)
    metadata = before.broker.metadata
    metadata.set_replicas("t", [[1], [2], [3]])
    info = metadata.topic("t")
    assert info is not None
    fewer = start((1, 2))
    placed = fewer.broker.nodes.place(fewer.broker.topics.create("t", 3, {}, NOW_MS)._replace(replicas=info.replicas))
    assert {node for nodes in placed.replicas for node in nodes} <= {1, 2}
    before.broker.stop(NOW_MS)
    fewer.broker.stop(NOW_MS)
