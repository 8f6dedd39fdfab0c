"""ApiVersions (key 18), versions 0-5: the supported APIs and versions, and the finalized features.

The answer always has response header v0, so that any client can read it. An unknown request version is answered with
the body of version 0, UNSUPPORTED_VERSION and the supported range (KIP-511); the connection stays open. From version 3
on the client names its software, and the answer has the finalized features, ``transaction.version`` among them; a
feature at level 0 is not listed. From version 5 on the client may name the cluster and the node that it expects; if it
is connected to another cluster or node, it gets REBOOTSTRAP_REQUIRED (KIP-1242).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.core.registry import SERVED
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.session import Channel
from oncelog.broker.metadata.features import SUPPORTED
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oncelog.broker.core.cluster.node import SimulatedNode
    from oncelog.broker.core.registry import Served
    from oncelog.broker.metadata.store import MetadataStore


_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class VersionPorts(Protocol):
    """The interface that the answer needs from the broker: supported APIs, finalized features, and the answering
    node."""

    metadata: MetadataStore
    node: SimulatedNode

    @property
    def advertised(self) -> list[ApiVersion]: ...


def handle(ports: VersionPorts, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    if context.api_version >= 3 and not (
        _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=Error.INVALID_REQUEST)
    node = context.session.node or ports.node
    meant, answers = (request.cluster_id, request.node_id), (ports.metadata.cluster_id, node.node_id)
    if request.cluster_id is not None and meant != answers:
        return ApiVersionsResponse(error_code=Error.REBOOTSTRAP_REQUIRED)
    if context.api_version >= 3:
        context.session.software = request.client_software_name, request.client_software_version
    finalized = ports.metadata.finalized_features
    return ApiVersionsResponse(
        error_code=Error.NONE,
        api_keys=ports.advertised,
        supported_features=[
            # Clients that use ApiVersions 0-3 refuse a feature whose lowest version is 0 (KAFKA-17011).
            SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in SUPPORTED.items()
            if context.api_version >= 4 or low > 0
        ],
        finalized_features_epoch=finalized.epoch,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in finalized.levels.items()
            if level > 0
        ],
    )


def advertised(served: Mapping[int, Served]) -> list[ApiVersion]:
    """The supported APIs and versions for an answer, built once for all connections."""
    return [
        ApiVersion(api_key=key, min_version=api.advertised_from, max_version=api.high)
        for key, api in sorted(served.items())
    ]


def refuse_version(channel: Channel, slot: int, api_key: int, version: int, correlation_id: int) -> None:
    """Refuse an API or a version that is not supported: ApiVersions gets an answer, for any other API the connection is
    closed."""
    if api_key != ApiKey.API_VERSIONS:
        channel.close(f"API key {api_key} is not served in version {version}")
        return
    body = unsupported_version().encode(0)
    channel.reply(slot, [encode_response_header(api_key, 0, correlation_id, len(body)), body])


def unsupported_version() -> ApiVersionsResponse:
    """The answer to an unknown version of ApiVersions, with the body of version 0."""
    served = SERVED[ApiKey.API_VERSIONS]
    return ApiVersionsResponse(
        error_code=Error.UNSUPPORTED_VERSION,
        api_keys=[ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=served.low, max_version=served.high)],
    )
