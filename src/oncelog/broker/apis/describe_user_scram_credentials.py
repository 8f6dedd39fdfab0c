"""DescribeUserScramCredentials (key 50), version 0: no SASL, so no user has credentials (KIP-554)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oncelog.broker.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from oncelog.protocol.generated.describe_user_scram_credentials_response import (
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

API = ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS
VERSIONS = (0, 0)


def handle(
    broker: Broker, context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    counts = Counter(user.name for user in request.users or ())
    return DescribeUserScramCredentialsResponse(
        error_code=Error.NONE,
        error_message="",
        results=[_result(name, count) for name, count in sorted(counts.items())],
    )


def _result(name: str, count: int) -> DescribeUserScramCredentialsResult:
    if count > 1:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=Error.DUPLICATE_RESOURCE,
            error_message=f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}",
        )
    return DescribeUserScramCredentialsResult(
        user=name,
        error_code=Error.RESOURCE_NOT_FOUND,
        error_message=f"Attempt to describe a user credential that does not exist: {name}",
    )
