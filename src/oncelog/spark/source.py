"""``format("oncelog")``: the data source, and its batch reader.

PySpark finds it by itself through the package ``pyspark_oncelog``, pickles it, and calls it on the driver and in
tasks. Streaming reads: :mod:`oncelog.spark.stream`; writes: :mod:`oncelog.spark.sink`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from oncelog.errors import ConfigError
from oncelog.spark.connections import cluster_for
from oncelog.spark.offsets import OffsetRange, describe_loss, loss_error
from oncelog.spark.options import (
    ByTimestampStrategy,
    SourceOptions,
    includes_headers,
    parse_sink_options,
    parse_source_options,
)
from oncelog.spark.reading import (
    HEADERS_SCHEMA,
    SCHEMA,
    earliest_and_latest,
    offsets_at,
    plan_tasks,
    read_partition,
    subscribed_partitions,
)
from oncelog.spark.sink import BatchWriter, StreamWriter
from oncelog.spark.sink_protocol import Step
from oncelog.spark.stream import StreamReader


class OncelogDataSource(DataSource):
    """Kafka topics as Spark tables and streams, read and written exactly once."""

    @classmethod
    def name(cls) -> str:
        return "oncelog"

    def schema(self) -> str:
        return HEADERS_SCHEMA if includes_headers(self._options) else SCHEMA

    @property
    def _options(self) -> Mapping[str, str]:
        return cast(Mapping[str, str], self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        return BatchReader(parse_source_options(self._options, streaming=False))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return StreamReader(parse_source_options(self._options, streaming=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        if overwrite:
            raise ConfigError("A topic cannot be overwritten: use mode('append')")
        return BatchWriter(schema, parse_sink_options(self._options, streaming=False), self.observe)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        return StreamWriter(schema, parse_sink_options(self._options, streaming=True), self.observe)

    def observe(self, step: Step, batch_id: int | None) -> None:
        """Called on the driver at each step of a commit; a subclass may watch, or crash there in a test."""


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
