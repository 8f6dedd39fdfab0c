"""ElectLeaders (key 43), versions 0-2: elect the preferred replica, or any replica (unclean) if there is no leader.

With one broker every partition has its leader. Null topics mean all partitions; then only elections that failed or took
place are reported. Source: Kafka's ``ReplicationControlManager.electLeaders``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.errors import Error
from oncelog.protocol.generated.elect_leaders_request import ElectLeadersRequest
from oncelog.protocol.generated.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from oncelog.runtime.deferred import Deferred
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import ClusterPorts


PREFERRED, UNCLEAN = 0, 1
MESSAGES = {
    Error.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    Error.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
}


def handle(
    ports: ClusterPorts, context: RequestContext, request: ElectLeadersRequest
) -> ElectLeadersResponse | Deferred[ElectLeadersResponse]:
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
    return ports.tasks.begin(_elect_each(ports, context, request), context)


def _elect_each(
    ports: ClusterPorts, context: RequestContext, request: ElectLeadersRequest
) -> Work[ElectLeadersResponse]:
    asked = request.topic_partitions
    topics: Sequence[tuple[str, Sequence[int]]] = (
        [(info.name, range(info.partitions)) for info in ports.metadata.topics()]
        if asked is None
        else [(topic.topic, topic.partitions) for topic in asked]
    )
    results: list[ReplicaElectionResult] = []
    for name, indexes in topics:
        found = [_result(ports, request.election_type, name, index, context.now_ms) for index in indexes]
        results.append(ReplicaElectionResult(topic=name, partition_result=_news(found) if asked is None else found))
        yield
    return ElectLeadersResponse(error_code=Error.NONE, replica_election_results=results)


def _news(results: list[PartitionResult]) -> list[PartitionResult]:
    return [result for result in results if result.error_code != Error.ELECTION_NOT_NEEDED]


def _result(ports: ClusterPorts, election_type: int, topic: str, index: int, now_ms: int) -> PartitionResult:
    info = ports.metadata.topic(topic)
    if info is None:
        return PartitionResult(index, Error.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic}")
    if not 0 <= index < info.partitions:
        return PartitionResult(index, Error.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {topic}-{index}")
    if ports.cluster is not None:
        ports.nodes.now_ms = now_ms
        error = ports.cluster.elect(TopicPartition(topic, index), unclean=election_type == UNCLEAN)
        if error is not Error.ELECTION_NOT_NEEDED:
            return PartitionResult(index, error, MESSAGES.get(error))
    return PartitionResult(index, Error.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
