"""The crash matrix of the sink on each PySpark: driver, executor and broker killed; every record is there once.

``make test`` has one kill of the executors on PySpark 3.5; tests of the sink have the others, on the newest PySpark.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.spark.sink.engine import BatchStep
from tests.compatibility.spark_versions.environments import Environment
from tests.compatibility.spark_versions.running import driver, printed
from tests.compatibility.spark_versions.test_spark_versions import Copy, numbers_in
from tests.integration.spark.kafka_records import create_topic, eventually, produce
from tests.integration.spark.sink.test_sink_crashes import OncelogProcess
from tests.support.spark_cluster import SparkCluster
from tests.support.spark_faults import Fault, PausePoint

pytestmark = [pytest.mark.crash, pytest.mark.timeout(1800)]
case = pytest.mark.case
DECISIVE = BatchStep.MARKER_ADDED
"""Everything is in the log, and nobody knows yet whether it will be committed."""


def soak_but(decisive: BatchStep, steps: list[BatchStep]) -> list[object]:
    return [pytest.param(step, id=step.value, marks=[] if step is decisive else [pytest.mark.soak]) for step in steps]


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[OncelogProcess]:
    broker = OncelogProcess(tmp_path / "broker").start()
    yield broker
    broker.kill()


@pytest.fixture
def copy(own_broker: OncelogProcess, unique_name: str, tmp_path: Path) -> Copy:
    return Copy(own_broker, unique_name, tmp_path)


def kill_driver_at(environment: Environment, copy: Copy, by: str, step: BatchStep) -> None:
    copy.add(100)
    with PausePoint() as point:
        options = point.options(step, 0)
        pauses = [[step.value, "0", options["pause.port"]]]
        task = copy.task(by, options=options) if by == "format" else copy.task(by, pauses=pauses)
        with driver(environment, task, copy.folder / "driver.log") as process:
            point.wait(process.alive)
            process.kill()
    copy.add(30)
    printed(environment, copy.task(by))
    copy.check()


@case('driver killed, `format("oncelog")` as sink', least=(4, 0), short=False, steps=len(BatchStep))
@pytest.mark.parametrize("step", soak_but(DECISIVE, list(BatchStep)))
def test_killed_driver_with_format_oncelog_writes_each_record_once(
    environment: Environment, copy: Copy, step: BatchStep
) -> None:
    kill_driver_at(environment, copy, "format", step)


@case("driver killed, `for_each_batch` by the driver", short=False, steps=len(BatchStep))
@pytest.mark.parametrize("step", soak_but(BatchStep.COMMITTED, list(BatchStep)))
def test_killed_driver_that_writes_the_batches_leaves_each_record_once(
    environment: Environment, copy: Copy, step: BatchStep
) -> None:
    kill_driver_at(environment, copy, "0", step)


@case("driver killed, `for_each_batch` by the executors", short=False, steps=len(BatchStep))
@pytest.mark.parametrize("step", soak_but(DECISIVE, list(BatchStep)))
def test_killed_driver_whose_executors_write_leaves_each_record_once(
    environment: Environment, copy: Copy, step: BatchStep
) -> None:
    kill_driver_at(environment, copy, "2", step)


@case("broker killed in the commit")
@pytest.mark.soak
def test_killed_broker_loses_and_duplicates_no_record(
    environment: Environment, copy: Copy, own_broker: OncelogProcess
) -> None:
    copy.add(100)
    with PausePoint() as point:
        pauses = [[DECISIVE.value, "0", point.options(DECISIVE, 0)["pause.port"]]]
        with driver(environment, copy.task("0", pauses=pauses), copy.folder / "driver.log") as process:
            paused = point.wait(process.alive)
            own_broker.kill()
            own_broker.start()
            paused.resume()
            process.finish()
    printed(environment, copy.task("0"))
    copy.check()


@case("executor killed while it writes", steps=2)
@pytest.mark.soak
@pytest.mark.parametrize("step", soak_but(BatchStep.PRODUCED, [BatchStep.HALF_PRODUCED, BatchStep.PRODUCED]))
def test_killed_executor_loses_and_duplicates_no_record(environment: Environment, copy: Copy, step: BatchStep) -> None:
    copy.add(400)
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = {
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.cores.max": "2",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.sql.adaptive.enabled": "false",
    }
    faults = [[Fault.KILL_EXECUTOR.value, step.value, 0]]
    with SparkCluster(
        1, java_options=quick, python=environment.python(), home=environment.home(), variables=environment.variables()
    ) as cluster:
        task = copy.task("2", master=cluster.master, settings=settings, faults=faults, rows=1000)
        found = printed(environment, task)
    assert ["executors", 0, 400] in found
    assert (copy.folder / f"{Fault.KILL_EXECUTOR.value}-{step.value}-0").exists()
    copy.check()


@case("named sources: one more source after a kill", least=(4, 3), steps=2)
@pytest.mark.parametrize("step", [DECISIVE, BatchStep.COMMITTED], ids=lambda step: step.value)
@pytest.mark.soak
def test_a_source_can_be_added_to_a_killed_query_with_named_sources(
    environment: Environment, copy: Copy, step: BatchStep
) -> None:
    more = f"{copy.source}-more"
    create_topic(copy.address, more, 1)
    produce(copy.address, more, [b"%d" % n for n in range(1000, 1050)])
    settings = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
    copy.add(100)
    with PausePoint() as point:
        options = point.options(step, 1)
        task = copy.task("format", options=options, settings=settings, named={"one": copy.source})
        with driver(environment, task, copy.folder / "driver.log") as process:
            point.wait(process.alive)
            process.kill()
    copy.add(30)
    # Spark repeats the batch with the sources that it was planned with
    for named in ({"two": more, "one": copy.source}, {"two": more}, {"one": copy.source, "two": more}):
        printed(environment, copy.task("format", settings=settings, named=named))
    assert '\none:{"' in (copy.checkpoint / "offsets" / "0").read_text()
    eventually(lambda: numbers_in(copy.address, copy.sink), [*range(130), *range(1000, 1050)])
