"""RenewDelegationToken (key 39), versions 1-2: there are no tokens to renew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.context import RequestContext
from oncelog.broker.security.delegation_tokens import refusal_of_tokens
from oncelog.errors import Error
from oncelog.protocol.generated.renew_delegation_token_request import RenewDelegationTokenRequest
from oncelog.protocol.generated.renew_delegation_token_response import RenewDelegationTokenResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker


def handle(
    broker: Broker, context: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    error = refusal_of_tokens(context.session)
    expiry_ms = 0 if error is Error.DELEGATION_TOKEN_AUTH_DISABLED else -1
    return RenewDelegationTokenResponse(error_code=error, expiry_timestamp_ms=expiry_ms)
