"""The checks that every request passes before it reaches a page, and the headers of every response.

- The Host header must name an IP address, localhost, or a host that the console was started with. Otherwise another
  site could let its own host name resolve to the console's address and read its pages (DNS rebinding).
- Pages may use only the console's own scripts and styles; no site may show them in a frame, and they send nothing to
  other sites.
- A body is at most ``MAX_BODY_BYTES``.
"""

from __future__ import annotations

import ipaddress
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 512 * 1024
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


_KEPT = "public, max-age=604800, immutable"
"""Headers that let browsers cache the console's own files, whose addresses contain a hash of their content."""
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@\s]+)(?::(?P<port>[0-9]{1,5}))?")


class TooLarge(Exception):
    """A request's body is too large."""


class RequestGuard:
    """ASGI middleware that applies the checks and adds the headers, for the whole application."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = {name.lower() for name in hosts} | {"localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        host = Headers(scope=scope).get("host", "")
        if not self._may_be_called(host):
            text = (
                f"This console does not answer to the name {host[:200]!r}. Use its address or localhost, or start it "
                "with --allow-host NAME.\n"
            )
            await PlainTextResponse(text, 421)(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                is_own_file = scope["path"].startswith("/static/") and message["status"] < 400
                headers["Cache-Control"] = _KEPT if is_own_file else "no-store"
            await send(message)

        taken = 0

        async def receive_bounded() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > MAX_BODY_BYTES:
                raise TooLarge
            return message

        try:
            await self._app(scope, receive_bounded, send_guarded)
        except TooLarge:
            text = f"A request may hold {MAX_BODY_BYTES} bytes at most.\n"
            await PlainTextResponse(text, 413)(scope, receive, send_guarded)

    def _may_be_called(self, host: str) -> bool:
        parts = _HOST.fullmatch(host)
        if parts is None or int(parts["port"] or 0) > 65_535:
            return False
        name = parts["name"].strip("[]").lower()
        if name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
