"""AlterShareGroupOffsets (key 91), version 0: set the offsets from which a share group is delivered records; the group
must have no members, and is created if it does not exist but one of the topics does.

-1 means the offset that ``share.auto.offset.reset`` chooses. A lower offset is refused, unlike in Apache Kafka, which
accepts it and then never delivers a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.share.share_requests import ShareRefused
from oncelog.broker.coordinator.share.state_rules import UNINITIALIZED
from oncelog.broker.core.apis.share import share_requests
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.broker.core.security.refusals import MESSAGES
from oncelog.errors import NONE, Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated import alter_share_group_offsets_response as answers
from oncelog.protocol.generated.alter_share_group_offsets_request import AlterShareGroupOffsetsRequest
from oncelog.protocol.generated.alter_share_group_offsets_response import AlterShareGroupOffsetsResponse
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SharePorts


def handle(
    ports: SharePorts, context: RequestContext, request: AlterShareGroupOffsetsRequest
) -> Deferred[AlterShareGroupOffsetsResponse]:
    node_id = context.session.node_id
    refusal = share_requests.change_refused(ports, context, request.group_id, may_be_new=True)
    if refusal is not None:
        return Deferred.of(AlterShareGroupOffsetsResponse(error_code=refusal.error, error_message=refusal.message))
    offsets: dict[tuple[bytes, str, int], int] = {}
    topics: list[answers.AlterShareGroupOffsetsResponseTopic] = []
    changes = False
    for topic in request.topics:
        info = ports.metadata.topic(topic.topic_name)
        shown = answers.AlterShareGroupOffsetsResponseTopic(
            topic.topic_name, info.topic_id if info is not None else ZERO_UUID, []
        )
        allowed = allows(ports, context, Operation.READ, TOPIC, topic.topic_name)
        changes = changes or (allowed and info is not None)
        for partition in topic.partitions:
            error = NONE
            if not allowed:
                error = Error.TOPIC_AUTHORIZATION_FAILED
            elif info is None or not 0 <= partition.partition_index < info.partitions:
                error = Error.UNKNOWN_TOPIC_OR_PARTITION
            elif partition.start_offset < UNINITIALIZED:
                error = Error.INVALID_REQUEST
            elif info is not None:
                offsets[info.topic_id, info.name, partition.partition_index] = partition.start_offset
            shown.partitions.append(
                answers.AlterShareGroupOffsetsResponsePartition(
                    partition.partition_index, error, MESSAGES.get(error) if error is not NONE else None
                )
            )
        if shown.partitions or (allowed and info is not None):
            topics.append(shown)
    if not changes:
        return Deferred.of(AlterShareGroupOffsetsResponse(responses=topics))

    def answer(outcome: ShareRefused) -> AlterShareGroupOffsetsResponse:
        if outcome.error is not NONE:
            return AlterShareGroupOffsetsResponse(error_code=outcome.error, error_message=outcome.message)
        return AlterShareGroupOffsetsResponse(responses=topics)

    altered = share_requests.with_states(
        ports,
        context,
        lambda now_ms: ports.groups.share.alter_offsets(request.group_id, offsets, now_ms, node_id),
    )
    return altered.map(answer)
