"""DescribeAcls (key 29), versions 1-3: there is no authorizer, and the answer says so, as Kafka's without one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.describe_acls_request import DescribeAclsRequest
from oncelog.protocol.generated.describe_acls_response import DescribeAclsResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

API = ApiKey.DESCRIBE_ACLS
VERSIONS = (1, 3)

NO_AUTHORIZER = "No Authorizer is configured."


def handle(broker: Broker, context: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    return DescribeAclsResponse(
        error_code=Error.SECURITY_DISABLED, error_message="No Authorizer is configured on the broker"
    )
