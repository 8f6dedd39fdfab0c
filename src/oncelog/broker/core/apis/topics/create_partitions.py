"""CreatePartitions (key 37), versions 0-3: raise the partition count of topics.

Source: Kafka's ``ControllerApis.createPartitions`` and ``ReplicationControlManager.createPartitions``.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oncelog.broker.core.apis.topics.create_topics import refusal_of_replicas
from oncelog.broker.core.limits.mutations import MAX_PARTITIONS_OF_A_REQUEST, may_change
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.errors import Error, StorageError
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from oncelog.protocol.generated.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import TopicPorts

FIRST_THROTTLED = 3


def handle(
    ports: TopicPorts, context: RequestContext, request: CreatePartitionsRequest
) -> Deferred[CreatePartitionsResponse]:
    return ports.tasks.begin(_create_all(ports, context, request), context)


def _create_all(
    ports: TopicPorts, context: RequestContext, request: CreatePartitionsRequest
) -> Work[CreatePartitionsResponse]:
    counts = Counter(topic.name for topic in request.topics)
    results = [
        CreatePartitionsTopicResult(name=name, error_code=Error.INVALID_REQUEST, error_message="Duplicate topic name.")
        for name, count in counts.items()
        if count > 1
    ]
    for topic in request.topics:
        if counts[topic.name] > 1:
            continue
        error, message = _refusal(ports, context, topic) or (Error.NONE, None)
        info = ports.metadata.topic(topic.name)
        if error is Error.NONE and info is not None:
            added = topic.count - info.partitions
            if not may_change(ports, context, added, FIRST_THROTTLED):
                error = Error.THROTTLING_QUOTA_EXCEEDED
        if error is Error.NONE and not request.validate_only:
            try:
                replicas = [assignment.broker_ids for assignment in topic.assignments or ()]
                yield from ports.topics.adding_partitions(topic.name, topic.count, ports.now_ms, replicas or -1)
            except StorageError as failure:
                error, message = Error.KAFKA_STORAGE_ERROR, str(failure)
        results.append(CreatePartitionsTopicResult(name=topic.name, error_code=error, error_message=message))
    return CreatePartitionsResponse(results=results)


def _refusal(
    ports: TopicPorts, context: RequestContext, topic: CreatePartitionsTopic
) -> tuple[Error, str | None] | None:
    if not allows(ports, context, Operation.ALTER, TOPIC, topic.name):
        return Error.TOPIC_AUTHORIZATION_FAILED, None
    info = ports.metadata.topic(topic.name)
    if info is None:
        return Error.UNKNOWN_TOPIC_OR_PARTITION, None
    if topic.count == info.partitions:
        return Error.INVALID_PARTITIONS, f"Topic already has {info.partitions} partition(s)."
    if topic.count < info.partitions:
        return (
            Error.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {info.partitions} partition(s); {topic.count} would not be an "
            f"increase.",
        )
    added = topic.count - info.partitions
    if added > MAX_PARTITIONS_OF_A_REQUEST:
        return Error.POLICY_VIOLATION, "Excessively large number of additional partitions per request."
    if topic.assignments is None:
        return None
    if len(topic.assignments) != added:
        return (
            Error.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {added} additional partition(s), but only {len(topic.assignments)} assignment(s) were "
            f"specified.",
        )
    for assignment in topic.assignments:
        message = refusal_of_replicas(ports.nodes.ids, assignment.broker_ids)
        if message is not None:
            return Error.INVALID_REPLICA_ASSIGNMENT, message
    return None
