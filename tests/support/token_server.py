"""A token endpoint for OAUTHBEARER on this machine (RFC 6749, client credentials), for tests.

Used by the tests of clients and Spark. Tokens are unsecured JWTs (RFC 7515, ``alg`` none), which a broker accepts if it
has no other way to check tokens.
"""

from __future__ import annotations

import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qs


def unsecured_token(subject: str, life_s: float = 3600, scope: str = "") -> str:
    """A JWT without a signature."""
    now_s = time.time()
    claims: dict[str, object] = {"sub": subject, "iat": int(now_s), "exp": now_s + life_s}
    if scope:
        claims["scope"] = scope
    parts = [json.dumps(part).encode() for part in ({"alg": "none"}, claims)]
    return ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."


class TokenServer:
    """Gives a token to anybody who knows the secret. ``with TokenServer({"id": "secret"}) as server: server.url``."""

    def __init__(self, secrets: dict[str, str], life_s: float = 3600) -> None:
        self.requests: list[dict[str, str]] = []
        """The requests so far: form fields and client id."""
        self.failures = 0
        """How many of the next requests are answered with 503."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                kind, _, encoded = self.headers.get("Authorization", "").partition(" ")
                client_id, _, secret = b64decode(encoded).decode().partition(":")
                outer.requests.append({name: values[0] for name, values in form.items()} | {"client_id": client_id})
                if outer.failures:
                    outer.failures -= 1
                    self._answer(503, {})
                elif kind != "Basic" or secrets.get(client_id) != secret:
                    self._answer(401, {"error": "invalid_client"})
                else:
                    scope = form.get("scope", [""])[0]
                    self._answer(200, {"access_token": unsecured_token(client_id, life_s, scope)})

            def _answer(self, status: int, fields: dict[str, str]) -> None:
                body = json.dumps(fields).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/token"

    def __enter__(self) -> TokenServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
