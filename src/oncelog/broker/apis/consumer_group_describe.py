"""ConsumerGroupDescribe (key 69), versions 0-1: state and members of groups of the consumer protocol.

Version 1 tells which protocol each member uses (KIP-1099). At ``group.version`` 0 there is no such protocol:
UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.apis.describe_groups import ALL_GROUP_OPERATIONS
from oncelog.broker.context import RequestContext
from oncelog.deferred import Deferred
from oncelog.errors import Error
from oncelog.metadata.features import GROUP_VERSION
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.consumer_group_describe_response import ConsumerGroupDescribeResponse, DescribedGroup

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

API = ApiKey.CONSUMER_GROUP_DESCRIBE
VERSIONS = (0, 1)


def handle(
    broker: Broker, context: RequestContext, request: ConsumerGroupDescribeRequest
) -> Deferred[ConsumerGroupDescribeResponse]:
    if broker.metadata.finalized_features.level(GROUP_VERSION) == 0:
        refused = [DescribedGroup(group_id=name, error_code=Error.UNSUPPORTED_VERSION) for name in request.group_ids]
        return Deferred.of(ConsumerGroupDescribeResponse(groups=refused))

    def answer(groups: list[DescribedGroup]) -> ConsumerGroupDescribeResponse:
        if request.include_authorized_operations:
            for group in groups:
                if group.error_code == Error.NONE:
                    group.authorized_operations = ALL_GROUP_OPERATIONS
        return ConsumerGroupDescribeResponse(groups=groups)

    return broker.groups.consumer_group_describe(request.group_ids, context.now_ms).map(answer)
