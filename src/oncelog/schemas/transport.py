"""Requests to a registry over HTTP. Called by :class:`~oncelog.schemas.registry.SchemaRegistry` in any thread.

A request ends within its time limit whatever the registry does, follows no redirect (so credentials reach no other
host) and yields JSON or an error. Idempotent requests are retried when the connection to the registry fails.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time
from oncelog.runtime.http_proxies import Proxy, UnusableProxy, proxy_for
from oncelog.schemas.schema_errors import SchemaRegistryError

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
MAX_ANSWER_BYTES = 32 * 1024 * 1024
FIRST_PAUSE_S = 0.1
MAX_IDLE_CONNECTIONS = 4
LONGEST_PAUSE_S = 1.0
"""The longest pause between two attempts to reach a registry that may be restarting."""
_AGAIN = (408, 429, 500, 502, 503, 504)
_RESTARTING = (502, 503, 504)
"""The status codes with which a proxy answers for a registry that is down, or a registry that is not ready yet."""
_SHOWN_CHARACTERS = 200
_MESSAGE_CHARACTERS = 4_000
"""The maximum length of a registry's message that is passed on, as one line."""
_NO_JSON = object()


@dataclass(frozen=True, slots=True)
class RegistryAddress:
    """The address of a registry, and the settings of its requests.

    :param urls: addresses of the same registry; if one cannot be reached, the next one is tried.
    :param timeout_s: the time limit of a request, retries included.
    :param retries: how often a request is retried. A registry that has answered before may be restarting: unless this
        is 0, requests to it are retried for ``timeout_s``.
    """

    urls: tuple[SplitResult, ...]
    authorization: Callable[[], str] | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None
    timeout_s: float = 10.0
    retries: int = 3


def parse_urls(text: str) -> tuple[tuple[SplitResult, ...], str | None]:
    """Comma-separated addresses, and the basic credentials in the first one.

    :raises ConfigError: one is not an HTTP address.
    """
    found, credentials = [], None
    for url in text.split(","):
        parts = _split(url.strip())
        if parts.username is not None:
            credentials = credentials or basic(unquote(parts.username), unquote(parts.password or ""))
            parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        found.append(parts)
    return tuple(found), credentials


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        reachable = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        reachable = False
    if not reachable or not url.isascii() or any(character.isspace() for character in url):
        shown = url.rpartition("@")[2]  # not the password
        raise ConfigError(f"a schema registry's address is http://HOST:PORT or https://HOST:PORT, not {shown!r}")
    return parts


