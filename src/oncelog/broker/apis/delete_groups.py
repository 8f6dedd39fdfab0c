"""DeleteGroups (key 42), versions 0-2: forget empty groups and all their positions. Version 2 is flexible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.security.access import GROUP, allows
from oncelog.deferred import Deferred
from oncelog.errors import Error
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker


def handle(broker: Broker, context: RequestContext, request: DeleteGroupsRequest) -> Deferred[DeleteGroupsResponse]:
    mine = [name for name in request.groups_names if allows(broker, context, Operation.DELETE, GROUP, name)]
    allowed = frozenset(mine)
    refused = [
        DeletableGroupResult(group_id=name, error_code=Error.GROUP_AUTHORIZATION_FAILED)
        for name in request.groups_names
        if name not in allowed
    ]
    return broker.groups.delete_groups(mine, context.now_ms).map(
        lambda results: DeleteGroupsResponse(results=results + refused)
    )
