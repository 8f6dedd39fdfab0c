"""SyncGroup (key 14), versions 0-5: the leader sends the assignment, and every member gets its part.

Version 3 adds static members; 4 is flexible; 5 has protocol type and name in both directions, and refuses a request
whose type or name differs from the group's (KIP-559).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.group.environment import Caller
from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest
from oncelog.protocol.generated.sync_group_response import SyncGroupResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts

FIRST_WITH_PROTOCOL = 5


def handle(ports: GroupPorts, context: RequestContext, request: SyncGroupRequest) -> Deferred[SyncGroupResponse]:
    if context.api_version >= FIRST_WITH_PROTOCOL and (request.protocol_type is None or request.protocol_name is None):
        return Deferred.of(SyncGroupResponse(error_code=Error.INCONSISTENT_GROUP_PROTOCOL))
    caller = Caller(context.api_version, context.session.node_id, context.client_id, context.client_host)
    return ports.groups.sync_group(request, caller, context.now_ms)
