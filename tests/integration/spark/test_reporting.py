"""Any Spark session that reports its queries to a console, on real Spark."""

from __future__ import annotations

import urllib.request
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from oncelog.apps.conformance.expect import eventually
from oncelog.spark.reporting import report_to_console
from tests.conftest import RunningBroker
from tests.integration.spark.kafka_records import create_topic, produce
from tests.support.restarted_queries import run_to_the_end
from tests.support.running_console import TOKEN, RunningConsole


def test_a_session_reports_its_queries_their_progress_and_their_end(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    servers = oncelog_broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-out"):
        create_topic(servers, name)
    produce(servers, unique_name, [f"{n % 3}:{n}".encode() for n in range(90)])
    source = spark.readStream.format("oncelog").option("kafka.bootstrap.servers", servers)
    records = source.option("subscribe", unique_name).option("startingOffsets", "earliest").load()
    bad = records.withColumn("value", F.raise_error(F.lit("it broke")).cast("binary"))
    with RunningConsole({"bootstrap.servers": servers}) as console:

        def page() -> str:
            with urllib.request.urlopen(f"{console.url}/pipelines") as answer:
                return str(answer.read().decode())

        reporter = report_to_console(spark, console.url, TOKEN)
        for frame, name in ((records, "good"), (bad, "bad")):
            writer = frame.select("key", "value").writeStream.format("oncelog").queryName(f"{name}-{unique_name}")
            writer = writer.option("kafka.bootstrap.servers", servers).option("topic", f"{unique_name}-out")
            try:
                run_to_the_end(
                    writer.option("checkpointLocation", str(tmp_path / name)).trigger(availableNow=True).start
                )
            except StreamingQueryException:
                assert name == "bad"
        eventually(lambda: f"good-{unique_name}" in page() and "90 rows read in this session" in page())
        eventually(lambda: "in step with the checkpoint" in page())
        eventually(lambda: "it broke" in page() and "failed" in page())
        reporter.close()
