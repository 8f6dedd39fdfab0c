"""Which resources have settings, without a broker (KIP-1142)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from oncelog.broker.metadata.store import ResourceType
from oncelog.errors import Error
from oncelog.protocol.generated.list_config_resources_request import ListConfigResourcesRequest
from tests.support.handler_ports import HandlerPorts

GROUP, METRICS, TOPIC, BROKER, LOGGER = 32, 16, 2, 4, 8


@pytest.fixture
def ports() -> HandlerPorts:
    configured = {ResourceType.GROUP: ["g"], ResourceType.CLIENT_METRICS: ["m"]}
    topics = [SimpleNamespace(name="t"), SimpleNamespace(name="u")]
    metadata = SimpleNamespace(topics=lambda: topics, configured=lambda kind: configured[kind])
    return HandlerPorts(0, metadata=metadata, node=SimpleNamespace(node_id=5))


def listed(ports: HandlerPorts, kinds: list[int], version: int = 1) -> set[tuple[int, str]]:
    answer = ports.ask(ListConfigResourcesRequest(resource_types=kinds), version)
    assert answer.error_code == Error.NONE
    return {(row.resource_type, row.resource_name) for row in answer.config_resources}


def test_list_config_resources_0_lists_only_client_metrics_subscriptions(ports: HandlerPorts) -> None:
    answer = ports.ask(ListConfigResourcesRequest(), 0)
    assert [row.resource_name for row in answer.config_resources] == ["m"]


def test_all_or_the_requested_resource_types_are_listed(ports: HandlerPorts) -> None:
    everything = {(TOPIC, "t"), (TOPIC, "u"), (BROKER, "5"), (LOGGER, "5"), (METRICS, "m"), (GROUP, "g")}
    assert listed(ports, []) == everything
    assert listed(ports, [TOPIC, GROUP]) == {(TOPIC, "t"), (TOPIC, "u"), (GROUP, "g")}


def test_an_unknown_type_of_config_resource_is_refused(ports: HandlerPorts) -> None:
    answer = ports.ask(ListConfigResourcesRequest(resource_types=[TOPIC, 3]), 1)
    assert (answer.error_code, answer.config_resources) == (Error.UNSUPPORTED_VERSION, [])
