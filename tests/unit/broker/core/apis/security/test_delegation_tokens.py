"""Requests for delegation tokens, which no broker here gives: each is refused with Apache Kafka's error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.broker.core.apis.security.delegation_tokens import handle
from oncelog.broker.core.security.security_log import SecurityLog
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.runtime.timers import Timers

DISABLED, NOT_ALLOWED = Error.DELEGATION_TOKEN_AUTH_DISABLED, Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
CREATE = ApiKey.CREATE_DELEGATION_TOKEN
OTHERS = [ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN, ApiKey.DESCRIBE_DELEGATION_TOKEN]


def asked(owner: str = "", renewer: str = "User") -> Any:
    return SimpleNamespace(
        owner_principal_name=owner, owner_principal_type="User", renewers=[SimpleNamespace(principal_type=renewer)]
    )


def answer(key: ApiKey, request: Any, *, principal: str = "User:a", logged_in: bool = True, may: bool = True) -> Any:
    context: Any = SimpleNamespace(
        session=SimpleNamespace(authenticator=object() if logged_in else None),
        principal=principal,
        client_host="127.0.0.1",
        api_key=key,
        api_version=3,
    )
    authorizer = SimpleNamespace(allows=lambda *_: may)
    ports: Any = SimpleNamespace(authorizer=authorizer, security_log=SecurityLog(Timers()), now_ms=0)
    return handle(ports, context, request)


@pytest.mark.parametrize("key", [CREATE, *OTHERS])
def test_delegation_tokens_are_disabled_and_need_a_login(key: ApiKey) -> None:
    assert answer(key, asked()).error_code is DISABLED
    assert answer(key, asked(), principal="User:ANONYMOUS", logged_in=False).error_code is NOT_ALLOWED


def test_a_delegation_token_for_another_user_needs_permission_and_valid_renewers() -> None:
    assert answer(CREATE, asked("b"), may=False).error_code is Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert answer(CREATE, asked("a"), may=False).error_code is DISABLED
    assert answer(CREATE, asked("b", renewer="Group")).error_code is Error.INVALID_PRINCIPAL_TYPE


def test_the_answer_about_a_delegation_token_names_the_owner_and_the_requester() -> None:
    found = answer(CREATE, asked("b"))
    assert (found.principal_type, found.principal_name) == ("User", "b")
    assert (found.token_requester_principal_type, found.token_requester_principal_name) == ("User", "a")
