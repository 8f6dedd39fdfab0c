"""Logging in on a connection: PLAIN, SCRAM (RFC 5802) and OAUTHBEARER (RFC 7628).

Called by the connection before it carries other requests, and again before its session ends (KIP-368).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Mapping
from hashlib import pbkdf2_hmac
from typing import Any, NamedTuple

from oncelog.client.core.client_errors import error_for, error_of
from oncelog.client.core.config import ClientConfig
from oncelog.client.core.connection.wire import Api
from oncelog.client.core.security import TOKEN_MECHANISMS
from oncelog.errors import Error, KafkaError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.wire import Message

SASL_HANDSHAKE = Api(ApiKey.SASL_HANDSHAKE, 1, 1)
SASL_AUTHENTICATE = Api(ApiKey.SASL_AUTHENTICATE, 0, 1)

Ask = Callable[[Api, Message, int], Awaitable[Any]]


async def authenticate(ask: Ask, config: ClientConfig, token: Callable[[], Awaitable[str]]) -> int:
    """Log in; returns the lifetime of the session in ms, or 0 if the session lasts as long as the connection.

    :raises KafkaError: the mechanism or the credentials were refused.
    """
    mechanism = "OAUTHBEARER" if config.sasl_mechanism in TOKEN_MECHANISMS else config.sasl_mechanism
    handshake = await ask(SASL_HANDSHAKE, SaslHandshakeRequest(mechanism=mechanism), 1)
    error = error_of(handshake.error_code)
    if error is not Error.NONE:
        offered = ", ".join(handshake.mechanisms)
        raise error_for(error, f"sasl.mechanism={config.sasl_mechanism} was refused; the broker offers {offered}")
    if mechanism == "OAUTHBEARER":
        return await _bearer(ask, await token(), config.token_extensions())
    user, password = (text or "" for text in config.credentials())
    if mechanism == "PLAIN":
        return (await _step(ask, f"\0{user}\0{password}".encode())).session_lifetime_ms
    scram = ScramClient(
        mechanism.removeprefix("SCRAM-").replace("-", "").lower(), user, password, secrets.token_urlsafe(18)
    )
    final = scram.respond((await _step(ask, scram.first())).auth_bytes)
    answer = await _step(ask, final)
    scram.verify(answer.auth_bytes)
    return answer.session_lifetime_ms


async def _bearer(ask: Ask, token: str, extensions: Mapping[str, str]) -> int:
    """Send the token; a broker that refuses it explains why in JSON and awaits an empty answer before its error."""
    fields = "".join(f"\x01{name}={value}" for name, value in extensions.items())
    answer = await _step(ask, f"n,,\x01auth=Bearer {token}{fields}\x01\x01".encode())
    if answer.auth_bytes:
        await _step(ask, b"\x01")
        reason = answer.auth_bytes.decode(errors="replace")
        raise KafkaError(Error.SASL_AUTHENTICATION_FAILED, f"the broker refused the token: {reason}")
    return answer.session_lifetime_ms


class Answered(NamedTuple):
    """A broker's answer to one step of the login."""

    auth_bytes: bytes
    session_lifetime_ms: int


async def _step(ask: Ask, token: bytes) -> Answered:
    answer = await ask(SASL_AUTHENTICATE, SaslAuthenticateRequest(auth_bytes=token), 1)
    error = error_of(answer.error_code)
    if error is not Error.NONE:
        raise error_for(error, answer.error_message or "the broker refused the credentials")
    return Answered(bytes(answer.auth_bytes), answer.session_lifetime_ms)


class ScramClient:
    """The client's side of one SCRAM exchange, without channel binding."""

    def __init__(self, digest: str, user: str, password: str, nonce: str) -> None:
        self._digest = digest
        self._password = password
        self._nonce = nonce
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={nonce}"
        self._server_signature = b""

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def respond(self, challenge: bytes) -> bytes:
        """The proof that answers the server's challenge."""
        text = challenge.decode()
        fields = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
        if not fields.get("r", "").startswith(self._nonce):
            raise KafkaError(Error.SASL_AUTHENTICATION_FAILED, "the broker answered SCRAM with another nonce")
        salted = pbkdf2_hmac(self._digest, self._password.encode(), b64decode(fields["s"]), int(fields["i"]))
        client_key = self._hmac(salted, b"Client Key")
        without_proof = f"c=biws,r={fields['r']}"
        message = f"{self._bare},{text},{without_proof}".encode()
        signature = self._hmac(hashlib.new(self._digest, client_key).digest(), message)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._server_signature = self._hmac(self._hmac(salted, b"Server Key"), message)
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def verify(self, final: bytes) -> None:
        """Check that the server knows the password too."""
        fields = dict(part.split("=", 1) for part in final.decode().split(",") if "=" in part)
        if not hmac.compare_digest(b64decode(fields.get("v", "")), self._server_signature):
            raise KafkaError(Error.SASL_AUTHENTICATION_FAILED, "the broker could not prove that it knows the password")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._digest)
