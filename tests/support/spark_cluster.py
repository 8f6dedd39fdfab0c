"""A standalone Spark cluster on this machine: a master and workers from PySpark's own jars, each a process.

Used by tests that kill executors and by benchmarks; nothing of the product imports it. Every process is ended by its
own process id. Executors are processes that a worker starts; they end with their application or their worker.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from oncelog.errors import OncelogError
from oncelog.spark.java import find_java
from tests.support.children import ends_with_us


class ClusterFailed(OncelogError):
    """A process of the cluster did not start; the text ends with its output."""


class SparkCluster:
    """``with SparkCluster() as cluster: session(master=cluster.master)``.

    :param workers: processes that start executors; each gives ``cores`` and ``memory``.
    :param java_options: for every JVM, the executors' too.
    :param python: what executors run as Python; ``home`` and ``variables``: their Spark and their environment.
    :param hosts: whether each worker has a loopback address of its own (Linux), as Spark starts a speculative copy of
        a task only on another host.
    """

    def __init__(
        self,
        workers: int = 2,
        *,
        cores: int = 2,
        memory: str = "3g",
        java_options: str = "",
        hosts: bool = False,
        python: str = sys.executable,
        home: Path | None = None,
        variables: Mapping[str, str] = os.environ,
    ) -> None:
        self._count = workers
        self._cores = cores
        self._memory = memory
        self._java_options = java_options
        self._hosts = hosts
        self._python = python
        self._home = home
        self._variables = variables
        self.folder = Path(tempfile.mkdtemp(prefix="oncelog-spark-"))
        self._port = _free_port()
        self.workers: list[subprocess.Popen[bytes]] = []
        self._master: subprocess.Popen[bytes] | None = None

    @property
    def master(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def start(self) -> SparkCluster:
        self._master = self._java("master", "master.Master", "127.0.0.1", "--port", str(self._port))
        self._await("master", self._master, "I have been elected leader")
        for _ in range(self._count):
            self.add_worker()
        return self

    def add_worker(self) -> None:
        number = len(self.workers)
        work = self.folder / f"work-{number}"
        arguments = ["--cores", str(self._cores), "--memory", self._memory, "--work-dir", str(work), self.master]
        host = f"127.0.0.{number + 1 if self._hosts else 1}"
        self.workers.append(self._java(f"worker-{number}", "worker.Worker", host, *arguments))
        self._await(f"worker-{number}", self.workers[-1], "Successfully registered with master")

    def _java(self, name: str, class_name: str, host: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = self._home or self._spark_home()
        environment = dict(self._variables) | {
            "SPARK_HOME": str(home),
            "PYSPARK_PYTHON": self._python,
            "SPARK_NO_DAEMONIZE": "1",
        }
        scala = next((home / "jars").glob("scala-library-*.jar")).name.removeprefix("scala-library-")
        environment |= {"SPARK_LOCAL_IP": host, "SPARK_SCALA_VERSION": ".".join(scala.split(".")[:2])}
        environment |= {"JDK_JAVA_OPTIONS": self._java_options}
        environment.pop("SPARK_SUBMIT_OPTS", None)
        log4j = self.folder / "log4j2.properties"
        log4j.write_text(_LOG4J)
        command = [find_java(), "-Xmx256m", f"-Dlog4j2.configurationFile={log4j}"]
        command += ["-cp", f"{home}/jars/*", f"org.apache.spark.deploy.{class_name}"]
        with self._log(name).open("wb") as log:
            process = subprocess.Popen(
                [*command, "--host", host, "--webui-port", "0", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self.folder,
                start_new_session=True,
            )
        ends_with_us(process.pid, self.folder)
        return process

    @staticmethod
    def _spark_home() -> Path:
        if chosen := os.environ.get("SPARK_HOME"):
            return Path(chosen)
        spec = importlib.util.find_spec("pyspark")
        if spec is None or spec.origin is None:
            raise ClusterFailed("PySpark is not installed: pip install 'oncelog[spark]'")
        return Path(spec.origin).parent

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _await(self, name: str, process: subprocess.Popen[bytes], words: str, *, timeout_s: float = 600) -> None:
        deadline = time.monotonic() + timeout_s
        while words not in (text := self._log(name).read_text(errors="replace")):
            if process.poll() is not None or time.monotonic() > deadline:
                raise ClusterFailed(f"Spark's {name} did not start:\n{text[-2000:]}")
            time.sleep(0.1)

    def kill_worker(self, number: int) -> None:
        """End a worker at once, with its executors: they end when they lose it."""
        process = self.workers[number]
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in [*self.workers, self._master]:
            if process is None or process.poll() is not None:
                continue
            process.terminate()
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> SparkCluster:
        try:
            return self.start()
        except ClusterFailed:
            self.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


_LOG4J = """status=error
appender.out.type=Console
appender.out.name=OUT
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c - %m%n
rootLogger.level=INFO
rootLogger.appenderRef.out.ref=OUT
"""


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
