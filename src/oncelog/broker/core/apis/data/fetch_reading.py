"""Reads each partition of a Fetch. Called only by ``fetch``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from oncelog.broker.core.fetching.fetch_sessions import FetchPosition, PartitionKey
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows, allows_cluster
from oncelog.broker.core.storage.partition import Partition
from oncelog.errors import NONE, CorruptLogError, Error, StorageError
from oncelog.protocol.acls import Operation
from oncelog.protocol.fetch_fast import set_slices
from oncelog.protocol.generated.fetch_request import FetchRequest
from oncelog.protocol.generated.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    LeaderIdAndEpoch,
    PartitionData,
)
from oncelog.types import READ_COMMITTED, IsolationLevel, TopicPartition, new_tuple

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import FetchPorts

FIRST_WITH_LEADERS = 16
TOLD_WITH_LEADER = (Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH)
"""From version 16 on, the answer to these errors names the current leader (KIP-951)."""


class PartitionAnswer(NamedTuple):
    """The answer for one partition, and whether it is a reason not to wait."""

    key: PartitionKey
    data: PartitionData
    size_bytes: int
    at_once: bool


def partition_of(ports: FetchPorts, key: PartitionKey) -> Partition | None:
    name, topic_id, index = key
    partition = ports.partition(TopicPartition(name, index))
    if partition is not None and topic_id and partition.topic_id != topic_id:
        return None
    return partition


def is_from_replica(request: FetchRequest) -> bool:
    """Whether the request comes from a follower; from version 15 on its id is in ``replica_state``."""
    return request.replica_id >= 0 or request.replica_state.replica_id >= 0


def may_read(
    ports: FetchPorts, context: RequestContext, request: FetchRequest, key: PartitionKey, *, log: bool = True
) -> bool:
    if ports.authorizer is None:
        return True
    if is_from_replica(request):
        return allows_cluster(ports, context, Operation.CLUSTER_ACTION, log=log)
    name = key[0]
    return not name or allows(ports, context, Operation.READ, TOPIC, name, log=log)


def read_all(
    ports: FetchPorts,
    context: RequestContext,
    request: FetchRequest,
    positions: dict[PartitionKey, FetchPosition],
    isolation: IsolationLevel,
) -> list[PartitionAnswer]:
    """The answer for every partition. Byte limits are used up in serving order; the first batch is returned even if it
    exceeds them."""
    left = min(request.max_bytes, ports.config.fetch_max_bytes)
    at_least_one_batch = True
    answers = []
    for key, position in positions.items():
        answer = read_partition(ports, context, request, key, position, isolation, left, at_least_one_batch)
        if answer.size_bytes:
            at_least_one_batch = False
            left = max(0, left - answer.size_bytes)
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
    if not may_read(ports, context, request, key):
        return _not_asked(key, Error.TOPIC_AUTHORIZATION_FAILED)
    partition = partition_of(ports, key)
    if (
        partition is not None
        and partition.replicas is not None
        and partition.replicas.leader != context.session.node_id
    ):
        leader = LeaderIdAndEpoch(partition.replicas.leader, partition.leader_epoch)
        return _error(key, Error.NOT_LEADER_OR_FOLLOWER, leader if context.api_version >= FIRST_WITH_LEADERS else None)
    if partition is None:
        unknown_id = key[1] and not key[0]
        error = Error.UNKNOWN_TOPIC_ID if unknown_id else Error.UNKNOWN_TOPIC_OR_PARTITION
        return _not_asked(key, error)
    log = partition.log
    partition.reads += 1
    if partition.failed:
        partition.failed_reads += 1
        return _error(key, Error.KAFKA_STORAGE_ERROR)
    error = partition.check_leader_epoch(max(position.current_leader_epoch, -1))  # a negative epoch asks for no check
    if error is NONE and is_from_replica(request):
        error = Error.NOT_LEADER_OR_FOLLOWER  # always: no node replicates another one's log by Fetch
    if error is not NONE:
        leader = LeaderIdAndEpoch(context.session.node_id or ports.node.node_id, partition.leader_epoch)
        is_told = error in TOLD_WITH_LEADER and context.api_version >= FIRST_WITH_LEADERS
        return _error(key, error, leader if is_told else None)
    data = PartitionData(
        partition_index=key[2],
        error_code=NONE,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=[] if isolation is READ_COMMITTED else None,
        preferred_read_replica=-1,
        records=b"",
    )
    if position.last_fetched_epoch >= 0:
        epoch, end_offset = log.end_offset_for_epoch(position.last_fetched_epoch)
        if end_offset < 0:
            return _error(key, Error.OFFSET_OUT_OF_RANGE)
        if epoch < position.last_fetched_epoch or end_offset < position.fetch_offset:
            data.diverging_epoch = EpochEndOffset(epoch, end_offset)
            return PartitionAnswer(key, data, 0, at_once=True)
    bound = partition.readable_to(isolation)
    if not log.log_start_offset <= position.fetch_offset <= log.log_end_offset:
        return _error(key, Error.OFFSET_OUT_OF_RANGE)
    limit = min(left, position.max_bytes)
    try:
        read = log.read(position.fetch_offset, limit, bound, at_least_one_batch=at_least_one_batch)
        if isinstance(read, Error):
            return _error(key, read)
        if read.size_bytes:
            set_slices(data, read.slices)
            if isolation is READ_COMMITTED:
                aborted = log.aborted_transactions(position.fetch_offset, read.upper_bound_offset)
                data.aborted_transactions = [AbortedTransaction(*entry) for entry in aborted]
    except (StorageError, CorruptLogError) as failure:
        return _error(key, partition.unreadable(failure))
    return new_tuple(PartitionAnswer, (key, data, read.size_bytes, False))


def _not_asked(key: PartitionKey, error: Error) -> PartitionAnswer:
    """The answer for a partition that was not read; it does not end the wait of the others."""
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
        preferred_read_replica=-1,
        records=b"",
    )
    if current_leader is not None:
        data.current_leader = current_leader
    return PartitionAnswer(key, data, 0, at_once=True)
