"""ConsumerGroupDescribe (key 69), versions 0-1: state and members of groups of the consumer protocol.

Version 1 tells which protocol each member uses (KIP-1099). At ``group.version`` 0 there is no such protocol:
UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.security.access import GROUP, TOPIC, allows, authorized_operations
from oncelog.deferred import Deferred
from oncelog.errors import Error
from oncelog.metadata.features import GROUP_VERSION
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.consumer_group_describe_response import ConsumerGroupDescribeResponse, DescribedGroup

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


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
                    group.authorized_operations = authorized_operations(broker, context, GROUP, group.group_id)
        return ConsumerGroupDescribeResponse(groups=[_seen(broker, context, group) for group in groups] + hidden)

    may_see = [name for name in request.group_ids if allows(broker, context, Operation.DESCRIBE, GROUP, name)]
    allowed = frozenset(may_see)
    hidden = [
        DescribedGroup(group_id=name, error_code=Error.GROUP_AUTHORIZATION_FAILED)
        for name in request.group_ids
        if name not in allowed
    ]

    return broker.groups.consumer_group_describe(may_see, context.now_ms).map(answer)


def _seen(broker: Broker, context: RequestContext, group: DescribedGroup) -> DescribedGroup:
    """A group as the caller may see it: not at all where it has topics that the caller may not describe."""
    names = {
        topic.topic_name
        for member in group.members
        for topic in (*member.assignment.topic_partitions, *member.target_assignment.topic_partitions)
    }
    if all(allows(broker, context, Operation.DESCRIBE, TOPIC, name) for name in sorted(names)):
        return group
    return DescribedGroup(
        group_id=group.group_id, error_code=Error.TOPIC_AUTHORIZATION_FAILED, error_message=HIDDEN_TOPICS
    )
