"""Forwards a change to the registry that writes, and checks whether a registry answers at an address. Called by the
routes.

A user's name and password are forwarded too, because :mod:`~oncelog.schema_registry.log` has verified the address.
"""

from __future__ import annotations

import http.client
import ssl
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from oncelog.runtime import real_asyncio as asyncio
from oncelog.schema_registry import rest_errors

if TYPE_CHECKING:
    from starlette.requests import Request

FORWARDED = "x-forward"
"""The header of a forwarded request, as in Confluent's registry: such a request is not forwarded again."""
CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 40.0
_KEPT = ("content-type", "accept", "authorization")
_MAX_ANSWER_BYTES = 16 * 1024 * 1024


class ForwardedAnswer(NamedTuple):
    """The answer of the registry to which a request was forwarded."""

    status: int
    body: bytes


class Forwarder:
    """Sends requests to other registries; ``certificate`` is a PEM file with which their certificates are verified."""

    def __init__(self, certificate: str | None = None) -> None:
        self._trusted = ssl.create_default_context(cafile=certificate) if certificate is not None else None

    async def forward(self, url: str, request: Request, body: bytes) -> ForwardedAnswer | None:
        """The answer of the registry at ``url``; None if it cannot be reached.

        :raises Refused: this registry has TLS and the other one does not; or the other one was reached but did not
            answer, so it may have carried out the request.
        """
        if self._trusted is not None and urlsplit(url).scheme != "https":
            raise rest_errors.unknown_leader(
                f"the registry that writes, {url}, has no TLS: passwords that came over TLS are not sent to it"
            )
        headers = {name: request.headers[name] for name in _KEPT if name in request.headers}
        target = request.scope["raw_path"].decode("latin-1").partition("?")[0]
        query = request.scope["query_string"].decode("latin-1")
        target = f"{target}?{query}" if query else target
        return await asyncio.to_thread(self._send, url, request.method, target, body, headers)

    async def answers(self, url: str) -> bool:
        """Whether a registry answers at the address."""
        try:
            answer = await asyncio.to_thread(self._send, url, "GET", "/contexts", b"", {}, CONNECT_SECONDS)
        except rest_errors.Refused:
            return False
        return answer is not None

    def _send(
        self,
        url: str,
        method: str,
        target: str,
        body: bytes,
        headers: dict[str, str],
        seconds: float = ANSWER_SECONDS,
    ) -> ForwardedAnswer | None:
        connection = self._connection(url)
        try:
            try:
                connection.connect()
            except OSError:
                return None
            if connection.sock is not None:
                connection.sock.settimeout(seconds)
            try:
                connection.request(method, target, body or None, {**headers, FORWARDED: "true"})
                response = connection.getresponse()
                return ForwardedAnswer(response.status, response.read(_MAX_ANSWER_BYTES))
            except (OSError, http.client.HTTPException) as error:
                raise rest_errors.forwarding_failed(f"{url}: {error or type(error).__name__}") from error
        finally:
            connection.close()

    def _connection(self, url: str) -> http.client.HTTPConnection:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        if parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=self._trusted)
        return http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS)
