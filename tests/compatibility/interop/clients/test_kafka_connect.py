"""Kafka Connect, unmodified, with ``exactly.once.source.support``: a source's records are neither lost nor doubled when
a worker is killed, a frozen worker comes back, tasks are restarted, or the topic of the offsets is compacted."""

from __future__ import annotations

import json
import signal
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

CONNECTOR = {
    "connector.class": "NumberSource",
    "tasks.max": "1",
    "topic": "numbers",
    "exactly.once.support": "required",
    "transaction.boundary": "poll",
}
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

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

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


def end(servers: str) -> int:
    """The offset behind the last number and its transaction's marker."""
    with Admin(bootstrap_servers=servers) as admin:
        return admin.list_offsets({PARTITION: LATEST})[PARTITION].offset


def test_numbers_arrive_once_when_the_worker_is_killed(tmp_path: Path) -> None:
    with Broker(tmp_path / "data", settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic("numbers", 1, 1)])
        with worker(servers, tmp_path) as first:
            wait_for(lambda: first.ask("PUT", "/connectors/numbers/config", CONNECTOR), "the connector")
            wait_for(lambda: end(servers) > OFFSETS, f"numbers; the worker wrote {first.log}")
        stopped_at = end(servers)
        with worker(servers, tmp_path) as second:
            wait_for(lambda: end(servers) > stopped_at + OFFSETS, f"more numbers; the worker wrote {second.log}")
        found = values(servers, "numbers")
    assert found == [b"%d" % number for number in range(len(found))]


def test_numbers_arrive_once_when_a_frozen_worker_comes_back_and_tasks_are_restarted(tmp_path: Path) -> None:
    """The frozen worker's task is a zombie: the worker that takes over fences its producer before it writes."""
    quick = {"log.cleaner.backoff.ms": 500, "group.initial.rebalance.delay.ms": 0}
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    with Broker(tmp_path / "data", settings=quick) as broker:
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin:
            often = {"cleanup.policy": "compact", "segment.ms": "2000", "min.cleanable.dirty.ratio": "0.01"}
            admin.create_topics([NewTopic("numbers", 1, 1), NewTopic("offsets", 1, 1, topic_configs=often)])
        with worker(servers, folders[0]) as first:
            wait_for(lambda: first.ask("PUT", "/connectors/numbers/config", CONNECTOR), "the connector")
            wait_for(lambda: end(servers) > OFFSETS, f"numbers; the worker wrote {first.log}")
            for _ in range(2):
                assert first.ask("POST", "/connectors/numbers/restart?includeTasks=true", {})
                wait_for_more(servers, first)
            with worker(servers, folders[1]) as second:
                wait_for(lambda: second.ask("GET", "/connectors/numbers/status"), f"the worker; see {second.log}")
                frozen = [found for found in (first, second) if f":{found.port}" in running_on(second)]
                assert len(frozen) == 1
                survivor = second if frozen[0] is first else first
                frozen[0].freeze()
                wait_for_more(servers, survivor)
                frozen[0].thaw()
                wait_for_more(servers, survivor)
        found = values(servers, "numbers")
        assert found == [b"%d" % number for number in range(len(found))]
        stored = values(servers, "offsets")
        assert 0 < len(stored) < len(found) // 5, "the topic of the offsets was not compacted"


def wait_for_more(servers: str, writer: Worker) -> None:
    before = end(servers)
    wait_for(lambda: end(servers) > before + OFFSETS, f"more numbers; see {writer.log}")


def running_on(asked: Worker) -> str:
    """The worker that runs the task of the numbers."""

    def running() -> str | None:
        status = asked.ask("GET", "/connectors/numbers/status")
        tasks = [task for task in (status or {}).get("tasks", ()) if task["state"] == "RUNNING"]
        return tasks[0]["worker_id"] if tasks else None

    worker_id: str = wait_for(running, f"the task; see {asked.log}")
    return worker_id
