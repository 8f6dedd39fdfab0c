"""ShareGroupHeartbeat (key 76), version 1: join, stay in and leave a share group (KIP-932).

The member chooses its id. At ``share.version`` 0 there are no share groups: UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.group.environment import Caller
from oncelog.broker.core.apis.share import share_requests
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.broker.metadata.features import SHARE_VERSION
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from oncelog.protocol.generated.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SharePorts


def handle(
    ports: SharePorts, context: RequestContext, request: ShareGroupHeartbeatRequest
) -> Deferred[ShareGroupHeartbeatResponse]:
    if not ports.metadata.finalized_features.level(SHARE_VERSION):
        return Deferred.of(ShareGroupHeartbeatResponse(error_code=Error.UNSUPPORTED_VERSION))
    if ports.authorizer is not None and not all(
        allows(ports, context, Operation.DESCRIBE, TOPIC, name) for name in request.subscribed_topic_names or ()
    ):
        return Deferred.of(ShareGroupHeartbeatResponse(error_code=Error.TOPIC_AUTHORIZATION_FAILED))
    caller = Caller(context.api_version, context.session.node_id, context.client_id, context.client_host)
    return share_requests.with_states(
        ports, context, lambda now_ms: ports.groups.share.heartbeat(request, caller, now_ms)
    )
