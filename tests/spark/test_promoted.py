"""A streaming query goes on from its checkpoint, with its marker, where its broker's folder became Apache Kafka's."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from oncelog import Broker
from oncelog.spark.sink_protocol import Step
from tests.cli.conftest import call
from tests.spark.crash_job import Job, wait_paused
from tests.support.apache_kafka import ApacheKafka
from tests.support.spark_faults import PausePoint

pytestmark = [pytest.mark.kafka, pytest.mark.crash, pytest.mark.soak]


@pytest.mark.parametrize("step", [Step.HALF_PRODUCED, Step.MARKER_ADDED, Step.COMMITTED])
def test_query_goes_on_after_promote(spark: SparkSession, tmp_path: Path, unique_name: str, step: Step) -> None:
    """Its driver was killed in a commit on ours: on Kafka what is in is skipped, what is open is made again."""
    with Broker(tmp_path / "data") as broker:
        job = Job(spark, broker, unique_name, tmp_path, batches=4)
        with PausePoint() as point, job.run(point.options(step, 2)) as driver:
            driver.kill(wait_paused(point, driver).pid)
        job.check(3 if step is Step.COMMITTED else 2)
    kafka = ApacheKafka(tmp_path / "kafka")
    call(
        *("promote", str(tmp_path / "data"), "--to", str(tmp_path / "node")),
        *("--listen", kafka.bootstrap_servers, "--controller", kafka.controller),
    ).done()
    try:
        kafka.start_promoted(tmp_path / "node")
        job.moved_to(kafka.bootstrap_servers, more=2)
        job.complete()
    finally:
        kafka.stop()
