"""CreateTopics (key 19), versions 2-7.

Version 5 adds partition count, replication factor and effective configuration to the answer, 7 the topic id. The checks
come in Kafka's order with Kafka's messages: whole request, name, collision, overrides, then partitions and replicas.
Sources: Kafka's ``ControllerApis.createTopics`` and ``ReplicationControlManager.createTopics``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from oncelog.broker.core.administration.config_changes import refusal_of_many
from oncelog.broker.core.apis.configs.describe_configs import layers_of
from oncelog.broker.core.limits.mutations import MAX_PARTITIONS_OF_A_REQUEST, may_change
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import TOPIC, allows, allows_cluster
from oncelog.broker.metadata.descriptions import topic_entries
from oncelog.broker.metadata.identity import ZERO_ID
from oncelog.broker.metadata.topic_rules import CLUSTER_METADATA_TOPIC, name_refusal, overrides_refusal
from oncelog.errors import Error, KafkaError, StorageError
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import TopicPorts

FIRST_THROTTLED = 6


TOO_MANY_PARTITIONS = "Excessively large number of partitions per request."


def handle(ports: TopicPorts, context: RequestContext, request: CreateTopicsRequest) -> Deferred[CreateTopicsResponse]:
    return ports.tasks.begin(_create_all(ports, context, request), context)


def _create_all(ports: TopicPorts, context: RequestContext, request: CreateTopicsRequest) -> Work[CreateTopicsResponse]:
    counts = Counter(topic.name for topic in request.topics)
    wanted = [topic for topic in request.topics if counts[topic.name] == 1 and topic.name != CLUSTER_METADATA_TOPIC]
    for_all = allows_cluster(ports, context, Operation.CREATE, log=False)
    refused = [
        topic for topic in wanted if not for_all and not allows(ports, context, Operation.CREATE, TOPIC, topic.name)
    ]
    not_allowed = {topic.name for topic in refused}
    wanted = [topic for topic in wanted if topic.name not in not_allowed]
    too_many = _too_many(wanted)
    if too_many is not None:
        results = [_refused(topic.name, Error.POLICY_VIOLATION, too_many) for topic in wanted]
    else:
        results = []
        for topic in wanted:
            results.append((yield from _create(ports, context, topic, validate_only=request.validate_only)))
            yield
    for name, count in counts.items():
        if count > 1:
            results.append(_refused(name, Error.INVALID_REQUEST, "Duplicate topic name."))
        elif name == CLUSTER_METADATA_TOPIC:
            prohibited = f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited."
            results.append(_refused(name, Error.INVALID_REQUEST, prohibited))
    results += [_refused(topic.name, Error.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.") for topic in refused]
    return CreateTopicsResponse(topics=results)


def _too_many(topics: list[CreatableTopic]) -> str | None:
    partitions = sum(len(topic.assignments) or topic.num_partitions for topic in topics)
    if partitions > MAX_PARTITIONS_OF_A_REQUEST:
        return TOO_MANY_PARTITIONS
    if partitions + len(topics) > MAX_PARTITIONS_OF_A_REQUEST:
        return "Unable to perform excessively large batch operation."
    return None


def _create(
    ports: TopicPorts, context: RequestContext, topic: CreatableTopic, *, validate_only: bool
) -> Work[CreatableTopicResult]:
    refused = refusal_of_many(len(topic.configs))
    if refused is not None:
        return _refused(topic.name, refused.error, refused.message)
    values = {config.name: config.value for config in topic.configs}
    refusal = refusal_of_topic(ports, topic, values)
    if refusal is not None:
        return _refused(topic.name, *refusal)
    overrides = {name: value for name, value in values.items() if value is not None}
    partitions = len(topic.assignments) or (
        ports.config.num_partitions if topic.num_partitions == -1 else topic.num_partitions
    )
    if not may_change(ports, context, partitions, FIRST_THROTTLED):
        return _refused(topic.name, Error.THROTTLING_QUOTA_EXCEEDED, None)
    topic_id = ZERO_ID
    if not validate_only:
        try:
            replicas = [
                assignment.broker_ids for assignment in sorted(topic.assignments, key=lambda a: a.partition_index)
            ]
            made = yield from ports.topics.creating(
                topic.name, partitions, overrides, ports.now_ms, replicas or topic.replication_factor
            )
            topic_id = made.topic_id
        except KafkaError as error:
            return _refused(topic.name, error.error, str(error))
        except StorageError as error:
            return _refused(topic.name, Error.KAFKA_STORAGE_ERROR, str(error))
    if not allows(ports, context, Operation.DESCRIBE_CONFIGS, TOPIC, topic.name, log=False):
        return CreatableTopicResult(
            name=topic.name,
            topic_id=topic_id,
            error_code=Error.NONE,
            error_message=None,
            topic_config_error_code=Error.TOPIC_AUTHORIZATION_FAILED,
            configs=[],
        )
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic_id,
        error_code=Error.NONE,
        error_message=None,
        num_partitions=partitions,
        replication_factor=_replication_factor(ports, topic) if ports.cluster is not None else 1,
        configs=_configs(ports, overrides),
    )


def refusal_of_topic(
    ports: TopicPorts, topic: CreatableTopic, values: Mapping[str, str | None]
) -> tuple[Error, str] | None:
    """Kafka's error and message if the topic cannot be created, else None."""
    message = name_refusal(topic.name)
    if message is not None:
        return Error.INVALID_TOPIC_EXCEPTION, message
    if ports.metadata.topic(topic.name) is not None:
        return Error.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists."
    other = ports.metadata.colliding_topic(topic.name)
    if other is not None:
        return Error.INVALID_TOPIC_EXCEPTION, f"Topic '{topic.name}' collides with existing topic: {other}"
    message = overrides_refusal(values, ports.metadata.topic_defaults)
    if message is not None:
        return Error.INVALID_CONFIG, message
    if topic.assignments:
        return _refusal_of_assignments(ports, topic)
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        return (
            Error.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        return Error.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
    replicas, there = _replication_factor(ports, topic), len(ports.nodes.ids)
    if replicas > there:
        return (
            Error.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replicas} time(s): The target replication factor of {replicas} "
            f"cannot be reached because only {there} broker(s) are registered or some brokers have all their log "
            f"directories cordoned.",
        )
    return None


