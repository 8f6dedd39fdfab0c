"""ListConfigResources (key 74), versions 0-1: the names of resources that have settings (KIP-1142): all topics, this
broker, and groups and client metrics subscriptions with stored settings. Version 0 lists only client metrics
subscriptions; version 1 lists all types, or those in the request.

Source: Kafka's ``KafkaApis.handleListConfigResources``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.metadata.store import ResourceType
from oncelog.errors import Error
from oncelog.protocol.generated.list_config_resources_request import ListConfigResourcesRequest
from oncelog.protocol.generated.list_config_resources_response import ConfigResource, ListConfigResourcesResponse

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import ConfigPorts


KINDS = tuple(kind for kind in ResourceType if kind is not ResourceType.UNKNOWN)


def handle(
    ports: ConfigPorts, context: RequestContext, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    asked = [ResourceType.CLIENT_METRICS] if context.api_version == 0 else request.resource_types or list(KINDS)
    if any(kind not in KINDS for kind in asked):
        return ListConfigResourcesResponse(error_code=Error.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        error_code=Error.NONE,
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in KINDS
            if kind in asked
            for name in _names(ports, kind)
        ],
    )


def _names(ports: ConfigPorts, kind: ResourceType) -> list[str]:
    match kind:
        case ResourceType.TOPIC:
            return [info.name for info in ports.metadata.topics()]
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return [str(ports.node.node_id)]
        case _:
            return list(ports.metadata.configured(kind))
