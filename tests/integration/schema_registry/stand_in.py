"""A naive registry in memory, for what ours does not do: it keeps any schema unread, and it can misbehave."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

Answer = tuple[int, dict[str, str], bytes]
JSON_ANSWER = {"Content-Type": "application/vnd.schemaregistry.v1+json"}


class StandIn:
    """Schemas by id and by subject; equal bodies are the same schema."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.misbehave: Callable[[str], Answer | None] = lambda target: None
        self._schemas: list[dict[str, Any]] = []
        self._subjects: dict[str, list[int]] = {}

    def answer(self, method: str, target: str, body: Any) -> Answer:
        """What a registry answers, or what the test wants."""
        wrong = self.misbehave(target)
        if wrong is not None:
            return wrong
        parts = [unquote(part) for part in urlsplit(target).path.strip("/").split("/")]
        match (method, parts):
            case ("GET", ["schemas", "ids", number]):
                return self._found(int(number))
            case ("GET", ["schemas", "ids", number, "versions"]):
                return _ok(
                    [
                        {"subject": subject, "version": ids.index(int(number)) + 1}
                        for subject, ids in self._subjects.items()
                        if int(number) in ids
                    ]
                )
            case ("GET", ["subjects"]):
                return _ok(sorted(self._subjects))
            case ("POST", ["subjects", subject, "versions"]):
                return _ok({"id": self._register(subject, body)})
            case ("POST", ["subjects", subject]):
                return self._version(subject, self._register(subject, body))
            case ("GET", ["subjects", subject, "versions"]):
                return _ok(list(range(1, len(self._subjects[subject]) + 1)))
            case ("GET", ["subjects", subject, "versions", "latest"]):
                return self._version(subject, self._subjects[subject][-1])
            case ("GET", ["subjects", subject, "versions", number]):
                return self._version(subject, self._subjects[subject][int(number) - 1])
        return _refused(404, 404, "not here")

    def _found(self, number: int) -> Answer:
        if not 0 < number <= len(self._schemas):
            return _refused(404, 40403, f"Schema {number} not found")
        return _ok(self._schemas[number - 1])

    def _register(self, subject: str, body: dict[str, Any]) -> int:
        kept = {name: body[name] for name in ("schema", "schemaType", "references") if body.get(name)}
        if kept not in self._schemas:
            self._schemas.append(kept)
        number = self._schemas.index(kept) + 1
        ids = self._subjects.setdefault(subject, [])
        if number not in ids:
            ids.append(number)
        return number

    def _version(self, subject: str, number: int) -> Answer:
        version = self._subjects[subject].index(number) + 1
        return _ok({"subject": subject, "version": version, "id": number, **self._schemas[number - 1]})


def _ok(value: Any) -> Answer:
    return 200, JSON_ANSWER, json.dumps(value).encode()


def _refused(status: int, code: int, text: str) -> Answer:
    return status, JSON_ANSWER, json.dumps({"error_code": code, "message": text}).encode()


@contextmanager
def running() -> Iterator[StandIn]:
    """Serve one during the block."""
    stand_in = StandIn()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            stand_in.requests.append((self.command, self.path, dict(self.headers)))
            try:
                status, headers, text = stand_in.answer(self.command, self.path, json.loads(body) if body else None)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)
            except ConnectionError:  # raised by the test, or because the client did not wait
                self.close_connection = True

        do_POST = do_GET
        do_DELETE = do_GET

        def log_message(self, *printed: object) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    stand_in.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield stand_in
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
