"""DescribeDelegationToken (key 41), versions 1-3: there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.context import RequestContext
from oncelog.broker.security.delegation_tokens import refusal_of_tokens
from oncelog.protocol.generated.describe_delegation_token_request import DescribeDelegationTokenRequest
from oncelog.protocol.generated.describe_delegation_token_response import DescribeDelegationTokenResponse

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker


def handle(
    broker: Broker, context: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=refusal_of_tokens(context.session), tokens=[])
