"""DescribeShareGroupOffsets (key 90), versions 0-1: the start offsets of share groups in each partition.

Version 1 adds the lag (KIP-1226): the number of records from the start offset on whose state is not final.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.share.share_requests import ShareRefused, StoredOffset
from oncelog.broker.coordinator.share.state_rules import UNINITIALIZED
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import GROUP, TOPIC, allows
from oncelog.broker.core.security.refusals import MESSAGES
from oncelog.broker.core.sharing.share_partitions import lag_of
from oncelog.broker.metadata.features import SHARE_VERSION
from oncelog.errors import NONE, Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated import describe_share_group_offsets_response as answers
from oncelog.protocol.generated.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from oncelog.protocol.generated.describe_share_group_offsets_response import DescribeShareGroupOffsetsResponse
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.runtime.deferred import Deferred
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SharePorts


def handle(
    ports: SharePorts, context: RequestContext, request: DescribeShareGroupOffsetsRequest
) -> Deferred[DescribeShareGroupOffsetsResponse]:
    return ports.tasks.begin(_describe(ports, context, request), context)


def _describe(
    ports: SharePorts, context: RequestContext, request: DescribeShareGroupOffsetsRequest
) -> Work[DescribeShareGroupOffsetsResponse]:
    groups: list[answers.DescribeShareGroupOffsetsResponseGroup] = []
    for asked in request.groups:
        group = _group(ports, context, asked)
        yield from ports.answer_memory.grow(context, 1 + sum(1 + len(topic.partitions) for topic in group.topics))
        groups.append(group)
        yield
    return DescribeShareGroupOffsetsResponse(groups=groups)


def _group(
    ports: SharePorts, context: RequestContext, asked: DescribeShareGroupOffsetsRequestGroup
) -> answers.DescribeShareGroupOffsetsResponseGroup:
    def refused(error: Error, message: str | None = None) -> answers.DescribeShareGroupOffsetsResponseGroup:
        return answers.DescribeShareGroupOffsetsResponseGroup(
            group_id=asked.group_id, topics=[], error_code=error, error_message=message or MESSAGES.get(error)
        )

    if not ports.metadata.finalized_features.level(SHARE_VERSION):
        return refused(Error.UNSUPPORTED_VERSION)
    if not allows(ports, context, Operation.DESCRIBE, GROUP, asked.group_id):
        return refused(Error.GROUP_AUTHORIZATION_FAILED)
    hidden: list[answers.DescribeShareGroupOffsetsResponseTopic] = []
    places: list[tuple[str, int]] | None = None
    if asked.topics is not None:
        places = []
        for topic in asked.topics:
            if allows(ports, context, Operation.DESCRIBE, TOPIC, topic.topic_name):
                places += [(topic.topic_name, index) for index in topic.partitions]
            else:
                hidden.append(_hidden(topic.topic_name, topic.partitions))
    offsets = ports.groups.share.offsets(asked.group_id, places, context.session.node_id)
    if isinstance(offsets, ShareRefused):
        return refused(*offsets)
    topics: dict[str, answers.DescribeShareGroupOffsetsResponseTopic] = {}
    for offset in offsets:
        if asked.topics is None and not allows(ports, context, Operation.DESCRIBE, TOPIC, offset.name, log=False):
            continue
        shown = topics.setdefault(
            offset.name, answers.DescribeShareGroupOffsetsResponseTopic(offset.name, offset.topic_id or ZERO_UUID, [])
        )
        shown.partitions.append(_partition(ports, offset))
    return answers.DescribeShareGroupOffsetsResponseGroup(
        group_id=asked.group_id, topics=[*topics.values(), *hidden], error_code=NONE, error_message=None
    )


def _hidden(name: str, indexes: list[int]) -> answers.DescribeShareGroupOffsetsResponseTopic:
    error = Error.TOPIC_AUTHORIZATION_FAILED
    return answers.DescribeShareGroupOffsetsResponseTopic(
        name,
        ZERO_UUID,
        [
            answers.DescribeShareGroupOffsetsResponsePartition(
                partition_index=index, start_offset=UNINITIALIZED, error_code=error, error_message=MESSAGES[error]
            )
            for index in indexes
        ],
    )


def _partition(ports: SharePorts, offset: StoredOffset) -> answers.DescribeShareGroupOffsetsResponsePartition:
    partition = ports.partition(TopicPartition(offset.name, offset.partition))
    state = offset.state
    lag = lag_of(state, partition) if state is not None and partition is not None else None
    if state is None or lag is None:
        return answers.DescribeShareGroupOffsetsResponsePartition(
            partition_index=offset.partition, start_offset=UNINITIALIZED
        )
    return answers.DescribeShareGroupOffsetsResponsePartition(
        partition_index=offset.partition,
        start_offset=state.start_offset,
        leader_epoch=max(state.leader_epoch, 0),
        lag=lag,
    )
