"""The Python of Spark's workers, and the master: what would go wrong in silence is reported or taken from Spark."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from oncelog.spark.python import worker_python, worker_python_problem
from oncelog.spark.session import _submitted_master


def test_the_current_python_is_accepted() -> None:
    assert worker_python_problem(sys.executable) is None


def test_a_python_of_another_environment_is_reported_with_the_setting(tmp_path: Path) -> None:
    other = tmp_path / "python3"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    other.chmod(0o755)
    environment = {"PATH": str(tmp_path)}
    assert worker_python(environment) == "python3"
    problem = worker_python_problem(environment=environment)
    assert problem is not None
    assert "python3, which does not find the package oncelog: set PYSPARK_PYTHON=" in problem


@pytest.mark.parametrize("program", ["/nowhere/python", "no-such-python"])
def test_a_python_that_does_not_exist_is_reported(program: str) -> None:
    assert "which does not exist" in str(worker_python_problem(environment={"PATH": "", "PYSPARK_PYTHON": program}))


@pytest.mark.parametrize(
    ("variables", "master"), [({}, None), ({"PYSPARK_GATEWAY_PORT": "1"}, "spark://one:7077")], ids=["python", "submit"]
)
def test_the_master_of_spark_submit_is_used(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], master: str | None
) -> None:
    monkeypatch.setattr("os.environ", variables)
    monkeypatch.setattr("pyspark.SparkContext._ensure_initialized", lambda: None)
    monkeypatch.setattr("pyspark.SparkConf", lambda: {"spark.master": "spark://one:7077"})
    assert _submitted_master() == master
