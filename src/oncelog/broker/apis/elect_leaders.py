"""ElectLeaders (key 43), versions 0-2: with one broker every partition has its leader, so no election is needed.

Null topics are all partitions; of those, only elections that failed or happened would be told. Source: Kafka's
``ReplicationControlManager.electLeaders``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.elect_leaders_request import ElectLeadersRequest
from oncelog.protocol.generated.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

API = ApiKey.ELECT_LEADERS
VERSIONS = (0, 2)

PREFERRED, UNCLEAN = 0, 1


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
        results = [ReplicaElectionResult(topic=info.name) for info in broker.metadata.topics()]
    else:
        results = [
            ReplicaElectionResult(
                topic=topic.topic, partition_result=[_result(broker, topic.topic, index) for index in topic.partitions]
            )
            for topic in request.topic_partitions
        ]
    return ElectLeadersResponse(error_code=Error.NONE, replica_election_results=results)


def _result(broker: Broker, topic: str, index: int) -> PartitionResult:
    info = broker.metadata.topic(topic)
    if info is None:
        return PartitionResult(index, Error.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic}")
    if not 0 <= index < info.partitions:
        return PartitionResult(index, Error.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {topic}-{index}")
    return PartitionResult(index, Error.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
