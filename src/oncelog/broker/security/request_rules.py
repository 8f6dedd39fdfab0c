"""What a request as a whole needs: one row an API, asked before its handler runs, where there is an authorizer.

Called by ``Broker.receive``. What depends on single topics, groups or ids of a request is asked by its handler.
Sources: Kafka's ``KafkaApis``, ``ControllerApis``, and ``getErrorResponse`` of each request for the shape of a refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from oncelog.acls import CLUSTER_NAME, Operation
from oncelog.broker.security.access import (
    CLUSTER,
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    allows,
    allows_cluster,
    allows_some,
)
from oncelog.broker.security.refusals import refusal
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.wire import Message

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker
    from oncelog.broker.context import RequestContext


class Need(NamedTuple):
    """One thing that the caller must be allowed, and the error of whoever is not."""

    operation: Operation
    kind: int
    name: Callable[[Any], str]
    error: Error


def _group(operation: Operation = Operation.READ) -> Need:
    return Need(operation, GROUP, lambda request: request.group_id, Error.GROUP_AUTHORIZATION_FAILED)


def _cluster(operation: Operation) -> Need:
    return Need(operation, CLUSTER, lambda _: CLUSTER_NAME, Error.CLUSTER_AUTHORIZATION_FAILED)


_TRANSACTIONAL_ID = Need(
    Operation.WRITE,
    TRANSACTIONAL_ID,
    lambda request: request.transactional_id,
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)

NEEDS: dict[int, tuple[Need, ...]] = {
    ApiKey.OFFSET_COMMIT: (_group(),),
    ApiKey.JOIN_GROUP: (_group(),),
    ApiKey.SYNC_GROUP: (_group(),),
    ApiKey.HEARTBEAT: (_group(),),
    ApiKey.LEAVE_GROUP: (_group(),),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (_group(),),
    ApiKey.OFFSET_DELETE: (_group(Operation.DELETE),),
    ApiKey.END_TXN: (_TRANSACTIONAL_ID,),
    ApiKey.ADD_OFFSETS_TO_TXN: (_TRANSACTIONAL_ID, _group()),
    ApiKey.TXN_OFFSET_COMMIT: (_TRANSACTIONAL_ID, _group()),
    ApiKey.DESCRIBE_ACLS: (_cluster(Operation.DESCRIBE),),
    ApiKey.CREATE_ACLS: (_cluster(Operation.ALTER),),
    ApiKey.DELETE_ACLS: (_cluster(Operation.ALTER),),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (_cluster(Operation.ALTER),),
    ApiKey.DESCRIBE_LOG_DIRS: (_cluster(Operation.DESCRIBE),),
    ApiKey.ELECT_LEADERS: (_cluster(Operation.ALTER),),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (_cluster(Operation.ALTER),),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (_cluster(Operation.DESCRIBE),),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (_cluster(Operation.DESCRIBE_CONFIGS),),
    ApiKey.ALTER_CLIENT_QUOTAS: (_cluster(Operation.ALTER_CONFIGS),),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (_cluster(Operation.DESCRIBE),),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (_cluster(Operation.ALTER),),
    ApiKey.UPDATE_FEATURES: (_cluster(Operation.ALTER),),
    ApiKey.DESCRIBE_QUORUM: (_cluster(Operation.DESCRIBE),),
    ApiKey.LIST_CONFIG_RESOURCES: (_cluster(Operation.DESCRIBE_CONFIGS),),
}
"""API to what it needs, in the order in which it is asked."""

FIRST_ADD_PARTITIONS_FROM_BROKERS = 4


def refused_request(broker: Broker, context: RequestContext, request: Any) -> Message | None:
    """The answer to a caller who may not make this request at all; None lets it go on to its handler."""
    for need in NEEDS.get(context.api_key, ()):
        if not allows(broker, context, need.operation, need.kind, need.name(request)):
            return refusal(context, request, need.error)
    error = _SPECIAL.get(context.api_key, _nothing)(broker, context, request)
    return refusal(context, request, error) if error is not Error.NONE else None


def _nothing(broker: Broker, context: RequestContext, request: Any) -> Error:
    return Error.NONE


def _init_producer_id(broker: Broker, context: RequestContext, request: Any) -> Error:
    if request.transactional_id is not None:
        if allows(broker, context, Operation.WRITE, TRANSACTIONAL_ID, request.transactional_id):
            return Error.NONE
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    # KIP-679: who may write to any topic may do so idempotently.
    if allows_cluster(broker, context, Operation.IDEMPOTENT_WRITE, log=False) or allows_some(
        broker, context, Operation.WRITE, TOPIC
    ):
        return Error.NONE
    return Error.CLUSTER_AUTHORIZATION_FAILED


def _add_partitions(broker: Broker, context: RequestContext, request: Any) -> Error:
    if context.api_version >= FIRST_ADD_PARTITIONS_FROM_BROKERS:
        allowed = allows_cluster(broker, context, Operation.CLUSTER_ACTION)
        return Error.NONE if allowed else Error.CLUSTER_AUTHORIZATION_FAILED
    name = request.v3_and_below_transactional_id
    if allows(broker, context, Operation.WRITE, TRANSACTIONAL_ID, name):
        return Error.NONE
    return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def _write_markers(broker: Broker, context: RequestContext, request: Any) -> Error:
    if allows_cluster(broker, context, Operation.ALTER, log=False) or allows_cluster(
        broker, context, Operation.CLUSTER_ACTION
    ):
        return Error.NONE
    return Error.CLUSTER_AUTHORIZATION_FAILED


_SPECIAL: dict[int, Callable[[Broker, RequestContext, Any], Error]] = {
    ApiKey.INIT_PRODUCER_ID: _init_producer_id,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions,
    ApiKey.WRITE_TXN_MARKERS: _write_markers,
}