def basic(user: str, password: str) -> str:
    """The value of the header ``Authorization`` for basic authentication."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def tls_context(ca_file: str | None, certificate: str | None, key: str | None) -> ssl.SSLContext | None:
    """The TLS settings for verifying the registry and presenting a certificate; None for the system's trust store.

    :raises ConfigError: a file cannot be used.
    """
    if ca_file is None and certificate is None and key is None:
        return None
    try:
        context = ssl.create_default_context(cafile=ca_file)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
        elif key is not None:
            raise ConfigError("a private key for the schema registry needs its certificate")
    except (OSError, ssl.SSLError) as error:
        named = ", ".join(name for name in (ca_file, certificate, key) if name)
        raise ConfigError(f"TLS for the schema registry cannot be set up with {named}: {error}") from error
    return context


class Transport:
    """Connections to one registry, kept open between requests."""

    def __init__(self, access: RegistryAddress, sleep: Callable[[float], None] = time.sleep) -> None:
        self._access = access
        self._sleep = sleep
        self._idle: dict[SplitResult, list[http.client.HTTPConnection]] = {url: [] for url in access.urls}
        self._lock = threading.Lock()
        self._first = 0
        self._known = False
        """Whether the registry has answered before, so that its address is known to be right."""

    @property
    def shown(self) -> str:
        """The registry's addresses, without credentials."""
        return ",".join(url.geturl() for url in self._access.urls)

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle = [connection for connections in self._idle.values() for connection in connections]
            for connections in self._idle.values():
                connections.clear()
        for connection in idle:
            connection.close()

    def request(self, method: str, target: str, body: Any = None) -> Any:
        """The JSON that the registry answers.

        :raises SchemaRegistryError: it cannot be reached in time, refuses, or does not answer as a registry does.
        """
        sent = None if body is None else json.dumps(body).encode()
        urls = self._access.urls
        deadline = real_time.monotonic() + self._access.timeout_s
        waits = self._known and self._access.retries > 0 and method != "DELETE"
        attempt = 0
        refused = None
        while True:
            number = (self._first + attempt) % len(urls)
            attempt += 1
            limit_s = max(0.001, deadline - real_time.monotonic()) / max(1, len(urls) - attempt + 1)
            may_repeat = attempt <= self._access.retries and method != "DELETE"
            try:
                status, text, location = self._ask(urls[number], method, target, sent, limit_s)
            except (OSError, http.client.HTTPException) as error:
                if not (may_repeat or waits) or real_time.monotonic() >= deadline:
                    if refused is not None and isinstance(error, TimeoutError):
                        return self._answer(*refused)  # too little time was left for another attempt
                    raise self._unreachable(urls[number], error, attempt) from error
            else:
                again = status in _AGAIN if may_repeat else waits and status in _RESTARTING
                if not again or real_time.monotonic() >= deadline:
                    self._first = number
                    self._known = self._known or status not in _AGAIN
                    return self._answer(urls[number], method, target, status, text, location)
                refused = urls[number], method, target, status, text, location
            if attempt % len(urls) == 0:
                pause_s = FIRST_PAUSE_S * 2 ** (attempt // len(urls) - 1)
                longest_s = max(0.0, deadline - real_time.monotonic())
                self._sleep(min(pause_s, longest_s, LONGEST_PAUSE_S if waits else longest_s))

    def _unreachable(self, url: SplitResult, error: Exception, attempts: int) -> SchemaRegistryError:
        late = isinstance(error, TimeoutError)
        why = f"no answer within {self._access.timeout_s:g} s" if late else str(error) or type(error).__name__
        tried = f" after {attempts} attempts" if attempts > 1 else ""
        way = ""
        with contextlib.suppress(UnusableProxy):
            proxy = proxy_for(url.geturl())
            way = "" if proxy is None else f" through the proxy {proxy.host}:{proxy.port}"
        return SchemaRegistryError(f"the schema registry {url.geturl()} cannot be reached{way}{tried}: {why}")

    def _ask(
        self, url: SplitResult, method: str, target: str, sent: bytes | None, limit_s: float
    ) -> tuple[int, bytes, str]:
        """Send one request; returns the response's status, body and Location header."""
        with self._lock:
            idle = self._idle[url]
            connection = idle.pop() if idle else None
        if connection is not None:
            try:
                return self._exchange(connection, url, method, target, sent, limit_s)
            except (ConnectionError, http.client.BadStatusLine):
                if method == "DELETE":
                    raise  # not repeated: the first request may have taken effect
        return self._exchange(self._connection(url), url, method, target, sent, limit_s)

    def _connection(self, url: SplitResult) -> http.client.HTTPConnection:
        host, port = url.hostname or "", url.port
        proxy = proxy_for(url.geturl())
        if url.scheme == "https":
            if proxy is None:
                return http.client.HTTPSConnection(host, port, context=self._access.tls)
            tunnel = http.client.HTTPSConnection(proxy.host, proxy.port, context=self._access.tls)
            tunnel.set_tunnel(host, port, proxy.headers)
            return tunnel
        if proxy is None:
            return http.client.HTTPConnection(host, port)
        return _ThroughProxy(proxy, f"http://{url.netloc}")

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        url: SplitResult,
        method: str,
        target: str,
        sent: bytes | None,
        limit_s: float,
    ) -> tuple[int, bytes, str]:
        headers = {"Accept": f"{CONTENT_TYPE}, application/json", "Content-Type": CONTENT_TYPE}
        if self._access.authorization is not None:
            headers["Authorization"] = self._access.authorization()
        keep = False
        try:
            if connection.sock is None:
                connection.timeout = limit_s
                connection.connect()
            with _Limit(connection.sock, limit_s):
                connection.request(method, url.path.rstrip("/") + target, sent, headers)
                response = connection.getresponse()
                text = response.read(MAX_ANSWER_BYTES + 1)
            keep = len(text) <= MAX_ANSWER_BYTES and not response.will_close
            return response.status, text, response.getheader("Location", "")
        finally:
            if not keep or not self._kept(url, connection):
                connection.close()

    def _kept(self, url: SplitResult, connection: http.client.HTTPConnection) -> bool:
        with self._lock:
            idle = self._idle[url]
            if len(idle) >= MAX_IDLE_CONNECTIONS:
                return False
            idle.append(connection)
        return True

    def _answer(self, url: SplitResult, method: str, target: str, status: int, text: bytes, location: str) -> Any:
        shown = url.geturl()
        if 300 <= status < 400:
            raise SchemaRegistryError(
                f"the schema registry {shown} redirects to {location or 'nowhere'}: if that is the registry, give its "
                "address",
                status,
            )
        if len(text) > MAX_ANSWER_BYTES:
            raise SchemaRegistryError(f"{shown} answers {method} {target} with more than {MAX_ANSWER_BYTES} bytes")
        answered = _json(text)
        if 200 <= status < 300:
            if answered is _NO_JSON:
                raise SchemaRegistryError(f"{shown} is not a schema registry: it answers {_shown(text)}", status)
            return answered
        raise _refused(shown, status, answered, text)


