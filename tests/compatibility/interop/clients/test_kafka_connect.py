"""Kafka Connect, unmodified, with ``exactly.once.source.support``: a kill loses and doubles no record of a source."""

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

from oncelog import Admin, Broker, TopicPartition
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.spark.java import find_java
from tests.compatibility.interop.clients.python_clients import wait_for
from tests.integration.client.reading import values
from tests.support.apache_kafka import java_command, kafka_jars
from tests.support.free_ports import free_ports

pytestmark = [pytest.mark.kafka, pytest.mark.soak]

PARTITION, LATEST = TopicPartition("numbers", 0), -1
OFFSETS = 400
"""How many the numbers and markers of each worker have at least."""
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


class Worker:
    """A distributed worker; its connectors are asked for, and given, through its REST API."""

    def __init__(self, servers: str, folder: Path) -> None:
        (self.port,) = free_ports(1)
        properties = folder / "worker.properties"
        properties.write_text(WORKER.format(servers=servers, port=self.port))
        *java, class_path = java_command()
        compiler = [find_java(), "-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", str(folder / "connector")]
        connector = Path(__file__).with_name("NumberSource.java")
        jars = ":".join(str(jar) for jar in sorted(kafka_jars().glob("*.jar")))
        subprocess.run([*compiler, "-cp", jars, str(connector)], check=True)
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        self.log = folder / "connect.log"
        command = [
            *java,
            f"{class_path}:{folder / 'connector'}",
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


def test_numbers_arrive_once_when_the_worker_is_killed(tmp_path: Path) -> None:
    connector = {
        "connector.class": "NumberSource",
        "tasks.max": "1",
        "topic": "numbers",
        "exactly.once.support": "required",
        "transaction.boundary": "poll",
    }
    with Broker(tmp_path / "data", settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic("numbers", 1, 1)])

        def end() -> int:
            """The offset behind the last number and its transaction's marker."""
            with Admin(bootstrap_servers=servers) as admin:
                return admin.list_offsets({PARTITION: LATEST})[PARTITION].offset

        with worker(servers, tmp_path) as first:
            wait_for(lambda: first.ask("PUT", "/connectors/numbers/config", connector), "the connector")
            wait_for(lambda: end() > OFFSETS, f"numbers; the worker wrote {first.log}")
        stopped_at = end()
        with worker(servers, tmp_path) as second:
            wait_for(lambda: end() > stopped_at + OFFSETS, f"more numbers; the worker wrote {second.log}")
        found = values(servers, "numbers")
    assert found == [b"%d" % number for number in range(len(found))]
