"""DescribeUserScramCredentials (key 50), version 0: mechanisms and iterations of users' credentials (KIP-554).

A missing or empty list of users asks for all users with credentials.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from oncelog.protocol.generated.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SecurityPorts


def handle(
    ports: SecurityPorts, context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    known: dict[str, list[CredentialInfo]] = {}
    for (user, mechanism), credential in sorted(ports.metadata.scram_credentials().items()):
        known.setdefault(user, []).append(CredentialInfo(mechanism=mechanism, iterations=credential.iterations))
    counts = Counter(user.name for user in request.users) if request.users else dict.fromkeys(known, 1)
    return DescribeUserScramCredentialsResponse(
        error_code=Error.NONE,
        error_message="",
        results=[_result(name, count, known.get(name)) for name, count in sorted(counts.items())],
    )


def _result(name: str, count: int, credentials: list[CredentialInfo] | None) -> DescribeUserScramCredentialsResult:
    if count > 1:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=Error.DUPLICATE_RESOURCE,
            error_message=f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}",
        )
    if credentials is None:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=Error.RESOURCE_NOT_FOUND,
            error_message=f"Attempt to describe a user credential that does not exist: {name}",
        )
    return DescribeUserScramCredentialsResult(
        user=name, error_code=Error.NONE, error_message="", credential_infos=credentials
    )
