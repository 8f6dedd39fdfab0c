"""ExpireDelegationToken (key 40), versions 1-2: refused, since only who authenticated may have a token (KIP-48)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.expire_delegation_token_request import ExpireDelegationTokenRequest
from oncelog.protocol.generated.expire_delegation_token_response import ExpireDelegationTokenResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker


def handle(
    broker: Broker, context: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_timestamp_ms=-1)
