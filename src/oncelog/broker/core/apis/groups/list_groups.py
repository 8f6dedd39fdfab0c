"""ListGroups (key 16), versions 0-5: every group that this broker coordinates.

Version 3 is flexible; 4 filters by state and returns it (KIP-518); 5 filters by type and returns it (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work, in_chunks
from oncelog.broker.core.security.access import GROUP, allows, allows_cluster
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.list_groups_response import ListedGroup, ListGroupsResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts

LISTED_IN_A_CHUNK = 200


def handle(ports: GroupPorts, context: RequestContext, request: ListGroupsRequest) -> Deferred[ListGroupsResponse]:
    return ports.tasks.begin(_list(ports, context, request), context)


def _list(ports: GroupPorts, context: RequestContext, request: ListGroupsRequest) -> Work[ListGroupsResponse]:
    yield from ports.answer_memory.grow(context, ports.groups.count(context.session.node_id))
    listed = yield from ports.groups.list_groups(request, context.session.node_id)
    if not allows_cluster(ports, context, Operation.DESCRIBE, log=False):
        visible: list[ListedGroup] = []
        for groups in in_chunks(listed, LISTED_IN_A_CHUNK):
            visible += [
                group
                for group in groups
                if allows(ports, context, Operation.DESCRIBE, GROUP, group.group_id, log=False)
            ]
            yield
        listed = visible
    return ListGroupsResponse(groups=listed)
