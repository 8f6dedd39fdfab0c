"""ConsumerGroupHeartbeat (key 68), versions 0-1: join, stay in and leave a group of the consumer protocol (KIP-848).

In version 0 the coordinator assigns an id to a member that sends none; from 1 on the member chooses its id (KIP-1082)
and may subscribe by a regular expression. At ``group.version`` 0 there is no such protocol: UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from oncelog.broker.coordinator.group.environment import Caller
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows, sees_topic
from oncelog.broker.metadata.features import GROUP_VERSION
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts


def handle(
    ports: GroupPorts, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> Deferred[ConsumerGroupHeartbeatResponse]:
    if ports.metadata.finalized_features.level(GROUP_VERSION) == 0:
        return Deferred.of(ConsumerGroupHeartbeatResponse(error_code=Error.UNSUPPORTED_VERSION))
    if ports.authorizer is not None and not all(
        allows(ports, context, Operation.DESCRIBE, TOPIC, name) for name in request.subscribed_topic_names or ()
    ):
        return Deferred.of(ConsumerGroupHeartbeatResponse(error_code=Error.TOPIC_AUTHORIZATION_FAILED))
    may_describe = partial(sees_topic, ports, context)
    caller = Caller(context.api_version, context.session.node_id, context.client_id, context.client_host, may_describe)
    return ports.groups.consumer_group_heartbeat(request, caller, context.now_ms)
