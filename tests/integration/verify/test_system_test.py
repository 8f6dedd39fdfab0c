"""What Apache Kafka's own system test of transactions leaves behind: ``oncelog verify`` finds nothing in it.

Its course (``transactions_test.py``) and its programs, on both brokers: numbers are written by VerifiableProducer and
copied by two TransactionalMessageCopiers with random aborts, while copiers and the broker are killed.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from tests.integration.cli.conftest import call
from tests.support.apache_kafka import ApacheKafka, java_command, run_tool
from tests.support.crash_rounds.node import ServeProcess

pytestmark = [pytest.mark.soak, pytest.mark.crash, pytest.mark.kafka, pytest.mark.timeout(1800)]

MESSAGES = 20_000
KILLS = 8
PARTITIONS = 2
TOOLS = "org.apache.kafka.tools"
IN, OUT = "input-topic", "output-topic"


@pytest.fixture(params=["oncelog", "kafka"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServeProcess | ApacheKafka]:
    """A broker with its data on disk, which is started again on the same address and data."""
    made = ServeProcess(tmp_path, {}) if request.param == "oncelog" else ApacheKafka(tmp_path / "kafka")
    made.start()
    try:
        yield made
    finally:
        made.close()


class Copier:
    """One of the system test's copiers, with a partition of its own."""

    def __init__(self, servers: str, partition: int, folder: Path) -> None:
        self._words = [
            *(*java_command(), "-Xmx128m", f"{TOOLS}.TransactionalMessageCopier"),
            *("--broker-list", servers, "--input-topic", IN, "--input-partition", str(partition)),
            *("--output-topic", OUT, "--transactional-id", f"copier-{partition}"),
            *("--consumer-group", f"group-{partition}", "--transaction-size", "50", "--transaction-timeout", "10000"),
            "--enable-random-aborts",
        ]
        self._log = folder / f"copier-{partition}.log"
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(self._words, stdout=log, stderr=log)

    def kill_and_start(self) -> None:
        self.kill()
        self.process = self._start()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def copied(self) -> None:
        """Wait until everything is copied; a copier that gave up while the broker was away begins again."""
        for _ in range(5):
            if self.process.wait(300) == 0:
                return
            self.process = self._start()
        raise AssertionError(self._log.read_text()[-3000:])


def test_the_log_of_kafkas_system_test_has_no_findings(node: ServeProcess | ApacheKafka, tmp_path: Path) -> None:
    rng = random.Random(7)
    servers = node.bootstrap_servers
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (IN, OUT)])
    run_tool(
        f"{TOOLS}.VerifiableProducer",
        *("--bootstrap-server", servers, "--topic", IN, "--max-messages", str(MESSAGES), "--acks", "-1"),
        timeout_s=300,
    )
    copiers = [Copier(servers, partition, tmp_path) for partition in range(PARTITIONS)]
    try:
        for kill in range(KILLS):
            time.sleep(2 + 3 * rng.random())
            rng.choice(copiers).kill_and_start()
            if kill % 4 == 3:
                node.kill()
                node.start()
        for copier in copiers:
            copier.copied()
    finally:
        for copier in copiers:
            copier.kill()
    env = {"ONCELOG_BOOTSTRAP_SERVER": servers}
    log = call("verify", "log", IN, OUT, "__consumer_offsets", "__transaction_state", "--json", env=env).done()
    assert log.json["status"] == "nothing_found"
    assert log.json["looked_at"]["aborted"] > 0
    copy = call("verify", "copy", IN, OUT, "--json", env=env).done()
    assert copy.json["looked_at"]["matched"] == MESSAGES
