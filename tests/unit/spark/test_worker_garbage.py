"""Collections in a Spark worker skip what it has imported; a program that is not a worker is left alone."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import gc
from oncelog.spark.worker_garbage import pass_over_imports
counts, before = [], gc.get_freeze_count()  # Python 3.12 freezes a few hundred by itself
for more in ("", "", "xml.dom.minidom"):
    if more:
        __import__(more)
    pass_over_imports()
    counts.append(gc.get_freeze_count() - before)
print(*counts)
"""


def frozen(environment: dict[str, str]) -> list[int]:
    """Objects that collections skip: after the first task, a second one, and one that has imported more."""
    known = {name: value for name, value in os.environ.items() if name != "SPARK_PYTHON_RUNTIME"}
    command = [sys.executable, "-c", PROGRAM]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=known | environment)
    return [int(word) for word in ran.stdout.split()]


def test_worker_passes_over_what_is_imported_and_again_only_over_more() -> None:
    first, second, third = frozen({"SPARK_PYTHON_RUNTIME": "PYTHON_WORKER"})
    assert 0 < first == second < third


def test_program_that_is_no_worker_is_left_alone() -> None:
    assert frozen({}) == [0, 0, 0]
