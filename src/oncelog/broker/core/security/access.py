"""Authorization checks for APIs. Without an authorizer each check costs only one comparison.

A refusal goes to the security log, unless the check only filters an answer (``log=False``), like Kafka's
``logIfDenied``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from oncelog.protocol.acls import CLUSTER_NAME, SUPPORTED_OPERATIONS, AclResourceType, Operation
from oncelog.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from oncelog.broker.core.requests.context import RequestContext
    from oncelog.broker.core.security.authorizer import Authorizer
    from oncelog.broker.core.security.security_log import SecurityLog

TOPIC = AclResourceType.TOPIC
GROUP = AclResourceType.GROUP
CLUSTER = AclResourceType.CLUSTER
TRANSACTIONAL_ID = AclResourceType.TRANSACTIONAL_ID
USER = AclResourceType.USER


class AccessPorts(Protocol):
    """The interface that checks need from the broker: the authorizer, and the log of refusals."""

    authorizer: Authorizer | None
    security_log: SecurityLog
    now_ms: int


def allows(
    ports: AccessPorts, context: RequestContext, operation: int, kind: int, name: str, *, log: bool = True
) -> bool:
    """Whether the caller may do ``operation`` on the resource ``name`` of type ``kind``."""
    authorizer = ports.authorizer
    if authorizer is None:
        return True
    principal, host = context.principal, context.client_host
    if authorizer.allows(principal, host, operation, kind, name):
        return True
    if log:
        api = ApiKey(context.api_key).name
        ports.security_log.refused_operation(principal, host, operation, kind, name, api, ports.now_ms)
    return False


def sees_topic(ports: AccessPorts, context: RequestContext, topic: str) -> bool:
    """Whether the caller may see a topic that the request does not name; a refusal is not logged."""
    return allows(ports, context, Operation.DESCRIBE, TOPIC, topic, log=False)


def allows_cluster(ports: AccessPorts, context: RequestContext, operation: int, *, log: bool = True) -> bool:
    return allows(ports, context, operation, CLUSTER, CLUSTER_NAME, log=log)


def allows_some(ports: AccessPorts, context: RequestContext, operation: int, kind: int) -> bool:
    """Whether the caller may do ``operation`` on at least one possible resource of this type."""
    authorizer = ports.authorizer
    return authorizer is None or authorizer.allows_some(context.principal, context.client_host, operation, kind)


def authorized_operations(ports: AccessPorts, context: RequestContext, kind: AclResourceType, name: str) -> int:
    """The caller's authorized operations on a resource, as a bit field of operation codes (KIP-430)."""
    field = 0
    for operation in SUPPORTED_OPERATIONS[kind]:
        if allows(ports, context, operation, kind, name, log=False):
            field |= 1 << operation
    return field
