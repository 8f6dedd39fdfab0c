"""DescribeAcls (key 29), versions 1-3: the ACLs that match a filter, by resource.

Without an authorizer the answer is SECURITY_DISABLED, as in Kafka. Source: Kafka's ``AclApis``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.acls import AclFilter
from oncelog.protocol.generated.describe_acls_request import DescribeAclsRequest
from oncelog.protocol.generated.describe_acls_response import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SecurityPorts


NO_AUTHORIZER = "No Authorizer is configured."


def handle(ports: SecurityPorts, context: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    if ports.authorizer is None:
        return DescribeAclsResponse(
            error_code=Error.SECURITY_DISABLED, error_message="No Authorizer is configured on the broker"
        )
    wanted = AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    refusal = wanted.refusal()
    if refusal is not None:
        return DescribeAclsResponse(error_code=Error.INVALID_REQUEST, error_message=refusal)
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for acl in sorted(ports.metadata.acls()):
        if wanted.finds(acl):
            pattern = acl.resource_type, acl.resource_name, acl.pattern_type
            resource = resources.get(pattern)
            if resource is None:
                resource = resources[pattern] = DescribeAclsResource(*pattern)
            resource.acls.append(AclDescription(acl.principal, acl.host, acl.operation, acl.permission))
    return DescribeAclsResponse(error_code=Error.NONE, error_message=None, resources=list(resources.values()))
