"""DeleteAcls (key 31), versions 1-3: there is no authorizer, and each filter is told so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.apis.describe_acls import NO_AUTHORIZER
from oncelog.broker.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.delete_acls_request import DeleteAclsRequest
from oncelog.protocol.generated.delete_acls_response import DeleteAclsFilterResult, DeleteAclsResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

API = ApiKey.DELETE_ACLS
VERSIONS = (1, 3)


def handle(broker: Broker, context: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(error_code=Error.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
            for _ in request.filters
        ]
    )
