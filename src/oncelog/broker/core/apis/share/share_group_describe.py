"""ShareGroupDescribe (key 77), version 1: state and members of share groups (KIP-932).

At ``share.version`` 0 there are no share groups: UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.apis.groups.consumer_group_describe import HIDDEN_TOPICS
from oncelog.broker.core.apis.groups.groups_in_chunks import of_each_group, with_operations
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.broker.metadata.features import SHARE_VERSION
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.share_group_describe_request import ShareGroupDescribeRequest
from oncelog.protocol.generated.share_group_describe_response import DescribedGroup, ShareGroupDescribeResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SharePorts


def handle(
    ports: SharePorts, context: RequestContext, request: ShareGroupDescribeRequest
) -> Deferred[ShareGroupDescribeResponse]:
    if ports.metadata.finalized_features.level(SHARE_VERSION) == 0:
        refused = [_refused(name, Error.UNSUPPORTED_VERSION) for name in request.group_ids]
        return Deferred.of(ShareGroupDescribeResponse(groups=refused))

    def describe(names: list[str]) -> Deferred[list[DescribedGroup]]:
        described = ports.groups.share.describe(names, context.now_ms, context.session.node_id)
        if request.include_authorized_operations:
            described = described.map(lambda groups: with_operations(ports, context, groups))
        return described.map(lambda groups: [_seen(ports, context, group) for group in groups])

    describing = of_each_group(ports, context, Operation.DESCRIBE, request.group_ids, describe, _refused, _memory_of)
    return (
        ports.tasks.begin(describing, context)
        .flat_map(lambda described: described)
        .map(lambda groups: ShareGroupDescribeResponse(groups=groups))
    )


def _refused(name: str, error: Error) -> DescribedGroup:
    return DescribedGroup(group_id=name, error_code=error)


def _memory_of(groups: list[DescribedGroup]) -> tuple[int, int]:
    return sum(map(_entries, groups)), 0


def _entries(group: DescribedGroup) -> int:
    """The number of the group's members, their subscribed topics, and the topics and partitions in their
    assignments."""
    owned = sum(1 + len(topic.partitions) for member in group.members for topic in member.assignment.topic_partitions)
    return 1 + owned + sum(1 + len(member.subscribed_topic_names) for member in group.members)


def _seen(ports: SharePorts, context: RequestContext, group: DescribedGroup) -> DescribedGroup:
    """A group as the caller may see it: with an error instead of members if it has topics that the caller may not
    describe."""
    names = {topic.topic_name for member in group.members for topic in member.assignment.topic_partitions}
    if all(allows(ports, context, Operation.DESCRIBE, TOPIC, name) for name in sorted(names)):
        return group
    return DescribedGroup(
        group_id=group.group_id, error_code=Error.TOPIC_AUTHORIZATION_FAILED, error_message=HIDDEN_TOPICS
    )
