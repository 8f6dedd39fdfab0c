"""DescribeGroups (key 15), versions 0-6: state and members of groups of the classic protocol.

Version 3 can ask for the operations that the caller may do; 4 brings static members; 5 is flexible; 6 answers
GROUP_ID_NOT_FOUND where older ones get a dead group without an error (KIP-1043). Groups of the consumer protocol are
not found here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.security.access import GROUP, allows, authorized_operations
from oncelog.broker.slices import Work, in_parts
from oncelog.coordinator.group.environment import Caller
from oncelog.deferred import Deferred, gather
from oncelog.errors import Error
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.describe_groups_response import DescribedGroup, DescribeGroupsResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

GROUPS_IN_A_PIECE = 20


def handle(broker: Broker, context: RequestContext, request: DescribeGroupsRequest) -> Deferred[DescribeGroupsResponse]:
    caller = Caller(context.api_version, context.client_id, context.client_host)
    hidden: list[DescribedGroup] = []

    def describe() -> Work[list[Deferred[list[DescribedGroup]]]]:
        described = []
        for names in in_parts(request.groups, GROUPS_IN_A_PIECE):
            may_see = []
            for name in names:
                if allows(broker, context, Operation.DESCRIBE, GROUP, name):
                    may_see.append(name)
                else:
                    hidden.append(DescribedGroup(group_id=name, error_code=Error.GROUP_AUTHORIZATION_FAILED))
            described.append(broker.groups.describe_groups(may_see, caller, context.now_ms))
            if described[-1].succeeded:
                members = [member for group in described[-1].value for member in group.members]
                held = sum([len(member.member_metadata) + len(member.member_assignment) for member in members])
                yield from broker.answer_memory.grow(context, len(may_see) + len(members), held)
            yield
        return described

    def answer(groups: list[DescribedGroup]) -> DescribeGroupsResponse:
        if request.include_authorized_operations:
            for group in groups:
                if group.error_code == Error.NONE:
                    group.authorized_operations = authorized_operations(broker, context, GROUP, group.group_id)
        return DescribeGroupsResponse(groups=groups + hidden)

    described = broker.slices.begin(describe(), context.channel).flat_map(gather)
    return described.map(lambda parts: answer([group for part in parts for group in part]))
