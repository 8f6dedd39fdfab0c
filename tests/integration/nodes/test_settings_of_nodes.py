"""Dynamic settings of one node among several, and of all nodes, told apart as Apache Kafka does."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

import oncelog
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType, NewTopic
from oncelog.errors import Error, KafkaError
from oncelog.types import TopicPartition

SMALL, LIMIT, MAX_CONNECTIONS = "1000", "message.max.bytes", "max.connections"
BACKOFF = "log.cleaner.backoff.ms"


@pytest.fixture(scope="module")
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(nodes=3) as broker:
        yield broker


@pytest.fixture(scope="module")
def admin(broker: oncelog.Broker) -> Iterator[Admin]:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        yield admin


def alter(admin: Admin, node: str, name: str, value: str | None) -> None:
    admin.alter_configs({ConfigResource(ConfigResourceType.BROKER, node): {name: value}})


def described(admin: Admin, node: str, name: str) -> tuple[str | None, str]:
    (found,) = admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, node)]).values()
    return found[name].value, found[name].source


def refused(broker: oncelog.Broker, topic: str) -> bool:
    """Whether the leader refuses 5,000 bytes as too many."""
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        error = producer.send(topic, b"x" * 5000).exception(60)
    assert error is None or (isinstance(error, KafkaError) and error.error is Error.MESSAGE_TOO_LARGE)
    return error is not None


def test_a_setting_of_one_node_applies_to_the_partitions_it_leads(
    broker: oncelog.Broker, admin: Admin, unique_name: str
) -> None:
    admin.create_topics([NewTopic(unique_name, replica_assignments={0: [2, 3]})])
    alter(admin, "2", LIMIT, SMALL)
    assert described(admin, "2", LIMIT) == (SMALL, "DYNAMIC_BROKER_CONFIG")
    assert [described(admin, node, LIMIT)[1] for node in ("1", "3")] == ["DEFAULT_CONFIG"] * 2
    assert refused(broker, unique_name)
    broker.move_leader(unique_name, 0, to=3)
    assert not refused(broker, unique_name)
    broker.move_leader(unique_name, 0, to=2)
    assert refused(broker, unique_name)
    alter(admin, "2", LIMIT, None)
    assert not refused(broker, unique_name)


def test_a_nodes_own_setting_overrides_the_setting_for_every_node(admin: Admin) -> None:
    alter(admin, "", LIMIT, "2000")
    alter(admin, "3", LIMIT, "3000")
    assert [described(admin, node, LIMIT) for node in ("1", "2", "3")] == [
        ("2000", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
        ("2000", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
        ("3000", "DYNAMIC_BROKER_CONFIG"),
    ]
    for node in ("3", ""):
        alter(admin, node, LIMIT, None)
    assert described(admin, "3", LIMIT)[1] == "DEFAULT_CONFIG"


def test_each_node_reports_its_own_id_and_address(broker: oncelog.Broker, admin: Admin) -> None:
    for node in broker.nodes:
        assert described(admin, str(node.node_id), "node.id")[0] == str(node.node_id)
        assert described(admin, str(node.node_id), "listeners")[0] == f"PLAINTEXT://{node.bootstrap_servers}"


def test_each_node_applies_its_own_connection_limits(broker: oncelog.Broker, admin: Admin) -> None:
    alter(admin, "2", MAX_CONNECTIONS, "0")
    assert [described(admin, node, MAX_CONNECTIONS)[1] for node in ("1", "2", "3")] == [
        "DEFAULT_CONFIG", "DYNAMIC_BROKER_CONFIG", "DEFAULT_CONFIG",
    ]  # fmt: skip
    host, _, port = broker.node(2).bootstrap_servers.partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as refused_one:
        assert refused_one.recv(1) == b""
    alter(admin, "2", MAX_CONNECTIONS, None)
    with Admin(bootstrap_servers=broker.node(2).bootstrap_servers) as other:
        assert other.list_topics() is not None


def test_idle_producers_expire_by_the_leaders_setting(broker: oncelog.Broker, admin: Admin, unique_name: str) -> None:
    admin.create_topics([NewTopic(unique_name, replica_assignments={0: [2, 3]})])
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send_and_wait(unique_name, b"x")
    alter(admin, "2", "producer.id.expiration.ms", "1000")
    broker.move_leader(unique_name, 0, to=3)
    broker.pass_time(1000)
    partition = TopicPartition(unique_name, 0)
    assert len(admin.describe_producers([partition])[partition]) == 1
    broker.move_leader(unique_name, 0, to=2)
    broker.pass_time(1000)
    assert admin.describe_producers([partition])[partition] == []
    alter(admin, "2", "producer.id.expiration.ms", None)


def test_process_wide_settings_come_from_the_first_node_or_apply_to_all_nodes(admin: Admin) -> None:
    alter(admin, "1", BACKOFF, "50")
    assert described(admin, "1", BACKOFF) == ("50", "DYNAMIC_BROKER_CONFIG")
    with pytest.raises(KafkaError, match=r"set them for every broker \(resource name \"\"\) or for broker 1"):
        alter(admin, "2", BACKOFF, "50")
    for node in ("1", ""):
        alter(admin, node, BACKOFF, "60" if not node else None)
    assert {described(admin, node, BACKOFF)[0] for node in ("1", "2", "3")} == {"60"}
    with pytest.raises(KafkaError, match="the cluster has no broker 9"):
        alter(admin, "9", LIMIT, SMALL)


def test_topics_of_several_nodes_are_replicated_unless_a_setting_says_otherwise() -> None:
    for given, replicas in ((None, 3), ("1", 1), (2, 2)):
        settings = {} if given is None else {"default.replication.factor": given}
        with (
            oncelog.Broker(nodes=3, settings=settings) as broker,
            Producer(bootstrap_servers=broker.bootstrap_servers) as producer,
            Admin(bootstrap_servers=broker.bootstrap_servers) as admin,
        ):
            producer.send_and_wait("made", b"1")
            admin.create_topics([NewTopic("named", 1)])
            assert {len(topic.partitions[0].replicas) for topic in admin.describe_topics()} == {replicas}
            if replicas > 1:
                broker.node(broker.leader("made", 0)).stop(kill=True)
                assert producer.send_and_wait("made", b"2").offset == 1
