"""What a Spark worker logs is a line of its own kind; a program that is not a worker keeps its logging."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

PROGRAM = "import oncelog.spark, logging; logging.getLogger('oncelog.spark.sink.writers').warning('batch 7 is written')"


@pytest.mark.parametrize(
    ("worker", "setup", "line"),
    [
        (True, "", r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d WARNING oncelog\.spark\.sink\.writers: batch 7 is written"),
        (True, "import logging; logging.basicConfig(format='mine: %(message)s');", "mine: batch 7 is written"),
        (False, "", "batch 7 is written"),
    ],
)
def test_a_worker_warning_has_time_level_and_name(worker: bool, setup: str, line: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_PYTHON_RUNTIME"}
    environment |= {"SPARK_PYTHON_RUNTIME": "PYTHON_WORKER"} if worker else {}
    ran = subprocess.run(
        [sys.executable, "-c", setup + PROGRAM], capture_output=True, text=True, check=True, env=environment
    )
    assert re.fullmatch(line, ran.stderr.strip())
