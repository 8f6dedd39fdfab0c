"""Drivers killed inside the sink's commit, on our broker and on Apache Kafka.

Each run pauses inside the commit of a micro-batch, and there its driver is killed. What confluent-kafka sees
(read_committed) is checked right after, and at the end: every record once, in order within its partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from oncelog.spark.sink.engine import BatchStep
from tests.conftest import RunningBroker
from tests.integration.spark.sink.crash_job import Job, wait_paused
from tests.support.spark_faults import PausePoint

pytestmark = [pytest.mark.crash, pytest.mark.timeout(900)]

KAFKA = pytest.mark.kafka


@pytest.mark.parametrize(
    ("broker", "steps"),
    [
        pytest.param("oncelog", (BatchStep.COMMITTED,), id="oncelog-after-the-end"),
        pytest.param("kafka", (BatchStep.MARKER_ADDED,), id="kafka-before-the-end", marks=KAFKA),
        pytest.param("oncelog", tuple(BatchStep), id="oncelog-every", marks=pytest.mark.soak),
        pytest.param("kafka", tuple(BatchStep), id="kafka-every", marks=[KAFKA, pytest.mark.soak]),
    ],
    indirect=["broker"],
)
def test_a_driver_killed_at_steps_of_the_commit_writes_each_batch_once(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path, steps: Sequence[BatchStep]
) -> None:
    """Run n pauses at step n of batch n and is killed there; the next run settles batch n and continues to its own.

    ``test_commit.py`` stops at every step on both brokers, without a driver that dies; the demo's drivers are killed
    at ``PRODUCED`` and ``COMMITTED`` (``tests/integration/demo/test_demo.py``).
    """
    job = Job(spark, broker, unique_name, tmp_path, len(steps) + 1)
    with PausePoint() as point:
        for batch, step in enumerate(steps):
            with job.run(point.options(step, batch)) as driver:
                paused = wait_paused(point, driver)
                driver.kill(paused.pid)
            job.check(batch + 1 if step is BatchStep.COMMITTED else batch)
    job.complete()


@pytest.mark.soak
@pytest.mark.parametrize("broker", ["oncelog", pytest.param("kafka", marks=KAFKA)], indirect=True)
def test_a_driver_killed_at_each_step_of_a_collected_batch_writes_it_once(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """Run n writes batch n, which it shuffles as its first, and is killed at step n of batch n + 1, which it collects.

    Up to the reading of the marker, the pause holds the thread that fences, while the rows are computed.
    """
    job = Job(spark, broker, unique_name, tmp_path, len(BatchStep) + 1, collected=True)
    with PausePoint() as point:
        for number, step in enumerate(BatchStep):
            with job.run(point.options(step, number + 1)) as driver:
                paused = wait_paused(point, driver)
                driver.kill(paused.pid)
            job.check(number + (2 if step is BatchStep.COMMITTED else 1))
    job.complete()


@pytest.mark.soak
@pytest.mark.parametrize("broker", ["oncelog", pytest.param("kafka", marks=KAFKA)], indirect=True)
def test_a_driver_killed_during_end_txn_writes_each_batch_once(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """The answer is never seen: the batch is in as a whole or not at all, and the next run finds out.

    It leaves what a kill before the end leaves, or what one after the end does: the tests of those are not long forms.
    """
    job = Job(spark, broker, unique_name, tmp_path, 2)
    with PausePoint() as point, job.run(point.options(BatchStep.MARKER_ADDED, 0)) as driver:
        paused = wait_paused(point, driver)
        driver.pids()
        paused.resume()
        driver.kill(paused.pid)
    job.complete()
