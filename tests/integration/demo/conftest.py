"""The year's flights, read once, and a small Spark cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.apps.demo.flights import Flight, read_flights
from tests.support.spark_cluster import SparkCluster

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path == HERE / "test_demo.py":
            item.add_marker("spark")


@pytest.fixture(scope="session", autouse=True)
def quick_spark(spark_class_archive: None) -> None:
    """For all tests here."""


@pytest.fixture(scope="session")
def flights() -> list[Flight]:
    """All flights, in the order of their scheduled departure."""
    return read_flights()


@pytest.fixture(scope="module")
def spark_cluster(quick_spark: None) -> Iterator[SparkCluster]:
    """A standalone cluster with two workers of one core each."""
    with SparkCluster(2, cores=1, memory="1g", java_options=os.environ["SPARK_SUBMIT_OPTS"]) as cluster:
        yield cluster
