"""Spark Connect on each PySpark that has data sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compatibility.spark_versions.environments import Environment
from tests.conftest import RunningBroker
from tests.support.connect_server import check_through, connect_server

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.mark.case("Spark Connect: batches, streams and `for_each_batch`", least=(4, 0))
def test_reading_writing_and_each_batch_work_through_a_connect_server(
    environment: Environment, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    with connect_server(tmp_path, environment.python(), environment.home(), environment.variables(), java) as server:
        check_through(server, oncelog_broker.bootstrap_servers, unique_name, tmp_path, refusals=True)
