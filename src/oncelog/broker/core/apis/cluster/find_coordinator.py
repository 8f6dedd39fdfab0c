"""FindCoordinator (key 10), versions 0-6: which broker coordinates a group (type 0) or a transactional id (type 1).

Version 1 adds the type, 4 several keys, each with an answer, 5 TRANSACTION_ABORTABLE, 6 share partitions (type 2; the
key is ``group:topic id:partition``). The internal topic is created when its coordinator is first looked up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import GROUP, TRANSACTIONAL_ID, allows, allows_cluster
from oncelog.broker.core.security.refusals import MESSAGES
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.find_coordinator_response import Coordinator, FindCoordinatorResponse
from oncelog.runtime.deferred import Deferred
from oncelog.types import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import ClusterPorts

FIRST_BATCHED = 4
FIRST_WITH_SHARE = 6
SHARE_KEY = re.compile(r".+:[A-Za-z0-9_-]{22}:\d+", re.DOTALL)
SHARE_TYPE = 2
TOPIC_OF_TYPE = {0: CONSUMER_OFFSETS_TOPIC, 1: TRANSACTION_STATE_TOPIC, SHARE_TYPE: SHARE_GROUP_STATE_TOPIC}
RIGHTS = {
    0: (GROUP, Error.GROUP_AUTHORIZATION_FAILED),
    1: (TRANSACTIONAL_ID, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
}
"""By coordinator type: the resource type on which the caller needs the DESCRIBE operation, and the error without it."""


def handle(
    ports: ClusterPorts, context: RequestContext, request: FindCoordinatorRequest
) -> Deferred[FindCoordinatorResponse]:
    keys = request.coordinator_keys if context.api_version >= FIRST_BATCHED else [request.key]
    finding = ports.tasks.begin(_find_all(ports, context, request.key_type, keys), context)
    if context.api_version >= FIRST_BATCHED:
        return finding.map(lambda coordinators: FindCoordinatorResponse(coordinators=coordinators))
    return finding.map(lambda coordinators: _alone(coordinators[0]))


def _alone(found: Coordinator) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        error_code=found.error_code,
        # For a single key without an error, Kafka's answer has the message "NONE", which old clients show; answers for
        # several keys have no message.
        error_message=found.error_message or "NONE",
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find_all(ports: ClusterPorts, context: RequestContext, key_type: int, keys: list[str]) -> Work[list[Coordinator]]:
    topic = TOPIC_OF_TYPE.get(key_type)
    if topic is None:
        return [_refused(key, Error.INVALID_REQUEST, MESSAGES[Error.INVALID_REQUEST]) for key in keys]
    is_checked = ports.authorizer is not None or key_type == SHARE_TYPE
    refusals = [_refusal(ports, context, key_type, key) if is_checked else None for key in keys]
    if not all(refusals):
        yield from ports.topics.ensuring_internal(topic, context.now_ms)
    existing = topic if ports.metadata.topic(topic) is not None else None
    silent = Error.INVALID_REQUEST if context.api_version >= FIRST_BATCHED else None  # as in Kafka
    return [
        _found(ports, context, existing, key)
        if refusal is None
        else _refused(key, refusal, "" if refusal is silent else MESSAGES[refusal])
        for key, refusal in zip(keys, refusals, strict=True)
    ]


def _found(ports: ClusterPorts, context: RequestContext, topic: str | None, key: str) -> Coordinator:
    """The coordinator for a key.

    :param topic: the internal topic of the key's type; None: it could not be created.
    """
    node = ports.nodes.coordinator_of(context, topic, key) if topic is not None else None
    if node is None:
        refused = Error.COORDINATOR_NOT_AVAILABLE
        return _refused(key, refused, "The coordinator is not available.")
    # positional arguments are faster, and an answer may have 100,000 keys
    return Coordinator(key, node.node_id, node.host, node.port, Error.NONE, "")


def _refusal(ports: ClusterPorts, context: RequestContext, key_type: int, key: str) -> Error | None:
    """The error if the caller may not look up this key, else None; only brokers may look up coordinators of share
    partitions."""
    if key_type == SHARE_TYPE:
        if context.api_version < FIRST_WITH_SHARE or not SHARE_KEY.fullmatch(key):
            return Error.INVALID_REQUEST
        is_allowed = allows_cluster(ports, context, Operation.CLUSTER_ACTION)
        return None if is_allowed else Error.CLUSTER_AUTHORIZATION_FAILED
    kind, refused = RIGHTS[key_type]
    return None if allows(ports, context, Operation.DESCRIBE, kind, key) else refused


def _refused(key: str, error: Error, message: str) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=message)
