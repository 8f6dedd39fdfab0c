"""DeleteGroups (key 42), versions 0-3: delete empty groups and all their offsets.

Version 2 is flexible; 3 has a message for each group, which Apache Kafka sets only for failures of streams groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.apis.groups.groups_in_chunks import of_each_group
from oncelog.broker.core.requests.context import RequestContext
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts


def handle(ports: GroupPorts, context: RequestContext, request: DeleteGroupsRequest) -> Deferred[DeleteGroupsResponse]:
    deleting = of_each_group(
        ports,
        context,
        Operation.DELETE,
        list(dict.fromkeys(request.groups_names)),
        lambda names: ports.groups.delete_groups(names, ports.now_ms, context.session.node_id),
        DeletableGroupResult,
    )
    return (
        ports.tasks.begin(deleting, context)
        .flat_map(lambda deleted: deleted)
        .map(lambda results: DeleteGroupsResponse(results=results))
    )
