"""Dynamic settings of one node among several, and of all nodes, told apart as Apache Kafka does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import oncelog
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType, NewTopic
from oncelog.errors import Error, KafkaError

SMALL, LIMIT, MAX_CONNECTIONS = "1000", "message.max.bytes", "max.connections"


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


def test_a_setting_of_one_node_acts_on_what_it_leads(broker: oncelog.Broker, admin: Admin, unique_name: str) -> None:
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


def test_a_setting_for_every_node_yields_to_a_nodes_own(admin: Admin) -> None:
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


def test_each_node_tells_its_own_id_and_address(broker: oncelog.Broker, admin: Admin) -> None:
    for node in broker.nodes:
        assert described(admin, str(node.node_id), "node.id")[0] == str(node.node_id)
        assert described(admin, str(node.node_id), "listeners")[0] == f"PLAINTEXT://{node.bootstrap_servers}"


def test_what_the_process_shares_cannot_be_one_nodes(admin: Admin) -> None:
    with pytest.raises(KafkaError, match="set them for every broker"):
        alter(admin, "2", MAX_CONNECTIONS, "50")
    alter(admin, "", MAX_CONNECTIONS, "5000")
    assert {described(admin, node, MAX_CONNECTIONS)[0] for node in ("1", "2", "3")} == {"5000"}
    with pytest.raises(KafkaError, match="the cluster has no broker 9"):
        alter(admin, "9", LIMIT, SMALL)
