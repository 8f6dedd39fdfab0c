"""ListOffsets (key 2), versions 1-11.

Version 2 adds the isolation level, 4 the leader epoch, 7 the offset of the greatest timestamp (-3), 8 the earliest
local offset (-4), 9 the latest tiered offset (-5), 10 a timeout, 11 the earliest pending upload (-6). Nothing is tiered
here, so -4 is the log's start, and -5 and -6 are unknown. Source: Kafka's ``ReplicaManager.fetchOffset`` and
``Partition.fetchOffsetForTimestamp``.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.broker.core.storage.partition import Partition
from oncelog.errors import CorruptLogError, Error, StorageError
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from oncelog.protocol.generated.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from oncelog.runtime.deferred import Deferred
from oncelog.types import IsolationLevel, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import PartitionPorts


LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
FIRST_VERSION_OF = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
FIRST_WITH_LEADER_EPOCH = 4
ISOLATION_LEVELS = frozenset(IsolationLevel)
CONSUMER_REPLICA = -1
DEBUGGING_REPLICA = -2


def handle(
    ports: PartitionPorts, context: RequestContext, request: ListOffsetsRequest
) -> Deferred[ListOffsetsResponse]:
    return ports.tasks.begin(_look_up_each(ports, context, request), context)


def _look_up_each(
    ports: PartitionPorts, context: RequestContext, request: ListOffsetsRequest
) -> Work[ListOffsetsResponse]:
    isolated = request.isolation_level in ISOLATION_LEVELS
    seen: dict[str, Counter[int]] = {}
    hidden: set[str] = set()
    for topic in request.topics:
        if topic.name not in seen:
            seen[topic.name] = Counter()
            if not allows(ports, context, Operation.DESCRIBE, TOPIC, topic.name):
                hidden.add(topic.name)
        seen[topic.name].update([asked.partition_index for asked in topic.partitions])
    topics: list[ListOffsetsTopicResponse] = []
    repeated: set[tuple[str, int]] = set()

    def answer(topic: ListOffsetsTopic, asked: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
        if topic.name in hidden:
            return _refused(asked, Error.TOPIC_AUTHORIZATION_FAILED)
        if not isolated or seen[topic.name][asked.partition_index] > 1:
            return _refused(asked, Error.INVALID_REQUEST)
        return _answer(ports, context, request, topic.name, asked)

    def is_first(topic: ListOffsetsTopic, asked: ListOffsetsPartition) -> bool:
        """Whether a partition occurs for the first time; a partition that occurs again is refused once."""
        if seen[topic.name][asked.partition_index] == 1:
            return True
        key = topic.name, asked.partition_index
        is_new = key not in repeated
        repeated.add(key)
        return is_new

    for topic in request.topics:
        found: list[ListOffsetsPartitionResponse] = []
        for asked in topic.partitions:
            if is_first(topic, asked):
                found.append(answer(topic, asked))
                # a lookup by timestamp reads index files, so other work may run between two of them
                if asked.timestamp >= 0:
                    yield
        if found:
            topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=found))
    return ListOffsetsResponse(topics=topics)


def _answer(
    ports: PartitionPorts, context: RequestContext, request: ListOffsetsRequest, topic: str, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    if asked.timestamp < 0 and context.api_version < FIRST_VERSION_OF.get(asked.timestamp, 0):
        return _refused(asked, Error.UNSUPPORTED_VERSION)
    if asked.timestamp < EARLIEST_PENDING_UPLOAD:
        return _refused(asked, Error.UNSUPPORTED_VERSION)
    partition = ports.led_partition(context, TopicPartition(topic, asked.partition_index))
    if isinstance(partition, Error):
        return _refused(asked, partition)
    if partition.failed:
        return _refused(asked, Error.KAFKA_STORAGE_ERROR)
    error = partition.check_leader_epoch(asked.current_leader_epoch)
    if error is not Error.NONE:
        return _refused(asked, error)
    try:
        timestamp, offset, epoch = _look_up(partition, asked.timestamp, _bound(partition, request))
    except (StorageError, CorruptLogError) as failure:
        return _refused(asked, partition.unreadable(failure))
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        error_code=Error.NONE,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=epoch if context.api_version >= FIRST_WITH_LEADER_EPOCH else -1,
    )


def _bound(partition: Partition, request: ListOffsetsRequest) -> int:
    """The first offset that the requester may not see: for consumers by isolation level, for replicas the log end
    offset."""
    if request.replica_id not in (CONSUMER_REPLICA, DEBUGGING_REPLICA):
        return partition.log.log_end_offset
    return partition.readable_to(IsolationLevel(request.isolation_level))


def _look_up(partition: Partition, timestamp: int, bound: int) -> tuple[int, int, int]:
    """Timestamp, offset and leader epoch of the record found; each -1 if there is none below ``bound``."""
    log = partition.log
    match timestamp:
        case _ if timestamp == LATEST:
            return -1, bound, partition.leader_epoch
        case _ if timestamp in (EARLIEST, EARLIEST_LOCAL):
            epoch = log.leader_epoch_cache.epoch_for_offset(log.log_start_offset)
            return -1, log.log_start_offset, epoch if epoch is not None else -1
        case _ if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            return -1, -1, -1
        case _ if timestamp == MAX_TIMESTAMP:
            found = log.offset_of_max_timestamp()
        case _:
            found = log.offset_for_timestamp(timestamp)
    if found is None or found.offset >= bound:
        return -1, -1, -1
    return found.timestamp, found.offset, found.leader_epoch


def _refused(asked: ListOffsetsPartition, error: Error) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index, error_code=error, timestamp=-1, offset=-1, leader_epoch=-1
    )
