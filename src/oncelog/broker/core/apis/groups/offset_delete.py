"""OffsetDelete (key 47), version 0: delete a group's offsets in topics that it does not read (KIP-496).

A topic or partition that does not exist is refused individually with UNKNOWN_TOPIC_OR_PARTITION; if the group does not
exist, the whole request is refused, even if it names nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.apis.groups.refused_partitions import add_refused
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.offset_delete_request import OffsetDeleteRequest, OffsetDeleteRequestTopic
from oncelog.protocol.generated.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts


def handle(ports: GroupPorts, context: RequestContext, request: OffsetDeleteRequest) -> Deferred[OffsetDeleteResponse]:
    known: list[OffsetDeleteRequestTopic] = []
    refused: list[OffsetDeleteResponseTopic] = []
    for topic in request.topics:
        info = ports.metadata.topic(topic.name)
        count = info.partitions if info is not None else 0
        error = Error.UNKNOWN_TOPIC_OR_PARTITION
        if not allows(ports, context, Operation.READ, TOPIC, topic.name):
            info, count, error = None, 0, Error.TOPIC_AUTHORIZATION_FAILED
        bad = [p.partition_index for p in topic.partitions if not 0 <= p.partition_index < count]
        if bad or info is None:
            errors = [OffsetDeleteResponsePartition(index, error) for index in bad]
            refused.append(OffsetDeleteResponseTopic(topic.name, errors))
        good = [p for p in topic.partitions if 0 <= p.partition_index < count]
        if good:
            known.append(OffsetDeleteRequestTopic(topic.name, good))

    def merged(response: OffsetDeleteResponse) -> OffsetDeleteResponse:
        if response.error_code == Error.NONE:
            add_refused(response.topics, refused, lambda topic: topic.name)
        return response

    return ports.groups.delete_offsets(request.replace(topics=known), context.now_ms, context.session.node_id).map(
        merged
    )
