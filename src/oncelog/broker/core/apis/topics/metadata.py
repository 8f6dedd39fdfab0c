"""Metadata (key 3), versions 0-13: the broker's address, topics, partitions and their leaders.

In version 0 an empty list means all topics, as null does from version 1 on. From 4 on the client states whether a
missing topic may be created; 7 adds leader epochs, 8 authorized operations (the cluster's only up to 10), 10 topic ids
in answers, 12 topic ids in requests, 13 an error for the whole answer. A topic created here is returned at once, while
a Kafka cluster returns UNKNOWN_TOPIC_OR_PARTITION until its controller has created it. Source: Kafka's
``KafkaApis.handleTopicMetadataRequest``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from oncelog.broker.core.cluster.node import NO_LEADER
from oncelog.broker.core.limits.mutations import MAX_PARTITIONS_OF_A_REQUEST, may_change
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import CLUSTER, TOPIC, allows, allows_cluster, authorized_operations
from oncelog.broker.metadata.identity import ZERO_ID
from oncelog.broker.metadata.store import TopicInfo
from oncelog.broker.metadata.topic_rules import name_refusal
from oncelog.errors import Error
from oncelog.protocol.acls import CLUSTER_NAME, Operation
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from oncelog.runtime.deferred import Deferred
from oncelog.settings.kafka_properties import MAX_SHORT
from oncelog.types import INTERNAL_TOPICS, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import TopicPorts
    from oncelog.broker.core.security.access import AccessPorts

NEVER_THROTTLED = MAX_SHORT
"""No version of Metadata is refused beyond the quota: a topic beyond the quota is created, and the client is
throttled.
"""


FIRST_VERSION_WITH_IDS_ASKED = 12
PARTITIONS_IN_A_CHUNK = 25
TOPICS_IN_A_CHUNK = 10
"""The number of topics handled in one chunk, whether the caller may see them or not: each may have to be created."""


def handle(
    ports: TopicPorts, context: RequestContext, request: MetadataRequest
) -> MetadataResponse | Deferred[MetadataResponse]:
    version = context.api_version
    if version < FIRST_VERSION_WITH_IDS_ASKED and any(
        topic.name is None or topic.topic_id != ZERO_ID for topic in request.topics or ()
    ):
        return _refused(request, Error.INVALID_REQUEST)
    if any(topic.name is None and topic.topic_id == ZERO_ID for topic in request.topics or ()):
        return _refused(request, Error.INVALID_REQUEST)
    topics = ports.tasks.begin(_topics(ports, context, request), context)
    return topics.map(lambda found: _respond(ports, context, request, found))


def _respond(
    ports: TopicPorts, context: RequestContext, request: MetadataRequest, topics: list[MetadataResponseTopic]
) -> MetadataResponse:
    nodes, controller_id = ports.nodes.seen_by(context)
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
            for node in nodes
        ],
        cluster_id=ports.metadata.cluster_id,
        controller_id=controller_id,
        topics=topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = cluster_operations(ports, context)
    return response


def cluster_operations(ports: AccessPorts, context: RequestContext) -> int:
    """The operations that the caller may perform on the cluster; none for a caller that may not describe the
    cluster."""
    if not allows_cluster(ports, context, Operation.DESCRIBE):
        return 0
    return authorized_operations(ports, context, CLUSTER, CLUSTER_NAME)


def _topics(ports: TopicPorts, context: RequestContext, request: MetadataRequest) -> Work[list[MetadataResponseTopic]]:
    found: list[MetadataResponseTopic] = []
    looked_at = partitions = 0
    may_create = _may_create(ports, request)
    for describing in _each_topic(ports, context, request, may_create=may_create):
        topic = yield from describing
        looked_at += 1
        if topic is not None:
            found.append(topic)
            partitions += len(topic.partitions)
            if (
                request.include_topic_authorized_operations
                and topic.name is not None
                and topic.error_code != Error.TOPIC_AUTHORIZATION_FAILED
            ):
                topic.topic_authorized_operations = authorized_operations(ports, context, TOPIC, topic.name)
        if looked_at >= TOPICS_IN_A_CHUNK or partitions >= PARTITIONS_IN_A_CHUNK:
            yield from ports.answer_memory.grow(context, looked_at + partitions)
            looked_at = partitions = 0
            yield
    return found


def _may_create(ports: TopicPorts, request: MetadataRequest) -> bool:
    """Whether the missing topics of the request may be created: all or none, as in CreateTopics, with the same limit on
    partitions."""
    topics = request.topics
    if not topics or not request.allow_auto_topic_creation or not ports.config.auto_create_topics_enable:
        return False
    records_of_each = 1 + ports.config.num_partitions
    if len(topics) * records_of_each <= MAX_PARTITIONS_OF_A_REQUEST:
        return True
    missing = sum([topic.name is not None and ports.metadata.topic(topic.name) is None for topic in topics])
    return missing * records_of_each <= MAX_PARTITIONS_OF_A_REQUEST


def _each_topic(
    ports: TopicPorts, context: RequestContext, request: MetadataRequest, *, may_create: bool
) -> Iterator[Work[MetadataResponseTopic | None]]:
    if request.topics is None or (not request.topics and context.api_version == 0):
        for info in ports.metadata.topics():
            yield _if_visible(ports, context, info)
        return
    ids = dict.fromkeys(topic.topic_id for topic in request.topics if topic.topic_id != ZERO_ID)
    if ids:
        # If any topic is requested by id, names are ignored.
        yield from (_by_id(ports, context, topic_id) for topic_id in ids)
        return
    names = dict.fromkeys(topic.name for topic in request.topics if topic.name is not None)
    for name in names:
        yield _by_name(ports, context, name, may_create=may_create)


def _if_visible(ports: TopicPorts, context: RequestContext, info: TopicInfo) -> Work[MetadataResponseTopic | None]:
    # the topic may have been deleted since the list was made
    is_there = ports.metadata.topic_by_id(info.topic_id) is not None
    if not is_there or not allows(ports, context, Operation.DESCRIBE, TOPIC, info.name, log=False):
        return None
    return (yield from _described(ports, info))


def _by_id(ports: TopicPorts, context: RequestContext, topic_id: bytes) -> Work[MetadataResponseTopic]:
    info = ports.metadata.topic_by_id(topic_id)
    if info is None:
        return MetadataResponseTopic(error_code=Error.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
    if not allows(ports, context, Operation.DESCRIBE, TOPIC, info.name):
        return MetadataResponseTopic(error_code=Error.TOPIC_AUTHORIZATION_FAILED, name=None, topic_id=topic_id)
    return (yield from _described(ports, info))


def _by_name(ports: TopicPorts, context: RequestContext, name: str, *, may_create: bool) -> Work[MetadataResponseTopic]:
    if not allows(ports, context, Operation.DESCRIBE, TOPIC, name):
        return MetadataResponseTopic(error_code=Error.TOPIC_AUTHORIZATION_FAILED, name=name)
    info = ports.metadata.topic(name)
    if info is not None:
        return (yield from _described(ports, info))
    error = Error.UNKNOWN_TOPIC_OR_PARTITION
    if may_create and not (
        allows_cluster(ports, context, Operation.CREATE, log=False)
        or allows(ports, context, Operation.CREATE, TOPIC, name)
    ):
        error = Error.TOPIC_AUTHORIZATION_FAILED
        return MetadataResponseTopic(error_code=error, name=name, is_internal=name in INTERNAL_TOPICS)
    if name_refusal(name) is not None:
        error = Error.INVALID_TOPIC_EXCEPTION
    elif may_create and ports.metadata.colliding_topic(name) is None:
        may_change(ports, context, ports.config.num_partitions, NEVER_THROTTLED)
        made = yield from ports.topics.auto_creating(name, ports.now_ms)
        if isinstance(made, TopicInfo):
            return (yield from _described(ports, made))
        error = made
    return MetadataResponseTopic(error_code=error, name=name, is_internal=name in INTERNAL_TOPICS)


class LeaderState(NamedTuple):
    """State of a partition's replicas as reported to clients; after a failure of the disk all of them are offline."""

    error: Error
    leader_id: int
    leader_epoch: int
    replicas: list[int]
    in_sync: list[int]
    offline_replicas: list[int]

    @classmethod
    def of(cls, ports: TopicPorts, topic_partition: TopicPartition) -> LeaderState:
        partition, node_id = ports.partition(topic_partition), ports.node.node_id
        epoch = partition.leader_epoch if partition is not None else -1
        if partition is not None and partition.replicas is not None and ports.cluster is not None:
            replicas = partition.replicas
            assigned, offline = list(replicas.assigned), ports.cluster.offline(replicas)
            if partition.failed or replicas.leader == NO_LEADER:
                offline = assigned if partition.failed else offline
                return cls(Error.LEADER_NOT_AVAILABLE, NO_LEADER, epoch, assigned, list(replicas.in_sync), offline)
            return cls(Error.NONE, replicas.leader, epoch, assigned, list(replicas.in_sync), offline)
        if partition is None or partition.failed:
            return cls(Error.LEADER_NOT_AVAILABLE, NO_LEADER, epoch, [node_id], [node_id], [node_id])
        return cls(Error.NONE, node_id, epoch, [node_id], [node_id], [])


def _described(ports: TopicPorts, info: TopicInfo) -> Work[MetadataResponseTopic]:
    partitions: list[MetadataResponsePartition] = []
    for index in range(info.partitions):
        if index % PARTITIONS_IN_A_CHUNK == PARTITIONS_IN_A_CHUNK - 1:
            yield
        state = LeaderState.of(ports, TopicPartition(info.name, index))
        partitions.append(
            MetadataResponsePartition(
                error_code=state.error,
                partition_index=index,
                leader_id=state.leader_id,
                leader_epoch=state.leader_epoch,
                replica_nodes=state.replicas,
                isr_nodes=state.in_sync,
                offline_replicas=state.offline_replicas,
            )
        )
    return MetadataResponseTopic(
        error_code=Error.NONE,
        name=info.name,
        topic_id=info.topic_id,
        is_internal=info.internal,
        partitions=partitions,
    )


def _refused(request: MetadataRequest, error: Error) -> MetadataResponse:
    """Kafka's answer to a request that it cannot handle: the same error for the answer and for each topic, and nothing
    else."""
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(error_code=error, name=topic.name or "", topic_id=topic.topic_id)
            for topic in request.topics or ()
        ],
        error_code=error,
    )
