"""Reads each partition of a Fetch. Called only by ``fetch``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows, allows_cluster
from oncelog.broker.core.storage.partition import Partition
from oncelog.broker.log.results import LogRead
from oncelog.errors import NONE, CorruptLogError, Error, StorageError
from oncelog.protocol.acls import Operation
from oncelog.protocol.fetch_fast import FetchAsked, FetchedPartition, FetchPosition, PartitionKey
from oncelog.types import READ_COMMITTED, IsolationLevel, TopicPartition, new_tuple

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import FetchPorts

FIRST_WITH_LEADERS = 16
SENT_WITH_LEADER = (Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH)
"""Errors with which the answer names the current leader (KIP-951): in Fetch from version 16 on, in ShareFetch and
ShareAcknowledge always."""


PartitionAnswer = tuple[FetchedPartition, bool, Partition | None]
"""The result for one partition: the answer, whether the fetch must be answered at once because of it, and the partition
(None if no partition was read).
"""


def _may_read(ports: FetchPorts, context: RequestContext, request: FetchAsked, key: PartitionKey) -> bool:
    if request.replica_id >= 0:
        return allows_cluster(ports, context, Operation.CLUSTER_ACTION)
    name = key[0]
    return not name or allows(ports, context, Operation.READ, TOPIC, name)


def max_bytes(ports: FetchPorts, request: FetchAsked) -> int:
    """The limit in bytes on the whole answer."""
    asked, most = request.max_bytes, ports.config.fetch_max_bytes
    return asked if asked < most else most


def read_all(
    ports: FetchPorts,
    context: RequestContext,
    request: FetchAsked,
    positions: dict[PartitionKey, FetchPosition],
    isolation: IsolationLevel,
) -> tuple[list[PartitionAnswer], bool]:
    """The answer for every partition, and whether the fetch need not wait: there is enough data, or something to report
    at once.

    Partitions use up the byte limit in serving order; the first batch is returned even if it exceeds the limit.
    """
    left = max_bytes(ports, request)
    answers: list[PartitionAnswer] = []
    total, at_once = 0, False
    for key, position in positions.items():
        answer = read_partition(ports, context, request, key, position, isolation, left, not total)
        data, is_reason, _ = answer
        size_bytes = data.size_bytes
        if size_bytes:
            total += size_bytes
            left = left - size_bytes if size_bytes < left else 0
        at_once = at_once or is_reason
        answers.append(answer)
    return answers, at_once or total >= request.min_bytes


def read_partition(
    ports: FetchPorts,
    context: RequestContext,
    request: FetchAsked,
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
        leader = partition.replicas.leader, partition.leader_epoch
        return _error(key, Error.NOT_LEADER_OR_FOLLOWER, leader if context.api_version >= FIRST_WITH_LEADERS else None)
    log = partition.log
    partition.reads += 1
    if log.failed is not None:
        partition.failed_reads += 1
        return _error(key, Error.KAFKA_STORAGE_ERROR)
    _, epoch, offset, last_fetched_epoch, _, limit = position
    if epoch >= 0 or request.replica_id >= 0:
        error = partition.check_leader_epoch(epoch) if epoch >= 0 else NONE  # a negative epoch asks for no check
        if error is NONE and request.replica_id >= 0:
            # every follower's fetch is refused: no node replicates another node's log by Fetch
            error = Error.NOT_LEADER_OR_FOLLOWER
        if error is not NONE:
            leader = context.session.node_id or ports.node.node_id, partition.leader_epoch
            has_leader = error in SENT_WITH_LEADER and context.api_version >= FIRST_WITH_LEADERS
            return _error(key, error, leader if has_leader else None)
    high_watermark, log_start_offset = log.high_watermark, log.log_start_offset
    # Reading a property takes as long as many steps, and most often no transaction is open.
    last_stable_offset = log.last_stable_offset if log.producers.unstable else high_watermark
    committed = isolation is READ_COMMITTED
    aborted: list[tuple[int, int]] | None = [] if committed else None
    if last_fetched_epoch >= 0:
        epoch, end_offset = log.end_offset_for_epoch(last_fetched_epoch)
        if end_offset < 0:
            return _error(key, Error.OFFSET_OUT_OF_RANGE)
        if epoch < last_fetched_epoch or end_offset < offset:
            diverging = FetchedPartition(
                key,
                NONE,
                high_watermark,
                last_stable_offset,
                log_start_offset,
                aborted,
                (),
                0,
                (epoch, end_offset),
                None,
            )
            return diverging, True, partition
    bound = last_stable_offset if committed else high_watermark
    try:
        read = log.read(offset, left if left < limit else limit, bound, at_least_one_batch)
        if not isinstance(read, LogRead):
            return _error(key, read)
        slices, size_bytes, _, upper_bound_offset = read
        if size_bytes and committed:
            aborted = log.aborted_transactions(offset, upper_bound_offset)
    except (StorageError, CorruptLogError) as failure:
        return _error(key, partition.unreadable(failure))
    fields = key, NONE, high_watermark, last_stable_offset, log_start_offset, aborted, slices, size_bytes, None, None
    return new_tuple(FetchedPartition, fields), False, partition


def _not_asked(key: PartitionKey, error: Error) -> PartitionAnswer:
    """The answer for a partition that was not read; the request continues to wait for its other partitions."""
    data, _, _ = _error(key, error)
    return data._replace(aborted=()), False, None


def _error(key: PartitionKey, error: Error, leader: tuple[int, int] | None = None) -> PartitionAnswer:
    return FetchedPartition(key, error, -1, -1, -1, None, (), 0, None, leader), True, None
