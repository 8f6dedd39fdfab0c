"""Permissions needed to make a request at all, checked before its handler runs if there is an authorizer.

``core.registry`` says which API needs which permissions; ``Broker`` checks them with :func:`refused_request`. Sources:
Kafka's ``KafkaApis``, ``ControllerApis``, and ``getErrorResponse`` of each request for the shape of a refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from oncelog.broker.core.security.access import (
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    AccessPorts,
    allows,
    allows_cluster,
    allows_some,
)
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.wire import Message

if TYPE_CHECKING:
    from oncelog.broker.core.requests.context import RequestContext

FIRST_ADD_PARTITIONS_FROM_BROKERS = 4
Right = Callable[[AccessPorts, "RequestContext", Any], Error]
"""Checks whether the caller may make the request: NONE, or the error if it may not."""


def group(operation: Operation) -> Right:
    """A check that requires ``operation`` on the group that the request names."""

    def right(ports: AccessPorts, context: RequestContext, request: Any) -> Error:
        allowed = allows(ports, context, operation, GROUP, request.group_id)
        return Error.NONE if allowed else Error.GROUP_AUTHORIZATION_FAILED

    return right


def cluster(operation: Operation) -> Right:
    """A check that requires ``operation`` on the cluster."""

    def right(ports: AccessPorts, context: RequestContext, request: Any) -> Error:
        allowed = allows_cluster(ports, context, operation)
        return Error.NONE if allowed else Error.CLUSTER_AUTHORIZATION_FAILED

    return right


def transactional_id(ports: AccessPorts, context: RequestContext, request: Any) -> Error:
    """A check that requires WRITE on the transactional id that the request names."""
    return _may_write_as(ports, context, request.transactional_id)


def _may_write_as(ports: AccessPorts, context: RequestContext, name: str) -> Error:
    return _may_act_as(ports, context, Operation.WRITE, name)


def _may_act_as(ports: AccessPorts, context: RequestContext, operation: Operation, name: str) -> Error:
    allowed = allows(ports, context, operation, TRANSACTIONAL_ID, name)
    return Error.NONE if allowed else Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def idempotent_write(ports: AccessPorts, context: RequestContext, request: Any) -> Error:
    """The check for InitProducerId: a caller that may write to some topic may also write idempotently (KIP-679);
    two-phase commit needs a permission of its own, because its transactions may block ``read_committed`` readers for
    any length of time (KIP-939)."""
    if request.transactional_id is not None:
        refused = _may_write_as(ports, context, request.transactional_id)
        if refused is Error.NONE and request.enable_2pc:
            return _may_act_as(ports, context, Operation.TWO_PHASE_COMMIT, request.transactional_id)
        return refused
    if allows_cluster(ports, context, Operation.IDEMPOTENT_WRITE, log=False) or allows_some(
        ports, context, Operation.WRITE, TOPIC
    ):
        return Error.NONE
    return Error.CLUSTER_AUTHORIZATION_FAILED


def transactional_id_or_broker(ports: AccessPorts, context: RequestContext, request: Any) -> Error:
    """The check for AddPartitionsToTxn: WRITE on the transactional id; from version 4 on, which only brokers send,
    CLUSTER_ACTION."""
    if context.api_version >= FIRST_ADD_PARTITIONS_FROM_BROKERS:
        allowed = allows_cluster(ports, context, Operation.CLUSTER_ACTION)
        return Error.NONE if allowed else Error.CLUSTER_AUTHORIZATION_FAILED
    return _may_write_as(ports, context, request.v3_and_below_transactional_id)


def cluster_action_or_alter(ports: AccessPorts, context: RequestContext, request: Any) -> Error:
    """The check for WriteTxnMarkers, which is permitted to brokers and to callers that may alter the cluster
    (KIP-664)."""
    if allows_cluster(ports, context, Operation.ALTER, log=False) or allows_cluster(
        ports, context, Operation.CLUSTER_ACTION
    ):
        return Error.NONE
    return Error.CLUSTER_AUTHORIZATION_FAILED


def refused_request(
    ports: AccessPorts, context: RequestContext, request: Any, rights: tuple[Right, ...]
) -> Message | None:
    """The answer for a caller that is not permitted to make this request at all; None if the caller is permitted."""
    for right in rights:
        error = right(ports, context, request)
        if error is not Error.NONE:
            # imported here: most brokers never refuse a request
            from oncelog.broker.core.security.refusals import refusal

            return refusal(context.api_key, context.api_version, request, error)
    return None
