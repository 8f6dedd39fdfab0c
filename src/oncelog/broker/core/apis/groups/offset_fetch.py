"""OffsetFetch (key 9), versions 1-10: the offsets that groups have committed.

Up to version 7 a request is for one group; from 2 on it may ask for all topics (null), and the answer has an error for
the group, which version 1 returns for each partition; 5 adds leader epochs; 6 is flexible; 7 can ask for stable offsets
only (KIP-447); 8 asks for several groups; 9 adds member id and epoch of the consumer protocol; 10 identifies topics by
id. Topics without a commit are returned with offset -1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from oncelog.broker.coordinator.group.offset_requests import FetchedOffsets
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import GROUP, TOPIC, allows
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
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
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.runtime.deferred import Deferred, gather

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts

FIRST_WITH_GROUP_ERROR = 2
FIRST_WITH_SEVERAL_GROUPS = 8
FIRST_WITH_TOPIC_IDS = 10


def handle(ports: GroupPorts, context: RequestContext, request: OffsetFetchRequest) -> Deferred[OffsetFetchResponse]:
    version, stable = context.api_version, request.require_stable
    if version < FIRST_WITH_SEVERAL_GROUPS:
        asked = request.topics
        topics = (
            None if asked is None else [OffsetFetchRequestTopics(t.name, ZERO_UUID, t.partition_indexes) for t in asked]
        )
        one = _fetch(ports, context, OffsetFetchRequestGroup(request.group_id, topics=topics), stable)
        return one.settled.map(lambda error: _single(one.known(error), request, version))
    fetch = _fetch_by_id if version >= FIRST_WITH_TOPIC_IDS else _fetch
    if len(request.groups) == 1 and request.groups[0].topics is not None:
        one = fetch(ports, context, request.groups[0], stable)
        return one.settled.map(lambda error: OffsetFetchResponse(groups=[one.known(error)]))
    return ports.tasks.begin(_fetch_each(ports, context, request, fetch), context).flat_map(_once_settled)


def _fetch_each(
    ports: GroupPorts,
    context: RequestContext,
    request: OffsetFetchRequest,
    fetch: Callable[[GroupPorts, RequestContext, OffsetFetchRequestGroup, bool], FetchedOffsets],
) -> Work[list[FetchedOffsets]]:
    """Fetch the offsets of each group. Other requests run between two groups, because each may ask for all of its
    offsets."""
    groups: list[FetchedOffsets] = []
    for group in request.groups:
        groups.append(fetch(ports, context, group, request.require_stable))
        entries = sum([1 + len(topic.partitions) for topic in groups[-1].answer.topics])
        yield from ports.answer_memory.grow(context, 1 + entries)
        yield
    return groups


def _once_settled(groups: list[FetchedOffsets]) -> Deferred[OffsetFetchResponse]:
    return gather([group.settled for group in groups]).map(
        lambda errors: OffsetFetchResponse(groups=list(map(FetchedOffsets.known, groups, errors)))
    )


def _refused(group_id: str, error: Error) -> FetchedOffsets:
    return FetchedOffsets(OffsetFetchResponseGroup(group_id=group_id, error_code=error), Deferred.of(Error.NONE))


def _fetch(
    ports: GroupPorts, context: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> FetchedOffsets:
    if not allows(ports, context, Operation.DESCRIBE, GROUP, group.group_id):
        return _refused(group.group_id, Error.GROUP_AUTHORIZATION_FAILED)
    refused: list[OffsetFetchResponseTopics] = []
    if ports.authorizer is not None and group.topics is not None:
        mine: list[OffsetFetchRequestTopics] = []
        for topic in group.topics:
            if allows(ports, context, Operation.DESCRIBE, TOPIC, topic.name):
                mine.append(topic)
            else:
                refused.append(_all(topic, Error.TOPIC_AUTHORIZATION_FAILED))
        group = group.replace(topics=mine)
    fetched = ports.groups.fetch_offsets(group, require_stable, context.now_ms, context.session.node_id)
    answer = fetched.answer
    if ports.authorizer is not None and answer.error_code == Error.NONE:
        answer.topics = [
            topic for topic in answer.topics if allows(ports, context, Operation.DESCRIBE, TOPIC, topic.name, log=False)
        ] + refused
    return fetched


def _fetch_by_id(
    ports: GroupPorts, context: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> FetchedOffsets:
    """Fetch by topic ids: convert ids to names and back, as offsets are stored by name. A request for all topics
    returns those that still have an id.
    """
    unknown: list[OffsetFetchResponseTopics] = []
    if group.topics is not None:
        known: list[OffsetFetchRequestTopics] = []
        for topic in group.topics:
            info = ports.metadata.topic_by_id(topic.topic_id)
            if info is not None:
                known.append(OffsetFetchRequestTopics(info.name, topic.topic_id, topic.partition_indexes))
            else:
                unknown.append(_all(topic.replace(name=""), Error.UNKNOWN_TOPIC_ID))
        group = group.replace(topics=known)
    fetched = _fetch(ports, context, group, require_stable)
    answer = fetched.answer
    if answer.error_code == Error.NONE:
        for topic_answer in answer.topics:
            info = ports.metadata.topic(topic_answer.name)
            topic_answer.topic_id = ZERO_UUID if info is None else info.topic_id
        answer.topics = [topic for topic in answer.topics if topic.topic_id != ZERO_UUID] + unknown
    return fetched


def _all(topic: OffsetFetchRequestTopics, error: Error) -> OffsetFetchResponseTopics:
    """The answer for a topic with the same error for each partition."""
    partitions = [OffsetFetchResponsePartitions(index, -1, -1, "", error) for index in topic.partition_indexes]
    return OffsetFetchResponseTopics(topic.name, topic.topic_id, partitions)


def _single(answer: OffsetFetchResponseGroup, request: OffsetFetchRequest, api_version: int) -> OffsetFetchResponse:
    """The answer about a single group, in the form of versions before 8."""
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
    return OffsetFetchResponse(
        topics=[
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
    )
