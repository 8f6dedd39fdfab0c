"""``spark-pipelines`` with our source and sink: killed, and run again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.conftest import RunningBroker
from tests.support.declarative import EXAMPLE, Project

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]


@pytest.fixture
def project(oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path) -> Project:
    home, java = Path(os.environ["SPARK_HOME"]), os.environ["SPARK_SUBMIT_OPTS"]
    return Project(tmp_path, oncelog_broker.bootstrap_servers, unique_name, sys.executable, home, java)


def test_flows_write_each_record_once(project: Project) -> None:
    """``make soak`` kills flows and refreshes them in full, on each PySpark: ``test_spark_version_declarative.py``."""
    project.add(50)
    project.run("run")
    project.check()


CHANGES = """
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()
AT = {{"kafka.bootstrap.servers": "{address}"}}


@dp.temporary_view
def changes() -> DataFrame:
    rows = spark.readStream.format("oncelog").options(**AT, subscribe="{source}", startingOffsets="earliest").load()
    return rows.selectExpr("cast(key as string) as id", "cast(value as string) as value", "offset")


{target}
dp.create_auto_cdc_flow(target="customers", source="changes", keys=["id"], sequence_by="offset")
"""


@pytest.mark.soak
@pytest.mark.parametrize(
    ("target", "says"),
    [
        ('dp.create_sink("customers", "oncelog", {{**AT, "topic": "{sink}"}})', "Unsupported destination type"),
        ('dp.create_streaming_table("customers")', "AUTOCDC_TARGET_DOES_NOT_SUPPORT_MERGE"),
    ],
    ids=["topic", "parquet"],
)
def test_auto_cdc_from_a_topic_is_refused_and_the_error_names_the_target(
    project: Project, target: str, says: str
) -> None:
    text = CHANGES.replace("{target}", target)
    given = {"address": project.address, "source": project.web, "sink": project.sales}
    project.replace({EXAMPLE / "transformations" / "changes.py": text.format(**given)})
    project.add(3)
    status, reported = project.start("run").finish()
    assert status != 0
    assert says in reported
    assert project.found() == []
