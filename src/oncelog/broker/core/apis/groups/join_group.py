"""JoinGroup (key 11), versions 0-9: join a group of the classic protocol, or rejoin it for a rebalance.

Version 1 adds the rebalance timeout (0: the session timeout applies); 4 makes dynamic members join twice, first for
their id (KIP-394); 5 adds static members; 6 is flexible; from 7 on the answer's protocol name may be null; 8 adds a
reason, which is not used; 9 lets a static leader skip the assignment (KIP-814).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from oncelog.broker.coordinator.group.environment import Caller
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import sees_topic
from oncelog.protocol.generated.join_group_request import JoinGroupRequest
from oncelog.protocol.generated.join_group_response import JoinGroupResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts

FIRST_WITH_NULL_PROTOCOL = 7


def handle(ports: GroupPorts, context: RequestContext, request: JoinGroupRequest) -> Deferred[JoinGroupResponse]:
    may_describe = partial(sees_topic, ports, context)
    caller = Caller(context.api_version, context.session.node_id, context.client_id, context.client_host, may_describe)

    def answer(response: JoinGroupResponse) -> JoinGroupResponse:
        if response.protocol_name is None and context.api_version < FIRST_WITH_NULL_PROTOCOL:
            response.protocol_name = ""
        return response

    return ports.groups.join_group(request, caller, context.now_ms).map(answer)
