"""DeleteShareGroupOffsets (key 92), version 0: remove a share group's stored state of topics; the group must have no
members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.share.share_requests import ShareRefused
from oncelog.broker.core.apis.share import share_requests
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.broker.core.security.refusals import MESSAGES
from oncelog.errors import NONE, Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated import delete_share_group_offsets_response as answers
from oncelog.protocol.generated.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from oncelog.protocol.generated.delete_share_group_offsets_response import DeleteShareGroupOffsetsResponse
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SharePorts


def handle(
    ports: SharePorts, context: RequestContext, request: DeleteShareGroupOffsetsRequest
) -> Deferred[DeleteShareGroupOffsetsResponse]:
    node_id = context.session.node_id
    refusal = share_requests.change_refused(ports, context, request.group_id)
    if refusal is not None:
        return Deferred.of(DeleteShareGroupOffsetsResponse(error_code=refusal.error, error_message=refusal.message))
    topic_ids: list[bytes] = []
    topics: list[answers.DeleteShareGroupOffsetsResponseTopic] = []
    for topic in request.topics:
        info = ports.metadata.topic(topic.topic_name)
        error, message, topic_id = NONE, None, ZERO_UUID
        if not allows(ports, context, Operation.READ, TOPIC, topic.topic_name):
            error = Error.TOPIC_AUTHORIZATION_FAILED
        elif info is None:
            error = Error.UNKNOWN_TOPIC_OR_PARTITION
        elif not ports.groups.share.reads(request.group_id, info.topic_id, node_id):
            error, message = Error.UNKNOWN_TOPIC_OR_PARTITION, "There is no offset information to delete."
        else:
            topic_id = info.topic_id
            topic_ids.append(topic_id)
        topics.append(
            answers.DeleteShareGroupOffsetsResponseTopic(
                topic.topic_name,
                topic_id,
                error,
                message or (MESSAGES.get(error) if error is not NONE else None),
            )
        )

    def answer(outcome: ShareRefused) -> DeleteShareGroupOffsetsResponse:
        if outcome.error is not NONE:
            return DeleteShareGroupOffsetsResponse(error_code=outcome.error, error_message=outcome.message)
        return DeleteShareGroupOffsetsResponse(responses=topics)

    if not topic_ids:
        return Deferred.of(answer(ShareRefused(NONE)))
    return ports.groups.share.delete_offsets(request.group_id, topic_ids, context.now_ms, node_id).map(answer)
