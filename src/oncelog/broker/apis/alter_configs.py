"""AlterConfigs (key 33), versions 0-2: replace all settings of topics, brokers, groups or client metrics.

What a request leaves out goes back to its default; IncrementalAlterConfigs changes single settings and is what
clients should use. Source: Kafka's ``ConfigAdminManager``.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oncelog.broker.config_changes import Refusal, change, refusal_of_keys, refusal_of_resource
from oncelog.broker.context import RequestContext
from oncelog.errors import Error, StorageError
from oncelog.metadata.store import ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.alter_configs_request import AlterConfigsRequest, AlterConfigsResource
from oncelog.protocol.generated.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

API = ApiKey.ALTER_CONFIGS
VERSIONS = (0, 2)

TWICE = "Each resource must appear at most once."


def handle(broker: Broker, context: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    counts = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    responses = []
    for resource in request.resources:
        refusal: Refusal | None
        if counts[resource.resource_type, resource.resource_name] > 1:
            refusal = Refusal(Error.INVALID_REQUEST, TWICE)
        else:
            try:
                refusal = _alter(broker, resource, validate_only=request.validate_only)
            except StorageError as error:
                refusal = Refusal(Error.KAFKA_STORAGE_ERROR, str(error))
        responses.append(
            AlterConfigsResourceResponse(
                error_code=refusal.error if refusal else Error.NONE,
                error_message=refusal.message if refusal else None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
        )
    return AlterConfigsResponse(responses=responses)


def _alter(broker: Broker, resource: AlterConfigsResource, *, validate_only: bool) -> Refusal | None:
    kind, name = resource.resource_type, resource.resource_name
    values = {config.name: config.value for config in resource.configs if config.value is not None}
    nulls = [config.name for config in resource.configs if config.value is None]
    return (
        refusal_of_keys([config.name for config in resource.configs], nulls)
        or refusal_of_resource(broker, kind, name)
        or change(broker, ResourceType(kind), name, values, validate_only=validate_only)
    )
