"""OffsetCommit (key 8), versions 2-10: commit a group's offsets outside a transaction.

In versions 2 to 4 the client sets a retention time; 6 adds leader epochs, 7 static members; 8 is flexible; 9 serves
members of the consumer protocol, and returns GROUP_ID_NOT_FOUND, where older versions return ILLEGAL_GENERATION; 10
identifies topics by id. A topic or partition that does not exist is refused individually: UNKNOWN_TOPIC_OR_PARTITION,
or UNKNOWN_TOPIC_ID.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.group.environment import Caller
from oncelog.broker.core.apis.groups.refused_partitions import add_refused, within
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestTopic
from oncelog.protocol.generated.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts

FIRST_WITH_TOPIC_IDS = 10


def handle(ports: GroupPorts, context: RequestContext, request: OffsetCommitRequest) -> Deferred[OffsetCommitResponse]:
    by_id = context.api_version >= FIRST_WITH_TOPIC_IDS
    known: list[OffsetCommitRequestTopic] = []
    refused: list[OffsetCommitResponseTopic] = []
    for topic in request.topics:
        info = ports.metadata.topic_by_id(topic.topic_id) if by_id else ports.metadata.topic(topic.name)
        count = info.partitions if info is not None else 0
        unknown = Error.UNKNOWN_TOPIC_ID if by_id and info is None else Error.UNKNOWN_TOPIC_OR_PARTITION
        if (not by_id or info is not None) and not allows(
            ports, context, Operation.READ, TOPIC, info.name if info is not None else topic.name
        ):
            info, count, unknown = None, 0, Error.TOPIC_AUTHORIZATION_FAILED
        good, bad = within(topic.partitions, count)
        if bad or info is None:
            errors = [OffsetCommitResponsePartition(index, unknown) for index in bad]
            refused.append(OffsetCommitResponseTopic(topic.name, topic.topic_id, errors))
        if info is not None and good:
            known.append(OffsetCommitRequestTopic(info.name, info.topic_id, good))

    def merged(response: OffsetCommitResponse) -> OffsetCommitResponse:
        add_refused(response.topics, refused, lambda topic: topic.topic_id if by_id else topic.name)
        return response

    if not known:
        return Deferred.of(merged(OffsetCommitResponse()))
    caller = Caller(context.api_version, context.session.node_id, context.client_id, context.client_host)
    request.topics = known
    answered = ports.groups.commit_offsets(request, caller, ports.now_ms)
    if refused:
        return answered.map(merged)
    if len(known) == 1 and len(known[0].partitions) == 1 and answered.succeeded:
        context.may_be_repeated = answered.value.topics[0].partitions[0].error_code == Error.NONE
    return answered
