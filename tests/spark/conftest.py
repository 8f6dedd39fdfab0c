"""One Spark session for the tests of this process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from oncelog.spark.session import session
from tests.class_archive import QUICK_START
from tests.support.spark_faults import PausingDataSource

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("spark")


@pytest.fixture(scope="session", autouse=True)
def quick_spark(spark_class_archive: None) -> None:
    """For all tests here."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two cores, and two failures of a task are borne."""
    logging.getLogger("py4j").setLevel(logging.ERROR)
    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    settings = {**QUICK_START, "spark.sql.warehouse.dir": warehouse}
    found = session("tests", master="local[2,3]", settings=settings)
    found.sparkContext.setLogLevel("ERROR")
    found.dataSource.register(PausingDataSource)
    yield found
    found.stop()
