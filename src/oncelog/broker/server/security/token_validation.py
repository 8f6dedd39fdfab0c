"""Validates OAUTHBEARER tokens: signed JWTs, with PyJWT (extra ``oauth``) and keys from a file or a JWKS address.

Created for each listener that offers OAUTHBEARER. Keys from an address are fetched in a thread: before the broker
serves, then every ``sasl.oauthbearer.jwks.endpoint.refresh.ms``, and soon after a token names an unknown key. While the
address does not answer, the last keys stay valid. The validator checks the signature, ``exp``, ``iat``, ``nbf``, and,
if the properties for them are set, ``iss`` and ``aud``, like Kafka's ``BrokerJwtValidator``; an unsigned token is never
valid.
"""

from __future__ import annotations

import logging
import math
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from oncelog.broker.core.login.sasl_mechanisms import InvalidToken, LoggedIn
from oncelog.broker.server.listener_settings import Address
from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time
from oncelog.runtime.http_proxies import open_url

logger = logging.getLogger(__name__)

_PREFIX = "sasl.oauthbearer."
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""The signature algorithms allowed for a JWKS key: only asymmetric ones, never ``none`` or a shared secret."""
FETCH_TIMEOUT_S = 10
LARGEST_KEY_SET_BYTES = 1024 * 1024
UNKNOWN_KEY_PAUSE_S = 60.0
"""The minimum time in seconds between two fetches because of unknown keys, so that forged tokens do not flood the
address with requests."""


class KeySet:
    """The keys of one JWKS, by key id; ``close`` ends its thread.

    :raises ConfigError: the file or the address provides no keys at start.
    """

    def __init__(self, source: str, refresh_s: float, retry_s: float) -> None:
        self._source = source
        self._refresh_s = refresh_s
        self._retry_s = retry_s
        self._changed = threading.Condition()
        self._unknown_asked = False
        self._closed = False
        try:
            self._keys = _fetch(source)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{_PREFIX}jwks.endpoint.url={source} provides no keys: {error}") from None
        self._fetched = real_time.monotonic()
        self._thread = threading.Thread(target=self._keep_fresh, name="oncelog-jwks", daemon=True)
        self._thread.start()

    def key(self, key_id: str | None) -> Any:
        """The key with an id, or the only key if a token names none; None if there is no such key."""
        keys = self._keys
        if key_id is None:
            return next(iter(keys.values())) if len(keys) == 1 else None
        found = keys.get(key_id)
        if found is None:
            with self._changed:
                self._unknown_asked = True
                self._changed.notify()
        return found

    def close(self) -> None:
        """Stop fetching keys. A fetch in progress ends by itself: the broker's stop does not wait for the address."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _keep_fresh(self) -> None:
        pause = self._refresh_s
        while self._wait(pause):
            try:
                self._keys = _fetch(self._source)
                pause = self._refresh_s
            except (OSError, ValueError) as error:
                logger.warning("the keys of %s could not be refreshed and stay in use: %s", self._source, error)
                pause = self._retry_s
            self._fetched = real_time.monotonic()

    def _wait(self, pause: float) -> bool:
        """Wait until the next fetch of keys is due; returns False if the key set was closed."""
        with self._changed:
            while not self._closed:
                soonest = min(pause, UNKNOWN_KEY_PAUSE_S) if self._unknown_asked else pause
                left = self._fetched + soonest - real_time.monotonic()
                if left <= 0:
                    self._unknown_asked = False
                    return True
                self._changed.wait(left)
            return False


def _fetch(source: str) -> dict[str, Any]:
    """Fetch the keys of a JWKS that may verify signatures. Raises ``OSError`` or ``ValueError``."""
    import jwt

    if source.startswith("file:"):
        text = Path(urllib.request.url2pathname(urllib.parse.urlsplit(source).path)).read_bytes()
    else:
        try:
            with open_url(source, FETCH_TIMEOUT_S, redirects=True) as answer:
                text = answer.read(LARGEST_KEY_SET_BYTES)
        except HTTPException as error:
            raise ValueError(f"not an HTTP answer: {error!r:.200}") from None
    try:
        keys = jwt.PyJWKSet.from_dict(json.loads(text)).keys
    except (jwt.PyJWTError, AttributeError, TypeError, RecursionError) as error:
        raise ValueError(f"not a key set: {error}") from None
    return {key.key_id or "": key for key in keys if key.public_key_use in (None, "sig") and key.key_type != "oct"}


