"""OffsetFetch (key 9), versions 1-10: the offsets that groups have committed.

Up to version 7 a request is for one group; from 2 on it may ask for all topics (null) and the answer has an error of
its own, which version 1 returns for each partition; 5 adds leader epochs; 6 is flexible; 7 can ask for stable offsets
only (KIP-447); 8 asks for several groups; 9 has member id and epoch of the consumer protocol; 10 identifies topics by
id. Topics without a commit are returned with offset -1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.group.offset_requests import FetchedOffsets
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work, finished, groups_in_parts, in_parts
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
from oncelog.protocol.wire import ZERO_UUID
from oncelog.runtime.deferred import Deferred, gather

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts

GROUPS_IN_A_CHUNK = 50
TOPICS_IN_A_CHUNK = 100
PARTITIONS_IN_A_CHUNK = 200
FIRST_WITH_GROUP_ERROR = 2
FIRST_WITH_SEVERAL_GROUPS = 8
FIRST_WITH_TOPIC_IDS = 10


def handle(ports: GroupPorts, context: RequestContext, request: OffsetFetchRequest) -> Deferred[OffsetFetchResponse]:
    short = _is_short(request)
    fetching = _fetch_all(ports, context, request, short=short)
    if short:
        return finished(fetching)
    return ports.tasks.begin(fetching, context.channel, owner=context).flat_map(lambda answer: answer)


def _is_short(request: OffsetFetchRequest) -> bool:
    """Whether the request names few partitions, and each of them explicitly."""
    if len(request.groups) == 1 and not request.topics:
        topics = request.groups[0].topics
        return topics is not None and len(topics) == 1 and len(topics[0].partition_indexes) < PARTITIONS_IN_A_CHUNK
    return False


def _fetch_all(
    ports: GroupPorts, context: RequestContext, request: OffsetFetchRequest, *, short: bool
) -> Work[Deferred[OffsetFetchResponse]]:
    """Answer in chunks if there are many partitions or groups; if there are few, in one iteration and without waiting
    for memory."""
    if context.api_version >= FIRST_WITH_SEVERAL_GROUPS:
        by_id = context.api_version >= FIRST_WITH_TOPIC_IDS
        fetch = _fetch_by_id if by_id else _fetch
        groups: list[FetchedOffsets] = []
        for part in in_parts(request.groups, GROUPS_IN_A_CHUNK):
            for group in part:
                groups.append((yield from fetch(ports, context, group, request.require_stable)))
                if not short:
                    entries = sum([1 + len(topic.partitions) for topic in groups[-1].answer.topics])
                    yield from ports.answer_memory.grow(context, 1 + entries)
            if len(part) == GROUPS_IN_A_CHUNK:
                yield
        return gather([group.settled for group in groups]).map(
            lambda errors: OffsetFetchResponse(groups=list(map(FetchedOffsets.known, groups, errors)))
        )
    topics = (
        None
        if request.topics is None
        else [OffsetFetchRequestTopics(t.name, ZERO_UUID, t.partition_indexes) for t in request.topics]
    )
    group = OffsetFetchRequestGroup(request.group_id, topics=topics)
    fetched = yield from _fetch(ports, context, group, request.require_stable)
    answer = yield from _single(fetched.answer, request, context.api_version)
    return fetched.settled.flat_map(
        lambda error: (
            Deferred.of(answer)
            if error is Error.NONE
            else Deferred.of(finished(_single(fetched.known(error), request, context.api_version)))
        )
    )


def _refused(group_id: str, error: Error) -> FetchedOffsets:
    return FetchedOffsets(OffsetFetchResponseGroup(group_id=group_id, error_code=error), Deferred.of(Error.NONE))


def _fetch(
    ports: GroupPorts, context: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> Work[FetchedOffsets]:
    if not allows(ports, context, Operation.DESCRIBE, GROUP, group.group_id):
        return _refused(group.group_id, Error.GROUP_AUTHORIZATION_FAILED)
    if ports.authorizer is None:
        return (yield from ports.groups.fetch_offsets(group, require_stable, context.now_ms, context.session.node_id))
    refused: list[OffsetFetchResponseTopics] = []
    if group.topics is not None:
        mine: list[OffsetFetchRequestTopics] = []
        for part in in_parts(group.topics, TOPICS_IN_A_CHUNK):
            for topic in part:
                if allows(ports, context, Operation.DESCRIBE, TOPIC, topic.name):
                    mine.append(topic)
                else:
                    refused.append((yield from _all(topic, Error.TOPIC_AUTHORIZATION_FAILED)))
            if len(part) == TOPICS_IN_A_CHUNK:
                yield
        group = group.replace(topics=mine)
    fetched = yield from ports.groups.fetch_offsets(group, require_stable, context.now_ms, context.session.node_id)
    answer = fetched.answer
    if answer.error_code == Error.NONE:
        visible: list[OffsetFetchResponseTopics] = []
        for answers in in_parts(answer.topics, TOPICS_IN_A_CHUNK):
            visible += [
                topic for topic in answers if allows(ports, context, Operation.DESCRIBE, TOPIC, topic.name, log=False)
            ]
            if len(answers) == TOPICS_IN_A_CHUNK:
                yield
        answer.topics = visible + refused
    return fetched


def _fetch_by_id(
    ports: GroupPorts, context: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> Work[FetchedOffsets]:
    """Offsets are stored by name: convert ids to names and back; all topics means those that still have an id."""
    unknown: list[OffsetFetchResponseTopics] = []
    if group.topics is not None:
        known: list[OffsetFetchRequestTopics] = []
        for part in in_parts(group.topics, TOPICS_IN_A_CHUNK):
            for topic in part:
                info = ports.metadata.topic_by_id(topic.topic_id)
                if info is not None:
                    known.append(OffsetFetchRequestTopics(info.name, topic.topic_id, topic.partition_indexes))
                else:
                    unknown.append((yield from _all(topic.replace(name=""), Error.UNKNOWN_TOPIC_ID)))
            if len(part) == TOPICS_IN_A_CHUNK:
                yield
        group = group.replace(topics=known)
    fetched = yield from _fetch(ports, context, group, require_stable)
    answer = fetched.answer
    if answer.error_code == Error.NONE:
        for topic_answer in answer.topics:
            info = ports.metadata.topic(topic_answer.name)
            topic_answer.topic_id = ZERO_UUID if info is None else info.topic_id
        answer.topics = [topic for topic in answer.topics if topic.topic_id != ZERO_UUID] + unknown
    return fetched


def _all(topic: OffsetFetchRequestTopics, error: Error) -> Work[OffsetFetchResponseTopics]:
    """The same error for each partition."""
    answer = OffsetFetchResponseTopics(topic.name, topic.topic_id, [])
    for part in in_parts(topic.partition_indexes, PARTITIONS_IN_A_CHUNK):
        answer.partitions += [OffsetFetchResponsePartitions(index, -1, -1, "", error) for index in part]
        if len(part) == PARTITIONS_IN_A_CHUNK:
            yield
    return answer


def _single(
    answer: OffsetFetchResponseGroup, request: OffsetFetchRequest, api_version: int
) -> Work[OffsetFetchResponse]:
    """The answer about one group, in the form before version 8."""
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
    topics: list[OffsetFetchResponseTopic] = []
    last: OffsetFetchResponseTopics | None = None
    for chunk in groups_in_parts(answer.topics, lambda topic: topic.partitions, PARTITIONS_IN_A_CHUNK):
        for group, part in chunk:
            if group is not last:
                last = group
                topics.append(OffsetFetchResponseTopic(group.name, []))
            topics[-1].partitions += [
                OffsetFetchResponsePartition(
                    p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata, p.error_code
                )
                for p in part
            ]
        yield
    return OffsetFetchResponse(topics=topics)
