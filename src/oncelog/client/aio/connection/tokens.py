"""Tokens for SASL OAUTHBEARER (RFC 7628): from an endpoint, a file, a callable, or AWS's signer.

Called by the network's connections when they log in. A token is kept until ``sasl.login.refresh.window.factor`` of its
life has passed, so that connections share it; endpoints are queried in a thread.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import inspect
import re
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, cast
from urllib.parse import quote_plus, unquote, urlencode, urlsplit

from oncelog.client.core.config import ClientConfig
from oncelog.errors import ConfigError, Error, KafkaError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time
from oncelog.runtime.http_proxies import open_url

_MAX_ANSWER_BYTES = 1 << 20
_SHORTEST_LIFE_S = 1.0


class Token(NamedTuple):
    """A bearer token; ``expires_s`` (Unix time) is None if the token does not say."""

    text: str
    expires_s: float | None


class Tokens:
    """The tokens of one client. Belongs to the client's event loop."""

    def __init__(self, config: ClientConfig, now_s: Callable[[], float] = real_time.time) -> None:
        self._config = config
        self._now_s = now_s
        self._kept = ""
        self._good_until_s = 0.0
        self._lock = asyncio.Lock()

    async def token(self) -> str:
        """A token that stays valid for a while. Raises KafkaError if none can be obtained."""
        async with self._lock:
            if not self._kept or self._now_s() >= self._good_until_s:
                fresh = await self._fresh()
                if not fresh.text or re.search(r"[\s\x00-\x1f]", fresh.text):
                    raise KafkaError(
                        Error.SASL_AUTHENTICATION_FAILED, "the OAUTHBEARER token is empty or not a token of RFC 6750"
                    )
                self._kept, self._good_until_s = fresh.text, self._refresh_at(fresh)
            return self._kept

    def _refresh_at(self, token: Token) -> float:
        now_s = self._now_s()
        if token.expires_s is None:
            return now_s
        life_s = token.expires_s - now_s
        if life_s < _SHORTEST_LIFE_S:
            return now_s
        return now_s + life_s * self._config.sasl_login_refresh_window_factor

    async def _fresh(self) -> Token:
        config = self._config
        if config.sasl_mechanism == "AWS_MSK_IAM":
            return await asyncio.to_thread(_aws_token, config)
        if config.token_provider is not None:
            return await _called(config.token_provider)
        if config.sasl_oauthbearer_token_provider is not None:
            return await _called(_imported(config.sasl_oauthbearer_token_provider))
        return await self._from_endpoint(config.sasl_oauthbearer_token_endpoint_url or "")

    async def _from_endpoint(self, url: str) -> Token:
        if url.startswith("file:"):
            path = Path(unquote(urlsplit(url).path))
            try:
                return with_expiry(path.read_text(encoding="utf-8-sig").strip())
            except (OSError, UnicodeDecodeError) as error:
                raise KafkaError(
                    Error.SASL_AUTHENTICATION_FAILED,
                    f"sasl.oauthbearer.token.endpoint.url={url} cannot be read: {error}",
                ) from error
        deadline_s = self._now_s() + self._config.sasl_login_retry_backoff_max_ms / 1000
        wait_s = self._config.sasl_login_retry_backoff_ms / 1000
        while True:
            try:
                return await asyncio.to_thread(_ask_endpoint, url, self._config)
            except _Refused as error:
                raise KafkaError(Error.SASL_AUTHENTICATION_FAILED, str(error)) from error
            except OSError as error:
                if self._now_s() + wait_s > deadline_s:
                    raise KafkaError(
                        Error.NETWORK_EXCEPTION, f"sasl.oauthbearer.token.endpoint.url={url} does not answer: {error}"
                    ) from error
            await asyncio.sleep(wait_s)
            wait_s *= 2


class _Refused(Exception):
    """The endpoint refuses to issue a token."""


