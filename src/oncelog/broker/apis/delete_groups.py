"""DeleteGroups (key 42), versions 0-2: forget empty groups and all their positions. Version 2 is flexible."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.security.access import GROUP, allows
from oncelog.broker.slices import Work, in_parts
from oncelog.deferred import Deferred, gather
from oncelog.errors import Error
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

GROUPS_IN_A_PIECE = 20


def handle(broker: Broker, context: RequestContext, request: DeleteGroupsRequest) -> Deferred[DeleteGroupsResponse]:
    refused: list[DeletableGroupResult] = []
    return (
        broker.slices.begin(_delete_each(broker, context, request, refused))
        .flat_map(gather)
        .map(lambda parts: DeleteGroupsResponse(results=[*chain.from_iterable(parts), *refused]))
    )


def _delete_each(
    broker: Broker, context: RequestContext, request: DeleteGroupsRequest, refused: list[DeletableGroupResult]
) -> Work[list[Deferred[list[DeletableGroupResult]]]]:
    """Those that the caller may delete; the others are put into ``refused``."""
    deleted: list[Deferred[list[DeletableGroupResult]]] = []
    for names in in_parts(list(dict.fromkeys(request.groups_names)), GROUPS_IN_A_PIECE):
        mine = []
        for name in names:
            if allows(broker, context, Operation.DELETE, GROUP, name):
                mine.append(name)
            else:
                refused.append(DeletableGroupResult(group_id=name, error_code=Error.GROUP_AUTHORIZATION_FAILED))
        deleted.append(broker.groups.delete_groups(mine, context.now_ms))
        yield
    return deleted
