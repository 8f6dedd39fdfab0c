"""A streaming query without Spark: the shipped source and both ways of the shipped sink, around a checkpoint on
disk.

Spark's part is done here: write down a batch's plan, run the batch, repeat it if it failed, write down that it has
ended. The writers' way runs each writer in a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql.streaming.datasource import ReadAllAvailable

from oncelog.errors import KafkaError, OncelogError
from oncelog.records.batch import Record, encode_batch
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.kafka.interface import OffsetRange, PartitionBatch
from oncelog.spark.kafka.kafka_cluster import KafkaCluster as SparkCluster
from oncelog.spark.kafka.place import Json, Place
from oncelog.spark.options import (
    SinkOptions,
    SourceOptions,
    parse_sink_options,
    parse_source_options,
)
from oncelog.spark.sink.driver_carrier import DriverCarrier
from oncelog.spark.sink.engine import CarriedRecords, Carrier, Reached, SinkRefused, ignore
from oncelog.spark.sink.planning import engine_for, now_ms, plan_write
from oncelog.spark.sink.topic_transaction import TopicTransaction
from oncelog.spark.source.planned_offsets import DataLoss
from oncelog.spark.source.reader import read_range
from oncelog.spark.source.stream import StreamReader
from tests.compatibility.interop.cluster.actors import PARTITIONS, Actor
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
            batches = list(self._batches(rows))
            carrier: Carrier[TopicTransaction] = DriverCarrier(batches, sum(map(len, rows.values())), len(batches))
            if not number % 2:
                carrier = _Writers(cluster_for(self._writing), planned.transactional_id, batches)
            engine_for(planned, self._writing, ignore, (TIMEOUT_MS,)).write(carrier)
        except (SinkRefused, DataLoss):
            raise
        except OncelogError:
            return False
        self.read += sum(map(len, rows.values()))
        return True

    def _rows(self, item: OffsetRange) -> Iterator[bytes]:
        for batch in read_range(self._reading, item):
            yield from batch.column("value").to_pylist()

    def _batches(self, rows: dict[int, list[bytes]]) -> Iterator[PartitionBatch]:
        for partition, values in rows.items():
            if values:
                records = [Record(offset, now_ms(), None, value) for offset, value in enumerate(values)]
                yield PartitionBatch(self.topic, partition, len(values), bytes(encode_batch(records)))


class _Writers:
    """Carries a batch as the executors do: each partition's owner appends to it, in the transaction of the driver."""

    exact = False
    failures: tuple[type[Exception], ...] = (OncelogError,)

    def __init__(self, cluster: SparkCluster, transactional_id: str, batches: list[PartitionBatch]) -> None:
        self._cluster = cluster
        self._transactional_id = transactional_id
        self._batches = batches
        self.rows = sum(batch.records for batch in batches)

    def carry(self, transaction: TopicTransaction, reached: Reached) -> CarriedRecords:
        producer = transaction.share()

        def write(batch: PartitionBatch) -> None:
            joined = self._cluster.transaction(self._transactional_id, TIMEOUT_MS)
            joined.join(producer)
            joined.produce([batch])

        with ThreadPoolExecutor(PARTITIONS) as writers:
            reports = [writers.submit(write, batch) for batch in self._batches]
        for report in reports:
            report.result()
        return CarriedRecords(self.rows, len(self._batches), 0)
