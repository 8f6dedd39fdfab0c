"""Unit tests with the lowest libraries, which lack later functions, and the refusal of a PySpark that is too old."""

from __future__ import annotations

import subprocess

import pytest

from tests.compatibility.spark_versions.environments import ENVIRONMENTS, OURS, ROOT, cache
from tests.support.python_environments import python_with

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]
FOR_THEM = ("pytest", "pytest-timeout", "hypothesis", "confluent-kafka", "aiokafka")
TESTS = ("tests/unit/spark/sink/test_rows.py", "tests/unit/spark/executors", "tests/unit/records/test_arrow.py")
LATER = "not view and not pandas_is_not_imported"
"""Types that pyarrow has since 16, and what an old one imports by itself."""


def test_only_functions_of_the_lowest_supported_pyarrow_are_used() -> None:
    lowest = ENVIRONMENTS["3.5-lowest"]
    python = python_with((*lowest.requirements, *FOR_THEM), cache(), "units-lowest")
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", LATER, *TESTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=lowest.variables())
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.parametrize(
    "program",
    [
        ["-c", "import oncelog.spark.session"],
        ["-c", "import oncelog.spark.lag"],
        ["-c", "import oncelog.spark.data_source"],
        ["-m", "oncelog", "pipeline", "run", "copy.toml", "-b", "127.0.0.1:1"],
    ],
    ids=["session", "lag", "data source", "pipeline"],
)
def test_pyspark_before_3_5_is_refused_in_one_sentence(program: list[str]) -> None:
    lowest = ENVIRONMENTS["3.5-lowest"]
    requirements = ("pyspark==3.4.4", *lowest.requirements[1:4], *OURS)
    python = python_with(requirements, cache(), "3.4")
    done = subprocess.run(
        [python, *program], capture_output=True, text=True, check=False, cwd=ROOT, env=lowest.variables()
    )
    sentence = "PySpark 3.4.4 is installed, and oncelog works with 3.5 to 4.x: pip install 'pyspark>=3.5,<5'"
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].endswith(sentence)
