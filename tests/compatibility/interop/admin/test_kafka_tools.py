"""Apache Kafka's own command line tools administer our broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.broker.server.embedded import Broker
from tests.support.apache_kafka import run_tool

pytestmark = pytest.mark.kafka

TOOLS = "org.apache.kafka.tools"


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap_servers


def tool(servers: str, name: str, *arguments: str) -> str:
    class_name = f"{TOOLS}.{name}"
    return run_tool(class_name, "--bootstrap-server", servers, *arguments)


def test_topics_are_created_enlarged_described_and_deleted(servers: str) -> None:
    name = ("--topic", "tools")
    made = tool(servers, "TopicCommand", "--create", *name, "--partitions", "2", "--config", "retention.ms=1000")
    assert "Created topic tools." in made
    tool(servers, "TopicCommand", "--alter", *name, "--partitions", "3")
    described = tool(servers, "TopicCommand", "--describe", *name)
    assert "PartitionCount: 3\tReplicationFactor: 1\tConfigs: min.insync.replicas=1,retention.ms=1000" in described
    assert "Partition: 2\tLeader: 1\tReplicas: 1\tIsr: 1" in described
    assert "No partition reassignments found." in tool(servers, "reassign.ReassignPartitionsCommand", "--list")
    folders = json.loads(tool(servers, "LogDirsCommand", "--describe").splitlines()[-1])
    partitions = {p["partition"]: p["size"] for p in folders["brokers"][0]["logDirs"][0]["partitions"]}
    assert partitions == {"tools-0": 0, "tools-1": 0, "tools-2": 0}
    tool(servers, "TopicCommand", "--delete", *name)
    assert "tools" not in tool(servers, "TopicCommand", "--list")


@pytest.mark.parametrize(
    ("entity", "setting", "described"),
    [
        (
            ("--entity-type", "topics", "--entity-name", "tools-config"),
            "cleanup.policy=[compact,delete]",
            "cleanup.policy=compact,delete sensitive=false "
            "synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, DEFAULT_CONFIG:log.cleanup.policy=delete}",
        ),
        (
            ("--entity-type", "brokers", "--entity-default"),
            "log.retention.ms=5000",
            "log.retention.ms=5000 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=5000}",
        ),
        (
            ("--entity-type", "groups", "--entity-name", "g"),
            "consumer.session.timeout.ms=50000",
            "consumer.session.timeout.ms=50000 sensitive=false "
            "synonyms={DYNAMIC_GROUP_CONFIG:consumer.session.timeout.ms=50000, "
            "DEFAULT_CONFIG:group.consumer.session.timeout.ms=45000}",
        ),
        (
            ("--entity-type", "users", "--entity-name", "u"),
            "producer_byte_rate=1000",
            "Quota configs for user-principal 'u' are producer_byte_rate=1000.0",
        ),
    ],
    ids=["topic", "brokers", "group", "user"],
)
def test_settings_are_changed_and_described(
    servers: str, entity: tuple[str, ...], setting: str, described: str
) -> None:
    if "topics" in entity:
        tool(servers, "TopicCommand", "--create", "--topic", entity[-1])
    assert "Completed updating" in tool(servers, "ConfigCommand", "--alter", *entity, "--add-config", setting)
    assert described in tool(servers, "ConfigCommand", "--describe", *entity)


def test_kafka_delete_records_reads_the_offsets_from_a_file(servers: str, tmp_path: Path) -> None:
    tool(servers, "TopicCommand", "--create", "--topic", "tools-records")
    offsets = tmp_path / "offsets.json"
    partition = {"topic": "tools-records", "partition": 0, "offset": -1}
    offsets.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    assert "partition: tools-records-0\tlow_watermark: 0" in tool(
        servers, "DeleteRecordsCommand", "--offset-json-file", str(offsets)
    )
