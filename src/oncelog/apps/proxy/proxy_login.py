"""Access control for a proxy that logs in at the brokers: only clients that know a generated secret may use it.

Anyone who can use such a proxy acts with its login, so its clients must log in to it: SASL PLAIN, with a password that
is generated when the proxy starts. The password stays on this machine, because such a proxy listens only on loopback
addresses. Called by the proxy for each frame of a connection. Before the login is done only ApiVersions is passed to
the broker, as in Apache Kafka; the handshake with bare tokens (SaslHandshake 0) is not offered.
"""

from __future__ import annotations

import secrets
from typing import Final

from oncelog.broker.core.login.sasl_mechanisms import PLAIN, LoginRefused, PlainLogin
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.protocol.framing import RequestHeader, decode_request_header, encode_response_header
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_authenticate_response import SaslAuthenticateResponse
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.generated.sasl_handshake_response import SaslHandshakeResponse
from oncelog.protocol.wire import Message

USER: Final = "oncelog-proxy"
LARGEST_TOKEN: Final = 16 * 1024
"""The maximum size of a frame before the login is done, in bytes."""
_SIZE_BYTES: Final = 4


class ProxyLogin:
    """The login that one proxy requires from its clients."""

    def __init__(self) -> None:
        self._password = secrets.token_urlsafe(24)

    @property
    def client_properties(self) -> dict[str, str]:
        """What a client needs besides ``bootstrap.servers``, under Kafka's and librdkafka's names."""
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": PLAIN,
            "sasl.username": USER,
            "sasl.password": self._password,
        }

    def session(self) -> ProxySession:
        """A new connection."""
        return ProxySession(PlainLogin({USER: self._password}))


class ProxySession:
    """One connection's login.

    ``refused`` is set if the connection must be closed after the last answer.
    """

    def __init__(self, mechanism: PlainLogin) -> None:
        self._mechanism = mechanism
        self._has_greeted = False
        self.is_in = False
        self.refused = False

    def answer_to(self, frame: bytes) -> bytes | None:
        """The answer to a request of the login. None if the request is for the broker, or if the connection must be
        closed without an answer (``refused``)."""
        try:
            header, body = decode_request_header(frame)
            if header.api_key == ApiKey.SASL_HANDSHAKE and header.api_version == 1:
                return self._greet(header, SaslHandshakeRequest.decode(frame, 1, body))
            if header.api_key == ApiKey.SASL_AUTHENTICATE and self._has_greeted and header.api_version in (0, 1, 2):
                return self._enter(header, SaslAuthenticateRequest.decode(frame, header.api_version, body))
        except ProtocolError:
            self.refused = True
            return None
        self.refused = not self.is_in and header.api_key != ApiKey.API_VERSIONS
        return None

    def _greet(self, header: RequestHeader, asked: SaslHandshakeRequest) -> bytes:
        self.refused = asked.mechanism != PLAIN
        self._has_greeted = not self.refused
        error = Error.UNSUPPORTED_SASL_MECHANISM if self.refused else Error.NONE
        return _frame(header, SaslHandshakeResponse(error_code=error, mechanisms=[PLAIN]))

    def _enter(self, header: RequestHeader, asked: SaslAuthenticateRequest) -> bytes:
        try:
            token = self._mechanism.respond(bytes(asked.auth_bytes), 0)
        except LoginRefused:
            self.refused = True
            message = f"this proxy has a login of its own: user {USER}, and the password that it printed at its start"
            answer = SaslAuthenticateResponse(
                error_code=Error.SASL_AUTHENTICATION_FAILED, error_message=message, auth_bytes=b""
            )
        else:
            self.is_in = True
            answer = SaslAuthenticateResponse(error_code=Error.NONE, error_message=None, auth_bytes=token)
        return _frame(header, answer)


def _frame(header: RequestHeader, answer: Message) -> bytes:
    """The frame of an answer, without its size."""
    body = answer.encode(header.api_version)
    head = encode_response_header(header.api_key, header.api_version, header.correlation_id, len(body))
    return head[_SIZE_BYTES:] + body
