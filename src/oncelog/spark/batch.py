"""Batch reads: a range of each partition, fixed when the plan is made. Called by Spark through ``source``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from oncelog.spark.connections import cluster_for
from oncelog.spark.offsets import OffsetRange, describe_loss, loss_error
from oncelog.spark.options import ByTimestampStrategy, SourceOptions
from oncelog.spark.reading import earliest_and_latest, offsets_at, plan_tasks, read_partition, subscribed_partitions


class BatchReader(DataSourceReader):
    """Reads a range of each partition, fixed when the plan is made."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        cluster = cluster_for(options)
        partitions = subscribed_partitions(cluster, options)
        if not partitions:
            return []
        start = offsets_at(cluster, options, options.starting, partitions, options.by_timestamp)
        end = offsets_at(cluster, options, options.ending, partitions, ByTimestampStrategy.LATEST)
        earliest, latest = earliest_and_latest(cluster, options, partitions)
        lost = describe_loss(start, earliest, latest)
        if lost and options.fail_on_data_loss:
            raise loss_error(lost)
        ranges = [
            OffsetRange(partition, max(start[partition], earliest[partition]), min(end[partition], latest[partition]))
            for partition in partitions
        ]
        return plan_tasks(options, ranges)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_partition(self._options, partition)
