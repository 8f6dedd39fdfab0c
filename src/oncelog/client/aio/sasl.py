"""Logging in on a new connection: PLAIN and SCRAM (RFC 5802).

Called by the connection before it carries other requests.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from hashlib import pbkdf2_hmac
from typing import Any

from oncelog.client.core.config import ClientConfig
from oncelog.client.core.errors import error_for, error_of
from oncelog.client.core.wire import Api
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_authenticate_response import SaslAuthenticateResponse
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.generated.sasl_handshake_response import SaslHandshakeResponse
from oncelog.protocol.wire import Message

SASL_HANDSHAKE = Api(SaslHandshakeRequest, SaslHandshakeResponse, 1, 1)
SASL_AUTHENTICATE = Api(SaslAuthenticateRequest, SaslAuthenticateResponse, 0, 1)

Ask = Callable[[Api, Message, int], Awaitable[Any]]


async def authenticate(ask: Ask, config: ClientConfig) -> None:
    """Log in.

    :raises KafkaError: the mechanism or the credentials were refused.
    """
    mechanism = config.sasl_mechanism
    handshake = await ask(SASL_HANDSHAKE, SaslHandshakeRequest(mechanism=mechanism), 1)
    error = error_of(handshake.error_code)
    if error is not Error.NONE:
        offered = ", ".join(handshake.mechanisms)
        raise error_for(error, f"sasl.mechanism={mechanism} was refused; the broker offers {offered}")
    user, password = config.sasl_plain_username or "", config.sasl_plain_password or ""
    if mechanism == "PLAIN":
        await _step(ask, f"\0{user}\0{password}".encode())
        return
    scram = Scram(mechanism.removeprefix("SCRAM-").replace("-", "").lower(), user, password, secrets.token_urlsafe(18))
    final = scram.respond(await _step(ask, scram.first()))
    scram.verify(await _step(ask, final))


async def _step(ask: Ask, token: bytes) -> bytes:
    answer = await ask(SASL_AUTHENTICATE, SaslAuthenticateRequest(auth_bytes=token), 1)
    error = error_of(answer.error_code)
    if error is not Error.NONE:
        raise error_for(error, answer.error_message or "the broker refused the credentials")
    return bytes(answer.auth_bytes)


class Scram:
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
        """The proof for the server's challenge."""
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
        """The server knows the password too."""
        fields = dict(part.split("=", 1) for part in final.decode().split(",") if "=" in part)
        if not hmac.compare_digest(b64decode(fields.get("v", "")), self._server_signature):
            raise KafkaError(Error.SASL_AUTHENTICATION_FAILED, "the broker could not prove that it knows the password")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._digest)
