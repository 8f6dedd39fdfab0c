"""Faults over HTTP, for tests in any language: on this machine only.

    POST   /faults        {"fault": "lose_answer Produce topic=orders"} or {"kind": "delay", "ms": 200, "api": "Fetch"}
                          answers {"id": 1, "fault": "...", "hits": 0}
    GET    /faults        all of them; GET /faults/1?hits=2&timeout=5 waits until it has struck twice
    DELETE /faults/1      removes one; DELETE /faults removes all
    POST   /deeds         {"deed": "expire_transaction orders"} or {"kind": "kill_node", "node_id": 2}: done at once,
                          in a broker of ours (oncelog serve --faults); answers {"done": ...}

A refusal is status 400 with {"error": "..."}; a wait that ends without the hits is 408; a page of another
site gets 403.
"""

from __future__ import annotations

import ipaddress
import json
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from oncelog.errors import OncelogError
from oncelog.faults.rules import Fault, FaultError, Faults
from oncelog.faults.spoken import add_fault, do, do_parts, make_fault

LARGEST_BODY = 64 * 1024


class FaultControl:
    """Serves ``faults`` at ``http://HOST:PORT/faults`` until :meth:`stop`.

    :raises FaultError: the address is not of this machine alone, or in use.
    """

    def __init__(self, faults: Faults, host: str, port: int) -> None:
        if host != "localhost" and not _is_loopback(host):
            raise FaultError(f"faults are controlled from this machine only: {host} is no loopback address")
        self._faults = faults
        self._made: dict[int, Fault] = {}
        self._lock = threading.Lock()
        try:
            self._server = ThreadingHTTPServer((host, port), self._handler())
        except OSError as error:
            raise FaultError(f"cannot listen on {host}:{port}: {error.strerror}") from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="oncelog-fault-control", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        host, port = self._server.server_address[:2]
        return f"{host if isinstance(host, str) else host.decode()}:{port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, given: Any) -> dict[str, Any]:
        if not isinstance(given, dict) or not ({"fault", "kind"} & given.keys()):
            raise FaultError('send {"fault": "lose_answer Produce topic=orders"} or {"kind": "lose_answer", ...}')
        if "fault" in given:
            fault = add_fault(self._faults, str(given["fault"]))
        else:
            fault = make_fault(
                self._faults, str(given["kind"]), {name: value for name, value in given.items() if name != "kind"}
            )
        with self._lock:
            number = len(self._made) + 1
            self._made[number] = fault
        return self.shown(number)

    def do(self, given: Any) -> dict[str, Any]:
        if not isinstance(given, dict) or not ({"deed", "kind"} & given.keys()):
            raise FaultError('send {"deed": "expire_transaction orders"} or {"kind": "expire_transaction", ...}')
        if "deed" in given:
            return {"done": do(self._faults, str(given["deed"]))}
        options = {name: value for name, value in given.items() if name != "kind"}
        return {"done": do_parts(self._faults, str(given["kind"]), options)}

    def shown(self, number: int) -> dict[str, Any]:
        fault = self.fault(number)
        return {"id": number, "fault": str(fault), "hits": fault.hits, "in_force": fault in self._faults.in_force}

    def all(self) -> list[dict[str, Any]]:
        return [self.shown(number) for number in sorted(self._made)]

    def fault(self, number: int) -> Fault:
        fault = self._made.get(number)
        if fault is None:
            raise FaultError(f"there is no fault {number}")
        return fault

    def remove(self, number: int | None) -> None:
        if number is None:
            self._faults.clear()
        else:
            self.fault(number).remove()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        control = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                if urlsplit(self.path).path.strip("/") == "deeds":
                    self._tell(lambda: control.do(self._body()))
                else:
                    self._answer(lambda number, query: control.add(self._body()))

            def do_GET(self) -> None:
                self._answer(self._look)

            def do_DELETE(self) -> None:
                self._answer(lambda number, query: control.remove(number))

            def _look(self, number: int | None, query: dict[str, list[str]]) -> Any:
                if number is None:
                    return control.all()
                if "hits" in query:
                    control.fault(number).wait(float(query.get("timeout", ["30"])[0]), int(query["hits"][0]))
                return control.shown(number)

            def _body(self) -> Any:
                size = int(self.headers.get("Content-Length") or 0)
                if not 0 <= size <= LARGEST_BODY:
                    raise FaultError(f"a fault of {size} bytes cannot be read: send at most {LARGEST_BODY}")
                return json.loads(self.rfile.read(size))

            def _answer(self, ask: Any) -> None:
                parts = urlsplit(self.path)
                words = [word for word in parts.path.split("/") if word]
                if words[:1] != ["faults"] or len(words) > 2:
                    self._send(HTTPStatus.NOT_FOUND, {"error": f"there is no {parts.path}: ask /faults"})
                    return
                self._tell(lambda: ask(int(words[1]) if len(words) == 2 else None, parse_qs(parts.query)))

            def _tell(self, ask: Callable[[], Any]) -> None:
                refusal = refusal_of(self.headers.get("Host"), self.headers.get("Origin"))
                if refusal is not None:
                    self._send(HTTPStatus.FORBIDDEN, {"error": refusal})
                    return
                try:
                    self._send(HTTPStatus.OK, ask())
                except TimeoutError as error:
                    self._send(HTTPStatus.REQUEST_TIMEOUT, {"error": str(error)})
                except (OncelogError, ValueError) as error:
                    self._send(HTTPStatus.BAD_REQUEST, {"error": str(error)})

            def _send(self, status: HTTPStatus, value: Any) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is logged: the tests say what they did."""

        return Handler


def refusal_of(host: str | None, origin: str | None) -> str | None:
    """Why a browser may not ask: a page of another site, or one whose name was made to point here."""
    if host is None or not _is_here(f"//{host}"):
        return f"this is no address of faults: {host!r:.200}; ask 127.0.0.1 or localhost"
    if origin is not None and not _is_here(origin):
        return f"pages of {origin!r:.200} may not make faults"
    return None


def _is_here(url: str) -> bool:
    try:
        name = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return name == "localhost" or _is_loopback(name)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
