"""Kafka Connect, unmodified, with ``exactly.once.source.support``: no line of a file is lost or doubled by a kill."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oncelog import Admin, Broker
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.spark.maven import jars
from tests.compatibility.interop.clients.python_clients import wait_for
from tests.integration.client.reading import values
from tests.integration.security.sides import free_ports
from tests.support.apache_kafka import KAFKA_VERSION, java_command

pytestmark = [pytest.mark.kafka, pytest.mark.soak]

LINES = 400
"""Lines, each the size of the connector's buffer: it holds back a line until more of the file follows it."""
WORKER = """
bootstrap.servers={servers}
group.id=workers
listeners=http://127.0.0.1:{port}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
exactly.once.source.support=enabled
config.storage.topic=configs
offset.storage.topic=offsets
status.storage.topic=status
config.storage.replication.factor=1
offset.storage.replication.factor=1
offset.storage.partitions=1
status.storage.replication.factor=1
status.storage.partitions=1
session.timeout.ms=6000
heartbeat.interval.ms=1000
scheduled.rebalance.max.delay.ms=0
plugin.discovery=only_scan
"""


def line(number: int) -> str:
    return f"{number:01023}"


class Worker:
    """A distributed worker; its connectors are asked for, and given, through its REST API."""

    def __init__(self, servers: str, folder: Path) -> None:
        (self.port,) = free_ports(1)
        properties = folder / "worker.properties"
        properties.write_text(WORKER.format(servers=servers, port=self.port))
        *java, class_path = java_command()
        connect_file = jars("connect-file", (("org.apache.kafka", "connect-file", KAFKA_VERSION),), transitive=False)
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        self.log = folder / "connect.log"
        command = [
            *java,
            f"{class_path}:{connect_file}/*",
            "-Xmx256m",
            "-XX:TieredStopAtLevel=1",
            main,
            str(properties),
        ]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The answer, or None as long as the worker is not ready."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            return None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def worker(servers: str, folder: Path) -> Iterator[Worker]:
    started = Worker(servers, folder)
    try:
        yield started
    finally:
        started.kill()


def test_lines_arrive_once_when_the_worker_is_killed(tmp_path: Path, kafka_jars: Path) -> None:
    source = tmp_path / "lines.txt"
    connector = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "1",
        "file": str(source),
        "topic": "lines",
        "batch.size": "5",
        "exactly.once.support": "required",
        "transaction.boundary": "poll",
    }
    with (
        Broker(tmp_path / "data", settings={"group.initial.rebalance.delay.ms": 0}) as broker,
        source.open("w") as lines,
    ):
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic("lines", 1, 1)])

        def write(numbers: range) -> None:
            lines.writelines(f"{line(number)}\n" for number in numbers)
            lines.flush()

        write(range(LINES))
        with worker(servers, tmp_path) as first:
            wait_for(lambda: first.ask("PUT", "/connectors/lines/config", connector), "the connector")
            wait_for(lambda: len(values(servers, "lines")) > LINES // 4, "the first lines")
        write(range(LINES, 2 * LINES))
        with worker(servers, tmp_path) as second:

            def all_lines() -> list[bytes | None]:
                write(range(2 * LINES, 2 * LINES + 5))  # what follows pushes out what the connector holds back
                found = values(servers, "lines")
                return found if len(found) >= 2 * LINES else []

            found = wait_for(all_lines, f"all lines; the worker wrote {second.log}")
    expected = [line(number).encode() for number in range(2 * LINES)]
    assert found[: 2 * LINES] == expected
