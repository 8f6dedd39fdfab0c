"""Of several nodes, only the one that coordinates a group or a transactional id answers for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oncelog.errors import Error
from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from oncelog.protocol.generated.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.generated.leave_group_request import LeaveGroupRequest, MemberIdentity
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_delete_request import OffsetDeleteRequest
from oncelog.protocol.generated.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest
from oncelog.protocol.generated.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from oncelog.protocol.wire import Message
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition
from tests.unit.broker.core.conftest import NOW_MS, Admin

NODES = (1, 2, 3)
ONE_OF_EACH = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
JOIN = JoinGroupRequest("g", 10_000, 10_000, "", None, "consumer", [JoinGroupRequestProtocol("range", b"")])
COMMIT = OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 5, -1, "")])
TXN_COMMIT = TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, 5, -1, "")])

ABOUT_ONE: dict[str, tuple[Message, int, Callable[[Any], int]]] = {
    "JoinGroup": (JOIN, 9, lambda answer: answer.error_code),
    "SyncGroup": (SyncGroupRequest("g", 1, "m"), 3, lambda answer: answer.error_code),
    "Heartbeat": (HeartbeatRequest("g", 1, "m"), 4, lambda answer: answer.error_code),
    "LeaveGroup": (LeaveGroupRequest("g", members=[MemberIdentity("m")]), 5, lambda answer: answer.error_code),
    "LeaveGroup of one": (LeaveGroupRequest("g", "m"), 1, lambda answer: answer.error_code),
    "ConsumerGroupHeartbeat": (
        ConsumerGroupHeartbeatRequest(
            "g", "m", 0, rebalance_timeout_ms=10_000, subscribed_topic_names=["t"], topic_partitions=[]
        ),
        0,
        lambda answer: answer.error_code,
    ),
    "OffsetCommit": (
        OffsetCommitRequest("g", topics=[COMMIT]),
        9,
        lambda answer: answer.topics[0].partitions[0].error_code,
    ),
    "OffsetFetch": (
        OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)]),
        8,
        lambda answer: answer.groups[0].error_code,
    ),
    "OffsetDelete": (OffsetDeleteRequest("g"), 0, lambda answer: answer.error_code),
    "DescribeGroups": (DescribeGroupsRequest(["g"]), 5, lambda answer: answer.groups[0].error_code),
    "ConsumerGroupDescribe": (ConsumerGroupDescribeRequest(["g"]), 1, lambda answer: answer.groups[0].error_code),
    "DeleteGroups": (DeleteGroupsRequest(["g"]), 2, lambda answer: answer.results[0].error_code),
    "TxnOffsetCommit": (
        TxnOffsetCommitRequest("x", "g", 1, 0, topics=[TXN_COMMIT]),
        3,
        lambda answer: answer.topics[0].partitions[0].error_code,
    ),
    "InitProducerId": (InitProducerIdRequest("x", 10_000), 5, lambda answer: answer.error_code),
    "AddPartitionsToTxn": (
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="x",
            v3_and_below_producer_id=1,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=[AddPartitionsToTxnTopic("t", [0])],
        ),
        3,
        lambda answer: answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code,
    ),
    "AddOffsetsToTxn": (AddOffsetsToTxnRequest("x", 1, 0, "g"), 4, lambda answer: answer.error_code),
    "EndTxn": (EndTxnRequest("x", 1, 0, committed=True), 5, lambda answer: answer.error_code),
    "DescribeTransactions": (
        DescribeTransactionsRequest(["x"]),
        0,
        lambda answer: answer.transaction_states[0].error_code,
    ),
}


@pytest.fixture
def admin() -> Iterator[Admin]:
    made = Admin(nodes=NODES, **ONE_OF_EACH)
    for topic in (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
        made.broker.topics.ensure_internal(topic, NOW_MS)
    made.broker.topics.create("t", 1, {}, NOW_MS)
    yield made
    made.broker.stop(NOW_MS)


def leader_of(admin: Admin, topic: str) -> int:
    assert admin.broker.cluster is not None
    return admin.broker.cluster.replicas(TopicPartition(topic, 0)).leader


@pytest.mark.parametrize("api", ABOUT_ONE)
def test_only_the_coordinator_answers_each_request(api: str, admin: Admin) -> None:
    request, version, error_of = ABOUT_ONE[api]
    topic = TRANSACTION_STATE_TOPIC if "Txn" in api or "Transactions" in api or "Producer" in api else ""
    if api == "TxnOffsetCommit" or not topic:
        topic = CONSUMER_OFFSETS_TOPIC
    errors = {node_id: error_of(admin.ask(request, version, node_id=node_id)) for node_id in NODES}
    coordinator = leader_of(admin, topic)
    assert {node_id for node_id in NODES if errors[node_id] != Error.NOT_COORDINATOR} == {coordinator}


def test_only_the_coordinator_lists_a_group(admin: Admin) -> None:
    admin.ask(OffsetCommitRequest("g", topics=[COMMIT]), 9, node_id=leader_of(admin, CONSUMER_OFFSETS_TOPIC))
    listed = {node_id: len(admin.ask(ListGroupsRequest(), 5, node_id=node_id).groups) for node_id in NODES}
    assert listed == {node_id: int(node_id == leader_of(admin, CONSUMER_OFFSETS_TOPIC)) for node_id in NODES}


def test_only_the_coordinator_lists_a_transaction(admin: Admin) -> None:
    admin.ask(InitProducerIdRequest("x", 10_000), 5, node_id=leader_of(admin, TRANSACTION_STATE_TOPIC))
    listed = {
        node_id: len(admin.ask(ListTransactionsRequest(), 1, node_id=node_id).transaction_states) for node_id in NODES
    }
    assert listed == {node_id: int(node_id == leader_of(admin, TRANSACTION_STATE_TOPIC)) for node_id in NODES}
