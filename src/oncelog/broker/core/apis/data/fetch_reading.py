"""Reads each partition of a Fetch. Called only by ``fetch``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from oncelog.broker.core.fetching.fetch_sessions import FetchPosition, PartitionKey
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows, allows_cluster
from oncelog.broker.core.storage.partition import Partition
from oncelog.broker.log.results import LogRead
from oncelog.errors import NONE, CorruptLogError, Error, StorageError
from oncelog.protocol.acls import Operation
from oncelog.protocol.fetch_fast import set_slices
from oncelog.protocol.generated.fetch_request import FetchRequest
from oncelog.protocol.generated.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    LeaderIdAndEpoch,
    PartitionData,
    SnapshotId,
)
from oncelog.types import READ_COMMITTED, IsolationLevel, TopicPartition, new_tuple

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import FetchPorts

FIRST_WITH_LEADERS = 16
SENT_WITH_LEADER = (Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH)
"""Errors whose answers name the current leader (KIP-951): those of Fetch from version 16 on, those of ShareFetch and
ShareAcknowledge always.
"""


NO_DIVERGENCE, NO_LEADER, NO_SNAPSHOT = EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId()
"""Values of nearly every answer; never changed."""
NO_REPLICA = -1


class PartitionAnswer(NamedTuple):
    """The answer for one partition, and whether it is a reason not to wait. ``partition`` is None if it was not
    read."""

    key: PartitionKey
    data: PartitionData
    size_bytes: int
    at_once: bool
    partition: Partition | None


def is_from_replica(request: FetchRequest) -> bool:
    """Whether the request comes from a follower; from version 15 on its id is in ``replica_state``."""
    return request.replica_id >= 0 or request.replica_state.replica_id >= 0


def _may_read(ports: FetchPorts, context: RequestContext, request: FetchRequest, key: PartitionKey) -> bool:
    if is_from_replica(request):
        return allows_cluster(ports, context, Operation.CLUSTER_ACTION)
    name = key[0]
    return not name or allows(ports, context, Operation.READ, TOPIC, name)


def max_bytes(ports: FetchPorts, request: FetchRequest) -> int:
    """The limit of the whole answer."""
    asked, most = request.max_bytes, ports.config.fetch_max_bytes
    return asked if asked < most else most


def read_all(
    ports: FetchPorts,
    context: RequestContext,
    request: FetchRequest,
    positions: dict[PartitionKey, FetchPosition],
    isolation: IsolationLevel,
) -> list[PartitionAnswer]:
    """The answer for every partition. Byte limits are used up in serving order; the first batch is returned even if it
    exceeds them."""
    left = max_bytes(ports, request)
    at_least_one_batch = True
    answers = []
    for key, position in positions.items():
        answer = read_partition(ports, context, request, key, position, isolation, left, at_least_one_batch)
        if answer.size_bytes:
            at_least_one_batch = False
            left = left - answer.size_bytes if answer.size_bytes < left else 0
        answers.append(answer)
    return answers


def read_partition(
    ports: FetchPorts,
    context: RequestContext,
    request: FetchRequest,
    key: PartitionKey,
    position: FetchPosition,
    isolation: IsolationLevel,
    left: int,
    at_least_one_batch: bool,
) -> PartitionAnswer:
    if ports.authorizer is not None and not _may_read(ports, context, request, key):
        return _not_asked(key, Error.TOPIC_AUTHORIZATION_FAILED)
    name, topic_id, index = key
    partition = ports.partition(new_tuple(TopicPartition, (name, index)))
    if partition is None or (topic_id and partition.topic_id != topic_id):
        unknown_id = topic_id and not name
        return _not_asked(key, Error.UNKNOWN_TOPIC_ID if unknown_id else Error.UNKNOWN_TOPIC_OR_PARTITION)
    if partition.replicas is not None and partition.replicas.leader != context.session.node_id:
        leader = LeaderIdAndEpoch(partition.replicas.leader, partition.leader_epoch)
        return _error(key, Error.NOT_LEADER_OR_FOLLOWER, leader if context.api_version >= FIRST_WITH_LEADERS else None)
    log = partition.log
    partition.reads += 1
    if log.failed is not None:
        partition.failed_reads += 1
        return _error(key, Error.KAFKA_STORAGE_ERROR)
    epoch = position.current_leader_epoch
    error = partition.check_leader_epoch(epoch) if epoch >= 0 else NONE  # a negative epoch asks for no check
    if error is NONE and is_from_replica(request):
        error = Error.NOT_LEADER_OR_FOLLOWER  # always: no node replicates another one's log by Fetch
    if error is not NONE:
        leader = LeaderIdAndEpoch(context.session.node_id or ports.node.node_id, partition.leader_epoch)
        has_leader = error in SENT_WITH_LEADER and context.api_version >= FIRST_WITH_LEADERS
        return _error(key, error, leader if has_leader else None)
    high_watermark, last_stable_offset = log.high_watermark, log.last_stable_offset
    committed = isolation is READ_COMMITTED
    data = PartitionData(
        index,
        NONE,
        high_watermark,
        last_stable_offset,
        log.log_start_offset,
        NO_DIVERGENCE,
        NO_LEADER,
        NO_SNAPSHOT,
        [] if committed else None,
        NO_REPLICA,
        b"",
    )
    if position.last_fetched_epoch >= 0:
        epoch, end_offset = log.end_offset_for_epoch(position.last_fetched_epoch)
        if end_offset < 0:
            return _error(key, Error.OFFSET_OUT_OF_RANGE)
        if epoch < position.last_fetched_epoch or end_offset < position.fetch_offset:
            data.diverging_epoch = EpochEndOffset(epoch, end_offset)
            return PartitionAnswer(key, data, 0, True, partition)
    bound = last_stable_offset if committed else high_watermark
    limit = left if left < position.max_bytes else position.max_bytes
    try:
        read = log.read(position.fetch_offset, limit, bound, at_least_one_batch=at_least_one_batch)
        if not isinstance(read, LogRead):
            return _error(key, read)
        size_bytes = read.size_bytes
        if size_bytes:
            set_slices(data, read.slices, size_bytes)
            if committed:
                aborted = log.aborted_transactions(position.fetch_offset, read.upper_bound_offset)
                data.aborted_transactions = [AbortedTransaction(*entry) for entry in aborted]
    except (StorageError, CorruptLogError) as failure:
        return _error(key, partition.unreadable(failure))
    return new_tuple(PartitionAnswer, (key, data, size_bytes, False, partition))


def _not_asked(key: PartitionKey, error: Error) -> PartitionAnswer:
    """The answer for a partition that was not read; the request continues to wait for its other partitions."""
    answer = _error(key, error)
    answer.data.aborted_transactions = []
    return answer._replace(at_once=False)


def _error(key: PartitionKey, error: Error, current_leader: LeaderIdAndEpoch | None = None) -> PartitionAnswer:
    data = PartitionData(
        partition_index=key[2],
        error_code=error,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None,
        preferred_read_replica=NO_REPLICA,
        records=b"",
    )
    if current_leader is not None:
        data.current_leader = current_leader
    return PartitionAnswer(key, data, 0, True, None)
