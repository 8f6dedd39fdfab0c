"""Runs the tests' program in an environment, to its end or until a test kills it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.spark.driver_process import DriverProcess
from tests.spark_versions.environments import ROOT, Environment

JOB = "tests.spark_versions.job"
PATIENCE_S = 600


def said(environment: Environment, *tasks: dict[str, Any]) -> list[Any]:
    """What the program says about its tasks, in one session. Raises AssertionError if it fails."""
    done = run(environment, *tasks)
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()[1:]]


def refusal(environment: Environment, *tasks: dict[str, Any]) -> str:
    """The last words of the program, which must fail."""
    done = run(environment, *tasks)
    assert done.returncode != 0, done.stdout
    return done.stderr


def run(environment: Environment, *tasks: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment.python(), "-m", JOB, json.dumps(_with_jars(environment, tasks))],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=ROOT,
        env=environment.variables(),
    )


@contextmanager
def driver(environment: Environment, task: dict[str, Any], log: Path) -> Iterator[DriverProcess]:
    """The program in a process that the test may kill."""
    process = DriverProcess(
        JOB, _with_jars(environment, (task,)), log, python=environment.python(), variables=environment.variables()
    )
    try:
        yield process
    finally:
        if process.alive():
            process.kill()


def _with_jars(environment: Environment, tasks: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    return [{"jars": environment.jars()} | tasks[0], *tasks[1:]]
