"""The server's side of SASL exchanges as pure state machines: bytes in, bytes out.

Called by ``sasl_authenticator``. A failure raises ``LoginRefused``; its message for the client never contains more than
Kafka's message, and never a password, proof or token. Sources: RFC 4616 (PLAIN), RFC 5802 and 7677 (SCRAM), RFC 7628
(OAUTHBEARER), Kafka's ``PlainSaslServer``, ``ScramSaslServer`` and ``OAuthBearerSaslServer``.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from oncelog.protocol.scram import HASH_OF_MECHANISM, ScramCredential

PLAIN = "PLAIN"
OAUTHBEARER = "OAUTHBEARER"
SCRAM_MECHANISMS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""Kafka's number of each SCRAM mechanism, by name."""
NONCE_BYTES = 18
_CONTROL_A = b"\x01"


class LoginRefused(Exception):
    """The login failed.

    :param public: the message for the client; None if Kafka only says that the credentials are invalid.
    :param reason: the message for the security log.
    """

    def __init__(self, reason: str, public: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.public = public


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """The result of a successful login: the user, and the time in ms until which the credential is valid (None: without
    end)."""

    user: str
    expires_ms: int | None = None


class Mechanism(Protocol):
    """The server's side of one SASL exchange. ``respond`` raises ``LoginRefused`` if the login fails; ``outcome`` is
    set once the login has succeeded."""

    outcome: LoggedIn | None

    def respond(self, token: bytes, now_ms: int) -> bytes: ...


class PlainLogin:
    """The mechanism PLAIN: user and password in one message (RFC 4616).

    :param passwords: the passwords of the users that may log in, by user name.
    """

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.outcome: LoggedIn | None = None

    def respond(self, token: bytes, now_ms: int) -> bytes:
        parts = token.decode("utf-8", "replace").split("\0", 3)
        if len(parts) != 3:
            message = f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}"
            raise LoginRefused(message, message)
        wanted, user, password = parts
        for name, value in (("username", user), ("password", password)):
            if not value:
                raise LoginRefused(f"{name} not specified", f"Authentication failed: {name} not specified")
        known = self._passwords.get(user)
        # The passwords are compared even for an unknown user, so that the duration does not reveal whether the user
        # exists.
        same = hmac.compare_digest(password.encode(), (known if known is not None else "").encode())
        if known is None or not same:
            raise LoginRefused(
                f"wrong user or password for {user!r}", "Authentication failed: Invalid username or password"
            )
        if wanted and wanted != user:
            raise other_identity()
        self.outcome = LoggedIn(user)
        return b""


def other_identity() -> LoginRefused:
    public = "Authentication failed: Client requested an authorization id that is different from username"
    return LoginRefused("an authorization id that differs from the user name", public)


_CLIENT_FIRST = re.compile(
    r"n,(?:a=(?P<authzid>(?:[^=,\0]|=2C|=3D)+))?,(?P<bare>(?:m=[^,]*,)?n=(?P<name>(?:[^=,\0]|=2C|=3D)+),"
    r"r=(?P<nonce>[\x21-\x2B\x2D-\x7E]+)(?P<extensions>(?:,[A-Za-z]+=[^,]+)*))"
)
_CLIENT_FINAL = re.compile(
    r"(?P<without_proof>c=[A-Za-z0-9+/=]+,r=(?P<nonce>[\x21-\x2B\x2D-\x7E]+)(?:,[A-Za-z]+=[^,]+)*),p=(?P<proof>[A-Za-z0-9+/=]+)"
)


