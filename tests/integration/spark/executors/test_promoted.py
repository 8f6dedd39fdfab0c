"""A streaming query continues from its checkpoint, with its marker, after its broker's folder became Apache Kafka's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from oncelog import Broker
from oncelog.spark.sink.engine import BatchStep
from tests.integration.cli.conftest import call
from tests.integration.spark.driver_process import TIMEOUT_S
from tests.integration.spark.executors import test_executors_cluster as executors
from tests.integration.spark.sink.crash_job import Job, wait_paused
from tests.support.apache_kafka import ApacheKafka
from tests.support.spark_cluster import SparkCluster
from tests.support.spark_faults import PausePoint

pytestmark = [pytest.mark.kafka, pytest.mark.crash, pytest.mark.soak, pytest.mark.timeout(1800)]
STEPS = [BatchStep.HALF_PRODUCED, BatchStep.MARKER_ADDED, BatchStep.COMMITTED]


@contextmanager
def promoted(folder: Path) -> Iterator[ApacheKafka]:
    """Apache Kafka on the contents of the broker's folder ``data``."""
    kafka = ApacheKafka(folder / "kafka")
    call(
        *("promote", str(folder / "data"), "--to", str(folder / "node")),
        *("--listen", kafka.bootstrap_servers, "--controller", kafka.controller),
    ).done()
    try:
        yield kafka.start_promoted(folder / "node")
    finally:
        kafka.stop()


@pytest.mark.parametrize("step", STEPS)
def test_a_query_continues_after_a_promotion(
    spark: SparkSession, tmp_path: Path, unique_name: str, step: BatchStep
) -> None:
    """Its driver was killed in a commit on ours: on Kafka, what is in is skipped, and what is open is done again."""
    with Broker(tmp_path / "data") as broker:
        job = Job(spark, broker, unique_name, tmp_path, batches=4)
        with PausePoint() as point, job.run(point.options(step, 2)) as driver:
            paused = wait_paused(point, driver)  # held: a commit whose connection ends continues
            driver.kill(paused.pid)
        job.check(3 if step is BatchStep.COMMITTED else 2)
    with promoted(tmp_path) as kafka:
        job.moved_to(kafka.bootstrap_servers, more=2)
        job.complete()


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    with SparkCluster(java_options=executors.QUICK, hosts=True) as running:
        yield running


@pytest.mark.parametrize("step", STEPS)
def test_a_query_whose_executors_write_continues_after_a_promotion(
    cluster: SparkCluster, tmp_path: Path, unique_name: str, step: BatchStep
) -> None:
    """The same for a batch that two executors are writing when the driver is killed."""
    with Broker(tmp_path / "data") as broker:
        job = executors.Job(cluster, broker, unique_name, tmp_path, 5)
        with PausePoint() as point:
            with job.run(pauses=[executors.pause(point, step, 2)], **executors.TWO_WRITERS) as run:
                paused = point.wait(run.alive, timeout_s=TIMEOUT_S)
                run.kill()
                paused.connection.close()
            job.check(3 if step is BatchStep.COMMITTED else 2)
    with promoted(tmp_path) as kafka:
        job.address = kafka.bootstrap_servers
        job.complete(**executors.TWO_WRITERS)
