"""A batch with 10,000 partition values in Delta: memory is bounded, and what a stopped run left is told and removed."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.sink.engine import BatchStep, Observer, ignore
from oncelog.spark.tables.doctor import diagnose_table
from oncelog.spark.tables.options import TableFormat, TableOptions
from oncelog.spark.tables.sink import open_store, write_table_batch
from tests.integration.tables.worlds import NOW_MS, Query

VALUES, ROWS = 10_000, 200_000
MORE_MB = 256
"""What the driver's Python may take for the batch's report and commit."""


class StoppedError(Exception):
    """The run ends before it commits."""


def stop(step: BatchStep, batch_id: int | None) -> None:
    if step is BatchStep.PRODUCED:
        raise StoppedError


@pytest.mark.soak
def test_ten_thousand_partition_values_take_bounded_memory_and_leave_no_file_behind(
    spark: SparkSession, tmp_path: Path
) -> None:
    options = TableOptions(TableFormat.DELTA, str(tmp_path / "lake"), partition_by=("place",))
    query = Query(tmp_path / "checkpoint", options)
    query.plan(0)
    columns = ("id", f"concat('place ', id % {VALUES}) as place", "repeat(md5(cast(id as string)), 4) as text")
    frame = spark.range(0, ROWS, 1, 4).selectExpr(*columns)

    def write(observe: Observer) -> int:
        return write_table_batch(frame, 0, str(query.root), options, "", open_store(options), observe, set()).rows

    with pytest.raises(StoppedError):
        write(stop)
    store = open_store(options)
    assert len(store.leftovers(0)) == VALUES
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert write(ignore) == ROWS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < MORE_MB * 1024
    query.end(0)
    checkpoint = Checkpoint.open(str(query.root))
    reported = diagnose_table(checkpoint, options, "", frame.schema, NOW_MS, older_than_h=0)
    assert (reported.refused, reported.marker is not None, len(reported.leftovers)) == (False, True, VALUES)
    store.remove(reported.leftovers, 0)
    assert store.leftovers(0) == []
    table = DeltaTable(options.table)
    named = {Path(uri).name for uri in table.file_uris()}
    assert {path.name for path in Path(options.table).glob("*.parquet")} == named
    assert len(table.partitions()) == VALUES
    assert sorted(table.to_pyarrow_table(columns=["id"])["id"].to_pylist()) == list(range(ROWS))
