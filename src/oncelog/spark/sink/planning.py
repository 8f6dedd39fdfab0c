"""Plans a write from its options, the query's checkpoint and the cluster.

Called on the driver by ``format("oncelog")`` and by ``for_each_batch``, whether the driver or the executors write: all
micro-batches are planned by this code.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oncelog.runtime import real_time
from oncelog.runtime.chance import uuid4
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.kafka.interface import ProducerTransaction
from oncelog.spark.options import SinkOptions
from oncelog.spark.process import this_process
from oncelog.spark.sink.checkpoint import Checkpoint, marker_group, named_group, plan_of
from oncelog.spark.sink.engine import EnginePorts, Observer, WriteEngine, ignore
from oncelog.spark.sink.full_refresh import check_full_refresh
from oncelog.spark.sink.marker import BatchPlan, Found, LastWrite, Marker, NamedWrite
from oncelog.spark.sink.rows import Encoding, SinkColumns
from oncelog.spark.sink.sink_topics import destinations
from oncelog.spark.sink.topic_transaction import TopicTransaction
from oncelog.types import CONSUMER_OFFSETS_TOPIC

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """A write that is about to begin.

    :param plan: None for a batch write without an id.
    :param transactional_id: also the marker's group.
    :param remember: stores this write in the checkpoint.
    """

    plan: BatchPlan | NamedWrite | None
    transactional_id: str
    remember: Callable[[LastWrite], None]

    @property
    def batch_id(self) -> int | None:
        return None if self.plan is None else self.plan.number


class Checkpoints:
    """The checkpoints of queries by their location, with their file systems; kept by the process."""

    def __init__(self) -> None:
        self._opened: dict[str, Checkpoint] = {}

    def at(self, location: str) -> Checkpoint:
        found = self._opened.get(location)
        if found is None:
            found = self._opened.setdefault(location, Checkpoint.open(location))
        return found

    def close(self) -> None:
        self._opened.clear()


def checkpoint_at(location: str) -> Checkpoint:
    """The checkpoint of a query, opened once in this process."""
    return this_process().part(Checkpoints).at(location)


def plan_write(options: SinkOptions, batch_id: int | None, siblings: Collection[str] | None = ()) -> PendingWrite:
    """The plan of the next write.

    :param batch_id: the micro-batch; None for a batch write.
    :param siblings: groups of the query's other sinks; None if they are not known.
    :raises CheckpointError: the plan cannot be read, so a restored checkpoint could not be detected.
    """
    prefix = options.transactional_id_prefix
    if batch_id is not None:
        checkpoint = checkpoint_at(options.checkpoint_location)
        group = group_of(options, checkpoint)
        facts = cluster_for(options).facts(group)
        if options.offsets_retention_ms is not None:
            facts = facts._replace(retention_ms=options.offsets_retention_ms)
        plan = plan_of(checkpoint, batch_id, group, facts, options.on_missing_marker, siblings)
        marker = options.marker_partition.topic
        apart = marker not in (options.topic, CONSUMER_OFFSETS_TOPIC)
        plan = plan.with_marker_topic(marker if apart else "", cluster_for(options).topic_ids)
        plan = replace(plan, topics=options.named_topics)
        if plan.remembered is None and siblings is not None:
            plan = replace(plan, others=_in_the_same_topics(options, checkpoint, plan, siblings))
        return PendingWrite(plan, group, checkpoint.remember)
    if options.batch_id is not None:
        group = named_group(prefix, options.batch_id, options.topic)
        named = NamedWrite(group, prefix, options.batch_id, options.on_missing_marker)
        return PendingWrite(named, group, _nothing)
    return PendingWrite(None, f"{prefix}oncelog-{uuid4().hex}", _nothing)


def _in_the_same_topics(
    options: SinkOptions, checkpoint: Checkpoint, plan: BatchPlan, siblings: Collection[str]
) -> dict[str, Marker]:
    """The markers of the query's other groups that may refer to the same records, if the query's sink got another name
    or prefix.

    Each marker is read after the group's writer was fenced, because that is an earlier run of this query.
    """
    found: dict[str, Marker] = {}
    for one in checkpoint.last_writes():
        if one.table or one.cluster_id != plan.cluster_id or one.group in (plan.group, *siblings):
            continue
        names = one.topics[-1].topics if one.topics else ()
        if not names or not plan.topics or set(names) & set(plan.topics):
            marker = _fenced(options, one.group)
            found |= {one.group: marker} if isinstance(marker, Marker) else {}
    return found


def encoding_for(schema: StructType, options: SinkOptions) -> Encoding:
    """Check the columns and look up the partition counts; on the driver. Raises ConfigError for a topic
    that does not exist.
    """
    columns = SinkColumns.of(schema, options.topic)
    cluster = cluster_for(options)
    counts = destinations(cluster, options)
    return Encoding(
        columns,
        options.topic,
        counts,
        options.compression,
        options.batch_size_bytes,
        options.compression_level,
        options.cluster.max_request_bytes,
        bool(options.topics),
    )


def begin_micro_batch(options: SinkOptions, batch_id: int | None = None, siblings: Collection[str] | None = ()) -> None:
    """Check for a full refresh before the rows of a micro-batch are computed, because computing may take longer than
    markers are retained.

    Raises SinkRefused for a full refresh that the options do not allow.

    :param batch_id: None for the batch that the checkpoint planned last.
    """
    checkpoint = checkpoint_at(options.checkpoint_location)
    cluster = cluster_for(options)
    group = group_of(options, checkpoint)
    check_full_refresh(options, checkpoint, group, checkpoint_at, lambda other: _fenced(options, other))
    if options.offsets_retention_ms is not None:
        return
    if cluster.tells_retention is None:
        cluster.facts(group)  # asks the cluster, unless an earlier batch has already done so
    if cluster.tells_retention:
        return
    number = max(checkpoint.batches("offsets"), default=None) if batch_id is None else batch_id
    if number is None:
        return
    pending = plan_write(options, number, siblings)
    engine_for(pending, options, ignore).keep_proof()


def engine_for(
    pending: PendingWrite, options: SinkOptions, observe: Observer, timeouts_ms: Sequence[int] = ()
) -> WriteEngine[TopicTransaction]:
    """The engine for a pending write into topics; contacts no broker yet.

    :param timeouts_ms: the transaction timeouts to try; empty for the one in the options.
    """

    def with_timeout(timeout_ms: int) -> ProducerTransaction:
        return cluster_for(options).transaction(pending.transactional_id, timeout_ms)

    transaction = TopicTransaction(
        with_timeout, timeouts_ms or (options.transaction_timeout_ms,), options.marker_partition
    )
    return WriteEngine(pending.plan, transaction, EnginePorts(observe, logger.warning, now_ms, pending.remember))


def _fenced(options: SinkOptions, group: str) -> Found:
    """The marker of another group, read after the group's writer was fenced."""

    def with_timeout(timeout_ms: int) -> ProducerTransaction:
        return cluster_for(options).transaction(group, timeout_ms)

    transaction = TopicTransaction(with_timeout, (options.transaction_timeout_ms,), options.marker_partition)
    transaction.begin()
    return transaction.read_marker()


def group_of(options: SinkOptions, checkpoint: Checkpoint | None = None) -> str:
    """The group of a micro-batch's marker, which is also its transactional id.

    :param checkpoint: the query's checkpoint; None for the one that the options name.
    """
    checkpoint = checkpoint_at(options.checkpoint_location) if checkpoint is None else checkpoint
    return marker_group(options.transactional_id_prefix, checkpoint.query_id(), options.destination, options.sink_name)


def _nothing(last_write: LastWrite) -> None:
    """Does nothing: a batch write has no checkpoint in which to store its last write."""


def now_ms() -> int:
    """The clock of this process, for :func:`oncelog.spark.sink.marker.decide`."""
    return real_time.time_ns() // 1_000_000
