"""``oncelog pipeline run`` on each PySpark, with Spark's own connector where there are no data sources."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.compatibility.spark_versions.environments import ROOT, Environment
from tests.compatibility.spark_versions.test_spark_versions import numbers_in
from tests.conftest import RunningBroker
from tests.integration.spark.kafka_records import create_topic, eventually, produce, produce_transaction

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]
case = pytest.mark.case

FILE = """
name = "copy"
[source]
topic = "{name}-in"
[query]
sql = "select key, value from source"
[sink]
topic = "{name}-out"
"""


def run(environment: Environment, broker: RunningBroker, name: str, folder: Path, *more: str) -> tuple[int, str]:
    file = folder / "copy.toml"
    file.write_text(FILE.format(name=name))
    command = [environment.python(), "-m", "oncelog", "pipeline", "run", str(file), "--once", *more]
    command += ["--bootstrap-server", broker.bootstrap_servers, "--checkpoint", str(folder / "checkpoints")]
    command += ["--log", str(folder / "spark.log")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, cwd=ROOT, env=environment.variables()
    )
    return done.returncode, done.stdout + done.stderr


@case("`oncelog pipeline run`")
def test_pipeline_copies_each_committed_record_once(
    environment: Environment, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address, source = oncelog_broker.bootstrap_servers, f"{unique_name}-in"
    for name in (source, f"{unique_name}-out"):
        create_topic(address, name, 1)
    produce_transaction(address, source, [b"%d" % (1000 + n) for n in range(5)], commit=False)
    jars = ["--spark", f"spark.jars={environment.jars()}"] if environment.jars() else []
    for first, end in ((0, 50), (50, 80)):
        produce(address, source, [b"%d" % n for n in range(first, end)])
        status, reported = run(environment, oncelog_broker, unique_name, tmp_path, *jars)
        assert status == 0, reported
        eventually(lambda: numbers_in(address, f"{unique_name}-out"), list(range(end)))


@case("`oncelog pipeline run` without Spark's connector", below=(4, 0), holds="refused by name")
def test_pipeline_without_sparks_connector_says_what_is_missing(
    environment: Environment, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    for name in (f"{unique_name}-in", f"{unique_name}-out"):
        create_topic(oncelog_broker.bootstrap_servers, name, 1)
    status, reported = run(environment, oncelog_broker, unique_name, tmp_path)
    assert status != 0
    assert "reads topics with Spark's own Kafka connector, which is not on the class path" in reported
