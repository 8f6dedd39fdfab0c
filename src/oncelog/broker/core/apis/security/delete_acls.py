"""DeleteAcls (key 31), versions 1-3: remove the ACLs that match each filter, and return them.

They no longer apply when the answer is sent. Sources: Kafka's ``AclApis`` and ``AclControlManager``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.apis.security.describe_acls import NO_AUTHORIZER
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work, in_chunks
from oncelog.errors import Error, StorageError
from oncelog.protocol.acls import Acl, AclFilter, PatternType
from oncelog.protocol.generated.delete_acls_request import DeleteAclsRequest
from oncelog.protocol.generated.delete_acls_response import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SecurityPorts


def handle(
    ports: SecurityPorts, context: RequestContext, request: DeleteAclsRequest
) -> DeleteAclsResponse | Deferred[DeleteAclsResponse]:
    if ports.authorizer is None:
        return DeleteAclsResponse(
            filter_results=[
                DeleteAclsFilterResult(error_code=Error.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
                for _ in request.filters
            ]
        )
    return ports.tasks.begin(_delete_each(ports, context, request), context)


ACLS_IN_A_CHUNK = 500


def _delete_each(ports: SecurityPorts, context: RequestContext, request: DeleteAclsRequest) -> Work[DeleteAclsResponse]:
    """Search the ACLs for all filters in chunks, then remove all matches at once."""
    there = sorted(ports.metadata.acls())
    named: dict[str, list[Acl]] = {}
    for acl in there:
        named.setdefault(acl.resource_name, []).append(acl)
    yield
    results: list[DeleteAclsFilterResult] = []
    removed: dict[Acl, None] = {}
    for asked in request.filters:
        wanted = AclFilter(
            asked.resource_type_filter,
            asked.resource_name_filter,
            asked.pattern_type_filter,
            asked.principal_filter,
            asked.host_filter,
            asked.operation,
            asked.permission_type,
        )
        refusal = wanted.refusal()
        error = Error.NONE if refusal is None else Error.INVALID_REQUEST
        result = DeleteAclsFilterResult(error_code=error, error_message=refusal, matching_acls=[])
        results.append(result)
        name = wanted.resource_name
        among = there if name is None or wanted.pattern_type == PatternType.MATCH else named.get(name, [])
        for part in in_chunks(among if refusal is None else [], ACLS_IN_A_CHUNK):
            found = [acl for acl in part if wanted.finds(acl)]
            yield from ports.answer_memory.grow(context, len(found))
            result.matching_acls += map(_shown, found)
            removed.update(dict.fromkeys(found))
            yield
        yield
    try:
        ports.change_acls(removed=removed)
    except StorageError as failure:
        failed = DeleteAclsFilterResult(error_code=Error.KAFKA_STORAGE_ERROR, error_message=str(failure))
        return DeleteAclsResponse(filter_results=[failed for _ in results])
    yield
    return DeleteAclsResponse(filter_results=results)


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
