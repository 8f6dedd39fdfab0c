"""ElectLeaders (key 43), versions 0-2: the preferred replica leads again, or an unclean one where none leads.

With one broker every partition has its leader. Null topics are all partitions; of those, only elections that failed or
happened are told. Source: Kafka's
``ReplicationControlManager.electLeaders``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.context import RequestContext
from oncelog.errors import Error
from oncelog.metadata.store import TopicInfo
from oncelog.protocol.generated.elect_leaders_request import ElectLeadersRequest
from oncelog.protocol.generated.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker


PREFERRED, UNCLEAN = 0, 1
MESSAGES = {
    Error.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    Error.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
}


def handle(broker: Broker, context: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
    if request.election_type not in (PREFERRED, UNCLEAN):
        error, message = Error.INVALID_REQUEST, f"Unknown election type {request.election_type}"
        return ElectLeadersResponse(
            error_code=error if request.topic_partitions else Error.NONE,
            replica_election_results=[
                ReplicaElectionResult(
                    topic=topic.topic, partition_result=[PartitionResult(p, error, message) for p in topic.partitions]
                )
                for topic in request.topic_partitions or ()
            ],
        )
    if request.topic_partitions is None:
        results = [_all_of(broker, request.election_type, info, context.now_ms) for info in broker.metadata.topics()]
    else:
        results = [
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    _result(broker, request.election_type, topic.topic, index, context.now_ms)
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions
        ]
    return ElectLeadersResponse(error_code=Error.NONE, replica_election_results=results)


def _all_of(broker: Broker, election_type: int, info: TopicInfo, now_ms: int) -> ReplicaElectionResult:
    found = [_result(broker, election_type, info.name, index, now_ms) for index in range(info.partitions)]
    news = [result for result in found if result.error_code != Error.ELECTION_NOT_NEEDED]
    return ReplicaElectionResult(topic=info.name, partition_result=news)


def _result(broker: Broker, election_type: int, topic: str, index: int, now_ms: int) -> PartitionResult:
    info = broker.metadata.topic(topic)
    if info is None:
        return PartitionResult(index, Error.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic}")
    if not 0 <= index < info.partitions:
        return PartitionResult(index, Error.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {topic}-{index}")
    if broker.cluster is not None:
        broker.nodes.now_ms = now_ms
        error = broker.cluster.elect(TopicPartition(topic, index), unclean=election_type == UNCLEAN)
        if error is not Error.ELECTION_NOT_NEEDED:
            return PartitionResult(index, error, MESSAGES.get(error))
    return PartitionResult(index, Error.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
