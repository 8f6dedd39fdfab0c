"""``spark-pipelines`` on each PySpark that has it: topics and tables, killed, run again and refreshed."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncelog.spark.sink.engine import BatchStep
from tests.compatibility.spark_versions.environments import Environment
from tests.conftest import RunningBroker
from tests.support.declarative import Project, check_kill_and_full_refresh, check_tables_and_refreshes

pytestmark = [pytest.mark.soak, pytest.mark.crash, pytest.mark.timeout(3000)]
case = pytest.mark.case


@pytest.fixture
def project(environment: Environment, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path) -> Project:
    python, home = environment.python(), environment.home()
    return Project(tmp_path, oncelog_broker.bootstrap_servers, unique_name, python, home)


@case("`spark-pipelines`: flows killed, run again and refreshed in full", least=(4, 1), steps=3)
@pytest.mark.parametrize(
    "step", [BatchStep.FENCED, BatchStep.MARKER_ADDED, BatchStep.COMMITTED], ids=lambda step: step.value
)
def test_flows_write_each_record_once(environment: Environment, project: Project, step: BatchStep) -> None:
    check_kill_and_full_refresh(project, step)


@case("`spark-pipelines`: a table fed by a topic, refreshed apart", least=(4, 1))
def test_tables_and_topics_are_refreshed_separately(environment: Environment, project: Project) -> None:
    check_tables_and_refreshes(project)