class _ThroughProxy(http.client.HTTPConnection):
    """A connection to a proxy, which receives full URLs and forwards the requests."""

    def __init__(self, proxy: Proxy, origin: str) -> None:
        super().__init__(proxy.host, proxy.port)
        self._proxy, self._origin = proxy, origin

    def request(
        self, method: str, url: str, body: Any = None, headers: Mapping[str, Any] = MappingProxyType({}), **more: Any
    ) -> None:
        super().request(method, self._origin + url, body, {**headers, **self._proxy.headers}, **more)


class _Limit:
    """Ends a request that takes too long, however slowly its bytes arrive."""

    def __init__(self, sock: socket.socket, limit_s: float) -> None:
        self._sock = sock
        self._late = False
        sock.settimeout(limit_s)
        self._timer = threading.Timer(limit_s, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._timer.cancel()
        if self._late and (error is None or isinstance(error, OSError | http.client.HTTPException | ValueError)):
            raise TimeoutError from error

    def _cut(self) -> None:
        self._late = True
        with contextlib.suppress(OSError):  # the connection may already have ended
            self._sock.shutdown(socket.SHUT_RDWR)


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NO_JSON


def _refused(shown: str, status: int, answered: Any, text: bytes) -> SchemaRegistryError:
    code = answered.get("error_code") if isinstance(answered, dict) else None
    message = answered.get("message") if isinstance(answered, dict) else None
    message = " ".join(message.split())[:_MESSAGE_CHARACTERS] if isinstance(message, str) else None
    if status in (401, 403):
        what = "asks for a login" if status == 401 else "forbids this"
        why = f": {message or _shown(text)}" if text.strip() else ""
        return SchemaRegistryError(f"the schema registry {shown} {what}{why}", status, _int(code))
    if isinstance(code, int) and isinstance(message, str):
        return SchemaRegistryError(f"the schema registry {shown} refuses: {message} (error {code})", status, code)
    return SchemaRegistryError(f"{shown} answers with status {status}, as no schema registry: {_shown(text)}", status)


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _shown(text: bytes) -> str:
    words = " ".join(text[: _SHOWN_CHARACTERS * 2].decode(errors="replace").split())
    return repr(words[:_SHOWN_CHARACTERS]) if words else "nothing"