def _ask_endpoint(url: str, config: ClientConfig) -> Token:
    """Request a token with client credentials (RFC 6749, 4.4), as Kafka does. Runs in a thread."""
    client_id, secret = (text or "" for text in config.client_credentials())
    if config.sasl_oauthbearer_header_urlencode:
        client_id, secret = quote_plus(client_id), quote_plus(secret)
    form = {"grant_type": "client_credentials"}
    scope = config.token_scope()
    if scope:
        form["scope"] = scope
    request = urllib.request.Request(
        url,
        data=urlencode(form).encode(),
        headers={
            "Accept": "application/json",
            "Authorization": "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode(),
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )
    timeout_s = max(config.sasl_login_connect_timeout_ms, config.sasl_login_read_timeout_ms) / 1000
    try:
        with open_url(request, timeout_s) as answer:
            data = answer.read(_MAX_ANSWER_BYTES)
    except urllib.error.HTTPError as error:
        reason = f"the token endpoint {url} answered {error.code} {error.reason}"
        if error.code >= 500 or error.code in (408, 429):
            raise OSError(reason) from error
        raise _Refused(f"{reason}: check the client id, its secret and sasl.oauthbearer.scope") from error
    try:
        fields = json.loads(data)
        token = with_expiry(str(fields["access_token"]))
        if token.expires_s is None and "expires_in" in fields:
            return Token(token.text, real_time.time() + float(fields["expires_in"]))
    except (ValueError, KeyError, TypeError) as error:
        raise _Refused(f"the token endpoint {url} answered without an access_token in JSON") from error
    return token


def with_expiry(text: str) -> Token:
    """A token with its expiry, if it is a JWT that has one (claim ``exp``)."""
    parts = text.split(".")
    if len(parts) != 3:
        return Token(text, None)
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return Token(text, float(claims["exp"]))
    except (binascii.Error, ValueError, KeyError, TypeError):
        return Token(text, None)


def _imported(name: str) -> Callable[[], str | Awaitable[str]]:
    module, _, attribute = name.partition(":")
    try:
        found: object = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"sasl.oauthbearer.token.provider={name} cannot be imported: {error}") from error
    if not callable(found):
        raise ConfigError(f"sasl.oauthbearer.token.provider={name} is not a callable")
    return cast("Callable[[], str | Awaitable[str]]", found)


async def _called(provider: Callable[[], str | Awaitable[str]]) -> Token:
    """Call a user's provider, which returns a string or an awaitable; aiokafka's providers have a method ``token``."""
    method = getattr(provider, "token", None)
    call = cast("Callable[[], str | Awaitable[str]]", method if callable(method) else provider)
    answer = call() if inspect.iscoroutinefunction(call) else await asyncio.to_thread(call)
    text = await answer if inspect.isawaitable(answer) else answer
    if not isinstance(text, str):
        raise KafkaError(
            Error.SASL_AUTHENTICATION_FAILED,
            f"the token provider returned {type(text).__name__}, but must return a str",
        )
    return with_expiry(text)


def _aws_token(config: ClientConfig) -> Token:
    """A token that AWS's signer derives from the credentials of the process (environment, profile, role)."""
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError as error:
        raise ConfigError("sasl.mechanism=AWS_MSK_IAM needs a package: pip install 'oncelog[aws]'") from error
    region = config.sasl_aws_region or _region_of(config.bootstrap_servers)
    jaas = config.jaas()
    options = jaas.options if jaas is not None else {}
    unknown = sorted(set(options) - {"awsProfileName", "awsRoleArn", "awsRoleSessionName", "awsDebugCreds"})
    if unknown:
        raise ConfigError(f"{unknown[0]} in sasl.jaas.config is not supported with AWS_MSK_IAM")
    try:
        if "awsRoleArn" in options:
            session = options.get("awsRoleSessionName", "oncelog")
            text, expires_ms = MSKAuthTokenProvider.generate_auth_token_from_role_arn(
                region, options["awsRoleArn"], session
            )
        elif "awsProfileName" in options:
            text, expires_ms = MSKAuthTokenProvider.generate_auth_token_from_profile(region, options["awsProfileName"])
        else:
            text, expires_ms = MSKAuthTokenProvider.generate_auth_token(region)
    except (BotoCoreError, ClientError, ValueError) as error:
        raise KafkaError(
            Error.SASL_AUTHENTICATION_FAILED, f"AWS provides no credentials for sasl.mechanism=AWS_MSK_IAM: {error}"
        ) from error
    return Token(str(text), float(expires_ms) / 1000)


def _region_of(servers: tuple[str, ...]) -> str:
    """The region in the name of an MSK broker, ``b-1.name.abc.c2.kafka.eu-central-1.amazonaws.com``."""
    for server in servers:
        match = re.search(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com", server)
        if match:
            return match.group(1)
    raise ConfigError("sasl.mechanism=AWS_MSK_IAM needs sasl.aws.region: bootstrap.servers names no region")
