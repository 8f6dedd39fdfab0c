"""DeleteTopics (key 20), versions 1-6.

Version 5 adds messages; 6 accepts names or topic ids, older versions only names. The topic no longer exists when the
answer is sent; its files are removed later. Source: Kafka's ``ControllerApis.deleteTopics``.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oncelog.broker.core.limits.mutations import may_change
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import TOPIC, allows, allows_cluster
from oncelog.broker.core.security.refusals import MESSAGES
from oncelog.broker.metadata.identity import ZERO_ID
from oncelog.errors import Error, KafkaError, StorageError
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.generated.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import TopicPorts

FIRST_THROTTLED = 5


UNKNOWN_NAME = MESSAGES[Error.UNKNOWN_TOPIC_OR_PARTITION]
UNAUTHORIZED = MESSAGES[Error.TOPIC_AUTHORIZATION_FAILED]
UNKNOWN_ID = "This server does not host this topic ID."


def handle(
    ports: TopicPorts, context: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse | Deferred[DeleteTopicsResponse]:
    asked = [DeleteTopicState(name=name) for name in request.topic_names] + list(request.topics)
    if not ports.config.delete_topic_enable:
        error = Error.INVALID_REQUEST if context.api_version < 3 else Error.TOPIC_DELETION_DISABLED
        return DeleteTopicsResponse(
            responses=[_result(topic.name, topic.topic_id, error, "Topic deletion is disabled.") for topic in asked]
        )
    results: list[DeletableTopicResult] = []
    names = Counter[str]()
    ids = Counter[bytes]()
    for topic in asked:
        if topic.name is not None and topic.topic_id != ZERO_ID:
            both = "You may not specify both topic name and topic id."
            results.append(_result(topic.name, topic.topic_id, Error.INVALID_REQUEST, both))
        elif topic.name is not None:
            names[topic.name] += 1
        elif topic.topic_id != ZERO_ID:
            ids[topic.topic_id] += 1
        else:
            neither = "Neither topic name nor id were specified."
            results.append(_result(None, ZERO_ID, Error.INVALID_REQUEST, neither))
    deleted = ports.tasks.begin(_delete_all(ports, context, names, ids), context)
    return deleted.map(lambda more: DeleteTopicsResponse(responses=results + more))


def _delete_all(
    ports: TopicPorts, context: RequestContext, names: Counter[str], ids: Counter[bytes]
) -> Work[list[DeletableTopicResult]]:
    may_delete_all = allows_cluster(ports, context, Operation.DELETE, log=False)

    def may(operation: Operation, name: str) -> bool:
        return may_delete_all or allows(ports, context, operation, TOPIC, name)

    results: list[DeletableTopicResult] = []
    found: dict[bytes, str] = {}
    for topic_id, count in ids.items():
        info = ports.metadata.topic_by_id(topic_id)
        if count > 1:
            results.append(_result(None, topic_id, Error.INVALID_REQUEST, "Duplicate topic id."))
        elif info is None:
            results.append(_result(None, topic_id, Error.UNKNOWN_TOPIC_ID, UNKNOWN_ID))
        elif not may(Operation.DELETE, info.name):
            shown = info.name if may(Operation.DESCRIBE, info.name) else None
            results.append(_result(shown, topic_id, Error.TOPIC_AUTHORIZATION_FAILED, UNAUTHORIZED))
        else:
            found[topic_id] = info.name
    for name, count in names.items():
        info = ports.metadata.topic(name)
        if count > 1:
            results.append(_result(name, ZERO_ID, Error.INVALID_REQUEST, "Duplicate topic name."))
        elif not may(Operation.DESCRIBE, name):
            results.append(_result(name, ZERO_ID, Error.TOPIC_AUTHORIZATION_FAILED, UNAUTHORIZED))
        elif info is None:
            results.append(_result(name, ZERO_ID, Error.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_NAME))
        elif not may(Operation.DELETE, name):
            results.append(_result(name, ZERO_ID, Error.TOPIC_AUTHORIZATION_FAILED, UNAUTHORIZED))
        elif ids[info.topic_id]:
            found.pop(info.topic_id, None)
            twice = "The provided topic name maps to an ID that was already supplied."
            results.append(_result(name, info.topic_id, Error.INVALID_REQUEST, twice))
        else:
            found[info.topic_id] = name
    with ports.topics.deletion(found.values()):
        for topic_id, name in found.items():
            yield
            results.append((yield from _delete(ports, context, topic_id, name, by_id=ids[topic_id] > 0)))
    return results


def _delete(
    ports: TopicPorts, context: RequestContext, topic_id: bytes, name: str, *, by_id: bool
) -> Work[DeletableTopicResult]:
    info = ports.metadata.topic_by_id(topic_id)
    if info is None:  # another request has deleted the topic, and may have created a new one of its name
        if by_id:
            return _result(name, topic_id, Error.UNKNOWN_TOPIC_ID, UNKNOWN_ID)
        return _result(name, topic_id, Error.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_NAME)
    if not may_change(ports, context, info.partitions, FIRST_THROTTLED):
        return _result(name, topic_id, Error.THROTTLING_QUOTA_EXCEEDED, None)
    try:
        yield from ports.topics.deleting(name, ports.now_ms)
    except KafkaError as error:  # another request has deleted the topic
        return _result(name, topic_id, error.error, UNKNOWN_NAME)
    except StorageError as error:
        return _result(name, topic_id, Error.KAFKA_STORAGE_ERROR, str(error))
    return _result(name, topic_id, Error.NONE, None)


def _result(name: str | None, topic_id: bytes, error: Error, message: str | None) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=error, error_message=message)
