"""``spark-pipelines`` with our source and sink: killed, run again, and refreshed in full."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.conftest import RunningBroker
from tests.support.declarative import Project, check_kill_and_full_refresh

pytestmark = [pytest.mark.spark, pytest.mark.crash, pytest.mark.timeout(1800)]


@pytest.fixture
def project(oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path) -> Project:
    home, java = Path(os.environ["SPARK_HOME"]), os.environ["SPARK_SUBMIT_OPTS"]
    return Project(tmp_path, oncelog_broker.bootstrap_servers, unique_name, sys.executable, home, java)


def test_flows_write_each_record_once_over_a_kill_and_a_full_refresh(project: Project) -> None:
    check_kill_and_full_refresh(project)
