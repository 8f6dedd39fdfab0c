"""A real Apache Kafka on this machine, for tests and benchmarks that compare with it.

Used by the test fixtures and ``benchmarks``; nothing of the product imports it. The jars are those of
:mod:`oncelog.spark.maven`. Every process is ended by its own process id. Environment:
``ONCELOG_KAFKA_JAVA_OPTIONS`` (for every JVM, so that tests may start quickly).
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from oncelog.errors import OncelogError
from oncelog.spark.java import find_java
from oncelog.spark.maven import Module, cache_folder, jars
from tests.support.children import ends_with_us
from tests.support.free_ports import free_ports
from tests.support.zookeeper import ZooKeeper

KAFKA_VERSION = "4.4.0"
"""Apache Kafka's newest release, which tests and benchmarks compare with."""
CLUSTER_ID = "b25jZWxvZy10ZXN0cy0xMg"


def _modules(version: str) -> tuple[Module, ...]:
    """Kafka and its tools, and what writes its log: log4j, which releases before 3.0 bring, reload4j, and log4j2 from
    4.0 on. Before 3.3, ZooKeeper is among the dependencies.
    """
    names = ["kafka_2.13", "kafka-tools", *(["kafka-streams"] if version == KAFKA_VERSION else [])]
    kafka = tuple(("org.apache.kafka", name, version) for name in names)
    if _release(version) < (3, 0):
        return kafka
    if _release(version) < (4, 0):
        return (*kafka, ("org.slf4j", "slf4j-reload4j", "1.7.36"))
    return (*kafka, ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"))


def _release(version: str) -> tuple[int, int]:
    major, minor, *_ = map(int, version.split("."))
    return major, minor


_RELOAD4J = """log4j.rootLogger=WARN, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%d %p %c - %m%n
"""
_LOG4J = """status=error
appender.out.type=Console
appender.out.name=OUT
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c - %m%n
rootLogger.level=WARN
rootLogger.appenderRef.out.ref=OUT
"""


_FOR_ONE_NODE = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
JAVA_OPTIONS = "ONCELOG_KAFKA_JAVA_OPTIONS"
_FORMATTED = f"formatted-{KAFKA_VERSION}-{CLUSTER_ID}"
_FORMATTED_BY = {
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    "log.dirs",
    "node.id",
    "process.roles",
}
"""Properties that change what Kafka's tool writes into a folder that it formats."""


class KafkaFailed(OncelogError):
    """Apache Kafka or one of its tools failed; the text ends with its output."""


def kafka_jars(version: str = KAFKA_VERSION) -> Path:
    """The folder with the jars of Apache Kafka and its tools; downloaded (130 MB) if it does not exist."""
    return jars(f"libs-{version}", _modules(version), transitive=True)


class ApacheKafka:
    """One node (KRaft, broker and controller) on free ports of 127.0.0.1, its data in a folder.

    ``with ApacheKafka() as kafka: kafka.bootstrap_servers``. Without a folder the data lives in a temporary one,
    removed by :meth:`close`. A node that was stopped or killed starts again on the same address and data.

    :param properties: broker properties laid over those that suit a single node.
    :param heap: largest heap of the process, as the JVM writes it.
    :param joins: id of the cluster that it joins, whose ``controller.quorum.bootstrap.servers`` is in ``properties``.
    :param listeners: listeners besides the plain one, by name: their security protocol. :meth:`address` tells where.
    :param version: Apache Kafka's. Before 3.3 a ZooKeeper beside it replaces the controller.
    """

    def __init__(
        self,
        folder: Path | None = None,
        properties: Mapping[str, str] | None = None,
        *,
        heap: str = "512m",
        joins: str | None = None,
        listeners: Mapping[str, str] | None = None,
        version: str = KAFKA_VERSION,
    ) -> None:
        self._version = version
        self._temporary = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix="oncelog-kafka-")) if folder is None else folder
        self.data_folder = self.folder / "data"
        self.log_path = self.folder / "kafka.log"
        self._heap = heap
        self._joins = joins
        self._properties = dict(properties or {})
        self._listeners = dict(listeners or {})
        self._port, self._controller_port, *more = free_ports(2 + len(self._listeners))
        self._ports = dict(zip(self._listeners, more, strict=True))
        self._process: subprocess.Popen[bytes] | None = None
        self._by_zookeeper = _release(version) < (3, 3)
        self._zookeeper: ZooKeeper | None = None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    def address(self, listener: str) -> str:
        """Where a listener that was given by name listens."""
        return f"127.0.0.1:{self._ports[listener]}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise KafkaFailed("Apache Kafka is not running: call start()")
        return self._process.pid

    def start(self, properties: Mapping[str, str] | None = None, *, timeout_s: float = 240) -> ApacheKafka:
        """Start the node and return when it answers a Metadata request naming itself.

        :param properties: laid over those given before, and kept for later starts.
        """
        if self._process is not None:
            raise KafkaFailed("Apache Kafka is already running: stop() it first")
        self._properties.update(properties or {})
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "server.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in self._all_properties().items()))
        if self._by_zookeeper:
            self._start_zookeeper(timeout_s)
        elif not (self.data_folder / "meta.properties").exists():
            self._format(config)
        return self._launch(config, timeout_s)

    def _start_zookeeper(self, timeout_s: float) -> None:
        zookeeper = self._zookeeper
        if zookeeper is None:
            temporary = self.folder if self._temporary else None
            zookeeper = ZooKeeper(self.folder, self._controller_port, java_command(self._version), temporary)
            self._zookeeper = zookeeper
        self._await("ZooKeeper", zookeeper.ended, zookeeper.answers, zookeeper.log_path, timeout_s)

    def _format(self, config: Path) -> None:
        """Format with Kafka's tool, or copy what the tool wrote for another single node: one JVM less."""
        formatted = None if self._joins or self._other_format() else cache_folder() / _FORMATTED
        if formatted is not None and formatted.exists():
            shutil.copytree(formatted, self.data_folder, dirs_exist_ok=True)
            own = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            meta = self.data_folder / "meta.properties"
            meta.write_text(re.sub(r"(?m)^(directory\.id)=.*$", rf"\1={own}", meta.read_text()))
            return
        alone = () if self._joins is None else ("--no-initial-controllers",)
        self.run_tool("kafka.tools.StorageTool", "format", "-t", self._joins or CLUSTER_ID, "-c", str(config), *alone)
        if formatted is not None:
            partial = Path(tempfile.mkdtemp(dir=cache_folder()))
            shutil.copytree(self.data_folder, partial, dirs_exist_ok=True)
            try:
                partial.rename(formatted)
            except OSError:  # another process was first
                shutil.rmtree(partial)

    def _other_format(self) -> bool:
        return self._version != KAFKA_VERSION or bool(self._properties.keys() & _FORMATTED_BY)

    def start_promoted(
        self, folder: Path, *, timeout_s: float = 240, answers: Callable[[], bool] | None = None
    ) -> ApacheKafka:
        """Start on a folder that was made for Kafka, with its own ``server.properties`` unchanged.

        Its listener must be :attr:`bootstrap_servers`, its controller's :attr:`controller`.

        :param answers: whether it serves; None asks in plain text.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        return self._launch(folder / "server.properties", timeout_s, answers)

    @property
    def controller(self) -> str:
        return f"127.0.0.1:{self._controller_port}"

    def _launch(self, config: Path, timeout_s: float, answers: Callable[[], bool] | None = None) -> ApacheKafka:
        with self.log_path.open("ab") as log:
            collector = () if "GC" in os.environ.get(JAVA_OPTIONS, "") else ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
            command = [*java_command(self._version), "-Xms256m", f"-Xmx{self._heap}", *collector]
            self._process = subprocess.Popen(
                [*command, "kafka.Kafka", str(config)],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        ends_with_us(self._process.pid, self.folder if self._temporary else None)
        ready = answers or (lambda: _answers(self._port))
        self._await("Apache Kafka", self._process.poll, ready, self.log_path, timeout_s)
        return self

    def _all_properties(self) -> dict[str, str]:
        return (self._with_zookeeper() if self._by_zookeeper else self._with_controller()) | self._properties

    def _with_zookeeper(self) -> dict[str, str]:
        more = [f"{name}://{self.address(name)}" for name in self._listeners]
        protocols = [f"{name}:{protocol}" for name, protocol in self._listeners.items()]
        return {
            "broker.id": "1",
            "zookeeper.connect": self.controller,
            "listeners": ",".join([f"PLAINTEXT://{self.bootstrap_servers}", *more]),
            "listener.security.protocol.map": ",".join(["PLAINTEXT:PLAINTEXT", *protocols]),
            "log.dirs": str(self.data_folder),
            **_FOR_ONE_NODE,
        }

    def _with_controller(self) -> dict[str, str]:
        more = [f"{name}://{self.address(name)}" for name in self._listeners]
        plain = f"PLAINTEXT://127.0.0.1:{self._port}"
        protocols = [f"{name}:{protocol}" for name, protocol in self._listeners.items()]
        alone = {
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "metadata.max.idle.interval.ms": "0",  # else a record twice a second, for the sake of other controllers
        }
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            **({} if self._joins or "controller.quorum.voters" in self._properties else alone),
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join([plain, f"CONTROLLER://127.0.0.1:{self._controller_port}", *more]),
            "advertised.listeners": ",".join([plain, *more]),
            "listener.security.protocol.map": ",".join(["PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT", *protocols]),
            "log.dirs": str(self.data_folder),
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            **_FOR_ONE_NODE,
        }

    def _await(
        self,
        what: str,
        ended: Callable[[], int | None],
        answers: Callable[[], bool],
        log_path: Path,
        timeout_s: float,
    ) -> None:
        """Return when it answers; otherwise everything that was started is ended."""
        deadline = time.monotonic() + timeout_s
        while not answers():
            status = ended()
            if status is None and time.monotonic() <= deadline:
                time.sleep(0.05)
                continue
            self.kill()
            self._end_zookeeper()
            how = f"did not answer within {timeout_s} s" if status is None else f"ended with {status} at its start"
            raise KafkaFailed(f"{what} {how}:\n{log_path.read_text(errors='replace')[-2000:]}")

    def log_tail(self, size: int = 2000) -> str:
        return self.log_path.read_text(errors="replace")[-size:] if self.log_path.exists() else ""

    def stop(self, *, timeout_s: float = 60) -> None:
        """End the node cleanly (SIGTERM); does nothing if it does not run."""
        self._end(signal.SIGTERM, timeout_s)

    def kill(self) -> None:
        """End the node at once (SIGKILL); does nothing if it does not run."""
        self._end(signal.SIGKILL, 60)

    def _end(self, how: signal.Signals, timeout_s: float) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _end_zookeeper(self) -> None:
        zookeeper, self._zookeeper = self._zookeeper, None
        if zookeeper is not None:
            zookeeper.kill()

    def restart(self, properties: Mapping[str, str] | None = None) -> None:
        """Stop cleanly and start on the same address and data."""
        self.stop()
        self.start(properties)

    def run_tool(self, class_name: str, *arguments: str, stdin: str = "", timeout_s: float = 120) -> str:
        """Run one of Kafka's command line tools by its class; what it printed, both streams.

        Raises KafkaFailed when it exits non-zero.
        """
        return run_tool(class_name, *arguments, stdin=stdin, timeout_s=timeout_s, version=self._version)

    def close(self) -> None:
        """Stop, and remove the folder if it is a temporary one."""
        self.stop()
        self._end_zookeeper()
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> ApacheKafka:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def run_tool(
    class_name: str, *arguments: str, stdin: str = "", timeout_s: float = 120, version: str = KAFKA_VERSION
) -> str:
    """Run a class of Apache Kafka's jars, such as ``org.apache.kafka.tools.DumpLogSegments``; no node needed."""
    run = subprocess.run(
        [*java_command(version), "-Xmx256m", class_name, *arguments],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if run.returncode != 0:
        raise KafkaFailed(f"{class_name} exited with {run.returncode}:\n{run.stdout[-4000:]}")
    return run.stdout


def java_command(version: str = KAFKA_VERSION) -> list[str]:
    """A JVM with Apache Kafka's classes, up to the name of the class or file to run; warnings and errors are logged."""
    jars = kafka_jars(version)
    log4j2 = _release(version) >= (4, 0)
    log4j = cache_folder() / ("log4j2.properties" if log4j2 else "log4j.properties")
    if not log4j.exists():
        with _replaced(log4j) as path:
            path.write_text(_LOG4J if log4j2 else _RELOAD4J)
    options = os.environ.get(JAVA_OPTIONS, "").split()
    return [
        find_java(),
        *options,
        f"-Dlog4j2.configurationFile={log4j}" if log4j2 else f"-Dlog4j.configuration=file:{log4j}",
        "-cp",
        f"{jars}/*",
    ]


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """A path to write to; at the end of the block the file replaces ``path`` in one step."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    yield partial
    partial.replace(path)


_METADATA_REQUEST = struct.pack(">hhih", 3, 1, 1, -1) + struct.pack(">i", 0)
"""Metadata v1 for no topic, header v1 with a null client id."""


def _answers(port: int) -> bool:
    """Whether the node serves clients: its Metadata answer names at least one broker."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(_METADATA_REQUEST)) + _METADATA_REQUEST)
            answer = connection.recv(12)
    except OSError:
        return False
    return len(answer) == 12 and struct.unpack(">iii", answer)[2] > 0
