"""OffsetFetch (key 9), versions 1-10: the positions that groups have committed.

Up to version 7 a request asks for one group; from 2 on it may ask for all topics (null) and the answer has an error of
its own, which version 1 gives to each partition; 5 brings leader epochs; 6 is flexible; 7 can ask for stable offsets
alone (KIP-447); 8 asks for several groups; 9 carries member id and epoch of the consumer protocol; 10 names topics by
id. Topics without a commit are answered with offset -1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.security.access import GROUP, TOPIC, allows
from oncelog.deferred import Deferred, gather
from oncelog.errors import Error
from oncelog.protocol.generated.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from oncelog.protocol.generated.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from oncelog.protocol.wire import ZERO_UUID

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

FIRST_WITH_GROUP_ERROR = 2
FIRST_WITH_SEVERAL_GROUPS = 8
FIRST_WITH_TOPIC_IDS = 10


def handle(broker: Broker, context: RequestContext, request: OffsetFetchRequest) -> Deferred[OffsetFetchResponse]:
    if context.api_version >= FIRST_WITH_SEVERAL_GROUPS:
        by_id = context.api_version >= FIRST_WITH_TOPIC_IDS
        fetch = _fetch_by_id if by_id else _fetch
        groups = [fetch(broker, context, group, request.require_stable) for group in request.groups]
        return gather(groups).map(lambda answers: OffsetFetchResponse(groups=answers))
    topics = (
        None
        if request.topics is None
        else [OffsetFetchRequestTopics(t.name, ZERO_UUID, t.partition_indexes) for t in request.topics]
    )
    group = OffsetFetchRequestGroup(request.group_id, topics=topics)
    return _fetch(broker, context, group, request.require_stable).map(
        lambda answer: _single(answer, request, context.api_version)
    )


def _fetch(
    broker: Broker, context: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> Deferred[OffsetFetchResponseGroup]:
    if not allows(broker, context, Operation.DESCRIBE, GROUP, group.group_id):
        error = Error.GROUP_AUTHORIZATION_FAILED
        return Deferred.of(OffsetFetchResponseGroup(group_id=group.group_id, error_code=error))
    if broker.authorizer is None:
        return broker.groups.fetch_offsets(group, require_stable, context.now_ms)
    refused: list[OffsetFetchResponseTopics] = []
    if group.topics is not None:
        mine = [topic for topic in group.topics if allows(broker, context, Operation.DESCRIBE, TOPIC, topic.name)]
        allowed = {topic.name for topic in mine}
        error = Error.TOPIC_AUTHORIZATION_FAILED
        refused = [
            OffsetFetchResponseTopics(
                topic.name,
                topic.topic_id,
                [OffsetFetchResponsePartitions(index, -1, -1, "", error) for index in topic.partition_indexes],
            )
            for topic in group.topics
            if topic.name not in allowed
        ]
        group = group.replace(topics=mine)

    def visible(answer: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
        if answer.error_code == Error.NONE:
            answer.topics = [
                topic
                for topic in answer.topics
                if allows(broker, context, Operation.DESCRIBE, TOPIC, topic.name, log=False)
            ] + refused
        return answer

    return broker.groups.fetch_offsets(group, require_stable, context.now_ms).map(visible)


def _fetch_by_id(
    broker: Broker, context: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> Deferred[OffsetFetchResponseGroup]:
    """Offsets are kept by name: ids become names and back; all topics are those that still have an id."""
    unknown: list[OffsetFetchResponseTopics] = []
    if group.topics is not None:
        known: list[OffsetFetchRequestTopics] = []
        for topic in group.topics:
            info = broker.metadata.topic_by_id(topic.topic_id)
            if info is not None:
                known.append(OffsetFetchRequestTopics(info.name, topic.topic_id, topic.partition_indexes))
                continue
            error = Error.UNKNOWN_TOPIC_ID
            partitions = [OffsetFetchResponsePartitions(i, -1, -1, "", error) for i in topic.partition_indexes]
            unknown.append(OffsetFetchResponseTopics("", topic.topic_id, partitions))
        group = group.replace(topics=known)

    def with_ids(answer: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
        if answer.error_code != Error.NONE:
            return answer
        for topic in answer.topics:
            info = broker.metadata.topic(topic.name)
            topic.topic_id = ZERO_UUID if info is None else info.topic_id
        answer.topics = [topic for topic in answer.topics if topic.topic_id != ZERO_UUID] + unknown
        return answer

    return _fetch(broker, context, group, require_stable).map(with_ids)


def _single(answer: OffsetFetchResponseGroup, request: OffsetFetchRequest, api_version: int) -> OffsetFetchResponse:
    """The answer about one group, as it was before version 8."""
    if answer.error_code != Error.NONE:
        if api_version >= FIRST_WITH_GROUP_ERROR:
            return OffsetFetchResponse(error_code=answer.error_code)
        failed = [
            OffsetFetchResponseTopic(
                topic.name,
                [OffsetFetchResponsePartition(i, -1, -1, "", answer.error_code) for i in topic.partition_indexes],
            )
            for topic in request.topics or []
        ]
        return OffsetFetchResponse(topics=failed)
    topics = [
        OffsetFetchResponseTopic(
            topic.name,
            [
                OffsetFetchResponsePartition(
                    p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata, p.error_code
                )
                for p in topic.partitions
            ],
        )
        for topic in answer.topics
    ]
    return OffsetFetchResponse(topics=topics)
