"""Batches that are expected to be small: one job without Python workers, encoded by the driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from oncelog.records.batch import decode_records
from oncelog.records.partitioner import partition_for_key
from oncelog.spark.executors import Written
from oncelog.spark.executors.barrier import BatchSize
from oncelog.spark.executors.collected import CollectedBatch, Share, collect_rows
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.private_apis import bounds, plans
from oncelog.spark.private_apis.bounds import Bound, ResolvedBounds
from oncelog.spark.process import this_process
from oncelog.spark.session import for_each_batch
from oncelog.spark.sink.rows import BadRow, Encoding, SinkColumns, positions_of
from tests.integration.spark.executors.test_executors import RunningBroker
from tests.integration.spark.kafka_records import committed, create_topic, produce, wait_until_settled
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.restarted_queries import run_to_the_end

LARGE = Share(1000, 1024)


class Taken:
    """A transaction that keeps what it is given."""

    def __init__(self) -> None:
        self.batches: list[PartitionBatch] = []

    def produce(self, batches: Any) -> None:
        self.batches.extend(batches)


def collected(rows: DataFrame, share: Share = LARGE, partitions: int = 3) -> CollectedBatch | None:
    positions = positions_of(rows.columns)
    schema = rows.select([f"`{rows.columns[number]}`" for number in positions.values()]).toDF(*positions).schema
    columns = SinkColumns.of(schema, "t")
    encoding = Encoding(columns, "t", {"t": partitions}, "none", 16384)
    return collect_rows(rows, positions, lambda: encoding, share, 5, "sink")


def records_of(found: CollectedBatch | None) -> list[tuple[int, bytes | None, bytes | None]]:
    assert found is not None
    taken: Any = Taken()
    found.carrier.carry(taken, lambda step: None)
    return [
        (batch.partition, record.key, record.value)
        for batch in taken.batches
        for record in decode_records(bytes(batch.data))
    ]


def test_rows_of_all_tasks_keep_their_order_in_the_partitions_that_java_chooses(spark: SparkSession) -> None:
    rows = spark.range(0, 500, 1, 4).selectExpr("cast(id as string) as key", "concat('v', id) as value", "id as more")
    found = collected(rows)
    records = records_of(found)
    assert sorted(int(key or b"") for _, key, _ in records) == list(range(500))
    assert all(
        where == partition_for_key(key or b"", 3) and value == b"v" + (key or b"") for where, key, value in records
    )
    for partition in range(3):
        numbers = [int(key or b"") for where, key, _ in records if where == partition]
        assert numbers == sorted(numbers)
    assert found is not None and found.size[:2] == (4, 500)
    assert found.carrier.rows == 500 and found.size.size_bytes > 500 * 8


@pytest.mark.parametrize(
    ("tasks", "share"),
    [(1, Share(499, 1024)), (4, Share(124, 1024)), (1, Share(500, 3))],
    ids=["a row too many", "in one of several tasks", "a row too large"],
)
def test_a_batch_that_is_larger_than_expected_is_not_collected(spark: SparkSession, tasks: int, share: Share) -> None:
    rows = spark.range(0, 500, 1, tasks).selectExpr("cast(id as string) as key", "'äö' as value")
    assert collected(rows, share) is None
    fits = Share(share.rows + (tasks == 1 and share.row_bytes > 3) + (tasks == 4), max(share.row_bytes, 4))
    assert len(records_of(collected(rows, fits))) == 500


def test_a_task_returns_no_more_rows_or_bytes_than_its_bound(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a row beyond the share, but for the one that shows it, nor more than a byte too many of a large value."""
    returned: list[Any] = []

    def watched(rows: DataFrame) -> Any:
        returned.append(collect(rows))
        return returned[-1]

    collect = plans.to_arrow
    monkeypatch.setattr(plans, "to_arrow", watched)
    rows = spark.range(0, 50_000, 1, 2).selectExpr("if(id = 3, repeat('x', 100000), 'v') as value")
    assert collected(rows, Share(10, 1024)) is None
    assert returned[0].num_rows == 2 * 11
    assert returned[0].nbytes < 2_000