class Validator:
    """Checks tokens against the keys and the ``sasl.oauthbearer.*`` properties of a listener."""

    def __init__(self, keys: KeySet, settings: Mapping[str, str]) -> None:
        self._keys = keys
        self._skew_ms = 1000 * int(settings.get(f"{_PREFIX}clock.skew.seconds", "30"))
        self._issuer = settings.get(f"{_PREFIX}expected.issuer") or None
        audiences = settings.get(f"{_PREFIX}expected.audience", "")
        self._audiences = [part.strip() for part in audiences.split(",") if part.strip()]
        self._subject = settings.get(f"{_PREFIX}sub.claim.name", "sub")

    def __call__(self, token: str, now_ms: int) -> LoggedIn:
        """The token's principal and expiry; raises ``InvalidToken`` if the token is not valid."""
        claims = self._claims(token)
        expires_ms, issued_ms = (self._time(claims, name) for name in ("exp", "iat"))
        if now_ms - self._skew_ms >= expires_ms:
            raise InvalidToken("the token has expired")
        if issued_ms > now_ms + self._skew_ms:
            raise InvalidToken("the token was issued in the future")
        if "nbf" in claims and self._time(claims, "nbf") > now_ms + self._skew_ms:
            raise InvalidToken("the token is not valid yet")
        subject = claims.get(self._subject)
        if not isinstance(subject, str) or not subject.strip():
            raise InvalidToken(f"the claim {self._subject!r} names no user")
        return LoggedIn(subject.strip(), expires_ms)

    def _claims(self, token: str) -> dict[str, Any]:
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            key = self._keys.key(header.get("kid"))
            if key is None:
                raise InvalidToken(f"there is no key {header.get('kid')!r}")
            allowed = [name for name in ALGORITHMS if name == key.algorithm_name]
            claims: dict[str, Any] = jwt.decode(
                token,
                key=key,
                algorithms=allowed,
                audience=self._audiences or None,
                issuer=self._issuer,
                options={
                    "verify_exp": False,
                    "verify_iat": False,
                    "verify_nbf": False,
                    "verify_sub": False,
                    "verify_aud": bool(self._audiences),
                },
            )
        except jwt.PyJWTError as error:
            raise InvalidToken(f"the token is invalid: {error}") from None
        except RecursionError:
            raise InvalidToken("the token is nested too deeply") from None
        return claims

    @staticmethod
    def _time(claims: Mapping[str, Any], name: str) -> int:
        value = claims.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise InvalidToken(f"the claim {name!r} is not a time")
        return int(value * 1000)


def validator_of(
    listener: str, settings: Mapping[str, str], closers: list[Callable[[], None]]
) -> Callable[[str, int], LoggedIn]:
    """The validator for one listener's tokens; functions that must be called when the broker stops are added to
    ``closers``."""
    source = settings.get(f"{_PREFIX}jwks.endpoint.url")
    if not source:
        raise ConfigError(
            f"listener {listener} offers OAUTHBEARER and needs keys: set {_PREFIX}jwks.endpoint.url to an https: or "
            f"file: address of a JWKS; unsigned tokens are never accepted"
        )
    if not source.startswith(("https://", "http://", "file:")):
        raise ConfigError(
            f"{_PREFIX}jwks.endpoint.url={source} of listener {listener} is not an https:, http: or file: URL"
        )
    if find_spec("jwt") is None or find_spec("cryptography") is None:
        raise ConfigError("OAUTHBEARER needs PyJWT with cryptography: pip install 'oncelog[oauth]'")
    host = urllib.parse.urlsplit(source).hostname or ""
    if source.startswith("http://") and not Address(host, 0).is_loopback:
        logger.warning(
            "%sjwks.endpoint.url=%s is not encrypted: anyone on the network path can forge tokens; use https:",
            _PREFIX,
            source,
        )
    refresh_ms = int(settings.get(f"{_PREFIX}jwks.endpoint.refresh.ms", "3600000"))
    retry_ms = int(settings.get(f"{_PREFIX}jwks.endpoint.retry.backoff.max.ms", "10000"))
    keys = KeySet(source, refresh_ms / 1000, retry_ms / 1000)
    closers.append(keys.close)
    return Validator(keys, settings)
