"""Every test here needs Spark; the session they share is ``tests.conftest.spark``."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("spark")


@pytest.fixture(scope="session", autouse=True)
def quick_spark(spark_class_archive: None) -> None:
    """For all tests here."""