def _replication_factor(ports: TopicPorts, topic: CreatableTopic) -> int:
    if topic.assignments:
        return len(topic.assignments[0].broker_ids)
    if topic.replication_factor == -1:
        return ports.config.default_replication_factor
    return topic.replication_factor


def _refusal_of_assignments(ports: TopicPorts, topic: CreatableTopic) -> tuple[Error, str] | None:
    set_too = "A manual partition assignment was specified, but"
    if topic.replication_factor != -1:
        return Error.INVALID_REQUEST, f"{set_too} replication factor was not set to -1."
    if topic.num_partitions != -1:
        return Error.INVALID_REQUEST, f"{set_too} numPartitions was not set to -1."
    seen = set()
    for assignment in topic.assignments:
        if assignment.partition_index in seen:
            return (
                Error.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {assignment.partition_index}",
            )
        seen.add(assignment.partition_index)
        message = refusal_of_replicas(ports.nodes.ids, assignment.broker_ids)
        if message is not None:
            return Error.INVALID_REPLICA_ASSIGNMENT, message
    if seen != set(range(len(seen))):
        return (
            Error.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return None


def refusal_of_replicas(node_ids: Sequence[int], broker_ids: list[int]) -> str | None:
    """Kafka's message if a partition cannot have these replicas, else None."""
    if not broker_ids:
        return "The manual partition assignment includes an empty replica list."
    for position, broker_id in enumerate(sorted(broker_ids)):
        if broker_id not in node_ids:
            return f"The manual partition assignment includes broker {broker_id}, but no such broker is registered."
        if position and broker_id == sorted(broker_ids)[position - 1]:
            return f"The manual partition assignment includes the broker {broker_id} more than once."
    return None


def _configs(ports: TopicPorts, overrides: Mapping[str, str]) -> list[CreatableTopicConfigs]:
    """The topic's effective configuration; values set in the request appear as they were written there."""
    return [
        CreatableTopicConfigs(
            name=entry.name,
            value=overrides.get(entry.name, entry.value),
            read_only=False,
            config_source=entry.source,
            is_sensitive=False,
        )
        for entry in topic_entries(layers_of(ports), overrides)
    ]


def _refused(name: str, error: Error, message: str | None) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error, error_message=message, configs=[])
