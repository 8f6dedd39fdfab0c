"""DescribeGroups (key 15), versions 0-6: state and members of groups of the classic protocol.

Version 3 can ask for the caller's authorized operations; 4 adds static members; 5 is flexible; 6 returns
GROUP_ID_NOT_FOUND, where older versions return a dead group without an error (KIP-1043). Groups of the consumer
protocol are not found here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.group.environment import Caller
from oncelog.broker.core.apis.groups.groups_in_chunks import of_each_group, with_operations
from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts


def handle(
    ports: GroupPorts, context: RequestContext, request: DescribeGroupsRequest
) -> Deferred[DescribeGroupsResponse]:
    caller = Caller(context.api_version, context.session.node_id, context.client_id, context.client_host)

    def describe(names: list[str]) -> Deferred[list[DescribedGroup]]:
        described = ports.groups.describe_groups(names, caller, context.now_ms)
        if request.include_authorized_operations:
            return described.map(lambda groups: with_operations(ports, context, groups))
        return described

    describing = of_each_group(ports, context, Operation.DESCRIBE, request.groups, describe, _refused, _memory_of)
    return (
        ports.tasks.begin(describing, context)
        .flat_map(lambda described: described)
        .map(lambda groups: DescribeGroupsResponse(groups=groups))
    )


def _refused(name: str, error: Error) -> DescribedGroup:
    return DescribedGroup(group_id=name, error_code=error)


def _memory_of(groups: list[DescribedGroup]) -> tuple[int, int]:
    members = [member for group in groups for member in group.members]
    held = sum([len(member.member_metadata) + len(member.member_assignment) for member in members])
    return len(groups) + len(members), held
