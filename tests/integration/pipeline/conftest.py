"""Pipelines on real Spark: run by the command, or by what the command calls, in the session that tests share.

The command starts a Python, Spark's context and its workers for each run, which takes most of a run's time. So tests of
what pipelines read and write use :class:`PipelinesInSession`. Tests of the command, of its output and of a new process
use :class:`PipelineCommand`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from oncelog.broker.server.listener_settings import Address
from oncelog.errors import OncelogError
from oncelog.schema_registry.serving import RegistryThread
from oncelog.schema_registry.settings import RegistrySettings
from oncelog.spark.pipeline.file import load_pipelines
from oncelog.spark.pipeline.running import RunSettings, check, start, watch
from oncelog.spark.progress import Progress
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import call
from tests.support.restarted_queries import worker_was_late

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path == HERE / "test_pipeline_run.py":
            item.add_marker("spark")


@pytest.fixture(scope="session", autouse=True)
def quick_spark(spark_class_archive: None) -> None:
    """For all tests here."""


class PipelineFolder:
    """A folder with pipeline files, of one test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path


class PipelineCommand(PipelineFolder):
    """``oncelog pipeline run`` in a folder of its own."""

    def __init__(self, folder: Path, java: Mapping[str, str]) -> None:
        """:param java: environment with the JVM for the session; empty: the run starts one of its own, as users do."""
        super().__init__(folder)
        self._java = java

    def run(
        self, *arguments: str, environment: Mapping[str, str] | None = None, global_options: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end, once more if the machine was too busy for Spark; the caller checks the exit status."""
        command = [sys.executable, "-m", "oncelog", *global_options, "pipeline", "run", *arguments]
        printed = ""
        while True:
            ended = subprocess.run(
                command,
                cwd=self.folder,
                env={**os.environ, **self._java, **(environment or {})},
                capture_output=True,
                text=True,
                timeout=560,
                check=False,
            )
            ended.stdout = printed = printed + ended.stdout
            if ended.returncode == 0 or not worker_was_late(ended.stderr):
                return ended

    def refused(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """The single sentence with which the run refuses."""
        run = self.run(*arguments, environment=environment)
        return _sentence(run.returncode, run.stdout, run.stderr)

    def refused_at_once(self, *arguments: str) -> str:
        """The single sentence with which the run refuses before it starts Spark: in this process, which is quicker."""
        called = call("pipeline", "run", *arguments, cwd=self.folder)
        return _sentence(called.code, called.out, called.err)


def _sentence(code: int, out: str, err: str) -> str:
    assert code == 1, out + err
    (line,) = (line for line in err.splitlines() if not line.startswith("the embedded broker listens"))
    assert line.startswith("oncelog: ")
    return line


class Ran(NamedTuple):
    """What a run has reported."""

    batches: list[Progress]
    notices: list[str]


class PipelinesInSession(PipelineFolder):
    """Runs pipeline files as ``oncelog pipeline run --once`` does, in the session that tests share."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        super().__init__(folder)
        self._spark = spark

    def run(self, file: Path, address: str) -> Ran:
        """Process what there is, once more if the machine was too busy for Spark.

        Raises OncelogError where the command refuses or fails.
        """
        batches: list[Progress] = []
        while True:
            notices: list[str] = []
            try:
                self._run(file, address, batches.append, notices.append)
            except OncelogError as error:
                if not worker_was_late(error):
                    raise
            else:
                return Ran(batches, notices)

    def _run(self, file: Path, address: str, show: Callable[[Progress], None], report: Callable[[str], None]) -> None:
        settings = RunSettings(address, str(self.folder / "oncelog-checkpoints"), once=True, report=report)
        pipelines = {one.name: one for one in load_pipelines(file)}
        check(list(pipelines.values()), settings)
        spark = self._spark.newSession()  # without the views and settings of other runs

        def begin(name: str) -> StreamingQuery:
            return start(spark, pipelines[name], settings)

        watch({name: begin(name) for name in pipelines}, show, begin, written=settings.written)


@pytest.fixture
def pipelines(tmp_path: Path, spark: SparkSession) -> PipelinesInSession:
    """In this process."""
    return PipelinesInSession(tmp_path, spark)


@pytest.fixture
def pipeline(tmp_path: Path, warm_java: dict[str, str]) -> PipelineCommand:
    """In a running JVM."""
    return PipelineCommand(tmp_path, warm_java)


@pytest.fixture
def registry_url(broker: RunningBroker, unique_name: str) -> Iterator[str]:
    """A schema registry in front of the test's broker, on a topic of its own."""
    settings = RegistrySettings({"bootstrap.servers": broker.bootstrap_servers}, topic=f"_schemas-{unique_name}")
    registry = RegistryThread(settings, Address("127.0.0.1", 0)).start()
    yield registry.url
    registry.stop()


@pytest.fixture
def cold_pipeline(tmp_path: Path) -> PipelineCommand:
    """In a JVM of its own."""
    return PipelineCommand(tmp_path, {})
