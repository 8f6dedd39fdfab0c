"""IncrementalAlterConfigs (key 44), versions 0-1: set, unset, append to or subtract from single settings (KIP-339).

Resources are changed one by one, each as a whole or not at all; changes are in force when the answer is sent. Source:
Kafka's ``ConfigAdminManager.prepareIncrementalConfigs`` and ``ConfigurationControlManager.incrementalAlterConfigs``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from oncelog.broker.core.administration.config_changes import (
    OWN_MIN_IN_SYNC,
    PROPERTIES,
    REMOVED_MIN_IN_SYNC,
    ConfigRefusal,
    change,
    change_each,
    change_loggers,
    current_values,
)
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.metadata.descriptions import MIN_IN_SYNC
from oncelog.broker.metadata.store import ResourceType
from oncelog.errors import Error
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from oncelog.protocol.generated.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from oncelog.runtime.deferred import Deferred
from oncelog.settings.config import TopicConfig
from oncelog.settings.fields import properties
from oncelog.settings.kafka_properties import PropertyKind, render

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import ConfigPorts


class AlterOperation(IntEnum):
    """What to do with a setting (Kafka's ``AlterConfigOp.OpType``)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def handle(
    ports: ConfigPorts, context: RequestContext, request: IncrementalAlterConfigsRequest
) -> Deferred[IncrementalAlterConfigsResponse]:
    return change_each(
        ports,
        context,
        request.resources,
        _nulls,
        lambda resource, name: _alter(ports, resource, name, validate_only=request.validate_only),
        AlterConfigsResourceResponse,
        loggers_too=True,
    ).map(lambda responses: IncrementalAlterConfigsResponse(responses=responses))


def _nulls(resource: AlterConfigsResource) -> list[str]:
    return [c.name for c in resource.configs if c.value is None and c.config_operation != AlterOperation.DELETE]


def _alter(
    ports: ConfigPorts, resource: AlterConfigsResource, name: str, *, validate_only: bool
) -> ConfigRefusal | None:
    kind = ResourceType(resource.resource_type)
    unknown = [c.config_operation for c in resource.configs if c.config_operation not in set(AlterOperation)]
    if unknown:
        return ConfigRefusal(Error.INVALID_REQUEST, f"Unknown operations type {unknown[0]}")
    if kind is ResourceType.BROKER_LOGGER:
        operations = {c.name: (AlterOperation(c.config_operation).name, c.value) for c in resource.configs}
        return change_loggers(operations, validate_only=validate_only)
    values = dict(current_values(ports, kind, name))
    for config in resource.configs:
        refusal = _apply(ports, resource, config, values)
        if refusal is not None:
            return refusal
    return change(ports, kind, name, values, validate_only=validate_only)


def _apply(
    ports: ConfigPorts, resource: AlterConfigsResource, config: AlterableConfig, values: dict[str, str]
) -> ConfigRefusal | None:
    """Apply one operation to ``values``, or return the refusal."""
    kind = ResourceType(resource.resource_type)
    operation, text = AlterOperation(config.config_operation), config.value or ""
    if operation is AlterOperation.SET:
        values[config.name] = text
        return None
    if operation is AlterOperation.DELETE:
        if kind is ResourceType.BROKER and config.name == MIN_IN_SYNC:
            return OWN_MIN_IN_SYNC if resource.resource_name else REMOVED_MIN_IN_SYNC
        values.pop(config.name, None)
        return None
    known = PROPERTIES[kind]().get(config.name)
    if kind is ResourceType.BROKER and known is None:
        return ConfigRefusal(Error.INVALID_CONFIG, f"Unknown config name: {config.name}")
    if kind is ResourceType.CLIENT_METRICS or known is None or known.kind is not PropertyKind.LIST:
        return ConfigRefusal(Error.INVALID_CONFIG, _not_a_list(kind, operation, config.name))
    old = values.get(config.name, _default(ports, kind, config.name))
    words, given = (list(filter(None, part.split(","))) for part in (old, text))
    if operation is AlterOperation.APPEND:
        there = set(words)
        words += [word for word in given if word not in there]
    else:
        taken = set(given)
        words = [word for word in words if word not in taken]
    values[config.name] = ",".join(words)
    return None


def _not_a_list(kind: ResourceType, operation: AlterOperation, name: str) -> str:
    if kind is ResourceType.BROKER:
        return f"Config value {operation.name.lower()} is not allowed for config key: {name}"
    return f"Can't {operation.name} to key {name} because its type is not LIST."


def _default(ports: ConfigPorts, kind: ResourceType, name: str) -> str:
    """The value in force of a list setting that is not set: operations append to this list or subtract from it."""
    if kind is ResourceType.TOPIC:
        return render(getattr(ports.metadata.topic_defaults, properties(TopicConfig)[name].name))
    return ports.config.text(name) or ""
