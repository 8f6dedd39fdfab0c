"""What a user sees when a sink of ``foreachBatch`` refuses: one sentence first, and few frames before it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from oncelog.errors import ConfigError
from oncelog.spark.session import for_each_batch
from oncelog.spark.tables.sink import to_table
from tests.integration.spark.kafka_records import create_topic
from tests.integration.tables.test_delta_demands import with_features
from tests.integration.tables.worlds import arrow

LOGGER = "oncelog.spark.micro_batches"


def ended(spark: SparkSession, folder: Path, columns: str, write: Any) -> str:
    """The text with which the query ends."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).option("numPartitions", 1).load()
    writer = rows.selectExpr(columns.split(";")).writeStream.foreachBatch(write)
    with pytest.raises(StreamingQueryException) as caught:
        writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
    return str(caught.value)


def before(text: str, sentence: str) -> int:
    """The lines above the sentence."""
    return text[: text.index(sentence)].count("\n")


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ("value as id", {"partitionBy": "nope"}, "names 'nope', but the columns are id"),
        ("value as id;'' as text", {"partitionBy": "text"}, "A row has an empty text in the partition column text"),
        ("-value - 1 as id;'a' as text", {}, "breaks its CHECK constraint positive (id > 0), leave such rows out"),
    ],
    ids=["driver", "task", "condition"],
)
def test_a_refusal_by_to_table_is_logged_in_one_sentence(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, columns: str, options: Any, sentence: str
) -> None:
    table = str(tmp_path / "lake")
    if not options:
        write_deltalake(table, arrow([(1, "a")]))
        DeltaTable(table).alter.add_constraint({"positive": "id > 0"})
    with caplog.at_level(logging.ERROR, LOGGER):
        text = ended(spark, tmp_path, columns, to_table({"format": "delta", "table": table} | options))
    (printed,) = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert sentence in printed
    assert "\n" not in printed
    assert before(text, sentence) <= 12


def test_a_refusal_by_for_each_batch_is_logged_in_one_sentence(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, oncelog_broker: Any
) -> None:
    topic = create_topic(oncelog_broker.bootstrap_servers, f"refusals-{tmp_path.name}", 1)
    options = {"kafka.bootstrap.servers": oncelog_broker.bootstrap_servers, "topic": topic}
    with caplog.at_level(logging.ERROR, LOGGER):
        text = ended(spark, tmp_path, "value as id", for_each_batch(options))
    (printed,) = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert "value" in printed
    assert before(text, printed) <= 12


def test_lake_table_that_cannot_be_written_is_refused_when_to_table_is_called(tmp_path: Path) -> None:
    from oncelog.spark.tables.options import TableFormat, TableOptions

    options = TableOptions(TableFormat.DELTA, str(tmp_path / "lake"))
    with_features(options, "clustering")
    with pytest.raises(ConfigError, match="has the feature clustering, which deltalake"):
        to_table({"format": "delta", "table": options.table})
