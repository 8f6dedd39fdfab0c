"""DescribeQuorum (key 55), versions 0-2: the quorum of the metadata, whose only voter is this broker (KIP-595).

Version 1 adds when a voter last caught up (KIP-836), version 2 directories, listeners and errors (KIP-853). There is no
Raft here: each start of the broker is a leader epoch, and the high watermark is the number of durable changes to the
metadata. As in Apache Kafka, a request for anything but partition 0 of ``__cluster_metadata`` gets
UNKNOWN_TOPIC_OR_PARTITION for every partition that it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.refusals import MESSAGES
from oncelog.errors import Error
from oncelog.protocol.generated.describe_quorum_request import DescribeQuorumRequest
from oncelog.protocol.generated.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import ClusterPorts

FIRST_WITH_NODES = 2
METADATA_TOPIC = "__cluster_metadata"
LISTENER = "PLAINTEXT"


def handle(ports: ClusterPorts, context: RequestContext, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    asked = [(topic.topic_name, [part.partition_index for part in topic.partitions]) for topic in request.topics]
    if asked != [(METADATA_TOPIC, [0])]:
        topics = [TopicData(topic_name=name, partitions=[_not_here(index) for index in parts]) for name, parts in asked]
        return DescribeQuorumResponse(error_code=Error.NONE, error_message="", topics=topics)
    node = ports.node
    response = DescribeQuorumResponse(
        error_code=Error.NONE,
        error_message="",
        topics=[TopicData(topic_name=METADATA_TOPIC, partitions=[_quorum(ports, context.now_ms)])],
    )
    if context.api_version >= FIRST_WITH_NODES:
        listener = Listener(name=LISTENER, host=node.host, port=node.port)
        response.nodes = [Node(node_id=node.node_id, listeners=[listener])]
    return response


def _quorum(ports: ClusterPorts, now_ms: int) -> PartitionData:
    changes = ports.metadata.changes
    leader = ReplicaState(
        replica_id=ports.node.node_id,
        log_end_offset=changes,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    return PartitionData(
        partition_index=0,
        error_code=Error.NONE,
        error_message="",
        leader_id=ports.node.node_id,
        leader_epoch=ports.metadata.starts + 1,
        high_watermark=changes,
        current_voters=[leader],
        observers=[],
    )


def _not_here(index: int) -> PartitionData:
    return PartitionData(
        partition_index=index,
        error_code=Error.UNKNOWN_TOPIC_OR_PARTITION,
        error_message=MESSAGES[Error.UNKNOWN_TOPIC_OR_PARTITION],
    )
