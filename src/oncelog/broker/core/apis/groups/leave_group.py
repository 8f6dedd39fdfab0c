"""LeaveGroup (key 13), versions 0-5: members of the classic protocol leave, or an administrator removes static ones.

Up to version 2 one member leaves, and its error is the answer's; from 3 on several members may leave, each with its own
error (KIP-345); 4 is flexible; 5 adds a reason, which is not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.protocol.generated.leave_group_request import LeaveGroupRequest, MemberIdentity
from oncelog.protocol.generated.leave_group_response import LeaveGroupResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts

FIRST_WITH_SEVERAL = 3


def handle(ports: GroupPorts, context: RequestContext, request: LeaveGroupRequest) -> Deferred[LeaveGroupResponse]:
    if context.api_version >= FIRST_WITH_SEVERAL:
        return ports.groups.leave_group(request, context.now_ms, context.session.node_id)
    request = request.replace(members=[MemberIdentity(request.member_id)])

    def single(response: LeaveGroupResponse) -> LeaveGroupResponse:
        error = response.error_code or response.members[0].error_code
        return LeaveGroupResponse(error_code=error)

    return ports.groups.leave_group(request, context.now_ms, context.session.node_id).map(single)
