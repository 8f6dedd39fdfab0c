"""Tokens for OAUTHBEARER: how long one is kept, and AWS's, which its signer creates without a network."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest

from oncelog.client.aio.connection.tokens import Tokens, with_expiry
from oncelog.client.core.config import ClientConfig
from oncelog.errors import ConfigError

OAUTH = {"bootstrap.servers": "h:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}


def jwt(expires_s: float) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": expires_s}).encode()).rstrip(b"=").decode()
    return f"e30.{claims}.c2ln"


def test_a_token_is_kept_until_its_refresh_window_and_then_replaced() -> None:
    now_s = [1000.0]
    made: list[str] = []

    def provider() -> str:
        made.append(jwt(now_s[0] + 100))
        return made[-1]

    async def at(*times: float) -> list[str]:
        tokens = Tokens(ClientConfig.from_properties(OAUTH, provider), lambda: now_s[0])
        found: list[str] = []
        for time_s in times:
            now_s[0] = time_s
            found.append(await tokens.token())
        return found

    assert asyncio.run(at(1000, 1079, 1081, 1160, 1162)) == [made[0], made[0], made[1], made[1], made[2]]


def test_a_token_without_an_expiry_is_requested_each_time() -> None:
    made: list[str] = []

    async def provider() -> str:
        made.append(f"opaque-{len(made)}")
        return made[-1]

    async def twice() -> list[str]:
        tokens = Tokens(ClientConfig.from_properties(OAUTH, provider))
        return [await tokens.token(), await tokens.token()]

    assert asyncio.run(twice()) == ["opaque-0", "opaque-1"]
    assert with_expiry("a.b.c").expires_s is None


def test_an_aws_token_is_a_signed_request_for_the_region_in_the_brokers_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    aws = OAUTH | {"sasl.mechanism": "AWS_MSK_IAM"}
    servers = {"bootstrap.servers": "b-1.demo.abc.c2.kafka.eu-central-1.amazonaws.com:9098"}

    async def token(properties: dict[str, str]) -> str:
        return await Tokens(ClientConfig.from_properties(properties)).token()

    text = asyncio.run(token(aws | servers))
    url = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    assert url.startswith("https://kafka.eu-central-1.amazonaws.com/?Action=kafka-cluster%3AConnect&")
    assert "X-Amz-Signature=" in url
    with pytest.raises(ConfigError, match=r"needs sasl\.aws\.region"):
        asyncio.run(token(aws))
    elsewhere = asyncio.run(token(aws | {"sasl.aws.region": "us-east-1"}))
    assert "us-east-1" in base64.urlsafe_b64decode(elsewhere + "=" * (-len(elsewhere) % 4)).decode()
