"""Two runs of a query plan a batch at the same moment, and the later one replaces the plan of the other.

Spark looks whether the file exists, and renames; Java renames a file over an existing one on a local disk. Of 60
batches that two logs with Spark's ``FileSystemBasedCheckpointFileManager`` added at once, one was reported to both as
added.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from oncelog.spark.session import for_each_batch
from oncelog.spark.tables.sink import to_table
from tests.integration.spark.kafka_records import committed, create_topic, produce, values
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.restarted_queries import run_to_the_end

Sink = Callable[[DataFrame, int], None]


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


@KAFKA_IN_SOAK
@pytest.mark.parametrize("kind", ["topic", "table"])
def test_a_run_whose_plan_another_run_has_replaced_is_refused_and_no_row_is_lost(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path, kind: str
) -> None:
    address, checkpoint, twin = broker.bootstrap_servers, tmp_path / "checkpoint", tmp_path / "twin"
    source, topic = create_topic(address, f"{unique_name}-in"), create_topic(address, f"{unique_name}-out")
    database = tmp_path / "tables.db"
    sink: Sink = to_table({"format": "sqlite", "url": str(database), "table": "t"})
    if kind == "topic":
        sink = for_each_batch({"kafka.bootstrap.servers": address, "topic": topic})

    def written() -> list[int]:
        if kind == "topic":
            return [int(value) for value in values(committed(address, topic))]
        with closing(sqlite3.connect(database)) as connection:
            exists = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 't'").fetchone()
            return [int(value) for (value,) in connection.execute("SELECT value FROM t")] if exists else []

    def rows() -> Any:
        options = {"kafka.bootstrap.servers": address, "subscribe": source, "startingOffsets": "earliest"}
        stream = spark.readStream.format("oncelog").options(**options).load()
        return stream.selectExpr("string(value) as value").writeStream.trigger(availableNow=True)

    def replaces_the_plan(batch: DataFrame, batch_id: int) -> None:
        produce(address, source, [b"%d" % number for number in range(10, 15)])
        run_to_the_end(rows().format("noop").option("checkpointLocation", str(twin)).start)
        for name in ("0", ".0.crc"):
            shutil.copy(twin / "offsets" / name, checkpoint / "offsets" / name)
        sink(batch, batch_id)

    produce(address, source, [b"%d" % number for number in range(10)])
    stream = rows().option("checkpointLocation", str(checkpoint))
    with pytest.raises(PySparkException, match="another run of the query has planned the batch at the same time"):
        run_to_the_end(stream.foreachBatch(replaces_the_plan).start)
    assert written() == []
    run_to_the_end(stream.foreachBatch(sink).start)
    assert sorted(written()) == list(range(15))
