"""ListPartitionReassignments (key 46), version 0: moves take effect at once, so none is ever in progress."""

from __future__ import annotations

from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from oncelog.protocol.generated.list_partition_reassignments_response import ListPartitionReassignmentsResponse


def handle(
    ports: object, context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=Error.NONE, error_message=None, topics=[])
