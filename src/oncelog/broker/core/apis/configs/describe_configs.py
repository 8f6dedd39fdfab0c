"""DescribeConfigs (key 32), versions 1-4: settings of topics, this broker, its loggers, groups and client metrics.

Version 3 adds types and documentation. Each value has a list of all sources that set it, the one in force first.
Source: Kafka's ``ConfigHelper``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from oncelog.broker.core.administration import loggers
from oncelog.broker.core.administration.config_changes import refusal_of_caller
from oncelog.broker.core.apis.data.describe_log_dirs import log_dir
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.refusals import MESSAGES
from oncelog.broker.metadata.descriptions import (
    BrokerLayers,
    ConfigSource,
    DescribedConfig,
    broker_entries,
    client_metrics_entries,
    default_broker_entries,
    for_every_broker,
    group_entries,
    topic_entries,
)
from oncelog.broker.metadata.store import ResourceType
from oncelog.broker.metadata.topic_rules import name_refusal
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import ConfigPorts, LayerPorts


KINDS = frozenset(kind for kind in ResourceType if kind is not ResourceType.UNKNOWN)
ENTRIES_IN_A_CHUNK = 15
"""The number of settings described in one chunk: a broker has about 300, and looking up all sources of a setting takes
20 microseconds."""


def handle(
    ports: ConfigPorts, context: RequestContext, request: DescribeConfigsRequest
) -> Deferred[DescribeConfigsResponse]:
    return ports.tasks.begin(_describe_each(ports, context, request), context)


def _describe_each(
    ports: ConfigPorts, context: RequestContext, request: DescribeConfigsRequest
) -> Work[DescribeConfigsResponse]:
    results: list[DescribeConfigsResult] = []
    unknown_kind = any(resource.resource_type not in KINDS for resource in request.resources)
    for resource in request.resources:
        if unknown_kind:  # one resource of an unknown type refuses all resources of the request
            results.append(_refused(resource, Error.INVALID_REQUEST, MESSAGES[Error.INVALID_REQUEST]))
        else:
            results.append((yield from _describe(ports, context, request, resource)))
        yield from ports.answer_memory.grow(context, 1 + len(results[-1].configs))
        yield
    return DescribeConfigsResponse(results=results)


def layers_of(ports: LayerPorts, node_id: int | None = None) -> BrokerLayers:
    """The sources of a node's settings at present; without ``node_id``, of the broker's own node."""
    store, node = ports.metadata, ports.node
    node_id = node.node_id if node_id is None else node_id
    if ports.cluster is None:
        address = ports.config.static.get("listeners") or f"PLAINTEXT://{node.host}:{node.port}"
    else:
        places = ports.cluster.member(node_id).addresses.items()
        address = ",".join(f"{name}://{place.host}:{place.port}" for name, place in places)
    advertised = ports.config.static.get("advertised.listeners") or address
    return BrokerLayers(
        ports.nodes.config_of(node_id),
        store.dynamic_config(ResourceType.BROKER, str(node_id)),
        for_every_broker(ports.config, store.dynamic_config(ResourceType.BROKER, "")),
        {
            "advertised.listeners": advertised,
            "broker.id": str(node_id),
            "listeners": address,
            "log.dirs": log_dir(ports.metadata),
            "node.id": str(node_id),
        },
    )


def _refused(resource: DescribeConfigsResource, error: Error, message: str | None) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _describe(
    ports: ConfigPorts, context: RequestContext, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> Work[DescribeConfigsResult]:
    refusal = refusal_of_caller(
        ports, context, resource.resource_type, resource.resource_name, Operation.DESCRIBE_CONFIGS
    )
    if refusal is not None:
        return _refused(resource, *refusal)
    found = _entries(ports, context, resource)
    if isinstance(found, tuple):
        return _refused(resource, *found)
    result = _refused(resource, Error.NONE, "")
    keys = set(resource.configuration_keys or ())
    for number, entry in enumerate(found, 1):
        if not keys or entry.name in keys:
            result.configs.append(_shown(entry, request))
        if not number % ENTRIES_IN_A_CHUNK:
            yield
    return result


def _entries(
    ports: ConfigPorts, context: RequestContext, resource: DescribeConfigsResource
) -> Iterable[DescribedConfig] | tuple[Error, str]:
    """The settings of a resource, or an error and its message if the resource does not exist or has no settings."""
    name = resource.resource_name
    match resource.resource_type:
        case ResourceType.TOPIC:
            refusal = name_refusal(name)
            if refusal is not None:
                return Error.INVALID_TOPIC_EXCEPTION, refusal
            info = ports.metadata.topic(name)
            if info is None:
                return Error.UNKNOWN_TOPIC_OR_PARTITION, ""
            return topic_entries(layers_of(ports, context.session.node_id), info.overrides)
        case ResourceType.BROKER:
            if not name:
                return default_broker_entries(layers_of(ports))
            return _refusal_of_broker(ports, name, " or empty string,") or broker_entries(layers_of(ports, int(name)))
        case ResourceType.BROKER_LOGGER:
            if not name:
                return Error.INVALID_REQUEST, "Broker id must not be empty"
            return _refusal_of_broker(ports, name, "") or [
                DescribedConfig(logger, level, ConfigSource.DYNAMIC_BROKER_LOGGER, (), 0, "")
                for logger, level in loggers.levels().items()
            ]
        case ResourceType.CLIENT_METRICS:
            if not name:
                return Error.INVALID_REQUEST, "Client metrics subscription name must not be empty"
            return client_metrics_entries(ports.metadata.dynamic_config(ResourceType.CLIENT_METRICS, name))
        case ResourceType.GROUP:
            if not name:
                return Error.INVALID_REQUEST, "Group name must not be empty"
            return group_entries(layers_of(ports), ports.metadata.dynamic_config(ResourceType.GROUP, name))
        case _:
            return Error.INVALID_REQUEST, MESSAGES[Error.INVALID_REQUEST]


def _refusal_of_broker(ports: ConfigPorts, name: str, alternative: str) -> tuple[Error, str] | None:
    node_id = ports.node.node_id
    try:
        asked = int(name)
    except ValueError:
        return Error.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
    if asked in ports.nodes.ids:
        return None
    return Error.INVALID_REQUEST, f"Unexpected broker id, expected {node_id}{alternative} but received {name}"


def _shown(entry: DescribedConfig, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in (entry.synonyms if request.include_synonyms else ())
        ],
        config_type=entry.kind,
        documentation=entry.doc if request.include_documentation else None,
    )
