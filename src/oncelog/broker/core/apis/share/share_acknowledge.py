"""ShareAcknowledge (key 79), versions 1-2: the outcome of records that a member has acquired (KIP-932).

Version 2 adds renewals (KIP-1222). The request continues the member's share session; with epoch -1 it ends the session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.apis.share import share_requests
from oncelog.broker.core.apis.share.share_requests import AckResult
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.sharing.share_sessions import FINAL_EPOCH, INITIAL_EPOCH, SessionOwner
from oncelog.errors import NONE, Error
from oncelog.protocol.generated import share_acknowledge_response as answers
from oncelog.protocol.generated.share_acknowledge_request import ShareAcknowledgeRequest
from oncelog.protocol.generated.share_acknowledge_response import ShareAcknowledgeResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SharePorts


def handle(
    ports: SharePorts, context: RequestContext, request: ShareAcknowledgeRequest
) -> Deferred[ShareAcknowledgeResponse]:
    group_id, member_id = request.group_id or "", request.member_id or ""
    error = share_requests.refused(ports, group_id, member_id)
    if error is not NONE:
        return Deferred.of(ShareAcknowledgeResponse(error_code=error))
    if request.share_session_epoch == INITIAL_EPOCH:
        error = Error.INVALID_SHARE_SESSION_EPOCH
    if error is NONE:
        member = SessionOwner(group_id, member_id, context.session.node_id)
        session = ports.sharing.sessions.resume(member, request.share_session_epoch)
        error = session if isinstance(session, Error) else NONE
    if error is not NONE:
        return Deferred.of(ShareAcknowledgeResponse(error_code=error))
    named, wrong = share_requests.acknowledgements(context, request)
    lock_ms = ports.sharing.limits(group_id).lock_ms
    acknowledged = share_requests.acknowledge(ports, context, group_id, member_id, dict(named), wrong)
    if request.share_session_epoch == FINAL_EPOCH:
        acknowledged = acknowledged.flat_map(
            lambda results: share_requests.close(ports, context, group_id, member_id).map(lambda _: results)
        )
    return acknowledged.map(lambda results: share_requests.with_leaders(ports, context, _answer(results, lock_ms)))


def _answer(results: list[AckResult], lock_ms: int) -> ShareAcknowledgeResponse:
    topics: dict[bytes, answers.ShareAcknowledgeTopicResponse] = {}
    for (topic_id, index), error, message in results:
        topic = topics.setdefault(topic_id, answers.ShareAcknowledgeTopicResponse(topic_id, []))
        data = answers.PartitionData(partition_index=index, error_code=error, error_message=message)
        data.current_leader = answers.LeaderIdAndEpoch(0, 0)
        topic.partitions.append(data)
    return ShareAcknowledgeResponse(acquisition_lock_timeout_ms=lock_ms, responses=list(topics.values()))
