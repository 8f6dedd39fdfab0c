"""Batch reads: of each partition, one range of offsets that is fixed when the read is planned.

A reader is made by ``data_source``, and called by Spark.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from oncelog.errors import ConfigError
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.kafka.interface import OffsetRange
from oncelog.spark.options import EARLIEST, ByTimestampStrategy, SourceOptions
from oncelog.spark.source.planned_offsets import check_order, describe_beyond, describe_loss, loss_error
from oncelog.spark.source.reader import (
    offsets_at,
    offsets_of_ends,
    plan_tasks,
    read_partition,
    subscribed_partitions,
)
from oncelog.spark.versions import VersionChecked
from oncelog.types import IsolationLevel

logger = logging.getLogger(__name__)


class BatchReader(VersionChecked, DataSourceReader):
    """Reads a range of each partition that is fixed when the plan is made."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        cluster = cluster_for(options)
        partitions = subscribed_partitions(cluster, options)
        if not partitions:
            return []
        # Topic ids are read before offsets: a topic that is recreated later does not match the ids in the tasks'
        # requests
        ids = cluster.topic_ids(sorted({partition.topic for partition in partitions}))
        start = offsets_at(cluster, options, options.starting, partitions, options.by_timestamp)
        end = offsets_at(cluster, options, options.ending, partitions, ByTimestampStrategy.LATEST)
        check_order(start, end, options.starting, options.ending)
        earliest = cluster.list_offsets(dict.fromkeys(partitions, EARLIEST), IsolationLevel.READ_UNCOMMITTED)
        ends = cluster.settled_ends(partitions, options.isolation)
        latest = offsets_of_ends(ends)
        lost, beyond = describe_loss(start, earliest, latest), describe_beyond(end, latest)
        if options.fail_on_data_loss and lost:
            raise loss_error(lost)
        if options.fail_on_data_loss and beyond:
            raise ConfigError(
                f"{'; '.join(beyond)}: correct {options.ending.option}, or set failOnDataLoss to false to read what "
                "is there"
            )
        for text in [*lost, *beyond]:
            logger.warning("%s; continuing with the records that exist, because failOnDataLoss is false", text)
        ranges = [
            OffsetRange(
                partition,
                max(start[partition], earliest[partition]),
                min(end[partition], latest[partition]),
                ends[partition].leader_epoch,
                ids.get(partition.topic, ""),
            )
            for partition in partitions
        ]
        return plan_tasks(options, ranges)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_partition(self._options, partition)
