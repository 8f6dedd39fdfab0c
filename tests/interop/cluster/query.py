"""A streaming query without Spark: the shipped source and both ways of the shipped sink, around a checkpoint on
disk.

Spark's part is done here: write down a batch's plan, run the batch, repeat it if it failed, write down that it has
ended. The writers' way runs each writer in a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from pyspark.sql.streaming.datasource import ReadAllAvailable

from oncelog.errors import KafkaError, OncelogError
from oncelog.records.batch import Record, encode_batch
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.kafka.interface import OffsetRange, PartitionBatch
from oncelog.spark.kafka.kafka_cluster import KafkaCluster as SparkCluster
from oncelog.spark.options import (
    SinkOptions,
    SourceOptions,
    parse_sink_options,
    parse_source_options,
)
from oncelog.spark.sink.engine import BatchWrite, SinkRefused, abort, close_batch, commit_batch, ignore, open_batch
from oncelog.spark.sink.marker import Skip
from oncelog.spark.sink.planning import Planned, now_ms, plan_write
from oncelog.spark.source.planned_offsets import DataLoss, Json, Place
from oncelog.spark.source.reader import read_range
from oncelog.spark.source.stream import StreamReader
from tests.interop.cluster.actors import PARTITIONS, Actor
from tests.unit.spark.sink.test_checkpoint import spark_writes

TIMEOUT_MS = 60_000


class Query(Actor):
    """Copies a topic, partition by partition; its batches go through the driver and through writers in turn."""

    def __init__(self, servers: str, source: str, topic: str, checkpoint: Path) -> None:
        super().__init__(servers, topic)
        self._checkpoint = checkpoint
        kafka = {"kafka.bootstrap.servers": servers, "kafka.request.timeout.ms": "5000"}
        self._reading: SourceOptions = parse_source_options(
            {**kafka, "subscribe": source, "startingOffsets": "earliest"}, streaming=True
        )
        self._writing: SinkOptions = parse_sink_options(
            {**kafka, "topic": topic, "checkpointLocation": str(checkpoint)}, streaming=True
        )
        self.repeated = 0
        self.read = 0
        """Rows of the batches that have ended."""

    def work(self) -> None:
        number = 0
        stream = StreamReader(self._reading)
        start: Json = {}
        while not self.ending:
            try:
                start = start or stream.initialOffset()
                end = stream.latestOffset(start, ReadAllAvailable())
            except KafkaError:
                continue
            if end == start:
                self.pause()
                continue
            spark_writes(
                self._checkpoint, number, at_ms=now_ms(), offset=sum(Place.of(end).offsets.values()), ended=False
            )
            while not self._batch(number, stream, start, end):
                self.repeated += 1
            (self._checkpoint / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
            number, start = number + 1, end
            self.step()

    def _batch(self, number: int, stream: StreamReader, start: Json, end: Json) -> bool:
        """Whether the batch is in; if anything fails, all of it is run again, as in Spark."""
        try:
            ranges = [task.value for task in stream.partitions(start, end)]
            rows = {item.partition.partition: list(self._rows(item)) for item in ranges}
            planned = plan_write(self._writing, number)
            what = BatchWrite(planned.plan, self._writing.marker_partition, sum(map(len, rows.values())))
            cluster = cluster_for(self._writing)
            if number % 2:
                batches = list(self._batches(rows))
                ready = replace(what, batches=batches, count=len(batches))
                with cluster.transaction(planned.transactional_id, TIMEOUT_MS) as engine:
                    commit_batch(ready, engine, ignore, lambda text: None, now_ms, planned.remember)
            else:
                self._by_writers(cluster, planned, what, rows)
        except (SinkRefused, DataLoss):
            raise
        except OncelogError:
            return False
        self.read += what.rows or 0
        return True

    def _rows(self, item: OffsetRange) -> Iterator[bytes]:
        for batch in read_range(self._reading, item):
            yield from batch.column("value").to_pylist()

    def _batches(self, rows: dict[int, list[bytes]]) -> Iterator[PartitionBatch]:
        for partition, values in rows.items():
            if values:
                records = [Record(offset, now_ms(), None, value) for offset, value in enumerate(values)]
                yield PartitionBatch(self.topic, partition, len(values), bytes(encode_batch(records)))

    def _by_writers(
        self, cluster: SparkCluster, planned: Planned, what: BatchWrite, rows: dict[int, list[bytes]]
    ) -> None:
        """Like ``spark/executors.py``: fence and decide, have each partition's owner write, end."""
        with cluster.transaction(planned.transactional_id, TIMEOUT_MS) as engine:
            decision = open_batch(what, engine, ignore, now_ms)
            if isinstance(decision, Skip):
                if decision.leave_marker:
                    close_batch(what, engine, ignore, planned.remember)
                return
            producer = engine.producer()

        def write(partition: int) -> None:
            with cluster.transaction(planned.transactional_id, TIMEOUT_MS) as engine:
                engine.join(producer)
                engine.produce(self._batches({partition: rows[partition]}))

        with ThreadPoolExecutor(PARTITIONS) as writers:
            reports = [writers.submit(write, partition) for partition in sorted(rows)]
        with cluster.transaction(planned.transactional_id, TIMEOUT_MS) as engine:
            engine.join(producer)
            failed = next((error for report in reports if (error := report.exception()) is not None), None)
            if failed is not None:
                abort(engine, failed)
                raise failed
            close_batch(what, engine, ignore, planned.remember)
