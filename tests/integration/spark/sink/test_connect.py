"""Spark Connect: reading, both sinks and ``for_each_batch`` through a real Connect server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import RunningBroker
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.connect_server import ConnectServer, check_through


@KAFKA_IN_SOAK
@pytest.mark.parametrize("refusals", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_reading_writing_and_each_batch_work_through_a_connect_server(
    server: ConnectServer, broker: RunningBroker, unique_name: str, tmp_path: Path, refusals: bool
) -> None:
    check_through(server, broker.bootstrap_servers, unique_name, tmp_path, refusals=refusals)
