"""``pip install 'oncelog[spark]'`` beside each PySpark."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib

import pytest

from tests.compatibility.spark_versions.environments import ROOT, Environment

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]
OF_THE_PLATFORM = {"pyspark", "py4j", "numpy", "pandas", "pyarrow"}


@pytest.mark.case("`pip install 'oncelog[spark]'` replaces nothing")
def test_installing_the_spark_extra_keeps_the_pyspark_of_the_platform(environment: Environment) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["spark"]]
    pip = [sys.executable, "-m", "pip", "--python", environment.python(), "install", "--dry-run"]
    done = subprocess.run([*pip, "--quiet", "--report", "-", *wanted], capture_output=True, text=True, check=True)
    chosen = {item["metadata"]["name"].lower() for item in json.loads(done.stdout)["install"]}
    assert chosen.isdisjoint(OF_THE_PLATFORM), chosen
