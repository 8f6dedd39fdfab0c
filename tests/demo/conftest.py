"""The year's flights, read once, and a small Spark cluster."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from oncelog.demo.flights import Flight, read_flights
from oncelog.spark.java import find_java

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path == HERE / "test_demo.py":
            item.add_marker("spark")


@pytest.fixture(scope="session", autouse=True)
def quick_spark(spark_class_archive: None) -> None:
    """For all tests here."""


@pytest.fixture(scope="session")
def flights() -> list[Flight]:
    """All flights in scheduled order."""
    return read_flights()


class SparkCluster(NamedTuple):
    """A standalone cluster: its address, and the folder with a log of each process."""

    master: str
    folder: Path


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """A master and two workers of one core each, on free ports of 127.0.0.1, from the jars that PySpark brings."""
    folder = tmp_path_factory.mktemp("spark-cluster")
    processes: list[subprocess.Popen[bytes]] = []

    def launch(name: str, *arguments: str) -> None:
        spec = find_spec("pyspark")
        assert spec is not None
        assert spec.origin is not None
        home = Path(spec.origin).parent
        command = [
            find_java(),
            "-Xmx512m",
            *OPENS,
            "-cp",
            f"{home}/jars/*",
            f"org.apache.spark.deploy.{name}",
            *arguments,
        ]
        environment = {
            "PATH": str(Path(sys.executable).parent) + ":/usr/bin:/bin",
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SCALA_VERSION": "2.13",
            "PYSPARK_PYTHON": sys.executable,
        }
        log = folder / f"{len(processes)}-{name.rpartition('.')[2]}.log"
        with log.open("wb") as output:
            processes.append(
                subprocess.Popen(
                    command,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    cwd=folder,
                    start_new_session=True,
                )
            )

    try:
        launch("master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        log = folder / "0-Master.log"
        master = _await_text(log, "Starting Spark master at ", processes).split()[0]
        for _ in range(2):
            launch(
                "worker.Worker", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "--cores", "1", "--memory",
                "1g", "--work-dir", str(folder / "work"), master,
            )  # fmt: skip
        for number in (1, 2):
            _await_text(folder / f"{number}-Worker.log", "Successfully registered with master", processes)
        yield SparkCluster(master, folder)
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(30)


OPENS = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.lang.invoke", "java.io", "java.net", "java.nio", "java.util", "sun.nio.ch")
)


def _await_text(log: Path, text: str, processes: list[subprocess.Popen[bytes]], timeout_s: float = 120) -> str:
    """What follows a text in a log, to the end of the line."""
    deadline = time.monotonic() + timeout_s
    while True:
        content = log.read_text(errors="replace")
        place = content.find(text)
        end = content.find("\n", place)
        if place >= 0 and end >= 0:
            return content[place + len(text) : end]
        assert all(process.poll() is None for process in processes), content[-2000:]
        assert time.monotonic() < deadline, content[-2000:]
        time.sleep(0.1)
