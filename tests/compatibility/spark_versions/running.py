"""Runs the tests' program in an environment: for one test after another, to its end, or until a test kills it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.compatibility.spark_versions.environments import ROOT, Environment
from tests.integration.spark.driver_process import DriverProcess
from tests.support.children import ends_with_us

JOB = "tests.compatibility.spark_versions.job"
TIMEOUT_S = 600


class Program:
    """The program with one session, for all tests that do not kill it: starting Spark takes most of their time."""

    def __init__(self, environment: Environment, log: Path) -> None:
        (start,) = _with_jars(environment, ({"run": "nothing"},))
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [environment.python(), "-m", JOB, json.dumps([start]), "--more"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment.variables(),
                start_new_session=True,
            )
        ends_with_us(self._process.pid)
        self._line()  # its process ids

    def printed(self, *tasks: dict[str, Any]) -> list[Any]:
        """What the program says about these tasks. Raises AssertionError if one fails."""
        found, error = self._run(tasks)
        assert error is None, error
        return found

    def refusal(self, *tasks: dict[str, Any]) -> str:
        """The error that ends these tasks."""
        found, error = self._run(tasks)
        assert error is not None, found
        return error

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(TIMEOUT_S)

    def _run(self, tasks: tuple[dict[str, Any], ...]) -> tuple[list[Any], str | None]:
        assert self._process.stdin is not None
        print(json.dumps(tasks), file=self._process.stdin, flush=True)
        found = []
        while not (isinstance(line := self._line(), dict) and "end" in line):
            found.append(line)
        return found, line["end"]

    def _line(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the program ended:\n{self._log.read_text()[-4000:]}"
        return json.loads(line)


def printed(environment: Environment, *tasks: dict[str, Any]) -> list[Any]:
    """What a program of its own says about its tasks, in one session. Raises AssertionError if it fails."""
    done = run(environment, *tasks)
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()[1:]]


def run(environment: Environment, *tasks: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment.python(), "-m", JOB, json.dumps(_with_jars(environment, tasks))],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
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
