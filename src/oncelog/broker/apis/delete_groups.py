"""DeleteGroups (key 42), versions 0-2: forget empty groups and all their positions. Version 2 is flexible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.context import RequestContext
from oncelog.deferred import Deferred
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.delete_groups_response import DeleteGroupsResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

API = ApiKey.DELETE_GROUPS
VERSIONS = (0, 2)


def handle(broker: Broker, context: RequestContext, request: DeleteGroupsRequest) -> Deferred[DeleteGroupsResponse]:
    return broker.groups.delete_groups(request.groups_names, context.now_ms).map(
        lambda results: DeleteGroupsResponse(results=results)
    )
