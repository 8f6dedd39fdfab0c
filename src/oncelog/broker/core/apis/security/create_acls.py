"""CreateAcls (key 30), versions 1-3: add ACLs; valid ones are added even if others are refused.

ACLs are on stable storage and in force before the answer is sent. Sources: Kafka's ``AclApis``, ``AclControlManager``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.apis.security.describe_acls import NO_AUTHORIZER
from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error, StorageError
from oncelog.protocol.acls import Acl, acl_refusal
from oncelog.protocol.generated.create_acls_request import CreateAclsRequest
from oncelog.protocol.generated.create_acls_response import AclCreationResult, CreateAclsResponse

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SecurityPorts


def handle(ports: SecurityPorts, context: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    if ports.authorizer is None:
        refused = [AclCreationResult(Error.SECURITY_DISABLED, NO_AUTHORIZER) for _ in request.creations]
        return CreateAclsResponse(results=refused)
    asked = [
        Acl(
            creation.resource_type,
            creation.resource_name,
            creation.resource_pattern_type,
            creation.principal,
            creation.host,
            creation.operation,
            creation.permission_type,
        )
        for creation in request.creations
    ]
    refusals = [acl_refusal(acl) for acl in asked]
    accepted = AclCreationResult(Error.NONE, None)
    try:
        ports.change_acls(added=[acl for acl, refusal in zip(asked, refusals, strict=True) if refusal is None])
    except StorageError as error:
        accepted = AclCreationResult(Error.KAFKA_STORAGE_ERROR, str(error))
    return CreateAclsResponse(
        results=[
            accepted if refusal is None else AclCreationResult(Error.INVALID_REQUEST, refusal) for refusal in refusals
        ]
    )
