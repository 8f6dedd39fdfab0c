"""Pipelines run as a user runs them: as a process, on real Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path == HERE / "test_pipeline_run.py":
            item.add_marker("spark")


@pytest.fixture(scope="session", autouse=True)
def quick_spark(spark_class_archive: None) -> None:
    """For all tests here."""


class PipelineCommand:
    """``oncelog pipeline run`` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def run(
        self, *arguments: str, environment: Mapping[str, str] | None = None, global_options: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """To its end; the caller looks at the exit status."""
        command = [sys.executable, "-m", "oncelog", *global_options, "pipeline", "run", *arguments]
        return subprocess.run(
            command,
            cwd=self.folder,
            env=dict(os.environ) | dict(environment or {}),
            capture_output=True,
            text=True,
            timeout=560,
            check=False,
        )

    def refused(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """The one sentence with which it refuses."""
        run = self.run(*arguments, environment=environment)
        assert run.returncode == 1, run.stdout + run.stderr
        lines = [line for line in run.stderr.splitlines() if not line.startswith("the broker inside listens")]
        assert len(lines) == 1, run.stderr
        assert lines[0].startswith("oncelog: ")
        return lines[0]


@pytest.fixture
def pipeline(tmp_path: Path) -> PipelineCommand:
    return PipelineCommand(tmp_path)
