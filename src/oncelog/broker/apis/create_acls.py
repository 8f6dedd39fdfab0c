"""CreateAcls (key 30), versions 1-3: there is no authorizer, and each rule is told so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.apis.describe_acls import NO_AUTHORIZER
from oncelog.broker.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.create_acls_request import CreateAclsRequest
from oncelog.protocol.generated.create_acls_response import AclCreationResult, CreateAclsResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

API = ApiKey.CREATE_ACLS
VERSIONS = (1, 3)


def handle(broker: Broker, context: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[
            AclCreationResult(error_code=Error.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
            for _ in request.creations
        ]
    )