class Scram:
    """The mechanism SCRAM: challenge and response, without sending the password (RFC 5802); without channel binding, as
    in Kafka.

    :param name: ``SCRAM-SHA-256`` or ``SCRAM-SHA-512``.
    :param credentials: by user name and Kafka's number of the mechanism.
    :param nonce: fresh random bytes.
    """

    def __init__(self, name: str, credentials: Mapping[tuple[str, int], ScramCredential], nonce: bytes) -> None:
        self._number = SCRAM_MECHANISMS[name]
        self._hash = HASH_OF_MECHANISM[self._number]
        self._credentials = credentials
        self._own_nonce = b64encode(nonce).decode()
        self._credential: ScramCredential | None = None
        self._user = self._nonce = self._messages = self._header = ""
        self.outcome: LoggedIn | None = None

    def respond(self, token: bytes, now_ms: int) -> bytes:
        try:
            text = token.decode()
        except UnicodeDecodeError:
            raise LoginRefused("a SCRAM message that is not UTF-8") from None
        return self._challenge(text) if self._credential is None else self._verdict(text, self._credential)

    def _challenge(self, text: str) -> bytes:
        first = _CLIENT_FIRST.fullmatch(text)
        if first is None or first["bare"].startswith("m="):
            raise LoginRefused("an invalid first SCRAM message")
        if "tokenauth=true" in first["extensions"].split(","):
            raise LoginRefused("a delegation token, which this broker does not issue")
        self._user = _unescaped(first["name"])
        credential = self._credentials.get((self._user, self._number))
        if credential is None:
            raise LoginRefused(f"the user {self._user!r} has no credential for this mechanism")
        if first["authzid"] is not None and _unescaped(first["authzid"]) != self._user:
            raise other_identity()
        self._nonce = first["nonce"] + self._own_nonce
        challenge = f"r={self._nonce},s={b64encode(credential.salt).decode()},i={credential.iterations}"
        self._messages = f"{first['bare']},{challenge}"
        self._header = b64encode(text[: len(text) - len(first["bare"])].encode()).decode()
        self._credential = credential
        return challenge.encode()

    def _verdict(self, text: str, credential: ScramCredential) -> bytes:
        final = _CLIENT_FINAL.fullmatch(text)
        # Only the end is compared, as in Apache Kafka: librdkafka before 2.6.1 sends its own nonce twice.
        if final is None or not final["nonce"].endswith(self._nonce):
            raise LoginRefused(f"an invalid last SCRAM message of {self._user!r}")
        if final["without_proof"].split(",", 1)[0] != f"c={self._header}":
            raise LoginRefused(f"a SCRAM channel binding that differs from the first message of {self._user!r}")
        try:
            proof = b64decode(final["proof"], validate=True)
        except binascii.Error:
            raise LoginRefused(f"an invalid SCRAM proof of {self._user!r}") from None
        message = f"{self._messages},{final['without_proof']}".encode()
        signature = hmac.digest(credential.stored_key, message, self._hash)
        if len(proof) != len(signature):
            raise LoginRefused(f"an invalid SCRAM proof of {self._user!r}")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        if not hmac.compare_digest(hashlib.new(self._hash, client_key).digest(), credential.stored_key):
            raise LoginRefused(f"wrong password for {self._user!r}")
        self.outcome = LoggedIn(self._user)
        return b"v=" + b64encode(hmac.digest(credential.server_key, message, self._hash))


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


_BEARER_MESSAGE = re.compile(
    r"n,(?:a=(?P<authzid>(?:[\x01-\x2B\x2D-\x3C\x3E-\x7F]|=2C|=3D)+))?,\x01"
    r"(?P<pairs>(?:[A-Za-z]+=[\x21-\x7E \t\r\n]+\x01)*)\x01"
)
_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")


class InvalidToken(Exception):
    """The token is invalid; the message says why, and never contains the token."""


class OAuthBearer:
    """The mechanism OAUTHBEARER: a signed token (RFC 7628). An invalid token is answered with a JSON status; the
    client's next message then ends the exchange.

    :param validate: called with a token and the time in ms, returns principal and expiry; raises ``InvalidToken``.
    """

    def __init__(self, validate: Callable[[str, int], LoggedIn]) -> None:
        self._validate = validate
        self._error: str | None = None
        self.outcome: LoggedIn | None = None

    def respond(self, token: bytes, now_ms: int) -> bytes:
        if self._error is not None:
            if token == _CONTROL_A:
                raise LoginRefused(self._error, '{"status":"invalid_token"}')
            raise LoginRefused("another token after a refused token")
        message = _BEARER_MESSAGE.fullmatch(token.decode("utf-8", "replace"))
        if message is None:
            raise LoginRefused("an invalid OAUTHBEARER message")
        pairs = dict(pair.split("=", 1) for pair in message["pairs"].split("\x01") if pair)
        bearer = _BEARER.fullmatch(pairs.get("auth", ""))
        if bearer is None:
            raise LoginRefused("an OAUTHBEARER message without a bearer token")
        try:
            outcome = self._validate(bearer["token"], now_ms)
        except InvalidToken as error:
            self._error = str(error)
            return b'{"status":"invalid_token"}'
        wanted = message["authzid"]
        if wanted is not None and _unescaped(wanted) != outcome.user:
            public = (
                f"Authentication failed: Client requested an authorization id ({_unescaped(wanted)}) that is different "
                f"from the token's principal name ({outcome.user})"
            )
            raise LoginRefused("an authorization id that differs from the token's principal", public)
        self.outcome = outcome
        return b""
