"""ConsumerGroupDescribe (key 69), versions 0-1: state and members of groups of the consumer protocol.

Version 1 tells which protocol each member uses (KIP-1099). At ``group.version`` 0 there is no such protocol:
UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.security.access import GROUP, TOPIC, allows, authorized_operations
from oncelog.broker.slices import Work, in_parts
from oncelog.deferred import Deferred, gather
from oncelog.errors import Error
from oncelog.metadata.features import GROUP_VERSION
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.consumer_group_describe_response import ConsumerGroupDescribeResponse, DescribedGroup

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

GROUPS_IN_A_PIECE = 20

HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


def handle(
    broker: Broker, context: RequestContext, request: ConsumerGroupDescribeRequest
) -> Deferred[ConsumerGroupDescribeResponse]:
    if broker.metadata.finalized_features.level(GROUP_VERSION) == 0:
        refused = [DescribedGroup(group_id=name, error_code=Error.UNSUPPORTED_VERSION) for name in request.group_ids]
        return Deferred.of(ConsumerGroupDescribeResponse(groups=refused))

    hidden: list[DescribedGroup] = []
    return (
        broker.slices.begin(_describe_each(broker, context, request, hidden), context.channel)
        .flat_map(gather)
        .map(lambda parts: ConsumerGroupDescribeResponse(groups=[*chain.from_iterable(parts), *hidden]))
    )


def _describe_each(
    broker: Broker, context: RequestContext, request: ConsumerGroupDescribeRequest, hidden: list[DescribedGroup]
) -> Work[list[Deferred[list[DescribedGroup]]]]:
    """Those that the caller may see; the others are put into ``hidden``."""

    def seen(groups: list[DescribedGroup]) -> list[DescribedGroup]:
        if request.include_authorized_operations:
            for group in groups:
                if group.error_code == Error.NONE:
                    group.authorized_operations = authorized_operations(broker, context, GROUP, group.group_id)
        return [_seen(broker, context, group) for group in groups]

    described: list[Deferred[list[DescribedGroup]]] = []
    for names in in_parts(request.group_ids, GROUPS_IN_A_PIECE):
        mine = []
        for name in names:
            if allows(broker, context, Operation.DESCRIBE, GROUP, name):
                mine.append(name)
            else:
                hidden.append(DescribedGroup(group_id=name, error_code=Error.GROUP_AUTHORIZATION_FAILED))
        described.append(broker.groups.consumer_group_describe(mine, context.now_ms).map(seen))
        if described[-1].succeeded:
            yield from broker.answer_memory.grow(context, sum(map(_entries, described[-1].value)))
        yield
    return described


def _entries(group: DescribedGroup) -> int:
    """Of its members and what they own."""
    owned = sum(
        1 + len(topic.partitions)
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for topic in assignment.topic_partitions
    )
    return 1 + owned + sum(1 + len(member.subscribed_topic_names) for member in group.members)


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
