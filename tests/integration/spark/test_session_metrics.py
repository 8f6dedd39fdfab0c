"""What a session's queries report to Prometheus, on real Spark: written, skipped and replayed batches."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from oncelog.apps.conformance.expect import eventually
from oncelog.spark.session import for_each_batch
from oncelog.spark.session_metrics import serve_metrics
from oncelog.spark.sink.engine import BatchStep, Observer, ignore
from tests.conftest import RunningBroker
from tests.integration.metrics.pages import health, scrape
from tests.integration.spark.kafka_records import committed, create_topic, produce
from tests.support.restarted_queries import run_to_the_end


class _Stops:
    """An observer that ends a batch's first attempt at a step, as a crash would."""

    def __init__(self, at: BatchStep) -> None:
        self._at = at

    def __call__(self, step: BatchStep, batch_id: int | None) -> None:
        if step is self._at:
            raise RuntimeError("the driver ends here")


@pytest.mark.parametrize(
    ("at", "outcome"),
    [(BatchStep.HALF_PRODUCED, "driver"), (BatchStep.COMMITTED, "skipped")],
    ids=["before its commit it is written again", "after its commit it is skipped"],
)
def test_a_batch_replayed_after_a_killed_run_is_counted_as_replayed_and_by_its_outcome(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path, at: BatchStep, outcome: str
) -> None:
    servers, out = oncelog_broker.bootstrap_servers, f"{unique_name}-out"
    for name in (unique_name, out):
        create_topic(servers, name)
    produce(servers, unique_name, [b"%d" % n for n in range(40)])
    source = spark.readStream.format("oncelog").option("kafka.bootstrap.servers", servers)
    rows = source.option("subscribe", unique_name).option("startingOffsets", "earliest").load().select("key", "value")
    metrics = serve_metrics(spark, "127.0.0.1:0")

    def run(observe: Observer) -> None:
        options = {"kafka.bootstrap.servers": servers, "topic": out}
        sink = for_each_batch(options, on_written=metrics.written(unique_name), observe=observe)
        writer = rows.writeStream.queryName(unique_name).foreachBatch(sink).trigger(availableNow=True)
        run_to_the_end(writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start)

    def value(name: str, **labels: str) -> float:
        return scrape(metrics.address).value(f"oncelog_pipeline_{name}", pipeline=unique_name, **labels)

    try:
        with pytest.raises(StreamingQueryException, match="the driver ends here"):
            run(_Stops(at))
        run(ignore)
        assert value("batches_replayed_total", outcome=outcome) == value("batches_total", outcome=outcome) == 1
        produce(servers, unique_name, [b"more"])
        run(ignore)
        assert len(committed(servers, out)) == 41
        assert sum(value("batches_replayed_total", outcome=one) for one in ("driver", "executors", "skipped")) == 1
        assert sum(value("batches_total", outcome=one) for one in ("driver", "executors", "skipped")) == 2
        assert value("rows_written_total") == (41 if outcome == "driver" else 1)
        assert value("bytes_written_total") > 61
        assert value("commit_seconds_count") == (2 if outcome == "driver" else 1)
        assert value("marker_age_seconds") >= 0
        eventually(lambda: value("running") == 0 and value("lag_offsets") == 0)
        eventually(lambda: value("rows_read_total") == 41)
        assert health(metrics.address, "ready") == (200, {"status": "running"})
    finally:
        metrics.close()
