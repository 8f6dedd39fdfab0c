"""CreateDelegationToken (key 38), versions 1-3: refused, as by Apache Kafka without ``delegation.token.secret.key``.

From version 3 on a token may be requested for another principal, and the answer names the requester.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.security.access import USER, allows
from oncelog.broker.security.delegation_tokens import refusal_of_tokens
from oncelog.errors import Error
from oncelog.protocol.generated.create_delegation_token_request import CreateDelegationTokenRequest
from oncelog.protocol.generated.create_delegation_token_response import CreateDelegationTokenResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

FIRST_WITH_REQUESTER = 3


def handle(
    broker: Broker, context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    owner = context.principal
    if request.owner_principal_name:
        owner = f"{request.owner_principal_type}:{request.owner_principal_name}"
    error = refusal_of_tokens(context.session)
    if error is Error.DELEGATION_TOKEN_AUTH_DISABLED:
        if owner != context.principal and not allows(broker, context, Operation.CREATE_TOKENS, USER, owner):
            error = Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        elif any(renewer.principal_type != "User" for renewer in request.renewers):
            error = Error.INVALID_PRINCIPAL_TYPE
    none_ms = 0 if error is Error.DELEGATION_TOKEN_AUTH_DISABLED else -1
    kind, _, name = owner.partition(":")
    response = CreateDelegationTokenResponse(
        error_code=error,
        principal_type=kind,
        principal_name=name,
        issue_timestamp_ms=none_ms,
        expiry_timestamp_ms=none_ms,
        max_timestamp_ms=none_ms,
    )
    if context.api_version >= FIRST_WITH_REQUESTER:
        kind, _, name = context.principal.partition(":")
        response.token_requester_principal_type, response.token_requester_principal_name = kind, name
    return response
