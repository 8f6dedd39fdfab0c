"""SaslHandshake (key 17), versions 0-1: always refused here; logins go through ``login.sasl_authenticator``
(KIP-43)."""

from __future__ import annotations

from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.generated.sasl_handshake_response import SaslHandshakeResponse


def handle(ports: object, context: RequestContext, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=Error.ILLEGAL_SASL_STATE, mechanisms=[])
