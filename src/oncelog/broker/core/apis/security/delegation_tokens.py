"""Create-, Renew-, Expire- and DescribeDelegationToken (keys 38 to 41, KIP-48): always refused, because this broker
issues no tokens.

The answers are those of Apache Kafka without ``delegation.token.secret.key``. From version 3 on a token may be
requested for another principal, and the answer names the requester.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.session import ANONYMOUS
from oncelog.broker.core.security.access import USER, allows
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import response_type
from oncelog.protocol.wire import Message

if TYPE_CHECKING:
    from oncelog.broker.core.security.access import AccessPorts

FIRST_WITH_REQUESTER: Final = 3


def handle(ports: AccessPorts, context: RequestContext, request: Any) -> Message:
    error = Error.DELEGATION_TOKEN_AUTH_DISABLED
    if context.session.authenticator is None and context.principal == ANONYMOUS:
        error = Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    elif context.api_key == ApiKey.CREATE_DELEGATION_TOKEN:
        error = _refusal_to_create(ports, context, request)
    none_ms = 0 if error is Error.DELEGATION_TOKEN_AUTH_DISABLED else -1
    answer: Callable[..., Message] = response_type(context.api_key)
    return answer(error_code=error, **_REST[context.api_key](context, request, none_ms))


def _refusal_to_create(ports: AccessPorts, context: RequestContext, request: Any) -> Error:
    owner = _owner(context, request)
    if owner != context.principal and not allows(ports, context, Operation.CREATE_TOKENS, USER, owner):
        return Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    if any(renewer.principal_type != "User" for renewer in request.renewers):
        return Error.INVALID_PRINCIPAL_TYPE
    return Error.DELEGATION_TOKEN_AUTH_DISABLED


def _owner(context: RequestContext, request: Any) -> str:
    if request.owner_principal_name:
        return f"{request.owner_principal_type}:{request.owner_principal_name}"
    return context.principal


def _no_token(context: RequestContext, request: Any, none_ms: int) -> dict[str, object]:
    kind, _, name = _owner(context, request).partition(":")
    fields: dict[str, object] = {"principal_type": kind, "principal_name": name}
    fields |= dict.fromkeys(("issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms"), none_ms)
    if context.api_version >= FIRST_WITH_REQUESTER:
        kind, _, name = context.principal.partition(":")
        fields |= {"token_requester_principal_type": kind, "token_requester_principal_name": name}
    return fields


def _no_expiry(_: RequestContext, __: Any, none_ms: int) -> dict[str, object]:
    return {"expiry_timestamp_ms": none_ms}


_REST: Final[dict[int, Callable[[RequestContext, Any, int], dict[str, object]]]] = {
    ApiKey.CREATE_DELEGATION_TOKEN: _no_token,
    ApiKey.RENEW_DELEGATION_TOKEN: _no_expiry,
    ApiKey.EXPIRE_DELEGATION_TOKEN: _no_expiry,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: lambda *_: {"tokens": []},
}
"""For each API a function that returns the fields of the answer other than the error."""
