"""DescribeClientQuotas (key 48), versions 0-1: the quotas set for each entity (KIP-546).

A strict filter matches only entities of exactly the requested types. Source: Kafka's ``ClientQuotasImage.describe``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.limits.quotas import CLIENT_ID, IP, USER, in_order
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.metadata.store import QuotaEntity
from oncelog.errors import Error
from oncelog.protocol.generated.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from oncelog.protocol.generated.describe_client_quotas_response import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import QuotaPorts


EXACT, DEFAULT, SPECIFIED = 0, 1, 2


def handle(
    ports: QuotaPorts, context: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    refusal = _refusal(request.components)
    if refusal is not None:
        return DescribeClientQuotasResponse(error_code=refusal[0], error_message=refusal[1], entries=None)
    return DescribeClientQuotasResponse(
        error_code=Error.NONE,
        error_message="",
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                values=[ValueData(key=key, value=values[key]) for key in in_order(values)],
            )
            for entity, values in ports.metadata.client_quotas().items()
            if _matches(entity, request)
        ],
    )


def _refusal(components: list[ComponentData]) -> tuple[Error, str] | None:
    seen: set[str] = set()
    for component in components:
        kind, match = component.entity_type, component.match
        if not kind:
            return Error.INVALID_REQUEST, "Invalid empty entity type."
        if kind in seen:
            return Error.INVALID_REQUEST, f"Entity type {kind} cannot appear more than once in the filter."
        if kind not in (USER, CLIENT_ID, IP):
            return Error.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}"
        seen.add(kind)
        message = None
        if component.match_type == EXACT:
            message = "Request specified MATCH_TYPE_EXACT, but set match string to null." if match is None else None
        elif component.match_type in (DEFAULT, SPECIFIED):
            name = "DEFAULT" if component.match_type == DEFAULT else "SPECIFIED"
            if match is not None:
                message = f"Request specified MATCH_TYPE_{name}, but also specified a match string."
        else:
            message = f"Unknown match type {component.match_type}"
        if message is not None:
            return Error.INVALID_REQUEST, message
    if IP in seen and len(seen) > 1:
        return (
            Error.INVALID_REQUEST,
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component.",
        )
    return None


def _matches(entity: QuotaEntity, request: DescribeClientQuotasRequest) -> bool:
    parts = dict(entity)
    for component in request.components:
        kind = component.entity_type
        if kind not in parts:
            return False
        if component.match_type == EXACT and parts[kind] != component.match:
            return False
        if component.match_type == DEFAULT and parts[kind] is not None:
            return False
    return not request.strict or len(parts) == len(request.components)
