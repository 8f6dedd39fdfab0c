"""The streaming reader: offsets, admission control, AvailableNow, lag.

PySpark keeps one reader for the life of a query in a worker beside the driver, and calls ``read`` in tasks on a copy.
Offsets in the checkpoint have the form of Spark's own Kafka connector.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from oncelog.errors import KafkaError
from oncelog.spark.cluster import Cluster
from oncelog.spark.connections import cluster_for
from oncelog.spark.offsets import (
    OffsetRange,
    describe_loss,
    from_json,
    limit_offsets,
    loss_error,
    pending,
    to_json,
)
from oncelog.spark.options import EARLIEST, LATEST, SourceOptions
from oncelog.spark.reading import (
    earliest_and_latest,
    offsets_at,
    plan_tasks,
    read_partition,
    subscribed_partitions,
)
from oncelog.types import IsolationLevel, TopicPartition

logger = logging.getLogger(__name__)

Json = dict[str, dict[str, int]]

LATEST_KEPT_S = 0.05
"""How long the end of the log, once asked, counts as current: an idle query asks some 90 times a second."""
PARTITIONS_KEPT_S = 5.0
"""How long the list of partitions counts as current; new ones are read from their beginning."""


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what lies between two offsets of each partition; keeps nothing that the checkpoint does not hold."""

    def __init__(
        self,
        options: SourceOptions,
        connect: Callable[[SourceOptions], Cluster] = cluster_for,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options
        self._connect = connect
        self._now_s = now_s
        self._partitions: list[TopicPartition] = []
        self._partitions_asked_s = -PARTITIONS_KEPT_S
        self._latest: dict[TopicPartition, int] = {}
        self._latest_asked_s = -LATEST_KEPT_S
        self._target: dict[TopicPartition, int] | None = None
        self._last_trigger_s: float | None = None
        self._told_group: Json | None = None

    # --- offsets, on the driver -----------------------------------------------------------------------------------

    def initialOffset(self) -> Json:
        """Where a query without a checkpoint starts."""
        options, cluster = self._options, self._connect(self._options)
        partitions = self._current_partitions()
        return to_json(offsets_at(cluster, options, options.starting, partitions, options.by_timestamp))

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:
        """Where the next batch ends; ``start`` itself where there is to be none yet."""
        self._tell_group(start)
        begin = from_json(start)
        latest = self._target if self._target is not None else self._current_latest()
        begin |= self._beginnings({partition for partition in latest if partition not in begin})
        self._check_loss(begin, latest)
        end = {partition: max(offset, begin[partition]) for partition, offset in latest.items()}
        if isinstance(limit, ReadAllAvailable):
            return to_json(end)
        if self._too_few(pending(begin, end)):
            return start
        if isinstance(limit, ReadMaxRows):
            end = limit_offsets(begin, end, limit.max_rows)
        return to_json(end)

    def _too_few(self, available: int) -> bool:
        """Whether to wait for more, as ``minOffsetsPerTrigger`` asks; never when the query ends at a target.

        As in Spark's own connector a query waits for nothing when it starts, and then for ``maxTriggerDelay`` at most.
        """
        least = self._options.min_offsets_per_trigger
        if least is None or self._target is not None:
            return False
        now_s, last_s = self._now_s(), self._last_trigger_s
        due = last_s is None or (now_s - last_s) * 1000 >= self._options.max_trigger_delay_ms
        if not due and available < least:
            return True
        self._last_trigger_s = now_s
        return False

    def prepareForTriggerAvailableNow(self) -> None:
        self._partitions_asked_s = self._latest_asked_s = -PARTITIONS_KEPT_S
        self._target = dict(self._current_latest())

    def reportLatestOffset(self) -> Json | None:
        """The end of the log, for the progress report: with its endOffset, the lag (:func:`lag`)."""
        return to_json(self._latest) if self._latest else None

    def _current_partitions(self) -> list[TopicPartition]:
        if self._now_s() - self._partitions_asked_s >= PARTITIONS_KEPT_S:
            self._partitions = subscribed_partitions(self._connect(self._options), self._options)
            self._partitions_asked_s = self._now_s()
        return self._partitions

    def _current_latest(self) -> dict[TopicPartition, int]:
        if self._now_s() - self._latest_asked_s >= LATEST_KEPT_S:
            questions = dict.fromkeys(self._current_partitions(), LATEST)
            self._latest = dict(self._connect(self._options).list_offsets(questions, self._options.isolation))
            self._latest_asked_s = self._now_s()
        return self._latest

    def _beginnings(self, partitions: set[TopicPartition]) -> dict[TopicPartition, int]:
        """First offsets of partitions that the checkpoint does not know yet."""
        if not partitions:
            return {}
        questions = dict.fromkeys(sorted(partitions), EARLIEST)
        return dict(self._connect(self._options).list_offsets(questions, IsolationLevel.READ_UNCOMMITTED))

    def _check_loss(self, begin: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]) -> None:
        """Partitions that vanished or ended before where the query is; deleted beginnings are seen when planning."""
        self._report(describe_loss(begin, begin, latest))

    def _report(self, lost: Sequence[str]) -> None:
        if not lost:
            return
        if self._options.fail_on_data_loss:
            raise loss_error(lost)
        logger.warning("%s; going on, as failOnDataLoss is false", "; ".join(lost))

    # --- tasks ----------------------------------------------------------------------------------------------------

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        begin, until = from_json(start), from_json(end)
        begin |= self._beginnings({partition for partition in until if partition not in begin})
        wanted = [partition for partition in sorted(until) if until[partition] > begin[partition]]
        if not wanted:
            return []
        earliest, latest = earliest_and_latest(self._connect(self._options), self._options, wanted)
        self._report(describe_loss({partition: begin[partition] for partition in wanted}, earliest, latest))
        ranges = [
            OffsetRange(partition, max(begin[partition], earliest[partition]), min(until[partition], latest[partition]))
            for partition in wanted
        ]
        return plan_tasks(self._options, ranges)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_partition(self._options, partition)

    # --- after a batch --------------------------------------------------------------------------------------------

    def commit(self, end: Json) -> None:
        """Nothing: Spark calls this when it plans the batch after next, and for the last one never."""

    def _tell_group(self, reached: Json) -> None:
        """Copy the position to the consumer group of ``commitOffsetsToGroup``, for tools that show lag.

        Spark plans from ``reached`` only once everything before it is done. The checkpoint alone decides where a
        query goes on, so a group that does not take the position, as one with members of its own does not, is no
        reason to stop.
        """
        group = self._options.commit_group
        if not group or reached == self._told_group:
            return
        self._told_group = reached
        try:
            self._connect(self._options).commit_offsets(group, from_json(reached))
        except KafkaError as error:
            logger.warning("commitOffsetsToGroup: group %r was not told the position: %s", group, error)
