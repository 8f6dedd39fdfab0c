"""ListGroups (key 16), versions 0-5: every group that this broker coordinates.

Version 3 is flexible; 4 filters by state and tells it (KIP-518); 5 filters by type and tells it (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.security.access import GROUP, allows, allows_cluster
from oncelog.deferred import Deferred
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.list_groups_response import ListGroupsResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker


def handle(broker: Broker, context: RequestContext, request: ListGroupsRequest) -> Deferred[ListGroupsResponse]:
    listed = broker.groups.list_groups(request, context.now_ms)
    if allows_cluster(broker, context, Operation.DESCRIBE, log=False):
        return listed

    def visible(response: ListGroupsResponse) -> ListGroupsResponse:
        response.groups = [
            group
            for group in response.groups
            if allows(broker, context, Operation.DESCRIBE, GROUP, group.group_id, log=False)
        ]
        return response

    return listed.map(visible)
