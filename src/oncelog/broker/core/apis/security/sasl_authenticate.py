"""SaslAuthenticate (key 36), versions 0-2: always refused here; logins go through ``login.sasl_authenticator``
(KIP-152)."""

from __future__ import annotations

from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_authenticate_response import SaslAuthenticateResponse


def handle(ports: object, context: RequestContext, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=Error.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )
