"""Faults over HTTP, for tests in any language on this machine.

    POST   /faults        {"fault": "lose_answer Produce topic=orders"} or {"kind": "delay", "ms": 200, "api": "Fetch"}
                          answers {"id": 1, "fault": "...", "hits": 0}
    GET    /faults        all of them; GET /faults/1?hits=2&timeout=5 waits until it has hit twice
    DELETE /faults/1      removes one; DELETE /faults removes all
    POST   /deeds         {"deed": "expire_transaction orders"} or {"kind": "kill_node", "node_id": 2}: done at once,
                          in a broker of ours (oncelog serve --faults); answers {"done": ...}

A refusal is status 400 with {"error": "..."}; a wait that ends without the hits is 408; a page from another site gets
403.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from oncelog.broker.faults.fault_texts import add_fault, do, do_parts, make_fault
from oncelog.broker.faults.rules import Fault, FaultError, Faults
from oncelog.errors import OncelogError
from oncelog.runtime import forks
from oncelog.runtime import real_json as json

LARGEST_BODY = 64 * 1024
TIMEOUT_S = 60
"""The time in seconds within which a request must arrive."""
LONGEST_WAIT_S = 3600


class FaultControl:
    """Serves ``faults`` at ``http://HOST:PORT/faults`` until :meth:`stop`.

    :raises FaultError: other machines can reach the address, or the address is in use.
    """

    def __init__(self, faults: Faults, host: str, port: int) -> None:
        if host != "localhost" and not _is_loopback(host):
            raise FaultError(f"faults are controlled from this machine only: {host} is not a loopback address")
        self._faults = faults
        self._made: dict[int, Fault] = {}
        self._lock = threading.Lock()
        try:
            self._server = _Server((host, port), self)
        except OSError as error:
            raise FaultError(f"cannot listen on {host}:{port}: {error.strerror}") from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="oncelog-fault-control", daemon=True)
        self._thread.start()
        forks.let_go_in_children(self)

    def descriptors(self) -> list[int]:
        """The descriptor of the listening socket, for a forked child process."""
        return [self._server.fileno()]

    @property
    def address(self) -> str:
        host, port = self._server.server_address[:2]
        name = host if isinstance(host, str) else host.decode()
        return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, given: Any) -> dict[str, Any]:
        if not isinstance(given, dict) or not ({"fault", "kind"} & given.keys()):
            raise FaultError('send {"fault": "lose_answer Produce topic=orders"} or {"kind": "lose_answer", ...}')
        _alone(given, "fault")
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
        _alone(given, "deed")
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


def _alone(given: dict[str, Any], name: str) -> None:
    """Refuse further fields in a request that gives the fault as a text, because the text must be complete."""
    more = sorted(given.keys() - {name})
    if name in given and more:
        raise FaultError(f'{more[0]} beside "{name}" has no effect: put it into the text, or send "kind" instead')


class _Server(ThreadingHTTPServer):
    """The HTTP server of a :class:`FaultControl`.

    :param control: handles the requests.
    """

    daemon_threads = True

    def __init__(self, address: tuple[str, int], control: FaultControl) -> None:
        self.control = control
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client that has gone needs no answer
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = TIMEOUT_S

    def do_POST(self) -> None:
        if self._path() == ["deeds"]:
            self._tell(lambda: self.server.control.do(self._body()))
        elif self._path() == ["faults"]:
            self._tell(lambda: self.server.control.add(self._body()))
        else:
            self._nowhere("/faults or /deeds")

    def do_GET(self) -> None:
        self._ask(self._look)

    def do_DELETE(self) -> None:
        self._ask(self.server.control.remove)

    def _path(self) -> list[str]:
        return [word for word in urlsplit(self.path).path.split("/") if word]

    def _ask(self, ask: Callable[[int | None], Any]) -> None:
        """Handle a request for all faults, or for the one whose number is in the path."""
        words = self._path()
        if words[:1] != ["faults"] or len(words) > 2:
            self._nowhere("/faults")
            return
        self._tell(lambda: ask(_number("the number of a fault", words[1], 1) if len(words) == 2 else None))

    def _look(self, number: int | None) -> Any:
        if number is None:
            return self.server.control.all()
        query = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        unknown = sorted(query.keys() - {"hits", "timeout"})
        if unknown:
            raise FaultError(f"a wait for a fault takes hits=2 and timeout=5, not {unknown[0]}")
        if query:
            hits, seconds = _number("hits", query.get("hits", "1"), 1), _seconds(query.get("timeout", "30"))
            self.server.control.fault(number).wait(seconds, hits)
        return self.server.control.shown(number)

    def _body(self) -> Any:
        given = self.headers.get("Content-Length")
        if given is None:
            raise FaultError("send a JSON body with its Content-Length, not in chunks")
        size = _number("Content-Length", given, 0)
        if size > LARGEST_BODY:
            raise FaultError(f"a body of {size} bytes is too large: send at most {LARGEST_BODY}")
        try:
            return json.loads(self.rfile.read(size))
        except TimeoutError:
            raise FaultError(f"a body of {size} bytes did not arrive completely within {TIMEOUT_S} s") from None
        except (ValueError, RecursionError) as error:
            raise FaultError(f"the body is not valid JSON: {error}") from None

    def _tell(self, ask: Callable[[], Any]) -> None:
        refusal = refusal_of(self.headers.get("Host"), self.headers.get("Origin"))
        if refusal is not None:
            self._send(HTTPStatus.FORBIDDEN, {"error": refusal})
            return
        try:
            status, value = HTTPStatus.OK, ask()
        except TimeoutError as error:
            status, value = HTTPStatus.REQUEST_TIMEOUT, {"error": str(error)}
        except OncelogError as error:
            status, value = HTTPStatus.BAD_REQUEST, {"error": str(error)}
        self._send(status, value)

    def _nowhere(self, instead: str) -> None:
        self._send(HTTPStatus.NOT_FOUND, {"error": f"there is no {self.command} of {self.path!r:.200}: ask {instead}"})

    def _send(self, status: HTTPStatus, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer bytes that are no request, or a request with an unknown method; called by the base class."""
        status = HTTPStatus(code)
        self._send(status, {"error": f"{message or status.phrase}: use GET, POST or DELETE"})

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the tests know which requests they send."""


def _number(what: str, text: str, least: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and int(text) >= least):
        raise FaultError(f"{what} is a whole number of at least {least}, not {text!r:.200}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_WAIT_S:
        raise FaultError(f"timeout is a number of seconds from 0 to {LONGEST_WAIT_S}, not {text!r:.200}")
    return seconds


def refusal_of(host: str | None, origin: str | None) -> str | None:
    """The reason to refuse a browser's request: its page is from another site, or DNS rebinding gives the site this
    address; else None."""
    if host is None or not _is_here(f"//{host}"):
        return f"faults are not served at {host!r:.200}: use 127.0.0.1 or localhost"
    if origin is not None and not _is_here(origin):
        return f"pages from {origin!r:.200} may not create faults"
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
