"""DescribeConfigs: which resource has which settings, and what is answered for one that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oncelog.errors import Error
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.unit.broker.core.conftest import NOW_MS, Admin

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def describe(admin: Admin, kind: int, name: str, *keys: str) -> tuple[Error, str, dict[str, str]]:
    resource = DescribeConfigsResource(kind, name, list(keys) or None)
    (found,) = admin.ask(DescribeConfigsRequest([resource]), 4).results
    return Error(found.error_code), found.error_message or "", {entry.name: entry.value for entry in found.configs}


def alter(admin: Admin, kind: int, name: str, setting: str, operation: int, value: str | None) -> tuple[Error, str]:
    resource = AlterConfigsResource(kind, name, [AlterableConfig(setting, operation, value)])
    (found,) = admin.ask(IncrementalAlterConfigsRequest([resource]), 1).responses
    return Error(found.error_code), found.error_message or ""


@pytest.fixture
def several() -> Iterator[Admin]:
    made = Admin(nodes=(1, 2, 3))
    yield made
    made.broker.stop(NOW_MS)


@pytest.mark.parametrize(
    ("kind", "name", "error", "message"),
    [
        (TOPIC, "", Error.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: the empty string is not allowed"),
        (TOPIC, "none", Error.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (BROKER, "one", Error.INVALID_REQUEST, "Broker id must be an integer, but it is: one"),
        (BROKER, "7", Error.INVALID_REQUEST, "Unexpected broker id, expected 1 or empty string, but received 7"),
        (LOGGER, "", Error.INVALID_REQUEST, "Broker id must not be empty"),
        (LOGGER, "7", Error.INVALID_REQUEST, "Unexpected broker id, expected 1 but received 7"),
        (METRICS, "", Error.INVALID_REQUEST, "Client metrics subscription name must not be empty"),
        (GROUP, "", Error.INVALID_REQUEST, "Group name must not be empty"),
    ],
)
def test_a_missing_resource_is_reported(admin: Admin, kind: int, name: str, error: Error, message: str) -> None:
    assert describe(admin, kind, name) == (error, message, {})


def test_each_kind_of_resource_has_settings_of_its_own(admin: Admin) -> None:
    admin.broker.topics.create("t", 1, {"retention.ms": "5"}, NOW_MS)
    assert describe(admin, TOPIC, "t", "retention.ms")[2] == {"retention.ms": "5"}
    assert describe(admin, BROKER, "1", "node.id")[2] == {"node.id": "1"}
    assert describe(admin, BROKER, "")[2] == {"min.insync.replicas": "1"}
    assert describe(admin, LOGGER, "1")[2]
    assert describe(admin, METRICS, "all")[0] is Error.NONE
    assert describe(admin, GROUP, "g", "consumer.session.timeout.ms")[2] == {"consumer.session.timeout.ms": "45000"}
    assert alter(admin, BROKER, "", "log.retention.ms", SET, "7") == (Error.NONE, "")
    assert describe(admin, BROKER, "")[2] == {"log.retention.ms": "7", "min.insync.replicas": "1"}


def test_each_of_several_nodes_is_described_with_its_own_settings(several: Admin) -> None:
    assert alter(several, BROKER, "2", "log.retention.ms", SET, "7") == (Error.NONE, "")
    of_nodes = [describe(several, BROKER, name, "log.retention.ms", "node.id")[2] for name in ("1", "2")]
    assert [found["node.id"] for found in of_nodes] == ["1", "2"]
    assert [found["log.retention.ms"] == "7" for found in of_nodes] == [False, True]


def test_a_log_uses_the_defaults_of_the_partitions_leader(several: Admin) -> None:
    """As in Apache Kafka, where each broker completes a topic's settings with its own."""
    several.broker.topics.create("t", 3, {}, NOW_MS)
    assert alter(several, BROKER, "2", "log.retention.ms", SET, "7") == (Error.NONE, "")
    cluster = several.broker.cluster
    assert cluster is not None
    for name, partition in several.broker.partitions().items():
        assert (partition.log.config.retention_ms == 7) == (cluster.replicas(name).leader == 2)