def test_an_empty_batch_counts_as_a_small_batch(spark: SparkSession) -> None:
    found = collected(spark.range(0).selectExpr("cast(id as string) as value"))
    assert records_of(found) == []
    assert found is not None and found.size == BatchSize(0, 0, 0, 0)


def test_unusual_column_names_and_headers_survive_a_shuffle(spark: SparkSession) -> None:
    rows = spark.range(0, 40, 1, 2).selectExpr("id % 4 as g", "id").groupBy("g").count()
    rows = rows.selectExpr(
        "cast(g as string) as `KEY`",
        "encode(cast(count as string), 'utf-8') as Value",
        "array(struct('h' as key, X'01' as value)) as headers",
        "g as `a.b``c`",
    )
    assert sorted(record[1:] for record in records_of(collected(rows))) == [(b"%d" % n, b"10") for n in range(4)]


def test_a_bad_row_is_reported_before_anything_is_written(spark: SparkSession) -> None:
    rows = spark.range(0, 3, 1, 1).selectExpr("'v' as value", "cast(7 as int) as partition")
    with pytest.raises(BadRow, match="partition 7 of topic t, which has partitions 0 to 2"):
        collected(rows)


def test_a_resolved_bound_is_reused_for_the_next_batch_with_the_same_columns(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_process().part(ResolvedBounds).close()
    analyse, analysed = bounds._analysed, list[Bound]()

    def watched(rows: DataFrame, bound: Bound, sink: str) -> DataFrame:
        analysed.append(bound)
        return analyse(rows, bound, sink)

    monkeypatch.setattr(bounds, "_analysed", watched)
    rows = spark.range(0, 6, 1, 2).selectExpr("cast(id as string) as key", "concat('v', id) as value")
    counts = [len(records_of(collected(rows.filter(f"key >= {least}")))) for least in range(5)]
    assert counts == [6, 5, 4, 3, 2]
    assert len(analysed) == 2, "the columns of the first are compared with nothing"
    assert [collected(rows, Share(2, 1024)) for _ in range(3)] == [None] * 3
    assert len(analysed) == 4, "another share is another bound"
    others = spark.range(0, 2, 1, 2).selectExpr("cast(id as string) as key", "'other' as value")
    assert [value for _, _, value in records_of(collected(others, Share(2, 1024)))] == [b"other", b"other"]
    assert len(analysed) == 5, "the columns have the same names and other ids"


@KAFKA_IN_SOAK
def test_a_query_collects_batches_on_the_driver_from_the_second_until_a_batch_is_large(
    spark: SparkSession,
    broker: RunningBroker,
    unique_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = broker.bootstrap_servers
    source, target = create_topic(address, f"{unique_name}-in", 1), create_topic(address, f"{unique_name}-out", 2)
    small = [b"%d" % number for number in range(30)]
    large = [b"%d" % number + b"x" * 50_000 for number in range(30, 40)]
    produce(address, source, [*small, *large, *small])
    written: list[Written] = []
    small_enough: list[bool] = []

    def watched(*given: Any) -> CollectedBatch | None:
        found = collect_rows(*given)
        small_enough.append(found is not None)
        return found

    monkeypatch.setattr("oncelog.spark.executors.write.collect_rows", watched)
    reader = spark.readStream.format("oncelog").option("kafka.bootstrap.servers", address).option("subscribe", source)
    reader = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "10")
    sink = for_each_batch({"kafka.bootstrap.servers": address, "topic": target}, on_written=written.append)
    writer = reader.load().select("value").writeStream.foreachBatch(sink)
    run_to_the_end(writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start)
    assert [(outcome.path, outcome.rows) for outcome in written] == [("driver", 10)] * 7
    assert small_enough == [True, True, False, True, True, True], "all but the first are tried"
    wait_until_settled(address, target)
    assert sorted(record.value or b"" for record in committed(address, target)) == sorted([*small, *large, *small])
