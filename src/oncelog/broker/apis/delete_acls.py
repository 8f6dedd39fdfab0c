"""DeleteAcls (key 31), versions 1-3: remove the ACLs that each filter finds, and tell which they were.

They are out of force before the answer leaves. Sources: Kafka's ``AclApis`` and ``AclControlManager``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.acls import Acl, AclFilter
from oncelog.broker.apis.describe_acls import NO_AUTHORIZER
from oncelog.broker.context import RequestContext
from oncelog.broker.slices import Work
from oncelog.deferred import Deferred
from oncelog.errors import Error, StorageError
from oncelog.protocol.generated.delete_acls_request import DeleteAclsRequest
from oncelog.protocol.generated.delete_acls_response import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker


def handle(
    broker: Broker, context: RequestContext, request: DeleteAclsRequest
) -> DeleteAclsResponse | Deferred[DeleteAclsResponse]:
    if broker.authorizer is None:
        return DeleteAclsResponse(
            filter_results=[
                DeleteAclsFilterResult(error_code=Error.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
                for _ in request.filters
            ]
        )
    return broker.slices.begin(_delete_each(broker, request))


def _delete_each(broker: Broker, request: DeleteAclsRequest) -> Work[DeleteAclsResponse]:
    filters = [
        AclFilter(
            asked.resource_type_filter,
            asked.resource_name_filter,
            asked.pattern_type_filter,
            asked.principal_filter,
            asked.host_filter,
            asked.operation,
            asked.permission_type,
        )
        for asked in request.filters
    ]
    refusals = [wanted.refusal() for wanted in filters]
    there = sorted(broker.metadata.acls())
    found: list[list[Acl]] = []
    for wanted, refusal in zip(filters, refusals, strict=True):
        found.append([acl for acl in there if wanted.finds(acl)] if refusal is None else [])
        yield
    try:
        broker.change_acls(removed=dict.fromkeys(acl for acls in found for acl in acls))
    except StorageError as error:
        failed = DeleteAclsFilterResult(error_code=Error.KAFKA_STORAGE_ERROR, error_message=str(error))
        return DeleteAclsResponse(filter_results=[failed for _ in filters])
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(error_code=Error.INVALID_REQUEST, error_message=refusal)
            if refusal is not None
            else DeleteAclsFilterResult(
                error_code=Error.NONE, error_message=None, matching_acls=list(map(_shown, acls))
            )
            for refusal, acls in zip(refusals, found, strict=True)
        ]
    )


def _shown(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_code=Error.NONE,
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
