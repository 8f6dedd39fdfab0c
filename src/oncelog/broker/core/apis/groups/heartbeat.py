"""Heartbeat (key 12), versions 0-4: keeps a member of the classic protocol alive and notifies it of rebalances. Version
3 adds static members; 4 is flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.heartbeat_response import HeartbeatResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts


def handle(ports: GroupPorts, context: RequestContext, request: HeartbeatRequest) -> Deferred[HeartbeatResponse]:
    return ports.groups.heartbeat(request, context.now_ms, context.session.node_id)
