"""Java's console share consumer and ``kafka-share-groups`` (KIP-932), on both brokers."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.conftest import RunningBroker
from tests.support.apache_kafka import java_command, run_tool
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.share_groups import make_topic_and_group
from tests.support.share_recipes import EXPECTED, printed_by_worker, recipe

pytestmark = [pytest.mark.kafka, KAFKA_IN_SOAK]

GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"


def test_javas_share_consumer_reads_and_kafkas_tool_manages_its_group(broker: RunningBroker, unique_name: str) -> None:
    name, servers = unique_name, ("--bootstrap-server", broker.bootstrap_servers)
    make_topic_and_group(broker.bootstrap_servers, name, name, partitions=2)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(500):
        producer.produce(name, b"job %d" % number)
    assert producer.flush(60) == 0
    read = run_tool(
        "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
        *servers,
        *("--topic", name, "--group", name, "--max-messages", "500", "--timeout-ms", "60000"),
    )
    lines = [line for line in read.splitlines() if line.startswith("job ")]
    assert sorted(lines) == sorted(f"job {number}" for number in range(500))
    assert name in run_tool(GROUPS, *servers, "--list").split()
    assert lags(servers, name) == [0, 0]
    to_earliest = ("--reset-offsets", "--to-earliest", "--topic", name, "--group", name, "--execute")
    run_tool(GROUPS, *servers, *to_earliest)
    assert sum(lags(servers, name)) == 500
    run_tool(GROUPS, *servers, "--delete", "--group", name)
    assert name not in run_tool(GROUPS, *servers, "--list").split()


def lags(servers: tuple[str, ...], group: str) -> list[int]:
    shown = run_tool(GROUPS, *servers, "--describe", "--group", group)
    return [int(line.split()[4]) for line in shown.splitlines() if line.startswith(f"{group} ")]


def test_the_documented_java_worker_runs(broker: RunningBroker, unique_name: str, tmp_path: Path) -> None:
    program = tmp_path / "Worker.java"
    program.write_text(recipe("java"))
    command = [*java_command(), "-Xmx256m", "-XX:TieredStopAtLevel=1", program]
    assert printed_by_worker(command, broker.bootstrap_servers, unique_name) == EXPECTED
