"""What a caller is told of whom the authorizer allows nothing, or only a part, API by API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oncelog.broker.core.security.authorizer import STANDARD_AUTHORIZER
from oncelog.errors import Error
from oncelog.protocol.acls import Acl, AclResourceType, Operation, PatternType, Permission
from oncelog.protocol.generated.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from oncelog.protocol.generated.describe_cluster_request import DescribeClusterRequest
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest
from oncelog.protocol.generated.describe_producers_request import TopicRequest as ProducersOf
from oncelog.protocol.generated.describe_topic_partitions_request import DescribeTopicPartitionsRequest, TopicRequest
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.wire import Message
from tests.unit.broker.core.conftest import NOW_MS, Admin
from tests.unit.broker.log.batches import batch

NO_TOPIC, NO_GROUP, NO_ID = (
    Error.TOPIC_AUTHORIZATION_FAILED,
    Error.GROUP_AUTHORIZATION_FAILED,
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
TOPIC, GROUP, CLUSTER, TXN_ID = (
    AclResourceType.TOPIC,
    AclResourceType.GROUP,
    AclResourceType.CLUSTER,
    AclResourceType.TRANSACTIONAL_ID,
)
COMMIT = OffsetCommitRequest(
    "billing", topics=[OffsetCommitRequestTopic("orders", partitions=[OffsetCommitRequestPartition(0, 1, -1, "")])]
)
HEARTBEAT = ConsumerGroupHeartbeatRequest(
    "billing", "m", 0, rebalance_timeout_ms=1000, subscribed_topic_names=["orders"], topic_partitions=[]
)

NOTHING_ALLOWED: dict[str, tuple[Message, int, Callable[[Any], int], Error]] = {
    "FindCoordinator": (
        FindCoordinatorRequest(key_type=0, coordinator_keys=["billing"]),
        4,
        lambda found: found.coordinators[0].error_code,
        NO_GROUP,
    ),
    "DescribeTransactions": (
        DescribeTransactionsRequest(["pay"]),
        0,
        lambda found: found.transaction_states[0].error_code,
        NO_ID,
    ),
    "DescribeProducers": (
        DescribeProducersRequest([ProducersOf("orders", [0])]),
        0,
        lambda found: found.topics[0].partitions[0].error_code,
        NO_TOPIC,
    ),
    "DeleteRecords": (
        DeleteRecordsRequest([DeleteRecordsTopic("orders", [DeleteRecordsPartition(0, 0)])]),
        2,
        lambda found: found.topics[0].partitions[0].error_code,
        NO_TOPIC,
    ),
    "ListOffsets": (
        ListOffsetsRequest(-1, 0, [ListOffsetsTopic("orders", [ListOffsetsPartition(0, -1, -1)])]),
        7,
        lambda found: found.topics[0].partitions[0].error_code,
        NO_TOPIC,
    ),
    "OffsetForLeaderEpoch": (
        OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("orders", [OffsetForLeaderPartition(0, -1, 0)])]),
        4,
        lambda found: found.topics[0].partitions[0].error_code,
        NO_TOPIC,
    ),
    "CreatePartitions": (
        CreatePartitionsRequest([CreatePartitionsTopic("orders", 3, None)]),
        3,
        lambda found: found.results[0].error_code,
        NO_TOPIC,
    ),
    "DescribeTopicPartitions": (
        DescribeTopicPartitionsRequest([TopicRequest("orders")]),
        0,
        lambda found: found.topics[0].error_code,
        NO_TOPIC,
    ),
    "DescribeConfigs": (
        DescribeConfigsRequest([DescribeConfigsResource(2, "orders", None)]),
        4,
        lambda found: found.results[0].error_code,
        NO_TOPIC,
    ),
    "DeleteGroups": (DeleteGroupsRequest(["billing"]), 2, lambda found: found.results[0].error_code, NO_GROUP),
    "Produce": (
        ProduceRequest(None, -1, 1000, [TopicProduceData("orders", partition_data=[PartitionProduceData(0, b"")])]),
        9,
        lambda found: found.responses[0].partition_responses[0].error_code,
        NO_TOPIC,
    ),
}


@pytest.fixture
def admin() -> Iterator[Admin]:
    """The topic ``orders``, and the group ``billing``; only the super user may do anything."""
    made = Admin(**{"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:root"})
    made.broker.topics.create("orders", 1, {}, NOW_MS)
    made.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["billing"]), 4, user="root")
    assert made.ask(COMMIT, 9, user="root").topics[0].partitions[0].error_code == Error.NONE
    yield made
    made.broker.stop(NOW_MS)


def allow(admin: Admin, *granted: tuple[AclResourceType, str, Operation]) -> None:
    admin.broker.change_acls(
        [
            Acl(kind, name, PatternType.LITERAL, "User:alice", "*", operation, Permission.ALLOW)
            for kind, name, operation in granted
        ]
    )


@pytest.mark.parametrize("api", NOTHING_ALLOWED)
def test_a_missing_permission_is_reported_in_its_part_of_the_answer(api: str, admin: Admin) -> None:
    request, version, error_of, refusal = NOTHING_ALLOWED[api]
    assert error_of(admin.ask(request, version, user="alice")) == refusal
    assert error_of(admin.ask(request, version, user="root")) != refusal


def test_only_groups_that_the_caller_may_describe_are_listed(admin: Admin) -> None:
    other = OffsetCommitRequest("audit", topics=COMMIT.topics)
    assert admin.ask(other, 9, user="root").topics[0].partitions[0].error_code == Error.NONE
    assert admin.ask(ListGroupsRequest(), 5, user="alice").groups == []
    allow(admin, (GROUP, "audit", Operation.DESCRIBE))
    assert [group.group_id for group in admin.ask(ListGroupsRequest(), 5, user="alice").groups] == ["audit"]
    assert len(admin.ask(ListGroupsRequest(), 5, user="root").groups) == 2


def test_a_member_subscribes_only_to_topics_that_it_may_describe(admin: Admin) -> None:
    allow(admin, (GROUP, "billing", Operation.READ))
    assert admin.ask(HEARTBEAT, 1, user="alice").error_code == NO_TOPIC
    allow(admin, (TOPIC, "orders", Operation.DESCRIBE))
    assert admin.ask(HEARTBEAT, 1, user="alice").error_code == Error.NONE


def test_a_topic_that_may_be_created_but_not_described_hides_its_settings(admin: Admin) -> None:
    allow(admin, (TOPIC, "new", Operation.CREATE))
    (made,) = admin.ask(CreateTopicsRequest([CreatableTopic("new", 2, 1)]), 7, user="alice").topics
    assert (made.error_code, made.topic_config_error_code, made.num_partitions, made.configs) == (0, NO_TOPIC, -1, [])


def test_topics_that_the_caller_may_not_describe_are_not_among_all_topics(admin: Admin) -> None:
    assert admin.ask(DescribeTopicPartitionsRequest(), 0, user="alice").topics == []
    assert admin.ask(MetadataRequest(None), 12, user="alice").topics == []
    assert "orders" in [topic.name for topic in admin.ask(DescribeTopicPartitionsRequest(), 0, user="root").topics]


def test_authorized_cluster_operations_are_the_allowed_operations(admin: Admin) -> None:
    asked = DescribeClusterRequest(include_cluster_authorized_operations=True)
    of_metadata = MetadataRequest([], include_cluster_authorized_operations=True)
    assert admin.ask(asked, 1, user="alice").cluster_authorized_operations == 0
    assert admin.ask(of_metadata, 10, user="alice").cluster_authorized_operations == 0
    allow(admin, (CLUSTER, "kafka-cluster", Operation.DESCRIBE), (CLUSTER, "kafka-cluster", Operation.CREATE))
    bits = 1 << Operation.DESCRIBE | 1 << Operation.CREATE
    assert admin.ask(asked, 1, user="alice").cluster_authorized_operations == bits
    assert admin.ask(of_metadata, 10, user="alice").cluster_authorized_operations == bits


def test_if_one_topic_is_denied_no_topic_is_added_to_the_transaction(admin: Admin) -> None:
    admin.broker.topics.create("other", 1, {}, NOW_MS)
    allow(admin, (TXN_ID, "pay", Operation.WRITE), (TOPIC, "orders", Operation.WRITE))
    asked = [AddPartitionsToTxnTopic("orders", [0]), AddPartitionsToTxnTopic("other", [0])]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="pay", v3_and_below_producer_id=1, v3_and_below_topics=asked
    )
    found = {
        topic.name: topic.results_by_partition[0].partition_error_code
        for topic in admin.ask(request, 3, user="alice").results_by_topic_v3_and_below
    }
    assert found == {"orders": Error.OPERATION_NOT_ATTEMPTED, "other": NO_TOPIC}


def test_a_transactional_produce_needs_permission_for_the_transactional_id(admin: Admin) -> None:
    allow(admin, (TOPIC, "orders", Operation.WRITE))
    data = PartitionProduceData(0, bytes(batch(1, pid=1, seq=0, txn=True, timestamp=NOW_MS)))
    request = ProduceRequest("pay", -1, 1000, [TopicProduceData("orders", partition_data=[data])])
    refused = admin.ask(request, 9, user="alice").responses[0].partition_responses[0].error_code
    assert refused == NO_ID
