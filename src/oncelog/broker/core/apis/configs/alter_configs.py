"""AlterConfigs (key 33), versions 0-2: replace all settings of topics, brokers, groups or client metrics.

A property missing from the request goes back to its default; clients should use IncrementalAlterConfigs, which changes
single settings. Source: Kafka's ``ConfigAdminManager``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.administration.config_changes import ConfigRefusal, change, change_each
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.metadata.store import ResourceType
from oncelog.protocol.generated.alter_configs_request import AlterConfigsRequest, AlterConfigsResource
from oncelog.protocol.generated.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import ConfigPorts


def handle(ports: ConfigPorts, context: RequestContext, request: AlterConfigsRequest) -> Deferred[AlterConfigsResponse]:
    def replace(resource: AlterConfigsResource, name: str) -> ConfigRefusal | None:
        values = {config.name: config.value for config in resource.configs if config.value is not None}
        return change(ports, ResourceType(resource.resource_type), name, values, validate_only=request.validate_only)

    return change_each(ports, context, request.resources, _nulls, replace, AlterConfigsResourceResponse).map(
        lambda responses: AlterConfigsResponse(responses=responses)
    )


def _nulls(resource: AlterConfigsResource) -> list[str]:
    return [config.name for config in resource.configs if config.value is None]
