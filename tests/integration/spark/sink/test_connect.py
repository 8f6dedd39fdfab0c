"""Spark Connect: reading, both sinks and ``for_each_batch`` through a real Connect server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from tests.conftest import RunningBroker
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.class_archive import QUICK_JAVA
from tests.support.connect_server import ConnectServer, check_through, connect_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    home = Path(pyspark.__file__).parent
    with connect_server(tmp_path_factory.mktemp("connect"), sys.executable, home, os.environ, QUICK_JAVA) as found:
        yield found


@KAFKA_IN_SOAK
@pytest.mark.parametrize("refusals", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_reading_writing_and_each_batch_work_through_a_connect_server(
    server: ConnectServer, broker: RunningBroker, unique_name: str, tmp_path: Path, refusals: bool
) -> None:
    check_through(server, broker.bootstrap_servers, unique_name, tmp_path, refusals=refusals)
