"""Broker settings that no broker knows are kept for plug-ins, and their values are never shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated import alter_configs_request as replacing
from oncelog.protocol.generated import incremental_alter_configs_request as changing
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.metadata_request import MetadataRequest
from tests.integration.conformance.nodes import Node, running_node

BROKER, SET, DELETE, APPEND = 4, 0, 1, 2
INVALID_CONFIG, INVALID_REQUEST = 40, 42
OWN, EVERY = 2, 3
FOREIGN = "plugin.threads"


@pytest.fixture(scope="module", params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def node(request: pytest.FixtureRequest) -> Iterator[Node]:
    with running_node(request.param) as started:
        yield started


@pytest.fixture
def connection(node: Node) -> Iterator[RawConnection]:
    with RawConnection(node.bootstrap_servers) as opened:
        yield opened


@pytest.fixture
def broker_id(connection: RawConnection) -> str:
    return str(connection.ask(MetadataRequest(topics=[]), 12).brokers[0].node_id)


def alter(connection: RawConnection, resource: str, name: str, operation: int, value: str | None = None) -> int:
    config = changing.AlterableConfig(name, operation, value)
    request = changing.IncrementalAlterConfigsRequest([changing.AlterConfigsResource(BROKER, resource, [config])])
    error: int = connection.ask(request, 1).responses[0].error_code
    return error


def described(connection: RawConnection, resource: str, name: str) -> Any:
    """Value, source, whether it is secret, whether it is read-only, type, and synonyms; None for what is not
    reported.
    """
    request = DescribeConfigsRequest([DescribeConfigsResource(BROKER, resource, [name])], include_synonyms=True)
    (result,) = connection.ask(request, 4).results
    assert result.error_code == 0
    rows = [
        (
            entry.value,
            entry.config_source,
            entry.is_sensitive,
            entry.read_only,
            entry.config_type,
            [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms],
        )
        for entry in result.configs
    ]
    return rows[0] if rows else None


def test_an_unknown_broker_setting_is_kept_and_its_value_is_hidden(
    node: Node, connection: RawConnection, broker_id: str
) -> None:
    shown = (None, OWN, True, True, 0, [(FOREIGN, None, OWN)])
    assert alter(connection, broker_id, FOREIGN, SET, "3") == 0
    eventually(lambda: described(connection, broker_id, FOREIGN) == shown)
    assert alter(connection, "", FOREIGN, SET, "4") == 0
    for_every = (None, EVERY, True, True, 0, [(FOREIGN, None, EVERY)])
    eventually(lambda: described(connection, "", FOREIGN) == for_every)
    both = (None, OWN, True, True, 0, [(FOREIGN, None, OWN), (FOREIGN, None, EVERY)])
    eventually(lambda: described(connection, broker_id, FOREIGN) == both)

    node.kill()
    node.start()
    with RawConnection(node.bootstrap_servers) as again:
        eventually(lambda: described(again, broker_id, FOREIGN) == both)
        assert alter(again, broker_id, FOREIGN, DELETE) == 0
        eventually(lambda: described(again, broker_id, FOREIGN) == for_every)
        assert alter(again, "", FOREIGN, DELETE) == 0
        eventually(lambda: described(again, broker_id, FOREIGN) is None)


def test_a_topic_setting_can_be_set_and_removed_on_a_broker(connection: RawConnection, broker_id: str) -> None:
    """kafkajs' own tests do this through the older AlterConfigs."""

    def replace(**values: str) -> int:
        configs = [replacing.AlterableConfig(name.replace("_", "."), value) for name, value in values.items()]
        request = replacing.AlterConfigsRequest([replacing.AlterConfigsResource(BROKER, broker_id, configs)])
        error: int = connection.ask(request, 1).responses[0].error_code
        return error

    assert replace(cleanup_policy="delete") == 0
    eventually(lambda: described(connection, broker_id, "cleanup.policy") is not None)
    assert replace() == 0
    eventually(lambda: described(connection, broker_id, "cleanup.policy") is None)


def test_an_unknown_setting_cannot_be_appended_to_and_a_listener_setting_needs_a_broker(
    connection: RawConnection, broker_id: str
) -> None:
    assert alter(connection, broker_id, FOREIGN, APPEND, "3") == INVALID_CONFIG
    assert alter(connection, "", "listener.name.external.plugin", SET, "3") == INVALID_REQUEST
    assert alter(connection, broker_id, "log.dirs", SET, "/elsewhere") == INVALID_REQUEST
