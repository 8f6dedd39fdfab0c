"""Spark's driver killed in the sink's commit, on each release of Apache Kafka; every record is there once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oncelog.spark.sink.engine import BatchStep
from tests.compatibility.spark_versions.test_spark_versions import Copy
from tests.integration.spark.driver_process import DriverProcess
from tests.support.apache_kafka import ApacheKafka
from tests.support.spark_faults import PausePoint

pytestmark = [pytest.mark.spark, pytest.mark.crash, pytest.mark.timeout(1800)]
case = pytest.mark.case
DECISIVE = BatchStep.MARKER_ADDED
"""Everything is in the log, and nobody knows yet whether it will be committed."""


@contextmanager
def driver(task: dict[str, Any], log: Path) -> Iterator[DriverProcess]:
    process = DriverProcess("tests.compatibility.spark_versions.job", [task], log, python=sys.executable)
    try:
        yield process
    finally:
        if process.alive():
            process.kill()


def kill_driver(kafka: ApacheKafka, name: str, folder: Path, by: str, step: BatchStep = DECISIVE) -> None:
    copy = Copy(kafka, name, folder)
    copy.add(100)
    with PausePoint() as point:
        options = point.options(step, 0)
        pauses = [[step.value, "0", options["pause.port"]]]
        task = copy.task(by, options=options) if by == "format" else copy.task(by, pauses=pauses)
        with driver(task, folder / "driver.log") as process:
            point.wait(process.alive)
            process.kill()
    copy.add(30)
    with driver(copy.task(by), folder / "driver.log") as process:
        status, log = process.finish()
    assert status == 0, log[-4000:]
    copy.check()


@case('Spark: driver killed, `format("oncelog")` as sink')
def test_killed_driver_with_format_oncelog_writes_each_record_once(
    kafka: ApacheKafka, unique_name: str, tmp_path: Path
) -> None:
    kill_driver(kafka, unique_name, tmp_path, "format")


@case("Spark: driver killed, `for_each_batch` by the driver")
def test_killed_driver_that_writes_the_batches_leaves_each_record_once(
    kafka: ApacheKafka, unique_name: str, tmp_path: Path
) -> None:
    kill_driver(kafka, unique_name, tmp_path, "0")


@case("Spark: driver killed, `for_each_batch` by the executors")
def test_killed_driver_whose_executors_write_leaves_each_record_once(
    kafka: ApacheKafka, unique_name: str, tmp_path: Path
) -> None:
    kill_driver(kafka, unique_name, tmp_path, "2")
