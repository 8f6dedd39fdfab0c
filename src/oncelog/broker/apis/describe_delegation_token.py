"""DescribeDelegationToken (key 41), versions 1-3: refused, since only who authenticated may have a token (KIP-48)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.describe_delegation_token_request import DescribeDelegationTokenRequest
from oncelog.protocol.generated.describe_delegation_token_response import DescribeDelegationTokenResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker


def handle(
    broker: Broker, context: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, tokens=[])
