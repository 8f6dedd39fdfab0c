"""CreateDelegationToken (key 38), versions 1-3: refused, since only who authenticated may have a token (KIP-48).

Version 3 names who asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.create_delegation_token_request import CreateDelegationTokenRequest
from oncelog.protocol.generated.create_delegation_token_response import CreateDelegationTokenResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

FIRST_WITH_REQUESTER = 3


def handle(
    broker: Broker, context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    kind, _, name = context.principal.partition(":")
    response = CreateDelegationTokenResponse(
        error_code=Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        principal_type=kind,
        principal_name=name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )
    if context.api_version >= FIRST_WITH_REQUESTER:
        response.token_requester_principal_type, response.token_requester_principal_name = kind, name
    return response
