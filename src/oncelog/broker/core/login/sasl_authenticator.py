"""The login of one connection: until the login has succeeded, only ApiVersions, SaslHandshake and SaslAuthenticate are
allowed.

Called by ``Broker.receive`` with every frame of a connection whose listener requires a login. Pure: it answers on the
channel and closes it. A SaslHandshake begins the next login of a session that expires (KIP-368): until that login has
succeeded no other request is allowed, and the principal must not change; if the session has expired, the next request
closes its connection. Source: Kafka's ``SaslServerAuthenticator``.

An unexpected request ends the connection; if a SaslAuthenticate is expected, it is first answered with an error. With
SaslHandshake 0 the exchange consists of bare tokens; from 1 on tokens are in SaslAuthenticate requests (KIP-152).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.core.apis.cluster import api_versions
from oncelog.broker.core.apis.cluster.api_versions import VersionPorts
from oncelog.broker.core.login.sasl_mechanisms import LoginRefused, Mechanism
from oncelog.broker.core.registry import SERVED
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.refusals import refusal
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import MalformedMessage
from oncelog.protocol.framing import RequestHeader, decode_request_header, encode_response_header
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.api_versions_response import ApiVersionsResponse
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_authenticate_response import SaslAuthenticateResponse
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.generated.sasl_handshake_response import SaslHandshakeResponse
from oncelog.protocol.messages import request_type
from oncelog.protocol.wire import Message

if TYPE_CHECKING:
    from oncelog.broker.core.registry import Served
    from oncelog.broker.core.requests.session import Channel
    from oncelog.broker.core.security.security_log import SecurityLog
    from oncelog.protocol.struct_fields import Buffer
    from oncelog.runtime.timers import Timers

SHORTEST_SESSION_MS = 1000
"""The minimum time in ms between two logins of a connection; the second login may come earlier (Kafka's
``MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS``)."""

LARGEST_ANSWERED = 16 * 1024
"""An unexpected request larger than this many bytes gets no answer: the broker reads little from clients that have not
logged in."""

_MECHANISM = re.compile(r"[A-Z0-9_-]{1,20}")


class LoginState(Enum):
    """The progress of the login."""

    HANDSHAKE_OR_VERSIONS = "waits for ApiVersions or SaslHandshake"
    HANDSHAKE = "waits for SaslHandshake"
    TOKENS = "exchanges tokens"
    AUTHENTICATED = "logged in"
    ENDED = "refused"


@dataclass(slots=True)
class LoginResult:
    """A listener's login settings; one object for all its connections, so that a change applies from the next login on.

    :param mechanisms: ``sasl.enabled.mechanisms``; each value creates the server's side of one exchange.
    :param max_reauth_ms: ``connections.max.reauth.ms`` by mechanism; 0 or absent means that only the credential's
        expiry ends a session.
    :param largest_token: ``sasl.server.max.receive.size``.
    """

    mechanisms: Mapping[str, Callable[[], Mechanism]]
    max_reauth_ms: Mapping[str, int]
    largest_token: int
    failure_delay_ms: int

    def become(self, other: LoginResult) -> None:
        """Use the settings of ``other`` from now on."""
        self.mechanisms, self.max_reauth_ms = other.mechanisms, other.max_reauth_ms
        self.largest_token, self.failure_delay_ms = other.largest_token, other.failure_delay_ms


class AuthenticatorPorts(VersionPorts, Protocol):
    """The interface that a login needs from the broker."""

    served: Mapping[int, Served]
    security_log: SecurityLog
    timers: Timers


class SaslAuthenticator:
    """The server's side of one connection's logins."""

    def __init__(self, login: LoginResult, ports: AuthenticatorPorts) -> None:
        self._ports = ports
        self._login = login
        self.state = LoginState.HANDSHAKE_OR_VERSIONS
        self._name = ""
        self._mechanism: Mechanism | None = None
        self._framed = False
        self._is_renewal = False
        self._renewal_begun_ms: int | None = None
        self._wrong_mechanism = ""
        self.was_authenticated = False
        """Whether a login has succeeded; another login may be in progress."""
        self._session_ends_ms: int | None = None

    @property
    def is_authenticated(self) -> bool:
        return self.state is LoginState.AUTHENTICATED

    @property
    def largest_frame(self) -> int:
        """The largest frame in bytes that is accepted before the login has succeeded."""
        return self._login.largest_token

    def allows_requests(self, now_ms: int) -> bool:
        """Whether :meth:`takes` would return False for every frame that does not begin a login."""
        return self.state is LoginState.AUTHENTICATED and (
            self._session_ends_ms is None or now_ms <= self._session_ends_ms
        )

    def clock_was_set(self, step_ms: int) -> None:
        """Keep the session's remaining time when the clock is set."""
        if self._renewal_begun_ms is not None:
            self._renewal_begun_ms += step_ms
        if self._session_ends_ms is not None:
            self._session_ends_ms += step_ms

    def takes(self, channel: Channel, slot: int, frame: Buffer, now_ms: int) -> bool:
        """Handle a frame that belongs to the login; returns False if it is for the APIs."""
        if self.state is LoginState.AUTHENTICATED:
            if _api_key(frame) == ApiKey.SASL_HANDSHAKE and self._may_renew(now_ms):
                self._is_renewal = True
                self._renewal_begun_ms = now_ms
            elif self._session_ends_ms is not None and now_ms > self._session_ends_ms:
                self._end(channel, now_ms, "the session has ended and the client did not log in again")
                return True
            else:
                return False
        elif len(frame) > self._login.largest_token:
            self._end(channel, now_ms, f"{len(frame)} bytes before the login is done")
            return True
        if self.state is LoginState.ENDED:
            return True
        if self._wrong_mechanism:
            self._end(channel, now_ms, self._wrong_mechanism)
            return True
        try:
            if self.state is LoginState.TOKENS and not self._framed:
                self._take_bare_token(channel, slot, frame, now_ms)
            else:
                self._take_request(channel, slot, frame, now_ms)
        except MalformedMessage as error:
            self._end(channel, now_ms, f"a request that cannot be read: {error}")
        return True

    def _may_renew(self, now_ms: int) -> bool:
        if self._session_ends_ms is None:
            return False
        return self._renewal_begun_ms is None or now_ms - self._renewal_begun_ms >= SHORTEST_SESSION_MS

    def _take_request(self, channel: Channel, slot: int, frame: Buffer, now_ms: int) -> None:
        header, body = decode_request_header(frame)
        key, version = header.api_key, header.api_version
        wanted = {
            LoginState.HANDSHAKE_OR_VERSIONS: (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE),
            LoginState.HANDSHAKE: (ApiKey.SASL_HANDSHAKE,),
            LoginState.AUTHENTICATED: (ApiKey.SASL_HANDSHAKE,),
            LoginState.TOKENS: (ApiKey.SASL_AUTHENTICATE,),
        }[self.state]
        if key not in wanted:
            self._refuse_request(channel, slot, frame, header, body, now_ms)
            return
        served = SERVED[key]
        if not served.low <= version <= served.high:
            if key == ApiKey.API_VERSIONS:
                _answer(channel, slot, header, api_versions.unsupported_version(), version=0)
            else:
                self._end(channel, now_ms, f"{ApiKey(key).name} in version {version}")
            return
        if key == ApiKey.API_VERSIONS:
            asked, _ = ApiVersionsRequest.decode_prefix(frame, version, body)
            context = RequestContext(channel, slot, key, version, header.correlation_id, header.client_id or "", now_ms)
            answer = api_versions.handle(self._ports, context, asked)
            if answer.error_code == Error.NONE:
                self.state = LoginState.HANDSHAKE
            _answer(channel, slot, header, answer)
        elif key == ApiKey.SASL_HANDSHAKE:
            handshake, _ = SaslHandshakeRequest.decode_prefix(frame, version, body)
            self._begin(channel, slot, header, handshake.mechanism, now_ms)
        else:
            authenticate, _ = SaslAuthenticateRequest.decode_prefix(frame, version, body)
            self._take_token(channel, slot, header, bytes(authenticate.auth_bytes), now_ms)

    def _refuse_request(
        self,
        channel: Channel,
        slot: int,
        frame: Buffer,
        header: RequestHeader,
        body: int,
        now_ms: int,
    ) -> None:
        """Refuse an unexpected request; the request gets an answer only if a token is expected, as in Apache Kafka."""
        key, version = header.api_key, header.api_version
        name = ApiKey(key).name if key in set(ApiKey) else f"of API key {key}"
        reason = f"a request {name} before the login is done"
        served = self._ports.served.get(key)
        if self.state is not LoginState.TOKENS or served is None or len(frame) > LARGEST_ANSWERED:
            self._end(channel, now_ms, reason)
            return
        error = Error.ILLEGAL_SASL_STATE
        if served.low <= version <= served.high:
            request, _ = request_type(key).decode_prefix(frame, version, body)
            message = f"Unexpected Kafka request of type {name} during SASL authentication."
            answer = refusal(key, version, request, error, message)
        elif key == ApiKey.API_VERSIONS:
            header = RequestHeader(key, 0, header.correlation_id, header.client_id, is_known=True)
            answer = ApiVersionsResponse(error_code=error)
        else:
            answer = None
        self._end(channel, now_ms, reason, None if answer is None else (slot, header, answer))

    def _begin(self, channel: Channel, slot: int, header: RequestHeader, name: str, now_ms: int) -> None:
        enabled = self._login.mechanisms
        make = enabled.get(name)
        if make is None:
            answer = SaslHandshakeResponse(error_code=Error.UNSUPPORTED_SASL_MECHANISM, mechanisms=list(enabled))
            # A client out of step may send anything here, even a password: only valid names (RFC 4422) are shown.
            quoted = repr(name) if _MECHANISM.fullmatch(name) else "that it names"
            reason = f"the SASL mechanism {quoted} is not enabled"
            self._end(channel, now_ms, reason, None if self._is_renewal else (slot, header, answer))
            return
        if self._is_renewal and name != self._name:
            # As in Kafka: this handshake is answered, and the next request closes the connection.
            self._wrong_mechanism = f"another SASL mechanism, {name}, to continue a session of {self._name}"
        else:
            self._name = name
            self._mechanism = make()
        self.state = LoginState.TOKENS
        self._framed = header.api_version >= 1
        _answer(channel, slot, header, SaslHandshakeResponse(error_code=Error.NONE, mechanisms=list(enabled)))

    def _take_bare_token(self, channel: Channel, slot: int, frame: Buffer, now_ms: int) -> None:
        try:
            token = self._respond(channel, bytes(frame), now_ms)
        except LoginRefused as refusal:
            self._end(channel, now_ms, refusal.reason)
            return
        channel.reply(slot, [len(token).to_bytes(4, "big") + token])

    def _take_token(self, channel: Channel, slot: int, header: RequestHeader, token: bytes, now_ms: int) -> None:
        try:
            answer = self._respond(channel, token, now_ms)
        except LoginRefused as refusal:
            how = "re-authentication" if self._is_renewal else "authentication"
            public = refusal.public or (
                f"Authentication failed during {how} due to invalid credentials with SASL mechanism {self._name}"
            )
            response = SaslAuthenticateResponse(
                error_code=Error.SASL_AUTHENTICATION_FAILED, error_message=public, auth_bytes=b""
            )
            self._end(channel, now_ms, refusal.reason, (slot, header, response))
            return
        lifetime = 0 if self._session_ends_ms is None or not self.is_authenticated else self._session_ends_ms - now_ms
        response = SaslAuthenticateResponse(error_code=Error.NONE, error_message="", auth_bytes=answer)
        if header.api_version >= 1:
            response.session_lifetime_ms = lifetime
        _answer(channel, slot, header, response)

    def _respond(self, channel: Channel, token: bytes, now_ms: int) -> bytes:
        """The mechanism's answer to a token; with the last answer the session begins."""
        mechanism = self._mechanism
        if mechanism is None:
            raise LoginRefused("a token before the handshake")
        answer = mechanism.respond(token, now_ms)
        if mechanism.outcome is None:
            return answer
        principal = f"User:{mechanism.outcome.user}"
        if self._is_renewal and principal != channel.session.principal:
            was, became = channel.session.principal.replace(":", ".", 1), principal.replace(":", ".", 1)
            message = f"Cannot change principals during re-authentication from {was}: {became}"
            raise LoginRefused(message, message)
        channel.session.principal = principal
        self.state = LoginState.AUTHENTICATED
        self.was_authenticated = True
        ends = [mechanism.outcome.expires_ms] if mechanism.outcome.expires_ms is not None else []
        if self._login.max_reauth_ms.get(self._name, 0) > 0:
            ends.append(now_ms + self._login.max_reauth_ms[self._name])
        self._session_ends_ms = max(min(ends), now_ms) if ends else None
        self._mechanism = None
        return answer

    def _end(
        self,
        channel: Channel,
        now_ms: int,
        reason: str,
        answer: tuple[int, RequestHeader, Message] | None = None,
    ) -> None:
        """Refuse the login; send the answer and close the connection after
        ``connection.failed.authentication.delay.ms``."""
        self.state = LoginState.ENDED
        how = f" with {self._name}" if self._name else ""
        self._ports.security_log.refused_login(channel, f"{reason}{how}", now_ms)

        def end(_: int) -> None:
            if answer is not None:
                _answer(channel, *answer)
            channel.close(f"login refused: {reason}")

        if self._login.failure_delay_ms > 0:
            self._ports.timers.schedule(now_ms + self._login.failure_delay_ms, end)
        else:
            end(now_ms)


def _api_key(frame: Buffer) -> int:
    return int.from_bytes(frame[:2], "big", signed=True) if len(frame) >= 2 else -1


def _answer(channel: Channel, slot: int, header: RequestHeader, response: Message, version: int | None = None) -> None:
    version = header.api_version if version is None else version
    encoded = response.encode(version)
    start = encode_response_header(header.api_key, version, header.correlation_id, len(encoded))
    channel.reply(slot, [start, encoded])