@pytest.mark.parametrize(
    ("kind", "name", "setting", "operation", "value", "refusal"),
    [
        (BROKER, "1", "log.retention.ms", APPEND, "1", "Config value append is not allowed for config key: "
         "log.retention.ms"),
        (TOPIC, "t", "retention.ms", SUBTRACT, "1", "Can't SUBTRACT to key retention.ms because its type is not LIST."),
        (TOPIC, "t", "retention.ms", 9, "1", "Unknown operations type 9"),
        (BROKER, "1", "ssl.keystore.location", SET, "/k", "These security configs can be dynamically updated only "
         "per-listener using the listener prefix: [ssl.keystore.location]"),
        (GROUP, "g", "consumer.session.timeout.ms", SET, "46000000", None),
    ],
)  # fmt: skip
def test_the_refusal_of_a_change_gives_the_reason(
    admin: Admin, kind: int, name: str, setting: str, operation: int, value: str, refusal: str | None
) -> None:
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    before = describe(admin, kind, name)
    error, message = alter(admin, kind, name, setting, operation, value)
    assert error is not Error.NONE
    assert refusal in (None, message)
    assert describe(admin, kind, name) == before


def test_a_list_that_was_not_set_is_appended_to_the_value_in_force(admin: Admin) -> None:
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    assert alter(admin, TOPIC, "t", "cleanup.policy", APPEND, "compact") == (Error.NONE, "")
    assert describe(admin, TOPIC, "t", "cleanup.policy")[2] == {"cleanup.policy": "delete,compact"}
    assert alter(admin, TOPIC, "t", "cleanup.policy", SUBTRACT, "delete") == (Error.NONE, "")
    assert describe(admin, TOPIC, "t", "cleanup.policy")[2] == {"cleanup.policy": "compact"}
    assert alter(admin, BROKER, "", "log.cleanup.policy", APPEND, "compact") == (Error.NONE, "")
    assert describe(admin, BROKER, "", "log.cleanup.policy")[2] == {"log.cleanup.policy": "delete,compact"}


def test_shared_settings_of_nodes_in_one_process_apply_to_all(several: Admin) -> None:
    error, message = alter(several, BROKER, "2", "log.cleaner.backoff.ms", SET, "2")
    assert error is Error.INVALID_REQUEST
    assert message.startswith(
        'The nodes of one process share these: set them for every broker (resource name "") or for broker 1'
    )
    for name in ("", "1"):
        assert alter(several, BROKER, name, "log.cleaner.backoff.ms", SET, "2") == (Error.NONE, "")


def test_a_setting_of_one_node_in_a_process_does_not_apply_to_the_others(several: Admin) -> None:
    assert alter(several, BROKER, "2", "max.connections", SET, "2") == (Error.NONE, "")
    assert describe(several, BROKER, "2", "max.connections")[2] == {"max.connections": "2"}
    assert describe(several, BROKER, "1", "max.connections")[2] != {"max.connections": "2"}


def test_listeners_of_several_nodes_do_not_change(several: Admin) -> None:
    error, message = alter(several, BROKER, "1", "listeners", SET, "PLAINTEXT://127.0.0.1:1")
    assert error is Error.INVALID_REQUEST
    assert (
        message.startswith("listeners cannot be changed while several nodes run in one process") or "share" in message
    )


def test_a_session_timeout_of_a_group_below_its_heartbeat_interval_is_refused() -> None:
    made = Admin(
        **{"group.consumer.min.session.timeout.ms": "1000", "group.consumer.min.heartbeat.interval.ms": "1000"}
    )
    settings = ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms")
    both = AlterConfigsResource(GROUP, "g", [AlterableConfig(setting, SET, "5000") for setting in settings])
    (found,) = made.ask(IncrementalAlterConfigsRequest([both]), 1).responses
    refusal = "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"
    assert (found.error_code, found.error_message) == (Error.INVALID_CONFIG, refusal)
    made.broker.stop(NOW_MS)
