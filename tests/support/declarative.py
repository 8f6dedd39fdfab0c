"""Runs ``spark-pipelines`` on the project in ``examples/declarative``, with the topics of a test."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet

from oncelog.spark.sink.engine import BatchStep
from tests.integration.spark.kafka_records import committed, create_topic, eventually, produce, values
from tests.support.children import ends_with_us
from tests.support.class_archive import QUICK_JAVA
from tests.support.spark_faults import PausePoint

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "declarative"
TIMEOUT_S = 900
RETRY_NOTHING = ("--conf", "spark.sql.pipelines.maxFlowRetryAttempts=0")
WITH_TABLES = ("--conf", "spark.sql.catalogImplementation=hive")


class Run:
    """One run of ``spark-pipelines``, in a process group of its own."""

    def __init__(self, command: list[str], folder: Path, variables: Mapping[str, str]) -> None:
        self._log = folder / "run.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=dict(variables), start_new_session=True
            )
        ends_with_us(self.process.pid)

    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """SIGKILL for the driver, its workers and the program that asked for the run."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    def finish(self) -> tuple[int, str]:
        """Exit status, and what it says."""
        try:
            status = self.process.wait(TIMEOUT_S)
        finally:
            if self.alive():
                self.kill()
        return status, self._log.read_text(errors="replace")


class Project:
    """A copy of the example, which reads and writes topics of a test.

    :param python: of the environment with PySpark.
    :param home: Spark's own folder there.
    :param java: options of its JVMs.
    """

    def __init__(self, folder: Path, address: str, name: str, python: str, home: Path, java: str = QUICK_JAVA) -> None:
        self.folder, self.address = folder / "project", address
        self._python, self._home, self._java = python, home, java
        self._texts = {path: path.read_text() for path in EXAMPLE.rglob("*.*") if path.suffix in (".py", ".yml")}
        self.web, self.shops, self.sales = (f"{name}-{topic}" for topic in ("web", "shops", "sales"))
        for topic in (self.web, self.shops, self.sales):
            create_topic(address, topic, 2)
        self.written: dict[str, int] = {self.web: 0, self.shops: 0}

    def replace(self, texts: Mapping[Path, str]) -> None:
        """Other transformations in place of the example's, under paths in its folder."""
        self._texts = {path: text for path, text in self._texts.items() if path.suffix == ".yml"} | dict(texts)

    def add(self, count: int) -> None:
        """More records into both topics."""
        for topic, first in self.written.items():
            produce(self.address, topic, [f"{topic}:{n}".encode() for n in range(first, first + count)])
            self.written[topic] += count

    def expected(self) -> list[bytes]:
        return sorted(f"{topic}:{n}".encode() for topic, count in self.written.items() for n in range(count))

    def found(self) -> list[bytes]:
        return sorted(value or b"" for value in values(committed(self.address, self.sales)))

    def check(self) -> None:
        """Every record of both topics is there once."""
        eventually(self.found, self.expected())

    def start(
        self,
        *arguments: str,
        on_full_refresh: str = "after",
        pause: Mapping[str, str] | None = None,
        tables: bool = False,
    ) -> Run:
        """``spark-pipelines ARGUMENTS``.

        :param pause: options of a sink that is to wait at a step.
        :param tables: with the table of the example; without it, only topics are written.
        """
        self._write(on_full_refresh, pause, tables)
        conf = WITH_TABLES if tables else ()
        command = [
            str(self._home / "bin" / "spark-pipelines"),
            "--conf",
            "spark.ui.enabled=false",
            *RETRY_NOTHING,
            *conf,
            *arguments,
        ]
        return Run(command, self.folder, self._variables())

    def run(self, *arguments: str, on_full_refresh: str = "after", tables: bool = False) -> str:
        """What a run says that completes."""
        status, reported = self.start(*arguments, on_full_refresh=on_full_refresh, tables=tables).finish()
        assert status == 0, reported[-6000:]
        assert "Run is COMPLETED" in reported
        return reported

    def table(self) -> list[str]:
        """The column ``sale`` of the table, from its files."""
        files = sorted((self.folder / "spark-warehouse" / "web_sales").glob("*.parquet"))
        return sorted(str(sale) for path in files for sale in pyarrow.parquet.read_table(path)["sale"].to_pylist())

    def _write(self, on_full_refresh: str, pause: Mapping[str, str] | None, tables: bool) -> None:
        storage = (self.folder / "storage").as_uri()
        changes = {
            "127.0.0.1:9092": self.address,
            "file:///tmp/sales": storage,
            'read("web"': f'read("{self.web}"',
            'read("shops"': f'read("{self.shops}"',
            '"topic": "sales"': f'"topic": "{self.sales}"',
            '"onFullRefresh": "after"': f'"onFullRefresh": "{on_full_refresh}"',
        }
        if on_full_refresh == "append":
            changes |= {f'starting_after(f"{{FLOWS}}/{flow}")': '"earliest"' for flow in ("from_web", "from_shops")}
        if pause is not None:
            changes['"oncelog", {**AT,'] = f'"oncelog_paused", {{**{dict(pause)!r}, **AT,'
        for path, text in self._texts.items():
            for old, new in changes.items():
                text = text.replace(old, new)
            if not tables:
                text = text.partition("@dp.table")[0]
            target = self.folder / path.relative_to(EXAMPLE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def _variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        path = [ROOT / "src", ROOT, Path(__file__).parent / "discovered"]
        return kept | {
            "PYTHONPATH": os.pathsep.join(map(str, path)),
            "PYSPARK_PYTHON": self._python,
            "PYSPARK_DRIVER_PYTHON": self._python,
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_TESTING": "1",  # else the Connect server of each run takes port 15002
            "SPARK_SUBMIT_OPTS": self._java,
        }


def check_kill(project: Project, step: BatchStep) -> None:
    """Each record is there once after a kill at a step, and one more run."""
    project.add(50)
    with PausePoint() as point:
        run = project.start("run", pause=point.options(step, 0))
        point.wait(run.alive)
        run.kill()
    project.run("run")
    project.check()


def check_kill_and_full_refresh(project: Project, step: BatchStep) -> None:
    """Each record is there once after a kill at a step, one more run, and a full refresh that was refused at first."""
    check_kill(project, step)
    project.add(20)
    status, reported = project.start("run", "--full-refresh-all", on_full_refresh="fail").finish()
    assert status != 0
    assert "it was refreshed in full, and what" in reported
    assert len(project.found()) == 100
    project.run("run", "--full-refresh-all", on_full_refresh="after")
    project.check()


def check_tables_and_refreshes(project: Project) -> None:
    """A table and a topic from one source, refreshed apart: only what is refreshed in full is read again."""
    project.add(30)
    project.run("run", tables=True)
    project.add(30)
    project.run("run", "--refresh", "web_sales", tables=True)
    assert len(project.found()) == 60
    project.run("run", "--full-refresh", "web_sales", tables=True)
    assert len(project.found()) == 60
    project.run("run", tables=True)
    project.check()
    web = [f"{project.web}:{n}" for n in range(60)]
    assert project.table() == sorted(web)
    project.run("run", "--full-refresh-all", on_full_refresh="append", tables=True)
    assert project.table() == sorted(web)
    eventually(project.found, sorted(project.expected() * 2))
