"""What a fetch answers for a partition that it may not read from, in every version."""

from __future__ import annotations

import pytest

from oncelog.broker.core.registry import SERVED
from oncelog.errors import Error
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from oncelog.protocol.struct_fields import ZERO_UUID
from tests.unit.broker.core.conftest import NOW_MS, Admin

FIRST_WITH_REPLICA_STATE = 15
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.mark.parametrize("version", range(9, SERVED[1].high + 1))
@pytest.mark.parametrize(("epoch", "error"), [(-2, Error.NONE), (0, Error.NONE), (1, Error.UNKNOWN_LEADER_EPOCH)])
def test_a_leader_epoch_that_is_not_current_is_refused(version: int, epoch: int, error: Error) -> None:
    """KIP-320, as in Apache Kafka 4.4.0: a negative epoch requests no check, and the answer names no leader."""
    admin = Admin()
    info = admin.broker.topics.create("orders", 1, {}, NOW_MS)
    topic = FetchTopic(partitions=[FetchPartition(0, current_leader_epoch=epoch, fetch_offset=0)])
    if version < 13:
        topic.topic = "orders"
    else:
        topic.topic_id = info.topic_id
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic], session_epoch=-1)
    (answer,) = admin.ask(request, version).responses[0].partitions
    assert answer.error_code == error
    assert answer.current_leader.leader_id == -1
    admin.broker.stop(NOW_MS)


def fetch_of_replica(version: int, topic_id: bytes, *, epoch: int = -1) -> FetchRequest:
    """By node 7, which no partition has as a replica."""
    partitions = [FetchPartition(0, current_leader_epoch=epoch, fetch_offset=0)]
    topics = [FetchTopic(*names, partitions) for names in (("orders", topic_id), ("absent", b"unknown-topic-id"))]
    for topic in topics:
        if version < 13:
            topic.topic_id = ZERO_UUID
        else:
            topic.topic = ""
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=topics, session_epoch=-1)
    if version < FIRST_WITH_REPLICA_STATE:
        request.replica_id = 7
    else:
        request.replica_state = ReplicaState(7, -1)
    return request


@pytest.mark.parametrize("version", range(9, SERVED[1].high + 1))
def test_a_node_that_is_not_a_replica_reads_nothing(version: int) -> None:
    """As in Apache Kafka 4.4.0: the leader epoch is checked first; from version 16 on the answer names the leader."""
    admin = Admin()
    info = admin.broker.topics.create("orders", 1, {}, NOW_MS)
    known, unknown = admin.ask(fetch_of_replica(version, info.topic_id), version).responses
    (answer,) = known.partitions
    assert answer.error_code == Error.NOT_LEADER_OR_FOLLOWER
    assert answer.current_leader.leader_id == (1 if version >= 16 else -1)
    missing = Error.UNKNOWN_TOPIC_ID if version >= 13 else Error.UNKNOWN_TOPIC_OR_PARTITION
    assert unknown.partitions[0].error_code == missing
    late = admin.ask(fetch_of_replica(version, info.topic_id, epoch=1), version).responses[0].partitions[0]
    assert late.error_code == Error.UNKNOWN_LEADER_EPOCH
    admin.broker.stop(NOW_MS)


@pytest.mark.parametrize("version", range(9, SERVED[1].high + 1))
@pytest.mark.parametrize("users", ["User:ANONYMOUS", "User:somebody"])
def test_a_replica_fetch_without_cluster_permission_reveals_no_topics(version: int, users: str) -> None:
    """KafkaApis.handleFetchRequest: without CLUSTER_ACTION a topic id that does not exist is refused like others."""
    settings = {"authorizer.class.name": AUTHORIZER, "super.users": users}
    admin = Admin(**settings)
    info = admin.broker.topics.create("orders", 1, {}, NOW_MS)
    answer = admin.ask(fetch_of_replica(version, info.topic_id), version)
    codes = {partition.error_code for topic in answer.responses for partition in topic.partitions}
    assert (codes == {Error.TOPIC_AUTHORIZATION_FAILED}) == (users == "User:somebody")
    admin.broker.stop(NOW_MS)
