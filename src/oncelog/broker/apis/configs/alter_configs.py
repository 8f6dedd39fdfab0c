"""AlterConfigs (key 33), versions 0-2: replace all settings of topics, brokers, groups or client metrics.

A property missing from the request goes back to its default; clients should use IncrementalAlterConfigs, which changes
single settings. Source: Kafka's ``ConfigAdminManager``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.acls import Operation
from oncelog.broker.administration.config_changes import (
    ConfigRefusal,
    change,
    change_each,
    refusal_of_caller,
    refusal_of_keys,
    refusal_of_resource,
    settings_name,
)
from oncelog.broker.requests.context import RequestContext
from oncelog.deferred import Deferred
from oncelog.metadata.store import ResourceType
from oncelog.protocol.generated.alter_configs_request import AlterConfigsRequest, AlterConfigsResource
from oncelog.protocol.generated.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse

if TYPE_CHECKING:
    from oncelog.broker.apis.ports import ConfigPorts


def handle(ports: ConfigPorts, context: RequestContext, request: AlterConfigsRequest) -> Deferred[AlterConfigsResponse]:
    return change_each(
        ports,
        context,
        request.resources,
        lambda resource: _alter(ports, context, resource, validate_only=request.validate_only),
        AlterConfigsResourceResponse,
    ).map(lambda responses: AlterConfigsResponse(responses=responses))


def _alter(
    ports: ConfigPorts, context: RequestContext, resource: AlterConfigsResource, *, validate_only: bool
) -> ConfigRefusal | None:
    kind = resource.resource_type
    name = settings_name(ports, kind, resource.resource_name)
    values = {config.name: config.value for config in resource.configs if config.value is not None}
    nulls = [config.name for config in resource.configs if config.value is None]
    return (
        refusal_of_keys([config.name for config in resource.configs], nulls)
        or refusal_of_caller(ports, context, kind, name, Operation.ALTER_CONFIGS)
        or refusal_of_resource(ports, kind, name)
        or change(ports, ResourceType(kind), name, values, validate_only=validate_only)
    )
