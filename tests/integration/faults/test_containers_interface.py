"""``KafkaBroker`` in the place of testcontainers' ``KafkaContainer`` and ``RedpandaContainer``.

The arguments, methods and defaults are those of testcontainers 4.15.
"""

from __future__ import annotations

import json
import re
import socket
import urllib.request
from collections.abc import Callable

import pytest

import oncelog
from oncelog.errors import ConfigError, OncelogError
from oncelog.testing import KafkaBroker as KafkaContainer

METHODS = {
    "copy_from_container", "copy_into_container", "create_file", "exec", "get_container_id", "get_container_info",
    "get_docker_client", "get_logs", "get_wrapped_container", "maybe_emulate_amd64", "reload", "status", "tc_start",
    "waiting_for", "with_cluster_id", "with_command", "with_copy_into_container", "with_env_file", "with_kwargs",
    "with_name", "with_network", "with_network_aliases", "with_tmpfs_mount", "with_volume_mapping",
}  # fmt: skip
"""Those which need a container."""


def partitions(kafka: KafkaContainer) -> int:
    with oncelog.Admin(bootstrap_servers=kafka.get_bootstrap_server()) as admin:
        admin.create_topics([oncelog.NewTopic("t", -1, -1)])
        return len(admin.describe_topics(["t"])[0].partitions)


MAKERS: list[Callable[[], KafkaContainer]] = [
    KafkaContainer,
    lambda: KafkaContainer("confluentinc/cp-kafka:7.6.0"),
    lambda: KafkaContainer(image="confluentinc/cp-kafka:7.6.0", port=9093).with_kraft(),
    lambda: KafkaContainer("x", 9093, r".*started.*", "OUTSIDE", "PLAINTEXT").with_exposed_ports(9092, "9093"),
]


@pytest.mark.parametrize("make", MAKERS)
def test_every_form_of_container_arguments_starts_a_broker(make: Callable[[], KafkaContainer]) -> None:
    with make() as kafka:
        address = f"{kafka.get_container_host_ip()}:{kafka.get_exposed_port(kafka.port)}"
        assert kafka.get_bootstrap_server() == kafka.bootstrap_servers == address
        assert partitions(kafka) == 1


def test_environment_variables_of_a_container_become_settings() -> None:
    made = KafkaContainer(env={"KAFKA_NUM_PARTITIONS": "2"}).with_env("KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR", 1)
    kafka = made.with_envs(KAFKA_NUM_PARTITIONS="3", KAFKA_AUTO_CREATE_TOPICS_ENABLE=False).start(timeout=60)
    try:
        assert partitions(kafka) == 3
        with pytest.raises(OncelogError, match="KAFKA_NUM_PARTITIONS: the broker is running"):
            kafka.with_env("KAFKA_NUM_PARTITIONS", "4")
    finally:
        kafka.stop(force=True, delete_volume=True)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("KAFKA_NUM_PARTITION", "broker has no setting num.partition; did you mean num.partitions?"),
        ("KAFKA_ZOOKEEPER_CONNECT", "KAFKA_ZOOKEEPER_CONNECT: the broker has no setting zookeeper.connect"),
        ("KAFKA_LISTENERS", "KAFKA_LISTENERS is for a container, and KafkaBroker runs without one: leave it out"),
        ("CLUSTER_ID", "CLUSTER_ID is for a container"),
    ],
)  # fmt: skip
def test_an_environment_variable_that_would_have_no_effect_is_refused(key: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        KafkaContainer().with_env(key, "1")


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_method_that_needs_a_container_raises_an_error_with_an_alternative(name: str) -> None:
    with pytest.raises(AttributeError, match=f"KafkaBroker has no {name}, because there is no container: .{{10,}}"):
        getattr(KafkaContainer(), name)


def test_arguments_that_need_a_container_are_named_in_the_refusal() -> None:
    with pytest.raises(ConfigError, match="KafkaBroker takes no name, volumes: there is no container, leave them out"):
        KafkaContainer("confluentinc/cp-kafka:7.6.0", volumes=[], name="kafka")
    with pytest.raises(ConfigError, match=r"properties of the broker are settings=\{NAME: VALUE\}"):
        KafkaContainer({"num.partitions": 3})  # type: ignore[arg-type]


def test_the_broker_listens_at_the_bound_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with KafkaContainer().with_bind_ports(9093, port) as kafka:
        assert kafka.get_bootstrap_server() == f"127.0.0.1:{port}"


def test_the_registry_address_has_the_name_of_redpandas_method() -> None:
    with (
        KafkaContainer(schema_registry=True) as redpanda,
        urllib.request.urlopen(f"{redpanda.get_schema_registry_address()}/subjects") as answer,
    ):
        assert json.load(answer) == []
    with KafkaContainer() as kafka, pytest.raises(OncelogError, match="start it with schema_registry=True"):
        kafka.get_schema_registry_address()
