"""Every test here needs Spark; the session they share is ``tests.conftest.spark``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.connect_server import ConnectServer, connect_server

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("spark")


@pytest.fixture(scope="session", autouse=True)
def quick_spark(spark_class_archive: None) -> None:
    """For all tests here."""


@pytest.fixture(scope="session")
def server(quick_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A Connect server for all tests of this process."""
    home, java = Path(os.environ["SPARK_HOME"]), os.environ["SPARK_SUBMIT_OPTS"]
    with connect_server(tmp_path_factory.mktemp("connect"), sys.executable, home, os.environ, java) as found:
        yield found
